// Processes of this program that are the ranks of one group: started, watched and ended together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace voltac {

struct Launch {
    std::int64_t ranks = 0;
    std::string transport = "local";
    double timeout = 0;        // of the group, in seconds; 0: the library's
    std::string logs;          // a folder: rank-<r>.log of every rank but 0, which speaks here
    std::int64_t threads = 0;  // of each rank, where its call and the environment say nothing
};

// How the ranks of one start ended.
struct Outcome {
    int status = 0;           // rank 0's, or the one of the rank that failed
    std::string failure;      // which rank failed, and how; "": none did
    bool is_lost = false;     // it failed for a reason that may be gone the next time
    bool is_crowded = false;  // the system had no place for so many
};

// Starts all, waits for all. A signal that asks this process to end goes to all of them. One that fails ends
// the others: they have 2 s to do so themselves, SIGTERM gives them 2 more. `words` is their command line.
Outcome run_ranks(const Launch& launch, const std::vector<std::string>& words);

}  // namespace voltac
