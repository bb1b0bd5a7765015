// Plans run: what the backend computes on a plan's memory are the evaluator's bits, with and without passes,
// on every instruction set and over micro-batches. Where the planner lets values share bytes, the kernels
// have to agree.
#include "engine/graph/step_input.h"
#include "engine/model/gpt.h"
#include "engine/passes/pass.h"
#include "engine/runtime/context.h"
#include "engine/runtime/gateway.h"
#include "engine/runtime/training_graph.h"
#include "tests/passes/sample_graphs.h"

namespace {
using namespace volta;
using namespace volta::test;

using Words = std::vector<std::uint32_t>;
std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }
bool is_source_region(const Region& region) {
    return region.kind == RegionKind::input || region.kind == RegionKind::parameter ||
           region.kind == RegionKind::state;
}

// One entry per source, in their order; inputs of micro-batches hold all of them.
std::vector<Words> source_data(const Plan& plan, std::uint64_t seed, Data data) {
    Random random(seed);
    std::vector<Words> sources;
    for (const Region& region : plan.regions) {
        if (!is_source_region(region)) continue;
        Words& words = sources.emplace_back(region.bytes / 4);
        for (std::uint32_t& word : words) {
            const float value = random_float(random, data);
            if (plan.graph.value(region.source).dtype == DType::i32)
                word = static_cast<std::uint32_t>(random.below(9));
            else
                std::memcpy(&word, &value, sizeof word);
        }
    }
    return sources;
}

Words canonical(Words words, DType dtype) {
    for (std::uint32_t& word : words) {
        float value;
        std::memcpy(&value, &word, sizeof value);
        if (dtype == DType::f32) word = bits_of(value);
    }
    return words;
}

// ---- By the evaluator
// -----------------------------------------------------------------------------------------

void fill_source(const Graph& graph, const Node& node, const Words& words, std::uint32_t micro_index,
                 EvalTensor<float>& tensor) {
    const std::size_t count = static_cast<std::size_t>(graph.shape(node.first_output).elements());
    const std::uint32_t* from = words.data() + (words.size() > count ? count * micro_index : 0);
    tensor.real.clear();
    tensor.integer.clear();
    if (graph.value(node.first_output).dtype == DType::i32)
        return (void)tensor.integer.assign(from, from + count);
    tensor.real.resize(count);
    if (count > 0) std::memcpy(tensor.real.data(), from, count * 4);
}

Words words_of(const EvalTensor<float>& tensor) {
    Words words(tensor.integer.begin(), tensor.integer.end());
    for (const float value : tensor.real) words.push_back(bits_of(value));
    return words;
}

// Outputs in their order, then what updates leave in parameters and states, by source.
std::vector<Words> evaluator_results(const Graph& graph, std::uint32_t micro_batches,
                                     const std::vector<Words>& sources) {
    Tensors tensors(graph.values.size(), test_heap());
    const auto run = [&](Phase phase, std::uint32_t micro_index) {
        for (std::size_t i = 0; i < graph.sources.size(); ++i) {
            const Node& node = graph.node(graph.sources[i].node);
            fill_source(graph, node, sources[i], micro_index, tensors[at(node.first_output)]);
        }
        for (const Node& node : graph.nodes) {
            if (node.phase != phase) continue;
            std::vector<const EvalTensor<float>*> inputs;
            std::vector<EvalTensor<float>*> outputs;
            inputs.reserve(node.inputs.size());
            for (const ValueId input : node.inputs) inputs.push_back(&tensors[at(input)]);
            outputs.reserve(static_cast<std::size_t>(node.output_count));
            for (std::int32_t i = 0; i < node.output_count; ++i)
                outputs.push_back(&tensors[at(node.first_output + i)]);
            evaluate_node<float>(graph, node, inputs.data(), outputs.data(), micro_index);
        }
    };
    for (std::uint32_t i = 0; i < micro_batches; ++i) run(Phase::each, i);
    run(Phase::reduce, 0);
    run(Phase::update, 0);

    std::vector<Words> results;
    for (const GraphOutput& output : graph.outputs) results.push_back(words_of(tensors[at(output.value)]));
    for (const Node& node : graph.nodes)
        for (int i = 0; i < node.output_count && i < 4; ++i)
            if (op_row(node.op).in_place[i] >= 0)
                results.push_back(words_of(tensors[at(node.first_output + i)]));
    return results;
}

