// Output shapes of products and attention, of reductions over axes, and of fused bodies.
#include <cmath>

#include "engine/base/multiples.h"
#include "engine/graph/forms.h"
#include "engine/graph/rules.h"
#include "engine/graph/shape_checks.h"

namespace volta {

bool broadcast(const Shape& a, const Shape& b, Shape* result) {
    const Shape& longer = a.rank >= b.rank ? a : b;
    const Shape& shorter = a.rank >= b.rank ? b : a;
    Shape joined = longer;
    for (int i = 1; i <= shorter.rank; ++i) {
        const std::int64_t x = longer[longer.rank - i], y = shorter[shorter.rank - i];
        if (x != y && x != 1 && y != 1) return false;
        joined[longer.rank - i] = x == 1 ? y : x;
    }
    *result = joined;
    return true;
}

// ---- Reductions --------------------------------------------------------------------------------

namespace {

void mark_reduced(const Node& node, const Shape& x, ReductionForm& form) {
    const Attribute* axes = node.find(Attr::axes);
    const bool all = axes == nullptr || axes->integer_count == 0;
    for (int axis = 0; axis < x.rank; ++axis) form.is_reduced[axis] = all;
    for (int i = 0; !all && i < axes->integer_count; ++i) {
        const std::int64_t given = axes->integers[i], axis = given < 0 ? given + x.rank : given;
        if (axis < 0 || axis >= x.rank)
            fail(VOLTA_SHAPE_MISMATCH, "%s: there is no axis %lld in %s", name_of(node),
                 static_cast<long long>(given), to_text(x).text);
        if (form.is_reduced[axis])
            fail(VOLTA_SHAPE_MISMATCH, "%s: axis %lld is named twice", name_of(node),
                 static_cast<long long>(given));
        form.is_reduced[axis] = true;
    }
}

}  // namespace

ReductionForm reduction_form(const Node& node, const Shape& x) {
    ReductionForm form;
    mark_reduced(node, x, form);
    form.is_row = true;  // when every extent is 1
    const bool keep = node.flag(Attr::keep_dims);
    for (int axis = 0; axis < x.rank; ++axis) {
        if (form.is_reduced[axis]) form.reduced *= x[axis];
        if (x[axis] != 1) form.is_row = form.is_reduced[axis];
        if (!form.is_reduced[axis])
            form.result[form.result.rank++] = x[axis];
        else if (keep)
            form.result[form.result.rank++] = 1;
    }
    return form;
}

// ---- Products ----------------------------------------------------------------------------------

namespace {

bool equal_leading(const Shape& a, const Shape& b, int axes) {
    for (int axis = 0; axis < axes; ++axis)
        if (a[axis] != b[axis]) return false;
    return true;
}

// "matmul: inner extents differ: [64, 384] x [256, 384]"
[[noreturn]] void refuse_matmul(const Node& node, const MatmulForm& form, const char* why, const Shape& a,
                                const Shape& b) {
    fail(VOLTA_SHAPE_MISMATCH, "%s: %s: %s%s x %s%s", name_of(node), why, to_text(a).text,
         form.a_transposed ? " transposed" : "", to_text(b).text, form.b_transposed ? " transposed" : "");
}

// a [..., m], b [..., n], k linear over the leading axes. With both transposed: a [k, m], b [n, k].
MatmulForm transposed_form(const Node& node, const Shape& a, const Shape& b, MatmulForm form) {
    if (form.b_transposed && (a.rank != 2 || b.rank != 2))
        refuse_matmul(node, form, "two transposed operands have rank 2 each", a, b);
    if (a.rank != b.rank || (a.rank > 2 && !equal_leading(a, b, a.rank - 1)))
        refuse_matmul(node, form, "leading axes differ", a, b);
    form.m = a.last();
    form.n = form.b_transposed ? b[0] : b.last();
    form.k = a.rows();
    if (form.k != (form.b_transposed ? b[1] : b.rows()))
        refuse_matmul(node, form, "inner extents differ", a, b);
    form.result = {form.m, form.n};
    return form;
}

}  // namespace

bool carries_product(Op op) { return op_row(op).has_body && op != Op::fused && op != Op::fused_rows; }

int product_output(const Node& node) {
    for (std::size_t k = 0; k < node.body.results.size(); ++k)
        if (node.body.results[k] == ~0) return static_cast<int>(k);
    return 0;
}

MatmulForm matmul_form(const Node& node, const Shape& a, const Shape& b) {
    MatmulForm form;
    const bool is_matmul = node.op == Op::matmul;
    form.a_transposed = !is_matmul || node.flag(Attr::transpose_a);
    form.b_transposed = is_matmul && node.flag(Attr::transpose_b);
    expect_least_rank(node, "a", a, 2);
    expect_least_rank(node, "b", b, 2);
    if (form.a_transposed) return transposed_form(node, a, b, form);
    const int matrix = b.rank - 2;  // b's first matrix axis
    const bool batched = b.rank > 2;
    if (batched && (a.rank != b.rank || !equal_leading(a, b, matrix)))
        refuse_matmul(node, form, "leading axes differ", a, b);
    form.k = a.last();
    form.n = b[form.b_transposed ? matrix : matrix + 1];
    if (form.k != b[form.b_transposed ? matrix + 1 : matrix])
        refuse_matmul(node, form, "inner extents differ", a, b);
    form.batch = batched ? a.leading(matrix) : 1;
    form.m = batched ? a[matrix] : a.rows();
    form.result = a;
    form.result[a.rank - 1] = form.n;
    return form;
}

namespace {

// What attention and cached_attention have in common: heads, their width, what happens to scores. `width` is
// that of q, or of the packed qkv.
template <class Form>
void read_heads(const Node& node, std::int64_t width, Form& form) {
    form.packed = node.flag(Attr::packed);
    form.heads = static_cast<std::int64_t>(node.number(Attr::heads));
    form.kv_heads = static_cast<std::int64_t>(node.number(Attr::kv_heads));
    if (form.kv_heads == 0) form.kv_heads = form.heads;
    if (form.heads % form.kv_heads != 0)
        fail(VOLTA_SHAPE_MISMATCH, "%s: %lld heads are no multiple of %lld key and value heads",
             name_of(node), static_cast<long long>(form.heads), static_cast<long long>(form.kv_heads));
    const std::int64_t parts = form.packed ? form.heads + 2 * form.kv_heads : form.heads;
    if (width == 0 || width % parts != 0)
        fail(VOLTA_SHAPE_MISMATCH, "%s: a width of %lld is not divided by %lld heads", name_of(node),
             static_cast<long long>(width), static_cast<long long>(parts));
    form.head_dim = width / parts;
    const double scale = node.number(Attr::scale);
    form.scale = static_cast<float>(scale != 0 ? scale : 1.0 / std::sqrt(static_cast<double>(form.head_dim)));
    require(form.scale != 0, "%s: a scale of %g is 0 as f32", name_of(node), scale);
    form.window = static_cast<std::int64_t>(node.number(Attr::window));
    const double cap = node.number(Attr::cap);
    form.cap = static_cast<float>(cap);
    require(cap == 0 || form.cap != 0, "%s: a cap of %g is 0 as f32", name_of(node), cap);
}

}  // namespace

AttentionForm attention_form(const Node& node, const Shape& first, const Shape& second) {
    AttentionForm form;
    expect_rank(node, node.flag(Attr::packed) ? "qkv" : "q", first, 3);
    read_heads(node, first.last(), form);
    form.operands = form.packed ? 1 : 3;
    form.causal = node.flag(Attr::causal);
    require(form.causal || form.window == 0, "%s: a window of %lld keys needs causal", name_of(node),
            static_cast<long long>(form.window));
    form.documents = node.flag(Attr::documents);
    require(form.causal || !form.documents, "%s: documents need causal", name_of(node));
    form.probability = node.number(Attr::probability);
    form.stream = static_cast<std::uint32_t>(node.number(Attr::stream));
    form.batch = first[0];
    form.time = first[1];
    if (!form.packed) expect_shape(node, "k", second, {first[0], first[1], form.kv_heads * form.head_dim});
    return form;
}

CachedAttentionForm cached_attention_form(const Node& node, const Shape& keys, const Shape& first) {
    CachedAttentionForm form;
    expect_least_rank(node, node.flag(Attr::packed) ? "qkv" : "q", first, 1);
    read_heads(node, first.last(), form);
    expect_rank(node, "keys", keys, 5);
    form.rows = first.rows();
    form.slots = keys[0];
    form.capacity = product_of(node, keys[2], kCachePanelExtent);
    return form;
}

Shape cache_keys_shape(std::int64_t slots, std::int64_t kv_heads, std::int64_t capacity,
                       std::int64_t head_dim) {
    return {slots, kv_heads, capacity / kCachePanelExtent, head_dim, kCachePanelExtent};
}

Shape cache_values_shape(std::int64_t slots, std::int64_t kv_heads, std::int64_t capacity,
                         std::int64_t head_dim) {
    return {slots, kv_heads, ceil_div(head_dim, kCachePanelExtent), capacity, kCachePanelExtent};
}

namespace {

// The form, after a check of the inputs: q, k, v or qkv, then `extra` more, then starts with documents and
// random with dropout.
AttentionForm checked_attention(const Node& node, const TypedShape* inputs, int input_count, int extra) {
    const bool packed = node.flag(Attr::packed), documents = node.flag(Attr::documents),
               random = node.number(Attr::probability) > 0;
    const int expected = (packed ? 1 : 3) + extra + (documents ? 1 : 0) + (random ? 1 : 0);
    require(input_count == expected, "%s: takes %d inputs %s%s%s, not %d", name_of(node), expected,
            packed ? "when packed" : "when not packed", documents ? " and of documents" : "",
            random ? " and with dropout" : "", input_count);
    const Shape& first = real_shape(node, inputs[0], packed ? "qkv" : "q");
    const Shape& second = packed ? first : real_shape(node, inputs[1], "k");
    const AttentionForm form = attention_form(node, first, second);
    if (!packed) expect_shape(node, "v", real_shape(node, inputs[2], "v"), second);
    if (documents) {
        const TypedShape& starts = inputs[expected - (random ? 2 : 1)];
        expect_shape(node, "starts", integer_shape(node, starts, "starts"), {form.batch, form.time});
        expect_below(node, "the number of tokens of a sequence", form.time, kIdLimit);
    }
    if (random) {
        expect_shape(node, "random", integer_shape(node, inputs[expected - 1], "random"), {3});
        const std::int64_t sequences = product_of(node, form.batch, form.heads);
        expect_below(node, "the number of probability rows", product_of(node, sequences, form.time),
                     kRandomRowLimit);
    }
    return form;
}

Shape attention_result(const AttentionForm& form) {
    return {form.batch, form.time, form.heads * form.head_dim};
}
Shape attention_rows(const AttentionForm& form) { return {form.batch, form.heads, form.time}; }

}  // namespace

namespace shape_rules {

void attention(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    const AttentionForm form = checked_attention(node, inputs, input_count, 0);
    add_output(outputs, DType::f32, attention_result(form));
    add_output(outputs, DType::f32, attention_rows(form));
    add_output(outputs, DType::f32, attention_rows(form));
}

void attention_grad(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    const AttentionForm form = checked_attention(node, inputs, input_count, 4);
    const TypedShape* const saved = inputs + form.operands;
    expect_shape(node, "o", real_shape(node, saved[0], "o"), attention_result(form));
    expect_shape(node, "m", real_shape(node, saved[1], "m"), attention_rows(form));
    expect_shape(node, "l", real_shape(node, saved[2], "l"), attention_rows(form));
    expect_shape(node, "do", real_shape(node, saved[3], "do"), attention_result(form));
    for (int i = 0; i < form.operands; ++i) add_output(outputs, DType::f32, inputs[i].shape);
}

void cached_attention(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    const bool packed = node.flag(Attr::packed);
    const int expected = kCacheOperands + (packed ? 1 : 3);
    require(input_count == expected, "%s: takes %d inputs %s, not %d", name_of(node), expected,
            packed ? "when packed" : "when not packed", input_count);
    const TypedShape* const operands = inputs + kCacheOperands;
    const Shape& first = real_shape(node, operands[0], packed ? "qkv" : "q");
    const Shape& keys = real_shape(node, inputs[0], "keys");
    const CachedAttentionForm form = cached_attention_form(node, keys, first);
    expect_shape(node, "keys", keys,
                 cache_keys_shape(form.slots, form.kv_heads, form.capacity, form.head_dim));
    expect_shape(node, "values", real_shape(node, inputs[1], "values"),
                 cache_values_shape(form.slots, form.kv_heads, form.capacity, form.head_dim));
    expect_below(node, "the number of slots", form.slots, kIdLimit);
    expect_below(node, "the capacity of a slot", form.capacity, kIdLimit);
    const Shape rows = without_last(first);
    expect_shape(node, "slots", integer_shape(node, inputs[2], "slots"), rows);
    expect_shape(node, "positions", integer_shape(node, inputs[3], "positions"), rows);
    for (int i = 1; !packed && i < 3; ++i)
        expect_shape(node, i == 1 ? "k" : "v", real_shape(node, operands[i], i == 1 ? "k" : "v"),
                     with_last(node, rows, form.kv_heads * form.head_dim));
    add_output(outputs, DType::f32, with_last(node, rows, form.heads * form.head_dim));
    add_output(outputs, DType::f32, keys);
    add_output(outputs, DType::f32, inputs[1].shape);
}

}  // namespace shape_rules

// ---- Bodies ------------------------------------------------------------------------------------

bool is_row_operand(const Shape& operand, const Shape& whole) {
    if (operand == whole || operand.elements() == 1) return true;
    if (operand.rank > whole.rank || whole.rank == 0) return false;
    const int missing = whole.rank - operand.rank;
    const auto extent = [&](int axis) { return axis < missing ? 1 : operand[axis - missing]; };
    bool leading_all = true, leading_none = true;
    for (int axis = 0; axis < whole.rank - 1; ++axis) {
        leading_all = leading_all && extent(axis) == whole[axis];
        leading_none = leading_none && extent(axis) == 1;
    }
    const std::int64_t last = extent(whole.rank - 1);
    return (leading_all && (last == 1 || last == whole.last())) || (leading_none && last == whole.last());
}

namespace {

bool may_be_part(const Node& node, const OpRow& row) {
    if (node.op == Op::fused_rows && row.fuses_rows) return true;
    return row.lowering == Lowering::elementwise && row.micro_batches == MicroBatches::last &&
           row.op != Op::fused;
}

// The types of all values of the body, by the rules of its operations' rows. `operands[i]` is what ~i names.
void infer_ops(const Node& node, const TypedShape* operands, int operand_count,
               std::pmr::vector<TypedShape>& types) {
    std::pmr::memory_resource* const heap = types.get_allocator().resource();
    std::pmr::vector<TypedShape> inputs(heap);
    Node step(heap);
    for (const BodyOp& op : node.body.ops) {
        const OpRow& row = op_row(op.op);
        const int count = static_cast<int>(op.inputs.size());
        require(may_be_part(node, row), "%s: %s %s", name_of(node), row.name,
                node.op == Op::fused_rows ? "cannot be part of it" : "is not elementwise");
        require(count >= row.min_inputs && count <= row.max_inputs, "%s: %s in the body has %d inputs",
                name_of(node), row.name, count);
        require(!row.random || op.inputs.back() < 0, "%s: the state of a dropout is no operand",
                name_of(node));
        inputs.clear();
        for (const std::int32_t input : op.inputs) {
            const bool exists =
                input >= 0 ? input < static_cast<std::int32_t>(types.size()) : ~input < operand_count;
            require(exists, "%s: %s in the body has an input %d that does not exist", name_of(node), row.name,
                    input);
            inputs.push_back(input >= 0 ? types[static_cast<std::size_t>(input)] : operands[~input]);
        }
        step.op = op.op;
        step.attributes.assign(op.attributes.begin(), op.attributes.end());
        row.shape(step, inputs.data(), count, types);
    }
}

// One shape for all results, and no body operation that is wider. Random bits are drawn by row and column of
// the whole, so a dropout must see all of it.
void expect_one_shape(const Node& node, const std::pmr::vector<TypedShape>& types, const Shape& whole) {
    for (std::size_t i = 0; i < types.size(); ++i) {
        Shape joined;
        const bool fits = broadcast(types[i].shape, whole, &joined) && joined == whole;
        const bool must_equal = op_row(node.body.ops[i].op).random;
        if (!fits || (must_equal && types[i].shape != whole))
            fail(VOLTA_SHAPE_MISMATCH, "%s: %s in the body has shape %s in a node of shape %s", name_of(node),
                 op_row(node.body.ops[i].op).name, to_text(types[i].shape).text, to_text(whole).text);
    }
}

// `product`: what ~0 names and what a result of ~0 stands for; NULL for fused nodes.
void infer_body(const Node& node, const TypedShape* operands, int operand_count, const TypedShape* product,
                TypedShapes& outputs) {
    std::pmr::vector<TypedShape> types(outputs.get_allocator().resource());
    types.reserve(node.body.ops.size());
    infer_ops(node, operands, operand_count, types);
    require(!node.body.results.empty(), "%s: the body has no result", name_of(node));
    const std::size_t first = outputs.size();
    for (const std::int32_t result : node.body.results) {
        const bool exists =
            result >= 0 ? result < static_cast<std::int32_t>(types.size()) : product && result == ~0;
        require(exists, "%s: the body has no result %d", name_of(node), result);
        outputs.push_back(result >= 0 ? types[static_cast<std::size_t>(result)] : *product);
        expect_shape(node, "a result", outputs.back().shape, product ? product->shape : outputs[first].shape);
    }
    expect_one_shape(node, types, outputs[first].shape);
}

// What a body of rows may hold: the first result is the whole, every operation along the last axis works on
// all of it, and what lies otherwise goes no further inside: a number per row is a result, or read where one
// is expected; one per column is for elementwise operations.
class RowBody {
  public:
    RowBody(const Node& node, const TypedShape* operands, const std::pmr::vector<TypedShape>& types)
        : node_(node),
          operands_(operands),
          types_(types),
          whole_(types[static_cast<std::size_t>(node.body.results[0])].shape),
          of_rows_(types.get_allocator()) {}

