// One result: the parameters after some training steps hash the same on every number of threads, instruction
// set, tile of the table, repeat, with machine code refused, and across a stop and a resume. The full cross
// product on a small GPT with dropout; thin samples of it on a small Llama, on preset `tiny` and on a
// perceptron whose layers are wide enough for threads to share columns.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "engine/backend/cpu/gemm/tiles.h"
#include "engine/backend/cpu/tuning/product_grid.h"
#include "engine/base/cpu_info.h"
#include "engine/runtime/context.h"
#include "tests/support/cmocka_cpp.h"
#include "volta.h"

namespace {

using namespace volta;

struct Size {
    std::int64_t vocabulary, layers, dim, heads, context, batch;
    double dropout;
    int steps;
    std::int64_t kv_heads = 0;     // above 0: a Llama
    bool perceptron = false;       // `batch` rows of `dim` numbers through `layers` layers with relu
    bool pictures = false;         // `batch` of them through convolutions of all kinds
    const char* lora = nullptr;    // adapters of these targets are trained
    volta_dtype base = VOLTA_F32;  // on a base whose weights are stored so
    std::uint64_t micro_batches = 1;
    bool packed = false;  // rows of documents, of a language model
    bool has_tokens() const { return !perceptron && !pictures && !packed; }
};
constexpr Size kSmall = {29, 2, 64, 4, 32, 4, 0.1, 4};
constexpr Size kLlama = {29, 2, 64, 4, 32, 4, 0, 4, 2};
constexpr Size kPerceptron = {0, 3, 256, 0, 0, 64, 0, 4, 0, true};
constexpr Size kPictures = {5, 0, 0, 0, 0, 6, 0, 4, 0, false, true};
constexpr const char* kAllParts = "q+v+o+gate+down";
constexpr Size kAdapted = {29, 2, 64, 4, 32, 4, 0, 4, 2, false, false, kAllParts};
constexpr Size kTiny = {65, 6, 384, 6, 256, 4, 0, 3};

struct Way {
    Isa isa;
    unsigned threads;
    const char* tile;  // of the table; NULL: the engine's choice
    bool refuse_jit;
    int stop_at;                   // > 0: save there, resume in another context
    const char* choice = nullptr;  // of every product, as tuning writes it; NULL: the default rules
};

const char* const kPath = "test_one_result.volta";

volta_status make_context(const Way& way, volta_context** context) {
    volta_context_options options = {};
    options.struct_size = sizeof options;
    options.thread_count = way.threads;
    options.isa = static_cast<volta_isa>(way.isa);
    options.flags = way.refuse_jit ? VOLTA_CONTEXT_NO_JIT : 0;
    const volta_status status = volta_context_create(&options, context);
    if (status == VOLTA_OK) {
        reinterpret_cast<Context*>(*context)->forced_tile = way.tile;
        reinterpret_cast<Context*>(*context)->forced_choice = way.choice;
    }
    return status;
}

std::vector<int32_t> tokens_for(const Size& size) {
    std::vector<int32_t> tokens(20000);
    std::uint32_t state = 1;
    std::int32_t x = 0;
    for (std::int32_t& token : tokens) {
        state = state * 1664525u + 1013904223u;
        token = x =
            static_cast<std::int32_t>((5 * x + 1 + static_cast<std::int32_t>(state >> 31)) % size.vocabulary);
    }
    return tokens;
}

volta_status make_llama(volta_context* context, const Size& size, volta_model** model) {
    volta_llama_options llama = {};
    llama.struct_size = sizeof llama;
    llama.vocabulary = size.vocabulary;
    llama.layers = size.layers;
    llama.dim = size.dim;
    llama.heads = size.heads;
    llama.kv_heads = size.kv_heads;
    llama.context = size.context;
    return volta_model_create_llama(context, &llama, 1, model);
}

volta_status make_perceptron(volta_context* context, const Size& size, volta_model** model) {
    volta_graph* graph = nullptr;
    volta_value h = {};
    const std::int64_t rows[] = {-1, size.dim};
    volta_status status = volta_graph_create(context, &graph);
    if (status == VOLTA_OK) status = volta_graph_input(graph, "x", VOLTA_F32, rows, 2, &h);
    for (std::int64_t layer = 1; layer <= size.layers && status == VOLTA_OK; ++layer) {
        const std::string name = "layer" + std::to_string(layer);
        status = volta_graph_linear(graph, name.c_str(), h, size.dim + 128 * (layer % 2), &h);
        if (status == VOLTA_OK) status = volta_graph_unary(graph, "relu", h, &h);
    }
    if (status == VOLTA_OK) status = volta_graph_linear(graph, "head", h, 1, &h);
    if (status == VOLTA_OK) status = volta_graph_output(graph, "y", h);
    if (status == VOLTA_OK) status = volta_model_create(graph, 1, model);
    volta_graph_release(graph);
    return status;
}

// A strided, a depthwise, a grouped and a pointwise convolution, some with what follows them in their own
// step: bias, activation, residual, gradients of these; batch norm, a maximum and a mean. The first pictures
// end with a segment of the weight's gradient, the others have odd sizes.
constexpr std::int64_t kChannels = 3, kRows = 32, kColumns = 16;

class Network {
  public:
    explicit Network(volta_graph* graph) : graph_(graph) {}
    volta_value parameter(std::initializer_list<std::int64_t> shape, double deviation, double constant = 0) {
        const std::vector<std::int64_t> extents(shape);
        const std::string name = "p" + std::to_string(names_++);
        const volta_init init = {deviation > 0 ? VOLTA_INIT_NORMAL : VOLTA_INIT_CONSTANT,
                                 deviation > 0 ? deviation : constant, 0};
        volta_value value = {};
        note(volta_graph_parameter(graph_, name.c_str(), extents.data(),
                                   static_cast<std::int32_t>(extents.size()), &init, &value));
        return value;
    }
    volta_value apply(const char* op, std::vector<volta_value> inputs,
                      const std::vector<volta_attribute>& attributes = {}) {
        volta_value value = {};
        note(volta_graph_apply(graph_, op, inputs.data(), inputs.size(), attributes.data(), attributes.size(),
                               &value, 1));
        return value;
    }
    volta_value conv(volta_value x, std::initializer_list<std::int64_t> shape, std::int64_t stride,
                     std::int64_t pad, std::int64_t groups, bool has_bias = false) {
        const std::int64_t strides[] = {stride, stride}, pads[] = {pad, pad, pad, pad};
        std::vector<volta_value> inputs = {x, parameter(shape, 0.2)};
        if (has_bias) inputs.push_back(parameter({*shape.begin()}, 0.2));
        return apply("conv", inputs,
                     {{"strides", 0, strides, 2},
                      {"pads", 0, pads, 4},
                      {"groups", static_cast<double>(groups), nullptr, 0}});
    }
    volta_value norm(volta_value x, std::int64_t channels) {
        const volta_value scale = parameter({channels}, 0, 1), bias = parameter({channels}, 0);
        const volta_value mean = parameter({channels}, 0), variance = parameter({channels}, 0, 1);
        return apply("batch_norm", {x, scale, bias, mean, variance});
    }
    volta_value relu(volta_value x) { return apply("relu", {x}); }
    volta_value relu6(volta_value x) {
        return apply("clamp", {x}, {{"low", 0, nullptr, 0}, {"high", 6, nullptr, 0}});
    }
    void note(volta_status status) {
        if (status_ == VOLTA_OK) status_ = status;
    }
    volta_status status() const { return status_; }

