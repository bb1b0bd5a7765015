// Where the time of a group's steps went, as one of its ranks saw it.
#pragma once

#include <cstdint>
#include <string>

#include "include/volta.h"

namespace voltac {

class StepTimes {
  public:
    // A step that took so many seconds, of which the report says what waited and what was exchanged.
    void add(const volta_step_report& step, double seconds);
    bool is_empty() const { return total_ <= 0; }

    double compute() const;  // seconds, as the others
    double wait() const { return wait_; }
    double exchange() const { return exchange_; }
    // "81 % compute, 4 % wait, 15 % exchange (rank 0)": they add up to 100.
    std::string text(std::uint32_t rank) const;

  private:
    double total_ = 0, wait_ = 0, exchange_ = 0;
};

}  // namespace voltac
