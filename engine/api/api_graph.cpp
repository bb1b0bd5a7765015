// volta.h: graph.
#include <cmath>
#include <cstring>

#include "engine/api/guard.h"
#include "engine/api/handles.h"
#include "engine/api/operators.h"
#include "engine/graph/print.h"

using namespace volta;
using namespace volta::api;

namespace {

ValueId read_value(const volta_graph* graph, volta_value value, const char* what) {
    require(value.id >= 0 && static_cast<std::size_t>(value.id) < graph->graph.values.size(),
            "%s is value %d, which is none of this graph", what, value.id);
    return value.id;
}

// Extents of a source; -1 is allowed for inputs.
Shape read_declared(const int64_t* extents, int32_t rank, bool dynamic) {
    require(rank >= 0 && rank <= VOLTA_MAX_RANK, "rank is %d, it must be in 0 .. %d", rank, VOLTA_MAX_RANK);
    require(extents != nullptr || rank == 0, "shape is NULL");
    Shape shape;
    shape.rank = rank;
    for (int axis = 0; axis < rank; ++axis) {
        require(extents[axis] >= (dynamic ? -1 : 1), "the extent of axis %d is %lld", axis,
                static_cast<long long>(extents[axis]));
        shape[axis] = extents[axis];
    }
    constexpr std::uint64_t kMostElements = std::uint64_t{1} << 40;
    std::uint64_t elements = 1;
    for (int axis = 0; axis < rank; ++axis) {
        const std::int64_t known = extents[axis] < 0 ? 1 : extents[axis];
        if (multiply_overflows(elements, static_cast<std::uint64_t>(known), &elements) ||
            elements > kMostElements)
            fail(VOLTA_INVALID_ARGUMENT, "shape %s has more than 2^40 elements", to_text(shape).text);
    }
    return shape;
}

void apply(volta_graph* graph, const char* op, const volta_value* inputs, size_t input_count,
           const volta_attribute* attributes, size_t attribute_count, volta_value* out_values,
           size_t out_count) {
    require(graph != nullptr, "graph is NULL");
    require(op != nullptr, "op is NULL");
    const OpRow* row = find_public_op(op);
    require(inputs != nullptr || input_count == 0, "%s: inputs is NULL", op);
    require(input_count <= 4096, "%s: %zu inputs are given", op, input_count);
    require(attributes != nullptr || attribute_count == 0, "%s: attributes is NULL", op);
    require(out_values != nullptr || out_count == 0, "%s: out_values is NULL", op);
    std::pmr::memory_resource* heap = graph->context->structures();
    std::pmr::vector<ValueId> values(heap);
    for (size_t i = 0; i < input_count; ++i) values.push_back(read_value(graph, inputs[i], op));
    std::pmr::vector<Attribute> read(heap);
    read_attributes(*row, attributes, attribute_count, read);
    const std::size_t mark = graph->graph.values.size();
    const ValueId first = graph->graph.apply(row->op, values.data(), static_cast<int>(values.size()),
                                             read.data(), static_cast<int>(read.size()), Phase::each);
    const std::size_t made = graph->graph.values.size() - mark;
    if (out_count > made)
        fail(VOLTA_INVALID_ARGUMENT, "%s has %zu outputs, %zu are asked for", op, made, out_count);
    for (size_t i = 0; i < out_count; ++i) out_values[i].id = first + static_cast<ValueId>(i);
}

void clear(volta_value* values, size_t count) {
    for (size_t i = 0; values != nullptr && i < count; ++i) values[i].id = -1;
}

}  // namespace

volta_status volta_graph_create(volta_context* context, volta_graph** out_graph) {
    if (out_graph != nullptr) *out_graph = nullptr;
    return guarded([&] {
        require(out_graph != nullptr, "out_graph is NULL");
        require(context != nullptr, "context is NULL");
        const ContextRef owner(unwrap(context));
        *out_graph = make_handle<volta_graph>(owner, Graph(owner->structures()),
                                              std::pmr::string(owner->structures()));
    });
}

void volta_graph_release(volta_graph* graph) {
    unfailing([&] { end_handle(graph); });
}

volta_status volta_graph_input(volta_graph* graph, const char* name, volta_dtype dtype, const int64_t* shape,
                               int32_t rank, volta_value* out_value) {
    clear(out_value, 1);
    return guarded([&] {
        require(graph != nullptr && out_value != nullptr, "%s is NULL",
                graph == nullptr ? "graph" : "out_value");
        check_source_name(name);
        require(dtype == VOLTA_F32 || dtype == VOLTA_I32,
                "input %s: dtype is %d, it must be VOLTA_F32 or VOLTA_I32", name, dtype);
        out_value->id = graph->graph.input(name, static_cast<DType>(dtype), read_declared(shape, rank, true));
    });
}

