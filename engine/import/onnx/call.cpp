#include "engine/import/onnx/call.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/format.h"
#include "engine/graph/step_input.h"
#include "engine/import/onnx/table.h"
#include "engine/model/text.h"

namespace volta::onnx {
namespace {

// What a model file may hold (engine/model/read_graph.cpp).
constexpr std::size_t kMostConstants = 2048, kMostSources = 8192;
constexpr std::size_t kMostKnown = std::size_t{1} << 21;  // elements, of all that an import computes
constexpr std::int64_t kFewReals = 64;

DType dtype_of(Type type, std::string_view name) {
    if (is_real(type) || is_narrow(type)) return DType::f32;
    if (is_whole(type)) return DType::i32;
    const ShownName text = shown(name);
    fail(VOLTA_UNSUPPORTED, "'%.*s' is of %s, which is not imported", text.bytes, text.text, type_name(type));
}

void check_name(std::string_view name) {
    const ShownName text = shown(name);
    if (const char* problem = name_problem(name))
        fail(VOLTA_UNSUPPORTED, "the name '%.*s' %s", text.bytes, text.text, problem);
}

bool same(const Known& a, const Known& b) {
    return a.type == b.type && a.shape == b.shape && a.whole == b.whole && a.real == b.real;
}

}  // namespace

// ---- Building ------------------------------------------------------------------------------------------

ValueId Building::input(const char* name, DType dtype, const Extents& extents) {
    check_name(name);
    if (is_step_input(name))
        fail(VOLTA_UNSUPPORTED, "the input '%s' takes a name that is kept for training", name);
    Shape declared = extents.now;
    for (int axis = 0; axis < declared.rank; ++axis)
        if (extents.is_open(axis)) {
            declared[axis] = -1;
            has_open_ = true;
        }
    const ValueId id = graph.input(name, dtype, declared);
    later_ids_.push_back(later_.input(name, dtype, extents.later));
    return id;
}

ValueId Building::apply(Op op, const ValueId* inputs, int count, const Attribute* attributes,
                        int attribute_count) {
    if (graph.nodes.size() >= kMostNodes)
        fail(VOLTA_UNSUPPORTED, "the model has more than %zu nodes", kMostNodes);
    const ValueId id = graph.apply(op, inputs, count, attributes, attribute_count, Phase::each);
    if (!has_open_) return id;
    std::pmr::vector<ValueId> renamed(heap_);
    for (int i = 0; i < count; ++i) renamed.push_back(later_ids_[static_cast<std::size_t>(inputs[i])]);
    ValueId later = -1;
    // An extent of the second lane may be more than a table has.
    const Attribute many = number(Attr::limit, static_cast<double>(kManyPlaces));
    try {
        later = later_.apply(op, renamed.data(), count, op == Op::position_ids ? &many : attributes,
                             attribute_count, Phase::each);
    } catch (const Error& error) {
        fail(VOLTA_UNSUPPORTED, "only some of the extents that are open have a result: %s", error.what());
    }
    later_.nodes.pop_back();  // its shapes are all that anybody asks for
    for (std::size_t i = later_ids_.size(); i < graph.values.size(); ++i) later_ids_.push_back(later++);
    return id;
}

ValueId Building::constant(DType dtype, const Shape& shape, const void* data) {
    const ValueId id = graph.constant(dtype, shape, data);
    if (graph.constants.size() > kMostConstants)
        fail(VOLTA_UNSUPPORTED, "the model has more than %zu constants", kMostConstants);
    if (!has_open_) return id;
    // The second graph has shapes alone.
    const std::uint32_t zero = 0;
    const ValueId none = later_.constant(dtype, {}, &zero);
    later_ids_.push_back(later_.apply(Op::broadcast_to, {none}, {list(Attr::shape, shape)}));
    return id;
}

Extents Building::extents(ValueId id) const {
    if (!has_open_) return {graph.shape(id), graph.shape(id)};
    return {graph.shape(id), later_.shape(later_ids_[static_cast<std::size_t>(id)])};
}

void Building::spend(std::size_t elements) {
    known_elements_ += elements;
    if (known_elements_ > kMostKnown)
        fail(VOLTA_UNSUPPORTED, "an import computes at most %zu elements", kMostKnown);
}

std::int32_t Building::keep(KnownPair&& pair) {
    if (pair.later && same(pair.now, *pair.later)) pair.later.reset();
    knowns_.push_back(std::move(pair));
    return static_cast<std::int32_t>(knowns_.size()) - 1;
}

bool Building::is_known(const Value& value) const {
    if (value.known >= 0) return !(value.is_weight && value.tensor->shape.rank > 0);
    if (value.tensor == nullptr) return false;
    const Shape& shape = value.tensor->shape;
    if (is_whole(value.type)) return shape.elements() <= kMostKnownElements;
    return is_real(value.type) && shape.elements() <= kFewReals && !(value.is_weight && shape.rank > 0);
}

const KnownPair* Building::find_known(Value& value) {
    if (value.known < 0 && value.tensor != nullptr) {
        KnownPair pair(heap_);
        pair.now = read_known(*value.tensor, files_, heap_);
        value.known = keep(std::move(pair));
    }
    return value.known >= 0 ? &known(value.known) : nullptr;
}

Extents Building::extents(const Value& value) const {
    if (value.id >= 0) return extents(value.id);
    if (value.tensor != nullptr) return {value.tensor->shape, value.tensor->shape};
    const KnownPair& pair = known(value.known);
    return {pair.at(0).shape, pair.at(1).shape};
}

ValueId Building::materialise(Value& value, std::string_view name) {
    if (value.is_rounded) {
        const ShownName text = shown(name);
        fail(VOLTA_UNSUPPORTED,
             "'%.*s' are sums of integers, which may be more than float holds: only what makes them real "
             "takes "
             "them",
             text.bytes, text.text);
    }
    if (value.id >= 0) return value.id;
    if (value.tensor != nullptr) {
        value.id = value.is_weight && value.tensor->shape.rank > 0 && !is_mask(*value.tensor)
                       ? parameter(*value.tensor, name)
                       : constant_of(*value.tensor);
        return value.id;
    }
    const KnownPair& pair = known(value.known);
    if (pair.later) {
        if ((value.id = open_value(pair)) >= 0) return value.id;
        const ShownName text = shown(name);
        fail(VOLTA_UNSUPPORTED, "'%.*s' is computed from extents that are open", text.bytes, text.text);
    }
    return value.id = constant_of(pair.now, name);
}

// What exporters make of a mask that was known: one matrix, square, with -Inf or the least float in it.
bool Building::is_mask(const TensorView& tensor) const {
    constexpr double kLeast = -1e30;
    const Shape& shape = tensor.shape;
    if (shape.rank < 2 || shape[shape.rank - 2] != shape.last() || shape.last() > 1024 ||
        shape.elements() != shape.last() * shape.last())
        return false;
    const Known known = read_known(tensor, files_, heap_);
    return std::any_of(known.real.begin(), known.real.end(),
                       [](double element) { return element <= kLeast; });
}

ValueId Building::parameter(const TensorView& tensor, std::string_view name, const Affine& affine) {
    check_name(name);
    check_elements(tensor, files_);
    if (graph.sources.size() >= kMostSources)
        fail(VOLTA_UNSUPPORTED, "the model has more than %zu inputs and parameters", kMostSources);
    const std::pmr::string text(name, heap_);
    const ValueId id = graph.parameter(text.c_str(), tensor.shape, Init());
    weights.push_back({&tensor, id, affine});
    if (!has_open_) return id;
    const float zero = 0;
    later_ids_.push_back(later_.apply(Op::broadcast_to, {later_.constant(DType::f32, {}, &zero)},
                                      {list(Attr::shape, tensor.shape)}));
    return id;
}

ValueId Building::constant_of(const TensorView& tensor, const Affine& affine) {
    check_elements(tensor, files_);
    const DType dtype = dtype_of(tensor.type, tensor.name);
    std::pmr::vector<std::uint32_t> bits(static_cast<std::size_t>(tensor.shape.elements()), heap_);
    if (dtype == DType::f32)
        fill_affine(tensor, files_, affine, reinterpret_cast<float*>(bits.data()));
    else
        fill_integers(tensor, files_, reinterpret_cast<std::int32_t*>(bits.data()));
    return constant(dtype, tensor.shape, bits.data());
}

ValueId Building::constant_of(const Known& known, std::string_view name) {
    if (dtype_of(known.type, name) == DType::i32) {
        std::pmr::vector<std::int32_t> elements(heap_);
        elements.reserve(known.count());
        for (const std::int64_t element : known.whole) elements.push_back(checked_i32(element, name));
        return constant(DType::i32, known.shape, elements.data());
    }
    std::pmr::vector<float> elements(heap_);
    elements.reserve(known.count());
    for (const double element : known.real) elements.push_back(checked_f32(element, name));
    for (const std::int64_t element : known.whole) elements.push_back(static_cast<float>(element));
    return constant(DType::f32, known.shape, elements.data());
}

const TensorView* Building::keep_tensor(const TensorView& tensor) {
    made_tensors_.push_back(tensor);
    return &made_tensors_.back();
}

NodePlace place_of(const NodeView& node, std::size_t index) {
    NodePlace place;
    const ShownName name = shown(node.name.substr(0, 64));
    if (node.name.empty())
        std::snprintf(place.text, sizeof place.text, "node %zu", index);
    else
        std::snprintf(place.text, sizeof place.text, "node '%.*s'", name.bytes, name.text);
    return place;
}

// ---- Call ----------------------------------------------------------------------------------------------

void Call::refuse(const char* format, ...) const {
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vformat(text, sizeof text, format, arguments);
    va_end(arguments);
    fail(VOLTA_UNSUPPORTED, "%s", text);
}

void Call::run() {
    try {
        check_node();
        if (fold()) return;
        if (row_.build == nullptr) refuse("its inputs are not known before the model runs");
        row_.build(*this);
    } catch (const Error& error) {
        const volta_status status =
            error.status() == VOLTA_INVALID_ARGUMENT ? VOLTA_UNSUPPORTED : error.status();
        const NodePlace place = place_of(node_, index_);
        if (building_.has_open())
            fail(status, "%s (%s, opset %d): %s; left open: %s", place.text, row_.name, opset_, error.what(),
                 building_.open_text.c_str());
        fail(status, "%s (%s, opset %d): %s", place.text, row_.name, opset_, error.what());
    }
}

void Call::check_node() {
    if (inputs() < row_.min_inputs || inputs() > row_.max_inputs) refuse("it has %d inputs", inputs());
    for (int i = 0; i < row_.min_inputs; ++i)
        if (!has(i)) refuse("its input %d is left out", i);
    for (const AttributeView& attribute : node_.attributes) {
        const ShownName name = shown(attribute.name);
        const AttributeRow* const row = find_attribute(row_, opset_, attribute.name);
        if (row == nullptr)
            refuse("its attribute '%.*s' is none that version %d of the operator has", name.bytes, name.text,
                   version_at(row_, opset_));
        if (attribute.kind != row->kind) refuse("its attribute '%s' is of another kind", row->name);
        if (row->kind == AttributeKind::integer || row->kind == AttributeKind::real) {
            const double value = row->kind == AttributeKind::integer
                                     ? static_cast<double>(integer_of(attribute))
                                     : static_cast<double>(real_of(attribute));
            if (!(value >= row->low && value <= row->high))
                refuse("its attribute '%s' is %g", row->name, value);
        }
        if (row->only != nullptr) {
            const ShownName given = shown(bytes_of(attribute));
            const std::string_view text(given.text, static_cast<std::size_t>(given.bytes)), only = row->only;
            std::size_t at = text.empty() ? only.npos : only.find(text);
            while (at != only.npos && (only[at - 1] != '|' || only[at + text.size()] != '|'))
                at = only.find(text, at + 1);
            if (at == only.npos) refuse("its attribute '%s' is '%.*s'", row->name, given.bytes, given.text);
        }
    }
    for (int i = 0; i < row_.attribute_count; ++i) {
        const AttributeRow& row = row_.attributes[i];
        if (row.required && &row == find_attribute(row_, opset_, row.name) && !given(row.name))
            refuse("its attribute '%s' is missing", row.name);
    }
}

bool Call::fold() {
    if (row_.fold == nullptr) return false;
    bool two = false;
    for (int i = 0; i < inputs(); ++i) {
        if (!has(i)) continue;
        Value& input = value(i);
        if (!building_.is_known(input)) return false;
    }
    for (int i = 0; i < inputs(); ++i)
        if (has(i)) two = two || building_.find_known(value(i))->later.has_value();
    std::pmr::vector<KnownPair> results(heap());
    for (int lane = 0; lane < (two ? 2 : 1); ++lane) {
        FoldCall call{*this, heap(), lane, std::pmr::vector<const Known*>(heap()),
                      std::pmr::vector<Known>(heap())};
        call.outputs.reserve(node_.outputs.size());
        for (int i = 0; i < inputs(); ++i)
            call.inputs.push_back(has(i) ? &building_.find_known(value(i))->at(lane) : nullptr);
        if (!row_.fold(call)) return false;
        for (std::size_t i = 0; i < call.outputs.size(); ++i) {
            if (lane == 0) {
                results.emplace_back();
                results.back().now = std::move(call.outputs[i]);
            } else if (i < results.size()) {
                results[i].later.emplace(std::move(call.outputs[i]));
            }
        }
    }
    for (KnownPair& result : results)
        if (result.later) result.form = open_form(*this, result);
    for (std::size_t i = 0; i < results.size(); ++i)
        if (wants(static_cast<int>(i))) give(static_cast<int>(i), std::move(results[i]));
    return true;
}

Value& Call::value(int input) {
    if (!has(input)) refuse("its input %d is left out", input);
    const std::string_view name = node_.inputs[static_cast<std::size_t>(input)];
    const auto at = building_.values.find(name);
    if (at == building_.values.end()) {
        const ShownName text = shown(name);
        refuse("its input %d, '%.*s', is a result that its operator does not give", input, text.bytes,
               text.text);
    }
    return at->second;
}

Type Call::type(int input) { return value(input).type; }

ValueId Call::any(int input) {
    return building_.materialise(value(input), node_.inputs[static_cast<std::size_t>(input)]);
}

ValueId Call::real(int input) {
    const Type own = type(input);
    if (is_real(own) || (takes_integers(row_) && (is_narrow(own) || is_backed_by_reals(input))))
        return any(input);
    const bool counts = takes_integers(row_) || counts_integers(row_);
    if (counts && (own == Type::i32 || own == Type::i64) && can_be_counted(input)) return counted(input);
    refuse("its input %d is %s, of which a model computes nothing of this kind when it runs", input,
           type_name(own));
}

double Call::bound(int input) {
    Value& given = value(input);
    if (given.type == Type::flag) return 1;
    if (is_narrow(given.type)) return 65536;
    if (!is_whole(given.type) || given.is_rounded || !building_.is_known(given)) return given.most;
    const KnownPair& pair = *building_.find_known(given);
    double most = 1;
    for (const int lane : {0, 1})
        for (const std::int64_t element : pair.at(lane).whole)
            most = std::max(most, std::fabs(static_cast<double>(element)));
    return most;
}

// Those that are i32 in the model are flags and indices, none below 0.
ValueId Call::counted(int input) {
    if (is_backed_by_reals(input) || building_.is_known(value(input))) return real_of_whole(input);
    const ValueId whole = any(input);
    const double most = bound(input);
    if (most == 1) return real_of_flag(whole);
    constexpr double kMostIndices = 65536;
    if (!(most >= 1 && most <= kMostIndices))
        refuse("its input %d has integers up to %g, which are made real up to %g", input, most, kMostIndices);
    std::pmr::vector<float> numbers(heap());
    for (int i = 0; i <= static_cast<int>(most); ++i) numbers.push_back(static_cast<float>(i));
    building_.spend(numbers.size());
    const ValueId table =
        building_.constant(DType::f32, {static_cast<std::int64_t>(numbers.size()), 1}, numbers.data());
    return reshape(apply(Op::gather, {table, whole}), extents_of(whole));
}

double Call::bound_of_result(ValueId id, Type type) {
    if (!is_whole(type) || type == Type::flag || is_narrow(type)) return 0;
    const std::string_view name = row_.name;
    if (name == "OneHot") return 1;
    if (name == "ArgMax" || name == "ArgMin" || name == "TopK") {
        double most = 1;
        const Extents from = extents(0);
        for (int axis = 0; axis < from.rank(); ++axis)
            most =
                from.is_open(axis) ? kExactIntegers + 1 : std::max(most, static_cast<double>(from.now[axis]));
        return most <= kExactIntegers ? most : 0;
    }
    if (!keeps_bound(row_) && !counts_integers(row_)) return 0;
    const bool adds = name == "Add" || name == "Sub" || name == "Sum", multiplies = name == "Mul";
    const bool chooses = name == "Concat" || name == "Max" || name == "Min";
    const int first = name == "Where" ? 1 : 0;
    const int last = adds || multiplies || chooses || name == "Where" ? inputs() : 1;
    double most = 0;
    for (int i = first; i < last; ++i) {
        const double one = has(i) ? bound(i) : 0;
        if (one == 0) return 0;
        most = i == first ? one : adds ? most + one : multiplies ? most * one : std::max(most, one);
    }
    if (name == "ReduceSum" || name == "CumSum") {
        const Extents from = extents(0), to = extents_of(id);
        double terms = static_cast<double>(from.now.elements()) /
                       std::max<double>(1, static_cast<double>(to.now.elements()));
        const double later = static_cast<double>(from.later.elements()) /
                             std::max<double>(1, static_cast<double>(to.later.elements()));
        if (terms != later) return kExactIntegers + 1;
        for (int axis = 0; name == "CumSum" && axis < from.rank(); ++axis)
            terms = std::max(terms, static_cast<double>(from.now[axis]));
        most *= std::max(1.0, terms);
    }
    return most;
}

ValueId Call::number(int input) {
    Value& given = value(input);
    if (given.is_rounded) return given.id;
    if (is_real(given.type) || is_narrow(given.type) || is_backed_by_reals(input)) return any(input);
    return real_of_whole(input);
}

ValueId Call::own_real(int input, const char* what) {
    const Value& given = value(input);
    if (given.tensor == nullptr || !given.is_weight || given.uses < 2 || !wants(0)) return real(input);
    std::pmr::string name(node_.outputs[0], heap());
    name += what;
    if (building_.graph.find_source(name.c_str()) >= 0)
        refuse("a parameter has the name '%s' already", name.c_str());
    return building_.parameter(*given.tensor, name);
}

ValueId Call::flag(int input) {
    if (type(input) != Type::flag) refuse("its input %d is %s, not bool", input, type_name(type(input)));
    return any(input);
}

bool Call::is_backed_by_reals(int input) {
    const Value& given = value(input);
    return is_whole(given.type) && given.id >= 0 && building_.graph.value(given.id).dtype == DType::f32;
}

ValueId Call::real_of_whole(int input) {
    if (is_backed_by_reals(input)) return value(input).id;
    const KnownPair& pair = known(input, "integers");
    if (pair.later) refuse("its input %d is computed from extents that are open", input);
    // Integers of 2^24 and more have become floats of as much: none of them is taken for one of these.
    constexpr std::int64_t kExact = (std::int64_t{1} << 24) - 1;
    std::pmr::vector<float> reals(heap());
    for (const std::int64_t element : pair.now.whole) {
        if (element < -kExact || element > kExact)
            refuse("its input %d has an element of %lld, which float does not hold", input,
                   static_cast<long long>(element));
        reals.push_back(static_cast<float>(element));
    }
    return building_.constant(DType::f32, pair.now.shape, reals.data());
}

ValueId Call::whole(int input) {
    if (is_backed_by_reals(input))
        refuse("its input %d is f32 in the model, and is used as integers too", input);
    if (!is_whole(type(input))) refuse("its input %d is %s, no integers", input, type_name(type(input)));
    return any(input);
}

Extents Call::extents(int input) { return building_.extents(value(input)); }

const KnownPair* Call::find_known(int input) { return building_.find_known(value(input)); }

const KnownPair& Call::known(int input, const char* what) {
    const KnownPair* const pair = find_known(input);
    if (pair == nullptr) refuse("its input %d, '%s', is not known before the model runs", input, what);
    return *pair;
}

std::pmr::vector<std::int64_t> Call::integers_in(int input, const char* what) {
    const KnownPair& pair = known(input, what);
    if (!is_whole(pair.now.type)) refuse("its input %d, '%s', is %s", input, what, type_name(pair.now.type));
    if (pair.later) refuse("its input %d, '%s', is computed from extents that are open", input, what);
    return std::pmr::vector<std::int64_t>(pair.now.whole, heap());
}

double Call::number_in(int input, const char* what) {
    const KnownPair& pair = known(input, what);
    if (pair.later) refuse("its input %d, '%s', is computed from extents that are open", input, what);
    if (pair.now.count() != 1)
        refuse("its input %d, '%s', is %s, not one number", input, what, to_text(pair.now.shape).text);
    return is_whole(pair.now.type) ? static_cast<double>(pair.now.whole[0]) : pair.now.real[0];
}

const AttributeView* Call::find(std::string_view name) const {
    for (const AttributeView& attribute : node_.attributes)
        if (attribute.name == name) return &attribute;
    return nullptr;
}

bool Call::given(const char* name) const { return find(name) != nullptr; }

std::int64_t Call::integer(const char* name) const {
    if (const AttributeView* attribute = find(name)) return integer_of(*attribute);
    const AttributeRow* row = find_attribute(row_, opset_, name);
    return row != nullptr ? static_cast<std::int64_t>(row->standard) : 0;
}

double Call::real_attribute(const char* name) const {
    if (const AttributeView* attribute = find(name)) return static_cast<double>(real_of(*attribute));
    const AttributeRow* row = find_attribute(row_, opset_, name);
    return row != nullptr ? row->standard : 0;
}

std::string_view Call::text(const char* name) const {
    if (const AttributeView* attribute = find(name)) return bytes_of(*attribute);
    const AttributeRow* row = find_attribute(row_, opset_, name);
    return row != nullptr && row->text != nullptr ? row->text : "";
}

std::pmr::vector<std::int64_t> Call::integers(const char* name) const {
    std::pmr::vector<std::int64_t> values(heap());
    if (const AttributeView* attribute = find(name)) integers_of(*attribute, values);
    return values;
}

int Call::axis(std::int64_t given, int rank, const char* what) const {
    const std::int64_t axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank)
        refuse("its %s %lld is none of %d axes", what, static_cast<long long>(given), rank);
    return static_cast<int>(axis);
}

