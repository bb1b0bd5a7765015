#include "jitgen/gemm_dot.h"

#include <cstddef>
#include <cstdio>
#include <type_traits>

#include "jitgen/form_key.h"
#include "jitgen/x86/gemm/emit.h"

namespace volta::jit {
namespace {

using Xbyak::Label;
using Xbyak::Reg64;
using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::Zmm;

constexpr std::size_t kMaxCodeBytes = 8 * 1024;
constexpr int kTurns = 4;  // of kDotSteps steps, per iteration of the main loop

// Registers:
//   vectors  0 .. 7 four steps of B before and after they are turned | AVX2: 8 an element of A | chains from 9 on
//            by lines: 0 .. 15 a line of 16 rows, 16 .. 19 to turn them | chains from 20 on
//   k1 k2 k3 the second to fourth quarter of a vector
//   rsi r13 r11 r14 rows 0, 3, 6 and 9 of A, r10 their stride | r8 r9 rbx rbp r12 rows 0, 3, 5, 6 and 11 of B, rdx their stride
//   rcx steps left | rax what is prefetched | r14, with several groups, whose rows of A are few: from one to the next
template <class Vmm>
class DotEmitter : public Xbyak::CodeGenerator {
  public:
    static constexpr bool kZmm = std::is_same<Vmm, Zmm>::value;
    static constexpr int kVectors = kZmm ? 1 : 2;  // of 16 outputs

    DotEmitter(const DotForm& form, EmitBuffer& buffer)
        : Xbyak::CodeGenerator(buffer.bytes(), buffer.data()),
          rows_(form.rows),
          groups_(form.groups),
          prefetches_(form.prefetches),
          lines_(form.lines) {}

    void emit() {
        Label wide, narrow, done;
        emit_entry();
        L(wide);
        cmp(rcx, kTurns * kDotSteps);
        jl(narrow, T_NEAR);
        emit_transposes4(kTurns);
        jmp(wide, T_NEAR);
        L(narrow);
        test(rcx, rcx);
        jz(done, T_NEAR);
        emit_transposes4(1);
        jmp(narrow, T_NEAR);
        L(done);
        mov(rdi, ptr[rdi + static_cast<int>(offsetof(DotArgs, sums))]);
        for (int i = 0; i < chain_count(); ++i)
            vmovaps(ptr[rdi + i * (kZmm ? 64 : 32)], Vmm(first_chain() + i));
        vzeroupper();
        for (const Reg64& saved : {r14, r13, r12, rbp, rbx}) pop(saved);
        ret();
    }

  private:
    const int rows_, groups_;
    const bool prefetches_, lines_;
    const RowAddresses a_{rows_, rsi, r13, r11, r14, r10};
    const Reg64 b_rows_[5] = {r8, r9, rbx, rbp, r12};

    int first_chain() const { return lines_ ? 20 : 9; }
    int chain_count() const { return groups_ * rows_ * kVectors; }
    Vmm chain(int g, int i, int v) const { return Vmm(first_chain() + (g * rows_ + i) * kVectors + v); }
    Xbyak::Address arg(std::size_t offset) { return qword[rdi + static_cast<int>(offset)]; }
    Xbyak::RegExp b_row(int j) const {
        switch (j) {
            case 0:
                return r8;
            case 1:
                return r8 + rdx;
            case 2:
                return r8 + rdx * 2;
            case 3:
                return r9;
            case 4:
                return r8 + rdx * 4;
            case 5:
                return rbx;
            case 6:
                return rbp;
            case 7:
                return r9 + rdx * 4;
            case 8:
                return r8 + rdx * 8;
            case 9:
                return rbx + rdx * 4;
            case 10:
                return rbp + rdx * 4;
            case 11:
                return r12;
            case 12:
                return r12 + rdx;
            case 13:
                return r12 + rdx * 2;
            case 14:
                return rbp + rdx * 8;
            default:
                return r12 + rdx * 4;
        }
    }

