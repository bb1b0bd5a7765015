#include "engine/model/decode_model.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "engine/base/error.h"
#include "engine/model/file_layout.h"
#include "engine/model/text.h"

namespace volta {
namespace {

double number_of(std::uint64_t bits) {
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

class Decoder {
  public:
    Decoder(const fb::Model& file, const TensorBytes& bytes, Model& model)
        : file_(file), bytes_(bytes), model_(model), heap_(model.structures()) {}

    void decode() {
        check_versions();
        decode_arithmetic();
        if (file_.graph() == nullptr)
            fail(file_.minor_version() > kFormatMinor ? VOLTA_UNSUPPORTED : VOLTA_CORRUPT_MODEL,
                 "it holds no graph");
        if (file_.tokenizer() != nullptr) decode_tokenizer(*file_.tokenizer());
        decode_metadata();
        std::pmr::vector<StoredConstant> constants(heap_);
        each_tensor(fb::Role::parameter, [&](const fb::Tensor& tensor, const void* data) {
            model_.parameters.push_back(borrow(tensor, data));
        });
        each_tensor(fb::Role::constant, [&](const fb::Tensor& tensor, const void* data) {
            constants.push_back({&tensor, data});
        });
        if (file_.training() != nullptr) decode_training(*file_.training());
        decode_training_tensors();
        model_.graph = read_graph(file_, constants, heap_);
        check_parameters();
    }

  private:
    void check_versions() const {
        check_name("the producer, string", 0, view(file_.producer()));
        if (file_.contract_version() != VOLTA_CONTRACT_VERSION)
            fail(VOLTA_UNSUPPORTED, "it was made under numeric contract %u; this library keeps contract %d",
                 file_.contract_version(), VOLTA_CONTRACT_VERSION);
    }

    void decode_arithmetic() {
        const auto level = static_cast<int>(file_.level()), precision = static_cast<int>(file_.precision());
        if (level >= kLevelCount)
            fail(VOLTA_UNSUPPORTED,
                 "it was made at determinism level %d; this library knows the levels 0 .. %d, strict to fast",
                 level, kLevelCount - 1);
        if (precision >= kPrecisionCount)
            fail(VOLTA_UNSUPPORTED,
                 "it was made in precision %d; this library knows the precisions 0 .. %d, fp32 to bf16",
                 precision, kPrecisionCount - 1);
        model_.arithmetic = {static_cast<Level>(level), static_cast<Precision>(precision)};
        if (model_.arithmetic.level == Level::strict && model_.arithmetic.precision != Precision::fp32)
            fail(VOLTA_CORRUPT_MODEL, "it was made at level strict in precision %s, which that level lacks",
                 precision_name(model_.arithmetic.precision));
    }

    template <class Visit>  // Visit: void(const fb::Tensor&, const void* data)
    void each_tensor(fb::Role role, Visit visit) const {
        for (flatbuffers::uoffset_t i = 0; i < file_.tensors()->size(); ++i)
            if (file_.tensors()->Get(i)->role() == role) visit(*file_.tensors()->Get(i), bytes_[i]);
    }

    NamedTensor borrow(const fb::Tensor& tensor, const void* data) const {
        NamedTensor named{
            std::pmr::string(view(tensor.name()), heap_),
            decode_weight_dtype(file_, tensor.dtype(), "element type of tensor", view(tensor.name())),
            decode_shape(tensor.shape(), false, "tensor", view(tensor.name())), data, Buffer()};
        return named;
    }

    void decode_tokenizer(const fb::Tokenizer& tokenizer) {
        Vocabulary vocabulary(heap_);
        vocabulary.kind = static_cast<TokenizerKind>(
            known("tokenizer kind", static_cast<unsigned>(tokenizer.kind()), 1, kLastTokenizerKind));
        decode_pieces(tokenizer, vocabulary.pieces);
        for (std::size_t i = 0; i < count_of(tokenizer.piece_types()); ++i) {
            const std::uint8_t type = tokenizer.piece_types()->Get(static_cast<flatbuffers::uoffset_t>(i));
            vocabulary.types.push_back(
                static_cast<PieceType>(known("type of a piece", type, 0, kLastPieceType)));
        }
        if (tokenizer.scores() != nullptr)
            vocabulary.scores.assign(tokenizer.scores()->begin(), tokenizer.scores()->end());
        decode_merges(tokenizer, vocabulary);
        for (std::size_t i = 0; i < count_of(tokenizer.added()); ++i)
            vocabulary.added.push_back(static_cast<std::uint8_t>(
                known("way to find a piece", tokenizer.added()->Get(static_cast<flatbuffers::uoffset_t>(i)),
                      0, kKnownAddedFlags)));
        if (tokenizer.wide_scores() != nullptr)
            vocabulary.wide_scores.assign(tokenizer.wide_scores()->begin(), tokenizer.wide_scores()->end());
        decode_steps("kind of normaliser", tokenizer.normalisers(), kLastNormaliser, vocabulary.normalisers);
        decode_steps("kind of cutter", tokenizer.cutters(), kLastCutter, vocabulary.cutters);
        decode_steps("kind of decoder", tokenizer.decoders(), kLastDecoder, vocabulary.decoders);
        vocabulary.continuation = bytes_of(tokenizer.continuation());
        decode_options(tokenizer, vocabulary.options);
        model_.tokenizer.emplace(Tokenizer::from_vocabulary(std::move(vocabulary)));
    }

    static std::string_view bytes_of(const flatbuffers::Vector<std::uint8_t>* bytes) {
        if (bytes == nullptr) return {};
        return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
    }
    void decode_steps(const char* what, const flatbuffers::Vector<flatbuffers::Offset<fb::TextStep>>* list,
                      unsigned last, TextSteps& steps) const {
        for (std::size_t i = 0; i < count_of(list); ++i) {
            const fb::TextStep& step = *list->Get(static_cast<flatbuffers::uoffset_t>(i));
            steps.emplace_back(static_cast<std::uint8_t>(known(what, step.kind(), 1, last)), step.number(),
                               bytes_of(step.first()), bytes_of(step.second()));
        }
    }

    // `value`, which must be one of [first, last] for this library to know it.
    unsigned known(const char* what, unsigned value, unsigned first, unsigned last) const {
        if (value >= first && value <= last) return value;
        char number[16];
        std::snprintf(number, sizeof number, "%u", value);
        fail_unknown(file_, what, number);
    }

    static void decode_pieces(const fb::Tokenizer& tokenizer, std::pmr::vector<std::pmr::string>& pieces) {
        const std::string_view bytes(reinterpret_cast<const char*>(tokenizer.piece_bytes()->data()),
                                     tokenizer.piece_bytes()->size());
        pieces.reserve(tokenizer.piece_ends()->size());
        std::size_t start = 0;
        for (const std::uint32_t end : *tokenizer.piece_ends()) {
            if (end < start || end > bytes.size())
                fail(VOLTA_CORRUPT_MODEL,
                     "piece %zu of its tokenizer ends at %u of %zu bytes, and starts at %zu", pieces.size(),
                     end, bytes.size(), start);
            pieces.emplace_back(bytes.substr(start, end - start));
            start = end;
        }
        if (start != bytes.size())
            fail(VOLTA_CORRUPT_MODEL, "the pieces of its tokenizer end at %zu of %zu bytes", start,
                 bytes.size());
    }

    static void decode_merges(const fb::Tokenizer& tokenizer, Vocabulary& vocabulary) {
        const std::size_t ids = count_of(tokenizer.merges());
        if (ids % 2 != 0)
            fail(VOLTA_CORRUPT_MODEL, "the merges of its tokenizer are %zu ids, which are no pairs", ids);
        vocabulary.merges.reserve(ids / 2);
        for (flatbuffers::uoffset_t i = 0; i < ids; i += 2)
            vocabulary.merges.push_back({tokenizer.merges()->Get(i), tokenizer.merges()->Get(i + 1)});
    }

    void decode_options(const fb::Tokenizer& tokenizer, TokenizerOptions& options) const {
        options.bos = tokenizer.bos();
        options.eos = tokenizer.eos();
        options.unk = tokenizer.unk();
        options.pad = tokenizer.pad();
        options.flags = known("set of tokenizer flags", tokenizer.flags(), 0, kKnownFlags);
        options.split =
            static_cast<WordSplit>(known("way to split words", tokenizer.split(), 0, kLastWordSplit));
        options.most_word_characters = tokenizer.most_word_characters();
    }

    void decode_metadata() {
        for (std::size_t i = 0; i < count_of(file_.metadata()); ++i) {
            const fb::KeyValue& entry = *file_.metadata()->Get(static_cast<flatbuffers::uoffset_t>(i));
            const std::string_view key = view(entry.key()), value = view(entry.value());
            check_name("metadata key", i, key);
            check_ascending("metadata key", key,
                            i == 0 ? std::string_view() : std::string_view(model_.metadata.back().key));
            const ShownName text = shown(key);
            if (find_invalid_utf8(value) != value.size() || value.find('\0') != value.npos)
                fail(VOLTA_CORRUPT_MODEL, "the metadata value of '%.*s' is not UTF-8 text", text.bytes,
                     text.text);
            model_.metadata.push_back({std::pmr::string(key, heap_), std::pmr::string(value, heap_)});
        }
    }

    static void check_ascending(const char* what, std::string_view name, std::string_view before) {
        const ShownName a = shown(before), b = shown(name);
        if (!(before < name))
            fail(VOLTA_CORRUPT_MODEL, "%s '%.*s' is out of order or there twice: it stands after '%.*s'",
                 what, b.bytes, b.text, a.bytes, a.text);
    }

    void decode_training(const fb::Training& training) {
        TrainingState& state = model_.training.emplace(heap_);
        for (std::size_t i = 0; i < training.numbers()->size(); ++i) {
            const fb::TrainingNumber& number =
                *training.numbers()->Get(static_cast<flatbuffers::uoffset_t>(i));
            check_name("training number", i, view(number.name()));
            check_ascending("training number", view(number.name()),
                            i == 0 ? "" : std::string_view(state.numbers.back().name));
            state.numbers.push_back(
                {std::pmr::string(view(number.name()), heap_), number_of(number.value_bits())});
        }
        for (std::size_t i = 0; i < training.integers()->size(); ++i) {
            const fb::TrainingInteger& integer =
                *training.integers()->Get(static_cast<flatbuffers::uoffset_t>(i));
            check_name("training integer", i, view(integer.name()));
            check_ascending("training integer", view(integer.name()),
                            i == 0 ? "" : std::string_view(state.integers.back().name));
            state.integers.push_back({std::pmr::string(view(integer.name()), heap_), integer.value()});
        }
    }

    // "<parameter>/m": state of the optimizer, element by element beside its parameter.
    void decode_training_tensors() {
        std::pmr::vector<const NamedTensor*> by_name(heap_);
        for (const NamedTensor& parameter : model_.parameters) by_name.push_back(&parameter);
        std::sort(by_name.begin(), by_name.end(),
                  [](const NamedTensor* a, const NamedTensor* b) { return a->name < b->name; });
        each_tensor(fb::Role::training, [&](const fb::Tensor& tensor, const void* data) {
            const ShownName text = shown(view(tensor.name()));
            if (!model_.training)
                fail(VOLTA_CORRUPT_MODEL,
                     "tensor '%.*s' is training state, but the file has no training section", text.bytes,
                     text.text);
            const NamedTensor* parameter = owner_of(view(tensor.name()), by_name);
            if (parameter == nullptr)
                fail(VOLTA_CORRUPT_MODEL, "training tensor '%.*s' belongs to no parameter", text.bytes,
                     text.text);
            NamedTensor state = borrow(tensor, data);
            if (state.dtype != DType::f32 || state.shape != parameter->shape)
                fail(VOLTA_CORRUPT_MODEL, "training tensor '%.*s' is %s%s, its parameter f32%s", text.bytes,
                     text.text, dtype_name(state.dtype), to_text(state.shape).text,
                     to_text(parameter->shape).text);
            model_.training->tensors.push_back(std::move(state));
        });
    }

    // The parameter before the last slash of `name`; NULL: none.
    static const NamedTensor* owner_of(std::string_view name,
                                       const std::pmr::vector<const NamedTensor*>& by_name) {
        const std::size_t slash = name.rfind('/');
        if (slash == name.npos || slash + 1 == name.size()) return nullptr;
        const std::string_view wanted = name.substr(0, slash);
        const auto at =
            std::lower_bound(by_name.begin(), by_name.end(), wanted,
                             [](const NamedTensor* a, std::string_view b) { return a->name < b; });
        return at != by_name.end() && (*at)->name == wanted ? *at : nullptr;
    }

    // The graph's parameters and the file's, one to one and in one order.
    void check_parameters() const {
        std::size_t next = 0;
        for (const SourceInfo& source : model_.graph.sources) {
            const Node& node = model_.graph.nodes[static_cast<std::size_t>(source.node)];
            if (node.op != Op::parameter) continue;
            const ShownName name = shown(node.name);
            if (next == model_.parameters.size() || model_.parameters[next].name != node.name)
                fail(VOLTA_CORRUPT_MODEL, "parameter %zu of its graph is '%.*s', its tensor there is '%s'",
                     next, name.bytes, name.text,
                     next == model_.parameters.size() ? "missing" : model_.parameters[next].name.c_str());
            const NamedTensor& tensor = model_.parameters[next++];
            const Value& value = model_.graph.value(node.first_output);
            if (tensor.dtype != value.dtype || tensor.shape != value.shape)
                fail(VOLTA_CORRUPT_MODEL, "parameter '%.*s' is %s%s in its tensor and %s%s in its graph",
                     name.bytes, name.text, dtype_name(tensor.dtype), to_text(tensor.shape).text,
                     dtype_name(value.dtype), to_text(value.shape).text);
        }
        if (next != model_.parameters.size())
            fail(VOLTA_CORRUPT_MODEL, "tensor '%s' is a parameter that its graph does not have",
                 model_.parameters[next].name.c_str());
    }

    const fb::Model& file_;
    const TensorBytes& bytes_;
    Model& model_;
    std::pmr::memory_resource* heap_;
};

}  // namespace

HeapPtr<Model> decode_model(const fb::Model& file, const TensorBytes& bytes,
                            std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    HeapPtr<Model> model = make_on<Model>(structures, structures, tensors);
    Decoder(file, bytes, *model).decode();
    return model;
}

}  // namespace volta
