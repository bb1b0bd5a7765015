// The definitions themselves: every gradient against central differences of its forward formula in double
// precision, float against double, and what each definition says about edges (ignored rows, `into`, masks,
// caches).
#include "engine/numerics/definitions.h"

#include <functional>
#include <string>

#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

using Doubles = std::vector<double>;

Doubles random_doubles(std::int64_t count, std::uint64_t seed) {
    const auto x = random_floats(count, seed);
    return Doubles(x.begin(), x.end());
}

// ---- Gradients against central differences
// -----------------------------------------------------------------

// A function of x whose result y is weighted by dy into one number, and its gradient with respect to x.
struct GradientCase {
    std::int64_t x_count, y_count;
    std::function<void(const double* x, double* y)> forward;
    std::function<void(const double* x, const double* dy, double* dx)> gradient;
};

// The largest difference between the two gradients, relative to the largest element.
double gradient_error(const GradientCase& c) {
    Doubles x = random_doubles(c.x_count, 11), dx(x.size(), -7), y(static_cast<std::size_t>(c.y_count));
    const Doubles dy = random_doubles(c.y_count, 12);
    c.gradient(x.data(), dy.data(), dx.data());
    const auto weighted = [&] {
        c.forward(x.data(), y.data());
        double sum = 0;
        for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
        return sum;
    };
    double worst = 0, scale = 1e-3;
    for (std::size_t i = 0; i < x.size(); ++i) {
        constexpr double kStep = 1e-5;
        const double centre = x[i];
        x[i] = centre + kStep;
        const double above = weighted();
        x[i] = centre - kStep;
        const double below = weighted();
        x[i] = centre;
        worst = std::fmax(worst, std::fabs((above - below) / (2 * kStep) - dx[i]));
        scale = std::fmax(scale, std::fabs(dx[i]));
    }
    return worst / scale;
}

constexpr std::int64_t kRows = 3, kColumns = 37;

template <class F, class G>
GradientCase of_elements(F f, G g) {
    return {kColumns, kColumns, [f](const double* x, double* y) { define::map(kColumns, x, y, f); },
            [g](const double* x, const double* dy, double* dx) { define::map(kColumns, x, dy, dx, g); }};
}

GradientCase of_softmax(bool logarithm) {
    const auto forward = logarithm ? define::log_softmax<double> : define::softmax<double>;
    const auto gradient = logarithm ? define::log_softmax_grad<double> : define::softmax_grad<double>;
    return {kRows * kColumns, kRows * kColumns,
            [=](const double* x, double* y) { forward(kRows, kColumns, x, y); },
            [=](const double* x, const double* dy, double* dx) {
                Doubles y(kRows * kColumns);
                forward(kRows, kColumns, x, y.data());
                gradient(kRows, kColumns, y.data(), dy, dx);
            }};
}

// The rows' losses are weighted equally: that is what the factor g says.
GradientCase of_cross_entropy() {
    static const std::int32_t targets[kRows] = {5, kColumns - 1, define::kIgnoredTarget};
    return {kRows * kColumns, 1,
            [](const double* x, double* y) {
                double loss[kRows];
                define::cross_entropy(kRows, kColumns, x, targets, loss);
                y[0] = define::mean_loss<double>(kRows, loss, 2);
            },
            [](const double* x, const double* dy, double* dx) {
                define::cross_entropy_grad(kRows, kColumns, x, targets, dy[0] * 0.5, dx);
            }};
}

GradientCase of_mse() {
    static const Doubles target = random_doubles(kRows * kColumns, 13);
    return {kRows * kColumns, 1,
            [](const double* x, double* y) {
                double loss[kRows];
                define::mse(kRows, kColumns, x, target.data(), loss);
                y[0] = define::mean_loss<double>(kRows, loss, kRows * kColumns);
            },
            [](const double* x, const double* dy, double* dx) {
                define::mse_grad(kRows, kColumns, x, target.data(), dy[0] * 2 / (kRows * kColumns), dx);
            }};
}

