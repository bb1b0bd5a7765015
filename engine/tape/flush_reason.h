// Why a tape stopped recording and computed: one row per reason. docs/compile.md is printed from it.
#pragma once

#include <cstdint>

namespace volta {

enum class FlushReason : std::uint8_t {
    eager,     // the tape computes each call
    read,      // the host asked for a result's elements
    step,      // an optimizer's step
    kept,      // a result that outlives its record
    asked,     // volta_tape_flush
    gradient,  // the host asked for a gradient's elements
    size,      // the record was long
    count_
};
inline constexpr int kFlushReasonCount = static_cast<int>(FlushReason::count_);

struct FlushReasonRow {
    FlushReason reason;
    const char* code;         // "VG001"
    const char* name;         // one or two words
    const char* explanation;  // a sentence
    const char* hint;         // what makes it one segment; a sentence
};
const FlushReasonRow& flush_reason_row(FlushReason reason);

}  // namespace volta
