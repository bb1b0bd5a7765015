// The search without a clock: five simulated processors, each with an optimum of its own planted in the grid.
// The search must find it, or something within 1 % of it; under noise it must never lose to the default. They
// run nothing, so each is simulated on every host.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "engine/backend/cpu/gemm/cost.h"
#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/tuning/product_timer.h"
#include "engine/backend/cpu/tuning/product_tuner.h"
#include "engine/base/error.h"
#include "tests/kernels/planned.h"
#include "tests/support/cmocka_cpp.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::cpu;
using volta::test::plan_product;
using volta::test::Planned;
using namespace volta::test;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

// A processor is what it likes best, and what it minds: shares of time lost per step away from it.
struct Processor {
    const char* name;
    const char* likes;  // the planted optimum
    Isa isa;
    int threads;
    double l1, l2, rows;                         // minded working sets: one tile's B, packed B, rows of A
    double tile, order, pack, prefetch, unroll;  // minded singly
};
constexpr Processor kProcessors[] = {
    {"small caches",
     "f32_gemm_6x16_avx2 k_block=128 m_block=64 n_block=96 order=rows prefetch=none unroll=4 "
     "pack_a=no pack_b=yes",
     Isa::avx2, 1, 0.10, 0.20, 0.15, 0.2, 0.05, 0.10, 0.02, 0.01},
    {"large caches",
     "f32_gemm_14x32_avx512 k_block=all m_block=all n_block=384 order=rows prefetch=none "
     "unroll=4 pack_a=no pack_b=yes",
     Isa::avx512, 2, 0.02, 0.15, 0.10, 0.1, 0.04, 0.10, 0.02, 0.02},
    {"slow memory",
     "f32_gemm_8x48_avx512 k_block=512 m_block=128 n_block=192 order=rows prefetch=16 unroll=8 "
     "pack_a=no pack_b=yes",
     Isa::avx512, 1, 0.05, 0.08, 0.10, 0.2, 0.05, 0.05, 0.15, 0.08},
    {"rows that collide",
     "f32_gemm_6x64_avx512 k_block=256 m_block=96 n_block=768 order=columns prefetch=4 "
     "unroll=2 pack_a=yes pack_b=yes",
     Isa::avx512, 1, 0.03, 0.12, 0.20, 0.1, 0.20, 0.25, 0.03, 0.03},
    {"fast loads",
     "f32_gemm_8x32_avx512 k_block=192 m_block=48 n_block=all order=columns prefetch=8 unroll=4 "
     "pack_a=no pack_b=no",
     Isa::avx512, 2, 0.02, 0.10, 0.10, 0.1, 0.10, 0.20, 0.05, 0.02},
};

double away(double x, double y) { return std::fabs(std::log2(x / y)); }

class Simulation final : public ProductTimer {
  public:
    Simulation(const Processor& processor, const ProductShape& shape, double noise = 0)
        : processor_(processor),
          shape_(shape),
          arena_(heap(), false),
          cache_(heap()),
          context_{machine_of(host_cpu(), processor.isa, processor.threads), {&arena_, &cache_, heap()}},
          best_(plan_product(shape, context_, parse_choice(processor.likes))),
          noise_(noise),
          random_(7) {
        assert_true(arena_.available());  // else no tile of AVX2 or AVX-512 could be planted
    }

    const CompileContext& context() const { return context_; }

    // Seconds of a plan: 1 ms for the planted one, more for all others.
    double seconds(const ProductChoice& choice) const {
        const Processor& p = processor_;
        const Planned plan = plan_product(shape_, context_, choice);
        const auto depth = [](const Planned& x) { return static_cast<double>(x.kc); };
        const auto panel = [&](const Planned& x) { return depth(x) * static_cast<double>(x.nc); };
        const auto block = [&](const Planned& x) {
            return depth(x) * static_cast<double>(std::min(x.mc, x.most_rows()));
        };
        double cost = 1;
        cost += p.l1 * away(depth(plan) * plan.tile->nr, depth(best_) * best_.tile->nr);
        cost += p.l2 * away(panel(plan), panel(best_));
        cost += p.rows * away(block(plan), block(best_));
        cost += p.tile * (away(plan.tile->mr, best_.tile->mr) + away(plan.tile->nr, best_.tile->nr));
        cost += 0.5 * (plan.tile->isa != best_.tile->isa);
        cost += p.order * (plan.order != best_.order);
        cost += p.pack * ((plan.packs_a() != best_.packs_a()) + (plan.packs_b() != best_.packs_b()));
        cost += p.prefetch * away(static_cast<double>(plan.prefetch.distance + 2),
                                  static_cast<double>(best_.prefetch.distance + 2));
        cost += p.unroll * away(plan.unroll, best_.unroll);
        return 1e-3 * cost;
    }
    double planted() const { return seconds(parse_choice(processor_.likes)); }

