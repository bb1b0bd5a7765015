#include "engine/runtime/training_graph.h"

#include <cstring>

#include "engine/base/error.h"
#include "engine/graph/gradient.h"
#include "engine/graph/step_input.h"
#include "engine/model/batch_statistics.h"
#include "engine/runtime/loss.h"
#include "engine/runtime/optimizer.h"

namespace volta {

bool decays(const TrainingSpec& spec, const Shape& shape) {
    return spec.decay_all_parameters || shape.rank >= 2;
}

namespace {

// One entry per value; empty: no parameter is frozen.
std::pmr::vector<char> frozen_values(const Graph& model, const std::pmr::vector<std::int32_t>& frozen,
                                     std::pmr::memory_resource* heap) {
    std::pmr::vector<char> values(heap);
    if (frozen.empty()) return values;
    values.resize(model.values.size());
    auto next = frozen.begin();
    std::int32_t place = 0;
    for (const Node& node : model.nodes) {
        if (node.op != Op::parameter) continue;
        if (next != frozen.end() && *next == place) {
            values[static_cast<std::size_t>(node.first_output)] = 1;
            ++next;
        }
        ++place;
    }
    return values;
}

// A parameter with its gradient, complete over the whole step.
struct Trained {
    ValueId parameter, gradient;
};

ValueId square_sum_of(Graph& graph, ValueId gradient, Phase phase) {
    const ValueId square = graph.apply(Op::square_sum, {gradient}, {}, phase);
    return graph.apply(Op::reshape, {square}, {list(Attr::shape, Shape{1})}, phase);
}

// The sums of squares of all, in the order of the parameters.
ValueId square_sums_of(Graph& graph, const std::pmr::vector<ValueId>& gradients, Phase phase) {
    std::pmr::vector<ValueId> squares(graph.heap());
    for (const ValueId gradient : gradients) squares.push_back(square_sum_of(graph, gradient, phase));
    const Attribute axis = number(Attr::axis, 0);
    return graph.apply(Op::concat, squares.data(), static_cast<int>(squares.size()), &axis, 1, phase);
}

ValueId add_norm(Graph& graph, ValueId square_sums) {
    const ValueId norm =
        graph.apply(Op::sqrt, {graph.apply(Op::sum, {square_sums}, {}, Phase::reduce)}, {}, Phase::reduce);
    graph.output("gradient_norm", norm);
    return norm;
}

// norm: -1: another pass has found it.
ValueId add_clip_factor(Graph& graph, const TrainingSpec& spec, ValueId norm, Phase phase) {
    if (spec.clip_norm == 0) return graph.scalar(1.0f);
    if (norm < 0) return graph.input(name_of(StepInput::clip_factor), DType::f32, Shape{});
    return graph.apply(Op::clip_factor, {norm}, {number(Attr::maximum_norm, spec.clip_norm)}, phase);
}

void add_updates(Graph& graph, const TrainingSpec& spec, ValueId norm, const std::pmr::vector<Trained>& all) {
    const OptimizerRow& optimizer = optimizer_row(spec.optimizer, spec.has_momentum);
    const Shape factor_shape{optimizer.factor_count};
    const ValueId decayed = graph.input(name_of(StepInput::factors), DType::f32, factor_shape);
    const ValueId plain = graph.input(name_of(StepInput::factors_plain), DType::f32, factor_shape);
    const ValueId clip = add_clip_factor(graph, spec, norm, Phase::update);
    for (const Trained& trained : all) {
        const Shape shape = graph.shape(trained.parameter);
        std::pmr::string name(graph.producer(trained.parameter).name, graph.heap());
        std::pmr::vector<ValueId> inputs({trained.parameter, trained.gradient}, graph.heap());
        for (int s = 0; s < optimizer.state_count; ++s) {
            std::pmr::string state_name(name, graph.heap());
            state_name += optimizer.state_suffix[s];
            inputs.push_back(graph.state(state_name.c_str(), DType::f32, shape));
        }
        inputs.push_back(decays(spec, shape) ? decayed : plain);
        inputs.push_back(clip);
        const Attribute nesterov = number(Attr::nesterov, spec.nesterov);
        graph.apply(optimizer.op, inputs.data(), static_cast<int>(inputs.size()), &nesterov,
                    optimizer.op == Op::sgd ? 1 : 0, Phase::update);
    }
}

class TrainingGraphBuilder {
  public:
    TrainingGraphBuilder(const Graph& model, const TrainingSpec& spec, std::pmr::memory_resource* heap)
        : spec_(spec),
          heap_(heap),
          backward_(copy_forward(with_batch_statistics(model, frozen_values(model, spec.frozen, heap), heap),
                                 heap)),
          graph_(backward_.graph),
          stacks_(heap),
          is_used_(heap) {
        for (auto place = spec.frozen.rbegin(); place != spec.frozen.rend(); ++place)
            backward_.gradients.erase(backward_.gradients.begin() + *place);
        const int index = spec.output_index;
        require(index >= 0 && index < static_cast<int>(graph_.outputs.size()),
                "output_index is %d, the model has %zu outputs", index, graph_.outputs.size());
        prediction_ = graph_.outputs[static_cast<std::size_t>(index)].value;
        graph_.outputs.clear();  // a training step's results are the loss and the gradients
    }

