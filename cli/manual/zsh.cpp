// Completions for zsh: a spec of _arguments for each option.
#include "cli/manual/manual.h"

namespace voltac::manual {
namespace {

// Within single quotes, and within the brackets or behind the colon of a spec.
std::string quoted(const std::string& text) {
    std::string out = replaced(text, "\\", "\\\\");
    for (const char* special : {"[", "]", ":"}) out = replaced(out, special, std::string("\\") + special);
    return replaced(out, "'", "'\\''");
}

std::string spec(const HelpOption& option) {
    const Value value = value_of(option);
    std::string text =
        "'*" + option.name + (value == Value::kNone ? "[" : "=[") + quoted(option.meaning) + "]";
    if (value == Value::kNone) return text + "'";
    text += ":" + quoted(option.type) + ":";
    if (value == Value::kFile) text += "_files";
    if (value == Value::kWords) {
        text += "(";
        for (const std::string& word : words_of(option))
            text += (text.back() == '(' ? "" : " ") + quoted(word);
        text += ")";
    }
    return text + "'";
}

// The array of _describe: 'name:what it does'.
std::string described(const std::string& array, const std::vector<const Subject*>& subjects) {
    std::string text = "    local -a " + array + "=(\n";
    for (const Subject* one : subjects)
        text += "        '" + one->path.back() + ":" + replaced(one->row.summary, "'", "'\\''") + "'\n";
    return text + "    )\n";
}

}  // namespace

std::string zsh(const std::vector<Subject>& all) {
    std::vector<const Subject*> commands;
    std::string text =
        "#compdef voltac\n# Completions of voltac for zsh, printed from its option tables.\n_voltac() {\n";
    std::string parents;
    for (const Subject& one : all) {
        if (one.path.size() == 1) commands.push_back(&one);
        if (!one.has_parts()) continue;
        std::vector<const Subject*> parts;
        for (const Subject& part : all)
            if (part.path.size() == 2 && part.path[0] == one.path[0]) parts.push_back(&part);
        text += described(one.path[0] + "_parts", parts);
        parents += "    if [[ $words[2] == " + one.path[0] +
                   " ]]; then\n        if (( CURRENT == 3 )); then _describe command " + one.path[0] +
                   "_parts; return; fi\n        words[2]=\"$words[2] $words[3]\" words[3]=()\n        (( "
                   "CURRENT-- ))\n    fi\n";
    }
    text += described("commands", commands);
    text += "    if (( CURRENT == 2 )); then _describe command commands; return; fi\n" + parents +
            "    local command=$words[2]\n    words[1]=()\n    (( CURRENT-- ))\n    case $command in\n"
            "        help) _describe command commands ;;\n";
    for (const Subject& one : all) {
        if (one.row.run == nullptr) continue;
        text += "        '" + one.joined(" ") + "') _arguments -S \\\n";
        for (const HelpOption& option : one.page.options) text += "            " + spec(option) + " \\\n";
        text += std::string("            '--help[this text]'") +
                (one.page.places.empty() ? "" : " '*:file:_files'") + " ;;\n";
    }
    return text + "    esac\n}\n_voltac \"$@\"\n";
}

}  // namespace voltac::manual
