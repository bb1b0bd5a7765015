// Matrix products.
#include <algorithm>
#include <string>

#include "engine/graph/forms.h"
#include "engine/import/onnx/rules.h"

namespace volta::onnx {
namespace {

// All axes but the last two.
Extents leading(const Extents& from) {
    Extents result;
    for (int axis = 0; axis + 2 < from.rank(); ++axis) result.append(from, axis);
    return result;
}

ValueId widened(Call& call, ValueId x, const Extents& batch) {
    const Extents from = call.extents_of(x);
    Extents to = batch;
    to.append(from, from.rank() - 2);
    to.append(from, from.rank() - 1);
    return call.broadcast_to(x, to);
}

}  // namespace

// NumPy's rule: vectors are matrices of one row or column, axes in front broadcast.
ValueId product(Call& call, ValueId a, ValueId b) {
    Extents of_a = call.extents_of(a), of_b = call.extents_of(b);
    if (of_b.rank() == 2) return call.apply(Op::matmul, {a, b});
    Extents batch;
    if (!broadcast(leading(of_a).now, leading(of_b).now, &batch.now) ||
        !broadcast(leading(of_a).later, leading(of_b).later, &batch.later))
        call.refuse("%s does not broadcast with %s", to_text(of_a.now).text, to_text(of_b.now).text);
    // One matrix for all of a's.
    const Extents of_matrices = leading(of_b);
    if (!of_matrices.has_open() && of_matrices.now.elements() == 1 && of_a.rank() >= of_b.rank()) {
        Extents matrix;
        matrix.append(of_b, of_b.rank() - 2);
        matrix.append(of_b, of_b.rank() - 1);
        return call.apply(Op::matmul, {a, call.reshape(b, matrix)});
    }
    return call.apply(Op::matmul, {widened(call, a, batch), widened(call, b, batch)});
}

namespace {

// One operand of an Einsum: which letter each axis has.
struct Lettered {
    ValueId value;
    std::pmr::string letters;
};

bool has(std::string_view letters, char letter) { return letters.find(letter) != letters.npos; }

// Axes in this order; letters that it does not have become axes of 1.
ValueId ordered(Call& call, const Lettered& x, std::string_view order) {
    std::pmr::vector<std::int64_t> axes(call.heap());
    for (const char letter : order)
        if (has(x.letters, letter)) axes.push_back(static_cast<std::int64_t>(x.letters.find(letter)));
    const ValueId moved = call.transpose(x.value, axes);
    const Extents from = call.extents_of(moved);
    Extents to;
    int next = 0;
    for (const char letter : order) {
        if (to.rank() == kMaxRank) call.refuse("it has more than %d letters", kMaxRank);
        if (has(x.letters, letter))
            to.append(from, next++);
        else
            to.append(1);
    }
    return call.reshape(moved, to);
}

// Sums over letters that nobody else has.
Lettered without_lonely(Call& call, const Lettered& x, std::string_view others) {
    Lettered result{x.value, std::pmr::string(call.heap())};
    Shape axes;
    for (std::size_t i = 0; i < x.letters.size(); ++i) {
        if (has(others, x.letters[i]))
            result.letters += x.letters[i];
        else
            axes.extent[axes.rank++] = static_cast<std::int64_t>(i);
    }
    if (axes.rank > 0) result.value = call.apply(Op::sum, {x.value}, {list(Attr::axes, axes)});
    return result;
}

// The extents of these axes as one.
std::int64_t joined(const Shape& shape, int first, int count) {
    std::int64_t extent = 1;
    for (int axis = first; axis < first + count; ++axis) extent *= shape[axis];
    return extent;
}

// a and b over the letters that both have and the result has not.
Lettered contracted(Call& call, Lettered a, Lettered b, std::string_view result) {
    std::pmr::string kept(result, call.heap());
    a = without_lonely(call, a, kept + b.letters);
    b = without_lonely(call, b, kept + a.letters);
    std::pmr::string batch(call.heap()), of_a(call.heap()), of_b(call.heap()), summed(call.heap());
    for (const char letter : a.letters)
        (has(b.letters, letter) ? has(result, letter) ? batch : summed : of_a) += letter;
    for (const char letter : b.letters)
        if (!has(a.letters, letter)) of_b += letter;
    if (batch.size() + of_a.size() + of_b.size() > kMaxRank)
        call.refuse("it has more than %d letters", kMaxRank);
    const ValueId left = ordered(call, a, batch + of_a + summed),
                  right = ordered(call, b, batch + summed + of_b);
    const Extents of_left = call.extents_of(left), of_right = call.extents_of(right);
    const int batches = static_cast<int>(batch.size()), rows = static_cast<int>(of_a.size()),
              inner = static_cast<int>(summed.size()), columns = static_cast<int>(of_b.size());
    for (int i = 0; i < inner; ++i)
        if (of_left.now[batches + rows + i] != of_right.now[batches + i])
            call.refuse("its operands do not fit");
    // [batch, rows, inner] by [batch, inner, columns].
    const auto matrices = [&](const Extents& from, int first, int second) {
        Extents to;
        to.now = {joined(from.now, 0, batches), joined(from.now, batches, first),
                  joined(from.now, batches + first, second)};
        to.later = {joined(from.later, 0, batches), joined(from.later, batches, first),
                    joined(from.later, batches + first, second)};
        return to;
    };
    Extents whole;
    for (int i = 0; i < batches + rows; ++i) whole.append(of_left, i);
    for (int i = 0; i < columns; ++i) whole.append(of_right, batches + inner + i);
    const ValueId y = call.apply(Op::matmul, {call.reshape(left, matrices(of_left, rows, inner)),
                                              call.reshape(right, matrices(of_right, inner, columns))});
    return {call.reshape(y, whole), batch + of_a + of_b};
}

// "...ij,jk->ik" taken apart: the letters of each operand, "..." as capital letters from the last.
std::pmr::vector<std::pmr::string> letters_of(Call& call, std::string_view equation,
                                              std::pmr::string& result) {
    std::pmr::vector<std::pmr::string> terms(call.heap());
    terms.emplace_back();
    bool in_result = false, says_result = false;
    int dots[2] = {};
    std::pmr::vector<std::size_t> dots_at(call.heap());
    dots_at.push_back(std::string_view::npos);
    std::size_t result_dots = std::string_view::npos;
    for (std::size_t i = 0; i < equation.size(); ++i) {
        const char letter = equation[i];
        std::pmr::string& term = in_result ? result : terms.back();
        if (letter == ' ') continue;
        if (letter == ',' && !in_result) {
            terms.emplace_back();
            dots_at.push_back(std::string_view::npos);
        } else if (equation.substr(i, 2) == "->" && !in_result) {
            in_result = says_result = true;
            ++i;
        } else if (equation.substr(i, 3) == "...") {
            (in_result ? result_dots : dots_at.back()) = term.size();
            i += 2;
        } else if ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z')) {
            if (has(term, letter))
                call.refuse("its equation takes a diagonal: '%c' stands twice in a term", letter);
            term += letter;
        } else {
            call.refuse("its equation has a character that is none of an equation");
        }
    }
    static_cast<void>(dots);
    constexpr std::string_view kDots = "01234567";  // no letters of an equation
    std::size_t most = 0;
    for (std::size_t i = 0; i < terms.size() && static_cast<int>(i) < call.inputs(); ++i) {
        const auto rank = static_cast<std::size_t>(call.extents(static_cast<int>(i)).rank());
        if (dots_at[i] == std::string_view::npos) {
            if (terms[i].size() != rank)
                call.refuse("its equation has %zu letters for %zu axes", terms[i].size(), rank);
            continue;
        }
        if (terms[i].size() > rank)
            call.refuse("its equation has %zu letters for %zu axes", terms[i].size(), rank);
        const std::size_t count = rank - terms[i].size();
        terms[i].insert(dots_at[i], kDots.substr(kDots.size() - count));
        most = std::max(most, count);
    }
    if (!says_result) {
        result = kDots.substr(kDots.size() - most);
        std::pmr::string all(call.heap());
        for (const std::pmr::string& term : terms) all += term;
        for (int letter = 'A'; letter <= 'z'; ++letter)
            if (std::count(all.begin(), all.end(), static_cast<char>(letter)) == 1)
                result += static_cast<char>(letter);
    } else if (result_dots != std::string_view::npos) {
        result.insert(result_dots, kDots.substr(kDots.size() - most));
    }
    return terms;
}

}  // namespace