// ---- By the backend
// -------------------------------------------------------------------------------------------

class Memory {
  public:
    explicit Memory(const Program& program)
        : plan_(program.plan()), workspace_(test_heap(), program.workspace_bytes()) {
        for (const Region& region : plan_.regions) {  // a pattern that no value has
            buffers_.emplace_back(test_heap(), static_cast<std::size_t>(region.bytes));
            if (region.bytes > 0)
                std::memset(buffers_.back().data(), 0xa5, static_cast<std::size_t>(region.bytes));
        }
        for (Buffer& buffer : buffers_) addresses_.push_back(buffer.data());
        for (const Node& node : plan_.graph.nodes) {
            if (node.op != Op::constant) continue;
            const auto& bits = plan_.graph.constants[at(node.data)];
            unsigned char* place =
                static_cast<unsigned char*>(addresses_[1]) + plan_.places[at(node.first_output)].offset;
            if (!bits.empty()) std::memcpy(place, bits.data(), bits.size() * 4);
        }
    }
    void fill(const std::vector<Words>& sources) {
        for (std::size_t r = 2, i = 0; r < plan_.regions.size() && i < sources.size(); ++r, ++i)
            if (!sources[i].empty()) std::memcpy(addresses_[r], sources[i].data(), sources[i].size() * 4);
    }
    Words read(ValueId value) const {
        Words words(static_cast<std::size_t>(plan_.graph.shape(value).elements()));
        const Place& place = plan_.places[at(value)];
        if (!words.empty())
            std::memcpy(words.data(),
                        static_cast<unsigned char*>(addresses_[at(place.region)]) + place.offset,
                        words.size() * 4);
        return canonical(words, plan_.graph.value(value).dtype);
    }
    RunState state(std::uint32_t micro_index) {
        return RunState{addresses_.data(), workspace_.data(), micro_index};
    }

  private:
    const Plan& plan_;
    Buffer workspace_;
    std::vector<Buffer> buffers_;
    std::vector<void*> addresses_;
};

std::vector<Words> backend_results(const Program& program, const std::vector<Words>& sources) {
    Memory memory(program);
    memory.fill(sources);
    const Plan& plan = program.plan();
    for (std::uint32_t i = 0; i < plan.micro_batches; ++i) program.run(Phase::each, memory.state(i));
    program.run(Phase::reduce, memory.state(0));
    program.run(Phase::update, memory.state(0));
    std::vector<Words> results;
    for (const GraphOutput& output : plan.graph.outputs) results.push_back(memory.read(output.value));
    for (const Node& node : plan.graph.nodes)
        for (int i = 0; i < node.output_count && i < 4; ++i)
            if (op_row(node.op).in_place[i] >= 0) results.push_back(memory.read(node.first_output + i));
    return results;
}

// "" or what went wrong.
std::string fault(Context& context, const Graph& graph, std::uint32_t micro_batches, std::uint32_t passes,
                  std::uint64_t seed, Data data) {
    try {
        PrepareOptions options;
        options.micro_batches = micro_batches;
        options.passes = passes;
        const Program& program = context.plans().prepare(graph, options);
        const std::vector<Words> sources = source_data(program.plan(), seed, data);
        const auto expected = evaluator_results(graph, micro_batches, sources),
                   actual = backend_results(program, sources);
        for (std::size_t i = 0; i < expected.size(); ++i)
            if (expected[i] != actual[i])
                return "result " + std::to_string(i) + " differs\n" + std::string(program.plan().text);
        return "";
    } catch (const Error& error) {
        return error.what();
    }
}

const Isa kIsas[] = {Isa::scalar, Isa::avx2, Isa::avx512};

// Runs `body(context)` with a context of each instruction set that this machine has; "" or its first
// complaint.
template <class Body>
std::string on_every_isa(Body body, StepOrder order = StepOrder::graph) {
    for (const Isa isa : kIsas) {
        if (!host_cpu().has(isa)) continue;
        ContextOptions options;
        options.thread_count = 2;
        options.isa = isa;
        options.isa_auto = false;
        options.step_order = order;
        Context* context = Context::create(options);
        const std::string complaint = body(*context);
        context->release();
        if (!complaint.empty()) return std::string(isa_name(isa)) + ": " + complaint;
    }
    return "";
}

void expect_nothing(std::string complaint) {
    const bool fine = complaint.empty();
    if (!fine) print_error("%s\n", complaint.c_str());
    complaint = std::string();
    assert_true(fine);
}

