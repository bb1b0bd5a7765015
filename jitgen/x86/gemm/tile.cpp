#include "jitgen/gemm_f32.h"

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

// A step that prefetches several lines prefetches those of some steps before once more: what a processor is
// prefetched while many lines are under way it drops. Bytes.
constexpr int kRepeatDistances[] = {0, 2048};
constexpr std::size_t kMaxCodeBytes = 64 * 1024;  // the largest form, 16x1v with a triangle, needs a fifth

// The generator is one class for both vector widths. Registers:
//   vectors  0 .. rows*vectors-1 the tile, then the smaller side of the step (the vectors of B, or the broadcasts
//            of A) held for the whole step, then what is left rotates over the other side
//   rdi args | rsi rdx rcx r8 rows 0, 4, 8, 12 of A (k-major: rsi) | r9 r10 stride of A, three times it
//   r11 B | rbx rbp stride of B, three times it (in place: `prefetch` times it) | rax steps
//   (A by offsets: rbx where they are, rbp A, both free since B is packed; the rows' registers are found anew each step)
//   r12 r13 steps left in the segment, in all | r14 r15 rows of C and chains; between them r14 what is written, or
//   prefetched with r15 its stride (r8 three times it: four lines leave no room for rows 12 and up), or r14 what is
//   added to B where it is prefetched again
template <class Vmm>
class GemmEmitter : public Xbyak::CodeGenerator {
  public:
    GemmEmitter(const GemmForm& form, EmitBuffer& buffer)
        : Xbyak::CodeGenerator(buffer.bytes(), buffer.data()),
          form_(form),
          mr_(form.mr),
          vectors_(form.vectors) {}

    void emit() {
        emit_entry();
        Label tile;
        L(tile);
        const int parts = (mr_ + rows_in_registers() - 1) / rows_in_registers();
        for (int p = 0; p < parts; ++p) {
            first_ = mr_ * p / parts;
            last_ = mr_ * (p + 1) / parts;
            emit_part();
        }
        emit_next_tile(tile);
        emit_exit();
    }

    static constexpr bool kZmm = std::is_same<Vmm, Zmm>::value;
    static constexpr int kLanes = kZmm ? 16 : 8;
    static constexpr int kVectorBytes = 4 * kLanes;
    static constexpr int kLineBytes = 64;
    static constexpr int kRegisters = kZmm ? 32 : 16;

  private:
    const GemmForm form_;
    const int mr_, vectors_;
    int first_ = 0, last_ = 0;  // rows of this part
    Label mask_table_;

    const Reg64 args = rdi, lda = r9, lda3 = r10, b = r11, ldb = rbx, ldb3 = rbp, steps = rax;
    const Reg64 segment_left = r12, steps_left = r13, pointer = r14, stride = r15;
    Reg64 a_base(int group) const {
        const Reg64 bases[] = {rsi, rdx, rcx, r8};
        return bases[group];
    }

    const Reg64 stream = r14, stream_stride = r15, stream_stride3 = r8, again = r14;
    const Reg64 offsets = rbx, picture = rbp;  // GemmA::offsets
    bool by_offsets() const { return form_.a == GemmA::offsets; }
    bool in_place() const { return form_.b == GemmB::rows || form_.b == GemmB::pack_on_first_use; }
    bool packs() const { return form_.b == GemmB::pack_on_first_use; }
    bool streams() const { return packs() || form_.prefetch_lines > 0; }

    // The stack: the mask of the last vector (AVX2), whether the next closed segment is added, whether this
    // one leaves its last steps to the tail, and where the stream beside the step goes on: what is written,
    // or prefetched.
    static constexpr int kStackBytes = 56;
    Xbyak::Address stream_slot() { return qword[rsp + 40]; }
    Xbyak::Address ahead_step_slot() { return qword[rsp + 48]; }  // bytes
    Xbyak::Address mask_slot() { return ptr[rsp]; }
    Xbyak::Address add_slot() { return dword[rsp + 32]; }
    Xbyak::Address tail_slot() { return dword[rsp + 36]; }
    Xbyak::Address arg(std::size_t offset) { return qword[args + static_cast<int>(offset)]; }

