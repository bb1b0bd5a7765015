// One node of an ONNX graph while it becomes nodes of Volta's, and the graph that is being made.
//
// Open extents: a graph has 1 in their place until a host chooses them. So that nothing is decided by that
// 1, everything is done twice, in two lanes: `now` with 1, and `later` with other extents, a prime each, in a
// second graph that only has shapes. What differs between the lanes depends on an open extent; what an
// operator cannot say for all extents is refused. Where no input has an open extent there is one lane.
#pragma once

#include <deque>
#include <initializer_list>
#include <map>
#include <memory_resource>
#include <optional>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/import/onnx/open_forms.h"
#include "engine/import/onnx/tensor.h"

namespace volta::onnx {

struct OperatorRow;                                      // table.h
inline constexpr std::int64_t kManyPlaces = 2147483647;  // more than a model ever has

struct Extents {
    Shape now, later;
    int rank() const { return now.rank; }
    bool is_open(int axis) const { return now[axis] != later[axis]; }
    bool has_open() const { return now != later; }
    void append(const Extents& from, int axis) {
        now.extent[now.rank++] = from.now[axis];
        later.extent[later.rank++] = from.later[axis];
    }
    void append(std::int64_t extent) {
        now.extent[now.rank++] = extent;
        later.extent[later.rank++] = extent;
    }
};

struct KnownPair {
    using allocator_type = std::pmr::polymorphic_allocator<char>;
    explicit KnownPair(allocator_type heap) : now(heap) {}
    KnownPair(KnownPair&& other, allocator_type heap) : now(std::move(other.now), heap), form(other.form) {
        if (other.later) later.emplace(std::move(*other.later), heap);
    }
    KnownPair(KnownPair&&) = default;
    KnownPair& operator=(KnownPair&&) = default;
    Known now;
    std::optional<Known> later;  // none: the same
    OpenForm form;               // where there is one
    const Known& at(int lane) const { return lane == 1 && later ? *later : now; }
};

// A value of the ONNX graph: in Volta's graph, or known, or elements in the file, or several of them.
struct Value {
    Type type = Type::none;
    ValueId id = -1;
    std::int32_t known = -1;             // index into Building's list
    const TensorView* tensor = nullptr;  // of the file
    bool is_weight = false;              // a real initialiser: a parameter when an operator reads it
    bool is_rounded = false;             // sums of integers that may have passed what float holds
    double most = 0;                     // of integers: no element is further from 0; 0: nobody knows
    std::int32_t uses = 0;               // of an initialiser: how often nodes read it
};

// A mask whose queries and keys are open: `lower` where key - query <= offset, else `upper`.
struct OpenMask {
    ValueId value;
    double lower, upper;
    std::int64_t offset;
};

// A parameter and where its values are.
struct Weight {
    const TensorView* tensor;
    ValueId id;
    Affine affine;
};

class Building {
  public:
    Building(ExternalFiles& files, std::pmr::memory_resource* heap)
        : graph(heap),
          values(heap),
          weights(heap),
          open_text(heap),
          open_masks(heap),
          files_(files),
          heap_(heap),
          later_(heap),
          knowns_(heap),
          later_ids_(heap),
          open_lines_(heap),
          made_tensors_(heap) {}
    Building(const Building&) = delete;
    Building& operator=(const Building&) = delete;

    std::pmr::memory_resource* heap() const { return heap_; }
    ValueId input(const char* name, DType dtype, const Extents& extents);
    ValueId apply(Op op, const ValueId* inputs, int count, const Attribute* attributes, int attribute_count);
    ValueId constant(DType dtype, const Shape& shape, const void* data);
    Extents extents(ValueId id) const;
    bool has_open() const { return has_open_; }

    const KnownPair& known(std::int32_t index) const { return knowns_[static_cast<std::size_t>(index)]; }
    std::int32_t keep(KnownPair&& pair);
    // Counts elements that no file holds; throws where they are too many.
    void spend(std::size_t elements);
    // Whether a value's elements are known without being asked for: integers, and few real numbers that are
    // no weights.
    bool is_known(const Value& value) const;
    // The elements of a value, where the file has them: NULL otherwise.
    const KnownPair* find_known(Value& value);
    Extents extents(const Value& value) const;
    // A value as one of Volta's graph; `name` is that of the ONNX value.
    ValueId materialise(Value& value, std::string_view name);
    // 0, 1, 2 ... along the last axis, which is open, as i32, below `limit`; -1: no input has this extent.
    ValueId open_places(const Extents& of, std::int64_t limit);
    const TensorView* keep_tensor(const TensorView& tensor);
    ValueId parameter(const TensorView& tensor, std::string_view name, const Affine& affine = {});
    ValueId constant_of(const TensorView& tensor, const Affine& affine = {});

    Graph graph;
    std::pmr::map<std::string_view, Value> values;  // by name
    std::pmr::vector<Weight> weights;               // in the order of the graph's parameters
    std::pmr::string open_text;                     // the inputs with open extents: "x[N, 3, 224, 224]"
    std::pmr::vector<OpenMask> open_masks;

  private:
    ValueId one(Op op, std::initializer_list<ValueId> inputs, std::initializer_list<Attribute> attributes);
    ValueId first_of(ValueId x, int axis);
    ValueId open_axis(std::int64_t later);
    ValueId open_value(const KnownPair& pair);
    ValueId constant_of(const Known& known, std::string_view name);
    bool is_mask(const TensorView& tensor) const;

