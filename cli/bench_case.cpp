#include "cli/bench_case.h"

namespace voltac::bench {

std::int64_t elements_of(const Extents& shape) {
    std::int64_t count = 1;
    for (std::int64_t extent : shape) count *= extent;
    return count;
}

std::uint64_t Random::next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

float Random::uniform() { return static_cast<float>(next() >> 40) * 0x1p-23f - 1.0f; }

Tensor zero_tensor(const Context& context, const Extents& shape) {
    volta_tensor* tensor = nullptr;
    check(volta_tensor_create(context.get(), VOLTA_F32, shape.data(), static_cast<std::int32_t>(shape.size()),
                              &tensor));
    return Tensor(tensor);
}

Tensor random_tensor(const Context& context, const Extents& shape, Random& random) {
    Tensor tensor = zero_tensor(context, shape);
    auto* const data = static_cast<float*>(volta_tensor_data(tensor.get()));
    for (std::int64_t i = 0; i < volta_tensor_elements(tensor.get()); ++i) data[i] = random.uniform();
    return tensor;
}

Tensor random_ids(const Context& context, const Extents& shape, std::int64_t below, Random& random) {
    volta_tensor* made = nullptr;
    check(volta_tensor_create(context.get(), VOLTA_I32, shape.data(), static_cast<std::int32_t>(shape.size()),
                              &made));
    Tensor tensor(made);
    auto* const data = static_cast<std::int32_t*>(volta_tensor_data(made));
    for (std::int64_t i = 0; i < volta_tensor_elements(made); ++i) data[i] = random.below(below);
    return tensor;
}

volta_attribute attribute(const char* name, double number) {
    volta_attribute made = {};
    made.name = name;
    made.number = number;
    return made;
}

GraphBuilder::GraphBuilder(const Context& context) {
    volta_graph* graph = nullptr;
    check(volta_graph_create(context.get(), &graph));
    graph_.reset(graph);
}

volta_value GraphBuilder::input(const char* name, const Extents& shape) {
    volta_value value;
    check(volta_graph_input(graph_.get(), name, VOLTA_F32, shape.data(),
                            static_cast<std::int32_t>(shape.size()), &value));
    return value;
}

volta_value GraphBuilder::parameter(const char* name, const Extents& shape) {
    volta_value value;
    const volta_init init = {VOLTA_INIT_UNIFORM, -1, 1};
    check(volta_graph_parameter(graph_.get(), name, shape.data(), static_cast<std::int32_t>(shape.size()),
                                &init, &value));
    return value;
}

volta_value GraphBuilder::apply(const char* op, const std::vector<volta_value>& inputs,
                                const std::vector<volta_attribute>& attributes) {
    volta_value value;
    check(volta_graph_apply(graph_.get(), op, inputs.data(), inputs.size(), attributes.data(),
                            attributes.size(), &value, 1));
    return value;
}

volta_value GraphBuilder::linear(const char* name, volta_value x, std::int64_t out_features) {
    volta_value value;
    check(volta_graph_linear(graph_.get(), name, x, out_features, &value));
    return value;
}

void GraphBuilder::output(volta_value value, const char* name) {
    check(volta_graph_output(graph_.get(), name, value));
}

Model GraphBuilder::model(std::uint64_t seed) const {
    volta_model* model = nullptr;
    check(volta_model_create(graph_.get(), seed, &model));
    return Model(model);
}

namespace {

Session compile(const Model& model, const Extents& extents) {
    volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
    options.input_shapes = extents.empty() ? nullptr : extents.data();
    options.input_extent_count = extents.size();
    options.flags = VOLTA_SESSION_PACK_WEIGHTS;  // where weights are parameters: mode packed of bench matmul
    volta_session* session = nullptr;
    check(volta_session_create(model.get(), &options, &session));
    return Session(session);
}

}  // namespace

SessionCase::SessionCase(const Context& context, Model model, Extents extents, std::int64_t ids_below)
    : model_(std::move(model)), session_(compile(model_, extents)) {
    Random random(1);
    std::size_t next = 0;
    volta_tensor_info info = {};
    Extents
        open;  // the extents that were given for open axes, in order; all outputs of a GPT start with them
    for (std::size_t i = 0; i < volta_model_input_count(model_.get()); ++i) {
        check(volta_model_input_info(model_.get(), i, &info));
        Extents shape(info.shape, info.shape + info.rank);
        for (std::int64_t& extent : shape) {
            const std::int64_t given = extents.empty() ? extent : extents[next++];
            if (extent < 0) open.push_back(given);
            extent = given;
        }
        tensors_.push_back(info.dtype == VOLTA_I32 ? random_ids(context, shape, ids_below, random)
                                                   : random_tensor(context, shape, random));
        inputs_.push_back(tensors_.back().get());
    }
    for (std::size_t i = 0; i < volta_model_output_count(model_.get()); ++i) {
        check(volta_model_output_info(model_.get(), i, &info));
        Extents shape(info.shape, info.shape + info.rank);
        std::size_t axis = 0;
        for (std::int64_t& extent : shape)
            if (extent < 0) extent = open.at(axis++);
        tensors_.push_back(zero_tensor(context, shape));
        outputs_.push_back(tensors_.back().get());
    }
}

}  // namespace voltac::bench
