#include "jitgen/gemm_packed.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <type_traits>

#include "engine/numerics/stored_weights.h"
#include "jitgen/form_key.h"
#include "jitgen/x86/gemm/emit.h"

namespace volta::jit {
namespace {

using Xbyak::Label;
using Xbyak::Reg64;
using Xbyak::Xmm;
using Xbyak::Ymm;
using Xbyak::Zmm;

constexpr std::size_t kMaxCodeBytes = 32 * 1024;
constexpr int kTurn = 8;   // steps of k per iteration of the main loop: one word of int4
constexpr int kLift = 28;  // powers of two
// How far behind the start of the next tile of several panels each line of a stream is prefetched, in bytes.
// AVX2, which has twice the instructions for a line, is faster without the first.
constexpr int kPrefetchBehindTile[] = {80 * 1024, 64 * 1024, 48 * 1024, 32 * 1024, 16 * 1024, 0};

// Registers:
//   vectors  chains [rows][vectors of columns] | sums, where they fit | weights of one step, as many at a time as fit | an
//            element of A | the sixteen values of int4 (AVX-512), the shift of int4's step (AVX2)
//   rdi args, then sums | rsi rbx rbp r12 rows 0, 3, 6, 9 of A, r10 their stride
//   r8 rdx r9 panels 0, 2 and 3, r11 the stride of panels: the step's weights | r13 the group's first byte of panel 0
//   rcx steps left | rax steps left of the group | r14 shift of int4's step | r15 panel 0 of what is prefetched
// `dequantise` writes, `dequantised` reads f32 at r10 or r8, and scales at r15. `prescaled`: the words of a
// turn, their even and their odd steps' four bits at the top of each byte, stand before the weights, and sums
// are in memory.
template <class Vmm>
class PackedEmitter : public Xbyak::CodeGenerator {
  public:
    static constexpr bool kZmm = std::is_same<Vmm, Zmm>::value;
    static constexpr int kLanes = kZmm ? 16 : 8;
    static constexpr int kPerPanel = static_cast<int>(kStoredPanel) / kLanes;
    static constexpr int kRegisters = kZmm ? 32 : 16;

    PackedEmitter(const PackedForm& form, EmitBuffer& buffer)
        : Xbyak::CodeGenerator(buffer.bytes(), buffer.data()),
          form_(form),
          rows_(form.rows),
          vectors_(form.panels * kPerPanel),
          scaled_(has_scales(form.dtype)),
          sums_in_registers_(scaled_ && !form.prescaled && 2 * rows_ * vectors_ + vectors_ + 2 <= kRegisters),
          first_weight_((form.prescaled       ? 3
                         : sums_in_registers_ ? 2
                                              : 1) *
                        rows_ * vectors_),
          weights_(std::min(vectors_, kRegisters - 2 - first_weight_)) {}

    void emit() {
        Label table, next_group, done;
        emit_entry(table);
        if (!scaled_) {
            zero(0, rows_ * vectors_);
            mov(rax, rcx);
            emit_steps();
        } else {
            if (sums_in_registers_) zero(rows_ * vectors_, rows_ * vectors_);
            if (!sums_in_registers_) zero_sums();
            L(next_group);
            zero(0, rows_ * vectors_);
            mov(eax, static_cast<int>(kStoredGroup));
            cmp(rcx, rax);
            cmovl(rax, rcx);
            sub(rcx, rax);
            emit_group();
            test(rcx, rcx);
            jnz(next_group, T_NEAR);
        }
        if (rows_ > 0) store_sums();
        mov(eax, 1);
        if (form_.prescaled) emit_finite();
        vzeroupper();
        for (const Reg64& saved : {r15, r14, r13, r12, rbp, rbx}) pop(saved);
        ret();
        if (uses_table()) {
            align_code(*this, 64);
            L(table);
            for (int i = 0; i < 16; ++i) dd(bits_of(static_cast<float>(i < 8 ? i : i - 16)));
        }
        if (form_.prescaled) emit_constants();
    }

  private:
    const PackedForm form_;
    const int rows_, vectors_;
    const bool scaled_, sums_in_registers_;
    const int first_weight_, weights_;  // registers; fewer than vectors_ for one row alone
    const RowAddresses a_{rows_, rsi, rbx, rbp, r12, r10};

