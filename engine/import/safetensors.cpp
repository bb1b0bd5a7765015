#include "engine/import/safetensors.h"

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/import/file_kind.h"
#include "engine/import/json_events.h"
#include "engine/model/text.h"

namespace volta {
namespace {

constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::size_t kMostIndexBytes = std::size_t{16} << 20;
constexpr std::size_t kMostTexts = 4096;
constexpr std::size_t kMostShards = 1024;
constexpr std::uint64_t kLargestNumber = std::uint64_t{1} << 62;

std::uint64_t load_u64(const unsigned char* bytes) {
    std::uint64_t value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

// One tensor of the header: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}.
struct Entry {
    explicit Entry(std::pmr::string&& tensor) : name(std::move(tensor)) {}
    std::pmr::string name;
    const StoredType* type = nullptr;
    Shape shape;
    std::uint64_t offsets[2] = {};  // within the data, begin and end
    int offset_count = 0;
    bool has_shape = false, has_offsets = false;
};

class HeaderSink final : public JsonSink {
  public:
    HeaderSink(WeightSource& source, const unsigned char* data, std::uint64_t data_bytes,
               std::pmr::memory_resource* heap)
        : source_(source),
          data_(data),
          data_bytes_(data_bytes),
          heap_(heap),
          entry_(std::pmr::string(heap)) {}

    void take(const JsonEvent& event) override {
        switch (event.depth()) {
            case 0:
                return expect(event, JsonKind::begin_object, JsonKind::end_object, "the header is no object");
            case 1:
                return take_member(event);
            default:
                return in_texts(event) ? take_text(event) : take_field(event);
        }
    }

    // Throws when tensors that are sound themselves reach beyond the data.
    void check_end(std::size_t file_bytes) const {
        if (cut_at_ > 0)
            fail(VOLTA_CORRUPT_MODEL, "it is cut: its tensors make a file of %llu bytes, it has %zu",
                 static_cast<unsigned long long>(cut_at_ + file_bytes - data_bytes_), file_bytes);
    }

  private:
    static bool in_texts(const JsonEvent& event) { return event.path[0] == "__metadata__"; }

    static void expect(const JsonEvent& event, JsonKind kind, JsonKind other, const char* complaint) {
        if (event.kind != kind && event.kind != other) fail(VOLTA_CORRUPT_MODEL, "%s", complaint);
    }

    [[noreturn]] void fail_entry(const char* complaint) const {
        const ShownName name = shown(entry_.name);
        fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' %s", name.bytes, name.text, complaint);
    }

    void take_member(const JsonEvent& event) {
        expect(event, JsonKind::begin_object, JsonKind::end_object, "a member of the header is no object");
        if (in_texts(event)) return;
        if (event.kind == JsonKind::end_object) return finish_entry();
        check_weight_name(event.path[0]);
        entry_ = Entry(std::pmr::string(event.path[0], heap_));
    }

    void take_text(const JsonEvent& event) {
        if (event.depth() != 2 || event.kind != JsonKind::text)
            fail(VOLTA_CORRUPT_MODEL, "a member of '__metadata__' is no text");
        if (source_.texts.size() == kMostTexts)
            fail(VOLTA_CORRUPT_MODEL, "'__metadata__' has more than %zu members", kMostTexts);
        source_.texts.push_back(
            {std::pmr::string(event.path[1], heap_), std::pmr::string(event.text, heap_)});
    }

    void take_field(const JsonEvent& event) {
        const std::pmr::string& field = event.path[1];
        if (field == "dtype") return take_type(event);
        if (field == "shape") return take_shape(event);
        if (field == "data_offsets") return take_offsets(event);
        fail_entry("has a field that is neither dtype, shape nor data_offsets");
    }

    void take_type(const JsonEvent& event) {
        if (event.depth() != 2 || event.kind != JsonKind::text) fail_entry("has a dtype that is no text");
        if (entry_.type != nullptr) fail_entry("has two dtypes");
        entry_.type = find_stored_type(event.text);
        if (entry_.type != nullptr) return;
        const ShownName name = shown(entry_.name), type = shown(event.text);
        fail(VOLTA_UNSUPPORTED, "tensor '%.*s' has the dtype '%.*s', which is not known", name.bytes,
             name.text, type.bytes, type.text);
    }

    // True for an element; brackets are checked here. `seen` is set when the list begins.
    bool take_element(const JsonEvent& event, bool& seen, const char* twice, const char* no_list) {
        if (event.depth() == 2 && event.kind == JsonKind::begin_array) {
            if (seen) fail_entry(twice);
            seen = true;
            return false;
        }
        if (event.depth() == 2 && event.kind == JsonKind::end_array) return false;
        if (event.depth() != 3 || event.kind != JsonKind::integer || event.integer >= kLargestNumber)
            fail_entry(no_list);
        return true;
    }

    void take_shape(const JsonEvent& event) {
        if (!take_element(event, entry_.has_shape, "has two shapes",
                          "has a shape that is no list of extents"))
            return;
        if (entry_.shape.rank == kMaxRank) fail_entry("has more than 8 extents");
        entry_.shape[entry_.shape.rank++] = static_cast<std::int64_t>(event.integer);
    }

    void take_offsets(const JsonEvent& event) {
        const char* const complaint = "has data_offsets that are no list of two offsets";
        if (!take_element(event, entry_.has_offsets, "has data_offsets twice", complaint)) return;
        if (entry_.offset_count == 2) fail_entry(complaint);
        entry_.offsets[entry_.offset_count++] = event.integer;
    }

    void finish_entry() {
        if (entry_.type == nullptr) fail_entry("has no dtype");
        if (!entry_.has_shape) fail_entry("has no shape");
        if (entry_.offset_count != 2) fail_entry("has no data_offsets");
        const std::uint64_t begin = entry_.offsets[0], end = entry_.offsets[1];
        const std::uint64_t bytes = stored_bytes(entry_.name, *entry_.type, entry_.shape);
        const ShownName name = shown(entry_.name);
        const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
        if (end > data_bytes_ && begin <= end && end - begin == bytes)  // told when all have been seen
            return void(cut_at_ = std::max(cut_at_, end));
        if (begin > end || end > data_bytes_)
            fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' lies at bytes %llu to %llu of %llu", name.bytes,
                 name.text, number(begin), number(end), number(data_bytes_));
        if (end - begin != bytes)
            fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' of type %s and shape %s has %llu bytes, it needs %llu",
                 name.bytes, name.text, entry_.type->name, to_text(entry_.shape).text, number(end - begin),
                 number(bytes));
        add_tensor(source_, {std::move(entry_.name), entry_.type, entry_.shape, data_ + begin, bytes});
    }