    ExternalFiles& files_;
    std::pmr::memory_resource* heap_;
    Graph later_;
    std::pmr::deque<KnownPair> knowns_;                // lent out: they stay where they are
    std::pmr::vector<ValueId> later_ids_;              // in later_, by ValueId of `graph`
    std::pmr::map<std::int64_t, ValueId> open_lines_;  // by extent: places as f32 [n, 1]
    std::pmr::deque<TensorView> made_tensors_;         // of attributes
    std::size_t known_elements_ = 0;
    bool has_open_ = false;
};

inline constexpr double kExactIntegers = 16777216;  // 2^24: float holds each of those up to it

// How messages call a node: "node 'conv1'", or "node 7" where it has no name.
struct NodePlace {
    char text[96];
};
NodePlace place_of(const NodeView& node, std::size_t index);

class Call {
  public:
    Call(Building& building, const NodeView& node, std::size_t index, const OperatorRow& row, int opset)
        : building_(building), node_(node), index_(index), row_(row), opset_(opset) {}

    // Takes the node: known where it can be, else as nodes of the graph. Refusals name the node.
    void run();

    int opset() const { return opset_; }
    const NodeView& node() const { return node_; }
    std::pmr::memory_resource* heap() const { return building_.heap(); }
    Building& graph() { return building_; }

    // ---- Inputs
    int inputs() const { return static_cast<int>(node_.inputs.size()); }
    bool has(int input) const {
        return input < inputs() && !node_.inputs[static_cast<std::size_t>(input)].empty();
    }
    Type type(int input);
    ValueId real(int input);   // f32
    ValueId flag(int input);   // a bool as i32
    ValueId whole(int input);  // i32
    ValueId any(int input);
    // A real operand that training writes: of an initialiser that others read too, a copy of its own, named
    // by the node's result.
    ValueId own_real(int input, const char* what);
    Extents extents(int input);
    Extents extents_of(ValueId id) const { return building_.extents(id); }
    // NULL: the import does not know it.
    const KnownPair* find_known(int input);
    // Integers that the model has as f32, because they are only moved, compared or made real.
    bool is_backed_by_reals(int input);
    // Those, and known integers, as f32: each of them exactly.
    ValueId real_of_whole(int input);
    // How far from 0 the integers of an input can be; 0: nobody knows.
    double bound(int input);
    // Integers of which that is known, as f32: each of them exactly.
    ValueId counted(int input);
    bool can_be_counted(int input) { return bound(input) > 0 && bound(input) <= kExactIntegers; }
    // Real numbers, or integers that the model has as f32; sums that were rounded too.
    ValueId number(int input);
    // The tensor of the file that an input is: NULL where it is none.
    const TensorView* tensor(int input) { return value(input).tensor; }
    bool is_known(int input) { return building_.is_known(value(input)); }
    // Throws: what must be known for the import, as "shape".
    const KnownPair& known(int input, const char* what);
    // Integers that are the same whatever the open extents are, for attributes.
    std::pmr::vector<std::int64_t> integers_in(int input, const char* what);
    double number_in(int input, const char* what);  // one, real or whole

    // ---- Attributes, by the table: the node's, else the default
    bool given(const char* name) const;
    std::int64_t integer(const char* name) const;
    double real_attribute(const char* name) const;
    std::string_view text(const char* name) const;
    std::pmr::vector<std::int64_t> integers(const char* name) const;  // empty: none
    const AttributeView* find(std::string_view name) const;
    // Negative from the last; `limit` axes there are, or one more place.
    int axis(std::int64_t given, int rank, const char* what = "axis") const;

    // ---- Making the graph
    ValueId apply(Op op, std::initializer_list<ValueId> inputs,
                  std::initializer_list<Attribute> attributes = {}) {
        return building_.apply(op, inputs.begin(), static_cast<int>(inputs.size()), attributes.begin(),
                               static_cast<int>(attributes.size()));
    }
    ValueId scalar(double value) {
        const float rounded = static_cast<float>(value);
        return building_.constant(DType::f32, {}, &rounded);
    }
    ValueId reshape(ValueId x, const Extents& to);
    ValueId broadcast_to(ValueId x, const Extents& to);
    ValueId transpose(ValueId x, const std::pmr::vector<std::int64_t>& order);
    // f32 0 or 1 of a flag, and back.
    ValueId real_of_flag(ValueId flag);
    ValueId flag_of_real(ValueId real);
    // Moves an axis to the end; the same call with the arguments exchanged moves it back.
    ValueId move_axis(ValueId x, int from, int to);

    // ---- Results
    int outputs() const { return static_cast<int>(node_.outputs.size()); }
    bool wants(int output) const {
        return output < outputs() && !node_.outputs[static_cast<std::size_t>(output)].empty();
    }
    void give(int output, ValueId id, Type type = Type::f32);
    void give(int output, KnownPair&& known);
    void give_rounded(int output, ValueId id, Type type);  // sums that may be above what float holds
    void give_same(int output, int input);                 // the input itself

    // "node 'x' (Conv, opset 9): " and this.
    [[noreturn]] void refuse(const char* format, ...) const __attribute__((format(printf, 2, 3)));

  private:
    void check_node();
    double bound_of_result(ValueId id, Type type);
    ValueId reshape_around(ValueId x, const Extents& to);
    bool fold();
    Value& value(int input);
    Building& building_;
    const NodeView& node_;
    std::size_t index_;
    const OperatorRow& row_;
    int opset_;
};

}  // namespace volta::onnx
