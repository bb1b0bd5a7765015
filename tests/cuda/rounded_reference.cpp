#include "tests/cuda/rounded_reference.h"

#include <cmath>
#include <cstdio>

#include "engine/graph/forms.h"
#include "engine/numerics/storage_types.h"

namespace volta::test {
namespace {

constexpr double kUnit = 0x1p-24;  // of fp32

bool is_product(const Node& node) { return node.op == Op::matmul || node.op == Op::weight_gradient; }

MatmulForm form_of(const Graph& graph, const Node& node) {
    return matmul_form(node, graph.shape(node.inputs[0]), graph.shape(node.inputs[1]));
}

double bf16_of(double value) { return f32_from_bf16(bf16_from_f32(static_cast<float>(value))); }

// The product alone, of the first two inputs.
Node product_of(const Node& node) {
    Node product(node, Allocator(std::pmr::get_default_resource()));
    product.inputs.resize(2);
    if (node.op == Op::matmul) product.output_count = 1;
    product.body.ops.clear();
    product.body.results.clear();
    return product;
}

}  // namespace

bool RoundedReference::is_by_library(const Graph& graph, const Node& node) {
    if (!is_product(node) || is_stored(graph.value(node.inputs[1]).dtype)) return false;
    const MatmulForm form = form_of(graph, node);
    return form.batch * form.m * form.n * form.k > 0 && (form.m > 16 || form.a_transposed);
}

void RoundedReference::evaluate(const Node& node, const Tensor* const* inputs, Tensor* const* outputs,
                                std::uint32_t micro) {
    if (!is_product(node)) return ReferenceRun<double>::evaluate(node, inputs, outputs, micro);
    std::vector<Tensor> rounded, magnitudes;
    std::vector<const Tensor*> used(inputs, inputs + node.inputs.size()), sizes;
    const bool by_library = is_by_library(graph(), node);
    for (std::size_t i = 0; i < 2; ++i) {
        rounded.emplace_back(*inputs[i], Allocator(std::pmr::get_default_resource()));
        if (by_library && precision_ == Precision::bf16)
            for (double& value : rounded[i].real) value = bf16_of(value);
        magnitudes.emplace_back(rounded[i], Allocator(std::pmr::get_default_resource()));
        for (double& value : magnitudes[i].real) value = std::fabs(value);
    }
    for (std::size_t i = 0; i < 2; ++i) {
        used[i] = &rounded[i];
        sizes.push_back(&magnitudes[i]);
    }
    ReferenceRun<double>::evaluate(node, used.data(), outputs, micro);
    if (is_stored(graph().value(node.inputs[1]).dtype)) return;

    Product& product = products_[node.first_output];
    product.rounds_inside = by_library && precision_ == Precision::tf32;
    product.has_body = !node.body.ops.empty();
    const bool continues = node.number(Attr::accumulate) != 0 && micro > 0;
    product.additions = static_cast<double>(form_of(graph(), node).k) + (continues ? product.additions : 0);
    Tensor sums = empty_tensor();  // of columns of B, where the node has them
    Tensor* sized[] = {&product.magnitudes, &sums};
    ReferenceRun<double>::evaluate(product_of(node), sizes.data(), sized, micro);
}

// A sum of n terms in fp32, in any order, is within n u of the sum of their magnitudes; with errors that do
// not conspire, within lambda sqrt(n) u (Higham and Mary, A New Approach to Probabilistic Rounding Error
// Analysis, 2019), which is narrow enough to see an operand that was rounded and should not be. Bodies of the
// cases have slopes below 2 and add a few roundings of their own. TF32 keeps 10 bits of a significand, and
// need not round to the nearest: 2^-10 for each operand.
std::string RoundedReference::compare(const std::vector<Bits>& results, std::size_t* compared) const {
    if (results.size() != graph().outputs.size()) return "the workspace was overrun, or results are missing";
    for (std::size_t k = 0; k < results.size(); ++k) {
        const GraphOutput& output = graph().outputs[k];
        const Node& node = graph().producer(output.value);
        const auto found = products_.find(node.first_output);
        const bool is_sums = node.op == Op::weight_gradient && output.value != node.first_output;
        if (found == products_.end() || is_sums || graph().value(output.value).dtype != DType::f32) continue;
        const auto& expected = at(output.value).real;
        const Product& product = found->second;
        const double rounding = (6 * std::sqrt(product.additions) + 8) * kUnit;
        for (std::size_t i = 0; i < expected.size(); ++i, ++*compared) {
            float actual;
            std::memcpy(&actual, &results[k][i], sizeof actual);
            double bound = product.magnitudes.real[i] * (rounding + (product.rounds_inside ? 0x1.01p-9 : 0));
            if (product.has_body) bound = 2 * bound + 16 * kUnit * (std::fabs(expected[i]) + 2);
            if (std::fabs(static_cast<double>(actual) - expected[i]) <= bound) continue;
            char text[200];
            std::snprintf(text, sizeof text, "output %s, element %zu: expected %.9g within %.2g, got %.9g",
                          output.name.c_str(), i, expected[i], bound, static_cast<double>(actual));
            return text;
        }
    }
    return "";
}

}  // namespace volta::test