    void open(const ProductChoice* contenders, int count) override {
        contenders_.assign(contenders, contenders + count);
        opened += count;
    }
    double run(int contender) noexcept override {
        const double error = 2 * static_cast<double>(random_.uniform()) - 1;
        // Now and then something else has the processor.
        const double hiccup = noise_ > 0 && random_.below(10) == 0 ? 0.3 : 0;
        const double time =
            seconds(contenders_[static_cast<std::size_t>(contender)]) * (1 + noise_ * error + hiccup);
        elapsed_ += time;
        return time;
    }
    double elapsed() const noexcept override { return elapsed_; }

    int opened = 0;

  private:
    const Processor& processor_;
    const ProductShape shape_;
    jit::CodeArena arena_;
    KernelCache cache_;
    const CompileContext context_;
    const Planned best_;
    const double noise_;
    Random random_;
    std::vector<ProductChoice> contenders_;
    double elapsed_ = 0;
};

ProductShape shape_of(std::int64_t m, std::int64_t n, std::int64_t k) {
    ProductShape shape;
    shape.m = m;
    shape.n = shape.ldb = shape.ldc = n;
    shape.k = shape.lda = k;
    return shape;
}

void test_planted_optima_are_found(void**) {
    const ProductShape shapes[] = {shape_of(1024, 1152, 384), shape_of(1024, 768, 3072),
                                   shape_of(512, 2048, 2048)};
    int missed = 0, simulated = 0;
    for (const Processor& processor : kProcessors) {
        for (const ProductShape& shape : shapes) {
            // Of a sample each has one shape, the next one another.
            if (sample_stride() > 1 && &shape - shapes != (&processor - kProcessors) % 3) continue;
            Simulation timer(processor, shape);
            TunerOptions options;
            options.budget_seconds = 4;
            const TunerResult result = tune_product(shape, false, timer.context(), timer, options);
            const double found = timer.seconds(result.choice), best = timer.planted();
            print_message("%-18s k %4lld: default %.3f, found %.3f, planted %.3f ms; %d plans, %.1f s: %s\n",
                          processor.name, static_cast<long long>(shape.k),
                          1e3 * timer.seconds(ProductChoice()), 1e3 * found, 1e3 * best, result.contenders,
                          timer.elapsed(), to_text(result.choice).text);
            missed += found > 1.01 * best;
            ++simulated;
        }
    }
    assert_int_equal(simulated, sample_stride() > 1 ? 5 : 15);
    assert_int_equal(missed, 0);
}

// 3 % of noise and hiccups of 30 %: the result is never slower than the default, and mostly near the best.
void test_noise_never_costs(void**) {
    const ProductShape shape = shape_of(1024, 768, 3072);
    for (const Processor& processor : kProcessors) {
        Simulation timer(processor, shape, 0.03);
        TunerOptions options;
        options.budget_seconds = 10;
        const TunerResult result = tune_product(shape, false, timer.context(), timer, options);
        assert_true(timer.seconds(result.choice) <= timer.seconds(ProductChoice()));
        assert_true(timer.seconds(result.choice) <= 1.15 * timer.planted());
    }
}

// A processor on which nothing beats the default by more than 2 %: the default stays, and is what is
// reported.
class Flat final : public ProductTimer {
  public:
    Flat(double gain, double seconds) : gain_(gain), seconds_(seconds) {}
    void open(const ProductChoice* contenders, int count) override {
        choices_.assign(contenders, contenders + count);
    }
    double run(int contender) noexcept override {
        const double time =
            seconds_ * (choices_[static_cast<std::size_t>(contender)].unroll == 8 ? 1 - gain_ : 1);
        elapsed_ += time;
        return time;
    }
    double elapsed() const noexcept override { return elapsed_; }

  private:
    double gain_, seconds_, elapsed_ = 0;
    std::vector<ProductChoice> choices_;
};

// Every run takes `seconds`. elapsed: of all of them; may be NULL.
TunerResult tune_flat(double gain, const TunerOptions& options, double seconds = 1e-3,
                      double* elapsed = nullptr) {
    const ProductShape shape = shape_of(100, 100, 100);
    jit::CodeArena arena(heap(), false);
    KernelCache cache(heap());
    const CompileContext context{machine_of(host_cpu(), host_cpu().best_isa, 1), {&arena, &cache, heap()}};
    Flat timer(gain, seconds);
    const TunerResult result = tune_product(shape, false, context, timer, options);
    if (elapsed != nullptr) *elapsed = timer.elapsed();
    return result;
}

