// Local rewrites with the same bits: the table of docs/numerics.md, 9, and nothing beside it. A node's inputs
// are simplified before the node, so one walk over the graph is enough.
#include "engine/passes/passes.h"
#include "engine/passes/rewrite.h"

namespace volta {
namespace {

constexpr std::uint32_t kOne = 0x3f800000u, kPlusZero = 0u, kMinusZero = 0x80000000u;

class Simplifier {
  public:
    Simplifier(const Graph& graph, std::pmr::memory_resource* heap)
        : rewrite_(graph, heap), to_(rewrite_.to), overwritten_(overwritten_sources(graph)) {}

    Graph run() {
        for (NodeId id = 0; id < node_count(rewrite_.from); ++id) {
            const Node& node = rewrite_.from.node(id);
            // Phase update is left alone: there it matters whether a value is read before or after it is
            // overwritten.
            if (is_source(node) || node.output_count != 1 || node.phase == Phase::update)
                rewrite_.copy(id);
            else
                rewrite_.replace(id, simplified(id));
        }
        return rewrite_.finish();
    }

  private:
    // Nodes of parameters and states that an update overwrites.
    static std::pmr::vector<bool> overwritten_sources(const Graph& graph) {
        std::pmr::vector<bool> overwritten(graph.nodes.size(), false, graph.heap());
        for (const Node& node : graph.nodes)
            for (const std::int8_t slot : op_row(node.op).in_place)
                if (slot >= 0)
                    overwritten[index_of(graph.value(node.inputs[index_of(slot)]).producer)] = true;
        return overwritten;
    }

    // A copy of a parameter from before the update must stay a copy: its readers may come after the update.
    bool may_stand_for_a_copy(ValueId value) const {
        const Node* node = &to_.producer(value);
        while (op_row(node->op).lowering == Lowering::alias) node = &to_.producer(node->inputs[0]);
        if (node->op != Op::parameter && node->op != Op::state) return true;
        const ValueId source = rewrite_.from.find_source(node->name.c_str());
        return !overwritten_[index_of(rewrite_.from.value(source).producer)];
    }

    // Rewrites until nothing applies; ends because each rewrite takes a node away or replaces a division.
    ValueId simplified(NodeId id) {
        Node node = rewrite_.renamed_copy(id);
        const Shape shape = rewrite_.from.shape(node.first_output);
        while (rewrite_arithmetic(node) || rewrite_movement(node, shape) || absorb_transpose(node)) {
        }
        const ValueId same = identical_input(node, shape);
        return same >= 0 && may_stand_for_a_copy(same) ? same : to_.apply(std::move(node));
    }

    // ---- Arithmetic
    // ----------------------------------------------------------------------------------------

    // The input that the node's result equals bit for bit, or -1.
    ValueId identical_input(const Node& node, const Shape& shape) const {
        const auto input = [&](std::size_t i) { return node.inputs[i]; };
        const auto keeps = [&](std::size_t i) { return to_.shape(input(i)) == shape; };
        switch (node.op) {
            case Op::mul:
                if (is_all(input(1), kOne) && keeps(0)) return input(0);
                if (is_all(input(0), kOne) && keeps(1)) return input(1);
                return -1;
            case Op::div:
                return is_all(input(1), kOne) && keeps(0) ? input(0) : -1;
            case Op::sub:
                return is_all(input(1), kPlusZero) && keeps(0) ? input(0) : -1;
            case Op::add:
                if (is_all(input(1), kMinusZero) && keeps(0)) return input(0);
                if (is_all(input(0), kMinusZero) && keeps(1)) return input(1);
                return -1;
            case Op::neg: {
                const Node& inner = to_.producer(input(0));
                return inner.op == Op::neg ? inner.inputs[0] : -1;
            }
            case Op::reshape:
            case Op::broadcast_to:
            case Op::slice:
                return keeps(0) ? input(0) : -1;
            case Op::concat:
                return node.inputs.size() == 1 ? input(0) : -1;
            default:
                return -1;
        }
    }

    // a - (-b) and a + (-b), and division by a power of two.
    bool rewrite_arithmetic(Node& node) {
        if (node.op == Op::sub && to_.producer(node.inputs[1]).op == Op::neg) {
            node.op = Op::add;
            node.inputs[1] = to_.producer(node.inputs[1]).inputs[0];
            return true;
        }
        if (node.op == Op::add) {
            for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
                const Node& negated = to_.producer(node.inputs[i]);
                if (negated.op != Op::neg) continue;
                const ValueId b = negated.inputs[0], a = node.inputs[1 - i];
                node.op = Op::sub;
                node.inputs[0] = a;
                node.inputs[1] = b;
                return true;
            }
        }
        return node.op == Op::div && multiply_by_inverse(node);
    }