    WeightSource& source_;
    const unsigned char* data_;
    std::uint64_t data_bytes_, cut_at_ = 0;  // where the last tensor beyond the data ends
    std::pmr::memory_resource* heap_;
    Entry entry_;
};

// The tensors [first, ...) of one file must cover its data: no byte twice, none left over.
void check_cover(const WeightSource& source, std::size_t first, const unsigned char* data,
                 std::uint64_t bytes, std::pmr::memory_resource* heap) {
    std::pmr::vector<const WeightTensor*> by_place(heap);
    for (std::size_t i = first; i < source.tensors.size(); ++i) by_place.push_back(&source.tensors[i]);
    std::sort(by_place.begin(), by_place.end(), [](const WeightTensor* a, const WeightTensor* b) {
        return a->data != b->data ? a->data < b->data : a->bytes < b->bytes;
    });
    const unsigned char* end = data;
    for (const WeightTensor* tensor : by_place) {
        const ShownName name = shown(tensor->name);
        if (tensor->data != end)
            fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' %s", name.bytes, name.text,
                 tensor->data < end ? "overlaps another" : "lies behind bytes that belong to none");
        end += tensor->bytes;
    }
    if (end != data + bytes)
        fail(VOLTA_CORRUPT_MODEL, "%llu bytes at the end of the file belong to no tensor",
             static_cast<unsigned long long>(data + bytes - end));
}