void test_default_stays_unless_beaten_by_two_percent(void**) {
    const TunerResult stays = tune_flat(0.019, {}), goes = tune_flat(0.021, {});
    assert_true(stays.choice == ProductChoice());
    assert_true(stays.tuned_seconds == stays.default_seconds);
    assert_int_equal(goes.choice.unroll, 8);
    assert_true(goes.tuned_seconds < goes.default_seconds);
}

void test_cancelling_leaves_the_default(void**) {
    TunerOptions options;
    int calls = 0;
    options.user = &calls;
    options.progress = [](void* user, double share) {
        return share >= 0 && share <= 1 && ++*static_cast<int*>(user) < 3;
    };
    const TunerResult result = tune_flat(0.5, options);
    assert_true(result.cancelled);
    assert_true(result.choice == ProductChoice());
    assert_int_equal(calls, 3);
}

// The budget ends the search, not the play-off.
void test_budget(void**) {
    TunerOptions options;
    options.budget_seconds = 0;
    const TunerResult result = tune_flat(0.5, options);
    assert_int_equal(result.contenders, 1);
    assert_true(result.default_seconds > 0);
}

// Where one run takes a good part of the budget, as of a large vocabulary: some contenders are timed within
// what there may be at most, and none where not even that is enough. The play-off comes on top.
void test_budget_of_long_runs(void**) {
    TunerOptions options;
    options.budget_seconds = 3;
    const double run = 0.35, play_off = 3 * 4 * run;
    double elapsed = 0;
    options.most_seconds = 8;
    assert_true(tune_flat(0, options, run, &elapsed).contenders > 1);
    assert_true(elapsed > 2 && elapsed <= 8 + play_off);
    options.most_seconds = 0;
    tune_flat(0, options, run, &elapsed);
    assert_true(elapsed <= 3 + play_off);
    assert_int_equal(tune_flat(0, options, 10 * run, &elapsed).contenders, 1);
    assert_true(elapsed <= 3 + 10 * (run + play_off));
}

// The timer of this machine under a clock that counts runs, a millisecond each: how far a search comes does
// not depend on what else runs here.
class CountedTimer final : public ProductTimer {
  public:
    explicit CountedTimer(MachineTimer& machine) : machine_(machine) {}
    void open(const ProductChoice* contenders, int count) override { machine_.open(contenders, count); }
    double run(int contender) noexcept override {
        ++runs_;
        return std::min(machine_.run(contender), kRun);
    }
    double elapsed() const noexcept override { return kRun * runs_; }

  private:
    static constexpr double kRun = 1e-3;
    MachineTimer& machine_;
    int runs_ = 0;
};

// The timer of this machine: every epilogue, two threads, both ends of the options. Nothing about speed.
void test_machine_timer(void**) {
    const Isa isa = host_cpu().best_isa;
    jit::CodeArena arena(heap(), false);
    KernelCache cache(heap());
    ThreadPool pool(2, heap());
    const CompileContext context{machine_of(host_cpu(), isa, 2), {&arena, &cache, heap()}};
    for (const EpilogueKind kind : {EpilogueKind::none, EpilogueKind::blocks, EpilogueKind::rows}) {
        ProductShape shape = shape_of(40, 70, 90);
        MachineTimer machine(shape, kind, context, pool, heap());
        CountedTimer timer(machine);
        TunerOptions options;
        options.budget_seconds = 0.2;
        options.runs = 2;
        const TunerResult result = tune_product(shape, kind == EpilogueKind::rows, context, timer, options);
        assert_true(result.contenders > 1);
        assert_true(result.tuned_seconds > 0 && result.tuned_seconds <= result.default_seconds);
        check(result.choice);
    }
}

// A B that was packed before, one whose columns are summed, and weights that come from DRAM, partly or all.
constexpr ProductUse kUses[] = {{true, false, 0},  {false, true, 0},  {true, true, 0}, {false, false, 0.6},
                                {false, false, 1}, {false, false, 2}, {true, false, 2}};

CompileContext with_use(CompileContext context, const ProductUse& use) {
    context.request.prepacked = use.prepacked;
    context.request.sums_b = use.sums_b;
    context.request.cache_use = use.cache_use;
    return context;
}

