// voltac bench infer: a prompt, then one token after the other, beside what reading the weights takes.
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/architectures.h"
#include "cli/bench.h"
#include "cli/bench_case.h"
#include "cli/bench_device.h"
#include "cli/bench_kv.h"
#include "cli/bench_models.h"
#include "cli/bench_networks.h"
#include "cli/bench_timing.h"
#include "cli/bench_writers.h"
#include "cli/profile.h"

namespace voltac::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kTokens = 64;
constexpr std::int64_t kSpeedupTokens = 8;  // drawn with and without a cache, to compare

struct Settings {
    std::string model, preset = "tiny", load = "map", weights;
    std::int64_t prompt = 32, tokens = 0, batch = 1;  // tokens 0: kTokens, or what the context leaves
    std::vector<std::int32_t> kv_positions;
    bool csv = false, no_speedup = false, kv_sweep = false;
    Draws draws;
    Repeats repeats;
    ProfileFile profile{"voltac bench infer"};
};

struct Result {
    std::string name;
    double parameters = 0;
    Timing opening;  // of the model's file; 0 seconds: a preset has none
    Timing prefill;  // of the prompt of one sequence, its first token drawn
    double decode_p50 = 0, decode_p95 = 0, decode_spread = 0;  // seconds of one step of the whole batch
    volta_token_cost cost = VOLTA_TOKEN_COST_INIT;             // of the token in the middle
    double kv_speedup = 0;                                     // 0: not measured
    std::vector<KvRow> kv_rows;
    std::uint64_t cache = 0, resident = 0;
    Moved moved;  // by one step of the whole batch
    volta_machine_speed speed =
        VOLTA_MACHINE_SPEED_INIT;  // the medians of what was measured between the runs
    double fraction_of_bandwidth = 0;
    ProfileData profile;  // operators of one more run
};

Model stored(Model&& model, const Settings& s) {
    if (s.weights.empty() || s.weights == "f32") return std::move(model);
    volta_model* made = nullptr;
    check(volta_model_quantize(model.get(), stored_dtype(s.weights), &made));
    return Model(made);
}

Model model_of(const Context& context, const Settings& s, Result& result) {
    if (s.model.empty()) {
        const Preset& preset = preset_of(s.preset);
        result.name = std::string(preset.name) + (s.weights.empty() ? "" : " " + s.weights);
        return stored(
            std::move(language_subject(context, preset, preset.bench_vocabulary, 1, preset.bench_seq).model),
            s);
    }
    result.name = s.model;
    const auto open = [&] { return open_model(context, s.model, s.load); };
    result.opening = time_samples(s.repeats, [&] {
        const Clock::time_point start = Clock::now();
        const Model opened = open();
        return seconds_since(start);
    });
    return open();
}

double quantile(std::vector<double>& samples, double q) {
    std::sort(samples.begin(), samples.end());
    return samples[static_cast<std::size_t>(std::ceil(q * static_cast<double>(samples.size()))) - 1];
}

// Weights are read once for the whole batch, every sequence's cache for itself.
double bytes_per_step(const Settings& s, const Result& r) {
    return static_cast<double>(r.cost.parameter_bytes) +
           static_cast<double>(s.batch) * static_cast<double>(r.cost.cache_bytes);
}

// A neighbour's load comes and goes while the runs last, so each of them is divided by what memory gave right
// before and after it.
void measure_steps(const Context& context, Writers& writers, const Settings& s, Result& result) {
    std::vector<double> samples, fractions;
    Peaks peaks(context);
    for (std::int64_t run = -s.repeats.warmup; run < s.repeats.runs; ++run) {
        std::vector<double> steps;
        writers.restart();
        writers.step();
        for (std::int64_t i = 1; i < s.tokens; ++i) steps.push_back(seconds_of([&] { writers.step(); }));
        if (run == -s.repeats.warmup) result.resident = resident_peak_bytes();  // before the peaks' buffer
        if (run >= -1) peaks.measure();
        if (run < 0) continue;
        samples.insert(samples.end(), steps.begin(), steps.end());
        fractions.push_back(bytes_per_step(s, result) / quantile(steps, 0.5) * 1e-9 /
                            peaks.around().read_gb_s);
    }
    result.decode_spread = summarize(samples).spread;
    result.decode_p50 = quantile(samples, 0.5);
    result.decode_p95 = quantile(samples, 0.95);
    result.fraction_of_bandwidth = summarize(fractions).seconds;
    result.speed = peaks.medians();
}

