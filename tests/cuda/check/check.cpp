#include "tests/cuda/check/check.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace volta::check {

void require(volta_status status) {
    if (status != VOLTA_OK)
        throw std::runtime_error(std::string(volta_status_name(status)) + ": " + volta_last_error());
}

Context make_context(const Place& place) {
    volta_context_options options = {};
    options.struct_size = sizeof options;
    options.device = place.device.c_str();
    options.level = place.level;
    options.precision = place.precision;
    options.kernel_folder = place.kernels.empty() ? nullptr : place.kernels.c_str();
    options.tuning_folder = place.tuning.empty() ? nullptr : place.tuning.c_str();
    volta_context* context = nullptr;
    const volta_status status = volta_context_create(&options, &context);
    if (status == VOLTA_UNSUPPORTED) throw NotRun(volta_last_error());
    require(status);
    return Context(context);
}

volta_device_info device_of(const Context& context) {
    volta_device_info info = {};
    info.struct_size = sizeof info;
    require(volta_context_get_device(context.get(), &info));
    return info;
}

volta_value input(const Graph& graph, const char* name, const Extents& shape) {
    volta_value value = {-1};
    require(volta_graph_input(graph.get(), name, VOLTA_F32, shape.data(),
                              static_cast<std::int32_t>(shape.size()), &value));
    return value;
}

Tensor wrap(const Context& context, const Extents& shape, std::vector<float>& data) {
    volta_tensor* tensor = nullptr;
    require(volta_tensor_wrap(context.get(), VOLTA_F32, shape.data(), static_cast<std::int32_t>(shape.size()),
                              data.data(), &tensor));
    return Tensor(tensor);
}

Session make_session(const Graph& graph) {
    volta_model* model = nullptr;
    require(volta_model_create(graph.get(), 1, &model));
    const Model owned(model);
    volta_session* session = nullptr;
    require(volta_session_create(model, nullptr, &session));
    return Session(session);
}

void run(const Session& session, const std::vector<const Tensor*>& inputs,
         const std::vector<const Tensor*>& outputs) {
    std::vector<const volta_tensor*> in(inputs.size());
    std::vector<volta_tensor*> out(outputs.size());
    const auto object_of = [](const Tensor* tensor) { return tensor->get(); };
    std::transform(inputs.begin(), inputs.end(), in.begin(), object_of);
    std::transform(outputs.begin(), outputs.end(), out.begin(), object_of);
    require(volta_session_run(session.get(), in.data(), in.size(), out.data(), out.size()));
}

std::vector<float> numbers(std::int64_t count, std::uint32_t seed) {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::uint32_t state = seed;
    for (float& value : values) {
        state = state * 1664525u + 1013904223u;
        value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31f;
    }
    return values;
}

std::int64_t first_difference(const std::vector<float>& a, const std::vector<float>& b) {
    if (a.size() != b.size()) return 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (std::memcmp(&a[i], &b[i], sizeof a[i]) != 0 && !(a[i] != a[i] && b[i] != b[i]))
            return static_cast<std::int64_t>(i);
    return -1;
}

std::vector<Subject> subjects(bool small) {
    if (small)
        return {{"GPT with dropout", 29, 1, 32, 2, 0, 16, 1, 0.1}, {"Llama", 29, 1, 32, 4, 2, 16, 1, 0}};
    return {{"GPT with dropout", 96, 4, 192, 6, 0, 128, 4, 0.1}, {"Llama", 96, 4, 192, 6, 3, 128, 4, 0}};
}

namespace {

volta_status create(volta_context* context, const Subject& s, volta_model** model) {
    if (s.kv_heads == 0) {
        volta_gpt_options gpt = {};
        gpt.struct_size = sizeof gpt;
        gpt.vocabulary = s.vocabulary, gpt.layers = s.layers, gpt.dim = s.dim, gpt.heads = s.heads;
        gpt.context = s.time;
        gpt.dropout = s.dropout;
        return volta_model_create_gpt(context, &gpt, 1, model);
    }
    volta_llama_options llama = {};
    llama.struct_size = sizeof llama;
    llama.vocabulary = s.vocabulary, llama.layers = s.layers, llama.dim = s.dim, llama.heads = s.heads;
    llama.kv_heads = s.kv_heads;
    llama.context = s.time;
    return volta_model_create_llama(context, &llama, 1, model);
}

}  // namespace

Model make_model(const Context& context, const Subject& subject) {
    volta_model* model = nullptr;
    require(create(context.get(), subject, &model));
    return Model(model);
}

Trainer make_trainer(const Model& model, const Subject& subject, int steps, std::uint32_t shards) {
    const std::int64_t shape[] = {subject.batch, subject.time};
    volta_trainer_options options = {};
    options.struct_size = sizeof options;
    options.input_shapes = shape;
    options.input_extent_count = 2;
    options.micro_batches = shards > 2 ? shards : 2;
    options.shards = shards;
    options.seed = 5;
    options.steps = static_cast<std::uint64_t>(steps);
    options.schedule = VOLTA_SCHEDULE_COSINE;
    options.weight_decay = 0.1;
    options.clip_norm = 1;
    volta_trainer* trainer = nullptr;
    require(volta_trainer_create(model.get(), &options, &trainer));
    return Trainer(trainer);
}

// The next id is 5 x + 1 or 5 x + 2, by a coin.
void set_tokens(const Trainer& trainer, const Subject& subject) {
    std::vector<std::int32_t> tokens(200 * static_cast<std::size_t>(subject.time));
    std::uint32_t state = 1;
    std::int64_t x = 0;
    for (std::int32_t& token : tokens) {
        state = state * 1664525u + 1013904223u;
        x = (5 * x + 1 + (state >> 31)) % subject.vocabulary;
        token = static_cast<std::int32_t>(x);
    }
    require(volta_trainer_set_tokens(trainer.get(), tokens.data(), tokens.size()));
}

std::string hash_of(const Trainer& trainer) {
    char text[33];
    require(volta_trainer_hash(trainer.get(), text));
    return text;
}

}  // namespace volta::check