// Every use, for many rows and for one, whose default is no tile.
void test_machine_timer_of_uses(void**) {
    jit::CodeArena arena(heap(), false);
    KernelCache cache(heap());
    ThreadPool pool(1, heap());
    for (const ProductUse& use : kUses)
        for (const std::int64_t m : {1, 40}) {
            const CompileContext context =
                with_use({machine_of(host_cpu(), host_cpu().best_isa, 1), {&arena, &cache, heap()}}, use);
            const ProductShape shape = shape_of(m, 200, 300);
            MachineTimer machine(shape, EpilogueKind::blocks, context, pool, heap());
            CountedTimer timer(machine);
            TunerOptions options;
            options.budget_seconds = 0.05;
            options.runs = 1;
            const TunerResult result = tune_product(shape, false, context, timer, options);
            assert_true(result.tuned_seconds > 0 && result.tuned_seconds <= result.default_seconds);
            check(result.choice);
        }
}

// Packing a B that is kept is no part of a run's seconds, but of the budget. Of each the shortest of several
// runs: what else has the processor makes some longer, not all.
void test_packing_is_outside_of_the_clock(void**) {
    if (host_cpu().best_isa == Isa::scalar) skip();  // the product may take longer than packing
    jit::CodeArena arena(heap(), false);
    KernelCache cache(heap());
    ThreadPool pool(1, heap());
    const CompileContext context =
        with_use({machine_of(host_cpu(), host_cpu().best_isa, 1), {&arena, &cache, heap()}},
                 ProductUse{true, false, 0});
    // Of one row packing takes longer than the product, of which a run has one.
    MachineTimer timer(shape_of(1, 2000, 2000), EpilogueKind::none, context, pool, heap());
    const ProductChoice two[] = {parse_choice("k_block=256"), parse_choice("k_block=512")};
    timer.open(two, 2);
    double seconds = 1e9, elapsed = 1e9;
    for (int i = 0; i < 8; ++i) {
        const double before = timer.elapsed();
        seconds = std::min(seconds, timer.run(i % 2));
        elapsed = std::min(elapsed, timer.elapsed() - before);
    }
    assert_true(elapsed > 1.2 * seconds);
}

TuningEntry entry_of(const ProductShape& shape, const char* choice, const ProductUse& use = {}) {
    return {key_of(shape, EpilogueKind::none, Isa::scalar, 1, use), parse_choice(choice), 2e-3, 1e-3};
}

// What the table holds is what compile_product() takes: for that product, and for no other.
void test_table_is_consulted(void**) {
    TuningTable table(heap());
    const ProductShape shape = shape_of(30, 40, 50);
    table.set(entry_of(shape, "k_block=16"));
    jit::CodeArena arena(heap(), false);
    KernelCache cache(heap());
    CompileContext context{machine_of(host_cpu(), Isa::scalar, 1), {&arena, &cache, heap()}};
    const TunedProducts tuned(table);
    context.tuned = &tuned;
    const auto name = [&](const ProductShape& asked) {
        return std::string(compile_product(asked, nullptr, context)->kernel_name());
    };
    assert_string_equal(name(shape).c_str(), "f32_gemm_4x4_scalar k_block=16");
    assert_string_equal(name(shape_of(30, 40, 51)).c_str(), "f32_gemm_4x4_scalar");
    ProductShape wide = shape;
    wide.lda = 2048;  // rows of A that meet in one set: another class
    assert_string_equal(name(wide).c_str(), "f32_gemm_4x4_scalar");
    context.machine.threads = 2;
    assert_string_equal(name(shape).c_str(), "f32_gemm_4x4_scalar");
    context.machine.threads = 1;
    table.set(entry_of(shape, "k_block=32"));
    assert_string_equal(name(shape).c_str(), "f32_gemm_4x4_scalar k_block=32");
    assert_int_equal(table.version(), 2);
    assert_int_equal(table.entries(heap()).size(), 1);
}

// A choice counts where the product is used as it was when it was timed, and nowhere else.
void test_choices_stay_with_their_use(void**) {
    jit::CodeArena arena(heap(), false);
    KernelCache cache(heap());
    const ProductShape shape = shape_of(30, 240, 250);
    const CompileContext plain{machine_of(host_cpu(), Isa::scalar, 1), {&arena, &cache, heap()}};
    const ProductUse none;
    const auto is_tuned = [&](const TuningTable& table, const ProductUse& use) {
        CompileContext context = with_use(plain, use);
        const TunedProducts tuned(table);
        context.tuned = &tuned;
        const ProductPtr product = compile_product(shape, nullptr, context);
        assert_true(product->use().prepacked == use.prepacked && product->use().sums_b == use.sums_b &&
                    product->use().cache_use == use.cache_use);
        return std::strstr(product->kernel_name(), "k_block=16") != nullptr;
    };
    TuningTable of_none(heap());
    of_none.set(entry_of(shape, "k_block=16"));
    assert_true(is_tuned(of_none, none));
    for (const ProductUse& timed : kUses) {
        assert_false(is_tuned(of_none, timed));
        TuningTable table(heap());
        table.set(entry_of(shape, "k_block=16", timed));
        assert_false(is_tuned(table, none));
        for (const ProductUse& asked : kUses) assert_int_equal(is_tuned(table, asked), &asked == &timed);
    }
}

