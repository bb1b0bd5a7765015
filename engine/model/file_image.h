// The file of a model before a byte of it is written: which tensors it has and where they go, its head, and
// any range of its bytes. No tensor is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "engine/model/manifest.h"
#include "engine/model/model_file.h"

namespace volta {

struct StoredTensor;  // encode_model.h

// Where bytes go, one block behind the other.
class ByteSink {
  public:
    virtual void add(const void* data, std::size_t bytes) = 0;

  protected:
    ~ByteSink() = default;
};

class FileImage final {
  public:
    // A tensor whose values another process has may be there with data NULL.
    FileImage(const SaveSource& source, std::pmr::memory_resource* heap);
    ~FileImage();
    FileImage(const FileImage&) = delete;
    FileImage& operator=(const FileImage&) = delete;

    // Tensors, in the order of the file.
    std::size_t tensor_count() const noexcept { return checksums_.size(); }
    // Whose value or state it is; "": a constant.
    std::string_view parameter_of(std::size_t tensor) const noexcept;
    std::uint64_t end_of(std::size_t tensor) const noexcept;  // in the file
    // One for each; computed where the values are.
    std::pmr::vector<Hash128>& checksums() noexcept { return checksums_; }
    void compute_checksum(std::size_t tensor);

    // What stands before the data section, when all checksums are known. Throws INVALID_ARGUMENT: the model
    // could not be opened again.
    void make_head();
    // Where another process makes it.
    void set_head_bytes(std::uint64_t bytes) noexcept { head_bytes_ = bytes; }
    std::uint64_t head_bytes() const noexcept { return head_bytes_; }
    std::uint64_t bytes() const noexcept { return head_bytes_ + data_bytes_; }
    Hash128 head_checksum() const noexcept { return hash_bytes(head_.data(), head_.size()); }

    // Of the file: from a multiple of 64, or the end of a tensor, to another.
    void write(const ByteRange& range, ByteSink& sink) const;
    const Stop& stop() const noexcept { return *source_.stop; }

  private:
    void write_data(std::uint64_t begin, std::uint64_t end, ByteSink& sink) const;

    SaveSource source_;
    HeapPtr<Model> alone_;  // of adapters, which are saved without their base
    const TrainingState* training_ = nullptr;
    std::pmr::vector<StoredTensor> tensors_;
    std::pmr::vector<Hash128> checksums_;
    std::uint64_t data_bytes_ = 0, head_bytes_ = 0;
    std::pmr::vector<unsigned char> head_;
};

}  // namespace volta
