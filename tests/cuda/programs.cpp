#include "tests/cuda/programs.h"

#include <map>
#include <memory_resource>
#include <string>

#include "engine/backend/lower/row_programs.h"
#include "engine/graph/op.h"
#include "engine/numerics/functions.h"
#include "engine/numerics/random.h"
#include "tests/jitgen/corpus.h"
#include "tests/jitgen/random_program.h"

namespace volta::test {
namespace {

using jit::Access;
using jit::Type;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

// How the operands of letters b and g lie: what broadcasting can make of them.
struct Variant {
    const char* name;
    Access first, others;  // of letter b
    Access group;          // of letter g
};
constexpr Variant kVariants[] = {
    {"full", Access::full, Access::full, Access::per_row},
    {"rows", Access::full, Access::per_row, Access::single},
    {"columns", Access::full, Access::per_column, Access::single},
    {"single", Access::full, Access::single, Access::single},
    {"swapped", Access::per_row, Access::full, Access::per_row},
};

// Operands appear as the definition asks for them, with the type it asks for.
class OperandScope final : public RowScope {
  public:
    OperandScope(jit::Builder& builder, const RowDefinition& definition, const Attributes& attributes,
                 const Variant& variant, std::size_t inputs)
        : RowScope(builder, definition.op, attributes, inputs), definition_(definition), variant_(variant) {}
    jit::Real in(int input, std::uint32_t index) override {
        return b.load(operand(input, Type::real), index);
    }
    jit::Int in_int(int input, std::uint32_t index) override {
        return b.load_int(operand(input, Type::integer), index);
    }
    void out(int output, jit::Real value) override { b.store(b.output(access_of(output)), value); }
    void out(int output, jit::Int value) override {
        b.store(b.output(access_of(output), Type::integer), value);
    }
    void column_sum(int, jit::Real value) override { b.column_sum(b.output(Access::per_column), value); }
    bool varied = false;  // some access was the variant's choice

  private:
    Access access_of(int output) {
        return output_letter(definition_, output) == 'r' ? Access::per_row : Access::full;
    }
    int operand(int input, Type type) {
        const auto found = operands_.find(input);
        if (found != operands_.end()) return found->second;
        return operands_[input] = b.input(access(input), type);
    }
    Access access(int input) {
        switch (input_letter(definition_, input)) {
            case 'f':
                return Access::full;
            case 'r':
                return Access::per_row;
            case 'c':
                return Access::per_column;
            case 's':
                return Access::single;
            case 'g':
                varied = true;
                return variant_.group;
            default:
                varied = true;
                return input == 0 ? variant_.first : variant_.others;
        }
    }

