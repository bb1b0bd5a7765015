// Sums over ranks, and parameters of which each has an owner, from device to device: the tree of Collective
// (docs/numerics.md, 7), with a transport that reaches the devices' memory.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/group/group.h"
#include "engine/runtime/device_sum.h"

namespace volta {

class DeviceExchange final {
  public:
    // The position of a rank's sums among those of all, so that what a level of the tree sends lies together.
    static std::uint32_t position_of(std::uint32_t rank, std::uint32_t size);

    // `ends`: where the sums of each position end, in bytes of the level; they begin at `begin`.
    // piece_bytes: the most of an exchange, each way, which has the whole timeout; whole floats.
    DeviceExchange(Context& context, GroupRef group, std::uint64_t begin,
                   const std::pmr::vector<std::uint64_t>& ends,
                   std::uint64_t piece_bytes = std::uint64_t{64} << 20);
    void add_to(volta_bill& bill) const;
    std::uint64_t needed_bytes() const;     // of the device
    void allocate(std::size_t parameters);  // that gather() will be given, at most

    // The sums of this rank, in `level`, become those over all ranks; of others, a part of it. Throws as
    // Group::exchange.
    void add(unsigned char* level);
    struct Parameter {
        DevicePiece piece;
        std::uint32_t owner;
    };
    // All ranks have each from its owner.
    void gather(const std::pmr::vector<Parameter>& parameters);

  private:
    struct Range {
        std::uint64_t begin, end;
    };
    std::uint32_t rank() const { return group_->rank(); }
    Range range(std::uint32_t distance, std::uint32_t rank) const;
    DeviceSum& sum_of(std::uint64_t bytes);
    bool cut(const std::pmr::vector<Parameter>& parameters, std::uint32_t mask, std::uint32_t bits,
             std::uint64_t at, DevicePieces& pieces) const;

    struct Sum {
        std::uint64_t bytes;
        HeapPtr<DeviceSum> sum;
    };
    Context& context_;
    GroupRef group_;
    const std::uint64_t piece_bytes_;
    std::pmr::vector<std::uint64_t> bounds_;  // of positions
    std::pmr::vector<Sum> sums_;              // of every size that add() needs
    std::uint64_t received_bytes_ = 0;
    Block received_;
    DevicePieces sent_pieces_, received_pieces_;
};

}  // namespace volta
