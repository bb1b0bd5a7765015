// Models of other programs: file to model. Which containers and names are read: docs/import.md.
#pragma once

#include <memory_resource>

#include "engine/base/log.h"
#include "engine/import/architecture.h"
#include "engine/import/onnx/import_onnx.h"
#include "engine/model/model.h"

namespace volta {

enum class WeightFormat {
    automatic = VOLTA_WEIGHTS_AUTO,
    safetensors = VOLTA_WEIGHTS_SAFETENSORS,
    gguf = VOLTA_WEIGHTS_GGUF,
    llama2c = VOLTA_WEIGHTS_LLAMA2C,
    onnx = VOLTA_WEIGHTS_ONNX
};

struct ImportOptions {
    WeightFormat format = WeightFormat::automatic;
    const char* tokenizer_path = nullptr;  // NULL: the one in the file, where it has one
    const char* config_path = nullptr;     // NULL: config.json beside the file, where it is needed and there
    const char* key_map_path = nullptr;    // NULL: the built-in names alone (engine/import/key_map.h)
    std::optional<BertChoice> bert;        // for a BERT of another program
    // What the weights of products and look-ups become; none: the smallest type that has every value.
    std::optional<DType> weights = DType::f32;
    bool no_tokenizer = false;             // whatever the file has
    std::optional<NetworkConfig> network;  // what the file holds, which needs no config then
    onnx::OnnxOptions onnx;
    const Stop* stop = &kNeverStops;  // asked before each parameter; of an ONNX file, onnx.stop is
    Log log = Log();                  // told what was rounded
};

// Throws IO_ERROR, CORRUPT_MODEL, UNSUPPORTED, SHAPE_MISMATCH, INVALID_ARGUMENT: what was wrong, with the
// name and the value, and the path of the file that has it: weights, config, key map or tokenizer.
HeapPtr<Model> import_model(const char* path, const ImportOptions& options,
                            std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);

// What an ONNX file holds (onnx/import_onnx.h), as JSON. The same errors.
std::pmr::string survey_model(const char* path, const ImportOptions& options,
                              std::pmr::memory_resource* structures);

}  // namespace volta
