// How a long run shows itself on standard error: a bar that redraws on a terminal, a line now and then
// elsewhere.
#pragma once

#include <chrono>
#include <cstdint>

namespace voltac {

class Progress {
  public:
    // Steps first .. last of a run; tokens_per_step for the rate. quiet: show nothing (--json).
    // `unit`: what is counted, "tokens" or "pictures".
    Progress(std::uint64_t first, std::uint64_t last, std::uint64_t tokens_per_step, bool quiet,
             const char* unit = "tokens");
    void step(std::uint64_t step, double loss);
    void finish();

    double seconds() const;            // since construction
    double tokens_per_second() const;  // over all steps so far

  private:
    using Clock = std::chrono::steady_clock;
    std::uint64_t first_, last_, tokens_per_step_, done_ = 0;
    bool quiet_, terminal_;
    const char* unit_;
    Clock::time_point start_, shown_;
    double smooth_loss_ = 0;
};

}  // namespace voltac
