// Archives that the writer makes, with numbers of 32 and of 64 bits: the reader finds their members, and the
// bytes of the plain form are those that the format says. Damage: tests/api/test_host_tensors.cpp.
#include "engine/import/zip.h"

#include <initializer_list>
#include <memory_resource>
#include <string>
#include <vector>

#include "engine/base/crc32.h"
#include "tests/support/cmocka_cpp.h"
#include "tests/support/weight_files.h"

namespace {
using namespace volta;
using namespace volta::test;

std::pmr::memory_resource* const heap = std::pmr::new_delete_resource();

// Of the polynomial, bit by bit.
std::uint32_t plain_sum(const std::string& text) {
    std::uint32_t sum = ~0u;
    for (const char c : text) {
        sum ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? 0xedb88320u : 0);
    }
    return ~sum;
}

void test_checksum(void**) {
    assert_int_equal(crc32("123456789", 9), 0xcbf43926u);
    assert_int_equal(crc32("", 0), 0);
    std::string text;
    for (int i = 0; i < 100; ++i) {
        assert_int_equal(crc32(text.data(), text.size()), plain_sum(text));
        for (std::size_t cut : {std::size_t{0}, text.size() / 3, text.size()})
            assert_int_equal(crc32(text.data() + cut, text.size() - cut, crc32(text.data(), cut)),
                             plain_sum(text));
        text += static_cast<char>(i * 37);
    }
}

struct Member {
    std::string name, head, data;
};
const std::vector<Member> kMembers = {
    {"a.npy", "head", "some bytes"}, {"\xc3\xa9/b.npy", "", std::string(3000, 'x')}, {"c.npy", "", ""}};

std::string archive(std::uint64_t most) {
    TemporaryFolder folder;
    const std::string path = folder.file("a.zip");
    {
        AtomicFile file(path.c_str(), heap);
        ZipWriter zip(file, heap, most);
        for (const Member& member : kMembers)
            zip.add(member.name, member.head, member.data.data(), member.data.size());
        zip.finish();
        file.commit();
    }
    const MappedFile written(path.c_str());
    return {reinterpret_cast<const char*>(written.data()), written.bytes()};
}

// Below 5 every size and place is of 64 bits, below 2000 some are.
void test_members_come_back(void**) {
    for (const std::uint64_t most : {std::uint64_t{5}, std::uint64_t{2000}, ZipWriter::kMostPlain}) {
        const std::string bytes = archive(most);
        const auto members =
            read_zip(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), heap);
        assert_int_equal(members.size(), kMembers.size());
        for (std::size_t i = 0; i < members.size(); ++i) {
            const std::string data(reinterpret_cast<const char*>(members[i].data), members[i].bytes);
            assert_true(members[i].name == kMembers[i].name);
            assert_true(data == kMembers[i].head + kMembers[i].data);
        }
        const bool has_64 = bytes.find("PK\6\6") != std::string::npos;
        assert_int_equal(has_64, most != ZipWriter::kMostPlain);
    }
}

// What says that a number stands elsewhere: both sizes of the first member's header and of its entry, and the
// place of the last one.
void test_large_form(void**) {
    const std::string bytes = archive(5), none(4, '\xff');
    assert_true(bytes.substr(18, 8) == none + none);
    const std::size_t first = bytes.find("PK\1\2"), last = bytes.rfind("PK\1\2");
    assert_true(bytes.substr(first + 20, 8) == none + none && bytes.substr(last + 42, 4) == none);
    assert_true(bytes.substr(first + 42, 4) == std::string(4, '\0'));
}

// What any reader of archives goes by, of the first member and of the end.
void test_plain_form(void**) {
    const std::string bytes = archive(ZipWriter::kMostPlain);
    const std::string sum = bytes_of(std::vector<std::uint32_t>{plain_sum("headsome bytes")});
    const std::string local = std::string("PK\3\4\x14\0\0\0\0\0\0\0\x21\0", 14) + sum +
                              std::string("\x0e\0\0\0\x0e\0\0\0\5\0\0\0a.npy", 17) + "headsome bytes";
    assert_true(bytes.substr(0, local.size()) == local);
    const std::string second = bytes.substr(local.size(), 8);
    assert_true(second == std::string("PK\3\4\x14\0\0\x08", 8));  // its name is UTF-8
    const std::size_t entry = bytes.find("PK\1\2");
    assert_true(bytes.substr(entry + 4, 2) == std::string("\x14\3", 2));  // made by Unix, with the mode 644
    assert_true(bytes.substr(entry + 38, 4) == std::string("\0\0\xa4\x81", 4));
    const std::string end = bytes.substr(bytes.size() - 22);
    assert_true(end.substr(0, 12) == std::string("PK\5\6\0\0\0\0\3\0\3\0", 12));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_checksum),
        cmocka_unit_test(test_members_come_back),
        cmocka_unit_test(test_large_form),
        cmocka_unit_test(test_plain_form),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
