// How a tape computes: which part of the record, with which plan, and where the results lie.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "engine/base/format.h"
#include "engine/base/fp_environment.h"
#include "engine/runtime/profile.h"
#include "engine/tape/segment_walk.h"
#include "engine/tape/tape.h"

namespace volta {

SegmentRequest& Tape::new_request() {
    request_.wanted.clear();
    request_.effects.clear();
    request_.norm = request_.loss = -1;
    return request_;
}

// All results of a call's operators: also those that are not handed out, which gradients read.
void Tape::want_call(SegmentRequest& request, const Call& call) const {
    const std::size_t index = static_cast<std::size_t>(&call - trace_->calls.data());
    const std::size_t first = index == 0 ? 0 : trace_->calls[index - 1].nodes_after;
    for (std::size_t node = first; node < call.nodes_after; ++node) {
        const Node& made = trace_->graph.nodes[node];
        if (op_row(made.op).lowering == Lowering::source) continue;
        for (std::int32_t i = 0; i < made.output_count; ++i) request.wanted.push_back(made.first_output + i);
    }
}

void Tape::want_gradients(SegmentRequest& request) const {
    for (const PendingGradient& gradient : pending_) request.wanted.push_back(gradient.value);
}

void Tape::want_results(SegmentRequest& request, Results which) const {
    const std::size_t end = std::min(values_.size(), trace_->graph.values.size());
    for (std::size_t i = static_cast<std::size_t>(stepped_); i < end; ++i) {
        const ValueState& value = values_[i];
        if (value.handle == nullptr || value.handle->value != static_cast<ValueId>(i) ||
            value.data != nullptr)
            continue;
        const bool counts = which == Results::all || value.handle->is_kept ||
                            (which == Results::kept_and_scalars && value.handle->view.shape.elements() == 1);
        if (counts) request.wanted.push_back(static_cast<ValueId>(i));
    }
}

// A source without data has been changed since it was used: what depends on it cannot be computed any more.
void Tape::require_available(ValueId value) const {
    const Node& node = trace_->graph.producer(value);
    if (node.op == Op::constant || op_row(node.op).lowering != Lowering::source) return;
    fail(VOLTA_INVALID_STATE,
         "a result was not computed before a step or a new gradient changed a tensor that it depends on: "
         "read it before, or mark it with volta_tensor_keep");
}

Segment& Tape::find_segment(const SegmentRequest& request, bool* was_known) {
    const auto fits = [&](const Segment& segment) {
        if (!segment.is_of(request, cursor_)) return false;
        for (const Segment::Port& input : segment.inputs())
            if (state(input.value).data == nullptr) return false;
        return true;
    };
    auto& segments = trace_->segments;
    *was_known = true;
    for (std::size_t i = 0; i < segments.size(); ++i) {
        const std::size_t at = (segment_hint_ + i) % segments.size();
        if (!fits(*segments[at])) continue;
        segment_hint_ = at + 1 == segments.size() ? 0 : at + 1;
        segments[at]->last_used = counts_.flushes;
        return *segments[at];
    }
    *was_known = false;
    const auto available = [&](ValueId value) {
        if (state(value).data != nullptr) return true;
        require_available(value);
        return false;
    };
    while (plan_count_ >= options_.most_plans && plan_count_ > 0) release_oldest_plan();
    segments.push_back(
        make_on<Segment>(context_->structures(), *context_, *trace_, request, cursor_, available));
    ++plan_count_;
    segment_hint_ = 0;
    segments.back()->last_used = counts_.flushes;
    return *segments.back();
}

void Tape::release_oldest_plan() {
    Trace* of = nullptr;
    std::size_t oldest = 0;
    for (const HeapPtr<Trace>& trace : traces_)
        for (std::size_t i = 0; i < trace->segments.size(); ++i)
            if (of == nullptr || trace->segments[i]->last_used < of->segments[oldest]->last_used) {
                of = trace.get();
                oldest = i;
            }
    of->segments.erase(of->segments.begin() + static_cast<std::ptrdiff_t>(oldest));
    segment_hint_ = 0;
    --plan_count_;
    ++counts_.plans_released;
}

void Tape::run(Segment& segment) {
    ProgramMemory& memory = segment.memory();
    Memory& own = memory.program().memory();
    if (arena_.bytes() < segment.arena_bytes()) {
        arena_ = Block();
        arena_ = Block(own, segment.arena_bytes());
    }
    if (workspace_.bytes() < segment.workspace_bytes()) {
        workspace_ = Block();
        workspace_ = Block(own, segment.workspace_bytes());
    }
    memory.lend_scratch(arena_.data(), workspace_.data());
    for (const Segment::Port& input : segment.inputs())
        memory.lend(static_cast<std::size_t>(input.region), state(input.value).data);
    const auto& regions = memory.program().plan().regions;
    for (const Segment::Port& output : segment.outputs()) {
        Buffer& buffer = state(output.value).buffer;
        const auto bytes = static_cast<std::size_t>(regions[static_cast<std::size_t>(output.region)].bytes);
        if (buffer.bytes() < bytes) {
            pool_.give(std::move(buffer));
            buffer = Buffer();
            buffer = pool_.take(bytes);
        }
        memory.lend(static_cast<std::size_t>(output.region), buffer.data());
    }
    check_limits(memory);
    const ContractScope contract;
    if (segment.updates()) {
        const ProfileCall call(*context_, "tape_step");
        TrainingRun training;
        memory.run_training({segment.loss_region(), segment.norm_region()}, training);
    } else {
        const ProfileCall call(*context_, "tape_flush");
        memory.run(Phase::each, 0);
    }
    for (const Segment::Port& output : segment.outputs()) {
        ValueState& value = state(output.value);
        value.data = value.buffer.data();
        if (value.handle != nullptr && value.handle->value == output.value)
            value.handle->view.data = value.data;
    }
}

// Gradients that have been computed go to their tensors.
void Tape::deliver_gradients() {
    std::size_t left = 0;
    for (const PendingGradient& gradient : pending_) {
        ValueState& value = state(gradient.value);
        if (value.data == nullptr) {
            pending_[left++] = gradient;
            continue;
        }
        Tensor& grad = *gradient.leaf->grad;
        Buffer fresh;
        if (value.buffer.bytes() > 0 && value.data == value.buffer.data()) {
            fresh = std::move(value.buffer);
            value.buffer = Buffer();
        } else {  // another tensor's too, or a leaf's own elements
            const auto bytes = static_cast<std::size_t>(grad.view.shape.elements()) * sizeof(float);
            fresh = pool_.take(bytes);
            std::memcpy(fresh.data(), value.data, bytes);
        }
        if (gradient.held >= 0) state(gradient.held).data = nullptr;
        pool_.give(std::move(grad.owned));
        grad.owned = std::move(fresh);
        grad.view.data = grad.owned.data();
        value.data = grad.view.data;
    }
    pending_.resize(left);
}

Segment* Tape::compute(SegmentRequest& request, FlushReason reason, CallPlace place) {
    auto& wanted = request.wanted;
    const auto is_there = [&](ValueId value) { return state(value).data != nullptr; };
    wanted.erase(std::remove_if(wanted.begin(), wanted.end(), is_there), wanted.end());
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    Segment* segment = nullptr;
    if (!wanted.empty() || !request.effects.empty()) {
        if (options_.one_segment && segments_run_ > 0)
            fail(VOLTA_INVALID_STATE, "the record is to be one segment, and %s would be a second flush (%s)",
                 flush_reason_row(reason).name, flush_reason_row(reason).code);
        bool was_known = false;
        segment = &find_segment(request, &was_known);
        run(*segment);
        ++segments_run_;
        note_flush(*segment, reason, place, was_known);
    }
    if (!pending_.empty()) deliver_gradients();
    return segment;
}

void Tape::read(Tensor* tensor, CallPlace place) {
    require_whole();
    if (tensor->view.data != nullptr) return;
    SegmentRequest& request = new_request();
    if (tensor->role == Tensor::Role::gradient) {
        want_gradients(request);
        compute(request, FlushReason::gradient, place);
        if (tensor->view.data == nullptr) fail(VOLTA_INVALID_STATE, "the gradient has been zeroed");
        return;
    }
    if (!is_bound(tensor)) fail(VOLTA_INVALID_STATE, "a result of a record that has ended is read");
    request.wanted.push_back(tensor->value);
    compute(request, FlushReason::read, place);
}

void Tape::flush(CallPlace place) {
    require_whole();
    SegmentRequest& request = new_request();
    want_results(request, Results::all);
    want_gradients(request);
    compute(request, FlushReason::asked, place);
}

std::uint32_t Tape::count_repeated(const Segment& segment) {
    std::uint32_t repeated = 0;
    for (const NodeId node : segment.nodes()) {
        char& ran = ran_[static_cast<std::size_t>(node)];
        repeated += ran != 0;
        ran = 1;
    }
    return repeated;
}

void Tape::note_flush(const Segment& segment, FlushReason reason, CallPlace place, bool was_known) {
    ++counts_.flushes;
    ++(was_known ? counts_.plans_known : counts_.plans_made);
    ++counts_.by_reason[static_cast<int>(reason)];
    const std::uint32_t repeated = count_repeated(segment);
    counts_.repeated_nodes += repeated;
    const std::size_t calls = cursor_ - flushed_;
    flushed_ = cursor_;
    if (reason == FlushReason::eager && was_known) return;  // nothing to learn, and thousands a second
    FlushEvent event;
    event.reason = reason;
    event.record = record_;
    event.calls = static_cast<std::uint32_t>(calls);
    event.nodes = static_cast<std::uint32_t>(segment.nodes().size());
    event.repeated = repeated;
    event.was_known = was_known;
    if (place.file != nullptr) {
        const std::size_t length = std::strlen(place.file);
        const char* const tail = length > 40 ? place.file + length - 40 : place.file;
        format_text(event.place, sizeof event.place, "%s:%d", tail, place.line);
    }
    const auto& regions = segment.memory().program().plan().regions;
    for (const Segment::Port& input : segment.inputs())
        event.bytes_read += regions[static_cast<std::size_t>(input.region)].bytes;
    for (const Segment::Port& output : segment.outputs())
        event.bytes_written += regions[static_cast<std::size_t>(output.region)].bytes;
    if (!was_known && difference_[0] != '\0') {
        format_text(event.difference, sizeof event.difference, "%s", difference_);
        difference_[0] = '\0';
    }
    if (events_.size() < kMostEvents)
        events_.push_back(event);
    else
        events_[static_cast<std::size_t>(event_count_) % kMostEvents] = event;
    ++event_count_;
}

}  // namespace volta
