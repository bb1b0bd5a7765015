// voltac chat and tokenize: a conversation with a model, and what a text is to its tokenizer.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/adapters.h"
#include "cli/architectures.h"
#include "cli/chat_format.h"
#include "cli/commands.h"
#include "cli/interrupts.h"
#include "cli/options.h"

namespace voltac {
namespace {

constexpr std::int64_t kUsualContext = 4096, kFirstCacheTokens = 256;

struct Chat {
    std::string model, format, system, load = "map";
    std::int64_t tokens = 0, seed = 1, context = 0;  // 0: as many as the context has; the model's
    Draws draws;
    AdapterFile adapter;
    Machine machine;
};

volta_cancel cancelled = VOLTA_CANCEL_INIT;  // the first Ctrl-C ends the answer at the next token

// An answer, as it comes and as the next turn is told of it.
struct Answer {
    std::string text;
    std::exception_ptr failure;

    // For the library, through which no exception may fly.
    static std::int32_t receive(void* user, const char* text, std::size_t bytes, std::int32_t) {
        auto& self = *static_cast<Answer*>(user);
        try {
            self.text.append(text, bytes);
            if (bytes > 0) print(std::string(text, bytes));
            return 0;
        } catch (...) {
            self.failure = std::current_exception();
            return 1;
        }
    }
};

// Messages and the tokens that they become, in a generator that keeps what it has computed of earlier turns.
class Conversation {
  public:
    Conversation(const Model& model, const Chat& chat) : model_(model), tokens_(chat.tokens) {
        context_ = std::strtoll(model_size(model, "context").c_str(), nullptr, 10);
        if (context_ == 0) context_ = kUsualContext;
        if (chat.context > 0) context_ = std::min(context_, chat.context);
        volta_generator_options options = VOLTA_GENERATOR_OPTIONS_INIT;
        chat.draws.fill(options);
        options.seed = static_cast<std::uint64_t>(chat.seed);
        options.context = context_;
        options.cache_tokens = std::min(kFirstCacheTokens, context_);
        check(volta_model_get_chat_end(model.get(), &end_));
        volta_generator* made = nullptr;
        check(volta_generator_create(model.get(), &options, &made));
        generator_.reset(made);
        if (!chat.system.empty()) messages_.push_back({"system", chat.system});
    }

    // Writes the answer to standard output. Whether the conversation goes on.
    bool say(const std::string& text) {
        messages_.push_back({"user", text});
        const std::vector<std::int32_t> ids = chat_tokens(model_, messages_).ids;
        const auto count = static_cast<std::int64_t>(ids.size());
        if (count >= context_)
            failure(formatted("the conversation has %lld tokens, and the context %lld: begin a new one",
                              static_cast<long long>(count), static_cast<long long>(context_)));
        check(volta_generator_start(generator_.get(), ids.data(), ids.size()));
        Answer answer;
        volta_write_options options = VOLTA_WRITE_OPTIONS_INIT;
        options.max_tokens = tokens_ > 0 ? std::min(tokens_, context_ - count) : context_ - count;
        options.stop_tokens = &end_;
        options.stop_token_count = 1;
        options.cancel = &cancelled;
        options.on_text = Answer::receive;
        options.user = &answer;
        volta_write_result result = VOLTA_WRITE_RESULT_INIT;
        check(volta_generator_write(generator_.get(), nullptr, nullptr, &options, &result));
        if (answer.failure) std::rethrow_exception(answer.failure);
        print("\n");
        messages_.push_back({"assistant", answer.text});
        return result.reason != VOLTA_STOP_CANCELLED;
    }

  private:
    const Model& model_;
    Generator generator_;
    std::vector<Message> messages_;
    std::int64_t context_, tokens_;
    std::int32_t end_ = -1;
};

void show_prompt() {
    if (isatty(STDIN_FILENO) == 1) std::fputs("> ", stderr);
}

// ---- tokenize

// Whole numbers between white space.
std::vector<std::int32_t> ids_of(const std::string& text) {
    std::vector<std::int32_t> ids;
    const char* at = text.c_str();
    const char* const end = at + text.size();
    for (;;) {
        while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) ++at;
        if (at == end) return ids;
        char* after = nullptr;
        const long long id = std::strtoll(at, &after, 10);
        if (after == at || id < 0 || id > INT32_MAX ||
            (after < end && std::strchr(" \n\t\r", *after) == nullptr))
            failure(formatted(
                "'%s' is no id of a token: --decode takes whole numbers between spaces",
                one_line(std::string(at, std::min<std::size_t>(static_cast<std::size_t>(end - at), 20)))
                    .c_str()));
        ids.push_back(static_cast<std::int32_t>(id));
        at = after;
    }
}

std::string text_after(const Tokenizer& tokenizer, std::int32_t previous, std::int32_t id) {
    const char* text = nullptr;
    std::size_t bytes = 0;
    check(volta_tokenizer_decode_after(tokenizer.get(), previous, id, &text, &bytes));
    return std::string(text, bytes);
}

}  // namespace

