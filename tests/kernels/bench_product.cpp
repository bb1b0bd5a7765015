// How fast the products of a small transformer run, against the processor's own peak measured in the same
// rounds:
//   bench_product [rounds] [tile]
// or what the rules of products bring, each on the products where it changes something, as CSV
// (bench/rules.py):
//   bench_product --rules
//   bench_product --rule NAME [rounds] [threads] [isa]
// Peak: independent FMA chains in registers, nothing else. Every figure is the best of all rounds; on a
// machine that others use too, more rounds help.
#include <time.h>
#include <xbyak/xbyak.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory_resource>
#include <string>
#include <vector>

#include "engine/backend/cpu/attention/attention.h"
#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "tests/kernels/product_cases.h"

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
    const CompileContext context = {
        machine_of(host_cpu(), isa, threads), {&arena, &cache, heap()}, {}, {tile}};

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

// ---- Rules -----------------------------------------------------------------------------------------------

constexpr double kMostFlop = 2e8, kShortestRun = 2e-4;  // of a product; seconds
constexpr std::size_t kMostCases = 12;

CompileContext context_of(const test::GoldenCase&, const test::Use& use, const Machine& machine,
                          const Compiler& compiler, const char* without_rule) {
    CompileContext context = {machine, compiler};
    context.request.prepacked = use.prepacked;
    context.request.cache_use = use.cache_use;
    context.overrides.without_rule = without_rule;
    return context;
}

std::string schedule_of(const Product& product) {
    ScheduleText text;
    product.describe(text);
    return text.text;
}

// One of two ways, and copies of B that it walks over where B is to come from DRAM.
struct Way {
    ProductPtr product;
    std::vector<float> workspace, packed[8];
    const float* packed_at[8] = {};
    std::vector<double> seconds;

    void prepare(ThreadPool& pool, const float* const* b, int copies) {
        aligned(workspace, product->workspace_bytes() / sizeof(float));
        if (product->prepacked_bytes() == 0) return;
        for (int i = 0; i < copies; ++i) {
            float* const to = aligned(packed[i], product->prepacked_bytes() / sizeof(float));
            product->prepack(pool, b[i], to);
            packed_at[i] = to;
        }
    }
    void run(ThreadPool& pool, const float* a, const float* const* b, float* c, int copies, int repeats) {
        ProductCall call = {};
        call.a = a;
        call.c = c;
        call.workspace =
            reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(workspace.data()) + 63) / 64 * 64);
        const double start = wall_seconds();
        for (int i = 0; i < repeats; ++i) {
            call.b = b[i % copies];
            call.prepacked = packed_at[i % copies];
            product->run(pool, call);
        }
        seconds.push_back((wall_seconds() - start) / repeats);
    }
    double median() {
        std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2),
                         seconds.end());
        return seconds[seconds.size() / 2];
    }
};

// Both ways in turns, medians; "rule,product,use,threads,isa,on_us,off_us".
void time_case(const test::GoldenCase& one, const test::Use& use, const Machine& machine, const char* rule,
               ProductPtr on, ProductPtr off, ThreadPool& pool, int rounds) {
    const ProductShape& shape = one.shape;
    const std::size_t b_floats =
        static_cast<std::size_t>((shape.b_transposed ? shape.n : shape.k) * shape.ldb);
    const double b_bytes = 4.0 * static_cast<double>(b_floats), l3 = static_cast<double>(machine.l3_bytes);
    const int copies =
        use.cache_use > 1 ? std::clamp(static_cast<int>(use.cache_use * l3 / b_bytes) + 1, 1, 8) : 1;
    std::vector<float> a_memory, c_memory, b_memory[8];
    float* const a =
        aligned(a_memory, static_cast<std::size_t>((shape.a_transposed ? shape.k : shape.m) * shape.lda));
    float* const c = aligned(c_memory, static_cast<std::size_t>(shape.m * shape.ldc));
    const float* b[8] = {};
    for (int i = 0; i < copies; ++i) b[i] = aligned(b_memory[i], b_floats);
    Way ways[2];
    ways[0].product = std::move(on);
    ways[1].product = std::move(off);
    for (Way& way : ways) way.prepare(pool, b, copies);
    for (Way& way : ways) way.run(pool, a, b, c, copies, copies);  // pages and code are touched
    const double once = ways[0].seconds[0];
    const int repeats = std::clamp(static_cast<int>(kShortestRun / once) + 1, copies, 1000);
    for (Way& way : ways) way.seconds.clear();
    for (int round = 0; round < rounds; ++round)
        for (Way& way : ways) way.run(pool, a, b, c, copies, repeats);
    std::printf("%s,%s,%s,%d,%s,%.3f,%.3f\n", rule, one.text().c_str(), use.name, machine.threads,
                isa_name(machine.isa), ways[0].median() * 1e6, ways[1].median() * 1e6);
    std::fflush(stdout);
}

// The products whose schedule is another one without the rule, spread over the list.
int bench_rule(const char* rule, int rounds, int threads, Isa isa) {
    if (find_rule(rule) == nullptr || !is_measured(*find_rule(rule)))
        return std::fprintf(stderr, "no such rule\n"), 2;
    jit::CodeArena arena(heap(), false);
    KernelCache cache(heap());
    ThreadPool pool(threads, heap());
    const Machine machine = machine_of(host_cpu(), isa, threads);
    const Compiler compiler = {&arena, &cache, heap()};
    struct Found {
        test::GoldenCase one;
        test::Use use;
    };
    std::vector<Found> found;
    for (const test::GoldenCase& one : test::cases())
        for (const test::Use& use : test::kUses) {
            const double flop =
                2.0 * static_cast<double>(one.shape.m * one.shape.n) * static_cast<double>(one.shape.k);
            if (one.stored || one.shape.batch > 1 || flop > kMostFlop) continue;
            const auto schedule = [&](const char* without) {
                return schedule_of(
                    *compile_product(one.shape, nullptr, context_of(one, use, machine, compiler, without)));
            };
            if (schedule(nullptr) != schedule(rule)) found.push_back({one, use});
        }
    const std::size_t step = std::max<std::size_t>(found.size() / kMostCases, 1);
    pool.begin_hot();
    for (std::size_t i = 0; i < found.size(); i += step) {
        const auto make = [&](const char* without) {
            return compile_product(found[i].one.shape, nullptr,
                                   context_of(found[i].one, found[i].use, machine, compiler, without));
        };
        time_case(found[i].one, found[i].use, machine, rule, make(nullptr), make(rule), pool, rounds);
    }
    pool.end_hot();
    return 0;
}

int list_rules() {
    for (const Rule& rule : rules())
        if (is_measured(rule) && std::strcmp(rule.evidence, "matmul_tuning.md") != 0)
            std::printf("%s %s\n", rule.name, rule.evidence);
    return 0;
}
}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "--rules") == 0) return list_rules();
    if (argc > 2 && std::strcmp(argv[1], "--rule") == 0) {
        Isa isa = host_cpu().best_isa;
        for (const IsaRow& row : kIsas)
            if (argc > 5 && std::strcmp(row.name, argv[5]) == 0) isa = row.isa;
        if (!host_cpu().has(isa)) return 2;
        return bench_rule(argv[2], argc > 3 ? std::atoi(argv[3]) : 11, argc > 4 ? std::atoi(argv[4]) : 1,
                          isa);
    }
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
