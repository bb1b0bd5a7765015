// A weight stored as int8 as ONNX has it: integers [n, k] and a scale of each 32 along k, [n, k / 32].
#pragma once

#include "engine/base/storage_format.h"

namespace volta::onnx {

// Where the scale of an output and a group of k lies among the weight's bytes, and where an integer does.
inline std::int64_t scale_place(std::int64_t output, std::int64_t group, std::int64_t k) {
    return output / kStoredPanel * stored_panel_bytes(DType::int8, k) +
           group * stored_group_bytes(DType::int8) + output % kStoredPanel * 2;
}
inline std::int64_t integer_place(std::int64_t output, std::int64_t step, std::int64_t k) {
    return scale_place(output - output % kStoredPanel, step / kStoredGroup, k) + kStoredPanel * 2 +
           step % kStoredGroup * kStoredPanel + output % kStoredPanel;
}

}  // namespace volta::onnx
