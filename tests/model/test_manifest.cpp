// The manifest of a checkpoint in parts: what is printed is read back, and nothing else is read.
#include <random>
#include <string>

#include "engine/model/manifest.h"
#include "engine/model/parts.h"
#include "tests/model/expect_error.h"
#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"
#include "tests/support/weight_files.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr char kHash[] = "00112233445566778899aabbccddeeff";

std::string name_of(int index, int count) {
    return std::string("volta-") + kHash + "-" + std::to_string(index) + "-of-" + std::to_string(count) +
           ".part";
}

// With the checksum that belongs to it: what is wrong is found by what it says.
std::string signed_text(const std::string& text) {
    return text + "checksum " + to_text(hash_bytes(text.data(), text.size())).text + "\n";
}

std::string part_line(int index, int count, const char* bytes) {
    return "part " + name_of(index, count) + " " + bytes + " " + kHash + "\n";
}

std::string two_parts() {
    return "volta parts 1\nbytes 100\nparts 2\n" + part_line(0, 2, "70") + "0 64\n70 76\n" +
           part_line(1, 2, "30") + "64 70\n76 100\n";
}

Failure reading(const std::string& text) {
    TestHeap heap;
    return failure_of([&] { parse_manifest(text, heap.structures()); });
}

void test_what_is_printed_is_read(void**) {
    TestHeap heap;
    const std::string text = signed_text(two_parts());
    const Manifest manifest = parse_manifest(text, heap.structures());
    assert_int_equal(manifest.bytes, 100);
    assert_int_equal(manifest.parts.size(), 2);
    assert_int_equal(manifest.parts[0].bytes(), 70);
    assert_string_equal(manifest.parts[1].name.c_str(), name_of(1, 2).c_str());
    assert_true(manifest.parts[1].ranges[0].begin == 64 && manifest.parts[1].ranges[1].end == 100);
    assert_true(std::string(print(manifest, heap.structures())) == text);
    const std::string empty = signed_text("volta parts 1\nbytes 5\nparts 2\n" + part_line(0, 2, "5") +
                                          "0 5\n" + part_line(1, 2, "0"));
    assert_true(std::string(print(parse_manifest(empty, heap.structures()), heap.structures())) == empty);
}

struct Hostile {
    const char* what;
    std::string text;
    const char* sentence;
    volta_status status = VOLTA_CORRUPT_MODEL;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    return at == std::string::npos ? "not there" : text.replace(at, from.size(), to);
}

