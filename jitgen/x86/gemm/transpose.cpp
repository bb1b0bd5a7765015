#include "jitgen/gemm_transpose.h"

#include "jitgen/x86/gemm/emit.h"

namespace volta::jit {
namespace {

using Xbyak::Label;
using Xbyak::Reg64;
using Xbyak::Xmm;
using Xbyak::Ymm;

constexpr std::size_t kMaxCodeBytes = 4096;

class TransposeEmitter : public Xbyak::CodeGenerator {
  public:
    TransposeEmitter(EmitBuffer& buffer, int columns, bool streams)
        : Xbyak::CodeGenerator(buffer.bytes(), buffer.data()), columns_(columns), streams_(streams) {}

    // rdi source, rsi its stride, rdx target, rcx blocks of 8 k, r8 the target's stride. Source rows 4 g +
    // {0, 1, 2, 3} are at base(g) + rsi * {0, 1, 2} and + r11, target rows at rdx or rbp + r10 * {0, 1, 2}
    // and + rbx.
    void emit() {
        Label block, done;
        test(rcx, rcx);
        jle(done, T_NEAR);
        for (const Reg64& saved : {rbx, rbp}) push(saved);
        lea(r10, ptr[r8 * 4]);
        lea(rbx, ptr[r10 + r10 * 2]);
        lea(rbp, ptr[rdx + r10 * 4]);
        shl(rsi, 2);
        lea(r11, ptr[rsi + rsi * 2]);
        lea(rax, ptr[rdi + rsi * 4]);
        lea(r8, ptr[rax + rsi * 4]);
        lea(r9, ptr[r8 + rsi * 4]);
        align_code(*this, 32);
        L(block);
        emit_8x8(rdi, rax, 0);
        if (columns_ == 16) emit_8x8(r8, r9, 32);
        for (const Reg64& row : {rdi, rax, r8, r9}) add(row, 32);
        for (const Reg64& target : {rdx, rbp}) lea(target, ptr[target + r10 * 8]);
        dec(rcx);
        jnz(block, T_NEAR);
        for (const Reg64& saved : {rbp, rbx}) pop(saved);
        L(done);
        vzeroupper();
        ret();
    }

  private:
    const int columns_;
    const bool streams_;

    Xbyak::RegExp row(const Reg64& base, int i) {
        return i == 0 ? Xbyak::RegExp(base) : i == 1 ? base + rsi : i == 2 ? base + rsi * 2 : base + r11;
    }

    Xbyak::RegExp target(int half, int k) {
        const Reg64& base = half == 0 ? rdx : rbp;
        return k == 0 ? Xbyak::RegExp(base) : k == 1 ? base + r10 : k == 2 ? base + r10 * 2 : base + rbx;
    }

    // Rows 0-3 at `low`, rows 4-7 at `high`; column k of them goes to row k of the target, `offset` bytes on.
    void emit_8x8(const Reg64& low, const Reg64& high, int offset) {
        // v[i]: row i in the low half and row i + 4 in the high half, of k 0-3 (i < 4) and k 4-7 (v[4 + i]).
        for (int half = 0; half < 2; ++half) {
            for (int i = 0; i < 4; ++i) {
                const int v = 4 * half + i;
                vmovups(Xmm(v), ptr[row(low, i) + 16 * half]);
                vinsertf128(Ymm(v), Ymm(v), ptr[row(high, i) + 16 * half], 1);
            }
        }
        for (int half = 0; half < 2; ++half) {
            const int v = 4 * half;
            vunpcklps(Ymm(8), Ymm(v), Ymm(v + 1));       // 00 10 01 11
            vunpckhps(Ymm(9), Ymm(v), Ymm(v + 1));       // 02 12 03 13
            vunpcklps(Ymm(10), Ymm(v + 2), Ymm(v + 3));  // 20 30 21 31
            vunpckhps(Ymm(11), Ymm(v + 2), Ymm(v + 3));  // 22 32 23 33
            vshufps(Ymm(12), Ymm(8), Ymm(10), 0x44);
            vshufps(Ymm(13), Ymm(8), Ymm(10), 0xee);
            vshufps(Ymm(14), Ymm(9), Ymm(11), 0x44);
            vshufps(Ymm(15), Ymm(9), Ymm(11), 0xee);
            for (int k = 0; k < 4; ++k) {
                const Xbyak::Address to = ptr[target(half, k) + offset];
                if (streams_)
                    vmovntps(to, Ymm(12 + k));
                else
                    vmovups(to, Ymm(12 + k));
            }
        }
    }
};

// Non-temporal stores before it are seen by whoever sees a store behind it.
struct FenceEmitter : Xbyak::CodeGenerator {
    explicit FenceEmitter(EmitBuffer& buffer) : Xbyak::CodeGenerator(buffer.bytes(), buffer.data()) {}
    void emit() {
        sfence();
        ret();
    }
};

}  // namespace

TransposeFunctions emit_transposes(CodeArena& arena, std::pmr::memory_resource* heap) {
    if (!arena.available()) return {};
    EmitBuffer buffer(heap, kMaxCodeBytes);
    const auto emit = [&](int columns, bool streams, const char* name) {
        TransposeEmitter emitter(buffer, columns, streams);
        return as_function<TransposeFunction>(publish(emitter, arena, name));
    };
    TransposeFunctions functions{emit(16, false, "transpose 16 avx2"), emit(8, false, "transpose 8 avx2"),
                                 emit(16, true, "transpose 16 avx2 streaming")};
    FenceEmitter fence(buffer);
    functions.fence = as_function<void (*)()>(publish(fence, arena, "store fence"));
    return functions;
}

}  // namespace volta::jit
