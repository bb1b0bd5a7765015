#include "tests/support/fake_cuda/fake_matmul.h"

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <iterator>

#include "engine/numerics/storage_types.h"

namespace volta::fake {
namespace {

// Lanes and splits make the order of additions. "Needs" as tensor cores do: 16 bytes, at every address.
constexpr Algorithm kAlgorithms[] = {
    // magic             id  tile stages in cl sp reduction              sw op lanes alignment needs
    {{'F', 'A', 'L', 'T'}, 66, 300, 36, 0, 3, 2, kLtReductionInPlace, 0, 0, 2, {}, 4, 0, 0},
    {{'F', 'A', 'L', 'T'}, 21, 18, 12, 0, 0, 1, kLtNoReduction, 0, 0, 4, {}, 16, 0, 0},
    {{'F', 'A', 'L', 'T'}, 21, 20, 12, 0, 0, 1, kLtNoReduction, 1, 0, 8, {}, 4, 0, 0},
    {{'F', 'A', 'L', 'T'}, 6, 15, 8, 0, 0, 3, kLtReductionInCompute, 0, 0, 2, {}, 4, 0, 0},
};

float tf32_of(float value) {  // to the nearest, ties away from zero
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7f800000u) == 0x7f800000u) return value;
    return float_of_bits((bits + 0x1000u) & ~0x1fffu);
}

// Element (row, column) of a matrix as the product sees it.
struct Reader {
    const Matrix& matrix;
    const unsigned char* data;
    bool transposed, rounds;

    float operator()(std::int64_t row, std::int64_t column, std::int64_t batch) const {
        const std::int64_t at = batch * matrix.batch_stride +
                                (transposed ? row * matrix.stride + column : column * matrix.stride + row);
        if (matrix.type == kLtBfloat16) {
            std::uint16_t half;
            std::memcpy(&half, data + 2 * at, sizeof half);
            return f32_from_bf16(half);
        }
        float value;
        std::memcpy(&value, data + 4 * at, sizeof value);
        return rounds ? tf32_of(value) : value;
    }
};

// k in [first, end): lanes in turn, then lane by lane.
float partial(const Reader& a, const Reader& b, std::int64_t i, std::int64_t j, std::int64_t batch,
              std::int64_t first, std::int64_t end, int lanes) {
    float sums[8] = {};
    for (std::int64_t p = first; p < end; ++p) {
        float& sum = sums[(p - first) % lanes];
        sum = std::fma(a(i, p, batch), b(p, j, batch), sum);
    }
    for (int lane = lanes - 1; lane > 0; --lane) sums[lane - 1] += sums[lane];
    return sums[0];
}

bool is_device(const void* address, std::size_t bytes) {
    const Allocation* const allocation = find_allocation(address, bytes);
    return allocation != nullptr && !allocation->pinned;
}

bool overlap(const unsigned char* a, std::size_t a_bytes, const unsigned char* b, std::size_t b_bytes) {
    return a < b + b_bytes && b < a + a_bytes;
}

bool is_there(const Product& product) {
    const Description& d = product.description;
    const struct {
        const char* name;
        const unsigned char* at;
        std::size_t bytes;
    } parts[] = {{"A", product.a, d.a.bytes()},
                 {"B", product.b, d.b.bytes()},
                 {"C", product.c, d.c.bytes()},
                 {"the workspace", product.workspace, product.algorithm.workspace_bytes}};
    for (const auto& part : parts) {
        if (part.bytes == 0) continue;
        if (!is_device(part.at, part.bytes)) {
            complain("cublasLtMatmul: %s: %zu bytes at %p are no memory of the device", part.name, part.bytes,
                     static_cast<const void*>(part.at));
            return false;
        }
        if (part.at != product.c && overlap(part.at, part.bytes, product.c, d.c.bytes())) {
            complain("cublasLtMatmul: %s overlaps C", part.name);
            return false;
        }
    }
    return true;
}

}  // namespace

std::size_t Matrix::bytes() const {
    const auto elements = static_cast<std::size_t>((batch - 1) * batch_stride) +
                          static_cast<std::size_t>(stride) * (columns - 1) + rows;
    return elements * element_bytes();
}

std::uint64_t Description::hash() const {
    std::uint64_t hash = 14695981039346656037u;
    const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
    for (const int value : {compute_type, transposed[0], transposed[1]})
        mix(static_cast<std::uint64_t>(value));
    for (const Matrix* const matrix : {&a, &b, &c}) {
        mix(static_cast<std::uint64_t>(matrix->type));
        mix(matrix->rows);
        mix(matrix->columns);
        mix(static_cast<std::uint64_t>(matrix->stride));
        mix(static_cast<std::uint64_t>(matrix->batch));
        mix(static_cast<std::uint64_t>(matrix->batch_stride));
    }
    return hash;
}

bool algorithm_for(const Description& description, int i, Algorithm* algorithm) {
    if (i >= static_cast<int>(std::size(kAlgorithms))) return false;
    *algorithm = kAlgorithms[i];
    algorithm->description = description.hash();
    if (algorithm->reduction == kLtReductionInCompute)
        algorithm->workspace_bytes = std::uint64_t{algorithm->splits} * description.m() * description.n() *
                                     static_cast<std::uint64_t>(description.c.batch) * sizeof(float);
    return true;
}

CUresult run_product(const void* arguments) {
    const Product& product = *static_cast<const Product*>(arguments);
    const Description& d = product.description;
    const Algorithm& how = product.algorithm;
    if (!is_there(product)) return kCudaIllegalAddress;
    if (how.workspace_bytes > 0) std::memset(product.workspace, 0xff, how.workspace_bytes);
    const bool rounds = d.compute_type == kLtComputeTf32;
    const Reader a = {d.a, product.a, d.transposed[0] != 0, rounds};
    const Reader b = {d.b, product.b, d.transposed[1] != 0, rounds};
    const auto m = static_cast<std::int64_t>(d.m()), n = static_cast<std::int64_t>(d.n()),
               k = static_cast<std::int64_t>(d.k());
    static int turn = 0;
    const bool descends = how.reduction == kLtReductionInPlace && ++turn % 2 == 0;
    auto* const parts = reinterpret_cast<float*>(product.workspace);
    auto* const c = reinterpret_cast<float*>(product.c);
    for (std::int64_t batch = 0, at = 0; batch < d.c.batch; ++batch)
        for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t i = 0; i < m; ++i, at += how.splits) {
                float sum = 0;
                for (std::int64_t s = 0; s < how.splits; ++s) {
                    const std::int64_t part = descends ? how.splits - 1 - s : s;
                    const float value = partial(a, b, i, j, batch, part * k / how.splits,
                                                (part + 1) * k / how.splits, how.lanes);
                    if (how.workspace_bytes > 0) parts[at + part] = value;
                    sum += how.workspace_bytes > 0 ? parts[at + part] : value;
                }
                float& result = c[batch * d.c.batch_stride + j * d.c.stride + i];
                result =
                    product.beta != 0 ? product.alpha * sum + product.beta * result : product.alpha * sum;
            }
    return kCudaSuccess;
}

}  // namespace volta::fake
