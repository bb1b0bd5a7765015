// One GPU as a guest uses it: the primary context, which the host may share, one stream, a pool of memory,
// and figures of everything that went over the bus.
//
// What changes the device's memory or runs on it is noexcept and returns a status, allocates nothing on the
// host, and is in order: later work sees what earlier work did. What makes or allocates throws. After a fatal
// failure (a kernel's illegal access) every call returns that failure; destroying everything is safe then,
// and a new Gpu works again unless somebody else of the process still holds the context.
//
// Thread: any; calls take turns. The calling thread's current context is as before after each call.
#pragma once

#include <mutex>

#include "engine/backend/cuda/device_memory.h"
#include "engine/backend/cuda/device_pool.h"
#include "engine/backend/cuda/driver.h"

namespace volta::cuda {

struct GpuOptions {
    int device = 0;                   // 0 .. Driver::device_count() - 1
    std::uint64_t budget = 0;         // bytes of device memory that may be held; 0: what the device has
    std::uint64_t pinned_budget = 0;  // bytes of pinned host memory; 0: what the system has
};

// So far. What a graph does is counted each time it runs, not when it is recorded.
struct Traffic {
    std::uint64_t count = 0, bytes = 0;
};
struct GpuFigures {
    Traffic to_device, to_host, on_device, filled;
    std::uint64_t kernel_launches = 0;  // kernels that ran, those of graphs too
    std::uint64_t graph_launches = 0;
    std::uint64_t waits = 0;  // times that the host waited for the device
};

// A function on the device. Lends: by KernelStore, as long as that lives.
struct Kernel {
    CUfunction function = nullptr;
    const char* name = "";
    int registers = 0;             // of a thread
    int max_threads = 0;           // of a block
    std::size_t shared_bytes = 0;  // of a block, as the text declares them
    std::size_t local_bytes = 0;   // of a thread: what did not fit into registers
};

struct LaunchShape {
    unsigned grid_x = 1, grid_y = 1, grid_z = 1;           // blocks, each at least 1
    unsigned threads_x = 1, threads_y = 1, threads_z = 1;  // of a block
    unsigned shared_bytes = 0;                             // dynamic
};

class Gpu final : private DeviceSource {
  public:
    // `driver` and `heap` outlive it. Throws INVALID_ARGUMENT, OUT_OF_MEMORY, DEVICE_ERROR.
    Gpu(const Driver& driver, const GpuOptions& options, std::pmr::memory_resource* heap);
    ~Gpu();  // waits for the stream
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    const Driver& driver() const noexcept { return driver_; }
    const DeviceFacts& facts() const noexcept { return facts_; }
    CUstream stream() const noexcept { return stream_; }

    // Holds the turn and makes the context current, for several calls at the price of one, and for a
    // failure() that is surely this thread's. Nests.
    class Turn final {
      public:
        explicit Turn(Gpu& gpu) noexcept;
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        // False: somebody has reset the device; what was made there is gone, and its handles name nothing.
        bool has_context() const noexcept { return gpu_.pushed_; }

      private:
        Gpu& gpu_;
    };

    // ---- Memory. Sizes are bytes. Throws OUT_OF_MEMORY "CUDA: <purpose> needs N bytes, has M: <why>",
    // INVALID_STATE while a graph is recorded and no free memory is at hand.
    DeviceMemory allocate(std::size_t bytes, const char* purpose) { return {*this, bytes, purpose}; }
    PinnedMemory allocate_pinned(std::size_t bytes, const char* purpose) { return {*this, bytes, purpose}; }
    MemoryFigures memory() noexcept;
    std::uint64_t free_bytes() noexcept override;  // of the device, as the driver says; 0 after a failure
    void trim() noexcept;                          // gives back to the driver what nobody uses