    int rows_in_registers() const { return gemm_rows_in_registers(form_.isa, vectors_); }
    int rows() const { return last_ - first_; }
    bool is_last(int v) const { return form_.masked && v == vectors_ - 1; }
    Vmm acc(int i, int v) const { return Vmm((i - first_) * vectors_ + v); }
    Vmm free_vector(int n) const { return Vmm(rows() * vectors_ + n); }  // behind the tile
    int free_vectors() const { return kRegisters - rows() * vectors_; }

    void emit_entry() {
        for (const Reg64& r : {rbx, rbp, r12, r13, r14, r15}) push(r);
        sub(rsp, kStackBytes);
        if (form_.masked) emit_mask();
    }

    void emit_exit() {
        vzeroupper();
        add(rsp, kStackBytes);
        for (const Reg64& r : {r15, r14, r13, r12, rbp, rbx}) pop(r);
        ret();
        if (form_.masked && !kZmm) {
            align_code(*this, 32);
            L(mask_table_);
            for (int i = 0; i < 8; ++i) dd(0xffffffffu);
            for (int i = 0; i < 8; ++i) dd(0);
        }
    }

    void emit_next_tile(const Label& tile) {
        Label done;
        dec(arg(offsetof(GemmArgs, next.tiles)));
        jz(done, T_NEAR);
        emit_move(offsetof(GemmArgs, a), offsetof(GemmArgs, next.a), false);
        emit_move(offsetof(GemmArgs, b), offsetof(GemmArgs, next.b), false);
        emit_move(offsetof(GemmArgs, c), offsetof(GemmArgs, next.c), false);
        emit_move(offsetof(GemmArgs, accumulators_in), offsetof(GemmArgs, next.accumulators), true);
        emit_move(offsetof(GemmArgs, accumulators_out), offsetof(GemmArgs, next.accumulators), true);
        if (streams()) emit_move(stream_offset(), offsetof(GemmArgs, next.stream), false);
        jmp(tile, T_NEAR);
        L(done);
    }
    // A pointer that may be NULL stays so.
    void emit_move(std::size_t pointer_offset, std::size_t by, bool may_be_null) {
        Label null;
        if (may_be_null) {
            cmp(arg(pointer_offset), 0);
            je(null);
        }
        mov(rax, arg(by));
        shl(rax, 2);
        add(arg(pointer_offset), rax);
        L(null);
    }
    std::size_t stream_offset() const {
        return packs() ? offsetof(GemmArgs, packed) : offsetof(GemmArgs, prefetch.target);
    }

    void emit_mask() {
        mov(rcx, arg(offsetof(GemmArgs, tail_columns)));
        if (kZmm) {
            mov(eax, 1);
            shl(eax, cl);
            dec(eax);
            kmovw(k1, eax);
        } else {  // the table shifted so that the first tail_columns lanes are all ones
            lea(rax, ptr[rip + mask_table_]);
            neg(rcx);
            vmovups(Ymm(0), ptr[rax + rcx * 4 + 32]);
            vmovups(mask_slot(), Ymm(0));
        }
    }

    // One pass over all steps for rows first_ .. last_.
    void emit_part() {
        Label segment, next, tail, done;
        emit_own_c();
        emit_pointers();
        emit_chain_start();
        if (streams()) {
            mov(stream, arg(stream_offset()));
            emit_stream_stride();
            if (form_.prefetch_lines > 3) lea(stream_stride3, ptr[stream_stride + stream_stride * 2]);
        }
        set_again();
        if (form_.triangle == Triangle::head) emit_triangle();
        L(segment);
        mov(steps, segment_left);
        cmp(steps_left, steps);
        cmovb(steps, steps_left);
        sub(steps_left, steps);
        sub(segment_left, steps);
        if (tail_steps() > 0) emit_before_tail();
        emit_steps();
        if (tail_steps() > 0) {
            cmp(tail_slot(), 0);
            jne(tail, T_NEAR);
        }
        if (form_.triangle == Triangle::tail) {  // behind a full segment it belongs to the next one
            Label full;
            test(segment_left, segment_left);
            jz(full, T_NEAR);
            emit_triangle();
            emit_end_of_segment(0);
            jmp(done, T_NEAR);
            L(full);
        }
        emit_end_of_segment(0);
        if (form_.triangle != Triangle::tail) {
            test(steps_left, steps_left);
            jz(done, T_NEAR);
        }
        L(next);
        if (streams()) {
            mov(stream, stream_slot());
            emit_stream_stride();
        }
        set_again();
        mov(add_slot(), 1);
        mov(segment_left, static_cast<int>(kSegment));
        emit_zero();
        jmp(segment, T_NEAR);
        if (tail_steps() > 0) {
            L(tail);
            emit_end_of_segment(tail_steps());
            test(steps_left, steps_left);
            jz(done, T_NEAR);
            emit_behind_tail();
            jmp(next, T_NEAR);
        }
        L(done);
    }

