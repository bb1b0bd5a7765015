// voltac bench ops: operators one by one, each as a plan of its own, and what starting a plan costs.
#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "cli/bench_case.h"
#include "cli/bench_models.h"
#include "cli/bench_timing.h"

namespace voltac::bench {
namespace {

using Json = nlohmann::ordered_json;

volta_attribute axis_attribute(std::int64_t axis) {
    static constexpr std::int64_t kAxes[] = {0, 1};
    volta_attribute axes = {};
    axes.name = "axes";
    axes.integers = &kAxes[axis];
    axes.integer_count = 1;
    return axes;
}

// Each builds its operator over x [rows, columns].
using Build = void (*)(GraphBuilder& graph, const Extents& shape);

void build_matmul(GraphBuilder& graph, const Extents& shape) {  // [m, k] x [k, n], shape is {m, n, k}
    const volta_value a = graph.input("a", {shape[0], shape[2]});
    graph.output(graph.apply("matmul", {a, graph.parameter("b", {shape[2], shape[1]})}));
}
template <const char* const& op>
void build_binary(GraphBuilder& graph, const Extents& shape) {
    const volta_value a = graph.input("a", shape);
    graph.output(graph.apply(op, {a, graph.input("b", shape)}));
}
template <const char* const& op>
void build_unary(GraphBuilder& graph, const Extents& shape) {
    graph.output(graph.apply(op, {graph.input("x", shape)}));
}
constexpr const char *kAdd = "add", *kMul = "mul", *kGelu = "gelu_tanh", *kSoftmax = "softmax", *kSum = "sum";

void build_sum_rows(GraphBuilder& graph, const Extents& shape) {
    graph.output(graph.apply("sum", {graph.input("x", shape)}, {axis_attribute(1)}));
}
void build_sum_columns(GraphBuilder& graph, const Extents& shape) {
    graph.output(graph.apply("sum", {graph.input("x", shape)}, {axis_attribute(0)}));
}
volta_value layer_norm(GraphBuilder& graph, const Extents& shape) {
    const volta_value x = graph.input("x", shape);
    const volta_value scale = graph.parameter("scale", {shape[1]});
    return graph.apply("layer_norm", {x, scale, graph.parameter("bias", {shape[1]})});
}
void build_layer_norm(GraphBuilder& graph, const Extents& shape) { graph.output(layer_norm(graph, shape)); }
void build_layer_norm_gelu(GraphBuilder& graph, const Extents& shape) {
    graph.output(graph.apply("gelu_tanh", {layer_norm(graph, shape)}));
}

// One operator at one size. `bytes` are those that must move: inputs read and outputs written, per element.
struct Row;
using Time = Timing (*)(const Context& context, const Row& row, const Repeats& repeats);
struct Row {
    const char* name;
    Build build;  // NULL: `time` measures something else than a session
    std::int64_t rows, columns, depth;
    double bytes;
    Time time = nullptr;
};
Timing time_optimizer(const Context& context, const Row& row, const Repeats& repeats);
Timing time_both_directions(const Context& context, const Row& row, const Repeats& repeats);
constexpr Row kRows[] = {
    {"matmul", build_matmul, 1024, 1536, 384, 0},
    {"matmul", build_matmul, 1024, 1024, 1024, 0},
    {"add", build_binary<kAdd>, 1024, 1536, 0, 12},
    {"add", build_binary<kAdd>, 4096, 4096, 0, 12},
    {"mul", build_binary<kMul>, 1024, 1536, 0, 12},
    {"mul", build_binary<kMul>, 4096, 4096, 0, 12},
    {"gelu", build_unary<kGelu>, 1024, 1536, 0, 8},
    {"gelu", build_unary<kGelu>, 4096, 4096, 0, 8},
    {"sum", build_unary<kSum>, 1024, 1536, 0, 4},
    {"sum", build_unary<kSum>, 4096, 4096, 0, 4},
    {"sum_rows", build_sum_rows, 1024, 1536, 0, 4},
    {"sum_rows", build_sum_rows, 4096, 4096, 0, 4},
    {"sum_columns", build_sum_columns, 1024, 1536, 0, 4},
    {"sum_columns", build_sum_columns, 4096, 4096, 0, 4},
    {"layer_norm", build_layer_norm, 1024, 768, 0, 8},
    {"layer_norm", build_layer_norm, 16384, 768, 0, 8},
    {"layer_norm_gelu", build_layer_norm_gelu, 256, 768, 0, 8},
    {"layer_norm_gelu", build_layer_norm_gelu, 1024, 768, 0, 8},
    {"layer_norm_gelu", build_layer_norm_gelu, 4096, 768, 0, 8},
    {"layer_norm_gelu", build_layer_norm_gelu, 16384, 768, 0, 8},
    {"layer_norm_gelu_grad", nullptr, 256, 768, 0, 20, time_both_directions},
    {"layer_norm_gelu_grad", nullptr, 4096, 768, 0, 20, time_both_directions},
    {"softmax", build_unary<kSoftmax>, 1024, 1024, 0, 8},
    {"softmax", build_unary<kSoftmax>, 16384, 1024, 0, 8},
    {"adamw", nullptr, 10516, 1024, 0, 28, time_optimizer},
    {"adamw", nullptr, 121520, 1024, 0, 28, time_optimizer},
    {"launch", build_binary<kAdd>, 1, 1, 0, 12},
};

// A model that is one big parameter w, and whose loss takes one row of it: next to nothing is computed, and
// the step is writing the gradient, taking its norm and the pass of AdamW over all of w.
Timing time_optimizer(const Context& context, const Row& row, const Repeats& repeats) {
    GraphBuilder graph(context);
    const volta_value x = graph.input("x", {1, row.columns});
    const volta_value w = graph.parameter("w", {row.rows, row.columns});
    const volta_value first = graph.apply("slice", {w}, {attribute("end", 1)});
    graph.output(graph.apply("mul", {first, x}));
    const Model model = graph.model();
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.loss = VOLTA_LOSS_MSE;
    options.optimizer = VOLTA_ADAMW;
    options.weight_decay = 0.1;
    options.clip_norm = 1;
    volta_trainer* made = nullptr;
    check(volta_trainer_create(model.get(), &options, &made));
    const Trainer trainer(made);
    Random random(1);
    const Tensor in = random_tensor(context, {1, row.columns}, random);
    const Tensor target = random_tensor(context, {1, row.columns}, random);
    const volta_tensor* const inputs[] = {in.get()};
    return time_calls(repeats, [&] { check(volta_trainer_step(made, inputs, 1, target.get(), nullptr)); });
}

// gelu(layer_norm(x)) forward and backward, as a lazy tape records it: dy is w of the loss sum(y * w), whose
// own operations are part of the time.
Timing time_both_directions(const Context& context, const Row& row, const Repeats& repeats) {
    volta_tape_options options = VOLTA_TAPE_OPTIONS_INIT;
    options.mode = VOLTA_TAPE_LAZY;
    volta_tape* made = nullptr;
    check(volta_tape_create(context.get(), &options, &made));
    const std::unique_ptr<volta_tape, Release<volta_tape, volta_tape_release>> tape(made);
    Random random(1);
    const Tensor x = random_tensor(context, {row.rows, row.columns}, random);
    const Tensor scale = random_tensor(context, {row.columns}, random);
    const Tensor bias = random_tensor(context, {row.columns}, random);
    const Tensor w = random_tensor(context, {row.rows, row.columns}, random);
    volta_tensor* const learnt[] = {x.get(), scale.get(), bias.get()};
    for (volta_tensor* const tensor : learnt) check(volta_tensor_set_requires_grad(tensor, 1));
    const auto apply = [&](const char* op, std::initializer_list<volta_tensor*> inputs) {
        return volta_tape_call(made, op, inputs.begin(), inputs.size(), nullptr, 0, __FILE__, __LINE__);
    };
    return time_short_calls(repeats, [&] {
        volta_tensor* const y = apply("gelu_tanh", {apply("layer_norm", {x.get(), scale.get(), bias.get()})});
        check(volta_tape_backward(made, apply("sum", {apply("mul", {y, w.get()})})));
        check(volta_tape_flush(made));
        check(volta_tape_reset(made));
        for (volta_tensor* const tensor : learnt) check(volta_tensor_zero_grad(tensor));
    });
}

Timing time_row(const Context& context, const Row& row, const Repeats& repeats) {
    if (row.time != nullptr) return row.time(context, row, repeats);
    GraphBuilder graph(context);
    const Extents shape =
        row.depth > 0 ? Extents{row.rows, row.columns, row.depth} : Extents{row.rows, row.columns};
    row.build(graph, shape);
    SessionCase one(context, graph.model());
    return time_short_calls(repeats, [&] { one.run(); });
}

std::string shape_text(const Row& row) {
    const auto whole = [](std::int64_t value) { return static_cast<long long>(value); };
    return row.depth > 0 ? formatted("%lldx%lldx%lld", whole(row.rows), whole(row.columns), whole(row.depth))
                         : formatted("%lldx%lld", whole(row.rows), whole(row.columns));
}

void print_row(const Row& row, const Timing& timing, const volta_machine_speed& speed, bool json) {
    const bool product = row.depth > 0;
    const double elements = static_cast<double>(row.rows) * static_cast<double>(row.columns);
    const double amount = product ? 2 * elements * static_cast<double>(row.depth) : elements * row.bytes;
    const double rate = amount / timing.seconds * 1e-9;
    const double share = rate / (product ? speed.fma_gflops : speed.stream_gb_s);
    if (json) {
        print(json_text(Json({{"op", row.name},
                              {"shape", shape_text(row)},
                              {"threads", speed.thread_count},
                              {"isa", isa_name(speed.isa)},
                              {"median_us", timing.seconds * 1e6},
                              {"spread", timing.spread},
                              {"unit", product ? "GFLOP/s" : "GB/s"},
                              {"rate", rate},
                              {"fraction_of_peak", share}})) +
              "\n");
        return;
    }
    print(formatted("%-16s %16s %12.2f %8.1f %% %10.2f %-7s %8.1f %%\n", row.name, shape_text(row).c_str(),
                    timing.seconds * 1e6, 100 * timing.spread, rate, product ? "GFLOP/s" : "GB/s",
                    100 * share));
}

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const Row& row : kRows)
        if (all.empty() || all.back() != row.name) all.emplace_back(row.name);
    return all;
}

}  // namespace

