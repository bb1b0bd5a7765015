// voltac train: a text becomes a model. The --out file is weights, optimizer state, seed, step and data
// cursor. One of several processes that train together, by its environment (cli/group.h), does the same and
// is silent unless it is rank 0.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/architectures.h"
#include "cli/chat_format.h"
#include "cli/checkpoint_folder.h"
#include "cli/commands.h"
#include "cli/document_lesson.h"
#include "cli/early_stop.h"
#include "cli/fine_tuning.h"
#include "cli/group.h"
#include "cli/interrupts.h"
#include "cli/lesson.h"
#include "cli/options.h"
#include "cli/pictures.h"
#include "cli/presets.h"
#include "cli/profile.h"
#include "cli/progress.h"
#include "cli/step_times.h"
#include "cli/suggest.h"
#include "cli/texts.h"
#include "cli/train_call.h"
#include "cli/training_memory.h"

namespace voltac {
namespace {

using Json = nlohmann::ordered_json;

// What the call asks for; defaults are preset tiny's.
struct Settings {
    std::string text, out, preset = "tiny", architecture, tokenizer = "char", resume;
    // Of pictures.
    DatasetChoice pictures;
    std::string network = "resnet20", preprocess = "imagenet", augment = "crop-flip", evaluated;
    std::int64_t epochs = 10;
    double momentum = 0.9, label_smoothing = 0;
    ModelSizes sizes;
    std::int64_t batch = 0;
    std::int64_t steps = 1000, warmup = 100, seed = 1, accumulate = 1, shards = 1, save_every = 0,
                 stop_at = 0;
    double learning_rate = 1e-3, final_learning_rate = 1e-4, beta1 = 0.9, beta2 = 0.99, weight_decay = 0.1,
           clip = 1.0;
    bool json = false, packs = false, is_sharded = false;
    FineTuning tuning;
    TrainingMemory memory;
    TrainingReport report;
    std::int64_t eval_every = 0, patience = 0, extend = 0;
    std::string jsonl, chat_format;
    Machine machine;
    ProfileFile profile{"voltac train"};
    Place place;
    volta_group* group = nullptr;  // NULL: this process is alone
};

constexpr std::int64_t kMost = 1 << 20, kMostShards = 1024;

void declare(Options& options, Settings& s) {
    options.input(
        "--text", s.text, kText,
        "the text to learn: the first 90 % trains, the last 10 % validates; - is standard input; or a "
        "folder, as --dataset text --data takes it: WikiText's files, or *.txt");
    options.input("--jsonl", s.jsonl, kText,
                  "with --from: lines of JSON to learn from, {\"prompt\", \"completion\"}, {\"messages\"}, "
                  "{\"text\"}, or "
                  "{\"text\"[, \"text_pair\"], \"label\"} for a model that classifies; completions and "
                  "answers are learnt, "
                  "the last tenth validates");
    options.choice("--chat-format", s.chat_format, chat_format_names(),
                   "with --jsonl: how messages become tokens (default: the model's)");
    options.flag(
        "--pack", s.packs,
        "with --jsonl: documents side by side in rows of --context tokens, none of which sees another "
        "(default: a row for each)");
    options.output("--out", s.out, kCheckpointOutput,
                   "the model file to write, or with --sharded a folder; with --resume it may be left out");
    options.flag("--sharded", s.is_sharded,
                 "checkpoints are folders, --out too, in which every process writes a part (default: with "
                 "--resume and without --out as the checkpoint is)");
    options.choice("--preset", s.preset, preset_names(),
                   "architecture and sizes that the options below override (default: tiny)");
    options.choice(
        "--architecture", s.architecture, {"gpt", "llama", "bert"},
        "gpt: learned positions, GELU; llama: rotary positions, SwiGLU; bert: an encoder that learns "
        "hidden tokens (default: the preset's)");
    options.integer("--layers", s.sizes.layers, 1, 1024, "transformer blocks");
    options.integer("--dim", s.sizes.dim, 1, kMost, "width; a multiple of --heads");
    options.integer("--heads", s.sizes.heads, 1, kMost, "attention heads");
    options.integer("--kv-heads", s.sizes.kv_heads, 1, kMost,
                    "llama: heads of keys and values, a divisor of --heads (default: --heads)");
    options.integer(
        "--hidden", s.sizes.hidden, 1, kMost,
        "llama: width of the gated activation (default: 8/3 --dim, up to a multiple of 32); bert: of the "
        "activation (default: 4 --dim)");
    options.integer("--context", s.sizes.context, 1, kMost,
                    "longest sequence, in tokens; with --from those of a window (default: as the model, at "
                    "most 256)");
    options.integer("--batch", s.batch, 1, kMost, "sequences per micro-batch");
    options.integer("--accumulate", s.accumulate, 1, 1000000, "micro-batches per step (default: 1)");
    options.integer("--shards", s.shards, 1, kMostShards,
                    "equal parts of a step's batch, --batch x --accumulate: a power of two, and the most "
                    "processes of voltac launch; part of the result (default: 1)");
    options.integer("--steps", s.steps, 1, 4294967295,
                    "the whole run, which the schedule spans (default: 1000)");
    options.number("--lr", s.learning_rate, Range{0, 1e6, true, false},
                   "learning rate after warm-up (default: 1e-3, of pictures 0.1; with --from a tenth)");
    options.number("--final-lr", s.final_learning_rate, 0, 1e6,
                   "where the cosine ends (default: 1e-4, of pictures 0; with --from a tenth)");
    options.integer("--warmup", s.warmup, 0, 4294967295,
                    "linear warm-up steps (default: 100, at most --steps)");
    const Range below_one = {0, 1, false, true};
    options.number("--beta1", s.beta1, below_one, "AdamW (default: 0.9)");
    options.number("--beta2", s.beta2, below_one, "AdamW (default: 0.99)");
    options.number("--weight-decay", s.weight_decay, 0, 1e6, "AdamW, on matrices (default: 0.1)");
    options.number("--clip", s.clip, 0, 1e6, "largest global gradient norm; 0: none (default: 1)");
    options.number("--dropout", s.sizes.dropout, below_one, "gpt, bert: probability (default: 0)");
    options.input(
        "--tokenizer", s.tokenizer, kTokenizer,
        "char (default), byte, bpe:N (N ids learnt from the text), or a file: tokenizer.json, GGUF, "
        "llama2.c, GPT-2");
    options.integer("--seed", s.seed, 0, INT64_MAX, "of weights, batch order and dropout (default: 1)");
    options.input(
        "--resume", s.resume, kModel,
        "a checkpoint to go on from, to its --steps; of adapters, with the --from that they are on");
    s.tuning.declare(options);
    options.integer("--save-every", s.save_every, 1, 4294967295, "also write --out every N steps");
    options.integer("--eval-every", s.eval_every, 1, 4294967295,
                    "also validate every N steps, as at the end; no bit of the run depends on it");
    options.integer(
        "--patience", s.patience, 1, 1000000,
        "with --eval-every: end when so many validations in a row were not the best; the best is kept beside "
        "--out as NAME.best.volta");
    options.integer(
        "--extend", s.extend, 1, 4294967295,
        "with --resume: plan so many steps more; learning rates follow the longer plan from then on");
    options.integer("--stop-at", s.stop_at, 1, 4294967295, "write --out after step N and end");
    s.pictures.split = "train";
    s.pictures.declare(options);
    options.choice("--model", s.network, network_names(),
                   "pictures: the network (default: resnet20); with 32x32 pixels it begins as CIFAR's do");
    options.integer("--epochs", s.epochs, 1, 1000000,
                    "pictures, --jsonl: how often all samples are seen (default: 10; of --jsonl 3)");
    options.text("--preprocess", s.preprocess, kPreprocessHelp);
    options.choice("--augment", s.augment, {kAugmentNames[0], kAugmentNames[1], kAugmentNames[2]},
                   "pictures: what is done to them at random (default: crop-flip)");
    options.number("--momentum", s.momentum, below_one, "pictures: of SGD, Nesterov's (default: 0.9)");
    options.number("--label-smoothing", s.label_smoothing, below_one,
                   "pictures: what all classes share of a target (default: 0)");
    options.text(
        "--eval-data", s.evaluated,
        "pictures: what is told of at the end, as --data (default: a folder's test part, where it has one)");
    options.flag("--json", s.json, "one JSON object per line on standard output");
    s.report.declare(options);
    s.memory.declare(options, s.machine);
    s.profile.declare(options);
    options.machine(s.machine);
    options.config();
}

void apply_preset(Settings& s) {
    for (const Preset& preset : kPresets) {
        if (s.preset != preset.name) continue;
        if (s.architecture.empty()) s.architecture = preset.architecture;
        if (s.sizes.layers == 0) s.sizes.layers = preset.layers;
        if (s.sizes.dim == 0) s.sizes.dim = preset.dim;
        if (s.sizes.heads == 0) s.sizes.heads = preset.heads;
        if (s.sizes.context == 0) s.sizes.context = preset.context;
        if (s.batch == 0) s.batch = preset.batch;
    }
}

void check_settings(const Settings& s, const Options& options) {
    if (s.sizes.dim % s.sizes.heads != 0)
        usage_error(formatted("voltac train: --dim %lld is not a multiple of --heads %lld",
                              static_cast<long long>(s.sizes.dim), static_cast<long long>(s.sizes.heads)));
    const Architecture& architecture = architecture_of(s.architecture);
    for (const auto& [option, size] : {std::pair{"--kv-heads", "kv_heads"}, std::pair{"--hidden", "hidden"},
                                       std::pair{"--dropout", "dropout"}})
        if (options.given(option) && !architecture.has(size))
            usage_error(formatted("voltac train: a %s has no %s", architecture.name, option));
    if (options.given("--warmup") && s.warmup > s.steps)
        usage_error(formatted("voltac train: --warmup %lld is more than --steps %lld",
                              static_cast<long long>(s.warmup), static_cast<long long>(s.steps)));
    if (s.out.empty()) usage_error("voltac train: --out is required (see voltac train --help)");
}

// The micro-batches of a step: so many, of so many rows.
struct MicroBatches {
    std::int64_t rows, count;
};

// Each shard is some of them: a step's batch is what the call says, whatever the shards are.
MicroBatches micro_batches_of(std::int64_t batch, std::int64_t accumulate, std::int64_t shards) {
    if (accumulate % shards == 0) return {batch, accumulate};
    const std::int64_t total = batch * accumulate;
    if (total % shards != 0)
        usage_error(
            formatted("voltac train: --batch %lld x --accumulate %lld is %lld rows a step, which %lld shards "
                      "do not divide",
                      static_cast<long long>(batch), static_cast<long long>(accumulate),
                      static_cast<long long>(total), static_cast<long long>(shards)));
    if (shards % accumulate == 0) return {total / shards, shards};
    usage_error(
        formatted("voltac train: --accumulate is %lld, with %lld shards it must be a multiple or a "
                  "divisor of them: --batch %lld --accumulate %lld has the same rows a step",
                  static_cast<long long>(accumulate), static_cast<long long>(shards),
                  static_cast<long long>(total / shards), static_cast<long long>(shards)));
}

void check_shards(const Settings& s) {
    if ((s.shards & (s.shards - 1)) != 0)
        usage_error(formatted("voltac train: --shards is %lld, it must be a power of two",
                              static_cast<long long>(s.shards)));
}

// Behind the defaults of --batch: from here on both are those of a micro-batch. Their product stays.
void lay_out_shards(Settings& s) {
    if (s.place.ranks > static_cast<std::uint64_t>(s.shards))
        usage_error(shards_sentence("voltac train", s.shards, s.place.ranks));
    const MicroBatches micro_batches = micro_batches_of(s.batch, s.accumulate, s.shards);
    s.batch = micro_batches.rows;
    s.accumulate = micro_batches.count;
}

volta_trainer_options trainer_options(const Settings& s, const std::int64_t* shape) {
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = shape;
    options.input_extent_count = 2;
    options.optimizer = VOLTA_ADAMW;
    options.seed = static_cast<std::uint64_t>(s.seed);
    options.steps = static_cast<std::uint64_t>(s.steps);
    options.micro_batches = static_cast<std::uint64_t>(s.accumulate);
    options.shards = static_cast<std::uint64_t>(s.shards);
    options.group = s.group;
    options.schedule = VOLTA_SCHEDULE_COSINE;
    options.warmup_steps = static_cast<std::uint64_t>(std::min(s.warmup, s.steps));
    options.learning_rate = s.learning_rate;
    options.final_learning_rate = s.final_learning_rate;
    options.beta1 = s.beta1 == 0 ? -1 : s.beta1;
    options.beta2 = s.beta2 == 0 ? -1 : s.beta2;
    options.weight_decay = s.weight_decay;
    options.clip_norm = s.clip;
    s.memory.fill(options);
    return options;
}

// What a resumed run takes of the call beside its checkpoint.
volta_trainer_options resumed_options(const Settings& s) {
    volta_trainer_options options = s.memory.of_resumed();
    options.group = s.group;
    return options;
}

// The N of "bpe:N"; 0: it is something else.
std::int32_t learnt_ids(const std::string& name) {
    char* end = nullptr;
    if (name.compare(0, 4, "bpe:") != 0) return 0;
    const long count = std::strtol(name.c_str() + 4, &end, 10);
    if (end == name.c_str() + 4 || *end != '\0' || count < 256 || count > 1 << 20)
        usage_error("voltac train: --tokenizer " + name + ": bpe:N needs an N from 256 to 1048576");
    return static_cast<std::int32_t>(count);
}

Tokenizer new_tokenizer(const Context& context, const Settings& s, const std::string& text) {
    volta_tokenizer* tokenizer = nullptr;
    const std::int32_t learnt = learnt_ids(s.tokenizer);
    if (s.tokenizer == "byte")
        check(volta_tokenizer_create_byte(context.get(), &tokenizer));
    else if (s.tokenizer == "char")
        check(volta_tokenizer_create_char(context.get(), text.data(), text.size(), &tokenizer));
    else if (learnt > 0)
        check(volta_tokenizer_train_bpe(context.get(), text.data(), text.size(), learnt, &tokenizer));
    else if (volta_tokenizer_open(context.get(), s.tokenizer.c_str(), VOLTA_TOKENIZER_AUTO, &tokenizer) !=
             VOLTA_OK)
        failure(volta_last_error() + (access(s.tokenizer.c_str(), F_OK) != 0
                                          ? did_you_mean(s.tokenizer, {"char", "byte"})
                                          : std::string()));
    return Tokenizer(tokenizer);
}

void refuse_other_shards(const Options& options, const Settings& s, const volta_trainer_options& c) {
    if (options.given("--shards") && static_cast<std::uint64_t>(s.shards) != c.shards)
        usage_error(formatted("voltac train: --shards is %lld, the checkpoint has %llu",
                              static_cast<long long>(s.shards), static_cast<unsigned long long>(c.shards)));
}

// Of several shards, --batch and --accumulate must make the checkpoint's micro-batches; what is not given is
// what makes the same rows a step.
void refuse_other_batch(const Options& options, const Settings& s, const volta_trainer_options& c) {
    const bool has_batch = options.given("--batch"), has_count = options.given("--accumulate");
    if (!has_batch && !has_count) return;
    const std::int64_t rows = c.input_shapes[0], count = static_cast<std::int64_t>(c.micro_batches),
                       total = rows * count, batch = has_batch ? s.batch : total / s.accumulate,
                       accumulate = has_count ? s.accumulate : total / s.batch;
    const bool divides = batch > 0 && accumulate > 0 && batch * accumulate == total;
    const auto shards = static_cast<std::int64_t>(c.shards);
    const MicroBatches made = divides ? micro_batches_of(batch, accumulate, shards) : MicroBatches{0, 0};
    if (made.rows == rows && made.count == count) return;
    usage_error(formatted(
        "voltac train: %s is %lld, the checkpoint has %lld rows a step, in %lld "
        "micro-batches of %lld and %lld shards",
        has_batch ? "--batch" : "--accumulate", static_cast<long long>(has_batch ? s.batch : s.accumulate),
        static_cast<long long>(total), static_cast<long long>(count), static_cast<long long>(rows),
        static_cast<long long>(shards)));
}

// Options that are given beside --resume must be the checkpoint's.
void refuse_contradictions(const Options& options, const Settings& s, const Model& model,
                           const volta_trainer_options& c, const Tokenizer& tokenizer) {
    const auto compare = [&](const char* name, double given, double checkpoint) {
        if (options.given(name) && given != checkpoint)
            usage_error(
                formatted("voltac train: %s is %.10g, the checkpoint has %.10g", name, given, checkpoint));
    };
    const auto field = [&](const char* size) {
        return std::strtod(model_size(model, size).c_str(), nullptr);
    };
    const auto as_double = [](auto value) { return static_cast<double>(value); };
    const auto beta = [](double value) { return value == -1 ? 0 : value; };
    Settings preset = s;  // a preset that is named must fit as well
    apply_preset(preset);
    const bool names_kind = options.given("--preset") || options.given("--architecture");
    if (names_kind && preset.architecture != architecture_name(model))
        usage_error(formatted("voltac train: the architecture is %s, the checkpoint has %s",
                              preset.architecture.c_str(), architecture_name(model).c_str()));
    if (options.given("--preset")) {
        for (const auto& [name, given] :
             {std::pair{"layers", preset.sizes.layers}, std::pair{"dim", preset.sizes.dim},
              std::pair{"heads", preset.sizes.heads}, std::pair{"context", preset.sizes.context}})
            if (as_double(given) != field(name))
                usage_error(formatted("voltac train: --preset %s has %s %lld, the checkpoint has %s",
                                      s.preset.c_str(), name, static_cast<long long>(given),
                                      model_size(model, name).c_str()));
    }
    compare("--layers", as_double(s.sizes.layers), field("layers"));
    compare("--dim", as_double(s.sizes.dim), field("dim"));
    compare("--heads", as_double(s.sizes.heads), field("heads"));
    compare("--kv-heads", as_double(s.sizes.kv_heads), field("kv_heads"));
    compare("--hidden", as_double(s.sizes.hidden), field("hidden"));
    compare("--context", as_double(s.sizes.context), as_double(c.input_shapes[1]));
    compare("--dropout", s.sizes.dropout, field("dropout"));
    refuse_other_shards(options, s, c);
    if (c.shards > 1) {
        refuse_other_batch(options, s, c);
    } else {
        compare("--batch", as_double(s.batch), as_double(c.input_shapes[0]));
        compare("--accumulate", as_double(s.accumulate), as_double(c.micro_batches));
    }
    compare("--steps", as_double(s.steps), as_double(c.steps));
    compare("--seed", as_double(s.seed), as_double(c.seed));
    compare("--warmup", as_double(s.warmup), as_double(c.warmup_steps));
    compare("--lr", s.learning_rate, c.learning_rate);
    compare("--final-lr", s.final_learning_rate, c.final_learning_rate);
    compare("--beta1", s.beta1, beta(c.beta1));
    compare("--beta2", s.beta2, beta(c.beta2));
    compare("--weight-decay", s.weight_decay, c.weight_decay);
    compare("--clip", s.clip, c.clip_norm);
    const std::string kind = volta_tokenizer_kind(tokenizer.get());
    const bool is_file = s.tokenizer != "char" && s.tokenizer != "byte" && learnt_ids(s.tokenizer) == 0;
    if (options.given("--tokenizer") && is_file)
        usage_error(formatted(
            "voltac train: --tokenizer %.200s is given with --resume, but the checkpoint carries its "
            "own tokenizer (%s): leave it out",
            s.tokenizer.c_str(), kind.c_str()));
    if (options.given("--tokenizer") && s.tokenizer != kind &&
        !(kind == "bpe" && learnt_ids(s.tokenizer) == volta_tokenizer_size(tokenizer.get())))
        usage_error(formatted("voltac train: --tokenizer is %s, the checkpoint has %s", s.tokenizer.c_str(),
                              kind.c_str()));
}

class Run {
  public:
    Run(const Context& context, Settings& settings, Trainer trainer, Lesson& lesson, std::uint64_t steps,
        std::uint64_t tokens_per_step)
        : context_(context),
          s_(settings),
          trainer_(std::move(trainer)),
          lesson_(lesson),
          steps_(steps),
          tokens_per_step_(tokens_per_step),
          early_(settings.patience) {}

