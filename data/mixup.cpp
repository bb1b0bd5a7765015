// The Beta numbers of mixup, of two Gamma numbers by Marsaglia and Tsang (A Simple Method for Generating
// Gamma Variables, ACM TOMS 2000), with the contract's functions.
#include <cmath>

#include "data/draws.h"

namespace volta::data {
namespace {

constexpr std::uint32_t kTries = 64;  // each is accepted with a probability above 0.95

float draw_gamma(const Draws& draws, float a, std::uint32_t first) {
    ScalarMachine<float> m;
    const float k = a < 1 ? a + 1 : a;
    const float d = k - static_cast<float>(1.0 / 3.0);
    const float c = 1 / std::sqrt(9 * d);
    for (std::uint32_t t = 0; t < kTries; ++t) {
        const auto block = draws.block(Draw::mixup, first + 2 * t);
        const float z = unit_normal(m, block.word[0], block.word[1]);
        const float root = 1 + c * z;
        const float v = root * root * root;
        if (!(root > 0)) continue;
        if (!(log(m, positive_unit(block.word[2])) < 0.5f * z * z + d - d * v + d * log(m, v))) continue;
        const float g = d * v;
        return a < 1 ? g * exp(m, log(m, positive_unit(block.word[3])) / a) : g;
    }
    return d;
}

}  // namespace

float draw_beta(const Draws& draws, float a) {
    if (a == 1) return unit(draws.block(Draw::mixup, 0).word[0]);
    const float g1 = draw_gamma(draws, a, 1), g2 = draw_gamma(draws, a, 2), sum = g1 + g2;
    return sum > 0 ? g1 / sum : 1;
}

}  // namespace volta::data
