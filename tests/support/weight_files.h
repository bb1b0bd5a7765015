// Files of weights made by a test, in a folder that ends with the test.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace volta::test {

class TemporaryFolder {
  public:
    TemporaryFolder() {
        char name[] = "/tmp/volta_import_XXXXXX";
        path_ = mkdtemp(name);
    }
    ~TemporaryFolder() {
        const std::string command = "rm -rf " + path_;
        if (std::system(command.c_str()) != 0) std::perror(command.c_str());
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    // Writes a file and returns its path.
    std::string write(const std::string& name, const std::string& bytes) const {
        std::string path = path_ + "/" + name;
        std::FILE* file = std::fopen(path.c_str(), "wb");
        std::fwrite(bytes.data(), 1, bytes.size(), file);
        std::fclose(file);
        return path;
    }
    std::string file(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

template <class T>
std::string bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string safetensors(const std::string& header, const std::string& data) {
    const std::uint64_t length = header.size();
    return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + data;
}

// A safetensors file, tensor by tensor.
class SafetensorsWriter {
  public:
    void add(const std::string& name, const std::string& dtype, const std::vector<std::int64_t>& shape,
             const std::string& bytes) {
        header_ += header_.empty() ? "{" : ",";
        header_ += "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[";
        for (std::size_t i = 0; i < shape.size(); ++i)
            header_ += (i > 0 ? "," : "") + std::to_string(shape[i]);
        header_ += "],\"data_offsets\":[" + std::to_string(data_.size()) + "," +
                   std::to_string(data_.size() + bytes.size()) + "]}";
        data_ += bytes;
    }
    void add(const std::string& name, const std::vector<std::int64_t>& shape,
             const std::vector<float>& values) {
        add(name, "F32", shape, bytes_of(values));
    }
    std::string bytes() const { return safetensors(header_.empty() ? "{}" : header_ + "}", data_); }

  private:
    std::string header_, data_;
};

// A tensor as other programs have it.
struct PlainTensor {
    std::string name;
    std::vector<std::int64_t> shape;  // outermost first
    std::vector<float> values;
};

inline PlainTensor& find_tensor(std::vector<PlainTensor>& tensors, const std::string& name) {
    for (PlainTensor& tensor : tensors)
        if (tensor.name == name) return tensor;
    std::fprintf(stderr, "there is no tensor %s\n", name.c_str());
    std::abort();
}

inline std::string safetensors_of(const std::vector<PlainTensor>& tensors) {
    SafetensorsWriter writer;
    for (const PlainTensor& tensor : tensors) writer.add(tensor.name, tensor.shape, tensor.values);
    return writer.bytes();
}

// The folder of real files: VOLTA_TEST_DATA, or ../shared/data beside the repository. "" when `file` is not
// there.
inline std::string real_file(const std::string& file) {
    const char* given = std::getenv("VOLTA_TEST_DATA");
    std::string path = (given != nullptr ? std::string(given) : "../../shared/data") + "/" + file;
    if (access(path.c_str(), R_OK) == 0) return path;
    std::fprintf(stderr, "no %s: set VOLTA_TEST_DATA to a folder that has it\n", path.c_str());
    return "";
}

}  // namespace volta::test