// x holds the rows, then the gain, then (layer norm) the bias.
GradientCase of_norm(bool layer) {
    constexpr std::int64_t kSize = kRows * kColumns;
    return {kSize + (layer ? 2 : 1) * kColumns, kSize,
            [=](const double* x, double* y) {
                double mean[kRows], rs[kRows];
                const double *gain = x + kSize, *bias = gain + kColumns;
                if (layer) define::layer_norm(kRows, kColumns, x, gain, bias, 1e-5, y, mean, rs);
                if (!layer) define::rms_norm(kRows, kColumns, x, gain, 1e-5, y, rs);
            },
            [=](const double* x, const double* dy, double* dx) {
                double mean[kRows], rs[kRows];
                Doubles y(kSize);
                const double *gain = x + kSize, *bias = gain + kColumns;
                double *d_gain = dx + kSize, *d_bias = d_gain + kColumns;
                if (layer) {
                    define::layer_norm(kRows, kColumns, x, gain, bias, 1e-5, y.data(), mean, rs);
                    define::layer_norm_grad(kRows, kColumns, x, gain, mean, rs, dy, false, dx, d_gain,
                                            d_bias);
                } else {
                    define::rms_norm(kRows, kColumns, x, gain, 1e-5, y.data(), rs);
                    define::rms_norm_grad(kRows, kColumns, x, gain, rs, dy, false, dx, d_gain);
                }
            }};
}

// x holds a [m, k] (or its transpose), then b [k, n] (or its transpose).
GradientCase of_product(bool a_transposed, bool b_transposed) {
    constexpr std::int64_t m = 4, n = 5, k = 6;
    using M = define::Matrix<double>;
    const auto a_of = [=](const double* x) { return M{x, a_transposed ? m : k, a_transposed}; };
    const auto b_of = [=](const double* x) { return M{x + m * k, b_transposed ? k : n, b_transposed}; };
    return {m * k + k * n, m * n,
            [=](const double* x, double* y) { define::product(m, n, k, a_of(x), b_of(x), false, y, n); },
            [=](const double* x, const double* dy, double* dx) {
                const M a = a_of(x), b = b_of(x), d = {dy, n, false}, d_turned = {dy, n, true};
                const M a_turned = {a.data, a.stride, !a_transposed},
                        b_turned = {b.data, b.stride, !b_transposed};
                // Gradients are laid out as their operands: da = d b', db = a' d.
                if (a_transposed) define::product(k, m, n, b, d_turned, false, dx, m);
                if (!a_transposed) define::product(m, k, n, d, b_turned, false, dx, k);
                if (b_transposed) define::product(n, k, m, d_turned, a, false, dx + m * k, k);
                if (!b_transposed) define::product(k, n, m, a_turned, d, false, dx + m * k, n);
            }};
}

struct AttentionCase {
    bool causal, dropout;
    std::int64_t kv_heads;
};

// x holds q, k, v.
GradientCase of_attention(const AttentionCase& c) {
    constexpr std::int64_t kBatch = 2, kTime = 6, kHeads = 4, kDim = 3;
    static define::AttentionDropout random = {{3, 1, Purpose::dropout, 2}, dropout_rule(0.3), 5, kTime};
    define::AttentionSizes s;
    s.batch = kBatch, s.queries = kTime, s.keys = kTime, s.heads = kHeads, s.kv_heads = c.kv_heads,
    s.head_dim = kDim;
    s.causal = c.causal;
    s.q_stride = s.o_stride = s.dq_stride = kHeads * kDim;
    s.k_stride = s.v_stride = s.dk_stride = s.dv_stride = c.kv_heads * kDim;
    const std::int64_t q_count = kBatch * kTime * s.q_stride, kv_count = kBatch * kTime * s.k_stride;
    const auto* dropout = c.dropout ? &random : nullptr;
    const auto forward = [=](const double* x, double* o, double* m, double* l) {
        double keys[kTime];
        define::attention(s, 0.6, dropout, x, x + q_count, x + q_count + kv_count, o, m, l, keys);
    };
    return {q_count + 2 * kv_count, q_count,
            [=](const double* x, double* y) {
                double m[kBatch * kHeads * kTime], l[kBatch * kHeads * kTime];
                forward(x, y, m, l);
            },
            [=](const double* x, const double* dy, double* dx) {
                double m[kBatch * kHeads * kTime], l[kBatch * kHeads * kTime], workspace[2 * kTime * kTime];
                Doubles o(static_cast<std::size_t>(q_count));
                forward(x, o.data(), m, l);
                define::attention_grad(s, 0.6, dropout, x, x + q_count, x + q_count + kv_count, o.data(), m,
                                       l, dy, dx, dx + q_count, dx + q_count + kv_count, workspace);
            }};
}

