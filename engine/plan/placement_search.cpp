#include "engine/plan/placement_search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "engine/plan/offset_search.h"

namespace volta {
namespace {

// Sizes are counted in units of the alignment, so that no sum overflows.
std::int64_t units(std::uint64_t bytes) {
    return static_cast<std::int64_t>(padded(bytes) / kTensorAlignment);
}

// What tells buffers that are hard to place from others. Of a buffer's sections the busiest one counts.
enum Measure {
    busiest,
    length,
    area,
    size,
    sections,
    long_area,
    kMeasureCount
};  // long_area: length times area
using Measures = std::array<std::uint64_t, kMeasureCount>;

// In which order buffers that could lie equally low are tried: by the first measure, the largest first, then
// by the second and the third. None is best for all graphs; these solve different ones quickly
// (docs/measurements/offsets.md).
constexpr Measure kOrders[][3] = {
    {busiest, length, area},   {sections, size, area},  {busiest, area, length},
    {busiest, sections, size}, {length, area, busiest}, {long_area, busiest, size},
};
constexpr std::size_t kOrderCount = sizeof kOrders / sizeof kOrders[0];
constexpr std::size_t kShuffled = kOrderCount - 1;  // the order that is best slightly shuffled

// Lengths of runs, in times of a search that never turns back; and how many shuffled ones there are in a
// round.
constexpr std::uint64_t kFirstRun = 4, kShuffledRun = 2;
constexpr std::size_t kShuffles = 40;

// Splitmix64: the same numbers everywhere.
class Random {
  public:
    std::uint64_t below(std::uint64_t bound) {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return (z ^ (z >> 31)) % bound;
    }

  private:
    std::uint64_t state_ = 1;
};

// Buffers that time connects with one another and with no others: they can be placed by themselves.
class Group {
  public:
    // buffers[of[i]] for all i, ascending by first step.
    Group(const std::pmr::vector<Lifetime>& buffers, const std::uint32_t* of, std::size_t count,
          const MemoryPlan& plan)
        : of_(of, of + count, buffers.get_allocator()),
          buffers_(count, SearchBuffer{0, 0, 0}, buffers.get_allocator()),
          measures_(count, Measures{}, buffers.get_allocator()),
          rank_(count, 0, buffers.get_allocator()),
          order_(count, 0, buffers.get_allocator()) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t end = static_cast<std::int64_t>(plan.offsets[of[i]] / kTensorAlignment) +
                                     (buffers_[i].size = units(buffers[of[i]].bytes));
            height_ = std::max(height_, end);
        }
        find_sections(buffers);
        measure(buffers);
    }

    std::int64_t height() const { return height_; }
    std::int64_t bound() const { return bound_; }

    // A placement within `capacity`, in at most `steps` steps, of which it takes what it needed.
    bool search(std::int64_t capacity, std::uint64_t& steps, MemoryPlan& plan) {
        if (one_way_ / 4 > steps) return false;  // not enough for one placement
        OffsetSearch search(buffers_, section_count_);
        Random random;
        Verdict verdict = Verdict::gave_up;
        // All orders, then one of them shuffled again and again; all orders for twice as long; and so on.
        constexpr std::size_t kRound = kOrderCount + kShuffles;
        std::uint64_t length_of_run = kFirstRun * one_way_;
        for (std::size_t run = 0; verdict == Verdict::gave_up && search.steps() < steps; ++run) {
            const std::size_t in_round = run % kRound;
            const bool shuffled = in_round >= kOrderCount;
            if (in_round == 0 && run > 0) length_of_run *= 2;
            rank_by(kOrders[shuffled ? kShuffled : in_round], shuffled ? &random : nullptr);
            verdict = search.run(
                capacity, rank_,
                std::min(shuffled ? kShuffledRun * one_way_ : length_of_run, steps - search.steps()));
        }
        steps -= std::min(steps, search.steps());
        if (verdict != Verdict::placed) return false;
        take(search.offsets(), plan);
        return true;
    }

  private:
    // A section ends with the first death after a birth: each is a set of buffers that no other one contains.
    void find_sections(const std::pmr::vector<Lifetime>& buffers) {
        std::pmr::vector<std::uint32_t> deaths(of_.size(), 0, of_.get_allocator());
        std::iota(deaths.begin(), deaths.end(), 0u);
        std::sort(deaths.begin(), deaths.end(), [&](std::uint32_t a, std::uint32_t b) {
            const std::int32_t of_a = buffers[of_[a]].last_step, of_b = buffers[of_[b]].last_step;
            return of_a != of_b ? of_a < of_b : a < b;
        });
        std::size_t born = 0;
        bool open = false;
        for (const std::uint32_t dying : deaths) {
            for (; born < of_.size() && buffers[of_[born]].first_step <= buffers[of_[dying]].last_step;
                 ++born) {
                buffers_[born].first_section = section_count_;
                open = true;
            }
            if (open) ++section_count_;
            open = false;
            buffers_[dying].last_section = section_count_ - 1;
        }
    }

