#include "jitgen/gemm_axpy.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <type_traits>

#include "jitgen/form_key.h"
#include "jitgen/x86/gemm/emit.h"

namespace volta::jit {
namespace {

using Xbyak::Label;
using Xbyak::Reg64;
using Xbyak::Ymm;
using Xbyak::Zmm;

constexpr std::size_t kMaxCodeBytes = 16 * 1024;
constexpr int kShallowSteps = 8;  // more take the registers of what is prefetched
// How far ahead each row of B is prefetched when it comes from L3, into L1: twice as far is slower.
constexpr int kNearBytes = 256;
// Each line is prefetched as often as that: a processor drops prefetches while many lines are
// under way.
constexpr int kRowsBelow = 5;
// Of AVX2's 16 steps of one row: chains of 64 columns, and the registers that elements of A take in turns.
constexpr int kReloadedChains = 8, kReloadedElements = 6;

// Registers:
//   vectors  A, one element each | the chains of `unroll` vectors of columns | one vector of B | AVX2: the mask
//   rsi r8 rows 0 and 4 of B | rdx rcx their stride, three times it | r9 chains | r10 r11 their stride, three times it
//   rax columns left | prefetched: rdi rbx its rows 0 and 4, or rdi its next lines; nothing: rows 8 and 12 of B
//   from both ends, one row of A: rdi rbx r10 the last block of rows 0 and 4 of B and of the chains
//   AVX2, 16 steps of one row: the elements of A lie on the stack, before what rbx held
template <class Vmm>
class AxpyEmitter : public Xbyak::CodeGenerator {
  public:
    AxpyEmitter(const AxpyForm& form, EmitBuffer& buffer)
        : Xbyak::CodeGenerator(buffer.bytes(), buffer.data()),
          rows_(form.rows),
          steps_(form.steps),
          prefetch_(form.prefetch) {}

    void emit() {
        Label wide, narrow, tail, done, mask_table;
        emit_entry();
        if (from_both_ends()) emit_both_ends(wide);
        L(wide);
        cmp(rax, unroll() * kLanes);
        jl(narrow, T_NEAR);
        emit_columns(unroll(), false);
        jmp(wide, T_NEAR);
        L(narrow);
        cmp(rax, kLanes);
        jl(tail, T_NEAR);
        emit_columns(1, false);
        jmp(narrow, T_NEAR);
        L(tail);
        test(rax, rax);
        jz(done, T_NEAR);
        emit_mask(mask_table);
        emit_columns(1, true);
        L(done);
        vzeroupper();
        if (reloads_a()) add(rsp, steps_ * kElementBytes);
        if (uses_rbx()) pop(rbx);
        ret();
        if (kZmm) return;
        align_code(*this, 32);
        L(mask_table);
        for (int i = 0; i < 8; ++i) dd(0xffffffffu);
        for (int i = 0; i < 8; ++i) dd(0);
    }

    static constexpr bool kZmm = std::is_same<Vmm, Zmm>::value;
    static constexpr int kLanes = kZmm ? 16 : 8;
    static constexpr int kElementBytes = 4, kBytes = kElementBytes * kLanes;
    static constexpr int kRegisters = kZmm ? 32 : 16;

  private:
    const int rows_, steps_;
    const AxpyPrefetch prefetch_;

    bool prefetches_rows() const { return prefetch_ == AxpyPrefetch::rows; }
    bool is_deep() const { return steps_ > kShallowSteps; }
    bool from_both_ends() const { return prefetch_ == AxpyPrefetch::below; }
    bool uses_rbx() const { return prefetches_rows() || is_deep() || from_both_ends(); }
    bool reloads_a() const { return is_deep() && !kZmm; }
    int unroll() const {
        return reloads_a() ? kReloadedChains : std::min(4, (kRegisters - 2 - rows_ * steps_) / rows_);
    }
    Vmm a(int i, int s) const { return Vmm(reloads_a() ? s % kReloadedElements : i * steps_ + s); }
    Vmm chain(int i, int v) const {
        return Vmm((reloads_a() ? kReloadedElements : rows_ * steps_) + v * rows_ + i);
    }
    Vmm value() const { return Vmm(kRegisters - 2); }
    Vmm mask() const { return Vmm(kRegisters - 1); }

