#include "engine/import/gguf_file.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/base/error.h"
#include "engine/base/memory.h"
#include "engine/import/file_kind.h"
#include "engine/model/text.h"

namespace volta {
namespace {

using Count = unsigned long long;  // what printf writes with %llu

constexpr std::uint64_t kLeastAlignment = 8, kMostAlignment = 65536;  // the format says a multiple of 8
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 60;
constexpr std::size_t kLeastEntryBytes = 8 + 1 + 4 + 1;       // length, key, type, the shortest value
constexpr std::size_t kLeastTensorBytes = 8 + 1 + 4 + 4 + 8;  // length, name, rank, type, offset

struct TypeRow {
    const char* name;
    std::size_t bytes;  // 0: not of one size
};
constexpr TypeRow kTypes[] = {{"u8", 1},  {"i8", 1},  {"u16", 2},  {"i16", 2},    {"u32", 4},
                              {"i32", 4}, {"f32", 4}, {"bool", 1}, {"string", 0}, {"array", 0},
                              {"u64", 8}, {"i64", 8}, {"f64", 8}};
constexpr std::size_t kTypeCount = sizeof kTypes / sizeof *kTypes;

// id, name, elements and bytes of a block
constexpr GgufTensorType kTensorTypes[] = {
    {0, "F32", 1, 4},       {1, "F16", 1, 2},       {2, "Q4_0", 32, 18},    {3, "Q4_1", 32, 20},
    {6, "Q5_0", 32, 22},    {7, "Q5_1", 32, 24},    {8, "Q8_0", 32, 34},    {10, "Q2_K", 256, 84},
    {11, "Q3_K", 256, 110}, {12, "Q4_K", 256, 144}, {13, "Q5_K", 256, 176}, {14, "Q6_K", 256, 210},
    {20, "IQ4_NL", 32, 18}, {28, "F64", 1, 8},      {30, "BF16", 1, 2},     {39, "MXFP4", 32, 17},
};

template <class T>
T load(const char* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

std::size_t size_of(GgufType type) { return kTypes[static_cast<std::size_t>(type)].bytes; }

// What is left to read. Every step checks that its bytes exist; `what` names them in the message.
class Cursor final {
  public:
    explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

    std::size_t at() const { return at_; }
    std::size_t left() const { return bytes_.size() - at_; }

    std::string_view take(std::uint64_t bytes, const char* what) {
        if (bytes > left())
            fail(VOLTA_CORRUPT_MODEL, "%s at byte %zu has %llu bytes, of which the file has %zu", what, at_,
                 static_cast<Count>(bytes), left());
        at_ += static_cast<std::size_t>(bytes);
        return bytes_.substr(at_ - static_cast<std::size_t>(bytes), static_cast<std::size_t>(bytes));
    }
    template <class T>
    T number(const char* what) {
        return load<T>(take(sizeof(T), what).data());
    }
    std::string_view string(const char* what) {
        const auto bytes = number<std::uint64_t>("the length of a string");
        return take(bytes, what);
    }

  private:
    std::string_view bytes_;
    std::size_t at_ = 0;
};

GgufType read_type(Cursor& cursor, std::string_view key) {
    const auto type = cursor.number<std::uint32_t>("the type of a value");
    const ShownName name = shown(key);
    if (type >= kTypeCount)
        fail(VOLTA_CORRUPT_MODEL, "the value of '%.*s' is of an unknown type, %u", name.bytes, name.text,
             type);
    return static_cast<GgufType>(type);
}

void check_booleans(std::string_view bytes, std::string_view key) {
    const ShownName name = shown(key);
    for (const char byte : bytes)
        if (byte != 0 && byte != 1)
            fail(VOLTA_CORRUPT_MODEL, "a bool of '%.*s' is %u, neither 0 nor 1", name.bytes, name.text,
                 static_cast<unsigned>(static_cast<unsigned char>(byte)));
}

// Reads the elements of `entry`, whose type, element and count are known.
void read_elements(Cursor& cursor, std::string_view file, GgufEntry& entry) {
    const ShownName name = shown(entry.key);
    const std::size_t start = cursor.at(), size = size_of(entry.element);
    const std::size_t least = size > 0 ? size : sizeof(std::uint64_t);  // a string has at least its length
    if (entry.type == GgufType::array && entry.count > cursor.left() / least)
        fail(VOLTA_CORRUPT_MODEL, "the array '%.*s' has %llu elements, for which the file is too short",
             name.bytes, name.text, static_cast<Count>(entry.count));
    if (size > 0)
        cursor.take(entry.count * size, "a value");
    else
        for (std::uint64_t i = 0; i < entry.count; ++i) cursor.string("a string");
    entry.bytes = file.substr(start, cursor.at() - start);
    if (entry.element == GgufType::boolean) check_booleans(entry.bytes, entry.key);
}

GgufEntry read_entry(Cursor& cursor, std::string_view file, std::uint64_t index) {
    GgufEntry entry{};
    entry.key = cursor.string("a key");
    if (const char* problem = name_problem(entry.key))
        fail(VOLTA_CORRUPT_MODEL, "key %llu %s", static_cast<Count>(index), problem);
    const ShownName name = shown(entry.key);
    entry.type = entry.element = read_type(cursor, entry.key);
    entry.count = 1;
    if (entry.type == GgufType::array) {
        entry.element = read_type(cursor, entry.key);
        if (entry.element == GgufType::array)
            fail(VOLTA_UNSUPPORTED, "the array '%.*s' consists of arrays, which this library does not read",
                 name.bytes, name.text);
        entry.count = cursor.number<std::uint64_t>("the length of an array");
    }
    read_elements(cursor, file, entry);
    return entry;
}

bool same_value(const GgufEntry& a, const GgufEntry& b) {
    return a.type == b.type && a.element == b.element && a.count == b.count && a.bytes == b.bytes;
}

// Files exist that say the same thing twice; two different things under one key are a defect.
void sort_and_check_keys(std::pmr::vector<GgufEntry>& entries) {
    std::sort(entries.begin(), entries.end(),
              [](const GgufEntry& a, const GgufEntry& b) { return a.key < b.key; });
    const auto last = std::unique(entries.begin(), entries.end(), [](const GgufEntry& a, const GgufEntry& b) {
        const ShownName name = shown(a.key);
        if (a.key == b.key && !same_value(a, b))
            fail(VOLTA_CORRUPT_MODEL, "the key '%.*s' is there twice, with different values", name.bytes,
                 name.text);
        return a.key == b.key;
    });
    entries.erase(last, entries.end());
}

std::uint64_t count_elements(const GgufTensor& tensor) {
    const ShownName name = shown(tensor.name);
    std::uint64_t elements = 1;
    for (std::uint32_t axis = 0; axis < tensor.rank; ++axis) {
        if (tensor.extent[axis] == 0)
            fail(VOLTA_CORRUPT_MODEL, "extent %u of tensor '%.*s' is 0", axis, name.bytes, name.text);
        if (multiply_overflows(elements, tensor.extent[axis], &elements) || elements > kMostElements)
            fail(VOLTA_CORRUPT_MODEL, "the elements of tensor '%.*s' are too many to count", name.bytes,
                 name.text);
    }
    return elements;
}

std::uint64_t count_bytes(const GgufTensor& tensor) {
    if (tensor.type == nullptr) return 0;
    const ShownName name = shown(tensor.name);
    const std::uint64_t row = tensor.rank > 0 ? tensor.extent[0] : 1;
    if (row % tensor.type->block_elements != 0)
        fail(VOLTA_CORRUPT_MODEL,
             "tensor '%.*s' is %s, whose blocks have %u elements, and its rows have %llu", name.bytes,
             name.text, tensor.type->name, tensor.type->block_elements, static_cast<Count>(row));
    return tensor.elements / tensor.type->block_elements * tensor.type->block_bytes;  // below 2^62
}

GgufTensor read_tensor(Cursor& cursor, std::uint64_t index) {
    GgufTensor tensor{};
    tensor.name = cursor.string("the name of a tensor");
    if (const char* problem = name_problem(tensor.name))
        fail(VOLTA_CORRUPT_MODEL, "the name of tensor %llu %s", static_cast<Count>(index), problem);
    const ShownName name = shown(tensor.name);
    tensor.rank = cursor.number<std::uint32_t>("the rank of a tensor");
    if (tensor.rank > kGgufMaxRank)
        fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' has %u axes, the most are %zu", name.bytes, name.text,
             tensor.rank, kGgufMaxRank);
    for (std::uint32_t axis = 0; axis < tensor.rank; ++axis)
        tensor.extent[axis] = cursor.number<std::uint64_t>("an extent of a tensor");
    tensor.type_id = cursor.number<std::uint32_t>("the type of a tensor");
    tensor.type = find_gguf_tensor_type(tensor.type_id);
    tensor.offset = cursor.number<std::uint64_t>("the offset of a tensor");
    tensor.elements = count_elements(tensor);
    tensor.bytes = count_bytes(tensor);
    return tensor;
}

// Turns the offset, which counts from the data section, into one from the start of the file.
void place_tensor(GgufTensor& tensor, std::uint64_t data_start, std::uint64_t file_bytes,
                  std::uint64_t alignment) {
    const ShownName name = shown(tensor.name);
    if (tensor.offset % alignment != 0)
        fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' starts at %llu, which is no multiple of %llu", name.bytes,
             name.text, static_cast<Count>(tensor.offset), static_cast<Count>(alignment));
    const std::uint64_t data_bytes = data_start < file_bytes ? file_bytes - data_start : 0;
    std::uint64_t end = 0;
    if (add_overflows(tensor.offset, tensor.bytes, &end) || end > data_bytes)
        fail(VOLTA_CORRUPT_MODEL,
             "tensor '%.*s' (%llu bytes at %llu) reaches beyond the data section of %llu bytes: the file is "
             "cut, or damaged",
             name.bytes, name.text, static_cast<Count>(tensor.bytes), static_cast<Count>(tensor.offset),
             static_cast<Count>(data_bytes));
    tensor.offset += data_start;
}

void check_overlap(const std::pmr::vector<GgufTensor>& tensors, std::pmr::memory_resource* heap) {
    std::pmr::vector<const GgufTensor*> order(heap);
    for (const GgufTensor& tensor : tensors)
        if (tensor.bytes > 0) order.push_back(&tensor);
    std::sort(order.begin(), order.end(),
              [](const GgufTensor* a, const GgufTensor* b) { return a->offset < b->offset; });
    for (std::size_t i = 1; i < order.size(); ++i) {
        const ShownName a = shown(order[i - 1]->name), b = shown(order[i]->name);
        if (order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes)
            fail(VOLTA_CORRUPT_MODEL, "the tensors '%.*s' and '%.*s' overlap", a.bytes, a.text, b.bytes,
                 b.text);
    }
}

[[noreturn]] void fail_missing(std::string_view key) {
    const ShownName name = shown(key);
    fail(VOLTA_CORRUPT_MODEL, "it has no key '%.*s'", name.bytes, name.text);
}
[[noreturn]] void fail_type(const GgufEntry& entry, const char* wanted) {
    const ShownName name = shown(entry.key);
    if (entry.type == GgufType::array)  // of a layer each, in files of some models
        fail(VOLTA_UNSUPPORTED, "'%.*s' is a list, where a model of Volta has one value", name.bytes,
             name.text);
    fail(VOLTA_CORRUPT_MODEL, "'%.*s' is of type %s, not %s", name.bytes, name.text,
         gguf_type_name(entry.type), wanted);
}

std::int64_t integer_of(const GgufEntry& entry) {
    const char* bytes = entry.bytes.data();
    switch (entry.type) {
        case GgufType::u8:
            return load<std::uint8_t>(bytes);
        case GgufType::i8:
            return load<std::int8_t>(bytes);
        case GgufType::u16:
            return load<std::uint16_t>(bytes);
        case GgufType::i16:
            return load<std::int16_t>(bytes);
        case GgufType::u32:
            return load<std::uint32_t>(bytes);
        case GgufType::i32:
            return load<std::int32_t>(bytes);
        case GgufType::i64:
            return load<std::int64_t>(bytes);
        case GgufType::u64: {
            const auto value = load<std::uint64_t>(bytes);
            const ShownName name = shown(entry.key);
            if (value > static_cast<std::uint64_t>(INT64_MAX))
                fail(VOLTA_CORRUPT_MODEL, "'%.*s' is %llu, which is too large", name.bytes, name.text,
                     static_cast<Count>(value));
            return static_cast<std::int64_t>(value);
        }
        default:
            fail_type(entry, "an integer");
    }
}

double number_of(const GgufEntry& entry) {
    if (entry.type == GgufType::f32) return static_cast<double>(load<float>(entry.bytes.data()));
    if (entry.type == GgufType::f64) return load<double>(entry.bytes.data());
    fail_type(entry, "a float");
}

std::string_view string_of(const GgufEntry& entry) {
    if (entry.type != GgufType::string) fail_type(entry, "string");
    return entry.bytes.substr(sizeof(std::uint64_t));
}

}  // namespace

