#include "engine/runtime/session.h"

#include <cstring>

#include "engine/base/error.h"
#include "engine/base/fp_environment.h"
#include "engine/graph/step_input.h"
#include "engine/model/gpt.h"
#include "engine/runtime/profile.h"

namespace volta {

void check_limits(const ProgramMemory& memory) {
    const Plan& plan = memory.program().plan();
    for (const InputLimit& limit : plan.limits) {
        const Region& region = plan.regions[static_cast<std::size_t>(limit.region)];
        const auto* ids = memory.at<const std::int32_t>(limit.region);
        const std::size_t count = region.bytes / sizeof(std::int32_t);
        for (std::size_t i = 0; i < count; ++i)
            if (ids[i] < limit.low || ids[i] > limit.high)
                fail(VOLTA_INVALID_ARGUMENT, "%s: element %zu is %d, outside %d .. %d", region.name.c_str(),
                     i, ids[i], limit.low, limit.high);
    }
}

void check_tensor(const char* what, std::size_t index, DType dtype, const Shape& expected,
                  const TensorView& given) {
    if (given.dtype != dtype)
        fail(VOLTA_SHAPE_MISMATCH, "%s %zu: expected elements of %s, got %s", what, index, dtype_name(dtype),
             dtype_name(given.dtype));
    if (given.shape != expected)
        fail(VOLTA_SHAPE_MISMATCH, "%s %zu: expected shape %s, got %s", what, index, to_text(expected).text,
             to_text(given.shape).text);
}

std::pmr::vector<ValueId> host_inputs(const Graph& graph, std::pmr::memory_resource* heap) {
    std::pmr::vector<ValueId> inputs(heap);
    for (const SourceInfo& source : graph.sources) {
        const Node& node = graph.nodes[static_cast<std::size_t>(source.node)];
        if (node.op == Op::input && !is_step_input(node.name.c_str())) inputs.push_back(node.first_output);
    }
    return inputs;
}

std::pmr::vector<Shape> read_input_shapes(const Graph& graph, const std::int64_t* extents, std::size_t count,
                                          std::pmr::memory_resource* heap) {
    std::pmr::vector<Shape> shapes(heap);
    std::size_t next = 0;
    for (ValueId input : host_inputs(graph, heap)) {
        const Node& node = graph.producer(input);
        const Shape& declared = graph.source(graph.value(input).producer).declared;
        Shape shape = declared;
        for (int axis = 0; axis < declared.rank; ++axis) {
            if (extents != nullptr) {
                if (next == count)
                    fail(VOLTA_SHAPE_MISMATCH, "input %s: %zu extents are given, too few for its shape %s",
                         node.name.c_str(), count, to_text(declared).text);
                shape[axis] = extents[next++];
            }
            if (shape[axis] < 1 || (declared[axis] >= 0 && shape[axis] != declared[axis]))
                fail(VOLTA_SHAPE_MISMATCH, "input %s: expected shape %s, got %lld on axis %d",
                     node.name.c_str(), to_text(declared).text, static_cast<long long>(shape[axis]), axis);
        }
        shapes.push_back(shape);
    }
    if (extents != nullptr && next != count)
        fail(VOLTA_SHAPE_MISMATCH, "%zu extents are given, but the inputs have %zu", count, next);
    return shapes;
}

namespace {

const Program& prepare(Context& context, const Model& model, const std::pmr::vector<Shape>& input_shapes,
                       bool pack_weights) {
    std::pmr::memory_resource* heap = context.structures();
    const Graph inference = without_dropout(model.graph, heap);
    const Graph concrete =
        specialize(inference, input_shapes.data(), static_cast<int>(input_shapes.size()), heap);
    PrepareOptions options;
    options.keep_weights = pack_weights;
    return context.plans().prepare(concrete, options);
}

}  // namespace

Session::Session(const ContextRef& context, ModelRef model, const std::pmr::vector<Shape>& input_shapes,
                 bool pack_weights)
    : context_(context),
      model_(std::move(model)),
      parameters_(*context, *model_),
      memory_(prepare(*context, *model_, input_shapes, pack_weights), context->structures()),
      input_regions_(context->structures()),
      output_regions_(context->structures()),
      plan_text_(context->structures()) {
    const Plan& plan = memory_.program().plan();
    for (ValueId input : host_inputs(plan.graph, context->structures()))
        input_regions_.push_back(memory_.find(RegionKind::input, plan.graph.producer(input).name.c_str()));
    for (const GraphOutput& output : plan.graph.outputs)
        output_regions_.push_back(memory_.find(RegionKind::output, output.name.c_str()));
    for (int region : input_regions_) memory_.lend(static_cast<std::size_t>(region), nullptr);
    for (int region : output_regions_) memory_.lend(static_cast<std::size_t>(region), nullptr);
    parameters_.lend_to(memory_, *model_);
    memory_.allocate();
    take_parameters();
}

// In place, and prepacked copies of those that have one.
void Session::take_parameters() {
    parameters_.lend_to(memory_, *model_);
    memory_.keep();
    version_ = model_->version();
}

void Session::run(const TensorView* const* inputs, std::size_t input_count, const TensorView* const* outputs,
                  std::size_t output_count) {
    const ProfileCall call(*context_, "session_run");
    const Plan& plan = memory_.program().plan();
    if (input_count != input_regions_.size())
        fail(VOLTA_INVALID_ARGUMENT, "%zu inputs are given, the model has %zu", input_count,
             input_regions_.size());
    if (output_count != output_regions_.size())
        fail(VOLTA_INVALID_ARGUMENT, "%zu outputs are given, the model has %zu", output_count,
             output_regions_.size());
    const auto bind = [&](const char* what, const TensorView* const* tensors,
                          const std::pmr::vector<int>& regions) {
        for (std::size_t i = 0; i < regions.size(); ++i) {
            const Region& region = plan.regions[static_cast<std::size_t>(regions[i])];
            const Value& value = plan.graph.value(region.source);
            check_tensor(what, i, value.dtype, value.shape, *tensors[i]);
            memory_.lend(static_cast<std::size_t>(regions[i]), tensors[i]->data);
        }
    };
    bind("input", inputs, input_regions_);
    bind("output", outputs, output_regions_);
    if (version_ != model_->version()) take_parameters();
    check_limits(memory_);
    const ContractScope contract;
    memory_.run(Phase::each, 0);
}

Shape Session::output_shape(std::size_t index) const {
    require(index < output_regions_.size(), "output %zu is asked for, the model has %zu", index,
            output_regions_.size());
    const Plan& plan = memory_.program().plan();
    return plan.graph.shape(plan.regions[static_cast<std::size_t>(output_regions_[index])].source);
}

volta_bill Session::bill() const {
    volta_bill bill = {};
    parameters_.add_to(bill);
    memory_.add_to(bill);
    return bill;
}

const char* Session::plan_text() {
    plan_text_ = memory_.program().print(context_->structures());
    return plan_text_.c_str();
}

}  // namespace volta
