#include "jitgen/peak_kernels.h"

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "engine/numerics/fma32.h"
#include "jitgen/x86/gemm/emit.h"

namespace volta::jit {
namespace {

using Xbyak::Label;
using Xbyak::Ymm;
using Xbyak::Zmm;

constexpr std::size_t kMaxCodeBytes = 4096;
constexpr int kStreams = 4;

// One class for both vector widths. Arguments arrive in rdi, rsi, rdx, rcx.
template <class Vmm>
class MachineEmitter : public Xbyak::CodeGenerator {
  public:
    enum class Loop { multiply_adds, read, update };
    static constexpr bool kZmm = std::is_same<Vmm, Zmm>::value;
    static constexpr int kLanes = kZmm ? 16 : 8, kVectorBytes = 4 * kLanes;
    // Twice what latency 4 x 2 units needs, or what the registers leave beside a, b and c.
    static constexpr int kChains = kZmm ? 24 : 12;

    MachineEmitter(Loop loop, EmitBuffer& buffer)
        : Xbyak::CodeGenerator(buffer.bytes(), buffer.data()), loop_(loop) {}

    void emit() {
        if (loop_ == Loop::multiply_adds) emit_multiply_adds();
        if (loop_ == Loop::read) emit_read();
        if (loop_ == Loop::update) emit_update();
        vzeroupper();
        ret();
    }

  private:
    const Loop loop_;

    // rdi turns, rsi values
    void emit_multiply_adds() {
        const Vmm a(kChains), b(kChains + 1), c(kChains + 2);
        Label turn, done;
        test(rdi, rdi);
        jle(done, T_NEAR);
        for (int i = 0; i < kChains; ++i) vmovups(Vmm(i), ptr[rsi]);
        vmovups(a, ptr[rsi + 4 * kMachineVector]);
        vmovups(b, ptr[rsi + 8 * kMachineVector]);
        vmovups(c, ptr[rsi + 12 * kMachineVector]);
        align_code(*this, 64);
        L(turn);
        for (const Vmm& factor : {b, c})
            for (int i = 0; i < kChains; ++i) vfmadd231ps(Vmm(i), a, factor);
        dec(rdi);
        jnz(turn, T_NEAR);
        vmovups(ptr[rsi], Vmm(0));
        L(done);
    }

    void exclusive_or(const Vmm& x, const Xbyak::Operand& y) {
        if (kZmm)
            vpxord(x, x, y);
        else
            vpxor(x, x, y);
    }

    // rdi data, rsi stride, rdx count, rcx result. Four addresses: rdi + rsi * {0, 1, 2} and rdi + r8.
    // A zmm machine has two registers per stream, a ymm machine its halves of a 16-float vector.
    void emit_read() {
        Label turn, done;
        for (int i = 0; i < 2 * kStreams; ++i) exclusive_or(Vmm(i), Vmm(i));
        shl(rsi, 2);
        lea(r8, ptr[rsi + rsi * 2]);
        const Xbyak::RegExp streams[kStreams] = {Xbyak::RegExp(rdi), rdi + rsi, rdi + rsi * 2, rdi + r8};
        test(rdx, rdx);
        jle(done, T_NEAR);
        align_code(*this, 64);
        L(turn);
        for (int line = 0; line < kMachineGrain / 16; ++line)  // a cache line of each stream in turn
            for (int s = 0; s < kStreams; ++s)
                for (int part = 0; part < 64 / kVectorBytes; ++part)
                    exclusive_or(Vmm(2 * s + (kZmm ? line % 2 : part)),
                                 ptr[streams[s] + 64 * line + kVectorBytes * part]);
        add(rdi, 4 * static_cast<int>(kMachineGrain));
        sub(rdx, static_cast<int>(kMachineGrain));
        jg(turn, T_NEAR);
        L(done);
        const int halves = kZmm ? 1 : 2;
        for (int i = halves; i < 2 * kStreams; ++i) exclusive_or(Vmm(i % halves), Vmm(i));
        for (int h = 0; h < halves; ++h) vmovups(ptr[rcx + h * kVectorBytes], Vmm(h));
    }

