#include "tests/runtime/plan_runner.h"

#include <cstdio>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/fp_environment.h"
#include "tests/runtime/reference_run.h"
#include "tests/support/tensors.h"

namespace volta::test {
namespace {

std::pmr::memory_resource* heap() { return std::pmr::get_default_resource(); }

Bits bits_of_tensor(const EvalTensor<float>& tensor, DType dtype) {
    Bits bits(dtype == DType::f32 ? tensor.real.size() : tensor.integer.size());
    const void* data =
        dtype == DType::f32 ? static_cast<const void*>(tensor.real.data()) : tensor.integer.data();
    if (!bits.empty()) std::memcpy(bits.data(), data, bits.size() * 4);
    return bits;
}

void require_ok(Device& device, volta_status status) {
    if (status != VOLTA_OK) fail(status, "%s", device.failure());
}

// The device's memory: one block per region, filled with a pattern that no step may rely on.
class RegionBytes {
  public:
    RegionBytes(const Plan& plan, const FilledGraph& filled, Device& device)
        : plan_(plan), filled_(filled), device_(device) {
        for (const Region& region : plan.regions) add(static_cast<std::size_t>(region.bytes), 0xa5);
        for (const Node& node : plan.graph.nodes) {
            if (node.op != Op::constant) continue;
            const Bits bits(plan.graph.constants[static_cast<std::size_t>(node.data)].begin(),
                            plan.graph.constants[static_cast<std::size_t>(node.data)].end());
            const Place& place = plan.places[static_cast<std::size_t>(node.first_output)];
            write(static_cast<std::size_t>(place.region), place.offset, bits);
        }
    }
    void fill_sources() {
        for (std::size_t r = 0; r < plan_.regions.size(); ++r) fill(r);
    }
    // A block of its own behind the regions, which it returns the number of.
    std::size_t add(std::size_t bytes, int pattern) {
        const std::vector<unsigned char> content(bytes + kTensorAlignment,
                                                 static_cast<unsigned char>(pattern));
        blocks_.emplace_back(device_.memory(), content.size());
        require_ok(device_, device_.memory().write(blocks_.back().data(), content.data(), content.size()));
        addresses_.push_back(blocks_.back().data());
        return blocks_.size() - 1;
    }
    void* const* addresses() const { return addresses_.data(); }
    void* address(std::size_t block) const { return addresses_[block]; }
    void read(std::size_t block, std::uint64_t offset, void* to, std::size_t bytes) const {
        const auto* from = static_cast<const unsigned char*>(addresses_[block]) + offset;
        require_ok(device_, device_.memory().read(to, from, bytes));
    }

  private:
    void write(std::size_t block, std::uint64_t offset, const Bits& bits) {
        auto* to = static_cast<unsigned char*>(addresses_[block]) + offset;
        require_ok(device_, device_.memory().write(to, bits.data(), bits.size() * 4));
    }
    // Sources keep their names, whatever else plan and passes do to the graph.
    void fill(std::size_t r) {
        const Region& region = plan_.regions[r];
        const bool is_source_region = region.kind == RegionKind::input ||
                                      region.kind == RegionKind::parameter ||
                                      region.kind == RegionKind::state;
        if (!is_source_region) return;
        const Bits& content =
            filled_.content[static_cast<std::size_t>(filled_.graph.find_source(region.name.c_str()))];
        if (!content.empty()) write(r, 0, content);
    }

