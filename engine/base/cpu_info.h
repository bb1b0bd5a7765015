// What this processor can do. Instruction sets are chosen by feature bits, never by model number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "include/volta.h"

namespace volta {

// What generated code is written for. `scalar` is plain C++ and runs anywhere.
enum class Isa : std::int32_t { scalar = VOLTA_ISA_SCALAR, avx2 = VOLTA_ISA_AVX2, avx512 = VOLTA_ISA_AVX512 };

// Each is a set of features, and includes those whose features it has; there is no order among them.
inline constexpr std::uint32_t kFeatureAvx2 = 1u << 0, kFeatureAvx512 = 1u << 1;
struct IsaRow {
    Isa isa;
    const char* name;
    std::uint32_t features;
};
inline constexpr IsaRow kIsas[] = {
    {Isa::scalar, "scalar", 0},
    {Isa::avx2, "avx2", kFeatureAvx2},                      // AVX2, FMA, F16C
    {Isa::avx512, "avx512", kFeatureAvx2 | kFeatureAvx512}  // F, BW, DQ, VL as well
};
constexpr const IsaRow* find_isa(Isa isa) {  // NULL: no such value
    for (const IsaRow& row : kIsas)
        if (row.isa == isa) return &row;
    return nullptr;
}
// Does code for `part` run where `whole` does?
constexpr bool includes(Isa whole, Isa part) {
    const IsaRow *const has = find_isa(whole), *const wants = find_isa(part);
    return has != nullptr && wants != nullptr && (has->features & wants->features) == wants->features;
}
bool operator<(Isa, Isa) = delete;
bool operator<=(Isa, Isa) = delete;
bool operator>(Isa, Isa) = delete;
bool operator>=(Isa, Isa) = delete;

struct CpuInfo {
    Isa best_isa;        // the largest set that processor and OS support
    int physical_cores;  // that this process may run on; at least 1
    int logical_cores;
    std::size_t l1_bytes, l2_bytes, l3_bytes;  // per core, per core, shared; 0: not known
    char brand[64];                            // "AMD EPYC ..." for doctor and benchmarks
    char vendor[16];                           // "GenuineIntel"
    int family, model, stepping;
    std::uint64_t features;  // of leaf 7 (high half) and leaf 1 that generated code could depend on
    // 512-bit arithmetic runs as two turns of 256-bit units (AMD family 25, Zen 4): speed only, nothing is
    // chosen by it but the faster of two ways that give the same bits.
    bool double_pumped_avx512;
    bool has(Isa isa) const { return includes(best_isa, isa); }
};

const CpuInfo& host_cpu();      // detected once, at the first call; immutable afterwards
const char* isa_name(Isa isa);  // "scalar", "avx2", "avx512"

// What measured speeds belong to: vendor, family, model, stepping, features, cache sizes, contract version.
// A file name: letters, digits, '-', '_' only.
struct CpuSignature {
    char text[160];
};
CpuSignature cpu_signature(const CpuInfo& info);

}  // namespace volta
