// For targets that call the C API as bytes say: bytes as choices, and calls whose failure is an answer.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fuzz/limits.h"

namespace fuzz {

// False: it failed with a sentence. Fails the run where the sentence says that Volta is wrong.
inline bool worked(volta_status status) {
    expect(status != VOLTA_INTERNAL, "an internal error");
    if (status != VOLTA_OK) expect_sentence();
    return status == VOLTA_OK;
}

// Behind the last byte all choices are the first.
class Choices {
  public:
    Choices(const uint8_t* data, size_t size) : data_(data), left_(size) {}
    bool empty() const { return left_ == 0; }
    unsigned next() {
        if (left_ == 0) return 0;
        --left_;
        return *data_++;
    }
    template <class T, size_t N>
    const T& of(const T (&items)[N]) {
        return items[next() % N];
    }

  private:
    const uint8_t* data_;
    size_t left_;
};

}  // namespace fuzz
