// The machine that products are planned for: explicit facts, so that a plan for one machine can be made,
// printed and tested on any other. Nothing in this folder asks the processor that it runs on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/cpu_info.h"

namespace volta::cpu {

// A row of kMachines, with the instruction set and the threads of a context. All numbers were measured on Zen
// 3 and Zen 4: those of other machines are a guess, and what the processor says of its caches is not.
struct Machine {
    const char* name = "generic";
    std::size_t l2_bytes = 0, l3_bytes = 0;  // per core, shared; 0: not known
    bool double_pumped_avx512 = false;       // 512-bit arithmetic on units of 256 bits
    // Reads faster from DRAM what was prefetched several times, ahead of its use; others follow plain reads
    // of several streams, and lose by it (docs/decisions/0007-how-weights-come-from-memory.md).
    bool wants_repeated_prefetch = false;
    // What starting a second thread costs: cycles, and what one thread does in that time.
    double fork_cycles = 6000;     // about 0.2 MFLOP on one core
    double fork_floats = 200000;   // of a B that is read once
    double fork_steps = 200000;    // multiply-adds
    double fork_weights = 65536;   // packed weights, times rows
    double work_item_steps = 2e6;  // multiply-adds of what threads steal: tens of microseconds
    double pack_cycles_per_float = 0.5, pack_in_tile_cycles_per_float = 0.1;
    double write_cycles_per_float = 1;  // of C, to lines that other cores have; up to 4 without a shared LLC
    double call_cycles = 40;            // of a kernel
    double touch_cycles_per_float = 0.15;      // C and accumulators in L2, read and written
    double transpose_cycles_per_float = 0.75;  // of C
    std::int64_t l2_floats = 512 * 1024;       // a B of so many lies beyond L2: reading it again costs
    std::int64_t page_floats = 1024;           // rows so far apart meet in one set of L1: 4 KiB aliasing
    double dram_use = 0.5;         // of the LLC: what is larger is partly elsewhere, for others use it too
    double dram_use_of_row = 0.8;  // the same, for AVX-512's loads of 16 rows of B by one row of A
    double dram_use_of_panels =
        1.25;  // the same, for panels: several at once are up to 1.8 times as fast while
               // weights are in the LLC, and not much slower where a part is not

    Isa isa = Isa::scalar;  // scalar: plain C++ with fma32
    int threads = 1;
    bool code = true;  // machine code may be generated

    bool has_code() const noexcept { return code && isa != Isa::scalar; }
    // Caches as they are, or as they usually are where the processor does not tell.
    std::size_t likely_l2_bytes() const noexcept { return l2_bytes > 0 ? l2_bytes : std::size_t{512} << 10; }
    std::size_t likely_llc_bytes() const noexcept { return l3_bytes > 0 ? l3_bytes : std::size_t{32} << 20; }
    // So many bytes over those of the LLC; 0 where they are not known.
    double cache_use(std::uint64_t bytes) const noexcept {
        return l3_bytes > 0 ? static_cast<double>(bytes) / static_cast<double>(l3_bytes) : 0;
    }
};

struct Machines {
    const Machine* rows;
    int count;
    const Machine* begin() const { return rows; }
    const Machine* end() const { return rows + count; }
};
Machines machines();

// The row that `cpu` is nearest to, with what it says of itself, for an instruction set that it has and so
// many threads.
Machine machine_of(const CpuInfo& cpu, Isa isa, int threads) noexcept;

}  // namespace volta::cpu
