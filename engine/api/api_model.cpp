// volta.h: model.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "engine/api/guard.h"
#include "engine/api/handles.h"
#include "engine/api/new_models.h"
#include "engine/api/options.h"
#include "engine/graph/step_input.h"
#include "engine/import/export_gguf.h"
#include "engine/import/export_safetensors.h"
#include "engine/import/import_model.h"
#include "engine/import/onnx/export_onnx.h"
#include "engine/model/bert.h"
#include "engine/model/fold_batch_norm.h"
#include "engine/model/gpt.h"
#include "engine/model/hidden_states.h"
#include "engine/model/llama.h"
#include "engine/model/manifest.h"
#include "engine/model/model_file.h"
#include "engine/model/network.h"
#include "engine/model/quantize.h"
#include "engine/model/replace_head.h"
#include "engine/runtime/token_loss.h"

using namespace volta;
using namespace volta::api;

ModelRef volta::api::share(const ContextRef& context, HeapPtr<Model>&& made) {
    std::pmr::memory_resource* heap = context->structures();
    struct Delete {
        ContextRef context;
        void operator()(Model* model) const noexcept { HeapDelete<Model>{context->structures()}(model); }
    };
    Model* model = made.release();
    return ModelRef(model, Delete{context}, std::pmr::polymorphic_allocator<Model>(heap));
}

ReadOptions volta::api::read_open_options(const volta_open_options* options, const Stop& stop) {
    const auto given = read_options(options);
    require(given.mode == VOLTA_LOAD_MAP || given.mode == VOLTA_LOAD_COPY, "mode is %d, it must be 0 or 1",
            given.mode);
    require(given.verify == 0 || given.verify == 1, "verify is %d, it must be 0 or 1", given.verify);
    ReadOptions read;
    read.stop = &stop;
    read.mode = given.mode == VOLTA_LOAD_MAP ? LoadMode::map : LoadMode::copy;
    read.verify_checksums = given.verify == 1;
    return read;
}

// ---- Model ----

