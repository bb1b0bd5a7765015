// All 2^32 inputs of every unary function, in every implementation: the largest error, where it occurs, and a
// hash of all outputs in ascending order of the input's bits. Not a test: minutes per function.
//
//   sweep_functions [stride [function]]     stride 1: every float; more: every stride-th
#include <cstdio>
#include <cstdlib>
#include <memory_resource>

#include "engine/base/cpu_info.h"
#include "engine/base/hash.h"
#include "engine/base/thread_pool.h"
#include "tests/numerics/unary_functions.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr std::uint64_t kAllInputs = std::uint64_t{1} << 32;
constexpr long long kBlock = 1 << 22;  // inputs between two looks of the hash
constexpr int kMostWorkers = 256;

// Of equal errors the lowest input bits count, so that the number of threads does not show.
struct Worst {
    double error = 0;  // in units of the function's bound
    std::uint32_t input = 0;
};

struct Sweep {
    Worst worst;
    Hash128 hash;
};

void compute_part(const Implementation& implementation, const UnaryFunction& f, std::uint64_t first,
                  std::uint64_t stride, Range part, float* outputs, Worst& worst) noexcept {
    constexpr long long kPiece = 1024;
    std::uint32_t bits[kPiece];
    float in[kPiece];
    for (long long begin = part.begin; begin < part.end; begin += kPiece) {
        const long long n = std::min(kPiece, part.end - begin);
        for (long long i = 0; i < n; ++i) {
            bits[i] = static_cast<std::uint32_t>((first + static_cast<std::uint64_t>(begin + i)) * stride);
            in[i] = float_of_bits(bits[i]);
        }
        implementation.run(in, outputs + begin, static_cast<std::size_t>(n));
        for (long long i = 0; i < n; ++i)
            if (const double error = error_of(f, in[i], outputs[begin + i]); error > worst.error)
                worst = {error, bits[i]};
    }
}

Sweep sweep(const Implementation& implementation, const UnaryFunction& f, std::uint64_t stride,
            ThreadPool& pool) {
    const auto count = static_cast<long long>((kAllInputs + stride - 1) / stride);
    std::vector<float> outputs(kBlock);
    std::vector<Worst> worst(kMostWorkers);
    Hasher hasher;
    for (long long first = 0; first < count; first += kBlock) {
        const long long n = std::min(kBlock, count - first);
        pool.run(kMostWorkers, [&](int worker, int workers) noexcept {
            compute_part(implementation, f, static_cast<std::uint64_t>(first), stride,
                         part_of(n, 1024, worker, workers), outputs.data(),
                         worst[static_cast<std::size_t>(worker)]);
        });
        hasher.add_floats(outputs.data(), static_cast<std::size_t>(n));
    }
    Sweep result = {{}, hasher.result()};
    for (const Worst& w : worst)
        if (w.error > result.worst.error || (w.error == result.worst.error && w.input < result.worst.input))
            result.worst = w;
    return result;
}

// A line of the table in docs/numerics.md, 11. Returns whether the bound holds.
bool report(const Implementation& implementation, const UnaryFunction& f, const Sweep& result) {
    const bool ulps = f.most_ulps > 0, holds = result.worst.error <= 1;
    std::printf("%-15s %-8s %10.3g %-4s at %-16a %s%s\n", f.name, implementation.backend,
                result.worst.error * (ulps ? f.most_ulps : f.most_error), ulps ? "ulp" : "abs",
                static_cast<double>(float_of_bits(result.worst.input)), to_text(result.hash).text,
                holds ? "" : "  ABOVE THE BOUND");
    std::fflush(stdout);
    return holds;
}
}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t stride = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    if (stride == 0) return std::fprintf(stderr, "usage: sweep_functions [stride [function]]\n"), 2;
    ThreadPool pool(std::min(host_cpu().physical_cores, kMostWorkers), std::pmr::new_delete_resource());
    bool all_hold = true;
    for (const Implementation& implementation : scalar_implementations()) {
        if (argc > 2 && std::strcmp(argv[2], implementation.function) != 0) continue;
        const UnaryFunction& f = *find_function(implementation.function);
        all_hold = report(implementation, f, sweep(implementation, f, stride, pool)) && all_hold;
    }
    return all_hold ? 0 : 1;
}
