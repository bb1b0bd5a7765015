// Reads an expression and writes its program.
#include "engine/model/expression.h"

#include <algorithm>
#include <iterator>

#include "engine/base/error.h"
#include "engine/model/text.h"

namespace volta {
namespace {

using Instruction = Expression::Instruction;

constexpr std::size_t kMostBytes = 1 << 14, kMostInstructions = 1 << 13, kMostRanges = 1 << 20;
constexpr std::uint32_t kMostCount = 1000, kMostDepth = 24;
constexpr std::uint32_t kLastPoint = 0x10ffff, kLongS = 0x17f, kKelvin = 0x212a;

struct PropertyRow {
    const char* name;
    Categories categories;
};
constexpr Categories one(Category category) { return set_of(category, category); }
constexpr PropertyRow kProperties[] = {
    {"L", kLetters},
    {"Lu", one(Category::Lu)},
    {"Ll", one(Category::Ll)},
    {"Lt", one(Category::Lt)},
    {"Lm", one(Category::Lm)},
    {"Lo", one(Category::Lo)},
    {"M", kMarks},
    {"Mn", one(Category::Mn)},
    {"Mc", one(Category::Mc)},
    {"Me", one(Category::Me)},
    {"N", kNumbers},
    {"Nd", one(Category::Nd)},
    {"Nl", one(Category::Nl)},
    {"No", one(Category::No)},
    {"P", kPunctuation},
    {"Pc", one(Category::Pc)},
    {"Pd", one(Category::Pd)},
    {"Ps", one(Category::Ps)},
    {"Pe", one(Category::Pe)},
    {"Pi", one(Category::Pi)},
    {"Pf", one(Category::Pf)},
    {"Po", one(Category::Po)},
    {"S", set_of(Category::Sm, Category::So)},
    {"Sm", one(Category::Sm)},
    {"Sc", one(Category::Sc)},
    {"Sk", one(Category::Sk)},
    {"So", one(Category::So)},
    {"Z", set_of(Category::Zs, Category::Zp)},
    {"Zs", one(Category::Zs)},
    {"Zl", one(Category::Zl)},
    {"Zp", one(Category::Zp)},
    {"C", set_of(Category::Cc, Category::Cn)},
    {"Cc", one(Category::Cc)},
    {"Cf", one(Category::Cf)},
    {"Cn", one(Category::Cn)},
    {"Co", one(Category::Co)},
    {"Cs", one(Category::Cs)},
};

// Scripts of Unicode 16 that tokenizers ask for.
constexpr CodePointSet::Range kHan[] = {
    {0x2e80, 0x2e99},   {0x2e9b, 0x2ef3},   {0x2f00, 0x2fd5},   {0x3005, 0x3005},   {0x3007, 0x3007},
    {0x3021, 0x3029},   {0x3038, 0x303b},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfa6d},
    {0xfa70, 0xfad9},   {0x16fe2, 0x16fe3}, {0x16ff0, 0x16ff1}, {0x20000, 0x2a6df}, {0x2a700, 0x2b739},
    {0x2b740, 0x2b81d}, {0x2b820, 0x2cea1}, {0x2ceb0, 0x2ebe0}, {0x2ebf0, 0x2ee5d}, {0x2f800, 0x2fa1d},
    {0x30000, 0x3134a}, {0x31350, 0x323af}};
constexpr CodePointSet::Range kHiragana[] = {{0x3041, 0x3096},   {0x309d, 0x309f},   {0x1b001, 0x1b11f},
                                             {0x1b132, 0x1b132}, {0x1b150, 0x1b152}, {0x1f200, 0x1f200}};
constexpr CodePointSet::Range kKatakana[] = {
    {0x30a1, 0x30fa},   {0x30fd, 0x30ff},   {0x31f0, 0x31ff},   {0x32d0, 0x32fe},   {0x3300, 0x3357},
    {0xff66, 0xff6f},   {0xff71, 0xff9d},   {0x1aff0, 0x1aff3}, {0x1aff5, 0x1affb}, {0x1affd, 0x1affe},
    {0x1b000, 0x1b000}, {0x1b120, 0x1b122}, {0x1b155, 0x1b155}, {0x1b164, 0x1b167}};
struct ScriptRow {
    const char* name;
    const CodePointSet::Range* ranges;
    std::size_t count;
};
constexpr ScriptRow kScripts[] = {{"Han", kHan, std::size(kHan)},
                                  {"Hiragana", kHiragana, std::size(kHiragana)},
                                  {"Katakana", kKatakana, std::size(kKatakana)}};

// What is read of an expression, before its program is written.
struct Node {
    enum Kind : std::uint8_t { set, assertion, sequence, alternatives, group } kind;
    // Of a set: its number. Of a group: look, atom or done (a plain one).
    Instruction::Op op = Instruction::done;
    bool negated = false;
    Instruction::Greed greed = Instruction::greedy;
    std::uint32_t set_number = 0;
    std::uint32_t least = 1, most = 1;  // how often
    bool may_be_empty = false;
    std::int32_t child = -1, next = -1;
};

struct Tables {
    std::pmr::vector<CodePointSet>& sets;
    std::pmr::vector<Instruction>& program;
};

class Reader final {
  public:
    Reader(std::string_view text, Tables tables, std::pmr::memory_resource* heap)
        : text_(text), tables_(tables), nodes_(heap), heap_(heap) {}

