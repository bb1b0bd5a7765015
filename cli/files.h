// Files that commands read and write: what "-" means, which names are written, and whether a file can be
// written at all, found out before the work begins. Options asks for all of it, for every command alike.
#pragma once

#include <string>
#include <vector>

namespace voltac {

inline constexpr const char* kStandardStream = "-";  // a file of that name is ./-

// --- reading

// How a command takes what it reads.
struct Input {
    const char* what;  // "a model"
    bool streams;      // "-" is standard input, read to its end
    bool kept;         // a call must not overwrite it
};
inline constexpr Input kText = {"a text", true, true};
inline constexpr Input kConfiguration = {"a configuration", true, true};
inline constexpr Input kModel = {"a model", false, false};  // may be replaced by what is made of it
inline constexpr Input kTokenizer = {"a tokenizer", false, true};
inline constexpr Input kSideFile = {"it", false, true};

std::string shown_name(const std::string& path);  // for messages: "standard input", or the path
std::string read_text(const std::string& path);   // of a file, a pipe or standard input; not empty

// --- writing

struct Ending {
    const char* ending;  // ".json"; small letters
    const char* what;    // "a trace"
};

// What a command writes, and under which names. Endings are compared without regard to capital letters.
struct Output {
    const char* what;             // "a model file"
    std::vector<Ending> endings;  // that it knows
    bool other_names;  // a name with another ending is fine too, unless a format of another program has it
    bool bare_names = false;     // without other_names: so is a name without any ending
    bool folders = false;        // "name/" is a folder, which the command makes
    bool folders_there = false;  // and so is the name of one that is there
};
extern const Output kModelOutput, kCheckpointOutput, kConvertOutput, kConfigOutput, kArrayOutput,
    kReportOutput, kPictureOutput, kProfileOutput;

bool is_folder(const std::string& path);
bool has_ending(const std::string& path, const char* ending);

// Usage errors that begin with `label` ("voltac train: --out"): "-", a name of another format.
void check_name(const std::string& label, const std::string& path, const Output& output);
// Failure that names `option` unless the library, or write_text, could write this file now.
void check_writable(const char* option, const std::string& path);
// Whether both are the same file, which need not be there yet.
bool same_file(const std::string& a, const std::string& b);

// Either the old file or the whole new one, at any moment.
void write_text(const std::string& path, const std::string& text);

}  // namespace voltac
