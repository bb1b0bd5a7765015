// Ranks that mpirun, or srun, started. Of MPI it takes messages from one rank to one, nothing collective but
// the communicator: no sum is MPI's, and so no bit.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/group/mpi_library.h"
#include "engine/group/transport.h"

namespace volta {

namespace {

constexpr std::size_t kPiece = std::size_t{64} << 20;  // counts are ints; each piece has the whole timeout
constexpr std::size_t kTextBytes = 512;
constexpr double kTelling = 2;    // seconds in which the others should have read why this rank ends
constexpr double kAnswering = 1;  // seconds in which a rank that waits answers whom it waits for
enum Tag : int { kData = 1, kLeft = 2, kEnd = 3, kAsk = 4, kAnswer = 5 };
constexpr std::int32_t kNobody = -1;  // this rank waits for none alone

// A wait: busy while a message is probably on its way, asleep later. A time in which the process was
// suspended counts as an eighth of a second: nobody else is late then.
class Wait {
  public:
    double seconds() noexcept {
        constexpr std::uint64_t kMostAtOnce = 125000000;
        const std::uint64_t now = monotonic_ns();
        waited_ += std::min(now - seen_, kMostAtOnce);
        seen_ = now;
        return static_cast<double>(waited_) * 1e-9;
    }
    void pause() noexcept {
        const double waited = seconds();
        if (waited < 20e-6) return;
        if (waited < 0.005)
            std::this_thread::yield();
        else
            std::this_thread::sleep_for(std::chrono::microseconds(waited < 1 ? 50 : 1000));
    }

  private:
    std::uint64_t seen_ = monotonic_ns(), waited_ = 0;
};

struct alignas(8) MpiStatus {
    unsigned char bytes[kMostStatusBytes];
};

// One interface's functions and handles, and whether MPI is this library's to end.
template <class Handle>
class Mpi {
  public:
    explicit Mpi(const MpiLibrary& library)
        : name(library.abi->name),
          abi(*library.abi),
          world(handle(library, abi.comm_world)),
          byte(handle(library, abi.byte)),
          errors_return(handle(library, abi.errors_return)) {
        find(library, "MPI_Initialized", &call.initialized);
        find(library, "MPI_Finalized", &call.finalized);
        find(library, "MPI_Init_thread", &call.init_thread);
        find(library, "MPI_Query_thread", &call.query_thread);
        find(library, "MPI_Finalize", &call.finalize);
        find(library, "MPI_Comm_rank", &call.comm_rank);
        find(library, "MPI_Comm_size", &call.comm_size);
        find(library, "MPI_Comm_idup", &call.comm_idup);
        find(library, "MPI_Comm_free", &call.comm_free);
        find(library, "MPI_Comm_set_errhandler", &call.comm_set_errhandler);
        find(library, "MPI_Isend", &call.isend);
        find(library, "MPI_Issend", &call.issend);
        find(library, "MPI_Irecv", &call.irecv);
        find(library, "MPI_Recv", &call.recv);
        find(library, "MPI_Test", &call.test);
        find(library, "MPI_Cancel", &call.cancel);
        find(library, "MPI_Iprobe", &call.iprobe);
        find(library, "MPI_Get_count", &call.get_count);
        find(library, "MPI_Error_string", &call.error_string);
    }

    // True where MPI was not running: whoever starts it ends it.
    bool start() const {
        int flag = 0;
        check("MPI_Finalized", call.finalized(&flag));
        if (flag != 0)
            fail(VOLTA_INVALID_STATE,
                 "MPI has been finalized in this process: it starts once, and so does a group of it");
        check("MPI_Initialized", call.initialized(&flag));
        if (flag != 0) return false;
        int provided = 0;
        // Not FUNNELED, which is the main thread's alone: hosts may call from any thread, one at a time.
        check("MPI_Init_thread", call.init_thread(nullptr, nullptr, abi.serialized, &provided));
        return true;
    }
    bool any_thread() const {
        int provided = 0;
        check("MPI_Query_thread", call.query_thread(&provided));
        return provided >= abi.serialized;
    }
    bool running() const noexcept {
        int flag = 0;
        return call.finalized(&flag) == 0 && flag == 0;
    }
    void check(const char* function, int code) const {
        char text[kTextBytes];
        if (code != 0) fail(VOLTA_IO_ERROR, "%s of %s: %s", function, name, error_text(code, text));
    }
    const char* error_text(int code, char (&text)[kTextBytes]) const noexcept {
        int length = 0;  // at most 512 bytes with the 0, in every interface
        if (call.error_string(code, text, &length) != 0) std::snprintf(text, sizeof text, "error %d", code);
        for (char* c = text; *c != '\0'; ++c)
            if (*c == '\n') *c = ' ';  // MPICH's have a line for each of its functions
        return text;
    }
    int source(const MpiStatus& status) const noexcept {
        int rank;
        std::memcpy(&rank, status.bytes + abi.source_at * sizeof rank, sizeof rank);
        return rank;
    }