#define VOLTA_ACTIVATION(name)                                     \
    of_elements([](auto& m, auto x) { return volta::name(m, x); }, \
                [](auto& m, auto x, auto dy) { return volta::name##_grad(m, x, dy); })

struct GradientRow {
    const char* name;
    GradientCase (*make)();
};
constexpr GradientRow kGradients[] = {
    {"silu", [] { return VOLTA_ACTIVATION(silu); }},
    {"gelu_tanh", [] { return VOLTA_ACTIVATION(gelu_tanh); }},
    {"gelu_erf", [] { return VOLTA_ACTIVATION(gelu_erf); }},
    {"relu", [] { return VOLTA_ACTIVATION(relu); }},
    {"softmax", [] { return of_softmax(false); }},
    {"log_softmax", [] { return of_softmax(true); }},
    {"cross_entropy", of_cross_entropy},
    {"mse", of_mse},
    {"layer_norm", [] { return of_norm(true); }},
    {"rms_norm", [] { return of_norm(false); }},
    {"product", [] { return of_product(false, false); }},
    {"product, a transposed", [] { return of_product(true, false); }},
    {"product, b transposed", [] { return of_product(false, true); }},
    {"product, both transposed", [] { return of_product(true, true); }},
    {"attention, causal",
     [] {
         return of_attention({true, false, 4});
     }},
    {"attention, not causal",
     [] {
         return of_attention({false, false, 4});
     }},
    {"attention, 2 heads of keys",
     [] {
         return of_attention({true, false, 2});
     }},
    {"attention, 1 head of keys, dropout",
     [] {
         return of_attention({true, true, 1});
     }},
};
#undef VOLTA_ACTIVATION

void test_gradient_is_the_slope(void** state) {
    const GradientRow& row = *static_cast<const GradientRow*>(*state);
    const double error = gradient_error(row.make());
    if (!(error < 1e-6)) print_error("%s: relative error %g\n", row.name, error);
    assert_true(error < 1e-6);
}

// ---- Products and sums
// -------------------------------------------------------------------------------------

void test_product_continues_from_into(void**) {
    const std::int64_t m = 3, n = 2, k = 1024, half = 512;
    const auto a = random_floats(m * k, 1), b = random_floats(k * n, 2);
    std::vector<float> whole(static_cast<std::size_t>(m * n)), parts = whole;
    define::product<float>(m, n, k, {a.data(), k}, {b.data(), n}, false, whole.data(), n);
    define::product<float>(m, n, half, {a.data(), k}, {b.data(), n}, false, parts.data(), n);
    define::product<float>(m, n, half, {a.data() + half, k}, {b.data() + half * n, n}, true, parts.data(), n);
    assert_same_bits("two halves on a cut", whole.data(), parts.data(), m * n);
}

// ---- Softmax and losses
// ------------------------------------------------------------------------------------

void test_softmax_rows_sum_to_one_and_masks_are_zero(void**) {
    const float inf = std::numeric_limits<float>::infinity();
    const float x[] = {1, -inf, 3, 1000, 2, -1000};
    float p[6];
    define::softmax(1, 6, x, p);
    const float expected[] = {0, 0, 0, 1, 0, 0};
    assert_same_bits("softmax", expected, p, 6);
}

void test_log_softmax_corrects_the_sign_of_a_zero_maximum(void**) {
    const float x[] = {-0.0f, -200};
    float y[2];
    define::log_softmax(1, 2, x, y);
    const float expected[] = {-0.0f, -200};  // (-0 - +0) - +0
    assert_same_bits("log_softmax", expected, y, 2);
}

void test_ignored_rows_are_zero_by_selection(void**) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float x[] = {nan, 1, 2, 3};
    const std::int32_t targets[] = {define::kIgnoredTarget, 1};
    float loss[2], dx[4], zero[2] = {};
    define::cross_entropy(2, 2, x, targets, loss);
    define::cross_entropy_grad(2, 2, x, targets, -1.0f, dx);
    assert_same_bits("loss", zero, loss, 1);
    assert_same_bits("gradient", zero, dx, 2);
    assert_true(loss[1] > 0 && dx[2] < 0 && dx[3] > 0);
}

// ---- Norms of channels
// ----------------------------------------------------------------------------------------

// Planes of three: lane 0 + lane 2, then + lane 1. Then the chain over the samples, cut at 512.
float sum_of_planes_by_hand(const float* x, int samples, int channels, int channel, float subtracted,
                            bool squared) {
    float segments[2] = {0, 0};
    for (int n = 0; n < samples; ++n) {
        float d[3];
        for (int i = 0; i < 3; ++i) {
            d[i] = x[(n * channels + channel) * 3 + i] - subtracted;
            if (squared) d[i] = d[i] * d[i];
        }
        segments[n / 512] = segments[n / 512] + ((d[0] + d[2]) + d[1]);
    }
    return segments[0] + segments[1];
}

void test_channels_are_summed_by_planes_then_samples(void**) {
    constexpr int kSamples = 520, kChannels = 2;
    const auto x = random_floats(kSamples * kChannels * 3, 5),
               dy = random_floats(kSamples * kChannels * 3, 6);
    const ChannelPlanes planes = {kSamples, kChannels, 3};
    float mean[2], variance[2], by_hand[2][2];
    define::batch_statistics(planes, x.data(), mean, variance);
    for (int c = 0; c < kChannels; ++c) {
        by_hand[0][c] = sum_of_planes_by_hand(x.data(), kSamples, kChannels, c, 0, false) / 1560.0f;
        by_hand[1][c] = sum_of_planes_by_hand(x.data(), kSamples, kChannels, c, mean[c], true) / 1560.0f;
    }
    assert_same_bits("mean", by_hand[0], mean, 2);
    assert_same_bits("variance", by_hand[1], variance, 2);
    std::vector<float> dx(x.size());
    float scale[] = {0.75f, -1.5f}, d_scale[2], d_bias[2];
    for (const bool frozen : {false, true}) {
        define::batch_norm_grad(planes, dy.data(), x.data(), scale, mean, variance, 1e-3f, frozen, dx.data(),
                                d_scale, d_bias);
        for (int c = 0; c < kChannels; ++c)
            by_hand[0][c] = sum_of_planes_by_hand(dy.data(), kSamples, kChannels, c, 0, false);
        assert_same_bits("dbias", by_hand[0], d_bias, 2);
        const float rs = 1 / std::sqrt(variance[1] + 1e-3f), g = -1.5f * rs, xh = (x[4] - mean[1]) * rs;
        const float expected =
            frozen ? dy[4] * g : ((dy[4] - d_bias[1] / 1560.0f) - xh * (d_scale[1] / 1560.0f)) * g;
        assert_same_bits("dx", &expected, &dx[4], 1);
    }
}

void test_running_statistics_take_their_share(void**) {
    const float mean[] = {2}, variance[] = {3};
    float running_mean[] = {-1}, running_variance[] = {1};
    define::running_statistics(1, 0.1f, 4, mean, variance, running_mean, running_variance);
    const float unbiased = 0x1.555556p+0f;  // (float)(4 / 3)
    const float expected[] = {std::fma(0.1f, 3.0f, -1.0f), std::fma(0.1f, 3 * unbiased - 1, 1.0f)};
    assert_same_bits("mean", &expected[0], running_mean, 1);
    assert_same_bits("variance", &expected[1], running_variance, 1);
}

// In training a NaN is everywhere in its channel, in inference where it is; other channels see nothing.
void test_a_nan_stays_in_its_channel(void**) {
    const ChannelPlanes planes = {2, 2, 3};
    auto x = random_floats(12, 9);
    x[4] = std::numeric_limits<float>::quiet_NaN();  // channel 1 of sample 0
    const float ones[] = {1, 1}, zeros[] = {0, 0};
    float mean[2], variance[2], y[12];
    define::batch_statistics(planes, x.data(), mean, variance);
    define::batch_norm(planes, x.data(), ones, zeros, mean, variance, 1e-5f, y);
    for (int i = 0; i < 12; ++i) assert_true(std::isnan(y[i]) == (i / 3 % 2 == 1));
    define::batch_norm(planes, x.data(), ones, zeros, zeros, ones, 1e-5f, y);
    for (int i = 0; i < 12; ++i) assert_true(std::isnan(y[i]) == (i == 4));
}

// One group is layer norm of the whole sample, but for the scale; groups are rows of their own.
void test_group_norm_is_layer_norm_of_its_groups(void**) {
    constexpr std::int64_t kSamples = 3, kChannels = 6, kPlane = 35;
    const auto x = random_floats(kSamples * kChannels * kPlane, 8);
    const std::vector<float> ones(kChannels * kPlane, 1.0f), zeros(kChannels * kPlane, 0.0f);
    for (const std::int64_t groups : {1, 2, 6}) {
        std::vector<float> y(x.size()), expected(x.size());
        std::vector<float> mean(18), rs(18), row_mean(18), row_rs(18);
        define::group_norm({kSamples, kChannels, kPlane}, groups, x.data(), ones.data(), zeros.data(), 1e-5f,
                           y.data(), mean.data(), rs.data());
        define::layer_norm(kSamples * groups, kChannels / groups * kPlane, x.data(), ones.data(),
                           zeros.data(), 1e-5f, expected.data(), row_mean.data(), row_rs.data());
        assert_same_bits("y", expected.data(), y.data(), static_cast<std::int64_t>(y.size()));
        assert_same_bits("mean", row_mean.data(), mean.data(), kSamples * groups);
        assert_same_bits("rs", row_rs.data(), rs.data(), kSamples * groups);
    }
    const float scale[] = {1, 2, 4}, bias[] = {0, 0, 8}, flat[] = {-1, 1, -1, 1, -1, 1};
    float y[6], mean, rs;
    define::group_norm({1, 3, 2}, 1, flat, scale, bias, 0.0f, y, &mean, &rs);
    const float expected[] = {-1, 1, -2, 2, 4, 12};
    assert_same_bits("by channel", expected, y, 6);
}

// ---- Float against double
// ----------------------------------------------------------------------------------

double float_error(const std::function<void(const float*, float*)>& f,
                   const std::function<void(const double*, double*)>& d, std::int64_t x_count,
                   std::int64_t y_count) {
    const auto x = random_floats(x_count, 21);
    const Doubles x_double(x.begin(), x.end());
    std::vector<float> y(static_cast<std::size_t>(y_count));
    Doubles expected(y.size());
    f(x.data(), y.data());
    d(x_double.data(), expected.data());
    double worst = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
        worst = std::fmax(
            worst, std::fabs(static_cast<double>(y[i]) - expected[i]) / std::fmax(1, std::fabs(expected[i])));
    return worst;
}

template <class T>
void norm_of(const T* x, T* y) {
    T mean[4], rs[4];
    define::layer_norm<T>(4, 1000, x, x + 4000, x + 5000, T(1e-5f), y, mean, rs);
}

template <class T>
void attention_of(const T* x, T* y) {
    define::AttentionSizes s;
    s.batch = 1, s.queries = s.keys = 40, s.heads = s.kv_heads = 2, s.head_dim = 16;
    s.q_stride = s.k_stride = s.v_stride = s.o_stride = 32;
    T m[80], l[80], keys[40];
    define::attention<T>(s, T(0.25), nullptr, x, x + 1280, x + 2560, y, m, l, keys);
}

void test_float_is_close_to_double(void**) {
    assert_true(float_error(norm_of<float>, norm_of<double>, 6000, 4000) < 2e-6);
    assert_true(float_error(attention_of<float>, attention_of<double>, 3840, 1280) < 1e-6);
    assert_true(float_error([](const float* x, float* y) { define::softmax(4, 1000, x, y); },
                            [](const double* x, double* y) { define::softmax(4, 1000, x, y); }, 4000,
                            4000) < 1e-6);
}

// ---- Attention
// ---------------------------------------------------------------------------------------------

constexpr std::int64_t kTime = 530, kDim = 8;  // the chains over keys and queries meet a cut at 512

define::AttentionSizes one_head(std::int64_t first, std::int64_t queries) {
    define::AttentionSizes s;
    s.batch = s.heads = s.kv_heads = 1;
    s.first = first, s.queries = queries, s.keys = first + queries, s.head_dim = kDim;
    s.q_stride = s.k_stride = s.v_stride = s.o_stride = s.dq_stride = s.dk_stride = s.dv_stride = kDim;
    return s;
}

struct Forward {
    std::vector<float> o, m, l;
};

Forward attend(std::int64_t first, std::int64_t queries, const std::vector<float>& q,
               const std::vector<float>& k, const std::vector<float>& v) {
    Forward f;
    f.o.resize(static_cast<std::size_t>(queries * kDim));
    f.m.resize(static_cast<std::size_t>(queries)), f.l = f.m;
    std::vector<float> keys(static_cast<std::size_t>(kTime));
    define::attention(one_head(first, queries), 0.35f, nullptr, q.data() + first * kDim, k.data(), v.data(),
                      f.o.data(), f.m.data(), f.l.data(), keys.data());
    return f;
}

void test_cached_rows_equal_the_full_forward_and_see_no_future(void**) {
    const auto q = random_floats(kTime * kDim, 1), k = random_floats(kTime * kDim, 2),
               v = random_floats(kTime * kDim, 3);
    auto k_later = k, v_later = v;  // the last key is a NaN: no earlier row may notice
    k_later.back() = v_later.back() = std::numeric_limits<float>::quiet_NaN();
    const Forward full = attend(0, kTime, q, k, v), poisoned = attend(0, kTime, q, k_later, v_later);
    const std::int64_t before = (kTime - 1) * kDim;
    assert_same_bits("a NaN in the last key", full.o.data(), poisoned.o.data(), before);
    for (const std::int64_t first : {0, 1, 511, 512, 513, 529}) {
        const Forward row = attend(first, 1, q, k, v);
        assert_same_bits("one row with cached keys", full.o.data() + first * kDim, row.o.data(), kDim);
        assert_same_bits("its maximum", &full.m[static_cast<std::size_t>(first)], row.m.data(), 1);
        assert_same_bits("its sum", &full.l[static_cast<std::size_t>(first)], row.l.data(), 1);
    }
}

// dv of key j: chains of p * dO over the queries t >= j, cut at t = 512, by hand.
void test_gradient_of_values_is_cut_at_absolute_queries(void**) {
    const auto q = random_floats(kTime * kDim, 1), k = random_floats(kTime * kDim, 2),
               v = random_floats(kTime * kDim, 3);
    const auto d_o = random_floats(kTime * kDim, 4);
    const Forward f = attend(0, kTime, q, k, v);
    std::vector<float> dq(q.size()), dk(q.size()), dv(q.size()),
        work(static_cast<std::size_t>(2 * kTime * kTime));
    define::attention_grad(one_head(0, kTime), 0.35f, nullptr, q.data(), k.data(), v.data(), f.o.data(),
                           f.m.data(), f.l.data(), d_o.data(), dq.data(), dk.data(), dv.data(), work.data());
    for (const std::int64_t j : {0, 100, 511, 512, 520}) {
        float segments[2] = {0, 0};
        for (std::int64_t t = j; t < kTime; ++t) {
            float& acc = segments[t / 512];
            acc = std::fma(work[static_cast<std::size_t>(t * kTime + j)],
                           d_o[static_cast<std::size_t>(t * kDim)], acc);
        }
        const float expected = j < 512 ? segments[0] + segments[1] : segments[1];
        assert_same_bits("dv", &expected, &dv[static_cast<std::size_t>(j * kDim)], 1);
    }
}

// ---- Embeddings, dropout, updates
// --------------------------------------------------------------------------

// Which elements are a pair, in which direction they turn, and that the rest of the row stays.
void test_rotary_turns_the_pairs_of_each_head(void**) {
    float table[3 * 4];
    RotaryAngles<float> angles;
    angles.base = 100;
    define::rotary_table(3, 4, angles, table);
    const double frequencies[] = {1, rotary_frequency(1, 4, 100.0)};
    assert_true(std::fabs(frequencies[1] - 0.1) < 1e-15);
    for (int p = 0; p < 3; ++p)
        for (int i = 0; i < 2; ++i) {
            const RotaryEntry entry = rotary_entry(p, frequencies[i]);
            assert_same_bits("cosine", &entry.cosine, &table[p * 4 + i], 1);
            assert_same_bits("sine", &entry.sine, &table[p * 4 + 2 + i], 1);
        }
    const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, -0.0f};
    const std::int32_t position[] = {2};
    const float c0 = table[8], c1 = table[9], s0 = table[10], s1 = table[11];
    const float halves[] = {1 * c0 - 3 * s0, 2 * c1 - 4 * s1, 1 * s0 + 3 * c0,
                            2 * s1 + 4 * c1, 5 * c0 - 7 * s0, 6 * c1 - 8 * s1,
                            5 * s0 + 7 * c0, 6 * s1 + 8 * c1, -0.0f};
    const float neighbours[] = {
        1 * c0 - 2 * s0, 1 * s0 + 2 * c0, 3 * c1 - 4 * s1, 3 * s1 + 4 * c1, 5, 6, 7, 8, -0.0f};
    const float back[] = {
        1 * c0 + 3 * s0, 2 * c1 + 4 * s1, 3 * c0 - 1 * s0, 4 * c1 - 2 * s1, 5, 6, 7, 8, -0.0f};
    float y[9];
    define::rotary(1, 9, {2, 4, false, false, 4}, position, table, x, y);
    assert_same_bits("halves", halves, y, 9);
    define::rotary(1, 9, {1, 4, true, false, 4}, position, table, x, y);
    assert_same_bits("neighbours", neighbours, y, 9);
    std::copy_n(x, 9, y);
    define::rotary(1, 9, {1, 4, false, true, 4}, position, table, y, y);
    assert_same_bits("backwards, in place", back, y, 9);
}

