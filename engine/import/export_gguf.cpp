#include "engine/import/export_gguf.h"

#include <algorithm>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/import/chat_template.h"
#include "engine/import/export_gguf_tokenizer.h"
#include "engine/import/export_pieces.h"
#include "engine/import/gguf_encode.h"
#include "engine/model/quantize.h"
#include "engine/model/text.h"
#include "engine/numerics/double_functions.h"

namespace volta {
namespace {

// --- what the model is

// Settings of a model that the keys below say, or that mean nothing where nobody trains or reads it on. Any
// other would be lost without a word.
constexpr std::string_view kSaid[] = {"vocabulary",    "layers",    "dim",      "heads",   "kv_heads",
                                      "hidden",        "context",   "tied",     "head",    "epsilon",
                                      "interleaved",   "classes",   "segments", "dropout", "rope_base",
                                      "segment_input", "mask_input"};

void check_settings(const Model& model, std::string_view kind) {
    std::pmr::string prefix("volta.", model.structures());
    prefix += kind;
    prefix += '.';
    for (const Metadata& text : model.metadata) {
        const std::string_view key = text.key;
        if (key.substr(0, prefix.size()) != prefix) continue;
        const ShownName name = shown(key);
        if (std::find(std::begin(kSaid), std::end(kSaid), key.substr(prefix.size())) == std::end(kSaid))
            fail(VOLTA_UNSUPPORTED, "its setting '%.*s' has no form in the GGUF files that are written",
                 name.bytes, name.text);
    }
}

// Keys "<architecture>.<name>".
class ModelKeys {
  public:
    ModelKeys(const char* type, GgufHeader& header, std::pmr::memory_resource* heap)
        : type_(type), header_(header), heap_(heap) {
        header_.text("general.architecture", type);
    }
    void number(const char* name, std::int64_t value) {
        if (value < 0 || value > UINT32_MAX)
            fail(VOLTA_UNSUPPORTED, "its %s, %lld, has no form in a GGUF file", name,
                 static_cast<long long>(value));
        header_.u32(key(name), static_cast<std::uint32_t>(value));
    }
    void real(const char* name, double value) { header_.f32(key(name), static_cast<float>(value)); }
    void truth(const char* name, bool value) { header_.boolean(key(name), value); }

    // What all three have.
    void sizes(std::int64_t vocabulary, std::int64_t layers, std::int64_t dim, std::int64_t hidden,
               std::int64_t heads, std::int64_t context) {
        number("vocab_size", vocabulary);
        number("context_length", context);
        number("embedding_length", dim);
        number("feed_forward_length", hidden);
        number("block_count", layers);
        number("attention.head_count", heads);
    }

