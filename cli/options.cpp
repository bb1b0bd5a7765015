#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace voltac {

struct Options::Parser : CLI::App {
    using CLI::App::App;
};

Options::Options(const char* command, const char* description)
    : command_(std::string("voltac ") + command), parser_(std::make_unique<Parser>(description, command_)) {
    parser_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

Options::~Options() = default;

namespace {

// Parsed here rather than by CLI11, which takes "nan" for a number and reports ranges in its own words.
std::int64_t whole_number(const std::string& label, const std::string& given, std::int64_t low,
                          std::int64_t high) {
    char* end = nullptr;
    errno = 0;
    const long long parsed = std::strtoll(given.c_str(), &end, 10);
    if (given.empty() || *end != '\0')
        usage_error(label + " is '" + given + "', which is not a whole number");
    if (errno != 0 || parsed < low || parsed > high)
        usage_error(label + " is " + given + ", it must be in " + std::to_string(low) + " .. " +
                    std::to_string(high));
    return parsed;
}

}  // namespace

void Options::integer(const char* name, std::int64_t& value, std::int64_t low, std::int64_t high,
                      const char* help) {
    const std::string label = command_ + ": " + name;
    parser_
        ->add_option_function<std::string>(
            name, [=, &value](const std::string& given) { value = whole_number(label, given, low, high); },
            help)
        ->type_name("N")
        ->trigger_on_parse();
}

void Options::integers(const char* name, std::vector<std::int32_t>& values, std::int32_t low,
                       std::int32_t high, const char* help) {
    const std::string label = command_ + ": " + name;
    parser_
        ->add_option_function<std::string>(
            name,
            [=, &values](const std::string& given) {
                values.push_back(static_cast<std::int32_t>(whole_number(label, given, low, high)));
            },
            help)
        ->type_name("N")
        ->trigger_on_parse();
}

void Options::texts(const char* name, std::vector<std::string>& values, const char* help) {
    take_text(
        name, [&values](const std::string& given) { values.push_back(given); }, "TEXT", help);
}

void Options::number(const char* name, double& value, double low, double high, const char* help) {
    const std::string label = name;
    parser_
        ->add_option_function<std::string>(
            name,
            [=, &value](const std::string& given) {
                char* end = nullptr;
                const double parsed = std::strtod(given.c_str(), &end);
                if (given.empty() || *end != '\0')
                    usage_error(command_ + ": " + label + " is '" + given + "', which is not a number");
                if (!std::isfinite(parsed) || parsed < low || parsed > high)
                    usage_error(command_ + ": " + label +
                                formatted(" is %s, it must be in %g .. %g", given.c_str(), low, high));
                value = parsed;
            },
            help)
        ->type_name("X")
        ->trigger_on_parse();
}

void Options::text(const char* name, std::string& value, const char* help, Empty empty) {
    take_text(
        name, [&value](const std::string& given) { value = given; }, "TEXT", help, empty);
}

// Of what an option left empty is meant to say, its command knows nothing: it would do as if it were not
// there.
void Options::take_text(const char* name, std::function<void(const std::string&)> take, const char* type,
                        const char* help, Empty empty) {
    const std::string label = command_ + ": " + name;
    parser_
        ->add_option_function<std::string>(
            name,
            [=](const std::string& given) {
                if (given.empty() && empty == Empty::kRefused) usage_error(label + " is empty");
                take(given);
            },
            help)
        ->type_name(type)
        ->trigger_on_parse();
}

void Options::choice(const char* name, std::string& value, const std::vector<std::string>& choices,
                     const char* help) {
    const std::string label = name;
    std::string list;
    for (const std::string& choice : choices) list += (list.empty() ? "" : "|") + choice;
    parser_
        ->add_option_function<std::string>(
            name,
            [=, &value](const std::string& given) {
                for (const std::string& choice : choices)
                    if (choice == given) {
                        value = given;
                        return;
                    }
                usage_error(command_ + ": " + label + " is '" + given + "', it must be one of " + list);
            },
            help)
        ->type_name(list)
        ->trigger_on_parse();
}

void Options::flag(const char* name, bool& value, const char* help) { parser_->add_flag(name, value, help); }

void Options::positional(const char* name, std::string& value, const char* help) {
    require(name);
    optional_positional(name, value, help);
}

void Options::optional_positional(const char* name, std::string& value, const char* help) {
    take_text(
        name, [&value](const std::string& given) { value = given; }, "FILE", help);
}

void Options::require(const char* name) { required_.push_back(name); }

namespace {

template <std::size_t N>
std::vector<std::string> words(const char* const (&names)[N]) {
    return {names, names + N};
}

}  // namespace

void Draws::fill(volta_generator_options& options) const {
    options.temperature = temperature;
    options.top_k = static_cast<std::int32_t>(top_k);
    options.top_p = top_p;
    options.min_p = min_p;
    options.repetition_penalty = repetition_penalty;
}

void Options::draws(Draws& value) {
    const std::string temperature =
        value.temperature == 0
            ? "0: always the most likely token (default)"
            : formatted("0: always the most likely token (default: %g)", value.temperature);
    number("--temperature", value.temperature, 0, 1000, temperature.c_str());
    integer("--top-k", value.top_k, 0, INT32_MAX, "keep the K most likely; 0: all (default)");
    number("--top-p", value.top_p, 0, 1, "keep the smallest head with this mass; 0: all (default)");
    number("--min-p", value.min_p, 0, 1, "keep tokens of at least this share of the best; 0: all (default)");
    number("--repetition-penalty", value.repetition_penalty, 0.001, 1000, "1: none (default)");
}

void Options::load(std::string& value) {
    choice("--load", value, words(kLoadNames),
           "how the file is opened: map, at once, sharing its pages with other processes; copy, read into "
           "memory of its own, in large pages where the system grants them, which takes longer, verifies "
           "every checksum and is read faster where weights come from memory (default: map)");
}

void Options::machine(Machine& value) {
    integer("--threads", value.threads, 1, 256,
            "threads (default: VOLTA_NUM_THREADS, else the physical cores)");
    value.device = default_device();
    text("--device", value.device,
         "what it runs on: cpu, cuda, cuda:N or auto (default: VOLTA_DEVICE, else cpu); at level "
         "strict the bits are the same");
    choice("--level", value.level, words(kLevelNames),
           "which bits are promised: strict, the same everywhere; repeatable, the same on this device and "
           "build; fast, any within tolerance (default: strict)");
    choice("--precision", value.precision, words(kPrecisionNames),
           "what products round their operands to; tf32 and bf16 need --device cuda and another --level than "
           "strict (default: fp32)");
    choice("--isa", value.isa, {"auto", "scalar", "avx2", "avx512"},
           "instruction set; every one gives the same bits");
    tuning(value);
}

void add_arithmetic(nlohmann::ordered_json& line, const Machine& machine) {
    if (is_strict(machine)) return;
    line["level"] = machine.level;
    line["precision"] = machine.precision;
}

void Options::tuning(Machine& value) {
    value.command = command_;
    flag("--no-tuning", value.no_tuning, "leave out what `voltac tune` found; it changes speed only");
}

void Options::config() {
    take_text(
        "--config", [](const std::string&) {}, "FILE", "a JSON object of options by their long names");
}

namespace {

using Json = nlohmann::ordered_json;

// One member of the configuration as words of a command line.
void add_words(const std::string& where, const std::string& key, const Json& value,
               std::vector<std::string>& words) {
    if (value.is_boolean()) {
        if (value.get<bool>()) words.push_back("--" + key);
    } else if (value.is_string()) {
        words.push_back("--" + key + "=" + value.get<std::string>());
    } else if (value.is_number()) {
        words.push_back("--" + key + "=" + value.dump());
    } else {
        usage_error(where + ": " + key + " is neither a number, a string nor a truth value");
    }
}

// {"steps": 100, "json": true} as --steps 100 --json, to be parsed before the command line's own words. The
// members of a list are given one after the other.
std::vector<std::string> arguments_of_config(const std::string& command, const std::string& path) {
    const std::string where = command + ": --config " + path;
    const Json config = Json::parse(read_text(path), nullptr, false);
    if (config.is_discarded() || !config.is_object()) usage_error(where + " is not a JSON object");
    std::vector<std::string> words;
    for (const auto& [key, value] : config.items()) {
        if (key == "config") usage_error(where + " names another configuration file");
        if (value.is_array())
            for (const Json& one : value) add_words(where, key, one, words);
        else
            add_words(where, key, value, words);
    }
    return words;
}

// Where the words name a configuration file: "--config FILE" or "--config=FILE"; the last one counts.
std::string config_in(const std::vector<std::string>& arguments) {
    std::string path;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == "--config" && i + 1 < arguments.size()) path = arguments[i + 1];
        if (arguments[i].rfind("--config=", 0) == 0) path = arguments[i].substr(9);
    }
    return path;
}

