#include "cli/support.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace voltac {

void usage_error(const std::string& line) { throw Stop(kExitUsage, line); }
void failure(const std::string& line) { throw Stop(kExitFailure, line); }

void check(volta_status status) {
    if (status == VOLTA_OK) return;
    failure(std::string(volta_last_error()));
}

namespace {

// The environment is the program's, not the library's.
std::int64_t default_threads(const Machine& machine) {
    const char* value = std::getenv("VOLTA_NUM_THREADS");
    if (value == nullptr || *value == '\0') return 0;
    char* end = nullptr;
    errno = 0;
    const long long threads = std::strtoll(value, &end, 10);
    if (errno != 0 || *end != '\0' || threads < 1 || threads > 256)
        usage_error(machine.command +
                    formatted(": VOLTA_NUM_THREADS is '%s', it must be in 1 .. 256", value));
    return threads;
}

volta_isa isa_of(const std::string& name) {
    if (name == "scalar") return VOLTA_ISA_SCALAR;
    if (name == "avx2") return VOLTA_ISA_AVX2;
    if (name == "avx512") return VOLTA_ISA_AVX512;
    return VOLTA_ISA_AUTO;
}

// The place of `name`, which is one of `names`: the value of volta.h.
template <std::size_t N>
std::int32_t value_of(const char* const (&names)[N], const std::string& name) {
    return static_cast<std::int32_t>(std::find(names, names + N, name) - names);
}

// $HOME/.volta/<name>; "" without a home.
std::string home_folder(const char* name) {
    const char* home = std::getenv("HOME");
    return home != nullptr && *home != '\0' ? std::string(home) + "/.volta/" + name : "";
}

// `tells`: not NULL, lines of information too.
void log_line(void* tells, volta_log_level level, const char* line) {
    if (level >= VOLTA_LOG_WARNING)
        warn(std::string("warning: ") + line);
    else if (tells != nullptr)
        warn(line);
}

}  // namespace

std::string default_device() {
    const char* value = std::getenv("VOLTA_DEVICE");
    return value != nullptr && *value != '\0' ? value : "cpu";
}

namespace {

// Says the library's reason behind the option that it is about.
[[noreturn]] void refuse_machine(const Machine& machine, volta_status status) {
    const std::string reason = volta_last_error();
    const bool rounds = machine.precision != kPrecisionNames[VOLTA_PRECISION_FP32];
    if (rounds && (is_strict(machine) || machine.device == "cpu"))
        usage_error(machine.command + ": --precision " + machine.precision + ": " + reason);
    if (machine.device != "cpu") failure("--device " + machine.device + ": " + reason);
    if (status == VOLTA_UNSUPPORTED) usage_error(machine.command + ": --isa " + machine.isa + ": " + reason);
    failure(reason);
}

}  // namespace

std::string tuning_folder(const Machine& machine, std::string* reason) {
    std::string folder = machine.no_tuning ? "" : home_folder("matmul_tuning");
    if (reason != nullptr && folder.empty())
        *reason = machine.no_tuning ? "--no-tuning was given" : "HOME is not set";
    return folder;
}

Context make_context(const Machine& machine, const volta_allocator* allocator) {
    volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
    options.allocator = allocator;
    options.log = log_line;
    static char tells;
    options.log_user = machine.tells ? &tells : nullptr;
    options.thread_count =
        static_cast<std::uint32_t>(machine.threads > 0 ? machine.threads : default_threads(machine));
    options.isa = isa_of(machine.isa);
    const std::string tuning = tuning_folder(machine);
    options.tuning_folder = tuning.empty() ? nullptr : tuning.c_str();
    options.device = machine.device.c_str();
    options.host_budget = machine.memory;
    options.step_order = machine.step_order == "memory" ? VOLTA_STEP_ORDER_MEMORY : VOLTA_STEP_ORDER_GRAPH;
    options.level = value_of(kLevelNames, machine.level);
    options.precision = value_of(kPrecisionNames, machine.precision);
    const std::string kernels = machine.device == "cpu" ? "" : home_folder("kernels");
    options.kernel_folder = kernels.empty() ? nullptr : kernels.c_str();
    volta_context* context = nullptr;
    const volta_status status = volta_context_create(&options, &context);
    if (status != VOLTA_OK) refuse_machine(machine, status);
    return Context(context);
}

