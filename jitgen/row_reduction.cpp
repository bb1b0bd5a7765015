#include "jitgen/row_reduction.h"

#include <algorithm>
#include <limits>

#include "engine/numerics/machine.h"
#include "jitgen/row_plan.h"

namespace volta::jit {
namespace {

using M = ScalarMachine<float>;

constexpr int kLanes = 32;
constexpr std::uint32_t kNan = 0x7fc00000u;

float fold(float* lanes) {
    for (int h = kLanes / 2; h >= 1; h /= 2)
        for (int l = 0; l < h; ++l) lanes[l] = lanes[l] + lanes[l + h];
    return lanes[0];
}

// The canonical sum of n chunk results. They are overwritten from the front, which is read first.
float sum_in_place(float* x, std::int64_t n) {
    if (n == 0) return 0.0f;
    while (n > 1) {
        std::int64_t chunks = 0;
        for (std::int64_t begin = 0; begin < n; begin += kSumChunk) {
            float lanes[kLanes] = {};
            const std::int64_t end = std::min(n, begin + kSumChunk);
            for (std::int64_t i = begin; i < end; ++i) lanes[(i - begin) % kLanes] += x[i];
            x[chunks++] = fold(lanes);
        }
        n = chunks;
    }
    return x[0];
}

// Orders like the reals, with -0 equal to +0 and every NaN above +Inf.
std::int32_t key_of(float x) {
    if (M::is_nan(x)) return std::numeric_limits<std::int32_t>::max();
    const std::uint32_t bits = M::bits(x + 0.0f);
    return static_cast<std::int32_t>(bits ^ M::shr(M::sar(bits, 31), 1));
}

}  // namespace

void RowReduction::begin(std::uint32_t first_column) noexcept {
    std::fill(lanes, lanes + kLanes, 0.0f);
    chunks = 0;
    max = -std::numeric_limits<float>::infinity();
    nan = false;
    best_key = std::numeric_limits<std::int32_t>::min();  // below the key of -Inf
    best_index = first_column;
}

void RowReduction::add(Code code, const std::uint32_t* value, std::int64_t column, std::int64_t n,
                       std::uint32_t first_column, float* chunk_results) noexcept {
    if (code == Code::row_sum) {
        if (column > 0 && column % kSumChunk == 0) close_chunk(chunk_results);
        for (std::int64_t i = 0; i < n; ++i) lanes[i % kLanes] += M::from_bits(value[i]);
        return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
        const float x = M::from_bits(value[i]);
        if (code == Code::row_max) {
            nan = nan || M::is_nan(x);
            max = x > max ? x : max;
        } else if (key_of(x) > best_key) {
            best_key = key_of(x);
            best_index = first_column + static_cast<std::uint32_t>(column + i);
        }
    }
}

void RowReduction::close_chunk(float* chunk_results) noexcept {
    chunk_results[chunks++] = fold(lanes);
    std::fill(lanes, lanes + kLanes, 0.0f);
}

std::uint32_t RowReduction::result(Code code, float* chunk_results) noexcept {
    if (code == Code::row_argmax) return best_index;
    if (code == Code::row_max) return nan ? kNan : M::bits(max + 0.0f);
    close_chunk(chunk_results);
    return M::bits(sum_in_place(chunk_results, chunks));
}

}  // namespace volta::jit