  private:
    volta_graph* graph_;
    volta_status status_ = VOLTA_OK;
    int names_ = 0;
};

volta_status make_network(volta_context* context, const Size& size, volta_model** model) {
    volta_graph* graph = nullptr;
    if (const volta_status status = volta_graph_create(context, &graph)) return status;
    Network n(graph);
    const std::int64_t pictures[] = {-1, kChannels, kRows, kColumns}, spatial[] = {2, 3};
    const std::int64_t window[] = {3, 3}, strides[] = {2, 2}, pads[] = {1, 1, 1, 1};
    volta_value x = {};
    n.note(volta_graph_input(graph, "x", VOLTA_F32, pictures, 4, &x));
    x = n.relu(n.norm(n.conv(x, {16, kChannels, 3, 3}, 1, 1, 1), 16));
    x = n.relu(n.norm(n.conv(x, {24, 16, 2, 2}, 2, 1, 1), 24));
    const volta_value before = x;
    x = n.relu(n.norm(n.conv(x, {24, 24, 3, 3}, 1, 1, 1), 24));
    x = n.norm(n.conv(x, {24, 24, 3, 3}, 1, 1, 1), 24);
    x = n.relu(n.apply("add", {x, before}));
    x = n.relu6(n.norm(n.conv(x, {24, 1, 3, 3}, 1, 1, 24), 24));
    x = n.relu6(n.conv(x, {24, 6, 3, 3}, 1, 1, 4, true));
    x = n.apply("max_pool", {x},
                {{"kernel", 0, window, 2}, {"strides", 0, strides, 2}, {"pads", 0, pads, 4}});
    x = n.conv(x, {40, 24, 1, 1}, 1, 0, 1);
    x = n.apply("mean", {x}, {{"axes", 0, spatial, 2}});
    n.note(volta_graph_linear(graph, "head", x, size.vocabulary, &x));
    n.note(volta_graph_output(graph, "logits", x));
    if (n.status() == VOLTA_OK) n.note(volta_model_create(graph, 1, model));
    volta_graph_release(graph);
    return n.status();
}

volta_status make_model(volta_context* context, const Size& size, volta_model** model) {
    if (size.pictures) return make_network(context, size, model);
    if (size.perceptron) return make_perceptron(context, size, model);
    if (size.kv_heads > 0) return make_llama(context, size, model);
    volta_gpt_options gpt = {};
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = size.vocabulary;
    gpt.layers = size.layers;
    gpt.dim = size.dim;
    gpt.heads = size.heads;
    gpt.context = size.context;
    gpt.dropout = size.dropout;
    return volta_model_create_gpt(context, &gpt, 1, model);
}

// Adapters beside the model's weights, which may be stored first.
volta_status make_adapted(volta_context* context, const Size& size, volta_model** model) {
    volta_model *whole = nullptr, *stored = nullptr;
    volta_lora_options lora = VOLTA_LORA_OPTIONS_INIT;
    lora.targets = size.lora;
    lora.seed = 9;
    volta_status status = make_model(context, size, &whole);
    if (status == VOLTA_OK && size.base != VOLTA_F32)
        status = volta_model_quantize(whole, size.base, &stored);
    if (status == VOLTA_OK) status = volta_model_add_lora(stored != nullptr ? stored : whole, &lora, model);
    volta_model_release(stored);
    volta_model_release(whole);
    return status;
}

volta_status start(volta_context* context, const Size& size, volta_trainer** trainer) {
    const std::int64_t shape[] = {size.batch,
                                  size.pictures     ? kChannels
                                  : size.perceptron ? size.dim
                                                    : size.context,
                                  kRows, kColumns};
    volta_trainer_options options = {};
    options.struct_size = sizeof options;
    options.input_shapes = shape;
    options.input_extent_count = size.pictures ? 4 : 2;
    options.seed = 5;
    options.learning_rate = 1e-3;
    options.weight_decay = 0.1;
    options.clip_norm = 1;
    if (size.perceptron) options.loss = VOLTA_LOSS_MSE;
    volta_model* model = nullptr;
    options.micro_batches = size.micro_batches;
    options.packed_documents = size.packed;
    volta_status status =
        size.lora != nullptr ? make_adapted(context, size, &model) : make_model(context, size, &model);
    if (status == VOLTA_OK) status = volta_trainer_create(model, &options, trainer);
    volta_model_release(model);
    return status;
}

// Rows of numbers in [-1, 1), and the sum of a few of them as what is to be learnt.
volta_status step_perceptron(volta_context* context, const Size& size, volta_trainer* trainer, int step) {
    std::vector<float> x(static_cast<std::size_t>(size.batch * size.dim)), y;
    std::uint32_t state = static_cast<std::uint32_t>(step + 1);
    for (float& each : x) {
        state = state * 1664525u + 1013904223u;
        each = static_cast<float>(static_cast<std::int32_t>(state) >> 8) * 0x1p-23f;
    }
    for (std::int64_t row = 0; row < size.batch; ++row) {
        const float* const first = x.data() + row * size.dim;
        y.push_back(first[0] + first[1] + first[2]);
    }
    const std::int64_t x_shape[] = {size.batch, size.dim}, y_shape[] = {size.batch, 1};
    volta_tensor *inputs[1] = {}, *target = nullptr;
    volta_status status = volta_tensor_wrap(context, VOLTA_F32, x_shape, 2, x.data(), &inputs[0]);
    if (status == VOLTA_OK) status = volta_tensor_wrap(context, VOLTA_F32, y_shape, 2, y.data(), &target);
    if (status == VOLTA_OK) status = volta_trainer_step(trainer, inputs, 1, target, nullptr);
    volta_tensor_release(inputs[0]);
    volta_tensor_release(target);
    return status;
}

volta_status step_pictures(volta_context* context, const Size& size, volta_trainer* trainer, int step) {
    std::vector<float> x(static_cast<std::size_t>(size.batch * kChannels * kRows * kColumns));
    std::vector<std::int32_t> labels;
    std::uint32_t state = static_cast<std::uint32_t>(step + 1);
    for (float& each : x) {
        state = state * 1664525u + 1013904223u;
        each = static_cast<float>(static_cast<std::int32_t>(state) >> 8) * 0x1p-23f;
    }
    for (std::int64_t i = 0; i < size.batch; ++i)
        labels.push_back(static_cast<std::int32_t>((i * 3 + step) % size.vocabulary));
    const std::int64_t shape[] = {size.batch, kChannels, kRows, kColumns};
    volta_tensor *inputs[1] = {}, *target = nullptr;
    volta_status status = volta_tensor_wrap(context, VOLTA_F32, shape, 4, x.data(), &inputs[0]);
    if (status == VOLTA_OK) status = volta_tensor_wrap(context, VOLTA_I32, shape, 1, labels.data(), &target);
    if (status == VOLTA_OK) status = volta_trainer_step(trainer, inputs, 1, target, nullptr);
    volta_tensor_release(inputs[0]);
    volta_tensor_release(target);
    return status;
}

// Documents of 1 to 20 tokens, side by side. Where one ends, nothing comes next.
volta_status step_packed(volta_context* context, const Size& size, volta_trainer* trainer, int step) {
    const std::int64_t rows = size.batch * static_cast<std::int64_t>(size.micro_batches);
    const std::vector<std::int32_t> stream = tokens_for(size);
    std::vector<std::int32_t> tokens, starts, targets;
    std::uint32_t state = static_cast<std::uint32_t>(step + 1);
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t t = 0, start = 0, end = 0; t < size.context; ++t) {
            state = state * 1664525u + 1013904223u;
            if (t == end) {
                start = t;
                end = t + 1 + state / 1000 % 20;
            }
            const std::size_t at = static_cast<std::size_t>(step * 1000 + row * size.context + t);
            tokens.push_back(stream[at]);
            starts.push_back(static_cast<std::int32_t>(start));
            targets.push_back(t + 1 < end ? stream[at + 1] : -1);
        }
    const std::int64_t shape[] = {rows, size.context};
    volta_tensor *inputs[2] = {}, *target = nullptr;
    volta_status status = volta_tensor_wrap(context, VOLTA_I32, shape, 2, tokens.data(), &inputs[0]);
    if (status == VOLTA_OK)
        status = volta_tensor_wrap(context, VOLTA_I32, shape, 2, starts.data(), &inputs[1]);
    if (status == VOLTA_OK) status = volta_tensor_wrap(context, VOLTA_I32, shape, 2, targets.data(), &target);
    if (status == VOLTA_OK) status = volta_trainer_step(trainer, inputs, 2, target, nullptr);
    volta_tensor_release(inputs[0]);
    volta_tensor_release(inputs[1]);
    volta_tensor_release(target);
    return status;
}

