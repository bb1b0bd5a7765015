// The machine that products are planned for: explicit facts, so that a plan for one machine can be made,
// printed and tested on any other. Nothing here asks the processor that it runs on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/cpu_info.h"

namespace volta::cpu {

struct Machine {
    const char* name = "generic";  // of its row in kMachines
    Isa isa = Isa::scalar;         // scalar: plain C++ with fma32
    int threads = 1;
    std::size_t l2_bytes = 0, l3_bytes = 0;  // per core, shared; 0: not known
    bool double_pumped_avx512 = false;       // 512-bit arithmetic on units of 256 bits
    // Reads faster from memory what was prefetched several times, ahead of its use; others follow plain reads
    // of several streams, and lose by it (docs/decisions/0007-how-weights-come-from-memory.md).
    bool wants_repeated_prefetch = false;

    // So many bytes over those of the last cache; 0 where they are not known.
    double cache_use(std::uint64_t bytes) const noexcept {
        return l3_bytes > 0 ? static_cast<double>(bytes) / static_cast<double>(l3_bytes) : 0;
    }
};

// The facts of `cpu` for an instruction set that it has and so many threads.
Machine machine_of(const CpuInfo& cpu, Isa isa, int threads) noexcept;

}  // namespace volta::cpu
