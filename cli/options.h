// Command lines: CLI11 with the manners of voltac. One line per mistake, exit status 2, with the word that
// was perhaps meant; numbers are finite and in range, texts are not empty unless an option says what that
// means; files are what cli/files.h says of them; --config FILE.json sets any option by its long name, and
// the command line overrides it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/files.h"
#include "cli/help_page.h"
#include "cli/support.h"

namespace voltac {

// What an empty text is to an option.
enum class Empty { kRefused, kMeaningful };

// Numbers that an option takes. An end that is open does not belong to it.
struct Range {
    double low, high;
    bool low_is_open = false, high_is_open = false;

    bool has(double value) const {  // never NaN
        return (low_is_open ? value > low : value >= low) && (high_is_open ? value < high : value <= high);
    }
    std::string words() const;  // "in 0 .. 1", "at least 0 and below 1"
};

// How tokens are drawn.
struct Draws {
    double temperature = 0, top_p = 0, min_p = 0, repetition_penalty = 1;
    std::int64_t top_k = 0;

    void fill(volta_generator_options& options) const;
};

// A parser for one command's options: "--name value", "--name=value" (the only way for a value that is the
// name of an option), flags, files by their place, and "--" before files whose names begin with a dash. CLI11
// stays behind it: its header takes longer to compile than any command.
class Options {
  public:
    Options(const char* command, const char* description);
    ~Options();
    // The value's place keeps its default. Ranges are inclusive. A name may have a short form behind a comma,
    // "--ranks,-n".
    void integer(const char* name, std::int64_t& value, std::int64_t low, std::int64_t high,
                 const char* help);
    void number(const char* name, double& value, double low, double high, const char* help);
    void number(const char* name, double& value, const Range& range, const char* help);
    // "500000000", "512MiB", "2GB": units of 1000 and of 1024, a fraction before them.
    void bytes(const char* name, std::uint64_t& value, const char* help);
    void text(const char* name, std::string& value, const char* help, Empty empty = Empty::kRefused);
    // Given as often as wanted, none of them empty; a list in a configuration file.
    void texts(const char* name, std::vector<std::string>& values, const char* help);
    void integers(const char* name, std::vector<std::int32_t>& values, std::int32_t low, std::int32_t high,
                  const char* help);
    void choice(const char* name, std::string& value, const std::vector<std::string>& choices,
                const char* help);
    void flag(const char* name, bool& value, const char* help);
    // Files. parse() refuses what cannot be read or written before any work is done.
    void input(const char* name, std::string& value, const Input& input, const char* help);
    void output(const char* name, std::string& value, const Output& output, const char* help);
    void positional(const char* name, std::string& value, const char* help);
    void optional_positional(const char* name, std::string& value, const char* help);
    // All further places, one at least; the last of the command's places.
    void positionals(const char* name, std::vector<std::string>& values, const char* help);
    void load(std::string& value);   // --load, of kLoadNames
    void draws(Draws& value);        // --temperature, --top-k, --top-p, --min-p, --repetition-penalty
    void machine(Machine& value);    // --device, --level, --precision, --threads, --isa, --no-tuning
    void tuning(Machine& value);     // --no-tuning; every command with a Machine declares it or machine()
    void config();                   // --config FILE.json
    void require(const char* name);  // the call must give it

    // Throws Stop: a usage error, a file that cannot be written, or status 0 with the help text printed.
    void parse(const std::vector<std::string>& arguments);
    bool given(const char* name) const;  // on the command line or in the configuration file
    // As parse() checks it, for an output whose name came from elsewhere.
    void check_output(const char* name, const std::string& path) const;

  private:
    struct Parser;
    // A file among the options; one of the two is not NULL.
    struct File {
        const char* name;
        const std::string* path;
        const Input* input;
        const Output* output;
    };
    void add(const char* name, const std::string& type, const char* help,
             std::function<void(const std::string&)> take);  // a flag has no type
    void take_text(const char* name, std::function<void(const std::string&)> take, const std::string& type,
                   const char* help, Empty empty = Empty::kRefused);
    std::string label(const char* name) const {
        const std::string names = name;
        return command_ + ": " + names.substr(0, names.find(','));
    }
    std::vector<std::string> names() const;
    std::vector<std::string> arguments_of_config(const std::string& path) const;
    std::vector<std::string> with_values(const std::vector<std::string>& words) const;
    void refuse(const std::vector<std::string>& extras) const;
    HelpPage help_page() const;
    void read(const std::vector<std::string>& words, bool take_values);
    void check_files() const;
    std::string command_, config_;
    std::unique_ptr<Parser> parser_;
    std::vector<File> files_;
};

// Adds "level" and "precision" to a line of results, unless they are the defaults.
void add_arithmetic(nlohmann::ordered_json& line, const Machine& machine);

}  // namespace voltac
