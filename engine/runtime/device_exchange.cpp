#include "engine/runtime/device_exchange.h"

#include <algorithm>

namespace volta {

// Its bits in reverse: of all ranks, the lowest bit tells the halves.
std::uint32_t DeviceExchange::position_of(std::uint32_t rank, std::uint32_t size) {
    std::uint32_t position = 0;
    for (std::uint32_t bit = 1; bit < size; bit *= 2) position = 2 * position + ((rank & bit) != 0 ? 1 : 0);
    return position;
}

DeviceExchange::DeviceExchange(Context& context, GroupRef group, std::uint64_t begin,
                               const std::pmr::vector<std::uint64_t>& ends, std::uint64_t piece_bytes)
    : context_(context),
      group_(std::move(group)),
      piece_bytes_(piece_bytes),
      bounds_(context.structures()),
      sums_(context.structures()),
      sent_pieces_(context.structures()),
      received_pieces_(context.structures()) {
    bounds_.push_back(begin);
    bounds_.insert(bounds_.end(), ends.begin(), ends.end());
    for (std::uint32_t distance = 1; distance < group_->size(); distance *= 2) {
        const Range kept = range(distance, rank());
        for (std::uint64_t at = kept.begin; at < kept.end; at += piece_bytes_) {
            const std::uint64_t bytes = std::min(piece_bytes_, kept.end - at);
            received_bytes_ = std::max(received_bytes_, bytes);
            const bool is_known =
                std::any_of(sums_.begin(), sums_.end(), [&](const Sum& one) { return one.bytes == bytes; });
            if (!is_known)
                sums_.push_back(
                    {bytes, make_on<DeviceSum>(context.structures(), context, bytes / sizeof(float))});
        }
    }
}

void DeviceExchange::add_to(volta_bill& bill) const {
    bill.staging += received_bytes_;
    bill.total += received_bytes_;
    for (const Sum& one : sums_) one.sum->add_to(bill);
}

std::uint64_t DeviceExchange::needed_bytes() const {
    std::uint64_t bytes = received_bytes_;
    for (const Sum& one : sums_) bytes += one.sum->needed_bytes();
    return bytes;
}

void DeviceExchange::allocate(std::size_t parameters) {
    for (DevicePieces* const pieces : {&sent_pieces_, &received_pieces_}) pieces->reserve(parameters + 1);
    received_ = Block(context_.memory(), static_cast<std::size_t>(received_bytes_));
    for (const Sum& one : sums_) one.sum->allocate();
}

// Of the ranks that `rank` stands for when those at this distance have added theirs: the same low bits.
DeviceExchange::Range DeviceExchange::range(std::uint32_t distance, std::uint32_t rank) const {
    const std::uint32_t size = group_->size(), count = size / (2 * distance);
    const std::uint32_t first = position_of(rank & (2 * distance - 1), size);
    return {bounds_[first], bounds_[first + count]};
}

DeviceSum& DeviceExchange::sum_of(std::uint64_t bytes) {
    return *std::find_if(sums_.begin(), sums_.end(), [&](const Sum& one) { return one.bytes == bytes; })->sum;
}

void DeviceExchange::add(unsigned char* level) {
    for (std::uint32_t distance = 1; distance < group_->size(); distance *= 2) {
        const std::uint32_t peer = rank() ^ distance;
        const Range kept = range(distance, rank()), sent = range(distance, peer);
        const std::uint64_t most = std::max(kept.end - kept.begin, sent.end - sent.begin);
        for (std::uint64_t at = 0; at < most; at += piece_bytes_) {
            const auto bytes_at = [&](const Range& range) {
                const std::uint64_t all = range.end - range.begin;
                return all > at ? std::min(piece_bytes_, all - at) : 0;
            };
            const std::uint64_t kept_bytes = bytes_at(kept), sent_bytes = bytes_at(sent);
            sent_pieces_.clear();
            received_pieces_.clear();
            if (sent_bytes > 0)
                sent_pieces_.push_back({level + sent.begin + at, static_cast<std::size_t>(sent_bytes)});
            if (kept_bytes > 0)
                received_pieces_.push_back({received_.data(), static_cast<std::size_t>(kept_bytes)});
            group_->exchange_on_device(peer, sent_pieces_, received_pieces_);
            if (kept_bytes == 0) continue;
            void* const own = level + kept.begin + at;
            if (rank() < peer)
                sum_of(kept_bytes).run(own, received_.data(), own);
            else
                sum_of(kept_bytes).run(received_.data(), own, own);
        }
    }
}

// Of the parameters whose owners end in these bits, one behind the other, what lies within a piece from `at`
// on. False: nothing does.
bool DeviceExchange::cut(const std::pmr::vector<Parameter>& parameters, std::uint32_t mask,
                         std::uint32_t bits, std::uint64_t at, DevicePieces& pieces) const {
    pieces.clear();
    std::uint64_t begin = 0;
    for (const Parameter& one : parameters) {
        if ((one.owner & mask) != (bits & mask)) continue;
        const std::uint64_t end = begin + one.piece.bytes;
        const std::uint64_t first = std::max(begin, at), last = std::min(end, at + piece_bytes_);
        if (first < last)
            pieces.push_back({static_cast<unsigned char*>(one.piece.data) + (first - begin),
                              static_cast<std::size_t>(last - first)});
        begin = end;
    }
    return !pieces.empty();
}

void DeviceExchange::gather(const std::pmr::vector<Parameter>& parameters) {
    for (std::uint32_t distance = group_->size() / 2; distance > 0; distance /= 2) {
        const std::uint32_t mask = 2 * distance - 1, peer = rank() ^ distance;
        for (std::uint64_t at = 0;; at += piece_bytes_) {
            const bool sends = cut(parameters, mask, rank(), at, sent_pieces_);
            const bool receives = cut(parameters, mask, peer, at, received_pieces_);
            if (!sends && !receives) break;
            group_->exchange_on_device(peer, sent_pieces_, received_pieces_);
        }
    }
}

}  // namespace volta
