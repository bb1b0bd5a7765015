// The container GGUF: what a file holds, and a sentence for each way in which it can be wrong.
#include "engine/import/gguf_file.h"

#include <cstdlib>

#include "engine/base/file.h"
#include "tests/import/gguf_bytes.h"
#include "tests/model/expect_error.h"
#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;
using namespace volta::test;

GgufBytes one_of_each() {
    GgufBytes g;
    g.entry("i.u8", 0, raw<std::uint8_t>(200)).entry("i.i8", 1, raw<std::int8_t>(-3));
    g.entry("i.u16", 2, raw<std::uint16_t>(60000)).entry("i.i16", 3, raw<std::int16_t>(-300));
    g.u32("i.u32", 4000000000u).entry("i.i32", 5, raw<std::int32_t>(-70000));
    g.entry("i.u64", 10, raw<std::uint64_t>(1)).entry("i.i64", 11, raw<std::int64_t>(-1));
    g.entry("f.f32", 6, raw(0.5f)).entry("f.f64", 12, raw(0.25));
    g.boolean("b", 1).string("s", "text").strings("list.s", {"a", "", "ccc"});
    g.array<float>("list.f", 6, {1, 2}).array<std::int32_t>("list.i", 5, {-1, 7});
    g.array<std::int32_t>("list.empty", 5, {});
    return g;
}

void test_values_of_all_types_are_read(void**) {
    TestHeap heap;
    const std::string bytes = one_of_each().finish();
    const GgufFile file(bytes.data(), bytes.size(), heap.structures());
    assert_int_equal(file.version(), 3);
    assert_int_equal(file.alignment(), 32);
    assert_int_equal(file.entries().size(), 16);
    assert_int_equal(file.integer("i.u8"), 200);
    assert_int_equal(file.integer("i.i8"), -3);
    assert_int_equal(file.integer("i.u16"), 60000);
    assert_int_equal(file.integer("i.i16"), -300);
    assert_int_equal(file.integer("i.u32"), 4000000000u);
    assert_int_equal(file.integer("i.i32"), -70000);
    assert_int_equal(file.integer("i.u64"), 1);
    assert_int_equal(file.integer("i.i64"), -1);
    assert_int_equal(file.integer("none", -7), -7);
    assert_true(file.number("f.f32") == 0.5 && file.number("f.f64") == 0.25 && file.number("none", 3) == 3);
    assert_true(file.boolean("b", false) && file.boolean("none", true));
    assert_true(file.string("s") == "text" && file.string("none", "x") == "x");
    const auto strings = file.strings("list.s", heap.structures());
    const bool same = strings.size() == 3 && strings[0] == "a" && strings[1].empty() && strings[2] == "ccc";
    const auto floats = file.floats("list.f", heap.structures());
    const auto integers = file.integers("list.i", heap.structures());
    assert_true(same);
    assert_true(floats.size() == 2 && floats[1] == 2);
    assert_true(integers.size() == 2 && integers[0] == -1);
    assert_int_equal(file.integers("list.empty", heap.structures()).size(), 0);
    assert_null(file.find("list"));
    assert_string_equal(gguf_type_name(file.find("s")->type), "string");
}