    const char* const name;
    const MpiAbi& abi;
    const Handle world, byte, errors_return;
    MpiFunctions<Handle> call = {};

  private:
    template <class Function>
    static void find(const MpiLibrary& library, const char* name, Function* out) {
        void* const symbol = mpi_symbol(library, name);
        static_assert(sizeof *out == sizeof symbol, "POSIX: a function's address is a pointer");
        std::memcpy(out, &symbol, sizeof symbol);
    }
    static Handle handle(const MpiLibrary& library, const MpiHandle& row) {
        const std::intptr_t value = row.object == nullptr
                                        ? row.number
                                        : reinterpret_cast<std::intptr_t>(mpi_symbol(library, row.object));
        if constexpr (std::is_pointer_v<Handle>)
            return reinterpret_cast<Handle>(value);
        else
            return static_cast<Handle>(value);
    }
};

struct Place {
    std::uint32_t rank, size;
};

template <class Handle>
class MpiGroup final : public Group {
  public:
    MpiGroup(const Mpi<Handle>& mpi, bool owner, Place place, const GroupOptions& options,
             std::pmr::memory_resource* heap)
        : Group(place.rank, place.size),
          mpi_(mpi),
          call_(mpi_.call),
          owner_(owner),
          any_thread_(mpi_.any_thread()),
          thread_(std::this_thread::get_id()),
          timeout_(options.timeout),
          telling_(place.size, heap) {
        join();
    }
    ~MpiGroup() override {
        if (ended_ || !mpi_.running()) return;
        // MPI_Finalize would wait for a rank that has failed, and which therefore never calls it.
        if (owner_ && !all_end()) return;
        call_.comm_free(&comm_);
        if (owner_) call_.finalize();
    }

    bool can_change_threads() const noexcept override { return any_thread_; }
    void exchange(std::uint32_t peer, const void* send, std::size_t send_bytes, void* receive,
                  std::size_t receive_bytes) override {
        if (ended_) throw Error(*ended_);
        require(peer < size() && peer != rank(), "peer is %u, rank %u of %u has no such other", peer, rank(),
                size());
        if (!any_thread_ && std::this_thread::get_id() != thread_)
            fail(VOLTA_INVALID_STATE,
                 "MPI was started for one thread (below MPI_THREAD_SERIALIZED), this is another than made "
                 "the group");
        const auto* const from = static_cast<const unsigned char*>(send);
        auto* const to = static_cast<unsigned char*>(receive);
        for (std::size_t at = 0; at < std::max(send_bytes, receive_bytes); at += kPiece) {
            const auto rest = [at](std::size_t bytes) {
                return bytes > at ? std::min(bytes - at, kPiece) : 0;
            };
            const std::size_t sent = rest(send_bytes), received = rest(receive_bytes);
            exchange_piece(peer, sent == 0 ? nullptr : from + at, static_cast<int>(sent),
                           received == 0 ? nullptr : to + at, static_cast<int>(received));
        }
    }

    void leave(const char* why) noexcept override {
        if (ended_) return;
        char text[kTextBytes];
        std::snprintf(text, sizeof text, "rank %u has left the group: %s", rank(), why);
        ended_.emplace(VOLTA_IO_ERROR, text);
        if (mpi_.running()) tell(text, 0, size(), kTelling);
    }

