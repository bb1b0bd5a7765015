#include "cli/group.h"

#include <cstdlib>
#include <cstring>

namespace voltac {
namespace {

constexpr std::uint32_t kMostRanks = 1024;

const char* variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

std::uint32_t number_of(const std::string& command, const char* name, std::uint32_t low, std::uint32_t high) {
    const char* value = variable(name);
    char* end = nullptr;
    const unsigned long number = value != nullptr ? std::strtoul(value, &end, 10) : 0;
    if (value == nullptr || value[0] < '0' || value[0] > '9' || *end != '\0' || number < low || number > high)
        usage_error(command +
                    formatted(": %s is %s, it must be in %u .. %u", name,
                              value != nullptr ? ("'" + std::string(value) + "'").c_str() : "not set", low,
                              high));
    return static_cast<std::uint32_t>(number);
}

double seconds_of(const std::string& command) {
    const char* value = variable(kTimeout);
    if (value == nullptr) return 0;
    char* end = nullptr;
    const double seconds = std::strtod(value, &end);
    if (*end != '\0' || !(seconds > 0 && seconds <= 86400))  // NaN fails too
        usage_error(command +
                    formatted(": %s is '%s', it must be seconds above 0 and at most 86400", kTimeout, value));
    return seconds;
}

// What starters of MPI's processes write. SLURM_NTASKS is there in a batch script too, which is one process.
struct Starter {
    const char *rank, *ranks;
    const char*
        library;  // whose mpirun it is: where two are installed, the other knows nothing of these processes
};
constexpr Starter kStarters[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "openmpi"},
                                 {"PMI_RANK", "PMI_SIZE", "mpich"},
                                 {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", ""}};

Place read_numbers(const std::string& command, const char* rank, const char* ranks) {
    Place place;
    place.ranks = number_of(command, ranks, 1, kMostRanks);
    place.rank = number_of(command, rank, 0, place.ranks - 1);
    return place;
}

}  // namespace

Place place_of_environment(const std::string& command) {
    if (variable(kRanks) != nullptr) {
        Place place = read_numbers(command, kRank, kRanks);
        if (variable(kTransport) != nullptr) place.transport = variable(kTransport);
        if (variable(kAddress) != nullptr) place.address = variable(kAddress);
        place.timeout = seconds_of(command);
        return place;
    }
    if (variable(kRank) != nullptr)
        usage_error(command + formatted(": %s is '%s', but %s is not set", kRank, variable(kRank), kRanks));
    for (const Starter& starter : kStarters) {
        if (variable(starter.rank) == nullptr || variable(starter.ranks) == nullptr) continue;
        Place place = read_numbers(command, starter.rank, starter.ranks);
        place.transport = "mpi";
        place.address = variable(kAddress) != nullptr ? variable(kAddress) : starter.library;
        place.timeout = seconds_of(command);
        return place;
    }
    return {};
}

std::string device_of(const Place& place, const std::string& device) {
    std::uint32_t count = 0;
    if (place.is_alone() || device != "cuda") return device;
    if (volta_device_count("cuda", &count) != VOLTA_OK || count == 0) return device;  // the context says why
    return device + ":" + std::to_string(place.rank % count);
}

std::string shards_sentence(const std::string& command, std::int64_t shards, std::int64_t ranks) {
    return command + formatted(": shards is %lld, %lld ranks need one each: give --shards %lld",
                               static_cast<long long>(shards), static_cast<long long>(ranks),
                               static_cast<long long>(ranks));
}

Group join(const Context& context, const Place& place) {
    if (place.is_alone()) return nullptr;
    volta_group_options options = VOLTA_GROUP_OPTIONS_INIT;
    options.transport = place.transport.empty() ? nullptr : place.transport.c_str();
    options.address = place.address.empty() ? nullptr : place.address.c_str();
    options.rank = place.rank;
    options.size = place.ranks;
    options.timeout = place.timeout;
    volta_group* group = nullptr;
    check(volta_group_create(context.get(), &options, &group));
    return Group(group);
}

}  // namespace voltac