void test_tensors_are_found_and_measured(void**) {
    TestHeap heap;
    GgufBytes g;
    g.version = 2;
    g.alignment = 64;
    g.u32("general.alignment", 64);
    g.tensor("b.f32", {2, 3}, 0, 0).tensor("a.q8_0", {64, 2}, 8, 64).tensor("c.q4_0", {32}, 2, 256);
    g.tensor("scalar.bf16", {}, 30, 320).tensor("f16", {5}, 1, 384).tensor("later", {256}, 16, 0);
    g.data.assign(512, 'x');
    const std::string bytes = g.finish();
    const GgufFile file(bytes.data(), bytes.size(), heap.structures());
    assert_int_equal(file.tensors().size(), 6);
    const std::uint64_t start = bytes.size() - 512;
    constexpr struct {
        const char* name;
        std::uint64_t offset, bytes;
    } kExpected[] = {{"b.f32", 0, 24},
                     {"a.q8_0", 64, 136},
                     {"c.q4_0", 256, 18},
                     {"scalar.bf16", 320, 2},
                     {"f16", 384, 10}};
    for (const auto& expected : kExpected) {
        const GgufTensor* tensor = file.find_tensor(expected.name);
        assert_non_null(tensor);
        assert_int_equal(tensor->offset, start + expected.offset);
        assert_int_equal(tensor->bytes, expected.bytes);
        assert_ptr_equal(file.data(*tensor), bytes.data() + tensor->offset);
    }
    assert_null(file.find_tensor("nothing"));
    const Failure failure = failure_of([&] { file.data(*file.find_tensor("later")); });
    assert_int_equal(failure.status, VOLTA_UNSUPPORTED);
    assert_string_equal(failure.text, "tensor 'later' is of type 16, which this library does not read");
}

struct Case {
    const char* part;  // of the message
    void (*make)(GgufBytes& g);
    volta_status status = VOLTA_CORRUPT_MODEL;
};
const std::string kLong(256, 'n');

