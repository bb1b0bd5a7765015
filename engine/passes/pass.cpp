#include "engine/passes/pass.h"

#include <algorithm>
#include <string_view>

#include "engine/base/error.h"
#include "engine/graph/print.h"
#include "engine/graph/verify.h"
#include "engine/passes/passes.h"

namespace volta {

// Folding comes first, so that simplify sees constants; merging before fusion, which hides nodes in bodies,
// and before recomputing, which it would undo; a weight's and a bias's gradient meet while they still read
// the same dy; a batch norm is one node while it may be computed again, and its parts fuse with others;
// epilogues take what elementwise fusion has made, and rows what epilogues have left.
const PassRow kPasses[] = {
    {"fold_constants", fold_constants,
     "computes nodes whose inputs are constants, by the reference evaluator"},
    {"simplify", simplify, "drops and joins operations where no bit changes"},
    {"merge_duplicates", merge_duplicates, "computes equal nodes once"},
    {"fuse_weight_gradients", fuse_weight_gradients,
     "computes the gradients of a layer's, or a norm's, weight and bias in one pass over dy"},
    {"recompute", recompute, "computes activations again for the backward pass rather than keeping them"},
    {"split_batch_norm", split_batch_norm,
     "writes a batch norm of given statistics as the elementwise operations that it is"},
    {"fuse_elementwise", fuse_elementwise, "joins elementwise nodes of one shape into one kernel"},
    {"fuse_epilogues", fuse_epilogues,
     "lets a product, or a convolution, finish its elementwise successors while its result is in cache"},
    {"fuse_rows", fuse_rows,
     "lets norms, softmax and their gradients take the elementwise nodes around them into their kernel"},
    {"remove_dead", remove_dead, "drops nodes that nothing needs"},
};
const int kPassCount = sizeof kPasses / sizeof *kPasses;

namespace {

bool is_enabled(std::uint32_t enabled, int pass) { return (enabled >> pass & 1) != 0; }

// The line of `text` that starts at `at`, without its end; moves `at` behind it.
std::string_view next_line(std::string_view text, std::size_t& at) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = std::min(end + 1, text.size());
    return line;
}

// 'after <pass>: "<line of a>" or "<line of b>"' for the first line that differs; "" when none does.
std::pmr::string first_difference(const char* pass, std::string_view a, std::string_view b,
                                  std::pmr::memory_resource* heap) {
    std::pmr::string result(heap);
    std::size_t at_a = 0, at_b = 0;
    while (at_a < a.size() || at_b < b.size()) {
        const std::string_view line_a = next_line(a, at_a), line_b = next_line(b, at_b);
        if (line_a == line_b) continue;
        result.append("after ")
            .append(pass)
            .append(": \"")
            .append(line_a)
            .append("\" or \"")
            .append(line_b)
            .append("\"");
        break;
    }
    return result;
}

}  // namespace

Graph run_pass(const PassRow& pass, const Graph& graph, std::pmr::memory_resource* heap) {
    try {
        Graph result = pass.run(graph, heap);
        verify(result);
        return result;
    } catch (const Error& error) {
        fail(error.status(), "pass %s: %s", pass.name, error.what());
    }
}

Graph run_passes(const Graph& graph, std::uint32_t enabled, std::pmr::memory_resource* heap) {
    verify(graph);
    Graph current(graph, heap);
    for (int pass = 0; pass < kPassCount; ++pass)
        if (is_enabled(enabled, pass)) current = run_pass(kPasses[pass], current, heap);
    return current;
}

std::pmr::string first_divergence(const Graph& graph, std::uint32_t enabled_a, std::uint32_t enabled_b,
                                  std::pmr::memory_resource* heap) {
    verify(graph);
    Graph a(graph, heap), b(graph, heap);
    for (int pass = 0; pass < kPassCount; ++pass) {
        if (is_enabled(enabled_a, pass)) a = run_pass(kPasses[pass], a, heap);
        if (is_enabled(enabled_b, pass)) b = run_pass(kPasses[pass], b, heap);
        std::pmr::string difference =
            first_difference(kPasses[pass].name, print(a, heap), print(b, heap), heap);
        if (!difference.empty()) return difference;
    }
    return std::pmr::string(heap);
}

}  // namespace volta