    static std::uint32_t bits_of(float value) {
        std::uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        return bits;
    }
    bool prefetches() const { return form_.prefetch != PackedPrefetch::none; }
    bool dequantises() const { return form_.use == PackedUse::dequantise; }
    bool reads_dequantised() const { return form_.use == PackedUse::dequantised; }
    bool shifts() const { return form_.dtype == DType::int4 && !reads_dequantised(); }
    bool uses_table() const { return kZmm && shifts(); }
    Vmm chain(int i, int v) const { return Vmm(i * vectors_ + v); }
    Vmm sum(int i, int v) const { return Vmm((rows_ + i) * vectors_ + v); }
    Vmm weight(int v) const { return Vmm(first_weight_ + v % weights_); }
    Vmm element() const { return Vmm(kRegisters - 2); }
    Vmm table() const { return Vmm(kRegisters - 1); }
    // AVX-512 has looked up all weights of a step before it needs the element.
    Xmm shift_count() const { return Xmm(kZmm ? element().getIdx() : kRegisters - 1); }

    // eax = all sums are finite. x - x is 0 unless x is infinite or NaN.
    void emit_finite() {
        const Vmm all(0), difference(1);
        vxorps(all, all, all);
        for (int v = 0; v < vectors_; ++v) {
            vmovaps(difference, ptr[sums_at(0, v)]);
            vsubps(difference, difference, difference);
            vorps(all, all, difference);
        }
        xor_(eax, eax);
        vptest(all, all);
        setz(al);
    }

    // For `prescaled`, a vector each.
    Label upper_halves_, top_, lowering_, to_top_[3];
    Vmm words(int v, int parity) const { return Vmm(vectors_ + 2 * v + parity); }
    void emit_constants() {
        const auto vector = [this](Label& label, auto value) {
            align_code(*this, 32);
            L(label);
            for (int i = 0; i < kLanes; ++i) dd(value(i));
        };
        vector(upper_halves_, [](int) { return 0xf0f0f0f0u; });
        vector(top_, [](int) { return 0xf0000000u; });
        vector(lowering_, [](int) { return bits_of(1.0f / (1 << kLift)); });
        for (int from = 0; from < 3; ++from)  // vpshufb counts bytes within 16; 0x80 gives 0
            vector(to_top_[from], [from](int i) {
                return 0x00808080u | static_cast<std::uint32_t>(4 * (i % 4) + from) << 24;
            });
    }

    Xbyak::Address arg(std::size_t offset) { return qword[rdi + static_cast<int>(offset)]; }
    Xbyak::RegExp panel(int p) const {
        return p == 0   ? Xbyak::RegExp(r8)
               : p == 1 ? r8 + r11
               : p == 2 ? Xbyak::RegExp(rdx)
                        : Xbyak::RegExp(r9);
    }
    Xbyak::RegExp sums_at(int i, int v) const { return rdi + (i * vectors_ + v) * kLanes * 4; }

    void emit_entry(Label& values) {
        for (const Reg64& saved : {rbx, rbp, r12, r13, r14, r15}) push(saved);
        if (rows_ > 0) a_.load(*this, arg(offsetof(PackedArgs, a)), arg(offsetof(PackedArgs, a_stride)));
        mov(r8, arg(reads_dequantised() ? offsetof(PackedArgs, dequantised) : offsetof(PackedArgs, b)));
        if (dequantises()) mov(r10, arg(offsetof(PackedArgs, dequantised)));
        mov(r11, arg(offsetof(PackedArgs, panel_stride)));
        set_panels();
        mov(r15, form_.use == PackedUse::direct ? arg(offsetof(PackedArgs, prefetch_target))
                                                : arg(offsetof(PackedArgs, scales)));
        mov(rcx, arg(offsetof(PackedArgs, steps)));
        mov(rdi, arg(offsetof(PackedArgs, sums)));
        if (uses_table()) vmovups(table(), ptr[rip + values]);
    }