// clang-format off
const Case kRefused[] = {
    {"does not begin with 'GGUF'", [](GgufBytes& g) { g.magic = "GGML"; }},
    {"GGUF version 1;", [](GgufBytes& g) { g.version = 1; }, VOLTA_UNSUPPORTED},
    {"GGUF version 4;", [](GgufBytes& g) { g.version = 4; }, VOLTA_UNSUPPORTED},
    {"GGUF version 0;", [](GgufBytes& g) { g.version = 0; }, VOLTA_UNSUPPORTED},
    {"big-endian", [](GgufBytes& g) { g.version = 0x03000000; }, VOLTA_UNSUPPORTED},
    {"says that it has 1000 keys", [](GgufBytes& g) { g.extra_entries = 1000; }},
    {"says that it has 18446744073709551615 keys", [](GgufBytes& g) { g.extra_entries = -1; }},
    {"says that it has 1000 tensors", [](GgufBytes& g) { g.extra_tensors = 1000; }},
    {"says that it has 9223372036854775807 tensors", [](GgufBytes& g) { g.extra_tensors = INT64_MAX; }},
    {"key 1 is empty", [](GgufBytes& g) { g.u32("a", 1).u32("", 1); }},
    {"key 0 is longer than 255", [](GgufBytes& g) { g.u32(kLong, 1); }},
    {"key 0 is not UTF-8", [](GgufBytes& g) { g.u32("\xff", 1); }},
    {"key 0 contains a control character", [](GgufBytes& g) { g.u32("a\nb", 1); }},
    {"'a' is of an unknown type, 13", [](GgufBytes& g) { g.entry("a", 13, raw(1)); }},
    {"'a' is of an unknown type, 77", [](GgufBytes& g) { g.entry("a", 9, raw(77) + raw<std::uint64_t>(0)); }},
    {"the array 'a' consists of arrays", [](GgufBytes& g) { g.entry("a", 9, raw(9) + raw<std::uint64_t>(0)); }, VOLTA_UNSUPPORTED},
    {"a bool of 'a' is 2", [](GgufBytes& g) { g.boolean("a", 2); }},
    {"a bool of 'a' is 255", [](GgufBytes& g) { g.array<unsigned char>("a", 7, {1, 255}); }},
    {"the key 'a' is there twice", [](GgufBytes& g) { g.u32("a", 1).u32("b", 1).u32("a", 2); }},
    {"the array 'a' has 4611686018427387905 elements", [](GgufBytes& g) { g.entry("a", 9, raw(4) + raw((std::uint64_t{1} << 62) + 1)); }},
    {"the array 'a' has 3 elements", [](GgufBytes& g) { g.entry("a", 9, raw(8) + raw<std::uint64_t>(3) + raw_string("x")); }},
    {"a string at byte", [](GgufBytes& g) { g.entry("a", 8, raw(~std::uint64_t{0})); }},
    {"a value at byte 42 has 4 bytes, of which the file has 0", [](GgufBytes& g) { g.entry("abcdef", 4, ""); }},
    {"'general.alignment' is of type string", [](GgufBytes& g) { g.string("general.alignment", "32"); }},
    {"its alignment is 0,", [](GgufBytes& g) { g.u32("general.alignment", 0); }},
    {"its alignment is 48,", [](GgufBytes& g) { g.u32("general.alignment", 48); }},
    {"its alignment is 4,", [](GgufBytes& g) { g.u32("general.alignment", 4); }},
    {"its alignment is 131072,", [](GgufBytes& g) { g.u32("general.alignment", 131072); }},
    {"its alignment is -32,", [](GgufBytes& g) { g.entry("general.alignment", 5, raw<std::int32_t>(-32)); }},
    {"which is too large", [](GgufBytes& g) { g.entry("general.alignment", 10, raw(~std::uint64_t{0})); }},
    {"the name of tensor 0 is empty", [](GgufBytes& g) { g.tensor("", {1}, 0, 0); }},
    {"tensor 't' has 5 axes", [](GgufBytes& g) { g.tensor("t", {1, 1, 1, 1, 1}, 0, 0); }},
    {"extent 1 of tensor 't' is 0", [](GgufBytes& g) { g.tensor("t", {4, 0}, 0, 0); }},
    {"too many to count", [](GgufBytes& g) { g.tensor("t", {std::uint64_t{1} << 33, std::uint64_t{1} << 33}, 0, 0); }},
    {"too many to count", [](GgufBytes& g) { g.tensor("t", {std::uint64_t{1} << 61}, 0, 0); }},
    {"blocks have 32 elements, and its rows have 33", [](GgufBytes& g) { g.tensor("t", {33}, 8, 0); }},
    {"starts at 8, which is no multiple of 32", [](GgufBytes& g) { g.tensor("t", {4}, 0, 8); }},
    {"reaches beyond the data section of 64 bytes", [](GgufBytes& g) { g.tensor("t", {17}, 0, 0); g.data.assign(64, 'x'); }},
    {"reaches beyond the data section of 64 bytes", [](GgufBytes& g) { g.tensor("t", {8}, 0, ~std::uint64_t{31}); g.data.assign(64, 'x'); }},
    {"reaches beyond the data section of 64 bytes", [](GgufBytes& g) { g.tensor("t", {8}, 99, 96); g.data.assign(64, 'x'); }},
    {"reaches beyond the data section of 0 bytes", [](GgufBytes& g) { g.tensor("t", {1}, 0, 0); }},
    {"the tensors 'a' and 'b' overlap", [](GgufBytes& g) { g.tensor("b", {8}, 0, 32).tensor("a", {9}, 0, 0); g.data.assign(64, 'x'); }},
    {"two tensors are named 't'", [](GgufBytes& g) { g.tensor("t", {8}, 0, 0).tensor("u", {8}, 0, 32).tensor("t", {8}, 0, 64); g.data.assign(96, 'x'); }},
};
// clang-format on

void test_what_is_wrong_is_refused_with_a_sentence(void**) {
    for (const Case& test : kRefused) {
        GgufBytes g;
        test.make(g);
        const std::string bytes = g.finish();
        TestHeap heap;
        const Failure failure = failure_of([&] { GgufFile(bytes.data(), bytes.size(), heap.structures()); });
        if (failure.status != test.status || !failure.mentions(test.part))
            print_error("expected '%s', got %d: %s\n", test.part, failure.status, failure.text);
        assert_int_equal(failure.status, test.status);
        assert_true(failure.mentions(test.part));
        assert_int_equal(heap.held, 0);
    }
}

