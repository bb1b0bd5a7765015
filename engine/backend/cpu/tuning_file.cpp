// Tuning files, which are JSON.
#include "engine/backend/cpu/tuning_file.h"

#include <cstdio>
#include <cstring>

#define JSON_ASSERT(condition) static_cast<void>(0)  // the engine never ends the process
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/file.h"

namespace volta::cpu {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "volta matmul tuning";
constexpr int kVersion = 1;
constexpr const char* kEpilogues[] = {"none", "blocks", "rows"};
constexpr const char* kIsas[] = {"", "scalar", "avx2", "avx512"};

// --- reading; everything here reports by INVALID_ARGUMENT

const Json& member(const Json& object, const char* name) {
    const auto found = object.find(name);
    require(found != object.end(), "'%s' is missing", name);
    return *found;
}

std::int64_t integer(const Json& object, const char* name) {
    const Json& value = member(object, name);
    require(value.is_number_integer(), "'%s' is no whole number", name);
    if (value.is_number_unsigned())
        require(value.get<std::uint64_t>() <= std::uint64_t{1} << 62, "'%s' is too large", name);
    return value.get<std::int64_t>();
}
template <class Int>
Int small(const Json& object, const char* name) {
    const std::int64_t value = integer(object, name);
    require(value >= 0 && value <= 65535, "'%s' is %lld", name, static_cast<long long>(value));
    return static_cast<Int>(value);
}
std::uint8_t stride(const Json& object, const char* name) {
    const std::int64_t value = integer(object, name);
    require(value >= 0 && value <= 3, "'%s' is %lld", name, static_cast<long long>(value));
    return static_cast<std::uint8_t>(value);
}
bool truth(const Json& object, const char* name) {
    const Json& value = member(object, name);
    require(value.is_boolean(), "'%s' is neither true nor false", name);
    return value.get<bool>();
}
double number(const Json& object, const char* name) {
    const Json& value = member(object, name);
    require(value.is_number(), "'%s' is no number", name);
    return value.get<double>();
}
const std::string& text(const Json& object, const char* name) {
    const Json& value = member(object, name);
    require(value.is_string(), "'%s' is no text", name);
    return value.get_ref<const std::string&>();
}
template <std::size_t N>
int one_of(const Json& object, const char* name, const char* const (&names)[N]) {
    const std::string& value = text(object, name);
    for (std::size_t i = 0; i < N; ++i)
        if (value == names[i] && !value.empty()) return static_cast<int>(i);
    fail(VOLTA_INVALID_ARGUMENT, "'%s' is '%.32s'", name, value.c_str());
}

TuningEntry entry_of(const Json& object) {
    require(object.is_object(), "an entry is no object");
    TuningEntry entry;
    entry.key.batch = integer(object, "batch");
    entry.key.m = integer(object, "m");
    entry.key.n = integer(object, "n");
    entry.key.k = integer(object, "k");
    entry.key.a_transposed = truth(object, "a_transposed");
    entry.key.b_transposed = truth(object, "b_transposed");
    entry.key.a_stride = stride(object, "a_stride");
    entry.key.b_stride = stride(object, "b_stride");
    entry.key.c_stride = stride(object, "c_stride");
    entry.key.epilogue = static_cast<EpilogueKind>(one_of(object, "epilogue", kEpilogues));
    entry.key.isa = static_cast<Isa>(one_of(object, "isa", kIsas));
    entry.key.threads = small<std::int32_t>(object, "threads");
    entry.choice = parse_choice(text(object, "choice").c_str());
    entry.default_seconds = number(object, "default_seconds");
    entry.tuned_seconds = number(object, "tuned_seconds");
    check(entry);
    return entry;
}

void read_entries(const Json& file, std::pmr::vector<TuningEntry>& entries) {
    const Json& list = member(file, "products");
    require(list.is_array(), "'products' is no list");
    require(list.size() <= kMostTuningEntries, "it has %zu products, at most %zu are read", list.size(),
            kMostTuningEntries);
    for (const Json& object : list) entries.push_back(entry_of(object));
}

void read_file_text(const char* bytes, std::size_t count, const char* signature, TuningFile& result) {
    const Json file = Json::parse(bytes, bytes + count, nullptr, false);
    const char* const damaged = "it is damaged: ";
    if (file.is_discarded() || !file.is_object())
        fail(VOLTA_INVALID_ARGUMENT, "%sit is no JSON object", damaged);
    require(text(file, "format") == kFormat, "%s'format' is not \"%s\"", damaged, kFormat);
    const std::int64_t version = integer(file, "version"), contract = integer(file, "contract");
    require(version == kVersion, "it is of version %lld, this program reads version %d",
            static_cast<long long>(version), kVersion);
    require(contract == VOLTA_CONTRACT_VERSION,
            "it is stale: measured under numeric contract %lld, this is contract %d",
            static_cast<long long>(contract), VOLTA_CONTRACT_VERSION);
    require(text(file, "cpu") == signature, "it is foreign: measured on the processor %.80s",
            text(file, "cpu").c_str());
    read_entries(file, result.entries);
}

Json json_of(const TuningEntry& entry) {
    Json object;
    object["m"] = entry.key.m;
    object["n"] = entry.key.n;
    object["k"] = entry.key.k;
    object["batch"] = entry.key.batch;
    object["a_transposed"] = entry.key.a_transposed;
    object["b_transposed"] = entry.key.b_transposed;
    object["a_stride"] = entry.key.a_stride;
    object["b_stride"] = entry.key.b_stride;
    object["c_stride"] = entry.key.c_stride;
    object["epilogue"] = kEpilogues[static_cast<int>(entry.key.epilogue)];
    object["isa"] = kIsas[static_cast<int>(entry.key.isa)];
    object["threads"] = entry.key.threads;
    object["choice"] = to_text(entry.choice).text;
    object["default_seconds"] = entry.default_seconds;
    object["tuned_seconds"] = entry.tuned_seconds;
    return object;
}

// The later of two entries of one product counts; the oldest go when there are too many.
void merge(std::pmr::vector<TuningEntry>& into, const std::pmr::vector<TuningEntry>& entries) {
    for (const TuningEntry& entry : entries) {
        for (std::size_t i = 0; i < into.size();)
            if (into[i].key == entry.key) {
                into.erase(into.begin() + static_cast<std::ptrdiff_t>(i));
            } else {
                ++i;
            }
        into.push_back(entry);
    }
    if (into.size() > kMostTuningEntries)
        into.erase(into.begin(), into.end() - static_cast<std::ptrdiff_t>(kMostTuningEntries));
}

}  // namespace

