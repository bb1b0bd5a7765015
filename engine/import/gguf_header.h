// What stands before the data of a GGUF file that is being written: keys, then tensors one behind the other.
#pragma once

#include <memory_resource>
#include <string>
#include <string_view>

#include "engine/base/shape.h"
#include "engine/import/gguf_file.h"

namespace volta {

inline constexpr std::uint64_t kGgufAlignment = 32;  // the format's own where a file says none

class GgufHeader final {
  public:
    explicit GgufHeader(std::pmr::memory_resource* heap) : entries_(heap), tensors_(heap) {}

    void text(std::string_view key, std::string_view value) {
        begin(key, GgufType::string);
        add_text(entries_, value);
    }
    void u32(std::string_view key, std::uint32_t value) { one(key, GgufType::u32, value); }
    void f32(std::string_view key, float value) { one(key, GgufType::f32, value); }
    void boolean(std::string_view key, bool value) {
        one(key, GgufType::boolean, static_cast<unsigned char>(value));
    }

    // Arrays: `count` elements follow, by the calls below.
    void array(std::string_view key, GgufType element, std::size_t count) {
        begin(key, GgufType::array);
        add(entries_, static_cast<std::uint32_t>(element));
        add(entries_, static_cast<std::uint64_t>(count));
    }
    void element(std::string_view text) { add_text(entries_, text); }
    void element(std::int32_t value) { add(entries_, value); }
    void element(float value) { add(entries_, value); }

    // Behind the one before, in whole steps of the alignment.
    void add_tensor(std::string_view name, const Shape& shape, std::uint32_t type, std::uint64_t bytes) {
        ++tensor_count_;
        add_text(tensors_, name);
        add(tensors_, static_cast<std::uint32_t>(shape.rank));
        for (int axis = shape.rank - 1; axis >= 0; --axis)  // the contiguous one first
            add(tensors_, static_cast<std::uint64_t>(shape[axis]));
        add(tensors_, type);
        add(tensors_, offset_);
        offset_ += bytes + padding(bytes);
    }
    static std::uint64_t padding(std::uint64_t bytes) { return -bytes % kGgufAlignment; }

    // All of it, up to where the first tensor's data begins.
    std::pmr::string finish() const {
        std::pmr::string file("GGUF", entries_.get_allocator());
        add(file, std::uint32_t{3});
        add(file, tensor_count_);
        add(file, entry_count_);
        file += entries_;
        file += tensors_;
        file.append(static_cast<std::size_t>(padding(file.size())), '\0');
        return file;
    }

  private:
    template <class T>
    static void add(std::pmr::string& to, T value) {
        to.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    static void add_text(std::pmr::string& to, std::string_view text) {
        add(to, static_cast<std::uint64_t>(text.size()));
        to += text;
    }
    void begin(std::string_view key, GgufType type) {
        ++entry_count_;
        add_text(entries_, key);
        add(entries_, static_cast<std::uint32_t>(type));
    }
    template <class T>
    void one(std::string_view key, GgufType type, T value) {
        begin(key, type);
        add(entries_, value);
    }

    std::pmr::string entries_, tensors_;
    std::uint64_t entry_count_ = 0, tensor_count_ = 0, offset_ = 0;
};

}  // namespace volta
