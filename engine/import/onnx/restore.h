// Files that Volta wrote, as the model that they were made of: exactly, and no guess. A file's description of
// itself is believed where the nodes that it would be written as are those that the file has, byte for byte.
#pragma once

#include "engine/base/stop.h"
#include "engine/import/onnx/tensor.h"
#include "engine/model/model.h"

namespace volta::onnx {

// NULL where the file has no such description, or is another by now. The parameters have no data yet.
HeapPtr<Model> restore_graph(const FileView& file, int opset, std::size_t file_bytes,
                             std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);

// The same with data; NULL too where an initialiser is not what the description says.
// `stop` is asked before each tensor.
HeapPtr<Model> restore_model(const FileView& file, ExternalFiles& files, int opset, std::size_t file_bytes,
                             std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors,
                             const Stop& stop);

}  // namespace volta::onnx
