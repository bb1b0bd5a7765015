// Whatever model there is, used for everything that a model is for: evaluated, run, trained and resumed,
// generated from, stored in fewer bits, made into other models, each until a status says that it cannot be.
// The model comes from a file's bytes, or from a graph that the bytes describe to the C API. No size that a
// file or a graph holds may end the process, and each refusal is a sentence. Mutations of files:
// tests/model/model_mutator.cpp; of graphs: libFuzzer's own.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iterator>
#include <string>
#include <vector>

#include "fuzz/choices.h"
#include "fuzz/limits.h"

namespace {
using fuzz::Choices;
using fuzz::expect;
using fuzz::worked;

constexpr char kMagic[] = "VOLTA";          // how a model file begins
constexpr uint64_t kBudget = 2 << 20;       // bytes of one plan: what needs more is refused before it runs
constexpr size_t kHeap = size_t{48} << 20;  // of all that an input makes
constexpr int64_t kMostExtent = 300;        // of a plan that is run: quadratic work ends in time
constexpr int64_t kMostElements = 1 << 15;

void* allocate(void*, size_t size, size_t alignment, volta_memory_kind) {
    if (size > kHeap || fuzz::held + size > kHeap) return nullptr;  // as a host whose memory is all gone
    fuzz::held += size;
    void* pointer = nullptr;
    return posix_memalign(&pointer, alignment < sizeof(void*) ? sizeof(void*) : alignment, size) == 0
               ? pointer
               : nullptr;
}

// One with scalar code, or with generated code and another thread. It keeps the plans that are made in it, so
// each input has its own.
volta_context* make_context(bool generated) {
    volta_context* one = nullptr;
    static const volta_allocator allocator = {allocate, fuzz::release, nullptr};
    volta_context_options options = {};
    options.struct_size = sizeof options;
    options.allocator = &allocator;
    options.thread_count = generated ? 2 : 1;
    options.isa = generated ? VOLTA_ISA_AUTO : VOLTA_ISA_SCALAR;
    options.host_budget = kBudget;
    expect(volta_context_create(&options, &one) == VOLTA_OK, "no context");
    return one;
}

const int64_t kExtents[] = {1,
                            2,
                            3,
                            4,
                            5,
                            8,
                            16,
                            32,
                            33,
                            64,
                            -1,
                            -1,
                            0,
                            7,
                            100,
                            255,
                            4096,
                            int64_t{1} << 20,
                            -2,
                            int64_t{1} << 31,
                            int64_t{1} << 32,
                            int64_t{1} << 39,
                            INT64_MAX,
                            INT64_MIN};
const double kNumbers[] = {0,
                           1,
                           2,
                           3,
                           4,
                           8,
                           -1,
                           -2,
                           0.5,
                           0.1,
                           1e-5,
                           16,
                           64,
                           255,
                           32767,
                           65536,
                           1e9,
                           2147483647.0,
                           -1e9,
                           3e9,
                           4294967295.0,
                           4294967296.0,
                           9007199254740992.0,
                           -9007199254740992.0,
                           1e30,
                           1e300,
                           -1e300};
// Operators that a host can apply (docs/operators.md), and some that it cannot: how many inputs they take,
// and which attributes they have.
struct Operator {
    const char* name;
    size_t inputs;
    const char* attributes[5];
};
const Operator kOperators[] = {
    {"neg", 1, {}},
    {"abs", 1, {}},
    {"exp", 1, {}},
    {"log", 1, {}},
    {"sqrt", 1, {}},
    {"rsqrt", 1, {}},
    {"tanh", 1, {}},
    {"erf", 1, {}},
    {"sigmoid", 1, {}},
    {"silu", 1, {}},
    {"gelu_tanh", 1, {}},
    {"gelu_erf", 1, {}},
    {"relu", 1, {}},
    {"floor", 1, {}},
    {"ceil", 1, {}},
    {"round", 1, {}},
    {"sin", 1, {}},
    {"cos", 1, {}},
    {"pow", 1, {"exponent"}},
    {"clamp", 1, {"low", "high"}},
    {"add", 2, {}},
    {"sub", 2, {}},
    {"mul", 2, {}},
    {"div", 2, {}},
    {"maximum", 2, {}},
    {"minimum", 2, {}},
    {"less", 2, {}},
    {"less_equal", 2, {}},
    {"equal", 2, {}},
    {"where", 3, {}},
    {"gelu_tanh_grad", 2, {}},
    {"gelu_erf_grad", 2, {}},
    {"silu_grad", 2, {}},
    {"relu_grad", 2, {}},
    {"maximum_grad", 3, {"operand"}},
    {"minimum_grad", 3, {"operand"}},
    {"dropout", 2, {"probability", "stream"}},
    {"softmax", 1, {}},
    {"softmax_grad", 2, {}},
    {"log_softmax", 1, {}},
    {"log_softmax_grad", 2, {}},
    {"layer_norm", 3, {"epsilon"}},
    {"layer_norm_grad", 5, {}},
    {"layer_norm_grad_scale", 4, {"accumulate"}},
    {"rms_norm", 2, {"epsilon"}},
    {"rms_norm_grad", 4, {}},
    {"rms_norm_grad_scale", 3, {"accumulate"}},
    {"cross_entropy", 2, {}},
    {"cross_entropy", 3, {"label_smoothing"}},
    {"cross_entropy_grad", 5, {}},
    {"cross_entropy_grad", 6, {"label_smoothing"}},
    {"cross_entropy_with_grad", 3, {}},
    {"cross_entropy_with_grad", 4, {"label_smoothing"}},
    {"mse", 2, {}},
    {"mse_grad", 3, {}},
    {"l1", 2, {}},
    {"l1_grad", 3, {}},
    {"huber", 2, {"delta"}},
    {"huber_grad", 3, {"delta"}},
    {"binary_cross_entropy", 2, {}},
    {"binary_cross_entropy", 3, {}},
    {"binary_cross_entropy_grad", 3, {}},
    {"binary_cross_entropy_grad", 4, {}},
    {"swiglu", 1, {}},
    {"swiglu_grad", 2, {}},
    {"rotary_table", 0, {"limit", "base", "width"}},
    {"rotary", 3, {"heads", "interleaved", "inverse"}},
    {"sum", 1, {"axes", "keep_dims", "accumulate"}},
    {"mean", 1, {"axes", "keep_dims"}},
    {"max", 1, {"axes", "keep_dims"}},
    {"min", 1, {"axes", "keep_dims"}},
    {"max_grad", 3, {"axes", "keep_dims"}},
    {"argmax", 1, {}},
    {"reshape", 1, {"shape"}},
    {"reshape", 1, {"shape"}},
    {"transpose", 1, {"permutation"}},
    {"transpose", 1, {"permutation"}},
    {"concat", 2, {"axis"}},
    {"concat", 3, {"axis"}},
    {"slice", 1, {"axis", "begin", "end"}},
    {"slice", 1, {"axis", "begin", "end"}},
    {"slice_grad", 1, {"axis", "begin", "rows"}},
    {"broadcast_to", 1, {"shape"}},
    {"position_ids", 1, {"limit"}},
    {"gather", 2, {}},
    {"gather", 2, {}},
    {"embedding_gradient", 2, {"rows"}},
    {"matmul", 2, {"transpose_a", "transpose_b", "accumulate"}},
    {"matmul", 2, {"transpose_a", "transpose_b"}},
    {"matmul", 2, {"transpose_b"}},
    {"weight_gradient", 2, {}},
    {"attention", 1, {"heads", "kv_heads", "causal", "scale", "packed"}},
    {"attention", 3, {"heads", "kv_heads", "causal", "scale"}},
    {"attention", 4, {"heads", "kv_heads", "probability"}},
    {"attention_grad", 5, {"heads", "kv_heads", "causal", "packed"}},
    {"cached_attention", 5, {"heads", "kv_heads", "scale", "packed"}},
    {"square_sum", 1, {}},
    {"clip_factor", 1, {"maximum_norm"}},
    {"accumulate", 2, {}},
    {"stack", 1, {"micro_batches"}},
    {"sgd_plain", 4, {}},
    {"leaky_relu", 1, {"alpha"}},
    {"elu", 1, {"alpha"}},
    {"softplus", 1, {}},
    {"hard_swish", 1, {}},
    {"hard_sigmoid", 1, {"alpha", "beta"}},
    {"selu", 1, {"alpha", "gamma"}},
    {"celu", 1, {"alpha"}},
    {"softsign", 1, {}},
    {"mish", 1, {}},
    {"prelu", 2, {}},
    {"prelu_grad", 3, {"operand"}},
    {"rotary_table", 1, {"limit", "width", "scale"}},
    {"rotary", 3, {"heads", "interleaved", "width"}},
    {"attention", 1, {"heads", "kv_heads", "packed", "window", "cap"}},
    {"attention", 3, {"heads", "causal", "scale", "window", "cap"}},
    {"cached_attention", 5, {"heads", "kv_heads", "packed", "window", "cap"}},
    {"attention", 2, {"heads", "packed", "documents"}},
    {"attention", 4, {"heads", "documents", "window"}},
    {"position_ids", 2, {"limit"}},
};

// ---- A graph that the bytes describe
// -----------------------------------------------------------------------

class GraphMaker {
  public:
    GraphMaker(volta_graph* graph, volta_context* context, Choices& choices)
        : graph_(graph), context_(context), choices_(choices) {}

