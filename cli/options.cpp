#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/suggest.h"
#include "cli/text.h"

namespace voltac {

// What is taken of an option's values once CLI11 has split the words.
struct Options::Parser : CLI::App {
    using CLI::App::App;
    std::map<const CLI::Option*, std::function<void(const std::string&)>> take;

    const CLI::Option* named(const std::string& word) const {
        return word.size() > 1 && word[0] == '-' ? get_option_no_throw(word) : nullptr;
    }
    // A word that nobody means as the value of an option.
    bool is_name(const std::string& word) const { return word == "--" || named(word) != nullptr; }
};

namespace {

std::string capital(std::string name) {
    for (char& letter : name)
        if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
    return name;
}

}  // namespace

Options::Options(const char* command, const char* description)
    : command_(std::string("voltac ") + command), parser_(std::make_unique<Parser>(description, command_)) {
    parser_->allow_extras();  // read() names them
}

Options::~Options() = default;

HelpPage Options::help_page() const {
    HelpPage page{parser_->get_name(), parser_->get_description(), {}, {}};
    for (const CLI::Option* option : parser_->get_options()) {
        if (option == parser_->get_help_ptr()) continue;
        const bool by_place = option->get_positional();
        (by_place ? page.places : page.options)
            .push_back({by_place ? capital(option->get_name()) : option->get_name(), option->get_type_name(),
                        option->get_description(), option->get_required(),
                        option->get_items_expected_max() > 1});
    }
    return page;
}

// --- what options take

void Options::add(const char* name, const std::string& type, const char* help,
                  std::function<void(const std::string&)> take) {
    CLI::Option* const option = parser_->add_option(
        name, [](const CLI::results_t&) { return true; }, help);
    option->type_name(type)->expected(type.empty() ? 0 : 1);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    parser_->take[option] = std::move(take);
}

namespace {

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
    add(name, "N", help, [=, &value, what = label(name)](const std::string& given) {
        value = whole_number(what, given, low, high);
    });
}

void Options::integers(const char* name, std::vector<std::int32_t>& values, std::int32_t low,
                       std::int32_t high, const char* help) {
    add(name, "N", help, [=, &values, what = label(name)](const std::string& given) {
        values.push_back(static_cast<std::int32_t>(whole_number(what, given, low, high)));
    });
}

namespace {

struct Unit {
    const char* name;
    double bytes;
};
constexpr Unit kUnits[] = {{"", 1},      {"B", 1},
                           {"kB", 1e3},  {"KiB", 1024},
                           {"MB", 1e6},  {"MiB", 1048576.0},
                           {"GB", 1e9},  {"GiB", 1073741824.0},
                           {"TB", 1e12}, {"TiB", 1099511627776.0}};

std::uint64_t byte_count(const std::string& label, const std::string& given) {
    char* unit = nullptr;
    const double number = std::strtod(given.c_str(), &unit);
    if (unit != given.c_str())
        for (const Unit& row : kUnits)
            if (std::strcmp(unit, row.name) == 0 && number * row.bytes >= 1 && number * row.bytes <= 1e18)
                return static_cast<std::uint64_t>(number * row.bytes);
    usage_error(label + " is '" + given + "', it must be bytes, as 500MB or 2GiB");
}

}  // namespace

void Options::bytes(const char* name, std::uint64_t& value, const char* help) {
    add(name, "BYTES", help,
        [=, &value, what = label(name)](const std::string& given) { value = byte_count(what, given); });
}

std::string Range::words() const {
    if (!low_is_open && !high_is_open) return formatted("in %.9g .. %.9g", low, high);
    return formatted("%s %.9g and %s %.9g", low_is_open ? "above" : "at least", low,
                     high_is_open ? "below" : "at most", high);
}

void Options::number(const char* name, double& value, double low, double high, const char* help) {
    number(name, value, Range{low, high}, help);
}

void Options::number(const char* name, double& value, const Range& range, const char* help) {
    add(name, "X", help, [=, &value, what = label(name)](const std::string& given) {
        char* end = nullptr;
        const double parsed = std::strtod(given.c_str(), &end);
        if (given.empty() || *end != '\0') usage_error(what + " is '" + given + "', which is not a number");
        if (!range.has(parsed)) usage_error(what + " is " + given + ", it must be " + range.words());
        value = parsed;
    });
}

void Options::texts(const char* name, std::vector<std::string>& values, const char* help) {
    take_text(
        name, [&values](const std::string& given) { values.push_back(given); }, "TEXT", help);
}

void Options::text(const char* name, std::string& value, const char* help, Empty empty) {
    take_text(
        name, [&value](const std::string& given) { value = given; }, "TEXT", help, empty);
}

// Of what an option left empty is meant to say, its command knows nothing: it would do as if it were not
// there.
void Options::take_text(const char* name, std::function<void(const std::string&)> take,
                        const std::string& type, const char* help, Empty empty) {
    add(name, type, help, [=, what = label(name), take = std::move(take)](const std::string& given) {
        if (given.empty() && empty == Empty::kRefused) usage_error(what + " is empty");
        take(given);
    });
}

void Options::choice(const char* name, std::string& value, const std::vector<std::string>& choices,
                     const char* help) {
    std::string list;
    for (const std::string& choice : choices) list += (list.empty() ? "" : "|") + choice;
    add(name, list, help, [=, &value, what = label(name)](const std::string& given) {
        if (given.empty()) usage_error(what + " is empty");
        if (std::find(choices.begin(), choices.end(), given) == choices.end())
            usage_error(what + " is '" + given + "', it must be one of " + list +
                        did_you_mean(given, choices));
        value = given;
    });
}

void Options::flag(const char* name, bool& value, const char* help) {
    add(name, "", help, [&value, what = label(name)](const std::string& given) {
        if (given != "true" && given != "false")
            usage_error(what + " takes no value but true or false, not '" + given + "'");
        value = given == "true";
    });
}

// --- files

void Options::input(const char* name, std::string& value, const Input& input, const char* help) {
    files_.push_back({name, &value, &input, nullptr});
    take_text(
        name, [&value](const std::string& given) { value = given; }, "FILE", help);
}

void Options::output(const char* name, std::string& value, const Output& output, const char* help) {
    files_.push_back({name, &value, nullptr, &output});
    take_text(
        name, [&value](const std::string& given) { value = given; }, "FILE", help);
}

void Options::positional(const char* name, std::string& value, const char* help) {
    optional_positional(name, value, help);
    require(name);
}

void Options::optional_positional(const char* name, std::string& value, const char* help) {
    input(name, value, kModel, help);
}

void Options::positionals(const char* name, std::vector<std::string>& values, const char* help) {
    constexpr int kMost = 1 << 20;
    texts(name, values, help);
    parser_->get_option(name)->expected(1, kMost);
    require(name);
}

void Options::check_output(const char* name, const std::string& path) const {
    for (const File& file : files_)
        if (std::string(file.name) == name) check_name(label(name), path, *file.output);
    check_writable(name, path);
}

namespace {

// Which the command looks at itself.
bool names_folder(const Output& output, const std::string& path) {
    return (output.folders && path.back() == '/') || (output.folders_there && is_folder(path));
}

}  // namespace

// Wrong names first, for all files; then what the file system says.
void Options::check_files() const {
    const File* stream = nullptr;
    for (const File& file : files_) {
        if (!given(file.name)) continue;
        if (file.output != nullptr) check_name(label(file.name), *file.path, *file.output);
        if (file.input == nullptr || *file.path != kStandardStream) continue;
        if (!file.input->streams)
            usage_error(label(file.name) + " is '-', but " + file.input->what +
                        " is not read from standard input; a file of that name is ./-");
        if (stream != nullptr)
            usage_error(label(file.name) + " and " + stream->name + " cannot both be standard input");
        stream = &file;
    }
    for (const File& file : files_)
        for (const File& other : files_) {
            const bool spoils =
                file.output != nullptr && &file != &other && (other.output != nullptr || other.input->kept);
            if (spoils && given(file.name) && given(other.name) && same_file(*file.path, *other.path))
                usage_error(label(file.name) + " and " + other.name + " are the same file, '" + *file.path +
                            "'");
        }
    for (const File& file : files_)
        if (file.output != nullptr && given(file.name) && !names_folder(*file.output, *file.path))
            check_writable(file.name, *file.path);
}

// --- groups of options

void Options::require(const char* name) { parser_->get_option(name)->required(); }

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
    take_text(
        "--device",
        [&value, what = label("--device")](const std::string& given) {
            const std::vector<std::string> devices = {"cpu", "cuda", "auto"};
            if (std::find(devices.begin(), devices.end(), given) == devices.end() &&
                given.compare(0, 5, "cuda:") != 0)
                usage_error(what + " is '" + given + "', it must be cpu, cuda, cuda:N or auto" +
                            did_you_mean(given, devices));
            value.device = given;
        },
        "cpu|cuda|cuda:N|auto",
        "what it runs on (default: VOLTA_DEVICE, else cpu); at level strict the bits are the same");
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
    input("--config", config_, kConfiguration,
          "a JSON object of options by their long names; - is standard input");
}

