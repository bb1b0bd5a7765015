// Random programs: 1 to 40 calls, then a gradient and an update. Computed call by call, together, together
// once more along the known trace, with reads in the middle, as a compiled function, as a session of the same
// graph and of the captured one, and trained by a trainer of what was captured, they give the same bits.
// VOLTA_TEST_PROGRAMS: how many (200); VOLTA_TEST_FIRST: the number of the first (0).
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <setjmp.h>

extern "C" {
#include <cmocka.h>
}

#include "volta.h"

namespace {

void expect(volta_status status) {
    if (status != VOLTA_OK) print_error("%s: %s\n", volta_status_name(status), volta_last_error());
    assert_int_equal(status, VOLTA_OK);
}

// Small, the same on every machine.
struct Random {
    std::uint64_t state;
    std::uint32_t next(std::uint32_t bound) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::uint32_t>(state >> 33) % bound;
    }
};

struct Leaf {
    std::vector<std::int64_t> shape;
    bool requires_grad;
    std::vector<float> start;
};

struct Step {
    const char* op;
    std::vector<int> inputs;  // values: leaves first, then results in order
    std::vector<volta_attribute> attributes;
};

const std::int64_t kLast[] = {-1}, kFirst[] = {0}, kSwap[] = {1, 0};

// A program whose every call is one that a graph takes.
struct Program {
    std::vector<Leaf> leaves;
    std::vector<Step> steps;
    std::vector<std::vector<std::int64_t>> shapes;  // of all values
    int loss = -1;
};

const char* const kUnary[] = {"neg",         "abs",  "tanh", "sigmoid",  "silu",    "gelu_tanh",
                              "gelu_erf",    "relu", "erf",  "softplus", "softmax", "square",
                              "log_softmax", "sin",  "elu",  "mish"};
const char* const kBinary[] = {"add", "sub", "mul", "maximum", "minimum", "add", "mul", "matmul", "matmul"};

std::int64_t elements(const std::vector<std::int64_t>& shape) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
}

struct Graph {
    volta_context* context;
    volta_graph* graph = nullptr;
    std::vector<volta_value> values;
    explicit Graph(volta_context* owner) : context(owner) { expect(volta_graph_create(owner, &graph)); }
    ~Graph() { volta_graph_release(graph); }
    std::vector<std::int64_t> shape(volta_value value) {
        std::int64_t extents[VOLTA_MAX_RANK];
        std::int32_t rank = 0;
        expect(volta_graph_value_shape(graph, value, extents, &rank));
        return {extents, extents + rank};
    }
    bool apply(const Step& step) {
        std::vector<volta_value> inputs;
        for (const int input : step.inputs) inputs.push_back(values[static_cast<std::size_t>(input)]);
        volta_value made;
        if (volta_graph_apply(graph, step.op, inputs.data(), inputs.size(), step.attributes.data(),
                              step.attributes.size(), &made, 1) != VOLTA_OK)
            return false;
        values.push_back(made);
        return true;
    }
};

volta_attribute list_of(const char* name, const std::int64_t* integers, std::size_t count) {
    return volta_attribute{name, 0, integers, count};
}