    void loop() {
        const std::uint64_t start = volta_trainer_current_step(trainer_.get());
        const std::uint64_t end =
            s_.stop_at > 0 ? std::min<std::uint64_t>(steps_, static_cast<std::uint64_t>(s_.stop_at)) : steps_;
        if (start > end)
            failure(formatted("the checkpoint is at step %llu, beyond the last step %llu",
                              static_cast<unsigned long long>(start), static_cast<unsigned long long>(end)));
        Progress progress(start, end, tokens_per_step_, s_.json || !s_.place.speaks(), lesson_.unit());
        watch_interrupts();  // the first Ctrl-C asks for a checkpoint and an orderly end
        end_with_group();
        for (std::uint64_t step = start; step < end && !leaves() && !early_.is_over(); ++step) {
            const auto begin = std::chrono::steady_clock::now();
            const volta_status status = make_step();
            const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
            if (status == VOLTA_CANCELLED && s_.group != nullptr) {
                is_cancelled_ = true;
                break;
            }
            if (status != VOLTA_OK) {
                progress.finish();
                fail_step(status, volta_last_error());
            }
            progress.step(last_.step, static_cast<double>(last_.loss));
            s_.report.step(last_, taken.count());
            if (s_.group != nullptr) times_.add(last_, taken.count());
            if (s_.json) print_step(progress);
            if (s_.eval_every > 0 && last_.step % static_cast<std::uint64_t>(s_.eval_every) == 0 &&
                last_.step != steps_ && lesson_.validates())
                validate();
            const bool due = s_.save_every > 0 && last_.step % static_cast<std::uint64_t>(s_.save_every) == 0;
            if (due && last_.step != end) save();
        }
        progress.finish();
        seconds_ = progress.seconds();
        tokens_per_second_ = progress.tokens_per_second();
        save();
        end_at_interrupts();
        status_ = interrupt_status();
        if (is_cancelled_ && status_ == 0) status_ = kExitInterrupted;
    }

