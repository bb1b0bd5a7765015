// The instructions of the kernel language in terms of one vector register, for AVX2 (ymm, masks in vectors)
// and AVX-512 (zmm, masks in k registers). The only place where the two differ; everything above is written
// once.
#pragma once

#include <cstdint>
#include <deque>
#include <memory_resource>
#include <vector>

#include <xbyak/xbyak.h>

#include "jitgen/align_code.h"

namespace volta::jit {

struct Avx2 {
    using Vector = Xbyak::Ymm;
    using Mask = Xbyak::Ymm;
    static constexpr bool kWide = false;
    static constexpr int kLanes = 8, kBytes = 32, kVectors = 16;
};

struct Avx512 {
    using Vector = Xbyak::Zmm;
    using Mask = Xbyak::Opmask;
    static constexpr bool kWide = true;
    static constexpr int kLanes = 16, kBytes = 64, kVectors = 32;
};

// Comparison predicates of VCMPPS: ordered, quiet.
enum class Compare : std::uint8_t { equal = 0x00, less = 0x11, less_equal = 0x12, unordered = 0x03 };

template <class Isa>
class RowAssembler : public Xbyak::CodeGenerator {
  public:
    using Vector = typename Isa::Vector;
    using Mask = typename Isa::Mask;
    using Operand = Xbyak::Operand;
    using Address = Xbyak::Address;
    static constexpr bool kWide = Isa::kWide;
    static constexpr int kLanes = Isa::kLanes, kBytes = Isa::kBytes;

    // Emits into `buffer`, which stays the caller's: the assembler itself maps no pages.
    RowAssembler(void* buffer, std::size_t bytes, std::pmr::memory_resource* heap)
        : CodeGenerator(bytes, buffer), constants_(heap) {}

    static Vector vec(int reg) { return Vector(reg); }
    static Xbyak::Ymm half(int reg) { return Xbyak::Ymm(reg); }
    static Xbyak::Xmm quarter(int reg) { return Xbyak::Xmm(reg); }
    static Mask mask(int reg) { return Mask(reg); }
    Address frame(int offset) const { return ptr[rsp + offset]; }
    Address frame_word(int offset) const { return dword[rsp + offset]; }
    Address frame_quad(int offset) const { return qword[rsp + offset]; }

    // ---- constants, in a pool behind the code

    // A vector of equal words as the last source of an instruction: {1to16} of one word, or 32 bytes.
    Address constant(std::uint32_t bits) {
        if constexpr (kWide)
            return ptr_b[rip + constant_label(bits)];
        else
            return ptr[rip + constant_label(bits)];
    }
    void load_constant(int reg, std::uint32_t bits) {
        if (bits == 0)
            zero(reg);
        else
            vbroadcastss(vec(reg), dword[rip + constant_label(bits)]);
    }
    void zero(int reg) {  // VEX clears the upper bits too; only EVEX reaches registers from 16
        if (reg < 16)
            vxorps(quarter(reg), quarter(reg), quarter(reg));
        else
            vpxord(vec(reg), vec(reg), vec(reg));
    }
    Address iota() { return ptr[rip + iota_]; }  // 0, 1, 2, ...

    void emit_pool();

    // ---- memory

    // The mask of a partial vector: k1, or the register `tail` of AVX2.
    void load(int reg, const Address& from, bool masked, int tail) {
        if constexpr (kWide) {
            if (masked)
                vmovups(vec(reg) | k1 | T_z, from);
            else
                vmovups(vec(reg), from);
        } else {
            if (masked)
                vmaskmovps(vec(reg), vec(tail), from);
            else
                vmovups(vec(reg), from);
        }
    }
    void store(const Address& to, int reg, bool masked, int tail) {
        if constexpr (kWide) {
            if (masked)
                vmovups(to | k1, vec(reg));
            else
                vmovups(to, vec(reg));
        } else {
            if (masked)
                vmaskmovps(to, vec(tail), vec(reg));
            else
                vmovups(to, vec(reg));
        }
    }
    void broadcast_word(int reg, const Xbyak::Reg32& from) {
        if constexpr (kWide) {
            vpbroadcastd(vec(reg), from);
        } else {
            vmovd(quarter(reg), from);
            vpbroadcastd(vec(reg), quarter(reg));
        }
    }
    void store_mask(const Address& to, int reg) {
        if constexpr (kWide)
            kmovw(to, mask(reg));
        else
            vmovaps(to, mask(reg));  // unreachable: without AVX-512 masks are kept as vectors
    }
    void load_mask(int reg, const Address& from) {
        if constexpr (kWide)
            kmovw(mask(reg), from);
        else
            vmovaps(mask(reg), from);  // unreachable: as in store_mask
    }

    // ---- masks

