// Operators as programs of the kernel language: one row of a table per operator, written from the functions
// of engine/numerics/functions.h and the formulas of docs/numerics.md, rounding by rounding. Every backend
// lowers these; nothing here knows a processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/graph/graph.h"
#include "jitgen/program.h"

namespace volta {

// What a definition sees of its operator: inputs as values, outputs to give, attributes. In a fused body
// inputs may be results of earlier operations, and outputs feed later ones.
class RowScope {
  public:
    using Attributes = std::pmr::vector<Attribute>;
    RowScope(jit::Builder& builder, Op op, const Attributes& attributes, std::size_t inputs)
        : b(builder), op_(op), attributes_(attributes), inputs_(inputs) {}
    virtual ~RowScope() = default;

    virtual jit::Real in(int input, std::uint32_t index = 0) = 0;  // index: of an input of single elements
    virtual jit::Int in_int(int input, std::uint32_t index = 0) = 0;
    virtual void out(int output, jit::Real value) = 0;
    virtual void out(int output, jit::Int value) = 0;
    virtual void column_sum(int output, jit::Real value) = 0;
    double number(Attr key) const;  // the attribute, or its default from the operator table
    bool has(int input) const { return static_cast<std::size_t>(input) < inputs_; }  // of an optional one

    jit::Builder& b;

  private:
    Op op_;
    const Attributes& attributes_;
    std::size_t inputs_;
};

// How an operator's operands lie over the rows and columns of its program, one letter each:
//   b  broadcast against the output's shape      f  full                    r  one per row
//   c  one per column                            s  single elements, read by index
//   g  one per row, or one element for all rows
struct RowDefinition {
    Op op;
    const char* inputs;   // the last letter stands for all further inputs
    const char* outputs;  // likewise
    void (*define)(RowScope& scope);
};
const RowDefinition* find_row_definition(Op op);  // NULL: the operator is no row program
char input_letter(const RowDefinition& definition, int input);
char output_letter(const RowDefinition& definition, int output);
// Node input `input` (of a fused body too) is read element by element, whatever the row and column.
bool is_read_by_index(const Node& node, int input);

// Does the program draw random numbers or otherwise know where it stands in the tensor?
bool knows_position(const Node& node);

// The program of a node: operand i is node input i, then come the outputs. `accesses`: one per operand; an
// access of `single` for a letter b means one element at index 0.
jit::Program make_row_program(const Graph& graph, const Node& node,
                              const std::pmr::vector<jit::Access>& accesses, std::pmr::memory_resource* heap);

// How an operand of this letter and shape lies over the rows and columns of the whole.
jit::Access access_of(char letter, const Shape& operand, const Shape& whole);

// The operands of a fused_rows node's program: an input once for every way in which its operations see it.
struct RowOperand {
    std::int32_t input;
    jit::Access access;
};
std::pmr::vector<RowOperand> operands_of_rows(const Graph& graph, const Node& node,
                                              std::pmr::memory_resource* heap);
// How output `output` of such a node lies.
jit::Access access_of_result(const Graph& graph, const Node& node, int output);
// Its program: these operands, then the outputs.
jit::Program make_fused_rows_program(const Graph& graph, const Node& node,
                                     const std::pmr::vector<RowOperand>& operands,
                                     std::pmr::memory_resource* heap);

// The program of the body of a product node (Node::body): operand 0 is the finished product, operand i >= 1
// is node input i + 1, then come the node's outputs. An output that is the product itself (~0) is not stored.
jit::Program make_epilogue_program(const Graph& graph, const Node& node,
                                   const std::pmr::vector<jit::Access>& accesses,
                                   std::pmr::memory_resource* heap);

// Small programs that lowerings are made of: y = row_sum(x), row_sum(x*x), row_max(x), ... Operand 0 is x, 1
// is y.
enum class Reduction : std::uint8_t { sum, square_sum, max, min };
jit::Program make_row_reduction(Reduction reduction, std::pmr::memory_resource* heap);
jit::Program make_column_sum(std::pmr::memory_resource* heap);                // x full, y per column
jit::Program make_division(double divisor, std::pmr::memory_resource* heap);  // y = x / (float)divisor
// Pairs of columns: a, b are the halves of a row, x0, x1 the elements that are rotated.
jit::Program make_swiglu(std::pmr::memory_resource* heap);           // 0: a, 1: b, 2: y
jit::Program make_swiglu_gradient(std::pmr::memory_resource* heap);  // 0: a, 1: b, 2: dy, 3: da, 4: db
// 0: x0, 1: x1, 2: cosines and 3: sines per column, 4: y0, 5: y1
jit::Program make_rotation(bool inverse, std::pmr::memory_resource* heap);
jit::Program make_addition(std::pmr::memory_resource* heap);       // 0: a, 1: b, 2: y = a + b
jit::Program make_bias_addition(std::pmr::memory_resource* heap);  // the same, b one element per row

}  // namespace volta
