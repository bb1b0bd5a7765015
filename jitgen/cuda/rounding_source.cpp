#include "jitgen/cuda/rounding_source.h"

#include <algorithm>

#include "jitgen/cuda/source_text.h"

namespace volta::jit {
namespace {

constexpr std::int64_t kBlocksPerMultiprocessor = 16;
constexpr std::int64_t kPiece = 512;  // pairs that one group of threads takes at a time

constexpr char kBody[] =
    R"(    const long long columns = args.columns, pairs = (columns + 1) / 2, pieces = (pairs + 511) / 512;
    const long long units = args.batch * args.rows * pieces;
    const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long step = (long long)gridDim.x * blockDim.x / args.width;
    for (long long unit = thread / args.width; unit < units; unit += step) {
        const long long line = unit / pieces, row = line % args.rows, matrix = line / args.rows;
        const float* from = args.from + matrix * args.from_batch + row * args.from_row;
        unsigned* to = (unsigned*)(args.to + matrix * args.to_batch + row * args.to_row);
        const long long first = unit % pieces * 512, end = least(pairs, first + 512);
        for (long long i = first + threadIdx.x % args.width; i < end; i += args.width) {
            const unsigned low = rounded(from[2 * i]);
            const unsigned high = 2 * i + 1 < columns ? rounded(from[2 * i + 1]) : 0u;
            to[i] = low | high << 16;
        }
    }
)";

constexpr char kRound[] = R"(    const auto rounded = [](float value) -> unsigned {
        const unsigned bits = __float_as_uint(value);
        if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;  // the quiet NaN
        return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    };
)";

}  // namespace

void append_rounding_kernel(const char* name, std::pmr::string& text) {
    SourceText source(text.get_allocator().resource());
    source.line("struct %s_args {", name);
    source.line("    const float* from;");
    source.line("    unsigned short* to;");
    source.line("    long long batch, rows, columns, from_row, from_batch, to_row, to_batch, width;");
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

unsigned rounding_launch(CudaRoundingArgs& args, int multiprocessors) {
    if (args.from_batch == args.rows * args.from_row && args.to_batch == args.rows * args.to_row) {
        args.rows *= args.batch;
        args.batch = 1;
    }
    if (args.batch == 1 && args.columns == args.from_row && args.columns == args.to_row) {
        args.columns *= args.rows;
        args.rows = 1;
    }
    const std::int64_t pairs = (args.columns + 1) / 2;
    args.width = 1;
    while (args.width < 32 && 2 * args.width <= pairs) args.width *= 2;
    const std::int64_t units = args.batch * args.rows * ((pairs + kPiece - 1) / kPiece);
    const std::int64_t threads = units * args.width;
    return static_cast<unsigned>(std::min((threads + kRoundingThreads - 1) / kRoundingThreads,
                                          kBlocksPerMultiprocessor * multiprocessors));
}

}  // namespace volta::jit
