#include "engine/backend/cpu/gemm/machine.h"

#include <cstring>

namespace volta::cpu {
namespace {

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;

constexpr Machine row(const char* name, std::size_t l2, std::size_t l3, bool double_pumped, bool repeated) {
    Machine made;
    made.name = name;
    made.l2_bytes = l2;
    made.l3_bytes = l3;
    made.double_pumped_avx512 = double_pumped;
    made.wants_repeated_prefetch = repeated;
    return made;
}

// What differs between machines is a column that differs between rows. The default of every column is what
// both Zen machines were measured with.
constexpr Machine kMachines[] = {
    // name        L2          L3        double-pumped  repeated prefetch
    row("generic", 1 * kMiB, 32 * kMiB, false, true),
    row("zen3", 512 * kKiB, 32 * kMiB, true, false),
    row("zen4", 1 * kMiB, 32 * kMiB, true, true),
};

// Bytes: Zen 4 has them and gains by repeated prefetching, Zen 3 has half of them and loses.
constexpr std::size_t kRepeatingL2 = 1 * kMiB;

}  // namespace

Machines machines() { return {kMachines, static_cast<int>(sizeof kMachines / sizeof kMachines[0])}; }

Machine machine_of(const CpuInfo& cpu, Isa isa, int threads) noexcept {
    const bool zen = std::strcmp(cpu.vendor, "AuthenticAMD") == 0 && cpu.family == 25;
    const bool repeats = cpu.l2_bytes >= kRepeatingL2;
    Machine machine = kMachines[!zen ? 0 : repeats ? 2 : 1];
    machine.isa = isa;
    machine.threads = threads;
    machine.l2_bytes = cpu.l2_bytes;
    machine.l3_bytes = cpu.l3_bytes;
    machine.double_pumped_avx512 = cpu.double_pumped_avx512;
    machine.wants_repeated_prefetch = repeats;
    return machine;
}

}  // namespace volta::cpu