    // The exit status: 128 and a signal's number where one ended the run.
    int finish() {
        if (!s_.place.speaks()) {
            tell_times();
            return status();
        }
        const bool interrupted = is_stopped(), validates = !interrupted && lesson_.validates();
        const double validation_loss = validates ? lesson_.validation_loss(trainer_.get()) : 0;
        char hash[33];
        check(volta_trainer_hash(trainer_.get(), hash));
        const std::uint64_t step = volta_trainer_current_step(trainer_.get());
        if (validates)
            s_.report.validated(step, validation_loss, lesson_.validation_correct(),
                                lesson_.validation_count());
        write_report(hash, interrupted);
        if (s_.json) {
            Json line = {{"event", "end"}, {"step", step}, {"interrupted", interrupted}};
            if (last_.step != 0) line["loss"] = last_.loss;
            if (validates) line["validation_loss"] = validation_loss;
            if (lesson_.validation_count() > 0) {
                line["correct"] = lesson_.validation_correct();
                line["count"] = lesson_.validation_count();
            }
            if (validates) add_validated(line);
            if (lesson_.skipped() > 0) line["skipped"] = lesson_.skipped();
            if (early_.is_wanted()) line["best_validation_loss"] = early_.best();
            line["hash"] = hash;
            line["out"] = s_.out;
            line["seconds"] = seconds_;
            line[per_second_key().c_str()] = tokens_per_second_;
            if (!times_.is_empty()) add_times(line);
            add_arithmetic(line, s_.machine);
            tell(line);
            return status();
        }
        std::fprintf(stderr, "%s at step %llu of %llu, %.0f s, %.0f %s/s; saved %s\n",
                     interrupted ? "interrupted" : "ended", static_cast<unsigned long long>(step),
                     static_cast<unsigned long long>(steps_), seconds_, tokens_per_second_, lesson_.unit(),
                     one_line(s_.out).c_str());
        tell_times();
        std::string text = formatted("step               %llu\n", static_cast<unsigned long long>(step));
        if (last_.step != 0)
            text += formatted("training loss      %.6f\n", unsigned_nan(static_cast<double>(last_.loss)));
        if (validates)
            text += formatted("validation loss    %.6f", unsigned_nan(validation_loss)) +
                    (lesson_.validated.empty() ? "" : ", of " + lesson_.validated) + "\n";
        if (lesson_.validation_count() > 0)
            text += formatted("correct            %llu of %llu\n",
                              static_cast<unsigned long long>(lesson_.validation_correct()),
                              static_cast<unsigned long long>(lesson_.validation_count()));
        if (lesson_.skipped() > 0)
            text +=
                formatted("skipped            %llu\n", static_cast<unsigned long long>(lesson_.skipped()));
        if (early_.is_wanted())
            text += formatted("best validation    %.6f, in ", unsigned_nan(early_.best())) +
                    one_line(best_name(s_.out)) + "\n";
        if (!is_strict(s_.machine))
            text += "level              " + s_.machine.level + ", " + s_.machine.precision + "\n";
        print(text + formatted("hash               %s\n", hash));
        return status();
    }

