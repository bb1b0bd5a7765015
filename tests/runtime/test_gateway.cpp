// The gateway and its context: what is cached, what a host may do to the floating-point environment, what a
// run allocates, and that no pass, thread or instruction set can be seen in a result.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string>

#include "engine/base/fp_environment.h"
#include "engine/graph/gradient.h"
#include "engine/passes/pass.h"
#include "engine/runtime/context.h"
#include "engine/runtime/gateway.h"
#include "engine/runtime/program_memory.h"
#include "tests/runtime/plan_runner.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace {
std::size_t global_allocations = 0;  // of operator new, which the engine must not use in a run either
}

void* operator new(std::size_t size) {
    ++global_allocations;
    if (void* pointer = std::malloc(size ? size : 1)) return pointer;
    throw std::bad_alloc();
}
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { std::free(pointer); }

namespace volta::test {
namespace {

std::pmr::memory_resource* heap() { return std::pmr::get_default_resource(); }

// A host allocator that counts, keeps a balance, and refuses the call with a given number.
struct CountingHost {
    std::size_t calls = 0, refused_call = 0;
    long long balance = 0;
    volta_allocator allocator() { return {allocate, release, this}; }
    static void* allocate(void* user, size_t size, size_t alignment, volta_memory_kind) {
        auto& host = *static_cast<CountingHost*>(user);
        if (++host.calls == host.refused_call) return nullptr;
        host.balance += static_cast<long long>(size);
        void* pointer = nullptr;
        return posix_memalign(&pointer, alignment < 16 ? 16 : alignment, size) == 0 ? pointer : nullptr;
    }
    static void release(void* user, void* pointer, size_t size, size_t, volta_memory_kind) {
        static_cast<CountingHost*>(user)->balance -= static_cast<long long>(size);
        std::free(pointer);
    }
};

ContextRef make_context(int threads, const volta_allocator* allocator = nullptr, bool scalar = false) {
    ContextOptions options;
    options.thread_count = threads;
    options.allocator = allocator;
    options.isa_auto = !scalar;
    Context* context = Context::create(options);
    ContextRef reference(context);
    context->release();  // the reference holds it now
    return reference;
}

// With the gradients of half of sum(y).
Backward differentiated(const Graph& graph, ValueId y) {
    Backward backward = copy_forward(graph, heap());
    const ValueId root = backward.renamed[static_cast<std::size_t>(y)];
    std::pmr::vector<Seed> seeds(heap());
    const Attribute shape = list(Attr::shape, graph.shape(y));
    seeds.push_back(
        Seed{root, backward.graph.apply(Op::broadcast_to, {backward.graph.scalar(0.5f)}, {shape})});
    differentiate(backward, seeds);
    return backward;
}

// y = gelu(x w + b), with the gradients of sum(y) if asked: products, an epilogue, column sums.
Graph make_layer(std::int64_t rows, bool with_gradients) {
    Graph graph(heap());
    const ValueId x = graph.input("x", DType::f32, {rows, 24});
    const ValueId w = graph.parameter("w", {24, 40}, Init{}), b = graph.parameter("b", {40}, Init{});
    const ValueId z = graph.apply(Op::add, {graph.apply(Op::matmul, {x, w}), b});
    const ValueId y = graph.apply(Op::gelu_tanh, {z});
    graph.output("y", y);
    if (!with_gradients) return graph;
    Backward backward = differentiated(graph, y);
    backward.graph.output("dw", backward.gradients[0].contributions[0]);
    backward.graph.output("db", backward.gradients[1].contributions[0]);
    return std::move(backward.graph);
}

// A layer between a residual, a norm with its activation and a softmax, and the gradients of all: rows and
// what is around them, in both directions.
Graph make_norms() {
    Graph graph(heap());
    const Shape rows = {530, 40};
    const ValueId x = graph.parameter("x", rows, {}), other = graph.input("other", DType::f32, rows);
    const ValueId scale = graph.parameter("scale", {40}, {}), bias = graph.parameter("bias", {40}, {});
    const ValueId w = graph.parameter("w", {40, 40}, {}), r = graph.parameter("r", {40}, {});
    const ValueId sum = graph.apply(Op::add, {x, other});
    const ValueId hidden = graph.apply(Op::gelu_tanh, {graph.apply(Op::layer_norm, {sum, scale, bias})});
    const ValueId product = graph.apply(Op::matmul, {hidden, w});
    const ValueId normed = graph.apply(Op::silu, {graph.apply(Op::rms_norm, {product, r})});
    const ValueId y = graph.apply(Op::softmax, {graph.apply(Op::add, {normed, sum})});
    graph.output("y", y);
    Backward backward = differentiated(graph, y);
    for (std::size_t i = 0; i < backward.gradients.size(); ++i)
        for (std::size_t u = 0; u < backward.gradients[i].contributions.size(); ++u)
            backward.graph.output(("d" + std::to_string(i) + "/" + std::to_string(u)).c_str(),
                                  backward.gradients[i].contributions[u]);
    return std::move(backward.graph);
}

// Convolutions with what stands behind them: bias and clamp, norms of given and of the batch's statistics,
// residual, stride and depth; and the gradients of the weights.
Graph make_block() {
    Graph graph(heap());
    const Attribute pads = list(Attr::pads, {1, 1, 1, 1}), strides = list(Attr::strides, {2, 2});
    const Attribute low = number(Attr::low, -0.25), high = number(Attr::high, 0.5);
    const ValueId x = graph.input("x", DType::f32, {9, 3, 16, 32});
    const auto parameter = [&](const char* name, const Shape& shape) {
        return graph.parameter(name, shape, {});
    };
    const ValueId w[] = {parameter("w0", {20, 3, 3, 3}), parameter("w1", {20, 20, 3, 3}),
                         parameter("w2", {20, 20, 3, 3}), parameter("w3", {20, 1, 3, 3})};
    const ValueId bias = parameter("bias", {20}), scale = parameter("scale", {20});
    const ValueId given_mean = graph.input("mean", DType::f32, {20});
    const ValueId variance = graph.apply(Op::mul, {given_mean, given_mean});
    ValueId y = graph.apply(Op::clamp, {graph.apply(Op::conv, {x, w[0], bias}, {pads})}, {low, high});
    const ValueId given = graph.apply(
        Op::batch_norm, {graph.apply(Op::conv, {y, w[1]}, {pads}), scale, bias, given_mean, variance});
    y = graph.apply(Op::relu, {graph.apply(Op::add, {given, y})});
    y = graph.apply(Op::conv, {y, w[2]}, {pads, strides});
    const ValueId mean = graph.apply(Op::batch_statistics, {y});
    y = graph.apply(Op::relu, {graph.apply(Op::batch_norm_train, {y, scale, bias, mean, mean + 1})});
    y = graph.apply(Op::clamp, {graph.apply(Op::conv, {y, w[3]}, {pads, number(Attr::groups, 20)})},
                    {low, high});
    graph.output("y", y);
    Backward backward = differentiated(graph, y);
    const char* const names[] = {"dw0", "dw1", "dw2", "dw3"};
    for (std::size_t i = 0; i < 4; ++i)
        backward.graph.output(names[i], backward.gradients[i].contributions[0]);
    return std::move(backward.graph);
}

// Fills inputs (times `factor`) and parameters from a fixed seed, runs, and gives all outputs.
std::vector<float> run_program(Context& context, const Program& program, float factor, unsigned mxcsr) {
    ProgramMemory memory(program, context.structures());
    memory.allocate();
    const Plan& plan = program.plan();
    for (std::size_t r = 0; r < plan.regions.size(); ++r) {
        const RegionKind kind = plan.regions[r].kind;
        if (kind != RegionKind::input && kind != RegionKind::parameter) continue;
        const float scale = kind == RegionKind::input ? factor : 1;
        const std::vector<float> data =
            random_floats(static_cast<std::int64_t>(plan.regions[r].bytes / 4), r);
        for (std::size_t i = 0; i < data.size(); ++i)
            static_cast<float*>(memory.address(r))[i] = data[i] * scale;
    }
    {
        const FpEnvironment host(mxcsr);
        memory.run(Phase::each, 0);
        memory.run(Phase::reduce, 0);
        constexpr unsigned kSettings = 0xffc0;  // without the sticky flags
        if ((FpEnvironment::current() & kSettings) != (mxcsr & kSettings)) return {};
    }
    std::vector<float> results;
    for (std::size_t r = 0; r < plan.regions.size(); ++r) {
        if (plan.regions[r].kind != RegionKind::output) continue;
        const auto* data = static_cast<const float*>(memory.address(r));
        results.insert(results.end(), data, data + plan.regions[r].bytes / 4);
    }
    return results;
}

void test_same_graph_is_compiled_once(void**) {
    bool same, other_shape, other_passes, other_tile;
    std::uint64_t hits, misses;
    {
        const ContextRef context = make_context(1);
        PlanCache& plans = context->plans();
        const Program& first = plans.prepare(make_layer(3, false), {});
        same = &first == &plans.prepare(make_layer(3, false), {});
        other_shape = &first != &plans.prepare(make_layer(4, false), {});
        PrepareOptions no_passes;
        no_passes.passes = 0;
        other_passes = &first != &plans.prepare(make_layer(3, false), no_passes);
        context->forced_tile = host_cpu().has(Isa::avx2) ? "f32_gemm_6x16_avx2" : "f32_gemm_4x4_scalar";
        other_tile = true;
        try {
            other_tile = &first != &plans.prepare(make_layer(3, false), {});
        } catch (const Error&) {  // no such row in this build
        }
        hits = plans.hits();
        misses = plans.misses();
    }
    assert_true(same);
    assert_true(other_shape);
    assert_true(other_passes);
    assert_true(other_tile);
    assert_int_equal(hits, 1);
    assert_in_range(misses, 3, 4);
}

// A choice of products is another program, whose text says so; the result is the same.
void test_choice_is_part_of_program_and_text(void**) {
    bool other = false, said = false, unsaid = false;
    std::vector<float> results[2];
    {
        const ContextRef context = make_context(2);
        const Program& plain = context->plans().prepare(make_layer(70, true), {});
        context->forced_choice = "k_block=10 m_block=16 order=columns pack_a=yes";
        const Program& chosen = context->plans().prepare(make_layer(70, true), {});
        other = &plain != &chosen;
        said =
            chosen.print(heap()).find(" k_block=10 m_block=16 order=columns pack_a=yes") != std::string::npos;
        unsaid = plain.print(heap()).find("k_block") == std::string::npos;
        results[0] = run_program(*context, plain, 1, kContractMxcsr);
        results[1] = run_program(*context, chosen, 1, kContractMxcsr);
    }
    assert_true(other && said && unsaid);
    assert_int_equal(results[0].size(), results[1].size());
    assert_same_bits("chosen", results[0].data(), results[1].data(),
                     static_cast<std::int64_t>(results[0].size()));
}

Hash128 always_the_same(const void*, std::size_t) { return Hash128{1, 2}; }

void test_colliding_hashes_do_not_mix_plans(void**) {
    std::size_t sizes[2];
    std::uint64_t hits, misses;
    {
        const ContextRef context = make_context(1);
        context->plans().hash_override = always_the_same;
        for (const int i : {0, 1, 0, 1}) {
            const Program& program = context->plans().prepare(make_layer(3 + i, false), {});
            sizes[i] = run_program(*context, program, 1, kContractMxcsr).size();
        }
        hits = context->plans().hits();
        misses = context->plans().misses();
    }
    assert_int_equal(sizes[0], 3 * 40);
    assert_int_equal(sizes[1], 4 * 40);
    assert_int_equal(misses, 2);
    assert_int_equal(hits, 2);
}

// Flush to zero, denormals are zero, and every rounding direction: no bit may notice, on no thread.
void test_hostile_environment_changes_no_bit_and_is_restored(void**) {
    constexpr unsigned kFlush = 0x8000, kDenormalsAreZero = 0x0040, kDown = 0x2000, kUp = 0x4000,
                       kTowardZero = 0x6000;
    const unsigned hostile[] = {kContractMxcsr | kFlush | kDenormalsAreZero, kContractMxcsr | kDown,
                                kContractMxcsr | kUp, kContractMxcsr | kTowardZero | kFlush | 0x3f};
    std::size_t differing = 0, subnormal = 0, count = 0;
    for (const int threads : {1, 3}) {
        const ContextRef context = make_context(threads);
        const Program& program = context->plans().prepare(make_layer(700, true), {});
        for (const float factor : {1.0f, 0x1p-130f}) {  // the latter's inputs, and so dw, are subnormal
            const std::vector<float> expected = run_program(*context, program, factor, kContractMxcsr);
            for (const float x : expected) subnormal += x != 0 && std::fabs(x) < 0x1p-126f;
            for (const unsigned mxcsr : hostile) {
                const std::vector<float> actual = run_program(*context, program, factor, mxcsr);
                const bool equal = actual.size() == expected.size() &&
                                   first_difference(expected.data(), actual.data(),
                                                    static_cast<std::int64_t>(expected.size())) < 0;
                differing += !equal;
                count += expected.size();
            }
        }
    }
    assert_true(count > 0);
    assert_true(subnormal > 0);
    assert_int_equal(differing, 0);
}

void test_run_allocates_nothing(void**) {
    CountingHost host;
    std::size_t host_calls, new_calls;
    {
        const volta_allocator allocator = host.allocator();
        const ContextRef context = make_context(3, &allocator);
        const Program& program = context->plans().prepare(make_layer(900, true), {});
        ProgramMemory memory(program, context->structures());
        memory.allocate();
        for (std::size_t r = 0; r < program.plan().regions.size(); ++r)
            std::memset(memory.address(r) ? memory.address(r) : &host_calls, 0,
                        memory.address(r) ? program.plan().regions[r].bytes : 0);
        const std::size_t host_before = host.calls, new_before = global_allocations;
        for (int i = 0; i < 3; ++i) memory.run(Phase::each, 0);
        host_calls = host.calls - host_before;
        new_calls = global_allocations - new_before;
    }
    assert_int_equal(host_calls, 0);
    assert_int_equal(new_calls, 0);
    assert_int_equal(host.balance, 0);
}

// Every allocation of making a context and a program may be refused: the refusal comes out as such, nothing
// leaks.
void test_refused_allocation_leaks_nothing(void**) {
    std::size_t refused = 0, leaks = 0;
    bool finished = false;
    for (std::size_t n = 1; !finished && n < 20000; n += n < 200 ? 1 : 7) {
        CountingHost host;
        host.refused_call = n;
        try {
            const volta_allocator allocator = host.allocator();
            const ContextRef context = make_context(2, &allocator);
            context->plans().prepare(make_layer(3, false), {});
            finished = true;
        } catch (const std::bad_alloc&) {
            ++refused;
        } catch (const Error& error) {
            refused += error.status() == VOLTA_OUT_OF_MEMORY;
        }
        leaks += host.balance != 0;
    }
    assert_true(finished);
    assert_true(refused > 100);
    assert_int_equal(leaks, 0);
}

// Subsets of the passes, from none to all of them.
void expect_one_result(Graph (*make)()) {
    constexpr std::uint32_t kAll = (1u << 10) - 1, kStep = 11, kLongStep = 93;  // kStep * kLongStep == kAll
    assert_int_equal(kAll, (1u << kPassCount) - 1);
    std::size_t differing = 0, runs = 0;
    std::vector<float> expected;
    for (const int threads : {1, 2, 3})
        for (const bool scalar : {false, true}) {
            const ContextRef context = make_context(threads, nullptr, scalar);
            for (std::uint32_t passes = 0; passes <= kAll;
                 passes += threads == 1 && !scalar ? kStep : kLongStep) {
                PrepareOptions options;
                options.passes = passes;
                const Program& program = context->plans().prepare(make(), options);
                const std::vector<float> actual = run_program(*context, program, 1, kContractMxcsr);
                if (expected.empty()) expected = actual;
                differing += actual.size() != expected.size() ||
                             first_difference(expected.data(), actual.data(),
                                              static_cast<std::int64_t>(expected.size())) >= 0;
                ++runs;
            }
        }
    assert_true(runs >= 64);
    assert_int_equal(differing, 0);
}

void test_no_pass_thread_or_isa_shows_in_a_result(void**) {
    expect_one_result([] { return make_layer(530, true); });
    expect_one_result(make_block);
    expect_one_result(make_norms);
}

void test_print_names_the_kernel_of_each_step(void**) {
    bool kernels, workspace, plan;
    {
        const ContextRef context = make_context(1);
        const Program& program = context->plans().prepare(make_layer(5, false), {});
        const std::pmr::string text = program.print(heap());
        plan = text.compare(0, program.plan().text.size(), program.plan().text) == 0;
        kernels = text.find("matmul: f32_gemm") != std::pmr::string::npos;
        workspace = text.find("workspace ") != std::pmr::string::npos;
    }
    assert_true(plan);
    assert_true(kernels);
    assert_true(workspace);
}

void test_isa_above_the_processor_is_refused(void**) {
    // Where there is all that has a name, one that has none.
    const bool has_all = host_cpu().has(Isa::avx512);
    const Failure failure = failure_of([&] {
        ContextOptions options;
        options.isa_auto = false;
        options.isa = has_all ? static_cast<Isa>(99) : Isa::avx512;
        Context::create(options)->release();
    });
    assert_failure(failure, VOLTA_UNSUPPORTED,
                   has_all ? " has no unknown; its best is avx512" : " has no avx512; its best is ");
}

// A process that forks while a thread computes: the child does not wait for what nobody goes on with.
void test_what_was_left_amid_is_refused(void**) {
    int status = 0;
    {
        const ContextRef context = make_context(2);
        const Program& program = context->plans().prepare(make_layer(3, false), {});
        context->pool().begin_hot();
        const pid_t child = fork();
        if (child == 0) {
            const Failure failure = failure_of([&] { run_program(*context, program, 1, kContractMxcsr); });
            const bool is_right = failure.status == VOLTA_INVALID_STATE &&
                                  strstr(failure.text,
                                         "another thread was computing with this context when "
                                         "the process forked") != nullptr;
            _exit(is_right ? 0 : 1);
        }
        waitpid(child, &status, 0);
        context->pool().end_hot();
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

// A valid graph that the backend cannot lower is refused with the operator's name.
void test_operator_without_a_kernel_is_named(void**) {
    const Failure failure = failure_of([] {
        Graph graph(heap());
        Node node{Allocator(heap())};
        node.op = Op::fused;
        for (int i = 0; i < 40; ++i)
            node.inputs.push_back(graph.input(("x" + std::to_string(i)).c_str(), DType::f32, {3}));
        for (int i = 0; i + 1 < 40; ++i) {
            BodyOp add{Allocator(heap())};
            add.op = Op::add;
            add.inputs.assign({i == 0 ? ~0 : i - 1, ~(i + 1)});
            node.body.ops.push_back(std::move(add));
        }
        node.body.results.push_back(38);
        graph.output("y", graph.apply(std::move(node)));
        make_context(1)->plans().prepare(graph, {});
    });
    assert_failure(failure, VOLTA_UNSUPPORTED, "fused: it has more operands");
}

struct Lines {
    int warnings = 0;
};

void test_refused_code_is_told_once(void**) {
    Lines lines;
    bool interpreted;
    {
        ContextOptions options;
        options.refuse_jit = true;
        options.thread_count = 1;
        options.log.user = &lines;
        options.log.write = [](void* user, int32_t level, const char*) {
            static_cast<Lines*>(user)->warnings += level == VOLTA_LOG_WARNING;
        };
        Context* context = Context::create(options);
        context->plans().prepare(make_layer(3, false), {});
        context->plans().prepare(make_layer(4, false), {});
        interpreted = context->isa() != Isa::scalar;
        context->release();
    }
    assert_int_equal(lines.warnings, interpreted ? 1 : 0);
}

}  // namespace
}  // namespace volta::test

int main() {
    using namespace volta::test;
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_same_graph_is_compiled_once),
        cmocka_unit_test(test_choice_is_part_of_program_and_text),
        cmocka_unit_test(test_colliding_hashes_do_not_mix_plans),
        cmocka_unit_test(test_hostile_environment_changes_no_bit_and_is_restored),
        cmocka_unit_test(test_run_allocates_nothing),
        cmocka_unit_test(test_refused_allocation_leaks_nothing),
        cmocka_unit_test(test_no_pass_thread_or_isa_shows_in_a_result),
        cmocka_unit_test(test_print_names_the_kernel_of_each_step),
        cmocka_unit_test(test_isa_above_the_processor_is_refused),
        cmocka_unit_test(test_what_was_left_amid_is_refused),
        cmocka_unit_test(test_operator_without_a_kernel_is_named),
        cmocka_unit_test(test_refused_code_is_told_once),
    };
    return cmocka_run_group_tests_name("gateway", tests, nullptr, nullptr);
}
