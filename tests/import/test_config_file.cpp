// What a config says, and what two sayings of one thing are.
#include "engine/import/config_file.h"

#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

ConfigFile of(std::string_view json, std::pmr::memory_resource* heap) { return ConfigFile(json, heap); }

void test_members_are_found_by_name(void**) {
    TestHeap heap;
    const ConfigFile config = of(
        R"({"a": 3, "b": {"c": "x", "d": {"e": 1, "f": {"g": 2}}}, "n": null, "l": ["p", 4, "q", ["r"], true],
           "m": [1, false, 2.5], "t": true})",
        heap.structures());
    assert_int_equal(config.integer("a"), 3);
    assert_string_equal(std::string(config.text("b.c", "")).c_str(), "x");
    assert_true(config.has("b") && config.has("b.d") && !config.has("b.d.f.g") && !config.has("n"));
    assert_int_equal(config.integer("b.d.e"), 1);
    assert_true(config.is_null("n") && !config.is_null("a") && !config.is_null("absent"));
    assert_int_equal(config.integer("n", 7), 7);
    const auto list = config.list("l", heap.structures());
    assert_int_equal(list.size(), 2);
    assert_true(list[0] == "p" && list[1] == "q");
    assert_true(config.list("a", heap.structures()).empty());
    assert_true(config.list("b.c", heap.structures())[0] == "x");
    assert_true(config.truth("t", false));
    const auto numbers = config.numbers("m", heap.structures());
    assert_int_equal(numbers.size(), 3);
    assert_true(numbers[0] == 1 && numbers[1] == 0 && numbers[2] == 2.5);
    assert_true(config.numbers("absent", heap.structures()).empty());
    assert_failure(failure_of([&] { config.numbers("l", heap.structures()); }), VOLTA_CORRUPT_MODEL,
                   "'l' of the config has a text, where numbers are needed");
}

// What nobody has asked for is told, with its value, but for what has no effect.
void test_all_must_be_read(void**) {
    TestHeap heap;
    const struct {
        const char *json, *text;  // text NULL: nothing is told
    } rows[] = {
        {R"({"a": 3})", nullptr},
        {R"({"a": 3, "idle": {"x": [1, {"y": 2}]}, "also_null": null})", nullptr},
        {R"({"a": 3, "o": {"p": 1, "q": null}})", nullptr},
        {R"({"a": 3, "extra": 1.5})", "the config has 'extra' 1.5; what it does to the model is not known"},
        {R"({"a": 3, "extra": [1]})", "the config has 'extra' a list"},
        {R"({"a": 3, "o": {"p": 1, "q": "x"}})", "the config has 'o.q' 'x'"},
        {R"({"a": 3, "extra": {"p": 1}})", "the config has 'extra' an object"},
        {R"({"a": 3, "r": {"s": 1, "t": 2}})", nullptr},
    };
    for (const auto& row : rows) {
        const ConfigFile config = of(row.json, heap.structures());
        config.integer("a");
        config.integer("o.p", 0);
        config.set_read("r");
        const auto check = [&] {
            config.expect_all_read([](std::string_view name) { return name == "idle"; });
        };
        if (row.text == nullptr)
            check();
        else
            assert_failure(failure_of(check), VOLTA_UNSUPPORTED, row.text);
    }
}

struct Twice {
    const char *json, *text;  // text NULL: the value is 3
};
const Twice kTwice[] = {
    {R"({"a": 3, "a": 3})", nullptr},
    {R"({"a": 3, "a": 3.0})", nullptr},
    {R"({"other": 1, "other": 2, "a": 3})", nullptr},
    {R"({"a": 3, "a": 4})", "the config has 'a' twice, 3 and 4"},
    {R"({"a": 3, "a": null})", "the config has 'a' twice, 3 and null"},
    {R"({"a": null, "a": 3})", "the config has 'a' twice, null and 3"},
    {R"({"a": 3, "a": "3"})", "the config has 'a' twice, 3 and '3'"},
    {R"({"a": 3, "a": [3]})", "the config has 'a' twice, 3 and a list"},
    {R"({"a": 3, "a": {}})", "the config has 'a' twice, 3 and an object"},
    {R"({"a": 3, "a": true})", "the config has 'a' twice, 3 and true"},
    {R"({"a": 9007199254740993, "a": 9007199254740992})", "the config has 'a' twice"},
};

void test_one_name_twice(void**) {
    TestHeap heap;
    for (const Twice& row : kTwice) {
        const ConfigFile config = of(row.json, heap.structures());
        if (row.text == nullptr)
            assert_int_equal(config.integer("a"), 3);
        else
            assert_failure(failure_of([&] { config.integer("a"); }), VOLTA_UNSUPPORTED, row.text);
    }
    const ConfigFile objects = of(R"({"o": {"a": 1}, "o": {"b": 2}})", heap.structures());
    for (const char* name : {"o", "o.a", "o.b", "o.c"})
        assert_failure(failure_of([&] { objects.has(name); }), VOLTA_UNSUPPORTED, "the config has 'o' twice");
}