const char* gguf_type_name(GgufType type) {
    const auto index = static_cast<std::size_t>(type);
    return index < kTypeCount ? kTypes[index].name : "unknown";
}

const GgufTensorType* find_gguf_tensor_type(std::uint32_t id) {
    for (const GgufTensorType& type : kTensorTypes)
        if (type.id == id) return &type;
    return nullptr;
}

// The steps of the constructor, in the order of the file.
class GgufParser final {
  public:
    GgufParser(GgufFile& file, std::string_view bytes) : file_(file), bytes_(bytes), cursor_(bytes) {}

    void parse(std::pmr::memory_resource* heap) {
        check_version();
        const auto tensors = cursor_.number<std::uint64_t>("the number of tensors");
        const auto entries = cursor_.number<std::uint64_t>("the number of keys");
        check_count("keys", entries, kLeastEntryBytes);
        file_.entries_.reserve(static_cast<std::size_t>(entries));
        for (std::uint64_t i = 0; i < entries; ++i) file_.entries_.push_back(read_entry(cursor_, bytes_, i));
        sort_and_check_keys(file_.entries_);
        read_alignment();
        check_count("tensors", tensors, kLeastTensorBytes);
        file_.tensors_.reserve(static_cast<std::size_t>(tensors));
        for (std::uint64_t i = 0; i < tensors; ++i) file_.tensors_.push_back(read_tensor(cursor_, i));
        place_tensors(heap);
        index_tensors();
    }