    void make() {
        const bool is_language_model = choices_.next() % 4 != 0;
        if (is_language_model) begin_language_model();
        for (int i = 0; i < 40 && !choices_.empty(); ++i) {
            const unsigned kind = choices_.next() % 16;
            if (kind == 0)
                add_input();
            else if (kind == 1)
                add_parameter();
            else if (kind == 2)
                add_constant();
            else
                apply();
        }
        if (is_language_model) end_language_model();
        for (int i = 0; i < 2 && !values_.empty(); ++i) {
            const std::string name = "out" + std::to_string(i);
            volta_graph_output(graph_, name.c_str(),
                               values_[values_.size() - 1 - static_cast<size_t>(i) % values_.size()]);
        }
    }

  private:
    // A reference: what the call that gives the status has written, in whatever order arguments are
    // evaluated.
    void keep(volta_status status, const volta_value& value) {
        if (worked(status)) values_.push_back(value);
    }
    std::string name() { return "v" + std::to_string(values_.size()) + "_" + std::to_string(names_++); }
    int64_t extent_of() {
        const unsigned choice = choices_.next();
        return kExtents[choice < 192 ? choice % 12 : choice % std::size(kExtents)];
    }
    std::vector<int64_t> extents() {
        std::vector<int64_t> chosen(choices_.next() % 5);
        for (int64_t& extent : chosen) extent = extent_of();
        return chosen;
    }
    volta_value some() {
        const volta_value none = {-1};
        if (values_.empty()) return none;
        const unsigned back = choices_.next();
        return values_[back < 128 ? values_.size() - 1 - back % (values_.size() < 4 ? values_.size() : 4)
                                  : back % values_.size()];
    }
    void add_input() {
        const std::vector<int64_t> shape = extents();
        volta_value value = {-1};
        const volta_dtype dtype = choices_.next() % 2 == 0 ? VOLTA_F32 : VOLTA_I32;
        keep(volta_graph_input(graph_, name().c_str(), dtype, shape.data(),
                               static_cast<int32_t>(shape.size()), &value),
             value);
    }
    void add_parameter() {
        const std::vector<int64_t> shape = extents();
        volta_value value = {-1};
        const volta_init init = {VOLTA_INIT_NORMAL, 0.1, 0};
        keep(volta_graph_parameter(graph_, name().c_str(), shape.data(), static_cast<int32_t>(shape.size()),
                                   &init, &value),
             value);
    }
    void add_constant() {
        std::vector<int64_t> shape = extents();
        for (int64_t& extent : shape)
            if (extent > 64) extent = 64;
        const volta_dtype dtype = choices_.next() % 2 == 0 ? VOLTA_F32 : VOLTA_I32;
        volta_tensor* tensor = nullptr;
        volta_value value = {-1};
        if (!worked(volta_tensor_create(context_, dtype, shape.data(), static_cast<int32_t>(shape.size()),
                                        &tensor)))
            return;
        int32_t* const ids = static_cast<int32_t*>(volta_tensor_data(tensor));
        if (dtype == VOLTA_I32 && volta_tensor_elements(tensor) > 0)
            ids[0] = static_cast<int32_t>(choices_.of(kExtents));
        keep(volta_graph_constant(graph_, tensor, &value), value);
        volta_tensor_release(tensor);
    }
    void apply() {
        const Operator& op = choices_.of(kOperators);
        const unsigned how = choices_.next();
        const size_t count = how % 16 == 0 ? choices_.next() % 7 : op.inputs;
        volta_value inputs[8];
        for (size_t i = 0; i < count; ++i) inputs[i] = some();
        volta_attribute attributes[5] = {};
        std::vector<int64_t> lists[5];
        size_t attribute_count = 0;
        for (const char* const name : op.attributes) {
            if (name == nullptr || choices_.next() % 4 == 0) continue;
            volta_attribute& attribute = attributes[attribute_count];
            attribute.name = name;
            attribute.number =
                kNumbers[choices_.next() % (choices_.next() % 4 == 0 ? std::size(kNumbers) : 6)];
            lists[attribute_count] = is_order(name) ? order() : extents();
            attribute.integers = lists[attribute_count].data();
            attribute.integer_count = lists[attribute_count].size();
            ++attribute_count;
        }
        volta_value out[3] = {{-1}, {-1}, {-1}};
        keep(volta_graph_apply(graph_, op.name, inputs, count, attributes, attribute_count, out, 1), out[0]);
    }
    // Lists of axes rather than of extents.
    static bool is_order(const char* name) {
        return strcmp(name, "permutation") == 0 || strcmp(name, "axes") == 0;
    }
    std::vector<int64_t> order() {
        static const std::vector<int64_t> kOrders[] = {{},        {0},       {1},          {-1},
                                                       {1, 0},    {0, 1},    {0, 2, 1},    {2, 0, 1},
                                                       {2, 1, 0}, {0, 1, 2}, {0, 2, 1, 3}, {1, 0, 2}};
        return choices_.of(kOrders);
    }
    // Tokens [batch, time], looked up in a table; and in the end logits [.., vocabulary].
    void begin_language_model() {
        static const int64_t kOpen[] = {-1, -1, -1, -1, -1, 1, 3, 8, 0, 33};
        const int64_t shape[] = {choices_.of(kOpen), choices_.of(kOpen)};
        table_[0] = extent_of(), table_[1] = extent_of();
        volta_value tokens = {-1}, positions = {-1}, x = {-1};
        keep(volta_graph_input(graph_, "tokens", VOLTA_I32, shape, 2, &tokens), tokens);
        volta_attribute limit = {};
        limit.name = "limit",
        limit.number = kNumbers[choices_.next() % (choices_.next() % 4 == 0 ? std::size(kNumbers) : 17)];
        if (choices_.next() % 2 == 0)
            keep(volta_graph_apply(graph_, "position_ids", &tokens, 1, &limit, 1, &positions, 1), positions);
        const volta_init init = {VOLTA_INIT_NORMAL, 0.1, 0};
        if (!worked(volta_graph_parameter(graph_, "table", table_, 2, &init, &embedding_))) return;
        const volta_value pair[] = {embedding_, tokens};
        keep(volta_graph_apply(graph_, "gather", pair, 2, nullptr, 0, &x, 1), x);
    }
    void end_language_model() {
        volta_value logits = {-1};
        volta_attribute transpose = {};
        transpose.name = "transpose_b", transpose.number = 1;
        const volta_value pair[] = {some(), embedding_};
        keep(volta_graph_apply(graph_, "matmul", pair, 2, &transpose, 1, &logits, 1), logits);
    }

