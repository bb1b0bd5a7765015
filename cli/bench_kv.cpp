#include "cli/bench_kv.h"

#include <algorithm>
#include <cstdlib>

#include "cli/architectures.h"
#include "cli/bench_writers.h"

namespace voltac::bench {
namespace {

// Seconds of the step behind one that reads the whole prompt.
double seconds_of_step(Writers& writers) {
    writers.restart();
    writers.step();
    return seconds_of([&] { writers.step(); });
}

// One run that does not count, then `runs` of each, in turns.
template <class Seconds>
KvRow measure(const Model& model, const KvRow& sizes, std::int64_t runs, Seconds seconds) {
    Writers cached(model, sizes.prompt, 1, 0), whole(model, sizes.prompt, 1, VOLTA_GENERATOR_NO_CACHE);
    std::vector<double> with, without;
    for (std::int64_t run = -1; run < runs; ++run) {
        const double a = seconds(cached), b = seconds(whole);
        if (run < 0) continue;
        with.push_back(a);
        without.push_back(b);
    }
    KvRow row = sizes;
    row.cached = summarize(with).seconds;
    row.whole = summarize(without).seconds;
    return row;
}

KvRow measure_text(const Model& model, std::int64_t prompt, std::int64_t tokens, std::int64_t runs) {
    return measure(model, {prompt, tokens, 0, 0}, runs,
                   [tokens](Writers& writers) { return seconds_to_draw(writers, tokens); });
}

std::int64_t context_of(const Model& model) {
    const std::int64_t context = std::strtoll(model_size(model, "context").c_str(), nullptr, 10);
    if (context < 2) failure("--kv-sweep: the model does not say how long its sequences may be");
    return context;
}

bool is_step(const KvRow& row) { return row.tokens == 0; }

}  // namespace

KvRow measure_kv_step(const Model& model, std::int64_t position, std::int64_t runs) {
    return measure(model, {position - 1, 0, 0, 0}, runs, seconds_of_step);
}

void add_kv_sweep(const Model& model, std::int64_t runs, std::vector<KvRow>& rows) {
    const std::int64_t context = context_of(model);
    for (std::int64_t prompt = 1; prompt < context; prompt *= 2)
        for (const std::int64_t tokens : {1, 2, 8, 32})
            if (prompt + tokens <= context) rows.push_back(measure_text(model, prompt, tokens, runs));
    rows.push_back(measure_text(model, context - 1, 1, runs));
}

nlohmann::ordered_json kv_json(const std::vector<KvRow>& rows) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const KvRow& row : rows)
        list.push_back({{"prompt_tokens", is_step(row) ? row.prompt + 1 : row.prompt},
                        {"tokens", is_step(row) ? 1 : row.tokens},
                        {"prompt_is_read", is_step(row)},
                        {"cached_ms", row.cached * 1e3},
                        {"whole_ms", row.whole * 1e3},
                        {"kv_speedup", row.speedup()}});
    return list;
}

std::string kv_text(const std::vector<KvRow>& rows) {
    std::string text;
    const KvRow* least = nullptr;
    for (const KvRow& row : rows) {
        const auto prompt = static_cast<long long>(row.prompt), tokens = static_cast<long long>(row.tokens);
        text += is_step(row) ? formatted("step at %-10lld", prompt + 1)
                             : formatted("%6lld + %-9lld", prompt, tokens);
        text += formatted(" %.3f ms with a cache, %.3f ms without: %.2f times as fast\n", row.cached * 1e3,
                          row.whole * 1e3, row.speedup());
        if (!is_step(row) && (least == nullptr || row.speedup() < least->speedup())) least = &row;
    }
    if (least != nullptr)
        text +=
            formatted("least              %.2f times as fast, %lld tokens behind %lld\n", least->speedup(),
                      static_cast<long long>(least->tokens), static_cast<long long>(least->prompt));
    return text;
}

}  // namespace voltac::bench