    void check() {
        for (const BodyOp& op : node_.body.ops) {
            for (std::size_t i = 0; i < op.inputs.size(); ++i) check_input(op, i);
            op_row(op.op).fuses_rows ? check_rows(op) : check_elements(op);
        }
        for (const std::int32_t result : node_.body.results)
            if (!of_rows_[static_cast<std::size_t>(result)])
                expect_shape(node_, "a result", types_[static_cast<std::size_t>(result)].shape, whole_);
    }

  private:
    void check_input(const BodyOp& op, std::size_t i) const {
        const std::int32_t input = op.inputs[i];
        const bool is_state = op_row(op.op).random && i + 1 == op.inputs.size();
        const Shape& shape = (input < 0 ? operands_[~input] : types_[static_cast<std::size_t>(input)]).shape;
        const bool along_rows =
            op_row(op.op).fuses_rows || (input >= 0 && of_rows_[static_cast<std::size_t>(input)]);
        const bool is_per_row = static_cast<int>(i) >= op_row(op.op).first_per_row;
        if (input >= 0
                ? along_rows && (is_per_row ? !of_rows_[static_cast<std::size_t>(input)] : shape != whole_)
                : !along_rows && !is_state && !is_row_operand(shape, whole_))
            misfit(op, shape);
    }
    void check_rows(const BodyOp& op) {
        if (types_[of_rows_.size()].shape != whole_) misfit(op, types_[of_rows_.size()].shape);
        of_rows_.insert(of_rows_.end(), static_cast<std::size_t>(op_row(op.op).outputs), true);
    }
    void check_elements(const BodyOp& op) {
        const Shape& shape = types_[of_rows_.size()].shape;
        if (!is_row_operand(shape, whole_) || (op_row(op.op).random && shape != whole_)) misfit(op, shape);
        of_rows_.push_back(false);
    }
    [[noreturn]] void misfit(const BodyOp& op, const Shape& shape) const {
        fail(VOLTA_SHAPE_MISMATCH, "%s: %s in the body has shape %s in a node of shape %s", name_of(node_),
             op_row(op.op).name, to_text(shape).text, to_text(whole_).text);
    }

