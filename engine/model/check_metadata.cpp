// What can be checked of a file's metadata before anything is made of it: structure, cost, tensors and their
// places.
#include "engine/model/decode_model.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/model/file_layout.h"
#include "engine/model/text.h"

namespace volta {
namespace {

// A table needs an offset to it and an offset to its vtable: no honest buffer holds more tables than this.
constexpr std::size_t kLeastTableBytes = 8;
constexpr flatbuffers::uoffset_t kMaxDepth = 16;  // this schema nests 4 deep
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 60;

// Adds up what reading every string and list costs. Verified tables may point at one string a million times;
// a writer of this format never shares, so the sum of an honest file is below its length.
class ReadingCost {
  public:
    void add(const flatbuffers::String* text) {
        if (text != nullptr) bytes_ += text->size();
    }
    template <class T>
    void add(const flatbuffers::Vector<T>* list) {
        if (list == nullptr) return;
        bytes_ += std::uint64_t{list->size()} * sizeof(T);
        if (list->size() > 0 && reinterpret_cast<std::uintptr_t>(list->Data()) % alignof(T) != 0)
            fail(VOLTA_CORRUPT_MODEL, "a list of its metadata is not aligned");
    }
    std::uint64_t bytes() const { return bytes_; }

  private:
    std::uint64_t bytes_ = 0;
};

template <class Vector, class Visit>
void each(const Vector* list, Visit visit) {
    if (list == nullptr) return;
    for (const auto* item : *list) visit(*item);
}

void add_graph(ReadingCost& cost, const fb::Graph& graph) {
    cost.add(graph.nodes());
    each(graph.nodes(), [&](const fb::Node& node) {
        cost.add(node.op());
        cost.add(node.name());
        cost.add(node.inputs());
        cost.add(node.shape());
        cost.add(node.attributes());
        each(node.attributes(), [&](const fb::Attribute& attribute) {
            cost.add(attribute.name());
            cost.add(attribute.integers());
        });
    });
    cost.add(graph.outputs());
    each(graph.outputs(), [&](const fb::Output& output) { cost.add(output.name()); });
}

void add_training(ReadingCost& cost, const fb::Training& training) {
    cost.add(training.numbers());
    each(training.numbers(), [&](const fb::TrainingNumber& number) { cost.add(number.name()); });
    cost.add(training.integers());
    each(training.integers(), [&](const fb::TrainingInteger& integer) { cost.add(integer.name()); });
}

void add_steps(ReadingCost& cost, const flatbuffers::Vector<flatbuffers::Offset<fb::TextStep>>* steps) {
    cost.add(steps);
    each(steps, [&](const fb::TextStep& step) {
        cost.add(step.first());
        cost.add(step.second());
    });
}

std::uint64_t reading_cost(const fb::Model& file) {
    ReadingCost cost;
    cost.add(file.producer());
    cost.add(file.tensors());
    each(file.tensors(), [&](const fb::Tensor& tensor) {
        cost.add(tensor.name());
        cost.add(tensor.shape());
    });
    if (file.graph() != nullptr) add_graph(cost, *file.graph());
    if (file.tokenizer() != nullptr) {
        cost.add(file.tokenizer()->piece_bytes());
        cost.add(file.tokenizer()->piece_ends());
        cost.add(file.tokenizer()->piece_types());
        cost.add(file.tokenizer()->scores());
        cost.add(file.tokenizer()->merges());
        cost.add(file.tokenizer()->added());
        cost.add(file.tokenizer()->wide_scores());
        cost.add(file.tokenizer()->continuation());
        add_steps(cost, file.tokenizer()->normalisers());
        add_steps(cost, file.tokenizer()->cutters());
        add_steps(cost, file.tokenizer()->decoders());
    }
    cost.add(file.metadata());
    each(file.metadata(), [&](const fb::KeyValue& entry) {
        cost.add(entry.key());
        cost.add(entry.value());
    });
    if (file.training() != nullptr) add_training(cost, *file.training());
    return cost.bytes();
}

}  // namespace

const fb::Model& verified_metadata(const void* metadata, std::size_t bytes) {
    const auto* buffer = static_cast<const std::uint8_t*>(metadata);
    flatbuffers::Verifier verifier(buffer, bytes, kMaxDepth,
                                   static_cast<flatbuffers::uoffset_t>(bytes / kLeastTableBytes));
    if (!fb::VerifyModelBuffer(verifier))
        fail(VOLTA_CORRUPT_MODEL, "its metadata is not a well-formed FlatBuffer of a model");
    const fb::Model& file = *fb::GetModel(metadata);
    if (reading_cost(file) > bytes) fail(VOLTA_CORRUPT_MODEL, "strings or lists of its metadata overlap");
    return file;
}

void fail_unknown(const fb::Model& file, const char* what, std::string_view name) {
    const ShownName text = shown(name);
    if (file.minor_version() <= kFormatMinor)
        fail(VOLTA_CORRUPT_MODEL, "the %s '%.*s' is unknown", what, text.bytes, text.text);
    fail(VOLTA_UNSUPPORTED, "the %s '%.*s' belongs to format version %u.%u; this library knows %u.%u", what,
         text.bytes, text.text, kFormatVersion, file.minor_version(), kFormatVersion, kFormatMinor);
}

void check_name(const char* what, std::size_t index, std::string_view name) {
    if (const char* problem = name_problem(name))
        fail(VOLTA_CORRUPT_MODEL, "the name of %s %zu %s", what, index, problem);
}

Shape decode_shape(const flatbuffers::Vector<std::int64_t>* extents, bool open, const char* what,
                   std::string_view name) {
    const ShownName text = shown(name);
    if (extents == nullptr) return Shape();
    if (extents->size() > kMaxRank)
        fail(VOLTA_CORRUPT_MODEL, "%s '%.*s' has %u axes, the most are %d", what, text.bytes, text.text,
             static_cast<unsigned>(extents->size()), kMaxRank);
    Shape shape;
    std::uint64_t elements = 1;
    for (const std::int64_t extent : *extents) {
        if (extent < (open ? -1 : 0))
            fail(VOLTA_CORRUPT_MODEL, "%s '%.*s' has the extent %lld", what, text.bytes, text.text,
                 static_cast<long long>(extent));
        shape.extent[shape.rank++] = extent;
        // Extents of 0 count as 1, so that no product of some of the axes overflows either.
        if (multiply_overflows(elements, static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1)),
                               &elements) ||
            elements > kMaxElements)
            fail(VOLTA_CORRUPT_MODEL, "the elements of %s '%.*s' are too many to count: %s", what, text.bytes,
                 text.text, to_text(shape).text);
    }
    return shape;
}

