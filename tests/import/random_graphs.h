// Models of every builder, small, and of random graphs that walk the table of what is written as ONNX: what
// the tests of the export have in common with the program that writes files for other readers.
#pragma once

#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/graph/forms.h"
#include "engine/import/onnx/write_table.h"
#include "engine/model/bert.h"
#include "engine/model/gpt.h"
#include "engine/model/llama.h"
#include "engine/model/network.h"

namespace volta::test {

// A graph made of operators that are drawn one after the other, each on a value that it takes. The same seed
// gives the same graph everywhere: no distribution of the standard library is used.
class RandomGraph {
  public:
    RandomGraph(std::uint64_t seed, std::pmr::memory_resource* heap) : graph_(heap), engine_(seed) {}

    Graph make() {
        const std::int64_t kind = draw(4);
        const std::int64_t width = 2 * (2 + draw(4));
        if (kind == 0) {
            values_.push_back(graph_.input("pictures", DType::f32, {-1, 4, 5 + draw(4), 5 + draw(4)}));
        } else if (kind == 1) {
            const ValueId tokens = tokens_ = graph_.input("tokens", DType::i32, {-1, -1});
            values_.push_back(graph_.apply(Op::gather, {parameter({11, width}), tokens}));
        } else if (kind == 2) {
            values_.push_back(graph_.input("x", DType::f32, {-1, width}));
        } else {
            const std::int64_t batch = 1 + draw(3), time = 2 + draw(4);
            tokens_ = graph_.input("ids", DType::i32, {batch, time});
            values_.push_back(graph_.input("x", DType::f32, {batch, time, width}));
        }
        int count = 0;
        const onnx::WriteRow* const rows = onnx::write_rows(&count);
        const std::int64_t wanted = 3 + draw(8);
        for (std::int64_t tried = 0, made = 0; made < wanted && tried < 200; ++tried) {
            const std::size_t nodes = graph_.nodes.size();
            if (!add(rows[draw(count)].op) || graph_.nodes.size() == nodes) continue;
            ++made;
        }
        finish();
        return std::move(graph_);
    }
    // The operators that outputs need.
    const std::set<Op>& taken() const { return taken_; }

  private:
    std::int64_t draw(std::int64_t below) {
        return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(below));
    }
    bool chance() { return draw(2) == 0; }
    const Shape& shape(ValueId id) const { return graph_.shape(id); }
    std::string next_name() { return "w" + std::to_string(parameters_++); }

    ValueId parameter(const Shape& shape, double low = -0.6, double high = 0.6) {
        return graph_.parameter(next_name().c_str(), shape, {VOLTA_INIT_UNIFORM, low, high});
    }
    ValueId constant(double value) { return graph_.scalar(static_cast<float>(value)); }
    ValueId apply(Op op, std::initializer_list<ValueId> inputs,
                  std::initializer_list<Attribute> attributes = {}) {
        const ValueId id = graph_.apply(op, inputs, attributes);
        taken_.insert(op);
        return id;
    }
    // Between 0 and 1; well above 0.
    ValueId small(ValueId x) { return apply(Op::sigmoid, {x}); }
    ValueId positive(ValueId x) { return apply(Op::add, {small(x), constant(0.5)}); }
    // The axis is not one whose extent is open: nothing is taken of those.
    bool is_fixed(ValueId id, int axis) const { return shape(id)[axis] != 1; }

    bool give(ValueId id) {
        if (shape(id).rank > 5 || shape(id).elements() > 4096) return false;
        values_.push_back(id);
        return true;
    }

