// The parts of `make cuda-check` that are calls of the library.
//     cuda_check PART [--device NAME] [--steps N] [--golden FILE] [--folder FOLDER] [--record FILE] [--small]
// Lines about what differs, then "PART: ok" or "PART: FAILED". Exit status 0, 1, or 77 without such a device.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "tests/cuda/check/check.h"

namespace {
using namespace volta::check;

template <volta_precision precision>
int at_repeatable(const Settings& settings) {
    return check_level(settings, precision);
}

constexpr struct {
    const char* name;
    Part run;
} kParts[] = {{"functions", check_functions},
              {"products", check_products},
              {"choices", check_choices},
              {"training", check_training},
              {"shards", check_shards},
              {"levels_fp32", at_repeatable<VOLTA_PRECISION_FP32>},
              {"levels_tf32", at_repeatable<VOLTA_PRECISION_TF32>},
              {"levels_bf16", at_repeatable<VOLTA_PRECISION_BF16>},
              {"memory", check_memory}};

int usage() {
    std::fprintf(stderr,
                 "usage: cuda_check PART [--device NAME] [--steps N] [--golden FILE] [--folder FOLDER]\n"
                 "                  [--record FILE] [--small]\n"
                 "PART is");
    for (const auto& part : kParts) std::fprintf(stderr, " %s", part.name);
    std::fprintf(stderr, "\n");
    return 2;
}

// Whether the arguments were understood.
bool parse(int count, char** arguments, Settings& settings) {
    for (int i = 2; i < count; ++i) {
        if (std::strcmp(arguments[i], "--small") == 0) {
            settings.small = true;
            continue;
        }
        if (i + 1 == count) return false;
        const char *const name = arguments[i], *const value = arguments[++i];
        if (std::strcmp(name, "--device") == 0)
            settings.device = value;
        else if (std::strcmp(name, "--golden") == 0)
            settings.golden = value;
        else if (std::strcmp(name, "--folder") == 0)
            settings.folder = value;
        else if (std::strcmp(name, "--record") == 0)
            settings.record = value;
        else if (std::strcmp(name, "--steps") == 0)
            settings.steps = std::atoi(value);
        else
            return false;
    }
    return true;
}

int run(const char* part_name, Part part, const Settings& settings) {
    const std::string named = (settings.record.empty() ? "" : "a second process, ") + std::string(part_name);
    const char* const name = named.c_str();
    try {
        make_context(settings.device);
        const int failures = part(settings);
        std::printf("%s: %s\n", name, failures == 0 ? "ok" : "FAILED");
        return failures == 0 ? 0 : 1;
    } catch (const NotRun& reason) {
        std::printf("%s: not run: %s\n", name, reason.what());
        return 77;
    } catch (const std::exception& error) {
        std::printf("%s: FAILED: %s\n", name, error.what());
        return 1;
    }
}

}  // namespace

int main(int count, char** arguments) {
    Settings settings;
    if (count < 2 || !parse(count, arguments, settings)) return usage();
    for (const auto& part : kParts)
        if (std::strcmp(part.name, arguments[1]) == 0) return run(part.name, part.run, settings);
    return usage();
}
