#include <algorithm>
#include <map>

#include "engine/plan/plan_view.h"
#include "engine/plan/sharing.h"

namespace volta {
namespace {

constexpr ValueId kNobody = -1;

// One region's bytes as intervals [begin, end) of one owner each.
class ShadowRegion {
  public:
    explicit ShadowRegion(std::pmr::memory_resource* heap) : owners_(heap) {}

    void write(std::uint64_t begin, std::uint64_t end, ValueId owner) {
        if (begin == end) return;
        cut(begin);
        cut(end);
        owners_.erase(owners_.lower_bound(begin), owners_.lower_bound(end));
        owners_[begin] = Interval{end, owner};
    }

    // The first owner in [begin, end) that is not `expected`; `expected` when all bytes are its.
    ValueId stranger(std::uint64_t begin, std::uint64_t end, ValueId expected) {
        cut(begin);
        cut(end);
        for (auto i = owners_.lower_bound(begin); begin < end; begin = i->second.end, ++i) {
            if (i == owners_.end() || i->first != begin) return kNobody;
            if (i->second.owner != expected) return i->second.owner;
        }
        return expected;
    }

  private:
    struct Interval {
        std::uint64_t end;
        ValueId owner;
    };
    // Makes `position` a border between intervals.
    void cut(std::uint64_t position) {
        auto i = owners_.upper_bound(position);
        if (i == owners_.begin()) return;
        --i;
        if (i->first == position || i->second.end <= position) return;
        const Interval rest = i->second;
        i->second.end = position;
        owners_[position] = rest;
    }
    std::pmr::map<std::uint64_t, Interval> owners_;
};

struct Span {
    std::int32_t region;
    std::uint64_t begin, end;
    bool overlaps(const Span& other) const {
        return region == other.region && begin < other.end && other.begin < end;
    }
    bool equals(const Span& other) const {
        return region == other.region && begin == other.begin && end == other.end;
    }
};

class ShadowRun {
  public:
    explicit ShadowRun(const PlanView& view)
        : view_(view), plan_(view.plan), graph_(view.graph), memory_(view.heap) {}

    // Three rounds of phase each stand for all: the first, those between, the last. Round 1 writes every slot
    // of a stack but the first and the last, so a step that harms any of them is seen when the stack is read.
    void run() {
        for (std::size_t r = 0; r < plan_.regions.size(); ++r) memory_.emplace_back(view_.heap);
        for (const Node& node : graph_.nodes)
            if (PlanView::is_source(node)) fill(node.first_output);
        rounds_ = std::min<std::uint32_t>(plan_.micro_batches, 3);
        for (round_ = 0; round_ < rounds_; ++round_) run_phase(Phase::each);
        round_ = 0;
        run_phase(Phase::reduce);
        run_phase(Phase::update);
        for (const GraphOutput& output : graph_.outputs)
            expect(output.value, static_cast<std::int64_t>(plan_.steps.size()));
    }

  private:
    static std::size_t at(std::int32_t id) { return PlanView::at(id); }

    Span whole(ValueId value) const {
        const Place& place = view_.place(value);
        return {place.region, place.offset, place.offset + view_.bytes_of(value)};
    }

    // What the host or an earlier step left: all micro-batches of it.
    void fill(ValueId value) {
        const Span span = whole(value);
        const std::uint64_t end = span.end + view_.place(value).micro_stride * (plan_.micro_batches - 1);
        memory_[at(span.region)].write(span.begin, end, value);
    }

    void expect(ValueId value, std::int64_t step) {
        const Span span = whole(value);
        const ValueId wanted = view_.content(value);
        const ValueId owner = memory_[at(span.region)].stranger(span.begin, span.end, wanted);
        if (owner == wanted) return;
        const auto where = static_cast<long long>(step);
        if (owner == kNobody)
            fail(VOLTA_INTERNAL, "plan: step %lld: value %d is read before it is written", where, value);
        fail(VOLTA_INTERNAL, "plan: step %lld: where value %d is read lies value %d", where, value, owner);
    }

    void run_phase(Phase phase) {
        for (std::size_t s = 0; s < plan_.steps.size(); ++s)
            if (plan_.steps[s].phase == phase)
                run_step(static_cast<std::int64_t>(s), graph_.node(plan_.steps[s].node));
    }

