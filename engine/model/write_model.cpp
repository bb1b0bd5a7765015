// From a model to a file: what is written is decided and checked first, then streamed. No tensor is copied.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "engine/base/error.h"
#include "engine/model/adapters.h"
#include "engine/model/decode_model.h"
#include "engine/model/encode_model.h"
#include "engine/model/file_layout.h"
#include "engine/model/model_file.h"

namespace volta {
namespace {

class TensorList {
  public:
    explicit TensorList(StoredTensors& list) : list_(list) {}

    void add(std::string_view name, fb::Role role, DType dtype, const Shape& shape, const void* data) {
        const std::uint64_t bytes = tensor_bytes(dtype, shape);
        const std::uint64_t offset = aligned(end_);
        list_.push_back(
            {std::pmr::string(name, list_.get_allocator()), role, dtype, shape, data, bytes, offset, {}});
        end_ = offset + bytes;
    }
    std::uint64_t end() const { return end_; }

  private:
    StoredTensors& list_;
    std::uint64_t end_ = 0;
};

void add_constants(TensorList& list, const Graph& graph) {
    int next = 0;
    for (const Node& node : graph.nodes) {
        if (node.op != Op::constant) continue;
        char name[32];
        std::snprintf(name, sizeof name, "constant/%d", next++);
        const Value& value = graph.value(node.first_output);
        list.add(name, fb::Role::constant, value.dtype, value.shape,
                 graph.constants[static_cast<std::size_t>(node.data)].data());
    }
}

}  // namespace

std::uint64_t collect_tensors(const SaveSource& source, const TrainingState* training,
                              StoredTensors& tensors) {
    TensorList list(tensors);
    const Model& model = *source.model;
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
        const NamedTensor& parameter = model.parameters[i];
        list.add(parameter.name, fb::Role::parameter, parameter.dtype, parameter.shape,
                 source.parameters != nullptr ? source.parameters[i] : parameter.data);
    }
    add_constants(list, model.graph);
    if (training != nullptr)
        for (const NamedTensor& tensor : training->tensors)
            list.add(tensor.name, fb::Role::training, tensor.dtype, tensor.shape, tensor.data);
    return list.end();
}

namespace {

constexpr std::size_t kBlockFloats = 4096;

bool has_nan(const float* values, std::size_t count) {
    bool found = false;
    for (std::size_t i = 0; i < count; ++i) found |= values[i] != values[i];
    return found;
}

// The bytes of a tensor as a file has them: f32 with every NaN as 0x7fc00000 (docs/numerics.md, 1), so that
// equal models are equal files. Hands them over block by block, copying only blocks with a NaN.
template <class Consume>
void each_block(const StoredTensor& tensor, Consume consume) {
    if (tensor.dtype != DType::f32) {
        if (tensor.bytes > 0) consume(tensor.data, static_cast<std::size_t>(tensor.bytes));
        return;
    }
    const auto* values = static_cast<const float*>(tensor.data);
    for (std::size_t left = static_cast<std::size_t>(tensor.bytes) / sizeof(float); left > 0;) {
        const std::size_t count = std::min(left, kBlockFloats);
        if (has_nan(values, count)) {
            std::uint32_t block[kBlockFloats];
            for (std::size_t i = 0; i < count; ++i) {
                std::memcpy(block + i, values + i, sizeof(float));
                if (values[i] != values[i]) block[i] = 0x7fc00000u;
            }
            consume(block, count * sizeof(float));
        } else {
            consume(values, count * sizeof(float));
        }
        values += count;
        left -= count;
    }
}

void compute_checksums(StoredTensors& tensors, const Stop& stop) {
    for (StoredTensor& tensor : tensors) {
        stop.ask("the checksum of tensor", static_cast<std::size_t>(&tensor - tensors.data()),
                 tensors.size());
        Hasher hasher;
        each_block(tensor, [&](const void* data, std::size_t bytes) { hasher.add(data, bytes); });
        tensor.checksum = hasher.result();
    }
}

// Reads the metadata back with all the checks of a load: what could not be opened is not written.
void check_loadable(const flatbuffers::FlatBufferBuilder& builder, const StoredTensors& tensors,
                    std::uint64_t data_bytes, std::pmr::memory_resource* heap) {
    try {
        const fb::Model& file = verified_metadata(builder.GetBufferPointer(), builder.GetSize());
        check_tensors(file, data_bytes, heap);
        TensorBytes bytes(heap);
        for (const StoredTensor& tensor : tensors) bytes.push_back(tensor.data);
        decode_model(file, bytes, heap, heap);
    } catch (const Error& error) {
        if (error.status() != VOLTA_CORRUPT_MODEL) throw;
        fail(VOLTA_INVALID_ARGUMENT, "the model cannot be saved: %s", error.what());
    }
}

void pad(AtomicFile& file, std::uint64_t offset) {
    static constexpr unsigned char kZeros[kTensorAlignment] = {};
    file.write(kZeros, static_cast<std::size_t>(offset - file.written()));
}

void stream(AtomicFile& file, const flatbuffers::FlatBufferBuilder& metadata, const StoredTensors& tensors) {
    Preamble preamble;
    std::memcpy(preamble.magic, kMagic, sizeof kMagic);
    preamble.format_version = kFormatVersion;
    preamble.metadata_bytes = static_cast<std::uint32_t>(metadata.GetSize());
    Hasher hasher;
    hasher.add(&preamble, sizeof preamble);
    hasher.add(metadata.GetBufferPointer(), metadata.GetSize());
    const ChecksumBytes checksum = {hasher.result().low, hasher.result().high};

    file.write(&preamble, sizeof preamble);
    file.write(metadata.GetBufferPointer(), metadata.GetSize());
    file.write(&checksum, sizeof checksum);
    const std::uint64_t start = data_start(preamble.metadata_bytes);
    pad(file, start);
    for (const StoredTensor& tensor : tensors) {
        pad(file, start + tensor.offset);
        each_block(tensor, [&](const void* data, std::size_t bytes) { file.write(data, bytes); });
    }
}

const TrainingState* training_of(const SaveSource& source) {
    if (source.drop_training) return nullptr;
    if (source.training != nullptr) return source.training;
    return source.model->training ? &*source.model->training : nullptr;
}

}  // namespace

void write_model(const SaveSource& source, const char* path, std::pmr::memory_resource* heap) {
    if (source.model->base != nullptr) {  // adapters are saved alone
        const HeapPtr<Model> adapters = adapters_alone(*source.model, heap);
        SaveSource alone = source;
        alone.model = adapters.get();
        if (alone.training == nullptr) alone.training = training_of(source);
        return write_model(alone, path, heap);
    }
    const TrainingState* training = training_of(source);
    StoredTensors tensors(heap);
    const std::uint64_t data_bytes = collect_tensors(source, training, tensors);
    compute_checksums(tensors, *source.stop);

    BuilderHeap builder_heap(heap);
    flatbuffers::FlatBufferBuilder builder(4096, &builder_heap);
    encode_model(builder, *source.model, training, tensors, data_bytes);
    check_loadable(builder, tensors, data_bytes, heap);

    AtomicFile file(path, heap, *source.stop);
    stream(file, builder, tensors);
    file.commit();
}

}  // namespace volta
