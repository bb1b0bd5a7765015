// A fake libnccl.so.2 on the fake driver: what is sent goes over sockets of this machine, between threads and
// processes alike, while the stream it was put into is busy. As the real one's calls where a communicator
// does not block, its calls return at once, and what is under way is asked for. Two ranks on one device are
// refused.
//     VOLTA_FAKE_CUDA_FAIL=ncclSend:3:2    calls fail, as those of the driver
//     VOLTA_FAKE_NCCL_STALL=rank:n         the n-th message of a rank is never sent
//     VOLTA_FAKE_NCCL_VERSION=22005        what it says it is
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "engine/group/nccl_library.h"
#include "tests/support/fake_cuda/fake_driver.h"

namespace volta::fake {
namespace {

constexpr NcclResult kUnhandledCuda = 1, kInvalidArgument = 4, kInvalidUsage = 5;

struct Message {  // what stands before its bytes
    int from;
    std::uint64_t number;  // of this way between two ranks; 0: a greeting
    std::uint64_t bytes;
    int device;  // of a greeting
};

// An abstract name of each rank: it ends with the process.
sockaddr_un address_of(const NcclId& id, int rank, socklen_t* bytes) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const int length =
        std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%.60s-%d", id.bytes, rank);
    *bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
    return address;
}

bool write_all(int file, const void* data, std::size_t bytes) {
    const auto* at = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t written = send(file, at, bytes, MSG_NOSIGNAL);
        if (written <= 0) return false;
        at += written;
        bytes -= static_cast<std::size_t>(written);
    }
    return true;
}
bool read_all(int file, void* data, std::size_t bytes) {
    auto* at = static_cast<char*>(data);
    while (bytes > 0) {
        const ssize_t got = recv(file, at, bytes, 0);
        if (got <= 0) return false;
        at += got;
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

struct Stall {
    int rank = -1;
    std::uint64_t number = 0;
};
Stall read_stall() {
    Stall stall;
    const char* const text = std::getenv("VOLTA_FAKE_NCCL_STALL");
    unsigned long long number = 0;
    if (text != nullptr && std::sscanf(text, "%d:%llu", &stall.rank, &number) == 2) stall.number = number;
    return stall;
}

}  // namespace
}  // namespace volta::fake

namespace volta {

using namespace volta::cuda;
using namespace volta::fake;

// Everything but the threads' own is under the machine's lock.
struct ncclComm {
    struct Expected {
        int from;
        std::uint64_t number;
        unsigned char* to;
        std::size_t bytes;
        CUstream stream;
    };
    struct Arrived {
        Message message;
        std::vector<unsigned char> bytes;
    };

    ncclComm(CUcontext used, int own, int all, const NcclId& run)
        : context(used),
          rank(own),
          ranks(all),
          id(run),
          sent(static_cast<std::size_t>(all)),
          received(static_cast<std::size_t>(all)) {
        socklen_t bytes = 0;
        const sockaddr_un address = address_of(id, rank, &bytes);
        listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (bind(listener, reinterpret_cast<const sockaddr*>(&address), bytes) != 0 ||
            listen(listener, 64) != 0)
            complain("ncclCommInitRankConfig: rank %d is there already", rank);
        threads.emplace_back([this] { accept_all(); });
        threads.emplace_back([this] {
            for (int peer = 0; peer < ranks; ++peer)
                if (peer != rank) send_to(peer, {rank, 0, 0, context->device}, {});
        });
    }

    // Not under the lock.
    void end() {
        ending = true;
        shutdown(listener, SHUT_RDWR);
        for (std::thread& thread : threads) thread.join();
        close(listener);
    }

    bool send_to(int peer, const Message& message, const std::vector<unsigned char>& bytes) {
        socklen_t length = 0;
        const sockaddr_un address = address_of(id, peer, &length);
        while (!ending) {
            const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
            const bool is_sent = connect(file, reinterpret_cast<const sockaddr*>(&address), length) == 0 &&
                                 write_all(file, &message, sizeof message) &&
                                 write_all(file, bytes.data(), bytes.size());
            close(file);
            if (is_sent) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return false;
    }

    void accept_all() {
        while (!ending) {
            const int file = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
            if (file < 0) continue;
            Arrived one;
            bool is_whole = read_all(file, &one.message, sizeof one.message);
            if (is_whole) {
                one.bytes.resize(one.message.bytes);
                is_whole = read_all(file, one.bytes.data(), one.bytes.size());
            }
            close(file);
            if (!is_whole) continue;
            std::this_thread::sleep_for(std::chrono::microseconds(200));  // late, as devices are
            const std::lock_guard<std::recursive_mutex> lock(machine().mutex);
            if (one.message.number == 0) {
                ++greetings;
                if (one.message.device == context->device) state = kInvalidUsage;  // all are of one machine
            } else {
                arrived.push_back(std::move(one));
            }
            deliver();
        }
    }

    void deliver() {
        for (std::size_t e = 0; e < expected.size();) {
            const Expected want = expected[e];
            std::size_t a = 0;
            while (a < arrived.size() &&
                   (arrived[a].message.from != want.from || arrived[a].message.number != want.number))
                ++a;
            if (a == arrived.size()) {
                ++e;
                continue;
            }
            if (arrived[a].bytes.size() != want.bytes)
                state = kInvalidUsage;
            else
                put(want, arrived[a].bytes);
            --want.stream->busy;
            arrived.erase(arrived.begin() + static_cast<std::ptrdiff_t>(a));
            expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(e));
        }
    }
    static void put(const Expected& want, const std::vector<unsigned char>& bytes) {
        const OpenMemory open;
        std::memcpy(want.to, bytes.data(), bytes.size());
    }