    void emit_entry() {
        for (const Reg64& saved : {rbx, rbp, r12, r13, r14}) push(saved);
        a_.load(*this, arg(offsetof(DotArgs, a)), arg(offsetof(DotArgs, a_stride)));
        mov(r8, arg(offsetof(DotArgs, b)));
        mov(rdx, arg(offsetof(DotArgs, b_stride)));
        shl(rdx, 2);
        lea(r9, ptr[r8 + rdx * 2]);
        add(r9, rdx);
        lea(rbx, ptr[r9 + rdx * 2]);
        lea(rbp, ptr[rbx + rdx]);
        lea(r12, ptr[r9 + rdx * 8]);
        if (groups_ > 1) {
            mov(r14, rdx);
            shl(r14, 4);
        }
        if (prefetches_) mov(rax, arg(offsetof(DotArgs, prefetch_target)));
        if constexpr (kZmm) {
            int quarter = 0x00f0;
            for (const Xbyak::Opmask& mask : {k1, k2, k3}) {
                mov(ecx, quarter);
                kmovw(mask, ecx);
                quarter <<= 4;
            }
        }
        mov(rcx, arg(offsetof(DotArgs, steps)));
        for (int i = 0; i < chain_count(); ++i) {
            const Vmm c(first_chain() + i);
            if constexpr (kZmm) {
                vpxord(c, c, c);
            } else {
                vxorps(c, c, c);
            }
        }
    }

    void emit_transposes4(int turns) {
        for (int g = 0; g < groups_; ++g) {
            if (g > 0)
                for (const Reg64& each : b_rows_) add(each, r14);
            if (lines_ && turns == kTurns) {
                emit_lines(g);
                continue;
            }
            // A vector's rows are read to the end of their lines before the next ones' are: where the stride
            // is a power of two all lines fall into few sets of L1, which hold eight.
            for (int v = 0; v < kVectors; ++v)
                for (int turn = 0; turn < turns; ++turn) {
                    emit_block(g, v, turn * kDotSteps * 4,
                               ((g * kVectors + v) * turns + turn) * 4 / kVectors);
                }
        }
        const int bytes = turns * kDotSteps * 4;
        a_.advance(*this, bytes);
        for (const Reg64& each : b_rows_) {
            if (groups_ > 1) sub(each, r14);
            add(each, bytes);
        }
        if (prefetches_) add(rax, groups_ * turns * 256);
        sub(rcx, turns * kDotSteps);
    }

    // Four steps of the rows of vector v of group g: each quarter of a vector holds four rows, turned by
    // itself.
    void emit_block(int g, int v, int offset, int line) {
        const int first = v * 8;
        for (int r = 0; r < 4; ++r) {
            if (prefetches_ && r % kVectors == 0) prefetch_one(line + r / kVectors);
            const Vmm t(r);
            vmovups(Xmm(r), ptr[b_row(first + r) + offset]);
            if constexpr (kZmm) {
                vbroadcastf32x4(t | k1, ptr[b_row(r + 4) + offset]);
                vbroadcastf32x4(t | k2, ptr[b_row(r + 8) + offset]);
                vbroadcastf32x4(t | k3, ptr[b_row(r + 12) + offset]);
            } else {
                vinsertf128(t, t, ptr[b_row(first + r + 4) + offset], 1);
            }
        }
        emit_transpose4(0, 4);
        emit_chains(g, v, 0, offset);
    }

