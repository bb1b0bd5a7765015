// voltac plan: what training a model needs, before anything runs: the bill of the very plan that would run,
// the time that it takes at least, and the largest batch that a memory holds.
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/architectures.h"
#include "cli/bench_models.h"
#include "cli/bench_timing.h"
#include "cli/commands.h"
#include "cli/graphs.h"
#include "cli/memory_picture.h"
#include "cli/options.h"
#include "cli/training_memory.h"

namespace voltac {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostBatch = 1 << 20;

struct OptimizerName {
    const char* name;
    volta_optimizer id;
};
constexpr OptimizerName kOptimizers[] = {
    {"adamw", VOLTA_ADAMW}, {"adam", VOLTA_ADAM}, {"sgd", VOLTA_SGD}, {"adagrad", VOLTA_ADAGRAD}};

struct Settings {
    std::string model, preset, optimizer = "adamw", batches, lengths;
    std::int64_t accumulate = 1;
    double clip = 1;
    TrainingMemory memory;
    bool json = false, picture = false;
    std::string svg;
    Machine machine;

    bool has_pictures() const { return picture || !svg.empty(); }
};

std::vector<std::int64_t> parse_list(const char* option, const std::string& given) {
    std::vector<std::int64_t> numbers;
    std::size_t at = 0;
    while (at <= given.size()) {
        const std::size_t end = std::min(given.find(',', at), given.size());
        const std::string word = given.substr(at, end - at);
        char* rest = nullptr;
        const long long number = std::strtoll(word.c_str(), &rest, 10);
        if (word.empty() || *rest != '\0' || number < 1 || number > kMostBatch)
            usage_error(
                formatted("voltac plan: %s is '%s', it must be whole numbers in 1 .. %lld between commas",
                          option, given.c_str(), static_cast<long long>(kMostBatch)));
        numbers.push_back(number);
        at = end + 1;
    }
    return numbers;
}

// The model, and the extents of its inputs that are open: the first is the batch, the second the length.
class Candidate {
  public:
    Candidate(const Context& context, const Settings& s) : settings_(s) {
        if (!s.preset.empty()) {
            const Preset& preset = bench::preset_of(s.preset);
            model_ = bench::language_subject(context, preset, preset.bench_vocabulary, preset.batch,
                                             preset.bench_seq)
                         .model;
            usual_batch_ = preset.batch;
            usual_length_ = preset.bench_seq;
            return;
        }
        model_ = open_model(context, s.model);
        const std::string window = model_size(model_, "context");
        usual_length_ = window.empty() ? 0 : std::strtoll(window.c_str(), nullptr, 10);
    }

    std::int64_t usual_batch() const { return usual_batch_; }
    std::int64_t usual_length() const { return usual_length_; }

    // OUT_OF_MEMORY: it does not fit, volta_last_error says what it needs.
    volta_status estimate(std::int64_t batch, std::int64_t length, const volta_machine_speed* speed,
                          volta_bill* bill, volta_training_cost* cost) const {
        return with_options(batch, length, [&](const volta_trainer_options& options) {
            return volta_trainer_estimate(model_.get(), &options, speed, bill, cost);
        });
    }

    PlanSteps steps(std::int64_t batch, std::int64_t length) const {
        PlanSteps found;
        check(with_options(batch, length, [&](const volta_trainer_options& options) {
            found = plan_steps(model_, options);
            return volta_status{VOLTA_OK};
        }));
        return found;
    }

  private:
    using Use = std::function<volta_status(const volta_trainer_options&)>;
    volta_status with_options(std::int64_t batch, std::int64_t length, const Use& use) const {
        const std::vector<std::int64_t> shape = input_shapes(batch, length);
        volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
        options.input_shapes = shape.data();
        options.input_extent_count = shape.size();
        for (const OptimizerName& row : kOptimizers)
            if (settings_.optimizer == row.name) options.optimizer = row.id;
        options.micro_batches = static_cast<std::uint64_t>(settings_.accumulate);
        options.clip_norm = settings_.clip;
        settings_.memory.fill(options);
        return use(options);
    }

    std::vector<std::int64_t> input_shapes(std::int64_t batch, std::int64_t length) const {
        std::vector<std::int64_t> shapes;
        for (std::size_t i = 0; i < volta_model_input_count(model_.get()); ++i) {
            volta_tensor_info info;
            check(volta_model_input_info(model_.get(), i, &info));
            const std::int64_t open[] = {batch, length};
            std::size_t next = 0;
            for (std::int32_t axis = 0; axis < info.rank; ++axis) {
                if (info.shape[axis] >= 0) {
                    shapes.push_back(info.shape[axis]);
                    continue;
                }
                if (next == 2)
                    failure(formatted("input %s has more open extents than a batch and a length", info.name));
                if (open[next] == 0)
                    usage_error(formatted("voltac plan: --seq is required: extent %d of input %s is open",
                                          axis, info.name));
                shapes.push_back(open[next++]);
            }
        }
        return shapes;
    }

