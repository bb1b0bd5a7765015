#include "tests/runtime/plan_runner.h"

#include <cstdio>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/fp_environment.h"
#include "engine/graph/evaluate.h"
#include "tests/support/tensors.h"

namespace volta::test {
namespace {

std::pmr::memory_resource* heap() { return std::pmr::get_default_resource(); }

using Tensor = EvalTensor<float>;

void set(Tensor& tensor, DType dtype, const std::uint32_t* bits, std::int64_t count) {
    if (dtype == DType::f32) {
        tensor.real.resize(static_cast<std::size_t>(count));
        if (count > 0) std::memcpy(tensor.real.data(), bits, static_cast<std::size_t>(count) * 4);
    } else {
        tensor.integer.resize(static_cast<std::size_t>(count));
        if (count > 0) std::memcpy(tensor.integer.data(), bits, static_cast<std::size_t>(count) * 4);
    }
}

Bits bits_of_tensor(const Tensor& tensor, DType dtype) {
    Bits bits(dtype == DType::f32 ? tensor.real.size() : tensor.integer.size());
    const void* data =
        dtype == DType::f32 ? static_cast<const void*>(tensor.real.data()) : tensor.integer.data();
    if (!bits.empty()) std::memcpy(bits.data(), data, bits.size() * 4);
    return bits;
}

bool is_source(const Node& node) { return op_row(node.op).lowering == Lowering::source; }

// The reference's memory: every value's tensor.
class Reference {
  public:
    explicit Reference(const FilledGraph& filled) : filled_(filled), graph_(filled.graph) {
        for (std::size_t v = 0; v < graph_.values.size(); ++v)
            tensors_.push_back(
                Tensor{std::pmr::vector<float>(heap()), std::pmr::vector<std::int32_t>(heap())});
    }

    std::vector<Bits> run() {
        for (std::uint32_t micro = 0; micro < filled_.micro_batches; ++micro) {
            for (const Node& node : graph_.nodes)
                if (is_source(node)) fill(node, micro);
            run_phase(Phase::each, micro);
        }
        run_phase(Phase::reduce, 0);
        run_phase(Phase::update, 0);
        std::vector<Bits> results;
        for (const GraphOutput& output : graph_.outputs)
            results.push_back(bits_of_tensor(at(output.value), graph_.value(output.value).dtype));
        return results;
    }

  private:
    Tensor& at(ValueId value) { return tensors_[static_cast<std::size_t>(value)]; }

    void fill(const Node& node, std::uint32_t micro) {
        const Value& value = graph_.value(node.first_output);
        const std::int64_t count = value.shape.elements();
        if (node.op == Op::constant)
            return set(at(node.first_output), value.dtype,
                       graph_.constants[static_cast<std::size_t>(node.data)].data(), count);
        const Bits& content = filled_.content[static_cast<std::size_t>(node.first_output)];
        if (is_stored(value.dtype)) {
            at(node.first_output).stored = reinterpret_cast<const unsigned char*>(content.data());
            return;
        }
        const bool sliced = static_cast<std::int64_t>(content.size()) > count;
        set(at(node.first_output), value.dtype, content.data() + (sliced ? micro * count : 0), count);
    }

    void run_phase(Phase phase, std::uint32_t micro) {
        for (const Node& node : graph_.nodes) {
            if (is_source(node) || node.phase != phase) continue;
            std::vector<const Tensor*> inputs;
            std::vector<Tensor*> outputs;
            for (const ValueId input : node.inputs) inputs.push_back(&at(input));
            for (int k = 0; k < node.output_count; ++k) outputs.push_back(&at(node.first_output + k));
            evaluate_node(graph_, node, inputs.data(), outputs.data(), micro);
        }
    }