  private:
    void check_version() {
        if (const char* kind = other_file_kind(bytes_)) fail(VOLTA_UNSUPPORTED, "it is %s", kind);
        if (bytes_.size() < 8 || bytes_.substr(0, 4) != "GGUF")
            fail(VOLTA_CORRUPT_MODEL, "it is no GGUF file: it does not begin with 'GGUF' and a version");
        cursor_.take(4, "the magic");
        file_.version_ = cursor_.number<std::uint32_t>("the version");
        if (file_.version_ != 0 && (file_.version_ & 0xffff) == 0)
            fail(VOLTA_UNSUPPORTED, "it is a big-endian GGUF file; this library reads little-endian ones");
        if (file_.version_ != 2 && file_.version_ != 3)
            fail(VOLTA_UNSUPPORTED, "it is of GGUF version %u; this library reads versions 2 and 3",
                 file_.version_);
    }

    // Before memory for `count` things is asked for: the file must be long enough to hold them.
    void check_count(const char* what, std::uint64_t count, std::size_t least_bytes) const {
        if (count > cursor_.left() / least_bytes || count > UINT32_MAX)
            fail(VOLTA_CORRUPT_MODEL, "it says that it has %llu %s, for which its %zu bytes are too few",
                 static_cast<Count>(count), what, bytes_.size());
    }