namespace {

// A model whose parameters have their values from this context; others bring their arithmetic along.
void give_new_model(const ContextRef& context, HeapPtr<Model>&& made, volta_model** out_model) {
    made->arithmetic = context->arithmetic();
    give_model(context, std::move(made), out_model);
}

template <class Number>
Number or_default(Number value, Number fallback) {
    return value == 0 ? fallback : value;
}

BertChoice read_bert_choice(const volta_bert_options* options) {
    const auto given = read_options(options);
    require(given.head >= VOLTA_BERT_MASKED && given.head <= VOLTA_BERT_TOKENS,
            "head is %d, which is no volta_bert_head", given.head);
    for (const int64_t size : {given.vocabulary, given.layers, given.dim, given.heads, given.hidden,
                               given.context, given.segments, given.classes})
        require(size == 0, "bert has a size of %lld: sizes are those of the file",
                static_cast<long long>(size));
    require(given.epsilon == 0, "bert has an epsilon of %g: it is that of the file", given.epsilon);
    return {static_cast<BertHead>(given.head), given.segment_input != 0, given.mask_input != 0,
            given.dropout};
}

// What a ResNet's options and a network's have in common.
template <class Options>
NetworkConfig network_config(const Network& network, const Options& given) {
    NetworkConfig config;
    config.network = &network;
    config.classes = given.classes;
    config.channels = given.channels;
    config.rows = given.rows;
    config.columns = given.columns;
    config.stem = static_cast<Stem>(given.stem);
    return config;
}

NetworkConfig read_resnet(const volta_resnet_options* options) {
    constexpr std::int64_t kUsualDepth = 18;
    const auto given = read_options(options);
    return network_config(resnet_of(or_default(given.depth, kUsualDepth)), given);
}

NetworkConfig read_network(const volta_network_options* options) {
    const auto given = read_options(options);
    require(given.name != nullptr, "name is NULL");
    NetworkConfig config = network_config(find_network(given.name), given);
    config.width = given.width;
    return config;
}

std::optional<DType> read_weights(int32_t weights) {
    if (weights == VOLTA_IMPORT_KEEP) return std::nullopt;
    require(weights == 0 || weights == VOLTA_F32 || find_storage_format(weights) != nullptr,
            "weights is %d, which is neither VOLTA_IMPORT_KEEP nor a type of weights", weights);
    return weights == 0 ? DType::f32 : static_cast<DType>(weights);
}

ImportOptions read_import_options(const volta_import_options* options) {
    const auto given = read_options(options);
    require(given.format >= VOLTA_WEIGHTS_AUTO && given.format <= VOLTA_WEIGHTS_ONNX,
            "format is %d, which is no volta_weight_format", given.format);
    const struct {
        const char *name, *path;
    } paths[] = {{"tokenizer_path", given.tokenizer_path},
                 {"config_path", given.config_path},
                 {"key_map_path", given.key_map_path}};
    for (const auto& entry : paths)
        require(entry.path == nullptr || *entry.path != '\0', "%s is empty", entry.name);
    require(given.no_tokenizer == 0 || given.no_tokenizer == 1, "no_tokenizer is %d, neither 0 nor 1",
            given.no_tokenizer);
    require(given.no_tokenizer == 0 || given.tokenizer_path == nullptr,
            "no_tokenizer is 1, and tokenizer_path names one");
    ImportOptions read = {static_cast<WeightFormat>(given.format),
                          given.tokenizer_path,
                          given.config_path,
                          given.key_map_path,
                          {},
                          read_weights(given.weights),
                          given.no_tokenizer != 0,
                          {},
                          {given.shapes, given.shape_count, given.exact_graph != 0}};
    require(given.exact_graph == 0 || given.exact_graph == 1, "exact_graph is %d, neither 0 nor 1",
            given.exact_graph);
    require(given.shapes != nullptr || given.shape_count == 0, "shapes is NULL and shape_count is %zu",
            given.shape_count);
    for (size_t i = 0; i < given.shape_count; ++i) {
        const volta_input_shape& shape = given.shapes[i];
        require(shape.name != nullptr, "the name of shape %zu is NULL", i);
        require(shape.rank >= 0 && shape.rank <= VOLTA_MAX_RANK, "the shape of '%s' has %d axes", shape.name,
                shape.rank);
        for (int32_t axis = 0; axis < shape.rank; ++axis)
            require(shape.shape[axis] >= -1, "the shape of '%s' has the extent %lld", shape.name,
                    static_cast<long long>(shape.shape[axis]));
    }
    if (given.bert != nullptr) read.bert = read_bert_choice(given.bert);
    require(given.resnet == nullptr || given.network == nullptr, "resnet and network are both given");
    if (given.resnet != nullptr) read.network = read_resnet(given.resnet);
    if (given.network != nullptr) read.network = read_network(given.network);
    require(!read.bert || !read.network, "bert and %s are both given",
            given.resnet != nullptr ? "resnet" : "network");
    return read;
}

void fill_info(const char* name, DType dtype, const Shape& shape, volta_tensor_info* info) {
    *info = volta_tensor_info{};
    info->name = name;
    info->dtype = static_cast<volta_dtype>(dtype);
    info->rank = shape.rank;
    std::memcpy(info->shape, shape.extent, static_cast<std::size_t>(shape.rank) * sizeof(int64_t));
}

}  // namespace

volta_status volta_model_create(const volta_graph* graph, uint64_t seed, volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    return guarded([&] {
        require(out_model != nullptr, "out_model is NULL");
        require(graph != nullptr, "graph is NULL");
        require(!graph->graph.outputs.empty(), "the graph has no output: call volta_graph_output first");
        const ContextRef& context = graph->context;
        give_new_model(context,
                       Model::create(graph->graph, seed, context->structures(), context->tensors(),
                                     init_machine(*context)),
                       out_model);
    });
}

volta_status volta_model_create_gpt(volta_context* context, const volta_gpt_options* options, uint64_t seed,
                                    volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    return guarded([&] {
        require(out_model != nullptr, "out_model is NULL");
        require(context != nullptr, "context is NULL");
        const auto given = read_options(options);
        const ContextRef owner(unwrap(context));
        GptConfig config;
        config.vocabulary = given.vocabulary;
        config.layers = or_default(given.layers, config.layers);
        config.dim = or_default(given.dim, config.dim);
        config.heads = or_default(given.heads, config.heads);
        config.context = or_default(given.context, config.context);
        config.dropout = given.dropout;
        give_new_model(owner,
                       create_gpt(config, seed, owner->structures(), owner->tensors(), init_machine(*owner)),
                       out_model);
    });
}