void test_no_cut_file_is_read_beyond_its_end(void**) {
    GgufBytes g = one_of_each();
    g.tensor("t", {4}, 0, 0);
    g.data.assign(16, 'x');
    const std::string whole = g.finish();
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        TestHeap heap;
        const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes));
        const Failure failure = failure_of([&] { GgufFile(cut.data(), cut.size(), heap.structures()); });
        assert_int_equal(failure.status, VOLTA_CORRUPT_MODEL);
    }
}

void test_a_key_said_twice_alike_is_one(void**) {
    TestHeap heap;
    GgufBytes g;
    g.string("a", "x").u32("b", 1).string("a", "x");
    const std::string bytes = g.finish();
    const GgufFile file(bytes.data(), bytes.size(), heap.structures());
    assert_int_equal(file.entries().size(), 2);
    assert_true(file.string("a") == "x");
}

void test_keys_of_another_type_are_refused(void**) {
    TestHeap heap;
    const std::string bytes = one_of_each().finish();
    const GgufFile file(bytes.data(), bytes.size(), heap.structures());
    const auto text = [&](auto body) { return failure_of([&] { body(); }); };
    assert_true(text([&] { file.integer("none"); }).mentions("it has no key 'none'"));
    assert_true(text([&] { file.integer("s"); }).mentions("'s' is of type string, not an integer"));
    assert_true(text([&] {
                    file.integer("list.i");
                }).mentions("'list.i' is a list, where a model of Volta has one value"));
    assert_true(text([&] { file.number("i.u8"); }).mentions("'i.u8' is of type u8, not a float"));
    assert_true(text([&] { file.string("b"); }).mentions("'b' is of type bool, not string"));
    assert_true(text([&] { file.boolean("s", true); }).mentions("not bool"));
    assert_true(text([&] {
                    file.floats("list.i", heap.structures());
                }).mentions("'list.i' is an array of i32, not an array of f32"));
    assert_true(text([&] {
                    file.strings("s", heap.structures());
                }).mentions("'s' is one value of string, not an array of string"));
}

void test_real_files_are_read(void**) {
    const char* given = std::getenv("VOLTA_TEST_DATA");
    const std::string folder = given != nullptr ? given : "../../shared/data";
    constexpr struct {
        const char* name;
        std::uint32_t version;
        std::size_t tensors;
    } kFiles[] = {{"empty", 3, 0},
                  {"single", 3, 1},
                  {"single_v2", 2, 1},
                  {"multiple", 3, 3},
                  {"parameter_weight_bias_1", 3, 2}};
    for (const auto& expected : kFiles) {
        const std::string path = folder + "/gguf/iree_" + expected.name + ".gguf";
        if (!file_exists(path.c_str())) {
            print_message("no %s: set VOLTA_TEST_DATA to a folder with gguf/\n", path.c_str());
            skip();
        }
        TestHeap heap;
        const MappedFile mapped(path.c_str());
        const GgufFile file(mapped.data(), mapped.bytes(), heap.structures());
        assert_int_equal(file.version(), expected.version);
        assert_int_equal(file.alignment(), 64);
        assert_int_equal(file.tensors().size(), expected.tensors);
        assert_true(file.string("metadata_str") == "hello");
        for (const GgufTensor& tensor : file.tensors()) assert_non_null(file.data(tensor));
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_all_types_are_read),
        cmocka_unit_test(test_tensors_are_found_and_measured),
        cmocka_unit_test(test_what_is_wrong_is_refused_with_a_sentence),
        cmocka_unit_test(test_no_cut_file_is_read_beyond_its_end),
        cmocka_unit_test(test_a_key_said_twice_alike_is_one),
        cmocka_unit_test(test_keys_of_another_type_are_refused),
        cmocka_unit_test(test_real_files_are_read),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
