// Offsets below a given capacity, looked for depth first. Which capacities, and how long: placement_search.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

namespace volta {

// One buffer of the search: so many units of memory, alive over a range of sections, each of which is a set
// of buffers that are alive at one step.
struct SearchBuffer {
    std::int64_t size;
    std::int32_t first_section, last_section;
};

enum class Verdict { placed, impossible, gave_up };

// Buffers are placed in the order of their offsets, each upon what is placed already: any placement can be
// pressed down until it looks like that. A choice is taken back when
// - the buffers of a section, one upon the other, would end above the capacity;
// - a buffer would lie above a hole in which another one would have fitted;
// - the reason of an earlier failure is found again: some buffers none of which can lie lower than it could
// then. A choice that is no part of the reason is taken back without trying others in its place. After each
// choice the buffers part where no buffer is alive over two neighbouring sections; parts are solved one by
// one. A search that ends without a placement has shown that there is none.
class OffsetSearch final {
  public:
    // Keeps `buffers`.
    OffsetSearch(const std::pmr::vector<SearchBuffer>& buffers, std::int32_t section_count);

    // Of buffers that could lie equally low the one of highest rank is tried first; ranks differ. A step is a
    // look at a buffer or at one of its sections, some five nanoseconds.
    Verdict run(std::int64_t capacity, const std::pmr::vector<std::uint64_t>& rank, std::uint64_t steps);

    const std::pmr::vector<std::int64_t>& offsets() const { return offsets_; }  // after Verdict::placed
    std::uint64_t steps() const { return steps_; }                              // of all runs

  private:
    // A buffer that is not placed yet, and the lowest offset that it can still have.
    struct Waiting {
        std::uint32_t buffer;
        std::int64_t low;
    };
    // Waiting buffers, [begin, end) of waiting_, ascending by low.
    struct Part {
        std::uint32_t begin, end;
    };
    // A part and the choices for its next buffer; the latest one has left the parts from next_part on.
    struct Node {
        Part part;
        std::int64_t first_end;  // the choices are the buffers that can begin below it
        std::uint32_t choices_begin, next_choice, choices_end;  // of choices_
        std::uint32_t waiting_end, parts_begin, next_part;
        bool has_choice;
    };

    bool solve(std::uint64_t stop);
    void start();
    void push(const Part& part);
    void pop();
    bool choose(Node& node);
    bool has_twin(const Node& node, std::uint32_t choice) const;
    bool place(const Node& node, Waiting choice);
    void lift(const Node& node, const Waiting& choice);
    bool fits();
    void split();
    std::int32_t number_parts();
    void clear_reason();
    void add_to_reason(std::uint32_t buffer, std::int64_t low);
    void give_section(std::int32_t section);
    void give_choices(const Node& node);
    bool depends_on_choice(const Node& node);
    void remember();
    bool remembers();

    const std::pmr::vector<SearchBuffer>& buffers_;
    const std::pmr::vector<std::uint64_t>* rank_ = nullptr;
    std::int64_t capacity_ = 0;
    std::uint64_t steps_ = 0;
    std::pmr::vector<std::int64_t> offsets_;
    std::pmr::vector<Waiting> waiting_;
    // Beside waiting_: how low a buffer must not lie for the failures of its node's choices so far; -1: as
    // low as it likes.
    std::pmr::vector<std::int64_t> blamed_;
    std::pmr::vector<Part> parts_;
    std::pmr::vector<Node> nodes_;
    std::pmr::vector<std::uint32_t> choices_;  // indices into waiting_
    std::pmr::vector<Waiting> rest_, raised_;  // what the latest choice leaves
    // The reason of the latest failure: buffers that do not fit as long as none can lie lower than that; and
    // by buffer, -1: not among them.
    std::pmr::vector<Waiting> reason_;
    std::pmr::vector<std::int64_t> reason_of_;
    // Reasons of earlier failures, the latest used first.
    std::pmr::vector<std::pmr::vector<Waiting>> remembered_;
    std::pmr::vector<std::uint32_t> latest_;
    std::pmr::vector<std::int64_t> low_of_;              // of rest_ by buffer, -1: not in it
    std::int32_t first_section_ = 0, last_section_ = 0;  // of rest_
    std::pmr::vector<std::int64_t> height_;              // by section
    std::pmr::vector<std::int32_t> reach_, part_of_;     // by section
};

}  // namespace volta
