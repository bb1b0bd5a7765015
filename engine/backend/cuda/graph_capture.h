// A sequence of launches, copies and fills as one CUDA graph: recorded once, run by one call.
#pragma once

#include "engine/backend/cuda/device.h"

namespace volta::cuda {

// Addresses, launch shapes and the bytes of parameters are those of the recording: memory and kernels must
// stay. Thread: as Gpu.
class Graph final {
  public:
    explicit Graph(Gpu& gpu) : gpu_(gpu) {}  // empty
    ~Graph() { clear(); }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    // Records what `body`, a function returning volta_status, puts into the stream of the Gpu; nothing of it
    // runs. Holds the Gpu's turn meanwhile. What was recorded before is gone. `body` may not wait, upload()
    // or download(), nor make kernels; device memory it gets from what the pool has free.
    // Returns what `body` returns, or the driver's failure: the graph is empty then. What `body` throws comes
    // through.
    template <class Body>
    volta_status record(Body&& body) {
        const Gpu::Turn turn(gpu_);
        if (const volta_status status = begin(); status != VOLTA_OK) return status;
        Recording recording{*this};
        const volta_status status = body();
        return recording.end(status);
    }

    // The recorded work goes into the stream, by one call. An empty graph: VOLTA_INVALID_STATE.
    volta_status run() noexcept;

    bool empty() const noexcept { return executable_ == nullptr; }
    const GpuFigures& work() const noexcept { return work_; }  // of one run
    void clear() noexcept;                                     // what is running of it goes on to its end

  private:
    struct Recording {
        Graph& graph;
        bool ended = false;
        volta_status end(volta_status status) noexcept;
        ~Recording() {
            if (!ended) end(VOLTA_INTERNAL);
        }
    };
    volta_status begin() noexcept;
    volta_status finish(volta_status status) noexcept;

    Gpu& gpu_;
    CUgraph graph_ = nullptr;
    CUgraphExec executable_ = nullptr;
    GpuFigures work_;
};

}  // namespace volta::cuda
