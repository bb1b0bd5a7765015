// The page of the manual about voltac, docs/commands.md: every command with its options.
#include "cli/manual/manual.h"

namespace voltac::manual {
namespace {

// Words as Markdown takes them, in a cell of a table too.
std::string plain(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '<')
            out += "&lt;";
        else if (c == '|')
            out += "&#124;";
        else if (c == '*' || c == '[' || c == ']')
            (out += '\\') += c;
        else
            out += c;
    }
    return out;
}

std::string code(const std::string& text) { return "`" + text + "`"; }

// "N", "FILE", or the words that there are.
std::string value(const std::string& type) { return type.empty() ? "" : code(replaced(type, "|", "`, `")); }

std::string rows(const std::vector<HelpOption>& options, bool with_values) {
    std::string text =
        with_values ? "| option | value | meaning |\n|---|---|---|\n" : "| argument | meaning |\n|---|---|\n";
    for (const HelpOption& option : options) {
        text += "| " + code(option.name) + " |";
        if (with_values) text += " " + value(option.type) + (option.type.empty() ? "|" : " |");
        text += " " + plain(option.meaning) + (option.required ? " (required)" : "") + " |\n";
    }
    return text;
}

std::string anchor(const Subject& one) { return "#voltac-" + one.joined("-"); }

}  // namespace

std::string markdown(const std::vector<Subject>& all) {
    std::string text =
        "<!-- Printed from the tables that commands read their options by (cli/manual/markdown.cpp): make "
        "docs-tables. -->\n\n# Commands of voltac\n\nWhat each command takes. The same is said by `voltac "
        "help "
        "COMMAND` and `man voltac-COMMAND`, and completed by the shell. Results go to standard output, "
        "progress and errors to standard error; `-` is standard input where a text is read. Exit status: 0 "
        "done, 1 a "
        "failure, 2 a wrong call, 128 with a signal's number. `VOLTA_NUM_THREADS=2` and "
        "`VOLTA_DEVICE=cuda` in the environment stand for `--threads` and `--device` where these are not "
        "given.\n\n| command | what it does |\n|---|---|\n";
    for (const Subject& one : all)
        text += "| [" + code("voltac " + one.joined(" ")) + "](" + anchor(one) + ") | " +
                plain(one.row.summary) + " |\n";
    for (const Subject& one : all) {
        text += "\n## voltac " + one.joined(" ") + "\n\n" + "Usage: " + code(one.row.usage) + "\n\n" +
                plain(one.page.description.empty() ? one.row.summary : one.page.description) + "\n";
        if (!one.page.places.empty()) text += "\n" + rows(one.page.places, false);
        if (!one.page.options.empty()) text += "\n" + rows(one.page.options, true);
    }
    return text;
}

}  // namespace voltac::manual