  private:
    struct Request {
        Handle handle;
        bool pending;
    };

    // The group's own communicator, made by all ranks; where one does not come, there is a time limit.
    void join() {
        Request request = {};
        mpi_.check("MPI_Comm_idup", call_.comm_idup(mpi_.world, &comm_, &request.handle));
        Wait wait;
        for (int done = 0; done == 0;) {
            MpiStatus status;
            mpi_.check("MPI_Comm_idup", call_.test(&request.handle, &done, &status));
            if (done != 0) break;
            if (wait.seconds() > timeout_)
                fail(VOLTA_IO_ERROR, "not all of the %u ranks have joined the group within %g s", size(),
                     timeout_);
            wait.pause();
        }
        mpi_.check("MPI_Comm_set_errhandler", call_.comm_set_errhandler(comm_, mpi_.errors_return));
    }

    void exchange_piece(std::uint32_t peer, const void* send, int send_bytes, void* receive,
                        int receive_bytes) {
        const int other = static_cast<int>(peer);
        Request to = {}, from = {};
        int code = 0;
        if (receive_bytes > 0) {
            code = call_.irecv(receive, receive_bytes, mpi_.byte, other, kData, comm_, &from.handle);
            from.pending = code == 0;
        }
        if (send_bytes > 0 && code == 0) {
            code = call_.isend(send, send_bytes, mpi_.byte, other, kData, comm_, &to.handle);
            to.pending = code == 0;
        }
        MpiStatus status = {}, unused;
        Wait wait;
        while (code == 0) {
            code = poll(&from, &status);
            if (code == 0) code = poll(&to, &unused);
            if (code != 0 || !(from.pending || to.pending)) break;
            char text[kTextBytes];
            if (hear(text)) end(peer, to, &from, text);
            answer(static_cast<std::int32_t>(peer));
            if (wait.seconds() > timeout_) {
                if (find_culprit(peer, text)) end(peer, to, &from, text);
                end_and_tell(&from, text);
            }
            wait.pause();
        }
        int count = receive_bytes;
        if (code == 0 && receive_bytes > 0) code = call_.get_count(&status, mpi_.byte, &count);
        char text[kTextBytes], error[kTextBytes];
        if (code == 0 && receive_bytes > 0 && hear(text)) end(peer, to, &from, text);
        if (code == 0 && count == receive_bytes) return;
        // A peer whose process has ended knew why: it has said so, or another has, to this rank too.
        if (code != 0 && hear_soon(text)) end(peer, to, &from, text);
        if (code != 0)
            std::snprintf(text, sizeof text, "exchange with rank %u: %s: %.400s", peer, mpi_.name,
                          mpi_.error_text(code, error));
        else
            std::snprintf(text, sizeof text, "rank %u sent %d bytes where %d were expected", peer, count,
                          receive_bytes);
        end_and_tell(&from, text);
    }

    int poll(Request* request, MpiStatus* status) noexcept {
        if (!request->pending) return 0;
        int done = 0;
        const int code = call_.test(&request->handle, &done, status);
        if (code != 0 || done != 0) request->pending = false;
        return code;
    }

    // True where a rank said that the group has ended, with its sentence.
    bool hear(char (&text)[kTextBytes]) noexcept {
        int flag = 0;
        MpiStatus status;
        if (call_.iprobe(mpi_.abi.any_source, kLeft, comm_, &flag, &status) != 0 || flag == 0) return false;
        const int from = mpi_.source(status);
        int count = 0;
        if (call_.recv(text, static_cast<int>(kTextBytes), mpi_.byte, from, kLeft, comm_, &status) != 0 ||
            call_.get_count(&status, mpi_.byte, &count) != 0 || count <= 0)
            std::snprintf(text, sizeof text, "rank %d has left the group", from);
        text[kTextBytes - 1] = '\0';
        return true;
    }