DType decode_dtype(const fb::Model& file, fb::DType dtype, const char* what, std::string_view name) {
    if (dtype == fb::DType::f32) return DType::f32;
    if (dtype == fb::DType::i32) return DType::i32;
    fail_unknown(file, what, name);
}

DType decode_weight_dtype(const fb::Model& file, fb::DType dtype, const char* what, std::string_view name) {
    if (const StorageFormat* format = find_storage_format(static_cast<std::int64_t>(dtype)))
        return format->dtype;
    return decode_dtype(file, dtype, what, name);
}

namespace {

// Tensors stand in their order, each at the first multiple of 64 after the one before: nothing overlaps,
// nothing hides between them.
void check_place(const fb::Tensor& tensor, DType dtype, const Shape& shape, std::uint64_t end_before,
                 std::uint64_t data_bytes) {
    const ShownName name = shown(view(tensor.name()));
    const auto offset = static_cast<unsigned long long>(tensor.offset());
    const auto bytes = static_cast<unsigned long long>(tensor.bytes());
    std::uint64_t end = 0, expected = 0;
    if (tensor_bytes_overflow(dtype, shape, &expected) || tensor.bytes() != expected)
        fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' has the shape %s and %llu bytes", name.bytes, name.text,
             to_text(shape).text, bytes);
    if (tensor.offset() % kTensorAlignment != 0)
        fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' starts at %llu, which is no multiple of %zu", name.bytes,
             name.text, offset, kTensorAlignment);
    if (tensor.offset() < end_before)
        fail(VOLTA_CORRUPT_MODEL,
             "tensor '%.*s' starts at %llu, inside or before the one before it, which ends at %llu",
             name.bytes, name.text, offset, static_cast<unsigned long long>(end_before));
    if (add_overflows(tensor.offset(), tensor.bytes(), &end) || end > data_bytes)
        fail(VOLTA_CORRUPT_MODEL,
             "tensor '%.*s' (%llu bytes at %llu) reaches beyond the data section of %llu bytes", name.bytes,
             name.text, bytes, offset, static_cast<unsigned long long>(data_bytes));
    if (tensor.offset() != aligned(end_before))
        fail(VOLTA_CORRUPT_MODEL,
             "there is a gap before tensor '%.*s': it starts at %llu, the one before ends at %llu",
             name.bytes, name.text, offset, static_cast<unsigned long long>(end_before));
}