    // ---- Copies. 0 bytes: nothing happens, nothing is counted.
    // These two wait for the device; not while a graph is recorded (INVALID_STATE).
    volta_status upload(CUdeviceptr to, const void* from, std::size_t bytes) noexcept;
    volta_status download(void* to, CUdeviceptr from, std::size_t bytes) noexcept;
    // Keeps: the pinned bytes [offset, offset + bytes) until the stream has come to it (wait(), Event).
    volta_status upload_later(CUdeviceptr to, const PinnedMemory& from, std::size_t offset,
                              std::size_t bytes) noexcept;
    volta_status download_later(const PinnedMemory& to, std::size_t offset, CUdeviceptr from,
                                std::size_t bytes) noexcept;
    volta_status copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) noexcept;  // may not overlap
    volta_status fill(CUdeviceptr to, unsigned char value, std::size_t bytes) noexcept;
    volta_status fill_words(CUdeviceptr to, std::uint32_t value, std::size_t words) noexcept;

    // ---- Work
    // parameters[i]: address of the i-th parameter, read during the call.
    volta_status launch(const Kernel& kernel, const LaunchShape& shape, void** parameters) noexcept;
    volta_status wait() noexcept;  // until everything in the stream is done: failures of kernels show here
    volta_status look(bool* is_done) noexcept;  // whether it is, without waiting

    // ---- Failures
    // The latest call that did not return VOLTA_OK: its status and sentence. VOLTA_OK and "" before the
    // first.
    Error failure() noexcept;
    bool lost() noexcept;  // a fatal failure happened: every call returns it
    // Throws failure() unless `status` is VOLTA_OK.
    void require(volta_status status) {
        if (status != VOLTA_OK) throw failure();
    }

    GpuFigures figures() noexcept;

  private:
    friend class DeviceMemory;
    friend class PinnedMemory;
    friend class Event;
    friend class Graph;
    friend class KernelStore;
    friend class CublasLtLibrary;

    // Everything below is called with the turn held.
    volta_status report(CUresult result, const char* call) noexcept;  // keeps the failure
    volta_status report(const Error& error) noexcept;
    bool may_wait(const char* what) noexcept;  // false, and a failure, while a graph is recorded or lost
    unsigned char* within(const PinnedMemory& memory, std::size_t offset, std::size_t bytes) noexcept;
    template <class... Parameters, class... Arguments>
    volta_status run(const DriverCall<Parameters...>& call, Arguments... arguments) noexcept {
        return lost_ ? failure_.status() : report(call.function(arguments...), call.name);
    }
    template <class Call, class... Arguments>
    volta_status transfer(Traffic GpuFigures::*kind, std::size_t bytes, const Call& call,
                          Arguments... arguments) noexcept {
        if (bytes == 0) return lost_ ? failure_.status() : VOLTA_OK;
        const volta_status status = run(call, arguments..., stream_);
        if (status != VOLTA_OK) return status;
        ++(counted_->*kind).count;
        (counted_->*kind).bytes += bytes;
        return VOLTA_OK;
    }
    CUdeviceptr take_range(std::size_t bytes, const char* purpose);
    void free_range(CUdeviceptr address) noexcept;
    void* take_pinned(std::size_t bytes, const char* purpose);
    void free_pinned(void* data, std::size_t bytes) noexcept;
    CUresult take(std::size_t bytes, CUdeviceptr* address) noexcept override;
    void give_back(CUdeviceptr address) noexcept override;

    const Driver& driver_;
    DeviceFacts facts_;
    std::recursive_mutex mutex_;
    int turns_ = 0;        // that are nested
    bool pushed_ = false;  // by the outermost turn
    CUdevice device_ = 0;
    CUcontext context_ = nullptr;
    CUstream stream_ = nullptr;
    DevicePool pool_;
    GpuFigures figures_;
    GpuFigures* counted_ = &figures_;  // of the graph while one is recorded
    Error failure_{VOLTA_OK, ""};
    bool lost_ = false;
    bool recording_ = false;
};

}  // namespace volta::cuda
