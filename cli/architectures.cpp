#include "cli/architectures.h"

#include <algorithm>

namespace voltac {
namespace {

volta_status create_gpt(volta_context* context, const ModelSizes& sizes, std::uint64_t seed,
                        volta_model** out_model) {
    volta_gpt_options gpt = {};
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = sizes.vocabulary;
    gpt.layers = sizes.layers;
    gpt.dim = sizes.dim;
    gpt.heads = sizes.heads;
    gpt.context = sizes.context;
    gpt.dropout = sizes.dropout;
    return volta_model_create_gpt(context, &gpt, seed, out_model);
}

volta_status create_llama(volta_context* context, const ModelSizes& sizes, std::uint64_t seed,
                          volta_model** out_model) {
    volta_llama_options llama = {};
    llama.struct_size = sizeof llama;
    llama.vocabulary = sizes.vocabulary;
    llama.layers = sizes.layers;
    llama.dim = sizes.dim;
    llama.heads = sizes.heads;
    llama.kv_heads = sizes.kv_heads;
    llama.hidden = sizes.hidden;
    llama.context = sizes.context;
    return volta_model_create_llama(context, &llama, seed, out_model);
}

volta_status create_bert(volta_context* context, const ModelSizes& sizes, std::uint64_t seed,
                         volta_model** out_model) {
    volta_bert_options bert = {};
    bert.struct_size = sizeof bert;
    bert.vocabulary = sizes.vocabulary;
    bert.layers = sizes.layers;
    bert.dim = sizes.dim;
    bert.heads = sizes.heads;
    bert.hidden = sizes.hidden;
    bert.context = sizes.context;
    bert.dropout = sizes.dropout;
    return volta_model_create_bert(context, &bert, seed, out_model);
}

}  // namespace

const std::vector<Architecture>& architectures() {
    static const std::vector<Architecture> kRows = {
        {"gpt", {"layers", "dim", "heads", "context", "vocabulary", "dropout"}, create_gpt},
        {"llama",
         {"layers", "dim", "heads", "kv_heads", "hidden", "context", "vocabulary", "rope_base", "epsilon",
          "tied", "interleaved"},
         create_llama},
        {"bert",
         {"layers", "dim", "heads", "hidden", "context", "vocabulary", "segments", "head", "classes",
          "segment_input", "mask_input", "dropout", "epsilon"},
         create_bert},
    };
    return kRows;
}

bool Architecture::has(const std::string& size) const {
    return std::find(sizes.begin(), sizes.end(), size) != sizes.end();
}

const Architecture& architecture_of(const std::string& name) {
    for (const Architecture& row : architectures())
        if (name == row.name) return row;
    failure("there is no architecture " + name);
}

Model new_model(const Context& context, const Architecture& architecture, const ModelSizes& sizes,
                std::uint64_t seed) {
    volta_model* model = nullptr;
    check(architecture.create(context.get(), sizes, seed, &model));
    return Model(model);
}

std::string architecture_name(const Model& model) { return metadata(model, "volta.architecture"); }

std::string model_size(const Model& model, const char* size) {
    return metadata(model, ("volta." + architecture_name(model) + "." + size).c_str());
}

}  // namespace voltac
