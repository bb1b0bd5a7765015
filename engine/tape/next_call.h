// How a record finds its next call among what earlier records have asked for.
#pragma once

#include "engine/tape/tape.h"

namespace volta {

template <class Matches, class Describe>
const Call* Tape::next_call(const Matches& matches, const Describe& describe) {
    const std::size_t source_count = bound_.size();
    const auto tried = [&]() -> const Call* {
        if (cursor_ >= trace_->calls.size()) return nullptr;
        const Call& call = trace_->calls[cursor_];
        if (matches(call)) return &call;
        unbind_from(source_count);
        return nullptr;
    };
    if (const Call* call = tried()) return call;
    Trace* const own = trace_;
    // Nobody has asked for what this record has added: no other trace goes on from there.
    for (const HeapPtr<Trace>& other : traces_) {
        if (has_recorded_) break;
        if (other.get() == own || other->calls.size() <= cursor_ || !other->begins_as(*own, cursor_))
            continue;
        trace_ = other.get();
        grow_values();
        if (const Call* call = tried()) {
            segment_hint_ = 0;
            return call;
        }
    }
    trace_ = own;
    if (cursor_ < trace_->calls.size()) {
        describe(trace_->calls[cursor_]);
        begin_trace();
    }
    return nullptr;
}

}  // namespace volta