    // C comes into the cache while the chains grow: what is not there by prefetchw, and what other cores have
    // read, which that leaves shared (Zen 4), by a store, where C holds nothing yet. Between cores without a
    // shared LLC such a line is written in 14 to 20 ns, which multiplications can hide.
    void emit_own_c() {
        Label none;
        emit_c_lines([&](const Xbyak::RegExp& line) { prefetchw(ptr[line]); });
        cmp(arg(offsetof(GemmArgs, add)), 0);
        jne(none, T_NEAR);
        cmp(arg(offsetof(GemmArgs, steps)), kPrefetchCSteps);
        jb(none, T_NEAR);
        emit_c_lines([&](const Xbyak::RegExp& line) { mov(dword[line], 0); });
        L(none);
        if (first_ == 0) emit_prefetch_c();
    }
    void emit_prefetch_c() {
        Label row, none;
        mov(rax, arg(offsetof(GemmArgs, prefetch.c_rows)));
        test(rax, rax);
        jz(none, T_NEAR);
        point_at(offsetof(GemmArgs, prefetch.c), offsetof(GemmArgs, prefetch.c_stride));
        L(row);
        for (int at = 0; at < 4 * kPrefetchCColumns; at += kLineBytes) mov(dword[pointer + at], 0);
        add(pointer, stride);
        dec(rax);
        jnz(row, T_NEAR);
        L(none);
    }
    template <class Body>  // Body: void(const Xbyak::RegExp& first float of C's in the line)
    void emit_c_lines(Body body) {
        point_at(offsetof(GemmArgs, c), offsetof(GemmArgs, c_stride));
        for (int i = first_; i < last_; ++i) {
            for (int at = 0; at < vectors_ * kVectorBytes; at += kLineBytes) body(pointer + at);
            if (i + 1 < last_) add(pointer, stride);
        }
    }

    void emit_pointers() {
        mov(steps_left, arg(offsetof(GemmArgs, steps)));
        mov(rax, arg(offsetof(GemmArgs, first_step)));  // segment_left = kSegment - first_step % kSegment
        and_(rax, static_cast<int>(kSegment - 1));
        mov(segment_left, static_cast<int>(kSegment));
        sub(segment_left, rax);
        mov(rax, arg(offsetof(GemmArgs, add)));
        mov(add_slot(), eax);

        mov(lda, arg(offsetof(GemmArgs, a_stride)));
        shl(lda, 2);
        if (by_offsets()) {
            mov(offsets, arg(offsetof(GemmArgs, a_offsets)));
            mov(picture, arg(offsetof(GemmArgs, a)));
            lea(lda3, ptr[lda + lda * 2]);
            if (first_ > 0) {
                imul(rax, lda, first_);
                add(picture, rax);
            }
            mov(b, arg(offsetof(GemmArgs, b)));
            return;
        }
        mov(a_base(0), arg(offsetof(GemmArgs, a)));
        if (form_.a == GemmA::rows) {
            lea(lda3, ptr[lda + lda * 2]);
            if (first_ > 0) {
                imul(rax, lda, first_);
                add(a_base(0), rax);
            }
            for (int g = 1; 4 * g < rows(); ++g) lea(a_base(g), ptr[a_base(g - 1) + lda * 4]);
        } else if (first_ > 0) {
            add(a_base(0), first_ * 4);
        }
        mov(b, arg(offsetof(GemmArgs, b)));
        if (form_.b == GemmB::tile) return;
        mov(ldb, arg(offsetof(GemmArgs, b_stride)));
        shl(ldb, 2);
        if (form_.b == GemmB::panels) {
            lea(ldb3, ptr[ldb + ldb * 2]);
        } else if (form_.prefetch > 0) {
            imul(ldb3, ldb, form_.prefetch);
        }
    }