void test_random_graphs_run(void**) {
    expect_nothing(on_every_isa([](Context& context) {
        for (int index = 0; index < 120; ++index) {
            const Graph graph = RandomGraph(static_cast<std::uint64_t>(index), 3 + index % 40).take();
            for (const std::uint32_t passes : {0u, kAllPasses, 0x2au}) {
                const std::string found = fault(context, graph, 1, passes, static_cast<std::uint64_t>(index),
                                                index % 3 ? Data::special : Data::plain);
                if (!found.empty())
                    return "graph " + std::to_string(index) + ", passes " + std::to_string(passes) + ": " +
                           found;
            }
        }
        return std::string();
    }));
}

// In the order that needs less memory, which is never more than in the graph's own.
void test_random_graphs_run_in_less_memory(void**) {
    int smaller = 0;
    const auto run = [&](Context& context) {
        for (int index = 0; index < 120; ++index) {
            const Graph graph = RandomGraph(static_cast<std::uint64_t>(index), 3 + index % 40).take();
            const std::string found =
                fault(context, graph, 1, kAllPasses, static_cast<std::uint64_t>(index), Data::plain);
            if (!found.empty()) return "graph " + std::to_string(index) + ": " + found;
            const HeapPtr<Plan> given =
                make_plan(run_passes(graph, kAllPasses, test_heap()), PlanOptions{}, test_heap());
            const Plan& plan = context.plans().prepare(graph, PrepareOptions{}).plan();
            if (plan.bill.activations > given->bill.activations)
                return "graph " + std::to_string(index) + " needs more memory";
            smaller += plan.bill.activations < given->bill.activations;
        }
        return std::string();
    };
    expect_nothing(on_every_isa(run, StepOrder::memory));
    assert_true(smaller > 0);
}

void test_steps_run(void**) {
    expect_nothing(on_every_isa([](Context& context) {
        for (const std::uint32_t micro_batches : {1u, 2u, 3u, 5u})
            for (const std::uint32_t passes : {0u, kAllPasses}) {
                const std::string found =
                    fault(context, step_graph(micro_batches), micro_batches, passes, 1, Data::plain);
                if (!found.empty()) return std::to_string(micro_batches) + " micro-batches: " + found;
            }
        return std::string();
    }));
}

struct StepLoss {
    const char* name;
    volta_loss loss;
    double smoothing, delta;
    bool weighted;
};
constexpr StepLoss kLosses[] = {
    {"cross-entropy", VOLTA_LOSS_CROSS_ENTROPY, 0, 0, false},
    {"cross-entropy, smoothed", VOLTA_LOSS_CROSS_ENTROPY, 0.1, 0, false},
    {"cross-entropy, weighted", VOLTA_LOSS_CROSS_ENTROPY, 0, 0, true},
    {"cross-entropy, smoothed and weighted", VOLTA_LOSS_CROSS_ENTROPY, 0.1, 0, true},
    {"mean square", VOLTA_LOSS_MSE, 0, 0, false},
    {"binary cross-entropy", VOLTA_LOSS_BINARY_CROSS_ENTROPY, 0, 0, false},
    {"binary cross-entropy, weighted", VOLTA_LOSS_BINARY_CROSS_ENTROPY, 0, 0, true},
    {"L1", VOLTA_LOSS_L1, 0, 0, false},
    {"Huber", VOLTA_LOSS_HUBER, 0, 0.25, false},
};

// A whole training step of a small GPT, as the trainer builds it.
Graph gpt_step(std::uint32_t micro_batches, double dropout, const StepLoss& loss) {
    GptConfig config;
    config.vocabulary = 11;
    config.layers = 2;
    config.dim = 24;
    config.heads = 2;
    config.context = 7;
    config.dropout = dropout;
    const Graph gpt = build_gpt(config, test_heap());
    std::pmr::vector<Shape> shapes(test_heap());
    for (const SourceInfo& source : gpt.sources) {
        const Node& node = gpt.node(source.node);
        if (node.op == Op::input)
            shapes.push_back(is_step_input(node.name.c_str()) ? source.declared : Shape{3, 7});
    }
    const Graph concrete = specialize(gpt, shapes.data(), static_cast<int>(shapes.size()), test_heap());
    TrainingSpec spec(test_heap());
    spec.micro_batches = micro_batches;
    spec.clip_norm = 0.5;
    spec.loss = loss.loss;
    spec.label_smoothing = loss.smoothing;
    spec.huber_delta = loss.delta;
    for (int c = 0; loss.weighted && c < 11; ++c) spec.class_weights.push_back(c % 4 * 0.7);
    return build_training_graph(concrete, spec, test_heap());
}

