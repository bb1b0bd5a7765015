// What the ranks of a group do together, out of exchanges between two: sums by one tree whatever their
// number, and parts that each sends to all (docs/numerics.md, 7).
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/base/memory.h"
#include "engine/group/group.h"

namespace volta {

// Numbers of which every rank has a copy of its own; one rank is given the sum, or has what all are given.
struct Portion {
    float* data;
    std::size_t elements;
    std::uint32_t owner;  // a rank
};

// Owners of portions of so many elements, so that each rank has about the same: the largest first, to the
// rank that has least. Depends on nothing else, so that all ranks agree.
std::pmr::vector<std::uint32_t> share_out(const std::pmr::vector<std::uint64_t>& elements,
                                          std::uint32_t ranks, std::pmr::memory_resource* heap);

// Thread: one caller. Every rank makes the same calls with the same portions. Throws as Group::exchange.
class Collective final {
  public:
    Collective(GroupRef group, std::pmr::memory_resource* tensors);
    static std::uint64_t bytes() { return 2 * kBucketBytes; }  // what it allocates

    // data of the owner = the sum over the ranks by the tree; of others, a part of it.
    void add(const Portion* portions, std::size_t count);
    // data of all = the owner's.
    void gather(const Portion* portions, std::size_t count);
    // For a few numbers: all have the sum, by the same tree. The largest.
    void add_for_all(double* numbers, std::size_t count);
    void add_for_all(float* numbers, std::size_t count);
    void largest(double* numbers, std::size_t count);
    // To the group's rank 0, from one other that has as many bytes; the rest pass.
    void fetch(std::uint32_t from, const void* own, void* to, std::size_t bytes);

    Group& group() const noexcept { return *group_; }

  private:
    static constexpr std::size_t kBucketBytes = std::size_t{4} << 20;
    class Buckets;
    void pass(std::uint32_t peer, Buckets& sent, Buckets& received, bool adds);
    template <class Number, class Join>
    void for_all(Number* numbers, std::size_t count, const Join& join);

    GroupRef group_;
    Buffer sent_, received_;
};

}  // namespace volta