    Graph build() {
        add_mean_loss();
        const std::pmr::vector<Trained> trained = add_gradients();
        const ValueId norm = spec_.needs_norm_pass() ? -1 : add_norm_of(trained);
        add_updates(graph_, spec_, norm, trained);
        // With an update in the backward pass a gradient is soon needed no longer.
        if (!spec_.update_in_backward) keep_gradients(trained);
        for_each_statistic([&](ValueId running, ValueId followed) {
            apply(Op::assign, {running, followed}, {}, Phase::update);
        });
        return std::move(graph_);
    }

    Graph build_norm() {
        add_mean_loss();
        const ValueId norm = add_norm_of(add_gradients());
        graph_.output(kClipFactor, add_clip_factor(graph_, spec_, norm, Phase::reduce));
        return std::move(graph_);
    }

    Graph build_shard() {
        graph_.output(kLossSum, add_loss());
        keep_gradients(add_gradients());
        for_each_statistic(
            [&](ValueId running, ValueId followed) { name_output(kStatistic, running, followed); });
        return std::move(graph_);
    }

  private:
    ValueId apply(Op op, std::initializer_list<ValueId> inputs, std::initializer_list<Attribute> attributes,
                  Phase phase) {
        return graph_.apply(op, inputs, attributes, phase);
    }

    // The rows of all micro-batches, one after the other, for phases that run once.
    ValueId stacked(ValueId value) {
        for (const auto& known : stacks_)
            if (known.first == value) return known.second;
        const ValueId stack =
            apply(Op::stack, {value}, {number(Attr::micro_batches, spec_.micro_batches)}, Phase::each);
        stacks_.emplace_back(value, stack);
        return stack;
    }

    // The weights of classes or columns, which are the last axis of the output; -1: none.
    ValueId add_class_weights(std::int64_t classes) {
        const auto& given = spec_.class_weights;
        if (given.empty()) return -1;
        require(static_cast<std::int64_t>(given.size()) == classes,
                "class_weights has %zu numbers, the last axis of the output has %lld", given.size(),
                static_cast<long long>(classes));
        std::pmr::vector<float> rounded(heap_);
        for (const double weight : given) rounded.push_back(static_cast<float>(weight));
        return graph_.constant(DType::f32, Shape{classes}, rounded.data());
    }

    ValueId apply_loss(Op op, std::initializer_list<ValueId> inputs, ValueId weights) {
        std::pmr::vector<ValueId> all(inputs, heap_);
        if (weights >= 0) all.push_back(weights);
        std::pmr::vector<Attribute> attributes(heap_);
        if (spec_.loss == VOLTA_LOSS_CROSS_ENTROPY)
            attributes.push_back(number(Attr::label_smoothing, spec_.label_smoothing));
        if (spec_.loss == VOLTA_LOSS_HUBER) attributes.push_back(number(Attr::delta, spec_.huber_delta));
        return graph_.apply(op, all.data(), static_cast<int>(all.size()), attributes.data(),
                            static_cast<int>(attributes.size()), Phase::each);
    }