    void set_panels() {
        if (form_.panels > 2) lea(rdx, ptr[r8 + r11 * 2]);
        if (form_.panels > 3) lea(r9, ptr[rdx + r11]);
    }
    void move_panels(int bytes) {
        add(r8, bytes);
        if (form_.panels > 2) add(rdx, bytes);
        if (form_.panels > 3) add(r9, bytes);
    }
    void zero(int first, int count) {
        for (int r = first; r < first + count; ++r) {
            if constexpr (kZmm) {
                vpxord(Vmm(r), Vmm(r), Vmm(r));
            } else {
                vxorps(Vmm(r), Vmm(r), Vmm(r));
            }
        }
    }
    void zero_sums() {
        zero(0, 1);
        for (int i = 0; i < rows_; ++i)
            for (int v = 0; v < vectors_; ++v) vmovaps(ptr[sums_at(i, v)], Vmm(0));
    }

    // The scales stand at the group's start, before the weights.
    void emit_group() {
        if (reads_dequantised()) {
            emit_steps();
            add_group();
            add(r15, vectors_ * kLanes * 4);
            return;
        }
        if (dequantises()) {
            for (int v = 0; v < vectors_; ++v) {
                load_scale(v);
                vmovaps(ptr[r15 + v * kLanes * 4], weight(v));
            }
            add(r15, vectors_ * kLanes * 4);
        }
        mov(r13, r8);
        move_panels(static_cast<int>(kStoredPanel) * 2);
        emit_steps();
        mov(r8, r13);
        set_panels();
        if (rows_ > 0) add_group();
        move_panels(static_cast<int>(stored_group_bytes(form_.dtype)));
        if (prefetches()) prefetch_scales();
    }

    // rax steps: turns of kTurn, then one by one.
    void emit_steps() {
        Label turn, rest, one, done;
        L(turn);
        cmp(rax, kTurn);
        jl(rest, T_NEAR);
        if (prefetches() && form_.panels > 2) lea(r14, ptr[r15 + r11 * 2]);
        if (form_.prescaled) emit_words();
        for (int s = 0; s < kTurn; ++s) {
            if (prefetches()) prefetch_share(s);
            emit_step(s, false);
        }
        if (prefetches())
            add(r15, iteration_bytes() * (form_.prefetch == PackedPrefetch::stream ? form_.panels : 1));
        move_panels(iteration_bytes());
        emit_advance(kTurn);
        sub(rax, kTurn);
        jmp(turn, T_NEAR);
        L(rest);
        if (shifts()) mov(r14d, kZmm ? 0 : 28);
        L(one);
        test(rax, rax);
        jz(done, T_NEAR);
        emit_step(0, true);
        if (shifts()) {
            kZmm ? add(r14d, 4) : sub(r14d, 4);
        } else {
            move_panels(step_bytes());
        }
        emit_advance(1);
        dec(rax);
        jmp(one, T_NEAR);
        L(done);
    }

    // A line of what lies ahead of panel p.
    void prefetch_one(int p, int offset) {
        if (form_.prefetch == PackedPrefetch::stream) return prefetch_stream(form_.panels * offset + p * 64);
        const Xbyak::RegExp base = p < 2 ? Xbyak::RegExp(r15) : Xbyak::RegExp(r14);
        prefetcht1(ptr[(p % 2 == 1 ? base + r11 : base) + offset]);
    }
    // One panel is where the stream is read; several are prefetched from the tile that follows, so that both
    // panels' lines come in the order of the memory.
    void prefetch_stream(int offset) {
        if (form_.panels == 1) {
            for (const int distance : kPrefetchDistances) prefetcht1(ptr[r15 + offset + distance]);
        } else {
            for (std::size_t i = kZmm ? 0 : 1; i < std::size(kPrefetchBehindTile); ++i)
                prefetcht1(ptr[r15 + offset + kPrefetchBehindTile[i]]);
        }
    }
    // The scales of all panels, whose line may belong to no step. r14 belongs to the steps that are no whole
    // turn.
    void prefetch_scales() {
        if (form_.panels > 2) lea(r14, ptr[r15 + r11 * 2]);
        for (int p = 0; p < form_.panels; ++p) prefetch_one(p, 0);
        add(r15, static_cast<int>(kStoredPanel) * 2);
    }
    // Step s's share of the lines of a turn: a processor drops prefetches while many lines are under
    // way.
    void prefetch_share(int s) {
        const int lines = iteration_bytes() / 64 * form_.panels;
        for (int line = lines * s / kTurn; line < lines * (s + 1) / kTurn; ++line)
            prefetch_one(line % form_.panels, line / form_.panels * 64);
    }

