#include "tests/cuda/attention_bounds.h"

#include <algorithm>
#include <cmath>

namespace volta::test {
namespace {

constexpr double kFloat = 0x1p-18;  // of sums in fp32 and the functions in it
constexpr double kSlack = 1.1;      // what is of second order

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

// Rows of a problem's tensor without the gaps between them.
std::vector<double> dense(const std::vector<float>& from, std::int64_t rows, std::int64_t stride,
                          std::int64_t columns) {
    std::vector<double> to;
    for (std::int64_t r = 0; r < rows; ++r)
        to.insert(to.end(), from.begin() + r * stride, from.begin() + r * stride + columns);
    return to;
}

AttentionResults zeros(const define::AttentionSizes& size) {
    const std::int64_t tokens = size.batch * size.keys, rows = tokens * size.heads;
    AttentionResults r;
    r.o.assign(index(rows * size.head_dim), 0), r.dq = r.o;
    r.dk.assign(index(tokens * size.kv_heads * size.head_dim), 0), r.dv = r.dk;
    r.row_max.assign(index(rows), 0), r.row_sum = r.row_max;
    return r;
}

struct Sum {  // of terms: absolute values, squares, and as they are
    double absolute = 0, squares = 0, plain = 0;
    void add(double x) { absolute += std::fabs(x), squares += x * x, plain += x; }
};

// One head of one sequence.
class HeadBounds {
  public:
    HeadBounds(const AttentionProblem& p, double scale, bool dropout, double roundoff, bool exact,
               std::int64_t b, std::int64_t h)
        : p_(p),
          size_(p.size),
          scale_(scale),
          u_(roundoff),
          operand_(exact ? 0 : roundoff),
          exact_(exact),
          b_(b),
          h_(h) {
        kv_ = h / (size_.heads / size_.kv_heads);
        for (std::int64_t i = 0; i < size_.queries; ++i) add_row(i, dropout);
    }
    void add_to(AttentionResults& r) const {
        for (std::int64_t i = 0; i < size_.queries; ++i) {
            const Row& row = rows_[index(i)];
            const std::int64_t at = (b_ * size_.heads + h_) * size_.queries + i;
            r.row_max[index(at)] = kSlack * row.score_error;
            r.row_sum[index(at)] = kSlack * (row.factor + kFloat) * row.sum;
            for (std::int64_t c = 0; c < size_.head_dim; ++c) {
                const std::int64_t element = (token(i) * size_.heads + h_) * size_.head_dim + c;
                r.o[index(element)] = kSlack * value_bound(row, c);
                r.dq[index(element)] = kSlack * scale_ * query_bound(i, c);
            }
        }
        for (std::int64_t j = 0; j < size_.keys; ++j)
            for (std::int64_t c = 0; c < size_.head_dim; ++c) add_key(j, c, r);
    }

  private:
    struct Row {
        double score_error = 0, factor = 0, sum = 0;  // factor: relative error of probabilities
        double term = 0, term_error = 0;              // D
        std::vector<double> p, kept, dp, dp_error, ds;
        std::vector<double> slope, slope_error;  // of a score below its cap
    };
    std::int64_t token(std::int64_t i) const { return b_ * size_.queries + i; }
    double q(std::int64_t i, std::int64_t c) const {
        return p_.q[index(token(i) * size_.q_stride + h_ * size_.head_dim + c)];
    }
    double k(std::int64_t j, std::int64_t c) const {
        return p_.k[index(token(j) * size_.k_stride + kv_ * size_.head_dim + c)];
    }
    double v(std::int64_t j, std::int64_t c) const {
        return p_.v[index(token(j) * size_.v_stride + kv_ * size_.head_dim + c)];
    }
    double g(std::int64_t i, std::int64_t c) const {
        return p_.d_o[index(token(i) * size_.o_stride + h_ * size_.head_dim + c)];
    }

    // Of a rounded operand's terms.
    double rounding(const Sum& terms) const {
        return exact_ ? std::min(u_ * terms.absolute, 4 * u_ * std::sqrt(terms.squares))
                      : u_ * terms.absolute;
    }