// --- reading them

std::vector<std::string> Options::names() const {
    std::vector<std::string> all;
    for (const CLI::Option* option : parser_->get_options())
        if (!option->get_positional()) all.push_back(option->get_name());
    return all;
}

namespace {

using Json = nlohmann::ordered_json;

// One member of the configuration as words of a command line.
void add_words(const std::string& where, const std::string& key, const Json& value,
               std::vector<std::string>& words) {
    if (value.is_boolean()) {
        words.push_back("--" + key + "=" + (value.get<bool>() ? "true" : "false"));
    } else if (value.is_string()) {
        words.push_back("--" + key + "=" + value.get<std::string>());
    } else if (value.is_number()) {
        words.push_back("--" + key + "=" + json_text(value));
    } else {
        usage_error(where + ": " + key + " is neither a number, a string nor a truth value");
    }
}

}  // namespace

// {"steps": 100, "json": true} as --steps=100 --json=true, to be read before the command line's own words.
// The members of a list are given one after the other.
std::vector<std::string> Options::arguments_of_config(const std::string& path) const {
    const std::string where = command_ + ": --config " + shown_name(path);
    const Json config = Json::parse(read_text(path), nullptr, false);
    if (config.is_discarded() || !config.is_object()) usage_error(where + " is not a JSON object");
    std::vector<std::string> words;
    for (const auto& [key, value] : config.items()) {
        if (key == "config") usage_error(where + " names another configuration file");
        if (key == "help" || parser_->get_option_no_throw("--" + key) == nullptr)
            usage_error(std::string(where)
                            .append(": there is no option '")
                            .append(key)
                            .append("'")
                            .append(did_you_mean(key, names())));
        if (value.is_array())
            for (const Json& one : value) add_words(where, key, one, words);
        else
            add_words(where, key, value, words);
    }
    return words;
}

