#include "engine/runtime/training_plan.h"

#include <algorithm>
#include <optional>

#include "engine/base/error.h"
#include "engine/graph/cost.h"
#include "engine/graph/step_input.h"
#include "engine/plan/live_bytes.h"
#include "engine/runtime/activation_budget.h"
#include "engine/runtime/packed_graph.h"
#include "engine/runtime/sharded_step.h"

namespace volta {

namespace {

// The host's shapes, and those of the model's own step inputs, which are fixed.
std::pmr::vector<Shape> all_input_shapes(const Graph& graph, const std::pmr::vector<Shape>& given,
                                         std::pmr::memory_resource* heap) {
    std::pmr::vector<Shape> shapes(heap);
    std::size_t next = 0;
    for (const SourceInfo& source : graph.sources) {
        const Node& node = graph.nodes[static_cast<std::size_t>(source.node)];
        if (node.op != Op::input) continue;
        shapes.push_back(is_step_input(node.name.c_str()) ? source.declared : given[next++]);
    }
    return shapes;
}

void require_trainable(const Model& model, const TrainingSpec& spec) {
    auto frozen = spec.frozen.begin();
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
        const bool is_frozen = frozen != spec.frozen.end() && static_cast<std::size_t>(*frozen) == i;
        if (is_frozen) ++frozen;
        const NamedTensor& parameter = model.parameters[i];
        if (is_stored(parameter.dtype) && !is_frozen)
            fail(VOLTA_UNSUPPORTED, "parameter '%s' is stored as %s: training needs f32",
                 parameter.name.c_str(), dtype_name(parameter.dtype));
    }
}

Graph training_graph(const Model& model, const TrainerOptions& options, std::pmr::memory_resource* heap) {
    require_trainable(model, options.spec);
    const auto shapes = all_input_shapes(model.graph, options.input_shapes, heap);
    Graph forward = specialize(model.graph, shapes.data(), static_cast<int>(shapes.size()), heap);
    if (options.packed) {
        check_packable(model.graph, heap);
        forward = packed_graph(forward, heap);
    }
    return options.shards > 1 ? build_shard_graph(forward, options.spec, heap)
                              : build_training_graph(forward, options.spec, heap);
}

PrepareOptions prepare_options(const TrainerOptions& options) {
    PrepareOptions prepare;
    prepare.micro_batches = options.spec.micro_batches;
    prepare.activation_budget = options.activation_budget;
    prepare.update_in_backward = options.spec.update_in_backward;
    return prepare;
}

}  // namespace

// What a base lends is read where it is, which is mapped as a rule; a device has a copy.
bool is_in_place(const NamedTensor& parameter, const Program& program) {
    return parameter.is_lent && program.memory().is_host();
}

namespace {

std::size_t region_of(const ProgramMemory& memory, const NamedTensor& parameter) {
    const int found = memory.find(RegionKind::parameter, parameter.name.c_str());
    if (found < 0) fail(VOLTA_INTERNAL, "the training plan has no parameter %s", parameter.name.c_str());
    return static_cast<std::size_t>(found);
}

}  // namespace

namespace {

void lend_states(const TrainerOptions& options, ProgramMemory& memory) {
    if (options.state_folder.empty()) return;
    const auto& regions = memory.program().plan().regions;
    for (std::size_t i = 0; i < regions.size(); ++i)
        if (regions[i].kind == RegionKind::state) memory.lend(i, nullptr);
}

}  // namespace

void lend_others(const Model& model, const TrainerOptions& options, ProgramMemory& memory) {
    for (const NamedTensor& parameter : model.parameters)
        if (is_in_place(parameter, memory.program()))
            memory.lend(region_of(memory, parameter), const_cast<void*>(parameter.data));
    lend_states(options, memory);
}

namespace {

std::uint64_t least_activations(Context& context, const Graph& graph, const PrepareOptions& options) {
    return smallest_activations(graph, options.passes, context.plans().plan_options(options),
                                context.structures());
}

}  // namespace

const Program& prepare_training(Context& context, const Model& model, const TrainerOptions& options) {
    const Graph graph = training_graph(model, options, context.structures());
    PrepareOptions wanted = prepare_options(options);
    for (;;) {
        const Program& program = context.plans().prepare(graph, wanted);
        if (!program.memory().is_host()) {
            if (!options.state_folder.empty())
                fail(VOLTA_UNSUPPORTED, "state_folder is given, and optimizer state lies on the device");
            return program;
        }
        ProgramMemory memory(program, context.structures());
        lend_others(model, options, memory);
        const std::uint64_t missing = memory.missing_bytes(), activations = memory.arena_bytes();
        if (missing == 0) return program;
        const std::uint64_t least = least_activations(context, graph, wanted);
        if (missing > activations || activations - missing < least)
            fail(VOLTA_OUT_OF_MEMORY,
                 "the trainer needs %llu bytes of the host's memory, of them %llu of activations with all "
                 "computed again that can be: %llu are left",
                 static_cast<unsigned long long>(memory.needed_bytes() - activations + least),
                 static_cast<unsigned long long>(least),
                 static_cast<unsigned long long>(memory.needed_bytes() - missing));
        wanted.activation_budget = activations - missing;
    }
}

