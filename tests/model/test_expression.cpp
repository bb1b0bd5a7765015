// Expressions: what each finds in a text, as Oniguruma finds it; what is refused; what costs too much.
#include "engine/model/expression.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/model/expect_error.h"
#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;
using namespace volta::test;

// The matches, a '|' behind each; an empty one is "|" alone.
std::string found(const char* expression, std::string_view text) {
    TestHeap heap;
    const Expression compiled(expression, heap.structures());
    SearchBudget budget(text.size());
    Search search(compiled, text, budget, heap.structures());
    std::string out;
    for (Search::Match match; search.next(&match);) {
        out += text.substr(match.begin, match.end - match.begin);
        out += '|';
    }
    return out;
}

struct Row {
    const char *expression, *text, *matches;
};
const Row kRows[] = {
    {"ab", "abcab", "ab|ab|"},
    {"a|ab", "ab", "a|"},  // the first that matches, not the longest
    {"(?:a|ab)c", "abc", "abc|"},
    {"a+", "aaba", "aa|a|"},
    {"a+?", "aa", "a|a|"},
    {"a+?b", "acaab", "aab|"},  // one more while what follows does not match
    {"a{1,2}?b", "aaab", "aab|"},
    {"a++a", "aaa", ""},
    {"a*+", "aa", "aa|"},
    {"a{2}", "aaaaa", "aa|aa|"},
    {"a{2,3}", "aaaaa", "aaa|aa|"},
    {"a{2,}?", "aaaa", "aa|aa|"},
    {"(?:ab){2,3}", "abababab", "ababab|"},
    {"(?:ab)++a", "ababa", "ababa|"},
    {"(?>a+)a", "aaa", ""},
    {"(?:a|b)*c", "abcc", "abc|c|"},
    {"a{", "a{", "a{|"},
    {"a{1,3}+", "aaaaa", "aaaaa|"},  // no possessive count, but one repeated
    {"x*", "axb", "|x||"},           // not again where the last one ended
    {"[^\\s\\p{L}\\p{N}]+", "ab--1 ..", "--|..|"},
    {"[a-cx\\-]+", "ab-xd", "ab-x|"},
    {"[]a]+", "]a", "]a|"},
    {"[\\]a]+", "]a", "]a|"},
    {"[(\\s|[.,])]+", "a(.,| b", "(.,| |"},
    {"[[a-z]&&[^aeiou]]+", "hallo", "h|ll|"},
    {"[^[a-z]]", "aB", "B|"},
    {"\\p{Lu}\\P{Lu}", "AbC", "Ab|"},
    {"\\p{^L}", "a1", "1|"},
    {"[\\p{Han}]+", "a\xe4\xb8\xad\xe6\x96\x87z", "\xe4\xb8\xad\xe6\x96\x87|"},
    {"\\w+", "a_1 \xc3\xa9-", "a_1|\xc3\xa9|"},
    {"\\d", "1\xd9\xa1\xc2\xb2", "1|\xd9\xa1|"},
    {"\\x41\\x{e9}\\u00e9\\n\\.", "A\xc3\xa9\xc3\xa9\n.", "A\xc3\xa9\xc3\xa9\n.|"},
    {"(?i:'s|'t)", "'S't'\xc5\xbf", "'S|'t|'\xc5\xbf|"},
    {"(?i)a|B", "Ab", "A|b|"},
    {"(?i:[sk])", "\xc5\xbf\xe2\x84\xaaS", "\xc5\xbf|\xe2\x84\xaa|S|"},
    {"\\s+(?!\\S)|\\s+", "a  b ", " | | |"},
    {"a(?=b)", "abac", "a|"},
    {"(?<!\\s)b", "ab b", "b|"},
    {"(?<=a)b", "abb", "b|"},
    {"^a|b$", "a\nab", "a|a|b|"},
    {"\\Aa|b\\z", "aab", "a|b|"},
    {"\\b\\w", "ab c", "a|c|"},
    {".+", "a\nb", "a|b|"},
    {"\\p{N}{1,3}(?=(?:\\p{N}{3})*(?:\\P{N}|\\z))", "1234567", "1|234|567|"},
};

void test_matches(void**) {
    for (const Row& row : kRows) {
        const std::string actual = found(row.expression, row.text);
        if (actual != row.matches) print_error("%s in %s: %s\n", row.expression, row.text, actual.c_str());
        assert_string_equal(actual.c_str(), row.matches);
    }
}

struct Refused {
    const char *expression, *part, *why;
};
const Refused kRefused[] = {
    {"(a)\\1", "\\1", "is not known"},
    {"\\h", "\\h", "is not known"},
    {"\\p{Klingon}", "\\p{Klingon}", "is not known"},
    {"(?i:\\p{Lu})", "\\p{Lu}", "is not known"},
    {"(?<x>b)", "(?<", "is not known"},
    {"(?m:a)", "(?m", "is not known"},
    {"(?<=ab)c", "(?<=a", "is not known"},
    {"(a", "", "lacks a ')'"},
    {"a)", ")", "without its '('"},
    {"[a", "[", "lacks a ']'"},
    {"[[:alpha:]]", "[", "is not known"},
    {"*a", "*", "repeats nothing"},
    {"(?:a*)*", "*", "what may be empty"},
    {"a{3,2}", "{3,2}", "in no order"},
    {"a{1001}", "{1001}", "beyond 1000"},
    {"[z-a]", "z-a", "ends before it begins"},
    {"[a-\\w]", "a-\\", "is not known"},
    {"(?i:\xc3\x84)", "\xc3\x84", "is not known"},
    {"(?:(?:(?:a{9}b){1000}){1000}){1000}", "", "takes too many steps"},
    {"(?:(?:(?:){1000}){1000}){1000}", "", "takes too many steps"},
    {"\xff", "", "is not UTF-8"},
    {"a\\", "\\", "is not known"},
};

void test_what_is_not_known_is_refused_by_name(void**) {
    TestHeap heap;
    for (const Refused& row : kRefused) {
        const Failure failure = failure_of([&] { Expression(row.expression, heap.structures()); });
        const std::string part = std::string("the part '") + row.part;
        if (failure.status != VOLTA_UNSUPPORTED || !failure.mentions(part.c_str()) ||
            !failure.mentions(row.why))
            print_error("%s: %d %s\n", row.expression, failure.status, failure.text);
        assert_int_equal(failure.status, VOLTA_UNSUPPORTED);
        assert_true(failure.mentions(part.c_str()) && failure.mentions(row.why));
    }
    std::string deep;
    for (int i = 0; i < 40; ++i) deep += "(";
    assert_true(failure_of([&] { Expression(deep, heap.structures()); }).mentions("nested too deep"));
    assert_true(
        failure_of([&] { Expression(std::string(20000, 'a'), heap.structures()); }).mentions("longer than"));
    assert_int_equal(heap.held, 0);
}

// Exponential in what it is given, were it not for the budget; a long run of what an honest one repeats is
// none of that.
void test_steps_are_bounded(void**) {
    TestHeap heap;
    const std::string run(40, 'a');
    const Failure failure = failure_of([&] { found("(?:a|a)+b", run); });
    assert_int_equal(failure.status, VOLTA_INVALID_ARGUMENT);
    assert_true(failure.mentions("the expression '(?:a|a)+b' takes too many steps on the text"));
    const std::string spaces(1 << 20, ' ');
    assert_int_equal(found("\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", spaces + "a").size(), spaces.size() + 2);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_what_is_not_known_is_refused_by_name),
        cmocka_unit_test(test_steps_are_bounded),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