    const RowDefinition& definition_;
    const Variant& variant_;
    std::map<int, int> operands_;
};

double attribute_value(Attr key, double default_number) {
    switch (key) {
        case Attr::exponent:
            return 1.7;
        case Attr::low:
            return -1;
        case Attr::high:
            return 2;
        case Attr::probability:
            return 0.1;
        case Attr::maximum_norm:
            return 1;
        case Attr::stream:
            return 7;
        default:
            return default_number;
    }
}

// Attributes that are one number, some of them away from their defaults.
RowScope::Attributes attributes_of(Op op, bool flipped) {
    RowScope::Attributes attributes(heap());
    const OpRow& row = op_row(op);
    for (int i = 0; i < row.attribute_count; ++i) {
        const AttrRow& attribute = row.attributes[i];
        if (attribute.is_list) continue;
        Attribute one;
        one.key = attribute.key;
        one.number = attribute_value(attribute.key, attribute.default_number);
        if (flipped && (attribute.key == Attr::nesterov || attribute.key == Attr::operand)) one.number = 1;
        if (flipped && attribute.key == Attr::label_smoothing) one.number = 0.1;
        attributes.push_back(one);
    }
    return attributes;
}

// An attribute that makes it another program.
bool has_switch(Op op) {
    const OpRow& row = op_row(op);
    for (int i = 0; i < row.attribute_count; ++i)
        for (const Attr key : {Attr::nesterov, Attr::operand, Attr::label_smoothing})
            if (row.attributes[i].key == key) return true;
    return false;
}

// One program per variant of where the operands lie.
void add_variants(const RowDefinition& definition, bool flipped, int inputs, const std::string& name,
                  std::vector<NamedProgram>& programs) {
    const auto attributes = attributes_of(definition.op, flipped);
    for (const Variant& variant : kVariants) {
        jit::Builder builder(heap());
        OperandScope scope(builder, definition, attributes, variant, static_cast<std::size_t>(inputs));
        definition.define(scope);
        programs.push_back({name + variant.name, builder.finish()});
        if (!scope.varied) break;
    }
}

void add_operator(const RowDefinition& definition, std::vector<NamedProgram>& programs) {
    const OpRow& row = op_row(definition.op);
    const bool has_optional = row.max_inputs == row.min_inputs + 1;
    for (const bool flipped : {false, true}) {
        if (flipped && !has_switch(definition.op)) continue;
        const std::string name = std::string("op_") + row.name + (flipped ? "_1_" : "_");
        add_variants(definition, flipped, row.min_inputs, name, programs);
        if (has_optional) add_variants(definition, flipped, row.max_inputs, name + "weighted_", programs);
    }
}

std::string identifier(std::string name) {
    for (char& c : name)
        if (c == '.' || c == ' ') c = '_';
    return name;
}

// The most operands, and sums of one value in several programs' ways.
void add_many_operands(std::vector<NamedProgram>& programs) {
    for (const Access access : {Access::full, Access::per_row, Access::per_column}) {
        jit::Builder b(heap());
        jit::Real sum = b.real(0);
        for (int k = 0; k < 16; ++k) sum = sum + b.load(b.input(access));
        const jit::Real e = b.load(b.input(Access::full)) / (sum + b.real(1));
        for (int k = 0; k < 7; ++k) b.store(b.output(Access::full), e + b.row_sum(e * b.real(k)));
        programs.push_back({"operands_" + std::to_string(static_cast<int>(access)), b.finish()});
    }
    jit::Builder b(heap());
    const jit::Real x = b.load(b.input(Access::full));
    for (int k = 0; k < 23; ++k) b.column_sum(b.output(Access::per_column), x * b.real(k));
    programs.push_back({"operands_sums", b.finish()});
}

// ---- What follows products -------------------------------------------------------------------------------

void bias(jit::Builder& b) {
    const jit::Real z = b.load(b.input(Access::full));
    const jit::Real shift = b.load(b.input(Access::per_column));
    b.store(b.output(Access::full), z + shift);
}
// Keeps what the gradient needs: z + bias, and its GELU.
void bias_gelu(jit::Builder& b) {
    const jit::Real product = b.load(b.input(Access::full)),
                    z = product + b.load(b.input(Access::per_column));
    b.store(b.output(Access::full), z);
    b.store(b.output(Access::full), gelu_tanh(b, z));
}
// By position, so that rows and columns must be right; scaled per row and by one factor.
void dropout_residual(jit::Builder& b) {
    const jit::Real z = b.load(b.input(Access::full)), x = b.load(b.input(Access::full));
    const jit::Real scale = b.load(b.input(Access::per_row)), factor = b.load(b.input(Access::single), 2);
    const int state = b.input(Access::single, Type::integer);
    const PhiloxKey<jit::Int> key{b.load_int(state, 0), b.load_int(state, 1)};
    const jit::Int step = b.load_int(state, 2), row = b.row_index(), column = b.column_index();
    const jit::Int last = b.integer(0x01000007);
    const jit::Real dropped = dropout(b, z, element_bits(b, row, column, step, last, key), dropout_rule(0.1));
    b.store(b.output(Access::full), (x + dropped) * (scale * factor));
}

// What stands around a norm in its kernel, in both directions.
class FusedRows {
  public:
    explicit FusedRows(std::initializer_list<volta::Shape> operands) : graph_(heap()), node_(heap()) {
        node_.op = Op::fused_rows;
        for (const volta::Shape& shape : operands) {
            const std::string name = "in" + std::to_string(node_.inputs.size());
            node_.inputs.push_back(graph_.input(name.c_str(), DType::f32, shape));
        }
    }
    void add(Op op, std::initializer_list<std::int32_t> inputs) {
        BodyOp& part = node_.body.ops.emplace_back();
        part.op = op;
        part.inputs.assign(inputs);
        if (op == Op::layer_norm) part.attributes.push_back(number(Attr::epsilon, 1e-5));
    }
    jit::Program program(std::initializer_list<std::int32_t> results) {
        node_.body.results.assign(results);
        graph_.apply(std::move(node_));
        const Node& node = graph_.nodes.back();
        return make_fused_rows_program(graph_, node, operands_of_rows(graph_, node, heap()), heap());
    }