Program make_program(Random& random, Graph& graph) {
    Program program;
    const std::int64_t extents[] = {1, 3, 4, 6, 17, 33};
    const std::int64_t rows = extents[random.next(6)], columns = extents[1 + random.next(5)];
    const std::vector<std::vector<std::int64_t>> shapes = {{rows, columns}, {columns, columns}, {columns},
                                                           {columns, rows}, {rows, 1},          {}};
    const int leaf_count = 2 + static_cast<int>(random.next(4));
    for (int i = 0; i < leaf_count; ++i) {
        Leaf leaf{shapes[i < 2 ? static_cast<std::size_t>(i) : random.next(6)], i != 0, {}};
        for (std::int64_t e = 0; e < elements(leaf.shape); ++e)
            leaf.start.push_back(static_cast<float>(random.next(2001)) / 1000 - 1);
        char name[16];
        std::snprintf(name, sizeof name, "leaf%d", i);
        volta_value value;
        expect(volta_graph_input(graph.graph, name, VOLTA_F32, leaf.shape.data(),
                                 static_cast<std::int32_t>(leaf.shape.size()), &value));
        graph.values.push_back(value);
        program.leaves.push_back(leaf);
    }
    const std::size_t calls = 1 + random.next(40);
    for (std::size_t tries = 0; program.steps.size() < calls && tries < 400; ++tries) {
        const auto any = [&] {  // the latest are the likeliest
            const auto count = static_cast<std::uint32_t>(graph.values.size());
            return static_cast<int>(random.next(2) == 0 ? count - 1 - random.next(count < 4 ? count : 4)
                                                        : random.next(count));
        };
        Step step;
        const std::uint32_t kind = random.next(10);
        if (kind < 4) {
            step.op = kUnary[random.next(16)];
            step.inputs = {any()};
            if (std::strcmp(step.op, "square") == 0) {
                step.op = "mul";
                step.inputs.push_back(step.inputs[0]);
            }
        } else if (kind < 7) {
            step.op = kBinary[random.next(9)];
            step.inputs = {any(), any()};
        } else if (kind == 7) {
            step.op = random.next(2) == 0 ? "sum" : "mean";
            step.inputs = {any()};
            step.attributes = {list_of("axes", random.next(2) == 0 ? kLast : kFirst, 1),
                               {"keep_dims", 1, nullptr, 0}};
        } else if (kind == 8) {
            step.op = "transpose";
            step.inputs = {any()};
            step.attributes = {list_of("permutation", kSwap, 2)};
        } else {
            step.op = "layer_norm";
            const int x = any();
            step.inputs = {x, any(), any()};
        }
        if (graph.apply(step)) program.steps.push_back(step);
    }
    // The loss: of everything that depends on the second leaf, so that there is a gradient.
    const int last = static_cast<int>(graph.values.size()) - 1;
    const Step ends[] = {
        {"mean", {last}, {}}, {"mean", {1}, {}}, {"add", {last + 1, last + 2}, {}}, {"tanh", {last + 3}, {}}};
    for (const Step& end : ends) {
        if (!graph.apply(end)) print_error("%s\n", volta_last_error());
        program.steps.push_back(end);
    }
    program.loss = last + 4;
    for (const volta_value value : graph.values) program.shapes.push_back(graph.shape(value));
    return program;
}

struct Outcome {
    std::vector<std::vector<float>> values;  // of results
    std::vector<std::vector<float>> gradients, updated;
};

std::vector<float> copy_of(volta_tensor* tensor) {
    const auto* data = static_cast<const float*>(volta_tensor_data(tensor));
    if (data == nullptr) print_error("%s\n", volta_last_error());
    assert_non_null(data);
    return {data, data + volta_tensor_elements(tensor)};
}

enum class Way { eager, lazy, known, interrupted };

