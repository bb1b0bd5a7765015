// A transport between threads of one process, for volta_group_options.exchange: rank r of the group gets
// FakeTransport::exchange and FakeTransport::user(r). It delays, lets messages of independent pairs overtake
// each other, loses one, damages one, kills a rank: whatever the faults say. One of its ranks has ended, all
// have: every call that waits then, and every later one, fails with one sentence that names it.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "include/volta.h"

namespace volta::test {

struct FakeFaults {  // calls of a rank count from 0; zeros: no fault
    std::uint32_t seed = 1;
    std::chrono::microseconds longest_delay{0};  // of a message, at random: 0 .. longest
    std::chrono::milliseconds timeout{30000};
    struct Moment {
        std::uint32_t rank = 0;
        std::uint64_t call = UINT64_MAX;  // never
    };
    Moment kill;    // the rank ends, as its process would
    Moment drop;    // what it sends is lost, and what it sends that peer later: the peer times out
    Moment damage;  // what it sends arrives with another byte in the middle, and nobody is told
};

class FakeTransport final {
  public:
    explicit FakeTransport(std::uint32_t size, const FakeFaults& faults = {})
        : size_(size), faults_(faults), random_(faults.seed), mailboxes_(std::size_t{size} * size) {
        for (std::uint32_t rank = 0; rank < size; ++rank) ranks_.push_back({this, rank, 0, kNobody});
    }
    FakeTransport(const FakeTransport&) = delete;
    FakeTransport& operator=(const FakeTransport&) = delete;

    void* user(std::uint32_t rank) { return &ranks_[rank]; }
    std::uint64_t calls(std::uint32_t rank) {
        const std::lock_guard<std::mutex> lock(mutex_);
        return ranks_[rank].calls;
    }
    // As the process's end: for a rank that stops for a reason of its own.
    void end(std::uint32_t rank, const char* why = "has ended") {
        const std::lock_guard<std::mutex> lock(mutex_);
        end_locked("rank " + std::to_string(rank) + " " + why);
    }
    std::string ended() {  // why; "": it has not
        const std::lock_guard<std::mutex> lock(mutex_);
        return ended_;
    }

    static volta_status exchange(void* user, std::uint32_t peer, const void* send, std::size_t send_bytes,
                                 void* receive, std::size_t receive_bytes, char* text,
                                 std::size_t text_bytes) {
        Rank& rank = *static_cast<Rank*>(user);
        const std::string why =
            rank.transport->exchange_of(rank, peer, send, send_bytes, receive, receive_bytes);
        if (why.empty()) return VOLTA_OK;
        std::snprintf(text, text_bytes, "%s", why.c_str());
        return VOLTA_IO_ERROR;
    }

  private:
    static constexpr std::uint32_t kNobody = UINT32_MAX;
    using Clock = std::chrono::steady_clock;
    struct Rank {
        FakeTransport* transport;
        std::uint32_t rank;
        std::uint64_t calls;
        std::uint32_t waits_for;
    };
    struct Message {
        std::vector<unsigned char> bytes;
        Clock::time_point arrives;
    };
    struct Mailbox {  // from one rank to another: in order, and in no order with others
        std::deque<Message> messages;
        bool is_cut = false;
    };

    Mailbox& mailbox(std::uint32_t from, std::uint32_t to) {
        return mailboxes_[std::size_t{from} * size_ + to];
    }
    bool is_now(const FakeFaults::Moment& moment, const Rank& rank) const {
        return moment.rank == rank.rank && moment.call == rank.calls;
    }
    void end_locked(const std::string& why) {
        if (ended_.empty()) ended_ = why;
        changed_.notify_all();
    }

    std::string exchange_of(Rank& rank, std::uint32_t peer, const void* send, std::size_t send_bytes,
                            void* receive, std::size_t receive_bytes) {
        std::unique_lock<std::mutex> lock(mutex_);
        if (!ended_.empty()) return ended_;
        if (peer >= size_ || peer == rank.rank)
            return "rank " + std::to_string(rank.rank) + " exchanged with rank " + std::to_string(peer);
        if (is_now(faults_.kill, rank)) end_locked("rank " + std::to_string(rank.rank) + " has ended");
        if (!ended_.empty()) return ended_;
        post(rank, peer, send, send_bytes);
        ++rank.calls;
        rank.waits_for = peer;
        std::string why = take(lock, rank.rank, peer, receive, receive_bytes);
        rank.waits_for = kNobody;
        return why;
    }

    void post(const Rank& rank, std::uint32_t peer, const void* send, std::size_t bytes) {
        Mailbox& to_peer = mailbox(rank.rank, peer);
        to_peer.is_cut |= is_now(faults_.drop, rank);
        if (to_peer.is_cut) return;
        Message message;
        if (bytes > 0) {
            const auto* const first = static_cast<const unsigned char*>(send);
            message.bytes.assign(first, first + bytes);
            if (is_now(faults_.damage, rank)) message.bytes[bytes / 2] ^= 0x10;
        }
        const auto longest = static_cast<std::uint64_t>(faults_.longest_delay.count());
        message.arrives =
            Clock::now() + std::chrono::microseconds(longest == 0 ? 0 : random_() % (longest + 1));
        to_peer.messages.push_back(std::move(message));
        changed_.notify_all();
    }

    // Of a rank's waiting for `peer`: whose message is lost, or who is at the end of the chain of waits.
    std::uint32_t culprit_of(std::uint32_t peer) const {
        for (const Mailbox& one : mailboxes_)
            if (one.is_cut) return faults_.drop.rank;
        for (std::uint32_t i = 0; i < size_ && ranks_[peer].waits_for != kNobody; ++i)
            peer = ranks_[peer].waits_for;
        return peer;
    }

    std::string take(std::unique_lock<std::mutex>& lock, std::uint32_t rank, std::uint32_t peer,
                     void* receive, std::size_t bytes) {
        std::deque<Message>& from_peer = mailbox(peer, rank).messages;
        const Clock::time_point last = Clock::now() + faults_.timeout;
        for (;;) {
            const Clock::time_point now = Clock::now();
            if (!from_peer.empty() && from_peer.front().arrives <= now) break;  // sent before the end
            if (!ended_.empty()) return ended_;
            if (now >= last) {
                end_locked("rank " + std::to_string(culprit_of(peer)) + " has not answered for " +
                           std::to_string(faults_.timeout.count()) + " ms");
                return ended_;
            }
            changed_.wait_until(lock, from_peer.empty() ? last : std::min(last, from_peer.front().arrives));
        }
        const Message message = std::move(from_peer.front());
        from_peer.pop_front();
        if (message.bytes.size() != bytes) {
            end_locked("rank " + std::to_string(peer) + " sent " + std::to_string(message.bytes.size()) +
                       " bytes, rank " + std::to_string(rank) + " expected " + std::to_string(bytes));
            return ended_;
        }
        if (bytes > 0) std::memcpy(receive, message.bytes.data(), bytes);
        return "";
    }

    const std::uint32_t size_;
    const FakeFaults faults_;
    std::mt19937_64 random_;
    std::vector<Mailbox> mailboxes_;
    std::vector<Rank> ranks_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string ended_;
};

}  // namespace volta::test
