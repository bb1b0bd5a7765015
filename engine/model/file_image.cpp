#include "engine/model/file_image.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "engine/base/error.h"
#include "engine/model/adapters.h"
#include "engine/model/decode_model.h"
#include "engine/model/encode_model.h"
#include "engine/model/file_layout.h"

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

// Some bytes of a tensor as a file has them: f32 with every NaN as 0x7fc00000 (docs/numerics.md, 1), so that
// equal models are equal files. Hands them over block by block, copying only blocks with a NaN.
template <class Consume>
void each_block(const StoredTensor& tensor, std::uint64_t begin, std::uint64_t end, Consume consume) {
    const auto* const data = static_cast<const unsigned char*>(tensor.data) + begin;
    if (tensor.dtype != DType::f32) {
        if (end > begin) consume(data, static_cast<std::size_t>(end - begin));
        return;
    }
    const auto* values = reinterpret_cast<const float*>(data);
    for (std::size_t left = static_cast<std::size_t>(end - begin) / sizeof(float); left > 0;) {
        const std::size_t count = std::min(left, kBlockFloats);
        if (has_nan(values, count)) {
            std::uint32_t block[kBlockFloats];
            for (std::size_t i = 0; i < count; ++i) {
                std::memcpy(block + i, values + i, sizeof(float));
                if (values[i] != values[i]) block[i] = 0x7fc00000u;
            }
            consume(static_cast<const void*>(block), count * sizeof(float));
        } else {
            consume(static_cast<const void*>(values), count * sizeof(float));
        }
        values += count;
        left -= count;
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

const TrainingState* training_of(const SaveSource& source) {
    if (source.drop_training) return nullptr;
    if (source.training != nullptr) return source.training;
    return source.model->training ? &*source.model->training : nullptr;
}

}  // namespace

FileImage::FileImage(const SaveSource& source, std::pmr::memory_resource* heap)
    : source_(source), training_(training_of(source)), tensors_(heap), checksums_(heap), head_(heap) {
    if (source.model->base != nullptr) {
        alone_ = adapters_alone(*source.model, heap);
        source_.model = alone_.get();
    }
    data_bytes_ = collect_tensors(source_, training_, tensors_);
    checksums_.resize(tensors_.size());
}

FileImage::~FileImage() = default;

std::string_view FileImage::parameter_of(std::size_t tensor) const noexcept {
    const StoredTensor& stored = tensors_[tensor];
    const std::string_view name(stored.name);
    if (stored.role == fb::Role::constant) return {};
    return stored.role == fb::Role::training ? name.substr(0, name.rfind('/')) : name;
}

std::uint64_t FileImage::end_of(std::size_t tensor) const noexcept {
    return head_bytes_ + tensors_[tensor].offset + tensors_[tensor].bytes;
}

void FileImage::compute_checksum(std::size_t tensor) {
    stop().ask("the checksum of tensor", tensor, tensors_.size());
    Hasher hasher;
    each_block(tensors_[tensor], 0, tensors_[tensor].bytes,
               [&](const void* data, std::size_t bytes) { hasher.add(data, bytes); });
    checksums_[tensor] = hasher.result();
}

void FileImage::make_head() {
    std::pmr::memory_resource* const heap = head_.get_allocator().resource();
    for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].checksum = checksums_[i];
    BuilderHeap builder_heap(heap);
    flatbuffers::FlatBufferBuilder metadata(4096, &builder_heap);
    encode_model(metadata, *source_.model, training_, tensors_, data_bytes_);
    check_loadable(metadata, tensors_, data_bytes_, heap);

    Preamble preamble;
    std::memcpy(preamble.magic, kMagic, sizeof kMagic);
    preamble.format_version = kFormatVersion;
    preamble.metadata_bytes = static_cast<std::uint32_t>(metadata.GetSize());
    head_bytes_ = data_start(preamble.metadata_bytes);
    head_.assign(static_cast<std::size_t>(head_bytes_), 0);
    std::memcpy(head_.data(), &preamble, sizeof preamble);
    std::memcpy(head_.data() + kPreambleBytes, metadata.GetBufferPointer(), metadata.GetSize());
    const std::size_t end = kPreambleBytes + metadata.GetSize();
    const Hash128 hash = hash_bytes(head_.data(), end);
    const ChecksumBytes checksum = {hash.low, hash.high};
    std::memcpy(head_.data() + end, &checksum, sizeof checksum);
}

void FileImage::write(const ByteRange& range, ByteSink& sink) const {
    const std::uint64_t of_head = std::min(range.end, head_bytes_);
    if (range.begin < of_head)
        sink.add(head_.data() + range.begin, static_cast<std::size_t>(of_head - range.begin));
    if (range.end > head_bytes_)
        write_data(std::max(range.begin, head_bytes_) - head_bytes_, range.end - head_bytes_, sink);
}

// Offsets in the data section.
void FileImage::write_data(std::uint64_t begin, std::uint64_t end, ByteSink& sink) const {
    static constexpr unsigned char kZeros[kTensorAlignment] = {};
    auto tensor = std::partition_point(tensors_.begin(), tensors_.end(), [&](const StoredTensor& one) {
        return one.offset + one.bytes <= begin;
    });
    for (std::uint64_t at = begin; at < end; ++tensor) {
        const std::uint64_t first = std::min(std::max(at, tensor->offset), end);
        if (first > at) sink.add(kZeros, static_cast<std::size_t>(first - at));  // between two tensors
        const std::uint64_t last = std::max(first, std::min(tensor->offset + tensor->bytes, end));
        if (last > first)
            each_block(*tensor, first - tensor->offset, last - tensor->offset,
                       [&](const void* data, std::size_t bytes) { sink.add(data, bytes); });
        at = last;
    }
}

}  // namespace volta
