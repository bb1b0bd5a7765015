// How fast the products of a small transformer run, against the processor's own peak measured in the same
// rounds:
//   bench_product [rounds] [tile]
// Peak: independent FMA chains in registers, nothing else. Every figure is the best of all rounds; on a
// machine that others use too, more rounds help.
#include <time.h>
#include <xbyak/xbyak.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory_resource>
#include <vector>

#include "engine/backend/cpu/attention/attention.h"
#include "engine/backend/cpu/gemm/kernel_cache.h"

namespace {
using namespace volta;
using namespace volta::cpu;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

double wall_seconds() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}
// Of all threads of this process: what the work costs while others hold the cores too.
double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

constexpr int kPeakChains =
    12;  // more than latency times throughput needs, fewer than either set has registers
constexpr long kPeakTurns = 400000;

struct PeakLoop : Xbyak::CodeGenerator {  // void(long turns): kPeakChains FMAs per turn
    explicit PeakLoop(Isa isa) {
        Xbyak::Label turn;
        for (int i = 0; i < 14; ++i) vxorps(Xbyak::Xmm(i), Xbyak::Xmm(i), Xbyak::Xmm(i));
        align(32);
        L(turn);
        for (int i = 0; i < kPeakChains; ++i) {
            if (isa == Isa::avx512) {
                vfmadd231ps(Xbyak::Zmm(i), Xbyak::Zmm(12), Xbyak::Zmm(13));
            } else {
                vfmadd231ps(Xbyak::Ymm(i), Xbyak::Ymm(12), Xbyak::Ymm(13));
            }
        }
        dec(rdi);
        jnz(turn, T_NEAR);
        vzeroupper();
        ret();
    }
};

float* aligned(std::vector<float>& memory, std::size_t floats) {
    memory.assign(floats + 16, 0.25f);
    return reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
}

// One thing to time. `flop` per run.
struct Contender {
    char name[64];
    double flop = 0;
    double wall = std::numeric_limits<double>::infinity(), cpu = wall;  // seconds of the best run
    ProductPtr product;
    AttentionPtr attention;
    ProductCall product_call = {};
    AttentionCall attention_call = {};
    std::vector<float> memory[12];
    void (*peak)(long) = nullptr;

    void run(ThreadPool& pool, int threads) {
        if (product) product->run(pool, product_call);
        if (attention) attention->run(pool, attention_call);
        if (peak) pool.run(threads, [this](int, int) noexcept { peak(kPeakTurns); });
    }
    void time(ThreadPool& pool, int threads) {
        const double wall_start = wall_seconds(), cpu_start = cpu_seconds();
        run(pool, threads);
        cpu = std::min(cpu, cpu_seconds() - cpu_start);
        wall = std::min(wall, wall_seconds() - wall_start);
    }
};

struct Layer {
    std::int64_t tokens, in, out;
};
constexpr Layer kLayers[] = {
    {1024, 384, 1152}, {1024, 384, 384}, {1024, 384, 1536}, {1024, 1536, 384}, {1024, 384, 65}};

enum class Order { forward, d_input, d_weight };

void add_product(std::vector<Contender>& all, const Layer& layer, Order order,
                 const CompileContext& context) {
    ProductShape shape;
    shape.m = order == Order::d_weight ? layer.in : layer.tokens;
    shape.n = order == Order::d_input ? layer.in : layer.out;
    shape.k = order == Order::forward ? layer.in : order == Order::d_input ? layer.out : layer.tokens;
    shape.a_transposed = order == Order::d_weight;
    shape.b_transposed = order == Order::d_input;
    shape.lda = shape.a_transposed ? shape.m : shape.k;
    shape.ldb = shape.b_transposed ? shape.k : shape.n;
    shape.ldc = shape.n;
    Contender c;
    const char* const names[] = {"X W     ", "dY W^T  ", "X^T dY  "};
    std::snprintf(c.name, sizeof c.name, "%s %4ld x %4ld x %4ld", names[static_cast<int>(order)],
                  static_cast<long>(shape.m), static_cast<long>(shape.n), static_cast<long>(shape.k));
    c.flop = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
    c.product = compile_product(shape, nullptr, context);
    c.product_call.a = aligned(c.memory[0], static_cast<std::size_t>(shape.m * shape.k));
    c.product_call.b = aligned(c.memory[1], static_cast<std::size_t>(shape.k * shape.n));
    c.product_call.c = aligned(c.memory[2], static_cast<std::size_t>(shape.m * shape.n));
    c.product_call.workspace = aligned(c.memory[3], c.product->workspace_bytes() / sizeof(float));
    all.push_back(std::move(c));
}

