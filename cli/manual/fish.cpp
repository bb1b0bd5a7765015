// Completions for fish: one line for each option.
#include "cli/manual/manual.h"

namespace voltac::manual {
namespace {

std::string quoted(const std::string& text) {
    return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

constexpr const char* kBegin = R"(# Completions of voltac for fish, printed from its option tables.
# Whether the call so far is of this command.
function __voltac_of
    set -l words (commandline -opc)
    test (count $words) -gt (count $argv); or return 1
    for i in (seq (count $argv))
        test $words[(math $i + 1)] = $argv[$i]; or return 1
    end
end
# Whether the name of a command of these comes next.
function __voltac_next
    test (count (commandline -opc)) -eq (math (count $argv) + 1); and __voltac_of $argv
end
complete -c voltac -f
)";

}  // namespace

std::string fish(const std::vector<Subject>& all) {
    std::string text = kBegin;
    for (const Subject& one : all) {
        const std::string parent = one.path.size() == 2 ? " " + one.path[0] : "";
        text += "complete -c voltac -n '__voltac_next" + parent + "' -a " + one.path.back() + " -d " +
                quoted(one.row.summary) + "\n";
        if (one.path.size() == 1 && one.row.run != nullptr)
            text += "complete -c voltac -n '__voltac_next help' -a " + one.path.back() + "\n";
        const std::string here = "complete -c voltac -n '__voltac_of " + one.joined(" ") + "'";
        if (!one.page.places.empty()) text += here + " -F\n";
        for (const HelpOption& option : one.page.options) {
            text += here + " -l " + option.name.substr(2);
            const Value value = value_of(option);
            if (value == Value::kNumber) text += " -x";
            if (value == Value::kFile) text += " -r -F";
            if (value == Value::kWords) {
                std::string words;
                for (const std::string& word : words_of(option)) words += (words.empty() ? "" : " ") + word;
                text += " -x -a " + quoted(words);
            }
            text += " -d " + quoted(option.meaning) + "\n";
        }
    }
    return text;
}

}  // namespace voltac::manual