int run_chat(const std::vector<std::string>& arguments) {
    Chat chat;
    Options options(
        "chat",
        "A conversation: every line of standard input is a message, and its answer is written as it comes. "
        "What was said before stays computed. Ctrl-C ends the answer and the conversation (exit status "
        "130).");
    options.positional("model", chat.model, "a model file");
    options.text("--system", chat.system,
                 "what the system says first (default: what the model's format says)");
    options.choice("--format", chat.format, chat_format_names(),
                   "how the conversation becomes tokens (default: the model's)");
    options.integer("--tokens", chat.tokens, 1, INT32_MAX,
                    "the longest answer, in tokens (default: what the context leaves)");
    options.integer("--context", chat.context, 1, INT32_MAX,
                    "tokens of a whole conversation (default: the model's; 4096 where it has no end)");
    chat.draws.temperature = 1;
    options.draws(chat.draws);
    options.integer("--seed", chat.seed, 0, INT64_MAX, "of the draws (default: 1)");
    options.load(chat.load);
    chat.adapter.declare(options);
    options.machine(chat.machine);
    options.config();
    options.parse(arguments);

    const Context context = make_context(chat.machine);
    const Model model = chat.adapter.on(open_model(context, chat.model, chat.load));
    if (!chat.format.empty()) check(volta_model_set_chat_format(model.get(), chat.format.c_str(), nullptr));
    Conversation conversation(model, chat);
    watch_interrupts(&cancelled);
    std::string line;
    for (show_prompt(); std::getline(std::cin, line); show_prompt()) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        if (!line.empty() && !conversation.say(line)) return interrupt_status();
        if (interrupted_by() != 0) return interrupt_status();
    }
    return interrupt_status();
}

int run_tokenize(const std::vector<std::string>& arguments) {
    std::string path, text, file;
    bool decode = false, only_ids = false, special = false, ends = false;
    Machine machine;
    Options options("tokenize",
                    "A text as its model's tokenizer takes it: a line with id and piece for each token. Or "
                    "ids as a text.");
    options.positional("model", path, "a model file");
    options.optional_positional("text", text, "the text; with --decode ids between spaces");
    options.input("--file", file, kText, "the text is in this file; - is standard input");
    options.flag("--decode", decode, "the text of ids");
    options.flag("--ids", only_ids, "the ids alone, on one line");
    options.flag("--special", special, "special pieces in the text become their ids; else they are text");
    options.flag("--ends", ends, "with the ids that the tokenizer puts around a text");
    options.tuning(machine);
    options.config();
    options.parse(arguments);
    if (options.given("text") == options.given("--file"))
        usage_error("voltac tokenize: it needs a TEXT or --file FILE (see voltac tokenize --help)");
    if (decode && (only_ids || special || ends))
        usage_error("voltac tokenize: --decode goes with none of --ids, --special and --ends");
    if (!file.empty()) text = read_text(file);

    const Context context = make_context(machine);
    const Model model = open_model(context, path);
    const Tokenizer tokenizer = tokenizer_of(model);
    std::string out;
    std::int32_t previous = -1;
    if (decode) {
        for (const std::int32_t id : ids_of(text)) {
            out += text_after(tokenizer, previous, id);
            previous = id;
        }
        print(out + "\n");
        return 0;
    }
    for (const std::int32_t id : encode(tokenizer, text, ends, special)) {
        if (only_ids)
            out += (out.empty() ? "" : " ") + std::to_string(id);
        else
            out += formatted("%7d  ", id) + json_text(text_after(tokenizer, previous, id)) + "\n";
        previous = id;
    }
    print(only_ids ? out + "\n" : out);
    return 0;
}

}  // namespace voltac