  private:
    std::pmr::string key(const char* name) const {
        std::pmr::string whole(type_, heap_);
        whole += '.';
        whole += name;
        return whole;
    }
    const char* type_;
    GgufHeader& header_;
    std::pmr::memory_resource* heap_;
};

void write_keys(const GptConfig& gpt, GgufHeader& header, std::pmr::memory_resource* heap) {
    ModelKeys keys("gpt2", header, heap);
    keys.sizes(gpt.vocabulary, gpt.layers, gpt.dim, 4 * gpt.dim, gpt.heads, gpt.context);
    keys.real("attention.layer_norm_epsilon", 1e-5);
}

void write_llama(const char* type, const LlamaConfig& llama, GgufHeader& header,
                 std::pmr::memory_resource* heap) {
    ModelKeys keys(type, header, heap);
    keys.sizes(llama.vocabulary, llama.layers, llama.dim, llama.hidden, llama.heads, llama.context);
    keys.number("attention.head_count_kv", llama.kv_heads);
    keys.real("attention.layer_norm_rms_epsilon", llama.epsilon);
    keys.number("rope.dimension_count", llama.dim / llama.heads);
    keys.real("rope.freq_base", llama.rope_base);
}

void write_keys(const LlamaConfig& llama, GgufHeader& header, std::pmr::memory_resource* heap) {
    write_llama("llama", llama, header, heap);
}

constexpr std::uint32_t kRankPooling = 4;  // the head of classes is computed

void write_keys(const BertConfig& bert, GgufHeader& header, std::pmr::memory_resource* heap) {
    if (bert.head == BertHead::masked)
        fail(VOLTA_UNSUPPORTED, "the masked head of a BERT has no form in a GGUF file");
    if (bert.head == BertHead::tokens)
        fail(VOLTA_UNSUPPORTED, "a BERT's labels of tokens have no form in a GGUF file");
    if (bert.segments == 0 || bert.pools_by_relu)
        fail(VOLTA_UNSUPPORTED, "an encoder without segments has no form in a GGUF file");
    ModelKeys keys("bert", header, heap);
    keys.sizes(bert.vocabulary, bert.layers, bert.dim, bert.hidden, bert.heads, bert.context);
    keys.real("attention.layer_norm_epsilon", bert.epsilon);
    keys.truth("attention.causal", false);
    if (bert.head == BertHead::classes) keys.number("pooling_type", kRankPooling);
    header.u32("tokenizer.ggml.token_type_count", static_cast<std::uint32_t>(bert.segments));
}

void write_keys(const NetworkConfig& network, GgufHeader&, std::pmr::memory_resource*) {
    fail(VOLTA_UNSUPPORTED, "a %s has no form in a GGUF file", network.network->name);
}

// A Qwen 2 is a Llama of halves with biases of q, k and v, and a Llama 3.1 one with other frequencies,
// neither with anything else; dropout has no meaning there.
void write_keys(const DecoderConfig& decoder, GgufHeader& header, std::pmr::memory_resource* heap) {
    DecoderConfig without = decoder;
    without.qkv_bias = false;
    without.frequencies.count = 0;
    without.dropout = 0;
    const std::optional<LlamaConfig> llama = as_llama(without);
    const bool has_frequencies = decoder.frequencies.count > 0;
    const bool is_qwen2 = decoder.qkv_bias && !decoder.interleaved && !has_frequencies;
    if (!llama || (!is_qwen2 && (decoder.qkv_bias || !has_frequencies)))
        fail(VOLTA_UNSUPPORTED,
             "of decoders, GPT-2, Llama and Qwen 2 are written as GGUF files; this one is none of them");
    write_llama(is_qwen2 ? "qwen2" : "llama", *llama, header, heap);
}

// By which the base's frequency of each pair is divided; empty: by nothing.
std::pmr::vector<float> rope_factors(const Architecture& architecture, std::pmr::memory_resource* heap) {
    std::pmr::vector<float> factors(heap);
    const auto* decoder = std::get_if<DecoderConfig>(&architecture);
    if (decoder == nullptr) return factors;
    const std::int64_t pairs = decoder->frequencies.count;
    for (std::int64_t i = 0; i < pairs; ++i)
        factors.push_back(static_cast<float>(rotary_frequency(i, 2 * pairs, decoder->rope_base) /
                                             static_cast<double>(decoder->frequencies.values[i])));
    return factors;
}

std::int64_t vocabulary_of(const Architecture& architecture) {
    if (const auto* gpt = std::get_if<GptConfig>(&architecture)) return gpt->vocabulary;
    if (const auto* llama = std::get_if<LlamaConfig>(&architecture)) return llama->vocabulary;
    if (const auto* decoder = std::get_if<DecoderConfig>(&architecture)) return decoder->vocabulary;
    if (const auto* bert = std::get_if<BertConfig>(&architecture)) return bert->vocabulary;
    return 0;
}

// --- tensors

struct OutputTensor {
    Piece piece;
    const GgufOutputType* type;
    std::uint64_t bytes() const {
        return static_cast<std::uint64_t>(piece.shape().elements()) / type->block_values * type->block_bytes;
    }
    // Integers and scales that the type has as they are.
    bool keeps_blocks() const {
        return has_scales(piece.parameter->dtype) && piece.parameter->dtype == type->of;
    }
};

// Weights of products and tables of tokens become what is wanted, others f32; so do rows that are no whole
// blocks.
const GgufOutputType& type_of(const Piece& piece, bool is_weight, std::optional<DType> wanted) {
    const GgufOutputType& plain = *find_gguf_output(DType::f32);
    if (!is_weight) return plain;
    const GgufOutputType& type = *find_gguf_output(wanted.value_or(piece.parameter->dtype));
    return piece.shape().last() % type.block_values == 0 ? type : plain;
}

std::pmr::vector<OutputTensor> tensors_of(const Model& model, std::pmr::vector<Piece>&& pieces,
                                          std::optional<DType> wanted, std::pmr::memory_resource* heap) {
    const auto layouts = weight_layouts(model.graph, heap);
    std::pmr::vector<OutputTensor> tensors(heap);
    for (Piece& piece : pieces) {
        const ValueId value = model.graph.find_source(piece.parameter->name.c_str());
        const bool is_weight = layouts[static_cast<std::size_t>(value)] != WeightLayout::other;
        const GgufOutputType& type = type_of(piece, is_weight, wanted);
        tensors.push_back({std::move(piece), &type});
    }
    return tensors;
}

// Rotary pairs of Llama are neighbours in these files: rows of q and k that are two halves change places. The
// width of a head whose rows do; 0: none.
std::int64_t paired_width(const Architecture& architecture) {
    if (const auto* llama = std::get_if<LlamaConfig>(&architecture))
        return llama->interleaved ? 0 : llama->dim / llama->heads;
    const auto* decoder = std::get_if<DecoderConfig>(&architecture);
    const bool is_llama = decoder != nullptr && !decoder->qkv_bias;
    return is_llama && !decoder->interleaved ? decoder->dim / decoder->heads : 0;
}

void pair_rows(const Architecture& architecture, std::pmr::vector<Piece>& pieces) {
    const std::int64_t width = paired_width(architecture);
    if (width == 0) return;
    for (Piece& piece : pieces)
        for (const std::string_view part : {".attn_q.", ".attn_k."})
            if (std::string_view(piece.name).find(part) != std::string_view::npos) piece.pairs = width;
}

class TensorWriter {
  public:
    TensorWriter(AtomicFile& file, std::pmr::memory_resource* heap)
        : file_(file), values_(heap), bytes_(heap) {}