    // An operator on one of the values; false: it takes none of them.
    bool add(Op op) {
        const ValueId x = values_[static_cast<std::size_t>(draw(static_cast<std::int64_t>(values_.size())))];
        const Shape at = shape(x);
        const int rank = at.rank;
        const OpRow& row = op_row(op);
        const std::int64_t last = at.last();
        const bool rows = rank >= 1 && last > 1;
        switch (op) {
            case Op::exp:
                return give(apply(op, {small(x)}));
            case Op::log:
            case Op::sqrt:
            case Op::rsqrt:
                return give(apply(op, {positive(x)}));
            case Op::pow: {
                constexpr double kExponents[] = {2, 3, 0.5, -1, 1.7};
                return give(apply(op, {positive(x)}, {number(Attr::exponent, kExponents[draw(5)])}));
            }
            case Op::sin:
            case Op::cos:  // of what is small: the last bits of a large sum would be all of its cosine
                return give(apply(op, {apply(Op::tanh, {x})}));
            case Op::floor:
            case Op::ceil:
            case Op::round:  // of what is near no step
                return give(apply(op, {apply(Op::add, {apply(Op::relu, {x}), constant(0.3)})}));
            case Op::clamp:
                return give(apply(op, {x},
                                  {number(Attr::low, -0.5), number(Attr::high, chance() ? 0.75 : INFINITY)}));
            case Op::div:
                return give(apply(op, {x, positive(chance() ? x : parameter({last}))}));
            case Op::add:
            case Op::sub:
            case Op::mul:
            case Op::maximum:
            case Op::minimum:
            case Op::prelu: {
                const std::int64_t which = draw(3);
                const ValueId other = which == 0 || rank == 0 ? parameter({1})
                                      : which == 1            ? parameter({last})
                                                              : apply(Op::tanh, {x});
                return give(apply(op, {x, other}));
            }
            case Op::less:
            case Op::less_equal:
            case Op::equal:
            case Op::where: {
                // By signs alone, so that no rounding decides.
                const Op comparison = op == Op::where ? Op::less : op;
                ValueId mask = apply(comparison, {x, apply(Op::relu, {x})});
                if (rank > 0 && chance()) mask = apply(Op::transpose, {mask}, {identity(rank)});
                return give(apply(Op::where, {mask, apply(Op::tanh, {x}), chance() ? constant(0.25) : x}));
            }
            case Op::softmax:
            case Op::log_softmax:
                return rows && give(apply(op, {x}));
            case Op::layer_norm: {
                if (!rows) return false;
                const ValueId y = apply(op, {x, parameter({last}), parameter({last})});
                for (const int statistic : {1, 2})
                    if (rank > 1 && chance()) values_.push_back(y + statistic);
                return give(y);
            }
            case Op::rms_norm:
                if (!rows) return false;
                if (rank > 1 && chance())
                    return give(apply(op, {x, parameter({last})}, {number(Attr::epsilon, 1e-3)}) + 1);
                return give(apply(op, {x, parameter({last})}, {number(Attr::epsilon, 1e-3)}));
            case Op::cross_entropy: {
                if (!rows) return false;
                const ValueId targets = apply(Op::argmax, {apply(Op::sin, {x})});
                const Attribute smoothing = number(Attr::label_smoothing, chance() ? 0.1 : 0);
                if (chance()) return give(apply(op, {x, targets}, {smoothing}));
                return give(apply(op, {x, targets, parameter({last}, 0.5, 2)}, {smoothing}));
            }
            case Op::mse:
            case Op::l1:
                return rows && give(apply(op, {x, apply(Op::tanh, {x})}));
            case Op::huber:
                return rows && give(apply(op, {x, apply(Op::tanh, {x})}, {number(Attr::delta, 0.2)}));
            case Op::binary_cross_entropy:
                if (!rows) return false;
                if (chance()) return give(apply(op, {x, small(x)}));
                return give(apply(op, {x, small(x), parameter({last}, 0.5, 2)}));
            case Op::batch_norm: {
                if (rank < 2 || !is_fixed(x, 1)) return false;
                const Shape each{at[1]};
                return give(apply(
                    op, {x, parameter(each), parameter(each), parameter(each), parameter(each, 0.5, 2)}));
            }
            case Op::instance_norm:
            case Op::group_norm: {
                if (rank < 3 || !is_fixed(x, 1) || at[1] % 2 != 0 || rank > 4) return false;
                const Shape each{at[1]};
                if (op == Op::instance_norm) return give(apply(op, {x, parameter(each), parameter(each)}));
                return give(apply(op, {x, parameter(each), parameter(each)}, {number(Attr::groups, 2)}));
            }
            case Op::swiglu:
                return rank >= 1 && last % 2 == 0 && give(apply(op, {x}));
            case Op::rotary_table:
            case Op::rotary: {
                if (tokens_ < 0 || rank != 3 || last % 4 != 0 || !has_tokens(x)) return false;
                const std::int64_t stride = last / 2, heads = chance() ? 2 : 1;
                if (stride % 2 != 0) return false;
                const std::int64_t width = stride > 2 && chance() ? stride - 2 : stride;
                const Attribute limit = number(Attr::limit, 32),
                                of_table = number(Attr::width, static_cast<double>(width));
                const std::vector<float> radians(static_cast<std::size_t>(width / 2), 0.3f);
                const ValueId table =
                    chance()
                        ? apply(Op::rotary_table, {}, {limit, number(Attr::base, 100), of_table})
                        : apply(Op::rotary_table, {graph_.constant(DType::f32, {width / 2}, radians.data())},
                                {limit, of_table, number(Attr::scale, 1.25)});
                const ValueId ids = apply(Op::position_ids, {tokens_}, {number(Attr::limit, 32)});
                return give(apply(
                    Op::rotary, {x, ids, table},
                    {number(Attr::heads, static_cast<double>(heads)), number(Attr::interleaved, chance()),
                     number(Attr::inverse, chance()), number(Attr::width, static_cast<double>(stride))}));
            }
            case Op::position_ids: {
                if (tokens_ < 0 || rank != 3 || !has_tokens(x)) return false;
                const ValueId ids = apply(op, {tokens_}, {number(Attr::limit, 32)});
                return give(apply(Op::add, {x, apply(Op::gather, {parameter({32, last}), ids})}));
            }
            case Op::gather: {
                if (rank < 1 || rank > 4 || !rows) return false;
                return give(apply(op, {parameter({last, 6}), apply(Op::argmax, {x})}));
            }
            case Op::argmax: {
                if (!rows) return false;
                const ValueId place = apply(op, {x});
                graph_.output(("places" + std::to_string(outputs_++)).c_str(), place);
                return true;
            }
            case Op::sum:
            case Op::mean:
            case Op::max:
            case Op::min: {
                const Attribute keep = number(Attr::keep_dims, chance());
                if (rank < 2 || draw(4) == 0) return give(apply(op, {x}, {keep}));
                return give(apply(op, {x}, {keep, list(Attr::axes, {chance() ? -1 : draw(rank)})}));
            }
            case Op::square_sum:
                return give(apply(op, {x}));
            case Op::reshape: {
                if (rank == 3) return give(apply(op, {x}, {list(Attr::shape, {-2, -2, 1, -1})}));
                if (rank == 4) return give(apply(op, {x}, {list(Attr::shape, {-2, -2, -1})}));
                return rank == 2 && give(apply(op, {x}, {list(Attr::shape, {-1, 1, last})}));
            }
            case Op::transpose: {
                if (rank < 2) return false;
                Attribute order = identity(rank);
                std::swap(order.integers[draw(rank)], order.integers[draw(rank)]);
                return give(apply(op, {x}, {order}));
            }
            case Op::concat: {
                // Not along an open extent: three times 1 would look like a fixed one.
                const int along = rank > 0 ? static_cast<int>(draw(rank)) : 0;
                if (rank < 1 || !is_fixed(x, along)) return false;
                const Attribute axis = number(Attr::axis, along);
                return give(apply(op, {x, apply(Op::tanh, {x}), x}, {axis}));
            }
            case Op::slice: {
                if (rank < 1) return false;
                const int axis = static_cast<int>(draw(rank));
                if (at[axis] < 3) return false;
                return give(apply(op, {x},
                                  {number(Attr::axis, axis), number(Attr::begin, chance() ? 1 : -2),
                                   number(Attr::end, chance() ? kToTheEnd : -1)}));
            }
            case Op::slice_grad: {
                if (rank < 2 || !is_fixed(x, rank - 1)) return false;
                return give(apply(op, {x},
                                  {number(Attr::axis, -1), number(Attr::begin, 1),
                                   number(Attr::rows, static_cast<double>(last + 3))}));
            }
            case Op::pad: {
                if (rank < 2 || at[rank - 1] < 3) return false;
                const std::int64_t mode = draw(3);
                return give(apply(op, {x},
                                  {list(Attr::pads, {1, 2}), number(Attr::mode, static_cast<double>(mode)),
                                   number(Attr::value, mode == 0 ? 0.5 : 0)}));
            }
            case Op::broadcast_to: {
                if (rank < 1 || rank > 4) return false;
                Attribute to = list(Attr::shape, {2});
                for (int axis = 0; axis < rank; ++axis) to.integers[to.integer_count++] = -1;
                return give(apply(op, {x}, {to}));
            }
            case Op::matmul: {
                if (rank < 2 || last < 2) return false;
                const std::int64_t form = draw(rank == 2 ? 4 : 3);
                if (form == 0) return give(apply(op, {x, parameter({last, 6})}));
                if (form == 1)
                    return give(apply(op, {x, parameter({6, last})}, {number(Attr::transpose_b, 1)}));
                if (form == 2 && rank > 2) return give(apply(op, {x, x}, {number(Attr::transpose_b, 1)}));
                return give(apply(op, {x, apply(Op::tanh, {x})}, {number(Attr::transpose_a, 1)}));
            }
            case Op::attention: {
                if (rank != 3 || last % 4 != 0) return false;
                const bool is_causal = chance();
                const Attribute causal = number(Attr::causal, is_causal),
                                window = number(Attr::window, is_causal && chance() ? 2 : 0),
                                cap = number(Attr::cap, chance() ? 0.5 : 0);
                if (chance())
                    return give(apply(op, {x, x, apply(Op::tanh, {x})},
                                      {number(Attr::heads, 2), causal, window, cap}));
                const ValueId qkv = apply(Op::matmul, {x, parameter({last, 4 * (4 + 2 * 2)})});
                return give(apply(op, {qkv},
                                  {number(Attr::heads, 4), number(Attr::kv_heads, 2), causal,
                                   number(Attr::packed, 1), window, cap}));
            }
            case Op::conv:
            case Op::conv_transpose:
                return add_conv(op, x);
            case Op::max_pool:
            case Op::average_pool:
                return add_pool(op, x);
            case Op::resize: {
                if (rank != 4 || !is_fixed(x, 1) || !is_fixed(x, 2) || !is_fixed(x, 3)) return false;
                return give(apply(op, {x},
                                  {list(Attr::shape, {2 * at[2], at[3] + (chance() ? at[3] : 0)}),
                                   number(Attr::mode, chance())}));
            }
            case Op::dropout:
                return false;    // of models that are trained: the builders have them
            case Op::gelu_tanh:  // ONNX Runtime 1.32 fuses it for tensors with axes, and fails on one number
                return rank > 0 && give(apply(op, {x}));
            default:
                if (row.lowering != Lowering::elementwise || row.max_inputs != 1)
                    throw std::logic_error(std::string("nothing draws the operator ") + row.name);
                return give(apply(op, {x}));
        }
    }

