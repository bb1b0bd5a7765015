// What a compiled kernel of the fake NVRTC tells the fake driver: its entry points.
#pragma once

#include <cstddef>

#include "tests/support/simt_emulation.h"

namespace volta::fake {

struct Entry {
    const char* name;  // NULL ends the list
    // Runs the grid. `error`: "" or what the emulation found.
    void (*run)(const simt::Launch& launch, void** parameters, char* error, std::size_t error_bytes);
    std::size_t parameter_count;
    const std::size_t* parameter_bytes;
    unsigned max_threads;  // of __launch_bounds__; 1024 without
};

inline constexpr const char* kEntries = "volta_fake_entries";  // the symbol of the list

// In front of the shared library in an image, so that the driver knows where it ends.
struct ImageHeader {
    char magic[8];  // "FAKEKRNL"
    int architecture;
    int is_ptx;
    std::size_t bytes;  // of the library behind the header
};
inline constexpr char kImageMagic[8] = {'F', 'A', 'K', 'E', 'K', 'R', 'N', 'L'};

}  // namespace volta::fake