void add_file(WeightSource& source, const char* path, std::pmr::memory_resource* heap) {
    MappedFile file(path);
    if (const char* kind = other_file_kind({reinterpret_cast<const char*>(file.data()), file.bytes()}))
        fail(VOLTA_UNSUPPORTED, "it is %s", kind);
    if (file.bytes() == 0) fail(VOLTA_CORRUPT_MODEL, "it is empty");
    if (file.bytes() < 8)
        fail(VOLTA_CORRUPT_MODEL, "a safetensors file has at least 8 bytes, this one %zu", file.bytes());
    const std::uint64_t header_bytes = load_u64(file.data());
    if (header_bytes > kMostHeaderBytes)
        fail(VOLTA_CORRUPT_MODEL,
             "it is no safetensors file: its header would have %llu bytes, the most are %llu",
             static_cast<unsigned long long>(header_bytes),
             static_cast<unsigned long long>(kMostHeaderBytes));
    if (header_bytes > file.bytes() - 8)
        fail(VOLTA_CORRUPT_MODEL, "it is cut: its header makes a file of at least %llu bytes, it has %zu",
             static_cast<unsigned long long>(header_bytes + 8), file.bytes());
    const unsigned char* data = file.data() + 8 + header_bytes;
    const std::uint64_t data_bytes = file.bytes() - 8 - header_bytes;
    const std::size_t first = source.tensors.size();
    HeaderSink sink(source, data, data_bytes, heap);
    read_json({reinterpret_cast<const char*>(file.data()) + 8, static_cast<std::size_t>(header_bytes)},
              "its header", sink, heap);
    sink.check_end(file.bytes());
    check_cover(source, first, data, data_bytes, heap);
    source.files.push_back(std::move(file));
}

// --- an index of several files

struct Place {
    std::pmr::string tensor, file;
};
bool by_tensor(const Place& a, const Place& b) { return a.tensor < b.tensor; }

class IndexSink final : public JsonSink {
  public:
    explicit IndexSink(std::pmr::memory_resource* heap) : places(heap), heap_(heap) {}

    void take(const JsonEvent& event) override {
        if (event.depth() == 0 && event.kind != JsonKind::begin_object && event.kind != JsonKind::end_object)
            fail(VOLTA_CORRUPT_MODEL, "the index is no object");
        if (event.depth() == 0 || event.path[0] != "weight_map") return;
        if (event.depth() == 1) {
            if (event.kind == JsonKind::begin_object && !found) return void(found = true);
            if (event.kind == JsonKind::end_object) return;
        }
        if (event.depth() != 2 || event.kind != JsonKind::text)
            fail(VOLTA_CORRUPT_MODEL, "its weight_map is no object of file names");
        if (places.size() == kMostWeightTensors)
            fail(VOLTA_CORRUPT_MODEL, "it has more than %zu tensors", kMostWeightTensors);
        check_weight_name(event.path[1]);
        check_file_name(event.text);
        places.push_back({std::pmr::string(event.path[1], heap_), std::pmr::string(event.text, heap_)});
    }

    std::pmr::vector<Place> places;
    bool found = false;

  private:
    // A plain name in the index's own folder: no way out of it, no hidden file, no device.
    static void check_file_name(std::string_view name) {
        if (name_problem(name) == nullptr && name[0] != '.' && name.find_first_of("/\\") == name.npos) return;
        const ShownName part = shown(name);
        fail(VOLTA_CORRUPT_MODEL, "its weight_map names the file '%.*s', which is no plain file name",
             part.bytes, part.text);
    }

