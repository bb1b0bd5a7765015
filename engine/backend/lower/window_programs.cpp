#include "engine/backend/lower/window_programs.h"

#include <limits>
#include <vector>

namespace volta {
namespace {

using jit::Access;
using jit::Builder;
using jit::Int;
using jit::Mask;
using jit::Real;
using jit::Type;

constexpr std::uint32_t kNone = 0xffffffffu;

struct Operands {
    Operands(Builder& builder, int count, Access access, Type type, std::pmr::memory_resource* heap)
        : at(heap) {
        for (int i = 0; i < count; ++i) at.push_back(builder.input(access, type));
    }
    int operator[](int i) const { return at[static_cast<std::size_t>(i)]; }
    std::pmr::vector<int> at;
};

// The output is an operand twice: once as it is read, once as it is written.
int output_of(Builder& b, bool first, Type type, int* read) {
    *read = first ? -1 : b.input(Access::full, type);
    return b.output(Access::full, type);
}

}  // namespace

jit::Program make_window_maximum(int taps, bool first, std::pmr::memory_resource* heap) {
    Builder b(heap);
    const Operands x(b, taps, Access::full, Type::real, heap);
    int read;
    const int y = output_of(b, first, Type::real, &read);
    Real largest = first ? b.real(-std::numeric_limits<double>::infinity()) : b.load(read);
    for (int i = 0; i < taps; ++i) {
        const Real value = b.load(x[i]);
        largest = b.select(b.either(b.is_nan(value), b.less(largest, value)), value, largest);
    }
    b.store(y, largest + b.real(0));
    return b.finish();
}

jit::Program make_window_sum(int taps, bool first, std::pmr::memory_resource* heap) {
    Builder b(heap);
    const Operands x(b, taps, Access::full, Type::real, heap);
    int read;
    const int y = output_of(b, first, Type::real, &read);
    Real sum = first ? b.real(0) : b.load(read);
    for (int i = 0; i < taps; ++i) sum = sum + b.load(x[i]);
    b.store(y, sum);
    return b.finish();
}

jit::Program make_window_choice(int taps, std::uint32_t number, bool flagged, bool first,
                                std::pmr::memory_resource* heap) {
    Builder b(heap);
    const Operands x(b, taps, Access::full, Type::real, heap);
    const Operands flags(b, flagged ? taps : 0, Access::full, Type::real, heap);
    const int maximum = b.input(Access::full);
    int read;
    const int choice = output_of(b, first, Type::integer, &read);
    const Real y = b.load(maximum);
    Int chosen = first ? b.integer(kNone) : b.load_int(read);
    for (int i = taps; i-- > 0;) {
        const Real value = b.load(x[i]);
        Mask is_it = b.either(b.equal(value, y), b.both(b.is_nan(value), b.is_nan(y)));
        if (flagged) is_it = b.both(is_it, b.less(b.real(0), b.load(flags[i])));
        chosen = b.select(is_it, b.integer(number + static_cast<std::uint32_t>(i)), chosen);
    }
    b.store(choice, chosen);
    return b.finish();
}

jit::Program make_chosen_sum(int taps, const std::uint32_t* numbers, bool first,
                             std::pmr::memory_resource* heap) {
    Builder b(heap);
    const Operands choices(b, taps, Access::full, Type::integer, heap);
    const Operands dy(b, taps, Access::full, Type::real, heap);
    int read;
    const int dx = output_of(b, first, Type::real, &read);
    Real sum = first ? b.real(0) : b.load(read);
    for (int i = 0; i < taps; ++i) {
        const Mask is_chosen = b.iequal(b.load_int(choices[i]), b.integer(numbers[i]));
        sum = b.select(is_chosen, sum + b.load(dy[i]), sum);
    }
    b.store(dx, sum);
    return b.finish();
}

jit::Program make_window_product(int taps, bool first, std::pmr::memory_resource* heap) {
    Builder b(heap);
    const Operands x(b, taps, Access::full, Type::real, heap);
    const Operands weights(b, taps, Access::per_row, Type::real, heap);
    int read;
    const int y = output_of(b, first, Type::real, &read);
    Real sum = first ? b.real(0) : b.load(read);
    for (int i = 0; i < taps; ++i) sum = b.fma(b.load(weights[i]), b.load(x[i]), sum);
    b.store(y, sum);
    return b.finish();
}

jit::Program make_fill(double value, std::pmr::memory_resource* heap) {
    Builder b(heap);
    const int y = b.output(Access::full);
    b.store(y, b.real(value));
    return b.finish();
}

jit::Program make_quotient(Access divisor, std::pmr::memory_resource* heap) {
    Builder b(heap);
    const int x = b.input(Access::full), other = b.input(divisor), y = b.output(Access::full);
    b.store(y, b.load(x) / b.load(other));
    return b.finish();
}

}  // namespace volta