    // A, or where `dequantise` writes.
    void emit_advance(int steps) {
        if (rows_ > 0) a_.advance(*this, steps * 4);
        if (dequantises()) add(r10, steps * vectors_ * kLanes * 4);
    }

    int step_bytes() const {
        return reads_dequantised()                ? vectors_ * kLanes * 4
               : form_.dtype == DType::f32_panels ? 64
               : form_.dtype == DType::int8       ? 16
                                                  : 32;
    }
    int iteration_bytes() const { return shifts() ? 64 : kTurn * step_bytes(); }

    void emit_step(int s, bool shifted) {
        if (shifted && shifts()) vmovd(shift_count(), r14d);
        if (weights_ < vectors_) {
            vbroadcastss(element(), ptr[a_.at(0) + s * 4]);
            for (int v = 0; v < vectors_; ++v) {
                emit_weight(v, s, shifted);
                vfmadd231ps(chain(0, v), element(), weight(v));
            }
            return;
        }
        for (int v = 0; v < vectors_; ++v) emit_weight(v, s, shifted);
        for (int v = 0; dequantises() && v < vectors_; ++v)
            vmovaps(ptr[r10 + (s * vectors_ + v) * kLanes * 4], weight(v));
        for (int i = 0; i < rows_; ++i) {
            vbroadcastss(element(), ptr[a_.at(i) + s * 4]);
            for (int v = 0; v < vectors_; ++v) vfmadd231ps(chain(i, v), element(), weight(v));
        }
    }

    // Step s of a turn; `shifted`: the step that r14 says (int4) or the next one.
    void emit_weight(int v, int s, bool shifted) {
        const Vmm w = weight(v);
        if (reads_dequantised()) {
            vmovaps(w, ptr[r8 + (s * vectors_ + v) * kLanes * 4]);
            return;
        }
        const int half = v % kPerPanel;
        const Xbyak::RegExp base = panel(v / kPerPanel);
        switch (form_.dtype) {
            case DType::f32_panels:
                vmovups(w, ptr[base + s * 64 + half * 32]);
                break;
            case DType::bf16:
                vpmovzxwd(w, ptr[base + s * 32 + half * 16]);
                vpslld(w, w, 16);
                break;
            case DType::f16:
                vcvtph2ps(w, ptr[base + s * 32 + half * 16]);
                break;
            case DType::int8:
                vpmovsxbd(w, ptr[base + s * 16 + half * 8]);
                vcvtdq2ps(w, w);
                break;
            default:
                if (form_.prescaled) return emit_prescaled(v, s, shifted);
                emit_nibbles(w, base + half * 32, s, shifted);
        }
    }

    // Of each byte of a turn's words the lower half is an even step and the upper half an odd one.
    void emit_words() {
        for (int v = 0; v < vectors_; ++v) {
            const Vmm even = words(v, 0), odd = words(v, 1);
            vmovdqu(odd, ptr[panel(v / kPerPanel) + v % kPerPanel * 32]);
            vpslld(even, odd, 4);
            vpand(even, even, ptr[rip + upper_halves_]);
            vpand(odd, odd, ptr[rip + upper_halves_]);
        }
    }
    // The step's four bits at the top of a word of zeros: 2^28 times the weight.
    void emit_prescaled(int v, int s, bool shifted) {
        const Vmm w = weight(v);
        if (shifted) {
            vmovdqu(w, ptr[panel(v / kPerPanel) + v % kPerPanel * 32]);
            vpslld(w, w, shift_count());
            vpand(w, w, ptr[rip + top_]);
        } else if (s / 2 == 3) {
            vpand(w, words(v, s % 2), ptr[rip + top_]);
        } else {
            vpshufb(w, words(v, s % 2), ptr[rip + to_top_[s / 2]]);
        }
        vcvtdq2ps(w, w);
    }