namespace {

// visit(cost, times): of each step of the plan, and how often this process makes it in a training step.
template <class Visit>
void for_each_cost(const Program& program, const TrainerOptions& options, const Visit& visit) {
    const Plan& plan = program.plan();
    for (const Step& step : plan.steps) {
        const std::uint32_t in_shard = step.phase == Phase::each ? options.spec.micro_batches : 1;
        visit(node_cost(plan.graph, plan.graph.node(step.node)),
              static_cast<double>(in_shard) * options.local_shards());
    }
}

double operations_of(const Program& program, const TrainerOptions& options) {
    double sum = 0;
    for_each_cost(program, options,
                  [&](const NodeCost& cost, double times) { sum += times * cost.operations; });
    return sum;
}

double bytes_of(const Program& program, const TrainerOptions& options) {
    double sum = 0;
    for_each_cost(program, options, [&](const NodeCost& cost, double times) {
        sum += times * static_cast<double>(cost.bytes);
    });
    return sum;
}

// The sum of what each step takes at least.
double seconds_of(const Program& program, const TrainerOptions& options, const volta_machine_speed& speed) {
    double seconds = 0;
    for_each_cost(program, options, [&](const NodeCost& cost, double times) {
        seconds += times * std::max(cost.operations / (speed.fma_gflops * 1e9),
                                    static_cast<double>(cost.bytes) / (speed.stream_gb_s * 1e9));
    });
    return seconds;
}

}  // namespace

void estimate_training(Context& context, const Model& model, const TrainerOptions& options, volta_bill& bill,
                       const volta_machine_speed* speed, TrainingCost* cost) {
    const Program& program = prepare_training(context, model, options);
    ProgramMemory memory(program, context.structures());
    lend_others(model, options, memory);
    std::optional<ShardedStep> sharded;
    if (options.shards > 1) sharded.emplace(context, options, memory);
    if (sharded) lend_states(options, sharded->update());
    if (sharded)
        sharded->require_room();
    else
        memory.require_room();
    memory.add_to(bill);
    if (sharded) sharded->add_to(bill);
    if (cost == nullptr) return;

    const Graph graph = training_graph(model, options, context.structures());
    PrepareOptions fastest = prepare_options(options);
    fastest.activation_budget = 0;
    cost->operations = operations_of(program, options);
    cost->repeated_operations =
        cost->operations - operations_of(context.plans().prepare(graph, fastest), options);
    cost->bytes = bytes_of(program, options);
    cost->smallest_activations = least_activations(context, graph, fastest);
    if (speed != nullptr) cost->seconds = seconds_of(program, options, *speed);
}

namespace {

// Which nodes of a plan depend on the gradient of its loss.
std::pmr::vector<bool> gradient_nodes(const Graph& graph, std::pmr::memory_resource* heap) {
    std::pmr::vector<bool> depends(graph.nodes.size(), false, heap);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
        const Node& node = graph.nodes[n];
        depends[n] = node.op == Op::input && node.name == name_of(StepInput::gradient_scale);
        for (const ValueId input : node.inputs)
            if (depends[static_cast<std::size_t>(graph.value(input).producer)]) depends[n] = true;
    }
    return depends;
}

}  // namespace

std::pmr::vector<PlanStep> plan_steps(Context& context, const Model& model, const TrainerOptions& options) {
    std::pmr::memory_resource* heap = context.structures();
    const Plan& plan = prepare_training(context, model, options).plan();
    const std::pmr::vector<std::uint64_t> alive = live_bytes(plan, heap);
    const std::pmr::vector<bool> of_gradient = gradient_nodes(plan.graph, heap);
    std::pmr::vector<PlanStep> steps(heap);
    steps.reserve(plan.steps.size());
    PlanPart part = PlanPart::forward;
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        if (plan.steps[i].phase == Phase::update)
            part = PlanPart::update;
        else if (of_gradient[static_cast<std::size_t>(plan.steps[i].node)])
            part = std::max(part, PlanPart::backward);
        steps.push_back({op_row(plan.graph.node(plan.steps[i].node).op).name, alive[i], part});
    }
    return steps;
}

}  // namespace volta
