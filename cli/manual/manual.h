// Manual pages, a page of the manual and shell completions of voltac, printed from the tables that its
// commands read their options by: what a shell offers and a page says cannot differ from what a command
// takes.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/help_page.h"

namespace voltac::manual {

// A command, or a benchmark of `voltac bench`, with what its --help says.
struct Subject {
    std::vector<std::string> path;  // {"bench", "train"}
    Command row;
    HelpPage page;

    std::string joined(const char* between) const {
        std::string text;
        for (const std::string& name : path) text += (text.empty() ? "" : between) + name;
        return text;
    }
    bool has_parts() const { return row.parts != nullptr; }
};

// What a shell may offer for an option's value.
enum class Value { kNone, kNumber, kWords, kFile };
Value value_of(const HelpOption& option);
std::vector<std::string> words_of(const HelpOption& option);  // of kWords: "cuda:N" is none

// `text` with `with` for every `what`.
std::string replaced(std::string text, const std::string& what, const std::string& with);

std::string man_of_program(const std::vector<Subject>& all, const std::string& version);
std::string man_of_command(const Subject& one, const std::vector<Subject>& all, const std::string& version);
std::string markdown(const std::vector<Subject>& all);
std::string bash(const std::vector<Subject>& all);
std::string zsh(const std::vector<Subject>& all);
std::string fish(const std::vector<Subject>& all);

}  // namespace voltac::manual