// Of adapters the file has these alone: the base is made again.
volta_status open_checkpoint(volta_context* context, const Size& size, volta_model** model) {
    if (size.lora == nullptr) return volta_model_open(context, kPath, nullptr, model);
    volta_model *whole = nullptr, *stored = nullptr;
    volta_status status = make_model(context, size, &whole);
    if (status == VOLTA_OK && size.base != VOLTA_F32)
        status = volta_model_quantize(whole, size.base, &stored);
    if (status == VOLTA_OK)
        status = volta_model_open_adapter(stored != nullptr ? stored : whole, kPath, nullptr, model);
    volta_model_release(stored);
    volta_model_release(whole);
    return status;
}

// Trains and returns the hash, or the error's text. Quick tiers' sample takes two steps, which is as many as
// a resume needs.
std::string train(const Size& size, const Way& way) {
    const bool is_sample = sample_stride() > 1;
    const int steps = is_sample ? 2 : size.steps,
              stop_at = is_sample ? std::min(way.stop_at, 1) : way.stop_at;
    const std::vector<int32_t> tokens = size.has_tokens() ? tokens_for(size) : std::vector<int32_t>();
    const auto read = [&](volta_trainer* trainer) {
        return size.has_tokens() ? volta_trainer_set_tokens(trainer, tokens.data(), tokens.size()) : VOLTA_OK;
    };
    volta_context* context = nullptr;
    volta_trainer* trainer = nullptr;
    char hash[33] = "";
    volta_status status = make_context(way, &context);
    if (status == VOLTA_OK) status = start(context, size, &trainer);
    if (status == VOLTA_OK) status = read(trainer);
    for (int step = 0; step < steps && status == VOLTA_OK; ++step) {
        if (step > 0 && step == stop_at) {
            status = volta_trainer_save(trainer, kPath);
            volta_trainer_release(trainer);
            volta_context_release(context);
            trainer = nullptr;
            context = nullptr;
            volta_model* model = nullptr;
            if (status == VOLTA_OK) status = make_context(way, &context);
            if (status == VOLTA_OK) status = open_checkpoint(context, size, &model);
            if (status == VOLTA_OK) status = volta_trainer_resume(model, nullptr, &trainer);
            if (status == VOLTA_OK) status = read(trainer);
            volta_model_release(model);
        }
        if (status == VOLTA_OK)
            status = size.pictures     ? step_pictures(context, size, trainer, step)
                     : size.packed     ? step_packed(context, size, trainer, step)
                     : size.perceptron ? step_perceptron(context, size, trainer, step)
                                       : volta_trainer_step_tokens(trainer, nullptr);
    }
    if (status == VOLTA_OK) status = volta_trainer_hash(trainer, hash);
    std::string result = status == VOLTA_OK ? hash : volta_last_error();
    volta_trainer_release(trainer);
    volta_context_release(context);
    std::remove(kPath);
    return result;
}

