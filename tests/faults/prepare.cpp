// The files that scenarios read: made by the library, and taken from the corpora of the fuzzers.
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "tests/faults/world.h"

namespace volta::faults {
namespace {

bool copy(const char* from, const char* to, long skipped) {
    std::FILE* const in = std::fopen(from, "rb");
    std::FILE* const out = std::fopen(to, "wb");
    bool good = in != nullptr && out != nullptr && std::fseek(in, skipped, SEEK_SET) == 0;
    char bytes[1 << 16];
    while (good) {
        const std::size_t n = std::fread(bytes, 1, sizeof bytes, in);
        if (n == 0) break;
        good = std::fwrite(bytes, 1, n, out) == n;
    }
    if (in != nullptr) std::fclose(in);
    if (out != nullptr) std::fclose(out);
    if (!good) std::printf("cannot copy %s to %s\n", from, to);
    return good;
}

constexpr char kWordPiece[] = R"({"added_tokens": [{"id": 0, "content": "[PAD]", "special": true}],
  "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
                 "lowercase": true},
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A"}}, {"SpecialToken": {"id": "[SEP]"}}],
    "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                       "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
            "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "hello": 4, "##s": 5}}})";

bool write(const char* path, const char* text) {
    std::FILE* const file = std::fopen(path, "wb");
    const bool good = file != nullptr && std::fputs(text, file) >= 0;
    return file != nullptr && std::fclose(file) == 0 && good;
}

bool run(World& world, const char* name) {
    for (std::size_t i = 0; i < kScenarioCount; ++i) {
        const Scenario& scenario = kScenarios[i];
        if (std::strcmp(scenario.name, name) != 0) continue;
        const volta_status status = scenario.run(world);
        if (status != VOLTA_OK) std::printf("%s: %s\n", name, error_of(scenario));
        return status == VOLTA_OK;
    }
    return false;
}

// File of a scenario, under the name that another one reads.
bool keep(World& world, const char* made, const char* name) {
    return copy(world.file(made), world.file(name), 0);
}

}  // namespace

bool prepare(World& world) {
    for (const char* folder : {"classes", "classes/a", "classes/b", "tuning", "tuned"})
        mkdir(world.file(folder), 0777);
    bool good = copy(world.sample("rgb.png"), world.file("classes/a/1.png"), 0) &&
                copy(world.sample("grey8.png"), world.file("classes/a/2.png"), 0) &&
                copy(world.sample("palette8.png"), world.file("classes/b/3.png"), 0) &&
                copy(world.sample("rgba.png"), world.file("classes/b/4.png"), 0);
    // Behind a byte that says their format.
    const char* const tokenizers[][2] = {{"read_tokenizer/json_bpe", "tokenizer_bpe.json"},
                                         {"read_tokenizer/llama2c", "tokenizer_llama2c.bin"},
                                         {"read_tokenizer/vocab_txt", "vocab.txt"}};
    good = good && write(world.file("tokenizer_wordpiece.json"), kWordPiece);
    for (const auto& pair : tokenizers) good = good && copy(world.corpus(pair[0]), world.file(pair[1]), 1);
    for (const char* name : {"save", "save_checkpoint", "save_npz", "save_npy", "save_named",
                             "export_safetensors", "export_onnx", "tune"})
        good = good && run(world, name);
    const char* const kept[][2] = {{"save.volta", "model.volta"},
                                   {"saved_checkpoint.volta", "checkpoint.volta"},
                                   {"saved.npz", "tensors.npz"},
                                   {"saved.npy", "tensors.npy"},
                                   {"saved.safetensors", "tensors.safetensors"},
                                   {"exported.safetensors", "model.safetensors"},
                                   {"exported_bert.safetensors", "bert.safetensors"},
                                   {"exported.json", "bert.json"},
                                   {"exported.onnx", "model.onnx"},
                                   {"exported.onnx.data", "exported.onnx.data.kept"}};
    for (const auto& pair : kept) good = good && keep(world, pair[0], pair[1]);
    return good;
}

}  // namespace volta::faults