    void run_step(std::int64_t s, const Node& node) {
        for (const ValueId input : node.inputs) {
            const Node& origin = view_.origin(input);
            const bool is_partial = plan_.micro_batches > 1 && node.phase == Phase::each &&
                                    (PlanView::stacks(origin) || PlanView::adds_up(origin));
            PlanView::rule(!is_partial, "step", s, "reads what the last micro-batch completes");
            const bool is_one_of_many = node.phase != Phase::each && view_.is_per_micro_batch(origin);
            PlanView::rule(!is_one_of_many, "step", s,
                           "reads one micro-batch of an input for the whole step");
            expect(input, s);
        }
        for (std::int32_t i = 0; i < node.output_count; ++i) {
            const ValueId output = node.first_output + i;
            if (PlanView::adds_up(node) && round_ > 0) expect(output, s);
            check_output(s, node, i);
            if (PlanView::stacks(node))
                write_slots(output);
            else
                memory_[at(whole(output).region)].write(whole(output).begin, whole(output).end, output);
        }
    }

    void write_slots(ValueId value) {
        const std::uint64_t count = plan_.micro_batches, slot = view_.bytes_of(value) / count;
        const bool is_last = round_ + 1 == rounds_;
        const std::uint64_t first = round_ == 0 ? 0 : round_ == 1 ? 1 : count - 1;
        const std::uint64_t last = is_last ? count : round_ == 0 ? 1 : count - 1;
        const std::uint64_t begin = whole(value).begin;
        memory_[at(whole(value).region)].write(begin + slot * first, begin + slot * last, value);
    }

    // An output may lie on an input of its step in three cases only, and on another output never.
    void check_output(std::int64_t s, const Node& node, std::int32_t index) const {
        const Span span = whole(node.first_output + index);
        for (std::int32_t i = 0; i < index; ++i)
            PlanView::rule(!span.overlaps(whole(node.first_output + i)), "step", s, "its outputs overlap");
        const int target = index < 4 ? op_row(node.op).in_place[index] : -1;
        for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
            const Span read = whole(node.inputs[slot]);
            if (static_cast<int>(slot) == target)
                PlanView::rule(span.equals(read), "step", s,
                               "an in-place output does not lie where its input does");
            else
                PlanView::rule(
                    !span.overlaps(read) || may_share(node, slot, index) || is_part(node, slot, span, read),
                    "step", s, "an output lies on an input");
        }
        const RegionKind kind = plan_.regions[at(span.region)].kind;
        const bool is_memory_of_the_run =
            kind == RegionKind::arena || kind == RegionKind::output || kind == RegionKind::gradient;
        const bool is_update = target >= 0 && (kind == RegionKind::parameter || kind == RegionKind::state);
        PlanView::rule(is_memory_of_the_run || is_update, "step", s, "writes what is not its to write");
    }

    // A part that lies where the whole has it.
    bool is_part(const Node& node, std::size_t slot, const Span& whole, const Span& read) const {
        if (!joins_whole_parts(graph_, node)) return false;
        std::uint64_t begin = whole.begin;
        for (std::size_t other = 0; other < slot; ++other) begin += view_.bytes_of(node.inputs[other]);
        return read.region == whole.region && read.begin == begin;
    }

    bool may_share(const Node& node, std::size_t slot, std::int32_t index) const {
        const ValueId input = node.inputs[slot], output = node.first_output + index;
        if (!may_overwrite(node, slot, index)) return false;
        if (plan_.micro_batches > 1 && PlanView::adds_up(node)) return false;  // it holds what it had before
        if (graph_.shape(input) != graph_.shape(output) || !whole(input).equals(whole(output))) return false;
        for (std::size_t other = 0; other < node.inputs.size(); ++other)
            if (other != slot && whole(node.inputs[other]).overlaps(whole(output))) return false;
        return true;
    }

    const PlanView& view_;
    const Plan& plan_;
    const Graph& graph_;
    std::pmr::vector<ShadowRegion> memory_;
    std::uint32_t rounds_ = 1, round_ = 0;
};

}  // namespace

void run_on_shadow_memory(const PlanView& view) { ShadowRun(view).run(); }

}  // namespace volta