// The attention of the preset tiny: 4 sequences of 256, 6 heads of 64, one fused qkv tensor.
void add_attention(std::vector<Contender>& all, bool backward, const CompileContext& context) {
    AttentionShape shape;
    shape.batch = 4;
    shape.time = 256;
    shape.heads = shape.kv_heads = 6;
    shape.head_dim = 64;
    shape.scale = 0.125f;
    shape.q_stride = shape.k_stride = shape.v_stride = 1152;
    shape.dq_stride = shape.dk_stride = shape.dv_stride = 1152;
    shape.o_stride = 384;
    Contender c;
    std::snprintf(c.name, sizeof c.name, "attention %s", backward ? "backward" : "forward");
    const double pairs = 4.0 * 6 * 256 * 257 / 2;
    c.flop = pairs * 64 * 2 * (backward ? 5 : 2);  // as if the triangle were all that is computed
    c.attention =
        backward ? compile_attention_backward(shape, context) : compile_attention_forward(shape, context);
    const std::size_t tokens = 1024, rows = tokens * 6;
    AttentionCall& call = c.attention_call;
    float* const qkv = aligned(c.memory[0], tokens * 1152);
    float* const d_qkv = aligned(c.memory[1], tokens * 1152);
    call.q = qkv;
    call.k = qkv + 384;
    call.v = qkv + 768;
    call.dq = d_qkv;
    call.dk = d_qkv + 384;
    call.dv = d_qkv + 768;
    call.o = aligned(c.memory[2], tokens * 384);
    call.d_o = aligned(c.memory[3], tokens * 384);
    call.row_max = aligned(c.memory[4], rows);
    call.row_sum = aligned(c.memory[5], rows);
    call.workspace = aligned(c.memory[6], c.attention->workspace_bytes() / sizeof(float));
    all.push_back(std::move(c));
}

void bench(Isa isa, int threads, int rounds, const char* tile) {
    jit::CodeArena arena(heap(), false);
    KernelCache cache(heap());
    ThreadPool pool(threads, heap());
    PeakLoop peak(isa);
    const CompileContext context = {machine_of(host_cpu(), isa, threads), &arena, &cache, heap(), tile};

    std::vector<Contender> all(1);
    all[0].flop = 2.0 * jit::gemm_lanes(isa) * kPeakChains * kPeakTurns * threads;
    all[0].peak = peak.getCode<void (*)(long)>();
    for (const Layer& layer : kLayers)
        for (const Order order : {Order::forward, Order::d_input, Order::d_weight})
            add_product(all, layer, order, context);
    add_attention(all, false, context);
    add_attention(all, true, context);

    pool.begin_hot();
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 1; i < all.size(); ++i) {
            all[0].time(pool, threads);
            all[i].time(pool, threads);
            all[i].time(pool, threads);
        }
    }
    pool.end_hot();

    const Contender& registers = all[0];
    std::printf("%s, %d thread%s: peak %.1f GFLOP/s\n", isa_name(isa), threads, threads > 1 ? "s" : "",
                registers.flop / registers.wall / 1e9);
    std::printf("  %-28s %-22s %11s %9s %7s %7s\n", "", "", "ms", "GFLOP/s", "% wall", "% cpu");
    for (std::size_t i = 1; i < all.size(); ++i) {
        const Contender& c = all[i];
        std::printf("  %-28s %-22s %11.3f %9.1f %7.1f %7.1f\n", c.name,
                    c.product ? c.product->kernel_name() : c.attention->kernel_name(), c.wall * 1e3,
                    c.flop / c.wall / 1e9, 100 * c.flop / c.wall / (registers.flop / registers.wall),
                    100 * c.flop / c.cpu / (registers.flop / registers.cpu));
    }
}
}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
    const char* const tile = argc > 2 ? argv[2] : nullptr;
    std::printf("%s\n", host_cpu().brand);
    for (const Isa isa : {Isa::avx512, Isa::avx2}) {
        const GemmTile* const forced = tile ? find_tile(tile) : nullptr;
        if (!host_cpu().has(isa) || (tile && (!forced || forced->isa != isa))) continue;
        for (const int threads : {1, 2}) bench(isa, threads, rounds, tile);
    }
    return 0;
}
