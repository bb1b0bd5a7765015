#include "cli/self_check.h"

#include <cstring>

namespace voltac {
namespace {

// FNV-1a of bytes that are little-endian on every machine that Volta runs on.
class Digest {
  public:
    void add(const void* data, std::size_t bytes) {
        const auto* at = static_cast<const unsigned char*>(data);
        for (std::size_t i = 0; i < bytes; ++i) value_ = (value_ ^ at[i]) * 0x100000001b3u;
    }
    std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = 0xcbf29ce484222325u;
};

using Tensor = std::unique_ptr<volta_tensor, Release<volta_tensor, volta_tensor_release>>;

constexpr std::int64_t kVocabulary = 65, kContext = 33, kBatch = 2;  // no multiples of a vector's lanes

std::vector<std::int32_t> tokens_of(std::int64_t count) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = static_cast<std::int32_t>((i * i + 7 * i) % kVocabulary);
    return tokens;
}

Model small_gpt(const Context& context, double dropout) {
    volta_gpt_options gpt = VOLTA_GPT_OPTIONS_INIT;
    gpt.vocabulary = kVocabulary;
    gpt.layers = 2;
    gpt.dim = 48;
    gpt.heads = 3;
    gpt.context = kContext;
    gpt.dropout = dropout;
    volta_model* model = nullptr;
    check(volta_model_create_gpt(context.get(), &gpt, 1, &model));
    return Model(model);
}

constexpr std::int64_t kShape[] = {kBatch, kContext};

std::uint64_t logits(const Context& context, volta_dtype) {
    const Model model = small_gpt(context, 0);
    volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
    options.input_shapes = kShape;
    options.input_extent_count = 2;
    volta_session* session = nullptr;
    check(volta_session_create(model.get(), &options, &session));
    const Session owned(session);
    std::vector<std::int32_t> tokens = tokens_of(kBatch * kContext);
    std::vector<float> result(static_cast<std::size_t>(kBatch * kContext * kVocabulary));
    const std::int64_t result_shape[] = {kBatch, kContext, kVocabulary};
    volta_tensor *input = nullptr, *output = nullptr;
    check(volta_tensor_wrap(context.get(), VOLTA_I32, kShape, 2, tokens.data(), &input));
    const Tensor owned_input(input);
    check(volta_tensor_wrap(context.get(), VOLTA_F32, result_shape, 3, result.data(), &output));
    const Tensor owned_output(output);
    check(volta_session_run(session, &input, 1, &output, 1));
    Digest digest;
    digest.add(result.data(), result.size() * sizeof(float));
    return digest.value();
}

// Dropout, two micro-batches, clipping: what a step reports, and all parameters after the last.
std::uint64_t training(const Context& context, volta_dtype) {
    const Model model = small_gpt(context, 0.1);
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = kShape;
    options.input_extent_count = 2;
    options.loss = VOLTA_LOSS_CROSS_ENTROPY;
    options.optimizer = VOLTA_ADAMW;
    options.seed = 1;
    options.micro_batches = 2;
    options.weight_decay = 0.1;
    options.clip_norm = 1;
    volta_trainer* trainer = nullptr;
    check(volta_trainer_create(model.get(), &options, &trainer));
    const Trainer owned(trainer);
    const std::vector<std::int32_t> tokens = tokens_of(600);
    check(volta_trainer_set_tokens(trainer, tokens.data(), tokens.size()));
    Digest digest;
    for (int step = 0; step < 3; ++step) {
        volta_step_report report = VOLTA_STEP_REPORT_INIT;
        check(volta_trainer_step_tokens(trainer, &report));
        digest.add(&report.loss, sizeof report.loss);
        digest.add(&report.gradient_norm, sizeof report.gradient_norm);
    }
    char hash[33];
    check(volta_trainer_hash(trainer, hash));
    digest.add(hash, std::strlen(hash));
    return digest.value();
}

// Greedy tokens of a Llama whose weights are stored as `weights`, and the logits of each.
std::uint64_t text(const Context& context, volta_dtype weights) {
    volta_llama_options llama = VOLTA_LLAMA_OPTIONS_INIT;
    llama.vocabulary = kVocabulary;
    llama.layers = 2;
    llama.dim = 80;
    llama.heads = 4;
    llama.kv_heads = 2;
    llama.context = kContext;
    volta_model* made = nullptr;
    check(volta_model_create_llama(context.get(), &llama, 1, &made));
    Model model(made);
    if (weights != VOLTA_F32) {
        check(volta_model_quantize(model.get(), weights, &made));
        model.reset(made);
    }
    volta_generator* generator = nullptr;
    check(volta_generator_create(model.get(), nullptr, &generator));
    const Generator owned(generator);
    const std::vector<std::int32_t> prompt = tokens_of(9);
    check(volta_generator_start(generator, prompt.data(), prompt.size()));
    Digest digest;
    for (int i = 0; i < 12; ++i) {
        std::int32_t token = 0;
        const float* values = nullptr;
        std::size_t count = 0;
        check(volta_generator_next(generator, &token));
        check(volta_generator_logits(generator, &values, &count));
        digest.add(&token, sizeof token);
        digest.add(values, count * sizeof(float));
    }
    return digest.value();
}

// The digests were taken once, and hold for contract version 1: they change with no processor, compiler,
// number of threads or release.
static_assert(VOLTA_CONTRACT_VERSION == 1, "a new contract has digests of its own");
struct SelfCheck {
    const char* name;
    std::uint64_t (*run)(const Context& context, volta_dtype weights);
    volta_dtype weights;
    std::uint64_t expected;
};
const SelfCheck kChecks[] = {
    {"logits", logits, VOLTA_F32, 0x6f83dac1070feb32},
    {"training", training, VOLTA_F32, 0xbab54e257ae89022},
    {"text with weights in f32", text, VOLTA_F32, 0x060306821f68d027},
    {"f32_panels", text, VOLTA_F32_PANELS, 0x060306821f68d027},
    {"bf16", text, VOLTA_BF16, 0x7231772698f4f784},
    {"f16", text, VOLTA_F16, 0xb4764c46dfae894e},
    {"int8", text, VOLTA_INT8, 0xe8a1638282ec393a},
    {"int4", text, VOLTA_INT4, 0x7035d70f3c94234b},
};

}  // namespace

std::string self_checks() {
    std::string names;
    for (const SelfCheck& each : kChecks) names += (names.empty() ? "" : ", ") + std::string(each.name);
    return names;
}

std::string other_bits(const Context& context) {
    std::string names;
    for (const SelfCheck& each : kChecks) {
        const std::uint64_t found = each.run(context, each.weights);
        if (found != each.expected)
            names += formatted("%s%s (%016llx)", names.empty() ? "" : ", ", each.name,
                               static_cast<unsigned long long>(found));
    }
    return names;
}

}  // namespace voltac
