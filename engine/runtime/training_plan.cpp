#include "engine/runtime/training_plan.h"

#include <algorithm>
#include <optional>

#include "engine/base/error.h"
#include "engine/graph/cost.h"
#include "engine/graph/step_input.h"
#include "engine/plan/live_bytes.h"
#include "engine/runtime/activation_budget.h"
#include "engine/runtime/norm_pass.h"
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

struct TrainingGraphs {
    Graph step;
    std::optional<Graph> norm;
};

TrainingGraphs training_graphs(const Model& model, const TrainerOptions& options,
                               std::pmr::memory_resource* heap) {
    require_trainable(model, options.spec);
    const auto shapes = all_input_shapes(model.graph, options.input_shapes, heap);
    Graph forward = specialize(model.graph, shapes.data(), static_cast<int>(shapes.size()), heap);
    if (options.packed) {
        check_packable(model.graph, heap);
        forward = packed_graph(forward, heap);
    }
    if (options.shards > 1) return {build_shard_graph(forward, options.spec, heap), std::nullopt};
    TrainingGraphs graphs = {build_training_graph(forward, options.spec, heap), std::nullopt};
    if (options.spec.needs_norm_pass()) graphs.norm = build_norm_graph(forward, options.spec, heap);
    return graphs;
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

// Of the norm pass, beside those of the other.
PrepareOptions norm_options(PrepareOptions options) {
    options.update_in_backward = false;
    return options;
}

std::uint64_t least_activations(Context& context, const Graph& graph, const PrepareOptions& options) {
    return smallest_activations(graph, options.passes, context.plans().plan_options(options),
                                context.structures());
}

// Of both passes, which have one arena.
std::uint64_t least_activations(Context& context, const TrainingGraphs& graphs,
                                const PrepareOptions& options) {
    const std::uint64_t least = least_activations(context, graphs.step, options);
    if (!graphs.norm) return least;
    return std::max(least, least_activations(context, *graphs.norm, norm_options(options)));
}

TrainingPrograms prepare_both(Context& context, const TrainingGraphs& graphs, const PrepareOptions& options) {
    PlanCache& plans = context.plans();
    if (!graphs.norm) return {plans.prepare(graphs.step, options), nullptr};
    try {
        const Program& norm = plans.prepare(*graphs.norm, norm_options(options));
        return {plans.prepare(graphs.step, options), &norm};
    } catch (const Error& error) {  // of a budget too small the sentence of the pass that needs more is true
        if (error.status() != VOLTA_OUT_OF_MEMORY || options.activation_budget == 0) throw;
        if (least_activations(context, graphs.step, options) >=
            least_activations(context, *graphs.norm, norm_options(options)))
            plans.prepare(graphs.step, options);
        throw;
    }
}

// Throws where the memory that there is cannot hold the step. 0: it can; else what activations may take.
std::uint64_t budget_that_fits(Context& context, const TrainingGraphs& graphs, const PrepareOptions& wanted,
                               const ProgramMemory& memory, const std::optional<NormPass>& norm,
                               std::uint64_t of_shards) {
    const std::uint64_t needed = memory.needed_bytes() + (norm ? norm->needed_bytes() : 0) + of_shards,
                        available = memory.program().memory().available(),
                        activations = norm ? norm->arena_bytes() : memory.arena_bytes();
    if (needed <= available) return 0;
    const std::uint64_t missing = needed - available, least = least_activations(context, graphs, wanted);
    if (missing > activations || activations - missing < least)
        fail(VOLTA_OUT_OF_MEMORY,
             "the trainer needs %llu bytes of the host's memory, of them %llu of activations with all "
             "computed again that can be: %llu are left",
             static_cast<unsigned long long>(needed - activations + least),
             static_cast<unsigned long long>(least), static_cast<unsigned long long>(available));
    return activations - missing;
}

}  // namespace

TrainingPrograms prepare_training(Context& context, const Model& model, const TrainerOptions& options) {
    const TrainingGraphs graphs = training_graphs(model, options, context.structures());
    PrepareOptions wanted = prepare_options(options);
    for (;;) {
        const TrainingPrograms programs = prepare_both(context, graphs, wanted);
        if (!programs.step.memory().is_host()) {
            if (!options.state_folder.empty())
                fail(VOLTA_UNSUPPORTED, "state_folder is given, and optimizer state lies on the device");
            return programs;
        }
        ProgramMemory memory(programs.step, context.structures());
        lend_others(model, options, memory);
        std::optional<NormPass> norm;
        if (programs.norm != nullptr) norm.emplace(*programs.norm, memory, context.structures());
        std::uint64_t of_shards = 0;
        if (options.shards > 1) {
            ShardedStep sharded(context, options, memory);
            lend_states(options, sharded.update());
            of_shards = sharded.needed_bytes();
        }
        const std::uint64_t budget = budget_that_fits(context, graphs, wanted, memory, norm, of_shards);
        if (budget == 0) return programs;
        wanted.activation_budget = budget;
    }
}

