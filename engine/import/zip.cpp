#include "engine/import/zip.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "engine/base/crc32.h"
#include "engine/base/error.h"
#include "engine/import/file_kind.h"
#include "engine/model/text.h"

namespace volta {
namespace {

// Records of the format, each behind its signature (APPNOTE.TXT 6.3, sections 4.3 to 4.5).
constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                        kLocator64 = 0x07064b50;
constexpr std::size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56,
                      kLocator64Bytes = 20;
constexpr std::size_t kMostComment = 65535;
constexpr std::uint16_t kZip64Extra = 1;     // the extra field of numbers of 64 bits
constexpr std::uint32_t kIn64 = 0xffffffff;  // in a field of 32 bits: the number is in one of 64
constexpr std::uint16_t kStored = 0, kEncrypted = 1, kUtf8 = 0x800;
constexpr std::uint16_t kVersion = 20, kVersion64 = 45;
constexpr std::uint16_t kFirstDay = 0x21;  // 1 January 1980, the earliest there is
// Made by Unix: names are bytes, and what is unpacked may be read.
constexpr std::uint16_t kUnix = 3 << 8;
constexpr std::uint32_t kUnixMode = 0100644u << 16;

template <class T>
T load(const unsigned char* at) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are loaded, not put together");
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}
std::uint16_t load16(const unsigned char* at) { return load<std::uint16_t>(at); }
std::uint32_t load32(const unsigned char* at) { return load<std::uint32_t>(at); }
std::uint64_t load64(const unsigned char* at) { return load<std::uint64_t>(at); }

[[noreturn]] void fail_directory() { fail(VOLTA_CORRUPT_MODEL, "the directory of the archive is damaged"); }

// The central directory: `count` entries in bytes [begin, end) of the file.
struct Directory {
    std::uint64_t begin, end, count;
};

// The end record, behind which there is nothing but its comment; file_bytes: there is none.
std::size_t find_end(const unsigned char* file, std::size_t bytes) {
    if (bytes < kEndBytes) return bytes;
    const std::size_t last = bytes - kEndBytes, most = std::min(last, kMostComment);
    for (std::size_t comment = 0; comment <= most; ++comment)
        if (load32(file + last - comment) == kEnd && load16(file + last - comment + 20) == comment)
            return last - comment;
    return bytes;
}

// Of an archive with numbers of 64 bits: its end record, which the locator in front of the plain one finds.
Directory read_end64(const unsigned char* file, std::size_t end) {
    if (end < kLocator64Bytes || load32(file + end - kLocator64Bytes) != kLocator64) fail_directory();
    const std::size_t locator = end - kLocator64Bytes;
    const std::uint64_t at = load64(file + locator + 8);
    if (locator < kEnd64Bytes || at > locator - kEnd64Bytes || load32(file + at) != kEnd64) fail_directory();
    const unsigned char* const record = file + at;
    if (load32(record + 16) != 0 || load32(record + 20) != 0 || load64(record + 24) != load64(record + 32))
        fail(VOLTA_UNSUPPORTED, "it is one part of an archive of several");
    const std::uint64_t size = load64(record + 40), begin = load64(record + 48);
    if (begin > at || size > at - begin) fail_directory();
    return {begin, begin + size, load64(record + 32)};
}

Directory read_end(const unsigned char* file, std::size_t bytes) {
    const std::size_t end = find_end(file, bytes);
    if (end == bytes) {
        const std::string_view all(reinterpret_cast<const char*>(file), bytes);
        if (bytes == 0) fail(VOLTA_CORRUPT_MODEL, "it is empty");
        if (all.substr(0, 2) == "PK")
            fail(VOLTA_CORRUPT_MODEL, "it is cut: the archive has no directory at its end");
        if (all.substr(0, 6) == "\x93NUMPY")
            fail(VOLTA_UNSUPPORTED, "it is one array of NumPy: such a file ends with .npy");
        if (const char* kind = other_file_kind(all)) fail(VOLTA_UNSUPPORTED, "it is %s", kind);
        fail(VOLTA_CORRUPT_MODEL, "it is no zip archive");
    }
    const unsigned char* const record = file + end;
    const std::uint16_t count = load16(record + 10);
    const std::uint32_t size = load32(record + 12), begin = load32(record + 16);
    if (count == 0xffff || size == kIn64 || begin == kIn64) return read_end64(file, end);
    if (load16(record + 4) != 0 || load16(record + 6) != 0 || load16(record + 8) != count)
        fail(VOLTA_UNSUPPORTED, "it is one part of an archive of several");
    if (begin > end || size > end - begin) fail_directory();
    return {begin, std::uint64_t{begin} + size, count};
}

struct Entry {
    std::string_view name;
    std::uint16_t flags, method;
    std::uint32_t sum;
    std::uint64_t stored, bytes, place;  // place: of the local header
};

[[noreturn]] void fail_member(const Entry& entry, volta_status status, const char* complaint) {
    const bool is_text = name_problem(entry.name) == nullptr;
    const ShownName name = shown(is_text ? entry.name : std::string_view("?"));
    fail(status, "member '%.*s' of the archive %s", name.bytes, name.text, complaint);
}

// Numbers of 64 bits stand in the extra field, in this order, where the field of 32 says so.
void read_extra(const unsigned char* extra, std::size_t bytes, Entry& entry) {
    std::uint64_t* const numbers[] = {&entry.bytes, &entry.stored, &entry.place};
    const auto is_missing = [](const std::uint64_t* number) { return *number == kIn64; };
    if (std::none_of(std::begin(numbers), std::end(numbers), is_missing)) return;
    for (std::size_t at = 0; bytes - at >= 4;) {
        const std::size_t length = load16(extra + at + 2);
        if (length > bytes - at - 4) fail_directory();
        const unsigned char *field = extra + at + 4, *const end = field + length;
        at += 4 + length;
        if (load16(field - 4) != kZip64Extra) continue;
        for (std::uint64_t* const number : numbers) {
            if (!is_missing(number)) continue;
            if (end - field < 8) fail_directory();
            *number = load64(field);
            field += 8;
        }
        return;
    }
    fail_directory();
}

// The entry at `at`, which moves behind it.
Entry read_entry(const unsigned char* file, std::uint64_t& at, std::uint64_t end) {
    if (end - at < kCentralBytes || load32(file + at) != kCentral) fail_directory();
    const unsigned char* const record = file + at;
    const std::size_t name = load16(record + 28), extra = load16(record + 30), comment = load16(record + 32);
    if (end - at - kCentralBytes < name + extra + comment) fail_directory();
    Entry entry = {{reinterpret_cast<const char*>(record) + kCentralBytes, name},
                   load16(record + 8),
                   load16(record + 10),
                   load32(record + 16),
                   load32(record + 20),
                   load32(record + 24),
                   load32(record + 42)};
    read_extra(record + kCentralBytes + name, extra, entry);
    at += kCentralBytes + name + extra + comment;
    return entry;
}

// `limit`: where the directory begins, before which all members lie.
ZipMember find_member(const unsigned char* file, std::uint64_t limit, const Entry& entry) {
    if ((entry.flags & kEncrypted) != 0) fail_member(entry, VOLTA_UNSUPPORTED, "is encrypted");
    if (entry.method != kStored)
        fail_member(entry, VOLTA_UNSUPPORTED,
                    "is compressed, which is not read: write it by numpy.savez, not numpy.savez_compressed");
    if (entry.stored != entry.bytes) fail_member(entry, VOLTA_CORRUPT_MODEL, "has two sizes");
    if (entry.place > limit || limit - entry.place < kLocalBytes || load32(file + entry.place) != kLocal)
        fail_member(entry, VOLTA_CORRUPT_MODEL, "is not where the directory says");
    const unsigned char* const record = file + entry.place;
    const std::size_t name = load16(record + 26), extra = load16(record + 28);
    const std::uint64_t there = limit - entry.place - kLocalBytes;
    if (there < name + extra || there - name - extra < entry.bytes)
        fail_member(entry, VOLTA_CORRUPT_MODEL, "reaches beyond the end of the archive's data");
    const unsigned char* const text = record + kLocalBytes;
    if (std::string_view(reinterpret_cast<const char*>(text), name) != entry.name)
        fail_member(entry, VOLTA_CORRUPT_MODEL, "has another name in front of its data");
    return {entry.name, text + name + extra, static_cast<std::size_t>(entry.bytes)};
}

void check_sum(const Entry& entry, const ZipMember& member) {
    if (crc32(member.data, member.bytes) != entry.sum)
        fail_member(entry, VOLTA_CORRUPT_MODEL, "has not the checksum that the archive says: it is damaged");
}

template <class T>
void put(std::pmr::string& to, T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    to.append(bytes, sizeof value);
}
void put16(std::pmr::string& to, std::uint64_t value) { put(to, static_cast<std::uint16_t>(value)); }
void put32(std::pmr::string& to, std::uint64_t value) { put(to, static_cast<std::uint32_t>(value)); }

}  // namespace