    const Plan& plan_;
    const FilledGraph& filled_;
    Device& device_;
    std::vector<Block> blocks_;
    std::vector<void*> addresses_;
};

}  // namespace

std::vector<MachineRow> machine_rows(const char* device) {
    if (device != nullptr) return {{device, Isa::scalar, 1, false, device}};
    const auto apart = [](const char* name, Isa isa) {
        MachineRow row = {name, isa, 2, false};
        row.core_to_core_ns = 1000;
        return row;
    };
    static const MachineRow kRows[] = {
        {"scalar", Isa::scalar, 1, false},
        {"scalar, 2 threads", Isa::scalar, 2, false},
        {"scalar, 3 threads", Isa::scalar, 3, false},
        {"avx2", Isa::avx2, 1, false},
        {"avx2, 2 threads", Isa::avx2, 2, false},
        {"avx2, 3 threads", Isa::avx2, 3, false},
        {"avx512", Isa::avx512, 1, false},
        {"avx512, 2 threads", Isa::avx512, 2, false},
        {"avx512, 3 threads", Isa::avx512, 3, false},
        apart("avx2, 2 threads far from each other", Isa::avx2),
        apart("avx512, 2 threads far from each other", Isa::avx512),
        {"avx2 refused", Isa::avx2, 2, true},
        {"avx512 refused", Isa::avx512, 1, true},
    };
    std::vector<MachineRow> rows;
    for (const MachineRow& row : kRows)
        if (host_cpu().has(row.isa)) rows.push_back(row);
    return rows;
}

namespace {

DeviceOptions device_options(const MachineRow& row) {
    DeviceOptions options;
    options.structures = options.tensors = heap();
    options.arithmetic = row.arithmetic;
    options.kernel_folder = row.kernel_folder;
    return options;
}

}  // namespace

Machine::Machine(const MachineRow& choice)
    : row(choice),
      pool_(choice.threads, heap()),
      arena_(heap(), choice.refuse_jit),
      device_(open_device(choice.device, device_options(choice))) {
    pool_.assume_core_to_core_ns(choice.core_to_core_ns);
}

BackendContext Machine::context() {
    BackendContext context = {};
    context.isa = row.isa;
    context.pool = &pool_;
    context.arena = &arena_;
    context.heap = heap();
    context.forced_choice = row.forced_choice;
    context.operations_per_worker = 1;  // so that tiny tensors are shared too
    context.most_llc_bytes = kMostLlcBytes;
    return context;
}

std::vector<Bits> run_reference(const FilledGraph& filled) {
    const FpEnvironment contract;
    ReferenceRun<float> reference(filled);
    reference.run();
    std::vector<Bits> results;
    for (const GraphOutput& output : filled.graph.outputs)
        results.push_back(bits_of_tensor(reference.at(output.value), filled.graph.value(output.value).dtype));
    return results;
}

struct CompiledGraph::Made {
    Made(const FilledGraph& graph, Machine& on, HeapPtr<Plan>&& made_plan)
        : filled(graph),
          machine(on),
          plan(std::move(made_plan)),
          executable(on.device().compile(*plan, on.context())),
          memory(*plan, graph, on.device()),
          workspace(memory.add(executable->workspace_bytes(), 0x5a)) {}
    const FilledGraph& filled;
    Machine& machine;
    const HeapPtr<Plan> plan;
    const ExecutablePtr executable;
    RegionBytes memory;
    const std::size_t workspace;
};

namespace {

HeapPtr<Plan> plan_of(const FilledGraph& filled, const Machine& machine) {
    PlanOptions options;
    options.micro_batches = filled.micro_batches;
    options.arithmetic = machine.row.arithmetic;
    return make_plan(Graph(filled.graph, heap()), options, heap());
}

}  // namespace

CompiledGraph::CompiledGraph(const FilledGraph& filled, Machine& machine)
    : made_(std::make_unique<Made>(filled, machine, plan_of(filled, machine))) {}
CompiledGraph::~CompiledGraph() = default;

std::vector<Bits> CompiledGraph::run() {
    const FpEnvironment contract;
    const Plan& plan = *made_->plan;
    Executable& executable = *made_->executable;
    Device& device = made_->machine.device();
    RegionBytes& memory = made_->memory;
    memory.fill_sources();
    require_names();
    RunState state{memory.addresses(), memory.address(made_->workspace), 0};
    for (; state.micro_index < plan.micro_batches; ++state.micro_index)
        require_ok(device, executable.run(Phase::each, state));
    state.micro_index = 0;
    require_ok(device, executable.run(Phase::reduce, state));
    require_ok(device, executable.run(Phase::update, state));

    std::vector<Bits> results;
    unsigned char fence[kTensorAlignment];
    memory.read(made_->workspace, executable.workspace_bytes(), fence, sizeof fence);
    for (unsigned char byte : fence)
        if (byte != 0x5a) return results;  // it wrote beyond the workspace it asked for
    for (const GraphOutput& output : plan.graph.outputs) {
        const Place& place = plan.places[static_cast<std::size_t>(output.value)];
        Bits bits(static_cast<std::size_t>(plan.graph.shape(output.value).elements()));
        memory.read(static_cast<std::size_t>(place.region), place.offset, bits.data(), bits.size() * 4);
        results.push_back(bits);
    }
    return results;
}

// What plans and profiles print: every step says its kernel, and of which device.
void CompiledGraph::require_names() const {
    const bool is_cuda = made_->machine.row.device != nullptr;
    for (std::size_t i = 0; i < made_->plan->steps.size(); ++i) {
        const std::string name = made_->executable->kernel_name(i);
        const bool says_cuda = name.compare(0, 2, "cu") == 0;  // "cuda row warps", "cublaslt ..."
        if (name != "nothing" && (name.empty() || says_cuda != is_cuda))
            fail(VOLTA_INTERNAL, "step %zu has a kernel of the name '%s'", i, name.c_str());
    }
}

std::string CompiledGraph::kernel_names() const {
    std::string names;
    for (std::size_t i = 0; i < made_->plan->steps.size(); ++i)
        names += std::string(made_->executable->kernel_name(i)) + "\n";
    return names;
}

std::vector<Bits> run_backend(const FilledGraph& filled, Machine& machine) {
    return CompiledGraph(filled, machine).run();
}

std::string first_difference(const Graph& graph, const std::vector<Bits>& expected,
                             const std::vector<Bits>& actual) {
    if (actual.size() != expected.size()) return "the workspace was overrun, or results are missing";
    char text[200];
    for (std::size_t k = 0; k < expected.size(); ++k) {
        const GraphOutput& output = graph.outputs[k];
        const bool real = graph.value(output.value).dtype == DType::f32;
        if (actual[k].size() != expected[k].size())
            return "output " + std::to_string(k) + " has another size";
        for (std::size_t i = 0; i < expected[k].size(); ++i) {
            std::uint32_t want = expected[k][i], got = actual[k][i];
            float x, y;
            std::memcpy(&x, &want, 4);
            std::memcpy(&y, &got, 4);
            if (real) want = bits_of(x), got = bits_of(y);
            if (want == got) continue;
            std::snprintf(text, sizeof text,
                          "output %s, element %zu of %zu: expected %08x (%g), got %08x (%g)",
                          output.name.c_str(), i, expected[k].size(), want, static_cast<double>(x), got,
                          static_cast<double>(y));
            return text;
        }
    }
    return "";
}

}  // namespace volta::test
