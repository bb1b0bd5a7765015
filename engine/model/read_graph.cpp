// The graph of a file, node by node through Graph's own building calls: every rule of the operator table
// holds.
#include <cstdio>
#include <cstring>
#include <utility>

#include "engine/base/error.h"
#include "engine/graph/step_input.h"
#include "engine/graph/verify.h"
#include "engine/model/decode_model.h"
#include "engine/model/gpt.h"
#include "engine/model/text.h"

namespace volta {
namespace {

// Far above any model. Graph compares a new name with all others, and a new constant with all others: these
// limits bound what a hostile file can make that cost.
constexpr std::size_t kMaxNodes = 65536, kMaxSources = 8192, kMaxConstants = 2048, kMaxOutputs = 1024;

double number_of(std::uint64_t bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// Writing in place would write into the file; the others exist only inside a training step or a fused plan.
bool is_stored(const OpRow& row) { return !row.internal && row.op != Op::state; }

class GraphDecoder {
  public:
    GraphDecoder(const fb::Model& file, const std::pmr::vector<StoredConstant>& constants,
                 std::pmr::memory_resource* heap)
        : file_(file), constants_(constants), graph_(heap) {}

    Graph decode() {
        const auto& nodes = *file_.graph()->nodes();
        check_count("nodes", nodes.size(), kMaxNodes);
        check_count("constants", constants_.size(), kMaxConstants);
        check_count("outputs", file_.graph()->outputs()->size(), kMaxOutputs);
        graph_.nodes.reserve(nodes.size());
        for (index_ = 0; index_ < nodes.size(); ++index_) guarded_node(*nodes.Get(index_));
        if (next_constant_ != constants_.size())
            fail(VOLTA_CORRUPT_MODEL, "it has %zu constant tensors, its graph has %zu", constants_.size(),
                 next_constant_);
        decode_outputs();
        guarded("its graph", [&] { verify(graph_); });
        return std::move(graph_);
    }

  private:
    static void check_count(const char* what, std::size_t count, std::size_t most) {
        if (count > most)
            fail(VOLTA_CORRUPT_MODEL, "its graph has %zu %s, the most are %zu", count, what, most);
    }

    // Says where. What the graph itself objects to is a fault of the file.
    template <class Body>
    void guarded(const char* where, Body body) {
        try {
            body();
        } catch (const Error& error) {
            const bool later = error.status() == VOLTA_UNSUPPORTED;
            fail(later ? VOLTA_UNSUPPORTED : VOLTA_CORRUPT_MODEL, "%s: %s", where, error.what());
        }
    }

    void guarded_node(const fb::Node& node) {
        char where[32];
        std::snprintf(where, sizeof where, "node %u of its graph", index_);
        guarded(where, [&] {
            const OpRow* row = find_op(node.op()->c_str());
            if (row == nullptr || view(node.op()) != row->name)
                fail_unknown(file_, "operator", view(node.op()));
            if (!is_stored(*row))
                fail(VOLTA_CORRUPT_MODEL, "'%s' is an operator that no stored graph has", row->name);
            decode_node(node, *row);
        });
    }

    void decode_node(const fb::Node& node, const OpRow& row) {
        if (node.name() != nullptr) check_name("node", index_, view(node.name()));
        if (row.lowering == Lowering::source &&
            (count_of(node.inputs()) != 0 || count_of(node.attributes()) != 0))
            fail(VOLTA_CORRUPT_MODEL, "'%s' takes neither inputs nor attributes", row.name);
        switch (row.op) {
            case Op::input:
                return decode_input(node);
            case Op::parameter:
                return decode_parameter(node);
            case Op::constant:
                return decode_constant(node);
            default:
                return decode_operator(node, row);
        }
    }

    const char* source_name(const fb::Node& node) const {
        if (node.name() == nullptr) fail(VOLTA_CORRUPT_MODEL, "the source has no name");
        return node.name()->c_str();
    }

    void decode_input(const fb::Node& node) {
        check_count("inputs and parameters", graph_.sources.size() + 1, kMaxSources);
        const char* name = source_name(node);
        const DType dtype = decode_dtype(file_, node.dtype(), "element type of input", name);
        const Shape declared = decode_shape(node.shape(), true, "input", name);
        if (is_step_input(name) && (std::strcmp(name, name_of(StepInput::random)) != 0 ||
                                    dtype != DType::i32 || declared != Shape{3}))
            fail(VOLTA_CORRUPT_MODEL, "the input '%s' %s%s takes a name that is kept for training", name,
                 dtype_name(dtype), to_text(declared).text);
        graph_.input(name, dtype, declared);
    }

    void decode_parameter(const fb::Node& node) {
        check_count("inputs and parameters", graph_.sources.size() + 1, kMaxSources);
        const char* name = source_name(node);
        const Shape shape = decode_shape(node.shape(), false, "parameter", name);
        Init init;
        if (node.init() != nullptr) {
            if (node.init()->kind() > fb::InitKind::uniform)
                fail_unknown(file_, "initialisation of parameter", name);
            init = {static_cast<std::int32_t>(node.init()->kind()), number_of(node.init()->a_bits()),
                    number_of(node.init()->b_bits())};
        }
        const DType dtype = node.dtype() == fb::DType::none
                                ? DType::f32
                                : decode_weight_dtype(file_, node.dtype(), "element type of parameter", name);
        graph_.parameter(name, shape, init, dtype);
    }

    // The k-th constant of the graph has the k-th tensor of role constant.
    void decode_constant(const fb::Node& node) {
        if (next_constant_ == constants_.size())
            fail(VOLTA_CORRUPT_MODEL, "there is no tensor for this constant");
        const StoredConstant& stored = constants_[next_constant_++];
        const std::string_view name = view(stored.tensor->name());
        const DType dtype = decode_dtype(file_, node.dtype(), "element type of constant", name);
        const Shape shape = decode_shape(node.shape(), false, "constant", name);
        if (dtype != decode_dtype(file_, stored.tensor->dtype(), "element type of tensor", name) ||
            shape != decode_shape(stored.tensor->shape(), false, "tensor", name))
            fail(VOLTA_CORRUPT_MODEL, "the constant is %s%s, its tensor '%s' is not", dtype_name(dtype),
                 to_text(shape).text, stored.tensor->name()->c_str());
        graph_.constant(dtype, shape, stored.data);
        if (node.name() != nullptr) graph_.nodes.back().name = view(node.name());
    }

    Attribute decode_attribute(const fb::Attribute& stored, const OpRow& row) const {
        const AttrRow* known = nullptr;
        for (int i = 0; i < row.attribute_count; ++i)
            if (view(stored.name()) == attr_name(row.attributes[i].key)) known = &row.attributes[i];
        if (known == nullptr) fail_unknown(file_, "attribute", view(stored.name()));
        const bool is_number = stored.number_bits() != 0, is_list = stored.integers() != nullptr;
        if (known->is_list ? is_number : is_list)
            fail(VOLTA_CORRUPT_MODEL, "the attribute '%s' is %s", attr_name(known->key),
                 known->is_list ? "a number, not a list" : "a list, not a number");
        if (known->key == Attr::accumulate && is_number)
            fail(VOLTA_CORRUPT_MODEL, "the attribute 'accumulate' is set, as in no stored graph");
        if (!known->is_list) return number(known->key, number_of(stored.number_bits()));
        if (count_of(stored.integers()) > kMaxRank)
            fail(VOLTA_CORRUPT_MODEL, "the list '%s' has %zu entries, the most are %d", attr_name(known->key),
                 count_of(stored.integers()), kMaxRank);
        Attribute attribute = list(known->key, {});
        for (std::size_t i = 0; i < count_of(stored.integers()); ++i)
            attribute.integers[attribute.integer_count++] =
                stored.integers()->Get(static_cast<flatbuffers::uoffset_t>(i));
        return attribute;
    }

    void decode_operator(const fb::Node& stored, const OpRow& row) {
        Node node(graph_.heap());
        node.op = row.op;
        for (std::size_t i = 0; i < count_of(stored.inputs()); ++i) {
            const std::int32_t input = stored.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
            if (input < 0 || static_cast<std::size_t>(input) >= graph_.values.size())
                fail(VOLTA_CORRUPT_MODEL, "input %zu is value %d, but %zu values stand before it", i,
                     static_cast<int>(input), graph_.values.size());
            node.inputs.push_back(input);
        }
        if (count_of(stored.attributes()) > static_cast<std::size_t>(row.attribute_count))
            fail(VOLTA_CORRUPT_MODEL, "it has %zu attributes, '%s' has %d", count_of(stored.attributes()),
                 row.name, row.attribute_count);
        for (std::size_t i = 0; i < count_of(stored.attributes()); ++i)
            node.attributes.push_back(
                decode_attribute(*stored.attributes()->Get(static_cast<flatbuffers::uoffset_t>(i)), row));
        if (stored.name() != nullptr) node.name = view(stored.name());
        graph_.apply(std::move(node));
    }

    void decode_outputs() {
        const auto& outputs = *file_.graph()->outputs();
        for (flatbuffers::uoffset_t i = 0; i < outputs.size(); ++i) {
            const fb::Output& output = *outputs.Get(i);
            check_name("output", i, view(output.name()));
            if (output.value() < 0 || static_cast<std::size_t>(output.value()) >= graph_.values.size())
                fail(VOLTA_CORRUPT_MODEL, "output '%s' is value %d of %zu", output.name()->c_str(),
                     static_cast<int>(output.value()), graph_.values.size());
            guarded("its graph", [&] { graph_.output(output.name()->c_str(), output.value()); });
        }
    }

    const fb::Model& file_;
    const std::pmr::vector<StoredConstant>& constants_;
    Graph graph_;
    flatbuffers::uoffset_t index_ = 0;
    std::size_t next_constant_ = 0;
};

}  // namespace

Graph read_graph(const fb::Model& file, const std::pmr::vector<StoredConstant>& constants,
                 std::pmr::memory_resource* heap) {
    return GraphDecoder(file, constants, heap).decode();
}

}  // namespace volta