// Runs with and without a cache take turns.
double measure_speedup(Writers& cached, const Model& model, const Settings& s) {
    Writers whole(model, s.prompt, 1, VOLTA_GENERATOR_NO_CACHE);
    const std::int64_t tokens = std::min(kSpeedupTokens, s.tokens);
    std::vector<double> with, without;
    for (std::int64_t run = 0; run < s.repeats.runs + 1; ++run) {
        with.push_back(seconds_to_draw(cached, tokens));
        without.push_back(seconds_to_draw(whole, tokens));
    }
    return summarize(without).seconds / summarize(with).seconds;
}

// The second token after the prompts, as every further one.
Moved moved_by_step(const Context& context, Writers& writers) {
    if (device_of(context).memory_bytes == 0) return {};
    writers.restart();
    writers.step();
    return moved_by(context, [&] { writers.step(); });
}

// One run that is not timed: the prompts, and the tokens after them.
ProfileData profile_run(const Context& context, Writers& writers, const Settings& s) {
    writers.restart();
    start_profile(context, s.profile.is_wanted() ? 0 : 1);  // the table of operators needs no events
    for (std::int64_t i = 0; i < s.tokens; ++i) writers.step();
    s.profile.is_wanted() ? s.profile.finish(context) : stop_profile(context);
    return read_profile(context, false);
}

// Before anything is measured: prompt, tokens and positions have to fit into the model's context, where it
// has one.
void fit_tokens(const Model& model, const std::string& name, Settings& s) {
    const std::int64_t context = std::strtoll(model_size(model, "context").c_str(), nullptr, 10);
    const std::int64_t most = context > 0 ? context - s.prompt : 1 << 20,
                       wanted = s.tokens > 0 ? s.tokens : 2;
    if (wanted > most)
        usage_error(formatted(
            "voltac bench infer: %lld prompt tokens and %lld behind them need a context of %lld, %s has %lld",
            static_cast<long long>(s.prompt), static_cast<long long>(wanted),
            static_cast<long long>(s.prompt + wanted), name.c_str(), static_cast<long long>(context)));
    for (const std::int32_t position : s.kv_positions)
        if (context > 0 && position >= context)
            usage_error(formatted("voltac bench infer: --kv-position is %d, %s has positions 0 to %lld",
                                  position, name.c_str(), static_cast<long long>(context - 1)));
    if (s.tokens == 0) s.tokens = std::min(kTokens, most);
}

Result measure(const Context& context, Settings& s) {
    Result result;
    const Model model = model_of(context, s, result);
    fit_tokens(model, result.name, s);
    result.parameters = parameter_count(model);
    {
        Writers one(model, s.prompt, 1, 0);
        result.prefill = time_calls(s.repeats, [&] { seconds_to_draw(one, 1); });
        if (!s.no_speedup && *volta_generator_no_cache_reason(one.get()) == '\0')
            result.kv_speedup = measure_speedup(one, model, s);
        for (const std::int32_t position : s.kv_positions)
            result.kv_rows.push_back(measure_kv_step(model, position, s.repeats.runs));
        if (s.kv_sweep) add_kv_sweep(model, s.repeats.runs, result.kv_rows);
        check(volta_generator_get_cost(one.get(), s.prompt + s.tokens / 2, &result.cost));
    }
    {
        Writers all(model, s.prompt, s.batch, 0, s.draws);
        measure_steps(context, all, s, result);
        volta_bill bill = VOLTA_BILL_INIT;
        check(volta_generator_get_bill(all.get(), &bill));
        result.cache = bill.cache;
        result.moved = moved_by_step(context, all);
        result.profile = profile_run(context, all, s);
    }
    return result;
}