  private:
    bool is_stopped() const { return is_unread_ || is_cancelled_ || status_ != 0 || interrupted_by() != 0; }
    // A rank that left the loop alone would leave the others waiting: of a group, the step itself ends the
    // run, on all ranks before the same step.
    bool leaves() const { return s_.group == nullptr && is_stopped(); }

    volta_status make_step() {
        stops_ = is_stopped();  // one answer for the whole step
        const volta_status status = lesson_.step(trainer_.get(), &last_);
        stops_ = false;  // evaluation and saving are not ended
        return status;
    }

    void end_with_group() {
        if (s_.group == nullptr) return;
        volta_stop_options stop = VOLTA_STOP_OPTIONS_INIT;
        stop.should_stop = [](void* run) -> std::int32_t { return static_cast<const Run*>(run)->stops_; };
        stop.user = this;
        check(volta_context_set_stop(context_.get(), &stop));
    }

    int status() const { return is_unread_ ? kExitPipe : status_; }

    // A step that is not finite has changed nothing: what was learnt before it is kept.
    [[noreturn]] void fail_step(volta_status status, const std::string& why) {
        if (status != VOLTA_NOT_FINITE) failure(why);
        save();
        failure(why + "; a smaller --lr or --clip may keep it finite; what was learnt before is in " +
                s_.out);
    }