volta_status volta_graph_parameter(volta_graph* graph, const char* name, const int64_t* shape, int32_t rank,
                                   const volta_init* init, volta_value* out_value) {
    clear(out_value, 1);
    return guarded([&] {
        require(graph != nullptr && out_value != nullptr, "%s is NULL",
                graph == nullptr ? "graph" : "out_value");
        check_source_name(name);
        Init start;
        if (init != nullptr) start = Init{init->kind, init->a, init->b};
        require(start.kind >= VOLTA_INIT_CONSTANT && start.kind <= VOLTA_INIT_UNIFORM,
                "parameter %s: init kind is %d, it must be in 0 .. 2", name, start.kind);
        require(std::isfinite(start.a) && std::isfinite(start.b),
                "parameter %s: its init %g, %g is not finite", name, start.a, start.b);
        out_value->id = graph->graph.parameter(name, read_declared(shape, rank, false), start);
    });
}

volta_status volta_graph_constant(volta_graph* graph, const volta_tensor* tensor, volta_value* out_value) {
    clear(out_value, 1);
    return guarded([&] {
        require(graph != nullptr && out_value != nullptr, "%s is NULL",
                graph == nullptr ? "graph" : "out_value");
        require(tensor != nullptr, "tensor is NULL");
        compute(*const_cast<volta_tensor*>(tensor));  // a tape's result
        out_value->id = graph->graph.constant(tensor->view.dtype, tensor->view.shape, tensor->view.data);
    });
}

volta_status volta_graph_apply(volta_graph* graph, const char* op, const volta_value* inputs,
                               size_t input_count, const volta_attribute* attributes, size_t attribute_count,
                               volta_value* out_values, size_t out_count) {
    const volta_status status = guarded(
        [&] { apply(graph, op, inputs, input_count, attributes, attribute_count, out_values, out_count); });
    if (status != VOLTA_OK) clear(out_values, out_count);  // not before: they may be the inputs
    return status;
}

volta_status volta_graph_unary(volta_graph* graph, const char* op, volta_value x, volta_value* out_value) {
    clear(out_value, 1);
    return guarded([&] {
        require(out_value != nullptr, "out_value is NULL");
        apply(graph, op, &x, 1, nullptr, 0, out_value, 1);
    });
}

volta_status volta_graph_binary(volta_graph* graph, const char* op, volta_value a, volta_value b,
                                volta_value* out_value) {
    clear(out_value, 1);
    return guarded([&] {
        require(out_value != nullptr, "out_value is NULL");
        const volta_value inputs[] = {a, b};
        apply(graph, op, inputs, 2, nullptr, 0, out_value, 1);
    });
}

volta_status volta_graph_linear(volta_graph* graph, const char* name, volta_value x, int64_t out_features,
                                volta_value* out_value) {
    clear(out_value, 1);
    return guarded([&] {
        require(graph != nullptr && out_value != nullptr, "%s is NULL",
                graph == nullptr ? "graph" : "out_value");
        check_source_name(name);
        const ValueId input = read_value(graph, x, "x");
        const Shape shape = graph->graph.shape(input);
        if (shape.rank < 1) fail(VOLTA_SHAPE_MISMATCH, "linear %s: x has rank 0", name);
        require(out_features >= 1 && out_features <= (int64_t{1} << 31), "linear %s: out_features is %lld",
                name, static_cast<long long>(out_features));
        std::pmr::memory_resource* heap = graph->context->structures();
        std::pmr::string weight_name(name, heap), bias_name(name, heap);
        weight_name += ".weight";
        bias_name += ".bias";
        Graph changed(graph->graph, heap);  // both parameters or none
        const Init init{VOLTA_INIT_NORMAL, 1.0 / std::sqrt(static_cast<double>(shape.last())), 0};
        const ValueId weight =
            changed.parameter(weight_name.c_str(), Shape{shape.last(), out_features}, init);
        const ValueId bias = changed.parameter(bias_name.c_str(), Shape{out_features}, Init{});
        const ValueId product = changed.apply(Op::matmul, {input, weight});
        const ValueId sum = changed.apply(Op::add, {product, bias});
        graph->graph = std::move(changed);
        out_value->id = sum;
    });
}

volta_status volta_graph_output(volta_graph* graph, const char* name, volta_value value) {
    return guarded([&] {
        require(graph != nullptr, "graph is NULL");
        check_source_name(name);
        graph->graph.output(name, read_value(graph, value, "value"));
    });
}

volta_status volta_graph_value_shape(const volta_graph* graph, volta_value value, int64_t* shape,
                                     int32_t* out_rank) {
    if (out_rank != nullptr) *out_rank = 0;
    return guarded([&] {
        require(graph != nullptr, "graph is NULL");
        require(shape != nullptr && out_rank != nullptr, "%s is NULL",
                shape == nullptr ? "shape" : "out_rank");
        const Shape& known = graph->graph.shape(read_value(graph, value, "value"));
        std::memcpy(shape, known.extent, static_cast<std::size_t>(known.rank) * sizeof(int64_t));
        *out_rank = known.rank;
    });
}

volta_status volta_graph_print(volta_graph* graph, const char** out_text) {
    if (out_text != nullptr) *out_text = nullptr;
    return guarded([&] {
        require(graph != nullptr && out_text != nullptr, "%s is NULL",
                graph == nullptr ? "graph" : "out_text");
        graph->text = print(graph->graph, graph->context->structures());
        *out_text = graph->text.c_str();
    });
}
