#include "engine/backend/cpu/tuning/tuning_file.h"

#include "engine/backend/tuning/tuning_folder.h"

namespace volta::cpu {
namespace {

using tuning_json::Line;
using tuning_json::Object;

constexpr const char* kEpilogues[] = {"none", "blocks", "rows"};
constexpr const char* kIsas[] = {"", "scalar", "avx2", "avx512"};

TuningPlace place_of(const char* signature) { return {"cpu", "processor", signature}; }

std::uint8_t stride(const Object& object, const char* name) {
    return static_cast<std::uint8_t>(tuning_json::up_to(object, name, 3));
}

// Of a member that files of old do not have: what was timed then.
bool truth_or_no(const Object& object, const char* name) {
    return object.contains(name) && tuning_json::truth(object, name);
}

}  // namespace

static void read_entry(const Object& object, TuningEntry& entry) {
    entry.key.a_stride = stride(object, "a_stride");
    entry.key.b_stride = stride(object, "b_stride");
    entry.key.c_stride = stride(object, "c_stride");
    entry.key.epilogue = static_cast<EpilogueKind>(tuning_json::one_of(object, "epilogue", kEpilogues));
    entry.key.isa = static_cast<Isa>(tuning_json::one_of(object, "isa", kIsas));
    entry.key.threads = static_cast<std::int32_t>(tuning_json::up_to(object, "threads", 65535));
    entry.key.prepacked_b = truth_or_no(object, "keeps_b");
    entry.key.sums_b = truth_or_no(object, "sums_b");
    if (object.contains("cache"))
        entry.key.cache = static_cast<std::uint8_t>(tuning_json::up_to(object, "cache", kMostCacheClass));
    entry.choice = parse_choice(tuning_json::text(object, "choice").c_str());
}

static void write_entry(const TuningEntry& entry, Line& line) {
    line.integer("a_stride", entry.key.a_stride);
    line.integer("b_stride", entry.key.b_stride);
    line.integer("c_stride", entry.key.c_stride);
    line.text("epilogue", kEpilogues[static_cast<int>(entry.key.epilogue)]);
    line.text("isa", kIsas[static_cast<int>(entry.key.isa)]);
    line.integer("threads", entry.key.threads);
    line.truth("keeps_b", entry.key.prepacked_b);
    line.truth("sums_b", entry.key.sums_b);
    line.integer("cache", entry.key.cache);
    line.text("choice", to_text(entry.choice).text);
}

TuningFile parse_tuning(const char* text, std::size_t bytes, const char* signature,
                        std::pmr::memory_resource* heap) {
    return parse_tuning_of<TuningEntry>(text, bytes, place_of(signature), heap);
}
std::pmr::string print_tuning(const std::pmr::vector<TuningEntry>& entries, const char* signature,
                              std::pmr::memory_resource* heap) {
    return print_tuning_of(entries, place_of(signature), heap);
}

TuningFolder::TuningFolder(const char* folder, const Log& log, std::pmr::memory_resource* heap)
    : TuningFolderOf(folder, place_of(cpu_signature(host_cpu()).text), log, heap) {}

}  // namespace volta::cpu

template class volta::TuningFolderOf<volta::cpu::TuningEntry>;
