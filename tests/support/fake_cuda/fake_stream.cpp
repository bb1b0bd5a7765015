// Streams, copies, events and graphs of the fake driver. Work waits until somebody waits for it, as on a
// device that is late: who reads too early reads what was there.
#include <iterator>
#include <utility>

#include "tests/support/fake_cuda/fake_driver.h"

namespace volta::fake {

CUresult drain(CUstream stream) {
    if (stream->busy > 0) {
        complain("somebody waits for a stream, or works behind it, that a library keeps busy");
        return kCudaUnknown;
    }
    std::vector<Work> work;
    work.swap(stream->queue);
    return run_work(work, stream->context);
}

// Up to the last time that the event was recorded in it.
static CUresult drain_until(CUstream stream, CUevent event) {
    std::vector<Work>& queue = stream->queue;
    std::size_t end = queue.size();
    while (end > 0 && queue[end - 1].event != event) --end;
    const std::vector<Work> work(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(end));
    queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(end));
    return run_work(work, stream->context);
}

CUresult drain_all(CUcontext context) {
    for (auto* const stream : machine().streams)
        if (stream->context == context && stream->busy == 0) drain(stream);  // another rank's may be
    return context->fatal;
}

CUresult submit(CUstream stream, Work work) {
    (stream->recording != nullptr ? stream->recording->work : stream->queue).push_back(std::move(work));
    return kCudaSuccess;
}

bool records(CUcontext context) {
    bool found = false;
    for (auto* const stream : machine().streams) {
        const bool own = stream->recording != nullptr && stream->recorder == std::this_thread::get_id();
        if (stream->context == context && own) found = stream->invalidated = true;
    }
    return found;
}

int release_objects(CUcontext context) {
    int count = 0;
    Machine& all = machine();
    const auto release = [&](auto& set) {
        for (auto each = set.begin(); each != set.end();) {
            const bool owned = (*each)->context == context;
            count += owned;
            if (owned) delete *each;
            each = owned ? set.erase(each) : std::next(each);
        }
    };
    release(all.streams);
    release(all.events);
    release(all.executables);
    release(all.graphs);
    release(all.modules);
    return count;
}

namespace {

bool is_usable(CUstream stream, CUcontext context) {
    return machine().streams.count(stream) != 0 && stream->context == context;
}

CUresult refuse(const char* call, const char* why, const void* address, std::size_t bytes) {
    complain("%s: %s: %zu bytes at %p", call, why, bytes, address);
    return kCudaInvalidValue;
}

unsigned char* pointer(CUdeviceptr address) { return reinterpret_cast<unsigned char*>(address); }

bool is_device(const unsigned char* address, std::size_t bytes) {
    const Allocation* const allocation = find_allocation(address, bytes);
    return allocation != nullptr && !allocation->pinned;
}

// One side is the host. Pinned memory is read or written when the stream comes to it; other memory at once,
// and not by a graph.
CUresult copy_with_host(const char* name, CUstream stream, CUcontext context, const Work& work) {
    if (!is_usable(stream, context)) return kCudaInvalidHandle;
    if (work.bytes == 0) return kCudaSuccess;
    unsigned char *const host = work.to_device ? work.from : work.to, *const device = work.to_device
                                                                                          ? work.to
                                                                                          : work.from;
    if (!is_device(device, work.bytes))
        return refuse(name, "this is not memory of the device", device, work.bytes);
    if (touches_device(host, work.bytes))
        return refuse(name, "this is not memory of the host", host, work.bytes);
    const Allocation* const allocation = find_allocation(host, work.bytes);
    if (allocation != nullptr && allocation->pinned) return submit(stream, work);
    if (stream->recording != nullptr) {
        refuse(name, "a graph copies pinned memory only", host, work.bytes);
        stream->invalidated = true;
        return kCudaStreamCaptureUnsupported;
    }
    if (const CUresult result = drain(stream); result != kCudaSuccess) return result;
    return run_work({work}, context);
}

CUresult fill(const char* name, CUstream stream, CUcontext context, const Work& work) {
    if (!is_usable(stream, context)) return kCudaInvalidHandle;
    if (work.bytes == 0) return kCudaSuccess;
    if (!is_device(work.to, work.bytes))
        return refuse(name, "this is not memory of the device", work.to, work.bytes);
    return submit(stream, work);
}

Work copy_of(unsigned char* to, bool to_device, unsigned char* from, bool from_device, std::size_t bytes) {
    Work work(Work::Kind::copy);
    work.to = to;
    work.to_device = to_device;
    work.from = from;
    work.from_device = from_device;
    work.bytes = bytes;
    return work;
}

Work fill_of(Work::Kind kind, CUdeviceptr to, unsigned value, std::size_t bytes) {
    Work work(kind);
    work.to = pointer(to);
    work.to_device = true;
    work.value = value;
    work.bytes = bytes;
    return work;
}

template <class Handle>
CUresult destroy(std::set<Handle>& set, Handle handle) {
    if (set.erase(handle) == 0) return kCudaInvalidHandle;
    delete handle;
    return kCudaSuccess;
}

}  // namespace
}  // namespace volta::fake

using namespace volta::fake;