// Heads of 4 of which 2 are turned, by a frequency and a scale that are given.
void test_rotary_turns_the_front_of_each_head(void**) {
    const float frequency[] = {0.3f};
    RotaryAngles<float> angles;
    angles.frequencies = frequency;
    angles.scale = 1.25;
    float table[3 * 2];
    define::rotary_table(3, 2, angles, table);
    for (int p = 0; p < 3; ++p) {
        const double angle = p * static_cast<double>(0.3f);
        const float entry[] = {static_cast<float>(cosd(angle) * 1.25),
                               static_cast<float>(sind(angle) * 1.25)};
        assert_same_bits("scaled", entry, table + 2 * p, 2);
    }
    const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, -0.0f};
    const std::int32_t position[] = {2};
    const float c = table[4], s = table[5];
    const float expected[] = {1 * c - 2 * s, 1 * s + 2 * c, 3, 4, 5 * c - 6 * s, 5 * s + 6 * c, 7, 8, -0.0f};
    float y[9];
    for (const bool interleaved : {false, true}) {
        define::rotary(1, 9, {2, 2, interleaved, false, 4}, position, table, x, y);
        assert_same_bits("apart", expected, y, 9);
        std::copy_n(x, 9, y);
        define::rotary(1, 9, {2, 2, interleaved, false, 4}, position, table, y, y);
        assert_same_bits("in place", expected, y, 9);
    }
}

