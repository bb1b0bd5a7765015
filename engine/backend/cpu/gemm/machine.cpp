#include "engine/backend/cpu/gemm/machine.h"

namespace volta::cpu {
namespace {

// Bytes: Zen 4 has them and gains by repeated prefetching, Zen 3 has half of them and loses.
constexpr std::size_t kRepeatingL2 = 1 << 20;

}  // namespace

Machine machine_of(const CpuInfo& cpu, Isa isa, int threads) noexcept {
    Machine machine;
    machine.isa = isa;
    machine.threads = threads;
    machine.l2_bytes = cpu.l2_bytes;
    machine.l3_bytes = cpu.l3_bytes;
    machine.double_pumped_avx512 = cpu.double_pumped_avx512;
    machine.wants_repeated_prefetch = cpu.l2_bytes >= kRepeatingL2;
    return machine;
}

}  // namespace volta::cpu
