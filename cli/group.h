// Which of the processes that train one model this one is: its environment says so, which `voltac launch`, or
// a host's own script, has written. The library reads no environment.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "cli/support.h"

namespace voltac {

using Group = std::unique_ptr<volta_group, Release<volta_group, volta_group_release>>;

inline constexpr const char *kRank = "VOLTA_RANK", *kRanks = "VOLTA_RANKS", *kTransport = "VOLTA_TRANSPORT",
                            *kAddress = "VOLTA_ADDRESS", *kTimeout = "VOLTA_TIMEOUT";

struct Place {
    std::uint32_t rank = 0, ranks = 1;
    std::string transport, address;
    double timeout = 0;  // seconds; 0: the library's

    bool is_alone() const { return ranks == 1; }
    bool speaks() const { return rank == 0; }  // tells how it goes, and writes files
};

// VOLTA_RANKS and what belongs to it; without it what mpirun or srun have written, for transport mpi; else
// one process. Usage errors begin with `command`.
Place place_of_environment(const std::string& command);

// Of "cuda", where ranks are several, this rank's own of the machine's: they are counted through over the
// ranks. What names one stays.
std::string device_of(const Place& place, const std::string& device);

// "voltac train: shards is 2, 4 ranks need one each: give --shards 4"
std::string shards_sentence(const std::string& command, std::int64_t shards, std::int64_t ranks);

// Returns when all ranks are there. NULL: there is one.
Group join(const Context& context, const Place& place);

}  // namespace voltac