    void compare(int to, int a, const Operand& b, Compare how) {
        vcmpps(mask(to), vec(a), b, static_cast<std::uint8_t>(how));
    }
    void mask_and(int to, int a, int b) {
        if constexpr (kWide)
            kandw(mask(to), mask(a), mask(b));
        else
            vandps(mask(to), mask(a), mask(b));
    }
    void mask_or(int to, int a, int b) {
        if constexpr (kWide)
            korw(mask(to), mask(a), mask(b));
        else
            vorps(mask(to), mask(a), mask(b));
    }
    void mask_not(int to, int a) {
        if constexpr (kWide)
            knotw(mask(to), mask(a));
        else
            vxorps(mask(to), mask(a), constant(0xffffffffu));
    }
    void equal_words(int to, int a, const Operand& b) { vpcmpeqd(mask(to), vec(a), b); }
    void greater_words(int to, int a, const Operand& b) { vpcmpgtd(mask(to), vec(a), b); }  // signed
    // `to` is not `a`.
    void less_words_unsigned(int to, int a, const Operand& b) {
        if constexpr (kWide) {
            vpcmpud(mask(to), vec(a), b, 1);
        } else {  // not (max(a, b) == a)
            vpmaxud(vec(to), vec(a), b);
            vpcmpeqd(vec(to), vec(to), vec(a));
            vpxor(vec(to), vec(to), constant(0xffffffffu));
        }
    }
    void select(int to, int condition, const Operand& yes, int no) {
        if constexpr (kWide)
            vblendmps(vec(to) | mask(condition), vec(no), yes);
        else
            vblendvps(vec(to), vec(no), yes, vec(condition));
    }
    void select_or_zero(int to, int condition, const Operand& yes) {
        if constexpr (kWide)
            vmovups(vec(to) | mask(condition) | T_z, yes);  // memory of any alignment
        else
            vandps(vec(to), vec(condition), yes);
    }

    // ---- words

    // The high halves of 32 x 32 bit products. Even lanes multiply in place, odd lanes shifted down; `same_a`
    // says that all lanes of a are equal, so that no shift is needed. t0, t1 and `to` differ from a and b.
    void multiply_high(int to, int a, int b, bool same_a, bool same_b, int t0, int t1) {
        vpmuludq(vec(to), vec(a), vec(b));
        if (!same_a) vpsrlq(vec(t0), vec(a), 32);
        if (!same_b) vpsrlq(vec(t1), vec(b), 32);
        vpmuludq(vec(t0), vec(same_a ? a : t0), vec(same_b ? b : t1));
        vpsrlq(vec(to), vec(to), 32);
        if constexpr (kWide)
            vpternlogq(vec(to), vec(t0), ptr_b[rip + odd_words_], 0xF8);  // to | (t0 & odd words)
        else
            vpblendd(vec(to), vec(to), vec(t0), 0xAA);
    }

    // ---- folding the lanes of a vector; the result is in lane 0 of `reg`

    template <class Combine>  // Combine(x, y): x = combine(x, y), registers of the class it is given
    void fold(int reg, int temporary, Combine combine) {
        if constexpr (kWide) {
            vextractf64x4(half(temporary), Xbyak::Zmm(reg), 1);
            combine(half(reg), half(temporary));
            vextractf32x4(quarter(temporary), half(reg), 1);
        } else {
            vextractf128(quarter(temporary), half(reg), 1);
        }
        combine(quarter(reg), quarter(temporary));
        vmovhlps(quarter(temporary), quarter(temporary), quarter(reg));
        combine(quarter(reg), quarter(temporary));
        vmovshdup(quarter(temporary), quarter(reg));
        combine(quarter(reg), quarter(temporary));
    }

    // 32 set words, then 32 zeros: masks of AVX2 are windows of it.
    const Xbyak::Label& mask_window() const { return mask_window_; }

  private:
    struct Constant {
        std::uint32_t bits;
        Xbyak::Label label;
    };
    const Xbyak::Label& constant_label(std::uint32_t bits) {
        for (const Constant& known : constants_)
            if (known.bits == bits) return known.label;
        constants_.push_back(Constant{bits, Xbyak::Label()});
        return constants_.back().label;
    }

    std::pmr::deque<Constant> constants_;  // labels stay where they are
    Xbyak::Label iota_, odd_words_, mask_window_;
};

template <class Isa>
void RowAssembler<Isa>::emit_pool() {
    align_code(*this, 64);
    L(iota_);
    for (std::uint32_t i = 0; i < kLanes; ++i) dd(i);
    L(mask_window_);
    for (int i = 0; !kWide && i < 64; ++i) dd(i < 32 ? 0xffffffffu : 0u);
    for (Constant& known : constants_) {
        L(known.label);
        for (int i = 0; i < (kWide ? 1 : kLanes); ++i) dd(known.bits);
    }
    align_code(*this, 8);
    L(odd_words_);
    dd(0);
    dd(0xffffffffu);
}

}  // namespace volta::jit