    const Settings& settings_;
    Model model_;
    std::int64_t usual_batch_ = 1, usual_length_ = 0;
};

// The largest batch that fits: batches that fit are found by doubling, the limit by halves.
std::int64_t largest_batch(const Candidate& candidate, std::int64_t length) {
    const auto fits = [&](std::int64_t batch) {
        const volta_status status = candidate.estimate(batch, length, nullptr, nullptr, nullptr);
        if (status != VOLTA_OK && status != VOLTA_OUT_OF_MEMORY) check(status);
        return status == VOLTA_OK;
    };
    std::int64_t low = 0, high = 1;
    for (; high <= kMostBatch && fits(high); high *= 2) low = high;
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (fits(middle) ? low : high) = middle;
    }
    return low;
}

Json row_of(const Candidate& candidate, std::int64_t batch, std::int64_t length,
            const volta_machine_speed& speed) {
    volta_bill bill = VOLTA_BILL_INIT;
    volta_training_cost cost = VOLTA_TRAINING_COST_INIT;
    Json row = {{"batch", batch}};
    if (length != 0) row["seq"] = length;
    const volta_status status = candidate.estimate(batch, length, &speed, &bill, &cost);
    if (status == VOLTA_OUT_OF_MEMORY) {
        row["refused"] = volta_last_error();
        return row;
    }
    check(status);
    row["bill"] = {{"total", bill.total},
                   {"parameters", bill.parameters},
                   {"gradients", bill.gradients},
                   {"optimizer_state", bill.optimizer_state},
                   {"activations", bill.activations},
                   {"workspace", bill.workspace},
                   {"staging", bill.staging}};
    row["smallest_activations"] = cost.smallest_activations;
    row["operations"] = cost.operations;
    row["repeated_operations"] = cost.repeated_operations;
    row["bytes"] = cost.bytes;
    row["least_seconds"] = cost.seconds;
    return row;
}

// The pictures of the rows that fit.
std::vector<SvgPanel> pictures_of(const Candidate& candidate, const Json& rows) {
    std::vector<SvgPanel> panels;
    for (const Json& row : rows) {
        if (row.contains("refused")) continue;
        const auto batch = row["batch"].get<std::int64_t>();
        const std::int64_t length = row.contains("seq") ? row["seq"].get<std::int64_t>() : 0;
        const std::string of_length =
            length == 0 ? "" : formatted(", seq %lld", static_cast<long long>(length));
        panels.push_back(
            {formatted("activations, batch %lld%s", static_cast<long long>(batch), of_length.c_str()),
             candidate.steps(batch, length)});
    }
    return panels;
}

// Of as many rows as there are panels, in their order: arrays with an element for each step.
void add_steps(Json& rows, const std::vector<SvgPanel>& panels) {
    auto panel = panels.begin();
    for (Json& row : rows) {
        if (row.contains("refused")) continue;
        Json operations = Json::array(), alive = Json::array(), parts = Json::array();
        for (const PlanStep& step : (panel++)->steps) {
            operations.push_back(step.operation);
            alive.push_back(step.alive);
            parts.push_back(part_name(step.part));
        }
        row["steps"] = {{"operation", operations}, {"alive", alive}, {"part", parts}};
    }
}

std::string table_of(const Json& rows) {
    std::string text = formatted("%6s %6s %10s %11s %11s %11s %11s %11s %12s %9s %8s\n", "batch", "seq",
                                 "total", "parameters", "gradients", "optimizer", "activations", "workspace",
                                 "least", "again", "time");
    for (const Json& row : rows) {
        const std::string length = row.contains("seq") ? std::to_string(row["seq"].get<std::int64_t>()) : "-";
        text +=
            formatted("%6lld %6s ", static_cast<long long>(row["batch"].get<std::int64_t>()), length.c_str());
        if (row.contains("refused")) {
            text += row["refused"].get<std::string>() + "\n";
            continue;
        }
        const Json& bill = row["bill"];
        const auto bytes = [&](const char* key) { return memory_text(bill[key].get<double>()); };
        text += formatted(
            "%10s %11s %11s %11s %11s %11s %12s %8.1f%% %6.0f ms\n", bytes("total").c_str(),
            bytes("parameters").c_str(), bytes("gradients").c_str(), bytes("optimizer_state").c_str(),
            bytes("activations").c_str(), bytes("workspace").c_str(),
            memory_text(row["smallest_activations"].get<double>()).c_str(),
            row["operations"].get<double>() > 0
                ? 100 * row["repeated_operations"].get<double>() / row["operations"].get<double>()
                : 0.0,
            1e3 * row["least_seconds"].get<double>());
    }
    return text;
}