// CLI11 takes the next word for the value that is missing, or empty: "--prompt=" becomes --prompt and "".
std::vector<std::string> Options::with_values(const std::vector<std::string>& words) const {
    std::vector<std::string> split;
    bool options_end = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        options_end = options_end || words[i] == "--";
        const std::size_t sign = words[i].find('=');
        const std::string name = words[i].substr(0, sign);
        const CLI::Option* const option = options_end ? nullptr : parser_->named(name);
        const bool takes_a_value = option != nullptr && option->get_items_expected_max() > 0;
        const bool is_empty = takes_a_value && sign + 1 == words[i].size();
        split.push_back(is_empty ? name : words[i]);
        if (is_empty) split.emplace_back();
        if (!takes_a_value || sign != std::string::npos) continue;
        if (i + 1 == words.size() || parser_->is_name(words[i + 1]))
            usage_error(label(name.c_str()) + " needs a value (see " + command_ + " --help)");
        split.push_back(words[++i]);
    }
    return split;
}

// What CLI11 could not place.
void Options::refuse(const std::vector<std::string>& extras) const {
    const std::string see = " (see " + command_ + " --help)";
    std::vector<std::string> unknown, strays;
    bool options_end = false;
    for (const std::string& word : extras) {
        const bool is_name = !options_end && word.size() > 1 && word[0] == '-';
        if (word == "--" && !options_end)
            options_end = true;
        else
            (is_name ? unknown : strays).push_back(is_name ? word.substr(0, word.find('=')) : word);
    }
    std::string wrong;
    for (const std::string& name : unknown) {
        const std::string meant = nearest(name, names());
        wrong += (wrong.empty() ? "" : ", ") + name + (meant.empty() ? "" : " (did you mean " + meant + "?)");
    }
    if (!unknown.empty())
        usage_error(command_ + ": unknown option" + (unknown.size() > 1 ? "s " : " ") + wrong + see);
    if (!strays.empty())
        usage_error(command_ + ": not expected: " + CLI::detail::join(strays, " ") +
                    did_you_mean(strays[0], names()) + see);
}

// All words are looked at before any value is, so that a call with a slip of the pen hears of that first; of
// what is missing it hears last.
void Options::read(const std::vector<std::string>& words, bool take_values) {
    std::string wrong;  // of what CLI11 checks, that is what is required
    std::vector<std::string> reversed = with_values(words);
    std::reverse(reversed.begin(), reversed.end());  // what CLI11 expects of a vector
    parser_->clear();
    const auto before = static_cast<std::ptrdiff_t>(parser_->parse_order().size());  // CLI11 2.1 keeps it
    try {
        parser_->parse(reversed);
    } catch (const CLI::CallForHelp&) {
        show_help(help_page());
        throw Stop(0, "");
    } catch (const CLI::ParseError& error) {
        wrong = error.what();
    }
    refuse(parser_->remaining());
    if (!take_values) return;
    std::map<const CLI::Option*, std::size_t> taken;
    const std::vector<CLI::Option*>& order = parser_->parse_order();
    for (auto option = order.begin() + before; option != order.end(); ++option) {
        const auto& take = parser_->take.at(*option);
        take((*option)->results()[taken[*option]++]);
    }
    if (!wrong.empty()) usage_error(command_ + ": " + wrong + " (see " + command_ + " --help)");
}

void Options::parse(const std::vector<std::string>& arguments) {
    std::vector<std::string> words = arguments;
    const CLI::Option* const config = parser_->get_option_no_throw("--config");
    if (config != nullptr) {  // its words are read before the command line's own; the last file counts
        read(arguments, false);
        if (config->count() > 0) {
            const std::string path = config->results().back();
            parser_->take.at(config)(path);
            words = arguments_of_config(path);
            words.insert(words.end(), arguments.begin(), arguments.end());
        }
    }
    read(words, true);
    check_files();
}

bool Options::given(const char* name) const { return parser_->get_option(name)->count() > 0; }

}  // namespace voltac
