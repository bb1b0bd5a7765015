// What a stream of the fake driver does when it comes to its work. A kernel's access to memory that is not
// there becomes the failure that a device reports; only then does anything leave a kernel by a jump.
#undef _FORTIFY_SOURCE  // its longjmp takes another stack for an error
#include "tests/support/fake_cuda/fake_driver.h"

#include <setjmp.h>
#include <signal.h>

#include <cstring>

namespace volta::fake {
namespace {

thread_local sigjmp_buf* leave_kernel = nullptr;
thread_local void* touched = nullptr;

void on_fault(int number, siginfo_t* info, void*) {
    if (leave_kernel == nullptr) {  // not a kernel: what would have happened without us
        signal(number, SIG_DFL);
        return;
    }
    touched = info->si_addr;
    siglongjmp(*leave_kernel, 1);
}

struct FaultHandler {
    FaultHandler() {
        struct sigaction action {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        sigaction(SIGSEGV, &action, &old_segv);
        sigaction(SIGBUS, &action, &old_bus);
    }
    ~FaultHandler() {
        sigaction(SIGSEGV, &old_segv, nullptr);
        sigaction(SIGBUS, &old_bus, nullptr);
    }
    struct sigaction old_segv, old_bus;
};

bool is_alive(CUfunction function) {
    for (auto* const module : machine().modules)
        for (const auto& [name, each] : module->functions)
            if (&each == function) return true;
    return false;
}

// False: the body has touched what is no memory of the device. No object with a destructor may live where the
// jump leaves.
template <class Body>
bool call_guarded(Body body) {
    sigjmp_buf here;
    if (sigsetjmp(here, 1) != 0) {
        leave_kernel = nullptr;
        return false;
    }
    leave_kernel = &here;
    body();
    leave_kernel = nullptr;
    return true;
}

CUresult touches(const char* kernel) {
    complain("the kernel %s touches %p, which is no memory of the device", kernel, touched);
    return kCudaIllegalAddress;
}

CUresult run_kernel(const Work& work) {
    if (!is_alive(work.function)) {
        complain("a kernel runs whose module is unloaded");
        return kCudaIllegalAddress;
    }
    const Entry& entry = *work.function->entry;
    std::vector<std::vector<unsigned char>> values = work.parameters;
    std::vector<void*> parameters;
    parameters.reserve(values.size());
    for (std::vector<unsigned char>& value : values) parameters.push_back(value.data());
    char error[256] = "";
    const FaultHandler handler;
    if (!call_guarded([&] { entry.run(work.launch, parameters.data(), error, sizeof error); })) {
        simt::abandon();
        return touches(entry.name);
    }
    ++machine().kernels;
    if (error[0] == '\0') return kCudaSuccess;
    complain("the kernel %s: %s", entry.name, error);
    return kCudaLaunchFailed;
}

CUresult run_library(const Work& work) {
    const FaultHandler handler;
    CUresult result = kCudaSuccess;
    if (!call_guarded([&] { result = work.library.run(work.parameters[0].data()); }))
        return touches(work.library.name);
    ++machine().kernels;
    return result;
}

// A graph may outlive what it copies.
bool is_there(const unsigned char* address, std::size_t bytes, bool on_device) {
    const Allocation* const allocation = find_allocation(address, bytes);
    return on_device ? allocation != nullptr && !allocation->pinned : !touches_device(address, bytes);
}

CUresult run_one(const Work& work) {
    switch (work.kind) {
        case Work::Kind::kernel:
            return run_kernel(work);
        case Work::Kind::library:
            return run_library(work);
        case Work::Kind::event:
            work.event->time = std::chrono::steady_clock::now();
            return kCudaSuccess;
        case Work::Kind::copy:
            if (!is_there(work.from, work.bytes, work.from_device)) return kCudaIllegalAddress;
            break;
        default:
            break;
    }
    if (!is_there(work.to, work.bytes, work.to_device)) return kCudaIllegalAddress;
    if (work.kind == Work::Kind::copy) {
        std::memmove(work.to, work.from, work.bytes);
    } else if (work.kind == Work::Kind::fill_bytes) {
        std::memset(work.to, static_cast<int>(work.value), work.bytes);
    } else {
        for (std::size_t i = 0; i < work.bytes; i += sizeof work.value)
            std::memcpy(work.to + i, &work.value, sizeof work.value);
    }
    return kCudaSuccess;
}

}  // namespace

CUresult run_work(const std::vector<Work>& list, CUcontext context) {
    if (list.empty()) return context->fatal;
    const OpenMemory open;
    for (const Work& work : list) {
        if (context->fatal != kCudaSuccess) return context->fatal;
        context->fatal = run_one(work);
    }
    if (const std::string found = damage(); !found.empty()) {
        complain("%s", found.c_str());
        context->fatal = kCudaIllegalAddress;
    }
    return context->fatal;
}

}  // namespace volta::fake
