// What the tests of the products share: the definition as plain loops, and operands that end at a page which
// may not be touched, so that a kernel that reads or writes one float too far stops the test.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "engine/numerics/fma32.h"
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

// One element of a product (docs/numerics.md, 2.1): the chain over k in [from, to), cut at absolute multiples
// of 512. `c` is the operand `into` (used if `into`) and receives the result; an empty chain leaves `into` or
// +0.
template <class A, class B>
float define_chain(std::int64_t from, std::int64_t to, A a, B b, bool into, float c) {
    if (from >= to) return into ? c : 0.0f;
    for (std::int64_t k = from; k < to;) {
        float acc = 0.0f;
        const std::int64_t cut = (k / 512 + 1) * 512;
        for (; k < to && k < cut; ++k) acc = fma32(a(k), b(k), acc);
        c = into ? c + acc : acc;
        into = true;
    }
    return c;
}

}  // namespace volta::test
