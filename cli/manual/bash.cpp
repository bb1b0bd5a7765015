// Completions for bash: one function, whose two tables are printed.
#include <map>

#include "cli/manual/manual.h"

namespace voltac::manual {
namespace {

std::string list(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

// After "--option=" the shell has cut the word in three. Files are what is offered where nothing else is (-o
// default).
constexpr const char* kBegin = R"(# Completions of voltac for bash, printed from its option tables.
_voltac() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} at=1 command options='' values=''
    COMPREPLY=()
    if [[ $word == = ]]; then
        word=''
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    command=${COMP_WORDS[1]}
    [[ $COMP_CWORD -gt 1 && ' @PARENTS@ ' == *" $command "* ]] && at=2 command="$command ${COMP_WORDS[2]}"
    if [[ $COMP_CWORD -eq $at ]]; then
        case ${COMP_WORDS[at - 1]} in
@NAMES@        esac
        return
    fi
    case $command in
@OPTIONS@    esac
    case "$command $before" in
@VALUES@    esac
    if [[ $values == - ]]; then # a number
        compopt +o default 2>/dev/null
    elif [[ -n $values ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
    elif [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    fi
}
complete -o default -F _voltac voltac
)";

}  // namespace

std::string bash(const std::vector<Subject>& all) {
    std::vector<std::string> parents, commands;
    std::map<std::string, std::vector<std::string>> parts;  // of "bench"
    std::map<std::string, std::string> patterns;  // values -> "'train --device' | 'generate --device'"
    std::string options;
    for (const Subject& one : all) {
        if (one.path.size() == 1) commands.push_back(one.path[0]);
        if (one.has_parts()) parents.push_back(one.path[0]);
        if (one.path.size() == 2) parts[one.path[0]].push_back(one.path[1]);
        std::vector<std::string> names = {"--help"};
        for (const HelpOption& option : one.page.options) {
            names.push_back(option.name);
            const Value value = value_of(option);
            const std::string offered = value == Value::kNumber  ? "-"
                                        : value == Value::kWords ? list(words_of(option))
                                                                 : "";
            std::string& pattern = patterns[offered];
            pattern.append(pattern.empty() ? "'" : " | '")
                .append(one.joined(" "))
                .append(" ")
                .append(option.name)
                .append("'");
        }
        options += "        '" + one.joined(" ") + "') options='" + list(names) + "' ;;\n";
    }
    parts["help"] = commands;
    parents.emplace_back("help");
    std::string names, values;
    for (const auto& [parent, words] : parts)
        names += "            " + parent + ") mapfile -t COMPREPLY < <(compgen -W '" + list(words) +
                 "' -- \"$word\") ;;\n";
    names += "            *) mapfile -t COMPREPLY < <(compgen -W '" + list(commands) +
             " --help --version' -- \"$word\") ;;\n";
    for (const auto& [offered, pattern] : patterns)
        if (!offered.empty())
            values.append("        ").append(pattern).append(") values='").append(offered).append("' ;;\n");
    std::string text = replaced(kBegin, "@PARENTS@", list(parents));
    text = replaced(text, "@NAMES@", names);
    text = replaced(text, "@OPTIONS@", options);
    return replaced(text, "@VALUES@", values);
}

}  // namespace voltac::manual