    CUcontext context;
    const int rank, ranks;
    const NcclId id;
    std::vector<std::uint64_t> sent, received;  // messages to and from each rank
    std::uint64_t sends = 0;
    int listener = -1, greetings = 0;
    std::atomic<bool> ending{false};
    NcclResult state = kNcclSuccess;
    std::vector<Expected> expected;
    std::vector<Arrived> arrived;
    std::vector<CUstream> stalled;  // are busy until the end
    std::vector<std::thread> threads;
};

}  // namespace volta

namespace volta::fake {
namespace {

std::set<NcclComm>& communicators() {
    static std::set<NcclComm> all;
    return all;
}

struct Started {
    bool is_send;
    unsigned char* data;
    std::size_t bytes;
    int peer;
    NcclComm comm;
    CUstream stream;
};
thread_local int group_depth = 0;
thread_local std::vector<Started> started;

// As FAKE_CALL: an injected fault is a result of this library.
struct NcclCallHere : Call {
    explicit NcclCallHere(const char* name) : Call(name, Needs::context) {
        if (result != kCudaSuccess) status = result > 8 ? kUnhandledCuda : result;
    }
    NcclResult status = kNcclSuccess;
};
#define FAKE_NCCL_CALL(name)       \
    const NcclCallHere here(name); \
    if (here.status != kNcclSuccess) return here.status

bool is_usable(const char* call, NcclComm comm, CUcontext context) {
    if (communicators().count(comm) != 0 && comm->context == context) return true;
    complain("%s: no communicator of this device", call);
    return false;
}

NcclResult start(const char* call, bool is_send, const void* data, std::size_t count, int type, int peer,
                 NcclComm comm, void* stream) {
    FAKE_NCCL_CALL(call);
    if (!is_usable(call, comm, here.context)) return kInvalidArgument;
    auto* const address = const_cast<unsigned char*>(static_cast<const unsigned char*>(data));
    auto* const queue = static_cast<CUstream>(stream);
    const Allocation* const allocation = find_allocation(address, 4 * count);
    if (allocation == nullptr || allocation->pinned || type != kNcclFloat32 || peer < 0 ||
        peer >= comm->ranks || peer == comm->rank || machine().streams.count(queue) == 0) {
        complain("%s: %zu numbers of type %d at %p, to or from rank %d", call, count, type, data, peer);
        return kInvalidArgument;
    }
    if (group_depth == 0) {
        complain("%s: not between ncclGroupStart and ncclGroupEnd: two ranks would wait for each other",
                 call);
        return kInvalidUsage;
    }
    started.push_back({is_send, address, 4 * count, peer, comm, queue});
    return kNcclSuccess;
}

NcclResult begin(const Started& one) {
    NcclComm comm = one.comm;
    ++one.stream->busy;
    const auto peer = static_cast<std::size_t>(one.peer);
    if (!one.is_send) {
        comm->expected.push_back({one.peer, ++comm->received[peer], one.data, one.bytes, one.stream});
        return kNcclSuccess;
    }
    std::vector<unsigned char> bytes(one.bytes);
    {
        const OpenMemory open;
        std::memcpy(bytes.data(), one.data, one.bytes);
    }
    const Message message = {comm->rank, ++comm->sent[peer], one.bytes, 0};
    const Stall stall = read_stall();
    if (stall.rank == comm->rank && stall.number == ++comm->sends) {
        comm->stalled.push_back(one.stream);
        return kNcclSuccess;
    }
    comm->threads.emplace_back(
        [comm, peer = one.peer, message, bytes = std::move(bytes), stream = one.stream] {
            comm->send_to(peer, message, bytes);
            const std::lock_guard<std::recursive_mutex> lock(machine().mutex);
            --stream->busy;
        });
    return kNcclSuccess;
}

// What it keeps busy is busy no more.
NcclResult end(const char* call, NcclComm comm, bool aborts) {
    {
        FAKE_NCCL_CALL(call);
        if (!is_usable(call, comm, here.context)) return kInvalidArgument;
        if (!aborts && (!comm->expected.empty() || !comm->stalled.empty())) {
            complain("%s: something is under way", call);
            return kInvalidUsage;
        }
        communicators().erase(comm);
        --machine().library_objects;
    }
    comm->end();
    const std::lock_guard<std::recursive_mutex> lock(machine().mutex);
    for (const auto& one : comm->expected) --one.stream->busy;
    for (CUstream_st* const stream : comm->stalled) --stream->busy;
    delete comm;
    return kNcclSuccess;
}

}  // namespace
}  // namespace volta::fake