    void add_row(std::int64_t i, bool dropout) {
        Row row;
        const std::int64_t count = size_.visible_keys(i);
        const std::int64_t random_row =
            ((p_.dropout.first_sequence + b_) * size_.heads + h_) * size_.queries + i;
        double largest = -INFINITY, error = 0;
        for (std::int64_t j = 0; j < count; ++j) {
            Sum chain, gradient;
            for (std::int64_t c = 0; c < size_.head_dim; ++c) {
                chain.add(q(i, c) * k(j, c));
                gradient.add(g(i, c) * v(j, c));
            }
            error = std::max(error, chain.absolute);
            row.p.push_back(size_.has_no_weight(b_, i, j) ? -INFINITY : chain.plain * scale_);
            bound_score(row, scale_ * (2 * operand_ + kFloat) * chain.absolute);
            largest = std::max(largest, row.p.back());
            const bool stays =
                !dropout || element_bits(p_.dropout.place, static_cast<std::uint32_t>(random_row),
                                         static_cast<std::uint32_t>(j)) >= p_.dropout.rule.threshold;
            row.kept.push_back(!dropout ? 1 : stays ? static_cast<double>(p_.dropout.rule.scale) : 0);
            row.dp.push_back(gradient.plain);
            row.dp_error.push_back((2 * operand_ + kFloat) * gradient.absolute);
        }
        row.score_error = scale_ * (2 * operand_ + kFloat) * error + static_cast<double>(size_.cap) * kFloat;
        row.factor = std::expm1(2 * row.score_error);
        for (double& x : row.p) row.sum += x = std::exp(x - largest);
        for (double& x : row.p) x /= row.sum;
        add_term(i, row);
        for (std::size_t j = 0; j < row.p.size(); ++j)
            row.ds.push_back(row.p[j] * (row.kept[j] * row.dp[j] - row.term) * row.slope[j]);
        rows_.push_back(std::move(row));
    }
    // What a cap makes of the latest score, which errs by so much.
    void bound_score(Row& row, double score_error) const {
        const auto cap = static_cast<double>(size_.cap);
        const double u = cap == 0 ? 0 : std::tanh(row.p.back() / cap), slope = 1 - u * u;
        row.slope.push_back(slope);
        row.slope_error.push_back(cap == 0 ? 0 : 2 * std::fabs(u) * slope / cap * score_error + kFloat);
        if (cap != 0 && row.p.back() != -INFINITY) row.p.back() = cap * u;
    }
    void add_term(std::int64_t i, Row& row) const {
        Sum rounded;
        for (std::size_t j = 0; j < row.p.size(); ++j) rounded.add(row.p[j] * row.kept[j] * row.dp[j]);
        row.term = rounded.plain;
        for (std::int64_t c = 0; c < size_.head_dim; ++c) {
            Sum terms;
            for (std::size_t j = 0; j < row.p.size(); ++j)
                terms.add(row.p[j] * row.kept[j] * v(static_cast<std::int64_t>(j), c));
            const double of_o = exact_ ? terms.absolute * (row.factor + kFloat) : value_bound(row, c);
            row.term_error += std::fabs(g(i, c)) * (of_o + kFloat * std::fabs(terms.plain));
        }
        if (exact_) row.term_error += rounding(rounded);
    }
    double value_bound(const Row& row, std::int64_t c) const {
        Sum terms;
        for (std::size_t j = 0; j < row.p.size(); ++j)
            terms.add(row.p[j] * row.kept[j] * v(static_cast<std::int64_t>(j), c));
        return terms.absolute * (row.factor + operand_ + kFloat) + rounding(terms);
    }
    // Of the gradient of one score, without what D and its own rounding bring.
    double gradient_error(const Row& row, std::size_t j) const {
        const double of_p = row.kept[j] * row.dp[j];
        return row.p[j] * row.slope[j] *
                   (row.factor * (std::fabs(of_p) + std::fabs(row.term)) + row.kept[j] * row.dp_error[j]) +
               row.p[j] * row.slope_error[j] * std::fabs(of_p - row.term) +
               std::fabs(row.ds[j]) * (operand_ + kFloat);
    }
    double query_bound(std::int64_t i, std::int64_t c) const {
        const Row& row = rows_[index(i)];
        Sum rounded, of_term;
        double bound = 0;
        for (std::size_t j = 0; j < row.p.size(); ++j) {
            const double key = k(static_cast<std::int64_t>(j), c);
            bound += gradient_error(row, j) * std::fabs(key);
            rounded.add(row.ds[j] * key);
            of_term.add(row.p[j] * row.slope[j] * key);
        }
        return bound + rounding(rounded) +
               row.term_error * (exact_ ? std::fabs(of_term.plain) : of_term.absolute);
    }
    void add_key(std::int64_t j, std::int64_t c, AttentionResults& r) const {
        Sum of_term, of_ds, of_p;
        double dk = 0, dv = 0;
        for (std::int64_t i = size_.first_query_of(j); i < size_.queries; ++i) {
            const Row& row = rows_[index(i)];
            const double query = q(i, c), weight = row.p[index(j)] * row.kept[index(j)];
            dk += gradient_error(row, index(j)) * std::fabs(query);
            of_term.add(row.p[index(j)] * row.slope[index(j)] * row.term_error * query);
            of_ds.add(row.ds[index(j)] * query);
            of_p.add(weight * g(i, c));
            dv += weight * (row.factor + operand_ + kFloat) * std::fabs(g(i, c));
        }
        dk += rounding(of_ds) + (exact_ ? std::sqrt(of_term.squares) : of_term.absolute);
        const std::size_t at = index((token(j) * size_.kv_heads + kv_) * size_.head_dim + c);
        r.dk[at] += kSlack * scale_ * dk;
        r.dv[at] += kSlack * (dv + rounding(of_p));
    }

