// Nanoseconds per element of some programs, by lowering. One thread; the best of several runs.
//
//   bench_row_kernels [program]
#include <chrono>
#include <cstdio>
#include <cstring>

#include "engine/base/cpu_info.h"
#include "engine/base/memory.h"
#include "jitgen/row_kernel.h"
#include "tests/jitgen/corpus.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr struct {
    const char* program;
    std::int64_t rows, columns;
} kCases[] = {
    {"exp", 1, 4096},
    {"tanh", 1, 4096},
    {"erf", 1, 4096},
    {"gelu_tanh", 1, 4096},
    {"gelu_tanh_grad", 1, 4096},
    {"sigmoid", 1, 4096},
    {"add", 1, 2048},
    {"add", 1, 1 << 20},
    {"add", 256, 16},
    {"layer_norm", 64, 384},
    {"layer_norm_grad", 64, 384},
    {"rms_norm", 64, 384},
    {"softmax", 64, 256},
    {"softmax", 4, 50257},
    {"cross_entropy", 64, 256},
    {"argmax", 4, 50257},
    {"adamw", 1, 1 << 20},
    {"dropout", 64, 384},
    {"column_sum", 1024, 384},
    {"column_sum", 1024, 1536},
    {"layer_norm_scale_grad", 1024, 384},
    {"gelu_grad_bias_grad", 1024, 1536},
};

// Memory for every operand of one case.
struct Operands {
    std::vector<Buffer> buffers;
    std::vector<void*> bases;
    std::vector<std::int64_t> strides;

    Operands(const jit::Program& program, std::int64_t rows, std::int64_t columns) {
        for (const jit::Operand& operand : program.operands) {
            const bool full = operand.access == jit::Access::full;
            const std::int64_t count = full ? rows * columns : std::max<std::int64_t>(rows + columns, 16);
            Buffer buffer(std::pmr::new_delete_resource(), static_cast<std::size_t>(count) * 4, true);
            const auto values = random_floats(count, 7);
            if (operand.type == jit::Type::real)
                std::memcpy(buffer.data(), values.data(), static_cast<std::size_t>(count) * 4);
            bases.push_back(buffer.data());
            strides.push_back(full ? columns : 1);
            buffers.push_back(std::move(buffer));
        }
    }
};

double nanoseconds_per_element(const jit::RowKernel& kernel, std::int64_t rows, std::int64_t columns) {
    Operands operands(kernel.program(), rows, columns);
    Buffer scratch(std::pmr::new_delete_resource(), kernel.scratch_bytes(columns) + 64);
    jit::RowArgs args{};
    args.operands = operands.bases.data();
    args.row_strides = operands.strides.data();
    args.rows = rows;
    args.columns = columns;
    args.scratch = scratch.data();
    const double elements = static_cast<double>(rows * columns);
    const int repeats = static_cast<int>(std::max(1.0, (kernel.is_native() ? 4e6 : 2e5) / elements));
    double best = 1e30;
    for (int trial = 0; trial < 9; ++trial) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < repeats; ++i) kernel.run(args);
        const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
        best = std::min(best, time.count() / repeats / elements);
    }
    return best;
}

}  // namespace

int main(int argc, char** argv) {
    auto* const heap = std::pmr::new_delete_resource();
    jit::CodeArena arena(heap, false);
    std::printf("%-24s %6s %8s %10s %10s %12s  ns/element\n", "program", "rows", "columns", "avx512", "avx2",
                "interpreter");
    for (const auto& test : kCases) {
        if (argc > 1 && std::strcmp(argv[1], test.program) != 0) continue;
        const jit::Program program = build(find_program(test.program), heap);
        std::printf("%-24s %6lld %8lld", test.program, static_cast<long long>(test.rows),
                    static_cast<long long>(test.columns));
        for (const Isa isa : {Isa::avx512, Isa::avx2, Isa::scalar}) {
            if (!host_cpu().has(isa)) {
                std::printf(" %10s", "-");
                continue;
            }
            const auto kernel = jit::compile(program, isa, arena, heap);
            std::printf(isa == Isa::scalar ? " %12.2f" : " %10.4f",
                        nanoseconds_per_element(*kernel, test.rows, test.columns));
            std::fflush(stdout);
        }
        std::printf("\n");
    }
    return 0;
}