void test_hostile_manifests(void**) {
    const std::string good = two_parts(), first = name_of(0, 2);
    const auto with = [&](const std::string& from, const std::string& to) {
        return signed_text(replaced(good, from, to));
    };
    std::string many = "volta parts 1\nbytes 70000\nparts 1\n" + part_line(0, 1, "70000");
    for (int i = 0; i < 70000; ++i) many += std::to_string(i) + " " + std::to_string(i + 1) + "\n";
    const Hostile rows[] = {
        {"nothing", "", "does not begin with 'volta parts '"},
        {"a model file", "VOLTA", "does not begin with 'volta parts '"},
        {"another version", replaced(good, "parts 1", "parts 2"),
         "it has version 2; this library reads version 1", VOLTA_UNSUPPORTED},
        {"no end of the first line", "volta parts 1", "line 1 is not what belongs there"},
        {"no checksum", good, "its last line is no checksum"},
        {"its checksum cut off", signed_text(good).substr(0, good.size() + 20),
         "its last line is no checksum"},
        {"the checksum of something else", signed_text(good).replace(good.size() + 9, 1, "x"),
         "its last line is no checksum"},
        {"another checksum", good + "checksum " + kHash + "\n", "its checksum does not match"},
        {"text behind it", signed_text(good) + "\n", "its last line is no checksum"},
        {"text behind the parts", signed_text(good + "more\n"), "line 10 is not what belongs there"},
        {"no bytes", with("bytes 100\n", ""), "line 2 is not what belongs there"},
        {"bytes below zero", with("bytes 100", "bytes -1"), "line 2 is not"},
        {"bytes with a zero in front", with("bytes 100", "bytes 0100"), "line 2 is not"},
        {"more bytes than can be", with("bytes 100", "bytes 4611686018427387905"), "line 2 is not"},
        {"2^64 bytes more", with("bytes 100", "bytes 18446744073709551716"), "line 2 is not"},
        {"fewer bytes", with("bytes 100", "bytes 99"),
         "do not cover the 99 bytes of the file once each: they do up to 100"},
        {"more bytes", with("bytes 100", "bytes 101"),
         "do not cover the 101 bytes of the file once each: they do up to 100"},
        {"no part", signed_text("volta parts 1\nbytes 0\nparts 0\n"),
         "it names 0 parts, there are 1 .. 4096"},
        {"too many parts", with("parts 2", "parts 4097"), "it names 4097 parts"},
        {"a part too few", with("parts 2", "parts 3"), "line 4 names part 0 of 3"},
        {"a part that is not there", signed_text("volta parts 1\nbytes 0\nparts 1\n"), "line 4 is not"},
        {"another folder", with(first, "../" + first), "is no name of it"},
        {"an absolute path", with(first, "/etc/passwd"),
         "names part 0 of 2 '/etc/passwd', which is no name of it"},
        {"this folder", with(first, "."), "is no name of it"},
        {"no name", with(first, ""), "is no name of it"},
        {"a zero in the name", with(first, std::string(1, '\0') + first), "is no name of it"},
        {"the name of another part", with(first, name_of(1, 2)), "names part 0 of 2"},
        {"the name of another cut", with(first, name_of(0, 3)), "is no name of it"},
        {"capitals in the name", with("aabb", "AABB"), "is no name of it"},
        {"a checksum of a part that is none", with(std::string(" ") + kHash + "\n", " 00\n"),
         "line 4 is not"},
        {"more behind the checksum", with(std::string(kHash) + "\n0", std::string(kHash) + " \n0"),
         "line 4 is not"},
        {"other bytes of a part", with(" 70 ", " 71 "), "has 71 bytes and ranges of 70"},
        {"a gap", with("64 70", "65 70"), "has 30 bytes and ranges of 29"},
        {"an empty range", with("0 64", "64 64"), "line 5 has the range 64 .. 64, which is empty"},
        {"a range that ends before it begins", with("70 76", "76 70"), "line 6 has the range 76 .. 70"},
        {"ranges in another order", with("0 64\n70 76", "70 76\n0 64"), "line 6 has the range 0 .. 64"},
        {"a range twice", with("64 70\n76 100", "0 6\n76 100"),
         "do not cover the 100 bytes of the file once each: they do up to 64"},
        {"ranges that overlap", with("64 70\n76 100", "63 69\n76 100"), "do not cover the 100 bytes"},
        {"one range twice and no other",
         signed_text("volta parts 1\nbytes 10\nparts 2\n" + part_line(0, 2, "10") + "0 10\n" +
                     part_line(1, 2, "10") + "0 10\n"),
         "do not cover the 10 bytes of the file once each: they do up to 10"},
        {"a range of 2^64 bytes", with("76 100", "76 18446744073709551615"), "line 9 is not"},
        {"ranges whose sum overflows", with("76 100", "76 4611686018427387904"),
         "has 30 bytes and ranges of"},
        {"too many ranges", signed_text(many), "it has more than 65536 ranges"},
    };
    for (const Hostile& row : rows) {
        const Failure failure = reading(row.text);
        if (failure.status != row.status || !failure.mentions(row.sentence))
            print_error("%s: '%s', expected '%s'\n", row.what, failure.text, row.sentence);
        assert_int_equal(failure.status, row.status);
        assert_true(failure.mentions(row.sentence));
    }
}

