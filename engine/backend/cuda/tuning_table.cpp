#include "engine/backend/cuda/tuning_table.h"

#include "engine/backend/tuning/tuning_folder.h"

namespace volta::cuda {
namespace {

using tuning_json::Line;
using tuning_json::Object;

TuningPlace place_of(const char* signature) { return {"gpu", "device", signature}; }

}  // namespace

bool operator==(const TuningKey& x, const TuningKey& y) {
    return static_cast<const ProductKey&>(x) == y && x.a_fours == y.a_fours && x.b_fours == y.b_fours &&
           x.has_epilogue == y.has_epilogue;
}

TuningKey key_of(const ProductShape& shape, bool has_epilogue) {
    TuningKey key{product_key(shape)};
    key.a_fours = shape.lda % 4 == 0;
    key.b_fours = shape.ldb % 4 == 0;
    key.has_epilogue = has_epilogue;
    return key;
}

void check(const TuningEntry& entry) {
    check_product(entry.key, entry.default_seconds, entry.tuned_seconds);
    check(entry.choice);
}

DeviceSignature device_signature(const DeviceFacts& facts) {
    char name[sizeof facts.name];
    std::size_t length = 0;
    for (const char* c = facts.name; *c != '\0'; ++c) {
        const bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        name[length++] = plain ? *c : '_';
    }
    name[length] = '\0';
    DeviceSignature signature;
    std::snprintf(signature.text, sizeof signature.text, "%s-sm_%d-%d-l2_%zu-shared_%zu-contract_%d",
                  length > 0 ? name : "unknown", facts.architecture(), facts.multiprocessors, facts.l2_bytes,
                  facts.shared_bytes_per_multiprocessor, VOLTA_CONTRACT_VERSION);
    return signature;
}

static void read_entry(const Object& object, TuningEntry& entry) {
    entry.key.a_fours = tuning_json::truth(object, "a_fours");
    entry.key.b_fours = tuning_json::truth(object, "b_fours");
    entry.key.has_epilogue = tuning_json::truth(object, "epilogue");
    entry.choice = parse_choice(tuning_json::text(object, "choice").c_str());
}

static void write_entry(const TuningEntry& entry, Line& line) {
    line.truth("a_fours", entry.key.a_fours);
    line.truth("b_fours", entry.key.b_fours);
    line.truth("epilogue", entry.key.has_epilogue);
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

TuningFolder::TuningFolder(const char* folder, const DeviceFacts& facts, const Log& log,
                           std::pmr::memory_resource* heap)
    : TuningFolderOf(folder, place_of(device_signature(facts).text), log, heap) {}

}  // namespace volta::cuda

template class volta::TuningFolderOf<volta::cuda::TuningEntry>;
