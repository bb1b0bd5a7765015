#include "engine/import/onnx/tensor.h"

#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "engine/base/error.h"
#include "engine/import/protobuf.h"
#include "engine/import/weight_source.h"
#include "engine/model/text.h"

namespace volta::onnx {
namespace {

std::size_t stored_size(Type type) {
    switch (type) {
        case Type::u8:
        case Type::i8:
        case Type::flag:
            return 1;
        case Type::u16:
        case Type::i16:
        case Type::f16:
        case Type::bf16:
            return 2;
        case Type::f32:
        case Type::i32:
        case Type::u32:
            return 4;
        case Type::f64:
        case Type::i64:
        case Type::u64:
            return 8;
        default:
            return 0;
    }
}

template <class T>
T load(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

double widen(std::uint16_t bits, const char* type) {
    unsigned char bytes[2];
    std::memcpy(bytes, &bits, sizeof bytes);
    float value = 0;
    find_stored_type(type)->widen(bytes, 1, &value);
    return static_cast<double>(value);
}
double half_of(std::uint16_t bits) { return widen(bits, "F16"); }
double brain_of(std::uint16_t bits) { return widen(bits, "BF16"); }

[[noreturn]] void refuse_type(const TensorView& tensor) {
    const ShownName name = shown(tensor.name);
    fail(VOLTA_UNSUPPORTED, "tensor '%.*s' is of %s, which is not read", name.bytes, name.text,
         type_name(tensor.type));
}

// Takes elements one after the other, and complains of too many.
template <class Sink>
class Counted {
  public:
    Counted(const TensorView& tensor, Sink sink)
        : tensor_(tensor), most_(tensor.shape.elements()), sink_(sink) {}
    template <class T>
    void operator()(T value) {
        if (count_ < most_) sink_(value);
        ++count_;
    }
    void finish() const {
        if (count_ == most_) return;
        const ShownName name = shown(tensor_.name);
        fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' has %lld elements, its shape %s needs %lld", name.bytes,
             name.text, static_cast<long long>(count_), to_text(tensor_.shape).text,
             static_cast<long long>(most_));
    }

  private:
    const TensorView& tensor_;
    std::int64_t most_, count_ = 0;
    Sink sink_;
};

template <class Take>
void each_raw(Type type, std::string_view raw, Take& take) {
    const char* const end = raw.data() + raw.size();
    const std::size_t size = stored_size(type);
    for (const char* at = raw.data(); at < end; at += size) {
        if constexpr (Take::kReal) {
            if (type == Type::f32)
                take(static_cast<double>(load<float>(at)));
            else if (type == Type::f64)
                take(load<double>(at));
            else if (type == Type::f16)
                take(half_of(load<std::uint16_t>(at)));
            else
                take(brain_of(load<std::uint16_t>(at)));
        } else {
            switch (type) {
                case Type::u8:
                    take(std::int64_t{load<std::uint8_t>(at)});
                    break;
                case Type::flag:
                    take(std::int64_t{load<std::uint8_t>(at) != 0});
                    break;
                case Type::i8:
                    take(std::int64_t{load<std::int8_t>(at)});
                    break;
                case Type::u16:
                    take(std::int64_t{load<std::uint16_t>(at)});
                    break;
                case Type::i16:
                    take(std::int64_t{load<std::int16_t>(at)});
                    break;
                case Type::i32:
                    take(std::int64_t{load<std::int32_t>(at)});
                    break;
                case Type::u32:
                    take(std::int64_t{load<std::uint32_t>(at)});
                    break;
                default:
                    take(load<std::int64_t>(at));
                    break;
            }
        }
    }
}

struct DataFields {
    std::string_view raw;
    bool has_raw = false;
};

DataFields raw_of(const TensorView& tensor, ExternalFiles& files) {
    DataFields data;
    if (tensor.external) return {files.bytes(tensor), true};
    for (Fields fields(tensor.message); fields.next();)
        if (fields.number() == 9) {
            data.raw = fields.bytes();
            data.has_raw = !data.raw.empty();
        }
    return data;
}

void check_raw(const TensorView& tensor, std::string_view raw) {
    const std::uint64_t needed =
        static_cast<std::uint64_t>(tensor.shape.elements()) * stored_size(tensor.type);
    if (raw.size() == needed) return;
    const ShownName name = shown(tensor.name);
    fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' has %zu bytes, its shape %s of %s needs %llu", name.bytes,
         name.text, raw.size(), to_text(tensor.shape).text, type_name(tensor.type),
         static_cast<unsigned long long>(needed));
}

template <class Sink>
struct RealTake {
    static constexpr bool kReal = true;
    Sink& sink;
    void operator()(double value) { sink(value); }
};
template <class Sink>
struct WholeTake {
    static constexpr bool kReal = false;
    Sink& sink;
    void operator()(std::int64_t value) { sink(value); }
};

// sink(double) for each element.
template <class Sink>
void each_real(const TensorView& tensor, ExternalFiles& files, Sink sink) {
    if (!is_real(tensor.type)) refuse_type(tensor);
    const DataFields data = raw_of(tensor, files);
    if (data.has_raw) {
        check_raw(tensor, data.raw);
        RealTake<Sink> take{sink};
        return each_raw(tensor.type, data.raw, take);
    }
    Counted<Sink&> counted(tensor, sink);
    for (Fields fields(tensor.message); fields.next();) {
        if (fields.number() == 4 && tensor.type == Type::f32)
            fields.reals([&](float value) { counted(static_cast<double>(value)); });
        else if (fields.number() == 10 && tensor.type == Type::f64)
            fields.wide_reals([&](double value) { counted(value); });
        else if (fields.number() == 5 && (tensor.type == Type::f16 || tensor.type == Type::bf16))
            fields.integers([&](std::int64_t bits) {
                const auto half = static_cast<std::uint16_t>(bits);
                counted(tensor.type == Type::f16 ? half_of(half) : brain_of(half));
            });
    }
    counted.finish();
}

// sink(std::int64_t) for each element.
template <class Sink>
void each_whole(const TensorView& tensor, ExternalFiles& files, Sink sink) {
    if (!is_whole(tensor.type)) refuse_type(tensor);
    const auto checked = [&](std::int64_t value) {
        if (value < 0 && tensor.type == Type::u64) {
            const ShownName name = shown(tensor.name);
            fail(VOLTA_UNSUPPORTED, "tensor '%.*s' has an element of 2^63 or more", name.bytes, name.text);
        }
        sink(value);
    };
    const DataFields data = raw_of(tensor, files);
    if (data.has_raw) {
        check_raw(tensor, data.raw);
        WholeTake<decltype(checked)> take{checked};
        return each_raw(tensor.type, data.raw, take);
    }
    Counted<decltype(checked)&> counted(tensor, checked);
    const std::uint32_t field = tensor.type == Type::i64                               ? 7
                                : tensor.type == Type::u32 || tensor.type == Type::u64 ? 11
                                                                                       : 5;
    for (Fields fields(tensor.message); fields.next();)
        if (fields.number() == field)
            fields.integers([&](std::int64_t value) {
                // Narrow types are written as 32 bits, negative ones as 64.
                counted(field == 5 ? std::int64_t{static_cast<std::int32_t>(value)} : value);
            });
    counted.finish();
}

bool leaves_folder(std::string_view location) {
    if (location.empty() || location.front() == '/' || location.find('\\') != location.npos ||
        location.find('\0') != location.npos)
        return true;
    for (std::size_t at = 0; at <= location.size();) {
        const std::size_t end = std::min(location.find('/', at), location.size());
        if (location.substr(at, end - at) == "..") return true;
        at = end + 1;
    }
    return false;
}

[[noreturn]] void refuse_location(const TensorView& tensor, std::string_view location, const char* why) {
    const ShownName name = shown(tensor.name), place = shown(location);
    fail(VOLTA_UNSUPPORTED, "tensor '%.*s' lies in '%.*s', %s", name.bytes, name.text, place.bytes,
         place.text, why);
}

bool parse_offset(std::string_view text, std::uint64_t* number) {
    *number = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9' || *number > (UINT64_MAX - 9) / 10) return false;
        *number = *number * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    return !text.empty();
}

}  // namespace