namespace build {

void einsum(Call& call) {
    std::pmr::string result(call.heap());
    const auto terms = letters_of(call, call.text("equation"), result);
    if (static_cast<int>(terms.size()) != call.inputs())
        call.refuse("its equation has %zu terms for %d inputs", terms.size(), call.inputs());
    Lettered y{call.real(0), std::pmr::string(terms[0], call.heap())};
    for (std::size_t i = 1; i < terms.size(); ++i) {
        std::pmr::string later(result, call.heap());
        for (std::size_t k = i + 1; k < terms.size(); ++k) later += terms[k];
        y = contracted(call, y, {call.real(static_cast<int>(i)), std::pmr::string(terms[i], call.heap())},
                       later);
    }
    y = without_lonely(call, y, result);
    if (y.letters.size() != result.size()) call.refuse("its result has a letter that no operand has");
    call.give(0, ordered(call, y, result), call.type(0));
}

void matmul(Call& call) {
    ValueId a = call.real(0), b = call.real(1);
    const Extents of_a = call.extents_of(a), of_b = call.extents_of(b);
    if (of_a.rank() == 0 || of_b.rank() == 0) call.refuse("an input of it is one number");
    if (of_a.rank() == 1) {
        Extents row;
        row.append(1);
        row.append(of_a, 0);
        a = call.reshape(a, row);
    }
    if (of_b.rank() == 1) {
        Extents column = of_b;
        column.append(1);
        b = call.reshape(b, column);
    }
    const ValueId y = product(call, a, b);
    const Extents whole = call.extents_of(y);
    Extents to;
    for (int axis = 0; axis < whole.rank(); ++axis) {
        const bool is_row = axis == whole.rank() - 2 && of_a.rank() == 1;
        const bool is_column = axis == whole.rank() - 1 && of_b.rank() == 1;
        if (!is_row && !is_column) to.append(whole, axis);
    }
    call.give(0, call.reshape(y, to), call.type(0));
}

void gemm(Call& call) {
    ValueId a = call.real(0);
    const ValueId b = call.real(1);
    if (call.extents_of(a).rank() != 2 || call.extents_of(b).rank() != 2)
        call.refuse("its inputs are %s and %s", to_text(call.extents_of(a).now).text,
                    to_text(call.extents_of(b).now).text);
    if (call.integer("transA") != 0) a = call.apply(Op::transpose, {a}, {list(Attr::permutation, {1, 0})});
    ValueId y = call.apply(Op::matmul, {a, b}, {number(Attr::transpose_b, call.integer("transB") != 0)});
    const double alpha = call.real_attribute("alpha"), beta = call.real_attribute("beta");
    if (alpha != 1) y = call.apply(Op::mul, {y, call.scalar(alpha)});
    if (call.has(2) && beta != 0) {
        ValueId c = call.real(2);
        const Extents of_y = call.extents_of(y), of_c = call.extents_of(c);
        Shape joined;
        if (!broadcast(of_y.now, of_c.now, &joined) || joined != of_y.now)
            call.refuse("its C %s does not broadcast to %s", to_text(of_c.now).text, to_text(of_y.now).text);
        if (beta != 1) c = call.apply(Op::mul, {c, call.scalar(beta)});
        y = call.apply(Op::add, {y, c});
    }
    call.give(0, y, call.type(0));
}

}  // namespace build
}  // namespace volta::onnx