volta_status volta_model_create_llama(volta_context* context, const volta_llama_options* options,
                                      uint64_t seed, volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    return guarded([&] {
        require(out_model != nullptr, "out_model is NULL");
        require(context != nullptr, "context is NULL");
        const auto given = read_options(options);
        const ContextRef owner(unwrap(context));
        LlamaConfig config;
        config.vocabulary = given.vocabulary;
        config.layers = or_default(given.layers, config.layers);
        config.dim = or_default(given.dim, config.dim);
        config.heads = or_default(given.heads, config.heads);
        config.kv_heads = given.kv_heads;
        config.hidden = given.hidden;
        config.context = or_default(given.context, config.context);
        config.rope_base = or_default(given.rope_base, config.rope_base);
        config.epsilon = or_default(given.epsilon, config.epsilon);
        config.tied = given.untied == 0;
        config.interleaved = given.interleaved != 0;
        give_new_model(
            owner, create_llama(config, seed, owner->structures(), owner->tensors(), init_machine(*owner)),
            out_model);
    });
}

volta_status volta_model_create_bert(volta_context* context, const volta_bert_options* options, uint64_t seed,
                                     volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    return guarded([&] {
        require(out_model != nullptr, "out_model is NULL");
        require(context != nullptr, "context is NULL");
        const auto given = read_options(options);
        const ContextRef owner(unwrap(context));
        BertConfig config;
        config.vocabulary = given.vocabulary;
        config.layers = or_default(given.layers, config.layers);
        config.dim = or_default(given.dim, config.dim);
        config.heads = or_default(given.heads, config.heads);
        config.hidden = given.hidden;
        config.context = or_default(given.context, config.context);
        config.segments = or_default(given.segments, config.segments);
        config.head = static_cast<BertHead>(given.head);
        config.classes = given.classes;
        config.segment_input = given.segment_input != 0;
        config.mask_input = given.mask_input != 0;
        config.dropout = given.dropout;
        config.epsilon = or_default(given.epsilon, config.epsilon);
        give_new_model(owner,
                       create_bert(config, seed, owner->structures(), owner->tensors(), init_machine(*owner)),
                       out_model);
    });
}

// `read`: what the options say.
template <class Read>
static volta_status create_network_of(volta_context* context, Read read, uint64_t seed,
                                      volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    return guarded([&] {
        require(out_model != nullptr, "out_model is NULL");
        require(context != nullptr, "context is NULL");
        const NetworkConfig config = read();
        const ContextRef owner(unwrap(context));
        give_new_model(
            owner, create_network(config, seed, owner->structures(), owner->tensors(), init_machine(*owner)),
            out_model);
    });
}

volta_status volta_model_create_resnet(volta_context* context, const volta_resnet_options* options,
                                       uint64_t seed, volta_model** out_model) {
    return create_network_of(
        context, [&] { return read_resnet(options); }, seed, out_model);
}

volta_status volta_model_create_network(volta_context* context, const volta_network_options* options,
                                        uint64_t seed, volta_model** out_model) {
    return create_network_of(
        context, [&] { return read_network(options); }, seed, out_model);
}

const char* volta_network_name(size_t index) {
    const Networks networks = all_networks();
    return index < networks.count ? networks.first[index].name : nullptr;
}

volta_status volta_model_open(volta_context* context, const char* path, const volta_open_options* options,
                              volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    return guarded([&] {
        require(out_model != nullptr, "out_model is NULL");
        require(context != nullptr, "context is NULL");
        require(path != nullptr && *path != '\0', "path is NULL or empty");
        const ContextRef owner(unwrap(context));
        const ReadOptions read = read_open_options(options, owner->stop());
        give_model(owner, read_model(path, read, owner->structures(), owner->tensors()), out_model);
    });
}

volta_status volta_model_open_memory(volta_context* context, const void* data, size_t bytes,
                                     const volta_open_options* options, volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    return guarded([&] {
        require(out_model != nullptr, "out_model is NULL");
        require(context != nullptr, "context is NULL");
        require(data != nullptr, "data is NULL");
        const ContextRef owner(unwrap(context));
        const ReadOptions read = read_open_options(options, owner->stop());
        give_model(owner, read_model(data, bytes, read, owner->structures(), owner->tensors()), out_model);
    });
}

