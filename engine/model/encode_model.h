// A model as the metadata of a file: model to FlatBuffer. write_model.cpp adds the tensors' bytes.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "engine/base/hash.h"
#include "engine/model/model_file.h"
#include "flatbuffers/flatbuffers.h"
#include "model_v1_generated.h"

namespace volta {

namespace fb = model_v1;

// A tensor of the file: where its bytes are now, and where they go.
struct StoredTensor {
    std::pmr::string name;
    fb::Role role;
    DType dtype;
    Shape shape;
    const void* data;  // in memory
    std::uint64_t bytes;
    std::uint64_t offset;  // in the data section
    Hash128 checksum;      // of the bytes as they are written
};

using StoredTensors = std::pmr::vector<StoredTensor>;

// Parameters, constants, training state: the order of the file (write_model.cpp). Returns the size of the
// data section.
std::uint64_t collect_tensors(const SaveSource& source, const TrainingState* training,
                              StoredTensors& tensors);

// FlatBuffers' builder on the host's heap. Throws INVALID_ARGUMENT when the metadata outgrows the format.
class BuilderHeap final : public flatbuffers::Allocator {
  public:
    explicit BuilderHeap(std::pmr::memory_resource* heap) : heap_(heap) {}
    std::uint8_t* allocate(std::size_t bytes) override;
    void deallocate(std::uint8_t* pointer, std::size_t bytes) override;

  private:
    std::pmr::memory_resource* heap_;
};

// Fills `builder` with the finished metadata. The same content gives the same bytes.
void encode_model(flatbuffers::FlatBufferBuilder& builder, const Model& model, const TrainingState* training,
                  const std::pmr::vector<StoredTensor>& tensors, std::uint64_t data_bytes);

}  // namespace volta