Outcome run_on_tape(volta_context* context, const Program& program, Way way, Random random) {
    Outcome outcome;
    volta_tape_options options = VOLTA_TAPE_OPTIONS_INIT;
    options.mode = way == Way::eager ? VOLTA_TAPE_EAGER : VOLTA_TAPE_LAZY;
    volta_tape* tape;
    expect(volta_tape_create(context, &options, &tape));
    std::vector<volta_tensor*> leaves, trained;
    for (const Leaf& leaf : program.leaves) {
        volta_tensor* tensor;
        expect(volta_tensor_create(context, VOLTA_F32, leaf.shape.data(),
                                   static_cast<std::int32_t>(leaf.shape.size()), &tensor));
        if (leaf.requires_grad) expect(volta_tensor_set_requires_grad(tensor, 1));
        if (leaf.requires_grad) trained.push_back(tensor);
        leaves.push_back(tensor);
    }
    volta_tape_optimizer* optimizer;
    volta_optimizer_options settings = VOLTA_OPTIMIZER_OPTIONS_INIT;
    settings.learning_rate = 0.1;
    settings.clip_norm = 1;
    expect(volta_tape_optimizer_create(tape, &settings, trained.data(), trained.size(), &optimizer));
    for (int round = way == Way::known ? 0 : 1; round < 2; ++round) {
        outcome = Outcome{};
        for (std::size_t i = 0; i < leaves.size(); ++i)
            std::memcpy(volta_tensor_data(leaves[i]), program.leaves[i].start.data(),
                        program.leaves[i].start.size() * sizeof(float));
        expect(volta_tape_optimizer_zero_grad(optimizer));
        std::vector<volta_tensor*> values = leaves, kept;
        for (const Step& step : program.steps) {
            std::vector<volta_tensor*> inputs;
            for (const int input : step.inputs) inputs.push_back(values[static_cast<std::size_t>(input)]);
            volta_tensor* made =
                volta_tape_call(tape, step.op, inputs.data(), inputs.size(), step.attributes.data(),
                                step.attributes.size(), __FILE__, __LINE__);
            expect(volta_tape_status(tape));
            values.push_back(made);
            if (way == Way::interrupted && random.next(4) == 0)
                copy_of(values[random.next(static_cast<std::uint32_t>(values.size()))]);
        }
        for (std::size_t i = leaves.size(); i < values.size(); ++i) {
            expect(volta_tensor_keep(values[i]));
            kept.push_back(values[i]);
        }
        expect(volta_tape_backward(tape, values[static_cast<std::size_t>(program.loss)]));
        const volta_status stepped = volta_tape_step(tape, optimizer, nullptr);
        if (stepped != VOLTA_NOT_FINITE) expect(stepped);
        expect(volta_tape_reset(tape));
        for (volta_tensor* tensor : kept) {
            outcome.values.push_back(copy_of(tensor));
            volta_tensor_release(tensor);
        }
        for (volta_tensor* tensor : trained) {
            volta_tensor* gradient = volta_tensor_grad(tensor);
            outcome.gradients.push_back(gradient != nullptr ? copy_of(gradient) : std::vector<float>());
            outcome.updated.push_back(copy_of(tensor));
        }
        if (way ==
            Way::known) {  // the second round goes on from fresh moments: another optimizer, the same calls
            volta_tape_optimizer_release(optimizer);
            expect(volta_tape_optimizer_create(tape, &settings, trained.data(), trained.size(), &optimizer));
        }
    }
    volta_tape_optimizer_release(optimizer);
    volta_tape_release(tape);
    for (volta_tensor* leaf : leaves) volta_tensor_release(leaf);
    return outcome;
}

// Tensors that a program starts from.
struct Tensors {
    std::vector<volta_tensor*> leaves, trained;
    Tensors(volta_context* context, const Program& program) {
        for (const Leaf& leaf : program.leaves) {
            volta_tensor* tensor;
            expect(volta_tensor_create(context, VOLTA_F32, leaf.shape.data(),
                                       static_cast<std::int32_t>(leaf.shape.size()), &tensor));
            std::memcpy(volta_tensor_data(tensor), leaf.start.data(), leaf.start.size() * sizeof(float));
            if (leaf.requires_grad) expect(volta_tensor_set_requires_grad(tensor, 1));
            if (leaf.requires_grad) trained.push_back(tensor);
            leaves.push_back(tensor);
        }
    }
    ~Tensors() {
        for (volta_tensor* leaf : leaves) volta_tensor_release(leaf);
    }
};

volta_tape* tape_of(volta_context* context, volta_tape_mode mode) {
    volta_tape_options options = VOLTA_TAPE_OPTIONS_INIT;
    volta_tape* tape;
    options.mode = mode;
    expect(volta_tape_create(context, &options, &tape));
    return tape;
}

volta_tape_optimizer* optimizer_of(volta_tape* tape, const Tensors& tensors) {
    volta_tape_optimizer* optimizer;
    volta_optimizer_options settings = VOLTA_OPTIMIZER_OPTIONS_INIT;
    settings.learning_rate = 0.1;
    settings.clip_norm = 1;
    expect(volta_tape_optimizer_create(tape, &settings, tensors.trained.data(), tensors.trained.size(),
                                       &optimizer));
    return optimizer;
}

