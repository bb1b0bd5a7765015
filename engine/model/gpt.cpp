#include "engine/model/gpt.h"

#include "engine/base/error.h"
#include "engine/model/decoder.h"
#include "engine/model/transformer.h"

namespace volta {
namespace {

void check(const GptConfig& config) {
    require_transformer_sizes(config.vocabulary, config.layers, config.dim, config.heads, config.context);
    require(config.dim <= kMostModelSize / 4, "the sizes of this GPT are too large: dim is %lld",
            static_cast<long long>(config.dim));
    require(config.dropout >= 0 && config.dropout < 1, "dropout is %g; it must be at least 0 and below 1",
            config.dropout);
}

}  // namespace

Graph build_gpt(const GptConfig& config, std::pmr::memory_resource* heap) {
    check(config);
    return build_decoder(decoder_of(config), "GPT", heap);
}

void describe_gpt(const GptConfig& config, Model& model) {
    describe_architecture(model, "gpt",
                          {{"vocabulary", config.vocabulary},
                           {"layers", config.layers},
                           {"dim", config.dim},
                           {"heads", config.heads},
                           {"context", config.context}});
    describe_number(model, "gpt", "dropout", config.dropout);
}

HeapPtr<Model> create_gpt(const GptConfig& config, std::uint64_t seed, std::pmr::memory_resource* structures,
                          std::pmr::memory_resource* tensors, const InitMachine& machine) {
    HeapPtr<Model> model = Model::create(build_gpt(config, structures), seed, structures, tensors, machine);
    describe_gpt(config, *model);
    return model;
}

}  // namespace volta
