// voltac bench train: whole training steps on seeded random data, beside the roofline bound: the time the
// machine needs at least, of its own peaks measured in the same run.
#include <nlohmann/json.hpp>

#include "cli/adapters.h"
#include "cli/bench.h"
#include "cli/bench_case.h"
#include "cli/bench_device.h"
#include "cli/bench_models.h"
#include "cli/bench_timing.h"
#include "cli/profile.h"

namespace voltac::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Settings {
    std::string preset = "tiny", model, optimizer, weights = "f32";
    LoraChoice lora{"voltac bench train"};
    std::int64_t vocabulary = 0, batch = 0, seq = 0;
    double momentum = 0, clip = -1;
    Repeats repeats;
    ProfileFile profile{"voltac bench train"};
};

struct Optimizer {
    const char* name;
    volta_optimizer id;
    double bytes;  // that one pass reads and writes per parameter: weights, gradient and moments
    double learning_rate;
};
constexpr Optimizer kOptimizers[] = {
    {"sgd", VOLTA_SGD, 12, 1e-2},
    {"adam", VOLTA_ADAM, 28, 1e-3},
    {"adamw", VOLTA_ADAMW, 28, 1e-3},
    {"adagrad", VOLTA_ADAGRAD, 20, 1e-2},
};
constexpr double kMomentumBytes = 8;
constexpr double kRoundSeconds = 0.5;  // of steps between two measurements of the peaks

const Optimizer& optimizer_of(const std::string& name) {
    for (const Optimizer& row : kOptimizers)
        if (name == row.name) return row;
    failure("there is no optimizer " + name);
}

void declare_all(Options& options, Settings& s) {
    options.choice(
        "--preset", s.preset, all_preset_names(),
        "a GPT: tiny 4 x 256 tokens of 65, small 8 x 64 of 65, gpt2 4 x 64 of 50257; llama-tiny as tiny; "
        "a network of pictures: resnet20 128 of 32 x 32, resnet18 32 of them, resnet50 and mobilenet_v2 32 "
        "of "
        "224 x 224 (default: tiny)");
    options.text(
        "--model", s.model,
        "instead: mlp:A-B-...-Z (ReLU between the layers), linear:A-B or linear, which is linear:512-512; "
        "widths in 1 .. 1048576");
    options.integer("--vocab", s.vocabulary, 1, 1 << 24, "token ids of a preset");
    options.integer("--batch", s.batch, 1, 1 << 20, "sequences or samples per step (--model: default 64)");
    options.integer("--seq", s.seq, 1, 1 << 20, "tokens per sequence, at most the preset's context");
    options.choice("--optimizer", s.optimizer, {"sgd", "adam", "adamw", "adagrad"},
                   "(default: adamw for a preset, sgd for --model)");
    options.number("--momentum", s.momentum, 0, 1, "of sgd (default: 0)");
    options.number("--clip", s.clip, 0, 1e6,
                   "largest gradient norm; 0: none (default: 1 for a preset, 0 for --model)");
    s.lora.declare(options, "train adapters alone, beside frozen weights");
    options.choice("--weights", s.weights, with_stored_names({"f32"}),
                   "with --lora: how the frozen weights are stored (default: f32)");
    s.profile.declare(options);
    declare(options, s.repeats);
}

