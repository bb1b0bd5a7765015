// Ranks that train in shards, each in a thread with a context of its own, on the processor or on the device
// that needs no GPU: a GPT with dropout, and a net with batch norms.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda/device_in_use.h"
#include "tests/support/place.h"

namespace volta::test {

using OwnedGroup = Owned<volta_group, volta_group_release>;
using OwnedGraph = Owned<volta_graph, volta_graph_release>;
using OwnedTensor = Owned<volta_tensor, volta_tensor_release>;

inline constexpr std::int64_t kRows = 2, kTime = 12, kFeatures = 20, kHidden = 24, kClasses = 5;
inline constexpr std::int32_t kWords = 61;
inline constexpr std::uint64_t kShards = 4;

enum class Subject { gpt, batch_norm };
inline const char* name_of(Subject subject) {
    return subject == Subject::gpt ? "a GPT with dropout" : "a net with batch norms";
}

struct Run {
    Subject subject = Subject::gpt;
    std::string device = "cpu";
    std::uint64_t shards = kShards, micro_batches = kShards, budget = kBudget;
    int first_step = 0, steps = 3;
    double clip_norm = 1;
    bool update_in_backward = false;
    std::string from, to, to_parts;  // checkpoints
};

struct Result {
    volta_status status = VOLTA_OK;
    std::string text, hash;
    float loss = 0, norm = 0;
};

class Rank final {
  public:
    Rank(const Run& run, const volta_group_options* group) : run_(run) {
        volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
        options.device = run.device.c_str();
        options.device_budget = run.device == "cpu" ? 0 : run.budget;
        options.kernel_folder = run.device == "cpu" ? nullptr : kernels;
        options.thread_count = 1;
        check(volta_context_create(&options, &context_.object));
        if (group != nullptr && is_ok()) check(volta_group_create(context_.object, group, &group_.object));
    }

    Result train() {
        make_trainer();
        for (int step = run_.first_step; step < run_.first_step + run_.steps && is_ok(); ++step)
            make_step(step);
        char hash[33] = "";
        if (is_ok()) check(volta_trainer_hash(trainer_.object, hash));
        result_.hash = hash;
        if (is_ok() && !run_.to.empty()) check(volta_trainer_save(trainer_.object, run_.to.c_str()));
        if (is_ok() && !run_.to_parts.empty())
            check(volta_trainer_save_sharded(trainer_.object, run_.to_parts.c_str()));
        return result_;
    }

    bool is_ok() const { return result_.status == VOLTA_OK; }
    Result& result() { return result_; }
    const OwnedContext& context() const { return context_; }
    volta_trainer* trainer() const { return trainer_.object; }
    volta_model* model() const { return model_.object; }

    void make_model() {
        if (!is_ok() || model_.object != nullptr) return;
        if (!run_.from.empty())
            return check(volta_model_open(context_.object, run_.from.c_str(), nullptr, &model_.object));
        if (!is_gpt()) return make_net();
        volta_gpt_options options = VOLTA_GPT_OPTIONS_INIT;
        options.vocabulary = kWords;
        options.layers = 2;
        options.dim = 32;
        options.heads = 2;
        options.context = kTime;
        options.dropout = 0.2;
        check(volta_model_create_gpt(context_.object, &options, 7, &model_.object));
    }

    void make_trainer() {
        make_model();
        if (!is_ok()) return;
        volta_trainer_options options = this->options();
        if (run_.from.empty()) return check(volta_trainer_create(model_.object, &options, &trainer_.object));
        options.input_shapes = nullptr;
        options.input_extent_count = 0;
        check(volta_trainer_resume(model_.object, &options, &trainer_.object));
    }

    volta_trainer_options options() const {
        static constexpr std::int64_t kTokens[] = {kRows, kTime}, kNumbers[] = {3 * kRows, kFeatures};
        volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
        options.input_shapes = is_gpt() ? kTokens : kNumbers;
        options.input_extent_count = 2;
        options.shards = run_.shards;
        options.micro_batches = run_.micro_batches;
        options.learning_rate = 1e-2;
        options.clip_norm = run_.clip_norm;
        options.update_in_backward = run_.update_in_backward;
        options.seed = 3;
        options.group = group_.object;
        return options;
    }