    // A rank that waited too long asks this one whom it waits for.
    void answer(std::int32_t waits_for) noexcept {
        MpiStatus status;
        if (poll(&answering_, &status) != 0 || answering_.pending) return;
        int flag = 0;
        if (call_.iprobe(mpi_.abi.any_source, kAsk, comm_, &flag, &status) != 0 || flag == 0) return;
        const int asker = mpi_.source(status);
        unsigned char question;
        if (call_.recv(&question, 1, mpi_.byte, asker, kAsk, comm_, &status) != 0) return;
        answer_ = waits_for;
        answering_.pending =
            call_.isend(&answer_, sizeof answer_, mpi_.byte, asker, kAnswer, comm_, &answering_.handle) == 0;
    }

    // The peer may only be waiting for another, and that one for a third: who does not answer is at fault.
    // True where somebody else has said by now why the group ends.
    bool find_culprit(std::uint32_t peer, char (&text)[kTextBytes]) noexcept {
        std::uint32_t suspect = peer;
        for (std::uint32_t asked = 0; asked < size(); ++asked) {
            std::int32_t next = kNobody;
            switch (ask(suspect, peer, &next, text)) {
                case Reply::ended:
                    return true;
                case Reply::none:
                    std::snprintf(text, sizeof text, "rank %u has not answered for %g s", suspect, timeout_);
                    return false;
                case Reply::answer:
                    break;
            }
            if (next == kNobody) {
                std::snprintf(text, sizeof text,
                              "rank %u has released the group, and rank %u still waits for rank %u", suspect,
                              rank(), peer);
                return false;
            }
            suspect = static_cast<std::uint32_t>(next);
            if (suspect == rank() || suspect >= size()) break;
        }
        std::snprintf(text, sizeof text,
                      "ranks wait for each other in a circle, rank %u for rank %u: their calls do not match",
                      rank(), peer);
        return false;
    }

    enum class Reply { none, answer, ended };
    Reply ask(std::uint32_t suspect, std::uint32_t peer, std::int32_t* next,
              char (&text)[kTextBytes]) noexcept {
        const int other = static_cast<int>(suspect);
        static constexpr unsigned char kQuestion = 0;
        Request from = {}, to = {};
        from.pending = call_.irecv(next, sizeof *next, mpi_.byte, other, kAnswer, comm_, &from.handle) == 0;
        to.pending = call_.isend(&kQuestion, 1, mpi_.byte, other, kAsk, comm_, &to.handle) == 0;
        Reply reply = Reply::none;
        Wait wait;
        while (from.pending && wait.seconds() < kAnswering) {
            MpiStatus status;
            if (poll(&to, &status) != 0 || poll(&from, &status) != 0) break;
            if (!from.pending) return Reply::answer;
            if (hear(text)) {
                reply = Reply::ended;
                break;
            }
            answer(static_cast<std::int32_t>(peer));
            wait.pause();
        }
        abandon(&from);
        return reply;
    }

    bool hear_soon(char (&text)[kTextBytes]) noexcept {
        Wait wait;
        do {
            if (hear(text)) return true;
            wait.pause();
        } while (wait.seconds() < kAnswering);
        return false;
    }

    // The other ranks from `first` on are sent the sentence, and given some time to read it: when this
    // process ends, mpirun ends theirs.
    void tell(const char* why, std::uint32_t first, std::uint32_t end, double seconds) noexcept {
        std::snprintf(left_, sizeof left_, "%s", why);
        const int bytes = static_cast<int>(std::strlen(left_)) + 1;
        for (std::uint32_t other = first; other < end; ++other) {
            Request& request = telling_[other];
            request.pending =
                other != rank() && call_.issend(left_, bytes, mpi_.byte, static_cast<int>(other), kLeft,
                                                comm_, &request.handle) == 0;
        }
        Wait wait;
        while (wait.seconds() < seconds) {
            bool pending = false;
            char theirs[kTextBytes];
            hear(theirs);  // another that tells waits for its reading too; this rank has its own reason
            for (Request& request : telling_) {
                MpiStatus status;
                poll(&request, &status);
                pending = pending || request.pending;
            }
            if (!pending) return;
            wait.pause();
        }
    }