void test_one_thing_under_two_names(void**) {
    TestHeap heap;
    const auto first = [&](const char* json) {
        const ConfigFile config = of(json, heap.structures());
        return std::string(config.first_of({"a", "o.b", "c"}));
    };
    assert_string_equal(first(R"({})").c_str(), "a");
    assert_string_equal(first(R"({"a": null, "c": 2})").c_str(), "c");
    assert_string_equal(first(R"({"c": 2, "o": {"b": 2.0}})").c_str(), "o.b");
    assert_string_equal(first(R"({"c": "x", "a": "x"})").c_str(), "a");
    assert_failure(failure_of([&] { first(R"({"a": 10000, "o": {"b": 500000}})"); }), VOLTA_UNSUPPORTED,
                   "the config has 'a' 10000 and 'o.b' 5e+05, which must be one value");
    assert_failure(failure_of([&] { first(R"({"c": "y", "a": "x"})"); }), VOLTA_UNSUPPORTED,
                   "the config has 'a' 'x' and 'c' 'y', which must be one value");
}

// What Python writes for numbers that JSON has not: only who asks for them minds.
void test_numbers_that_are_none(void**) {
    TestHeap heap;
    const ConfigFile config = of(
        R"({"a": NaN, "b": [Infinity, -Infinity], "c": -Infinity, "d": "NaN, \"Infinity", "e": {"f": Infinity},
            "g": 5, "h": "\\", "i": NaN})",
        heap.structures());
    assert_int_equal(config.integer("g"), 5);
    assert_string_equal(std::string(config.text("d", "")).c_str(), "NaN, \"Infinity");
    for (const char* name : {"a", "c", "e.f", "i"}) {
        assert_failure(failure_of([&] { config.number(name, 1); }), VOLTA_CORRUPT_MODEL,
                       "of the config is no number");
        assert_failure(failure_of([&] { config.integer(name, 1); }), VOLTA_CORRUPT_MODEL,
                       "is no whole number");
    }
    for (const char* json : {"{\"a\": nan}", "{\"a\": NaNs}", "{\"a\": Infinit}", "{\"a\": +Infinity}",
                             "{NaN: 1}", "{\"a\": --Infinity}"})
        assert_failure(failure_of([&] { of(json, heap.structures()); }), VOLTA_CORRUPT_MODEL,
                       "the config is no valid JSON at byte");
}

void test_objects_with_one_member(void**) {
    TestHeap heap;
    const auto check = [&](const char* json) {
        const ConfigFile config = of(json, heap.structures());
        return failure_of([&] { config.expect_only("o", "a"); });
    };
    for (const char* json :
         {"{}", R"({"o": null})", R"({"o": {}})", R"({"o": {"a": 1, "b": null}, "oa": 2})"})
        assert_int_equal(check(json).status, VOLTA_OK);
    assert_failure(check(R"({"o": {"a": 1, "b": 2}})"), VOLTA_UNSUPPORTED, "the config has 'o.b', which");
    assert_failure(check(R"({"o": {"b": {"a": 1}}})"), VOLTA_UNSUPPORTED, "the config has 'o.b', which");
    assert_failure(check(R"({"o": "linear"})"), VOLTA_UNSUPPORTED, "the config has 'o', which");
}

void test_what_is_asked_for_is_there(void**) {
    TestHeap heap;
    const ConfigFile config = of(R"({"a": 3, "b": "x", "c": 9007199254740993})", heap.structures());
    assert_failure(failure_of([&] { config.integer("d"); }), VOLTA_CORRUPT_MODEL, "the config has no 'd'");
    assert_failure(failure_of([&] { config.integer("b"); }), VOLTA_CORRUPT_MODEL,
                   "'b' of the config is no whole number");
    assert_failure(failure_of([&] { of("[1]", heap.structures()); }), VOLTA_CORRUPT_MODEL,
                   "the config is no object");
}

void test_members_have_a_limit(void**) {
    TestHeap heap;
    std::string json = "{\"a\": 3";
    for (int i = 1; i < 65536; ++i) json += ",\"m" + std::to_string(i) + "\":1";
    assert_int_equal(of(json + "}", heap.structures()).integer("a"), 3);
    assert_failure(failure_of([&] { of(json + ",\"b\":1}", heap.structures()); }), VOLTA_CORRUPT_MODEL,
                   "the config has more than 65536 members");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_members_are_found_by_name),
        cmocka_unit_test(test_all_must_be_read),
        cmocka_unit_test(test_one_name_twice),
        cmocka_unit_test(test_one_thing_under_two_names),
        cmocka_unit_test(test_numbers_that_are_none),
        cmocka_unit_test(test_objects_with_one_member),
        cmocka_unit_test(test_what_is_asked_for_is_there),
        cmocka_unit_test(test_members_have_a_limit),
    };
    return cmocka_run_group_tests_name("config_file", tests, nullptr, nullptr);
}