namespace {

struct DtypeRow {
    volta_dtype dtype;
    const char* name;
};
constexpr DtypeRow kDtypes[] = {{VOLTA_F32, "f32"},
                                {VOLTA_I32, "i32"},
                                {VOLTA_BF16, "bf16"},
                                {VOLTA_F16, "f16"},
                                {VOLTA_INT8, "int8"},
                                {VOLTA_INT4, "int4"},
                                {VOLTA_F32_PANELS, "f32_panels"}};

}  // namespace

const char* dtype_name(volta_dtype dtype) {
    for (const DtypeRow& row : kDtypes)
        if (row.dtype == dtype) return row.name;
    return "unknown";
}

std::vector<std::string> with_stored_names(std::vector<std::string> before) {
    for (const DtypeRow& row : kDtypes)
        if (row.dtype >= VOLTA_BF16) before.emplace_back(row.name);
    return before;
}

volta_dtype stored_dtype(const std::string& name) {
    for (const DtypeRow& row : kDtypes)
        if (row.dtype >= VOLTA_BF16 && name == row.name) return row.dtype;
    return 0;
}

std::vector<std::int32_t> encode(const Tokenizer& tokenizer, const std::string& text, bool ends,
                                 bool special) {
    volta_encode_options options = VOLTA_ENCODE_OPTIONS_INIT;
    options.ends = ends;
    options.special = special;
    // Enough but for odd vocabularies, which encode twice.
    std::vector<std::int32_t> ids(text.size() + 5);
    for (;;) {
        std::size_t count = 0;
        check(volta_tokenizer_encode_with(tokenizer.get(), &options, text.data(), text.size(), ids.data(),
                                          ids.size(), &count));
        const bool whole = count <= ids.size();
        ids.resize(count);
        if (whole) return ids;
    }
}

PairTokens encode_pair(const Tokenizer& tokenizer, const char* text, const char* pair, std::size_t most) {
    volta_encode_options options = VOLTA_ENCODE_OPTIONS_INIT;
    options.ends = 1;
    options.pair = pair;
    options.pair_bytes = pair != nullptr ? std::strlen(pair) : 0;
    options.max_tokens = most;
    const std::size_t bytes = std::strlen(text);
    std::size_t count = 0;
    check(volta_tokenizer_encode_with(tokenizer.get(), &options, text, bytes, nullptr, 0, &count));
    PairTokens tokens;
    tokens.ids.resize(count);
    tokens.segments.resize(count);
    options.segments = tokens.segments.data();
    check(volta_tokenizer_encode_with(tokenizer.get(), &options, text, bytes, tokens.ids.data(), count,
                                      &count));
    return tokens;
}

Tokenizer tokenizer_of(const Model& model) {
    volta_tokenizer* tokenizer = nullptr;
    check(volta_model_get_tokenizer(model.get(), &tokenizer));
    if (tokenizer == nullptr) failure("the model carries no tokenizer, so it cannot read text");
    return Tokenizer(tokenizer);
}

std::string metadata(const Model& model, const char* key) {
    const char* value = nullptr;
    check(volta_model_get_metadata(model.get(), key, &value));
    return value != nullptr ? value : "";
}

void print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
    if (errno == EPIPE) throw Stop(kExitPipe, "");
    failure(std::string("standard output: ") + std::strerror(errno));
}

void warn(const std::string& line) { std::fprintf(stderr, "voltac: %s\n", one_line(line).c_str()); }

}  // namespace voltac
