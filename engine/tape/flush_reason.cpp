#include "engine/tape/flush_reason.h"

namespace volta {
namespace {

constexpr FlushReasonRow kReasons[] = {
    {FlushReason::eager, "VG001", "eager call",
     "The tape is VOLTA_TAPE_EAGER, which computes each call at once.",
     "Create the tape with VOLTA_TAPE_LAZY: calls are then recorded, and computed together."},
    {FlushReason::read, "VG002", "result read",
     "The host asked for the elements of a result before the record was complete.",
     "Read results after volta_tape_step or at the end of the record. What was not read by then is computed "
     "again "
     "where later calls need it."},
    {FlushReason::step, "VG003", "optimizer step",
     "volta_tape_step ran what was recorded, with the gradients and the update, as one plan.",
     "Nothing to do: this is where a training step is meant to be computed."},
    {FlushReason::kept, "VG004", "kept result",
     "volta_tape_reset computed results that volta_tensor_keep had marked and nothing had computed.",
     "Nothing to do, or keep fewer results."},
    {FlushReason::asked, "VG005", "flush", "The host called volta_tape_flush.",
     "Leave the call out where nothing needs the results yet."},
    {FlushReason::gradient, "VG006", "gradient read",
     "The host asked for the elements of a gradient before an optimizer's step had computed it.",
     "Read gradients after volta_tape_step, which computes them together with the update."},
    {FlushReason::size, "VG007", "long record", "More calls were recorded than one plan takes.",
     "Call volta_tape_reset once per step of training or per sample, or read results in between."},
};
static_assert(sizeof kReasons / sizeof kReasons[0] == kFlushReasonCount, "one row per reason");

}  // namespace

const FlushReasonRow& flush_reason_row(FlushReason reason) { return kReasons[static_cast<int>(reason)]; }

}  // namespace volta
