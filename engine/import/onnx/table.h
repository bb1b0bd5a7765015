// The operators of ONNX that can be imported: one row each, from which docs/onnx.md is printed.
#pragma once

#include <cstdint>

#include "engine/import/onnx/call.h"

namespace volta::onnx {

inline constexpr int kOldestOpset = 1, kNewestOpset = 28;
inline constexpr int kAlways = 1 << 20;

// An attribute, in the operator's versions since <= version < until.
struct AttributeRow {
    const char* name;
    AttributeKind kind;
    bool required;
    double standard;   // of integers and real numbers
    const char* text;  // the default of a text; NULL: none
    double low, high;  // inclusive: which numbers are imported
    const char* only;  // which texts are: "|CONSTANT|EDGE|"; NULL: any
    int since, until;
};

// Computes outputs of known inputs, in one lane. False: this cannot be known (the graph may compute it).
struct FoldCall;
using Fold = bool (*)(FoldCall& call);
using Build = void (*)(Call& call);

struct OperatorRow {
    const char* name;
    const char* versions;  // in which its meaning changed: "1, 6, 7, 13, 14"
    int min_inputs, max_inputs;
    Fold fold;    // NULL: never known
    Build build;  // NULL: only known
    const AttributeRow* attributes;
    int attribute_count;
    const char* computes;  // how, in Volta's operators
    const char* refused;   // what is not imported; "" for nothing
};
const OperatorRow* find_operator(std::string_view name);  // NULL: none
const OperatorRow* operator_rows(int* count);

// Its results are elements that it is given, or made of them without rounding.
bool chooses_elements(const OperatorRow& row);
// Those of integers too: the elements stay what they are.
bool takes_integers(const OperatorRow& row);
// It computes with integers that are known to be small.
bool counts_integers(const OperatorRow& row);
// Its integers are no further from 0 than those that it is given.
bool keeps_bound(const OperatorRow& row);
// Which of the operator's versions an opset has.
int version_at(const OperatorRow& row, int opset);
const AttributeRow* find_attribute(const OperatorRow& row, int opset, std::string_view name);

struct FoldCall {
    Call& call;
    std::pmr::memory_resource* heap;
    int lane;
    std::pmr::vector<const Known*> inputs;  // NULL: left out
    std::pmr::vector<Known> outputs;        // to be filled
    const Known& in(std::size_t i) const {
        if (!has(i)) call.refuse("its input %zu is left out", i);
        return *inputs[i];
    }
    bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
    Known& out(Type type, const Shape& shape);
};

}  // namespace volta::onnx