    volta_graph* graph_;
    volta_context* context_;
    Choices& choices_;
    std::vector<volta_value> values_;
    volta_value embedding_ = {-1};
    int64_t table_[2] = {};
    int names_ = 0;
};

// ---- What a model is for
// -----------------------------------------------------------------------------------

// Whether all shapes that a plan prints are small enough to be computed with.
bool is_small(const char* plan) {
    if (plan == nullptr) return false;
    for (const char* at = strchr(plan, '['); at != nullptr; at = strchr(at, '[')) {
        int64_t elements = 1;
        for (++at; *at != ']' && *at != '\0'; ++at) {
            if (*at < '0' || *at > '9') continue;
            char* end = nullptr;
            const long long extent = strtoll(at, &end, 10);
            if (extent > kMostExtent) return false;
            elements *= extent > 0 ? extent : 1;
            if (elements > kMostElements) return false;
            at = end - 1;
        }
    }
    return true;
}

// Tensors of zeros for all inputs, or outputs, of a model, whose open extents are `open`.
class Tensors {
  public:
    ~Tensors() {
        for (volta_tensor* const tensor : all) volta_tensor_release(tensor);
    }
    bool add(volta_context* context, volta_dtype dtype, const int64_t* shape, int32_t rank) {
        volta_tensor* tensor = nullptr;
        if (!worked(volta_tensor_create(context, dtype, shape, rank, &tensor))) return false;
        all.push_back(tensor);
        return true;
    }
    std::vector<volta_tensor*> all;
};

struct Shapes {
    std::vector<volta_tensor_info> inputs;
    std::vector<int64_t> extents;  // of all inputs
};

Shapes input_shapes(const volta_model* model, int64_t open) {
    Shapes shapes;
    for (size_t i = 0; i < volta_model_input_count(model); ++i) {
        volta_tensor_info info;
        expect(volta_model_input_info(model, i, &info) == VOLTA_OK, "input_info");
        for (int32_t axis = 0; axis < info.rank; ++axis) {
            if (info.shape[axis] < 0) info.shape[axis] = open;
            shapes.extents.push_back(info.shape[axis]);
        }
        shapes.inputs.push_back(info);
    }
    return shapes;
}

bool make_inputs(volta_context* context, const Shapes& shapes, Tensors& tensors, int64_t times) {
    for (const volta_tensor_info& info : shapes.inputs) {
        int64_t shape[VOLTA_MAX_RANK];
        memcpy(shape, info.shape, sizeof shape);
        if (info.rank > 0) shape[0] *= times;
        if (!tensors.add(context, info.dtype, shape, info.rank)) return false;
    }
    return true;
}

// Output shapes as a plan has them; a declared -1 says that an extent follows an input's.
void run_session(volta_context* context, volta_model* model, int64_t open, uint32_t flags) {
    const Shapes shapes = input_shapes(model, open);
    volta_session_options options = {};
    options.struct_size = sizeof options;
    options.input_shapes = shapes.extents.data();
    options.input_extent_count = shapes.extents.size();
    options.flags = flags;
    volta_session* session = nullptr;
    const char* plan = nullptr;
    if (!worked(volta_session_create(model, &options, &session))) return;
    expect(volta_session_print_plan(session, &plan) == VOLTA_OK, "print_plan");
    Tensors in, out;
    bool fits = is_small(plan) && make_inputs(context, shapes, in, 1);
    for (size_t i = 0; fits && i < volta_model_output_count(model); ++i) {
        volta_tensor_info info;
        expect(volta_model_output_info(model, i, &info) == VOLTA_OK, "output_info");
        for (int32_t axis = 0; axis < info.rank; ++axis)
            if (info.shape[axis] < 0) info.shape[axis] = open;
        fits = out.add(context, info.dtype, info.shape, info.rank);
    }
    if (fits)
        worked(volta_session_run(session, in.all.data(), in.all.size(), out.all.data(), out.all.size()));
    volta_session_release(session);
}

void step(volta_context* context, volta_trainer* trainer, const volta_model* model, const Shapes& shapes,
          const volta_trainer_options& options, int64_t open) {
    static const int32_t kTokens[64] = {0};
    const char* plan = nullptr;
    expect(volta_trainer_print_plan(trainer, &plan) == VOLTA_OK, "print_plan");
    if (!is_small(plan)) return;
    const int64_t times = options.micro_batches == 0 ? 1 : static_cast<int64_t>(options.micro_batches);
    if (worked(volta_trainer_set_tokens(trainer, kTokens, 64)))
        worked(volta_trainer_step_tokens(trainer, nullptr));
    double loss = 0;
    worked(volta_trainer_evaluate_tokens(trainer, kTokens, 20, &loss));
    Tensors in, targets;
    volta_tensor_info info;
    if (!make_inputs(context, shapes, in, times)) return;
    if (volta_model_output_info(model, static_cast<size_t>(options.output_index), &info) != VOLTA_OK) return;
    for (int32_t axis = 0; axis < info.rank; ++axis)
        if (info.shape[axis] < 0) info.shape[axis] = open;
    const bool classes = options.loss == VOLTA_LOSS_CROSS_ENTROPY;
    const int32_t rank = classes ? info.rank - 1 : info.rank;
    if (rank < 0) return;
    if (rank > 0) info.shape[0] *= times;
    if (!targets.add(context, classes ? VOLTA_I32 : VOLTA_F32, info.shape, rank)) return;
    worked(volta_trainer_step(trainer, in.all.data(), in.all.size(), targets.all[0], nullptr));
    char hash[33];
    worked(volta_trainer_hash(trainer, hash));
}

void train(volta_context* context, volta_model* model, Choices choices) {
    const int64_t open = choices.next() % 4;
    const Shapes shapes = input_shapes(model, open);
    volta_trainer_options options = {};
    options.struct_size = sizeof options;
    options.input_shapes = shapes.extents.data();
    options.input_extent_count = shapes.extents.size();
    options.loss = static_cast<volta_loss>(choices.next() % 5);
    const double weights[] = {1, 0, 0.5, 2};
    if (options.loss == VOLTA_LOSS_CROSS_ENTROPY && choices.next() % 2) options.label_smoothing = 0.1;
    if (options.loss == VOLTA_LOSS_CROSS_ENTROPY || options.loss == VOLTA_LOSS_BINARY_CROSS_ENTROPY) {
        options.class_weight_count = choices.next() % 5;
        if (options.class_weight_count != 0) options.class_weights = weights;
    }
    static const char* const kPatterns[] = {"*",    "*a*",     "v1*",      "*.running_*",
                                            "?1_*", "block.*", "*.weight", "table"};
    const char* const frozen[] = {choices.of(kPatterns)};
    if (choices.next() % 3 == 0) options.frozen = frozen, options.frozen_count = 1;
    options.optimizer = static_cast<volta_optimizer>(choices.next() % 4);
    options.micro_batches = choices.next() % 3;
    options.clip_norm = choices.next() % 2;
    volta_trainer* trainer = nullptr;
    if (worked(volta_trainer_create(model, &options, &trainer)))
        step(context, trainer, model, shapes, options, open);
    volta_trainer_release(trainer);
    trainer = nullptr;
    if (worked(volta_trainer_resume(model, nullptr, &trainer))) {
        volta_trainer_options own = {};
        own.struct_size = sizeof own;
        expect(volta_trainer_get_options(trainer, &own) == VOLTA_OK, "get_options");
        step(context, trainer, model, shapes, own, open);
    }
    volta_trainer_release(trainer);
}

void generate(volta_model* model, uint32_t flags) {
    volta_generator_options options = {};
    options.struct_size = sizeof options;
    options.sequences = 2;
    options.prefill_chunk = 3;
    options.temperature = 1;
    options.flags = flags;
    const int32_t prompt[] = {0, 0, 0, 0};
    volta_generator* generator = nullptr;
    for (const int64_t context : {int64_t{0}, int64_t{6}}) {
        options.context = context;
        if (!worked(volta_generator_create(model, &options, &generator))) continue;
        volta_token_cost cost = {};
        cost.struct_size = sizeof cost;
        worked(volta_generator_get_cost(generator, 0, &cost));
        if (cost.operations < 1e6 && worked(volta_generator_start(generator, prompt, 4)))
            for (int i = 0; i < 3; ++i) {
                int32_t token = 0;
                if (!worked(volta_generator_next(generator, &token))) break;
            }
        volta_generator_release(generator);
        generator = nullptr;
    }
}

// Models that are made from it: with another last layer, without batch norms, of its tokens' states.
void derive(volta_context* context, volta_model* model, Choices choices) {
    volta_model* made[3] = {};
    worked(volta_model_replace_head(model, choices.of(kExtents), 1, &made[0]));
    worked(volta_model_fold_batch_norm(model, &made[1], nullptr));
    worked(volta_model_hidden_states(model, &made[2]));
    for (volta_model* const one : made) {
        char hash[33];
        if (one != nullptr) {
            worked(volta_model_hash(one, hash));
            run_session(context, one, 2, 0);
        }
        volta_model_release(one);
    }
}

void use(volta_context* context, volta_model* model, Choices choices) {
    static const int32_t kTokens[40] = {0};
    double loss = 0;
    for (const size_t count : {size_t{0}, size_t{2}, size_t{40}})
        worked(volta_model_evaluate_tokens(model, kTokens, count, &loss));
    for (const int64_t open : {0, 1, 2, 5})
        run_session(context, model, open,
                    choices.next() % 2 == 0 ? 0u : unsigned{VOLTA_SESSION_PACK_WEIGHTS});
    generate(model, 0);
    generate(model, VOLTA_GENERATOR_NO_CACHE);
    train(context, model, choices);
    for (const volta_dtype dtype : {VOLTA_BF16, VOLTA_F16, VOLTA_INT8, VOLTA_INT4, VOLTA_F32_PANELS}) {
        volta_model* small = nullptr;
        if (worked(volta_model_quantize(model, dtype, &small))) {
            run_session(context, small, 2, 0);
            worked(volta_model_evaluate_tokens(small, kTokens, 10, &loss));
            generate(small, 0);
        }
        volta_model_release(small);
    }
    derive(context, model, choices);
}

volta_model* open_file(volta_context* context, const uint8_t* data, size_t size) {
    volta_open_options options = {};
    options.struct_size = sizeof options;
    options.mode = VOLTA_LOAD_COPY;
    volta_model* model = nullptr;
    worked(volta_model_open_memory(context, data, size, &options, &model));
    return model;
}

volta_model* make_graph(volta_context* context, Choices& choices) {
    volta_graph* graph = nullptr;
    volta_model* model = nullptr;
    if (!worked(volta_graph_create(context, &graph))) return nullptr;
    GraphMaker(graph, context, choices).make();
    worked(volta_model_create(graph, 1, &model));
    volta_graph_release(graph);
    return model;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const bool is_file = size > sizeof kMagic && memcmp(data, kMagic, sizeof kMagic - 1) == 0;
    for (const bool generated : {false, true}) {
        Choices choices(data, is_file ? 16 : size);
        const size_t before = fuzz::held;
        volta_context* const own = make_context(generated);
        volta_model* const model = is_file ? open_file(own, data, size) : make_graph(own, choices);
        if (model != nullptr) use(own, model, is_file ? Choices(data + size - 16, 16) : choices);
        volta_model_release(model);
        volta_context_release(own);
        expect(fuzz::held == before, "something was left behind");
    }
    return 0;
}
