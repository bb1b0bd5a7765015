#include "engine/plan/offset_search.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace volta {
namespace {

std::uint32_t count(std::size_t size) { return static_cast<std::uint32_t>(size); }
std::size_t at(std::int32_t section) { return static_cast<std::size_t>(section); }

bool alive_together(const SearchBuffer& a, const SearchBuffer& b) {
    return a.first_section <= b.last_section && b.first_section <= a.last_section;
}

constexpr std::size_t kRemembered = 256;

}  // namespace

OffsetSearch::OffsetSearch(const std::pmr::vector<SearchBuffer>& buffers, std::int32_t section_count)
    : buffers_(buffers),
      offsets_(buffers.size(), 0, buffers.get_allocator()),
      waiting_(buffers.get_allocator()),
      blamed_(buffers.get_allocator()),
      parts_(buffers.get_allocator()),
      nodes_(buffers.get_allocator()),
      choices_(buffers.get_allocator()),
      rest_(buffers.get_allocator()),
      raised_(buffers.get_allocator()),
      reason_(buffers.get_allocator()),
      reason_of_(buffers.size(), -1, buffers.get_allocator()),
      remembered_(kRemembered, buffers.get_allocator()),
      latest_(kRemembered, 0, buffers.get_allocator()),
      low_of_(buffers.size(), -1, buffers.get_allocator()),
      height_(at(section_count), 0, buffers.get_allocator()),
      reach_(at(section_count), 0, buffers.get_allocator()),
      part_of_(at(section_count), 0, buffers.get_allocator()) {
    std::iota(latest_.begin(), latest_.end(), 0u);
}

Verdict OffsetSearch::run(std::int64_t capacity, const std::pmr::vector<std::uint64_t>& rank,
                          std::uint64_t steps) {
    if (capacity != capacity_)
        for (auto& reason : remembered_) reason.clear();
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
    blamed_.clear();
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
        failed = (failed && !depends_on_choice(node)) || !choose(node);
        if (!failed) continue;
        remember();
        pop();
    }
    return !failed;
}

// In a placement that cannot be pressed down further one buffer lies below where the first of them could end:
// else that one would fit under all others.
void OffsetSearch::push(const Part& part) {
    Node node{};
    node.part = part;
    node.choices_begin = node.next_choice = count(choices_.size());
    node.waiting_end = count(waiting_.size());
    node.parts_begin = count(parts_.size());
    node.first_end = std::numeric_limits<std::int64_t>::max();
    std::uint32_t i = part.begin;
    for (; i < part.end && waiting_[i].low < node.first_end; ++i) {
        node.first_end = std::min(node.first_end, waiting_[i].low + buffers_[waiting_[i].buffer].size);
        choices_.push_back(i);
    }
    while (waiting_[choices_.back()].low >= node.first_end) choices_.pop_back();
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
    blamed_.resize(node.waiting_end);
    parts_.resize(node.parts_begin);
    choices_.resize(node.choices_begin);
    nodes_.pop_back();
}

bool OffsetSearch::choose(Node& node) {
    while (node.next_choice < node.choices_end) {
        waiting_.resize(node.waiting_end);
        blamed_.resize(node.waiting_end);
        parts_.resize(node.parts_begin);
        const std::uint32_t choice = node.next_choice++;
        if (has_twin(node, choice)) {
            blamed_[choices_[choice]] = 0;
            continue;
        }
        node.has_choice = place(node, waiting_[choices_[choice]]);
        node.next_part = node.parts_begin;
        if (node.has_choice) return true;
        if (!depends_on_choice(node)) return false;
    }
    give_choices(node);
    return false;
}

void OffsetSearch::clear_reason() {
    for (const Waiting& waiting : reason_) reason_of_[waiting.buffer] = -1;
    reason_.clear();
}

void OffsetSearch::add_to_reason(std::uint32_t buffer, std::int64_t low) {
    reason_.push_back(Waiting{buffer, low});
    reason_of_[buffer] = low;
}

// After a failure of the latest choice: whether another one could help. Not if the reason is there without
// it; else it becomes part of the node's own reason.
bool OffsetSearch::depends_on_choice(const Node& node) {
    bool depends = false;
    for (std::uint32_t i = node.part.begin; i < node.part.end && !depends; ++i)
        depends = waiting_[i].low < reason_of_[waiting_[i].buffer];
    steps_ += reason_.size();
    if (!depends) return false;
    const std::uint32_t at_choice = choices_[node.next_choice - 1];
    const Waiting& choice = waiting_[at_choice];
    const SearchBuffer& placed = buffers_[choice.buffer];
    const std::int64_t top = choice.low + placed.size;
    for (std::uint32_t i = node.part.begin; i < node.part.end; ++i) {
        const std::int64_t low = reason_of_[waiting_[i].buffer];
        if (low < 0) continue;
        const bool raised = low <= (alive_together(buffers_[waiting_[i].buffer], placed) ? top : choice.low);
        blamed_[i] = std::max(blamed_[i], raised ? 0 : low);
    }
    blamed_[at_choice] = 0;
    return true;
}

