// Patterns of operators as text, and where a graph has them. Letters stand for values:
//
//     mul(mul(d,div(1,s)),g); s=sqrt(add(mean{-1}(q),E)); q=mul(d,d)/pow{2}(d); d=sub(x,mean{-1}(x))
//
// First the node with which the pattern ends, then what is inside of it. A small letter that is not defined
// is any value, the same wherever it stands; a capital is a constant of one element. A slash separates ways
// of writing the same. Numbers in braces are the node's attributes in the order of its row, without
// keep_dims, which has to be 1 where there is one; a node without them may have any. Operands of
// operators that commute are tried both ways.
#pragma once

#include <memory_resource>
#include <vector>

#include "engine/import/onnx/contents.h"

namespace volta::onnx {

inline constexpr int kLetters = 26;

// A part of a pattern: parts are in one list, and name each other by their places.
struct PatternPart {
    using allocator_type = Allocator;
    enum class Kind { operation, value, constant, number, choice };
    explicit PatternPart(Allocator heap) : attributes(heap), parts(heap) {}
    PatternPart(PatternPart&& other, Allocator heap)
        : kind(other.kind),
          op(other.op),
          letter(other.letter),
          number(other.number),
          attributes(std::move(other.attributes), heap),
          parts(std::move(other.parts), heap) {}
    PatternPart(PatternPart&&) = default;

    Kind kind = Kind::number;
    Op op = Op::count_;
    int letter = 0;  // 0 for a or A
    double number = 0;
    std::pmr::vector<double> attributes;
    std::pmr::vector<int> parts;  // operands, or ways of writing
};

struct Pattern {
    using allocator_type = Allocator;
    explicit Pattern(Allocator heap) : parts(heap) {}
    Pattern(Pattern&& other, Allocator heap) : parts(std::move(other.parts), heap), end(other.end) {
        for (int i = 0; i < kLetters; ++i) defined[i] = other.defined[i];
    }
    Pattern(Pattern&&) = default;
    std::pmr::vector<PatternPart> parts;
    int end = -1;
    int defined[kLetters] = {};  // the part that a small letter stands for, + 1
};

// Throws INTERNAL where the text is none.
Pattern read_pattern(const char* text, std::pmr::memory_resource* heap);

// What the letters stand for where a pattern was found.
struct Letters {
    ValueId value[kLetters];  // -1: none
    float number[kLetters];   // NaN: none
};

class Matcher {
  public:
    Matcher(const Graph& graph, Contents& contents, std::pmr::memory_resource* heap);

    // Whether `end` ends the pattern: nodes inside of it have no other readers, are no outputs, and were not
    // taken for another one; and `fits`, asked last, says yes. Constants are compared to a few units in the
    // last place, or `exactly`.
    using Fits = bool (*)(const void* context, const Letters& letters, ValueId end);
    bool find(const Pattern& pattern, bool exactly, NodeId end, Fits fits, const void* context);
    const Letters& letters() const { return letters_; }
    // Keeps the nodes of what was found for it, and says which they are.
    void take();
    bool is_taken(NodeId node) const { return taken_[static_cast<std::size_t>(node)]; }

  private:
    struct Goal {
        int part;
        ValueId value;
        const Goal* next;
    };
    bool solve(const Goal* goals);
    bool solve_letter(const PatternPart& part, const Goal& goal);
    bool solve_operation(const PatternPart& part, const Goal& goal);
    bool has_attributes(const PatternPart& part, const Node& node) const;
    bool is_equal(double expected, double found) const;
    bool is_apart() const;

    const Graph& graph_;
    Contents& contents_;
    std::pmr::vector<bool> taken_;
    std::pmr::vector<int> uses_;  // of a value
    const Pattern* pattern_ = nullptr;
    bool exactly_ = false;
    ValueId end_ = -1;
    Fits fits_ = nullptr;
    const void* context_ = nullptr;
    int steps_left_ = 0;
    Letters letters_;
    std::pmr::vector<NodeId> nodes_;  // of the pattern, the end first
};

}  // namespace volta::onnx
