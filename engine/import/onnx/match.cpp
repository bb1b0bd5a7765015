#include "engine/import/onnx/match.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/error.h"
#include "engine/passes/rewrite.h"

namespace volta::onnx {
namespace {

// Of one search: more than any graph needs that was not made to go wrong everywhere.
constexpr int kMostSteps = 4096;
constexpr double kTolerance = 2e-6;
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

class Reader {
  public:
    Reader(const char* text, std::pmr::memory_resource* heap) : text_(text), at_(text), pattern_(heap) {}

    Pattern read() {
        pattern_.end = choice();
        while (skip(';')) {
            const char letter = next();
            if (letter < 'a' || letter > 'z' || !skip('=')) wrong();
            const int part = choice();
            pattern_.defined[letter - 'a'] = part + 1;
        }
        if (*at_ != '\0') wrong();
        return std::move(pattern_);
    }

  private:
    using Kind = PatternPart::Kind;

    [[noreturn]] void wrong() const {
        fail(VOLTA_INTERNAL, "the pattern '%s' is none from '%s' on", text_, at_);
    }
    char next() {
        while (*at_ == ' ') ++at_;
        return *at_ == '\0' ? '\0' : *at_++;
    }
    bool skip(char expected) {
        while (*at_ == ' ') ++at_;
        if (*at_ != expected) return false;
        ++at_;
        return true;
    }
    int add(Kind kind) {
        pattern_.parts.emplace_back();
        pattern_.parts.back().kind = kind;
        return static_cast<int>(pattern_.parts.size()) - 1;
    }
    PatternPart& part(int index) { return pattern_.parts[static_cast<std::size_t>(index)]; }

    int choice() {
        const int first = term();
        if (!skip('/')) return first;
        const int index = add(Kind::choice);
        part(index).parts.push_back(first);
        do {
            const int other = term();
            part(index).parts.push_back(other);
        } while (skip('/'));
        return index;
    }

    int term() {
        while (*at_ == ' ') ++at_;
        if ((*at_ >= '0' && *at_ <= '9') || *at_ == '-') {
            const int index = add(Kind::number);
            part(index).number = number();
            return index;
        }
        char name[24] = {};
        std::size_t length = 0;
        while (((*at_ >= 'a' && *at_ <= 'z') || (*at_ >= 'A' && *at_ <= 'Z') || *at_ == '_') &&
               length + 1 < sizeof name)
            name[length++] = *at_++;
        if (length == 1) {
            const bool small = name[0] >= 'a';
            const int index = add(small ? Kind::value : Kind::constant);
            part(index).letter = name[0] - (small ? 'a' : 'A');
            return index;
        }
        const OpRow* const row = find_op(name);
        if (row == nullptr) wrong();
        const int index = add(Kind::operation);
        part(index).op = row->op;
        if (skip('{')) {
            do part(index).attributes.push_back(number());
            while (skip(','));
            if (!skip('}')) wrong();
        }
        if (!skip('(')) wrong();
        do {
            const int operand = choice();
            part(index).parts.push_back(operand);
        } while (skip(','));
        if (!skip(')')) wrong();
        return index;
    }

    // At most 15 digits: an integer and a power of ten that double has exactly, so their quotient is nearest.
    double number() {
        const bool negative = skip('-');
        double digits = 0, scale = 1;
        bool behind = false;
        for (; (*at_ >= '0' && *at_ <= '9') || *at_ == '.'; ++at_) {
            if (*at_ == '.') {
                behind = true;
                continue;
            }
            digits = digits * 10 + (*at_ - '0');
            if (behind) scale *= 10;
        }
        return (negative ? -digits : digits) / scale;
    }