const MappedFile& ExternalFiles::open(std::string_view location, const TensorView& tensor) {
    for (const Entry& entry : files_)
        if (entry.location == location) return entry.file;
    constexpr std::size_t kMostFiles = 1024;
    if (files_.size() >= kMostFiles)
        fail(VOLTA_UNSUPPORTED, "its tensors lie in more than %zu files", kMostFiles);
    const auto heap = files_.get_allocator();
    const std::string_view model(model_);
    std::pmr::string folder(model.substr(0, model.rfind('/') + 1), heap);
    if (folder.empty()) folder = "./";
    std::pmr::string path(folder, heap);
    path += location;
    char whole_folder[PATH_MAX], whole_path[PATH_MAX];
    if (::realpath(folder.c_str(), whole_folder) == nullptr ||
        ::realpath(path.c_str(), whole_path) == nullptr) {
        MappedFile missing(path.c_str());  // says why
        refuse_location(tensor, location, "which cannot be found");
    }
    const std::size_t bytes = std::strlen(whole_folder);
    const bool root = bytes == 1;
    if (std::strncmp(whole_folder, whole_path, bytes) != 0 || (!root && whole_path[bytes] != '/'))
        refuse_location(tensor, location, "a link that leads out of the model's folder");
    files_.push_back({std::pmr::string(location, heap), MappedFile(whole_path)});
    return files_.back().file;
}

