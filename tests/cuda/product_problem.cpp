#include "tests/cuda/product_problem.h"

#include <algorithm>
#include <cstdio>
#include <memory_resource>

#include "engine/numerics/define_products.h"
#include "engine/numerics/stored_weights.h"
#include "jitgen/interpreter.h"

namespace volta::test {
namespace {

constexpr std::uint32_t kFirstRow = 40, kFirstColumn = 1000;  // of epilogues

// Random bytes, with scales around one: f16 of 0.25 to 2, and some that are 0 or infinite.
std::vector<std::uint32_t> random_weights(DType dtype, std::int64_t n, std::int64_t k, std::uint64_t seed) {
    Random random(seed);
    std::vector<std::uint32_t> words(static_cast<std::size_t>(
        ((n + kStoredPanel - 1) / kStoredPanel * stored_panel_bytes(dtype, k) + 3) / 4));
    for (auto& word : words) word = static_cast<std::uint32_t>(random.next());
    if (!has_scales(dtype)) {  // few of them infinite or NaN
        for (auto& word : words)
            if (random.below(64) != 0) word &= 0xbfffbfffu;
        return words;
    }
    const auto group = static_cast<std::size_t>(stored_group_bytes(dtype) / 4);
    for (std::size_t at = 0; at < words.size(); at += group)
        for (std::size_t i = at; i < at + 8; ++i)
            words[i] = random.below(32) == 0 ? 0x7c000000u : (words[i] & 0x87ff87ffu) | 0x38003800u;
    return words;
}

}  // namespace

ProductProblem::ProductProblem(const ProductExtents& extents, DType b_dtype, bool a_is_transposed,
                               bool b_is_transposed, const jit::Program* epilogue, std::uint64_t seed)
    : shape(extents), dtype(b_dtype), transposed_a(a_is_transposed), transposed_b(b_is_transposed) {
    const auto data = static_cast<Data>(seed % 7 % 4);
    const auto gap = static_cast<std::int64_t>(seed % 5);
    const std::int64_t a_lines = transposed_a ? shape.k : shape.m, b_lines = transposed_b ? shape.n : shape.k;
    into = seed % 4 == 0 && !is_stored(dtype);
    a_stride = (transposed_a ? shape.m : shape.k) + gap;
    b_stride = (transposed_b ? shape.k : shape.n) + gap;
    c_stride = shape.n + gap;
    // Matrices of a batch, or one that is repeated; epilogues see the rows of all of them as one matrix.
    batch_stride_a = seed % 3 == 0 ? 0 : a_lines * a_stride + gap;
    batch_stride_b = seed % 3 == 1 || is_stored(dtype) ? 0 : b_lines * b_stride;
    batch_stride_c = shape.m * c_stride;
    const std::int64_t batch = std::max<std::int64_t>(shape.batch, 1), rows = batch * shape.m;
    shift = static_cast<std::int64_t>(seed % 3 / 2);
    a = random_floats(batch * (a_lines * a_stride + gap) + shift, seed, data);
    if (is_stored(dtype)) {
        stored = random_weights(dtype, shape.n, shape.k, seed + 1);
    } else {
        b = random_floats(batch * b_lines * b_stride + shift, seed + 1, data);
    }
    c = random_floats(rows * c_stride, seed + 2);
    for (std::size_t k = 0; epilogue != nullptr && k < epilogue->operands.size(); ++k) {
        operands.push_back(random_floats(std::max<std::int64_t>(rows * c_stride, 8), seed + 3 + k));
        strides.push_back(epilogue->operands[k].access == jit::Access::per_row ? 1 : c_stride);
    }
}

void ProductProblem::expect(const jit::Program* epilogue) {
    for (std::int64_t z = 0; z < shape.batch; ++z) {
        const float* const rows = a.data() + shift + z * batch_stride_a;
        float* const out = c.data() + z * batch_stride_c;
        if (!is_stored(dtype)) {
            define::product<float>(shape.m, shape.n, shape.k, {rows, a_stride, transposed_a},
                                   {b.data() + shift + z * batch_stride_b, b_stride, transposed_b}, into, out,
                                   c_stride);
            continue;
        }
        const StoredWeights weights = {dtype, reinterpret_cast<const unsigned char*>(stored.data()), shape.n,
                                       shape.k};
        for (std::int64_t i = 0; i < shape.m; ++i)
            for (std::int64_t j = 0; j < shape.n; ++j)
                out[i * c_stride + j] = define::stored_chain(rows + i * a_stride, weights, j);
    }
    if (epilogue == nullptr) return;
    std::vector<void*> bases;
    for (auto& operand : operands) bases.push_back(operand.data());
    bases[0] = c.data();
    const jit::RowKernelPtr kernel = jit::interpret(*epilogue, std::pmr::new_delete_resource());
    std::vector<char> scratch(kernel->scratch_bytes(shape.n) + 64);
    jit::RowArgs args{
        bases.data(), strides.data(), shape.batch * shape.m, shape.n, kFirstRow, kFirstColumn, nullptr, 0};
    args.scratch = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64) % 64;
    kernel->run(args);
}

jit::CudaProductArgs ProductProblem::args() {
    jit::CudaProductArgs args{};
    args.a = a.data() + shift, args.c = c.data();
    args.b = is_stored(dtype) ? reinterpret_cast<const float*>(stored.data()) : b.data() + shift;
    args.a_stride = a_stride, args.b_stride = b_stride, args.c_stride = c_stride;
    args.m = shape.m, args.n = shape.n, args.k = shape.k;
    args.batch = shape.batch, args.batch_stride_a = batch_stride_a;
    args.batch_stride_b = batch_stride_b, args.batch_stride_c = batch_stride_c;
    args.into = into;
    args.keep = 1;
    for (std::size_t k = 0; k < operands.size(); ++k) args.epilogue.operands[k] = operands[k].data();
    std::copy(strides.begin(), strides.end(), args.epilogue.row_strides);
    args.epilogue.first_row = kFirstRow;
    args.epilogue.first_column = kFirstColumn;
    return args;
}

std::string ProductProblem::difference(const ProductProblem& actual) const {
    const auto compare = [](const std::vector<float>& x, const std::vector<float>& y, const char* what) {
        const std::int64_t at = first_difference(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
        if (at < 0) return std::string();
        char text[160];
        std::snprintf(text, sizeof text, "%s, element %lld: expected %a, got %a", what,
                      static_cast<long long>(at), static_cast<double>(x[static_cast<std::size_t>(at)]),
                      static_cast<double>(y[static_cast<std::size_t>(at)]));
        return std::string(text);
    };
    std::string failure = compare(c, actual.c, "c");
    for (std::size_t k = 1; k < operands.size() && failure.empty(); ++k)
        failure = compare(operands[k], actual.operands[k], "an operand of the epilogue");
    return failure;
}

std::string ProductProblem::text() const {
    return std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " + std::to_string(shape.k) +
           ", batch " + std::to_string(shape.batch);
}

}  // namespace volta::test
