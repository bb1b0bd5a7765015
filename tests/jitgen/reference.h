// The oracle of the kernel language: every instruction of a program on every element of every row, in program
// order, one element at a time by ScalarMachine<float>. No plan, no blocks, no stages: nothing it shares with
// the lowerings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/numerics/machine.h"
#include "jitgen/row_kernel.h"

namespace volta::test {

class Reference {
  public:
    Reference(const jit::Program& program, const jit::RowArgs& args) : program_(program), args_(args) {}

    void run() {
        for (const auto& x : program_.code)
            if (x.code == jit::Code::column_sum)
                sums_.push_back({x.a, std::vector<float>(columns() * rows())});
        stores_.clear();
        for (row_ = 0; row_ < rows(); ++row_) run_row();
        // Stores last: an output may be the memory of an input.
        for (const Store& store : stores_) *store.place = store.word;
        for (const Sum& sum : sums_)
            for (std::int64_t j = 0; j < columns(); ++j) column_sum(sum, j);
    }

  private:
    using Word = std::uint32_t;
    using M = ScalarMachine<float>;
    struct Store {
        Word* place;
        Word word;
    };
    struct Sum {
        int operand;
        std::vector<float> terms;  // [rows, columns]
    };

    std::int64_t rows() const { return args_.rows; }
    std::int64_t columns() const { return args_.columns; }

    Word* place(const jit::Instruction& x, std::int64_t j) const {
        Word* const base = static_cast<Word*>(args_.operands[x.a]);
        switch (program_.operands[x.a].access) {
            case jit::Access::full:
                return base + row_ * args_.row_strides[x.a] + j;
            case jit::Access::per_row:
                return base + row_ * args_.row_strides[x.a];
            case jit::Access::per_column:
                return base + j;
            default:
                return base + x.immediate;
        }
    }

    void run_row() {
        // At least one place, so that values per row exist for rows of no column.
        const std::int64_t width = std::max<std::int64_t>(columns(), 1);
        std::vector<std::vector<Word>> values(program_.code.size());
        std::size_t sum = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            const jit::Instruction& x = program_.code[i];
            values[i].assign(static_cast<std::size_t>(width), 0);
            const auto at = [&](std::int32_t id, std::int64_t j) { return id >= 0 ? values[id][j] : 0; };
            if (x.code == jit::Code::store) {
                store(x, values[x.b]);
            } else if (x.code == jit::Code::column_sum) {
                for (std::int64_t j = 0; j < columns(); ++j)
                    sums_[sum].terms[row_ * columns() + j] = M::from_bits(values[x.b][j]);
                ++sum;
            } else if (x.code == jit::Code::row_sum || x.code == jit::Code::row_max ||
                       x.code == jit::Code::row_argmax) {
                values[i].assign(static_cast<std::size_t>(width), reduce(x.code, values[x.a]));
            } else {
                for (std::int64_t j = 0; j < width; ++j)
                    values[i][j] = element(x, at(operand_free(x) ? x.a : -1, j), at(x.b, j), at(x.c, j), j);
            }
        }
    }

    static bool operand_free(const jit::Instruction& x) { return x.code != jit::Code::load; }

    void store(const jit::Instruction& x, const std::vector<Word>& value) {
        const bool full = program_.operands[x.a].access == jit::Access::full;
        for (std::int64_t j = 0; j < (full ? columns() : 1); ++j) stores_.push_back({place(x, j), value[j]});
    }

