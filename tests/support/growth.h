// How the work of a call grows with its size: processor times of one size over those of another, so that a
// slow machine and a busy one decide nothing.
#pragma once

#include <algorithm>
#include <ctime>

namespace volta::test {

// Processor seconds of work(): the least of `repeats`, since what interrupts only adds.
template <class Work>
double processor_seconds(int repeats, Work&& work) {
    double least = 0;
    for (int i = 0; i < repeats; ++i) {
        const std::clock_t begin = std::clock();
        work();
        const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        least = i == 0 ? seconds : std::min(least, seconds);
    }
    return least;
}

// Processor time of large() over that of small(), whose size is kGrowthStep times less: 16 for work that
// grows with the size, 256 with its square, 4096 with its cube. What leaves the caches on the way costs up to
// four times as much, so a bound lies in the middle.
inline constexpr int kGrowthStep = 16;
inline constexpr double kMostWithTheSize = 128, kMostWithTheSquare = 2048;
template <class Small, class Large>
double growth(Small&& small, Large&& large) {
    const double before = processor_seconds(5, small);
    return processor_seconds(2, large) / before;
}

}  // namespace volta::test