void test_swiglu_is_its_formula(void**) {
    ScalarMachine<float> m;
    const float x[] = {0.5f, -2, 3, 0.25f}, dy[] = {1.5f, -1};
    float y[2], dx[4];
    define::swiglu(1, 2, x, y);
    const float expected[] = {silu(m, 0.5f) * 3, silu(m, -2.0f) * 0.25f};
    assert_same_bits("swiglu", expected, y, 2);
    define::swiglu_grad(1, 2, x, dy, dx);
    const float gradient[] = {silu_grad(m, 0.5f, 1.5f * 3), silu_grad(m, -2.0f, -1 * 0.25f),
                              1.5f * silu(m, 0.5f), -1 * silu(m, -2.0f)};
    assert_same_bits("swiglu_grad", gradient, dx, 4);
}

void test_embedding_gradient_adds_in_the_order_of_positions(void**) {
    const std::int32_t tokens[] = {1, 0, 1, 1};
    const float dy[] = {1e8f, 2, 1, -1e8f};
    float table[3] = {9, 9, 9};
    define::embedding_grad(4, 1, tokens, dy, 3, false, table);
    const float expected[] = {2, (1e8f + 1) + -1e8f, 0};
    assert_same_bits("embedding_grad", expected, table, 3);
    define::embedding_grad(1, 1, tokens, dy + 1, 3, true, table);
    assert_true(table[1] == expected[1] + 2 && table[2] == 0);
    float tied[3] = {5, 1, -0.0f};  // the head's gradient; row 2 has no token and keeps its bits
    define::tied_embedding_grad(4, 1, tokens, dy, 3, tied);
    const float expected_tied[] = {5 + 2.0f, 1 + expected[1], -0.0f};
    assert_same_bits("tied_embedding_grad", expected_tied, tied, 3);
    float out[4];
    define::embedding(4, 1, tokens, tied, out);
    const float expected_out[] = {tied[1], tied[0], tied[1], tied[1]};
    assert_same_bits("embedding", expected_out, out, 4);
}

