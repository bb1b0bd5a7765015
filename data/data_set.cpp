#include "data/data_set.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "data/input_file.h"
#include "engine/base/error.h"
#include "engine/base/folder.h"

namespace volta::data {
namespace {

constexpr std::uint64_t kMostNameBytes = 1 << 20;  // of a file of names

// Bytes of the UTF-8 character that begins `text`; 0: none does.
std::size_t character_bytes(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
    };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t bytes = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    for (std::size_t i = 1; i < bytes; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    const unsigned least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    return bytes > 0 && byte(1) >= least && byte(1) <= most ? bytes : 0;
}

}  // namespace

bool is_name(std::string_view text) noexcept {
    if (text.empty() || text.size() > 255) return false;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t bytes = character_bytes(text.substr(i));
        const auto lead = static_cast<unsigned char>(text[i]);
        if (bytes == 0 || lead < 0x20 || lead == 0x7f) return false;
        i += bytes;
    }
    return true;
}

Text join(std::string_view folder, std::string_view name, std::pmr::memory_resource* heap) {
    Text path(folder, heap);
    if (!path.empty() && path.back() != '/') path += '/';
    path += name;
    return path;
}

std::pmr::vector<Entry> list_folder(const char* path, std::pmr::memory_resource* heap) {
    FolderReader folder(path);
    std::pmr::vector<Entry> entries(heap);
    for (;;) {
        const FolderReader::Entry entry = folder.next();
        if (entry.name == nullptr) break;
        if (entry.name[0] == '.') continue;
        bool is_folder = entry.kind == FolderReader::Kind::folder;
        if (entry.kind == FolderReader::Kind::other)
            is_folder = kind_of(join(path, entry.name, heap).c_str()) == PathKind::folder;
        entries.push_back({Text(entry.name, heap), is_folder});
    }
    if (const int error = folder.error()) {
        char buffer[128] = "";
        const char* const reason = strerror_r(error, buffer, sizeof buffer);
        fail(VOLTA_IO_ERROR, "cannot read the folder '%s': %s", path, reason);
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
    return entries;
}

void DataSet::set_count(std::uint64_t count) {
    if (count > UINT32_MAX)
        fail(VOLTA_UNSUPPORTED, "a data set of %llu samples: at most 4294967295 have numbers",
             static_cast<unsigned long long>(count));
    count_ = count;
}

void DataSet::number_classes(std::uint32_t count) {
    names_.clear();
    names_.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        char number[16];
        std::snprintf(number, sizeof number, "%u", i);
        names_.emplace_back(number);
    }
}

void DataSet::read_class_names(const Text& path, std::uint32_t count) {
    if (kind_of(path.c_str()) != PathKind::file) return number_classes(count);
    Bytes bytes(heap());
    const std::size_t size = read_whole(path.c_str(), kMostNameBytes, bytes);
    std::string_view rest(reinterpret_cast<const char*>(bytes.data()), size);
    names_.clear();
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (!is_name(line))
            fail(VOLTA_CORRUPT_MODEL, "line %u of '%s' is no name of a class, and there are %u classes",
                 i + 1, path.c_str(), count);
        names_.emplace_back(line);
    }
    if (rest.find_first_not_of("\r\n") != std::string_view::npos)
        fail(VOLTA_CORRUPT_MODEL, "'%s' has more names than there are classes, %u", path.c_str(), count);
}

}  // namespace volta::data
