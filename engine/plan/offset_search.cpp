#include "engine/plan/offset_search.h"

#include <algorithm>
#include <limits>

namespace volta {
namespace {

std::uint32_t count(std::size_t size) { return static_cast<std::uint32_t>(size); }
std::size_t at(std::int32_t section) { return static_cast<std::size_t>(section); }

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

bool alive_together(const SearchBuffer& a, const SearchBuffer& b) {
    return a.first_section <= b.last_section && b.first_section <= a.last_section;
}

}  // namespace

OffsetSearch::OffsetSearch(const std::pmr::vector<SearchBuffer>& buffers, std::int32_t section_count,
                           std::size_t memory)
    : buffers_(buffers),
      offsets_(buffers.size(), 0, buffers.get_allocator()),
      waiting_(buffers.get_allocator()),
      parts_(buffers.get_allocator()),
      nodes_(buffers.get_allocator()),
      choices_(buffers.get_allocator()),
      rest_(buffers.get_allocator()),
      raised_(buffers.get_allocator()),
      height_(at(section_count), 0, buffers.get_allocator()),
      reach_(at(section_count), 0, buffers.get_allocator()),
      part_of_(at(section_count), 0, buffers.get_allocator()),
      failed_(memory, 0, buffers.get_allocator()) {}

Verdict OffsetSearch::run(std::int64_t capacity, const std::pmr::vector<std::uint64_t>& rank,
                          std::uint64_t steps) {
    if (capacity != capacity_) std::fill(failed_.begin(), failed_.end(), 0);
    capacity_ = capacity;
    rank_ = &rank;
    const std::uint64_t stop = steps_ + steps;
    start();
    if (!fits()) return Verdict::impossible;
    split();
    bool placed = true;
    for (std::size_t p = 0; p < parts_.size() && placed; ++p) {
        push(parts_[p]);
        placed = solve(stop);
        if (!placed && steps_ > stop) return Verdict::gave_up;
    }
    return placed ? Verdict::placed : Verdict::impossible;
}

void OffsetSearch::start() {
    waiting_.clear();
    parts_.clear();
    nodes_.clear();
    choices_.clear();
    rest_.clear();
    for (std::size_t b = 0; b < buffers_.size(); ++b) rest_.push_back(Waiting{count(b), 0});
    first_section_ = 0;
    last_section_ = static_cast<std::int32_t>(height_.size()) - 1;
}

// The node on top, and what it pushes. A stack of its own: hosts' threads have small ones.
bool OffsetSearch::solve(std::uint64_t stop) {
    bool failed = false;
    while (!nodes_.empty()) {
        Node& node = nodes_.back();
        if (node.has_choice && !failed) {
            if (node.next_part < parts_.size())
                push(Part(parts_[node.next_part++]));
            else
                pop();
            continue;
        }
        if (steps_ > stop) return false;
        // A choice that nothing has to lie upon is in nobody's way: another one would fail as well.
        failed = (failed && !node.covers) || !choose(node);
        if (!failed) continue;
        failed_[node.part.hash & (failed_.size() - 1)] = node.part.hash;
        pop();
    }
    return !failed;
}

// In a placement that cannot be pressed down further one buffer lies below where the first of them could end:
// else that one would fit under all others.
void OffsetSearch::push(const Part& part) {
    Node node{part,
              count(choices_.size()),
              count(choices_.size()),
              0,
              count(waiting_.size()),
              count(parts_.size()),
              0,
              false,
              true};
    std::int64_t end = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t i = part.begin; i < part.end && waiting_[i].low < end; ++i)
        end = std::min(end, waiting_[i].low + buffers_[waiting_[i].buffer].size);
    for (std::uint32_t i = part.begin; i < part.end && waiting_[i].low < end; ++i) choices_.push_back(i);
    node.choices_end = count(choices_.size());
    std::sort(choices_.begin() + node.choices_begin, choices_.end(), [&](std::uint32_t a, std::uint32_t b) {
        const Waiting &x = waiting_[a], &y = waiting_[b];
        return x.low != y.low ? x.low < y.low : (*rank_)[x.buffer] > (*rank_)[y.buffer];
    });
    nodes_.push_back(node);
}

void OffsetSearch::pop() {
    const Node& node = nodes_.back();
    waiting_.resize(node.waiting_end);
    parts_.resize(node.parts_begin);
    choices_.resize(node.choices_begin);
    nodes_.pop_back();
}

bool OffsetSearch::choose(Node& node) {
    while (node.next_choice < node.choices_end) {
        waiting_.resize(node.waiting_end);
        parts_.resize(node.parts_begin);
        const std::uint32_t choice = node.next_choice++;
        if (has_twin(node, choice)) continue;
        node.has_choice = place(node, waiting_[choices_[choice]]);
        node.next_part = node.parts_begin;
        if (node.has_choice) return true;
        if (!node.covers) return false;
    }
    return false;
}

// An equal buffer was tried already.
bool OffsetSearch::has_twin(const Node& node, std::uint32_t choice) const {
    const SearchBuffer& one = buffers_[waiting_[choices_[choice]].buffer];
    for (std::uint32_t i = node.choices_begin; i < choice; ++i) {
        const SearchBuffer& other = buffers_[waiting_[choices_[i]].buffer];
        if (one.size == other.size && one.first_section == other.first_section &&
            one.last_section == other.last_section)
            return true;
    }
    return false;
}

