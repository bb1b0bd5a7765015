// voltac bench infer of networks of pictures: one at a time, and many.
#pragma once

#include <cstdint>
#include <string>

#include "cli/bench_timing.h"
#include "cli/profile.h"

namespace voltac::bench {

struct NetworkInference {
    std::string network;     // is_network
    std::int64_t batch = 0;  // beside batches of 1; 0: the network's usual one
    Repeats repeats;
    bool csv = false;
};

// Prints a row for each batch. The profile, where one is wanted, is of one more run of the larger batch.
int infer_network(const NetworkInference& wanted, ProfileFile& profile);

}  // namespace voltac::bench
