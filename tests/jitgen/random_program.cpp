#include "tests/jitgen/random_program.h"

#include "tests/support/tensors.h"

namespace volta::test {
namespace {

using jit::Access;
using jit::Type;

class Generator {
  public:
    Generator(std::uint64_t seed, Shape shape, std::pmr::memory_resource* heap)
        : random_(seed), shape_(shape), builder_(heap) {}

    jit::Program run(int size) {
        inputs();
        for (int i = 0; i < size; ++i) step();
        outputs();
        return builder_.finish();
    }

  private:
    // Recent values more often, so that programs grow deep as well as wide.
    template <class T>
    T pick(const std::vector<T>& values) {
        const auto n = static_cast<std::int64_t>(values.size());
        const std::int64_t recent = random_.below(2) ? std::min<std::int64_t>(n, 6) : n;
        return values[static_cast<std::size_t>(n - 1 - random_.below(recent))];
    }
    jit::Real real() { return pick(reals_); }
    jit::Int integer() { return pick(integers_); }
    jit::Mask mask() { return pick(masks_); }
    // Of a NaN the contract fixes no bits, so no program may look at them.
    jit::Int bits(jit::Real x) {
        return builder_.bits(builder_.select(builder_.is_nan(x), builder_.real(0x1.8p+1), x));
    }

    void inputs() {
        const Access accesses[] = {Access::full, Access::per_row, Access::per_column, Access::single};
        for (const Access access : accesses)
            for (std::int64_t n = access == Access::full ? 1 + random_.below(3) : random_.below(2); n > 0;
                 --n)
                reals_.push_back(builder_.load(
                    builder_.input(access),
                    access == Access::single ? static_cast<std::uint32_t>(random_.below(8)) : 0));
        for (const Access access : accesses)
            if (access == Access::full || random_.below(3) == 0)
                integers_.push_back(builder_.load_int(builder_.input(access, Type::integer)));
        const double constants[] = {0.0, -0.0, 1.0, -1.5, 0x1.715476p+0, 1e-30, 3e38, 12582912.0};
        for (int n = 0; n < 3; ++n) reals_.push_back(builder_.real(constants[random_.below(8)]));
        integers_.push_back(builder_.integer(static_cast<std::uint32_t>(random_.next())));
        masks_.push_back(builder_.less(real(), real()));
    }

    void step() {
        switch (random_.below(shape_ == Shape::rows ? 35 : 33)) {
            case 0:
                return reals_.push_back(builder_.add(real(), real()));
            case 1:
                return reals_.push_back(builder_.sub(real(), real()));
            case 2:
                return reals_.push_back(builder_.mul(real(), real()));
            case 3:
                return reals_.push_back(builder_.div(real(), real()));
            case 4:
            case 5:
                return reals_.push_back(builder_.fma(real(), real(), real()));
            case 6:
                return reals_.push_back(builder_.sqrt(real()));
            case 7:
                return negative();
            case 8:
                return reals_.push_back(builder_.abs(real()));
            case 9:
                return masks_.push_back(builder_.less(real(), real()));
            case 10:
                return masks_.push_back(builder_.less_equal(real(), real()));
            case 11:
                return masks_.push_back(builder_.equal(real(), real()));
            case 12:
                return masks_.push_back(builder_.is_nan(real()));
            case 13:
                return masks_.push_back(builder_.both(mask(), mask()));
            case 14:
                return masks_.push_back(builder_.either(mask(), mask()));
            case 15:
                return masks_.push_back(builder_.invert(mask()));
            case 16:
                return reals_.push_back(random_.below(2) ? builder_.select(mask(), real(), real())
                                                         : larger());
            case 17:
                return integers_.push_back(builder_.select(mask(), integer(), integer()));
            case 18:
                return integers_.push_back(builder_.iadd(integer(), integer()));
            case 19:
                return integers_.push_back(builder_.isub(integer(), integer()));
            case 20:
                return integers_.push_back(builder_.iand(integer(), integer()));
            case 21:
                return integers_.push_back(builder_.ior(integer(), integer()));
            case 22:
                return integers_.push_back(builder_.ixor(integer(), integer()));
            case 23:
                return integers_.push_back(builder_.shl(integer(), static_cast<int>(random_.below(32))));
            case 24:
                return integers_.push_back(builder_.shr(integer(), static_cast<int>(random_.below(32))));
            case 25:
                return integers_.push_back(builder_.sar(integer(), static_cast<int>(random_.below(32))));
            case 26:
                return integers_.push_back(builder_.umul_low(integer(), integer()));
            case 27:
                return integers_.push_back(builder_.umul_high(integer(), integer()));
            case 28:
                return masks_.push_back(builder_.iequal(integer(), integer()));
            case 29:
                return masks_.push_back(builder_.uless(integer(), integer()));
            case 30:
                return integers_.push_back(bits(real()));
            case 31:
                return source();
            case 32:
                return conversion();
            case 33:
            default:
                return reduction();
        }
    }

    void negative() {
        if (random_.below(2)) return reals_.push_back(builder_.neg(real()));
        const jit::Real magnitude = builder_.abs(real());  // which is merged into the negation
        reals_.push_back(magnitude);
        reals_.push_back(builder_.neg(magnitude));
    }

    // MAXPS or MINPS.
    jit::Real larger() {
        const jit::Real a = real(), b = real();
        return random_.below(2) ? builder_.select(builder_.less(b, a), a, b)
                                : builder_.select(builder_.less(a, b), a, b);
    }

    void source() {
        switch (random_.below(3)) {
            case 0:
                return integers_.push_back(builder_.row_index());
            case 1:
                return integers_.push_back(builder_.column_index());
            default:
                return reals_.push_back(builder_.row_length());
        }
    }

    void conversion() {
        switch (random_.below(3)) {
            case 0:
                return integers_.push_back(builder_.truncate(real()));
            case 1:
                return reals_.push_back(builder_.to_real(integer()));
            default:
                return reals_.push_back(builder_.from_bits(integer()));
        }
    }

    void reduction() {
        if (reductions_ == 5) return;
        ++reductions_;
        switch (random_.below(4)) {
            case 0:
                return reals_.push_back(uniform_.emplace_back(builder_.row_max(real())));
            case 1:
                return integers_.push_back(builder_.row_argmax(real()));
            default:
                return reals_.push_back(uniform_.emplace_back(builder_.row_sum(real())));
        }
    }

    void outputs() {
        for (std::int64_t n = 1 + random_.below(3); n > 0; --n)
            builder_.store(builder_.output(Access::full), real());
        if (random_.below(2)) builder_.store(builder_.output(Access::full, Type::integer), integer());
        if (!uniform_.empty()) builder_.store(builder_.output(Access::per_row), pick(uniform_));
        if (shape_ == Shape::columns)
            for (std::int64_t n = 1 + random_.below(2); n > 0; --n)
                builder_.column_sum(builder_.output(Access::per_column), real());
    }

    Random random_;
    Shape shape_;
    jit::Builder builder_;
    std::vector<jit::Real> reals_;
    std::vector<jit::Int> integers_;
    std::vector<jit::Mask> masks_;
    std::vector<jit::Real> uniform_;
    int reductions_ = 0;
};

}  // namespace

jit::Program random_program(std::uint64_t seed, Shape shape, int size, std::pmr::memory_resource* heap) {
    return Generator(seed, shape, heap).run(size);
}

}  // namespace volta::test