    Word element(const jit::Instruction& x, Word a, Word b, Word c, std::int64_t j) const {
        const float p = M::from_bits(a), q = M::from_bits(b), r = M::from_bits(c);
        const int n = static_cast<int>(x.immediate);
        switch (x.code) {
            case jit::Code::constant:
                return x.immediate;
            case jit::Code::load:
                if (j >= columns() && program_.operands[x.a].access != jit::Access::per_row &&
                    program_.operands[x.a].access != jit::Access::single)
                    return 0;
                return *place(x, j);
            case jit::Code::row_index:
                return args_.first_row + static_cast<Word>(row_);
            case jit::Code::column_index:
                return args_.first_column + static_cast<Word>(j);
            case jit::Code::row_length:
                return M::bits(static_cast<float>(columns()));
            case jit::Code::add:
                return M::bits(p + q);
            case jit::Code::sub:
                return M::bits(p - q);
            case jit::Code::mul:
                return M::bits(p * q);
            case jit::Code::div:
                return M::bits(p / q);
            case jit::Code::fma:
                return M::bits(M::fma(p, q, r));
            case jit::Code::sqrt:
                return M::bits(M::sqrt(p));
            case jit::Code::neg:
                return M::bits(M::neg(p));
            case jit::Code::abs:
                return M::bits(M::abs(p));
            case jit::Code::less:
                return M::less(p, q);
            case jit::Code::less_equal:
                return M::less_equal(p, q);
            case jit::Code::equal:
                return M::equal(p, q);
            case jit::Code::is_nan:
                return M::is_nan(p);
            case jit::Code::both:
                return M::both(a, b);
            case jit::Code::either:
                return M::either(a, b);
            case jit::Code::invert:
                return M::invert(a);
            case jit::Code::select:
                return a ? b : c;
            case jit::Code::iadd:
                return M::iadd(a, b);
            case jit::Code::isub:
                return M::isub(a, b);
            case jit::Code::iand:
                return M::iand(a, b);
            case jit::Code::ior:
                return M::ior(a, b);
            case jit::Code::ixor:
                return M::ixor(a, b);
            case jit::Code::shl:
                return M::shl(a, n);
            case jit::Code::shr:
                return M::shr(a, n);
            case jit::Code::sar:
                return M::sar(a, n);
            case jit::Code::umul_low:
                return M::umul_low(a, b);
            case jit::Code::umul_high:
                return M::umul_high(a, b);
            case jit::Code::iequal:
                return M::iequal(a, b);
            case jit::Code::uless:
                return M::uless(a, b);
            case jit::Code::bits:
            case jit::Code::from_bits:
                return a;
            case jit::Code::truncate:
                return M::truncate(p);
            case jit::Code::to_real:
                return M::bits(M::to_real(a));
            default:
                return 0;
        }
    }

    // docs/numerics.md, 3, word for word.
    static float row_sum(const std::vector<float>& x) {
        if (x.empty()) return 0.0f;
        std::vector<float> r;
        for (std::size_t chunk = 0; chunk < x.size(); chunk += 4096) {
            float lane[32] = {};
            for (std::size_t i = chunk; i < std::min(x.size(), chunk + 4096); ++i)
                lane[i % 32] = lane[i % 32] + x[i];
            for (int h = 16; h >= 1; h /= 2)
                for (int l = 0; l < h; ++l) lane[l] = lane[l] + lane[l + h];
            r.push_back(lane[0]);
        }
        return r.size() == 1 ? r[0] : row_sum(r);
    }

    Word reduce(jit::Code code, const std::vector<Word>& words) const {
        std::vector<float> x(static_cast<std::size_t>(columns()));
        for (std::size_t j = 0; j < x.size(); ++j) x[j] = M::from_bits(words[j]);
        if (code == jit::Code::row_sum) return M::bits(row_sum(x));
        const float inf = std::numeric_limits<float>::infinity();
        float best = -inf;
        std::size_t index = 0;
        for (std::size_t j = 0; j < x.size(); ++j) {
            if (best != best) break;
            if (x[j] != x[j] || x[j] > best) best = x[j], index = j;
        }
        if (code == jit::Code::row_argmax) return args_.first_column + static_cast<Word>(index);
        return best != best ? 0x7fc00000u : M::bits(best == 0 ? 0.0f : best);
    }

    void column_sum(const Sum& sum, std::int64_t j) const {
        float* const out = static_cast<float*>(args_.operands[sum.operand]) + j;
        bool stored = args_.continue_columns != 0;
        if (rows() == 0 && !stored) *out = 0.0f;
        for (std::int64_t first = 0; first < rows(); first += 512) {
            float acc = 0.0f;
            for (std::int64_t i = first; i < std::min(rows(), first + 512); ++i)
                acc = acc + sum.terms[static_cast<std::size_t>(i * columns() + j)];
            *out = stored ? *out + acc : acc;
            stored = true;
        }
    }

    const jit::Program& program_;
    const jit::RowArgs& args_;
    std::int64_t row_ = 0;
    std::vector<Store> stores_;
    std::vector<Sum> sums_;
};

}  // namespace volta::test