bool OffsetSearch::place(Node& node, const Waiting choice) {
    offsets_[choice.buffer] = choice.low;
    raise(node, choice);
    if (rest_.empty()) return true;
    if (!fits()) return false;
    split();
    return std::none_of(parts_.begin() + node.parts_begin, parts_.end(),
                        [&](const Part& part) { return has_failed(part); });
}

bool OffsetSearch::has_failed(const Part& part) const {
    return failed_[part.hash & (failed_.size() - 1)] == part.hash;
}

// rest_: the others of the node, ascending by the lowest offset that the choice leaves to them: above it if
// they are alive together with it, else not below it.
void OffsetSearch::raise(Node& node, const Waiting& choice) {
    const SearchBuffer& placed = buffers_[choice.buffer];
    const std::int64_t top = choice.low + placed.size;
    rest_.clear();
    raised_.clear();
    node.covers = false;
    first_section_ = std::numeric_limits<std::int32_t>::max();
    last_section_ = -1;
    for (std::uint32_t i = node.part.begin; i < node.part.end; ++i) {
        const Waiting& waiting = waiting_[i];
        if (waiting.buffer == choice.buffer) continue;
        const SearchBuffer& buffer = buffers_[waiting.buffer];
        first_section_ = std::min(first_section_, buffer.first_section);
        last_section_ = std::max(last_section_, buffer.last_section);
        const bool above = alive_together(buffer, placed);
        node.covers = node.covers || above;
        if (above && waiting.low < top)
            raised_.push_back(Waiting{waiting.buffer, top});
        else
            rest_.push_back(Waiting{waiting.buffer, std::max(waiting.low, choice.low)});
    }
    const auto behind = std::upper_bound(rest_.begin(), rest_.end(), top,
                                         [](std::int64_t value, const Waiting& w) { return value < w.low; });
    rest_.insert(behind, raised_.begin(), raised_.end());
    steps_ += node.part.end - node.part.begin;
}

// Whether in each section the buffers of rest_, one upon the other from their lowest offsets, end in time.
bool OffsetSearch::fits() {
    std::int64_t* const height = height_.data();
    std::fill(height + first_section_, height + last_section_ + 1, 0);
    for (const Waiting& waiting : rest_) {
        const SearchBuffer& buffer = buffers_[waiting.buffer];
        const std::int64_t low = waiting.low, size = buffer.size;
        for (std::int32_t s = buffer.first_section; s <= buffer.last_section; ++s)
            height[s] = std::max(height[s], low) + size;
        steps_ += static_cast<std::uint64_t>(buffer.last_section - buffer.first_section) + 1;
    }
    return std::all_of(height + first_section_, height + last_section_ + 1,
                       [&](std::int64_t end) { return end <= capacity_; });
}

// rest_ by parts, the smallest first: they fail soonest.
void OffsetSearch::split() {
    const std::size_t first = parts_.size();
    parts_.resize(first + at(number_parts()), Part{0, 0, 0});
    const auto part_of = [&](const Waiting& waiting) -> Part& {
        return parts_[first + at(part_of_[at(buffers_[waiting.buffer].first_section)])];
    };
    for (const Waiting& waiting : rest_) ++part_of(waiting).end;
    std::uint32_t end = count(waiting_.size());
    for (std::size_t p = first; p < parts_.size(); ++p) {
        const std::uint32_t size = parts_[p].end;
        parts_[p].begin = parts_[p].end = end;
        end += size;
    }
    waiting_.resize(end);
    for (const Waiting& waiting : rest_) {
        Part& part = part_of(waiting);
        waiting_[part.end++] = waiting;
        part.hash += mixed(mixed(waiting.buffer) ^ static_cast<std::uint64_t>(waiting.low));
    }
    std::sort(parts_.begin() + static_cast<std::ptrdiff_t>(first), parts_.end(),
              [](const Part& a, const Part& b) {
                  const std::uint32_t of_a = a.end - a.begin, of_b = b.end - b.begin;
                  return of_a != of_b ? of_a < of_b : a.begin < b.begin;
              });
    steps_ += rest_.size();
}

// part_of_ of the sections of rest_; how many parts there are.
std::int32_t OffsetSearch::number_parts() {
    std::fill(reach_.begin() + first_section_, reach_.begin() + last_section_ + 1, -1);
    for (const Waiting& waiting : rest_) {
        const SearchBuffer& buffer = buffers_[waiting.buffer];
        std::int32_t& reach = reach_[at(buffer.first_section)];
        reach = std::max(reach, buffer.last_section);
    }
    std::int32_t parts = 0, end = -1;
    for (std::int32_t s = first_section_; s <= last_section_; ++s) {
        if (reach_[at(s)] >= 0 && s > end) ++parts;
        end = std::max(end, reach_[at(s)]);
        part_of_[at(s)] = parts - 1;
    }
    steps_ += static_cast<std::uint64_t>(last_section_ - first_section_);
    return parts;
}

}  // namespace volta