void volta_model_release(volta_model* model) {
    unfailing([&] { end_handle(model); });
}

volta_status volta_model_save(const volta_model* model, const char* path) {
    return guarded([&] {
        require(model != nullptr, "model is NULL");
        require(path != nullptr && *path != '\0', "path is NULL or empty");
        SaveSource source;
        source.model = model->model.get();
        source.stop = &model->context->stop();
        write_model(source, path, model->context->structures());
    });
}

volta_status volta_model_save_sharded(const volta_model* model, uint32_t parts, const char* folder) {
    return guarded([&] {
        require(model != nullptr, "model is NULL");
        require(parts >= 1 && parts <= kMostParts, "parts is %u, it must be in 1 .. %u", parts, kMostParts);
        require(folder != nullptr && *folder != '\0', "folder is NULL or empty");
        SaveSource source;
        source.model = model->model.get();
        source.stop = &model->context->stop();
        write_model_parts(source, parts, folder, model->context->structures());
    });
}

volta_status volta_model_import(volta_context* context, const char* path, const volta_import_options* options,
                                volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    return guarded([&] {
        require(out_model != nullptr, "out_model is NULL");
        require(context != nullptr, "context is NULL");
        require(path != nullptr && *path != '\0', "path is NULL or empty");
        const ContextRef owner(unwrap(context));
        ImportOptions read = read_import_options(options);
        read.stop = read.onnx.stop = &owner->stop();
        read.log = owner->log();
        give_new_model(owner, import_model(path, read, owner->structures(), owner->tensors()), out_model);
    });
}

volta_status volta_model_survey(volta_context* context, const char* path, const volta_import_options* options,
                                char* text, size_t capacity, size_t* out_bytes) {
    if (out_bytes != nullptr) *out_bytes = 0;
    if (text != nullptr && capacity > 0) *text = '\0';
    return guarded([&] {
        require(context != nullptr, "context is NULL");
        require(path != nullptr && *path != '\0', "path is NULL or empty");
        require(out_bytes != nullptr, "out_bytes is NULL");
        require(text != nullptr || capacity == 0, "text is NULL and capacity is %zu", capacity);
        const ContextRef owner(unwrap(context));
        const std::pmr::string json = survey_model(path, read_import_options(options), owner->structures());
        *out_bytes = json.size();
        if (capacity == 0) return;
        const std::size_t count = std::min(json.size(), capacity - 1);
        std::memcpy(text, json.data(), count);
        text[count] = '\0';
    });
}

volta_status volta_model_export_safetensors(const volta_model* model, const char* path) {
    return guarded([&] {
        require(model != nullptr, "model is NULL");
        require(path != nullptr && *path != '\0', "path is NULL or empty");
        export_safetensors(without_adapters(model), path, model->context->structures(),
                           model->context->stop());
    });
}

volta_status volta_model_export_safetensors_with(const volta_model* model,
                                                 const volta_export_options* options, const char* path) {
    return guarded([&] {
        require(model != nullptr, "model is NULL");
        require(path != nullptr && *path != '\0', "path is NULL or empty");
        const auto given = read_options(options);
        require(given.names == VOLTA_NAMES_OWN || given.names == VOLTA_NAMES_HUGGING_FACE,
                "names is %d, it must be 0 or 1", given.names);
        require(given.config_path == nullptr || *given.config_path != '\0', "config_path is empty");
        require(given.config_path == nullptr || given.names != VOLTA_NAMES_OWN,
                "config_path is given, but an export with Volta's names has no config");
        std::pmr::memory_resource* const heap = model->context->structures();
        const Stop& stop = model->context->stop();
        if (given.names == VOLTA_NAMES_OWN)
            return export_safetensors(without_adapters(model), path, heap, stop);
        export_hugging_face(without_adapters(model), path, given.config_path, heap, stop);
    });
}

volta_status volta_model_export_onnx(const volta_model* model, const volta_onnx_export_options* options,
                                     const char* path) {
    return guarded([&] {
        require(model != nullptr, "model is NULL");
        require(path != nullptr && *path != '\0', "path is NULL or empty");
        const auto given = read_options(options);
        onnx::OnnxExport wanted;
        if (given.opset != 0) wanted.opset = given.opset;
        require(onnx::is_written(wanted.opset), "opset is %d; 13, 17, 20 and 21 are written", given.opset);
        wanted.inline_bytes = given.inline_bytes;
        wanted.stop = &model->context->stop();
        onnx::export_onnx(without_adapters(model), path, wanted, model->context->structures());
    });
}