// All values: the leaves, then the results of the first `count` calls.
std::vector<volta_tensor*> record(volta_tape* tape, const Program& program, std::vector<volta_tensor*> values,
                                  std::size_t count) {
    for (std::size_t s = 0; s < count; ++s) {
        const Step& step = program.steps[s];
        std::vector<volta_tensor*> inputs;
        for (const int input : step.inputs) inputs.push_back(values[static_cast<std::size_t>(input)]);
        values.push_back(volta_tape_call(tape, step.op, inputs.data(), inputs.size(), step.attributes.data(),
                                         step.attributes.size(), __FILE__, __LINE__));
    }
    expect(volta_tape_status(tape));
    return values;
}

void add_training(Outcome& outcome, const Tensors& tensors) {
    for (volta_tensor* tensor : tensors.trained) {
        volta_tensor* gradient = volta_tensor_grad(tensor);
        outcome.gradients.push_back(gradient != nullptr ? copy_of(gradient) : std::vector<float>());
        outcome.updated.push_back(copy_of(tensor));
    }
}

volta_status run_program(void* user, volta_tape* tape, volta_tensor* const* inputs, std::size_t input_count,
                         volta_tensor** outputs, std::size_t) {
    const Program& program = *static_cast<const Program*>(user);
    const std::vector<volta_tensor*> values =
        record(tape, program, {inputs, inputs + input_count}, program.steps.size());
    std::copy(values.begin() + static_cast<std::ptrdiff_t>(input_count), values.end(), outputs);
    return VOLTA_OK;
}

// The results are computed when the function returns; gradient and update follow.
Outcome run_compiled(volta_context* context, Program& program) {
    Outcome outcome;
    volta_compiled* compiled;
    const Tensors tensors(context, program);
    expect(volta_compile(context, run_program, &program, nullptr, &compiled));
    volta_tape* const tape = volta_compiled_tape(compiled);
    volta_tape_optimizer* const optimizer = optimizer_of(tape, tensors);
    std::vector<volta_tensor*> outputs(program.steps.size());
    for (int round = 0; round < 2; ++round)  // the second along the known trace
        expect(volta_compiled_call(compiled, tensors.leaves.data(), tensors.leaves.size(), outputs.data(),
                                   outputs.size()));
    for (volta_tensor* output : outputs) outcome.values.push_back(copy_of(output));
    expect(
        volta_tape_backward(tape, outputs[static_cast<std::size_t>(program.loss) - tensors.leaves.size()]));
    const volta_status stepped = volta_tape_step(tape, optimizer, nullptr);
    if (stepped != VOLTA_NOT_FINITE) expect(stepped);
    add_training(outcome, tensors);
    volta_tape_optimizer_release(optimizer);
    volta_compiled_release(compiled);
    return outcome;
}

// Which leaves a value depends on.
std::vector<bool> leaves_of(const Program& program, int value) {
    std::vector<bool> needed(program.shapes.size(), false);
    needed[static_cast<std::size_t>(value)] = true;
    for (std::size_t i = program.shapes.size(); i-- > program.leaves.size();)
        for (const int input : program.steps[i - program.leaves.size()].inputs)
            needed[static_cast<std::size_t>(input)] = needed[static_cast<std::size_t>(input)] || needed[i];
    needed.resize(program.leaves.size());
    return needed;
}

// The tensors that a trainer of the captured value trains, in its order: that of their first use. The norm of
// all gradients is added up in the order of the optimizer's list.
void order_as_captured(const Program& program, int calls, const std::vector<bool>& needed, Tensors& tensors) {
    tensors.trained.clear();
    for (int s = 0; s < calls; ++s)
        for (const int input : program.steps[static_cast<std::size_t>(s)].inputs) {
            const auto i = static_cast<std::size_t>(input);
            if (i >= needed.size() || !needed[i] || !program.leaves[i].requires_grad) continue;
            volta_tensor* const leaf = tensors.leaves[i];
            if (std::find(tensors.trained.begin(), tensors.trained.end(), leaf) == tensors.trained.end())
                tensors.trained.push_back(leaf);
        }
}