    void read() {
        if (text_.size() > kMostBytes) refuse(0, kMostBytes, "is longer than 16384 bytes");
        if (find_invalid_utf8(text_) != text_.size()) refuse(0, 0, "is not UTF-8");
        const std::int32_t root = read_alternatives(0, false);
        if (at_ < text_.size()) refuse(at_, 1, "is a ')' without its '('");
        write(root);
        emit({Instruction::done});
    }

  private:
    [[noreturn]] void refuse(std::size_t from, std::size_t bytes, const char* what) const {
        const ShownName whole = shown(text_), part = shown(text_.substr(std::min(from, text_.size()), bytes));
        fail(VOLTA_UNSUPPORTED, "the part '%.*s' of the expression '%.*s' %s", part.bytes, part.text,
             whole.bytes, whole.text, what);
    }
    [[noreturn]] void refuse_unknown(std::size_t from) const {
        refuse(from, std::max<std::size_t>(at_, from + 1) - from, "is not known to this library");
    }

    // ---- reading

    bool starts(std::string_view with) const { return text_.substr(at_, with.size()) == with; }
    bool skip(std::string_view part) {
        if (!starts(part)) return false;
        at_ += part.size();
        return true;
    }
    std::uint32_t take_point() {
        const Character character = read_character(text_, at_);
        at_ += character.bytes;
        return character.code_point;
    }
    std::int32_t add(const Node& node) {
        if (nodes_.size() >= kMostInstructions) refuse(0, 0, "has too many parts");
        nodes_.push_back(node);
        return static_cast<std::int32_t>(nodes_.size()) - 1;
    }
    Node& node(std::int32_t index) { return nodes_[static_cast<std::size_t>(index)]; }

    std::int32_t read_alternatives(std::uint32_t depth, bool ignore_case) {
        if (depth > kMostDepth) refuse(at_, 1, "is nested too deep");
        Node all{Node::alternatives};
        std::int32_t last = -1;
        do {
            const std::int32_t one_of = read_sequence(depth, ignore_case);
            all.may_be_empty = all.may_be_empty || node(one_of).may_be_empty;
            (last < 0 ? all.child : node(last).next) = one_of;
            last = one_of;
        } while (skip("|"));
        return add(all);
    }

