#include "engine/backend/cuda/graph_capture.h"

namespace volta::cuda {

volta_status Graph::begin() noexcept {
    if (!gpu_.may_wait("recording a graph")) return gpu_.failure_.status();
    clear();
    const volta_status status =
        gpu_.run(gpu_.driver_.api().capture_begin, gpu_.stream_, int{kCaptureThreadLocal});
    if (status != VOLTA_OK) return status;
    work_ = {};
    gpu_.counted_ = &work_;
    gpu_.recording_ = true;
    return VOLTA_OK;
}

volta_status Graph::Recording::end(volta_status status) noexcept {
    ended = true;
    return graph.finish(status);
}

// The stream leaves the recording whatever happened.
volta_status Graph::finish(volta_status status) noexcept {
    const DriverApi& api = gpu_.driver_.api();
    gpu_.recording_ = false;
    gpu_.counted_ = &gpu_.figures_;
    const CUresult ended = api.capture_end.function(gpu_.stream_, &graph_);
    if (status == VOLTA_OK) status = gpu_.report(ended, api.capture_end.name);
    if (status == VOLTA_OK) status = gpu_.run(api.graph_instantiate, &executable_, graph_, 0ull);
    if (status != VOLTA_OK) clear();
    return status;
}

volta_status Graph::run() noexcept {
    const Gpu::Turn turn(gpu_);
    if (!gpu_.may_wait("running a graph")) return gpu_.failure_.status();
    if (empty()) return gpu_.report(Error(VOLTA_INVALID_STATE, "CUDA: no graph is recorded"));
    const volta_status status = gpu_.run(gpu_.driver_.api().graph_launch, executable_, gpu_.stream_);
    if (status != VOLTA_OK) return status;
    const auto add = [](Traffic& total, const Traffic& more) {
        total.count += more.count;
        total.bytes += more.bytes;
    };
    GpuFigures& figures = gpu_.figures_;
    add(figures.to_device, work_.to_device);
    add(figures.to_host, work_.to_host);
    add(figures.on_device, work_.on_device);
    add(figures.filled, work_.filled);
    figures.kernel_launches += work_.kernel_launches;
    ++figures.graph_launches;
    return VOLTA_OK;
}

void Graph::clear() noexcept {
    if (graph_ == nullptr && executable_ == nullptr) return;
    const Gpu::Turn turn(gpu_);
    const DriverApi& api = gpu_.driver_.api();
    if (executable_ != nullptr && turn.has_context()) api.graph_exec_destroy.function(executable_);
    if (graph_ != nullptr && turn.has_context()) api.graph_destroy.function(graph_);
    executable_ = nullptr;
    graph_ = nullptr;
    work_ = {};
}

}  // namespace volta::cuda