void test_dropout_rows_count_over_the_step(void**) {
    const RandomPlace place = {77, 4, Purpose::dropout, 1};
    const DropoutRule rule = dropout_rule(0.25);
    const auto x = random_floats(8 * 200, 5);
    std::vector<float> whole(x.size()), parts = whole;
    define::dropout(8, 200, x.data(), place, 0, rule, whole.data());
    define::dropout(4, 200, x.data(), place, 0, rule, parts.data());
    define::dropout(4, 200, x.data() + 800, place, 4, rule, parts.data() + 800);
    assert_same_bits("two micro-batches", whole.data(), parts.data(), 1600);
    int dropped = 0;
    for (const float y : whole) dropped += y == 0;
    assert_true(dropped > 320 && dropped < 480);
}

void test_clip_factor_shrinks_to_the_norm(void**) {
    assert_true(define::clip_factor(4.0f, 1.0f) == 0.25f && define::clip_factor(1.0f, 1.0f) == 1);
    assert_true(define::clip_factor(0.0f, 1.0f) == 1);
    const float g[] = {3, 0, 4}, squares[] = {define::square_sum(3, g), 144};
    assert_true(define::global_norm(2, squares) == 13);
}

// The formulas of docs/numerics.md, 6, over 10,000 steps of one parameter, written out a second time.
void test_adam_follows_its_formula(void** state) {
    const bool decoupled = *static_cast<const int*>(*state) != 0;
    const float b1 = 0.9f, b2 = 0.999f, q1 = static_cast<float>(1 - 0.9), q2 = static_cast<float>(1 - 0.999);
    double b1t = 1, b2t = 1;
    float w = 0.5f, m = 0, v = 0, w2 = w, m2 = 0, v2 = 0;
    Random random(8);
    bool same = true;
    for (int t = 0; t < 10000 && same; ++t) {
        b1t *= 0.9, b2t *= 0.999;
        const float a = static_cast<float>(1e-3 / (1 - b1t)), r2 = static_cast<float>(1 / std::sqrt(1 - b2t));
        const float third = static_cast<float>(decoupled ? 1 - 1e-3 * 0.1 : 0.1), eps = 1e-8f, clip = 0.75f;
        const float g = random_float(random, Data::plain);
        define::adam<float>(1, &g, clip, {a, r2, third, b1, b2, q1, q2, eps}, decoupled, &w, &m, &v);
        const float gc = g * clip, gd = decoupled ? gc : std::fma(third, w2, gc);
        m2 = std::fma(b1, m2, q1 * gd);
        v2 = std::fma(b2, v2, (q2 * gd) * gd);
        const float root = std::fma(std::sqrt(v2), r2, eps), kept = decoupled ? w2 * third : w2;
        w2 = std::fma(-a, m2 / root, kept);
        same = bits_of(w) == bits_of(w2) && bits_of(m) == bits_of(m2) && bits_of(v) == bits_of(v2);
    }
    assert_true(same);
    assert_true(std::fabs(w) < 0.5f);  // the mean gradient is 0, and both kinds of decay pull toward it
}

