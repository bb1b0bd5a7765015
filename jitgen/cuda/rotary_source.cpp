// The text of rotary positions. The rotation itself is the contract's (engine/numerics/functions.h),
// recorded.
#include "jitgen/cuda/rotary_source.h"

#include <algorithm>
#include <cstdio>

#include "engine/numerics/functions.h"
#include "jitgen/cuda/row_source.h"

namespace volta::jit {
namespace {

constexpr std::int64_t kMostGridY = 65535;  // of every device

constexpr char kArguments[] = R"(
// ---- Rotary positions ------------------------------------------------------------------------------------

struct VoltaRotaryArgs {
    const float* x;
    float* y;
    const int* positions;
    const float* table;
    long long tokens, columns, heads, width, stride;
    unsigned interleaved, inverse;
};
static_assert(sizeof(VoltaRotaryArgs) == %zu, "the host's struct CudaRotaryArgs");
)";

// x and y may be one: a thread reads what it writes, and nothing else of x.
constexpr char kKernel[] = R"(
extern "C" __global__ void __launch_bounds__(256) rotary_rows(const VoltaRotaryArgs args) {
    const unsigned half = (unsigned)(args.width / 2), pairs = (unsigned)args.heads * half;
    const unsigned work = (unsigned)args.columns - pairs;
    const unsigned stride = (unsigned)args.stride, rest = stride - 2 * half;  // of a head, that stays
    for (long long token = blockIdx.y; token < args.tokens; token += gridDim.y) {
        const float* const x = args.x + token * args.columns;
        float* const y = args.y + token * args.columns;
        const float* const angles = args.table + args.positions[token] * args.width;
        for (unsigned k = blockIdx.x * blockDim.x + threadIdx.x; k < work; k += gridDim.x * blockDim.x) {
            if (k >= pairs) {
                const unsigned j = k - pairs, heads = (unsigned)args.heads;
                const unsigned column = j < heads * rest ? j / rest * stride + 2 * half + j % rest : pairs + k;
                y[column] = x[column];
                continue;
            }
            const unsigned i = k % half, head = k / half * stride;
            const unsigned first = head + (args.interleaved != 0 ? 2 * i : i);
            const unsigned second = first + (args.interleaved != 0 ? 1 : half);
            const float cosine = angles[i], sine = angles[half + i];
            float turned_first, turned_second;
            turned_pair(x[first], x[second], cosine, args.inverse != 0 ? negated(sine) : sine, turned_first,
                        turned_second);
            y[first] = turned_first;
            y[second] = turned_second;
        }
    }
}
)";

Program rotation(std::pmr::memory_resource* heap) {
    Builder b(heap);
    const Real first = b.load(b.input(Access::full)), second = b.load(b.input(Access::full));
    const Real cosine = b.load(b.input(Access::full)), sine = b.load(b.input(Access::full));
    const auto pair = rotate(b, first, second, cosine, sine);
    b.store(b.output(Access::full), pair.first);
    b.store(b.output(Access::full), pair.second);
    return b.finish();
}

}  // namespace

void append_rotary_kernels(std::pmr::string& text) {
    char arguments[sizeof kArguments + 64];
    std::snprintf(arguments, sizeof arguments, kArguments, sizeof(CudaRotaryArgs));
    text += arguments;
    append_row_function(rotation(text.get_allocator().resource()), "turned_pair", text);
    text += kKernel;
}

GridSize rotary_grid(const CudaRotaryArgs& args) {
    if (args.tokens == 0 || args.columns == 0) return {0, 0};
    const std::int64_t work = args.columns - args.heads * (args.width / 2);
    return {static_cast<unsigned>((work + kRotaryThreads - 1) / kRotaryThreads),
            static_cast<unsigned>(std::min(args.tokens, kMostGridY))};
}

}  // namespace volta::jit
