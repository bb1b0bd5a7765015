// What this processor can do. Instruction sets are chosen by feature bits, never by model number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "include/volta.h"

namespace volta {

// Ordered: a later one includes the earlier ones. `scalar` is plain C++ and runs anywhere.
enum class Isa : std::int32_t { scalar = VOLTA_ISA_SCALAR, avx2 = VOLTA_ISA_AVX2, avx512 = VOLTA_ISA_AVX512 };

struct CpuInfo {
    Isa best_isa;        // avx2: AVX2 + FMA + OS support; avx512: F, BW, DQ, VL + OS support
    int physical_cores;  // that this process may run on; at least 1
    int logical_cores;
    std::size_t l1_bytes, l2_bytes, l3_bytes;  // per core, per core, shared; 0: not known
    char brand[64];                            // "AMD EPYC ..." for doctor and benchmarks
    char vendor[16];                           // "GenuineIntel"
    int family, model, stepping;
    std::uint64_t features;  // of leaf 7 (high half) and leaf 1 that generated code could depend on
    // 512-bit arithmetic runs as two turns of 256-bit units (AMD family 25, Zen 4): speed only, nothing is
    // chosen by it but the faster of two ways that give the same bits.
    bool halves_avx512;
    bool has(Isa isa) const { return isa <= best_isa; }
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