void test_gpt_steps_run(void**) {
    expect_nothing(on_every_isa([](Context& context) {
        for (const std::uint32_t micro_batches : {1u, 3u})
            for (const std::uint32_t passes : {0u, kAllPasses}) {
                const double dropout = micro_batches == 1 ? 0 : 0.25;
                for (const StepLoss& loss : kLosses) {
                    const Graph graph = gpt_step(micro_batches, dropout, loss);
                    const std::string found = fault(context, graph, micro_batches, passes, 2, Data::plain);
                    if (!found.empty())
                        return std::string(loss.name) + ", " + std::to_string(micro_batches) +
                               " micro-batches: " + found;
                }
            }
        return std::string();
    }));
}

// A training step of a small net with batch norm, with planes and without, and with group norm.
Graph batch_norm_step(std::uint32_t micro_batches) {
    Graph graph(test_heap());
    const auto channels = [&](const char* name, std::int64_t count) {
        return graph.parameter(name, {count}, {VOLTA_INIT_UNIFORM, 0.5, 1.5});
    };
    ValueId x = graph.input("x", DType::f32, {4, 6, 3, 5});
    x = graph.apply(Op::group_norm, {x, channels("g0", 6), channels("b0", 6)}, {number(Attr::groups, 2)});
    x = graph.apply(Op::batch_norm,
                    {x, channels("g1", 6), channels("b1", 6), channels("m1", 6), channels("v1", 6)});
    const ValueId residual = x;
    x = graph.apply(Op::relu, {x});
    x = graph.apply(Op::batch_norm,
                    {x, channels("g2", 6), channels("b2", 6), channels("m2", 6), channels("v2", 6)},
                    {number(Attr::momentum, 0.5)});
    x = graph.apply(Op::relu, {graph.apply(Op::add, {x, residual})});
    x = graph.apply(Op::reshape, {x}, {list(Attr::shape, {4, 90})});
    x = graph.apply(Op::matmul, {x, graph.parameter("w", {90, 7}, {VOLTA_INIT_UNIFORM, -1, 1})});
    x = graph.apply(Op::batch_norm,
                    {x, channels("g3", 7), channels("b3", 7), channels("m3", 7), channels("v3", 7)});
    graph.output("y", x);
    TrainingSpec spec(test_heap());
    spec.loss = VOLTA_LOSS_MSE;
    spec.micro_batches = micro_batches;
    return build_training_graph(graph, spec, test_heap());
}

void test_batch_norm_steps_run(void**) {
    expect_nothing(on_every_isa([](Context& context) {
        for (const std::uint32_t micro_batches : {1u, 3u})
            for (const std::uint32_t passes : {0u, kAllPasses}) {
                const Graph graph = batch_norm_step(micro_batches);
                const std::string found = fault(context, graph, micro_batches, passes, 2, Data::plain);
                if (!found.empty()) return std::to_string(micro_batches) + " micro-batches: " + found;
            }
        return std::string();
    }));
}

