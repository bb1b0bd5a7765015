// A backend that computes nothing: it writes down what lowerings ask for, one line per piece of work.
#pragma once

#include <string>

#include "engine/backend/lower/step_lowering.h"

namespace volta::test {

// What a recording backend can do, where backends differ.
struct RecordedBackend {
    bool shares_one_row = false;
    bool sums_b = false;
};

// Lines "<operator>: <work>", in the order in which they were asked for. A place is written as the name of
// its region, "@" for the arena or "tmp" for the workspace, then "+bytes" and "~bytes per micro-batch"; a
// shape as numbers.
std::string record(const Plan& plan, const RecordedBackend& backend = {});
std::string record_node(const Plan& plan, const Node& node, const RecordedBackend& backend = {});

}  // namespace volta::test
