// voltac generate and eval: a trained model writes text, or is measured on one.
#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>

#include "cli/adapters.h"
#include "cli/architectures.h"
#include "cli/commands.h"
#include "cli/document_lesson.h"
#include "cli/interrupts.h"
#include "cli/options.h"
#include "cli/pictures.h"
#include "cli/profile.h"
#include "cli/texts.h"

namespace voltac {
namespace {

constexpr std::int64_t kTokens = 200;

struct Sampling {
    std::string model, prompt, load = "map";
    std::int64_t tokens = -1, seed = 1;  // tokens -1: kTokens, or what the context leaves
    std::int64_t cache_tokens = 0;       // 0: for all tokens
    bool special = false;                // pieces of the prompt
    Draws draws;
    double max_seconds = 0;
    std::vector<std::string> stop_texts;
    std::vector<std::int32_t> stop_tokens;
    AdapterFile adapter;
    Machine machine;
    ProfileFile profile{"voltac generate"};
};

volta_special_ids special_ids(const Tokenizer& tokenizer) {
    volta_special_ids special = VOLTA_SPECIAL_IDS_INIT;
    check(volta_tokenizer_special(tokenizer.get(), &special));
    return special;
}

// An empty prompt starts from the id that begins a text; from a newline where the vocabulary has none.
// `names`: special pieces that the prompt names are their ids; where it begins with what begins a text,
// nothing stands before it.
std::vector<std::int32_t> prompt_ids(const Tokenizer& tokenizer, const std::string& prompt, bool names) {
    const volta_special_ids special = special_ids(tokenizer);
    if (prompt.empty() && special.bos >= 0) return {special.bos};
    if (!prompt.empty()) {
        std::vector<std::int32_t> ids = encode(tokenizer, prompt, true, names);
        if (special.adds_eos) ids.pop_back();  // the text goes on
        if (names && special.adds_bos && ids.size() > 1 && ids[1] == special.bos) ids.erase(ids.begin());
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

volta_cancel cancelled = VOLTA_CANCEL_INIT;  // the first Ctrl-C ends the text at the next token

// Where the text goes as it comes.
struct TextStream {
    char last = 0;  // byte
    std::exception_ptr failure;

    void put(const std::string& text) {
        print(text);
        if (!text.empty()) last = text.back();
    }
    // For the library, through which no exception may fly.
    static std::int32_t receive(void* user, const char* text, std::size_t bytes, std::int32_t) {
        auto& self = *static_cast<TextStream*>(user);
        try {
            if (bytes > 0) self.put(std::string(text, bytes));
            return 0;
        } catch (...) {
            self.failure = std::current_exception();
            return 1;
        }
    }
};

// The prompt and what follows. The exit status: 0, or 128 and the signal that ended the text.
int write_text(const Sampling& s, volta_generator* generator, const Tokenizer& tokenizer,
               TextStream& output) {
    std::vector<const char*> stop_texts;
    for (const std::string& text : s.stop_texts) stop_texts.push_back(text.c_str());
    volta_write_options options = VOLTA_WRITE_OPTIONS_INIT;
    options.max_tokens = s.tokens;
    options.stop_tokens = s.stop_tokens.data();
    options.stop_token_count = s.stop_tokens.size();
    options.stop_texts = stop_texts.data();
    options.stop_text_count = stop_texts.size();
    options.max_seconds = s.max_seconds;
    volta_cancel at_once = VOLTA_CANCEL_INIT;
    volta_cancel_request(&at_once);
    options.cancel = &at_once;  // draws nothing, but says what is wrong with the options before any text
    check(volta_generator_write(generator, nullptr, tokenizer.get(), &options, nullptr));
    output.put(s.prompt);
    options.cancel = &cancelled;
    options.on_text = TextStream::receive;
    options.user = &output;
    volta_write_result result = VOLTA_WRITE_RESULT_INIT;
    check(volta_generator_write(generator, nullptr, tokenizer.get(), &options, &result));
    if (output.failure) std::rethrow_exception(output.failure);
    return result.reason == VOLTA_STOP_CANCELLED ? interrupt_status() : 0;
}

// Before anything is written: prompt and tokens have to fit into the model's context, where it has one.
void fit_tokens(const Model& model, std::int64_t prompt, Sampling& s) {
    const std::int64_t context = std::strtoll(model_size(model, "context").c_str(), nullptr, 10);
    const std::int64_t most = context > 0 ? context - prompt : INT32_MAX,
                       wanted = s.tokens >= 0 ? s.tokens : 1;
    if (wanted > most)
        failure(formatted(
            "a prompt of %lld tokens and %lld more are %lld, larger than the model's context of %lld",
            static_cast<long long>(prompt), static_cast<long long>(wanted),
            static_cast<long long>(prompt + wanted), static_cast<long long>(context)));
    if (s.tokens < 0) s.tokens = std::min(kTokens, most);
}

// A loss that is no number is a result like another, but not what was hoped for.
void tell_not_finite(double loss) {
    if (std::isfinite(loss)) return;
    warn(
        formatted("warning: the loss is %s: the model gives logits that are not finite, as weights do that "
                  "diverged in training or are damaged",
                  std::isnan(loss) ? "nan (not a number)" : "infinite"));
}

void check_stop_tokens(const Sampling& s, std::int64_t vocabulary) {
    for (const std::int32_t token : s.stop_tokens)
        if (token >= vocabulary)
            usage_error(formatted("voltac generate: --stop-token is %d, the model's vocabulary is 0 .. %lld",
                                  token, static_cast<long long>(vocabulary - 1)));
}

}  // namespace

int run_generate(const std::vector<std::string>& arguments) {
    Sampling s;
    std::string prompt_file;
    Options options("generate",
                    "Writes the prompt and its continuation to standard output, up to the end of the text if "
                    "the model gives one, and a newline. Ctrl-C ends the text (exit status 130).");
    options.positional("model", s.model, "a model file");
    options.text("--prompt", s.prompt, "the text to go on from; empty: the start of a text, or a newline",
                 Empty::kMeaningful);
    options.input("--prompt-file", prompt_file, kText, "the prompt is in this file; - is standard input");
    options.flag("--special", s.special,
                 "special pieces that the prompt names (<|im_start|>) become their ids; else they are text");
    options.integer("--tokens", s.tokens, 0, INT32_MAX,
                    "how many tokens to add (default: 200, or what the context leaves)");
    s.draws.temperature = 1;
    options.draws(s.draws);
    options.integer("--seed", s.seed, 0, INT64_MAX, "of the draws (default: 1)");
    options.texts("--stop", s.stop_texts, "end before this text; may be given several times");
    options.integers("--stop-token", s.stop_tokens, 0, INT32_MAX,
                     "end before this token; may be given several times");
    options.number("--max-seconds", s.max_seconds, 0, 1e9,
                   "end after X seconds of writing; 0: never (default)");
    options.integer(
        "--cache-tokens", s.cache_tokens, 0, INT32_MAX,
        "room of the cache at first, prompt included; it doubles when the text outgrows it, with the same "
        "text (default: for all of them)");
    options.load(s.load);
    s.adapter.declare(options);
    s.profile.declare(options);
    options.machine(s.machine);
    options.config();
    options.parse(arguments);
    if (!prompt_file.empty() && options.given("--prompt"))
        usage_error("voltac generate: --prompt and --prompt-file both say what to go on from");
    if (!prompt_file.empty()) s.prompt = read_text(prompt_file);

    const Context context = make_context(s.machine);
    const Model model = s.adapter.on(open_model(context, s.model, s.load));
    const Tokenizer tokenizer = tokenizer_of(model);
    const std::vector<std::int32_t> prompt = prompt_ids(tokenizer, s.prompt, s.special);
    fit_tokens(model, static_cast<std::int64_t>(prompt.size()), s);

    volta_generator_options generator_options = VOLTA_GENERATOR_OPTIONS_INIT;
    s.draws.fill(generator_options);
    generator_options.seed = static_cast<std::uint64_t>(s.seed);
    generator_options.context = static_cast<std::int64_t>(prompt.size()) + s.tokens;
    generator_options.cache_tokens = std::min(s.cache_tokens, generator_options.context);
    volta_generator* made = nullptr;
    check(volta_generator_create(model.get(), &generator_options, &made));
    const Generator generator(made);
    check_stop_tokens(s, vocabulary_of(model));
    check(volta_generator_start(made, prompt.data(), prompt.size()));
    s.profile.start(context);
    watch_interrupts(&cancelled);
    TextStream output;
    const int status = write_text(s, made, tokenizer, output);
    if (output.last != '\n') print("\n");
    s.profile.finish(context);
    return status;
}

namespace {

// Documents as long as the model takes them: of lines of JSON what `voltac train --jsonl` learns of them.
int evaluate_documents(const Context& context, const Model& model, const std::string& path, bool json) {
    const std::string name = shown_name(path);
    const Tokenizer tokenizer = tokenizer_of(model);
    const std::int64_t most = std::strtoll(model_size(model, "context").c_str(), nullptr, 10);
    const std::int64_t window = most > 0 ? most : INT32_MAX;
    std::vector<Document> documents = parse_documents(name, read_text(path), model, tokenizer,
                                                      classes_of(model), static_cast<std::size_t>(window));
    const DocumentModel kind = document_model(model, documents, name);
    const std::size_t given = documents.size();
    documents = fit_documents(std::move(documents), kind, window, name);
    const DocumentScore score =
        score_documents(context, model, kind, documents, document_window(documents, kind, window));
    tell_not_finite(score.loss);
    const double share = static_cast<double>(score.correct) / static_cast<double>(score.asked);
    if (json) {
        nlohmann::ordered_json line = {
            {"loss", score.loss},       {"accuracy", share},
            {"correct", score.correct}, {"asked", score.asked},
            {"documents", given},       {"asks_for", kind.classifies ? "labels" : "tokens"}};
        print(json_text(line) + "\n");
        return 0;
    }
    print(
        formatted("loss               %.6f\n", unsigned_nan(score.loss)) +
        (kind.classifies ? "" : formatted("perplexity         %.4f\n", unsigned_nan(std::exp(score.loss)))) +
        formatted("accuracy           %.4f (%llu of %llu %s)\ndocuments          %zu\n", share,
                  static_cast<unsigned long long>(score.correct),
                  static_cast<unsigned long long>(score.asked), kind.classifies ? "labels" : "tokens",
                  given));
    return 0;
}

}  // namespace

int run_eval(const std::vector<std::string>& arguments) {
    std::string path, text_path, jsonl, load = "map";
    bool json = false;
    AdapterFile adapter;
    Machine machine;
    DatasetChoice pictures;
    Options options("eval",
                    "Loss, perplexity and bits per byte of a model on a whole text; of documents the loss of "
                    "what they ask "
                    "for, and how much is right; or of a model of pictures how "
                    "many it has right, its loss, and which classes it takes for which.");
    options.positional("model", path, "a model file");
    options.input("--text", text_path, kText,
                  "the text; - is standard input; of a folder of texts, as WikiText's, its test part");
    options.input(
        "--jsonl", jsonl, kText,
        "documents, a line of JSON each: what a completion, an answer, a text or a label asks for, as train "
        "--jsonl learns it; - is standard input");
    pictures.declare(options);
    options.load(load);
    adapter.declare(options);
    options.flag("--json", json, "one JSON object");
    options.machine(machine);
    options.config();
    options.parse(arguments);

    pictures.check("voltac eval", options);
    if (int{options.given("--text")} + int{options.given("--dataset")} + int{options.given("--jsonl")} != 1)
        usage_error(
            "voltac eval: it needs --text, --jsonl, or --dataset with --data (see voltac eval --help)");
    const TextSource source(text_path, pictures);
    std::string said;
    const bool of_text = !pictures.is_given() && jsonl.empty();
    const std::string text = of_text ? read_evaluated_text(source, pictures.split, said) : "";
    const Context context = make_context(machine);
    const Model model = adapter.on(open_model(context, path, load));
    if (pictures.is_given()) return evaluate_pictures(context, model, pictures, json);
    if (!jsonl.empty()) return evaluate_documents(context, model, jsonl, json);
    const Tokenizer tokenizer = tokenizer_of(model);
    const std::vector<std::int32_t> ids = encode(tokenizer, text);
    double loss = 0;
    const volta_status status = volta_model_evaluate_tokens(model.get(), ids.data(), ids.size(), &loss);
    if (status != VOLTA_OK) failure(source.name() + ": " + volta_last_error());
    tell_not_finite(loss);
    const auto predicted = static_cast<double>(ids.size() - 1);
    const auto bytes =
        static_cast<double>(text.size() - piece(tokenizer, -1, ids[0]).size());  // what was predicted
    const double bits_per_byte = loss * predicted / (std::log(2.0) * bytes);
    if (json) {
        nlohmann::ordered_json line = {{"loss", loss},
                                       {"perplexity", std::exp(loss)},
                                       {"bits_per_byte", bits_per_byte},
                                       {"tokens", ids.size()},
                                       {"bytes", text.size()}};
        if (!said.empty()) line["text"] = said;
        print(json_text(line) + "\n");
    } else {
        print(formatted(
                  "loss               %.6f\nperplexity         %.4f\nbits per byte      %.6f\ntokens     "
                  "        %zu\n",
                  unsigned_nan(loss), unsigned_nan(std::exp(loss)), unsigned_nan(bits_per_byte), ids.size()) +
              (said.empty() ? "" : "text               " + said + "\n"));
    }
    return 0;
}

}  // namespace voltac