std::string_view ExternalFiles::bytes(const TensorView& tensor) {
    std::string_view location, offset = "0", length;
    for (Fields fields(tensor.message); fields.next();) {
        if (fields.number() != 13) continue;
        std::string_view key, value;
        for (Fields entry(fields.bytes()); entry.next();) {
            if (entry.number() == 1)
                key = entry.bytes();
            else if (entry.number() == 2)
                value = entry.bytes();
        }
        if (key == "location")
            location = value;
        else if (key == "offset")
            offset = value;
        else if (key == "length")
            length = value;
    }
    if (leaves_folder(location))
        refuse_location(tensor, location, "which is no path below the model's folder");
    const MappedFile& file = open(location, tensor);
    std::uint64_t begin = 0, bytes = 0;
    if (!parse_offset(offset, &begin) || (!length.empty() && !parse_offset(length, &bytes)))
        refuse_location(tensor, location, "at an offset or of a length that is no number");
    if (length.empty())
        bytes = static_cast<std::uint64_t>(tensor.shape.elements()) * stored_size(tensor.type);
    if (begin > file.bytes() || bytes > file.bytes() - begin) {
        const ShownName name = shown(tensor.name);
        fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' lies at bytes %llu to %llu of a file of %zu", name.bytes,
             name.text, static_cast<unsigned long long>(begin),
             static_cast<unsigned long long>(begin + bytes), file.bytes());
    }
    return {reinterpret_cast<const char*>(file.data()) + begin, static_cast<std::size_t>(bytes)};
}

std::int32_t checked_i32(std::int64_t value, std::string_view name) {
    if (value >= INT32_MIN && value <= INT32_MAX) return static_cast<std::int32_t>(value);
    const ShownName text = shown(name);
    fail(VOLTA_UNSUPPORTED, "'%.*s' has an element of %lld, which int32 does not hold", text.bytes, text.text,
         static_cast<long long>(value));
}

float checked_f32(double value, std::string_view name) {
    const float rounded = static_cast<float>(value);
    if (std::isfinite(rounded) || !std::isfinite(value)) return rounded;
    const ShownName text = shown(name);
    fail(VOLTA_UNSUPPORTED, "'%.*s' has an element of %g, which float does not hold", text.bytes, text.text,
         value);
}

Known read_known(const TensorView& tensor, ExternalFiles& files, std::pmr::memory_resource* heap) {
    Known known(heap);
    known.type = tensor.type;
    known.shape = tensor.shape;
    const ShownName name = shown(tensor.name);
    if (tensor.shape.elements() > kMostKnownElements)
        fail(VOLTA_UNSUPPORTED, "tensor '%.*s' has more than the %lld elements that an import computes with",
             name.bytes, name.text, static_cast<long long>(kMostKnownElements));
    if (is_real(tensor.type))
        each_real(tensor, files, [&](double value) { known.real.push_back(value); });
    else
        each_whole(tensor, files, [&](std::int64_t value) { known.whole.push_back(value); });
    return known;
}

void fill_reals(const TensorView& tensor, ExternalFiles& files, float* to) {
    if (tensor.type == Type::f32) {
        const DataFields data = raw_of(tensor, files);
        if (data.has_raw) {
            check_raw(tensor, data.raw);
            if (!data.raw.empty()) std::memcpy(to, data.raw.data(), data.raw.size());
            return;
        }
    }
    if (is_whole(tensor.type))
        return each_whole(tensor, files, [&](std::int64_t value) { *to++ = static_cast<float>(value); });
    each_real(tensor, files, [&](double value) { *to++ = checked_f32(value, tensor.name); });
}

void fill_affine(const TensorView& tensor, ExternalFiles& files, const Affine& affine, float* to) {
    fill_reals(tensor, files, to);
    const Shape& shape = tensor.shape;
    std::int64_t inner = 1, extent = 1, places = 1;
    const bool is_blocked = affine.block > 0;
    for (int axis = affine.axis + 1; axis < shape.rank; ++axis) inner *= shape[axis];
    if (affine.axis < shape.rank) extent = shape[affine.axis];
    places = is_blocked ? (extent + affine.block - 1) / affine.block : extent;
    const auto at = [&](const Known& known, std::int64_t i) {
        std::size_t place = 0;
        if (known.count() > 1 && !is_blocked) place = static_cast<std::size_t>(i / inner % extent);
        if (known.count() > 1 && is_blocked)
            place = static_cast<std::size_t>(
                (i / (inner * extent) * places + i / inner % extent / affine.block) * inner + i % inner);
        return static_cast<float>(is_real(known.type) ? known.real[place]
                                                      : static_cast<double>(known.whole[place]));
    };
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
        if (affine.zero != nullptr) to[i] -= at(*affine.zero, i);
        if (affine.scale != nullptr) to[i] *= at(*affine.scale, i);
    }
}

void fill_integers(const TensorView& tensor, ExternalFiles& files, std::int32_t* to) {
    each_whole(tensor, files, [&](std::int64_t value) { *to++ = checked_i32(value, tensor.name); });
}

void check_elements(const TensorView& tensor, ExternalFiles& files) {
    const std::size_t size = stored_size(tensor.type);
    const DataFields data = size > 0 ? raw_of(tensor, files) : DataFields();
    if (data.has_raw) return check_raw(tensor, data.raw);
    if (is_real(tensor.type))
        each_real(tensor, files, [](double) {});
    else
        each_whole(tensor, files, [](std::int64_t) {});
}

}  // namespace volta::onnx