volta_status volta_model_export_gguf(const volta_model* model, const volta_gguf_export_options* options,
                                     const char* path) {
    return guarded([&] {
        require(model != nullptr, "model is NULL");
        require(path != nullptr && *path != '\0', "path is NULL or empty");
        const auto given = read_options(options);
        GgufExport wanted;
        require(given.weights == 0 || given.weights == VOLTA_F32 || given.weights == VOLTA_F16 ||
                    given.weights == VOLTA_BF16 || given.weights == VOLTA_INT8 || given.weights == VOLTA_INT4,
                "weights is %d, which is no type that a GGUF file is written in", given.weights);
        require(given.no_tokenizer == 0 || given.no_tokenizer == 1, "no_tokenizer is %d, neither 0 nor 1",
                given.no_tokenizer);
        if (given.weights != 0) wanted.weights = static_cast<DType>(given.weights);
        wanted.no_tokenizer = given.no_tokenizer != 0;
        wanted.stop = &model->context->stop();
        export_gguf(without_adapters(model), path, wanted, model->context->structures());
    });
}

volta_status volta_model_hash(const volta_model* model, char* text) {
    if (text != nullptr) *text = '\0';
    return guarded([&] {
        require(model != nullptr && text != nullptr, "%s is NULL", model == nullptr ? "model" : "text");
        const HashText hash = to_text(hash_parameters(*model->model, model->context->structures()));
        std::memcpy(text, hash.text, sizeof hash.text);
    });
}

volta_status volta_model_get_arithmetic(const volta_model* model, volta_level* out_level,
                                        volta_precision* out_precision) {
    if (out_level != nullptr) *out_level = 0;
    if (out_precision != nullptr) *out_precision = 0;
    return guarded([&] {
        require(model != nullptr, "model is NULL");
        require(out_level != nullptr && out_precision != nullptr, "%s is NULL",
                out_level == nullptr ? "out_level" : "out_precision");
        *out_level = static_cast<volta_level>(model->model->arithmetic.level);
        *out_precision = static_cast<volta_precision>(model->model->arithmetic.precision);
    });
}

volta_status volta_model_quantize(const volta_model* model, volta_dtype dtype, volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    return guarded([&] {
        require(model != nullptr && out_model != nullptr, "%s is NULL",
                model == nullptr ? "model" : "out_model");
        require(find_storage_format(dtype) != nullptr,
                "dtype is %d, weights are stored as VOLTA_BF16, VOLTA_F16, VOLTA_INT8, VOLTA_INT4 or "
                "VOLTA_F32_PANELS",
                dtype);
        const ContextRef& context = model->context;
        give_model(context,
                   quantize(without_adapters(model), static_cast<DType>(dtype), context->structures(),
                            context->tensors(), context->stop()),
                   out_model);
    });
}

volta_status volta_model_replace_head(const volta_model* model, int64_t classes, uint64_t seed,
                                      volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    return guarded([&] {
        require(model != nullptr && out_model != nullptr, "%s is NULL",
                model == nullptr ? "model" : "out_model");
        const ContextRef& context = model->context;
        give_model(context,
                   replace_head(without_adapters(model), classes, seed, context->structures(),
                                context->tensors(), init_machine(*context)),
                   out_model);
    });
}

volta_status volta_model_fold_batch_norm(const volta_model* model, volta_model** out_model,
                                         size_t* out_folded) {
    if (out_model != nullptr) *out_model = nullptr;
    if (out_folded != nullptr) *out_folded = 0;
    return guarded([&] {
        require(model != nullptr && out_model != nullptr, "%s is NULL",
                model == nullptr ? "model" : "out_model");
        const ContextRef& context = model->context;
        std::size_t folded = 0;
        give_model(
            context,
            fold_batch_norm(without_adapters(model), &folded, context->structures(), context->tensors()),
            out_model);
        if (out_folded != nullptr) *out_folded = folded;
    });
}

volta_status volta_model_hidden_states(const volta_model* model, volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    return guarded([&] {
        require(model != nullptr && out_model != nullptr, "%s is NULL",
                model == nullptr ? "model" : "out_model");
        const ContextRef& context = model->context;
        give_model(context, hidden_states(without_adapters(model), context->structures(), context->tensors()),
                   out_model);
    });
}

