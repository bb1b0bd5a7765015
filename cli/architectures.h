// The architectures that voltac makes, one row each: their names in files and on the command line, their
// sizes, and how a new model of one is made. Sizes of a model lie in its metadata as "volta.<architecture>.
// <size>": whoever wants one asks here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/support.h"

namespace voltac {

// Zeros are the library's defaults.
struct ModelSizes {
    std::int64_t vocabulary = 0, layers = 0, dim = 0, heads = 0, kv_heads = 0, hidden = 0, context = 0;
    double dropout = 0;
};

struct Architecture {
    const char* name;                // "volta.architecture"
    std::vector<const char*> sizes;  // in the order in which voltac info shows them
    volta_status (*create)(volta_context* context, const ModelSizes& sizes, std::uint64_t seed,
                           volta_model** out_model);
    bool has(const std::string& size) const;
};
const std::vector<Architecture>& architectures();
const Architecture& architecture_of(const std::string& name);  // failure when there is none

Model new_model(const Context& context, const Architecture& architecture, const ModelSizes& sizes,
                std::uint64_t seed);

std::string architecture_name(const Model& model);             // "" for a graph of the host's own
std::string model_size(const Model& model, const char* size);  // "context", ...; "" when it has none
std::int64_t vocabulary_of(const Model& model);                // of a language model: logits per token

}  // namespace voltac