void test_sgd_and_adagrad_follow_their_formulas(void**) {
    Random random(9);
    const float lr = 0.1f, mu = 0.9f, wd = 0.01f, eps = 1e-10f;
    float w[4] = {1, 1, 1, 1}, v[2] = {}, h = 0, e[4] = {1, 1, 1, 1}, ev[2] = {}, eh = 0;
    for (int t = 0; t < 1000; ++t) {
        const float g = random_float(random, Data::plain), clip = 0.5f;
        define::sgd<float>(1, &g, clip, {lr, mu, wd}, false, &w[0], &v[0]);
        define::sgd<float>(1, &g, clip, {lr, mu, wd}, true, &w[1], &v[1]);
        define::adagrad<float>(1, &g, clip, {lr, wd, eps}, &w[2], &h);
        define::sgd_plain<float>(1, &g, clip, lr, wd, &w[3]);
        for (int nesterov = 0; nesterov < 2; ++nesterov) {
            const float gd = std::fma(wd, e[nesterov], g * clip);
            ev[nesterov] = std::fma(mu, ev[nesterov], gd);
            const float u = nesterov ? std::fma(mu, ev[nesterov], gd) : ev[nesterov];
            e[nesterov] = std::fma(-lr, u, e[nesterov]);
        }
        const float gd = std::fma(wd, e[2], g * clip);
        eh = std::fma(gd, gd, eh);
        e[2] = std::fma(-lr, gd / (std::sqrt(eh) + eps), e[2]);
        e[3] = std::fma(-lr, std::fma(wd, e[3], g * clip), e[3]);
    }
    assert_same_bits("sgd, nesterov, adagrad, sgd without momentum", e, w, 4);
}
}  // namespace

