#include "engine/graph/step_input.h"

#include <cstring>

namespace volta {
namespace {

constexpr char kPrefix[] = "step/";
constexpr const char* kNames[] = {"step/random",   "step/gradient_scale", "step/count",
                                  "step/factors",  "step/factors_plain",  "step/clip_factor",
                                  "step/position", "step/slot",           "step/logit_row"};
static_assert(sizeof kNames / sizeof *kNames == static_cast<std::size_t>(StepInput::count_), "one name each");

}  // namespace

const char* name_of(StepInput input) { return kNames[static_cast<int>(input)]; }

bool is_step_input(const char* name) { return std::strncmp(name, kPrefix, sizeof kPrefix - 1) == 0; }

}  // namespace volta
