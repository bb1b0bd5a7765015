// All 2^32 inputs of every unary function: the scalar function against its reference in double precision (the
// largest error and where it occurs), the emitted code of every instruction set against the scalar function
// bit for bit (any NaN equals any NaN), and a hash of all results in ascending order of the input's bits. Not
// a test: it takes minutes per function.
//
//   sweep_functions [stride [function]]     stride 1: every float; more: every stride-th
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory_resource>

#include "engine/base/cpu_info.h"
#include "engine/base/fp_environment.h"
#include "engine/base/hash.h"
#include "engine/base/thread_pool.h"
#include "jitgen/row_kernel.h"
#include "tests/jitgen/corpus.h"
#include "tests/numerics/unary_functions.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr std::uint64_t kAllInputs = std::uint64_t{1} << 32;
constexpr long long kPiece = 4096;     // inputs per call
constexpr long long kBlock = 1 << 22;  // inputs between two looks of the hash
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

// The machine code of one function for one instruction set, and how it did.
struct Emitted {
    Isa isa;
    jit::RowKernelPtr kernel;
    std::atomic<unsigned long long> differences{0};
    std::atomic<std::uint32_t> example{0};
};

// Of equal errors the lowest input bits count, so that the number of threads does not show.
struct Worst {
    double error = 0;  // in units of the function's bound
    std::uint32_t input = 0;
};

struct Job {
    const Implementation& scalar;
    const UnaryFunction& function;
    std::uint64_t stride;
    Emitted* emitted;
    int emitted_count;
};

// Inputs [part.begin, part.end) of a block that starts at input number `first`.
void sweep_part(const Job& job, std::uint64_t first, Range part, float* results, Worst& worst) noexcept {
    static thread_local float in[kPiece], actual[kPiece];
    for (long long begin = part.begin; begin < part.end; begin += kPiece) {
        const long long n = std::min(kPiece, part.end - begin);
        const auto bits = [&](long long i) {
            return static_cast<std::uint32_t>((first + static_cast<std::uint64_t>(begin + i)) * job.stride);
        };
        float* const expected = results + begin;
        for (long long i = 0; i < n; ++i) in[i] = float_of_bits(bits(i));
        job.scalar.run(in, expected, static_cast<std::size_t>(n));
        for (long long i = 0; i < n; ++i)
            if (const double error = error_of(job.function, in[i], expected[i]); error > worst.error)
                worst = {error, bits(i)};
        for (int k = 0; k < job.emitted_count; ++k) {
            run_kernel(*job.emitted[k].kernel, in, actual, n);
            for (long long i = 0; i < n; ++i) {
                if (comparable(expected[i]) == comparable(actual[i])) continue;
                ++job.emitted[k].differences;
                job.emitted[k].example = bits(i);
            }
        }
    }
}

// A line of the table in docs/numerics.md, 11. Returns whether the bound holds.
bool report_error(const Job& job, const Worst& worst, const Hash128& hash) {
    const UnaryFunction& f = job.function;
    const bool ulps = f.most_ulps > 0, holds = worst.error <= 1;
    std::printf("%-15s scalar  %10.3g %-4s at %-16a %s%s\n", f.name,
                worst.error * (ulps ? f.most_ulps : f.most_error), ulps ? "ulp" : "abs",
                static_cast<double>(float_of_bits(worst.input)), to_text(hash).text,
                holds ? "" : "  ABOVE THE BOUND");
    return holds;
}

bool report_differences(const Job& job, const Emitted& emitted, long long inputs) {
    const unsigned long long differences = emitted.differences;
    std::printf("%-15s %-7s %lld inputs, %llu differ from scalar", job.function.name, isa_name(emitted.isa),
                inputs, differences);
    if (differences > 0) std::printf(", for example 0x%08x", emitted.example.load());
    std::printf("\n");
    return differences == 0;
}

bool sweep(const Job& job, ThreadPool& pool) {
    const auto count = static_cast<long long>((kAllInputs + job.stride - 1) / job.stride);
    std::vector<float> results(kBlock);
    std::vector<Worst> worsts(kMostWorkers);
    Hasher hasher;
    for (long long first = 0; first < count; first += kBlock) {
        const long long n = std::min(kBlock, count - first);
        pool.run(kMostWorkers, [&](int worker, int workers) noexcept {
            sweep_part(job, static_cast<std::uint64_t>(first), part_of(n, kPiece, worker, workers),
                       results.data(), worsts[static_cast<std::size_t>(worker)]);
        });
        hasher.add_floats(results.data(), static_cast<std::size_t>(n));
    }
    Worst worst;
    for (const Worst& w : worsts)
        if (w.error > worst.error || (w.error == worst.error && w.input < worst.input)) worst = w;
    bool good = report_error(job, worst, hasher.result());
    for (int k = 0; k < job.emitted_count; ++k) good = report_differences(job, job.emitted[k], count) && good;
    std::fflush(stdout);
    return good;
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t stride = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    if (stride == 0) return std::fprintf(stderr, "usage: sweep_functions [stride [function]]\n"), 2;
    const FpEnvironment environment;
    auto* const heap = std::pmr::new_delete_resource();
    jit::CodeArena arena(heap, false);
    ThreadPool pool(std::min(host_cpu().physical_cores, kMostWorkers), heap);
    bool good = true;
    for (const Implementation& scalar : scalar_implementations()) {
        if (argc > 2 && std::strcmp(argv[2], scalar.function) != 0) continue;
        const jit::Program program = build(find_program(scalar.function), heap);
        Emitted emitted[2];
        int count = 0;
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            if (!host_cpu().has(isa)) continue;
            emitted[count].isa = isa;
            emitted[count++].kernel = jit::compile(program, isa, arena, heap);
        }
        good = sweep({scalar, *find_function(scalar.function), stride, emitted, count}, pool) && good;
    }
    return good ? 0 : 1;
}