    // After what another said. A peer that is still to read what was sent must not take it for what it was:
    // the memory is the caller's again, so the peer is told first, and looks (exchange_piece) when it has
    // read.
    [[noreturn]] void end(std::uint32_t peer, const Request& sending, Request* receiving, const char* why) {
        abandon(receiving);
        if (sending.pending) tell(why, peer, peer + 1, kAnswering);
        ended_.emplace(VOLTA_IO_ERROR, why);
        throw Error(*ended_);
    }
    [[noreturn]] void end_and_tell(Request* receiving, const char* why) {
        abandon(receiving);
        tell(why, 0, size(), kTelling);
        ended_.emplace(VOLTA_IO_ERROR, why);
        throw Error(*ended_);
    }
    // A receive that was posted would write into the caller's memory later, when the host calls MPI for
    // itself.
    void abandon(Request* receiving) noexcept {
        if (!receiving->pending) return;
        call_.cancel(&receiving->handle);
        Wait wait;
        MpiStatus status;
        while (receiving->pending && wait.seconds() < 0.1) {
            poll(receiving, &status);
            wait.pause();
        }
    }

    // Waits, as MPI_Finalize would, until every rank is here, but no longer than until one says that it has
    // failed.
    bool all_end() noexcept {
        const std::uint32_t count = size();
        for (std::uint32_t step = 1; step < count; step *= 2) {
            const int next = static_cast<int>((rank() + step) % count);
            const int previous = static_cast<int>((rank() + count - step) % count);
            char mark = 0, mine = 0, text[kTextBytes];
            Request to = {}, from = {};
            from.pending = call_.irecv(&mark, 1, mpi_.byte, previous, kEnd, comm_, &from.handle) == 0;
            to.pending = call_.isend(&mine, 1, mpi_.byte, next, kEnd, comm_, &to.handle) == 0;
            if (!from.pending || !to.pending) return false;
            Wait wait;
            while (from.pending || to.pending) {
                MpiStatus status;
                if (poll(&from, &status) != 0 || poll(&to, &status) != 0) return false;
                if (!from.pending && !to.pending) break;
                if (hear(text)) {
                    abandon(&from);
                    return false;
                }
                answer(kNobody);
                wait.pause();
            }
        }
        return true;
    }

    const Mpi<Handle> mpi_;
    const MpiFunctions<Handle>& call_;
    const bool owner_, any_thread_;
    const std::thread::id thread_;
    const double timeout_;
    Handle comm_ = {};
    std::pmr::vector<Request> telling_;
    char left_[kTextBytes];
    Request answering_ = {};
    std::int32_t answer_ = kNobody;
    std::optional<Error> ended_;
};

// MPI knows rank and size; what the options say must be the same.
template <class Handle>
Place read_place(const Mpi<Handle>& mpi, const MpiLibrary& library, const GroupOptions& options) {
    int rank = 0, size = 0;
    mpi.check("MPI_Comm_rank", mpi.call.comm_rank(mpi.world, &rank));
    mpi.check("MPI_Comm_size", mpi.call.comm_size(mpi.world, &size));
    if (size == 1 && options.size != 1)
        fail(VOLTA_INVALID_ARGUMENT,
             "MPI has started this process alone, by %s: start it by mpirun of the same MPI, or have address "
             "name the "
             "library of the mpirun there is; size 1 says that one is meant",
             library.name);
    const Place place = {static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(size)};
    require(options.size == 0 || options.size == place.size, "size is %u, and MPI has started %u processes",
            options.size, place.size);
    require(options.rank == 0 || options.rank == place.rank,
            "rank is %u, and MPI says that this process has rank %u", options.rank, place.rank);
    return place;
}

template <class Handle>
GroupRef open_by(const MpiLibrary& library, const GroupOptions& options, std::pmr::memory_resource* heap) {
    const Mpi<Handle> mpi(library);
    const bool owner = mpi.start();
    const Place place = read_place(mpi, library, options);
    return std::allocate_shared<MpiGroup<Handle>>(std::pmr::polymorphic_allocator<MpiGroup<Handle>>(heap),
                                                  mpi, owner, place, options, heap);
}

}  // namespace

GroupRef open_mpi_group(const GroupOptions& options, std::pmr::memory_resource* heap) {
    const MpiLibrary library = open_mpi_library(options.address);
    return library.abi->integer_handles ? open_by<int>(library, options, heap)
                                        : open_by<void*>(library, options, heap);
}

}  // namespace volta