    bool add_conv(Op op, ValueId x) {
        const Shape at = shape(x);
        if (at.rank != 4 || at[1] % 2 != 0 || at[2] < 4 || at[3] < 4) return false;
        const std::int64_t groups = chance() ? 2 : 1, k = chance() ? 3 : 2, stride = 1 + draw(2);
        const bool forth = op == Op::conv;
        const Shape weight = forth ? Shape{4, at[1] / groups, k, k} : Shape{at[1], 4 / groups, k, k};
        const Attribute strides = list(Attr::strides, {stride, stride}),
                        pads = list(Attr::pads, {1, 0, 1, 1}),
                        group = number(Attr::groups, static_cast<double>(groups));
        if (forth && chance())
            return give(apply(op, {x, parameter(weight), parameter({4})}, {strides, pads, group}));
        if (forth)
            return give(apply(op, {x, parameter(weight)}, {pads, group, list(Attr::dilations, {1, 2})}));
        const std::int64_t least[] = {stride * (at[2] - 1) + k - 2, stride * (at[3] - 1) + k - 1};
        if (stride == 2 && chance())
            return give(apply(op, {x, parameter(weight)},
                              {strides, pads, group, list(Attr::shape, {least[0] + 1, least[1]})}));
        return give(apply(op, {x, parameter(weight), parameter({4})}, {strides, pads, group}));
    }

