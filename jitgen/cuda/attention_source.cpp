// The entry points of attention, and how they are launched.
#include "jitgen/cuda/attention_source.h"

#include <algorithm>

#include "engine/base/error.h"
#include "jitgen/cuda/source_text.h"

namespace volta::jit {
namespace {

constexpr std::int64_t kTile = 64;               // queries or keys of a block
constexpr std::int64_t kMostTime = 4096 * 4096;  // two levels of chunks
constexpr std::int64_t kMostGridX = 0x7fffffff;
constexpr std::int64_t kBlocks = 16;  // per multiprocessor, where threads share elements

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

void append_attention_kernels(const CudaAttentionForm& form, const char* name, std::pmr::string& text) {
    if (form.head_dim < 1 || form.head_dim > 256)
        fail(VOLTA_INTERNAL, "attention kernel %s: heads of %d elements, and 1 to 256 are possible", name,
             form.head_dim);
    SourceText lines(text.get_allocator().resource());
    const char *causal = form.causal ? "true" : "false", *dropout = form.dropout ? "true" : "false";
    lines.line("%s", "");
    lines.line("// %s: attention with heads of %d.", name, form.head_dim);
    // Two blocks on a multiprocessor, where their sums leave registers for that: one multiplies while the
    // other waits at a barrier.
    const int blocks = form.head_dim <= 64 ? 2 : 1;
    const auto kernel = [&](const char* entry, const SourceTerm& body) {
        lines.line("extern \"C\" __global__ void __launch_bounds__(%u, %d)", kAttentionThreads, blocks);
        lines.line("%s_%s(const VoltaAttentionArgs args) {", name, entry);
        lines.line("    attention_%s<%s>(args);", entry, body.text);
        lines.line("}");
    };
    const std::pmr::string scores =
        attention_scores_type(form.window, form.cap, text.get_allocator().resource());
    const SourceTerm dim = term("%d", form.head_dim),
                     all = term("%d, %s, %s, %s", form.head_dim, causal, dropout, scores.c_str());
    kernel("forward", all);
    kernel("terms", dim);
    kernel("queries", all);
    kernel("keys", all);
    kernel("groups", dim);
    text += lines.take();
}

AttentionLaunch attention_launch(int head_dim, const CudaAttentionArgs& args, int multiprocessors) {
    if (args.time > kMostTime)
        fail(VOLTA_UNSUPPORTED, "attention over %lld tokens: a CUDA kernel takes at most %lld",
             static_cast<long long>(args.time), static_cast<long long>(kMostTime));
    const std::int64_t heads = args.batch * args.heads, rows = heads * args.time;
    const auto blocks = [&](std::int64_t wanted) {
        return static_cast<unsigned>(std::min(wanted, kBlocks * multiprocessors));
    };
    AttentionLaunch launch = {};
    launch.forward_x = static_cast<unsigned>(std::min(heads * ceil_div(args.time, kTile), kMostGridX));
    launch.terms_x = blocks(ceil_div(rows, kAttentionThreads / 32));
    launch.scratch_bytes = static_cast<std::size_t>(rows) * sizeof(float);
    if (args.heads == args.kv_heads) return launch;
    launch.groups_x =
        blocks(ceil_div(2 * args.batch * args.time * args.kv_heads * head_dim, kAttentionThreads));
    launch.scratch_bytes += 2 * static_cast<std::size_t>(rows * head_dim) * sizeof(float);
    return launch;
}

}  // namespace volta::jit
