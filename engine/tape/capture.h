// A record's calls as the graph of a model.
#pragma once

#include <memory_resource>
#include <string>
#include <vector>

#include "engine/tape/tape.h"

namespace volta {

struct CaptureNames {
    const Tensor* const* tensors = nullptr;
    const char* const* names = nullptr;
    std::size_t count = 0;
    const char* const* outputs = nullptr;  // NULL: y0, y1, ...
    bool open_batch = false;
};

struct Capture {
    explicit Capture(std::pmr::memory_resource* heap) : graph(heap), parameters(heap) {}
    Graph graph;
    std::pmr::vector<const Tensor*> parameters;  // in the graph's order
};

// What the outputs compute, from the record's leaves on. Throws INVALID_STATE for an output that is no result
// of the record, INVALID_ARGUMENT for names, what shape rules do where extents are open.
Capture capture(const Tape& tape, const Tensor* const* outputs, std::size_t output_count,
                const CaptureNames& names, std::pmr::memory_resource* heap);

}  // namespace volta