    void write(const OutputTensor& tensor) {
        const Shape shape = tensor.piece.shape();
        for (std::int64_t first = 0; first < shape.rows(); first += kPieceRows)
            write_rows(tensor, first, std::min(kPieceRows, shape.rows() - first), shape.last());
        pad(tensor.bytes());
    }
    void write_whole(const void* data, std::uint64_t bytes) {
        file_.write(data, static_cast<std::size_t>(bytes));
        pad(bytes);
    }

  private:
    void pad(std::uint64_t bytes) {
        constexpr char kPadding[kGgufAlignment] = {};
        file_.write(kPadding, static_cast<std::size_t>(GgufHeader::padding(bytes)));
    }

    void write_rows(const OutputTensor& tensor, std::int64_t first, std::int64_t count, std::int64_t width) {
        const GgufOutputType& type = *tensor.type;
        const std::int64_t row_bytes = width / type.block_values * type.block_bytes;
        bytes_.resize(static_cast<std::size_t>(count * row_bytes));
        if (tensor.keeps_blocks()) {
            for (std::int64_t i = 0; i < count; ++i)
                keep_row(tensor.piece, first + i, bytes_.data() + i * row_bytes);
        } else {
            values_.resize(static_cast<std::size_t>(count * width));
            tensor.piece.read_rows(first, count, values_.data());
            const ShownName name = shown(tensor.piece.parameter->name);
            if (!type.encode(values_.data(), count * width, bytes_.data()))
                fail(VOLTA_UNSUPPORTED,
                     "parameter '%.*s' cannot be written as %s: it has values that are not finite, or too "
                     "large for it",
                     name.bytes, name.text, type.name);
        }
        file_.write(bytes_.data(), bytes_.size());
    }