// Weights of half the last cache stay there; a class is timed with a use that is of it.
void test_cache_classes(void**) {
    const double uses[] = {0, 0.5, 0.51, 0.8, 0.81, 1.25, 1.26, 100};
    const int classes[] = {0, 0, 1, 1, 2, 2, 3, 3};
    for (std::size_t i = 0; i < 8; ++i) assert_int_equal(cache_class(uses[i]), classes[i]);
    for (std::uint8_t c = 0; c <= kMostCacheClass; ++c) assert_int_equal(cache_class(cache_use_of(c)), c);
}

void test_table_refuses_what_cannot_be(void**) {
    const ProductShape shape = shape_of(30, 40, 50);
    const auto refused = [&](auto change) {
        TuningEntry entry = entry_of(shape, "");
        change(entry);
        TuningTable table(heap());
        try {
            table.set(entry);
        } catch (const Error& error) {
            return error.status() == VOLTA_INVALID_ARGUMENT && table.version() == 0;
        }
        return false;
    };
    using E = TuningEntry;
    assert_false(refused([](E&) {}));
    assert_true(refused([](E& e) { e.key.m = 0; }));
    assert_true(refused([](E& e) { e.key.k = std::int64_t{1} << 41; }));
    assert_true(refused([](E& e) { e.key.threads = 257; }));
    assert_true(refused([](E& e) { e.key.a_stride = 4; }));
    assert_true(refused([](E& e) { e.key.isa = static_cast<Isa>(9); }));
    assert_true(refused([](E& e) { e.key.cache = kMostCacheClass + 1; }));
    assert_true(refused([](E& e) { e.choice.tile = 1; }));  // AVX-512, for a scalar key
    assert_true(refused([](E& e) { e.choice.k_block = -1; }));
    assert_true(refused([](E& e) { e.tuned_seconds = 0; }));
    assert_true(refused([](E& e) { e.default_seconds = std::nan(""); }));
    assert_true(refused([](E& e) {
        e.key.b_transposed = true;
        e.choice.pack_b = Toggle::no;
    }));
}

void test_median_of_runs(void**) {
    TimedRuns runs;
    assert_true(runs.median() == 0);
    const struct { double run, median, fastest; } rows[] = {{5, 5, 5}, {1, 3, 1}, {2, 2, 1}, {8, 3.5, 1}};
    for (const auto& row : rows) {
        runs.add(row.run);
        assert_true(runs.median() == row.median && runs.fastest() == row.fastest);
    }
}

// Two threads write, two read; run under ThreadSanitizer.
void test_table_is_thread_safe(void**) {
    TuningTable table(heap());
    ThreadPool pool(4, heap());
    pool.run(4, [&](int worker, int) noexcept {
        for (int i = 0; i < 200; ++i) {
            const ProductShape shape = shape_of(1 + i % 50, 40, 50);
            if (worker % 2 == 0) table.set(entry_of(shape, "k_block=16"));
            if (worker % 2 == 1) table.find(key_of(shape, EpilogueKind::none, Isa::scalar, 1));
        }
    });
    assert_int_equal(table.entries(heap()).size(), 50);
    assert_int_equal(table.version(), 400);
}
}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_planted_optima_are_found),
        cmocka_unit_test(test_noise_never_costs),
        cmocka_unit_test(test_default_stays_unless_beaten_by_two_percent),
        cmocka_unit_test(test_cancelling_leaves_the_default),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_budget_of_long_runs),
        cmocka_unit_test(test_machine_timer),
        cmocka_unit_test(test_machine_timer_of_uses),
        cmocka_unit_test(test_packing_is_outside_of_the_clock),
        cmocka_unit_test(test_table_is_consulted),
        cmocka_unit_test(test_choices_stay_with_their_use),
        cmocka_unit_test(test_cache_classes),
        cmocka_unit_test(test_table_refuses_what_cannot_be),
        cmocka_unit_test(test_table_is_thread_safe),
        cmocka_unit_test(test_median_of_runs),
    };
    return cmocka_run_group_tests_name("product tuner", tests, nullptr, nullptr);
}