int main() {
    int coupled = 0, decoupled = 1;
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_product_continues_from_into),
        cmocka_unit_test(test_softmax_rows_sum_to_one_and_masks_are_zero),
        cmocka_unit_test(test_log_softmax_corrects_the_sign_of_a_zero_maximum),
        cmocka_unit_test(test_channels_are_summed_by_planes_then_samples),
        cmocka_unit_test(test_running_statistics_take_their_share),
        cmocka_unit_test(test_a_nan_stays_in_its_channel),
        cmocka_unit_test(test_group_norm_is_layer_norm_of_its_groups),
        cmocka_unit_test(test_ignored_rows_are_zero_by_selection),
        cmocka_unit_test(test_float_is_close_to_double),
        cmocka_unit_test(test_cached_rows_equal_the_full_forward_and_see_no_future),
        cmocka_unit_test(test_gradient_of_values_is_cut_at_absolute_queries),
        cmocka_unit_test(test_rotary_turns_the_pairs_of_each_head),
        cmocka_unit_test(test_rotary_turns_the_front_of_each_head),
        cmocka_unit_test(test_swiglu_is_its_formula),
        cmocka_unit_test(test_embedding_gradient_adds_in_the_order_of_positions),
        cmocka_unit_test(test_dropout_rows_count_over_the_step),
        cmocka_unit_test(test_clip_factor_shrinks_to_the_norm),
        {"test_adam_follows_its_formula", test_adam_follows_its_formula, nullptr, nullptr, &coupled},
        {"test_adamw_follows_its_formula", test_adam_follows_its_formula, nullptr, nullptr, &decoupled},
        cmocka_unit_test(test_sgd_and_adagrad_follow_their_formulas),
    };
    return run_rows("definitions: gradients", kGradients, test_gradient_is_the_slope,
                    [](const GradientRow& row) { return row.name; }) +
           cmocka_run_group_tests_name("definitions", tests, nullptr, nullptr);
}