    static void keep_row(const Piece& piece, std::int64_t row, unsigned char* out) {
        const NamedTensor& parameter = *piece.parameter;
        const StoredWeights stored = {parameter.dtype, static_cast<const unsigned char*>(parameter.data),
                                      parameter.shape[0], parameter.shape[1]};
        encode_stored_row(stored, (piece.transposed ? piece.span.first : 0) + piece.source_of(row), out);
    }

    AtomicFile& file_;
    std::pmr::vector<float> values_;
    std::pmr::vector<unsigned char> bytes_;
};

// Of most matrices' elements, for those who list files.
std::uint32_t file_type_of(const std::pmr::vector<OutputTensor>& tensors) {
    const GgufOutputType* most = find_gguf_output(DType::f32);
    std::int64_t largest = 0;
    for (const OutputTensor& tensor : tensors) {
        std::int64_t elements = 0;
        for (const OutputTensor& other : tensors)
            if (other.type == tensor.type) elements += other.piece.shape().elements();
        if (elements > largest) {
            largest = elements;
            most = tensor.type;
        }
    }
    return most->file_type;
}

void write_template(const Model& model, GgufHeader& header, std::pmr::memory_resource* heap) {
    const std::pmr::string* name = model.find_metadata(kChatFormatKey);
    const ChatFormat* format = name != nullptr ? find_chat_format(*name) : nullptr;
    if (!model.tokenizer || format == nullptr) return;
    const std::pmr::string* system = model.find_metadata(kChatSystemKey);
    header.text("tokenizer.chat_template",
                write_chat_template(*format, system != nullptr ? system->c_str() : nullptr, heap));
}

}  // namespace

void export_gguf(const Model& model, const char* path, const GgufExport& wanted,
                 std::pmr::memory_resource* heap) {
    const std::pmr::string* kind = model.find_metadata("volta.architecture");
    if (kind == nullptr)
        fail(VOLTA_UNSUPPORTED,
             "a graph of the host's own has no form in a GGUF file, which holds weights alone");
    const Architecture architecture = architecture_from_texts(model.metadata);
    GgufHeader header(heap);
    std::visit([&](const auto& config) { write_keys(config, header, heap); }, architecture);
    const auto* decoder = std::get_if<DecoderConfig>(&architecture);  // which has told what it is not
    if (decoder == nullptr) check_settings(model, *kind);
    const Naming& naming = find_naming("gguf", decoder == nullptr  ? std::string_view(*kind)
                                               : decoder->qkv_bias ? "qwen2"
                                                                   : "llama");
    std::pmr::vector<Piece> pieces = pieces_of(model, naming, architecture, heap);
    pair_rows(architecture, pieces);
    const auto tensors = tensors_of(model, std::move(pieces), wanted.weights, heap);
    header.u32("general.file_type", file_type_of(tensors));
    header.u32("general.quantization_version", 2);
    if (model.tokenizer && !wanted.no_tokenizer)
        write_gguf_tokenizer(model.tokenizer->vocabulary(), vocabulary_of(architecture), header);
    else
        write_no_gguf_tokenizer(header);
    if (!wanted.no_tokenizer) write_template(model, header, heap);
    for (const OutputTensor& tensor : tensors)
        header.add_tensor(tensor.piece.name, tensor.piece.shape(), tensor.type->id, tensor.bytes());
    const std::pmr::vector<float> factors = rope_factors(architecture, heap);
    const std::uint64_t factor_bytes = factors.size() * sizeof(float);
    if (!factors.empty())
        header.add_tensor("rope_freqs.weight", Shape{static_cast<std::int64_t>(factors.size())},
                          find_gguf_output(DType::f32)->id, factor_bytes);
    AtomicFile file(path, heap, *wanted.stop);
    const std::pmr::string head = header.finish();
    file.write(head.data(), head.size());
    TensorWriter writer(file, heap);
    for (const OutputTensor& tensor : tensors) writer.write(tensor);
    if (!factors.empty()) writer.write_whole(factors.data(), factor_bytes);
    file.commit();
}

}  // namespace volta
