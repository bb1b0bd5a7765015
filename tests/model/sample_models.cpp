#include "tests/model/sample_models.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/model/gpt.h"
#include "engine/model/quantize.h"
#include "tests/support/tensors.h"

namespace volta::test {
namespace {

using Text = std::pmr::string;

NamedTensor make_state(const NamedTensor& parameter, const char* suffix, std::uint64_t seed, Model& model) {
    NamedTensor state;
    state.name = Text(parameter.name, model.structures());
    state.name += suffix;
    state.shape = parameter.shape;
    state.owned = Buffer(model.tensors(), parameter.bytes());
    Random random(seed);
    auto* values = static_cast<float*>(state.owned.data());
    for (std::int64_t i = 0; i < parameter.shape.elements(); ++i) {
        // No libm: a golden file is the same on every machine.
        const float x = random.uniform() - 0.5f;
        values[i] = random.below(32) == 0 ? 0.0f : x * 0x1p-9f;
    }
    state.data = state.owned.data();
    return state;
}

}  // namespace

HeapPtr<Model> make_golden_gpt(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    GptConfig config;
    config.layers = 1;
    config.dim = 12;
    config.heads = 2;
    config.context = 8;
    config.dropout = 0.125;
    Tokenizer tokenizer = Tokenizer::make_character("Voltá: ⚡ 𝛑≈3.14\n", structures);
    config.vocabulary = tokenizer.size();
    HeapPtr<Model> model = create_gpt(config, 42, structures, tensors);
    model->tokenizer.emplace(std::move(tokenizer));
    model->set_metadata("title", "golden: a GPT in the middle of its training");
    model->set_metadata("licence", "");

    TrainingState& training = model->training.emplace(structures);
    const double inf = std::numeric_limits<double>::infinity();
    training.numbers.push_back({Text("beta1", structures), 0.9});
    training.numbers.push_back({Text("beta1_product", structures), 0.9 * 0.9 * 0.9});
    training.numbers.push_back({Text("clip_norm", structures), inf});
    training.numbers.push_back({Text("least", structures), 4.9406564584124654e-324});
    training.numbers.push_back({Text("minus_zero", structures), -0.0});
    training.numbers.push_back({Text("zero", structures), 0.0});
    training.integers.push_back({Text("seed", structures), 0xffffffffffffffffu});
    training.integers.push_back({Text("step", structures), 3});
    training.integers.push_back({Text("warmup_steps", structures), 0});
    std::uint64_t seed = 1;
    for (const NamedTensor& parameter : model->parameters) {
        training.tensors.push_back(make_state(parameter, "/m", seed++, *model));
        training.tensors.push_back(make_state(parameter, "/v", seed++, *model));
    }
    return model;
}

HeapPtr<Model> make_golden_graph(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    Graph graph(structures);
    const ValueId x = graph.input("x", DType::f32, {-1, 3});
    const ValueId mask = graph.input("mask", DType::i32, {-1, 3});
    const ValueId weight = graph.parameter("Gewicht ⚖", {3, 4}, {VOLTA_INIT_UNIFORM, -0.5, 0.5});
    const ValueId gain = graph.parameter("gain", {}, {VOLTA_INIT_CONSTANT, 2, 0});
    graph.parameter("empty", {0, 5}, {VOLTA_INIT_NORMAL, 1, 0});
    const float table[] = {1, -0.0f, 0x1p-149f, std::numeric_limits<float>::infinity()};
    const ValueId floats = graph.constant(DType::f32, {1, 4}, table);
    const std::int32_t numbers[] = {-1, 0, 2147483647};
    const ValueId integers = graph.constant(DType::i32, {3}, numbers);
    const ValueId half = graph.scalar(0.5f);

    const ValueId chosen = graph.apply(Op::where, {mask, x, half});
    const ValueId product = graph.apply(Op::matmul, {chosen, weight});
    graph.nodes.back().name = "product";
    const ValueId scaled = graph.apply(Op::mul, {product, gain});
    const ValueId shifted = graph.apply(Op::add, {scaled, floats});
    const ValueId clamped =
        graph.apply(Op::clamp, {shifted}, {number(Attr::low, -1), number(Attr::high, 0x1.8p0)});
    const ValueId turned = graph.apply(Op::transpose, {clamped}, {list(Attr::permutation, {1, 0})});
    const ValueId total = graph.apply(Op::sum, {turned}, {list(Attr::axes, {0}), number(Attr::keep_dims, 1)});
    graph.output("y", clamped);
    graph.output("total", total);
    graph.output("integers", integers);
    graph.output("again", clamped);
    HeapPtr<Model> model = Model::create(graph, 7, structures, tensors);
    model->set_metadata("note", "ünïcode, \"quotes\" and\ntwo lines");
    return model;
}

namespace {

// The smallest GPT that has this vocabulary.
HeapPtr<Model> make_with_tokenizer(Vocabulary&& vocabulary, std::pmr::memory_resource* structures,
                                   std::pmr::memory_resource* tensors) {
    GptConfig config;
    config.vocabulary = vocabulary.size();
    config.layers = config.heads = 1;
    config.dim = config.context = 2;
    HeapPtr<Model> model = create_gpt(config, 3, structures, tensors);
    model->tokenizer.emplace(Tokenizer::from_vocabulary(std::move(vocabulary)));
    return model;
}

void add_piece(Vocabulary& vocabulary, const char* piece, PieceType type = PieceType::normal) {
    vocabulary.pieces.emplace_back(piece);
    vocabulary.types.push_back(type);
}

}  // namespace

HeapPtr<Model> make_golden_bpe(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    Vocabulary v(structures);
    v.kind = TokenizerKind::bpe;
    v.options.split = WordSplit::gpt2;
    for (const char* piece : {"a", "b", " ", "\xff", "ab", " ab"}) add_piece(v, piece);
    add_piece(v, "<|endoftext|>", PieceType::control);
    v.merges.push_back({0, 1});
    v.merges.push_back({2, 4});
    v.options.bos = v.options.eos = 6;
    return make_with_tokenizer(std::move(v), structures, tensors);
}

HeapPtr<Model> make_golden_spm(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    Vocabulary v(structures);
    v.kind = TokenizerKind::spm;
    add_piece(v, "<unk>", PieceType::unknown);
    add_piece(v, "<s>", PieceType::control);
    add_piece(v, "</s>", PieceType::control);
    add_piece(v, "<0x0A>", PieceType::byte);
    add_piece(v, "TOOL", PieceType::user);
    for (const char* piece : {"\xe2\x96\x81", "a", "\xe2\x96\x81\x61"}) add_piece(v, piece);
    v.scores.assign({0, 0, 0, 0, 0, -1e9f, -2.5f, -0.0f});
    v.options.unk = 0;
    v.options.bos = 1;
    v.options.eos = 2;
    v.options.flags = kAddBos | kAddEos | kSpacePrefix;
    return make_with_tokenizer(std::move(v), structures, tensors);
}

// Every kind of step once, in an order in which each does something.
HeapPtr<Model> make_golden_stepped_bpe(std::pmr::memory_resource* structures,
                                       std::pmr::memory_resource* tensors) {
    Vocabulary v(structures);
    v.kind = TokenizerKind::stepped_bpe;
    add_piece(v, "<unk>", PieceType::unknown);
    add_piece(v, "<s>", PieceType::control);
    add_piece(v, "TOOL", PieceType::user);
    for (const char* piece : {"a", "b", "ab", " ", " a"}) add_piece(v, piece);
    v.merges.push_back({3, 4});
    v.merges.push_back({6, 3});
    v.added.assign(v.pieces.size(), 0);
    v.added[1] = kTakesLeft;
    v.added[2] = kSingleWord | kTakesRight | kNormalised;
    v.options.unk = 0;
    v.options.bos = 1;
    v.options.flags = kAddBos | kWholeWords | kFuseUnknown | kBytePieces;
    const auto normalise = [&](NormaliserKind kind, std::uint32_t number = 0, const char* first = "",
                               const char* second = "") {
        v.normalisers.emplace_back(static_cast<std::uint8_t>(kind), number, first, second);
    };
    for (const NormaliserKind kind :
         {NormaliserKind::nfc, NormaliserKind::nfd, NormaliserKind::nfkc, NormaliserKind::nfkd,
          NormaliserKind::small_letters, NormaliserKind::drop_marks, NormaliserKind::drop_accents,
          NormaliserKind::clean, NormaliserKind::space_chinese})
        normalise(kind);
    normalise(NormaliserKind::replace, 0, "x", "a");
    normalise(NormaliserKind::replace_expression, 0, "[yz]+", "b");
    normalise(NormaliserKind::strip, 3);
    normalise(NormaliserKind::prepend, 0, "a");
    const auto cut = [&](CutterKind kind, std::uint32_t number = 0, const char* first = "") {
        v.cutters.emplace_back(static_cast<std::uint8_t>(kind), number, first, "");
    };
    cut(CutterKind::split, static_cast<std::uint32_t>(SplitBehaviour::merged_with_next), "\\s");
    cut(CutterKind::split, static_cast<std::uint32_t>(SplitBehaviour::removed) | kSplitInverted,
        "[^\\p{Han}]+");
    cut(CutterKind::gpt2_words);
    cut(CutterKind::metaspace, static_cast<std::uint32_t>(PrependScheme::first), "\xe2\x96\x81");
    cut(CutterKind::space_before);
    cut(CutterKind::byte_letters);
    v.decoders.emplace_back(static_cast<std::uint8_t>(DecoderKind::bytes), 0u, "", "");
    v.decoders.emplace_back(static_cast<std::uint8_t>(DecoderKind::fuse), 0u, "", "");
    v.decoders.emplace_back(static_cast<std::uint8_t>(DecoderKind::strip), 1u, " ", "");
    return make_with_tokenizer(std::move(v), structures, tensors);
}

HeapPtr<Model> make_golden_unigram(std::pmr::memory_resource* structures,
                                   std::pmr::memory_resource* tensors) {
    Vocabulary v(structures);
    v.kind = TokenizerKind::unigram;
    add_piece(v, "<unk>", PieceType::unknown);
    add_piece(v, "<0x0A>", PieceType::byte);
    for (const char* piece : {"\xe2\x96\x81", "a", "aa"}) add_piece(v, piece);
    v.wide_scores.assign({0, 0, -1.0 / 3, -2.5, -4.75});
    v.options.unk = 0;
    v.options.flags = kByteFallback | kFuseUnknown;
    v.cutters.emplace_back(static_cast<std::uint8_t>(CutterKind::metaspace), 1u, "\xe2\x96\x81", "");
    v.decoders.emplace_back(static_cast<std::uint8_t>(DecoderKind::byte_pieces), 0u, "", "");
    v.decoders.emplace_back(static_cast<std::uint8_t>(DecoderKind::metaspace), 1u, "\xe2\x96\x81", "");
    return make_with_tokenizer(std::move(v), structures, tensors);
}

HeapPtr<Model> make_golden_sentencepiece(std::pmr::memory_resource* structures,
                                         std::pmr::memory_resource* tensors) {
    Vocabulary v(structures);
    v.kind = TokenizerKind::sentencepiece_unigram;
    add_piece(v, "<unk>", PieceType::unknown);
    add_piece(v, "</s>", PieceType::control);
    add_piece(v, "<sep>", PieceType::user);
    for (const char* piece : {"\xe2\x96\x81", "a", "aa"}) add_piece(v, piece);
    v.scores.assign({0, 0, 0, -1.0f / 3, -2.5f, -4.75f});
    v.options.unk = 0;
    v.options.eos = 1;
    v.options.flags = kAddEos;
    // "A" becomes "a": a root whose children begin at unit 256, the child, and its text.
    std::string map("\x04\x08\0\0", 4);
    std::uint32_t units[513] = {256u << 10};
    units[256 ^ 'A'] = (256u ^ 'A' ^ 512u) << 10 | 0x100 | 'A';
    units[512] = 0x80000000u;
    map.append(reinterpret_cast<const char*>(units), sizeof units);
    map.append("a", 2);
    v.normalisers.emplace_back(static_cast<std::uint8_t>(NormaliserKind::sentencepiece),
                               kDummyPrefix | kFewSpaces | kEscapedSpaces, map, " ? ");
    return make_with_tokenizer(std::move(v), structures, tensors);
}

HeapPtr<Model> make_golden_wordpiece(std::pmr::memory_resource* structures,
                                     std::pmr::memory_resource* tensors) {
    Vocabulary v(structures);
    v.kind = TokenizerKind::wordpiece;
    for (const char* piece : {"[PAD]", "[UNK]", "[CLS]", "[SEP]"}) add_piece(v, piece, PieceType::control);
    for (const char* piece : {"\xe2\x96\x81gut", "en"}) add_piece(v, piece);
    v.options.pad = 0;
    v.options.unk = 1;
    v.options.bos = 2;
    v.options.eos = 3;
    v.options.flags = kAddBos | kAddEos | kLowerCase | kWordPrefix;
    v.options.most_word_characters = 100;
    return make_with_tokenizer(std::move(v), structures, tensors);
}

namespace {

// A table of tokens that is the head too, and a weight that is stored the other way round; extents that fill
// neither panels nor groups.
HeapPtr<Model> make_stored(DType dtype, std::pmr::memory_resource* structures,
                           std::pmr::memory_resource* tensors) {
    Graph graph(structures);
    const Init wide = {VOLTA_INIT_NORMAL, 0.5, 0};
    const ValueId tokens = graph.input("tokens", DType::i32, {-1, -1});
    const ValueId table = graph.parameter("table", {19, 40}, wide);
    const ValueId weight = graph.parameter("weight", {40, 40}, wide);
    const ValueId bias = graph.parameter("bias", {40}, wide);
    const ValueId x = graph.apply(Op::gather, {table, tokens});
    const ValueId y = graph.apply(Op::add, {graph.apply(Op::matmul, {x, weight}), bias});
    graph.output("logits", graph.apply(Op::matmul, {y, table}, {number(Attr::transpose_b, 1)}));
    const HeapPtr<Model> model = Model::create(graph, 11, structures, tensors);
    model->set_metadata("title", "golden: stored weights");
    return quantize(*model, dtype, structures, tensors);
}

}  // namespace

HeapPtr<Model> make_golden_bf16(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    return make_stored(DType::bf16, structures, tensors);
}
HeapPtr<Model> make_golden_f16(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    return make_stored(DType::f16, structures, tensors);
}
HeapPtr<Model> make_golden_int8(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    return make_stored(DType::int8, structures, tensors);
}
HeapPtr<Model> make_golden_int4(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    return make_stored(DType::int4, structures, tensors);
}
HeapPtr<Model> make_golden_f32_panels(std::pmr::memory_resource* structures,
                                      std::pmr::memory_resource* tensors) {
    return make_stored(DType::f32_panels, structures, tensors);
}

HeapPtr<Model> make_golden_repeatable_bf16(std::pmr::memory_resource* structures,
                                           std::pmr::memory_resource* tensors) {
    HeapPtr<Model> model = make_golden_gpt(structures, tensors);
    model->arithmetic = {Level::repeatable, Precision::bf16};
    return model;
}
HeapPtr<Model> make_golden_fast_tf32(std::pmr::memory_resource* structures,
                                     std::pmr::memory_resource* tensors) {
    HeapPtr<Model> model = make_golden_graph(structures, tensors);
    model->arithmetic = {Level::fast, Precision::tf32};
    return model;
}

}  // namespace volta::test
