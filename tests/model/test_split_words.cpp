// Words are those of GPT-2's expression as PCRE2 finds them: every character of Unicode among some others,
// and texts drawn from characters of every kind. The library itself has no PCRE2.
#include "engine/model/split_words.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/text.h"
#include "tests/support/cmocka_cpp.h"

using namespace volta;

#ifdef VOLTA_TEST_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace {

constexpr const char kExpression[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class Expression final {
  public:
    explicit Expression(const char* expression) {
        int error = 0;
        std::size_t offset = 0;
        code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression), PCRE2_ZERO_TERMINATED,
                              PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
        match_ = pcre2_match_data_create(1, nullptr);
    }
    ~Expression() {
        pcre2_match_data_free(match_);
        pcre2_code_free(code_);
    }
    Expression(const Expression&) = delete;
    Expression& operator=(const Expression&) = delete;

    // Where each word of a text that is UTF-8 ends.
    std::vector<std::size_t> ends(std::string_view text) const {
        std::vector<std::size_t> found;
        for (std::size_t at = 0; at < text.size(); found.push_back(at)) {
            const int result = pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                                           PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK, match_, nullptr);
            if (result < 0) return {};
            at = pcre2_get_ovector_pointer(match_)[1];
        }
        return found;
    }

  private:
    pcre2_code* code_;
    pcre2_match_data* match_;
};

// The same, piece by piece of what is UTF-8 and what is not.
std::vector<std::size_t> expected_ends(const Expression& expression, std::string_view text) {
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t valid = find_invalid_utf8(text.substr(at));
        for (const std::size_t end : expression.ends(text.substr(at, valid))) found.push_back(at + end);
        at += valid;
        const std::size_t invalid = at;
        while (at < text.size() && read_character(text, at).bytes == 0) ++at;
        if (at > invalid) found.push_back(at);
    }
    return found;
}

bool same_words(const Expression& expression, std::string_view text) {
    std::vector<std::size_t> found;
    WordWalk walk(WordSplit::gpt2, text);
    for (std::string_view word = walk.next(); !word.empty(); word = walk.next())
        found.push_back(static_cast<std::size_t>(word.data() - text.data()) + word.size());
    if (found == expected_ends(expression, text)) return true;
    print_error("words differ of \"%.*s\"\n", static_cast<int>(text.size()), text.data());
    return false;
}

// Characters that this PCRE2 knows: its tables may be of an older Unicode than the library's. It takes U+180E
// for a space, as Perl does; Unicode and the programs whose tokenizers these are do not.
bool is_compared(const Expression& unassigned, const std::string& sign) {
    return unassigned.ends(sign).empty() && sign != "\xe1\xa0\x8e";
}

void test_every_character_is_of_its_kind(void**) {
    const Expression expression(kExpression), unassigned(R"(\p{Cn})");
    int different = 0, compared = 0;
    for (std::uint32_t c = 1; c < 0x110000 && different < 10; ++c) {
        char bytes[4];
        const std::string sign(bytes, write_character(c, bytes));
        if (read_character(sign, 0).bytes == 0) continue;  // a surrogate
        if (!is_compared(unassigned, sign)) continue;
        ++compared;
        std::string text = "a";
        for (const char* part : {"1", "a ", "- ", ""}) text.append(sign).append(part);
        different += !same_words(expression, text);
    }
    assert_int_equal(different, 0);
    assert_true(compared > 280000);  // Unicode 14 has 282,000 and more
}

void test_words_of_drawn_texts(void**) {
    static const char* const kParts[] = {
        " ",        " ",    "\n",       "\t",          "\xc2\xa0",     "a", "Zz",       "'", "s",
        "re",       "ll",   "t",        "\xc3\xa9",    "\xe4\xb8\xad", "7", "\xc2\xbd", "-", "\xe2\x80\xa6",
        "\xcc\x81", "\xff", "\xe2\x82", "\xe3\x80\x80"};
    const Expression expression(kExpression);
    std::uint32_t seed = 1;
    int different = 0;
    for (int i = 0; i < 100000 && different < 10; ++i) {
        std::string text;
        const auto draw = [&](std::uint32_t below) {
            seed = seed * 1664525u + 1013904223u;
            return (seed >> 16) % below;
        };
        const std::uint32_t parts = draw(12);
        for (std::uint32_t part = 0; part < parts; ++part)
            text += kParts[draw(sizeof kParts / sizeof *kParts)];
        different += !same_words(expression, text);
    }
    assert_int_equal(different, 0);
}

}  // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_character_is_of_its_kind),
        cmocka_unit_test(test_words_of_drawn_texts),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}

#else

int main() {
    print_message("skipped: this build found no PCRE2 (libpcre2-dev)\n");
    return 0;
}

#endif
