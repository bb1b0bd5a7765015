// The model format v1 (docs/model_format.md): file to model and back. The reader trusts nothing.
#pragma once

#include <memory_resource>

#include "engine/base/stop.h"
#include "engine/model/model.h"

namespace volta {

enum class LoadMode { map, copy };
struct ReadOptions {
    LoadMode mode = LoadMode::map;
    bool verify_checksums = false;    // always done by the copying load
    const Stop* stop = &kNeverStops;  // asked before each tensor whose checksum is compared
};

// Of a file, or of a folder with its parts, which are read into memory. Throws IO_ERROR (missing, a folder
// without parts), CORRUPT_MODEL (with the reason), UNSUPPORTED (another format version).
HeapPtr<Model> read_model(const char* path, const ReadOptions& options, std::pmr::memory_resource* structures,
                          std::pmr::memory_resource* tensors);
// From memory: `data` is borrowed (map; 64-byte aligned, else INVALID_ARGUMENT) or copied.
HeapPtr<Model> read_model(const void* data, std::size_t bytes, const ReadOptions& options,
                          std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);

// What a save writes: a model, with parameters and training state replaced when given (a trainer's own
// copies), so that a checkpoint of a running trainer needs no copy of its tensors.
struct SaveSource {
    const Model* model = nullptr;
    const float* const* parameters = nullptr;  // one per model parameter; NULL: the model's own
    const TrainingState* training = nullptr;   // NULL: the model's own; tensors may borrow
    bool drop_training = false;                // write no training state at all
    const Stop* stop = &kNeverStops;           // asked before each tensor; the old file stays then too
};
// Crash-safe and deterministic: the same content gives the same bytes. Throws IO_ERROR; the old file stays.
void write_model(const SaveSource& source, const char* path, std::pmr::memory_resource* heap);
// The bytes of the same file as `count` files of a folder and their manifest (parts.h).
void write_model_parts(const SaveSource& source, std::uint32_t count, const char* folder,
                       std::pmr::memory_resource* heap);

}  // namespace volta
