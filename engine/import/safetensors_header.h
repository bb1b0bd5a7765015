// The header of a safetensors file that is being written: texts, then tensors one behind the other.
#pragma once

#include <memory_resource>
#include <string_view>

#include "engine/base/file.h"
#include "engine/base/shape.h"
#include "engine/import/json_writer.h"
#include "engine/model/model.h"

namespace volta {

class SafetensorsHeader final {
  public:
    explicit SafetensorsHeader(std::pmr::memory_resource* heap) : json_("{\"__metadata__\":{", heap) {}

    // Texts before the first tensor.
    void add_text(std::string_view key, std::string_view value) {
        if (json_.back() != '{') json_ += ',';
        add_json_text(json_, key);
        json_ += ':';
        add_json_text(json_, value);
    }

    void add_tensor(std::string_view name, const Shape& shape, DType dtype = DType::f32) {
        close_texts();
        json_ += ',';
        add_json_text(json_, name);
        json_ += dtype == DType::f32 ? R"(:{"dtype":"F32","shape":[)" : R"(:{"dtype":"I32","shape":[)";
        for (int axis = 0; axis < shape.rank; ++axis) {
            if (axis > 0) json_ += ',';
            add_json_number(json_, shape[axis]);
        }
        json_ += R"(],"data_offsets":[)";
        add_json_number(json_, offset_);
        json_ += ',';
        offset_ += static_cast<std::uint64_t>(shape.elements()) * element_size(dtype);
        add_json_number(json_, offset_);
        json_ += "]}";
    }

    // With spaces at the end, so that the data is aligned.
    std::pmr::string finish() {
        close_texts();
        json_ += '}';
        while ((sizeof(std::uint64_t) + json_.size()) % kTensorAlignment != 0) json_ += ' ';
        return std::move(json_);
    }

  private:
    void close_texts() {
        if (!texts_closed_) json_ += '}';
        texts_closed_ = true;
    }

    std::pmr::string json_;
    std::uint64_t offset_ = 0;
    bool texts_closed_ = false;
};

inline void write_header(AtomicFile& file, const std::pmr::string& header) {
    const std::uint64_t bytes = header.size();
    file.write(&bytes, sizeof bytes);
    file.write(header.data(), header.size());
}

}  // namespace volta
