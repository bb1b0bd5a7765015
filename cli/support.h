// What every command needs: failures that become one line and an exit status, owned handles, output.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/text.h"
#include "include/volta.h"

namespace voltac {

inline constexpr int kExitFailure = 1;        // it was tried and did not work
inline constexpr int kExitUsage = 2;          // the call was wrong
inline constexpr int kExitInterrupted = 130;  // 128 + SIGINT
inline constexpr int kExitPipe = 141;  // nobody reads standard output any more: 128 + SIGPIPE, in silence

// One line for standard error, and the exit status.
struct Stop : std::runtime_error {
    Stop(int exit_status, const std::string& line) : std::runtime_error(line), status(exit_status) {}
    int status;
};
[[noreturn]] void usage_error(const std::string& line);
[[noreturn]] void failure(const std::string& line);
void check(volta_status status);  // failure(volta_last_error()) unless OK

template <class T, void (*release)(T*)>
struct Release {
    void operator()(T* handle) const { release(handle); }
};
using Context = std::unique_ptr<volta_context, Release<volta_context, volta_context_release>>;
using Model = std::unique_ptr<volta_model, Release<volta_model, volta_model_release>>;
using Trainer = std::unique_ptr<volta_trainer, Release<volta_trainer, volta_trainer_release>>;
using Generator = std::unique_ptr<volta_generator, Release<volta_generator, volta_generator_release>>;
using Tokenizer = std::unique_ptr<volta_tokenizer, Release<volta_tokenizer, volta_tokenizer_release>>;
using Session = std::unique_ptr<volta_session, Release<volta_session, volta_session_release>>;

inline constexpr const char* kLevelNames[] = {"strict", "repeatable", "fast"};  // by volta_level
inline constexpr const char* kLoadNames[] = {"map", "copy"};                    // by volta_load_mode
inline constexpr const char* kPrecisionNames[] = {"fp32", "tf32", "bf16"};      // by volta_precision

// Where and how to compute: the options every command shares.
struct Machine {
    std::string command = "voltac";  // "voltac train": what usage errors begin with; Options sets it
    std::int64_t threads = 0;        // 0: VOLTA_NUM_THREADS, else the physical cores
    std::string isa = "auto";
    std::string device = "cpu";    // as volta_context_options takes it
    std::string level = "strict";  // of kLevelNames
    std::string precision = "fp32";
    bool tells = false;        // the log's information is printed, not its warnings alone
    std::uint64_t memory = 0;  // host_budget
    std::string step_order = "graph";
    bool no_tuning = false;  // else what `voltac tune` found counts: $HOME/.volta/matmul_tuning
};
std::string default_device();  // VOLTA_DEVICE, else "cpu"
inline bool is_strict(const Machine& machine) { return machine.level == kLevelNames[VOLTA_STRICT]; }
// Where results of `voltac tune` are kept; "" and in *reason, if it is not NULL, why they are not.
std::string tuning_folder(const Machine& machine, std::string* reason = nullptr);
Context make_context(const Machine& machine, const volta_allocator* allocator = nullptr);  // NULL: the C heap
// `load` is of kLoadNames.
Model open_model(const Context& context, const std::string& path,
                 const std::string& load = kLoadNames[VOLTA_LOAD_MAP]);

const char* dtype_name(volta_dtype dtype);  // "f32", "int8"
// The words before, then the names of all storage formats of weights.
std::vector<std::string> with_stored_names(std::vector<std::string> before);
volta_dtype stored_dtype(const std::string& name);  // of a quantized model's weights; 0: no such type

// With `ends`: those that the tokenizer adds, as a prompt needs them.
std::vector<std::int32_t> encode(const Tokenizer& tokenizer, const std::string& text, bool ends = false,
                                 bool special = false);  // special pieces in the text are their ids
// A text and, not NULL, one behind it, with ends, and the segment of each id. At most `most` ids (0: all), as
// volta_encode_options says.
struct PairTokens {
    std::vector<std::int32_t> ids, segments;
};
PairTokens encode_pair(const Tokenizer& tokenizer, const char* text, const char* pair, std::size_t most);
Tokenizer tokenizer_of(const Model& model);                 // failure when the model has none
std::string metadata(const Model& model, const char* key);  // "" when there is none

// Writes results to standard output and checks that they arrived: a full disk is a failure, a reader that has
// gone (`| head`) ends the command with kExitPipe and without a word.
void print(const std::string& text);
void warn(const std::string& line);  // "voltac: <line>" on standard error

}  // namespace voltac