    // A reader that has gone asks for the end as Ctrl-C does: what was learnt is kept.
    void tell(const Json& line) {
        if (is_unread_ || !s_.place.speaks()) return;
        try {
            print(json_text(line) + "\n");
        } catch (const Stop& stop) {
            if (stop.status != kExitPipe) throw;
            is_unread_ = true;
        }
    }

    std::string per_second_key() const { return std::string(lesson_.unit()) + "_per_second"; }

    void print_step(const Progress& progress) {
        Json line = {{"event", "step"},
                     {"step", last_.step},
                     {"loss", last_.loss},
                     {"gradient_norm", last_.gradient_norm},
                     {"learning_rate", last_.learning_rate},
                     {per_second_key().c_str(), progress.tokens_per_second()}};
        if (s_.group != nullptr) {
            line["wait_seconds"] = last_.wait_seconds;
            line["exchange_seconds"] = last_.exchange_seconds;
        }
        tell(line);
    }

    // Of this rank, which ranks but 0 tell their log.
    void tell_times() const {
        if (times_.is_empty()) return;
        std::fprintf(stderr, "time: %s\n", times_.text(s_.place.rank).c_str());
    }

    void add_times(Json& line) const {
        line["compute_seconds"] = times_.compute();
        line["wait_seconds"] = times_.wait();
        line["exchange_seconds"] = times_.exchange();
    }

    // On the way: it changes nothing of the run.
    void validate() {
        const double loss = lesson_.validation_loss(trainer_.get());
        s_.report.validated(last_.step, loss, lesson_.validation_correct(), lesson_.validation_count());
        if (early_.improves(loss) && early_.is_wanted()) save_as(best_name(s_.out));
        if (!s_.json) return;
        Json line = {{"event", "validation"}, {"step", last_.step}, {"validation_loss", loss}};
        add_validated(line);
        if (lesson_.validation_count() > 0) {
            line["correct"] = lesson_.validation_correct();
            line["count"] = lesson_.validation_count();
        }
        tell(line);
    }

    void add_validated(Json& line) const {
        if (!lesson_.validated.empty()) line["validation_of"] = lesson_.validated;
    }

    void write_report(const char* hash, bool interrupted) {
        if (!s_.report.is_wanted()) return;
        const auto text = [](std::uint64_t number) { return std::to_string(number); };
        const std::string& learnt = s_.jsonl.empty() ? s_.text : s_.jsonl;
        s_.report.fact("data", learnt.empty() ? s_.pictures.data : shown_name(learnt));
        if (!lesson_.validated.empty()) s_.report.fact("validation of", lesson_.validated);
        if (s_.tuning.is_given()) s_.report.fact("begins with", s_.tuning.from);
        s_.report.fact("model file", s_.out);
        s_.report.fact("steps", text(volta_trainer_current_step(trainer_.get())) + " of " + text(steps_) +
                                    (interrupted ? ", interrupted" : ""));
        s_.report.fact(std::string(lesson_.unit()) + " per step", text(tokens_per_step_));
        if (last_.step != 0)
            s_.report.fact("training loss", formatted("%.6f", unsigned_nan(static_cast<double>(last_.loss))));
        if (lesson_.validation_count() > 0)
            s_.report.fact("correct",
                           text(lesson_.validation_correct()) + " of " + text(lesson_.validation_count()));
        if (lesson_.skipped() > 0) s_.report.fact("skipped", text(lesson_.skipped()));
        if (!times_.is_empty()) s_.report.fact("time", times_.text(s_.place.rank));
        s_.report.fact("level", s_.machine.level + ", " + s_.machine.precision);
        s_.report.fact("hash of the parameters", hash);
        s_.report.write("voltac train", lesson_.unit(), tokens_per_step_, lesson_.picture_results());
    }

    void save_as(const std::string& path) {
        check(s_.is_sharded ? volta_trainer_save_sharded(trainer_.get(), path.c_str())
                            : volta_trainer_save(trainer_.get(), path.c_str()));
    }

    void save() {
        save_as(s_.out);
        if (s_.json)
            tell({{"event", "saved"}, {"step", volta_trainer_current_step(trainer_.get())}, {"out", s_.out}});
    }