void complete(Settings& s, const Options& options) {
    const bool dense = !s.model.empty(), of_pictures = !dense && is_network(s.preset);
    for (const char* name : {"--vocab", "--seq"})
        if (of_pictures && options.given(name))
            usage_error(std::string("voltac bench train: a ") + s.preset + " has no " + name);
    for (const char* name : {"--preset", "--vocab", "--seq"})
        if (dense && options.given(name))
            usage_error(std::string("voltac bench train: --model and ") + name + " exclude each other");
    s.lora.check();
    if (s.weights != "f32" && !s.lora.is_given())
        usage_error("voltac bench train: stored --weights are not trained: they need --lora");
    if (s.optimizer.empty()) s.optimizer = dense || of_pictures ? "sgd" : "adamw";
    if (s.momentum != 0 && s.optimizer != "sgd")
        usage_error("voltac bench train: --momentum is sgd's, the optimizer is " + s.optimizer);
    if (s.clip < 0) s.clip = dense || of_pictures ? 0 : 1;
    if (of_pictures) {
        if (s.batch == 0) s.batch = usual_batch(s.preset);
        return;
    }
    if (dense) {
        if (s.batch == 0) s.batch = 64;
        return;
    }
    const Preset& preset = preset_of(s.preset);
    if (s.batch == 0) s.batch = preset.batch;
    if (s.seq == 0) s.seq = preset.bench_seq;
    if (s.vocabulary == 0) s.vocabulary = preset.bench_vocabulary;
    if (s.seq > preset.context)
        usage_error(formatted("voltac bench train: --seq is %lld, the preset's context is %lld",
                              static_cast<long long>(s.seq), static_cast<long long>(preset.context)));
}

Model stored(const Model& model, const std::string& weights) {
    volta_model* made = nullptr;
    check(volta_model_quantize(model.get(), stored_dtype(weights), &made));
    return Model(made);
}

// The trainer has its own copy of the parameters, or keeps the base that adapters are on: the model goes, so
// that resident memory is the trainer's.
Trainer new_trainer(Subject& subject, const Settings& s) {
    const Optimizer& optimizer = optimizer_of(s.optimizer);
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = subject.input_shape.data();
    options.input_extent_count = subject.input_shape.size();
    options.loss = subject.seq > 0 || subject.classes > 0 ? VOLTA_LOSS_CROSS_ENTROPY : VOLTA_LOSS_MSE;
    options.optimizer = optimizer.id;
    options.seed = 1;
    options.learning_rate = optimizer.learning_rate;
    options.weight_decay = optimizer.id == VOLTA_ADAMW ? 0.1 : 0;
    options.momentum = s.momentum;
    options.clip_norm = s.clip;
    if (s.weights != "f32") subject.model = stored(subject.model, s.weights);
    subject.model = s.lora.on(std::move(subject.model), 1);
    volta_trainer* trainer = nullptr;
    check(volta_trainer_create(subject.model.get(), &options, &trainer));
    subject.model.reset();
    return Trainer(trainer);
}

struct Result {
    Timing step;
    volta_bill bill = VOLTA_BILL_INIT;
    std::uint64_t resident = 0;
    Moved moved;
    volta_machine_speed speed = VOLTA_MACHINE_SPEED_INIT;
    double compute_ms = 0, optimizer_ms = 0;  // the roofline bound
    double ratio_to_bound = 0;                // the median of all runs', each to its own
    double bound_ms() const { return compute_ms + optimizer_ms; }
};

void set_bound(const Subject& subject, const Settings& s, const volta_machine_speed& speed, Result& result) {
    const double bytes = optimizer_of(s.optimizer).bytes + (s.momentum != 0 ? kMomentumBytes : 0);
    result.speed = speed;
    result.compute_ms = subject.operations / speed.fma_gflops * 1e-6;
    result.optimizer_ms = subject.parameters * bytes / speed.stream_gb_s * 1e-6;
}