    // A kernel that packs follows a stream beside B: it has no register for that.
    bool repeated_prefetch() const {
        return form_.repeated_prefetch && form_.b == GemmB::rows && form_.prefetch > 1;
    }
    void set_again() {
        if (repeated_prefetch()) imul(again, ldb, form_.prefetch / 2);
    }
    void emit_stream_stride() {
        if (form_.prefetch_lines == 0) return;
        if (form_.prefetch_lines > 1) {
            mov(stream_stride, arg(offsetof(GemmArgs, prefetch.stride)));
            shl(stream_stride, 2);
            mov(ahead_step_slot(), stream_stride);
        }
        mov(stream_stride, arg(form_.prefetch_lines == 1 ? offsetof(GemmArgs, prefetch.stride)
                                                         : offsetof(GemmArgs, prefetch.line)));
        shl(stream_stride, 2);
    }
    int panels_touched() const { return ((vectors_ + (form_.half ? 1 : 0)) * kLanes + kPanel - 1) / kPanel; }

    // --- one step of k: acc[i][v] = fma(A[i][k], B[k][v], acc[i][v])

    Xbyak::RegExp scaled(const Reg64& base, const Reg64& by, const Reg64& by3, int times) {
        switch (times) {
            case 0:
                return Xbyak::RegExp(base);
            case 1:
                return base + by;
            case 2:
                return base + by * 2;
            default:
                return base + by3;
        }
    }
    // A of row i, u steps ahead of the pointers.
    Xbyak::RegExp a_place(int i, int u) {
        const int r = i - first_;
        if (form_.a == GemmA::k_major) return scaled(a_base(0), lda, lda3, 0) + r * 4;
        if (by_offsets()) return scaled(a_base(r / 4), lda, lda3, r % 4);
        return scaled(a_base(r / 4), lda, lda3, r % 4) + u * 4;
    }
    Xbyak::Address a_at(int i, int u) { return ptr[a_place(i, u)]; }
    Xbyak::Address b_at(int v, int u) {
        if (in_place()) return ptr[b + v * kVectorBytes];
        if (form_.b == GemmB::tile) return ptr[b + in_tile(v, u)];
        const int column = v * kLanes + (form_.half ? kLanes : 0);
        return ptr[scaled(b, ldb, ldb3, column / kPanel) + u * (kPanel * 4) + (column % kPanel) * 4];
    }
    int in_tile(int v, int u) const { return (u * vectors_ + v) * kVectorBytes; }
    void load_b(const Vmm& to, int v, int u) { load_b(to, v, u, b_at(v, u)); }
    void load_b(const Vmm& to, int v, int u, const Xbyak::Address& from) {
        if (in_place() && is_last(v)) {  // memory behind the row is not ours
            if (kZmm) {
                vmovups(to | k1 | T_z, from);
            } else {
                vmovups(to, mask_slot());
                vmaskmovps(to, to, from);
            }
        } else {
            vmovups(to, from);
        }
        if (packs()) vmovups(ptr[stream + in_tile(v, u)], to);
    }

    // acc[i][v] = fma(x, y, acc[i][v]), in half a register where that holds all columns: half the work where
    // the units are half as wide.
    void fma(int i, int v, const Vmm& x, const Vmm& y) {
        if (form_.narrow && is_last(v)) {
            vfmadd231ps(Ymm(acc(i, v).getIdx()), Ymm(x.getIdx()), Ymm(y.getIdx()));
        } else {
            vfmadd231ps(acc(i, v), x, y);
        }
    }

    // acc[i][0] with an element of A that is used once. Zen 4 broadcasts 64 bytes into a register more slowly
    // than it multiplies; inside the multiplication it does not.
    void fma_once(int i, int u, const Vmm& y) {
        const Xbyak::RegExp at = a_place(i, u);
        if (form_.narrow) {
            vfmadd231ps(Ymm(acc(i, 0).getIdx()), Ymm(y.getIdx()), ptr_b[at]);
        } else {
            vfmadd231ps(acc(i, 0), y, ptr_b[at]);
        }
    }

