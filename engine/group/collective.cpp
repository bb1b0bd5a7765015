#include "engine/group/collective.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/base/error.h"

namespace volta {

std::pmr::vector<std::uint32_t> share_out(const std::pmr::vector<std::uint64_t>& elements,
                                          std::uint32_t ranks, std::pmr::memory_resource* heap) {
    std::pmr::vector<std::size_t> order(elements.size(), heap);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return elements[a] != elements[b] ? elements[a] > elements[b] : a < b;
    });
    std::pmr::vector<std::uint64_t> loads(ranks, 0, heap);
    std::pmr::vector<std::uint32_t> owners(elements.size(), 0, heap);
    for (const std::size_t portion : order) {
        const auto least = std::min_element(loads.begin(), loads.end());
        *least += elements[portion];
        owners[portion] = static_cast<std::uint32_t>(least - loads.begin());
    }
    return owners;
}

namespace {

void add_behind(float* sum, const float* later, std::size_t elements) {
    for (std::size_t i = 0; i < elements; ++i) sum[i] = sum[i] + later[i];
}
void add_before(float* sum, const float* earlier, std::size_t elements) {
    for (std::size_t i = 0; i < elements; ++i) sum[i] = earlier[i] + sum[i];
}

}  // namespace

// The portions whose owners end in some bits, cut into buckets: a slice of a large portion in place, or small
// ones put together. Where the cuts are depends on the portions alone, so that sender and receiver
// agree.
class Collective::Buckets {
  public:
    Buckets(const Portion* portions, std::size_t count, std::uint32_t mask, std::uint32_t bits,
            std::size_t bucket_bytes)
        : portions_(portions),
          count_(count),
          mask_(mask),
          bits_(bits & mask),
          most_(bucket_bytes / sizeof(float)),
          large_(std::min(kLargeElements, most_)) {
        begin_.portion = end_.portion = next_portion(0);
    }

    // The next one's bytes; 0: there is none.
    std::size_t next() {
        begin_ = end_;
        std::size_t elements = 0;
        if (is_through(end_)) return 0;
        if (left_in(end_) >= large_) {
            elements = std::min(left_in(end_), most_);
            through_ = end_.portion + 1;
            advance(end_, elements);
            return elements * sizeof(float);
        }
        while (!is_through(end_) && left_in(end_) < large_ && elements + left_in(end_) <= most_) {
            elements += left_in(end_);
            through_ = end_.portion + 1;
            advance(end_, left_in(end_));
        }
        return elements * sizeof(float);
    }
    // So many portions, from the first one on, have its bytes and those before it.
    std::size_t portions() const { return through_; }
    // Where its bytes lie if that is one place, else NULL.
    float* in_place() const {
        Cursor behind = begin_;
        if (behind.portion != end_.portion) advance(behind, left_in(behind));
        const bool is_one =
            behind.portion == end_.portion && (begin_.portion == end_.portion || end_.element == 0);
        return is_one ? portions_[begin_.portion].data + begin_.element : nullptr;
    }
    // Its slices, each with its place in the packed bytes.
    template <class Visit>
    void for_each_slice(float* packed, const Visit& visit) const {
        for (Cursor at = begin_; at.portion != end_.portion || at.element != end_.element;) {
            const std::size_t elements = at.portion == end_.portion ? end_.element - at.element : left_in(at);
            visit(portions_[at.portion].data + at.element, packed, elements);
            packed += elements;
            advance(at, elements);
        }
    }

  private:
    static constexpr std::size_t kLargeElements = 16384;
    struct Cursor {
        std::size_t portion = 0, element = 0;
    };
    std::size_t next_portion(std::size_t portion) const {
        while (portion < count_ &&
               (portions_[portion].elements == 0 || (portions_[portion].owner & mask_) != bits_))
            ++portion;
        return portion;
    }
    bool is_through(const Cursor& at) const { return at.portion == count_; }
    std::size_t left_in(const Cursor& at) const { return portions_[at.portion].elements - at.element; }
    void advance(Cursor& at, std::size_t elements) const {
        at.element += elements;
        if (at.element == portions_[at.portion].elements) at = {next_portion(at.portion + 1), 0};
    }

