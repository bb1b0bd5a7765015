// What the tests of the products share: the definition as plain loops, and operands that end at a page which
// may not be touched, so that a kernel that reads or writes one float too far stops the test.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/support/tensors.h"

namespace volta::test {

// Floats whose last one is the last before a protected page. Misaligned as the size falls.
class EdgeFloats {
  public:
    explicit EdgeFloats(const std::vector<float>& values) : count_(values.size()) {
        const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t bytes = (count_ * sizeof(float) + page - 1) / page * page;
        mapped_ = bytes + page;
        base_ = static_cast<char*>(
            mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mprotect(base_ + bytes, page, PROT_NONE);
        data_ = reinterpret_cast<float*>(base_ + bytes) - count_;
        if (count_ > 0) std::memcpy(data_, values.data(), count_ * sizeof(float));
    }
    ~EdgeFloats() { munmap(base_, mapped_); }
    EdgeFloats(const EdgeFloats&) = delete;
    EdgeFloats& operator=(const EdgeFloats&) = delete;
    float* data() { return data_; }
    std::int64_t count() const { return static_cast<std::int64_t>(count_); }

  private:
    std::size_t count_, mapped_;
    char* base_;
    float* data_;
};

}  // namespace volta::test
