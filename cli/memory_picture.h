// What a training step's activations hold while its plan runs, drawn: as text for a terminal, and as SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/support.h"

namespace voltac {

struct PlanStep {
    std::string operation;
    std::uint64_t alive;  // bytes
    volta_plan_part part;
};
using PlanSteps = std::vector<PlanStep>;

PlanSteps plan_steps(const Model& model, const volta_trainer_options& options);
const char* part_name(volta_plan_part part);  // "forward"

// Ten rows of 64 columns over an axis of steps; the fullest step of a column counts. Ends with the step that
// holds most.
std::string text_picture(const PlanSteps& steps);

// One below the other, each with a heading.
struct SvgPanel {
    std::string heading;
    PlanSteps steps;
};
std::string svg_picture(const std::string& title, const std::vector<SvgPanel>& panels);

}  // namespace voltac