    // fma(1, y, acc) rounds once, as acc + y does: no register for the ones, and a shorter chain.
    void emit_sum_step(int u) {
        const int spare = std::min(free_vectors(), 4);
        for (int v = 0; v < vectors_; ++v) {
            const bool direct = rows() == 1 && !packs() && !(is_last(v) && (in_place() || form_.narrow));
            const Vmm value = free_vector(v % spare);
            if (!direct) load_b(value, v, u);
            for (int i = first_; i < last_; ++i) {
                if (direct) {
                    vaddps(acc(i, v), acc(i, v), b_at(v, u));
                } else if (form_.narrow && is_last(v)) {
                    const Ymm half(acc(i, v).getIdx());
                    vaddps(half, half, Ymm(value.getIdx()));
                } else {
                    vaddps(acc(i, v), acc(i, v), value);
                }
            }
        }
    }

    // Rows [from, to) take part. The pointers move by one step where they cannot be reached by a
    // displacement.
    void emit_step(int u, int from, int to) {
        if (by_offsets()) emit_rows_of_step(u);
        if (form_.a == GemmA::ones) {
            emit_sum_step(u);
        } else if (vectors_ <= rows()) {  // B held, A broadcast one row after the other
            const int spare = std::min(free_vectors() - vectors_, 4);
            if (to > from)
                for (int v = 0; v < vectors_; ++v) load_b(free_vector(v), v, u);
            for (int i = from; i < to; ++i) {
                if (kZmm && vectors_ == 1) {
                    fma_once(i, u, free_vector(0));
                    continue;
                }
                const Vmm value = free_vector(vectors_ + (i - from) % spare);
                vbroadcastss(value, a_at(i, u));
                for (int v = 0; v < vectors_; ++v) fma(i, v, value, free_vector(v));
            }
        } else {  // A held, B streams by
            const int spare = std::min(free_vectors() - rows(), 4);
            for (int i = from; i < to; ++i) vbroadcastss(free_vector(i - first_), a_at(i, u));
            for (int v = 0; v < vectors_ && to > from; ++v) {
                const bool direct =
                    to - from == 1 && !packs() && !(is_last(v) && (in_place() || form_.narrow));
                const Vmm value = free_vector(rows() + v % spare);
                if (!direct) load_b(value, v, u);
                for (int i = from; i < to; ++i) {
                    if (direct) {
                        vfmadd231ps(acc(i, v), free_vector(i - first_), b_at(v, u));
                    } else {
                        fma(i, v, free_vector(i - first_), value);
                    }
                }
            }
        }
        if (form_.prefetch > 0) emit_prefetch(u);
        emit_prefetch();
        step_on();
    }
    // Where the rows of a step lie.
    void emit_rows_of_step(int u) {
        mov(a_base(0), ptr[offsets + u * static_cast<int>(sizeof(std::int64_t))]);
        add(a_base(0), picture);
        for (int g = 1; 4 * g < rows(); ++g) lea(a_base(g), ptr[a_base(g - 1) + lda * 4]);
    }
    // The pointers that move by one step, where it cannot be reached by a displacement.
    void step_on() {
        if (form_.a == GemmA::k_major) add(a_base(0), lda);
        if (in_place()) add(b, ldb);
    }

    void emit_prefetch() {
        if (form_.prefetch_lines == 1) {
            prefetcht1(ptr[stream]);
            add(stream, stream_stride);
        } else if (form_.prefetch_lines > 1) {
            for (const int behind : kRepeatDistances)
                for (int line = 0; line < form_.prefetch_lines; ++line)
                    prefetcht1(ptr[scaled(stream, stream_stride, stream_stride3, line) - behind]);
            add(stream, ahead_step_slot());
        }
    }

    void emit_prefetch(int u) {
        if (in_place()) {
            // Into L2, which follows many more lines at once than L1 does: from L3, 30 % faster.
            for (int at = 0; at < vectors_ * kVectorBytes; at += 64) {
                prefetcht1(ptr[b + ldb3 + at]);
                if (repeated_prefetch()) prefetcht1(ptr[b + again + at]);
            }
            return;
        }
        if (form_.b == GemmB::tile) {
            for (int at = 0; at < vectors_ * kVectorBytes; at += 64)
                prefetcht0(ptr[b + in_tile(0, u + form_.prefetch) + at]);
            return;
        }
        for (int p = 0; p < panels_touched(); ++p)
            prefetcht0(ptr[scaled(b, ldb, ldb3, p) + (u + form_.prefetch) * (kPanel * 4)]);
    }