// What the record computes as a model: the last of `count` calls, or all of them.
volta_model* capture(volta_context* context, const Program& program, std::size_t count, bool all) {
    const Tensors tensors(context, program);
    volta_tape* const tape = tape_of(context, VOLTA_TAPE_LAZY);
    const std::vector<volta_tensor*> values = record(tape, program, tensors.leaves, count);
    std::vector<bool> read(values.size());
    for (std::size_t s = 0; s < count; ++s)
        for (const int input : program.steps[s].inputs) read[static_cast<std::size_t>(input)] = true;
    std::vector<const volta_tensor*> named;
    std::vector<std::string> texts;
    std::vector<const char*> names;
    names.reserve(tensors.leaves.size());
    for (std::size_t i = 0; i < tensors.leaves.size(); ++i)
        if (read[i]) named.push_back(tensors.leaves[i]), texts.push_back("leaf" + std::to_string(i));
    for (const std::string& text : texts) names.push_back(text.c_str());
    volta_capture_options options = VOLTA_CAPTURE_OPTIONS_INIT;
    options.tensors = named.data();
    options.names = names.data();
    options.name_count = named.size();
    volta_model* model;
    const std::size_t first = all ? tensors.leaves.size() : values.size() - 1;
    expect(volta_tape_capture(tape, values.data() + first, values.size() - first, &options, &model));
    volta_tape_release(tape);
    return model;
}