    const Context& context_;
    Settings& s_;
    Trainer trainer_;
    Lesson& lesson_;
    std::uint64_t steps_, tokens_per_step_;
    EarlyStop early_;
    StepTimes times_;  // of a group
    volta_step_report last_ = VOLTA_STEP_REPORT_INIT;
    int status_ = 0;
    bool is_unread_ = false, stops_ = false;
    bool is_cancelled_ = false;  // some rank of the group was asked to end
    double seconds_ = 0, tokens_per_second_ = 0;
};

// Runs it, with the profile where one is asked for. The exit status.
int run_lesson(const Context& context, Settings& s, Trainer trainer, Lesson& lesson,
               const volta_trainer_options& used, std::uint64_t tokens_per_step) {
    Run run(context, s, std::move(trainer), lesson, used.steps, tokens_per_step);
    if (s.place.speaks()) s.profile.start(context);
    run.loop();
    const int status = run.finish();
    if (s.place.speaks()) s.profile.finish(context);
    return status;
}

// A trainer with what it was made of.
struct Training {
    Model model;
    Trainer trainer;
    Tokenizer tokenizer;
};

Training new_training(const Context& context, const Settings& s, const std::string& text) {
    Tokenizer tokenizer = new_tokenizer(context, s, text);
    ModelSizes sizes = s.sizes;
    sizes.vocabulary =
        s.architecture == "bert" ? mask_token(tokenizer).vocabulary : volta_tokenizer_size(tokenizer.get());
    Model model =
        new_model(context, architecture_of(s.architecture), sizes, static_cast<std::uint64_t>(s.seed));
    check(volta_model_set_tokenizer(model.get(), tokenizer.get()));
    if (s.architecture == "bert")
        check(volta_model_set_metadata(model.get(), kMaskedTextKey,
                                       text_mark(encode(tokenizer, text)).c_str()));
    const std::int64_t shape[] = {s.batch, sizes.context};
    const volta_trainer_options options = trainer_options(s, shape);
    volta_trainer* trainer = nullptr;
    check(volta_trainer_create(model.get(), &options, &trainer));
    return {std::move(model), Trainer(trainer), std::move(tokenizer)};
}

// A run of its own on the weights of a model that is there.
Training tuned_training(const Context& context, const Settings& s, const Options& options,
                        const std::string& text) {
    Model model = s.tuning.open(context, static_cast<std::uint64_t>(s.seed));
    check_of_text(model, s.tuning.from);
    Tokenizer tokenizer = tokenizer_of(model);
    if (architecture_name(model) == "bert")
        check(volta_model_set_metadata(model.get(), kMaskedTextKey,
                                       text_mark(encode(tokenizer, text)).c_str()));
    const std::int64_t shape[] = {s.batch,
                                  window_of(model, options.given("--context") ? s.sizes.context : 0)};
    Trainer trainer = s.tuning.train(model.get(), trainer_options(s, shape));
    return {std::move(model), std::move(trainer), std::move(tokenizer)};
}

Training resumed_training(const Context& context, const Settings& s, const Options& options) {
    Model model = s.tuning.resumed(context, s.resume);
    volta_trainer* trainer = nullptr;
    const volta_trainer_options of_run = resumed_options(s);
    const volta_status status = volta_trainer_resume(model.get(), &of_run, &trainer);
    if (status != VOLTA_OK) failure("--resume " + s.resume + ": " + volta_last_error());
    Trainer owned(trainer);
    Tokenizer tokenizer = tokenizer_of(model);
    volta_trainer_options checkpoint = VOLTA_TRAINER_OPTIONS_INIT;
    check(volta_trainer_get_options(trainer, &checkpoint));
    refuse_contradictions(options, s, model, checkpoint, tokenizer);
    return {std::move(model), std::move(owned), std::move(tokenizer)};
}

// A text that the vocabulary was not made of.
std::vector<std::int32_t> encode_named(const Tokenizer& tokenizer, const std::string& text,
                                       const std::string& name) {
    try {
        return encode(tokenizer, text);
    } catch (const Stop& stop) {
        throw Stop(stop.status, name + ": " + stop.what());
    }
}

// The first 90 % of the tokens train and the rest validates, where that has no text of its own.
std::unique_ptr<Lesson> make_lesson(const Context& context, Training& training, const std::string& name,
                                    const LearntText& text) {
    std::vector<std::int32_t> ids = encode(training.tokenizer, text.train), validation;
    const bool masked = architecture_name(training.model) == "bert";
    const std::string mark = masked ? text_mark(ids) : "";
    if (text.validation.empty()) {
        const std::size_t train_count = ids.size() / 10 * 9 + ids.size() % 10 * 9 / 10;
        validation.assign(ids.begin() + static_cast<std::ptrdiff_t>(train_count), ids.end());
        if (validation.size() < 2)
            failure(formatted("%s: %zu tokens are too few to keep 10 %% for validation", name.c_str(),
                              ids.size()));
        ids.resize(train_count);
    } else {
        validation = encode_named(training.tokenizer, text.validation, text.validated);
        if (validation.size() < 2)
            failure(formatted("%s: %zu tokens are too few to validate with", text.validated.c_str(),
                              validation.size()));
    }
    if (!masked) return next_tokens(training.trainer.get(), name, ids, std::move(validation));
    if (metadata(training.model, kMaskedTextKey) != mark)
        failure(name + ": the text is not the one that the checkpoint was trained on");
    MaskToken mask = mask_token(training.tokenizer);
    const std::int64_t known = vocabulary_of(training.model);
    if (mask.id >= known)
        failure(formatted("the model knows %lld tokens, and none of its tokenizer's stands for a hidden one",
                          static_cast<long long>(known)));
    mask.vocabulary = known;
    return masked_tokens(context, std::move(training.model), training.trainer.get(), mask, std::move(ids),
                         std::move(validation));
}

// ---- Pictures --------------------------------------------------------------------------------------------

// Options that are a text's, or pictures', alone.
void check_lesson(const Options& options, const Settings& s) {
    const bool of_pictures = s.pictures.is_given();
    s.pictures.check("voltac train", options);
    const bool of_documents = options.given("--jsonl");
    if (options.given("--text") + options.given("--dataset") + of_documents != 1)
        usage_error(
            "voltac train: it needs --text, --jsonl, or --dataset with --data (see voltac train --help)");
    if (of_documents && !s.tuning.is_given() && s.resume.empty())
        usage_error("voltac train: --jsonl needs --from, a model that is there, or --resume");
    if (!of_documents && options.given("--chat-format"))
        usage_error("voltac train: --chat-format is of the messages of --jsonl");
    if (!of_documents && s.packs) usage_error("voltac train: --pack is of the documents of --jsonl");
    if (options.given("--patience") && s.eval_every == 0)
        usage_error("voltac train: --patience counts the validations of --eval-every, which is not given");
    if (options.given("--extend") && s.resume.empty()) usage_error("voltac train: --extend needs --resume");
    if (!of_pictures && options.given("--split"))
        usage_error("voltac train: --split is of pictures; of a folder of texts the train part is learnt");
    for (const std::string& path : cut(s.pictures.data, ','))
        if (!path.empty() && same_file(path, s.out))
            usage_error("voltac train: --out and --data are the same file, '" + path + "'");
    const char* const of_texts[] = {"--preset", "--architecture", "--layers",  "--dim",
                                    "--heads",  "--kv-heads",     "--hidden",  "--context",
                                    "--beta1",  "--beta2",        "--dropout", "--tokenizer"};
    const char* const of_networks[] = {"--model",    "--epochs",          "--preprocess", "--augment",
                                       "--momentum", "--label-smoothing", "--eval-data"};
    for (const char* name : of_texts)
        if (of_pictures && options.given(name))
            usage_error(std::string("voltac train: ") + name + " is of a text, --dataset of pictures");
    for (const char* name : of_networks)
        if (!of_pictures && options.given(name) && !(of_documents && std::strcmp(name, "--epochs") == 0))
            usage_error(std::string("voltac train: ") + name +
                        (s.pictures.is_of_text() ? " is of pictures, --dataset text of a text"
                                                 : " is of pictures and needs --dataset"));
    if (options.given("--epochs") && options.given("--steps"))
        usage_error("voltac train: --epochs and --steps both say how long it runs");
    s.tuning.check(options, of_pictures);
    if (s.out.empty()) usage_error("voltac train: --out is required (see voltac train --help)");
}

// A model that has learnt something moves less.
void apply_tuning_defaults(Settings& s, const Options& options) {
    constexpr double kShare = 0.1;
    if (!s.tuning.is_given()) return;
    if (!options.given("--lr")) s.learning_rate *= kShare;
    if (!options.given("--final-lr")) s.final_learning_rate *= kShare;
}

// What is usual for networks of pictures, where the call says nothing.
void apply_picture_defaults(Settings& s, const Options& options) {
    constexpr std::int64_t kBatch = 128;
    constexpr double kRate = 0.1, kDecay = 5e-4;
    if (!options.given("--batch")) s.batch = kBatch;
    if (!options.given("--lr")) s.learning_rate = kRate;
    if (!options.given("--final-lr")) s.final_learning_rate = 0;
    if (!options.given("--weight-decay")) s.weight_decay = kDecay;
    if (!options.given("--clip")) s.clip = 0;
    if (!options.given("--warmup")) s.warmup = 0;
}

// A network for the data set, of the call's --model.
Model new_network(const Context& context, const Settings& s, const Dataset& dataset) {
    volta_dataset_info info = VOLTA_DATASET_INFO_INIT;
    check_data(volta_dataset_get_info(dataset.get(), &info));
    volta_network_options network = VOLTA_NETWORK_OPTIONS_INIT;
    network.name = s.network.c_str();
    network.classes = info.class_count;
    network.channels = info.channels;
    network.rows = info.height;
    network.columns = info.width;
    constexpr std::uint32_t kSmall = 64;  // pixels a side, below which nothing is left behind the large stem
    if (info.height > 0 && info.height < kSmall && info.width < kSmall) network.stem = VOLTA_STEM_SMALL;
    volta_model* made = nullptr;
    check(volta_model_create_network(context.get(), &network, static_cast<std::uint64_t>(s.seed), &made));
    Model model(made);
    set_preprocess(made,
                   parse_preprocess("voltac train: --preprocess", s.preprocess, picture_shape(model).rows));
    set_classes(made, class_names(dataset));
    return model;
}

// The network of --from, whose pictures are prepared as they were unless the call says otherwise.
Model tuned_network(const Context& context, const Settings& s, const Options& options,
                    const Dataset& dataset) {
    Model model = s.tuning.open(context, static_cast<std::uint64_t>(s.seed));
    const PictureShape shape = picture_shape(model);
    const std::vector<std::string> names = class_names(dataset);
    if (static_cast<std::int64_t>(names.size()) > shape.classes)
        failure(formatted("the data has %zu classes, the model %lld: --classes %zu gives it a new last layer",
                          names.size(), static_cast<long long>(shape.classes), names.size()));
    if (options.given("--preprocess"))
        set_preprocess(model.get(), parse_preprocess("voltac train: --preprocess", s.preprocess, shape.rows));
    if (s.tuning.classes > 0 || classes_of(model).empty()) set_classes(model.get(), names);
    return model;
}

Training new_picture_training(const Context& context, Settings& s, const Options& options,
                              const Dataset& dataset) {
    Model model =
        s.tuning.is_given() ? tuned_network(context, s, options, dataset) : new_network(context, s, dataset);
    set_augment(model.get(), s.augment);
    const PictureShape shape = picture_shape(model);
    const std::int64_t extents[] = {s.batch, shape.channels, shape.rows, shape.columns};
    if (!options.given("--steps"))
        s.steps =
            s.epochs * static_cast<std::int64_t>(batches_of(dataset, s.pictures, s.batch * s.accumulate));
    volta_trainer_options training = trainer_options(s, extents);
    training.input_extent_count = 4;
    training.optimizer = VOLTA_SGD;
    training.beta1 = training.beta2 = 0;  // AdamW's
    training.momentum = s.momentum;
    training.nesterov = s.momentum > 0;
    training.label_smoothing = s.label_smoothing;
    Trainer trainer = s.tuning.train(model.get(), training);
    return {std::move(model), std::move(trainer), Tokenizer()};
}

Training resumed_picture_training(const Context& context, const Settings& s) {
    Model model = s.tuning.resumed(context, s.resume);
    volta_trainer* trainer = nullptr;
    const volta_trainer_options of_run = resumed_options(s);
    if (volta_trainer_resume(model.get(), &of_run, &trainer) != VOLTA_OK)
        failure("--resume " + s.resume + ": " + volta_last_error());
    return {std::move(model), Trainer(trainer), Tokenizer()};
}

// Where the call names none, a folder's test part, if it has one.
Dataset validation_set(const Settings& s) {
    const DatasetChoice other = s.pictures.evaluated(s.evaluated);
    return s.evaluated.empty() ? other.open_if_there() : other.open();
}

// A longer plan than the checkpoint's.
void extend(const Settings& s, volta_trainer* trainer) {
    if (s.extend == 0) return;
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    check(volta_trainer_get_options(trainer, &options));
    check(volta_trainer_extend(trainer, options.steps + static_cast<std::uint64_t>(s.extend)));
}

int train_pictures(Settings& s, const Options& options) {
    apply_picture_defaults(s, options);
    apply_tuning_defaults(s, options);
    if (s.resume.empty()) lay_out_shards(s);
    const Context context = make_context(s.machine);
    const Group group = join(context, s.place);
    s.group = group.get();
    Dataset dataset = s.pictures.open();
    Training training = s.resume.empty() ? new_picture_training(context, s, options, dataset)
                                         : resumed_picture_training(context, s);
    extend(s, training.trainer.get());
    volta_trainer_options used = VOLTA_TRAINER_OPTIONS_INIT;
    check(volta_trainer_get_options(training.trainer.get(), &used));
    if (!s.resume.empty()) refuse_other_shards(options, s, used);
    const std::unique_ptr<Lesson> lesson =
        picture_lesson(context, std::move(training.model), training.trainer.get(), std::move(dataset),
                       s.pictures, validation_set(s));
    const auto pictures_per_step = static_cast<std::uint64_t>(used.input_shapes[0]) * used.micro_batches;
    return run_lesson(context, s, std::move(training.trainer), *lesson, used, pictures_per_step);
}

// ---- Lines of JSON ---------------------------------------------------------------------------------------

constexpr std::int64_t kDocumentEpochs = 3;

// So many steps that all rows of documents are seen --epochs times.
void plan_epochs(Settings& s, const Options& options, std::size_t rows) {
    if (options.given("--steps")) return;
    const std::int64_t epochs = options.given("--epochs") ? s.epochs : kDocumentEpochs,
                       of_step = s.batch * s.accumulate;
    s.steps = std::max<std::int64_t>(1, (epochs * static_cast<std::int64_t>(rows) + of_step - 1) / of_step);
    if (!options.given("--warmup")) s.warmup = std::min(s.warmup, s.steps / 10);
}

Trainer document_trainer(const Settings& s, const Model& model, const DocumentModel& kind,
                         std::int64_t window) {
    std::vector<std::int64_t> shapes;
    for (std::size_t i = 0; i < kind.inputs(); ++i) shapes.insert(shapes.end(), {s.batch, window});
    volta_trainer_options training = trainer_options(s, shapes.data());
    training.input_extent_count = shapes.size();
    training.packed_documents = s.packs;
    return s.tuning.train(model.get(), training);
}

volta_trainer_options options_of(const Trainer& trainer) {
    volta_trainer_options used = VOLTA_TRAINER_OPTIONS_INIT;
    check(volta_trainer_get_options(trainer.get(), &used));
    return used;
}

Trainer resumed_trainer(const Settings& s, const Model& model) {
    volta_trainer* trainer = nullptr;
    const volta_trainer_options of_run = resumed_options(s);
    if (volta_trainer_resume(model.get(), &of_run, &trainer) != VOLTA_OK)
        failure("--resume " + s.resume + ": " + volta_last_error());
    return Trainer(trainer);
}

void check_resumed_documents(const Settings& s, const Options& options, const Model& model,
                             const Trainer& trainer, const Tokenizer& tokenizer, const std::string& mark) {
    const volta_trainer_options checkpoint = options_of(trainer);
    refuse_contradictions(options, s, model, checkpoint, tokenizer);
    if (metadata(model, kDocumentsKey) != mark)
        failure(shown_name(s.jsonl) + ": the documents are not those that the checkpoint was trained on");
    if (s.packs && checkpoint.packed_documents == 0)
        usage_error("voltac train: --pack is given, the checkpoint's documents have a row each");
}

int train_documents(Settings& s, const Options& options) {
    apply_preset(s);  // the batch
    apply_tuning_defaults(s, options);
    const bool resumes = !s.resume.empty();
    if (!resumes) lay_out_shards(s);
    const Context context = make_context(s.machine);
    const Group group = join(context, s.place);
    s.group = group.get();
    Model model = resumes ? s.tuning.resumed(context, s.resume)
                          : s.tuning.open(context, static_cast<std::uint64_t>(s.seed));
    if (!s.chat_format.empty())
        check(volta_model_set_chat_format(model.get(), s.chat_format.c_str(), nullptr));
    const Tokenizer tokenizer = tokenizer_of(model);
    const std::string name = shown_name(s.jsonl);
    Trainer trainer;
    if (resumes) trainer = resumed_trainer(s, model);
    const std::int64_t most = resumes ? options_of(trainer).input_shapes[1]
                                      : window_of(model, options.given("--context") ? s.sizes.context : 0);
    std::vector<Document> documents = parse_documents(name, read_text(s.jsonl), model, tokenizer,
                                                      classes_of(model), static_cast<std::size_t>(most));
    const std::string mark = documents_mark(documents);
    const DocumentModel kind = document_model(model, documents, name);
    DocumentLists lists;
    if (resumes) {
        check_resumed_documents(s, options, model, trainer, tokenizer, mark);
        extend(s, trainer.get());
        lists = cut_documents(std::move(documents), kind, most, name);
        lay_out_rows(lists, kind, most, options_of(trainer).packed_documents != 0);
    } else {
        if (s.packs && kind.classifies)
            failure(name + ": the documents have labels, and each of them needs a row: --pack is of others");
        const std::int64_t window = s.packs ? most : document_window(documents, kind, most);
        lists = cut_documents(std::move(documents), kind, window, name);
        lay_out_rows(lists, kind, window, s.packs);
        if (s.packs && s.place.speaks()) tell_packing(name, lists, kind, window);
        plan_epochs(s, options, lists.rows.size());
        check(volta_model_set_metadata(model.get(), kDocumentsKey, mark.c_str()));
        trainer = document_trainer(s, model, kind, window);
    }
    const volta_trainer_options used = options_of(trainer);
    const std::unique_ptr<Lesson> lesson =
        document_lesson(context, std::move(model), trainer.get(), kind, std::move(lists));
    const auto tokens_per_step =
        static_cast<std::uint64_t>(used.input_shapes[0] * used.input_shapes[1]) * used.micro_batches;
    return run_lesson(context, s, std::move(trainer), *lesson, used, tokens_per_step);
}

constexpr char kDescription[] =
    "Trains a GPT, a Llama or a BERT on a text, or a network on pictures. Deterministic: at level strict the "
    "same call gives the same bits on any machine.";

// Whether it could be written now: a file, or a folder.
void check_out(const Options& options, Settings& s) {
    if (s.is_sharded) {
        s.out = without_slashes(s.out);
        return check_folder_writable("--out", s.out);
    }
    if (s.out.back() == '/' || is_folder(s.out))
        failure("--out: cannot write '" + s.out + "': it is a directory; with --sharded a checkpoint is one");
    if (!options.given("--out")) options.check_output("--out", s.out);
}

void parse(const std::vector<std::string>& arguments, Options& options, Settings& s) {
    declare(options, s);
    options.parse(arguments);
    if (s.out.empty()) {
        s.out = s.resume;
        s.is_sharded = s.is_sharded || is_folder(s.resume);
    }
    check_lesson(options, s);
    check_out(options, s);
    if (s.tuning.is_given() && same_file(s.out, s.tuning.from) &&
        (s.tuning.lora.is_given() || !s.resume.empty()))
        usage_error("voltac train: --out and --from are the same file, and adapters need their base");
    check_shards(s);
}

}  // namespace

TrainCall read_train_call(const std::vector<std::string>& arguments) {
    Settings s;
    Options options("train", kDescription);
    parse(arguments, options, s);
    TrainCall call;
    call.out = s.out;
    call.is_sharded = s.is_sharded;
    call.shards = !s.resume.empty() && !options.given("--shards") ? 0 : s.shards;
    call.reads_input = s.text == kStandardStream || s.jsonl == kStandardStream;
    call.has_adapters = s.tuning.lora.is_given() || !s.resume.empty();
    call.extends = s.extend > 0;
    call.has_threads = options.given("--threads");
    return call;
}

int run_train(const std::vector<std::string>& arguments) {
    Settings s;
    Options options("train", kDescription);
    parse(arguments, options, s);
    s.place = place_of_environment("voltac train");
    s.machine.device = device_of(s.place, s.machine.device);
    if (s.pictures.is_given()) return train_pictures(s, options);
    if (!s.jsonl.empty()) return train_documents(s, options);
    if (s.resume.empty()) {
        apply_preset(s);
        apply_tuning_defaults(s, options);
        check_settings(s, options);
        lay_out_shards(s);
    } else if (s.out.empty()) {
        usage_error("voltac train: --out is required (see voltac train --help)");
    }
    const TextSource source(s.text, s.pictures);
    LearntText text = read_learnt_text("voltac train", source);

    const Context context = make_context(s.machine);
    const Group group = join(context, s.place);
    s.group = group.get();
    Training training = !s.resume.empty()     ? resumed_training(context, s, options)
                        : s.tuning.is_given() ? tuned_training(context, s, options, text.train)
                                              : new_training(context, s, text.train);
    extend(s, training.trainer.get());
    const std::unique_ptr<Lesson> lesson = make_lesson(context, training, source.name(), text);
    lesson->validated = text.validated;
    training.model.reset();  // the trainer has its own copy
    text = {};

    volta_trainer_options used = VOLTA_TRAINER_OPTIONS_INIT;
    check(volta_trainer_get_options(training.trainer.get(), &used));
    const auto tokens_per_step =
        static_cast<std::uint64_t>(used.input_shapes[0] * used.input_shapes[1]) * used.micro_batches;
    return run_lesson(context, s, std::move(training.trainer), *lesson, used, tokens_per_step);
}

}  // namespace voltac
