#include "cli/architectures.h"

#include <algorithm>

#include "cli/suggest.h"

namespace voltac {
namespace {

// What all architectures have. `options`: the initial ones.
template <class Options>
Options with_sizes(Options options, const ModelSizes& sizes) {
    options.vocabulary = sizes.vocabulary;
    options.layers = sizes.layers;
    options.dim = sizes.dim;
    options.heads = sizes.heads;
    options.context = sizes.context;
    return options;
}

volta_status create_gpt(volta_context* context, const ModelSizes& sizes, std::uint64_t seed,
                        volta_model** out_model) {
    auto gpt = with_sizes(volta_gpt_options VOLTA_GPT_OPTIONS_INIT, sizes);
    gpt.dropout = sizes.dropout;
    return volta_model_create_gpt(context, &gpt, seed, out_model);
}

volta_status create_llama(volta_context* context, const ModelSizes& sizes, std::uint64_t seed,
                          volta_model** out_model) {
    auto llama = with_sizes(volta_llama_options VOLTA_LLAMA_OPTIONS_INIT, sizes);
    llama.kv_heads = sizes.kv_heads;
    llama.hidden = sizes.hidden;
    return volta_model_create_llama(context, &llama, seed, out_model);
}

volta_status create_bert(volta_context* context, const ModelSizes& sizes, std::uint64_t seed,
                         volta_model** out_model) {
    auto bert = with_sizes(volta_bert_options VOLTA_BERT_OPTIONS_INIT, sizes);
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
    std::vector<std::string> names;
    for (const Architecture& row : architectures()) names.emplace_back(row.name);
    failure("there is no architecture " + name + did_you_mean(name, names));
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