    bool add_pool(Op op, ValueId x) {
        const Shape at = shape(x);
        if (at.rank != 4 || at[2] < 4 || at[3] < 4) return false;
        const Attribute kernel = list(Attr::kernel, {3, 2}), strides = list(Attr::strides, {2, 1}),
                        pads = list(Attr::pads, {1, 0, 1, 1}), ceil = number(Attr::ceil_mode, chance());
        if (op == Op::max_pool) return give(apply(op, {x}, {kernel, strides, pads, ceil}));
        return give(apply(op, {x}, {kernel, strides, pads, ceil, number(Attr::count_include_pad, chance())}));
    }

    Attribute identity(int rank) {
        Attribute order = list(Attr::permutation, {});
        for (int axis = 0; axis < rank; ++axis) order.integers[order.integer_count++] = axis;
        return order;
    }
    // x goes along with the tokens: [batch, time, ...].
    bool has_tokens(ValueId x) const {
        return shape(x).rank == 3 && shape(x)[0] == shape(tokens_)[0] && shape(x)[1] == shape(tokens_)[1] &&
               x == values_.front();
    }

    // What nobody reads is an output.
    void finish() {
        std::vector<bool> read(graph_.values.size(), false);
        for (const Node& node : graph_.nodes)
            for (const ValueId id : node.inputs) read[static_cast<std::size_t>(id)] = true;
        for (const ValueId id : values_)
            if (!read[static_cast<std::size_t>(id)])
                graph_.output(("y" + std::to_string(outputs_++)).c_str(), id);
    }