    Xbyak::Address arg(std::size_t offset) { return qword[rdi + static_cast<int>(offset)]; }
    Xbyak::RegExp scaled(const Reg64& base, const Reg64& by, const Reg64& by3, int times) {
        return times == 0   ? Xbyak::RegExp(base)
               : times == 1 ? base + by
               : times == 2 ? base + by * 2
                            : base + by3;
    }
    Xbyak::Address b_at(int s, int offset) {
        const Reg64* const bases[] = {&rsi, &r8, &rdi, &rbx};
        return ptr[scaled(*bases[s / 4], rdx, rcx, s % 4) + offset];
    }
    Xbyak::Address reloaded(int s) { return ptr[rsp + s * kElementBytes]; }
    Xbyak::Address chain_at(int i, int v) { return ptr[scaled(r9, r10, r11, i) + v * kBytes]; }

    void emit_entry() {
        if (uses_rbx()) push(rbx);
        if (reloads_a()) sub(rsp, steps_ * kElementBytes);
        mov(rsi, arg(offsetof(AxpyArgs, a)));
        mov(rdx, arg(offsetof(AxpyArgs, a_row)));
        mov(rcx, arg(offsetof(AxpyArgs, a_step)));
        for (int i = 0; i < rows_; ++i) {
            mov(rax, rsi);
            for (int s = 0; s < steps_; ++s) {
                vbroadcastss(a(i, s), ptr[rax]);
                if (reloads_a()) vmovss(reloaded(s), Xbyak::Xmm(a(i, s).getIdx()));
                lea(rax, ptr[rax + rcx * 4]);
            }
            lea(rsi, ptr[rsi + rdx * 4]);
        }
        mov(rsi, arg(offsetof(AxpyArgs, b)));
        mov(rdx, arg(offsetof(AxpyArgs, b_stride)));
        shl(rdx, 2);
        lea(rcx, ptr[rdx + rdx * 2]);
        lea(r8, ptr[rsi + rdx * 4]);
        mov(r9, arg(offsetof(AxpyArgs, chains)));
        mov(r10, arg(offsetof(AxpyArgs, accumulator_stride)));
        shl(r10, 2);
        lea(r11, ptr[r10 + r10 * 2]);
        mov(rax, arg(offsetof(AxpyArgs, columns)));
        if (is_deep()) {
            lea(rdi, ptr[rsi + rdx * 8]);
            lea(rbx, ptr[r8 + rdx * 8]);
        }
        if (from_both_ends()) {
            const int block = unroll() * kBytes;
            lea(rdi, ptr[rsi + rax * 4 - block]);
            lea(rbx, ptr[r8 + rax * 4 - block]);
            lea(r10, ptr[r9 + rax * 4 - block]);
        }
        if (!prefetches_rows() && prefetch_ != AxpyPrefetch::next) return;
        mov(rdi, arg(offsetof(AxpyArgs, prefetch_target)));
        if (prefetches_rows()) lea(rbx, ptr[rdi + rdx * 4]);
    }

    void emit_mask(Label& table) {
        if (kZmm) {
            mov(ecx, eax);  // three strides of B end here: put together again below
            mov(eax, 1);    // the last columns: nothing counts them down
            shl(eax, cl);
            dec(eax);
            kmovw(k1, eax);
            lea(rcx, ptr[rdx + rdx * 2]);
        } else {
            const Reg64& window = is_deep() ? r10 : rdi;  // the last columns read all rows of B still
            lea(window, ptr[rip + table]);
            neg(rax);
            vmovups(mask(), ptr[window + rax * 4 + 32]);
        }
    }

    // A block from the front and one from the back, until they meet.
    void emit_both_ends(Label& rest) {
        Label next;
        L(next);
        cmp(rax, 2 * unroll() * kLanes);
        jl(rest, T_NEAR);
        emit_block(rsi, r8, r9, false);
        emit_block(rdi, rbx, r10, true);
        sub(rax, 2 * unroll() * kLanes);
        jmp(next, T_NEAR);
    }
    // One row of A, one step of k, in the direction of the walk.
    void emit_block(const Reg64& b, const Reg64& b4, const Reg64& chains, bool backwards) {
        for (int each = 0; each < unroll(); ++each) {
            const int v = backwards ? unroll() - 1 - each : each, offset = v * kBytes;
            load(chain(0, v), ptr[chains + offset], false);
            if (offset % 64 == 0)
                for (int row = kRowsBelow; row > 0; --row)
                    prefetcht1(ptr[scaled(row < 4 ? b : b4, rdx, rcx, row % 4) + offset]);
            vfmadd231ps(chain(0, v), a(0, 0), ptr[b + offset]);
            store(ptr[chains + offset], chain(0, v), false);
        }
        for (const Reg64& each : {b, b4, chains}) {
            if (backwards)
                sub(each, unroll() * kBytes);
            else
                add(each, unroll() * kBytes);
        }
    }