namespace {

// visit(cost, times): of each step of the plans, and how often this process makes it in a training step.
template <class Visit>
void for_each_cost(const TrainingPrograms& programs, const TrainerOptions& options, const Visit& visit) {
    for (const Program* const program : {programs.norm, &programs.step}) {
        if (program == nullptr) continue;
        const Plan& plan = program->plan();
        for (const Step& step : plan.steps) {
            const std::uint32_t in_shard = step.phase == Phase::each ? options.spec.micro_batches : 1;
            visit(node_cost(plan.graph, plan.graph.node(step.node)),
                  static_cast<double>(in_shard) * options.local_shards());
        }
    }
}

double operations_of(const TrainingPrograms& programs, const TrainerOptions& options) {
    double sum = 0;
    for_each_cost(programs, options,
                  [&](const NodeCost& cost, double times) { sum += times * cost.operations; });
    return sum;
}

double bytes_of(const TrainingPrograms& programs, const TrainerOptions& options) {
    double sum = 0;
    for_each_cost(programs, options, [&](const NodeCost& cost, double times) {
        sum += times * static_cast<double>(cost.bytes);
    });
    return sum;
}

// The sum of what each step takes at least.
double seconds_of(const TrainingPrograms& programs, const TrainerOptions& options,
                  const volta_machine_speed& speed) {
    double seconds = 0;
    for_each_cost(programs, options, [&](const NodeCost& cost, double times) {
        seconds += times * std::max(cost.operations / (speed.fma_gflops * 1e9),
                                    static_cast<double>(cost.bytes) / (speed.stream_gb_s * 1e9));
    });
    return seconds;
}

}  // namespace

void estimate_training(Context& context, const Model& model, const TrainerOptions& options, volta_bill& bill,
                       const volta_machine_speed* speed, TrainingCost* cost) {
    const TrainingPrograms programs = prepare_training(context, model, options);
    ProgramMemory memory(programs.step, context.structures());
    lend_others(model, options, memory);
    std::optional<NormPass> norm;
    if (programs.norm != nullptr) norm.emplace(*programs.norm, memory, context.structures());
    std::optional<ShardedStep> sharded;
    if (options.shards > 1) sharded.emplace(context, options, memory);
    if (sharded) lend_states(options, sharded->update());
    if (sharded)
        sharded->require_room();
    else
        memory.require_room();
    memory.add_to(bill);
    if (norm) norm->add_to(bill);
    if (sharded) sharded->add_to(bill);
    if (cost == nullptr) return;

    const TrainingGraphs graphs = training_graphs(model, options, context.structures());
    PrepareOptions fastest = prepare_options(options);
    fastest.activation_budget = 0;
    cost->operations = operations_of(programs, options);
    cost->repeated_operations =
        cost->operations - operations_of(prepare_both(context, graphs, fastest), options);
    cost->bytes = bytes_of(programs, options);
    cost->smallest_activations = least_activations(context, graphs, fastest);
    if (speed != nullptr) cost->seconds = seconds_of(programs, options, *speed);
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

void add_steps(const Plan& plan, std::pmr::vector<PlanStep>& steps) {
    std::pmr::memory_resource* heap = steps.get_allocator().resource();
    const std::pmr::vector<std::uint64_t> alive = live_bytes(plan, heap);
    const std::pmr::vector<bool> of_gradient = gradient_nodes(plan.graph, heap);
    PlanPart gone = PlanPart::forward;  // what is computed again behind the loss is part of the backward pass
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
        const NodeId at = plan.steps[i].node;
        const Node& node = plan.graph.node(at);
        if (of_gradient[static_cast<std::size_t>(at)]) gone = PlanPart::backward;
        const PlanPart part = node.phase == Phase::update ? PlanPart::update : gone;
        steps.push_back({op_row(node.op).name, alive[i], part});
    }
}

}  // namespace

std::pmr::vector<PlanStep> plan_steps(Context& context, const Model& model, const TrainerOptions& options) {
    const TrainingPrograms programs = prepare_training(context, model, options);
    std::pmr::vector<PlanStep> steps(context.structures());
    if (programs.norm != nullptr) add_steps(programs.norm->plan(), steps);
    add_steps(programs.step.plan(), steps);
    return steps;
}

}  // namespace volta
