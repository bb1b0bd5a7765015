// Command lines: CLI11 with the manners of voltac. One line per mistake, exit status 2; numbers are finite
// and in range, texts are not empty unless an option says what that means; --config FILE.json sets any option
// by its long name, and the command line overrides it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/support.h"

namespace voltac {

// One command: `voltac <name> ...`.
struct Command {
    const char* name;
    const char* usage;    // "train --text FILE --out model.volta [options]"
    const char* summary;  // one line
    int (*run)(const std::vector<std::string>& arguments);
};

// What an empty text is to an option.
enum class Empty { kRefused, kMeaningful };

// How tokens are drawn.
struct Draws {
    double temperature = 0, top_p = 0, min_p = 0, repetition_penalty = 1;
    std::int64_t top_k = 0;

    void fill(volta_generator_options& options) const;
};

// A parser for one command's options. CLI11 stays behind it: its header takes longer to compile than any
// command.
class Options {
  public:
    Options(const char* command, const char* description);
    ~Options();
    // The value's place keeps its default. Ranges are inclusive.
    void integer(const char* name, std::int64_t& value, std::int64_t low, std::int64_t high,
                 const char* help);
    void number(const char* name, double& value, double low, double high, const char* help);
    void text(const char* name, std::string& value, const char* help, Empty empty = Empty::kRefused);
    // Given as often as wanted, none of them empty; a list in a configuration file.
    void texts(const char* name, std::vector<std::string>& values, const char* help);
    void integers(const char* name, std::vector<std::int32_t>& values, std::int32_t low, std::int32_t high,
                  const char* help);
    void choice(const char* name, std::string& value, const std::vector<std::string>& choices,
                const char* help);
    void flag(const char* name, bool& value, const char* help);
    void positional(const char* name, std::string& value, const char* help);
    void optional_positional(const char* name, std::string& value, const char* help);
    void load(std::string& value);   // --load, of kLoadNames
    void draws(Draws& value);        // --temperature, --top-k, --top-p, --min-p, --repetition-penalty
    void machine(Machine& value);    // --device, --level, --precision, --threads, --isa, --no-tuning
    void tuning(Machine& value);     // --no-tuning; every command with a Machine declares it or machine()
    void config();                   // --config FILE.json
    void require(const char* name);  // the call must give it

    // Throws Stop: a usage error, or status 0 with the help text printed.
    void parse(const std::vector<std::string>& arguments);
    bool given(const char* name) const;  // on the command line or in the configuration file

  private:
    struct Parser;
    void take_text(const char* name, std::function<void(const std::string&)> take, const char* type,
                   const char* help, Empty empty = Empty::kRefused);
    std::vector<std::string> with_empty_values(const std::vector<std::string>& words) const;
    void check_required() const;
    std::string command_;
    std::unique_ptr<Parser> parser_;
    std::vector<const char*> required_;
};

// Adds "level" and "precision" to a line of results, unless they are the defaults.
void add_arithmetic(nlohmann::ordered_json& line, const Machine& machine);

}  // namespace voltac