    // Eight steps of each lane are a word; a lane's table look-up reads the lowest four bits.
    void emit_nibbles(const Vmm& w, const Xbyak::RegExp& from, int s, bool shifted) {
        if constexpr (kZmm) {
            if (shifted) {
                vmovdqu32(w, ptr[from]);
                vpsrld(w, w, shift_count());
            } else if (s == 0) {
                vmovdqu32(w, ptr[from]);
            } else {
                vpsrld(w, ptr[from], s * 4);
            }
            vpermps(w, w, table());
        } else {
            vmovdqu(w, ptr[from]);
            if (shifted)
                vpslld(w, w, shift_count());
            else if (s < 7)
                vpslld(w, w, 28 - s * 4);
            vpsrad(w, w, 28);
            vcvtdq2ps(w, w);
        }
    }

    // As f32, in the register of the weight.
    void load_scale(int v) {
        if (reads_dequantised()) {
            vmovaps(weight(v), ptr[r15 + v * kLanes * 4]);
        } else {
            vcvtph2ps(weight(v), ptr[panel(v / kPerPanel) + v % kPerPanel * 16]);
        }
        if (form_.prescaled) vmulps(weight(v), weight(v), ptr[rip + lowering_]);
    }

    // sum = fma(chain, scale, sum)
    void add_group() {
        for (int v = 0; v < vectors_; ++v) {
            load_scale(v);
            for (int i = 0; i < rows_; ++i) {
                if (sums_in_registers_) {
                    vfmadd231ps(sum(i, v), chain(i, v), weight(v));
                    continue;
                }
                // chain = chain * scale + sum
                vfmadd213ps(chain(i, v), weight(v), ptr[sums_at(i, v)]);
                vmovaps(ptr[sums_at(i, v)], chain(i, v));
            }
        }
    }

    void store_sums() {
        if (scaled_ && !sums_in_registers_) return;
        for (int i = 0; i < rows_; ++i)
            for (int v = 0; v < vectors_; ++v) vmovaps(ptr[sums_at(i, v)], scaled_ ? sum(i, v) : chain(i, v));
    }
};

template <class Vmm>
PackedFunction emit_for(const PackedForm& form, CodeArena& arena, std::pmr::memory_resource* heap) {
    char name[64];
    constexpr const char* kUses[] = {"", " dequantise", " dequantised"};
    std::snprintf(name, sizeof name, "stored %s %dx%d %s%s%s", dtype_name(form.dtype), form.rows,
                  form.panels * 16, isa_name(form.isa), kUses[static_cast<int>(form.use)],
                  form.prescaled ? " prescaled" : "");
    EmitBuffer buffer(heap, kMaxCodeBytes);
    PackedEmitter<Vmm> emitter(form, buffer);
    return as_function<PackedFunction>(publish(emitter, arena, name));
}

}  // namespace

std::uint64_t key_of(const PackedForm& form) {
    return form_key(form.isa, form.dtype, form.use, form.rows, form.panels, form.prefetch, form.prescaled);
}

bool can_be_prescaled(const PackedForm& form) {
    return form.isa == Isa::avx2 && form.dtype == DType::int4 && form.use == PackedUse::direct &&
           form.rows == 1 && form.panels <= 2;
}

int packed_rows(Isa isa, int panels) {
    const int vectors = panels * (isa == Isa::avx512 ? 1 : 2), registers = isa == Isa::avx512 ? 32 : 16;
    const int rows =
        (registers - vectors - 2) / vectors;  // beside all weights of a step, and an element of A
    return std::clamp(rows, 1, kMaxPackedRows);
}

PackedFunction emit_gemm_packed(const PackedForm& form, CodeArena& arena, std::pmr::memory_resource* heap) {
    const bool fits = form.isa != Isa::scalar && is_stored(form.dtype) && form.panels >= 1 &&
                      form.panels <= kMaxPackedPanels && form.rows <= packed_rows(form.isa, form.panels) &&
                      (form.rows == 0) == (form.use == PackedUse::dequantise) &&
                      (!form.prescaled || can_be_prescaled(form));
    if (!fits)
        fail(VOLTA_INTERNAL, "no kernel takes %d rows and %d panels of %s in %s", form.rows, form.panels,
             dtype_name(form.dtype), isa_name(form.isa));
    if (!arena.available()) return nullptr;
    return form.isa == Isa::avx512 ? emit_for<Zmm>(form, arena, heap) : emit_for<Ymm>(form, arena, heap);
}

}  // namespace volta::jit
