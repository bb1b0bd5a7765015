// The public headers, volta.h if nothing else is said, as their tests read them: what is declared there is
// what has to be tested.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace volta::test {

// Its text without comments. Tests run in the folder tests.
inline std::string public_header(const char* path = "../include/volta.h") {
    std::FILE* file = std::fopen(path, "rb");
    if (file == nullptr) std::abort();
    std::string text;
    char block[4096];
    for (std::size_t n; (n = std::fread(block, 1, sizeof block, file)) > 0;) text.append(block, n);
    std::fclose(file);
    for (std::size_t at; (at = text.find("/*")) != std::string::npos;)
        text.replace(at, text.find("*/", at) + 2 - at, " ");
    return text;
}

inline bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The words of a declaration; what is in brackets is left out.
inline std::vector<std::string> words_of(const std::string& text) {
    std::vector<std::string> words;
    bool in_word = false;
    int depth = 0;
    for (const char c : text) {
        depth += (c == '[') - (c == ']');
        const bool is = depth == 0 && is_word(c);
        if (is && !in_word) words.emplace_back();
        if (is) words.back() += c;
        in_word = is;
    }
    return words;
}

// Names of the functions that it declares: the word before the first "(" of each VOLTA_API.
inline std::vector<std::string> public_functions() {
    const std::string text = public_header();
    std::vector<std::string> names;
    const std::string mark = "\nVOLTA_API ";
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; ++at)
        names.push_back(words_of(text.substr(at, text.find('(', at) - at)).back());
    return names;
}

// Names of the functions of the host that its structs hold: "(*name)(". Types of functions have names of
// volta_.
inline std::vector<std::string> host_functions() {
    const std::string text = public_header();
    std::vector<std::string> names;
    for (std::size_t at = 0; (at = text.find("(*", at)) != std::string::npos; ++at)
        if (text.compare(at + 2, 6, "volta_") != 0)  // a type
            names.push_back(text.substr(at + 2, text.find(')', at) - at - 2));
    return names;
}

struct HeaderField {
    std::string name, type;  // type: its words, "*" for a pointer
    int count;               // of an array; 1
};
struct HeaderStruct {
    std::string name;
    std::vector<HeaderField> fields;
};

// One field for each name of a declaration: "int64_t m, n", "char name[32]", "const char *path", "int
// (*f)(void)".
inline void add_fields(const std::string& declaration, std::vector<HeaderField>& fields) {
    const std::size_t function = declaration.find("(*");
    if (function != std::string::npos) {
        fields.push_back(
            {declaration.substr(function + 2, declaration.find(')', function) - function - 2), "*", 1});
        return;
    }
    std::string type;
    std::size_t begin = 0;
    while (begin <= declaration.size()) {
        const std::size_t end = std::min(declaration.find(',', begin), declaration.size());
        const std::string part = declaration.substr(begin, end - begin);
        std::vector<std::string> words = words_of(part);
        if (words.empty()) return;
        if (type.empty()) type = words.size() > 1 ? words[words.size() - 2] : "";
        const std::size_t bracket = part.find('[');
        fields.push_back({words.back(), part.find('*') != std::string::npos ? "*" : type,
                          bracket == std::string::npos ? 1 : std::atoi(part.c_str() + bracket + 1)});
        begin = end + 1;
    }
}

// The structs that start with struct_size.
inline std::vector<HeaderStruct> growing_structs(const char* path = "../include/volta.h") {
    const std::string text = public_header(path), mark = "typedef struct ";
    std::vector<HeaderStruct> structs;
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; ++at) {
        const std::size_t open = text.find_first_of("{;", at);
        if (text[open] != '{') continue;
        const std::size_t close = text.find('}', open);
        HeaderStruct one = {words_of(text.substr(at, open - at)).back(), {}};
        for (std::size_t begin = open + 1; begin < close;) {
            const std::size_t end = std::min(text.find(';', begin), close);
            add_fields(text.substr(begin, end - begin), one.fields);
            begin = end + 1;
        }
        if (!one.fields.empty() && one.fields[0].name == "struct_size") structs.push_back(one);
    }
    return structs;
}

}  // namespace volta::test