    const AttentionProblem& p_;
    const define::AttentionSizes& size_;
    const double scale_, u_, operand_;
    const bool exact_;
    const std::int64_t b_, h_;
    std::int64_t kv_ = 0;
    std::vector<Row> rows_;
};

}  // namespace

AttentionResults attention_in_double(const jit::CudaAttentionForm& form, const AttentionProblem& p) {
    define::AttentionSizes size = p.size;
    const std::int64_t tokens = size.batch * size.keys, query = size.heads * size.head_dim,
                       key = size.kv_heads * size.head_dim;
    const std::vector<double> q = dense(p.q, tokens, size.q_stride, query),
                              k = dense(p.k, tokens, size.k_stride, key),
                              v = dense(p.v, tokens, size.v_stride, key),
                              d_o = dense(p.d_o, tokens, size.o_stride, query);
    size.q_stride = size.o_stride = size.dq_stride = query;
    size.k_stride = size.v_stride = size.dk_stride = size.dv_stride = key;
    AttentionResults r = zeros(size);
    std::vector<double> workspace(index(2 * size.keys * size.keys));
    const define::AttentionDropout* const dropout = form.dropout ? &p.dropout : nullptr;
    const double scale = static_cast<double>(attention_scale(form.head_dim));
    define::attention<double>(size, scale, dropout, q.data(), k.data(), v.data(), r.o.data(),
                              r.row_max.data(), r.row_sum.data(), workspace.data());
    define::attention_grad<double>(size, scale, dropout, q.data(), k.data(), v.data(), r.o.data(),
                                   r.row_max.data(), r.row_sum.data(), d_o.data(), r.dq.data(), r.dk.data(),
                                   r.dv.data(), workspace.data());
    return r;
}

AttentionResults attention_bounds(const jit::CudaAttentionForm& form, const AttentionProblem& p,
                                  double roundoff, bool exact) {
    AttentionResults r = zeros(p.size);
    for (std::int64_t b = 0; b < p.size.batch; ++b)
        for (std::int64_t h = 0; h < p.size.heads; ++h)
            HeadBounds(p, static_cast<double>(attention_scale(form.head_dim)), form.dropout, roundoff, exact,
                       b, h)
                .add_to(r);
    return r;
}

}  // namespace volta::test