    const Node& node_;
    const TypedShape* operands_;
    const std::pmr::vector<TypedShape>& types_;
    const Shape whole_;
    std::pmr::vector<bool> of_rows_;  // per value: of an operation along the last axis
};

}  // namespace

// ~0 is the product, ~i is input i + 1.
void add_results_of_body(const Node& node, const TypedShape* inputs, int input_count,
                         const TypedShape& product, TypedShapes& outputs) {
    std::pmr::vector<TypedShape> operands(inputs + 1, inputs + input_count, outputs.get_allocator());
    operands[0] = product;
    infer_body(node, operands.data(), static_cast<int>(operands.size()), &product, outputs);
}

namespace shape_rules {

void fused(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    require(!node.body.ops.empty(), "fused: there is no body");
    infer_body(node, inputs, input_count, nullptr, outputs);
}

void fused_rows(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    require(!node.body.ops.empty(), "fused_rows: there is no body");
    std::pmr::vector<TypedShape> types(outputs.get_allocator().resource());
    infer_ops(node, inputs, input_count, types);
    require(!node.body.results.empty(), "fused_rows: the body has no result");
    for (const std::int32_t result : node.body.results)
        require(result >= 0 && result < static_cast<std::int32_t>(types.size()),
                "fused_rows: the body has no result %d", result);
    RowBody(node, inputs, types).check();
    for (const std::int32_t result : node.body.results)
        outputs.push_back(types[static_cast<std::size_t>(result)]);
}

void matmul(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    const Shape& a = real_shape(node, inputs[0], "a");
    const Shape& b = weight_shape(node, inputs[1], "b");
    const TypedShape product = {DType::f32, matmul_form(node, a, b).result};
    if (is_stored(inputs[1].dtype) && node.flag(Attr::transpose_a))
        fail(VOLTA_SHAPE_MISMATCH, "matmul: b is stored as %s, which is read without transpose_a",
             dtype_name(inputs[1].dtype));
    if (node.body.ops.empty()) {
        require(input_count == 2, "matmul: takes 2 inputs, not %d", input_count);
        outputs.push_back(product);
        return;
    }
    require(!node.flag(Attr::accumulate),
            "matmul: a product that continues over micro-batches has no epilogue");
    add_results_of_body(node, inputs, input_count, product, outputs);
}

void weight_gradient(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = real_shape(node, inputs[0], "x");
    const Shape& dy = real_shape(node, inputs[1], "dy");
    const MatmulForm form = matmul_form(node, x, dy);
    add_output(outputs, DType::f32, form.result);
    add_output(outputs, DType::f32, {form.n});
}

void weight_gradient_into(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = real_shape(node, inputs[0], "x");
    const Shape& dy = real_shape(node, inputs[1], "dy");
    const Shape& sum = real_shape(node, inputs[2], "sum");
    const MatmulForm form = matmul_form(node, x, dy);
    expect_shape(node, "sum", sum, form.result);
    add_output(outputs, DType::f32, form.result);
}

}  // namespace shape_rules
}  // namespace volta