// Each run is divided by the bound of its round, whose peaks are measured right before and after it. What
// that drives out of the caches is fetched by a step that is not counted, where that is much of a step. The
// resident memory is read before the peaks take theirs.
template <class Step>
void time_steps(const Context& context, const Subject& subject, const Settings& s, Step&& step,
                Result& result) {
    std::vector<double> samples, ratios;
    Peaks peaks(context);
    warm_up(s.repeats, step);
    if (s.repeats.warmup > 0) {
        result.resident = resident_peak_bytes();
        peaks.measure();
        step();
    }
    while (samples.size() < static_cast<std::size_t>(s.repeats.runs)) {
        std::vector<double> round;
        const auto start = Clock::now();
        do {
            round.push_back(seconds_of(step));
        } while (samples.size() + round.size() < static_cast<std::size_t>(s.repeats.runs) &&
                 seconds_since(start) < kRoundSeconds);
        if (result.resident == 0) result.resident = resident_peak_bytes();
        peaks.measure();
        set_bound(subject, s, peaks.around(), result);
        for (const double seconds : round) ratios.push_back(seconds * 1e3 / result.bound_ms());
        samples.insert(samples.end(), round.begin(), round.end());
        if (round.size() > 1 && samples.size() < static_cast<std::size_t>(s.repeats.runs)) step();
    }
    result.step = summarize(samples);
    result.ratio_to_bound = summarize(ratios).seconds;
    set_bound(subject, s, peaks.medians(), result);
}

// The step that is timed, on what the host provides for every step: a token stream of a GPT, one batch of
// everything else. Then one whose copies are counted, and as many as were timed for --profile.
void run_steps(const Context& context, const Subject& subject, const Trainer& trainer, const Settings& s,
               Result& result) {
    const auto measure = [&](auto&& step) {
        time_steps(context, subject, s, step, result);
        result.moved = moved_by(context, step);
        s.profile.start(context);
        for (std::int64_t i = 0; s.profile.is_wanted() && i < s.repeats.runs; ++i) step();
        s.profile.finish(context);
    };
    Random random(1);
    if (subject.seq > 0) {
        std::vector<std::int32_t> tokens(static_cast<std::size_t>(16 * subject.per_step() + 1));
        for (std::int32_t& token : tokens) token = random.below(subject.vocabulary);
        check(volta_trainer_set_tokens(trainer.get(), tokens.data(), tokens.size()));
        return measure([&] { check(volta_trainer_step_tokens(trainer.get(), nullptr)); });
    }
    const Tensor x = random_tensor(context, subject.input_shape, random);
    const Tensor y = subject.classes > 0 ? random_ids(context, subject.target_shape, subject.classes, random)
                                         : random_tensor(context, subject.target_shape, random);
    const volta_tensor* const inputs[] = {x.get()};
    measure([&] { check(volta_trainer_step(trainer.get(), inputs, 1, y.get(), nullptr)); });
}

Result measure(const Context& context, Subject& subject, const Settings& s) {
    Result result;
    const Trainer trainer = new_trainer(subject, s);
    run_steps(context, subject, trainer, s, result);
    check(volta_trainer_get_bill(trainer.get(), &result.bill));
    return result;
}

void print_json(const Subject& subject, const Settings& s, const Result& r) {
    const auto or_null = [](std::int64_t value) { return value > 0 ? Json(value) : Json(); };
    const double ms = r.step.seconds * 1e3;
    Json line = {{"model", subject.name},
                 {"parameters", static_cast<std::uint64_t>(subject.parameters)},
                 {"batch", subject.batch},
                 {"seq", or_null(subject.seq)},
                 {"vocab", or_null(subject.vocabulary)},
                 {"optimizer", s.optimizer},
                 {"threads", r.speed.thread_count},
                 {"isa", isa_name(r.speed.isa)},
                 {"median_ms", ms},
                 {"spread", r.step.spread},
                 {"per_second", static_cast<double>(subject.per_step()) / r.step.seconds},
                 {"bound_ms", r.bound_ms()},
                 {"ratio_to_bound", r.ratio_to_bound},
                 {"peak_gflops", r.speed.fma_gflops},
                 {"stream_gb_s", r.speed.stream_gb_s},
                 {"bill_mib", static_cast<double>(r.bill.total) / kMiB},
                 {"resident_mib", static_cast<double>(r.resident) / kMiB}};
    if (s.lora.is_given()) {
        line["lora"] = s.lora.text;
        line["weights"] = s.weights;
        line["working_mib"] = static_cast<double>(r.bill.activations + r.bill.workspace) / kMiB;
    }
    add_moved(line, r.moved);
    add_arithmetic(line, s.repeats.machine);
    print(json_text(line) + "\n");
}