std::vector<std::vector<float>> run_captured(volta_context* context, const Program& program) {
    const std::size_t count = program.steps.size();
    volta_model* const model = capture(context, program, count, true);
    const Tensors tensors(context, program);
    std::vector<bool> needed(program.leaves.size());
    for (const Step& step : program.steps)
        for (const int input : step.inputs)
            if (static_cast<std::size_t>(input) < needed.size())
                needed[static_cast<std::size_t>(input)] = true;
    std::vector<const volta_tensor*> inputs;
    for (std::size_t i = 0; i < needed.size(); ++i)
        if (needed[i] && !program.leaves[i].requires_grad) inputs.push_back(tensors.leaves[i]);
    std::vector<volta_tensor*> outputs;
    std::vector<std::vector<float>> values;
    for (std::size_t i = program.leaves.size(); i < program.shapes.size(); ++i) {
        volta_tensor* tensor;
        expect(volta_tensor_create(context, VOLTA_F32, program.shapes[i].data(),
                                   static_cast<std::int32_t>(program.shapes[i].size()), &tensor));
        outputs.push_back(tensor);
    }
    volta_session* session;
    expect(volta_session_create(model, nullptr, &session));
    expect(volta_session_run(session, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
    for (volta_tensor* output : outputs) {
        values.push_back(copy_of(output));
        volta_tensor_release(output);
    }
    volta_session_release(session);
    volta_model_release(model);
    return values;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t e = 0; e < a.size(); ++e) {
        const bool both_nan = std::isnan(a[e]) && std::isnan(b[e]);
        if (!both_nan && std::memcmp(&a[e], &b[e], sizeof(float)) != 0) return false;
    }
    return true;
}

// The program up to its last random call, under a mean squared error: three steps on a tape of each mode, and
// of a trainer of the captured model. False: a trainer has no place for it (no input, no parameter, rank 0).
bool trains_as_a_trainer(volta_context* context, const Program& program, std::uint64_t number) {
    enum { kSteps = 3 };
    const int last = program.loss - 4;
    const auto& shape = program.shapes[static_cast<std::size_t>(last)];
    const std::vector<bool> needed = leaves_of(program, last);
    bool has_parameter = false;
    for (std::size_t i = 0; i < needed.size(); ++i)
        has_parameter = has_parameter || (needed[i] && program.leaves[i].requires_grad);
    const int calls = last + 1 - static_cast<int>(program.leaves.size());
    if (calls < 1 || shape.empty() || !has_parameter || !needed[0]) return false;

    volta_model* const model = capture(context, program, static_cast<std::size_t>(calls), false);
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.loss = VOLTA_LOSS_MSE;
    options.learning_rate = 0.1;
    options.clip_norm = 1;
    volta_trainer* trainer;
    expect(volta_trainer_create(model, &options, &trainer));
    volta_tensor* targets;
    expect(volta_tensor_create(context, VOLTA_F32, shape.data(), static_cast<std::int32_t>(shape.size()),
                               &targets));
    volta_tensor* count;  // of elements, over which a trainer takes the mean
    expect(volta_tensor_create(context, VOLTA_F32, nullptr, 0, &count));
    expect(volta_tensor_fill(count, static_cast<double>(elements(shape))));
    Random random{number};
    auto* const wanted = static_cast<float*>(volta_tensor_data(targets));
    for (std::int64_t e = 0; e < elements(shape); ++e)
        wanted[e] = static_cast<float>(random.next(2001)) / 1000 - 1;

    volta_step_report expected[kSteps];
    volta_status statuses[kSteps];
    {
        const Tensors tensors(context, program);
        const volta_tensor* const input = tensors.leaves[0];
        for (int step = 0; step < kSteps; ++step) {
            expected[step] = VOLTA_STEP_REPORT_INIT;
            statuses[step] = volta_trainer_step(trainer, &input, 1, targets, &expected[step]);
            if (statuses[step] != VOLTA_NOT_FINITE) expect(statuses[step]);
        }
    }
    bool same = true;
    for (const volta_tape_mode mode : {VOLTA_TAPE_EAGER, VOLTA_TAPE_LAZY}) {
        Tensors tensors(context, program);
        order_as_captured(program, calls, needed, tensors);
        volta_tape* const tape = tape_of(context, mode);
        volta_tape_optimizer* const optimizer = optimizer_of(tape, tensors);
        for (int step = 0; step < kSteps; ++step) {
            volta_step_report report = VOLTA_STEP_REPORT_INIT;
            volta_tensor* const inputs[] = {
                record(tape, program, tensors.leaves, static_cast<std::size_t>(calls)).back(), targets};
            volta_tensor* loss = volta_tape_call(tape, "mse", inputs, 2, nullptr, 0, __FILE__, __LINE__);
            volta_tensor* const quotient[] = {
                volta_tape_call(tape, "sum", &loss, 1, nullptr, 0, __FILE__, __LINE__), count};
            loss = volta_tape_call(tape, "div", quotient, 2, nullptr, 0, __FILE__, __LINE__);
            expect(volta_tape_optimizer_zero_grad(optimizer));
            expect(volta_tape_backward(tape, loss));
            const volta_status stepped = volta_tape_step(tape, optimizer, &report);
            if (stepped != VOLTA_NOT_FINITE) expect(stepped);
            expect(volta_tape_reset(tape));
            same = same && stepped == statuses[step];
            if (stepped == VOLTA_OK)
                same = same && same_bits({report.loss, report.gradient_norm},
                                         {expected[step].loss, expected[step].gradient_norm});
        }
        for (std::size_t i = 0; i < needed.size(); ++i) {
            const std::string name = "leaf" + std::to_string(i);
            if (!needed[i] || !program.leaves[i].requires_grad) continue;
            const float* data;
            std::size_t size;
            expect(volta_trainer_parameter(trainer, name.c_str(), &data, &size));
            same = same && same_bits(copy_of(tensors.leaves[i]), {data, data + size});
        }
        volta_tape_optimizer_release(optimizer);
        volta_tape_release(tape);
    }
    volta_tensor_release(count);
    volta_tensor_release(targets);
    volta_trainer_release(trainer);
    volta_model_release(model);
    if (!same)
        print_error("program %llu differs from the trainer\n", static_cast<unsigned long long>(number));
    assert_true(same);
    return true;
}

std::vector<std::vector<float>> run_as_session(volta_context* context, const Program& program, Graph& graph) {
    const std::size_t first = program.leaves.size();
    // An output that is an input's own elements, or one of 64, would ask for more than the session's limits.
    std::vector<std::size_t> chosen;
    for (std::size_t i = first; i < graph.values.size(); ++i) {
        char name[32];
        std::snprintf(name, sizeof name, "y%zu", i);
        expect(volta_graph_output(graph.graph, name, graph.values[i]));
        chosen.push_back(i);
    }
    volta_model* model;
    volta_session* session;
    expect(volta_model_create(graph.graph, 1, &model));
    expect(volta_session_create(model, nullptr, &session));
    std::vector<volta_tensor*> inputs, outputs;
    const auto make = [&](const std::vector<std::int64_t>& shape) {
        volta_tensor* tensor;
        expect(volta_tensor_create(context, VOLTA_F32, shape.data(), static_cast<std::int32_t>(shape.size()),
                                   &tensor));
        return tensor;
    };
    for (const Leaf& leaf : program.leaves) {
        inputs.push_back(make(leaf.shape));
        std::memcpy(volta_tensor_data(inputs.back()), leaf.start.data(), leaf.start.size() * sizeof(float));
    }
    for (const std::size_t i : chosen) outputs.push_back(make(program.shapes[i]));
    expect(volta_session_run(session, inputs.data(), inputs.size(), outputs.data(), outputs.size()));
    std::vector<std::vector<float>> values;
    for (volta_tensor* output : outputs) {
        values.push_back(copy_of(output));
        volta_tensor_release(output);
    }
    for (volta_tensor* input : inputs) volta_tensor_release(input);
    volta_session_release(session);
    volta_model_release(model);
    return values;
}

bool same_bits(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!same_bits(a[i], b[i])) return false;
    return true;
}

