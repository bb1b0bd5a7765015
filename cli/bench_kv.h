// How much a cache of keys and values saves: the same tokens with it and by computing the whole sequence
// again.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/support.h"

namespace voltac::bench {

// Medians of runs that took turns.
struct KvRow {
    std::int64_t prompt = 0,
                 tokens = 0;       // read and drawn; tokens 0: the one step behind a prompt already read
    double cached = 0, whole = 0;  // seconds
    double speedup() const { return whole / cached; }
};

// The step that draws the token at `position` (0 is the first; at least 2): all before it but the last one,
// which the step before drew, have been read already.
KvRow measure_kv_step(const Model& model, std::int64_t position, std::int64_t runs);
// Prompts from one token up to the model's context, and texts of 1, 2, 8 and 32 tokens, as far as they fit.
void add_kv_sweep(const Model& model, std::int64_t runs, std::vector<KvRow>& rows);

nlohmann::ordered_json kv_json(const std::vector<KvRow>& rows);
std::string kv_text(const std::vector<KvRow>& rows);  // with the least speed-up of a sweep; "" without rows

}  // namespace voltac::bench
