// libFuzzer's mutations of model files. Plain ones end at the magic or at the metadata's checksum, so most
// here are made behind them: of the metadata's bytes, or of the model that they describe.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>

#include "tests/model/model_editor.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace volta::test {
namespace {

struct Dice {
    std::uint64_t state;
    std::uint64_t next() {  // SplitMix64
        std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(next() % n); }
    bool one_in(std::size_t n) { return below(n) == 0; }
    template <class T, std::size_t N>
    const T& of(const T (&items)[N]) {
        return items[below(N)];
    }
    template <class T>
    auto& of(T& items) {
        return *std::next(items.begin(), static_cast<std::ptrdiff_t>(below(items.size())));
    }
};

const char* const kOperators[] = {"input",
                                  "parameter",
                                  "state",
                                  "constant",
                                  "neg",
                                  "exp",
                                  "pow",
                                  "clamp",
                                  "add",
                                  "div",
                                  "maximum",
                                  "less",
                                  "where",
                                  "gelu_tanh_grad",
                                  "maximum_grad",
                                  "minimum_grad",
                                  "dropout",
                                  "fused",
                                  "softmax",
                                  "softmax_grad",
                                  "log_softmax",
                                  "layer_norm",
                                  "layer_norm_grad",
                                  "layer_norm_grad_scale",
                                  "rms_norm",
                                  "cross_entropy",
                                  "cross_entropy_grad",
                                  "cross_entropy_with_grad",
                                  "mse",
                                  "sum",
                                  "mean",
                                  "max",
                                  "min",
                                  "max_grad",
                                  "argmax",
                                  "reshape",
                                  "transpose",
                                  "concat",
                                  "slice",
                                  "slice_grad",
                                  "broadcast_to",
                                  "position_ids",
                                  "gather",
                                  "embedding_gradient",
                                  "matmul",
                                  "attention",
                                  "attention_grad",
                                  "accumulate",
                                  "stack",
                                  "square_sum",
                                  "clip_factor",
                                  "sgd",
                                  "adamw"};
const char* const kAttributes[] = {
    "axis",     "axes",         "keep_dims", "shape",   "permutation",   "begin",       "end",
    "exponent", "low",          "high",      "epsilon", "transpose_a",   "transpose_b", "accumulate",
    "heads",    "kv_heads",     "causal",    "scale",   "probability",   "stream",      "rows",
    "limit",    "maximum_norm", "nesterov",  "operand", "micro_batches", "packed"};
const double kNumbers[] = {
    0,     1,      2,      3,         -1,         -2,           0.5,          0.1,
    8,     64,     1e-5,   -0.0,      1e9,        2147483647.0, 4294967296.0, 9007199254740992.0,
    1e300, -1e300, 5e-324, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0};
const std::int64_t kExtents[] = {0,
                                 1,
                                 2,
                                 3,
                                 4,
                                 5,
                                 8,
                                 12,
                                 -1,
                                 -2,
                                 16,
                                 64,
                                 65536,
                                 2147483647,
                                 std::int64_t{1} << 31,
                                 std::int64_t{1} << 40,
                                 INT64_MAX,
                                 INT64_MIN};

std::vector<std::int64_t> some_extents(Dice& dice) {
    std::vector<std::int64_t> extents(dice.below(dice.one_in(8) ? 10 : 4));
    for (auto& extent : extents) extent = dice.one_in(3) ? dice.of(kExtents) : kExtents[dice.below(8)];
    return extents;
}

void mutate_text(Dice& dice, std::string& text) {
    const std::size_t at = dice.below(text.size() + 1);
    switch (dice.below(4)) {
        case 0:
            text.insert(at, 1, static_cast<char>(dice.next()));
            break;
        case 1:
            text = text.substr(0, at);
            break;
        case 2:
            text += text;
            break;
        default:
            if (at < text.size()) text[at] = static_cast<char>(dice.next());
    }
}

void mutate_attribute(Dice& dice, object::NodeT& node) {
    if (node.attributes.empty() || dice.one_in(4)) {
        node.attributes.push_back(std::make_unique<object::AttributeT>());
        node.attributes.back()->name = dice.of(kAttributes);
    }
    object::AttributeT& attribute = *dice.of(node.attributes);
    switch (dice.below(4)) {
        case 0:
            attribute.name = dice.of(kAttributes);
            break;
        case 1:
            attribute.integers = some_extents(dice);
            break;
        case 2:
            std::swap(node.attributes.front(), node.attributes.back());
            break;
        default:
            const double number = dice.of(kNumbers);
            std::memcpy(&attribute.number_bits, &number, sizeof number);
    }
}

void mutate_node(Dice& dice, object::GraphT& graph) {
    auto& nodes = graph.nodes;
    if (nodes.empty() || dice.one_in(8)) {
        auto made = nodes.empty() ? std::make_unique<object::NodeT>()
                                  : std::make_unique<object::NodeT>(*dice.of(nodes));
        if (dice.one_in(2)) made->name += "'";
        nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(dice.below(nodes.size() + 1)),
                     std::move(made));
    }
    object::NodeT& node = *dice.of(nodes);
    switch (dice.below(9)) {
        case 0:
            node.op = dice.of(kOperators);
            break;
        case 1:
            node.inputs.push_back(static_cast<std::int32_t>(dice.below(nodes.size() + 2)));
            break;
        case 2:
            if (!node.inputs.empty())
                dice.of(node.inputs) = static_cast<std::int32_t>(dice.below(nodes.size() + 2)) - 1;
            break;
        case 3:
            if (!node.inputs.empty()) node.inputs.pop_back();
            break;
        case 4:
            node.shape = some_extents(dice);
            break;
        case 5:
            node.dtype = static_cast<object::DType>(dice.below(4));
            break;
        case 6:
            std::swap(dice.of(nodes), dice.of(nodes));
            break;
        case 7:
            mutate_text(dice, node.name);
            break;
        default:
            mutate_attribute(dice, node);
    }
}