    const char* text_;
    const char* at_;
    Pattern pattern_;
};

std::size_t place(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

Pattern read_pattern(const char* text, std::pmr::memory_resource* heap) { return Reader(text, heap).read(); }

Matcher::Matcher(const Graph& graph, Contents& contents, std::pmr::memory_resource* heap)
    : graph_(graph),
      contents_(contents),
      taken_(graph.nodes.size(), false, heap),
      uses_(graph.values.size(), 0, heap),
      nodes_(heap) {
    const std::pmr::vector<bool> needed = needed_nodes(graph);
    for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
        taken_[id] = !needed[id];  // as one of which only the shape was asked
        for (const ValueId input : graph.nodes[id].inputs) uses_[place(input)] += needed[id];
    }
    for (const GraphOutput& output : graph.outputs) ++uses_[place(output.value)];
}

bool Matcher::find(const Pattern& pattern, bool exactly, NodeId end, Fits fits, const void* context) {
    pattern_ = &pattern;
    exactly_ = exactly;
    end_ = graph_.node(end).first_output;
    fits_ = fits;
    context_ = context;
    steps_left_ = kMostSteps;
    std::fill(letters_.value, letters_.value + kLetters, -1);
    std::fill(letters_.number, letters_.number + kLetters, kNone);
    nodes_.clear();
    const Goal whole = {pattern.end, end_, nullptr};
    return solve(&whole);
}

void Matcher::take() {
    for (const NodeId node : nodes_) taken_[place(node)] = true;
}

// Depth first: the first way in which all goals hold.
bool Matcher::solve(const Goal* goals) {
    if (goals == nullptr) return is_apart() && fits_(context_, letters_, end_);
    if (--steps_left_ < 0) return false;
    const PatternPart& part = pattern_->parts[place(goals->part)];
    switch (part.kind) {
        case PatternPart::Kind::number: {
            const auto found = contents_.scalar(goals->value);
            return found && is_equal(part.number, static_cast<double>(*found)) && solve(goals->next);
        }
        case PatternPart::Kind::constant: {
            const auto found = contents_.scalar(goals->value);
            float& bound = letters_.number[part.letter];
            if (!found) return false;
            if (bound == bound) return bound == *found && solve(goals->next);
            bound = *found;
            if (solve(goals->next)) return true;
            bound = kNone;
            return false;
        }
        case PatternPart::Kind::choice:
            for (const int way : part.parts) {
                const Goal goal = {way, goals->value, goals->next};
                if (solve(&goal)) return true;
            }
            return false;
        case PatternPart::Kind::value:
            return solve_letter(part, *goals);
        case PatternPart::Kind::operation:
            return solve_operation(part, *goals);
    }
    return false;
}

bool Matcher::solve_letter(const PatternPart& part, const Goal& goal) {
    ValueId& bound = letters_.value[part.letter];
    if (bound >= 0) return bound == goal.value && solve(goal.next);
    bound = goal.value;
    const Goal meaning = {pattern_->defined[part.letter] - 1, goal.value, goal.next};
    if (solve(meaning.part >= 0 ? &meaning : goal.next)) return true;
    letters_.value[part.letter] = -1;
    return false;
}

bool Matcher::solve_operation(const PatternPart& part, const Goal& goal) {
    const NodeId id = graph_.value(goal.value).producer;
    const Node& node = graph_.node(id);
    if (node.op != part.op || taken_[place(id)] || node.inputs.size() != part.parts.size() ||
        node.output_count != 1 || !has_attributes(part, node))
        return false;
    nodes_.push_back(id);
    const bool both = op_row(node.op).commutes;
    for (int way = 0; way < (both ? 2 : 1); ++way) {
        Goal operands[4];
        const std::size_t count = std::min(part.parts.size(), std::size_t{4});
        for (std::size_t i = 0; i < count; ++i)
            operands[i] = {part.parts[i], node.inputs[way == 0 ? i : count - 1 - i],
                           i + 1 < count ? &operands[i + 1] : goal.next};
        if (solve(&operands[0])) return true;
    }
    nodes_.pop_back();
    return false;
}

bool Matcher::has_attributes(const PatternPart& part, const Node& node) const {
    const Attribute* const keeps = node.find(Attr::keep_dims);
    if (keeps != nullptr && keeps->number == 0) return false;
    if (part.attributes.empty()) return true;
    const auto& expected = part.attributes;
    std::size_t at = 0;
    for (const Attribute& attribute : node.attributes) {
        if (attribute.key == Attr::keep_dims || at == expected.size()) continue;
        if (attribute.integer_count < 0) {
            if (!is_equal(expected[at++], attribute.number)) return false;
            continue;
        }
        if (place(attribute.integer_count) != expected.size() - at) return false;
        const int rank = graph_.shape(node.inputs[0]).rank;
        for (int i = 0; i < attribute.integer_count; ++i, ++at) {
            const auto from_front = [&](double axis) { return axis < 0 ? axis + rank : axis; };
            if (from_front(expected[at]) != from_front(static_cast<double>(attribute.integers[i])))
                return false;
        }
    }
    return at == expected.size();
}

// As f32, which constants are.
bool Matcher::is_equal(double expected, double found) const {
    if (static_cast<float>(expected) == static_cast<float>(found)) return true;
    return !exactly_ && std::fabs(expected - found) <= kTolerance * std::fabs(expected);
}

// Nobody else reads what is inside.
bool Matcher::is_apart() const {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (std::find(nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(i), nodes_[i]) !=
            nodes_.begin() + static_cast<std::ptrdiff_t>(i))
            return false;  // a letter stands for every node that is read twice
        const ValueId value = graph_.node(nodes_[i]).first_output;
        if (value == end_) continue;
        int inside = 0;
        for (const NodeId reader : nodes_)
            for (const ValueId input : graph_.node(reader).inputs) inside += input == value;
        if (inside != uses_[place(value)]) return false;
    }
    return true;
}

}  // namespace volta::onnx