    void measure(const std::pmr::vector<Lifetime>& buffers) {
        std::pmr::vector<std::int64_t> alive(static_cast<std::size_t>(section_count_), 0,
                                             of_.get_allocator());
        for (const SearchBuffer& b : buffers_)
            for (std::int32_t s = b.first_section; s <= b.last_section; ++s)
                alive[static_cast<std::size_t>(s)] += b.size;
        std::uint64_t of_choice = 0;  // the first one, which looks at everything
        for (const SearchBuffer& b : buffers_)
            of_choice += static_cast<std::uint64_t>(b.last_section - b.first_section) + 4;
        if (multiply_overflows(of_choice, buffers_.size(), &one_way_)) one_way_ = of_choice;
        bound_ = *std::max_element(alive.begin(), alive.end());
        for (std::size_t i = 0; i < of_.size(); ++i) {
            const Lifetime& life = buffers[of_[i]];
            const SearchBuffer& b = buffers_[i];
            Measures& of = measures_[i];
            of[busiest] = static_cast<std::uint64_t>(
                *std::max_element(alive.begin() + b.first_section, alive.begin() + b.last_section + 1));
            of[length] = static_cast<std::uint64_t>(std::int64_t{life.last_step} - life.first_step + 1);
            of[size] = static_cast<std::uint64_t>(b.size);
            of[sections] = static_cast<std::uint64_t>(b.last_section - b.first_section + 1);
            if (multiply_overflows(of[length], of[size], &of[area]))
                of[area] = std::numeric_limits<std::uint64_t>::max();
            if (multiply_overflows(of[length], of[area], &of[long_area]))
                of[long_area] = std::numeric_limits<std::uint64_t>::max();
        }
    }

    // With `random` a buffer comes up to a twentieth of all places earlier.
    void rank_by(const Measure (&order)[3], Random* random) {
        std::iota(order_.begin(), order_.end(), 0u);
        std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
            for (const Measure m : order)
                if (measures_[a][m] != measures_[b][m]) return measures_[a][m] < measures_[b][m];
            return a > b;
        });
        const std::uint64_t count = order_.size();
        for (std::uint64_t place = 0; place < count; ++place) {
            const std::uint64_t moved = random ? random->below(count / 20 + 1) : 0;
            rank_[order_[place]] = (place + moved) * count + place;
        }
    }

    void take(const std::pmr::vector<std::int64_t>& offsets, MemoryPlan& plan) {
        height_ = 0;
        for (std::size_t i = 0; i < of_.size(); ++i) {
            plan.offsets[of_[i]] = static_cast<std::uint64_t>(offsets[i]) * kTensorAlignment;
            height_ = std::max(height_, offsets[i] + buffers_[i].size);
        }
    }

    std::pmr::vector<std::uint32_t> of_;
    std::pmr::vector<SearchBuffer> buffers_;
    std::pmr::vector<Measures> measures_;
    std::pmr::vector<std::uint64_t> rank_;
    std::pmr::vector<std::uint32_t> order_;
    std::int32_t section_count_ = 0;
    std::int64_t height_ = 0, bound_ = 0;
    std::uint64_t one_way_ = 0;  // steps of a search that never turns back: at most
};

std::pmr::vector<Group> groups_of(const std::pmr::vector<Lifetime>& buffers, const MemoryPlan& plan) {
    std::pmr::vector<std::uint32_t> order(buffers.get_allocator());
    for (std::size_t b = 0; b < buffers.size(); ++b)
        if (buffers[b].bytes != 0) order.push_back(static_cast<std::uint32_t>(b));
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return buffers[a].first_step != buffers[b].first_step ? buffers[a].first_step < buffers[b].first_step
                                                              : a < b;
    });
    std::pmr::vector<Group> groups(buffers.get_allocator());
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
        std::int32_t last = buffers[order[begin]].last_step;
        for (; end < order.size() && buffers[order[end]].first_step <= last; ++end)
            last = std::max(last, buffers[order[end]].last_step);
        groups.emplace_back(buffers, order.data() + begin, end - begin, plan);
    }
    return groups;
}

std::int64_t highest(const std::pmr::vector<Group>& groups) {
    std::int64_t most = 0;
    for (const Group& group : groups) most = std::max(most, group.height());
    return most;
}

// Every group within `capacity`.
bool search_all(std::pmr::vector<Group>& groups, std::int64_t capacity, std::uint64_t& steps,
                MemoryPlan& plan) {
    for (Group& group : groups)
        if (group.height() > capacity && !group.search(capacity, steps, plan)) return false;
    return true;
}

}  // namespace

void search_placement(const std::pmr::vector<Lifetime>& buffers, std::uint64_t goal, std::uint64_t steps,
                      MemoryPlan& plan) {
    std::pmr::vector<Group> groups = groups_of(buffers, plan);
    std::int64_t low = static_cast<std::int64_t>(goal / kTensorAlignment);
    for (const Group& group : groups) low = std::max(low, group.bound());
    // First the goal itself; then, as it may be out of reach, halfway between what is out of reach and what
    // is reached, until they are within a 256th.
    std::uint64_t of_try = steps / 2, left = steps;
    for (std::int64_t capacity = low; capacity < highest(groups) && left > 0;) {
        std::uint64_t allowed = std::min(of_try, left);
        left -= allowed;
        if (!search_all(groups, capacity, allowed, plan)) low = capacity;
        left += allowed;
        if (highest(groups) - low <= low / 256 + 1) break;
        capacity = low + (highest(groups) - low) / 2;
        of_try = steps / 8;
    }
    plan.arena_bytes = static_cast<std::uint64_t>(highest(groups)) * kTensorAlignment;
    plan.search_steps = steps - left;
}

}  // namespace volta