ValueId Call::reshape(ValueId x, const Extents& to) {
    const Extents from = extents_of(x);
    if (from.now == to.now && from.later == to.later) return x;
    Attribute shape = list(Attr::shape, to.now);
    bool one_left = true;
    for (int axis = 0; axis < to.rank(); ++axis) {
        if (!to.is_open(axis)) continue;
        if (axis < from.rank() && from.now[axis] == to.now[axis] && from.later[axis] == to.later[axis]) {
            shape.integers[axis] = -2;
        } else if (one_left) {
            shape.integers[axis] = -1;
            one_left = false;
        } else {
            return reshape_around(x, to);
        }
    }
    const ValueId y = apply(Op::reshape, {x}, {shape});
    const Extents made = extents_of(y);
    if (made.now != to.now || made.later != to.later)
        refuse("its result has a shape that depends on extents that are open");
    return y;
}

// Where two axes of the result are computed: an open one that stays as it is goes to the front, where it may
// stay, while the others are reshaped.
ValueId Call::reshape_around(ValueId x, const Extents& to) {
    const Extents from = extents_of(x);
    const auto front = [](const Shape& shape, int axis) {
        std::int64_t elements = 1;
        for (int i = 0; i < axis; ++i) elements *= shape[i];
        return elements;
    };
    for (int target = 1; target < to.rank(); ++target)
        for (int axis = 1; axis < from.rank(); ++axis) {
            if (!to.is_open(target) || from.now[axis] != to.now[target] ||
                from.later[axis] != to.later[target] || front(from.now, axis) != front(to.now, target) ||
                front(from.later, axis) != front(to.later, target))
                continue;
            Extents moved;
            moved.append(to, target);
            for (int i = 0; i < to.rank(); ++i)
                if (i != target) moved.append(to, i);
            return move_axis(reshape(move_axis(x, axis, 0), moved), 0, target);
        }
    refuse("more than one axis of its result is computed from extents that are open");
}

