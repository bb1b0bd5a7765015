// voltac generate and eval: a trained model writes text, or is measured on one.
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/architectures.h"
#include "cli/commands.h"
#include "cli/options.h"

namespace voltac {
namespace {

struct Sampling {
    std::string model, prompt;
    std::int64_t tokens = 100, top_k = 0, seed = 1;
    double temperature = 1.0, top_p = 0, min_p = 0, repetition_penalty = 1;
    Machine machine;
};

volta_special_ids special_ids(const Tokenizer& tokenizer) {
    volta_special_ids special = {};
    special.struct_size = sizeof special;
    check(volta_tokenizer_special(tokenizer.get(), &special));
    return special;
}

// An empty prompt starts from the id that begins a text; from a newline where the vocabulary has none.
std::vector<std::int32_t> prompt_ids(const Tokenizer& tokenizer, const std::string& prompt) {
    const volta_special_ids special = special_ids(tokenizer);
    if (prompt.empty() && special.bos >= 0) return {special.bos};
    if (!prompt.empty()) {
        std::vector<std::int32_t> ids = encode(tokenizer, prompt, true);
        if (special.adds_eos) ids.pop_back();  // the text goes on
        return ids;
    }
    std::int32_t id = 0;
    std::size_t count = 0;
    if (volta_tokenizer_encode(tokenizer.get(), "\n", 1, &id, 1, &count) != VOLTA_OK)
        failure("the prompt is empty, and the vocabulary has no newline to start from");
    return {id};
}

// What `id` adds to a text that ends with `previous`; -1: it begins one.
std::string piece(const Tokenizer& tokenizer, std::int32_t previous, std::int32_t id) {
    const char* text = nullptr;
    std::size_t bytes = 0;
    check(volta_tokenizer_decode_after(tokenizer.get(), previous, id, &text, &bytes));
    return std::string(text, bytes);
}

}  // namespace

int run_generate(const std::vector<std::string>& arguments) {
    Sampling s;
    Options options("generate",
                    "Writes the prompt and its continuation to standard output, up to the end of the text if "
                    "the model gives one, and a newline.");
    options.positional("model", s.model, "a model file");
    options.text("--prompt", s.prompt, "the text to go on from; empty: the start of a text, or a newline");
    options.integer("--tokens", s.tokens, 0, INT32_MAX, "how many tokens to add (default: 100)");
    options.number("--temperature", s.temperature, 0, 1000, "0: always the most likely token (default: 1)");
    options.integer("--top-k", s.top_k, 0, INT32_MAX, "keep the K most likely; 0: all (default)");
    options.number("--top-p", s.top_p, 0, 1, "keep the smallest head with this mass; 0: all (default)");
    options.number("--min-p", s.min_p, 0, 1,
                   "keep tokens of at least this share of the best; 0: all (default)");
    options.number("--repetition-penalty", s.repetition_penalty, 0.001, 1000, "1: none (default)");
    options.integer("--seed", s.seed, 0, INT64_MAX, "of the draws (default: 1)");
    options.machine(s.machine);
    options.config();
    options.parse(arguments);

    const Context context = make_context(s.machine);
    const Model model = open_model(context, s.model);
    const Tokenizer tokenizer = tokenizer_of(model);
    const std::vector<std::int32_t> prompt = prompt_ids(tokenizer, s.prompt);
    const std::string limit = model_size(model, "context");
    if (!limit.empty() && static_cast<double>(prompt.size()) + static_cast<double>(s.tokens) >
                              std::strtod(limit.c_str(), nullptr))
        failure(formatted(
            "a prompt of %zu tokens and %lld more are %lld, larger than the model's context of %s",
            prompt.size(), static_cast<long long>(s.tokens),
            static_cast<long long>(prompt.size()) + static_cast<long long>(s.tokens), limit.c_str()));

    volta_generator_options generator_options = {};
    generator_options.struct_size = sizeof generator_options;
    generator_options.temperature = s.temperature;
    generator_options.top_k = static_cast<std::int32_t>(s.top_k);
    generator_options.top_p = s.top_p;
    generator_options.min_p = s.min_p;
    generator_options.repetition_penalty = s.repetition_penalty;
    generator_options.seed = static_cast<std::uint64_t>(s.seed);
    generator_options.context = static_cast<std::int64_t>(prompt.size()) + s.tokens;
    volta_generator* made = nullptr;
    check(volta_generator_create(model.get(), &generator_options, &made));
    const Generator generator(made);
    check(volta_generator_start(made, prompt.data(), prompt.size()));
    print(s.prompt);
    const volta_special_ids ends = special_ids(tokenizer);
    std::string last = s.prompt;
    std::int32_t previous = prompt.back();
    for (std::int64_t i = 0; i < s.tokens; ++i) {
        std::int32_t token = 0;
        check(volta_generator_next(made, &token));
        if (token == ends.bos || token == ends.eos) break;  // a new text would begin
        const std::string text = piece(tokenizer, previous, token);
        print(text);
        if (!text.empty()) last = text;
        previous = token;
    }
    if (last.empty() || last.back() != '\n') print("\n");
    return 0;
}

int run_eval(const std::vector<std::string>& arguments) {
    std::string path, text_path;
    bool json = false;
    Machine machine;
    Options options("eval", "Loss, perplexity and bits per byte of a model on a whole text.");
    options.positional("model", path, "a model file");
    options.text("--text", text_path, "the text");
    options.require("--text");
    options.flag("--json", json, "one JSON object");
    options.machine(machine);
    options.config();
    options.parse(arguments);

    const std::string text = read_text(text_path);
    const Context context = make_context(machine);
    const Model model = open_model(context, path);
    const Tokenizer tokenizer = tokenizer_of(model);
    const std::vector<std::int32_t> ids = encode(tokenizer, text);
    double loss = 0;
    const volta_status status = volta_model_evaluate_tokens(model.get(), ids.data(), ids.size(), &loss);
    if (status != VOLTA_OK) failure(text_path + ": " + volta_last_error());
    const auto predicted = static_cast<double>(ids.size() - 1);
    const auto bytes =
        static_cast<double>(text.size() - piece(tokenizer, -1, ids[0]).size());  // what was predicted
    const double bits_per_byte = loss * predicted / (std::log(2.0) * bytes);
    if (json) {
        const nlohmann::ordered_json line = {{"loss", loss},
                                             {"perplexity", std::exp(loss)},
                                             {"bits_per_byte", bits_per_byte},
                                             {"tokens", ids.size()},
                                             {"bytes", text.size()}};
        print(line.dump() + "\n");
    } else {
        print(
            formatted("loss               %.6f\nperplexity         %.4f\nbits per byte      %.6f\ntokens     "
                      "        %zu\n",
                      loss, std::exp(loss), bits_per_byte, ids.size()));
    }
    return 0;
}

}  // namespace voltac