    // Moves the pointers that steps reach by displacement.
    void advance(int count) {
        if (form_.a == GemmA::rows)
            for (int g = 0; 4 * g < rows(); ++g) add(a_base(g), count * 4);
        if (by_offsets()) add(offsets, count * static_cast<int>(sizeof(std::int64_t)));
        if (form_.b == GemmB::panels) add(b, count * kPanel * 4);
        if (form_.b == GemmB::tile) add(b, in_tile(0, count));
        if (packs()) add(stream, in_tile(0, count));
    }

    void emit_steps() {
        Label unrolled, rest, one, done;
        const int unroll = form_.unroll;
        cmp(steps, unroll);
        jb(rest, T_NEAR);
        align_code(*this, 32);
        L(unrolled);
        for (int u = 0; u < unroll; ++u) emit_step(u, first_, last_);
        advance(unroll);
        sub(steps, unroll);
        cmp(steps, unroll);
        jae(unrolled, T_NEAR);
        L(rest);
        test(steps, steps);
        jz(done, T_NEAR);
        L(one);
        emit_step(0, first_, last_);
        advance(1);
        dec(steps);
        jnz(one, T_NEAR);
        L(done);
    }

    void emit_triangle() {
        for (int s = 0; s < mr_; ++s) {
            if (form_.triangle == Triangle::tail) {
                emit_step(0, std::max(first_, s), last_);
            } else {
                emit_step(0, first_, std::min(last_, s + 1));
            }
            advance(1);
        }
        sub(segment_left, mr_);
    }

    // --- chains and C, row by row

    void emit_zero() {
        for (int n = 0; n < rows() * vectors_; ++n) {
            if (kZmm) {
                vpxord(Vmm(n), Vmm(n), Vmm(n));
            } else {
                vxorps(Vmm(n), Vmm(n), Vmm(n));
            }
        }
    }

    void point_at(std::size_t base, std::size_t row_stride) {
        mov(pointer, arg(base));
        mov(stride, arg(row_stride));
        shl(stride, 2);
        if (first_ > 0) {
            imul(rax, stride, first_);
            add(pointer, rax);
        }
    }
    // body(i) for the whole part; `pointer` is at row i, and the mask of AVX2 is the first free vector.
    template <class Body>
    void for_rows(Body body) {
        if (kZmm == false && form_.masked) vmovups(free_vector(0), mask_slot());
        for (int i = first_; i < last_; ++i) {
            body(i);
            if (i + 1 < last_) add(pointer, stride);
        }
    }

    void emit_chain_start() {
        Label fresh, done;
        point_at(offsetof(GemmArgs, accumulators_in), offsetof(GemmArgs, accumulator_stride));
        if (form_.triangle != Triangle::head) {
            cmp(arg(offsetof(GemmArgs, accumulators_in)), 0);
            je(fresh, T_NEAR);
            for_rows([&](int i) {
                for (int v = 0; v < vectors_; ++v) {
                    const Xbyak::Address at = ptr[pointer + v * kVectorBytes];
                    if (!is_last(v)) {
                        vmovups(acc(i, v), at);
                    } else if (kZmm) {
                        vmovups(acc(i, v) | k1 | T_z, at);
                    } else {
                        vmaskmovps(acc(i, v), free_vector(0), at);
                    }
                }
            });
            jmp(done, T_NEAR);
        }
        L(fresh);
        emit_zero();
        L(done);
    }

    // --- the end of a segment, row by row: its last steps, then C = acc for the first segment without
    // `into`, else C + acc, or the chains. Stores of a whole tile behind all of its steps run beside none
    // (docs/decisions/0009), so each row is stored as soon as it is complete.

