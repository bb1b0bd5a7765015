#include "cli/step_times.h"

#include <algorithm>
#include <cmath>

#include "cli/text.h"

namespace voltac {

void StepTimes::add(const volta_step_report& step, double seconds) {
    total_ += seconds;
    wait_ += step.wait_seconds;
    exchange_ += step.exchange_seconds;
}

// Two clocks are read at different moments: their difference may be a little below nothing.
double StepTimes::compute() const { return std::max(0.0, total_ - wait_ - exchange_); }

std::string StepTimes::text(std::uint32_t rank) const {
    const double total = compute() + wait_ + exchange_;
    const auto percent = [&](double part) { return total > 0 ? 100 * part / total : 0; };
    // The two together are rounded as well, so that what is left for computing is not below nothing.
    const long exchange = std::lround(percent(exchange_)), both = std::lround(percent(wait_ + exchange_));
    return formatted("%ld %% compute, %ld %% wait, %ld %% exchange (rank %u)", 100 - both, both - exchange,
                     exchange, rank);
}

}  // namespace voltac
