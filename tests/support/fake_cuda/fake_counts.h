// What tests ask the fake driver, beside the driver API: by dlsym, as everything of it.
#pragma once

#include <cstddef>

namespace volta::fake {

// What is there now: all 0 after a program that leaks nothing.
struct Counts {
    int contexts, streams, events, modules, graphs, executables;
    int allocations, pinned;
    int library_objects;  // of cuBLASLt
    int leaked;  // objects and allocations that nobody freed before the context that they were made in went
    std::size_t bytes, pinned_bytes;
};

}  // namespace volta::fake

extern "C" {
void volta_fake_cuda_counts(volta::fake::Counts* counts);
// How often the driver's function `name` was called since cuInit, and how many kernels have run.
int volta_fake_cuda_calls(const char* name);
int volta_fake_cuda_kernels(void);
}
