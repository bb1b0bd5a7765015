// All 2^32 inputs of every unary function through the emitted code, compared bit for bit with the scalar
// function (any NaN equals any NaN). Not a test: it takes minutes. Prints a line per function and instruction
// set.
//
//   sweep_backends [stride [function]]     stride 1: every float; more: every stride-th
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory_resource>

#include "engine/base/cpu_info.h"
#include "engine/base/fp_environment.h"
#include "engine/base/thread_pool.h"
#include "jitgen/row_kernel.h"
#include "tests/jitgen/corpus.h"
#include "tests/numerics/unary_functions.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr std::uint64_t kAllInputs = std::uint64_t{1} << 32;
constexpr long long kPiece = 4096;  // inputs per call
constexpr int kMostWorkers = 256;

std::uint32_t comparable(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return x != x ? 0x7fc00000u : bits;
}

void run_kernel(const jit::RowKernel& kernel, float* in, float* out, long long n) {
    void* operands[] = {in, out};
    const std::int64_t strides[] = {n, n};
    jit::RowArgs args{};
    args.operands = operands;
    args.row_strides = strides;
    args.rows = 1;
    args.columns = n;
    kernel.run(args);  // no reduction: no scratch
}

struct Sweep {
    std::atomic<unsigned long long> differences{0};
    std::atomic<std::uint32_t> example{0};
};

void compare_part(const Implementation& scalar, const jit::RowKernel* const* kernels, int kernel_count,
                  std::uint64_t stride, Range part, Sweep* sweeps) noexcept {
    static thread_local float in[kPiece], expected[kPiece], actual[kPiece];
    for (long long begin = part.begin; begin < part.end; begin += kPiece) {
        const long long n = std::min(kPiece, part.end - begin);
        for (long long i = 0; i < n; ++i)
            in[i] = float_of_bits(static_cast<std::uint32_t>(static_cast<std::uint64_t>(begin + i) * stride));
        scalar.run(in, expected, static_cast<std::size_t>(n));
        for (int k = 0; k < kernel_count; ++k) {
            run_kernel(*kernels[k], in, actual, n);
            for (long long i = 0; i < n; ++i) {
                if (comparable(expected[i]) == comparable(actual[i])) continue;
                ++sweeps[k].differences;
                sweeps[k].example = comparable(in[i]);
            }
        }
    }
}

// Every instruction set at once, so that the scalar function is computed once.
bool sweep(const Implementation& scalar, std::uint64_t stride, ThreadPool& pool, jit::CodeArena& arena) {
    auto* const heap = std::pmr::new_delete_resource();
    const jit::Program program = build(find_program(scalar.function), heap);
    const Isa isas[] = {Isa::avx2, Isa::avx512};
    jit::RowKernelPtr owners[2];
    const jit::RowKernel* kernels[2];
    int count = 0;
    for (const Isa isa : isas) {
        if (!host_cpu().has(isa)) continue;
        owners[count] = jit::compile(program, isa, arena, heap);
        kernels[count] = owners[count].get();
        ++count;
    }
    Sweep sweeps[2];
    const auto inputs = static_cast<long long>((kAllInputs + stride - 1) / stride);
    pool.run(kMostWorkers, [&](int worker, int workers) noexcept {
        compare_part(scalar, kernels, count, stride, part_of(inputs, kPiece, worker, workers), sweeps);
    });
    bool equal = true;
    for (int k = 0; k < count; ++k) {
        const unsigned long long differences = sweeps[k].differences;
        std::printf("%-15s %-7s %lld inputs, %llu differ", scalar.function, isa_name(isas[k]), inputs,
                    differences);
        if (differences > 0) std::printf(", for example 0x%08x", sweeps[k].example.load());
        std::printf("\n");
        equal = equal && differences == 0;
    }
    std::fflush(stdout);
    return equal;
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t stride = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    if (stride == 0) return std::fprintf(stderr, "usage: sweep_backends [stride [function]]\n"), 2;
    const FpEnvironment environment;
    auto* const heap = std::pmr::new_delete_resource();
    jit::CodeArena arena(heap, false);
    ThreadPool pool(std::min(host_cpu().physical_cores, kMostWorkers), heap);
    bool all_equal = true;
    for (const Implementation& scalar : scalar_implementations()) {
        if (argc > 2 && std::strcmp(argv[2], scalar.function) != 0) continue;
        all_equal = sweep(scalar, stride, pool, arena) && all_equal;
    }
    return all_equal ? 0 : 1;
}