    // `count` vectors of columns, or the masked last one.
    void emit_columns(int count, bool masked) {
        for (int v = 0; v < count; ++v)
            for (int i = 0; i < rows_; ++i) load(chain(i, v), chain_at(i, v), masked);
        for (int s = 0; s < steps_; ++s) {
            if (reloads_a()) vbroadcastss(a(0, s), reloaded(s));
            for (int v = 0; v < count; ++v) {
                if (!masked && v * kBytes % 64 == 0) emit_prefetch(s, v * kBytes, (s * count + v) * kBytes);
                if (rows_ == 1 && !masked) {
                    vfmadd231ps(chain(0, v), a(0, s), b_at(s, v * kBytes));
                    continue;
                }
                load(value(), b_at(s, v * kBytes), masked);
                for (int i = 0; i < rows_; ++i) vfmadd231ps(chain(i, v), a(i, s), value());
            }
        }
        for (int v = 0; v < count; ++v)
            for (int i = 0; i < rows_; ++i) store(chain_at(i, v), chain(i, v), masked);
        if (masked) return;
        for (const Reg64& each : {rsi, r8, r9}) add(each, count * kBytes);
        if (prefetches_rows() || is_deep())
            for (const Reg64& each : {rdi, rbx}) add(each, count * kBytes);
        if (prefetch_ == AxpyPrefetch::next) add(rdi, steps_ * count * kBytes);
        sub(rax, count * kLanes);
    }

    Xbyak::Address ahead_at(int s, int offset) {
        return ptr[scaled(s < 4 ? rdi : rbx, rdx, rcx, s % 4) + offset];
    }
    // The line at `offset` of row s of B, which is the line at `linear` of the block.
    void emit_prefetch(int s, int offset, int linear) {
        switch (prefetch_) {
            case AxpyPrefetch::none:
                return;
            case AxpyPrefetch::near:
                return prefetcht0(b_at(s, offset + kNearBytes));
            case AxpyPrefetch::rows:
                return prefetcht1(ahead_at(s, offset));
            case AxpyPrefetch::below:
                for (int row = kRowsBelow; row > 0; --row) prefetcht1(b_at(row, offset));
                return;
            case AxpyPrefetch::next:
                for (const int distance : kPrefetchDistances) prefetcht1(ptr[rdi + linear + distance]);
        }
    }

    void load(const Vmm& to, const Xbyak::Address& from, bool masked) {
        if (!masked) {
            vmovups(to, from);
        } else if constexpr (kZmm) {
            vmovups(to | k1 | T_z, from);
        } else {
            vmaskmovps(to, mask(), from);
        }
    }
    void store(const Xbyak::Address& to, const Vmm& from, bool masked) {
        if (!masked) {
            vmovups(to, from);
        } else if constexpr (kZmm) {
            vmovups(to | k1, from);
        } else {
            vmaskmovps(to, mask(), from);
        }
    }
};

template <class Vmm>
AxpyFunction emit_for(const AxpyForm& form, CodeArena& arena, std::pmr::memory_resource* heap) {
    char name[48];
    std::snprintf(name, sizeof name, "sweep %d rows %d steps %s%s", form.rows, form.steps, isa_name(form.isa),
                  form.prefetch > AxpyPrefetch::near ? " ahead" : "");
    EmitBuffer buffer(heap, kMaxCodeBytes);
    AxpyEmitter<Vmm> emitter(form, buffer);
    return as_function<AxpyFunction>(publish(emitter, arena, name));
}

}  // namespace

std::uint64_t key_of(const AxpyForm& form) {
    return form_key(form.isa, form.rows, form.steps, form.prefetch);
}

int axpy_steps(Isa isa, int rows, AxpyPrefetch prefetch) {
    if (prefetch == AxpyPrefetch::below) return rows == 1 ? 1 : 0;
    if (rows == 1 && prefetch == AxpyPrefetch::none) return kMaxAxpySteps;
    const int elements = isa == Isa::avx512 ? 16 : 8;  // half of the registers
    return rows <= elements / 8 ? kShallowSteps : rows <= elements / 4 ? 4 : 2;
}

AxpyFunction emit_axpy(const AxpyForm& form, CodeArena& arena, std::pmr::memory_resource* heap) {
    const bool fits = form.isa != Isa::scalar && form.rows >= 1 && form.rows <= kMaxAxpyRows &&
                      form.steps >= 1 && form.steps <= axpy_steps(form.isa, form.rows, form.prefetch);
    if (!fits)
        fail(VOLTA_INTERNAL, "no sweep takes %d steps of %d rows in %s", form.steps, form.rows,
             isa_name(form.isa));
    if (!arena.available()) return nullptr;
    return form.isa == Isa::avx512 ? emit_for<Zmm>(form, arena, heap) : emit_for<Ymm>(form, arena, heap);
}

}  // namespace volta::jit
