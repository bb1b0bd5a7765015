// What the ranks of a group do together: sums by one tree whatever their number, and parts that all have of
// each (docs/numerics.md, 7). Out of exchanges between two; ranks of one machine read each other's memory.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/base/memory.h"
#include "engine/base/thread_pool.h"
#include "engine/group/group.h"

namespace volta {

// Numbers of which every rank has a copy of its own; one rank is given the sum, or has what all are given.
struct Portion {
    static constexpr std::uint64_t kNowhere = UINT64_MAX;

    float* data;
    std::size_t elements;
    std::uint32_t owner;  // a rank
    // Where others may read it, in bytes of a rank's shared memory: what is added on every rank, what is
    // gathered on its owner.
    std::uint64_t place = kNowhere;
};

// Of what another thread makes in its order.
class Arrival {
  public:
    virtual void wait_for(std::size_t count) = 0;  // returns when the first so many are there

  protected:
    ~Arrival() = default;
};

// Owners of portions of so many elements, so that each rank has about the same: the largest first, to the
// rank that has least. Depends on nothing else, so that all ranks agree.
std::pmr::vector<std::uint32_t> share_out(const std::pmr::vector<std::uint64_t>& elements,
                                          std::uint32_t ranks, std::pmr::memory_resource* heap);

// Thread: one caller. Every rank makes the same calls with the same portions. Throws as Group::exchange.
class Collective final {
  public:
    static constexpr std::size_t kBucketBytes = std::size_t{4} << 20;
    // bucket_bytes: the most of a message, a multiple of a float's, the same on all ranks.
    Collective(GroupRef group, ThreadPool& pool, std::pmr::memory_resource* tensors,
               std::size_t bucket_bytes = kBucketBytes);
    static std::uint64_t bytes() { return 2 * kBucketBytes; }  // what it allocates

    // Zeroed memory of this rank, which portions with a place lie in; NULL where ranks have none to share.
    // `most` is the largest own_bytes of any rank. Once.
    unsigned char* share(std::uint64_t most, std::uint64_t own_bytes);

    // data of the owner = the sum over the ranks by the tree; of others, a part of it. Where portions are
    // made meanwhile, `made` says when they are there; NULL: all are.
    void add(const Portion* portions, std::size_t count, Arrival* made = nullptr);
    // data of all = the owner's.
    void gather(const Portion* portions, std::size_t count);
    void meet();  // returns when all ranks have come here
    // For a few numbers: all have the sum, by the same tree. The largest.
    void add_for_all(double* numbers, std::size_t count);
    void add_for_all(float* numbers, std::size_t count);
    void largest(double* numbers, std::size_t count);
    void adopt(std::uint32_t* numbers, std::size_t count);  // those of rank 0
    // To the group's rank 0, from one other that has as many bytes; the rest pass.
    void fetch(std::uint32_t from, const void* own, void* to, std::size_t bytes);

    Group& group() const noexcept { return *group_; }

  private:
    static constexpr std::size_t kChunk = 256;       // elements: so many sums of it lie on a stack
    static constexpr std::uint32_t kMostLevels = 9;  // of 2, 4, ... 512 ranks: a group has 1024 at most
    class Buckets;
    bool is_shared(const Portion* portions, std::size_t count) const;
    void add_shared(const Portion* portions, std::size_t count);
    void gather_shared(const Portion* portions, std::size_t count);
    const float* shared(const Portion& portion, std::uint32_t rank) const;
    void add_chunk(const Portion& portion, std::size_t at, std::size_t elements) const;
    void pass(std::uint32_t peer, Buckets& sent, Buckets& received, bool adds, Arrival* made = nullptr);
    template <class Number, class Join>
    void for_all(Number* numbers, std::size_t count, const Join& join);

    GroupRef group_;
    ThreadPool& pool_;
    const std::size_t bucket_bytes_;
    SharedMemory shared_;  // before the group is released
    Buffer sent_, received_;
};

}  // namespace volta