struct Tally {
    std::string expected;
    int runs = 0, differing = 0;
    std::set<std::string> tiles = {};  // that were forced
    void add(const Size& size, const Way& way) {
        const std::string hash = train(size, way);
        if (way.tile != nullptr) tiles.insert(way.tile);
        if (expected.empty()) expected = hash;
        runs += 1;
        if (hash.size() == 32 && hash == expected) return;
        differing += 1;
        print_error("%s, %u threads, tile %s%s, choice '%s', stop at %d: %s, expected %s\n",
                    isa_name(way.isa), way.threads, way.tile ? way.tile : "chosen",
                    way.refuse_jit ? ", no machine code" : "", way.choice ? way.choice : "", way.stop_at,
                    hash.c_str(), expected.c_str());
    }
};

constexpr Isa kIsas[] = {Isa::scalar, Isa::avx2, Isa::avx512};
constexpr unsigned kThreads[] = {1, 2, 3, 8};

// Quick tiers run a sample (VOLTA_TEST_EVERY, tests/CMakeLists.txt): every model on every instruction set and
// every number of threads, but what meets all of `others` in the whole test meets one of them, the next one
// another. So each tile of the table is there every time, on some number of threads. Of `others`: the one of
// this index.
bool is_in_turn(std::size_t index, std::size_t other, std::size_t others) {
    return sample_stride() == 1 || index % others == other;
}
bool is_in_turn(const cpu::GemmTile& tile, unsigned threads) {
    const auto* const found = std::find(std::begin(kThreads), std::end(kThreads), threads);
    return is_in_turn(static_cast<std::size_t>(cpu::tile_row(tile)),
                      static_cast<std::size_t>(found - std::begin(kThreads)), std::size(kThreads));
}