ValueId Call::broadcast_to(ValueId x, const Extents& to) {
    const Extents from = extents_of(x);
    if (from.now == to.now && from.later == to.later) return x;
    Attribute shape = list(Attr::shape, to.now);
    const int missing = to.rank() - from.rank();
    for (int axis = 0; axis < to.rank(); ++axis) {
        if (!to.is_open(axis)) continue;
        const int own = axis - missing;
        if (own < 0 || from.now[own] != to.now[axis] || from.later[own] != to.later[axis])
            refuse("its input %s is repeated as often as an open extent says", to_text(from.now).text);
        shape.integers[axis] = -1;
    }
    return apply(Op::broadcast_to, {x}, {shape});
}

ValueId Call::transpose(ValueId x, const std::pmr::vector<std::int64_t>& order) {
    bool same = true;
    if (order.size() > kMaxRank) refuse("it has more than %d axes", kMaxRank);
    Attribute permutation = list(Attr::permutation, {});
    for (const std::int64_t axis : order) {
        same = same && axis == permutation.integer_count;
        permutation.integers[permutation.integer_count++] = axis;
    }
    if (same && permutation.integer_count == extents_of(x).rank()) return x;
    return apply(Op::transpose, {x}, {permutation});
}

ValueId Call::move_axis(ValueId x, int from, int to) {
    std::pmr::vector<std::int64_t> order(heap());
    for (int axis = 0; axis < extents_of(x).rank(); ++axis)
        if (axis != from) order.push_back(axis);
    order.insert(order.begin() + to, from);
    return transpose(x, order);
}

