// Text that comes in parts: whatever the parts, the same whole; nothing of a stop text, no part of a
// character.
#include "engine/runtime/text_stream.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/memory.h"
#include "engine/model/text.h"
#include "tests/support/cmocka_cpp.h"

namespace {

using namespace volta;
using Texts = std::vector<std::string_view>;

struct Told {
    std::string text;
    std::int32_t stop;
    bool pieces_are_whole = true;  // each piece but the rest is UTF-8, if the text is
};

// `parts` one after the other, until a stop text ends it.
Told tell(const Texts& parts, const Texts& stops) {
    TextStream stream(stops.data(), stops.size(), 4, std::pmr::new_delete_resource());
    Told told{"", -1};
    for (const std::string_view part : parts) {
        stream.add(part);
        const std::string_view piece = stream.take();
        if (unfinished_bytes(piece) != 0) told.pieces_are_whole = false;
        told.text += piece;
        assert_true(stream.take().empty());  // once
        if ((told.stop = stream.stop()) >= 0) break;
    }
    const std::string_view rest = stream.take_rest();
    if (told.stop >= 0) assert_true(rest.empty());
    told.text += rest;
    return told;
}

// Every way to cut a text in parts: bit i of `cuts` cuts behind byte i.
Texts cut(std::string_view text, unsigned cuts) {
    Texts parts;
    std::size_t start = 0;
    for (std::size_t i = 0; i < text.size(); ++i)
        if ((cuts >> i & 1) != 0 || i + 1 == text.size()) {
            parts.push_back(text.substr(start, i + 1 - start));
            start = i + 1;
        }
    return parts;
}

// What the text is by definition: up to the stop text that is complete first, the longest of several.
Told defined(std::string_view text, const Texts& stops) {
    for (std::size_t end = 1; end <= text.size(); ++end) {
        std::int32_t best = -1;
        for (std::size_t i = 0; i < stops.size(); ++i) {
            const bool ends =
                end >= stops[i].size() && text.substr(end - stops[i].size(), stops[i].size()) == stops[i];
            if (ends && (best < 0 || stops[i].size() > stops[static_cast<std::size_t>(best)].size()))
                best = static_cast<std::int32_t>(i);
        }
        if (best < 0) continue;
        return {std::string(text.substr(0, end - stops[static_cast<std::size_t>(best)].size())), best};
    }
    return {std::string(text), -1};
}

void check_all_cuts(std::string_view text, const Texts& stops) {
    const Told expected = defined(text, stops);
    const bool is_utf8 = find_invalid_utf8(text) == text.size();
    for (unsigned cuts = 0; cuts < 1u << (text.size() - 1); ++cuts) {
        const Told told = tell(cut(text, cuts), stops);
        assert_string_equal(told.text.c_str(), expected.text.c_str());
        assert_int_equal(told.stop, expected.stop);
        assert_true(told.pieces_are_whole || !is_utf8);
    }
}

// One to four bytes a character, in every division.
void test_characters_are_never_split(void**) {
    check_all_cuts("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z", {});
    check_all_cuts("\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xa9", {"\xe2\x82\xac\xc3"
                                                            "\xa9"});
    check_all_cuts("x\xc3\xa9\xc3\xa8y\xc3\xa9\xc3\xa9", {"\xc3\xa9\xc3\xa9", "\xc3\xaa"});
}

void test_stop_texts_in_every_division(void**) {
    check_all_cuts("aaab tail", {"aab"});
    check_all_cuts("ababababac", {"ababac"});
    check_all_cuts("abcabcabd", {"abcabd", "cabe"});
    check_all_cuts("xabcd", {"abcde", "bc"});             // the shorter is complete first
    check_all_cuts("xabc", {"c", "abc", "bc"});           // of three with the same last byte the longest
    check_all_cuts("xabab", {"b", "b"});                  // of equal ones the first
    check_all_cuts("stop", {"stop"});                     // nothing before it
    check_all_cuts("no stop te", {"stop text", "text"});  // none: what was held back is text
}

// Random texts of two letters and their stops, against the definition.
void test_against_the_definition(void**) {
    std::uint32_t state = 1;
    const auto draw = [&](std::uint32_t below) {
        state = state * 1664525u + 1013904223u;
        return (state >> 16) % below;
    };
    const auto word = [&](std::uint32_t most) {
        std::string text(1 + draw(most), 'a');
        for (char& c : text) c = static_cast<char>('a' + draw(2));
        return text;
    };
    for (int round = 0; round < 20000; ++round) {
        const std::string text = word(30), first = word(6), second = word(6);
        const Texts stops = {first, second};
        const Told expected = defined(text, stops), told = tell(cut(text, draw(1u << 29)), stops);
        assert_string_equal(told.text.c_str(), expected.text.c_str());
        assert_int_equal(told.stop, expected.stop);
    }
}

// Bytes that no further byte makes UTF-8 are given at once.
void test_what_is_not_utf8_is_not_held(void**) {
    const Texts hopeless = {"\xff",     "\x80",     "\xc0",         "\xc1",
                            "\xf5",     "\xe0\x80", "\xed\xa0",     "\xf0\x80",
                            "\xf4\x90", "\xc3\x41", "\xe2\x82\x41", "\xf0\x9f\x98\xc0"};
    for (const std::string_view bytes : hopeless) {
        TextStream stream(nullptr, 0, 4, std::pmr::new_delete_resource());
        stream.add(bytes);
        assert_int_equal(stream.take().size(), bytes.size());
        assert_true(stream.take_rest().empty());
    }
    const Texts hopeful = {"\xc3",         "\xe0\xa0", "\xe2\x82",    "\xf0",
                           "\xf0\x9f\x98", "\xed\x9f", "\xf4\x8f\xbf"};
    for (const std::string_view bytes : hopeful) {
        TextStream stream(nullptr, 0, 4, std::pmr::new_delete_resource());
        stream.add(bytes);
        assert_true(stream.take().empty());
        assert_int_equal(stream.take_rest().size(), bytes.size());
    }
    // A character that breaks off comes with what shows it: é needs A9, not a second lead byte.
    TextStream stream(nullptr, 0, 4, std::pmr::new_delete_resource());
    stream.add("a\xc3");
    assert_int_equal(stream.take().size(), 1);
    stream.add("\xc3");
    assert_int_equal(stream.take().size(), 1);
    stream.add("\xa9");
    assert_true(stream.take() == "\xc3\xa9");
    check_all_cuts("\xff\xc3\xe2\x82\xf0\x9f\x98z\xa9", {"z\xc3\xa9"});
}

// As little is held back as can be: `a` is text as soon as `aab` cannot begin with it.
void test_only_what_may_begin_a_stop_is_held(void**) {
    const std::string_view stop = "aab";
    TextStream stream(&stop, 1, 4, std::pmr::new_delete_resource());
    const struct {
        const char *part, *piece;
    } rows[] = {{"a", ""}, {"a", ""}, {"a", "a"}, {"c", "aac"}, {"xa", "x"}, {"bay", "abay"}};
    for (const auto& row : rows) {
        stream.add(row.part);
        assert_true(stream.take() == row.piece);
    }
}

struct CountingResource final : std::pmr::memory_resource {
    int count = 0;
    void* do_allocate(std::size_t size, std::size_t alignment) override {
        ++count;
        return std::pmr::new_delete_resource()->allocate(size, alignment);
    }
    void do_deallocate(void* memory, std::size_t size, std::size_t alignment) override {
        std::pmr::new_delete_resource()->deallocate(memory, size, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }
};

// The longest held text and the longest part at once.
void test_nothing_is_allocated_after_the_beginning(void**) {
    const std::string stop = std::string(1000, 'a') + "b", part(333, 'a');
    const std::string_view stops[] = {stop, "\xf0\x9f\x98\x80"};
    CountingResource heap;
    TextStream stream(stops, 2, part.size(), &heap);
    const int before = heap.count;
    for (int i = 0; i < 100; ++i) {
        stream.add(i % 7 == 6 ? "\xf0\x9f\x98" : part);
        stream.take();
    }
    assert_int_equal(stream.take_rest().size(), 2 * part.size());
    assert_int_equal(heap.count, before);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_characters_are_never_split),
        cmocka_unit_test(test_stop_texts_in_every_division),
        cmocka_unit_test(test_against_the_definition),
        cmocka_unit_test(test_what_is_not_utf8_is_not_held),
        cmocka_unit_test(test_only_what_may_begin_a_stop_is_held),
        cmocka_unit_test(test_nothing_is_allocated_after_the_beginning),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
