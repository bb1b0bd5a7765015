// How kernels read packed weights: the bytes of engine/numerics/stored_weights.h as floats.
#include <cstdio>

#include "engine/base/shape.h"
#include "jitgen/cuda/stored_source.h"

namespace volta::jit {
namespace {

static_assert(kStoredPanel == 16 && kStoredGroup == 32 && stored_group_bytes(DType::int8) == 544 &&
                  stored_group_bytes(DType::int4) == 288,
              "written out in the text of kernels");

constexpr char kStored[] = R"(
// ---- Stored weights --------------------------------------------------------------------------------------

// Exact; a NaN becomes the quiet NaN.
__device__ __forceinline__ float from_bf16(unsigned half) {
    return __uint_as_float((half & 0x7fffu) > 0x7f80u ? 0x7fc00000u : half << 16);
}
__device__ __forceinline__ float from_f16(unsigned half) {
    const unsigned sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31u, mantissa = half & 1023u;
    if (exponent == 31) return __uint_as_float(mantissa != 0 ? 0x7fc00000u : sign | 0x7f800000u);
    if (exponent == 0)  // a small number of steps of 2^-24, exactly
        return __uint_as_float(__float_as_uint(__fmul_rn(real_of(mantissa), 0x1p-24f)) | sign);
    return __uint_as_float(sign | (exponent + 112u) << 23 | mantissa << 13);
}

// A weight [n, k] in panels of 16 outputs. f32_panels, bf16 and f16: [k][16] of a panel. int8 and int4: groups of
// 32 along k, 544 and 288 bytes, each behind the 16 scales of its outputs.
enum class Stored { f32, bf16, f16, int8, int4, f32_panels };

template <Stored kind>
__device__ __forceinline__ long long stored_panel_bytes(long long k) {
    return kind == Stored::int8         ? (k + 31) / 32 * 544
           : kind == Stored::int4       ? (k + 31) / 32 * 288
           : kind == Stored::f32_panels ? k * 64
                                        : k * 32;
}
// Element p of output `lane` of a panel, as products multiply with it.
template <Stored kind>
__device__ __forceinline__ float stored_value(const unsigned char* panel, long long p, int lane) {
    if constexpr (kind == Stored::f32_panels) {
        return ((const float*)panel)[p * 16 + lane];
    } else if constexpr (kind == Stored::bf16) {
        return from_bf16(((const unsigned short*)panel)[p * 16 + lane]);
    } else if constexpr (kind == Stored::f16) {
        return from_f16(((const unsigned short*)panel)[p * 16 + lane]);
    } else if constexpr (kind == Stored::int8) {
        const int step = (int)(p % 32);
        return real_of((unsigned)(int)((const signed char*)panel)[p / 32 * 544 + 32 + step * 16 + lane]);
    } else {  // eight steps of a lane are one word, the first in its lowest bits
        const int step = (int)(p % 32);
        const unsigned word = ((const unsigned*)(panel + p / 32 * 288 + 32))[step / 8 * 16 + lane];
        return real_of((unsigned)((int)(word << (28 - step % 8 * 4)) >> 28));
    }
}
// int8 and int4 only.
template <Stored kind>
__device__ __forceinline__ float stored_scale(const unsigned char* panel, long long group, int lane) {
    return from_f16(((const unsigned short*)(panel + group * (kind == Stored::int8 ? 544 : 288)))[lane]);
}
)";

}  // namespace

void append_stored_prelude(std::pmr::string& text) { text += kStored; }

}  // namespace volta::jit