using namespace volta;
using namespace volta::fake;

extern "C" {

NcclResult ncclGetVersion(int* version) {
    const char* const text = std::getenv("VOLTA_FAKE_NCCL_VERSION");
    *version = text != nullptr ? std::atoi(text) : 22005;
    return kNcclSuccess;
}

const char* ncclGetErrorString(NcclResult result) {
    static constexpr const char* kNames[] = {"no error",
                                             "unhandled cuda error",
                                             "unhandled system error",
                                             "internal error",
                                             "invalid argument",
                                             "invalid usage",
                                             "remote process exited or there was a network error",
                                             "NCCL operation in progress",
                                             "timeout"};
    return result >= 0 && result < 9 ? kNames[result] : "unknown result code";
}
const char* ncclGetLastError(NcclComm) { return ""; }

NcclResult ncclGetUniqueId(NcclId* id) {
    FAKE_NCCL_CALL("ncclGetUniqueId");
    static std::atomic<int> count{0};
    *id = {};
    std::snprintf(id->bytes, sizeof id->bytes, "volta-fake-nccl-%d-%d", static_cast<int>(getpid()), ++count);
    return kNcclSuccess;
}

NcclResult ncclCommInitRankConfig(NcclComm* comm, int ranks, NcclId id, int rank, NcclConfig* config) {
    FAKE_NCCL_CALL("ncclCommInitRankConfig");
    if (config == nullptr || config->magic != kNcclMagic || config->size != sizeof *config ||
        config->version != kLeastNcclVersion || config->blocking != 0 || rank < 0 || rank >= ranks) {
        complain("ncclCommInitRankConfig: rank %d of %d, or its configuration", rank, ranks);
        return kInvalidArgument;
    }
    *comm = new ncclComm(here.context, rank, ranks, id);
    communicators().insert(*comm);
    ++machine().library_objects;
    return kNcclInProgress;
}

NcclResult ncclCommFinalize(NcclComm comm) {
    FAKE_NCCL_CALL("ncclCommFinalize");
    return is_usable("ncclCommFinalize", comm, here.context) ? kNcclInProgress : kInvalidArgument;
}
NcclResult ncclCommDestroy(NcclComm comm) { return end("ncclCommDestroy", comm, false); }
NcclResult ncclCommAbort(NcclComm comm) { return end("ncclCommAbort", comm, true); }

NcclResult ncclCommGetAsyncError(NcclComm comm, NcclResult* error) {
    FAKE_NCCL_CALL("ncclCommGetAsyncError");
    if (!is_usable("ncclCommGetAsyncError", comm, here.context)) return kInvalidArgument;
    *error = comm->state != kNcclSuccess         ? comm->state
             : comm->greetings < comm->ranks - 1 ? kNcclInProgress
                                                 : kNcclSuccess;
    return kNcclSuccess;
}

NcclResult ncclGroupStart() {
    ++group_depth;
    return kNcclSuccess;
}

NcclResult ncclGroupEnd() {
    FAKE_NCCL_CALL("ncclGroupEnd");
    if (group_depth == 0 || --group_depth > 0) return group_depth == 0 ? kInvalidUsage : kNcclSuccess;
    std::vector<Started> work;
    work.swap(started);
    NcclResult result = kNcclSuccess;
    for (const Started& one : work)  // what is sent is what the stream has made
        if (drain(one.stream) != kCudaSuccess) return kUnhandledCuda;
    for (const Started& one : work)
        if (result == kNcclSuccess) result = begin(one);
    for (const Started& one : work) one.comm->deliver();
    return result;
}

NcclResult ncclSend(const void* from, std::size_t count, int type, int peer, NcclComm comm, void* stream) {
    return start("ncclSend", true, from, count, type, peer, comm, stream);
}
NcclResult ncclRecv(void* to, std::size_t count, int type, int peer, NcclComm comm, void* stream) {
    return start("ncclRecv", false, to, count, type, peer, comm, stream);
}

}  // extern "C"
