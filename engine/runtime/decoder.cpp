#include "engine/runtime/decoder.h"

#include "engine/base/error.h"
#include "engine/base/fp_environment.h"

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

const char* token_input(const Program& program, std::pmr::memory_resource* heap) {
    const Graph& graph = program.plan().graph;
    return graph.producer(host_inputs(graph, heap)[0]).name.c_str();
}

}  // namespace volta
