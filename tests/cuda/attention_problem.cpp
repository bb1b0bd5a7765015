#include "tests/cuda/attention_problem.h"

#include <algorithm>
#include <cmath>

#include "tests/cuda/entries.h"

namespace volta::test {

float attention_scale(int head_dim) {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)));
}

AttentionProblem make_attention_problem(const jit::CudaAttentionForm& form, const AttentionCase& test,
                                        std::uint64_t seed) {
    AttentionProblem p{};
    define::AttentionSizes& size = p.size;
    const auto gap = static_cast<std::int64_t>(seed % 4);
    size.batch = test.batch, size.queries = size.keys = test.time;
    size.heads = test.heads, size.kv_heads = test.kv_heads, size.head_dim = form.head_dim;
    size.causal = form.causal;
    if (form.window) size.window = 1 + 13 * static_cast<std::int64_t>(seed % 5);
    if (form.cap) size.cap = 0.5f;
    const std::int64_t query = size.heads * size.head_dim, key = size.kv_heads * size.head_dim;
    size.q_stride = query + 2 * gap, size.k_stride = key + gap, size.v_stride = key + 3 * gap;
    size.o_stride = query + gap;
    size.dq_stride = query + 2 * key, size.dk_stride = key + gap, size.dv_stride = key;
    p.random[0] = 77, p.random[1] = static_cast<std::uint32_t>(seed), p.random[2] = 5;
    p.dropout.place = {p.random[0] | static_cast<std::uint64_t>(p.random[1]) << 32, 5, Purpose::dropout, 9};
    p.dropout.rule = dropout_rule(0.2);
    p.dropout.first_sequence = 3;
    p.dropout.time = test.time;
    const std::int64_t tokens = test.batch * test.time, rows = tokens * size.heads + 5;
    const auto values = [&](std::int64_t stride, int which) {
        return random_floats(tokens * stride + 7, 100 * seed + static_cast<std::uint64_t>(which), test.data);
    };
    p.q = values(size.q_stride, 0), p.k = values(size.k_stride, 1), p.v = values(size.v_stride, 2);
    p.o = values(size.o_stride, 3), p.d_o = values(size.o_stride, 4);
    p.dq = values(size.dq_stride, 5), p.dk = values(size.dk_stride, 6), p.dv = values(size.dv_stride, 7);
    p.maxima = random_floats(rows, seed), p.sums = random_floats(rows, seed + 1);
    return p;
}

jit::CudaAttentionArgs attention_args(const jit::CudaAttentionForm& form, AttentionProblem& p) {
    jit::CudaAttentionArgs args{};
    args.q = p.q.data(), args.k = p.k.data(), args.v = p.v.data(), args.o = p.o.data();
    args.row_max = p.maxima.data(), args.row_sum = p.sums.data(), args.d_o = p.d_o.data();
    args.dq = p.dq.data(), args.dk = p.dk.data(), args.dv = p.dv.data();
    if (form.dropout) args.random = p.random;
    args.q_stride = p.size.q_stride, args.k_stride = p.size.k_stride, args.v_stride = p.size.v_stride;
    args.o_stride = p.size.o_stride, args.dq_stride = p.size.dq_stride;
    args.dk_stride = p.size.dk_stride, args.dv_stride = p.size.dv_stride;
    args.batch = p.size.batch, args.time = p.size.queries;
    args.heads = p.size.heads, args.kv_heads = p.size.kv_heads;
    args.window = p.size.window;
    args.scale = attention_scale(form.head_dim);
    args.cap = p.size.cap;
    args.kept_scale = p.dropout.rule.scale, args.threshold = p.dropout.rule.threshold;
    args.last_word = purpose_and_stream(p.dropout.place.purpose, p.dropout.place.stream);
    args.first_sequence = p.dropout.first_sequence;
    return args;
}

std::string run_attention(const jit::CudaAttentionForm& form, const std::string& name, AttentionProblem& p,
                          const AttentionRun& how) {
    constexpr float kGuard = -7777.0f;
    jit::CudaAttentionArgs args = attention_args(form, p);
    const jit::AttentionLaunch launch = jit::attention_launch(form.head_dim, args, how.multiprocessors);
    std::vector<float> scratch(launch.scratch_bytes / sizeof(float) + 16, kGuard);
    args.scratch = scratch.data();
    std::string error;
    const auto start = [&](const char* entry, unsigned blocks, unsigned threads) {
        simt::Launch grid;
        grid.grid.x = std::min(blocks, how.most_blocks);
        grid.block.x = threads;
        grid.order = how.order;
        if (blocks > 0 && error.empty()) error = run_entry(name + entry, grid, &args);
    };
    if (!how.backward) {
        start("_forward", launch.forward_x, how.threads);
        return error;
    }
    start("_terms", launch.terms_x, jit::kAttentionThreads);
    start("_queries", launch.forward_x, how.threads);
    start("_keys", launch.forward_x, how.threads);
    start("_groups", launch.groups_x, jit::kAttentionThreads);
    if (!std::all_of(scratch.end() - 16, scratch.end(), [](float x) { return x == kGuard; }))
        error += "wrote behind the scratch memory";
    return error;
}

}  // namespace volta::test
