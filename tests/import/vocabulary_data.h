// The vocabularies of the test data's folder gguf/. The copies that are handed around went through a decoder
// of UTF-8 that wrote EF BF BD for every byte it could not read, so they are no GGUF files any more. What was
// lost is known: counts and lengths follow from the rest, scores are minus the rank. This puts it back.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "tests/import/gguf_bytes.h"

namespace volta::test {

inline std::string data_folder() {
    const char* given = std::getenv("VOLTA_TEST_DATA");
    return given != nullptr ? given : "../../shared/data";
}

// The whole file; "" where it is missing.
inline std::string read_bytes(const std::string& path) {
    std::string bytes;
    FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return bytes;
    char block[65536];
    for (std::size_t n; (n = std::fread(block, 1, sizeof block, file)) > 0;) bytes.append(block, n);
    std::fclose(file);
    return bytes;
}

constexpr const char kLost[] = "\xef\xbf\xbd";

// Every lost byte replaced, in order; a replacement of its own means that nothing was lost there.
inline std::string with_bytes(const std::string& damaged, std::initializer_list<const char*> bytes) {
    std::string out;
    std::size_t at = 0;
    for (const char* byte : bytes) {
        const std::size_t found = damaged.find(kLost, at);
        if (found == damaged.npos) return "";
        out.append(damaged, at, found - at).append(byte);
        at = found + 3;
    }
    return out.append(damaged, at, damaged.npos);
}

// Scores of Llama 2: those of bytes and specials are 0, of runs of spaces -1e9, of piece i 259 - i.
inline std::string llama_scores() {
    const std::set<int> spaces = {259, 268,  308,  418,  462,  539,  632,   795,
                                  965, 1669, 1678, 3986, 4706, 9651, 18884, 29871};
    std::string out;
    for (int id = 0; id < 32000; ++id)
        out += raw(id < 259 ? 0.0f : spaces.count(id) > 0 ? -1e9f : 259.0f - static_cast<float>(id));
    return out;
}

// "" where the file is missing.
inline std::string vocabulary_file(const std::string& name) {
    std::string damaged = read_bytes(data_folder() + "/gguf/ggml-vocab-" + name + ".gguf");
    if (damaged.empty() || damaged.find(kLost) == damaged.npos) return damaged;
    if (name == "gpt-2")
        return with_bytes(damaged, {"\xac", "\xc5", "\xc4", "\x80", "\xc4", "\xc3", "\x81", "\xc4", "\xc4"});
    if (name == "bert-bge") return with_bytes(damaged, {"\x80", "\x8c"});
    if (name != "llama-spm") return damaged;
    const std::size_t scores = damaged.find("tokenizer.ggml.scores") + 21 + 16;
    const std::size_t types = damaged.find("tokenizer.ggml.token_type") - 8;
    return with_bytes(damaged.substr(0, scores), {"\xac", "\xc5", "\x80"}) + llama_scores() +
           damaged.substr(types);
}

struct TestVector {
    std::string text;
    std::vector<std::int32_t> ids;
};

inline std::vector<TestVector> test_vectors(const std::string& name) {
    const std::string path = data_folder() + "/gguf/ggml-vocab-" + name + ".gguf";
    const std::string texts = read_bytes(path + ".inp"), lines = read_bytes(path + ".out");
    const std::string separator = "\n__ggml_vocab_test__\n";
    std::vector<TestVector> vectors;
    std::size_t text = 0, line = 0;
    for (std::size_t end; (end = texts.find(separator, text)) != texts.npos; text = end + separator.size()) {
        const std::size_t line_end = lines.find('\n', line);
        TestVector vector{texts.substr(text, end - text), {}};
        const std::string numbers = lines.substr(line, line_end - line);
        char* next = nullptr;
        for (const char* at = numbers.c_str();; at = next) {
            const long id = std::strtol(at, &next, 10);
            if (next == at) break;
            vector.ids.push_back(static_cast<std::int32_t>(id));
        }
        vectors.push_back(std::move(vector));
        line = line_end + 1;
    }
    return vectors;
}

}  // namespace volta::test