    // The losses' sum.
    ValueId add_loss() {
        const Shape shape = graph_.shape(prediction_);
        const LossRow& loss = loss_row(spec_.loss);
        require(shape.rank >= 1, "the loss needs an output of rank 1 or more, it has rank 0");
        Shape target_shape = shape;
        if (loss.has_classes) target_shape.rank -= 1;
        const ValueId targets =
            graph_.input("targets", loss.has_classes ? DType::i32 : DType::f32, target_shape);
        const ValueId scale = graph_.input(name_of(StepInput::gradient_scale), DType::f32, Shape{});
        count_ = graph_.input(name_of(StepInput::count), DType::f32, Shape{});
        const ValueId weights = add_class_weights(shape.last());

        ValueId rows, gradient;
        if (loss.has_classes) {
            rows = apply_loss(Op::cross_entropy_with_grad, {prediction_, targets, scale}, weights);
            gradient = rows + 1;  // over the logits where nobody else reads them
        } else {
            rows = apply_loss(loss.rows, {prediction_, targets}, weights);
            gradient = apply_loss(loss.gradient, {prediction_, targets, scale}, weights);
        }
        const Shape flat{graph_.shape(rows).elements()};
        const ValueId column = apply(Op::reshape, {rows}, {list(Attr::shape, flat)}, Phase::each);
        const ValueId sum = apply(Op::sum, {stacked(column)}, {}, Phase::reduce);
        std::pmr::vector<Seed> seeds(heap_);
        seeds.push_back(Seed{prediction_, gradient});
        differentiate(backward_, seeds);
        return sum;
    }

    void add_mean_loss() {
        const ValueId sum = add_loss();
        graph_.output("loss", apply(Op::div, {sum, count_}, {}, Phase::reduce));
    }

    ValueId add_norm_of(const std::pmr::vector<Trained>& trained) {
        std::pmr::vector<ValueId> gradients(heap_);
        for (const Trained& one : trained) gradients.push_back(one.gradient);
        const ValueId square_sums = square_sums_of(graph_, gradients, Phase::reduce);
        graph_.output("square_sums", square_sums);
        return add_norm(graph_, square_sums);
    }

    std::pmr::vector<Trained> add_gradients() {
        std::pmr::vector<Trained> trained(heap_);
        for (const ParameterGradient& parameter : backward_.gradients) {
            const ValueId gradient = total(parameter);
            if (gradient >= 0) trained.push_back({parameter.parameter, gradient});
        }
        require(!trained.empty(), "the loss depends on no parameter%s: there is nothing to train",
                spec_.frozen.empty() ? "" : " that is not frozen");
        return trained;
    }

    void name_output(const char* prefix, ValueId parameter, ValueId value) {
        std::pmr::string name(prefix, heap_);
        name += graph_.producer(parameter).name;
        graph_.output(name.c_str(), value);
    }

    void keep_gradients(const std::pmr::vector<Trained>& trained) {
        for (const Trained& one : trained) name_output(kGradient, one.parameter, one.gradient);
    }

    // By the nodes that there are now: each is counted once, when it is first asked for.
    bool is_used(ValueId value) {
        is_used_.resize(graph_.values.size(), false);
        for (; counted_ < graph_.nodes.size(); ++counted_)
            for (const ValueId input : graph_.nodes[counted_].inputs)
                is_used_[static_cast<std::size_t>(input)] = true;
        return is_used_[static_cast<std::size_t>(value)];
    }

    // The node continues its own chain over micro-batches: products over the token axis and column sums.
    bool continues(ValueId contribution) {
        const Node& node = graph_.producer(contribution);
        if (is_used(contribution)) return false;
        switch (node.op) {
            case Op::matmul:
                return node.flag(Attr::transpose_a) && node.body.ops.empty();
            case Op::layer_norm_grad_scale:
            case Op::rms_norm_grad_scale:
            case Op::conv_grad_weight:
            case Op::conv_grad_bias:
                return true;
            case Op::sum:
                return is_column_sum(node);
            default:
                return false;
        }
    }

    // docs/numerics.md, 3: of the axes with an extent above 1, the last one stays.
    bool is_column_sum(const Node& node) const {
        const Shape& shape = graph_.shape(node.inputs[0]);
        const Attribute* axes = node.find(Attr::axes);
        int last = shape.rank - 1;
        while (last >= 0 && shape[last] == 1) --last;
        if (last < 0 || axes == nullptr || axes->integer_count == 0) return false;
        for (int i = 0; i < axes->integer_count; ++i)
            if (axes->integers[i] == last || axes->integers[i] == last - shape.rank) return false;
        return true;
    }

    // One use's gradient, complete after all micro-batches.
    ValueId complete(ValueId contribution) {
        if (!continues(contribution)) return apply(Op::accumulate, {contribution}, {}, Phase::each);
        Node& node = graph_.nodes[static_cast<std::size_t>(graph_.value(contribution).producer)];
        for (Attribute& attribute : node.attributes)
            if (attribute.key == Attr::accumulate) attribute.number = 1;
        return contribution;
    }