void programs_have_one_result(void**) {
    const char* const wish = std::getenv("VOLTA_TEST_PROGRAMS");
    const char* const start = std::getenv("VOLTA_TEST_FIRST");
    const long count = wish != nullptr ? std::atol(wish) : 200;
    const long begin = start != nullptr ? std::atol(start) : 0;
    long trained = 0;
    static const volta_isa isas[] = {VOLTA_ISA_AUTO, VOLTA_ISA_AVX2, VOLTA_ISA_SCALAR};
    volta_context* context = nullptr;
    for (long number = begin; number < begin + count; ++number) {
        if (context == nullptr || number % 20 == 0) {  // plans stay as long as their context
            volta_context_release(context);
            volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
            options.thread_count = static_cast<std::uint32_t>(1 + number / 20 % 3);
            options.isa = isas[number / 20 % 3];
            expect(volta_context_create(&options, &context));
        }
        Random random{static_cast<std::uint64_t>(number) * 7919 + 1};
        Graph graph(context);
        Program program = make_program(random, graph);
        const Outcome expected = run_on_tape(context, program, Way::eager, random);
        for (const Way way : {Way::lazy, Way::known, Way::interrupted}) {
            const Outcome outcome = run_on_tape(context, program, way, random);
            const bool same = same_bits(outcome.values, expected.values) &&
                              same_bits(outcome.gradients, expected.gradients) &&
                              same_bits(outcome.updated, expected.updated);
            if (!same) print_error("program %ld differs in way %d\n", number, static_cast<int>(way));
            assert_true(same);
        }
        const Outcome compiled = run_compiled(context, program);
        const bool same_compiled = same_bits(compiled.values, expected.values) &&
                                   same_bits(compiled.gradients, expected.gradients) &&
                                   same_bits(compiled.updated, expected.updated);
        if (!same_compiled) print_error("program %ld differs when it is compiled\n", number);
        assert_true(same_compiled);
        const bool same_captured = same_bits(run_captured(context, program), expected.values);
        if (!same_captured) print_error("program %ld differs when it is captured\n", number);
        assert_true(same_captured);
        trained += trains_as_a_trainer(context, program, static_cast<std::uint64_t>(number));
        if (program.steps.size() > 60) continue;
        const bool same = same_bits(run_as_session(context, program, graph), expected.values);
        if (!same) print_error("program %ld differs as a session\n", number);
        assert_true(same);
    }
    volta_context_release(context);
    print_message("%ld programs, each in 7 ways, %ld trained in 3 more: 0 differing bits\n", count, trained);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(programs_have_one_result)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
