// A model as an ONNX file. docs/onnx.md says what becomes of what.
#pragma once

#include <memory_resource>

#include "engine/base/stop.h"
#include "engine/model/model.h"

namespace volta::onnx {

bool is_written(int opset);

struct OnnxExport {
    int opset = 13;  // one that is written
    std::uint64_t inline_bytes =
        0;  // parameters of more than this lie beside the file; 0: as many as it holds
    const Stop* stop = &kNeverStops;
};

// Crash-safe; the same model gives the same bytes; import_onnx gives the same model. Throws UNSUPPORTED,
// naming node, operator and opset, before anything is written; IO_ERROR.
void export_onnx(const Model& model, const char* path, const OnnxExport& options,
                 std::pmr::memory_resource* heap);

// Texts of the file that only Volta reads (engine/model/description.h).
inline constexpr const char kModelKey[] = "volta.model", kConstantsKey[] = "volta.constants";

}  // namespace volta::onnx