std::string first_line(std::string text) {
    const std::size_t end = text.find('\n');
    return end == std::string::npos ? text : text.substr(0, end);
}

}  // namespace

// "--prompt=" as --prompt and an empty word: CLI11 would take the next word for the value.
std::vector<std::string> Options::with_empty_values(const std::vector<std::string>& words) const {
    std::vector<std::string> split;
    for (const std::string& word : words) {
        const std::string name = word.substr(0, word.find('='));
        const CLI::Option* option = name + "=" == word ? parser_->get_option_no_throw(name) : nullptr;
        const bool takes_a_value = option != nullptr && option->get_items_expected_max() > 0;
        split.push_back(takes_a_value ? name : word);
        if (takes_a_value) split.emplace_back();
    }
    return split;
}

void Options::parse(const std::vector<std::string>& arguments) {
    std::vector<std::string> words;
    const bool takes_config = parser_->get_option_no_throw("--config") != nullptr;
    const std::string config = takes_config ? config_in(arguments) : "";
    if (!config.empty()) words = arguments_of_config(command_, config);
    words.insert(words.end(), arguments.begin(), arguments.end());
    words = with_empty_values(words);
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // what CLI11 expects of a vector
    try {
        parser_->parse(reversed);
    } catch (const CLI::CallForHelp&) {
        print(parser_->help());
        throw Stop(0, "");
    } catch (const CLI::ParseError& error) {
        usage_error(command_ + ": " + first_line(error.what()) + " (see " + command_ + " --help)");
    }
    check_required();
}

// After parsing, so that a word that is unknown is named before one that is missing.
void Options::check_required() const {
    for (const char* name : required_)
        if (!given(name)) usage_error(command_ + ": " + name + " is required (see " + command_ + " --help)");
}

bool Options::given(const char* name) const { return parser_->get_option(name)->count() > 0; }

}  // namespace voltac
