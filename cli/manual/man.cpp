// Pages for man(1), section 1: voltac(1) and one for each command.
#include <algorithm>

#include "cli/manual/manual.h"

namespace voltac::manual {
namespace {

// Text as roff takes it: no escapes and no requests by accident, and dashes of options that can be copied.
std::string roff(const std::string& text) {
    std::string out = replaced(text, "\\", "\\e");
    out = replaced(out, "--", "\\-\\-");
    out = replaced(out, "~", "\\(ti");
    out = replaced(out, "^", "\\(ha");
    if (!out.empty() && (out[0] == '.' || out[0] == '\'')) out.insert(0, "\\&");
    return out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }

std::string head(const std::string& name, const std::string& summary, const std::string& version) {
    std::string title = name;
    std::transform(title.begin(), title.end(), title.begin(),
                   [](char c) { return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    // Lines are not stretched: names of files and lists of choices are long words.
    return ".TH " + title + " 1 \"\" \"volta " + version + "\" \"Volta\"\n.SH NAME\n" + name + " \\- " +
           roff(summary) + "\n.ad l\n.nh\n";
}

// The usage of a command: words that are typed as they stand are bold.
std::string synopsis(const Subject& one) {
    std::string usage = one.row.usage, text = "voltac ";
    for (std::size_t i = 0; i + 1 < one.path.size(); ++i) text += one.path[i] + " ";
    return ".SH SYNOPSIS\n" + bold("voltac " + one.joined(" ")) +
           roff(usage.substr(std::min(usage.size(), one.path.back().size()))) + "\n";
}

std::string entry(const std::string& name, const std::string& type, const std::string& meaning) {
    return ".TP\n" + bold(name) + (type.empty() ? "" : " \\fI" + replaced(roff(type), "|", "|\\:") + "\\fR") +
           "\n" + roff(meaning) + "\n";
}

std::string reference(const Subject& one, const char* end = "") {
    return ".BR voltac\\-" + replaced(one.joined("-"), "-", "\\-") + " (1)" + end + "\n";
}

constexpr const char* kManners =
    "Results go to standard output, progress and errors to standard error. Files are named; - is standard "
    "input where a text is read.";

std::string exit_status() {
    return ".SH EXIT STATUS\n" + entry("0", "", "What was asked for is done.") +
           entry("1", "", "It did not work; one line on standard error says why.") +
           entry("2", "", "The call was wrong; one line says how.") +
           entry("128+N", "", "Signal N ended it: 130 after Ctrl-C, 141 when nobody reads on.");
}

std::string environment() {
    return ".SH ENVIRONMENT\n" + entry("VOLTA_NUM_THREADS", "", "Threads, where --threads is not given.") +
           entry("VOLTA_DEVICE", "", "The device, where --device is not given.") + ".SH FILES\n" +
           entry("~/.volta", "", "What was tuned and compiled for this machine; may be removed.");
}

}  // namespace

std::string man_of_program(const std::vector<Subject>& all, const std::string& version) {
    std::string text = head(
        "voltac", "train, run and inspect small neural networks, with the same bits everywhere", version);
    text += ".SH SYNOPSIS\n" + bold("voltac") + " \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n.br\n" +
            bold("voltac help") + " [\\fICOMMAND\\fR]\n";
    text += ".SH DESCRIPTION\n" + roff(kManners) +
            "\n.PP\nThe same model, data and seed give the same bits on every machine, by any number of "
            "threads and "
            "any instruction set.\n.SH COMMANDS\n";
    for (const Subject& one : all)
        if (one.path.size() == 1) text += ".TP\n" + reference(one) + roff(one.row.summary) + "\n";
    text += exit_status() + environment() + ".SH SEE ALSO\n";
    for (const Subject& one : all) text += reference(one, &one == &all.back() ? "" : ",");
    return text;
}

std::string man_of_command(const Subject& one, const std::vector<Subject>& all, const std::string& version) {
    std::string text = head("voltac-" + one.joined("-"), one.row.summary, version) + synopsis(one);
    text += ".SH DESCRIPTION\n" +
            roff(one.page.description.empty() ? one.row.summary : one.page.description) + "\n.PP\n" +
            roff(kManners) + "\n";
    if (one.has_parts()) {
        text += ".SH COMMANDS\n";
        for (const Subject& part : all)
            if (part.path.size() > 1 && part.path[0] == one.path[0])
                text += ".TP\n" + reference(part) + roff(part.row.summary) + "\n";
    }
    if (!one.page.places.empty()) {
        text += ".SH ARGUMENTS\n";
        for (const HelpOption& place : one.page.places) text += entry(place.name, "", place.meaning);
    }
    text += ".SH OPTIONS\n";
    for (const HelpOption& option : one.page.options)
        text += entry(option.name, option.type, option.meaning + (option.required ? " (required)" : ""));
    text += entry("-h, --help", "", "A list of the options.");
    return text + exit_status() + ".SH SEE ALSO\n.BR voltac (1)\n";
}

}  // namespace voltac::manual