// A parameter and its tensor together, so that the model can stay whole.
void reshape_parameter(Dice& dice, ModelEditor& editor) {
    if (editor.model.tensors.empty()) return;
    object::TensorT& tensor = *dice.of(editor.model.tensors);
    tensor.shape = some_extents(dice);
    if (editor.model.graph == nullptr) return;
    for (auto& node : editor.model.graph->nodes)
        if (node->name == tensor.name) node->shape = tensor.shape;
}

void mutate_tensor(Dice& dice, object::ModelT& model) {
    auto& tensors = model.tensors;
    if (tensors.empty()) return;
    object::TensorT& tensor = *dice.of(tensors);
    switch (dice.below(8)) {
        case 0:
            tensor.offset += static_cast<std::uint64_t>(dice.of(kExtents));
            break;
        case 1:
            tensor.bytes = static_cast<std::uint64_t>(dice.of(kExtents));
            break;
        case 2:
            tensor.role = static_cast<object::Role>(dice.below(5));
            break;
        case 3:
            tensor.dtype = static_cast<object::DType>(dice.below(4));
            break;
        case 4:
            mutate_text(dice, tensor.name);
            break;
        case 5:
            tensors.push_back(std::make_unique<object::TensorT>(tensor));
            break;
        case 6:
            tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(dice.below(tensors.size())));
            break;
        default:
            std::swap(dice.of(tensors), dice.of(tensors));
    }
}

constexpr const char* kStepTexts[] = {
    "", " ", "a", "\\s+", "(?:a|b)*?c{2,3}", "[^\\p{L}&&[a-z]]", "\xe2\x96\x81", "\xff", "(?=", "##"};

void mutate_steps(Dice& dice, std::vector<std::unique_ptr<object::TextStepT>>& steps) {
    const auto text = [&](std::vector<std::uint8_t>& bytes) {
        const std::string_view chosen = kStepTexts[dice.below(sizeof kStepTexts / sizeof *kStepTexts)];
        bytes.assign(chosen.begin(), chosen.end());
    };
    if (steps.empty() || dice.below(2) == 0) steps.push_back(std::make_unique<object::TextStepT>());
    object::TextStepT& step = *steps[dice.below(steps.size())];
    step.kind = static_cast<std::uint8_t>(dice.below(16));
    step.number = static_cast<std::uint32_t>(dice.below(14));
    text(step.first);
    text(step.second);
}