void print_text(const Context& context, const Subject& subject, const Settings& s, const Result& r) {
    const bool tokens = subject.seq > 0;
    const double ms = r.step.seconds * 1e3;
    std::string text = machine_line(context, r.speed);
    text += formatted("model              %s, %.2f M parameters\n", subject.name.c_str(),
                      subject.parameters * 1e-6);
    text += tokens ? formatted("batch              %lld x %lld tokens of %lld\n",
                               static_cast<long long>(subject.batch), static_cast<long long>(subject.seq),
                               static_cast<long long>(subject.vocabulary))
                   : formatted("batch              %lld samples\n", static_cast<long long>(subject.batch));
    if (s.lora.is_given())
        text += formatted("adapters           %s, on weights of %s, which the bill is without\n",
                          s.lora.text.c_str(), s.weights.c_str());
    text += formatted("optimizer          %s%s\n", s.optimizer.c_str(),
                      s.clip > 0 ? formatted(", gradient norm clipped to %g", s.clip).c_str() : "");
    text += formatted("step               %.3f ms, spread %.1f %% of %lld runs (%s)\n", ms,
                      100 * r.step.spread, static_cast<long long>(s.repeats.runs), kSpreadMeans);
    text += formatted("rate               %.0f %s per second, %.1f GFLOP/s\n",
                      static_cast<double>(subject.per_step()) / r.step.seconds, tokens ? "tokens" : "samples",
                      subject.operations / r.step.seconds * 1e-9);
    text += formatted("roofline bound     %.3f ms = %.3f GFLOP at the peak %.3f + optimizer stream %.3f\n",
                      r.bound_ms(), subject.operations * 1e-9, r.compute_ms, r.optimizer_ms);
    text += formatted("step / bound       %.3f\n", r.ratio_to_bound);
    const auto mib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / kMiB; };
    text += formatted(
        "memory             %.1f MiB: parameters %.1f, gradients %.1f, optimizer %.1f, activations %.1f, "
        "workspace %.1f, staging %.1f\n",
        mib(r.bill.total), mib(r.bill.parameters), mib(r.bill.gradients), mib(r.bill.optimizer_state),
        mib(r.bill.activations), mib(r.bill.workspace), mib(r.bill.staging));
    text += formatted("resident at most   %.1f MiB\n", mib(r.resident));
    text += moved_text(r.moved);
    print(text);
}

}  // namespace

int run_train(const std::vector<std::string>& arguments) {
    Settings s;
    s.repeats.runs = 9;
    s.repeats.warmup = 2;
    Options options(
        "bench train",
        "Training steps (forward, backward, clipping, update) on seeded random data. The roofline bound is "
        "the step's operations at the peak of the threads used, plus one pass over weights, gradients "
        "and moments at the machine's streaming bandwidth; both are measured before and after every half "
        "second of steps, each of which is divided by the bound around it (the median of that is step / "
        "bound); a model whose weights stay in a cache may go below it. With --device cuda the peaks are the "
        "device's: "
        "multiply-adds, "
        "and copies within its memory; what one step moves between it and the host is counted. Spread is "
        "(90th - 10th percentile) / median of the runs. --profile writes as many steps again, which are not "
        "timed.");
    declare_all(options, s);
    options.parse(arguments);
    complete(s, options);
    const Context context = make_context(s.repeats.machine);
    Subject subject = s.model.empty()
                          ? is_network(s.preset)
                                ? network_subject(context, s.preset, s.batch)
                                : language_subject(context, preset_of(s.preset), s.vocabulary, s.batch, s.seq)
                          : dense_subject(context, "voltac bench train", s.model, s.batch);
    const Result result = measure(context, subject, s);
    if (s.repeats.json)
        print_json(subject, s, result);
    else
        print_text(context, subject, s, result);
    return 0;
}

}  // namespace voltac::bench