// What members have together is bounded before any of it is read: else many could be the same bytes.
std::pmr::vector<ZipMember> read_zip(const unsigned char* file, std::size_t bytes,
                                     std::pmr::memory_resource* heap) {
    const Directory directory = read_end(file, bytes);
    if (directory.count > kMostZipMembers)
        fail(VOLTA_CORRUPT_MODEL, "it has %llu members, at most %zu are read",
             static_cast<unsigned long long>(directory.count), kMostZipMembers);
    std::pmr::vector<ZipMember> members(heap);
    std::pmr::vector<Entry> entries(heap);
    std::uint64_t at = directory.begin, sum = 0;
    for (std::uint64_t i = 0; i < directory.count; ++i) {
        entries.push_back(read_entry(file, at, directory.end));
        members.push_back(find_member(file, directory.begin, entries.back()));
        sum += kLocalBytes + members.back().bytes;  // each is below the file's size, so the sum is below 2^64
        if (sum > directory.begin) fail(VOLTA_CORRUPT_MODEL, "members of the archive overlap");
    }
    if (at != directory.end) fail_directory();
    for (std::size_t i = 0; i < members.size(); ++i) check_sum(entries[i], members[i]);
    return members;
}

ZipWriter::ZipWriter(AtomicFile& file, std::pmr::memory_resource* heap, std::uint64_t most)
    : file_(file), directory_(heap), part_(heap), most_(most) {}