// Whether all tiles that can run here have run: a sample has them too.
bool has_every_tile(const Tally& tally) {
    std::size_t count = 0;
    for (const cpu::GemmTile& tile : cpu::gemm_tiles()) count += host_cpu().has(tile.isa);
    return tally.tiles.size() == count;
}

void test_small_model_full_cross_product(void**) {
    Tally tally;
    for (Isa isa : kIsas) {
        if (!host_cpu().has(isa)) continue;
        for (unsigned threads : kThreads)
            for (std::size_t repeat = 0; repeat < 2; ++repeat) {
                if (is_in_turn(threads, repeat, 2))
                    tally.add(kSmall, {isa, threads, nullptr, false, static_cast<int>(repeat) * 2});
                for (const cpu::GemmTile& tile : cpu::gemm_tiles())
                    if (tile.isa == isa && is_in_turn(tile, threads) && is_in_turn(0, repeat, 2))
                        tally.add(kSmall, {isa, threads, tile.name, false, 0});
            }
    }
    for (Isa isa : {Isa::avx2, Isa::avx512})
        if (host_cpu().has(isa)) tally.add(kSmall, {isa, 2, nullptr, true, 0});
    print_message("%d runs of the small model, %d differing, hash %s\n", tally.runs, tally.differing,
                  tally.expected.c_str());
    assert_true(has_every_tile(tally));
    assert_int_equal(tally.differing, 0);
}