    // Four rows in each quarter of vectors first .. first + 3 become four steps.
    void emit_transpose4(int first, int spare) {
        const Vmm a(first), b(first + 1), c(first + 2), d(first + 3);
        vunpcklps(Vmm(spare), a, b);
        vunpckhps(Vmm(spare + 1), a, b);
        vunpcklps(Vmm(spare + 2), c, d);
        vunpckhps(Vmm(spare + 3), c, d);
        vunpcklpd(a, Vmm(spare), Vmm(spare + 2));
        vunpckhpd(b, Vmm(spare), Vmm(spare + 2));
        vunpcklpd(c, Vmm(spare + 1), Vmm(spare + 3));
        vunpckhpd(d, Vmm(spare + 1), Vmm(spare + 3));
    }
    // The steps of vectors first .. first + 3, whose elements of A lie at `offset`.
    void emit_chains(int g, int v, int first, int offset) {
        for (int s = 0; s < kDotSteps; ++s)
            for (int i = 0; i < rows_; ++i) {
                const Xbyak::RegExp at = a_.at(i) + offset + s * 4;
                if constexpr (kZmm) {
                    vfmadd231ps(chain(g, i, v), Vmm(first + s), ptr_b[at]);
                } else {
                    vbroadcastss(Vmm(8), ptr[at]);
                    vfmadd231ps(chain(g, i, v), Vmm(first + s), Vmm(8));
                }
            }
    }
    void prefetch_one(int line) {
        for (const int distance : kPrefetchDistances) prefetcht1(ptr[rax + line * 64 + distance]);
    }

    // A line, 16 steps, of each row of group g. Quarters of rows r, r + 4, r + 8 and r + 12 change places, so
    // that vector r + 4 q has quarter q of all four; from there on it is as in emit_block.
    void emit_lines(int g) {
        if constexpr (kZmm) {
            constexpr int kLow = 0x88, kHigh = 0xdd,
                          kSpare = 16;  // quarters 0 and 2, 1 and 3, of either operand
            for (int j = 0; j < kDotOutputs; ++j) {
                if (prefetches_) prefetch_one(g * kDotOutputs + j);
                vmovups(Zmm(j), ptr[b_row(j)]);
            }
            for (int r = 0; r < 4; ++r) {
                const Zmm row[] = {Zmm(r), Zmm(r + 4), Zmm(r + 8), Zmm(r + 12)};
                for (int half = 0; half < 2; ++half) {
                    vshuff32x4(Zmm(kSpare + 2 * half), row[2 * half], row[2 * half + 1], kLow);
                    vshuff32x4(Zmm(kSpare + 2 * half + 1), row[2 * half], row[2 * half + 1], kHigh);
                }
                for (int q = 0; q < 4; ++q)
                    vshuff32x4(row[q], Zmm(kSpare + q % 2), Zmm(kSpare + 2 + q % 2), q < 2 ? kLow : kHigh);
            }
            for (int q = 0; q < 4; ++q) {
                emit_transpose4(4 * q, kSpare);
                emit_chains(g, 0, 4 * q, q * kDotSteps * 4);
            }
        }
    }
};

template <class Vmm>
DotFunction emit_for(const DotForm& form, CodeArena& arena, std::pmr::memory_resource* heap) {
    char name[48];
    std::snprintf(name, sizeof name, "dots %d rows %d groups %s%s%s", form.rows, form.groups,
                  isa_name(form.isa), form.prefetches ? " prefetch" : "", form.lines ? " lines" : "");
    EmitBuffer buffer(heap, kMaxCodeBytes);
    DotEmitter<Vmm> emitter(form, buffer);
    return as_function<DotFunction>(publish(emitter, arena, name));
}

}  // namespace

std::uint64_t key_of(const DotForm& form) {
    return form_key(form.isa, form.rows, form.groups, form.prefetches, form.lines);
}

DotFunction emit_dot(const DotForm& form, CodeArena& arena, std::pmr::memory_resource* heap) {
    if (form.isa == Isa::scalar || form.rows < 1 || form.rows > dot_rows(form.isa))
        fail(VOLTA_INTERNAL, "no dots take %d rows in %s", form.rows, isa_name(form.isa));
    if (form.groups < 1 || form.groups > dot_groups(form.isa, form.rows))
        fail(VOLTA_INTERNAL, "no dots of %d rows take %d groups in %s", form.rows, form.groups,
             isa_name(form.isa));
    if (form.lines && form.isa != Isa::avx512)
        fail(VOLTA_INTERNAL, "no dots of %s read lines", isa_name(form.isa));
    if (!arena.available()) return nullptr;
    return form.isa == Isa::avx512 ? emit_for<Zmm>(form, arena, heap) : emit_for<Ymm>(form, arena, heap);
}

}  // namespace volta::jit
