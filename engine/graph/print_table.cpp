// docs/operators.md, from the rows.
#include <charconv>

#include "engine/graph/forms.h"
#include "engine/graph/print.h"

namespace volta {
namespace {

struct Family {
    Op first;  // up to the next family's
    const char* title;
    const char* about;
};
constexpr Family kFamilies[] = {
    {Op::input, "Sources",
     "Declared by calls of their own (`volta_graph_input`, `volta_graph_parameter`, ...)."},
    {Op::neg, "Elementwise, one input", "The result has the input's shape."},
    {Op::add, "Elementwise, broadcast",
     "Inputs broadcast as in NumPy: aligned at the last axis, extents equal or 1."},
    {Op::gelu_tanh_grad, "Elementwise gradients and dropout",
     "Differentiation and passes make most of these."},
    {Op::softmax, "Rows", "Along the last axis, which must not be empty."},
    {Op::batch_norm, "Norms of channels",
     "Axis 1 are the channels, the axes behind it a plane, of one element if there are none (numerics, "
     "section 5)."},
    {Op::swiglu, "Pairs of columns",
     "Two elements of one row become one, or turn around each other (numerics, sections 4 and 5)."},
    {Op::sum, "Reductions", "`rowsum` or `colsum` by the logical shape alone (numerics, section 3)."},
    {Op::reshape, "Movement", "No arithmetic: f32 and, where it says so, i32."},
    {Op::matmul, "Products", "Segmented chains (numerics, sections 2 and 4)."},
    {Op::accumulate, "Training", "Steps of the trainer. An output named like an input overwrites it."},
    {Op::count_, "", ""},
};

void append_number(std::pmr::string& out, double value) {
    char digits[32];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

// As code, where stars and brackets mean themselves; a bar would end the cell.
void append_code(std::pmr::string& out, const char* text) {
    if (*text == '\0') return;
    out += '`';
    for (; *text != '\0'; ++text) {
        if (*text == '|') out += '\\';
        out += *text;
    }
    out += '`';
}

void append_attributes(std::pmr::string& out, const OpRow& row) {
    for (int i = 0; i < row.attribute_count; ++i) {
        const AttrRow& attribute = row.attributes[i];
        out += i ? "; `" : "`";
        out += attr_name(attribute.key);
        if (!attribute.required && !attribute.is_list) {
            out += '=';
            if (attribute.default_number == kToTheEnd)
                out += "2^53";
            else
                append_number(out, attribute.default_number);
        }
        out += "` ";
        if (attribute.required) out += "(required) ";
        out += attribute.meaning;
    }
}

void append_row(std::pmr::string& out, const OpRow& row) {
    for (const char* cell : {row.name, row.inputs_text, row.outputs_text, row.formula}) {
        out += "| ";
        append_code(out, cell);
        out += ' ';
    }
    out += "| ";
    append_attributes(out, row);
    out += " | ";
    out += row.gradient ? "yes" : row.no_gradient;
    out += " |\n";
}

}  // namespace

std::pmr::string print_operator_table(std::pmr::memory_resource* heap) {
    std::pmr::string out(heap);
    out +=
        "# Operators\n\nPrinted from the operator table (`engine/graph/op_table.cpp`) by `print_operators`; "
        "a test "
        "compares the two. Shapes are\nin brackets, outermost extent first; `...` stands for any axes; "
        "without a "
        "dtype a tensor is f32. What each operator\ncomputes bit by bit is [numerics](numerics.md)'s to say; "
        "the "
        "column here reminds. An attribute is shown with its default.\nThe last column says whether there is "
        "a "
        "gradient rule, and if not, why.\n";
    for (const Family* family = kFamilies; family->first != Op::count_; ++family) {
        out += "\n## ";
        out += family->title;
        out += "\n\n";
        out += family->about;
        out +=
            "\n\n| operator | inputs | outputs | computes | attributes | gradient "
            "|\n|---|---|---|---|---|---|\n";
        for (int op = static_cast<int>(family->first); op < static_cast<int>(family[1].first); ++op)
            append_row(out, op_row(static_cast<Op>(op)));
    }
    return out;
}

}  // namespace volta