void test_small_llama(void**) {
    Tally tally;
    for (Isa isa : kIsas) {
        if (!host_cpu().has(isa)) continue;
        for (unsigned threads : {1u, 2u, 3u, 8u})
            tally.add(kLlama, {isa, threads, nullptr, false, threads == 2 ? 2 : 0});
        if (isa != Isa::scalar) tally.add(kLlama, {isa, 2, nullptr, true, 0});
    }
    print_message("%d runs of the small Llama, %d differing, hash %s\n", tally.runs, tally.differing,
                  tally.expected.c_str());
    assert_int_equal(tally.differing, 0);
}

// Learned positions and dropout, rotary positions, adapters.
void test_packed_documents(void**) {
    for (const Size* model : {&kSmall, &kLlama, &kAdapted}) {
        Tally tally;
        Size size = *model;
        size.packed = true;
        for (Isa isa : kIsas) {
            if (!host_cpu().has(isa)) continue;
            for (unsigned threads : {1u, 2u, 3u, 8u})
                tally.add(size, {isa, threads, nullptr, false, threads == 2 ? 2 : 0});
            for (const cpu::GemmTile& tile : cpu::gemm_tiles())
                if (tile.isa == isa) tally.add(size, {isa, 2, tile.name, false, 0});
            if (isa != Isa::scalar) tally.add(size, {isa, 2, nullptr, true, 0});
        }
        print_message("%d runs of packed documents, %d differing, hash %s\n", tally.runs, tally.differing,
                      tally.expected.c_str());
        assert_int_equal(tally.differing, 0);
    }
}

// Micro-batches of whole segments of tokens continue the gradients of A and B: cutting such a batch changes
// no bit.
void test_cut_batches_of_adapters(void**) {
    for (const volta_dtype base : {VOLTA_F32, VOLTA_INT8}) {
        Tally tally;
        Size size = kAdapted;
        size.base = base;
        size.batch = 32;  // 1024 tokens
        Size cut = size;
        cut.batch = 16;
        cut.micro_batches = 2;
        const Isa isa = host_cpu().best_isa;
        tally.add(size, {isa, 2, nullptr, false, 0});
        tally.add(cut, {isa, 1, nullptr, false, 0});
        tally.add(cut, {isa, 3, nullptr, false, 2});
        print_message("%d runs of cut batches on a base of type %d, %d differing, hash %s\n", tally.runs,
                      base, tally.differing, tally.expected.c_str());
        assert_int_equal(tally.differing, 0);
    }
}