void check_role(const fb::Model& file, const fb::Tensor& tensor, fb::Role before) {
    const ShownName name = shown(view(tensor.name()));
    if (tensor.role() == fb::Role::none || tensor.role() > fb::Role::training)
        fail_unknown(file, "role of tensor", view(tensor.name()));
    if (tensor.role() < before)
        fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' is out of order: parameters, constants, training state",
             name.bytes, name.text);
}

// Two tensors of one role never share a name.
void check_distinct_names(const fb::Model& file, std::pmr::memory_resource* heap) {
    struct Entry {
        fb::Role role;
        std::string_view name;
        bool operator<(const Entry& other) const {
            return role != other.role ? role < other.role : name < other.name;
        }
    };
    std::pmr::vector<Entry> entries(heap);
    entries.reserve(file.tensors()->size());
    for (const fb::Tensor* tensor : *file.tensors())
        entries.push_back({tensor->role(), view(tensor->name())});
    std::sort(entries.begin(), entries.end());
    const auto twin = std::adjacent_find(entries.begin(), entries.end(),
                                         [](const Entry& a, const Entry& b) { return !(a < b); });
    if (twin == entries.end()) return;
    const ShownName name = shown(twin->name);
    fail(VOLTA_CORRUPT_MODEL, "two tensors are named '%.*s'", name.bytes, name.text);
}

}  // namespace

void check_tensors(const fb::Model& file, std::uint64_t data_bytes, std::pmr::memory_resource* heap) {
    if (file.data_bytes() != data_bytes)
        fail(VOLTA_CORRUPT_MODEL, "its metadata says %llu bytes of data follow, but there are %llu",
             static_cast<unsigned long long>(file.data_bytes()), static_cast<unsigned long long>(data_bytes));
    std::uint64_t end = 0;
    fb::Role role = fb::Role::none;
    for (std::size_t i = 0; i < file.tensors()->size(); ++i) {
        const fb::Tensor& tensor = *file.tensors()->Get(static_cast<flatbuffers::uoffset_t>(i));
        check_name("tensor", i, view(tensor.name()));
        check_role(file, tensor, role);
        const auto decode = tensor.role() == fb::Role::parameter ? decode_weight_dtype : decode_dtype;
        const DType dtype = decode(file, tensor.dtype(), "element type of tensor", view(tensor.name()));
        check_place(tensor, dtype, decode_shape(tensor.shape(), false, "tensor", view(tensor.name())), end,
                    data_bytes);
        end = tensor.offset() + tensor.bytes();
        role = tensor.role();
    }
    if (end != data_bytes)
        fail(VOLTA_CORRUPT_MODEL, "the last tensor ends at %llu of %llu bytes of data",
             static_cast<unsigned long long>(end), static_cast<unsigned long long>(data_bytes));
    check_distinct_names(file, heap);
}

}  // namespace volta