// Every operator that may overwrite an input, behind one that makes a dying value and before one that reads
// the result.
Graph sharing_graph() {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {37, 50}), y = graph.input("y", DType::f32, {37, 50});
    const ValueId ids = graph.input("ids", DType::i32, {37}), scale = graph.parameter("scale", {50}, {});
    const ValueId g = graph.input("step/g", DType::f32, {});
    int index = 0;
    const auto dying = [&](ValueId v) {
        return graph.apply(Op::slice, {graph.apply(Op::concat, {v, v})}, {number(Attr::end, 37)});
    };
    const auto keep = [&](ValueId v) {
        graph.output(("y" + std::to_string(index++)).c_str(), graph.apply(Op::concat, {v, x}));
    };
    keep(graph.apply(Op::softmax, {dying(x)}));
    keep(graph.apply(Op::log_softmax, {dying(x)}));
    const ValueId p = graph.apply(Op::softmax, {x}), l = graph.apply(Op::log_softmax, {x});
    for (const bool first : {true, false}) {
        const auto a = [&](ValueId v) { return first ? dying(v) : v; };
        const auto b = [&](ValueId v) { return first ? v : dying(v); };
        keep(graph.apply(Op::softmax_grad, {a(p), b(y)}));
        keep(graph.apply(Op::log_softmax_grad, {a(l), b(y)}));
        const ValueId n = graph.apply(Op::layer_norm, {x, scale, scale}),
                      r = graph.apply(Op::rms_norm, {x, scale});
        keep(graph.apply(Op::layer_norm_grad, {a(y), b(x), scale, n + 1, n + 2}));
        keep(graph.apply(Op::rms_norm_grad, {a(y), b(x), scale, r + 1}));
        for (const Op op : {Op::mse_grad, Op::l1_grad, Op::huber_grad, Op::binary_cross_entropy_grad})
            keep(graph.apply(op, {a(x), b(y), g}));
        keep(graph.apply(Op::binary_cross_entropy_grad, {a(x), b(y), g, scale}));
        for (const Shape& shape : {Shape{37, 50}, Shape{37, 5, 10}}) {
            const auto seen = [&](ValueId v) {
                return graph.apply(Op::reshape, {v}, {list(Attr::shape, shape)});
            };
            const auto keep_seen = [&](ValueId v) {
                keep(graph.apply(Op::reshape, {v}, {list(Attr::shape, {37, 50})}));
            };
            const ValueId c =
                graph.apply(Op::slice, {scale}, {number(Attr::end, static_cast<double>(shape[1]))});
            keep_seen(graph.apply(Op::batch_norm, {seen(a(x)), c, c, c, c}));
            keep_seen(graph.apply(Op::batch_norm_grad, {seen(a(y)), seen(b(x)), c, c, c}));
            keep_seen(graph.apply(Op::batch_norm_grad, {seen(a(y)), seen(b(x)), c, c, c},
                                  {number(Attr::frozen, 1)}));
            for (const double groups : {1.0, 5.0}) {
                const ValueId m =
                    graph.apply(Op::group_norm, {seen(x), c, c}, {number(Attr::groups, groups)});
                keep_seen(graph.apply(Op::group_norm_grad, {seen(a(y)), seen(b(x)), c, m + 1, m + 2},
                                      {number(Attr::groups, groups)}));
            }
        }
    }
    const ValueId w = graph.parameter("w", {50, 50}, {});
    Body body{Allocator(test_heap())};  // x w + d and its exponential: one result lies on d
    BodyOp& sum = body.ops.emplace_back();
    sum.op = Op::add;
    sum.inputs.assign({~0, ~1});
    BodyOp& power = body.ops.emplace_back();
    power.op = Op::exp;
    power.inputs.assign({0});
    body.results = {0, 1};
    const ValueId factors[] = {x, w, dying(y)};
    const ValueId two = graph.apply(Op::matmul, factors, 3, nullptr, 0, Phase::each, &body);
    keep(two);
    keep(two + 1);
    const ValueId loss = graph.apply(Op::cross_entropy, {x, ids});
    keep(graph.apply(Op::cross_entropy_grad, {dying(x), ids, loss + 1, loss + 2, g}));
    const ValueId factors_of_rows = graph.apply(Op::exp, {loss});
    for (const ValueId factor : {g, factors_of_rows}) {
        const ValueId both = graph.apply(Op::cross_entropy_with_grad, {dying(x), ids, factor});
        graph.output(("loss" + std::to_string(index)).c_str(), both);
        keep(both + 1);
        const ValueId smoothed = graph.apply(Op::cross_entropy_with_grad, {dying(x), ids, factor, scale},
                                             {number(Attr::label_smoothing, 0.1)});
        graph.output(("loss" + std::to_string(index)).c_str(), smoothed);
        keep(smoothed + 1);
    }
    keep(graph.apply(Op::embedding_gradient, {ids, y, dying(x)}, {number(Attr::rows, 37)}));
    return graph;
}

void test_shared_memory_is_harmless(void**) {
    const Graph graph = sharing_graph();
    expect_nothing(
        on_every_isa([&](Context& context) { return fault(context, graph, 1, 0, 1, Data::special); }));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_random_graphs_run),
        cmocka_unit_test(test_random_graphs_run_in_less_memory),
        cmocka_unit_test(test_steps_run),
        cmocka_unit_test(test_gpt_steps_run),
        cmocka_unit_test(test_batch_norm_steps_run),
        cmocka_unit_test(test_shared_memory_is_harmless),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