    const Portion* portions_;
    std::size_t count_;
    std::uint32_t mask_, bits_;
    std::size_t most_, large_;  // elements
    Cursor begin_, end_;
    std::size_t through_ = 0;
};

Collective::Collective(GroupRef group, ThreadPool& pool, std::pmr::memory_resource* tensors,
                       std::size_t bucket_bytes)
    : group_(std::move(group)),
      pool_(pool),
      bucket_bytes_(bucket_bytes),
      sent_(tensors, bucket_bytes, false),
      received_(tensors, bucket_bytes, false) {}

// Both ways until neither has a bucket left. What is received is added by the order of the ranks, or put in
// its place.
void Collective::pass(std::uint32_t peer, Buckets& sent, Buckets& received, bool adds, Arrival* made) {
    auto* const out = static_cast<float*>(sent_.data());
    auto* const in = static_cast<float*>(received_.data());
    const bool is_earlier = group_->rank() < peer;
    for (;;) {
        const std::size_t send_bytes = sent.next(), receive_bytes = received.next();
        if (send_bytes == 0 && receive_bytes == 0) return;
        if (made != nullptr) made->wait_for(std::max(sent.portions(), received.portions()));
        const float* from = out;
        if (send_bytes != 0) {
            if (const float* const place = sent.in_place())
                from = place;
            else
                sent.for_each_slice(out, [](const float* portion, float* packed, std::size_t elements) {
                    std::memcpy(packed, portion, elements * sizeof(float));
                });
        }
        float* to = in;
        if (receive_bytes != 0 && !adds && received.in_place() != nullptr) to = received.in_place();
        group_->exchange(peer, from, send_bytes, to, receive_bytes);
        if (receive_bytes == 0 || to != in) continue;
        received.for_each_slice(in, [&](float* portion, const float* packed, std::size_t elements) {
            if (!adds)
                std::memcpy(portion, packed, elements * sizeof(float));
            else if (is_earlier)
                add_behind(portion, packed, elements);
            else
                add_before(portion, packed, elements);
        });
    }
}

unsigned char* Collective::share(std::uint64_t most, std::uint64_t own_bytes) {
    shared_ = group_->share(most, own_bytes);
    return shared_ ? shared_.own() : nullptr;
}

bool Collective::is_shared(const Portion* portions, std::size_t count) const {
    return shared_ && count > 0 && portions[0].place != Portion::kNowhere;
}

const float* Collective::shared(const Portion& portion, std::uint32_t rank) const {
    return reinterpret_cast<const float*>(shared_.of(rank) + portion.place);
}

void Collective::meet() {
    for (std::uint32_t d = 1; d < group_->size(); d *= 2)
        group_->exchange(group_->rank() ^ d, nullptr, 0, nullptr, 0);
}

// By a binary counter: behind the ranks 2q and 2q + 1 the sums are complete that end with them, as many
// levels as the lowest bits of q are set. That of all ranks takes the place of this rank's own numbers, which
// are read by then.
void Collective::add_chunk(const Portion& portion, std::size_t at, std::size_t elements) const {
    float sums[kMostLevels][kChunk];
    const std::uint32_t pairs = group_->size() / 2;
    for (std::uint32_t q = 0; q < pairs; ++q) {
        std::uint32_t level = 0;
        while (((q >> level) & 1) != 0) ++level;
        float* const sum = q == pairs - 1 ? portion.data + at : sums[level];
        const float* const earlier = shared(portion, 2 * q) + at;
        const float* const later = shared(portion, 2 * q + 1) + at;
        for (std::size_t i = 0; i < elements; ++i) sum[i] = earlier[i] + later[i];
        for (std::uint32_t l = 0; l < level; ++l) add_before(sum, sums[l], elements);
    }
}

void Collective::add_shared(const Portion* portions, std::size_t count) {
    meet();  // all have written theirs
    pool_.run(pool_.thread_count(), [&](int worker, int workers) noexcept {
        for (std::size_t p = 0; p < count; ++p) {
            if (portions[p].owner != group_->rank()) continue;
            const Range part = part_of(static_cast<long long>(portions[p].elements), kChunk, worker, workers);
            const auto end = static_cast<std::size_t>(part.end);
            for (auto at = static_cast<std::size_t>(part.begin); at < end; at += kChunk)
                add_chunk(portions[p], at, std::min(kChunk, end - at));
        }
    });
}

