// An ONNX file as a model. docs/onnx.md says which files, and what becomes of them.
#pragma once

#include <memory_resource>
#include <string>
#include <vector>

#include "engine/base/stop.h"
#include "engine/model/model.h"

namespace volta::onnx {

// Extents of inputs that the file leaves open; of each, -1: as the file has it.
struct OnnxOptions {
    const volta_input_shape* shapes = nullptr;
    std::size_t shape_count = 0;
    bool exact_graph = false;         // no pattern is recognised (patterns.h)
    const Stop* stop = &kNeverStops;  // asked before each node and each parameter
};

// Throws CORRUPT_MODEL, UNSUPPORTED, SHAPE_MISMATCH, IO_ERROR, INVALID_ARGUMENT (a shape for no input).
HeapPtr<Model> import_onnx(MappedFile&& file, const char* path, const OnnxOptions& options,
                           std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);

// What is in the file, as JSON, without making a model of it: opset, operators with counts, which of them are
// refused, and the sentence with which an import would end ("" where it would not).
std::pmr::string survey_onnx(const MappedFile& file, const char* path, const OnnxOptions& options,
                             std::pmr::memory_resource* structures);

}  // namespace volta::onnx
