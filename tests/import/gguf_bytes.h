// GGUF files made by hand: every field can be made wrong.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace volta::test {

template <class T>
std::string raw(T value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(&bytes[0], &value, sizeof value);
    return bytes;
}
inline std::string raw_string(std::string_view text) {
    return raw<std::uint64_t>(text.size()) + std::string(text);
}

class GgufBytes {
  public:
    std::uint32_t version = 3;
    std::string magic = "GGUF";
    std::int64_t extra_entries = 0, extra_tensors = 0;  // what the counts are wrong by
    std::size_t alignment = 32;
    std::string data;

    // `type` and the bytes of the value as they stand in the file.
    GgufBytes& entry(std::string_view key, std::uint32_t type, const std::string& bytes) {
        ++entry_count_;
        entries_ += raw_string(key) + raw(type) + bytes;
        return *this;
    }
    GgufBytes& u32(std::string_view key, std::uint32_t value) { return entry(key, 4, raw(value)); }
    GgufBytes& string(std::string_view key, std::string_view value) {
        return entry(key, 8, raw_string(value));
    }
    GgufBytes& boolean(std::string_view key, unsigned char value) { return entry(key, 7, raw(value)); }
    template <class T>
    GgufBytes& array(std::string_view key, std::uint32_t element, const std::vector<T>& values) {
        std::string bytes = raw(element) + raw<std::uint64_t>(values.size());
        for (const T value : values) bytes += raw(value);
        return entry(key, 9, bytes);
    }
    GgufBytes& strings(std::string_view key, const std::vector<std::string>& values) {
        std::string bytes = raw<std::uint32_t>(8) + raw<std::uint64_t>(values.size());
        for (const std::string& value : values) bytes += raw_string(value);
        return entry(key, 9, bytes);
    }
    GgufBytes& tensor(std::string_view name, const std::vector<std::uint64_t>& extents, std::uint32_t type,
                      std::uint64_t offset) {
        ++tensor_count_;
        tensors_ += raw_string(name) + raw(static_cast<std::uint32_t>(extents.size()));
        for (const std::uint64_t extent : extents) tensors_ += raw(extent);
        tensors_ += raw(type) + raw(offset);
        return *this;
    }

    std::string finish() const {
        std::string file = magic + raw(version) + raw(tensor_count_ + extra_tensors) +
                           raw(entry_count_ + extra_entries) + entries_ + tensors_;
        if (!data.empty()) file.resize((file.size() + alignment - 1) / alignment * alignment);
        return file + data;
    }

  private:
    std::int64_t entry_count_ = 0, tensor_count_ = 0;
    std::string entries_, tensors_;
};

}  // namespace volta::test
