// print_manual FOLDER VERSION: writes the pages and completions of voltac there. Every command is asked for
// its --help; linked with show_help() below, it hands over what it would have shown.
#include <cstdio>
#include <cstring>
#include <fstream>

#include "cli/manual/manual.h"
#include "cli/support.h"

namespace voltac {
namespace {

HelpPage shown;

}  // namespace

void show_help(const HelpPage& page) { shown = page; }

namespace manual {

std::string replaced(std::string text, const std::string& what, const std::string& with) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
        text.replace(at, what.size(), with);
    return text;
}

Value value_of(const HelpOption& option) {
    if (option.type.empty()) return Value::kNone;
    if (option.type == "N" || option.type == "X") return Value::kNumber;
    return option.type.find('|') == std::string::npos ? Value::kFile : Value::kWords;
}

std::vector<std::string> words_of(const HelpOption& option) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : option.type + "|") {
        if (c != '|') {
            word += c;
            continue;
        }
        bool is_word = !word.empty();
        for (const char letter : word) is_word = is_word && !('A' <= letter && letter <= 'Z');
        if (is_word) words.push_back(word);
        word.clear();
    }
    return words;
}

namespace {

void collect(const std::vector<Command>& table, const std::vector<std::string>& above,
             std::vector<Subject>& all) {
    for (const Command& row : table) {
        Subject one{above, row, {}};
        one.path.emplace_back(row.name);
        if (row.parts == nullptr && row.run != nullptr) {
            shown = {};
            try {
                row.run({"--help"});
            } catch (const Stop& stop) {
                if (stop.status != 0) throw;
            }
            if (shown.command != "voltac " + one.joined(" "))
                failure("voltac " + one.joined(" ") + " --help shows the page of '" + shown.command + "'");
        }
        one.page = shown;
        shown = {};
        all.push_back(one);
        if (row.parts != nullptr) collect(row.parts(), one.path, all);
    }
}

void write(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) failure("cannot write " + path);
}

void run(const std::string& folder, const std::string& version) {
    std::vector<Subject> all;
    collect(commands(), {}, all);
    write(folder + "/voltac.1", man_of_program(all, version));
    for (const Subject& one : all)
        write(folder + "/voltac-" + one.joined("-") + ".1", man_of_command(one, all, version));
    write(folder + "/commands.md", markdown(all));
    write(folder + "/voltac.bash", bash(all));
    write(folder + "/_voltac", zsh(all));
    write(folder + "/voltac.fish", fish(all));
}

}  // namespace
}  // namespace manual
}  // namespace voltac

int main(int argc, char** argv) try {
    if (argc != 3) {
        std::fprintf(stderr, "usage: print_manual FOLDER VERSION\n");
        return 2;
    }
    voltac::manual::run(argv[1], argv[2]);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "print_manual: %s\n", error.what());
    return 1;
}