    // rdi streams, rsi count
    void emit_update() {
        Label turn, done;
        const auto load = [&](const Xbyak::Reg64& to, std::size_t field) {
            mov(to, ptr[rdi + static_cast<int>(field)]);
        };
        load(rax, offsetof(UpdateStreams, p));
        load(rcx, offsetof(UpdateStreams, g));
        load(rdx, offsetof(UpdateStreams, m));
        load(r8, offsetof(UpdateStreams, v));
        shl(rsi, 2);  // bytes; the index r9 counts up to it
        xor_(r9d, r9d);
        test(rsi, rsi);
        jle(done, T_NEAR);
        align_code(*this, 64);
        L(turn);
        for (int i = 0; i < 4 * kMachineGrain / kVectorBytes; ++i) {
            const int at = i * kVectorBytes, base = 3 * (i % 4);
            const Vmm g(base), m(base + 1), x(base + 2);
            vmovups(g, ptr[rcx + r9 + at]);
            vaddps(m, g, ptr[rdx + r9 + at]);
            vmovups(ptr[rdx + r9 + at], m);
            vmovups(x, ptr[r8 + r9 + at]);
            vmaxps(x, x, g);
            vmovups(ptr[r8 + r9 + at], x);
            vmovups(x, ptr[rax + r9 + at]);
            vsubps(x, x, m);
            vmovups(ptr[rax + r9 + at], x);
        }
        add(r9, 4 * static_cast<int>(kMachineGrain));
        cmp(r9, rsi);
        jl(turn, T_NEAR);
        L(done);
    }
};

template <class Vmm>
MachineKernels emit_machine_kernels(CodeArena& arena, std::pmr::memory_resource* heap) {
    using Emitter = MachineEmitter<Vmm>;
    const auto emit = [&](typename Emitter::Loop loop, const char* name) {
        EmitBuffer buffer(heap, kMaxCodeBytes);
        Emitter emitter(loop, buffer);
        return publish(emitter, arena, name);
    };
    const void* multiply_adds = emit(Emitter::Loop::multiply_adds, "machine multiply-adds");
    const void* read = emit(Emitter::Loop::read, "machine read");
    const void* update = emit(Emitter::Loop::update, "machine update");
    if (multiply_adds == nullptr || read == nullptr || update == nullptr) return plain_machine_kernels();
    return {as_function<MultiplyAddLoop>(multiply_adds), Emitter::kChains, Emitter::kLanes,
            as_function<ReadLoop>(read), as_function<UpdateLoop>(update)};
}

// ---- The same in plain C++
// ---------------------------------------------------------------------------------

void multiply_adds_plain(std::int64_t turns, float* values) {
    float x[kMachineVector];
    std::memcpy(x, values, sizeof x);
    const float *a = values + kMachineVector, *b = a + kMachineVector, *c = b + kMachineVector;
    for (std::int64_t turn = 0; turn < turns; ++turn) {
        for (int i = 0; i < kMachineVector; ++i) x[i] = fma32(a[i], b[i], x[i]);
        for (int i = 0; i < kMachineVector; ++i) x[i] = fma32(a[i], c[i], x[i]);
    }
    std::memcpy(values, x, sizeof x);
}

void read_plain(const float* data, std::int64_t stride, std::int64_t count, std::uint32_t* result) {
    std::uint32_t all[kMachineVector] = {};
    for (std::int64_t at = 0; at < count; at += kMachineVector) {
        for (int s = 0; s < kStreams; ++s) {
            std::uint32_t bits[kMachineVector];
            std::memcpy(bits, data + s * stride + at, sizeof bits);
            for (int i = 0; i < kMachineVector; ++i) all[i] ^= bits[i];
        }
    }
    std::memcpy(result, all, sizeof all);
}

void update_plain(const UpdateStreams* streams, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
        const float g = streams->g[i];
        streams->m[i] = g + streams->m[i];
        streams->v[i] = streams->v[i] > g ? streams->v[i] : g;
        streams->p[i] = streams->p[i] - streams->m[i];
    }
}

}  // namespace

MachineKernels plain_machine_kernels() noexcept {
    return {multiply_adds_plain, 1, kMachineVector, read_plain, update_plain};
}

MachineKernels machine_kernels(Isa isa, CodeArena& arena, std::pmr::memory_resource* heap) {
    if (isa == Isa::scalar || !arena.available()) return plain_machine_kernels();
    return isa == Isa::avx512 ? emit_machine_kernels<Zmm>(arena, heap)
                              : emit_machine_kernels<Ymm>(arena, heap);
}

}  // namespace volta::jit