// And of packed rows, dropout included.
void test_cut_batches_of_packed_documents(void**) {
    for (const Size* model : {&kSmall, &kLlama, &kAdapted}) {
        Tally tally;
        Size size = *model;
        size.packed = true;
        size.batch = 32;  // 1024 tokens
        Size cut = size;
        cut.batch = 16;
        cut.micro_batches = 2;
        const Isa isa = host_cpu().best_isa;
        tally.add(size, {isa, 2, nullptr, false, 0});
        tally.add(cut, {isa, 1, nullptr, false, 0});
        tally.add(cut, {isa, 3, nullptr, false, 2});
        print_message("%d runs of cut batches of packed documents, %d differing, hash %s\n", tally.runs,
                      tally.differing, tally.expected.c_str());
        assert_int_equal(tally.differing, 0);
    }
}

// Every type of base.
void test_adapters(void**) {
    constexpr volta_dtype kBases[] = {VOLTA_F32,  VOLTA_BF16, VOLTA_F16,
                                      VOLTA_INT8, VOLTA_INT4, VOLTA_F32_PANELS};
    for (const volta_dtype& base : kBases) {
        Tally tally;
        Size size = kAdapted;
        size.base = base;
        const auto row = static_cast<std::size_t>(&base - kBases);
        for (Isa isa : kIsas) {
            if (!host_cpu().has(isa)) continue;
            for (unsigned threads : kThreads)
                if (is_in_turn(threads, row % 2, 2))
                    tally.add(size, {isa, threads, nullptr, false, threads == 2 ? 2 : 0});
            for (const cpu::GemmTile& tile : cpu::gemm_tiles())
                if (tile.isa == isa && is_in_turn(static_cast<std::size_t>(cpu::tile_row(tile)), row, 6))
                    tally.add(size, {isa, 2, tile.name, false, 0});
            if (isa != Isa::scalar && is_in_turn(static_cast<std::size_t>(isa), row % 2, 2))
                tally.add(size, {isa, 2, nullptr, true, 0});
        }
        print_message("%d runs of adapters on a base of type %d, %d differing, hash %s\n", tally.runs, base,
                      tally.differing, tally.expected.c_str());
        assert_int_equal(tally.differing, 0);
    }
}

void test_perceptron(void**) {
    Tally tally;
    for (Isa isa : kIsas) {
        if (!host_cpu().has(isa)) continue;
        for (unsigned threads : kThreads) {
            tally.add(kPerceptron, {isa, threads, nullptr, false, threads == 2 ? 2 : 0});
            for (const cpu::GemmTile& tile : cpu::gemm_tiles())
                if (tile.isa == isa && is_in_turn(tile, threads))
                    tally.add(kPerceptron, {isa, threads, tile.name, false, 0});
        }
        if (isa != Isa::scalar) tally.add(kPerceptron, {isa, 2, nullptr, true, 0});
    }
    print_message("%d runs of the perceptron, %d differing, hash %s\n", tally.runs, tally.differing,
                  tally.expected.c_str());
    assert_true(has_every_tile(tally));
    assert_int_equal(tally.differing, 0);
}

void test_network_of_pictures(void**) {
    Tally tally;
    for (Isa isa : kIsas) {
        if (!host_cpu().has(isa)) continue;
        for (unsigned threads : kThreads) {
            tally.add(kPictures, {isa, threads, nullptr, false, threads == 2 ? 2 : 0});
            for (const cpu::GemmTile& tile : cpu::gemm_tiles())
                if (tile.isa == isa && is_in_turn(tile, threads))
                    tally.add(kPictures, {isa, threads, tile.name, false, 0});
        }
        if (isa != Isa::scalar) tally.add(kPictures, {isa, 2, nullptr, true, 0});
    }
    print_message("%d runs of the network of pictures, %d differing, hash %s\n", tally.runs, tally.differing,
                  tally.expected.c_str());
    assert_true(has_every_tile(tally));
    assert_int_equal(tally.differing, 0);
}