// No choice is left: all of them, where they are; and the blamed others, not so low that they would be
// choices.
void OffsetSearch::give_choices(const Node& node) {
    clear_reason();
    for (std::uint32_t i = node.part.begin; i < node.part.end; ++i) {
        const Waiting& waiting = waiting_[i];
        if (waiting.low < node.first_end)
            add_to_reason(waiting.buffer, waiting.low);
        else if (blamed_[i] >= 0)
            add_to_reason(waiting.buffer, std::max(blamed_[i], node.first_end));
    }
}

// Those of rest_ in the section that lie above its highest gap: from so low on they would end above the
// capacity.
void OffsetSearch::give_section(std::int32_t section) {
    clear_reason();
    std::int64_t height = 0, sizes = 0;
    for (const Waiting& waiting : rest_) {
        const SearchBuffer& buffer = buffers_[waiting.buffer];
        if (section < buffer.first_section || buffer.last_section < section) continue;
        if (waiting.low > height) {
            clear_reason();
            height = waiting.low;
            sizes = 0;
        }
        height += buffer.size;
        sizes += buffer.size;
        add_to_reason(waiting.buffer, 0);
    }
    const std::int64_t low = std::max(capacity_ + 1 - sizes, std::int64_t{0});
    for (Waiting& waiting : reason_) reason_of_[waiting.buffer] = waiting.low = low;
}

void OffsetSearch::remember() {
    std::pmr::vector<Waiting>& oldest = remembered_[latest_.back()];
    oldest.assign(reason_.begin(), reason_.end());
    std::rotate(latest_.begin(), latest_.end() - 1, latest_.end());
}

// Whether rest_ has the reason of an earlier failure, which is that of this one then.
bool OffsetSearch::remembers() {
    for (const Waiting& waiting : rest_) low_of_[waiting.buffer] = waiting.low;
    const auto applies = [&](std::uint32_t which) {
        const std::pmr::vector<Waiting>& reason = remembered_[which];
        return !reason.empty() && std::all_of(reason.begin(), reason.end(), [&](const Waiting& waiting) {
            return low_of_[waiting.buffer] >= waiting.low;
        });
    };
    const auto found = std::find_if(latest_.begin(), latest_.end(), applies);
    steps_ += kRemembered;
    for (const Waiting& waiting : rest_) low_of_[waiting.buffer] = -1;
    if (found == latest_.end()) return false;
    clear_reason();
    for (const Waiting& waiting : remembered_[*found]) add_to_reason(waiting.buffer, waiting.low);
    std::rotate(latest_.begin(), found, found + 1);
    return true;
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

bool OffsetSearch::place(const Node& node, const Waiting choice) {
    offsets_[choice.buffer] = choice.low;
    lift(node, choice);
    if (rest_.empty()) return true;
    if (!fits() || remembers()) return false;
    split();
    return true;
}

// rest_: the others of the node, ascending by the lowest offset that the choice leaves to them: above it if
// they are alive together with it, else not below it.
void OffsetSearch::lift(const Node& node, const Waiting& choice) {
    const SearchBuffer& placed = buffers_[choice.buffer];
    const std::int64_t top = choice.low + placed.size;
    rest_.clear();
    raised_.clear();
    first_section_ = std::numeric_limits<std::int32_t>::max();
    last_section_ = -1;
    for (std::uint32_t i = node.part.begin; i < node.part.end; ++i) {
        const Waiting& waiting = waiting_[i];
        if (waiting.buffer == choice.buffer) continue;
        const SearchBuffer& buffer = buffers_[waiting.buffer];
        first_section_ = std::min(first_section_, buffer.first_section);
        last_section_ = std::max(last_section_, buffer.last_section);
        const bool above = alive_together(buffer, placed);
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
    for (std::int32_t s = first_section_; s <= last_section_; ++s)
        if (height[s] > capacity_) {
            give_section(s);
            return false;
        }
    return true;
}

// rest_ by parts, the smallest first: they fail soonest.
void OffsetSearch::split() {
    const std::size_t first = parts_.size();
    parts_.resize(first + at(number_parts()), Part{0, 0});
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
    blamed_.resize(end, -1);
    for (const Waiting& waiting : rest_) {
        Part& part = part_of(waiting);
        waiting_[part.end++] = waiting;
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
