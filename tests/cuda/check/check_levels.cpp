// What level repeatable promises, in one precision: a second process has the same parameters, losses and
// tokens; a checkpoint goes on as the run that was not interrupted; and the losses are those of strict,
// within bounds.
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/cuda/check/training_run.h"

extern char** environ;

namespace volta::check {
namespace {

constexpr int kWritten = 32, kLeastSteps = 4;

constexpr struct {
    const char *name, *part;
    double roundoff;  // the largest relative error of what the precision rounds once
} kPrecisions[] = {
    {"fp32", "levels_fp32", 0x1p-18},  // no operand is rounded: sums of many terms in another order
    {"tf32", "levels_tf32", 0x1p-11},  // 11 bits of significand
    {"bf16", "levels_bf16", 0x1p-8},   // 8
};

// How far, relative to it, the loss of step 1, 2, ... may be from strict's. Step 1 has the same parameters.
// An error of r in every logit moves a loss by at most 2 r max|logit|, which is less than r times the loss of
// a fresh model: its logits are small and its loss is the logarithm of the vocabulary. Every logit has gone
// through several roundings, which are independent and cancel in the mean over all tokens, so that one whole
// roundoff is ample. From then on the runs part: we let the distance double in a step, up to a sixteenth,
// about what some ten steps of learning take off a loss. A wrong gradient is beyond that within the first
// steps.
double tolerance(int step, double roundoff) { return std::min(std::ldexp(roundoff, step - 1), 0x1p-4); }

// Prints the first step that is out of bounds; 0 or 1.
int compare_losses(const char* name, double roundoff, const Run& strict, const Run& run) {
    double largest = 0;
    for (std::size_t i = 0; i < run.losses.size(); ++i) {
        const double expected = strict.losses[i], got = run.losses[i];
        const int step = static_cast<int>(i) + 1;
        const double distance = std::fabs(got - expected) / std::fabs(expected);
        if (!(distance <= tolerance(step, roundoff))) {  // NaN too
            std::printf("%s: the loss of step %d is %.9g, strict has %.9g: %.2g of it, %.2g are allowed\n",
                        name, step, got, expected, distance, tolerance(step, roundoff));
            return 1;
        }
        largest = std::max(largest, distance);
    }
    const double first = std::fabs(run.losses[0] - strict.losses[0]) / std::fabs(strict.losses[0]);
    std::printf("%s: losses are strict's within %.2g at step 1 (%.2g allowed), %.2g at worst\n", name, first,
                tolerance(1, roundoff), largest);
    return 0;
}

// A run as lines of text: all bits of what another process must find.
std::string lines_of(const Settings& settings, const Run& run) {
    std::ostringstream text;
    char number[32];
    for (std::size_t i = 0; i < run.hashes.size(); ++i)
        text << "after step " << step_of_hash(settings, i) << " the parameters are " << run.hashes[i] << "\n";
    for (std::size_t i = 0; i < run.losses.size(); ++i) {
        std::snprintf(number, sizeof number, "%a", static_cast<double>(run.losses[i]));
        text << "the loss of step " << i + 1 << " is " << number << "\n";
    }
    text << "tokens";
    for (const std::int32_t token : run.tokens) text << " " << token;
    text << "\n";
    return text.str();
}

// This program again, for the same part: the lines that it records. /proc/self/exe is the program of whoever
// asks.
std::string lines_of_another_process(const Settings& settings, const char* part, const File& record) {
    const std::string steps = std::to_string(settings.steps);
    std::vector<const char*> arguments = {
        "cuda_check", part,          "--device", settings.device.c_str(), "--folder", settings.folder.c_str(),
        "--steps",    steps.c_str(), "--record", record.path.c_str()};
    if (settings.small) arguments.push_back("--small");
    arguments.push_back(nullptr);
    std::fflush(stdout);
    pid_t child = 0;
    const int error = posix_spawn(&child, "/proc/self/exe", nullptr, nullptr,
                                  const_cast<char* const*>(arguments.data()), environ);
    if (error != 0)
        throw std::runtime_error(std::string("a second process cannot be begun: ") + std::strerror(error));
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw std::runtime_error("the second process failed");
    return content(record.path);
}

// Prints the first line that differs; 0 or 1.
int compare_lines(const char* name, const std::string& first, const std::string& second) {
    std::istringstream one(first), other(second);
    std::string expected, got;
    while (std::getline(one, expected)) {
        std::getline(other, got);
        if (got == expected) continue;
        std::printf("%s: %s; in a second process: %s\n", name, expected.c_str(), got.c_str());
        return 1;
    }
    return 0;
}

}  // namespace

int check_level(const Settings& given, volta_precision precision) {
    const auto& row = kPrecisions[precision];
    Settings settings = given;
    if (given.record.empty()) settings.steps = std::max(kLeastSteps, given.steps / 4);
    Subject subject = subjects(settings.small)[0];
    subject.time = std::max<std::int64_t>(subject.time, kWritten + 1);  // the prompt, and what is written
    const std::string kernels = settings.folder + "/cuda_check_kernels";
    const Place place{settings.device, VOLTA_REPEATABLE, precision, kernels, {}};
    const Place strict_place{settings.device, VOLTA_STRICT, VOLTA_PRECISION_FP32, kernels, {}};
    const File half(settings.folder + "/" + row.part + (given.record.empty() ? ".volta" : ".again.volta"));
    const int stop = settings.steps / 2;
    const Run run = train(settings, subject, place, stop, half, kWritten);
    const std::string lines = lines_of(settings, run);
    if (!given.record.empty()) {
        if (!(std::ofstream(given.record) << lines << std::flush))
            throw std::runtime_error("cannot write " + given.record);
        return 0;
    }
    int failures =
        compare(settings, subject, "from its checkpoint", run, resume(settings, subject, place, stop, half));
    const File record(settings.folder + "/" + row.part + ".record");
    failures += compare_lines(row.name, lines, lines_of_another_process(settings, row.part, record));
    const Run strict = train(settings, subject, strict_place, 0, half);
    failures += compare_losses(row.name, row.roundoff, strict, run);
    if (precision != VOLTA_PRECISION_FP32 && run.hashes.back() == strict.hashes.back()) {
        std::printf("%s: the bits are those of strict: nothing was rounded\n", row.name);
        ++failures;
    }
    std::printf("%s at level repeatable: %d steps, %s\n", row.name, settings.steps,
                failures == 0 ? run.hashes.back().c_str() : "differs");
    return failures;
}

}  // namespace volta::check