  private:
    Graph graph_;
    Node node_;
};

void add_fused_rows(std::vector<NamedProgram>& programs) {
    const volta::Shape whole = {70, 90}, rows = {70}, columns = {90}, beside = {70, 1};
    FusedRows forward({whole, whole, columns, columns});
    forward.add(Op::add, {~0, ~1});
    forward.add(Op::layer_norm, {0, ~2, ~3});
    forward.add(Op::gelu_tanh, {1});
    programs.push_back({"fused_rows_forward", forward.program({4, 0, 2, 3})});
    FusedRows backward({whole, whole, columns, columns, rows, rows, beside, beside});
    backward.add(Op::sub, {~1, ~6});
    backward.add(Op::mul, {0, ~7});
    backward.add(Op::mul, {1, ~2});
    backward.add(Op::add, {2, ~3});
    backward.add(Op::gelu_tanh_grad, {3, ~0});
    backward.add(Op::layer_norm_grad, {4, ~1, ~2, ~4, ~5});
    programs.push_back({"fused_rows_backward", backward.program({5, 4})});
}

}  // namespace

std::vector<NamedProduct> products() {
    std::vector<NamedProduct> list;
    for (const int tile : {64, 128})
        for (const bool a : {false, true})
            for (const bool b : {false, true})
                list.push_back(
                    {std::string("product_") + (a ? "t" : "n") + (b ? "t" : "n") + "_" + std::to_string(tile),
                     {a, b, tile},
                     false,
                     jit::Program(heap())});
    const auto add = [&](const char* name, jit::ProductForm form, void (*define)(jit::Builder&)) {
        jit::Builder builder(heap());
        define(builder);
        list.push_back({name, form, true, builder.finish()});
    };
    add("product_bias", {false, false, 128}, bias);
    add("product_bias_gelu", {false, true, 64}, bias_gelu);
    add("product_dropout_residual", {true, false, 64}, dropout_residual);
    return list;
}

std::vector<NamedRowsProduct> rows_products() {
    std::vector<NamedRowsProduct> list;
    const auto add = [&](const char* name, jit::RowsProductForm form, void (*define)(jit::Builder&)) {
        jit::Builder builder(heap());
        if (define != nullptr) define(builder);
        list.push_back({name, form, define != nullptr, builder.finish()});
    };
    add("rows_n_1", {DType::f32, false, 1}, nullptr);
    add("rows_n_16", {DType::f32, false, 16}, nullptr);
    add("rows_n_3_bias", {DType::f32, false, 3}, bias);
    add("rows_t_1", {DType::f32, true, 1}, nullptr);
    add("rows_t_6_bias_gelu", {DType::f32, true, 6}, bias_gelu);
    add("rows_bf16_1", {DType::bf16, false, 1}, nullptr);
    add("rows_f16_5", {DType::f16, false, 5}, nullptr);
    add("rows_int8_1", {DType::int8, false, 1}, nullptr);
    add("rows_int8_16_bias", {DType::int8, false, 16}, bias);
    add("rows_int4_1", {DType::int4, false, 1}, nullptr);
    add("rows_int4_2_dropout_residual", {DType::int4, false, 2}, dropout_residual);
    add("rows_f32_panels_1", {DType::f32_panels, false, 1}, nullptr);
    add("rows_f32_panels_16_bias", {DType::f32_panels, false, 16}, bias);
    return list;
}

std::vector<NamedProgram> backend_programs() {
    std::vector<NamedProgram> programs;
    for (int op = 0; op < kOpCount; ++op)
        if (const RowDefinition* definition = find_row_definition(static_cast<Op>(op)); definition != nullptr)
            add_operator(*definition, programs);
    add_fused_rows(programs);
    programs.push_back({"reduce_sum", make_row_reduction(Reduction::sum, heap())});
    programs.push_back({"reduce_square_sum", make_row_reduction(Reduction::square_sum, heap())});
    programs.push_back({"reduce_max", make_row_reduction(Reduction::max, heap())});
    programs.push_back({"reduce_min", make_row_reduction(Reduction::min, heap())});
    programs.push_back({"reduce_columns", make_column_sum(heap())});
    programs.push_back({"division", make_division(3, heap())});
    programs.push_back({"swiglu", make_swiglu(heap())});
    programs.push_back({"swiglu_gradient", make_swiglu_gradient(heap())});
    programs.push_back({"rotation", make_rotation(false, heap())});
    programs.push_back({"rotation_inverse", make_rotation(true, heap())});
    programs.push_back({"addition", make_addition(heap())});
    return programs;
}

std::vector<NamedProgram> corpus_programs() {
    std::vector<NamedProgram> programs;
    for (const CorpusRow& row : function_programs())
        programs.push_back({identifier(std::string("function_") + row.name), build(row, heap())});
    for (const CorpusRow& row : row_programs())
        programs.push_back({identifier(std::string("rows_") + row.name), build(row, heap())});
    add_many_operands(programs);
    return programs;
}

std::vector<NamedProgram> seeded_programs() {
    std::vector<NamedProgram> programs;
    for (std::uint64_t seed = 0; seed < 200; ++seed)
        programs.push_back(
            {"random_" + std::to_string(seed),
             random_program(seed, static_cast<Shape>(seed % 3), 3 + static_cast<int>(seed % 60), heap())});
    for (std::uint64_t seed = 5000; seed < 5006; ++seed)
        programs.push_back({"random_" + std::to_string(seed),
                            random_program(seed, static_cast<Shape>(seed % 3), 250, heap())});
    return programs;
}

std::vector<NamedProgram> all_programs() {
    std::vector<NamedProgram> programs = backend_programs();
    for (auto* list : {corpus_programs, seeded_programs})
        for (NamedProgram& program : list()) programs.push_back(std::move(program));
    return programs;
}

}  // namespace volta::test