    void make_step(int step) {
        std::vector<std::int64_t> shape = {kRows, kTime};
        if (!is_gpt()) shape = {3 * kRows, kFeatures};
        shape[0] *= static_cast<std::int64_t>(run_.micro_batches);
        std::vector<std::int32_t> tokens, labels;
        std::vector<float> numbers;
        OwnedTensor input, targets;
        if (is_gpt()) {
            for (std::int64_t i = 0; i < shape[0] * shape[1]; ++i) {
                tokens.push_back(static_cast<std::int32_t>((i * 7 + i / 5 + step * 11) % kWords));
                // Targets that do not count, more of them in one shard than in another.
                labels.push_back(i % (3 + i / 20) == 0 ? -1
                                                       : static_cast<std::int32_t>((i * 5 + step) % kWords));
            }
            check(
                volta_tensor_wrap(context_.object, VOLTA_I32, shape.data(), 2, tokens.data(), &input.object));
        } else {
            for (std::int64_t i = 0; i < shape[0] * shape[1]; ++i)
                numbers.push_back(static_cast<float>((i * 37 + i / 91 + step * 13) % 251) / 125.0f - 1);
            for (std::int64_t i = 0; i < shape[0]; ++i)
                labels.push_back(static_cast<std::int32_t>((i * 3 + step) % kClasses));
            check(volta_tensor_wrap(context_.object, VOLTA_F32, shape.data(), 2, numbers.data(),
                                    &input.object));
        }
        check(volta_tensor_wrap(context_.object, VOLTA_I32, shape.data(), is_gpt() ? 2 : 1, labels.data(),
                                &targets.object));
        volta_step_report report = VOLTA_STEP_REPORT_INIT;
        const volta_tensor* const inputs[] = {input.object};
        if (is_ok()) check(volta_trainer_step(trainer_.object, inputs, 1, targets.object, &report));
        result_.loss = report.loss;
        result_.norm = report.gradient_norm;
    }

    void check(volta_status status) {
        if (status == VOLTA_OK || !is_ok()) return;
        result_.status = status;
        result_.text = volta_last_error();
    }

  private:
    bool is_gpt() const { return run_.subject == Subject::gpt; }

    // x [rows, 20] -> linear -> batch norm -> relu -> linear -> batch norm: 5 classes.
    void make_net() {
        OwnedGraph graph;
        volta_value x = {};
        const std::int64_t shape[] = {-1, kFeatures};
        check(volta_graph_create(context_.object, &graph.object));
        check(volta_graph_input(graph.object, "x", VOLTA_F32, shape, 2, &x));
        x = norm(graph.object, "norm1", linear(graph.object, "linear1", x, kFeatures, kHidden), kHidden);
        check(volta_graph_unary(graph.object, "relu", x, &x));
        x = norm(graph.object, "norm2", linear(graph.object, "linear2", x, kHidden, kClasses), kClasses);
        check(volta_graph_output(graph.object, "logits", x));
        if (is_ok()) check(volta_model_create(graph.object, 11, &model_.object));
    }
    volta_value linear(volta_graph* graph, const char* name, volta_value x, std::int64_t in,
                       std::int64_t out) {
        const volta_init normal = {VOLTA_INIT_NORMAL, 0.2, 0};
        const std::int64_t shape[] = {in, out};
        volta_value weight = {}, y = {};
        check(volta_graph_parameter(graph, name, shape, 2, &normal, &weight));
        check(volta_graph_binary(graph, "matmul", x, weight, &y));
        return y;
    }
    volta_value norm(volta_graph* graph, const char* name, volta_value x, std::int64_t channels) {
        const volta_init zeros = {VOLTA_INIT_CONSTANT, 0, 0}, ones = {VOLTA_INIT_CONSTANT, 1, 0};
        volta_value inputs[5] = {x}, y = {};
        int i = 1;
        for (const char* const part : {"weight", "bias", "running_mean", "running_var"}) {
            const bool is_one = i == 1 || i == 4;
            const std::string full = std::string(name) + "." + part;
            check(volta_graph_parameter(graph, full.c_str(), &channels, 1, is_one ? &ones : &zeros,
                                        &inputs[i++]));
        }
        check(volta_graph_apply(graph, "batch_norm", inputs, 5, nullptr, 0, &y, 1));
        return y;
    }