    std::pmr::memory_resource* heap_;
};

std::pmr::vector<std::pmr::string> shard_names(const std::pmr::vector<Place>& places,
                                               std::pmr::memory_resource* heap) {
    std::pmr::vector<std::pmr::string> names(heap);
    for (const Place& place : places) names.push_back(place.file);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (names.size() > kMostShards)
        fail(VOLTA_CORRUPT_MODEL, "its weight_map names %zu files, at most %zu are read", names.size(),
             kMostShards);
    return names;
}

// Reads one file of several and holds that the index put its tensors there.
void add_shard(WeightSource& source, std::string_view folder, const std::pmr::string& name,
               const std::pmr::vector<Place>& places, std::pmr::memory_resource* heap) {
    std::pmr::string path(folder, heap);
    path += name;
    const std::size_t first = source.tensors.size();
    try {
        add_file(source, path.c_str(), heap);
    } catch (const Error& error) {
        if (error.status() == VOLTA_IO_ERROR) throw;
        const ShownName part = shown(name);
        fail(error.status(), "in its file '%.*s': %s", part.bytes, part.text, error.what());
    }
    for (std::size_t i = first; i < source.tensors.size(); ++i) {
        const std::pmr::string& tensor = source.tensors[i].name;
        const auto at =
            std::lower_bound(places.begin(), places.end(), tensor,
                             [](const Place& a, const std::pmr::string& b) { return a.tensor < b; });
        if (at != places.end() && at->tensor == tensor && at->file == name) continue;
        const ShownName part = shown(tensor), file = shown(name);
        fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' of its file '%.*s' is not in its weight_map", part.bytes,
             part.text, file.bytes, file.text);
    }
}

void check_all_found(const WeightSource& source, const std::pmr::vector<Place>& places) {
    for (const Place& place : places)
        if (source.find(place.tensor) == nullptr) {
            const ShownName tensor = shown(place.tensor), file = shown(place.file);
            fail(VOLTA_CORRUPT_MODEL,
                 "its weight_map puts tensor '%.*s' into '%.*s', which has none of that name", tensor.bytes,
                 tensor.text, file.bytes, file.text);
        }
}

}  // namespace

bool looks_like_safetensors(const unsigned char* data, std::size_t bytes) noexcept {
    if (bytes <= 8 || data[8] != '{') return false;
    const std::uint64_t header_bytes = load_u64(data);
    if (header_bytes <= bytes - 8) return header_bytes <= kMostHeaderBytes;
    // A header that was cut: an object that goes on with a name or its end, as far as the file does.
    const std::string_view rest(reinterpret_cast<const char*>(data) + 9, bytes - 9);
    const std::size_t next = rest.find_first_not_of(" \t\r\n");
    return header_bytes <= kMostHeaderBytes && (next == rest.npos || rest[next] == '"' || rest[next] == '}');
}

WeightSource read_safetensors(const char* path, std::pmr::memory_resource* heap) {
    WeightSource source(heap);
    add_file(source, path, heap);
    finish_tensors(source);
    return source;
}

WeightSource read_safetensors_index(const char* path, std::pmr::memory_resource* heap) {
    const Buffer text = read_file(path, heap, kMostIndexBytes);
    IndexSink index(heap);
    read_json({static_cast<const char*>(text.data()), text.bytes()}, "it", index, heap);
    if (!index.found) fail(VOLTA_CORRUPT_MODEL, "it is JSON but no index of weights: it has no weight_map");
    std::sort(index.places.begin(), index.places.end(), by_tensor);

    WeightSource source(heap);
    const std::string_view whole(path);
    const std::string_view folder = whole.substr(0, whole.rfind('/') + 1);  // "" without a slash
    for (const std::pmr::string& name : shard_names(index.places, heap))
        add_shard(source, folder, name, index.places, heap);
    finish_tensors(source);
    check_all_found(source, index.places);
    return source;
}

}  // namespace volta