    // x / c is x * (1/c) when every c is a power of two with a normal inverse, and not 1.
    bool multiply_by_inverse(Node& node) {
        const Node& divisor = to_.producer(node.inputs[1]);
        if (divisor.op != Op::constant || is_all(node.inputs[1], kOne)) return false;
        std::pmr::vector<std::uint32_t> inverse(to_.constants[index_of(divisor.data)], to_.heap());
        if (inverse.empty()) return false;
        for (std::uint32_t& bits : inverse) {
            const std::uint32_t sign = bits & 0x80000000u, exponent = (bits >> 23) & 0xff;
            if ((bits & 0x7fffffu) != 0 || exponent < 1 || exponent > 253) return false;
            bits = sign | (254 - exponent) << 23;  // 2^-(e-127)
        }
        const Shape shape = to_.shape(node.inputs[1]);
        node.op = Op::mul;
        node.inputs[1] = to_.constant(DType::f32, shape, inverse.data());
        return true;
    }

    bool is_all(ValueId value, std::uint32_t bits) const {
        const Node& node = to_.producer(value);
        if (node.op != Op::constant || to_.value(value).dtype != DType::f32) return false;
        const auto& content = to_.constants[index_of(node.data)];
        for (const std::uint32_t element : content)
            if (element != bits) return false;
        return !content.empty();
    }

    // ---- Movement
    // ------------------------------------------------------------------------------------------

    // Two movements become one; one that leaves the elements in their order becomes a reshape, which moves
    // nothing.
    bool rewrite_movement(Node& node, const Shape& shape) {
        if (node.op == Op::transpose && is_order_kept(node)) return become_reshape(node, shape);
        if (node.op == Op::broadcast_to && to_.shape(node.inputs[0]) != shape && shape.elements() > 0 &&
            to_.shape(node.inputs[0]).elements() == shape.elements())
            return become_reshape(node, shape);
        if (node.op != Op::reshape && node.op != Op::transpose && node.op != Op::broadcast_to) return false;
        const Node& inner = to_.producer(node.inputs[0]);
        if (inner.op != node.op) return false;
        if (node.op == Op::transpose)
            compose(node, inner);
        else
            set_list(node, list(Attr::shape, shape));
        node.inputs[0] = inner.inputs[0];
        return true;
    }

    bool become_reshape(Node& node, const Shape& shape) {
        node.op = Op::reshape;
        set_list(node, list(Attr::shape, shape));
        return true;
    }

    static void set_list(Node& node, const Attribute& attribute) { node.attributes.assign(1, attribute); }

    // The axes of extent above 1 stand in their old order.
    bool is_order_kept(const Node& node) const {
        const Shape& x = to_.shape(node.inputs[0]);
        const Attribute& permutation = *node.find(Attr::permutation);
        std::int64_t last = -1;
        for (int axis = 0; axis < permutation.integer_count; ++axis) {
            const std::int64_t from = permutation.integers[axis];
            if (x[static_cast<int>(from)] == 1) continue;
            if (from < last) return false;
            last = from;
        }
        return true;
    }

    // Axis i of the result is axis outer[i] of the middle, which is axis inner[outer[i]] of x.
    static void compose(Node& outer, const Node& inner) {
        Attribute composed = *outer.find(Attr::permutation);
        const Attribute& first = *inner.find(Attr::permutation);
        for (int axis = 0; axis < composed.integer_count; ++axis)
            composed.integers[axis] = first.integers[composed.integers[axis]];
        set_list(outer, composed);
    }

    // A product reads a transposed matrix in place: the same chains over the same k.
    bool absorb_transpose(Node& node) {
        if (node.op != Op::matmul) return false;
        const bool plain = to_.shape(node.inputs[0]).rank == 2 && to_.shape(node.inputs[1]).rank == 2;
        if ((plain || !node.flag(Attr::transpose_a)) && absorb(node, 1, Attr::transpose_b)) return true;
        return plain && absorb(node, 0, Attr::transpose_a);
    }

    bool absorb(Node& node, std::size_t slot, Attr flag) {
        const Node& transpose = to_.producer(node.inputs[slot]);
        if (transpose.op != Op::transpose) return false;
        const Attribute& permutation = *transpose.find(Attr::permutation);
        const int rank = permutation.integer_count;
        for (int axis = 0; axis < rank; ++axis) {
            const int wanted = axis < rank - 2 ? axis : 2 * rank - 3 - axis;  // the last two change places
            if (permutation.integers[axis] != wanted) return false;
        }
        for (Attribute& attribute : node.attributes)
            if (attribute.key == flag) attribute.number = 1 - attribute.number;
        node.inputs[slot] = transpose.inputs[0];
        return true;
    }

    Rewrite rewrite_;
    Graph& to_;
    const std::pmr::vector<bool> overwritten_;
};

}  // namespace

Graph simplify(const Graph& graph, std::pmr::memory_resource* heap) { return Simplifier(graph, heap).run(); }

}  // namespace volta
