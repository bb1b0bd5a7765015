#include "engine/model/llama.h"

#include <cinttypes>

#include "engine/base/error.h"
#include "engine/base/multiples.h"
#include "engine/model/decoder.h"
#include "engine/model/transformer.h"

namespace volta {
namespace {

// What the operators take (op_table.cpp): heads of queries and keys, width of a head.
constexpr std::int64_t kMostHeads = 32768, kMostHeadWidth = 65536;
constexpr double kMostNumber = 1e30;

void check(const LlamaConfig& config) {
    require_transformer_sizes(config.vocabulary, config.layers, config.dim, config.heads, config.context);
    require_size({"heads", config.heads}, 1, kMostHeads);
    require_size({"dim / heads", config.dim / config.heads}, 1, kMostHeadWidth);
    require_size({"kv_heads", config.kv_heads}, 0, config.heads);
    require_size({"hidden", config.hidden}, 0, kMostModelSize);
    require_size({"context", config.context}, 1, kMostPositions);
    require(config.kv_heads == 0 || config.heads % config.kv_heads == 0,
            "heads %" PRId64 " is not a multiple of kv_heads %" PRId64, config.heads, config.kv_heads);
    require(config.dim / config.heads % 2 == 0,
            "a head of %" PRId64 " elements (dim / heads) is not made of pairs", config.dim / config.heads);
    require(config.rope_base >= 1 && config.rope_base <= kMostNumber,
            "rope_base is %g; it must be from 1 to %g", config.rope_base, kMostNumber);
    require(config.epsilon >= 0 && config.epsilon <= kMostNumber, "epsilon is %g; it must be from 0 to %g",
            config.epsilon, kMostNumber);
}

}  // namespace

LlamaConfig complete(const LlamaConfig& config) {
    check(config);
    LlamaConfig result = config;
    if (result.kv_heads == 0) result.kv_heads = result.heads;
    if (result.hidden == 0) result.hidden = round_up(ceil_div(8 * result.dim, 3), 32);
    return result;
}

Graph build_llama(const LlamaConfig& config, std::pmr::memory_resource* heap) {
    return build_decoder(decoder_of(complete(config)), "Llama", heap);
}

void describe_llama(const LlamaConfig& config, Model& model) {
    const LlamaConfig whole = complete(config);
    describe_architecture(model, "llama",
                          {{"vocabulary", whole.vocabulary},
                           {"layers", whole.layers},
                           {"dim", whole.dim},
                           {"heads", whole.heads},
                           {"kv_heads", whole.kv_heads},
                           {"hidden", whole.hidden},
                           {"context", whole.context},
                           {"tied", whole.tied},
                           {"interleaved", whole.interleaved}});
    describe_number(model, "llama", "rope_base", whole.rope_base);
    describe_number(model, "llama", "epsilon", whole.epsilon);
}

HeapPtr<Model> create_llama(const LlamaConfig& config, std::uint64_t seed,
                            std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors,
                            const InitMachine& machine) {
    HeapPtr<Model> model = Model::create(build_llama(config, structures), seed, structures, tensors, machine);
    describe_llama(config, *model);
    return model;
}

}  // namespace volta