    const Run run_;
    OwnedContext context_;
    OwnedGroup group_;
    OwnedModel model_;
    OwnedTrainer trainer_;
    Result result_;
};

struct Held {
    std::uint64_t device, pinned, tensors;
    explicit Held(const OwnedContext& context) {
        volta_device_info info = {};
        volta_context_info host = {};
        info.struct_size = sizeof info;
        host.struct_size = sizeof host;
        assert_true(ok(volta_context_get_device(context.object, &info)));
        assert_true(ok(volta_context_get_info(context.object, &host)));
        device = info.bytes_in_use;
        pinned = info.pinned_bytes;
        tensors = host.tensor_bytes;
    }
};

struct Bill {
    std::uint64_t device = 0, total = 0, staging = 0, on_device = 0;  // on_device: by class
    std::uint64_t held = 0;                                           // of both sides
};
inline Bill bill_of(Rank& rank) {
    rank.make_model();
    const Held before(rank.context());
    rank.make_trainer();
    volta_bill bill = VOLTA_BILL_INIT;
    if (rank.is_ok()) rank.check(volta_trainer_get_bill(rank.trainer(), &bill));
    const Held after(rank.context());
    Bill result;
    result.device = after.device - before.device;
    result.held = result.device + (after.pinned - before.pinned) + (after.tensors - before.tensors);
    result.total = bill.total;
    result.staging = bill.staging;
    result.on_device =
        bill.parameters + bill.gradients + bill.optimizer_state + bill.activations + bill.workspace;
    return result;
}

inline Result train_alone(const Run& run) { return Rank(run, nullptr).train(); }

inline std::vector<Result> in_threads(std::uint32_t size, const std::function<Result(std::uint32_t)>& rank) {
    std::vector<Result> results(size);
    std::vector<std::thread> threads;
    for (std::uint32_t r = 0; r < size; ++r) threads.emplace_back([&, r] { results[r] = rank(r); });
    for (std::thread& thread : threads) thread.join();
    return results;
}

// Over sockets, or what else meets at an address.
inline std::vector<Result> train_over(const char* transport, std::uint32_t size,
                                      const std::function<Run(std::uint32_t)>& run) {
    const Place place(transport);
    return in_threads(size, [&](std::uint32_t r) {
        const volta_group_options options = options_of(place, r, size, 60);
        return Rank(run(r), &options).train();
    });
}

inline void expect_same(const Result& got, const Result& expected, const std::string& what) {
    if (got.status != VOLTA_OK) print_error("%s: %s\n", what.c_str(), got.text.c_str());
    assert_int_equal(got.status, VOLTA_OK);
    if (got.hash != expected.hash) print_error("%s differs\n", what.c_str());
    assert_string_equal(got.hash.c_str(), expected.hash.c_str());
    assert_memory_equal(&got.loss, &expected.loss, sizeof got.loss);
    assert_memory_equal(&got.norm, &expected.norm, sizeof got.norm);
}

// Of the processor, by one process.
inline Result expected_of(Subject subject, std::uint64_t micro_batches = kShards) {
    Run run;
    run.subject = subject;
    run.micro_batches = micro_batches;
    Result result = train_alone(run);
    if (result.status != VOLTA_OK) print_error("%s\n", result.text.c_str());
    assert_int_equal(result.status, VOLTA_OK);
    return result;
}

}  // namespace volta::test