    static constexpr int kTailSteps = 3;  // enough multiplications for all stores of a tile
    // 0: all rows take each step together.
    int tail_steps() const {
        if (form_.triangle != Triangle::none || form_.a == GemmA::ones || vectors_ > rows()) return 0;
        if (by_offsets()) return 0;  // each step's rows lie elsewhere
        if (!form_.masked) return kTailSteps;
        return kZmm ? std::min(kTailSteps, free_vectors() - 1) : 0;
    }
    void emit_before_tail() {
        Label none;
        mov(tail_slot(), 0);
        cmp(steps, tail_steps());
        jb(none);
        sub(steps, tail_steps());
        mov(tail_slot(), 1);
        L(none);
    }
    void emit_behind_tail() {
        if (streams()) mov(stream, stream_slot());
        advance(tail_steps());
        for (int s = 0; s < tail_steps(); ++s) step_on();
        if (streams()) mov(stream_slot(), stream);
    }
    // Of step s, in place.
    Xbyak::Address tail_b_at(int v, int s) {
        return in_place() ? ptr[scaled(b, ldb, ldb, s) + v * kVectorBytes] : b_at(v, s);
    }
    Xbyak::Address tail_a_at(int i, int s) {
        return form_.a == GemmA::k_major ? ptr[scaled(a_base(0), lda, lda, s) + (i - first_) * 4]
                                         : a_at(i, s);
    }
    // As many vectors of B in registers as there are, a partly used one always; the last one broadcasts A.
    int held_index(int v, int s) const { return rows() * vectors_ + (vectors_ - 1 - v) * tail_steps() + s; }
    bool is_held(int v, int s) const { return held_index(v, s) < kRegisters - 1; }
    Vmm tail_value() const { return Vmm(kRegisters - 1); }

    void emit_end_of_segment(int last_steps) {
        Label into_c, adds, stores, done;
        for (int s = 0; s < last_steps; ++s) {
            for (int v = 0; v < vectors_; ++v)
                if (is_held(v, s) || packs())
                    load_b(is_held(v, s) ? Vmm(held_index(v, s)) : tail_value(), v, s, tail_b_at(v, s));
            emit_prefetch();
        }
        if (streams()) mov(stream_slot(), stream);
        test(segment_left, segment_left);  // a full segment leaves no chains
        jz(into_c, T_NEAR);
        point_at(offsetof(GemmArgs, accumulators_out), offsetof(GemmArgs, accumulator_stride));
        cmp(arg(offsetof(GemmArgs, accumulators_out)), 0);
        jne(stores, T_NEAR);
        L(into_c);
        point_at(offsetof(GemmArgs, c), offsetof(GemmArgs, c_stride));
        cmp(add_slot(), 0);
        jne(adds, T_NEAR);
        L(stores);
        emit_rows(last_steps, false);
        jmp(done, T_NEAR);
        L(adds);
        emit_rows(last_steps, true);
        L(done);
    }
    void emit_rows(int last_steps, bool adds) {
        for_rows([&](int i) {
            for (int s = 0; s < last_steps; ++s) {
                vbroadcastss(tail_value(), tail_a_at(i, s));
                for (int v = 0; v < vectors_; ++v) {
                    if (is_held(v, s)) {
                        fma(i, v, tail_value(), Vmm(held_index(v, s)));
                    } else {
                        vfmadd231ps(acc(i, v), tail_value(), tail_b_at(v, s));
                    }
                }
            }
            for (int v = 0; v < vectors_; ++v) {
                if (adds) emit_add(acc(i, v), ptr[pointer + v * kVectorBytes], is_last(v));
                emit_store(ptr[pointer + v * kVectorBytes], acc(i, v), is_last(v));
            }
        });
    }
    void emit_add(const Vmm& to, const Xbyak::Address& at, bool masked) {
        if (!masked) {
            vaddps(to, to, at);
        } else if (kZmm) {
            vaddps(to | k1, to, at);
        } else {
            vmaskmovps(free_vector(1), free_vector(0), at);
            vaddps(to, to, free_vector(1));
        }
    }
    void emit_store(const Xbyak::Address& at, const Vmm& from, bool masked) {
        if (!masked) {
            vmovups(at, from);
        } else if (kZmm) {
            vmovups(at | k1, from);
        } else {
            vmaskmovps(at, free_vector(0), from);
        }
    }
};

template <class Vmm>
GemmFunction emit_for(const GemmForm& form, CodeArena& arena, std::pmr::memory_resource* heap) {
    EmitBuffer buffer(heap, kMaxCodeBytes);
    GemmEmitter<Vmm> emitter(form, buffer);
    return as_function<GemmFunction>(publish(emitter, arena, to_text(form).text));
}

