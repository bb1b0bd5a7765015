// Runs of training whose parameters are compared: on one device or another, at one level or another, in one
// go or from a checkpoint on.
#pragma once

#include <string>
#include <vector>

#include "tests/cuda/check/check.h"

namespace volta::check {

// A file of a run, which goes with the object.
struct File {
    explicit File(std::string name);
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    const std::string path;
};
std::string content(const std::string& path);  // "" where there is no such file

struct Run {
    std::vector<float> losses;         // of every step
    std::vector<std::string> hashes;   // after every ten steps, and after the last
    std::string file;                  // the last checkpoint's bytes
    std::vector<std::int32_t> tokens;  // written by the trained model: greedy, after a prompt of one
};

// `settings.steps` steps; a checkpoint into `half` after `stop` of them, unless stop is 0. The trained model
// then writes `written` tokens.
Run train(const Settings& settings, const Subject& subject, const Place& place, int stop, const File& half,
          int written = 0);
// The steps after `stop`, from the checkpoint `half` on.
Run resume(const Settings& settings, const Subject& subject, const Place& place, int stop, const File& half);

// The step after which hash `index` of a whole run was taken.
int step_of_hash(const Settings& settings, std::size_t index);
// Prints the first thing in which they differ, and returns how many were found: 0 or 1. `got` may have begun
// later: its hashes are the last of `expected`.
int compare(const Settings& settings, const Subject& subject, const char* what, const Run& expected,
            const Run& got);

}  // namespace volta::check