    void read_alignment() {
        const std::int64_t alignment = file_.integer("general.alignment", 32);
        const auto value = static_cast<std::uint64_t>(alignment);
        if (alignment < 0 || value < kLeastAlignment || value > kMostAlignment || (value & (value - 1)) != 0)
            fail(VOLTA_CORRUPT_MODEL, "its alignment is %lld, no power of two from %llu to %llu",
                 static_cast<long long>(alignment), static_cast<Count>(kLeastAlignment),
                 static_cast<Count>(kMostAlignment));
        file_.alignment_ = value;
    }

    void place_tensors(std::pmr::memory_resource* heap) {
        const std::uint64_t mask = file_.alignment_ - 1;
        const std::uint64_t start = (cursor_.at() + mask) & ~mask;  // at() is the size of something in memory
        for (GgufTensor& tensor : file_.tensors_)
            place_tensor(tensor, start, bytes_.size(), file_.alignment_);
        check_overlap(file_.tensors_, heap);
    }

    void index_tensors() {
        const std::pmr::vector<GgufTensor>& tensors = file_.tensors_;
        std::pmr::vector<std::uint32_t>& order = file_.by_name_;
        order.resize(tensors.size());
        std::iota(order.begin(), order.end(), 0u);
        std::sort(order.begin(), order.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return tensors[a].name < tensors[b].name; });
        const auto twin = std::adjacent_find(
            order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return tensors[a].name == tensors[b].name; });
        if (twin == order.end()) return;
        const ShownName name = shown(tensors[*twin].name);
        fail(VOLTA_CORRUPT_MODEL, "two tensors are named '%.*s'", name.bytes, name.text);
    }

    GgufFile& file_;
    std::string_view bytes_;
    Cursor cursor_;
};

