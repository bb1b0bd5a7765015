#include "engine/model/initialise.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/numerics/random.h"

namespace volta {
namespace {

// Operands of both kernels: the numbers of the distribution, then seed and stream, then the tensor.
struct Draw {
    explicit Draw(std::pmr::memory_resource* heap)
        : b(heap),
          numbers(b.input(jit::Access::single)),
          place(b.input(jit::Access::single, jit::Type::integer)),
          values(b.output(jit::Access::full)) {}
    jit::Real number(std::uint32_t i) { return b.load(numbers, i); }
    PhiloxKey<jit::Int> key() { return {b.load_int(place, 0), b.load_int(place, 1)}; }
    jit::Int step() { return b.integer(0); }
    jit::Int last_word() { return b.load_int(place, 2); }

    jit::Builder b;
    int numbers, place, values;
};

// init_normal and init_uniform of engine/numerics/random.h, for every row and column.
jit::Program make_normal(std::pmr::memory_resource* heap) {
    Draw d(heap);
    const auto block = philox(d.b, {{d.b.column_index(), d.b.row_index(), d.step(), d.last_word()}}, d.key());
    d.b.store(d.values, unit_normal(d.b, block.word[0], block.word[1]) * d.number(0));
    return d.b.finish();
}

jit::Program make_uniform(std::pmr::memory_resource* heap) {
    Draw d(heap);
    const jit::Int bits =
        element_bits(d.b, d.b.row_index(), d.b.column_index(), d.step(), d.last_word(), d.key());
    d.b.store(d.values, d.b.fma(unit_uniform(d.b, bits), d.number(1) - d.number(0), d.number(0)));
    return d.b.finish();
}

template <class Value>  // float(std::uint32_t row, std::uint32_t column)
void fill_by_definition(float* values, const Shape& shape, Value value) {
    const std::int64_t columns = shape.last(), rows = columns > 0 ? shape.rows() : 0;
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column)
            *values++ = value(static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(column));
}

}  // namespace

// Hyper-parameters are doubles and are rounded to f32 once (docs/numerics.md, 6).
void Initialiser::fill(float* values, const Shape& shape, const Init& init, std::uint32_t stream) {
    const float a = static_cast<float>(init.a), b = static_cast<float>(init.b);
    RandomPlace place;
    place.seed = seed_;
    place.purpose = Purpose::init;
    place.stream = stream;
    const bool by_kernel = machine_.isa != Isa::scalar && machine_.arena != nullptr;
    switch (init.kind) {
        case VOLTA_INIT_CONSTANT:
            return std::fill(values, values + shape.elements(), a);
        case VOLTA_INIT_NORMAL:
            if (by_kernel) return run(normal_, make_normal, values, shape, init, stream);
            return fill_by_definition(
                values, shape, [&](auto row, auto column) { return init_normal(place, row, column, a); });
        case VOLTA_INIT_UNIFORM:
            if (by_kernel) return run(uniform_, make_uniform, values, shape, init, stream);
            return fill_by_definition(
                values, shape, [&](auto row, auto column) { return init_uniform(place, row, column, a, b); });
    }
    fail(VOLTA_INTERNAL, "%d is no way to start a parameter", static_cast<int>(init.kind));
}

void Initialiser::run(jit::RowKernelPtr& kernel, jit::Program (*make)(std::pmr::memory_resource*),
                      float* values, const Shape& shape, const Init& init, std::uint32_t stream) {
    if (shape.elements() == 0) return;
    if (!kernel) kernel = jit::compile(make(heap_), machine_.isa, *machine_.arena, heap_);
    float numbers[] = {static_cast<float>(init.a), static_cast<float>(init.b)};
    std::uint32_t place[] = {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32),
                             purpose_and_stream(Purpose::init, stream)};
    void* operands[] = {numbers, place, values};
    const std::int64_t strides[] = {0, 0, shape.last()};
    jit::RowArgs args = {};
    args.operands = operands;
    args.row_strides = strides;
    args.rows = shape.rows();
    args.columns = shape.last();
    const int workers = machine_.pool != nullptr ? machine_.pool->thread_count() : 1;
    const std::size_t scratch_bytes = (kernel->scratch_bytes(args.columns) + 63) / 64 * 64;
    Buffer scratch(heap_, scratch_bytes * static_cast<std::size_t>(workers));
    const auto part = [&](int worker, int count) noexcept {
        const Range rows = part_of(args.rows, 1, worker, count);
        if (rows.begin == rows.end) return;
        char* const own =
            static_cast<char*>(scratch.data()) + scratch_bytes * static_cast<std::size_t>(worker);
        jit::run_block(*kernel, args, rows.begin, rows.end, 0, args.columns, own);
    };
    if (machine_.pool != nullptr)
        machine_.pool->run(workers, part);
    else
        part(0, 1);
}

}  // namespace volta