void ZipWriter::add(std::string_view name, std::string_view head, const void* data, std::size_t bytes) {
    const std::uint64_t size = head.size() + std::uint64_t{bytes}, place = file_.written();
    const std::uint32_t sum = crc32(data, bytes, crc32(head.data(), head.size()));
    const bool is_large = size > most_, is_far = place > most_;
    const bool is_ascii = std::all_of(name.begin(), name.end(), [](char c) { return (c & 0x80) == 0; });
    const auto put_common = [&](std::pmr::string& to, bool has_64) {  // what both headers have
        put16(to, has_64 ? kVersion64 : kVersion);
        put16(to, is_ascii ? 0 : kUtf8);
        put16(to, kStored);
        put16(to, 0);  // midnight
        put16(to, kFirstDay);
        put32(to, sum);
        put32(to, is_large ? kIn64 : size);
        put32(to, is_large ? kIn64 : size);
        put16(to, name.size());
    };
    part_.clear();
    put32(part_, kLocal);
    put_common(part_, is_large);
    put16(part_, is_large ? 20 : 0);
    part_ += name;
    if (is_large) {
        put16(part_, kZip64Extra);
        put16(part_, 16);
        put(part_, size);
        put(part_, size);
    }
    file_.write(part_.data(), part_.size());
    file_.write(head.data(), head.size());
    file_.write(data, bytes);

    const bool has_64 = is_large || is_far;
    const std::size_t numbers = (is_large ? 16u : 0u) + (is_far ? 8u : 0u);
    put32(directory_, kCentral);
    put16(directory_, kUnix | (has_64 ? kVersion64 : kVersion));  // made by
    put_common(directory_, has_64);
    put16(directory_, has_64 ? 4 + numbers : 0);
    put16(directory_, 0);  // comment
    put16(directory_, 0);  // part
    put16(directory_, 0);  // attributes of both kinds
    put32(directory_, kUnixMode);
    put32(directory_, is_far ? kIn64 : place);
    directory_ += name;
    if (has_64) {
        put16(directory_, kZip64Extra);
        put16(directory_, numbers);
        if (is_large) {
            put(directory_, size);
            put(directory_, size);
        }
        if (is_far) put(directory_, place);
    }
    ++count_;
}

void ZipWriter::finish() {
    const std::uint64_t begin = file_.written(), size = directory_.size();
    const bool is_64 = begin > most_ || size > most_;
    file_.write(directory_.data(), directory_.size());
    part_.clear();
    if (is_64) {
        put32(part_, kEnd64);
        put(part_, std::uint64_t{kEnd64Bytes - 12});  // of the rest of this record
        put16(part_, kVersion64);
        put16(part_, kVersion64);
        put32(part_, 0);  // part
        put32(part_, 0);
        put(part_, std::uint64_t{count_});
        put(part_, std::uint64_t{count_});
        put(part_, size);
        put(part_, begin);
        put32(part_, kLocator64);
        put32(part_, 0);
        put(part_, begin + size);
        put32(part_, 1);  // parts
    }
    put32(part_, kEnd);
    put16(part_, 0);
    put16(part_, 0);
    put16(part_, count_);
    put16(part_, count_);
    put32(part_, is_64 ? kIn64 : size);
    put32(part_, is_64 ? kIn64 : begin);
    put16(part_, 0);  // comment
    file_.write(part_.data(), part_.size());
}

}  // namespace volta
