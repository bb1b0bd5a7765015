#include "tests/support/fake_cuda/fake_source.h"

#include <cctype>
#include <set>

namespace volta::fake {
namespace {

// Comments become blanks.
std::string without_comments(std::string text) {
    for (std::size_t at = 0; at + 1 < text.size(); ++at) {
        const bool line = text[at] == '/' && text[at + 1] == '/',
                   block = text[at] == '/' && text[at + 1] == '*';
        if (!line && !block) continue;
        std::size_t end = line ? text.find('\n', at) : text.find("*/", at + 2);
        end = end == std::string::npos ? text.size() : line ? end : end + 2;
        for (; at < end; ++at)
            if (text[at] != '\n') text[at] = ' ';
        --at;
    }
    return text;
}

struct Scanner {
    const std::string& text;
    std::size_t at;

    void skip_blanks() {
        while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
    }
    std::string word() {
        skip_blanks();
        const std::size_t start = at;
        while (at < text.size() &&
               (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_'))
            ++at;
        return text.substr(start, at - start);
    }
    std::string parentheses() {
        skip_blanks();
        const std::size_t start = at;
        int depth = 0;
        for (; at < text.size(); ++at) {
            depth += text[at] == '(';
            depth -= text[at] == ')';
            if (depth == 0) break;
        }
        ++at;
        return text.substr(start, at - start);
    }
};

}  // namespace

std::string with_entries(const std::string& text, const std::string& name) {
    const std::string code = without_comments(text), global = "__global__";
    std::set<std::string> seen;
    std::string rows;
    for (std::size_t at = code.find(global); at != std::string::npos; at = code.find(global, at + 1)) {
        Scanner scanner{code, at + global.size()};
        std::string bound = "(1024)", word = scanner.word();
        for (; word == "void" || word == "__launch_bounds__"; word = scanner.word())
            if (word != "void") bound = scanner.parentheses();
        if (word.empty() || !seen.insert(word).second) continue;
        const std::string threads =
            bound.substr(0, bound.find(',')) + (bound.find(',') != std::string::npos ? ")" : "");
        rows.append("    ::volta::fake::entry<&").append(word).append(">(\"").append(word);
        rows.append("\", ").append(threads).append("),\n");
    }
    return "#line 1 \"" + name + "\"\n" + text +
           "\nextern \"C\" __attribute__((visibility(\"default\"))) const ::volta::fake::Entry "
           "volta_fake_entries[];\nconst ::volta::fake::Entry volta_fake_entries[] = {\n" +
           rows + "    {nullptr, nullptr, 0, nullptr, 0}};\n";
}

}  // namespace volta::fake
