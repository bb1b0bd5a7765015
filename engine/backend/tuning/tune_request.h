// Tuning as the gateway sees it: which products, how long, and what came out. A backend decides what there is
// to choose; results change speed only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>

#include "engine/base/cpu_info.h"

namespace volta {

class Executable;

// One matrix product C [m, n] = A [m, k] x B [k, n]. Leading dimensions in elements of the stored matrix; 0:
// dense.
struct TuneShape {
    std::int64_t m = 0, n = 0, k = 0;
    bool a_transposed = false, b_transposed = false;
    std::int64_t lda = 0, ldb = 0, ldc = 0;
};

struct TuneReport {
    std::size_t index = 0, count = 0;  // which product of how many
    double share = 0;                  // of the whole work, 0 .. 1
    bool done = false;                 // what follows is final
    TuneShape shape;
    std::int64_t batch = 1;
    bool epilogue = false;
    bool keeps_b = false, from_memory = false;  // B is packed before the calls; it comes from memory
    double default_seconds = 0, tuned_seconds = 0, classic_seconds = 0;
    int contenders = 0;
    const char* choice = "";  // "": the default rules stay
};

struct TuneRequest {
    const TuneShape* shapes = nullptr;
    std::size_t shape_count = 0;
    const Executable* const* executables = nullptr;  // their products too
    std::size_t executable_count = 0;
    int runs = 0, warmup = 0;  // 0: the default
    double seconds = 0;        // for all products; 0: the default
    // After every race and every product. False: stop.
    bool (*report)(void* user, const TuneReport& report) = nullptr;
    void* user = nullptr;
    std::pmr::memory_resource* tensors = nullptr;  // where the matrices lie while they are needed
};

// A product whose way is asked about, and how plans use it.
struct ExplainRequest {
    TuneShape shape;
    bool packed_once = false, from_memory = false;
};

}  // namespace volta