    std::int32_t read_sequence(std::uint32_t depth, bool ignore_case) {
        Node all{Node::sequence};
        all.may_be_empty = true;
        std::int32_t last = -1;
        while (at_ < text_.size() && text_[at_] != '|' && text_[at_] != ')') {
            std::int32_t part;
            if (skip("(?i)")) {  // counts for all that follows, alternatives too
                part = read_alternatives(depth + 1, true);
            } else {
                part = read_counts(read_atom(depth, ignore_case));
            }
            all.may_be_empty = all.may_be_empty && node(part).may_be_empty;
            (last < 0 ? all.child : node(last).next) = part;
            last = part;
        }
        return add(all);
    }

    // "{2,3}", "{2,}", "{2}"; else it is a brace like any other.
    bool read_braces(std::uint32_t* least, std::uint32_t* most) {
        std::size_t at = at_ + 1;
        const auto number = [&](std::uint32_t* value) {
            const std::size_t from = at;
            std::uint32_t sum = 0;
            for (; at < text_.size() && text_[at] >= '0' && text_[at] <= '9'; ++at)
                sum = std::min(kMostCount + 1, sum * 10 + static_cast<std::uint32_t>(text_[at] - '0'));
            *value = sum;
            return at > from;
        };
        if (!number(least)) return false;
        *most = *least;
        if (text_.substr(at, 1) == ",") {
            ++at;
            if (!number(most)) *most = Expression::kNoMost;
        }
        if (text_.substr(at, 1) != "}") return false;
        if (*least > kMostCount || (*most > kMostCount && *most != Expression::kNoMost) || *most < *least)
            refuse(at_, at + 1 - at_, "counts in no order, or beyond 1000");
        at_ = at + 1;
        return true;
    }

    std::int32_t read_counts(std::int32_t of) {
        for (;;) {
            const std::size_t from = at_;
            std::uint32_t least = 0, most = Expression::kNoMost;
            bool braces = false;
            if (skip("?"))
                most = 1;
            else if (skip("+"))
                least = 1;
            else if (starts("{") && read_braces(&least, &most))
                braces = true;
            else if (!skip("*"))
                return of;
            Instruction::Greed greed = Instruction::greedy;
            if (skip("?"))
                greed = Instruction::lazy;
            else if (!braces && skip("+"))
                greed = Instruction::possessive;
            if (braces && greed == Instruction::lazy && least == most) refuse_unknown(from);
            of = repeat(of, least, most, greed, from);
        }
    }

    std::int32_t repeat(std::int32_t of, std::uint32_t least, std::uint32_t most, Instruction::Greed greed,
                        std::size_t from) {
        if (node(of).kind == Node::assertion) refuse_unknown(from);
        if (node(of).may_be_empty && most == Expression::kNoMost)
            refuse(from, at_ - from, "repeats without an end what may be empty");
        if (node(of).kind != Node::set || node(of).least != 1 || node(of).most != 1) {
            Node outer{Node::group};
            outer.child = of;
            outer.may_be_empty = node(of).may_be_empty;
            of = add(outer);
        }
        Node& repeated = node(of);
        repeated.least = least;
        repeated.most = most;
        repeated.greed = greed;
        repeated.may_be_empty = repeated.may_be_empty || least == 0;
        return of;
    }

    std::int32_t read_group(std::uint32_t depth, bool ignore_case, const Node& like) {
        const std::int32_t child = read_alternatives(depth + 1, ignore_case);
        if (!skip(")")) refuse(at_, 0, "lacks a ')'");
        Node group = like;
        group.child = child;
        group.may_be_empty = group.op == Instruction::look || node(child).may_be_empty;
        return add(group);
    }

    std::int32_t read_parenthesis(std::uint32_t depth, bool ignore_case) {
        const std::size_t from = at_ - 1;
        Node group{Node::group};
        if (!skip("?")) return read_group(depth, ignore_case, group);
        if (skip(":")) return read_group(depth, ignore_case, group);
        if (skip("i:")) return read_group(depth, true, group);
        if (skip(">")) {
            group.op = Instruction::atom;
            return read_group(depth, ignore_case, group);
        }
        if (starts("=") || starts("!")) {
            group.op = Instruction::look;
            group.negated = skip("!");
            if (!group.negated) ++at_;
            return read_group(depth, ignore_case, group);
        }
        if (starts("<=") || starts("<!")) return read_behind(depth, ignore_case, from);
        at_ = std::min(text_.size(), at_ + 1);
        refuse_unknown(from);
    }

