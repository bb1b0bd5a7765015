#include "cli/architectures.h"

#include <algorithm>

namespace voltac {
namespace {

// What all architectures have.
template <class Options>
Options options_of(const ModelSizes& sizes) {
    Options options = {};
    options.struct_size = sizeof options;
    options.vocabulary = sizes.vocabulary;
    options.layers = sizes.layers;
    options.dim = sizes.dim;
    options.heads = sizes.heads;
    options.context = sizes.context;
    return options;
}

volta_status create_gpt(volta_context* context, const ModelSizes& sizes, std::uint64_t seed,
                        volta_model** out_model) {
    auto gpt = options_of<volta_gpt_options>(sizes);
    gpt.dropout = sizes.dropout;
    return volta_model_create_gpt(context, &gpt, seed, out_model);
}

volta_status create_llama(volta_context* context, const ModelSizes& sizes, std::uint64_t seed,
                          volta_model** out_model) {
    auto llama = options_of<volta_llama_options>(sizes);
    llama.kv_heads = sizes.kv_heads;
    llama.hidden = sizes.hidden;
    return volta_model_create_llama(context, &llama, seed, out_model);
}

volta_status create_bert(volta_context* context, const ModelSizes& sizes, std::uint64_t seed,
                         volta_model** out_model) {
    auto bert = options_of<volta_bert_options>(sizes);
    bert.hidden = sizes.hidden;
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

std::int64_t vocabulary_of(const Model& model) {
    volta_tensor_info info = {};
    check(volta_model_output_info(model.get(), 0, &info));
    return info.shape[info.rank - 1];
}

}  // namespace voltac