void declare(Options& options, Settings& s) {
    options.optional_positional("model", s.model, "a model file");
    options.choice("--preset", s.preset, preset_names(),
                   "instead of a file: a language model of these sizes");
    options.text("--batch", s.batches, "batches to plan, between commas (default: 1; of a preset its own)");
    options.text("--seq", s.lengths,
                 "lengths to plan, between commas (default: the model's context; of a preset its own)");
    options.integer("--accumulate", s.accumulate, 1, 1000000, "micro-batches per step (default: 1)");
    options.choice("--optimizer", s.optimizer, {"adamw", "adam", "sgd", "adagrad"},
                   "whose moments are held (default: adamw)");
    options.number("--clip", s.clip, 0, 1e6, "largest global gradient norm; 0: none (default: 1)");
    s.memory.declare(options, s.machine);
    options.flag("--picture", s.picture,
                 "draw what activations hold while a step runs, for each row that fits; with --json the "
                 "numbers, as arrays");
    options.output("--svg", s.svg, kPictureOutput, "the same pictures as an SVG file to write");
    options.flag("--json", s.json, "one JSON object");
    options.machine(s.machine);
    options.config();
}

}  // namespace

int run_plan(const std::vector<std::string>& arguments) {
    Settings s;
    Options options(
        "plan",
        "What training a model needs, before anything runs. The bill is of the very plan that would "
        "run, to the byte; 'least' is the smallest --activation-memory that works; 'again' is the "
        "share of a step's operations that is computed again; 'time' is what a step takes at least "
        "at the speed measured now. With --memory also the largest batch that fits.");
    declare(options, s);
    options.parse(arguments);
    if (s.model.empty() == s.preset.empty())
        usage_error("voltac plan: give a model file or --preset (see voltac plan --help)");

    const Context context = make_context(s.machine);
    const Candidate candidate(context, s);
    const std::vector<std::int64_t> batches = s.batches.empty()
                                                  ? std::vector<std::int64_t>{candidate.usual_batch()}
                                                  : parse_list("--batch", s.batches);
    const std::vector<std::int64_t> lengths = s.lengths.empty()
                                                  ? std::vector<std::int64_t>{candidate.usual_length()}
                                                  : parse_list("--seq", s.lengths);
    const volta_machine_speed speed = bench::measure_machine(context);
    Json plan = {{"model", s.preset.empty() ? s.model : s.preset}, {"optimizer", s.optimizer}};
    plan["rows"] = Json::array();
    for (const std::int64_t length : lengths)
        for (const std::int64_t batch : batches)
            plan["rows"].push_back(row_of(candidate, batch, length, speed));
    if (s.machine.memory != 0) {
        plan["memory"] = s.machine.memory;
        plan["largest"] = Json::array();
        for (const std::int64_t length : lengths)
            plan["largest"].push_back({{"seq", length}, {"batch", largest_batch(candidate, length)}});
    }
    const std::vector<SvgPanel> panels =
        s.has_pictures() ? pictures_of(candidate, plan["rows"]) : std::vector<SvgPanel>();
    if (!s.svg.empty())
        write_text(s.svg, svg_picture("Activations of a training step, " + plan["model"].get<std::string>(),
                                      panels));
    if (s.json) {
        if (s.picture) add_steps(plan["rows"], panels);
        print(json_text(plan) + "\n");
        return 0;
    }
    std::string text = table_of(plan["rows"]);
    if (plan.contains("largest"))
        for (const Json& row : plan["largest"])
            text += formatted(
                "largest batch in %s%s: %lld\n", memory_text(static_cast<double>(s.machine.memory)).c_str(),
                row["seq"].get<std::int64_t>() == 0
                    ? ""
                    : formatted(" of length %lld", static_cast<long long>(row["seq"].get<std::int64_t>()))
                          .c_str(),
                static_cast<long long>(row["batch"].get<std::int64_t>()));
    if (s.picture)
        for (const SvgPanel& panel : panels) text += "\n" + panel.heading + "\n" + text_picture(panel.steps);
    print(text);
    return 0;
}

}  // namespace voltac