    // Of one code point.
    std::int32_t read_behind(std::uint32_t depth, bool ignore_case, std::size_t from) {
        Node behind{Node::assertion};
        behind.op = Instruction::behind;
        behind.negated = text_[at_ + 1] == '!';
        at_ += 2;
        if (at_ >= text_.size()) refuse_unknown(from);
        const std::int32_t inner = read_atom(depth + 1, ignore_case);
        if (node(inner).kind != Node::set || !skip(")")) refuse_unknown(from);
        behind.set_number = node(inner).set_number;
        behind.may_be_empty = true;
        return add(behind);
    }

    std::int32_t add_assertion(Instruction::Op op, bool negated = false) {
        Node assertion{Node::assertion};
        assertion.op = op;
        assertion.negated = negated;
        assertion.may_be_empty = true;
        return add(assertion);
    }

    std::int32_t add_set(CodePointSet&& set) {
        set.finish();
        ranges_ += set.range_count();
        if (ranges_ > kMostRanges) refuse(0, 0, "has sets of too many characters");
        tables_.sets.push_back(std::move(set));
        Node leaf{Node::set};
        leaf.set_number = static_cast<std::uint32_t>(tables_.sets.size()) - 1;
        return add(leaf);
    }

    std::int32_t read_atom(std::uint32_t depth, bool ignore_case) {
        const std::size_t from = at_;
        CodePointSet set(heap_);
        if (skip("(")) return read_parenthesis(depth, ignore_case);
        if (skip("[")) {
            read_class(0, ignore_case, &set);
            return add_set(std::move(set));
        }
        if (skip("^")) return add_assertion(Instruction::line_begins);
        if (skip("$")) return add_assertion(Instruction::line_ends);
        if (skip("\\b")) return add_assertion(Instruction::word_edge);
        if (skip("\\B")) return add_assertion(Instruction::word_edge, true);
        if (skip("\\A")) return add_assertion(Instruction::text_begins);
        if (skip("\\z")) return add_assertion(Instruction::text_ends);
        if (starts("*") || starts("+") || starts("?")) refuse(from, 1, "repeats nothing");
        if (skip(".")) {
            set.add('\n', '\n');
            set.finish();
            set.negate();
        } else if (skip("\\")) {
            read_escape(from, ignore_case, &set);
        } else {
            add_point(take_point(), ignore_case, from, &set);
        }
        return add_set(std::move(set));
    }

    void add_point(std::uint32_t c, bool ignore_case, std::size_t from, CodePointSet* set) {
        add_range(c, c, ignore_case, from, set);
    }

    // Without regard to case only letters of ASCII are known, and the two that become them.
    void add_range(std::uint32_t first, std::uint32_t last, bool ignore_case, std::size_t from,
                   CodePointSet* set) {
        set->add(first, last);
        if (!ignore_case) return;
        if (last >= 0x80 && contains(set_of(Category::Lu, Category::Lt), first)) refuse_unknown(from);
        for (std::uint32_t c = std::max<std::uint32_t>(first, 'A'); c <= std::min<std::uint32_t>(last, 'z');
             ++c) {
            const std::uint32_t small = c | 0x20;
            if (small < 'a' || small > 'z') continue;
            set->add(small, small);
            set->add(small - 0x20, small - 0x20);
            if (small == 's') set->add(kLongS, kLongS);
            if (small == 'k') set->add(kKelvin, kKelvin);
        }
    }

