#include "engine/import/tensor_file.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "engine/import/import_error.h"
#include "engine/import/npy.h"
#include "engine/import/safetensors.h"
#include "engine/import/safetensors_header.h"
#include "engine/import/zip.h"
#include "engine/model/text.h"

namespace volta {
namespace {

constexpr std::string_view kMember = ".npy";         // what the members of an archive are named with
constexpr const char* kNameOfOnly = "arr_0";         // what NumPy names an array that has none
constexpr std::string_view kTexts = "__metadata__";  // of a safetensors file: no tensor

enum class TensorFormat { safetensors, npy, npz };

bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

TensorFormat format_of(std::string_view path) {
    if (ends_with(path, ".safetensors")) return TensorFormat::safetensors;
    if (ends_with(path, ".npy")) return TensorFormat::npy;
    if (ends_with(path, ".npz")) return TensorFormat::npz;
    const ShownName part = shown(path);
    fail(VOLTA_INVALID_ARGUMENT, "'%.*s' ends with none of .safetensors, .npy and .npz", part.bytes,
         part.text);
}

// Reads the file as named arrays, whose elements stay in the mapping.
class Reader final {
  public:
    explicit Reader(std::pmr::memory_resource* heap) : heap_(heap), weights_(heap), arrays_(heap) {}

    std::pmr::vector<StoredArray>& read(const char* path) {
        switch (format_of(path)) {
            case TensorFormat::safetensors:
                read_weights(path);
                break;
            case TensorFormat::npy:
                file_ = MappedFile(path);
                add(kNameOfOnly, parse_npy(file_.data(), file_.bytes(), heap_));
                break;
            case TensorFormat::npz:
                file_ = MappedFile(path);
                read_members();
                break;
        }
        sort();
        return arrays_;
    }

  private:
    void add(std::string_view name, StoredArray&& array) {
        check_weight_name(name);
        array.name = name;
        arrays_.push_back(std::move(array));
    }

    void read_weights(const char* path) {
        weights_ = read_safetensors(path, heap_);
        for (const WeightTensor& tensor : weights_.tensors) {
            StoredArray array{std::pmr::string(heap_)};
            array.type = find_safetensors_type(tensor.type->name);
            if (array.type == nullptr) {
                const ShownName name = shown(tensor.name);
                fail(VOLTA_UNSUPPORTED, "tensor '%.*s' is of the type %s, which is not read", name.bytes,
                     name.text, tensor.type->name);
            }
            array.shape = tensor.shape;
            array.data = tensor.data;
            add(tensor.name, std::move(array));
        }
    }

    void read_members() {
        for (const ZipMember& member : read_zip(file_.data(), file_.bytes(), heap_)) {
            check_weight_name(member.name);
            const ShownName name = shown(member.name);
            if (!ends_with(member.name, kMember))
                fail(VOLTA_UNSUPPORTED, "member '%.*s' of the archive is no .npy file", name.bytes,
                     name.text);
            try {
                add(member.name.substr(0, member.name.size() - kMember.size()),
                    parse_npy(member.data, member.bytes, heap_));
            } catch (const Error& error) {
                fail(error.status(), "member '%.*s' of the archive: %s", name.bytes, name.text, error.what());
            }
        }
    }

    void sort() {
        std::sort(arrays_.begin(), arrays_.end(),
                  [](const StoredArray& a, const StoredArray& b) { return a.name < b.name; });
        const auto twice =
            std::adjacent_find(arrays_.begin(), arrays_.end(),
                               [](const StoredArray& a, const StoredArray& b) { return a.name == b.name; });
        if (twice == arrays_.end()) return;
        const ShownName name = shown(twice->name);
        fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' is there twice", name.bytes, name.text);
    }

    std::pmr::memory_resource* heap_;
    MappedFile file_;
    WeightSource weights_;
    std::pmr::vector<StoredArray> arrays_;
};

void check_names(const std::pmr::vector<NamedArray>& arrays, TensorFormat format,
                 std::pmr::memory_resource* heap) {
    require(arrays.size() <= kMostWeightTensors, "%zu tensors are too many for a file, the most are %zu",
            arrays.size(), kMostWeightTensors);
    std::pmr::vector<std::string_view> names(heap);
    for (const NamedArray& array : arrays) {
        const ShownName part = shown(array.name);
        const char* const problem = name_problem(array.name);
        require(problem == nullptr, "the name of tensor %zu ('%.*s') %s", names.size(), part.bytes, part.text,
                problem);
        require(format != TensorFormat::safetensors || array.name != kTexts,
                "tensor %zu is named '%.*s', which in a safetensors file is no tensor", names.size(),
                part.bytes, part.text);
        names.push_back(array.name);
    }
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return;
    const ShownName part = shown(*twice);
    fail(VOLTA_INVALID_ARGUMENT, "two tensors are named '%.*s'", part.bytes, part.text);
}

std::size_t bytes_of(const NamedArray& array) {
    return static_cast<std::size_t>(array.shape.elements()) * element_size(array.dtype);
}

void write_weights(AtomicFile& file, const std::pmr::vector<NamedArray>& arrays,
                   std::pmr::memory_resource* heap) {
    SafetensorsHeader header(heap);
    for (const NamedArray& array : arrays) header.add_tensor(array.name, array.shape, array.dtype);
    write_header(file, header.finish());
    for (const NamedArray& array : arrays) file.write(array.data, bytes_of(array));
}

void write_members(AtomicFile& file, const std::pmr::vector<NamedArray>& arrays,
                   std::pmr::memory_resource* heap) {
    ZipWriter zip(file, heap);
    for (const NamedArray& array : arrays) {
        std::pmr::string name(array.name, heap);
        name += kMember;
        zip.add(name, npy_header(array.dtype, array.shape, heap), array.data, bytes_of(array));
    }
    zip.finish();
}

void write_only(AtomicFile& file, const NamedArray& array, std::pmr::memory_resource* heap) {
    const std::pmr::string header = npy_header(array.dtype, array.shape, heap);
    file.write(header.data(), header.size());
    file.write(array.data, bytes_of(array));
}

}  // namespace

void write_tensor_file(const char* path, const std::pmr::vector<NamedArray>& arrays,
                       std::pmr::memory_resource* heap, const Stop& stop) {
    const TensorFormat format = format_of(path);
    if (format == TensorFormat::npy)
        require(arrays.size() == 1, "a .npy file holds one tensor, not %zu", arrays.size());
    else
        check_names(arrays, format, heap);
    AtomicFile file(path, heap, stop);
    switch (format) {
        case TensorFormat::safetensors:
            write_weights(file, arrays, heap);
            break;
        case TensorFormat::npy:
            write_only(file, arrays[0], heap);
            break;
        case TensorFormat::npz:
            write_members(file, arrays, heap);
            break;
    }
    file.commit();
}

std::pmr::vector<HostArray> read_tensor_file(const char* path, std::pmr::memory_resource* structures,
                                             std::pmr::memory_resource* tensors, const Stop& stop) {
    try {
        Reader reader(structures);
        std::pmr::vector<StoredArray>& stored = reader.read(path);
        std::pmr::vector<HostArray> arrays(structures);
        arrays.reserve(stored.size());
        for (StoredArray& array : stored) {
            stop.ask("tensor", arrays.size(), stored.size());
            arrays.push_back(make_host_array(std::move(array), tensors));
        }
        return arrays;
    } catch (const Error& error) {
        if (error.status() == VOLTA_INVALID_ARGUMENT) throw;
        fail_about(error, "cannot read the tensors", path);
    }
}

}  // namespace volta
