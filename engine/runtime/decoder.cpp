#include "engine/runtime/decoder.h"

#include "engine/base/error.h"
#include "engine/base/fp_environment.h"
#include "engine/graph/step_input.h"
#include "engine/runtime/decode_graph.h"

namespace volta {

void DecodeProgram::lend(RegionKind kind, const char* name, void* address) {
    const int region = memory_.find(kind, name);
    if (region >= 0) memory_.lend(static_cast<std::size_t>(region), address);
}

void DecodeProgram::place(RegionKind kind, const char* name, const Exchange& exchange, std::size_t offset) {
    const int region = memory_.find(kind, name);
    if (region >= 0) memory_.place(static_cast<std::size_t>(region), exchange, offset);
}

void DecodeProgram::run(ModelMemory& parameters, const Model& model) {
    if (lent_version_ != model.version()) {
        parameters.lend_to(memory_, model);
        lent_version_ = model.version();
    }
    const ContractScope contract;
    memory_.run(Phase::each, 0);
}

void check_decode_program(const Program& program, std::int64_t rows, std::int64_t vocabulary,
                          std::int64_t positions, std::pmr::memory_resource* heap) {
    const Plan& plan = program.plan();
    for (const GraphOutput& output : plan.graph.outputs) {
        if (rows == 0 || output.name != "logits") continue;
        const Shape& shape = plan.graph.shape(output.value);
        require(shape == Shape{rows, vocabulary},
                "the model gives logits %s for %lld tokens, and %lld for one token", to_text(shape).text,
                static_cast<long long>(rows), static_cast<long long>(vocabulary));
    }
    const struct {
        const char *what, *input;
        std::int64_t last;
    } given[] = {{"token", token_input(program, heap), vocabulary - 1},
                 {"position", name_of(StepInput::position), positions - 1}};
    for (const InputLimit& limit : plan.limits)
        for (const auto& ids : given)
            if (plan.regions[static_cast<std::size_t>(limit.region)].name == ids.input)
                require(limit.low <= 0 && limit.high >= ids.last,
                        "the model looks a %s up among %d .. %d, it must know 0 .. %lld", ids.what, limit.low,
                        limit.high, static_cast<long long>(ids.last));
}

const char* token_input(const Program& program, std::pmr::memory_resource* heap) {
    const Graph& graph = program.plan().graph;
    return graph.producer(host_inputs(graph, heap)[0]).name.c_str();
}

}  // namespace volta