    std::uint32_t read_hexadecimal(std::size_t least, std::size_t most) {
        std::uint32_t value = 0;
        std::size_t digits = 0;
        for (; digits < most && at_ < text_.size(); ++digits, ++at_) {
            const char c = text_[at_], letter = static_cast<char>(c | 0x20);
            if (c >= '0' && c <= '9')
                value = value * 16 + static_cast<std::uint32_t>(c - '0');
            else if (letter >= 'a' && letter <= 'f')
                value = value * 16 + static_cast<std::uint32_t>(letter - 'a' + 10);
            else
                break;
        }
        if (digits < least || value > kLastPoint) refuse_unknown(at_ - std::min(at_, digits + 2));
        return value;
    }

    // Behind a backslash: one code point (true) or a set.
    bool read_escaped_point(std::uint32_t* point) {
        constexpr struct {
            char name;
            std::uint32_t point;
        } kNamed[] = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'}, {'f', '\f'},
                      {'v', '\v'}, {'a', '\a'}, {'e', 0x1b}};
        const char c = text_[at_], letter = static_cast<char>(c | 0x20);
        for (const auto& row : kNamed) {
            if (row.name != c) continue;
            *point = row.point;
            return ++at_, true;
        }
        if (skip("x{")) {
            *point = read_hexadecimal(1, 6);
            return skip("}");
        }
        if (skip("x")) return *point = read_hexadecimal(2, 2), true;
        if (skip("u")) return *point = read_hexadecimal(4, 4), true;
        if ((letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9')) return false;
        return *point = take_point(), true;
    }

    void read_escape(std::size_t from, bool ignore_case, CodePointSet* set) {
        if (at_ >= text_.size()) refuse_unknown(from);
        std::uint32_t point = 0;
        if (read_escaped_point(&point)) return add_point(point, ignore_case, from, set);
        CodePointSet part(heap_);
        const char name = text_[at_++];
        bool negated = name >= 'A' && name <= 'Z';
        switch (name | 0x20) {
            case 's':
                add_white_space(&part);
                break;
            case 'd':
                part.add(set_of(Category::Nd, Category::Nd));
                break;
            case 'w':
                add_word_characters(&part);
                break;
            case 'p':
                negated = read_property(from, ignore_case, &part) != negated;
                break;
            default:
                refuse_unknown(from);
        }
        part.finish();
        if (negated) part.negate();
        set->add(part);
    }

    static void add_white_space(CodePointSet* set) {
        for (std::uint32_t c = 0; c <= 0x3000; ++c)
            if (is_white_space(c)) set->add(c, c);
    }
    static void add_word_characters(CodePointSet* set) {
        set->add(kLetters | kMarks | set_of(Category::Nd, Category::Nl) | set_of(Category::Pc, Category::Pc));
        for (std::uint32_t c = 0x24b6; c <= 0x1f189; ++c)
            if (c < 0x2500 || c > 0x1f100)
                if (is_word_character(c)) set->add(c, c);
    }

    // "{Lu}", "{^Lu}", "L"; whether it is negated.
    bool read_property(std::size_t from, bool ignore_case, CodePointSet* set) {
        if (!skip("{")) refuse_unknown(from);
        const bool negated = skip("^");
        const std::size_t end = text_.find('}', at_);
        if (end == text_.npos) refuse_unknown(from);
        const std::string_view name = text_.substr(at_, end - at_);
        at_ = end + 1;
        for (const PropertyRow& row : kProperties) {
            if (name != row.name) continue;
            const Categories cased = set_of(Category::Lu, Category::Lt);
            if (ignore_case && (row.categories & cased) != 0 && (row.categories & cased) != cased)
                refuse_unknown(from);
            set->add(row.categories);
            return negated;
        }
        for (const ScriptRow& row : kScripts) {
            if (name != row.name) continue;
            for (std::size_t i = 0; i < row.count; ++i) set->add(row.ranges[i].first, row.ranges[i].last);
            return negated;
        }
        refuse_unknown(from);
    }

    // Behind "[": up to and with "]".
    void read_class(std::uint32_t depth, bool ignore_case, CodePointSet* out) {
        const std::size_t from = at_ - 1;
        if (depth > kMostDepth) refuse(from, 1, "is nested too deep");
        const bool negated = skip("^");
        CodePointSet all(heap_), part(heap_);
        bool intersected = false;
        const auto close_part = [&] {
            part.finish();
            if (intersected)
                all.keep(part);
            else
                all.add(part);
            all.finish();
            part = CodePointSet(heap_);
        };
        for (bool first = true;; first = false) {
            if (at_ >= text_.size()) refuse(from, 1, "lacks a ']'");
            if (!first && skip("]")) break;
            if (skip("&&")) {
                close_part();
                intersected = true;
            } else if (starts("[:")) {
                refuse_unknown(at_);
            } else if (skip("[")) {
                CodePointSet inner(heap_);
                read_class(depth + 1, ignore_case, &inner);
                inner.finish();
                part.add(inner);
            } else {
                read_item(ignore_case, &part);
            }
        }
        close_part();
        if (negated) all.negate();
        out->add(all);
    }

    // A code point, a range of them, or a set with a backslash.
    void read_item(bool ignore_case, CodePointSet* set) {
        const std::size_t from = at_;
        std::uint32_t first = 0, last = 0;
        if (!skip("\\")) {
            first = take_point();
        } else if (at_ >= text_.size() || !read_escaped_point(&first)) {
            return read_escape(from, ignore_case, set);
        }
        const bool range = starts("-") && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
        if (!range) return add_point(first, ignore_case, from, set);
        ++at_;
        if (!skip("\\")) {
            if (starts("[")) refuse_unknown(from);
            last = take_point();
        } else if (at_ >= text_.size() || !read_escaped_point(&last)) {
            refuse_unknown(from);
        }
        if (last < first) refuse(from, at_ - from, "ends before it begins");
        add_range(first, last, ignore_case, from, set);
    }

    // ---- writing

    std::uint32_t here() const { return static_cast<std::uint32_t>(tables_.program.size()); }
    std::uint32_t emit(const Instruction& instruction) {
        if (tables_.program.size() >= kMostInstructions) refuse(0, 0, "takes too many steps");
        tables_.program.push_back(instruction);
        return here() - 1;
    }
    Instruction& at(std::uint32_t instruction) { return tables_.program[instruction]; }

    void write(std::int32_t index) {
        const Node& now = nodes_[static_cast<std::size_t>(index)];
        switch (now.kind) {
            case Node::set:
                if (now.least == 1 && now.most == 1)
                    emit({Instruction::set, Instruction::greedy, false, now.set_number});
                else
                    emit({Instruction::loop, now.greed, false, now.set_number, now.least, now.most});
                return;
            case Node::assertion:
                emit({now.op, Instruction::greedy, now.negated, now.set_number});
                return;
            case Node::sequence:
                for (std::int32_t part = now.child; part >= 0; part = node(part).next) write(part);
                return;
            case Node::alternatives:
                return write_alternatives(now.child);
            case Node::group:
                return write_repeated(now);
        }
    }

    void write_alternatives(std::int32_t part) {
        std::uint32_t open =
            Expression::kNoMost;  // the jumps to the end, each with the place of the one before it
        for (; part >= 0; part = node(part).next) {
            if (node(part).next < 0) {
                write(part);
                break;
            }
            const std::uint32_t choice = emit({Instruction::either});
            write(part);
            open = emit({Instruction::jump, Instruction::greedy, false, open});
            at(choice).a = choice + 1;
            at(choice).b = here();
        }
        while (open != Expression::kNoMost) {
            const std::uint32_t before = at(open).a;
            at(open).a = here();
            open = before;
        }
    }

    void write_repeated(const Node& group) {
        const bool atom = group.greed == Instruction::possessive;
        const std::uint32_t start = atom ? emit({Instruction::atom}) : 0;
        for (std::uint32_t i = 0; i < group.least; ++i) write_once(group);
        if (group.most == Expression::kNoMost) {
            const std::uint32_t choice = emit({Instruction::either});
            write_once(group);
            emit({Instruction::jump, Instruction::greedy, false, choice});
            choose(choice, group.greed == Instruction::lazy);
        } else {
            write_optional(group, group.most - group.least);
        }
        if (atom) end_inner(start);
    }

    // Each only behind the one before it.
    void write_optional(const Node& group, std::uint32_t count) {
        const std::uint32_t first = here();
        std::pmr::vector<std::uint32_t> choices(heap_);
        for (std::uint32_t i = 0; i < count; ++i) {
            choices.push_back(emit({Instruction::either}));
            write_once(group);
        }
        if (first == here()) return;
        for (const std::uint32_t choice : choices) choose(choice, group.greed == Instruction::lazy);
    }

    void choose(std::uint32_t choice, bool lazy) {
        at(choice).a = lazy ? here() : choice + 1;
        at(choice).b = lazy ? choice + 1 : here();
    }

    void write_once(const Node& group) {
        if (++written_ > kMostInstructions)
            refuse(0, 0, "takes too many steps");  // also where nothing is written
        if (group.op == Instruction::done) return write(group.child);
        const std::uint32_t start = emit({group.op, Instruction::greedy, group.negated});
        write(group.child);
        end_inner(start);
    }

    void end_inner(std::uint32_t start) {
        emit({Instruction::done});
        at(start).a = here();
    }

    std::string_view text_;
    std::size_t at_ = 0, ranges_ = 0, written_ = 0;
    Tables tables_;
    std::pmr::vector<Node> nodes_;
    std::pmr::memory_resource* heap_;
};

}  // namespace

void CodePointSet::add(Categories categories) {
    for (std::size_t row = 0; row <= kCategoryPages[0x1100]; ++row) {
        if ((categories >> (kCategoryRows[row] & 31u) & 1u) == 0) continue;
        const bool last = row == kCategoryPages[0x1100];
        add(kCategoryRows[row] >> 5, last ? kLastPoint : (kCategoryRows[row + 1] >> 5) - 1);
    }
}

void CodePointSet::add(const CodePointSet& other) {
    ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
}

void CodePointSet::finish() {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range& a, const Range& b) { return a.first < b.first; });
    std::size_t count = 0;
    for (const Range& range : ranges_) {
        if (count > 0 && range.first <= ranges_[count - 1].last + 1)
            ranges_[count - 1].last = std::max(ranges_[count - 1].last, range.last);
        else
            ranges_[count++] = range;
    }
    ranges_.resize(count);
    for (std::uint32_t c = 0; c < 0x80; ++c) {
        const std::uint64_t bit = std::uint64_t{1} << (c & 63);
        ascii_[c >> 6] = has_beyond(c) ? ascii_[c >> 6] | bit : ascii_[c >> 6] & ~bit;
    }
}

void CodePointSet::negate() {
    std::pmr::vector<Range> others(ranges_.get_allocator());
    std::uint32_t next = 0;
    for (const Range& range : ranges_) {
        if (range.first > next) others.push_back({next, range.first - 1});
        next = range.last + 1;
    }
    if (next <= kLastPoint) others.push_back({next, kLastPoint});
    ranges_ = std::move(others);
    finish();
}

void CodePointSet::keep(const CodePointSet& other) {
    CodePointSet without(ranges_.get_allocator().resource());  // its copy would lie on another heap
    without.add(other);
    without.finish();
    without.negate();
    negate();
    add(without);
    finish();
    negate();
}

bool CodePointSet::has_beyond(std::uint32_t c) const {
    const auto at =
        std::lower_bound(ranges_.begin(), ranges_.end(), c,
                         [](const Range& range, std::uint32_t point) { return range.last < point; });
    return at != ranges_.end() && at->first <= c;
}

Expression::Expression(std::string_view text, std::pmr::memory_resource* heap)
    : text_(text, heap), sets_(heap), program_(heap) {
    Reader(text_, {sets_, program_}, heap).read();
}

}  // namespace volta
