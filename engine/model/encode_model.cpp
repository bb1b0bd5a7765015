#include "engine/model/encode_model.h"

#include <cstring>

#include "engine/base/error.h"
#include "engine/model/file_layout.h"

namespace volta {

// FlatBuffers reports the size of a block wrongly after an allocation has thrown, so the block itself knows
// it.
struct alignas(16) BlockHeader {
    std::size_t bytes;
};

std::uint8_t* BuilderHeap::allocate(std::size_t bytes) {
    // The builder grows by halves: twice the limit is asked for only by metadata beyond it.
    if (bytes > std::size_t{2} * kMaxMetadataBytes)
        fail(VOLTA_INVALID_ARGUMENT, "the model's metadata is larger than the %u MiB that a file may have",
             kMaxMetadataBytes >> 20);
    void* block = heap_->allocate(sizeof(BlockHeader) + bytes, alignof(BlockHeader));
    return reinterpret_cast<std::uint8_t*>(new (block) BlockHeader{sizeof(BlockHeader) + bytes} + 1);
}

void BuilderHeap::deallocate(std::uint8_t* pointer, std::size_t) {
    auto* header = reinterpret_cast<BlockHeader*>(pointer) - 1;
    heap_->deallocate(header, header->bytes, alignof(BlockHeader));
}

namespace {

using flatbuffers::Offset;

std::uint64_t bits_of(double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// The numbers of the schema are those of volta.h.
fb::DType encode_dtype(DType dtype) { return static_cast<fb::DType>(dtype); }
static_assert(static_cast<int>(fb::DType::f32_panels) == VOLTA_F32_PANELS &&
              static_cast<int>(fb::DType::bf16) == VOLTA_BF16);

// Defaults are not written: a later version may give an operator one more attribute, and files that do not
// use it stay readable by this one. (Defaults never change, schemas/README.md.)
bool is_default(const OpRow& row, const Attribute& attribute) {
    for (int i = 0; i < row.attribute_count; ++i) {
        const AttrRow& known = row.attributes[i];
        if (known.key != attribute.key || known.required) continue;
        return known.is_list ? attribute.integer_count == 0
                             : bits_of(attribute.number) == bits_of(known.default_number);
    }
    return false;
}

// Offsets of strings and tables are collected on the host's heap: FlatBuffers builds children first.
class Encoder {
  public:
    Encoder(flatbuffers::FlatBufferBuilder& builder, std::pmr::memory_resource* heap)
        : out_(builder), heap_(heap) {}

    template <class T>
    using Offsets = std::pmr::vector<Offset<T>>;

    Offset<flatbuffers::String> text(std::string_view value) {
        return out_.CreateString(value.data(), value.size());
    }
    // Empty lists of strings and tables are left out: a reader cannot tell the two apart.
    template <class T>
    Offset<flatbuffers::Vector<Offset<T>>> list(const Offsets<T>& items, bool required = false) {
        if (items.empty() && !required) return 0;
        return out_.CreateVector(items.data(), items.size());
    }
    Offset<flatbuffers::Vector<std::int64_t>> extents(const Shape& shape) {
        return out_.CreateVector(shape.extent, static_cast<std::size_t>(shape.rank));
    }

    Offset<fb::Tensor> tensor(const StoredTensor& tensor) {
        const auto name = text(tensor.name);
        const auto shape = extents(tensor.shape);
        const fb::Checksum checksum(tensor.checksum.low, tensor.checksum.high);
        return fb::CreateTensor(out_, name, tensor.role, encode_dtype(tensor.dtype), shape, tensor.offset,
                                tensor.bytes, &checksum);
    }

    Offset<fb::Attribute> attribute(const Attribute& attribute) {
        const auto name = text(attr_name(attribute.key));
        if (attribute.integer_count < 0) return fb::CreateAttribute(out_, name, bits_of(attribute.number));
        const auto integers =
            out_.CreateVector(attribute.integers, static_cast<std::size_t>(attribute.integer_count));
        return fb::CreateAttribute(out_, name, 0, integers);
    }

    Offset<fb::Node> source(const Graph& graph, NodeId id, const Node& node) {
        const auto op = text(op_row(node.op).name);
        const auto name = node.name.empty() ? 0 : text(node.name);
        const Value& value = graph.value(node.first_output);
        if (node.op == Op::constant)
            return fb::CreateNode(out_, op, name, 0, 0, encode_dtype(value.dtype), extents(value.shape));
        const SourceInfo& info = graph.source(id);
        if (node.op == Op::input)
            return fb::CreateNode(out_, op, name, 0, 0, encode_dtype(value.dtype), extents(info.declared));
        const auto shape = extents(value.shape);
        const auto init = fb::CreateInit(out_, static_cast<fb::InitKind>(info.init.kind),
                                         bits_of(info.init.a), bits_of(info.init.b));
        const fb::DType dtype = is_stored(value.dtype) ? encode_dtype(value.dtype) : fb::DType::none;
        return fb::CreateNode(out_, op, name, 0, 0, dtype, shape, init);
    }

    Offset<fb::Node> node(const Graph& graph, NodeId id) {
        const Node& node = graph.nodes[static_cast<std::size_t>(id)];
        if (op_row(node.op).lowering == Lowering::source) return source(graph, id, node);
        if (node.phase != Phase::each || !node.body.ops.empty())
            fail(VOLTA_INVALID_ARGUMENT,
                 "node %d (%s) belongs to a training or fused graph, which a model file does not hold",
                 static_cast<int>(id), op_row(node.op).name);
        Offsets<fb::Attribute> attributes(heap_);
        for (const Attribute& a : node.attributes)
            if (!is_default(op_row(node.op), a)) attributes.push_back(attribute(a));
        const auto op = text(op_row(node.op).name);
        const auto name = node.name.empty() ? 0 : text(node.name);
        const auto inputs = out_.CreateVector(node.inputs.data(), node.inputs.size());
        return fb::CreateNode(out_, op, name, inputs, list(attributes));
    }

    Offset<fb::Graph> graph(const Graph& graph) {
        Offsets<fb::Node> nodes(heap_);
        nodes.reserve(graph.nodes.size());
        for (std::size_t id = 0; id < graph.nodes.size(); ++id)
            nodes.push_back(node(graph, static_cast<NodeId>(id)));
        Offsets<fb::Output> outputs(heap_);
        for (const GraphOutput& output : graph.outputs)
            outputs.push_back(fb::CreateOutput(out_, text(output.name), output.value));
        const auto node_list = list(nodes, true);
        return fb::CreateGraph(out_, node_list, list(outputs, true));
    }

    Offset<flatbuffers::Vector<std::uint8_t>> raw_bytes(std::string_view bytes) {
        if (bytes.empty()) return 0;
        return out_.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    }
    Offset<flatbuffers::Vector<Offset<fb::TextStep>>> steps(const TextSteps& steps) {
        Offsets<fb::TextStep> entries(heap_);
        for (const TextStep& step : steps) {
            const auto first = raw_bytes(step.first), second = raw_bytes(step.second);
            entries.push_back(fb::CreateTextStep(out_, step.kind, step.number, first, second));
        }
        return list(entries);
    }

    Offset<fb::Tokenizer> tokenizer(const Tokenizer& tokenizer) {
        std::pmr::vector<std::uint8_t> bytes(heap_);
        std::pmr::vector<std::uint32_t> ends(heap_);
        for (const std::pmr::string& piece : tokenizer.pieces()) {
            bytes.insert(bytes.end(), piece.begin(), piece.end());
            ends.push_back(static_cast<std::uint32_t>(bytes.size()));
        }
        const auto byte_list = out_.CreateVector(bytes.data(), bytes.size());
        const auto end_list = out_.CreateVector(ends.data(), ends.size());
        const Vocabulary& v = tokenizer.vocabulary();
        const auto types =
            numbers<std::uint8_t>(v.types, [](PieceType t) { return static_cast<std::uint8_t>(t); });
        const auto scores = numbers<float>(v.scores, [](float score) { return score; });
        const auto merges = merge_list(v.merges);
        const auto added = numbers<std::uint8_t>(v.added, [](std::uint8_t flags) { return flags; });
        const auto wide_scores = numbers<double>(v.wide_scores, [](double score) { return score; });
        const auto normalisers = steps(v.normalisers);
        const auto cutters = steps(v.cutters);
        const auto decoders = steps(v.decoders);
        const auto continuation = raw_bytes(v.continuation);
        const TokenizerOptions& o = v.options;
        return fb::CreateTokenizer(out_, static_cast<fb::TokenizerKind>(v.kind), byte_list, end_list, types,
                                   scores, merges, o.bos, o.eos, o.unk, o.pad, o.flags,
                                   static_cast<std::uint8_t>(o.split), o.most_word_characters, added,
                                   wide_scores, normalisers, cutters, decoders, continuation);
    }

    // A list of numbers, left out when it is empty.
    template <class To, class List, class Convert>
    Offset<flatbuffers::Vector<To>> numbers(const List& list, Convert convert) {
        std::pmr::vector<To> out(heap_);
        out.reserve(list.size());
        for (const auto& item : list) out.push_back(convert(item));
        if (out.empty()) return 0;
        return out_.CreateVector(out.data(), out.size());
    }
    Offset<flatbuffers::Vector<std::int32_t>> merge_list(const std::pmr::vector<Merge>& merges) {
        std::pmr::vector<std::int32_t> ids(heap_);
        ids.reserve(merges.size() * 2);
        for (const Merge& merge : merges) ids.insert(ids.end(), {merge.left, merge.right});
        return numbers<std::int32_t>(ids, [](std::int32_t id) { return id; });
    }

    Offset<fb::Training> training(const TrainingState& training) {
        Offsets<fb::TrainingNumber> numbers(heap_);
        for (const NamedNumber& number : training.numbers)
            numbers.push_back(fb::CreateTrainingNumber(out_, text(number.name), bits_of(number.value)));
        Offsets<fb::TrainingInteger> integers(heap_);
        for (const NamedInteger& integer : training.integers)
            integers.push_back(fb::CreateTrainingInteger(out_, text(integer.name), integer.value));
        const auto number_list = list(numbers, true);
        return fb::CreateTraining(out_, number_list, list(integers, true));
    }

    Offset<flatbuffers::Vector<Offset<fb::KeyValue>>> metadata(const std::pmr::vector<Metadata>& metadata) {
        Offsets<fb::KeyValue> entries(heap_);
        for (const Metadata& entry : metadata) {
            const auto key = text(entry.key);
            entries.push_back(fb::CreateKeyValue(out_, key, text(entry.value)));
        }
        return list(entries);
    }

    Offset<flatbuffers::Vector<Offset<fb::Tensor>>> tensors(const std::pmr::vector<StoredTensor>& tensors) {
        Offsets<fb::Tensor> entries(heap_);
        entries.reserve(tensors.size());
        for (const StoredTensor& t : tensors) entries.push_back(tensor(t));
        return list(entries, true);
    }

  private:
    flatbuffers::FlatBufferBuilder& out_;
    std::pmr::memory_resource* heap_;
};

// The first minor version whose readers know everything that the model uses: older readers open what they
// can.
std::uint32_t needed_minor(const Model& model) {
    std::uint32_t needed = model.tokenizer && model.tokenizer->kind() > TokenizerKind::character ? 1 : 0;
    if (model.arithmetic != Arithmetic()) needed = 3;
    if (model.tokenizer && model.tokenizer->kind() > TokenizerKind::wordpiece) needed = 5;
    for (const NamedTensor& parameter : model.parameters)
        if (is_stored(parameter.dtype)) needed = std::max(needed, storage_format(parameter.dtype).version);
    return needed;
}

}  // namespace

void encode_model(flatbuffers::FlatBufferBuilder& builder, const Model& model, const TrainingState* training,
                  const std::pmr::vector<StoredTensor>& tensors, std::uint64_t data_bytes) {
    Encoder encoder(builder, tensors.get_allocator().resource());
    // One statement each: the order in which C++ evaluates arguments is open, that of the file is not.
    const auto producer = encoder.text("Volta " VOLTA_VERSION_TEXT);
    const auto tensor_list = encoder.tensors(tensors);
    const auto graph = encoder.graph(model.graph);
    const auto tokenizer = model.tokenizer ? encoder.tokenizer(*model.tokenizer) : 0;
    const auto metadata = encoder.metadata(model.metadata);
    const auto training_state = training != nullptr ? encoder.training(*training) : 0;
    const auto level = static_cast<fb::Level>(model.arithmetic.level);
    const auto precision = static_cast<fb::Precision>(model.arithmetic.precision);
    fb::FinishModelBuffer(builder, fb::CreateModel(builder, producer, needed_minor(model),
                                                   VOLTA_CONTRACT_VERSION, level, data_bytes, tensor_list,
                                                   graph, tokenizer, metadata, training_state, precision));
    if (builder.GetSize() > kMaxMetadataBytes)
        fail(VOLTA_INVALID_ARGUMENT, "the model's metadata has %u bytes, a file may have %u",
             static_cast<unsigned>(builder.GetSize()), kMaxMetadataBytes);
}

}  // namespace volta
