#include "jitgen/cuda/rounding_source.h"

#include <algorithm>

#include "jitgen/cuda/source_text.h"

namespace volta::jit {
namespace {

constexpr std::int64_t kBlocksPerMultiprocessor = 16;
constexpr std::int64_t kPiece = 512;  // pairs or eights that one group of threads takes at a time

constexpr char kBody[] =
    R"(    const long long columns = args.columns, pairs = (columns + 1) / 2, each = args.wide ? 4 : 1;
    const long long chunks = (pairs + each - 1) / each, pieces = (chunks + 511) / 512;
    const long long units = args.batch * args.rows * pieces;
    const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long step = (long long)gridDim.x * blockDim.x / args.width;
    for (long long unit = thread / args.width; unit < units; unit += step) {
        const long long line = unit / pieces, row = line % args.rows, matrix = line / args.rows;
        const float* from = args.from + matrix * args.from_batch + row * args.from_row;
        unsigned* to = (unsigned*)(args.to + matrix * args.to_batch + row * args.to_row);
        const long long first = unit % pieces * 512, end = least(chunks, first + 512);
        for (long long i = first + threadIdx.x % args.width; i < end; i += args.width) {
            if (args.wide && 8 * i + 8 <= columns) {
                const float4 a = *(const float4*)(from + 8 * i), b = *(const float4*)(from + 8 * i + 4);
                alignas(16) const unsigned words[4] = {pair(a.x, a.y), pair(a.z, a.w), pair(b.x, b.y),
                                                       pair(b.z, b.w)};
                *(float4*)(to + 4 * i) = *(const float4*)words;
                continue;
            }
            for (long long p = each * i; p < least(pairs, each * (i + 1)); ++p)
                to[p] = pair(from[2 * p], 2 * p + 1 < columns ? from[2 * p + 1] : 0.0f);
        }
    }
)";

constexpr char kRound[] = R"(    const auto rounded = [](float value) -> unsigned {
        const unsigned bits = __float_as_uint(value);
        if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;  // the quiet NaN
        return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    };
    const auto pair = [&](float low, float high) -> unsigned { return rounded(low) | rounded(high) << 16; };
)";

}  // namespace

void append_rounding_kernel(const char* name, std::pmr::string& text) {
    SourceText source(text.get_allocator().resource());
    source.line("struct %s_args {", name);
    source.line("    const float* from;");
    source.line("    unsigned short* to;");
    source.line("    long long batch, rows, columns, from_row, from_batch, to_row, to_batch;");
    source.line("    int width, wide;");
    source.line("};");
    source.line("static_assert(sizeof(%s_args) == %zu, \"the host's struct of rounding_source.h\");", name,
                sizeof(CudaRoundingArgs));
    source.line("extern \"C\" __global__ void __launch_bounds__(%u) %s_bf16(const %s_args args) {",
                kRoundingThreads, name, name);
    source.verbatim(kRound);
    source.verbatim(kBody);
    source.line("}");
    text += source.take();
}

unsigned rounding_launch(CudaRoundingArgs& args, bool aligned, int multiprocessors) {
    if (args.from_batch == args.rows * args.from_row && args.to_batch == args.rows * args.to_row) {
        args.rows *= args.batch;
        args.batch = 1;
    }
    if (args.batch == 1 && args.columns == args.from_row && args.columns == args.to_row) {
        args.columns *= args.rows;
        args.rows = 1;
    }
    const bool one_row = args.rows == 1 && args.batch == 1;
    const std::int64_t from = args.from_row | args.from_batch, to = args.to_row | args.to_batch;
    args.wide = aligned && (one_row || (from % 4 == 0 && to % 8 == 0)) ? 1 : 0;
    const std::int64_t each = args.wide != 0 ? 8 : 2, chunks = (args.columns + each - 1) / each;
    args.width = 1;
    while (args.width < 32 && 2 * args.width <= chunks) args.width *= 2;
    const std::int64_t units = args.batch * args.rows * ((chunks + kPiece - 1) / kPiece);
    const std::int64_t threads = units * args.width;
    return static_cast<unsigned>(std::min((threads + kRoundingThreads - 1) / kRoundingThreads,
                                          kBlocksPerMultiprocessor * multiprocessors));
}

}  // namespace volta::jit