TuningFile parse_tuning(const char* bytes, std::size_t count, const char* signature,
                        std::pmr::memory_resource* heap) {
    TuningFile result(heap);
    try {
        read_file_text(bytes, count, signature, result);
    } catch (const Error& error) {
        const bool told = std::strncmp(error.what(), "it is ", 6) == 0;
        std::snprintf(result.reason, sizeof result.reason, "%s%.220s",
                      told ? "" : "it is damaged: ", error.what());
        result.entries.clear();
    }
    return result;
}

// One product a line, so that people and version control can read it.
std::pmr::string print_tuning(const std::pmr::vector<TuningEntry>& entries, const char* signature,
                              std::pmr::memory_resource* heap) {
    std::pmr::string out(heap);
    char head[384];
    std::snprintf(
        head, sizeof head,
        "{\"format\": \"%s\", \"version\": %d, \"contract\": %d,\n \"cpu\": \"%s\",\n \"products\": [",
        kFormat, kVersion, VOLTA_CONTRACT_VERSION, signature);
    out += head;
    for (const TuningEntry& entry : entries) {
        out += &entry == entries.data() ? "\n  " : ",\n  ";
        out += json_of(entry).dump();
    }
    out += "\n ]}\n";
    return out;
}

TuningFolder::TuningFolder(const char* folder, const Log& log, std::pmr::memory_resource* heap)
    : heap_(heap),
      log_(log),
      signature_(cpu_signature(host_cpu())),
      folder_(folder, heap),
      path_(heap),
      lock_path_(heap) {
    path_ = folder_;
    path_ += '/';
    path_ += signature_.text;
    path_ += ".json";
    lock_path_ = path_;
    lock_path_ += ".lock";
}

std::pmr::vector<TuningEntry> TuningFolder::read() const {
    if (!file_exists(path_.c_str())) return std::pmr::vector<TuningEntry>(heap_);
    TuningFile file(heap_);
    try {
        const Buffer bytes = read_file(path_.c_str(), heap_, kMostTuningBytes);
        file = parse_tuning(static_cast<const char*>(bytes.data()), bytes.bytes(), signature_.text, heap_);
    } catch (const Error& error) {
        std::snprintf(file.reason, sizeof file.reason, "%.250s", error.what());
    }
    if (file.reason[0] != '\0')
        log_(VOLTA_LOG_WARNING, "the tuning file '%s' is ignored: %s", path_.c_str(), file.reason);
    return std::move(file.entries);
}

void TuningFolder::load(TuningTable& table) const {
    for (const TuningEntry& entry : read()) table.set(entry);
}

void TuningFolder::check_writable() const {
    make_folders(folder_.c_str(), heap_);
    const FileLock lock(lock_path_.c_str());
    AtomicFile trial(path_.c_str(), heap_);  // not committed: nothing changes
}

void TuningFolder::add(const std::pmr::vector<TuningEntry>& entries) const {
    if (entries.empty()) return;
    make_folders(folder_.c_str(), heap_);
    const FileLock lock(lock_path_.c_str());
    std::pmr::vector<TuningEntry> all = read();
    merge(all, entries);
    const std::pmr::string text = print_tuning(all, signature_.text, heap_);
    AtomicFile file(path_.c_str(), heap_);
    file.write(text.data(), text.size());
    file.commit();
}

}  // namespace volta::cpu
