// What every backend must compute: per operator a list of small graphs, over shapes, attributes and contents.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/runtime/plan_runner.h"
#include "tests/support/tensors.h"

namespace volta::test {

// Builds one graph and fills its sources with data of one kind.
class CaseBuilder {
  public:
    CaseBuilder(Data data, std::uint64_t seed) : data_(data), random_(seed) {}

    // Shapes by value: the graph that a caller took one from moves when a source is added.
    ValueId real(Shape shape);                                  // an input of the case's kind of data
    ValueId plain(Shape shape);                                 // an input in [-1, 1)
    ValueId parameter(Shape shape);                             // may be overwritten in place
    ValueId stored(DType dtype, Shape shape);                   // a weight that is made of plain numbers
    ValueId state(Shape shape);                                 // non-negative: moments
    ValueId integers(Shape shape, int low, int high);           // an i32 input, bounds inclusive
    ValueId given(Shape shape, std::vector<std::int32_t> ids);  // an i32 input of these values
    ValueId random_state();                                     // i32 [3]: seed and step
    // The operator's outputs, all of them outputs of the graph. Returns the first.
    ValueId apply(Op op, std::initializer_list<ValueId> inputs,
                  std::initializer_list<Attribute> attributes = {}, Phase phase = Phase::each);
    ValueId apply(Op op, const std::vector<ValueId>& inputs, const std::vector<Attribute>& attributes);
    ValueId hidden(Op op, std::initializer_list<ValueId> inputs,
                   std::initializer_list<Attribute> attributes = {},
                   Phase phase = Phase::each);  // without outputs
    ValueId apply(Node&& node);
    void declare_outputs(ValueId first);
    std::int64_t below(std::int64_t n) { return random_.below(n); }

    // Inputs that follow hold this many micro-batches.
    void set_micro_batches(std::uint32_t count) { filled.micro_batches = count; }

    FilledGraph filled;
    Graph& graph() { return filled.graph; }

  private:
    ValueId input(DType dtype, const Shape& shape, const char* name);
    void fill(ValueId value, Bits&& bits);
    std::int64_t content_elements(const Shape& shape) const {
        return shape.elements() * filled.micro_batches;
    }
    Bits reals(std::int64_t count, Data data);
    std::string name(const char* prefix);
    Data data_;
    Random random_;
    int names_ = 0;
};

struct BackendCase {
    Op op;  // which row of the operator table it is a witness of
    std::string name;
    std::function<void(CaseBuilder&)> build;
};
const std::vector<BackendCase>& backend_cases();
// What the processor alone computes: a device refuses it by name.
const std::vector<BackendCase>& processor_cases();

}  // namespace volta::test
