// The fuzz target read_documents (fuzz/targets.cmake): any bytes as lines of JSON to learn from, which are
// documents whose tokens are the vocabulary's, or refused in one sentence that begins with file and line. The
// model is a GPT whose tokens are bytes, with a chat format that needs no piece of its own.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/documents.h"

namespace {

using namespace voltac;

void expect(bool condition, const char* what, const char* line = "") {
    if (condition) return;
    std::fprintf(stderr, "%s: %s\n", what, line);
    std::abort();
}

struct World {
    Context context;
    Model model;
    Tokenizer tokenizer;

    World() {
        volta_context* made = nullptr;
        check(volta_context_create(nullptr, &made));
        context.reset(made);
        volta_gpt_options options = VOLTA_GPT_OPTIONS_INIT;
        options.vocabulary = 256;
        options.layers = options.heads = 1;
        options.dim = 4;
        options.context = 8;
        volta_model* gpt = nullptr;
        check(volta_model_create_gpt(made, &options, 1, &gpt));
        model.reset(gpt);
        volta_tokenizer* bytes = nullptr;
        check(volta_tokenizer_create_byte(made, &bytes));
        tokenizer.reset(bytes);
        check(volta_model_set_tokenizer(gpt, bytes));
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const World world;
    static const std::vector<std::string> classes = {"cat", "dog"};
    const std::string text(reinterpret_cast<const char*>(data), size);
    try {
        const std::vector<Document> documents =
            parse_documents("a.jsonl", text, world.model, world.tokenizer, classes, 24);
        expect(!documents.empty(), "no document and no refusal");
        for (const Document& document : documents) {
            expect(document.line > 0, "a document of no line");
            expect(document.label >= 0 || document.asked.size() == document.tokens.size(),
                   "tokens without a mark");
            expect(document.label < 0 || document.segments.size() == document.tokens.size(),
                   "tokens of no segment");
            expect(document.label < 0 || document.tokens.size() <= 24, "a label's row is too long");
            for (const std::int32_t token : document.tokens)
                expect(token >= 0 && token < 256, "another token");
        }
    } catch (const Stop& stop) {
        const char* const line = stop.what();
        expect(stop.status == kExitFailure && std::strncmp(line, "a.jsonl:", 8) == 0,
               "a refusal names no file", line);
        for (const char* at = line; *at != '\0'; ++at)
            expect(static_cast<unsigned char>(*at) >= 0x20, "a refusal is no line", line);
    }
    return 0;
}