void mutate_tokenizer(Dice& dice, object::ModelT& model) {
    if (model.tokenizer == nullptr) model.tokenizer = std::make_unique<object::TokenizerT>();
    object::TokenizerT& tokenizer = *model.tokenizer;
    switch (dice.below(13)) {
        case 9:
        case 10:
            mutate_steps(dice, dice.below(2) == 0   ? tokenizer.normalisers
                               : dice.below(2) == 0 ? tokenizer.cutters
                                                    : tokenizer.decoders);
            break;
        case 11:
            tokenizer.wide_scores.assign(tokenizer.piece_ends.size(), -static_cast<double>(dice.below(4)));
            break;
        case 12:
            tokenizer.added.assign(tokenizer.piece_ends.size(), static_cast<std::uint8_t>(dice.below(33)));
            break;
        case 0:
            tokenizer.kind = static_cast<object::TokenizerKind>(dice.below(13));
            break;
        case 4:
            tokenizer.piece_types.assign(tokenizer.piece_ends.size(),
                                         static_cast<std::uint8_t>(dice.below(6)));
            break;
        case 5:
            tokenizer.scores.assign(tokenizer.piece_ends.size(), static_cast<float>(dice.below(4)));
            break;
        case 6:
            tokenizer.merges.push_back(static_cast<std::int32_t>(dice.below(8)));
            tokenizer.merges.push_back(static_cast<std::int32_t>(dice.below(8)));
            break;
        case 7:
            tokenizer.bos = static_cast<std::int32_t>(dice.below(8)) - 2;
            tokenizer.unk = static_cast<std::int32_t>(dice.below(8)) - 1;
            break;
        case 8:
            tokenizer.flags = static_cast<std::uint32_t>(dice.below(1024));
            tokenizer.split = static_cast<std::uint8_t>(dice.below(3));
            tokenizer.most_word_characters = static_cast<std::uint32_t>(dice.below(3)) * 50;
            break;
        case 1:
            tokenizer.piece_bytes.push_back(static_cast<std::uint8_t>(dice.next()));
            break;
        case 2:
            tokenizer.piece_ends.push_back(static_cast<std::uint32_t>(tokenizer.piece_bytes.size()));
            break;
        default:
            if (!tokenizer.piece_bytes.empty())
                dice.of(tokenizer.piece_bytes) = static_cast<std::uint8_t>(dice.next());
    }
}

void mutate_rest(Dice& dice, object::ModelT& model) {
    switch (dice.below(7)) {
        case 0:
            model.minor_version = static_cast<std::uint32_t>(dice.below(3));
            break;
        case 1:
            mutate_tokenizer(dice, model);
            break;
        case 2:
            model.tokenizer.reset();
            break;
        case 3:
            model.data_bytes += static_cast<std::uint64_t>(dice.of(kExtents));
            break;
        case 4:
            if (model.training == nullptr) model.training = std::make_unique<object::TrainingT>();
            model.training->integers.push_back(std::make_unique<object::TrainingIntegerT>());
            model.training->integers.back()->name =
                std::string(1 + dice.below(3), static_cast<char>('a' + dice.below(26)));
            break;
        case 5:
            model.metadata.push_back(std::make_unique<object::KeyValueT>());
            model.metadata.back()->key =
                std::string(1 + dice.below(3), static_cast<char>('a' + dice.below(26)));
            break;
        default:
            if (!model.metadata.empty()) mutate_text(dice, dice.of(model.metadata)->value);
    }
}

bool fits(const ModelEditor& editor) {
    std::uint64_t total = 0;
    for (const auto& tensor : editor.model.tensors) {
        std::uint64_t elements = 1;
        for (const std::int64_t extent : tensor->shape) {
            if (extent < 0 || extent > 4096) return false;
            elements *= static_cast<std::uint64_t>(extent);
            if (elements > 4096) return false;
        }
        total += elements * 4 + 64;
    }
    return total < 16384;
}

void mutate_output(Dice& dice, object::GraphT& graph) {
    graph.outputs.push_back(std::make_unique<object::OutputT>());
    graph.outputs.back()->name = std::string(1 + dice.below(2), static_cast<char>('a' + dice.below(26)));
    graph.outputs.back()->value = static_cast<std::int32_t>(dice.below(graph.nodes.size() + 2)) - 1;
}

std::string mutate_model(Dice& dice, ModelEditor& editor) {
    for (std::size_t i = 1 + dice.below(4); i > 0; --i) {
        object::GraphT* graph = editor.model.graph.get();
        switch (dice.below(8)) {
            case 0:
                mutate_tensor(dice, editor.model);
                break;
            case 1:
                mutate_rest(dice, editor.model);
                break;
            case 2:
                reshape_parameter(dice, editor);
                break;
            case 3:
                if (graph != nullptr) mutate_output(dice, *graph);
                break;
            default:
                if (graph != nullptr) mutate_node(dice, *graph);
        }
    }
    if (!dice.one_in(4) && fits(editor)) relayout(editor);
    return put_together(editor);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    Dice dice{seed};
    ModelEditor editor;
    const std::string_view file(reinterpret_cast<const char*>(data), size);
    if (dice.one_in(8) || !take_apart(file, &editor)) return LLVMFuzzerMutate(data, size, max_size);
    std::string made;
    if (dice.one_in(4)) {
        std::uint32_t bytes;
        std::memcpy(&bytes, data + 12, sizeof bytes);
        std::string metadata(file.substr(16, bytes));
        metadata.resize(bytes + 64);
        auto* at = reinterpret_cast<std::uint8_t*>(&metadata[0]);
        metadata.resize(LLVMFuzzerMutate(at, bytes, metadata.size()));
        made = frame(metadata, editor.data);
    } else {
        made = mutate_model(dice, editor);
    }
    if (made.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
    std::copy_n(reinterpret_cast<const std::uint8_t*>(made.data()), made.size(), data);
    return made.size();
}

}  // namespace volta::test