size_t volta_model_input_count(const volta_model* model) {
    if (model == nullptr) return 0;
    size_t count = 0;
    for (const SourceInfo& source : model->model->graph.sources) {
        const Node& node = model->model->graph.nodes[static_cast<std::size_t>(source.node)];
        count += node.op == Op::input && !is_step_input(node.name.c_str());
    }
    return count;
}

volta_status volta_model_input_info(const volta_model* model, size_t index, volta_tensor_info* info) {
    return guarded([&] {
        require(model != nullptr && info != nullptr, "%s is NULL", model == nullptr ? "model" : "info");
        const Graph& graph = model->model->graph;
        const auto inputs = host_inputs(graph, model->context->structures());
        require(index < inputs.size(), "input %zu is asked for, the model has %zu", index, inputs.size());
        const Value& value = graph.value(inputs[index]);
        fill_info(graph.producer(inputs[index]).name.c_str(), value.dtype,
                  graph.source(value.producer).declared, info);
    });
}

size_t volta_model_output_count(const volta_model* model) {
    return model != nullptr ? model->model->graph.outputs.size() : 0;
}

namespace {

// The shape of an output, with -1 for extents that follow an input's open extent. Open extents are 1 in a
// graph as it was defined: what differs when they are 2 follows them. A model that runs with 1 only has no
// open outputs.
Shape declared_output_shape(const Graph& graph, std::size_t index, std::pmr::memory_resource* heap) {
    Shape shape = graph.shape(graph.outputs[index].value);
    std::pmr::vector<Shape> doubled(heap);
    for (const SourceInfo& source : graph.sources) {  // the trainer's inputs, of fixed shape, among them
        if (graph.node(source.node).op != Op::input) continue;
        Shape& extents = doubled.emplace_back(source.declared);
        for (int axis = 0; axis < extents.rank; ++axis)
            if (extents[axis] < 0) extents[axis] = 2;
    }
    try {
        const Graph larger = specialize(graph, doubled.data(), static_cast<int>(doubled.size()), heap);
        const Shape& other = larger.shape(larger.outputs[index].value);
        for (int axis = 0; axis < shape.rank; ++axis)
            if (other[axis] != shape[axis]) shape[axis] = -1;
    } catch (const Error&) {
    }
    return shape;
}

}  // namespace

volta_status volta_model_output_info(const volta_model* model, size_t index, volta_tensor_info* info) {
    return guarded([&] {
        require(model != nullptr && info != nullptr, "%s is NULL", model == nullptr ? "model" : "info");
        const Graph& graph = model->model->graph;
        require(index < graph.outputs.size(), "output %zu is asked for, the model has %zu", index,
                graph.outputs.size());
        const GraphOutput& output = graph.outputs[index];
        fill_info(output.name.c_str(), graph.value(output.value).dtype,
                  declared_output_shape(graph, index, model->context->structures()), info);
    });
}

size_t volta_model_parameter_count(const volta_model* model) {
    return model != nullptr ? model->model->parameters.size() : 0;
}

volta_status volta_model_parameter_info(const volta_model* model, size_t index, volta_tensor_info* info) {
    return guarded([&] {
        require(model != nullptr && info != nullptr, "%s is NULL", model == nullptr ? "model" : "info");
        const auto& parameters = model->model->parameters;
        require(index < parameters.size(), "parameter %zu is asked for, the model has %zu", index,
                parameters.size());
        fill_info(parameters[index].name.c_str(), parameters[index].dtype, parameters[index].shape, info);
    });
}

volta_status volta_model_parameter(const volta_model* model, const char* name, const float** out_data,
                                   size_t* out_elements) {
    if (out_data != nullptr) *out_data = nullptr;
    if (out_elements != nullptr) *out_elements = 0;
    return guarded([&] {
        require(model != nullptr && name != nullptr, "%s is NULL", model == nullptr ? "model" : "name");
        require(out_data != nullptr && out_elements != nullptr, "%s is NULL",
                out_data == nullptr ? "out_data" : "out_elements");
        const NamedTensor* parameter = model->model->find_parameter(name);
        require(parameter != nullptr, "the model has no parameter %s", name);
        if (is_stored(parameter->dtype))
            fail(VOLTA_UNSUPPORTED, "parameter %s is stored as %s: it has no elements of f32 to lend", name,
                 dtype_name(parameter->dtype));
        *out_data = static_cast<const float*>(parameter->data);
        *out_elements = static_cast<size_t>(parameter->shape.elements());
    });
}