extern "C" {

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
    FAKE_CALL("cuMemcpyHtoDAsync_v2", context);
    auto* const host = const_cast<unsigned char*>(static_cast<const unsigned char*>(from));
    return copy_with_host("cuMemcpyHtoDAsync", stream, call.context,
                          copy_of(pointer(to), true, host, false, bytes));
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    FAKE_CALL("cuMemcpyDtoHAsync_v2", context);
    return copy_with_host("cuMemcpyDtoHAsync", stream, call.context,
                          copy_of(static_cast<unsigned char*>(to), false, pointer(from), true, bytes));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    FAKE_CALL("cuMemcpyDtoDAsync_v2", context);
    if (!is_usable(stream, call.context)) return kCudaInvalidHandle;
    if (bytes == 0) return kCudaSuccess;
    for (const CUdeviceptr side : {to, from})
        if (!is_device(pointer(side), bytes))
            return refuse("cuMemcpyDtoDAsync", "this is not memory of the device", pointer(side), bytes);
    if (to < from + bytes && from < to + bytes)
        return refuse("cuMemcpyDtoDAsync", "the two sides overlap", pointer(to), bytes);
    return submit(stream, copy_of(pointer(to), true, pointer(from), true, bytes));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
    FAKE_CALL("cuMemsetD8Async", context);
    return fill("cuMemsetD8Async", stream, call.context, fill_of(Work::Kind::fill_bytes, to, value, count));
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
    FAKE_CALL("cuMemsetD32Async", context);
    if (to % 4 != 0) return kCudaInvalidValue;
    return fill("cuMemsetD32Async", stream, call.context,
                fill_of(Work::Kind::fill_words, to, value, 4 * count));
}

CUresult cuStreamCreate(CUstream* stream, unsigned) {
    FAKE_CALL("cuStreamCreate", context);
    *stream = new CUstream_st{call.context, {}, nullptr, false, {}};
    machine().streams.insert(*stream);
    return kCudaSuccess;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
    FAKE_CALL("cuStreamDestroy_v2", context);
    if (!is_usable(stream, call.context)) return kCudaInvalidHandle;
    drain(stream);
    return destroy(machine().streams, stream);
}

CUresult cuStreamSynchronize(CUstream stream) {
    FAKE_CALL("cuStreamSynchronize", idle);
    return is_usable(stream, call.context) ? drain(stream) : kCudaInvalidHandle;
}

// Work goes on by itself: what waited is done when somebody looks.
CUresult cuStreamQuery(CUstream stream) {
    FAKE_CALL("cuStreamQuery", idle);
    if (!is_usable(stream, call.context)) return kCudaInvalidHandle;
    return stream->busy > 0 ? kCudaNotReady : drain(stream);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, int) {
    FAKE_CALL("cuStreamBeginCapture_v2", idle);
    if (!is_usable(stream, call.context)) return kCudaInvalidHandle;
    stream->recording = new CUgraph_st{call.context, {}};
    stream->invalidated = false;
    stream->recorder = std::this_thread::get_id();
    machine().graphs.insert(stream->recording);
    return kCudaSuccess;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
    FAKE_CALL("cuStreamEndCapture", context);
    *graph = nullptr;
    if (!is_usable(stream, call.context) || stream->recording == nullptr) return kCudaInvalidHandle;
    auto* const recorded = std::exchange(stream->recording, nullptr);
    if (!stream->invalidated) return *graph = recorded, kCudaSuccess;
    destroy(machine().graphs, recorded);
    return kCudaStreamCaptureInvalidated;
}

CUresult cuEventCreate(CUevent* event, unsigned) {
    FAKE_CALL("cuEventCreate", context);
    *event = new CUevent_st{call.context, false, {}};
    machine().events.insert(*event);
    return kCudaSuccess;
}

CUresult cuEventDestroy_v2(CUevent event) {
    FAKE_CALL("cuEventDestroy_v2", context);
    drain_all(call.context);
    return destroy(machine().events, event);
}

// A graph's records of an event are external: others order streams within a graph, of which there is one.
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    FAKE_CALL("cuEventRecordWithFlags", context);
    if (machine().events.count(event) == 0 || !is_usable(stream, call.context)) return kCudaInvalidHandle;
    const bool is_external = flags == kEventRecordExternal;
    if ((stream->recording != nullptr) != is_external || (flags != 0 && !is_external))
        return refuse("cuEventRecordWithFlags", "the flags do not fit the stream", event, flags);
    Work work(Work::Kind::event);
    work.event = event;
    event->recorded = true;
    return submit(stream, work);
}

CUresult cuEventSynchronize(CUevent event) {
    FAKE_CALL("cuEventSynchronize", idle);
    if (machine().events.count(event) == 0) return kCudaInvalidHandle;
    for (auto* const stream : machine().streams)
        if (stream->context == call.context)
            if (const CUresult result = drain_until(stream, event); result != kCudaSuccess) return result;
    return call.context->fatal;
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
    FAKE_CALL("cuEventElapsedTime", context);
    for (auto* const event : {start, end})
        if (machine().events.count(event) == 0 || !event->recorded) return kCudaInvalidHandle;
    *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
    return kCudaSuccess;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
    FAKE_CALL("cuGraphInstantiateWithFlags", context);
    if (machine().graphs.count(graph) == 0) return kCudaInvalidHandle;
    *executable = new CUgraphExec_st{call.context, graph->work};
    machine().executables.insert(*executable);
    return kCudaSuccess;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
    FAKE_CALL("cuGraphLaunch", idle);
    if (machine().executables.count(executable) == 0 || !is_usable(stream, call.context))
        return kCudaInvalidHandle;
    for (const Work& work : executable->work) submit(stream, work);
    return kCudaSuccess;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
    FAKE_CALL("cuGraphExecDestroy", context);
    return destroy(machine().executables, executable);
}

CUresult cuGraphDestroy(CUgraph graph) {
    FAKE_CALL("cuGraphDestroy", context);
    return destroy(machine().graphs, graph);
}

}  // extern "C"
