#include "engine/backend/cuda/attention_action.h"

#include "engine/numerics/random.h"
#include "jitgen/cuda/tensor_attention_source.h"

namespace volta::cuda {
namespace {

// Tensor cores multiply bf16 and tf32 from compute capability 8.0 on.
Precision precision_of(const CudaStep& step, const AttentionShape& shape) {
    const Arithmetic& arithmetic = step.plan.arithmetic;
    const bool rounds = arithmetic.level != Level::strict && step.gpu().facts().capability_major >= 8;
    return rounds && jit::has_tensor_attention(shape.head_dim, arithmetic.precision) ? arithmetic.precision
                                                                                     : Precision::fp32;
}

}  // namespace

AttentionAction::AttentionAction(CudaStep& step, const AttentionStep& work)
    : work_(work), precision_(precision_of(step, work.shape)) {
    const AttentionShape& shape = work.shape;
    if (shape.head_dim < 1 || shape.head_dim > 256) step.unsupported(Limit::attention_head);
    if (shape.documents) step.unsupported(Limit::documents);
    args_.q_stride = shape.q_stride, args_.k_stride = shape.k_stride, args_.v_stride = shape.v_stride;
    args_.o_stride = shape.o_stride;
    args_.dq_stride = shape.dq_stride, args_.dk_stride = shape.dk_stride, args_.dv_stride = shape.dv_stride;
    args_.batch = shape.batch, args_.time = shape.time;
    args_.heads = shape.heads, args_.kv_heads = shape.kv_heads;
    args_.scale = shape.scale;
    args_.window = shape.window;
    args_.cap = shape.cap;
    jit::CudaAttentionForm form;
    form.window = shape.window > 0;
    form.cap = shape.cap != 0;
    form.head_dim = static_cast<int>(shape.head_dim);
    form.causal = shape.causal;
    form.dropout = shape.dropout > 0;
    if (form.dropout) {
        const DropoutRule rule = dropout_rule(shape.dropout);
        args_.kept_scale = rule.scale;
        args_.threshold = rule.threshold;
        args_.last_word = purpose_and_stream(Purpose::dropout, shape.stream);
    }
    launch_ = jit::attention_launch(form.head_dim, args_, step.multiprocessors());
    const bool tensor = precision_ != Precision::fp32;
    const std::pmr::string name = step.kernels().add(
        tensor ? kAttention | kTensorAttention : kAttention, [&](const char* unit, std::pmr::string& text) {
            if (tensor)
                jit::append_tensor_attention_kernels(form, precision_, unit, text);
            else
                jit::append_attention_kernels(form, unit, text);
        });
    const auto entry = [&](const char* which) { return step.kernels().entry(name.c_str(), which); };
    if (!work.backward) {
        forward_ = entry("forward");
        return;
    }
    terms_ = entry("terms");
    queries_ = entry("queries");
    keys_ = entry("keys");
    if (launch_.groups_x > 0) groups_ = entry("groups");
    if (launch_.scratch_bytes > 0) scratch_ = step.temporary(launch_.scratch_bytes);
}

jit::CudaAttentionArgs AttentionAction::args_of(const StepCall& call) const noexcept {
    jit::CudaAttentionArgs args = args_;
    args.q = call.at<float>(work_.q), args.k = call.at<float>(work_.k), args.v = call.at<float>(work_.v);
    args.o = call.at<float>(work_.o);
    args.row_max = call.at<float>(work_.row_max), args.row_sum = call.at<float>(work_.row_sum);
    if (work_.backward) {
        args.d_o = call.at<float>(work_.d_o);
        args.dq = call.at<float>(work_.dq), args.dk = call.at<float>(work_.dk),
        args.dv = call.at<float>(work_.dv);
        args.scratch = call.at<float>(scratch_);
    }
    if (work_.shape.dropout > 0) args.random = call.at<std::uint32_t>(work_.random);
    args.first_sequence = static_cast<std::uint32_t>(work_.shape.batch * call.step_micro_index);
    return args;
}

volta_status AttentionAction::run(const StepCall& call) const noexcept {
    const jit::CudaAttentionArgs args = args_of(call);
    const auto start = [&](const Kernel* kernel, unsigned blocks, unsigned threads) {
        return launch(call, kernel, {blocks}, threads, args);
    };
    const unsigned threads =
        precision_ == Precision::fp32 ? jit::kAttentionThreads : jit::kTensorAttentionThreads;
    if (!work_.backward) return start(forward_, launch_.forward_x, threads);
    volta_status status = start(terms_, launch_.terms_x, jit::kAttentionThreads);
    if (status == VOLTA_OK) status = start(queries_, launch_.forward_x, threads);
    if (status == VOLTA_OK) status = start(keys_, launch_.forward_x, threads);
    if (status == VOLTA_OK && groups_ != nullptr)
        status = start(groups_, launch_.groups_x, jit::kAttentionThreads);
    return status;
}

const char* AttentionAction::kernel_name() const noexcept {
    switch (precision_) {
        case Precision::bf16:
            return work_.backward ? "cuda attention backward tensor bf16" : "cuda attention tensor bf16";
        case Precision::tf32:
            return work_.backward ? "cuda attention backward tensor tf32" : "cuda attention tensor tf32";
        default:
            return work_.backward ? "cuda attention backward" : "cuda attention";
    }
}

CachedAttentionAction::CachedAttentionAction(CudaStep& step, const CachedAttentionStep& work) : work_(work) {
    const CachedAttentionShape& shape = work.shape;
    args_.q_stride = shape.q_stride, args_.k_stride = shape.k_stride, args_.v_stride = shape.v_stride;
    args_.o_stride = shape.o_stride;
    args_.rows = shape.rows, args_.heads = shape.heads, args_.kv_heads = shape.cache.kv_heads;
    args_.capacity = shape.cache.capacity;
    args_.scale = shape.scale;
    args_.window = shape.window;
    args_.cap = shape.cap;
    const auto head_dim = static_cast<int>(shape.cache.head_dim);
    const jit::CudaCachedAttentionForm form = {head_dim, shape.window > 0, shape.cap != 0};
    const std::pmr::string name =
        step.kernels().add(kCachedAttention, [&](const char* unit, std::pmr::string& text) {
            jit::append_cached_attention_kernels(form, unit, text);
        });
    const auto entry = [&](const char* which) { return step.kernels().entry(name.c_str(), which); };
    decode_x_ = jit::cached_decode_blocks(head_dim, args_);
    if (decode_x_ > 0) {
        decode_ = entry("decode");
        return;
    }
    launch_ = jit::cached_attention_launch(head_dim, args_, step.multiprocessors());
    store_ = entry("store");
    scores_ = entry("scores");
    values_ = entry("values");
    if (launch_.scratch_bytes > 0) scratch_ = step.temporary(launch_.scratch_bytes);
}

volta_status CachedAttentionAction::run(const StepCall& call) const noexcept {
    jit::CudaCachedAttentionArgs args = args_;
    args.slots = call.at<std::int32_t>(work_.slots), args.positions = call.at<std::int32_t>(work_.positions);
    args.q = call.at<float>(work_.q), args.k = call.at<float>(work_.k), args.v = call.at<float>(work_.v);
    args.keys = call.at<float>(work_.keys), args.values = call.at<float>(work_.values);
    args.o = call.at<float>(work_.o);
    args.scratch = call.at<float>(scratch_);
    if (decode_ != nullptr) return launch(call, decode_, {decode_x_}, jit::kCachedThreads, args);
    if (launch_.store_x == 0) return VOLTA_OK;
    volta_status status = launch(call, store_, {launch_.store_x}, jit::kCachedThreads, args);
    if (status == VOLTA_OK)
        status = launch(call, scores_, {launch_.scores_x, launch_.scores_y}, jit::kCachedScoreThreads, args);
    if (status == VOLTA_OK) status = launch(call, values_, {launch_.values_x}, jit::kCachedThreads, args);
    return status;
}

}  // namespace volta::cuda
