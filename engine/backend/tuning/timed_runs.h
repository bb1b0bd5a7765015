// Contenders for one product, timed in turns: what the searches of all backends are made of. They know no
// clock: a timer runs the product on its device, or is a simulation in tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "jitgen/program.h"

namespace volta {

// Times contenders, in any order, as often as asked.
class ContenderTimer {
  public:
    virtual ~ContenderTimer() = default;
    virtual double run(int contender) = 0;        // once; seconds
    virtual double elapsed() const noexcept = 0;  // seconds since the timer was made: the search's budget
};

inline constexpr int kMostTimedRuns = 64;
inline constexpr double kDefaultStays = 0.98;  // unless it is beaten by more than 2 %

// The runs of one contender so far.
struct TimedRuns {
    double seconds[kMostTimedRuns] = {};
    int count = 0;
    bool out = false;  // of the race

    void add(double run) { seconds[count++] = run; }
    double median() const;   // 0: none
    double fastest() const;  // of one or more
};

struct TunerOptions {
    int runs = 5;               // timed runs per contender, of which the median counts
    int warmup = 1;             // runs before them
    double budget_seconds = 2;  // three fifths for the races, the rest for the play-off; what runs, ends
    double most_seconds = 0;    // of a product that takes long; less than budget_seconds: no more than those
    // Asked after every race with the share of the budget that is used. False: stop.
    bool (*progress)(void* user, double share) = nullptr;
    void* user = nullptr;
};

template <class Choice>
struct TunerResultOf {
    Choice choice;  // the default unless it was beaten by more than 2 %
    double default_seconds = 0, tuned_seconds = 0;
    double classic_seconds = 0;  // of the backend's classic choice: what a fixed choice of old would give
    int contenders = 0;          // how many different plans were timed
    bool cancelled = false;
};

// ---- What is run

// Elements that a matrix of a product's shape takes, and ordinary numbers for them: zeros and subnormals have
// speeds of their own.
std::int64_t matrix_elements(std::int64_t batch, std::int64_t batch_stride, std::int64_t rows,
                             std::int64_t leading_dimension);
void fill_with_numbers(float* values, std::int64_t count);

// Stands for whatever will follow a product: y = relu(c + bias), and the same less the largest of its row.
jit::Program tuning_stand_in(bool whole_rows, std::pmr::memory_resource* heap);

}  // namespace volta
