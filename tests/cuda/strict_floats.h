// The emulation with floats that have no arithmetic: in front of device code, a bare + - * / on floats does
// not compile. Comparisons, literals, copies and intrinsics are all that kernels of the contract need.
#pragma once

#include <type_traits>

#include "tests/support/simt_emulation.h"

namespace volta::simt {

class StrictFloat {
  public:
    StrictFloat() = default;
    StrictFloat(float value) : value_(value) {}  // literals
    template <class T, class = std::enable_if_t<!std::is_same_v<T, float>>>
    StrictFloat(T) = delete;  // conversions are intrinsics too
    float value() const { return value_; }

    friend bool operator<(StrictFloat a, StrictFloat b) { return a.value_ < b.value_; }
    friend bool operator<=(StrictFloat a, StrictFloat b) { return a.value_ <= b.value_; }
    friend bool operator>(StrictFloat a, StrictFloat b) { return a.value_ > b.value_; }
    friend bool operator>=(StrictFloat a, StrictFloat b) { return a.value_ >= b.value_; }
    friend bool operator==(StrictFloat a, StrictFloat b) { return a.value_ == b.value_; }
    friend bool operator!=(StrictFloat a, StrictFloat b) { return a.value_ != b.value_; }

  private:
    float value_;
};

}  // namespace volta::simt

#define VOLTA_STRICT_BINARY(name)                                                                        \
    inline ::volta::simt::StrictFloat name(::volta::simt::StrictFloat a, ::volta::simt::StrictFloat b) { \
        return name(a.value(), b.value());                                                               \
    }
VOLTA_STRICT_BINARY(__fadd_rn)
VOLTA_STRICT_BINARY(__fsub_rn)
VOLTA_STRICT_BINARY(__fmul_rn)
VOLTA_STRICT_BINARY(__fdiv_rn)
#undef VOLTA_STRICT_BINARY
inline ::volta::simt::StrictFloat __fmaf_rn(::volta::simt::StrictFloat a, ::volta::simt::StrictFloat b,
                                            ::volta::simt::StrictFloat c) {
    return __fmaf_rn(a.value(), b.value(), c.value());
}
inline ::volta::simt::StrictFloat __fsqrt_rn(::volta::simt::StrictFloat a) { return __fsqrt_rn(a.value()); }
inline unsigned __float_as_uint(::volta::simt::StrictFloat a) { return __float_as_uint(a.value()); }
inline int __float2int_rz(::volta::simt::StrictFloat a) { return __float2int_rz(a.value()); }

#define float ::volta::simt::StrictFloat
