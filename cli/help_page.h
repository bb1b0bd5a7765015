// What a command's --help says, as data. Who shows it is linked in: voltac writes it for a terminal
// (help_page.cpp), print_manual makes pages and completions of it (cli/manual).
#pragma once

#include <string>
#include <vector>

namespace voltac {

struct HelpOption {
    std::string name;     // "--text", "MODEL"
    std::string type;     // "N", "FILE", "cpu|cuda"; "": a flag
    std::string meaning;  // one line
    bool required = false;
    bool repeated = false;  // takes any number of values
};

struct HelpPage {
    std::string command;      // "voltac bench train"
    std::string description;  // one paragraph
    std::vector<HelpOption> places, options;
};

void show_help(const HelpPage& page);

}  // namespace voltac