Json as_json(const Settings& s, const Result& r) {
    const double bytes = bytes_per_step(s, r), batch = static_cast<double>(s.batch);
    Json line = {{"model", r.name},
                 {"parameters", static_cast<std::uint64_t>(r.parameters)},
                 {"threads", r.speed.thread_count},
                 {"isa", isa_name(r.speed.isa)},
                 {"load", s.model.empty() ? "copy" : s.load},
                 {"open_ms", r.opening.seconds > 0 ? Json(r.opening.seconds * 1e3) : Json()},
                 {"prompt_tokens", s.prompt},
                 {"tokens", s.tokens},
                 {"batch", s.batch},
                 {"temperature", s.draws.temperature},
                 {"prefill_tokens_per_s", static_cast<double>(s.prompt) / r.prefill.seconds},
                 {"prefill_spread", r.prefill.spread},
                 {"decode_ms_p50", r.decode_p50 * 1e3},
                 {"decode_ms_p95", r.decode_p95 * 1e3},
                 {"decode_spread", r.decode_spread},
                 {"tokens_per_s", batch / r.decode_p50},
                 {"bytes_per_token", bytes / batch},
                 {"read_gb_per_s", bytes / r.decode_p50 * 1e-9},
                 {"fraction_of_bandwidth", r.fraction_of_bandwidth},
                 {"fraction_of_peak", batch * r.cost.operations / r.decode_p50 * 1e-9 / r.speed.fma_gflops},
                 {"kv_speedup", r.kv_speedup > 0 ? Json(r.kv_speedup) : Json()},
                 {"cache_mib", static_cast<double>(r.cache) / kMiB},
                 {"resident_mib", static_cast<double>(r.resident) / kMiB}};
    add_moved(line, r.moved);
    add_arithmetic(line, s.repeats.machine);
    return line;
}

Json operators_as_json(const ProfileData& profile) {
    Json rows = Json::array();
    for (const volta_profile_operator& row : profile.operators) {
        const double ns = static_cast<double>(row.total_ns);
        rows.push_back(
            {{"name", row.name},
             {"calls", row.calls},
             {"total_ms", ns * 1e-6},
             {"share", row.share},
             {"gflops", row.operations > 0 && ns > 0 ? Json(row.operations / ns) : Json()},
             {"gb_per_s", row.bytes > 0 && ns > 0 ? Json(static_cast<double>(row.bytes) / ns) : Json()}});
    }
    return rows;
}

std::string operators_as_text(const ProfileData& profile) {
    std::string text = formatted("operators of one run: %.3f ms of %.3f ms are steps\n",
                                 static_cast<double>(profile.info.steps_ns) * 1e-6,
                                 static_cast<double>(profile.info.calls_ns) * 1e-6);
    text += formatted("  %-24s %8s %12s %8s\n", "operator", "calls", "total ms", "share");
    for (const volta_profile_operator& row : profile.operators) {
        text +=
            formatted("  %-24s %8llu %12.3f %6.1f %%", row.name, static_cast<unsigned long long>(row.calls),
                      static_cast<double>(row.total_ns) * 1e-6, 100 * row.share);
        const std::string rate = rate_of(row);
        text += (rate.empty() ? "" : "  " + rate) + "\n";
    }
    return text;
}

std::string as_csv(const Json& row) {
    std::string head, values;
    for (const auto& [key, value] : row.items()) {
        head += (head.empty() ? "" : ",") + key;
        values += (values.empty() ? "" : ",") +
                  csv_field(value.is_string() ? as_utf8(value.get<std::string>()) : json_text(value));
    }
    return head + "\n" + values + "\n";
}

std::string as_text(const Context& context, const Settings& s, const Result& r) {
    const double bytes = bytes_per_step(s, r);
    std::string text = machine_line(context, r.speed);
    text += formatted("model              %s, %.2f M parameters\n", one_line(r.name).c_str(),
                      r.parameters * 1e-6);
    if (r.opening.seconds > 0)
        text += formatted("opened             in %.3f ms, spread %.1f %%\n", r.opening.seconds * 1e3,
                          100 * r.opening.spread);
    text += formatted("prompt             %lld tokens in %.3f ms, %.0f tokens per second, spread %.1f %%\n",
                      static_cast<long long>(s.prompt), r.prefill.seconds * 1e3,
                      static_cast<double>(s.prompt) / r.prefill.seconds, 100 * r.prefill.spread);
    text += formatted("one step           %.3f ms, 95 of 100 within %.3f ms, for %lld sequence%s\n",
                      r.decode_p50 * 1e3, r.decode_p95 * 1e3, static_cast<long long>(s.batch),
                      s.batch == 1 ? "" : "s");
    text +=
        formatted("rate               %.1f tokens per second\n", static_cast<double>(s.batch) / r.decode_p50);
    text += formatted(
        "bytes read         %.3f MB, %.1f GB/s, %.1f %% of the machine's; %.1f %% of its peak\n",
        bytes * 1e-6, bytes / r.decode_p50 * 1e-9, 100 * r.fraction_of_bandwidth,
        100 * static_cast<double>(s.batch) * r.cost.operations / r.decode_p50 * 1e-9 / r.speed.fma_gflops);
    if (r.kv_speedup > 0)
        text +=
            formatted("cache              %.2f times as fast as without, for %lld tokens after the prompt\n",
                      r.kv_speedup, static_cast<long long>(std::min(kSpeedupTokens, s.tokens)));
    text += kv_text(r.kv_rows);
    text += formatted("memory             cache %.1f MiB, resident at most %.1f MiB\n",
                      static_cast<double>(r.cache) / kMiB, static_cast<double>(r.resident) / kMiB);
    text += moved_text(r.moved);
    text += operators_as_text(r.profile);
    return text;
}

}  // namespace

