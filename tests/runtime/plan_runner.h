// Runs one graph twice: through plan and backend on a machine of choice, and node by node through the
// reference evaluator. What comes back is bits, to be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/base/thread_pool.h"
#include "engine/graph/graph.h"
#include "engine/plan/plan.h"
#include "jitgen/code.h"

namespace volta::test {

using Bits = std::vector<std::uint32_t>;

// One way to run: a device, or an instruction set, threads, and whether the system grants executable memory.
struct MachineRow {
    const char* name;
    Isa isa;
    int threads;
    bool refuse_jit;
    const char* device = nullptr;         // NULL: the processor
    Arithmetic arithmetic = {};           // of its plans
    const char* kernel_folder = nullptr;  // where compiled kernels are kept; NULL: nowhere
    const char* forced_choice = nullptr;  // of all products; NULL: the default rules
    double core_to_core_ns = 0;           // between the threads' cores; 0: what is measured
};
// The last-level cache, as far as backends are told: what lies beyond it is soon made (backend_cases.cpp).
constexpr std::size_t kMostLlcBytes = std::size_t{8} << 20;
// All that this processor can run; with a device, that alone.
std::vector<MachineRow> machine_rows(const char* device = nullptr);

class Machine final {
  public:
    explicit Machine(const MachineRow& row);
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    BackendContext context();
    Device& device() { return *device_; }
    const MachineRow row;

  private:
    ThreadPool pool_;
    jit::CodeArena arena_;
    DevicePtr device_;
};

// A graph with the content of its sources: bits of all micro-batches, one entry per value (empty: no source).
struct FilledGraph {
    explicit FilledGraph() : graph(std::pmr::get_default_resource()) {}
    Graph graph;
    std::vector<Bits> content;
    std::uint32_t micro_batches = 1;
};

// A graph that is compiled for a machine, to run as often as asked: from the same sources, at the same
// addresses. Both outlive it.
class CompiledGraph final {
  public:
    CompiledGraph(const FilledGraph& filled, Machine& machine);
    ~CompiledGraph();
    CompiledGraph(const CompiledGraph&) = delete;
    CompiledGraph& operator=(const CompiledGraph&) = delete;
    // As run_backend; none where it wrote beyond the workspace that it had asked for.
    std::vector<Bits> run();
    std::string kernel_names() const;  // of all steps, a line each

  private:
    void require_names() const;
    struct Made;
    std::unique_ptr<Made> made_;
};

// The bits of every graph output, in order. Persisting ones: after the last micro-batch.
std::vector<Bits> run_reference(const FilledGraph& filled);
std::vector<Bits> run_backend(const FilledGraph& filled, Machine& machine);

// "output 1 (y1), element 7: expected 3f800000, got 3f800001", or "" when all bits agree (any NaN equals any
// NaN).
std::string first_difference(const Graph& graph, const std::vector<Bits>& expected,
                             const std::vector<Bits>& actual);

}  // namespace volta::test