GgufFile::GgufFile(const void* data, std::size_t bytes, std::pmr::memory_resource* heap)
    : data_(static_cast<const unsigned char*>(data)), entries_(heap), tensors_(heap), by_name_(heap) {
    GgufParser(*this, std::string_view(static_cast<const char*>(data), bytes)).parse(heap);
}

const GgufEntry* GgufFile::find(std::string_view key) const {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), key,
                                     [](const GgufEntry& a, std::string_view b) { return a.key < b; });
    return at != entries_.end() && at->key == key ? &*at : nullptr;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
    const auto at =
        std::lower_bound(by_name_.begin(), by_name_.end(), name,
                         [&](std::uint32_t a, std::string_view b) { return tensors_[a].name < b; });
    return at != by_name_.end() && tensors_[*at].name == name ? &tensors_[*at] : nullptr;
}

const GgufEntry& GgufFile::required(std::string_view key) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) fail_missing(key);
    return *entry;
}

std::int64_t GgufFile::integer(std::string_view key) const { return integer_of(required(key)); }
std::int64_t GgufFile::integer(std::string_view key, std::int64_t fallback) const {
    return find(key) != nullptr ? integer(key) : fallback;
}
double GgufFile::number(std::string_view key) const { return number_of(required(key)); }
double GgufFile::number(std::string_view key, double fallback) const {
    return find(key) != nullptr ? number(key) : fallback;
}
bool GgufFile::boolean(std::string_view key, bool fallback) const {
    const GgufEntry* entry = find(key);
    if (entry == nullptr) return fallback;
    if (entry->type != GgufType::boolean) fail_type(*entry, "bool");
    return entry->bytes[0] != 0;
}
std::string_view GgufFile::string(std::string_view key) const { return string_of(required(key)); }
std::string_view GgufFile::string(std::string_view key, std::string_view fallback) const {
    return find(key) != nullptr ? string(key) : fallback;
}

const GgufEntry& GgufFile::array(std::string_view key, GgufType element) const {
    const GgufEntry& entry = required(key);
    const ShownName name = shown(key);
    if (entry.type != GgufType::array || entry.element != element)
        fail(VOLTA_CORRUPT_MODEL, "'%.*s' is %s of %s, not an array of %s", name.bytes, name.text,
             entry.type == GgufType::array ? "an array" : "one value", gguf_type_name(entry.element),
             gguf_type_name(element));
    return entry;
}

std::pmr::vector<std::string_view> GgufFile::strings(std::string_view key,
                                                     std::pmr::memory_resource* heap) const {
    const GgufEntry& entry = array(key, GgufType::string);
    std::pmr::vector<std::string_view> list(heap);
    list.reserve(static_cast<std::size_t>(entry.count));
    Cursor cursor(entry.bytes);
    for (std::uint64_t i = 0; i < entry.count; ++i) list.push_back(cursor.string("a string"));
    return list;
}

std::pmr::vector<float> GgufFile::floats(std::string_view key, std::pmr::memory_resource* heap) const {
    const GgufEntry& entry = array(key, GgufType::f32);
    std::pmr::vector<float> list(static_cast<std::size_t>(entry.count), heap);
    if (!list.empty()) std::memcpy(list.data(), entry.bytes.data(), entry.bytes.size());
    return list;
}

std::pmr::vector<std::int32_t> GgufFile::integers(std::string_view key,
                                                  std::pmr::memory_resource* heap) const {
    const GgufEntry& entry = array(key, GgufType::i32);
    std::pmr::vector<std::int32_t> list(static_cast<std::size_t>(entry.count), heap);
    if (!list.empty()) std::memcpy(list.data(), entry.bytes.data(), entry.bytes.size());
    return list;
}

const unsigned char* GgufFile::data(const GgufTensor& tensor) const {
    const ShownName name = shown(tensor.name);
    if (tensor.type == nullptr)
        fail(VOLTA_UNSUPPORTED, "tensor '%.*s' is of type %u, which this library does not read", name.bytes,
             name.text, tensor.type_id);
    return data_ + tensor.offset;
}

}  // namespace volta