// Each bit of it, and each end.
void test_damaged_manifests(void**) {
    const std::string good = signed_text(two_parts());
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (int bit = 0; bit < 8; ++bit) {
            std::string text = good;
            text[at] = static_cast<char>(text[at] ^ (1 << bit));
            const Failure failure = reading(text);
            if (failure.status == VOLTA_OK) print_error("bit %d of byte %zu is not noticed\n", bit, at);
            assert_true(failure.status == VOLTA_CORRUPT_MODEL || failure.status == VOLTA_UNSUPPORTED);
        }
        assert_true(reading(good.substr(0, at)).status != VOLTA_OK);
    }
}

// Lines and words in any order, under a checksum that is right: read, and then it covers the file, or
// refused.
void test_any_text(void**) {
    const std::string words[] = {"volta parts 1\n",
                                 "bytes ",
                                 "parts ",
                                 "part ",
                                 name_of(0, 1),
                                 name_of(1, 2),
                                 " ",
                                 "\n",
                                 "0",
                                 "1",
                                 "64",
                                 "100",
                                 "18446744073709551615",
                                 "4611686018427387904",
                                 kHash,
                                 "checksum ",
                                 "0 64\n",
                                 "64 100\n",
                                 "-",
                                 "\xff",
                                 "0 100\n"};
    std::mt19937 random(5);
    std::size_t read = 0;
    for (int round = 0; round < 20000; ++round) {
        std::string text = round % 2 == 0
                               ? two_parts()
                               : "volta parts 1\nbytes 100\nparts 1\n" + part_line(0, 1, "100") + "0 100\n";
        for (unsigned change = random() % 4; change > 0; --change) {
            const std::size_t at = random() % (text.size() + 1), cut = random() % 8;
            const std::string& word = words[random() % (sizeof words / sizeof words[0])];
            text.replace(at, cut, word);
        }
        TestHeap heap;
        Failure failure;
        failure = failure_of([&] {
            const Manifest manifest = parse_manifest(signed_text(text), heap.structures());
            std::uint64_t sum = 0;
            for (const FilePart& part : manifest.parts) sum += part.bytes();
            if (sum != manifest.bytes || std::string(print(manifest, heap.structures())) != signed_text(text))
                fail(VOLTA_INTERNAL, "it was read as something else");
            ++read;
        });
        if (failure.status == VOLTA_INTERNAL) print_error("%s\n", text.c_str());
        assert_true(failure.status == VOLTA_OK || failure.status == VOLTA_CORRUPT_MODEL ||
                    failure.status == VOLTA_UNSUPPORTED);
    }
    assert_true(read > 100);
}

// What the writer of the manifest sees need not be what the writer of a part wrote.
void test_a_part_of_another_size_is_no_part(void**) {
    TestHeap heap;
    TemporaryFolder folder;
    const Manifest manifest = parse_manifest(signed_text(two_parts()), heap.structures());
    const Failure failure = failure_of([&] {
        PartsFolder parts(folder.file("").c_str(), heap.structures());
        folder.write(name_of(0, 2), std::string(70, 'x'));
        folder.write(name_of(1, 2), std::string(29, 'x'));
        parts.commit(manifest, Stop());
    });
    assert_int_equal(failure.status, VOLTA_IO_ERROR);
    assert_true(failure.mentions("has 29 bytes, its writer wrote 30"));
    assert_true(failure.mentions(name_of(1, 2).c_str()));
}

void test_names(void**) {
    assert_string_equal(part_name({0x0011223344556677u, 0x8899aabbccddeeffu}, 3, 16).text,
                        name_of(3, 16).c_str());
    assert_true(is_part_name(name_of(4095, 4096)));
    for (const std::string& name :
         {name_of(4, 4), name_of(0, 4097), name_of(0, 0), name_of(0, 1) + ".tmp-1-0", " " + name_of(0, 1),
          std::string("volta.manifest"), std::string()})
        assert_false(is_part_name(name));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_printed_is_read),
        cmocka_unit_test(test_hostile_manifests),
        cmocka_unit_test(test_damaged_manifests),
        cmocka_unit_test(test_any_text),
        cmocka_unit_test(test_a_part_of_another_size_is_no_part),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
