// voltac: which command a call is of, and the one place where a failure becomes a line and an exit status.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/suggest.h"
#include "cli/text.h"

namespace {

using namespace voltac;
using Words = std::vector<std::string>;

std::string usage_line() {
    std::string line = "usage: voltac ";
    for (const Command& command : commands())
        line += (&command == &commands().front() ? "" : "|") + std::string(command.name);
    return line + " ... (voltac --help says more)";
}

void print_help() {
    const int columns = std::max(columns_of(1), 40);
    std::string text =
        wrapped("voltac: train, run and inspect small neural networks, with the same bits everywhere",
                columns, 0) +
        "\n\n";
    std::vector<Entry> entries;
    for (const Command& command : commands())
        entries.push_back({std::string("voltac ") + command.usage, command.summary});
    text += listed(entries, columns) + "\n";
    print(
        text +
        wrapped("voltac COMMAND --help lists a command's options. Results go to standard output, everything "
                "else to standard error. Files are named; - is standard input for a text. Exit status: 0 "
                "done, 1 it did not work, 2 the call was wrong, 128 and the number of the signal that ended "
                "it.",
                columns, 0) +
        "\n");
}

// `voltac help train`, and `voltac --help train`, are voltac train --help.
int help(const Words& words);

int dispatch(const Words& words) {
    if (words.empty()) usage_error(usage_line());
    if (words[0] == "--help" || words[0] == "-h" || words[0] == "help")
        return help(Words(words.begin() + 1, words.end()));
    const std::string name = words[0] == "--version" ? "version" : words[0];
    Words names;
    for (const Command& command : commands()) {
        if (name == command.name) return command.run(Words(words.begin() + 1, words.end()));
        names.emplace_back(command.name);
    }
    const std::string meant = did_you_mean(name, names);
    usage_error("voltac: there is no command '" + name + "'" + (meant.empty() ? "; " + usage_line() : meant));
}

int help(const Words& words) {
    if (words.empty() || words[0] == "help" || words[0] == "--help" || words[0] == "-h") {
        print_help();
        return 0;
    }
    Words asked = words;
    asked.emplace_back("--help");
    return dispatch(asked);
}

}  // namespace

int main(int argc, char** argv) {
    // A full disk and a closed pipe are errors of a write call: print() tells them apart.
    std::signal(SIGXFSZ, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return dispatch(Words(argv + 1, argv + argc));
    } catch (const Stop& stop) {
        if (std::strlen(stop.what()) > 0)
            std::fprintf(stderr, "%s%s\n", stop.status == kExitFailure ? "voltac: " : "",
                         one_line(stop.what()).c_str());
        return stop.status;
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "voltac: out of memory\n");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "voltac: %s\n", one_line(error.what()).c_str());
    }
    return kExitFailure;
}
