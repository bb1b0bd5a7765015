// The memory planner on published instances of its problem (docs/measurements/offsets.md):
//
//     build/tests/plan/published_offsets [FOLDER [STEPS]]
//
// Exit status: 0 all instances are solved, 1 one is not, 77 there are none.
// FOLDER has the files of benchmarks/challenging of github.com/google/minimalloc, NAME.CAPACITY.csv: lines
// id,lower,upper,size of buffers alive from step `lower` to the one before `upper`.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/plan/memory_planner.h"

namespace {
using namespace volta;

constexpr int kSkipped = 77;  // what ctest takes for a skipped test
constexpr std::uint64_t kSteps = 2'000'000'000;

std::pmr::vector<Lifetime> read_instance(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);  // the names of the columns
    std::pmr::vector<Lifetime> buffers;
    while (std::getline(file, line)) {
        std::int32_t id = 0, lower = 0, upper = 0;
        std::uint64_t size = 0;
        if (std::sscanf(line.c_str(), "%" SCNd32 ",%" SCNd32 ",%" SCNd32 ",%" SCNu64, &id, &lower, &upper,
                        &size) != 4)
            continue;
        buffers.push_back({size, lower, upper - 1});
    }
    return buffers;
}

bool overlaps(const std::pmr::vector<Lifetime>& buffers, const MemoryPlan& plan) {
    for (std::size_t a = 0; a < buffers.size(); ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (buffers[a].first_step <= buffers[b].last_step &&
                buffers[b].first_step <= buffers[a].last_step &&
                plan.offsets[a] < plan.offsets[b] + buffers[b].bytes &&
                plan.offsets[b] < plan.offsets[a] + buffers[a].bytes)
                return true;
    return false;
}

// Whether the instance is solved.
bool measure(const std::filesystem::path& path, std::uint64_t steps) {
    const std::pmr::vector<Lifetime> buffers = read_instance(path);
    MemoryPlanOptions options;
    options.goal = std::strtoull(path.stem().extension().c_str() + 1, nullptr, 10);
    options.search_steps = 0;
    const std::uint64_t first = plan_memory(buffers, options).arena_bytes;
    options.search_steps = options.search_steps_per_buffer = steps;
    const auto begin = std::chrono::steady_clock::now();
    const MemoryPlan plan = plan_memory(buffers, options);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const bool solved = plan.arena_bytes <= options.goal && !overlaps(buffers, plan);
    std::printf("| %s | %zu | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %s | %.1f | %.2f |\n",
                path.stem().stem().c_str(), buffers.size(), options.goal, live_bytes_bound(buffers), first,
                plan.arena_bytes, solved ? "yes" : "no", static_cast<double>(plan.search_steps) / 1e6,
                seconds);
    std::fflush(stdout);
    return solved;
}

}  // namespace

int main(int argc, char** argv) {
    const char* data = std::getenv("VOLTA_TEST_DATA");
    const std::string folder =
        argc > 1 ? argv[1] : std::string(data ? data : "../shared/data") + "/minimalloc";
    const std::uint64_t steps = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : kSteps;
    std::vector<std::filesystem::path> files;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none))
        if (entry.path().extension() == ".csv") files.push_back(entry.path());
    if (files.empty()) {
        std::printf("no instances in %s: name a folder with benchmarks/challenging of google/minimalloc\n",
                    folder.c_str());
        return kSkipped;
    }
    std::sort(files.begin(), files.end());
    std::printf(
        "| | buffers | capacity | bound | largest first | searched | solved | steps, millions | seconds |\n"
        "|---|---:|---:|---:|---:|---:|---|---:|---:|\n");
    int unsolved = 0;
    for (const auto& file : files) unsolved += !measure(file, steps);
    return unsolved == 0 ? 0 : 1;
}