// Recursive halving: behind level d a rank has sums over 2d ranks of the portions whose owners end as its
// number does.
void Collective::add(const Portion* portions, std::size_t count, Arrival* made) {
    if (is_shared(portions, count)) {
        if (made != nullptr) made->wait_for(count);
        return add_shared(portions, count);
    }
    for (std::uint32_t d = 1; d < group_->size(); d *= 2) {
        const std::uint32_t mask = 2 * d - 1, peer = group_->rank() ^ d;
        Buckets sent(portions, count, mask, peer, bucket_bytes_),
            kept(portions, count, mask, group_->rank(), bucket_bytes_);
        pass(peer, sent, kept, true, d == 1 ? made : nullptr);
    }
}

void Collective::gather_shared(const Portion* portions, std::size_t count) {
    meet();  // all have written theirs
    pool_.run(pool_.thread_count(), [&](int worker, int workers) noexcept {
        for (std::size_t p = 0; p < count; ++p) {
            const Portion& portion = portions[p];
            if (portion.owner == group_->rank()) continue;
            const Range part = part_of(static_cast<long long>(portion.elements), kChunk, worker, workers);
            if (part.begin == part.end) continue;
            std::memcpy(portion.data + part.begin, shared(portion, portion.owner) + part.begin,
                        static_cast<std::size_t>(part.end - part.begin) * sizeof(float));
        }
    });
    meet();  // all have read them
}

// The way back.
void Collective::gather(const Portion* portions, std::size_t count) {
    if (is_shared(portions, count)) return gather_shared(portions, count);
    for (std::uint32_t d = group_->size() / 2; d > 0; d /= 2) {
        const std::uint32_t mask = 2 * d - 1, peer = group_->rank() ^ d;
        Buckets sent(portions, count, mask, group_->rank(), bucket_bytes_),
            others(portions, count, mask, peer, bucket_bytes_);
        pass(peer, sent, others, false);
    }
}

template <class Number, class Join>
void Collective::for_all(Number* numbers, std::size_t count, const Join& join) {
    auto* const theirs = static_cast<Number*>(received_.data());
    if (count * sizeof(Number) > bucket_bytes_)
        fail(VOLTA_INTERNAL, "%zu numbers for all ranks are more than a bucket holds", count);
    const std::uint32_t rank = group_->rank();
    for (std::uint32_t d = 1; d < group_->size(); d *= 2) {
        const std::uint32_t peer = rank ^ d;
        group_->exchange(peer, numbers, count * sizeof(Number), theirs, count * sizeof(Number));
        for (std::size_t i = 0; i < count; ++i)
            numbers[i] = rank < peer ? join(numbers[i], theirs[i]) : join(theirs[i], numbers[i]);
    }
}

void Collective::add_for_all(double* numbers, std::size_t count) {
    for_all(numbers, count, [](double earlier, double later) { return earlier + later; });
}

void Collective::add_for_all(float* numbers, std::size_t count) {
    for_all(numbers, count, [](float earlier, float later) { return earlier + later; });
}

void Collective::largest(double* numbers, std::size_t count) {
    for_all(numbers, count, [](double a, double b) { return std::max(a, b); });
}

void Collective::adopt(std::uint32_t* numbers, std::size_t count) {
    for_all(numbers, count, [](std::uint32_t earlier, std::uint32_t) { return earlier; });
}

void Collective::fetch(std::uint32_t from, const void* own, void* to, std::size_t bytes) {
    if (from == 0) return;
    for (std::size_t at = 0; at < bytes; at += bucket_bytes_) {
        const std::size_t part = std::min(bucket_bytes_, bytes - at);
        if (group_->rank() == from)
            group_->exchange(0, static_cast<const char*>(own) + at, part, nullptr, 0);
        else if (group_->rank() == 0)
            group_->exchange(from, nullptr, 0, static_cast<char*>(to) + at, part);
    }
}

}  // namespace volta