int run_infer(const std::vector<std::string>& arguments) {
    Settings s;
    s.repeats.runs = 5;
    s.repeats.warmup = 1;
    Options options(
        "bench infer",
        "A prompt of random tokens, then tokens one by one, greedy unless options say how to draw them, of a "
        "language model. Bytes read are the "
        "weights, once per step, and the cache at the middle of the tokens; they are divided by the read "
        "bandwidth that the machine has from memory, measured before and after each run (the median of "
        "the runs' ratios counts), with --device cuda by that of copies within the device's "
        "memory: a model whose weights stay in a cache may exceed it. Of a network of pictures (a preset): "
        "one "
        "picture at a time, then --batch of them. "
        "Operators are those of one more run, which is not timed; --profile writes that run.");
    std::string positional;
    options.optional_positional("MODEL", positional, "a model file; default: the preset with random weights");
    options.input("--model", s.model, kModel, "the same as MODEL");
    options.choice("--preset", s.preset, all_preset_names(),
                   "(default: tiny); those of networks are of pictures");
    options.choice("--weights", s.weights, with_stored_names({"f32"}),
                   "how the preset's weights are stored (default: f32)");
    options.load(s.load);
    options.integer("--prompt-tokens", s.prompt, 1, 1 << 20, "of the prompt (default: 32)");
    options.integer("--tokens", s.tokens, 2, 1 << 20,
                    "drawn after it (default: 64, or what the context leaves)");
    options.integer("--batch", s.batch, 1, 65536,
                    "sequences at once (default: 1); pictures, beside one (default: 128 of "
                    "resnet20, else 32)");
    options.draws(s.draws);
    options.flag("--no-speedup", s.no_speedup, "do not compare with a generator without a cache");
    options.integers("--kv-position", s.kv_positions, 2, 1 << 20,
                     "also the step that draws this token, with and without a cache; as often as wanted");
    options.flag("--kv-sweep", s.kv_sweep,
                 "also many prompts and lengths with and without a cache, up to the model's context");
    options.flag("--csv", s.csv, "comma-separated values on standard output");
    s.profile.declare(options);
    declare(options, s.repeats);
    options.parse(arguments);
    if (s.repeats.json && s.csv) usage_error("voltac bench infer: --json and --csv exclude each other");
    if (s.csv && (!s.kv_positions.empty() || s.kv_sweep))
        usage_error("voltac bench infer: --kv-position and --kv-sweep give several rows, --csv has one");
    if (options.given("MODEL") && options.given("--model"))
        usage_error("voltac bench infer: MODEL and --model exclude each other");
    const bool from_file = options.given("MODEL") || options.given("--model");
    if (options.given("MODEL")) s.model = positional;
    if (from_file && options.given("--preset"))
        usage_error("voltac bench infer: a model file and --preset exclude each other");
    if (from_file && options.given("--weights"))
        usage_error(
            "voltac bench infer: --weights is for presets; voltac quantize stores the weights of a model "
            "file");
    if (!from_file && is_network(s.preset)) {
        for (const char* name :
             {"--weights", "--load", "--prompt-tokens", "--tokens", "--temperature", "--top-k", "--top-p",
              "--min-p", "--repetition-penalty", "--no-speedup", "--kv-position", "--kv-sweep"})
            if (options.given(name))
                usage_error(std::string("voltac bench infer: ") + name + " is of language models, " +
                            s.preset + " of pictures");
        return infer_network({s.preset, options.given("--batch") ? s.batch : 0, s.repeats, s.csv}, s.profile);
    }
    const Context context = make_context(s.repeats.machine);
    const Result result = measure(context, s);
    if (s.repeats.json) {
        Json line = as_json(s, result);
        if (!result.kv_rows.empty()) line["kv_rows"] = kv_json(result.kv_rows);
        line["operators"] = operators_as_json(result.profile);
        print(json_text(line) + "\n");
        return 0;
    }
    print(s.csv ? as_csv(as_json(s, result)) : as_text(context, s, result));
    return 0;
}

}  // namespace voltac::bench