// Training under the tuner's grid: every value of every axis alone, and a sample of combinations. (All of it,
// product by product: tests/kernels/test_product_grid.cpp.) B stays packed: dX = dY W^T has no other way.
void test_small_model_over_the_grid(void**) {
    std::vector<cpu::ProductChoice> choices;
    const auto each = [&](const auto& values, auto cpu::ProductChoice::*field) {
        for (const auto value : values) {
            cpu::ProductChoice choice;
            choice.*field = value;
            choices.push_back(choice);
        }
    };
    each(cpu::kBlocksOfK, &cpu::ProductChoice::k_block);
    each(cpu::kBlocksOfM, &cpu::ProductChoice::m_block);
    each(cpu::kBlocksOfN, &cpu::ProductChoice::n_block);
    each(cpu::kTileOrders, &cpu::ProductChoice::order);
    each(cpu::kPrefetches, &cpu::ProductChoice::prefetch);
    each(cpu::kUnrolls, &cpu::ProductChoice::unroll);
    each(cpu::kPackings, &cpu::ProductChoice::pack_a);
    std::uint64_t state = 1;
    const auto drawn = [&](const auto& values) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return values[(state >> 33) % (sizeof values / sizeof values[0])];
    };
    for (int i = 0; i < 60; ++i) {
        cpu::ProductChoice choice;
        choice.k_block = drawn(cpu::kBlocksOfK);
        choice.m_block = drawn(cpu::kBlocksOfM);
        choice.n_block = drawn(cpu::kBlocksOfN);
        choice.order = drawn(cpu::kTileOrders);
        choice.prefetch = drawn(cpu::kPrefetches);
        choice.unroll = drawn(cpu::kUnrolls);
        choice.pack_a = drawn(cpu::kPackings);
        choices.push_back(choice);
    }
    Tally tally;
    for (Isa isa : {Isa::avx512, Isa::avx2, Isa::scalar}) {
        if (!host_cpu().has(isa)) continue;
        std::size_t index = 0;
        for (const cpu::ProductChoice& choice : choices) {
            ++index;
            if (isa == Isa::scalar && index % 8 != 0) continue;
            // Of a sample each is tried on one of AVX2 and AVX-512; of those that are drawn, the first
            // twenty.
            if (isa != Isa::scalar && !is_in_turn(index, isa == Isa::avx2, 2)) continue;
            if (sample_stride() > 1 && index > choices.size() - 40) break;
            const ChoiceText text = cpu::to_text(choice);
            tally.add(kSmall, {isa, 2, nullptr, false, 0, text.text});
        }
    }
    print_message("%d runs of the small model, %d differing, hash %s\n", tally.runs, tally.differing,
                  tally.expected.c_str());
    assert_true(tally.expected == train(kSmall, {Isa::scalar, 1, nullptr, false, 0}));
    assert_int_equal(tally.differing, 0);
}

// VOLTA_TEST_TINY=all, what `make determinism` sets: 20 steps, every tile, every number of threads, twice.
// That takes the better part of an hour; else a sample of 3 steps.
void test_tiny(void**) {
    Tally tally;
    const char* const wish = std::getenv("VOLTA_TEST_TINY");
    const bool all = wish != nullptr && std::strcmp(wish, "all") == 0;
    Size size = kTiny;
    if (all) size.steps = 20;
    for (Isa isa : {Isa::avx512, Isa::avx2}) {
        if (!host_cpu().has(isa)) continue;
        for (unsigned threads : {1u, 2u})
            if (is_in_turn(threads, isa == Isa::avx2, 2))
                tally.add(size, {isa, threads, nullptr, false, threads == 2 ? size.steps / 2 : 0});
        if (!all) continue;
        for (unsigned threads : {1u, 2u, 3u, 8u})
            for (const cpu::GemmTile& tile : cpu::gemm_tiles())
                for (int repeat = 0; repeat < 2 && tile.isa == isa; ++repeat)
                    tally.add(size, {isa, threads, tile.name, false, 0});
    }
    if (tally.runs == 0) skip();
    print_message("%d runs of tiny, %d differing, hash %s\n", tally.runs, tally.differing,
                  tally.expected.c_str());
    assert_int_equal(tally.differing, 0);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);  // one of these, by its name
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_small_model_full_cross_product),
        cmocka_unit_test(test_small_llama),
        cmocka_unit_test(test_adapters),
        cmocka_unit_test(test_packed_documents),
        cmocka_unit_test(test_cut_batches_of_packed_documents),
        cmocka_unit_test(test_cut_batches_of_adapters),
        cmocka_unit_test(test_perceptron),
        cmocka_unit_test(test_network_of_pictures),
        cmocka_unit_test(test_small_model_over_the_grid),
        cmocka_unit_test(test_tiny),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