    // ((u_m + u_{m-1}) + ...) + u_1, each complete before it is added. An embedding's rows wait for the
    // positions of the whole step and are added on rows that have tokens.
    ValueId total(const ParameterGradient& parameter) {
        ValueId sum = -1;
        for (std::size_t use = parameter.contributions.size(); use-- > 0;) {
            const ValueId contribution = parameter.contributions[use];
            const Node& node = graph_.producer(contribution);
            if (node.op == Op::embedding_gradient) {
                const ValueId ids = node.inputs[0], rows = node.inputs[1];
                const double vocabulary = node.number(Attr::rows);
                const ValueId all_ids = stacked(ids), all_rows = stacked(rows);
                sum = sum < 0 ? apply(Op::embedding_gradient, {all_ids, all_rows},
                                      {number(Attr::rows, vocabulary)}, Phase::reduce)
                              : apply(Op::embedding_gradient, {all_ids, all_rows, sum},
                                      {number(Attr::rows, vocabulary)}, Phase::reduce);
                continue;
            }
            const ValueId whole = complete(contribution);
            sum = sum < 0 ? whole : apply(Op::add, {sum, whole}, {}, Phase::reduce);
        }
        return sum;
    }

    // The running statistics of batch norms, and what the micro-batches have made of them.
    template <class Visit>
    void for_each_statistic(const Visit& visit) {
        for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
            if (graph_.nodes[n].op != Op::running_statistics) continue;
            const ValueId first = graph_.nodes[n].first_output;
            const ValueId running[] = {graph_.nodes[n].inputs[0], graph_.nodes[n].inputs[1]};
            for (int i = 0; i < 2; ++i) visit(running[i], first + i);
        }
    }

    const TrainingSpec& spec_;
    std::pmr::memory_resource* heap_;
    Backward backward_;
    Graph& graph_;
    ValueId prediction_ = -1, count_ = -1;
    std::pmr::vector<std::pair<ValueId, ValueId>> stacks_;
    std::pmr::vector<bool> is_used_;  // by the first nodes, `counted_` of them
    std::size_t counted_ = 0;
};

}  // namespace

Graph build_training_graph(const Graph& model, const TrainingSpec& spec, std::pmr::memory_resource* heap) {
    return TrainingGraphBuilder(model, spec, heap).build();
}

Graph build_norm_graph(const Graph& model, const TrainingSpec& spec, std::pmr::memory_resource* heap) {
    return TrainingGraphBuilder(model, spec, heap).build_norm();
}

Graph build_shard_graph(const Graph& model, const TrainingSpec& spec, std::pmr::memory_resource* heap) {
    return TrainingGraphBuilder(model, spec, heap).build_shard();
}

namespace {

ValueId input_of(Graph& graph, const char* prefix, const SummedTensor& tensor) {
    std::pmr::string name(prefix, graph.heap());
    name += tensor.name;
    return graph.input(name.c_str(), DType::f32, tensor.shape);
}

}  // namespace

Graph build_square_sums_graph(const std::pmr::vector<SummedTensor>& owned, std::pmr::memory_resource* heap) {
    Graph graph(heap);
    std::pmr::vector<ValueId> gradients(heap);
    for (const SummedTensor& tensor : owned)
        if (!tensor.is_statistic) gradients.push_back(input_of(graph, kGradient, tensor));
    graph.output("square_sums", square_sums_of(graph, gradients, Phase::reduce));
    return graph;
}

Graph build_update_graph(const std::pmr::vector<SummedTensor>& owned, std::int64_t gradients,
                         std::uint32_t shards, const TrainingSpec& spec, std::pmr::memory_resource* heap) {
    Graph graph(heap);
    const ValueId sum = graph.input(kLossSum, DType::f32, Shape{});
    const ValueId count = graph.input(name_of(StepInput::count), DType::f32, Shape{});
    graph.output("loss", graph.apply(Op::div, {sum, count}, {}, Phase::reduce));
    const ValueId norm = add_norm(graph, graph.input("square_sums", DType::f32, Shape{gradients}));
    std::pmr::vector<Trained> trained(heap);
    for (const SummedTensor& tensor : owned) {
        const ValueId parameter = graph.parameter(tensor.name.c_str(), tensor.shape, Init{});
        if (!tensor.is_statistic) {
            trained.push_back({parameter, input_of(graph, kGradient, tensor)});
            continue;
        }
        // A power of two: the mean is exact but for its sum.
        const ValueId mean = graph.apply(
            Op::mul, {input_of(graph, kStatistic, tensor), graph.scalar(1.0f / static_cast<float>(shards))},
            {}, Phase::update);
        graph.apply(Op::assign, {parameter, mean}, {}, Phase::update);
    }
    add_updates(graph, spec, norm, trained);
    return graph;
}

}  // namespace volta