ValueId Call::real_of_flag(ValueId flag) { return apply(Op::where, {flag, scalar(1), scalar(0)}); }

ValueId Call::flag_of_real(ValueId real) { return apply(Op::less, {scalar(0), real}); }

void Call::give(int output, ValueId id, Type type) {
    if (!wants(output)) return;
    if ((type == Type::f16 || type == Type::bf16) && !chooses_elements(row_))
        refuse("it computes in %s, whose roundings a model does not have", type_name(type));
    Value made;
    made.type = type;
    made.id = id;
    made.most = bound_of_result(id, type);
    if (counts_integers(row_) && made.most > kExactIntegers)
        refuse("its integers may be more than float holds, which has each of them up to %g", kExactIntegers);
    building_.values[node_.outputs[static_cast<std::size_t>(output)]] = made;
}

void Call::give_rounded(int output, ValueId id, Type type) {
    give(output, id, type);
    if (wants(output)) building_.values[node_.outputs[static_cast<std::size_t>(output)]].is_rounded = true;
}

void Call::give(int output, KnownPair&& known) {
    if (!wants(output)) return;
    building_.spend(known.now.count() + (known.later ? known.later->count() : 0));
    Value made;
    made.type = known.now.type;
    made.known = building_.keep(std::move(known));
    building_.values[node_.outputs[static_cast<std::size_t>(output)]] = made;
}

void Call::give_same(int output, int input) {
    if (!wants(output)) return;
    // A weight is the same parameter under every name.
    if (!building_.is_known(value(input))) any(input);
    building_.values[node_.outputs[static_cast<std::size_t>(output)]] = value(input);
}

}  // namespace volta::onnx