    Graph graph_;
    std::mt19937_64 engine_;
    std::vector<ValueId> values_;
    ValueId tokens_ = -1;
    int parameters_ = 0, outputs_ = 0;
    std::set<Op> taken_;
};

struct NamedModel {
    std::string name;
    HeapPtr<Model> model;
};

// All builders, in sizes that take no time.
inline std::vector<NamedModel> built_models(std::pmr::memory_resource* structures,
                                            std::pmr::memory_resource* tensors) {
    std::vector<NamedModel> models;
    GptConfig gpt;
    gpt.vocabulary = 31, gpt.layers = 2, gpt.dim = 16, gpt.heads = 4, gpt.context = 12;
    models.push_back({"gpt", create_gpt(gpt, 1, structures, tensors)});
    gpt.dropout = 0.1;
    models.push_back({"gpt_dropout", create_gpt(gpt, 2, structures, tensors)});
    LlamaConfig llama;
    llama.vocabulary = 31, llama.layers = 2, llama.dim = 16, llama.heads = 4, llama.kv_heads = 2,
    llama.context = 12;
    models.push_back({"llama", create_llama(llama, 3, structures, tensors)});
    llama.interleaved = true, llama.tied = false, llama.kv_heads = 1;
    models.push_back({"llama_interleaved", create_llama(llama, 4, structures, tensors)});
    BertConfig bert;
    bert.vocabulary = 31, bert.layers = 2, bert.dim = 16, bert.heads = 4, bert.context = 12;
    models.push_back({"bert", create_bert(bert, 5, structures, tensors)});
    bert.segment_input = bert.mask_input = true;
    bert.head = BertHead::classes, bert.classes = 3, bert.dropout = 0.1;
    models.push_back({"bert_masked", create_bert(bert, 6, structures, tensors)});
    for (const Network& network : all_networks()) {
        NetworkConfig config;
        config.network = &network;
        config.classes = 5;
        config.rows = config.columns = std::max<std::int64_t>(network.least_side, 32);
        if (network.has_width) config.width = 0.25;
        if (network.depth > 20) continue;  // the same blocks, more of them
        models.push_back({network.name, create_network(config, 7, structures, tensors)});
    }
    return models;
}

constexpr int kRandomGraphs = 200;
inline NamedModel random_model(int index, std::pmr::memory_resource* structures,
                               std::pmr::memory_resource* tensors) {
    const Graph graph = RandomGraph(static_cast<std::uint64_t>(index) + 1, structures).make();
    return {"random" + std::to_string(index),
            Model::create(graph, static_cast<std::uint64_t>(index), structures, tensors)};
}

}  // namespace volta::test