void check(const GemmForm& form) {
    const int columns = form.vectors * gemm_lanes(form.isa);
    const bool fits =
        form.mr >= 1 && form.mr <= kMaxTileRows && form.vectors >= 1 && columns <= kMaxTileColumns;
    if (!fits) fail(VOLTA_INTERNAL, "no product kernel has %d rows and %d columns", form.mr, columns);
    if (form.b == GemmB::pack_on_first_use && form.triangle != Triangle::none)
        fail(VOLTA_INTERNAL, "no product kernel packs B beside a triangle");
    if (form.narrow && (form.isa != Isa::avx512 || !form.masked))
        fail(VOLTA_INTERNAL, "no product kernel of %s has a narrow last vector", isa_name(form.isa));
    if (form.a == GemmA::ones && form.triangle != Triangle::none)
        fail(VOLTA_INTERNAL, "no product kernel sums columns beside a triangle");
    if (form.a == GemmA::offsets &&
        (form.b != GemmB::tile || form.prefetch_lines > 0 || form.triangle != Triangle::none))
        fail(VOLTA_INTERNAL, "no product kernel reads A by offsets beside a B that is not packed for it");
    const bool is_packed = form.b == GemmB::panels || form.b == GemmB::tile;
    const bool has_register =
        is_packed || (form.b == GemmB::rows && form.prefetch == 0 && form.prefetch_lines <= 1);
    if (form.prefetch_lines > 0 && (!has_register || form.triangle != Triangle::none))
        fail(VOLTA_INTERNAL, "no product kernel prefetches what lies ahead while it prefetches B in place");
    if (form.prefetch_lines > 4 || (form.prefetch_lines > 3 && form.mr > 12))
        fail(VOLTA_INTERNAL, "no product kernel of %d rows prefetches %d lines ahead", form.mr,
             form.prefetch_lines);
    if (form.unroll < 1 || form.unroll > kMaxUnroll)
        fail(VOLTA_INTERNAL, "no product kernel takes %d steps at once", form.unroll);
}

}  // namespace

std::uint64_t key_of(const GemmForm& form) {
    return form_key(
        form.isa, form.mr, form.vectors,
        form.masked | form.narrow << 1 | form.half << 2 | form.repeated_prefetch << 3,
        static_cast<int>(form.a) | static_cast<int>(form.b) << 2 | static_cast<int>(form.triangle) << 4,
        form.prefetch, form.prefetch_lines, form.unroll);
}

int gemm_rows_in_registers(Isa isa, int vectors) {
    const int registers = isa == Isa::avx512 ? 32 : 16;
    // The smaller side is held, and at least one register (two for AVX2's masks at the end) rotates.
    for (int rows = kMaxTileRows; rows > 1; --rows)
        if (rows * vectors + std::min(rows, vectors) + 1 <= registers) return rows;
    return 1;
}

GemmFormText to_text(const GemmForm& form) {
    GemmFormText name;
    const char* const triangle = form.triangle == Triangle::tail   ? " tail"
                                 : form.triangle == Triangle::head ? " head"
                                                                   : "";
    std::snprintf(name.text, sizeof name.text, "gemm %dx%dv %s %s %s%s%s%s%s", form.mr, form.vectors,
                  isa_name(form.isa),
                  form.a == GemmA::rows      ? "rows"
                  : form.a == GemmA::ones    ? "ones"
                  : form.a == GemmA::offsets ? "offsets"
                                             : "k-major",
                  form.b == GemmB::panels ? "panels"
                  : form.b == GemmB::tile ? "packed"
                  : form.b == GemmB::rows ? "in-place"
                                          : "packing",
                  form.prefetch_lines ? " prefetching" : "", form.half ? " half" : "",
                  form.narrow   ? " narrow"
                  : form.masked ? " masked"
                                : "",
                  triangle);
    return name;
}

GemmFunction emit_gemm_f32(const GemmForm& form, CodeArena& arena, std::pmr::memory_resource* heap) {
    check(form);
    if (form.isa == Isa::scalar || !arena.available()) return nullptr;
    return form.isa == Isa::avx512 ? emit_for<Zmm>(form, arena, heap) : emit_for<Ymm>(form, arena, heap);
}

}  // namespace volta::jit
