#include "engine/backend/cpu/cpu_device.h"

#include <cstdio>

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/cpu_cache.h"
#include "engine/backend/cpu/tuning/tune.h"
#include "engine/backend/host_memory.h"
#include "engine/base/cpu_info.h"
#include "engine/base/error.h"
#include "engine/base/memory.h"

namespace volta::cpu {
namespace {

class CpuDevice final : public Device {
  public:
    explicit CpuDevice(const DeviceOptions& options)
        : heap_(options.structures),
          memory_(options.tensors, options.host_budget),
          cache_(options.structures) {}

    DeviceInfo info() const noexcept override { return describe_device(0, heap_); }
    Memory& memory() noexcept override { return memory_; }
    Memory& staging() noexcept override { return memory_; }
    ExecutablePtr compile(const Plan& plan, const BackendContext& context) override {
        return compile_plan(plan, with_cache(context));
    }
    const char* failure() const noexcept override { return "the processor never fails"; }

    void open_tuning_folder(const char* folder, const Log& log) override {
        cache_.folder.emplace(folder, log, heap_);
        cache_.folder->load(cache_.tuning);
    }
    std::uint64_t tuning_version() const noexcept override { return cache_.tuning.version(); }
    void tune(const TuneRequest& request, const BackendContext& context) override {
        cpu::tune(request, with_cache(context));
    }

    void explain(const ExplainRequest& request, const BackendContext& context,
                 std::pmr::string& text) override {
        cpu::explain(request, with_cache(context), text);
    }

  private:
    BackendContext with_cache(const BackendContext& context) {
        BackendContext own = context;
        own.kernel_cache = &cache_;
        return own;
    }
    std::pmr::memory_resource* heap_;
    HostMemory memory_;
    CpuCache cache_;
};

}  // namespace

int count_devices(std::pmr::memory_resource*) { return 1; }

DeviceInfo describe_device(int, std::pmr::memory_resource*) {
    DeviceInfo info = {};
    std::snprintf(info.name, sizeof info.name, "cpu");
    std::snprintf(info.description, sizeof info.description, "%s", host_cpu().brand);
    info.multiprocessors = host_cpu().physical_cores;
    return info;
}

DevicePtr open_device(const DeviceOptions& options) {
    require(options.index == 0, "device is cpu:%d, there is one processor: cpu", options.index);
    // Every level is kept here by the kernels of strict, which round no operand.
    const Arithmetic asked = options.arithmetic;
    if (asked.precision != Precision::fp32)
        fail(VOLTA_UNSUPPORTED, "precision %s at level %s is offered on CUDA alone; the device is cpu",
             precision_name(asked.precision), level_name(asked.level));
    return DevicePtr(make_on<CpuDevice>(options.structures, options).release(),
                     DeviceDelete{options.structures, sizeof(CpuDevice), alignof(CpuDevice)});
}

}  // namespace volta::cpu
