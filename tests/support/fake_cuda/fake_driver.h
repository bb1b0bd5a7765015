// Inside the fake libcuda.so.1: its objects, and what every call begins with. docs/cuda.md describes it from
// outside.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "engine/backend/cuda/driver_api.h"
#include "tests/support/fake_cuda/fake_entry.h"

namespace volta::cuda {

// What a library puts into a stream, run on the host: no object with a destructor may be alive in it where it
// touches device memory, and it allocates nothing there.
struct LibraryWork {
    const char* name;
    CUresult (*run)(const void* arguments);
};

// Something that a stream does, in order. Kinds: copy (host or device), fill, kernel, library, event.
struct Work {
    enum class Kind { copy, fill_bytes, fill_words, kernel, library, event };
    explicit Work(Kind what) : kind(what) {}
    Kind kind;
    unsigned char *to = nullptr, *from = nullptr;
    bool to_device = false, from_device = false;
    std::size_t bytes = 0;
    unsigned value = 0;
    CUfunction function = nullptr;
    simt::Launch launch{};
    std::vector<std::vector<unsigned char>> parameters;  // of a library: its arguments alone
    LibraryWork library{};
    CUevent event = nullptr;
};

struct CUctx_st {
    int device;
    int references = 0;
    CUresult fatal = kCudaSuccess;  // what every call returns from then on
};
struct CUgraph_st {
    CUcontext context;
    std::vector<Work> work;
};
struct CUgraphExec_st {
    CUcontext context;
    std::vector<Work> work;
};
struct CUstream_st {
    CUcontext context;
    std::vector<Work> queue;
    CUgraph recording = nullptr;
    bool invalidated = false;
    std::thread::id recorder;
    int busy = 0;  // with what another library does beside the driver
};
struct CUevent_st {
    CUcontext context;
    bool recorded = false;
    std::chrono::steady_clock::time_point time;
};
struct CUfunc_st {
    CUmodule module;
    const fake::Entry* entry;
    unsigned dynamic_bytes = 48 * 1024;
};
struct CUmod_st {
    CUmod_st() = default;
    CUmod_st(const CUmod_st&) = delete;
    CUmod_st& operator=(const CUmod_st&) = delete;
    ~CUmod_st();  // closes both
    CUcontext context = nullptr;
    void* library = nullptr;
    int descriptor = -1;  // of the library's file
    std::map<std::string, CUfunc_st> functions;
};

}  // namespace volta::cuda

namespace volta::fake {

using namespace volta::cuda;

// One allocation: pages between two that nobody may touch, and patterns in what is left of the pages.
struct Allocation {
    CUcontext context;
    unsigned char* pages;
    std::size_t page_bytes;
    std::size_t bytes;  // as asked for
    bool pinned;
};

struct Fault {
    std::string call;
    int at, code;  // the at-th call, counted from 1
    int seen = 0;
};

struct Settings {
    int devices = 1, driver_version = 13000, capability = 90;
    std::size_t memory = std::size_t{8} << 30;
};

struct Machine {
    std::recursive_mutex mutex;
    bool ready = false;
    Settings settings;
    std::vector<Fault> faults;
    std::map<std::string, int> calls;
    int kernels = 0;
    int leaked = 0;
    int library_objects = 0;         // that libraries have created and not destroyed
    std::vector<CUctx_st> contexts;  // the primary one of each device
    std::map<unsigned char*, Allocation> allocations;
    std::set<CUstream> streams;
    std::set<CUevent> events;
    std::set<CUmodule> modules;
    std::set<CUgraph> graphs;
    std::set<CUgraphExec> executables;
};
Machine& machine();
std::vector<CUcontext>& current_contexts();  // of the calling thread

enum class Needs { nothing, start, context, idle };  // idle: a context, and this thread records no graph

// The lock, and what the call returns at once: an injected fault, a missing cuInit or context, a lost device.
struct Call {
    Call(const char* name, Needs needs);
    std::lock_guard<std::recursive_mutex> lock;
    CUcontext context = nullptr;
    CUresult result = kCudaSuccess;
};
#define FAKE_CALL(name, needs)                          \
    const ::volta::fake::Call call(name, Needs::needs); \
    if (call.result != kCudaSuccess) return call.result

// ---- Memory (fake_memory.cpp)
Allocation* find_allocation(const void* address, std::size_t bytes);  // that holds all these bytes; or NULL
bool touches_device(const void* address, std::size_t bytes);
int release_memory(CUcontext context);  // how many there were
std::size_t used_bytes(int device);
// Device memory of all contexts can be read and written while one of these lives. The host cannot otherwise.
struct OpenMemory {
    OpenMemory();
    ~OpenMemory();
};
std::string damage();  // a write beside an allocation; "" if there is none

// ---- Streams (fake_stream.cpp, fake_run.cpp)
CUresult drain(CUstream stream);  // runs what waits
CUresult drain_all(CUcontext context);
CUresult submit(CUstream stream, Work work);  // or records it
bool records(CUcontext context);              // this thread records a graph: it is invalid from now on
CUresult run_work(const std::vector<Work>& work, CUcontext context);
int release_objects(CUcontext context);                                        // how many there were
void complain(const char* format, ...) __attribute__((format(printf, 1, 2)));  // to stderr: why a call failed

}  // namespace volta::fake