int run_ops(const std::vector<std::string>& arguments) {
    std::string only;
    Repeats repeats;
    repeats.runs = 9;
    repeats.warmup = 2;
    Options options(
        "bench ops",
        "Operators, each as a plan of its own. GB/s counts the bytes of inputs and outputs once, and is "
        "set against the machine's optimizer stream, which small operands in a cache may surpass; "
        "GFLOP/s is set against the multiply-add peak. adamw is a training step of one big parameter: "
        "its gradient written, its norm, and the pass over weight, gradient and moments, of which the "
        "28 bytes of the pass are counted. layer_norm_gelu_grad is both directions on a tape, of which x and "
        "y, x, dy and dx are counted. launch is a plan that adds two numbers. Spread is (90th - "
        "10th percentile) / median of the runs; a run repeats short operators for 2 ms.");
    options.choice("--only", only, names(), "one operator (default: all)");
    declare(options, repeats);
    options.parse(arguments);
    const Context context = make_context(repeats.machine);
    Peaks peaks(context);
    if (!repeats.json)
        print(machine_line(context, peaks.refreshed()) +
              formatted("%s\n\n%-16s %16s %12s %10s %10s %-7s %10s\n", kSpreadMeans, "operator", "shape",
                        "us", "spread", "rate", "", "of the peak"));
    for (const Row& row : kRows)
        if (only.empty() || only == row.name) {
            const volta_machine_speed speed = peaks.refreshed();
            print_row(row, time_row(context, row, repeats), speed, repeats.json);
        }
    return 0;
}

}  // namespace voltac::bench
