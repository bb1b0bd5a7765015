// The codes of the kernel language on blocks of elements, each as ScalarMachine<float> defines it.
#include <type_traits>

#include "engine/numerics/machine.h"
#include "jitgen/interpreter.h"

namespace volta::jit {
namespace {

using M = ScalarMachine<float>;
using Word = std::uint32_t;

// A word as the machine's Real, Int or Mask, and back.
template <class T>
T as(Word word) {
    if constexpr (std::is_same_v<T, float>)
        return M::from_bits(word);
    else
        return static_cast<T>(word);
}
Word word_of(float value) { return M::bits(value); }
Word word_of(bool value) { return value; }
Word word_of(Word value) { return value; }

struct Block {
    Word* out;
    const Word *a, *b, *c;
    std::int64_t n;

    template <class A, class F>
    void map1(F f) const {
        for (std::int64_t i = 0; i < n; ++i) out[i] = word_of(f(as<A>(a[i])));
    }
    template <class A, class F>
    void map2(F f) const {
        for (std::int64_t i = 0; i < n; ++i) out[i] = word_of(f(as<A>(a[i]), as<A>(b[i])));
    }
    void fma() const {
        for (std::int64_t i = 0; i < n; ++i)
            out[i] = word_of(M::fma(as<float>(a[i]), as<float>(b[i]), as<float>(c[i])));
    }
    void select() const {
        for (std::int64_t i = 0; i < n; ++i) out[i] = M::select(a[i] != 0, b[i], c[i]);
    }
};

}  // namespace

void evaluate(const Instruction& x, Word* out, const Word* a, const Word* b, const Word* c,
              std::int64_t n) noexcept {
    const Block block{out, a, b, c, n};
    const int count = static_cast<int>(x.immediate);
    switch (x.code) {
        case Code::add:
            return block.map2<float>([](float p, float q) { return p + q; });
        case Code::sub:
            return block.map2<float>([](float p, float q) { return p - q; });
        case Code::mul:
            return block.map2<float>([](float p, float q) { return p * q; });
        case Code::div:
            return block.map2<float>([](float p, float q) { return p / q; });
        case Code::fma:
            return block.fma();
        case Code::sqrt:
            return block.map1<float>([](float p) { return M::sqrt(p); });
        case Code::neg:
            return block.map1<float>([](float p) { return M::neg(p); });
        case Code::abs:
            return block.map1<float>([](float p) { return M::abs(p); });
        case Code::less:
            return block.map2<float>([](float p, float q) { return M::less(p, q); });
        case Code::less_equal:
            return block.map2<float>([](float p, float q) { return M::less_equal(p, q); });
        case Code::equal:
            return block.map2<float>([](float p, float q) { return M::equal(p, q); });
        case Code::is_nan:
            return block.map1<float>([](float p) { return M::is_nan(p); });
        case Code::both:
            return block.map2<bool>([](bool p, bool q) { return M::both(p, q); });
        case Code::either:
            return block.map2<bool>([](bool p, bool q) { return M::either(p, q); });
        case Code::invert:
            return block.map1<bool>([](bool p) { return M::invert(p); });
        case Code::select:
            return block.select();
        case Code::iadd:
            return block.map2<Word>([](Word p, Word q) { return M::iadd(p, q); });
        case Code::isub:
            return block.map2<Word>([](Word p, Word q) { return M::isub(p, q); });
        case Code::iand:
            return block.map2<Word>([](Word p, Word q) { return M::iand(p, q); });
        case Code::ior:
            return block.map2<Word>([](Word p, Word q) { return M::ior(p, q); });
        case Code::ixor:
            return block.map2<Word>([](Word p, Word q) { return M::ixor(p, q); });
        case Code::shl:
            return block.map1<Word>([=](Word p) { return M::shl(p, count); });
        case Code::shr:
            return block.map1<Word>([=](Word p) { return M::shr(p, count); });
        case Code::sar:
            return block.map1<Word>([=](Word p) { return M::sar(p, count); });
        case Code::umul_low:
            return block.map2<Word>([](Word p, Word q) { return M::umul_low(p, q); });
        case Code::umul_high:
            return block.map2<Word>([](Word p, Word q) { return M::umul_high(p, q); });
        case Code::iequal:
            return block.map2<Word>([](Word p, Word q) { return M::iequal(p, q); });
        case Code::uless:
            return block.map2<Word>([](Word p, Word q) { return M::uless(p, q); });
        case Code::truncate:
            return block.map1<float>([](float p) { return M::truncate(p); });
        case Code::to_real:
            return block.map1<Word>([](Word p) { return M::to_real(p); });
        default:
            return;  // not a function of its arguments: the interpreter's own business
    }
}

}  // namespace volta::jit