    const FilledGraph& filled_;
    const Graph& graph_;
    std::vector<Tensor> tensors_;
};

void require_ok(Device& device, volta_status status) {
    if (status != VOLTA_OK) fail(status, "%s", device.failure());
}

// The device's memory: one block per region, filled with a pattern that no step may rely on.
class RegionBytes {
  public:
    RegionBytes(const Plan& plan, const FilledGraph& filled, Device& device) : device_(device) {
        for (const Region& region : plan.regions) add(static_cast<std::size_t>(region.bytes), 0xa5);
        for (std::size_t r = 0; r < plan.regions.size(); ++r) fill(plan, r, filled);
        for (const Node& node : plan.graph.nodes) {
            if (node.op != Op::constant) continue;
            const Bits bits(plan.graph.constants[static_cast<std::size_t>(node.data)].begin(),
                            plan.graph.constants[static_cast<std::size_t>(node.data)].end());
            const Place& place = plan.places[static_cast<std::size_t>(node.first_output)];
            write(static_cast<std::size_t>(place.region), place.offset, bits);
        }
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
    void fill(const Plan& plan, std::size_t r, const FilledGraph& filled) {
        const Region& region = plan.regions[r];
        const bool is_source_region = region.kind == RegionKind::input ||
                                      region.kind == RegionKind::parameter ||
                                      region.kind == RegionKind::state;
        if (!is_source_region) return;
        const Bits& content =
            filled.content[static_cast<std::size_t>(filled.graph.find_source(region.name.c_str()))];
        if (!content.empty()) write(r, 0, content);
    }

    Device& device_;
    std::vector<Block> blocks_;
    std::vector<void*> addresses_;
};

}  // namespace

std::vector<MachineRow> machine_rows(const char* device) {
    if (device != nullptr) return {{device, Isa::scalar, 1, false, device}};
    static constexpr MachineRow kRows[] = {
        {"scalar", Isa::scalar, 1, false},
        {"scalar, 2 threads", Isa::scalar, 2, false},
        {"scalar, 3 threads", Isa::scalar, 3, false},
        {"avx2", Isa::avx2, 1, false},
        {"avx2, 2 threads", Isa::avx2, 2, false},
        {"avx2, 3 threads", Isa::avx2, 3, false},
        {"avx512", Isa::avx512, 1, false},
        {"avx512, 2 threads", Isa::avx512, 2, false},
        {"avx512, 3 threads", Isa::avx512, 3, false},
        {"avx2 refused", Isa::avx2, 2, true},
        {"avx512 refused", Isa::avx512, 1, true},
    };
    std::vector<MachineRow> rows;
    for (const MachineRow& row : kRows)
        if (host_cpu().has(row.isa)) rows.push_back(row);
    return rows;
}

namespace {

DeviceOptions device_options() {
    DeviceOptions options;
    options.structures = options.tensors = heap();
    return options;
}

}  // namespace

Machine::Machine(const MachineRow& choice)
    : row(choice),
      pool_(choice.threads, heap()),
      arena_(heap(), choice.refuse_jit),
      device_(open_device(choice.device, device_options())) {}

BackendContext Machine::context() {
    BackendContext context = {};
    context.isa = row.isa;
    context.pool = &pool_;
    context.arena = &arena_;
    context.heap = heap();
    context.operations_per_worker = 1;  // so that tiny tensors are shared too
    return context;
}

std::vector<Bits> run_reference(const FilledGraph& filled) {
    const FpEnvironment contract;
    return Reference(filled).run();
}

std::vector<Bits> run_backend(const FilledGraph& filled, Machine& machine) {
    const FpEnvironment contract;
    PlanOptions options;
    options.micro_batches = filled.micro_batches;
    const HeapPtr<Plan> plan = make_plan(Graph(filled.graph, heap()), options, heap());
    const ExecutablePtr executable = machine.device().compile(*plan, machine.context());
    Device& device = machine.device();
    RegionBytes memory(*plan, filled, device);
    const std::size_t workspace = memory.add(executable->workspace_bytes(), 0x5a);
    RunState state{memory.addresses(), memory.address(workspace), 0};
    for (; state.micro_index < filled.micro_batches; ++state.micro_index)
        require_ok(device, executable->run(Phase::each, state));
    state.micro_index = 0;
    require_ok(device, executable->run(Phase::reduce, state));
    require_ok(device, executable->run(Phase::update, state));

    std::vector<Bits> results;
    unsigned char fence[kTensorAlignment];
    memory.read(workspace, executable->workspace_bytes(), fence, sizeof fence);
    for (unsigned char byte : fence)
        if (byte != 0x5a) return results;  // it wrote beyond the workspace it asked for
    for (const GraphOutput& output : plan->graph.outputs) {
        const Place& place = plan->places[static_cast<std::size_t>(output.value)];
        Bits bits(static_cast<std::size_t>(plan->graph.shape(output.value).elements()));
        memory.read(static_cast<std::size_t>(place.region), place.offset, bits.data(), bits.size() * 4);
        results.push_back(bits);
    }
    return results;
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