volta_status volta_model_set_parameter(volta_model* model, const char* name, const float* data,
                                       size_t elements) {
    return guarded([&] {
        require(model != nullptr && name != nullptr, "%s is NULL", model == nullptr ? "model" : "name");
        require(data != nullptr, "data is NULL");
        Model& inner = *model->model;
        const NamedTensor* parameter = inner.find_parameter(name);
        require(parameter != nullptr, "the model has no parameter %s", name);
        if (is_stored(parameter->dtype))
            fail(VOLTA_UNSUPPORTED, "parameter %s is stored as %s, which takes no elements of f32", name,
                 dtype_name(parameter->dtype));
        const auto expected = static_cast<size_t>(parameter->shape.elements());
        if (elements != expected)
            fail(VOLTA_SHAPE_MISMATCH, "parameter %s has %zu elements, %zu are given", name, expected,
                 elements);
        const auto index = static_cast<std::size_t>(parameter - inner.parameters.data());
        std::memcpy(inner.mutable_parameter(index), data, elements * sizeof(float));
    });
}

volta_status volta_model_set_tokenizer(volta_model* model, const volta_tokenizer* tokenizer) {
    return guarded([&] {
        require(model != nullptr && tokenizer != nullptr, "%s is NULL",
                model == nullptr ? "model" : "tokenizer");
        Tokenizer copy(tokenizer->tokenizer, model->context->structures());
        model->model->tokenizer.reset();
        model->model->tokenizer.emplace(std::move(copy));
    });
}

volta_status volta_model_get_tokenizer(const volta_model* model, volta_tokenizer** out_tokenizer) {
    if (out_tokenizer != nullptr) *out_tokenizer = nullptr;
    return guarded([&] {
        require(model != nullptr && out_tokenizer != nullptr, "%s is NULL",
                model == nullptr ? "model" : "out_tokenizer");
        if (!model->model->tokenizer) return;
        *out_tokenizer = make_handle<volta_tokenizer>(
            model->context, Tokenizer(*model->model->tokenizer, model->context->structures()));
    });
}

volta_status volta_model_set_metadata(volta_model* model, const char* key, const char* value) {
    return guarded([&] {
        require(model != nullptr, "model is NULL");
        require(key != nullptr && *key != '\0', "key is NULL or empty");
        require(std::strncmp(key, "volta.", 6) != 0, "the key %s starts with volta., which is reserved", key);
        require(std::strlen(key) <= 255, "the key %.40s... is longer than 255 bytes", key);
        model->model->set_metadata(key, value);
    });
}

volta_status volta_model_get_metadata(const volta_model* model, const char* key, const char** out_value) {
    if (out_value != nullptr) *out_value = nullptr;
    return guarded([&] {
        require(model != nullptr && key != nullptr, "%s is NULL", model == nullptr ? "model" : "key");
        require(out_value != nullptr, "out_value is NULL");
        const std::pmr::string* value = model->model->find_metadata(key);
        *out_value = value != nullptr ? value->c_str() : nullptr;
    });
}

volta_status volta_model_evaluate_tokens(volta_model* model, const int32_t* tokens, size_t count,
                                         double* out_loss) {
    if (out_loss != nullptr) *out_loss = 0;
    return guarded([&] {
        require(model != nullptr && out_loss != nullptr, "%s is NULL",
                model == nullptr ? "model" : "out_loss");
        Model& inner = *model->model;
        TokenLossJob job = {};
        job.context = model->context.get();
        job.graph = &inner.graph;
        job.time = language_model(inner.graph).context;
        job.rows = 4;
        job.tokens = tokens;
        job.count = count;
        struct Lender {
            ModelMemory parameters;
            const Model& model;
        } lender{ModelMemory(*job.context, inner), inner};
        job.owner = &lender;
        job.lend_parameters = [](void* self, ProgramMemory& memory) {
            auto& own = *static_cast<Lender*>(self);
            own.parameters.lend_to(memory, own.model);
        };
        *out_loss = mean_token_loss(job);
    });
}
