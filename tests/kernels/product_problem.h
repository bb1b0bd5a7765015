// What the tests of whole products share: problems with their results by the definition, operands as they are
// stored, epilogues, and an engine per instruction set.
#pragma once

#include <cstring>
#include <memory_resource>
#include <vector>

#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/gemm/product.h"
#include "engine/numerics/definitions.h"
#include "tests/kernels/edge_floats.h"
#include "tests/kernels/planned.h"

namespace volta::test {
using namespace volta::cpu;

inline std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

// What plans are asked of where a test knows the answer, whatever processor runs it.
inline Machine zen4(Isa isa, int threads) {
    CpuInfo cpu = {};
    cpu.l2_bytes = std::size_t{1} << 20;
    cpu.l3_bytes = std::size_t{32} << 20;
    cpu.double_pumped_avx512 = true;
    return machine_of(cpu, isa, threads);
}

// A context per way of running: an instruction set, or none with code generation refused.
struct Engine {
    jit::CodeArena arena;
    KernelCache cache;
    Isa isa;
    Engine(Isa wanted, bool refuse) : arena(heap(), refuse), cache(heap()), isa(wanted) {}
    CompileContext context(int threads, const char* tile) {
        CompileContext made = {};
        made.machine = machine_of(host_cpu(), isa, threads);
        made.compiler = {&arena, &cache, heap()};
        made.overrides.tile = tile;
        return made;
    }
};
inline Engine& engine(Isa isa) {
    static Engine scalar(Isa::scalar, false), avx2(Isa::avx2, false), avx512(Isa::avx512, false);
    return isa == Isa::scalar ? scalar : isa == Isa::avx2 ? avx2 : avx512;
}
inline ThreadPool& pool(int threads) {
    static ThreadPool one(1, heap()), two(2, heap()), three(3, heap()), seven(7, heap());
    return threads == 1 ? one : threads == 2 ? two : threads == 3 ? three : seven;
}

// A problem in logical order, and its result by the definition.
struct Example {
    std::int64_t batch, m, n, k;
    bool into;
    std::vector<float> a, b, before, expected;  // [batch, m, k], [batch, k, n], [batch, m, n]

    Example(std::int64_t batches, std::int64_t rows, std::int64_t columns, std::int64_t depth, bool add,
            Data data, std::uint64_t seed)
        : batch(batches),
          m(rows),
          n(columns),
          k(depth),
          into(add),
          a(random_floats(batch * m * k, seed, data)),
          b(random_floats(batch * k * n, seed + 1, data)),
          before(random_floats(batch * m * n, seed + 2, data)),
          expected(before) {
        std::vector<float> columns_of_b(static_cast<std::size_t>(k * n));  // one after the other, for speed
        for (std::int64_t e = 0; e < batch; ++e) {
            for (std::int64_t p = 0; p < k; ++p)
                for (std::int64_t j = 0; j < n; ++j)
                    columns_of_b[static_cast<std::size_t>(j * k + p)] =
                        b[static_cast<std::size_t>((e * k + p) * n + j)];
            define::product<float>(m, n, k, {a.data() + e * m * k, k}, {columns_of_b.data(), k, true}, into,
                                   expected.data() + e * m * n, n);
        }
    }
};

// `matrices` of [rows, columns] as stored: transposed or not, with `pad` floats between rows.
inline std::vector<float> stored(const std::vector<float>& logical, std::int64_t matrices, std::int64_t rows,
                                 std::int64_t columns, bool transposed, std::int64_t pad) {
    const std::int64_t out_rows = transposed ? columns : rows, ld = (transposed ? rows : columns) + pad;
    std::vector<float> result(static_cast<std::size_t>(matrices * out_rows * ld), 77.0f);
    for (std::int64_t e = 0; e < matrices; ++e)
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j)
                result[static_cast<std::size_t>(e * out_rows * ld + (transposed ? j * ld + i : i * ld + j))] =
                    logical[static_cast<std::size_t>((e * rows + i) * columns + j)];
    return result;
}

// y = relu(c + bias), and x - rowmax(x), which needs whole rows: inside the product and after it.
inline jit::Program bias_relu() {
    jit::Builder builder(heap());
    const int c = builder.input(jit::Access::full), bias = builder.input(jit::Access::per_column);
    const int y = builder.output(jit::Access::full);
    const jit::Real z = builder.load(c) + builder.load(bias), zero = builder.real(0);
    builder.store(y, builder.select(builder.less(z, zero), zero, z));
    return builder.finish();
}
inline jit::Program below_maximum() {
    jit::Builder builder(heap());
    const int c = builder.input(jit::Access::full), bias = builder.input(jit::Access::per_column);
    const int y = builder.output(jit::Access::full);
    const jit::Real z = builder.load(c) + builder.load(bias);
    builder.store(y, z - builder.row_max(z));
    return builder.finish();
}

}  // namespace volta::test
