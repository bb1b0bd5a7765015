#include "engine/model/parts.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/folder.h"
#include "engine/model/file_layout.h"

namespace volta {
namespace {

std::pmr::string path_in(const char* folder, const char* name, std::pmr::memory_resource* heap) {
    std::pmr::string path(folder, heap);
    if (!path.empty() && path.back() != '/') path += '/';
    path += name;
    return path;
}

void add_range(FilePart& part, std::uint64_t begin, std::uint64_t end) {
    if (begin == end) return;
    if (!part.ranges.empty() && part.ranges.back().end == begin)
        part.ranges.back().end = end;
    else
        part.ranges.push_back({begin, end});
}

std::pmr::vector<FilePart> empty_parts(std::uint32_t count, std::pmr::memory_resource* heap) {
    std::pmr::vector<FilePart> parts(heap);
    parts.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) parts.emplace_back(heap);
    return parts;
}

class PartSink final : public ByteSink {
  public:
    explicit PartSink(AtomicFile& file) : file_(file) {}
    void add(const void* data, std::size_t bytes) override {
        hasher_.add(data, bytes);
        file_.write(data, bytes);
    }
    Hash128 checksum() const { return hasher_.result(); }

  private:
    AtomicFile& file_;
    Hasher hasher_;
};

}  // namespace

std::pmr::vector<FilePart> parts_by_owner(const FileImage& image,
                                          const std::pmr::vector<std::uint32_t>& owners, std::uint32_t count,
                                          std::pmr::memory_resource* heap) {
    std::pmr::vector<FilePart> parts = empty_parts(count, heap);
    add_range(parts[0], 0, image.head_bytes());
    std::uint64_t end = image.head_bytes();
    for (std::size_t i = 0; i < owners.size(); ++i) {
        const std::uint64_t begin = end;
        end = image.end_of(i);
        add_range(parts[owners[i]], begin, end);
    }
    return parts;
}

std::pmr::vector<FilePart> equal_parts(const FileImage& image, std::uint32_t count,
                                       std::pmr::memory_resource* heap) {
    std::pmr::vector<FilePart> parts = empty_parts(count, heap);
    const std::uint64_t step = aligned((image.bytes() + count - 1) / count);
    for (std::uint32_t i = 0; i < count; ++i)
        add_range(parts[i], std::min(i * step, image.bytes()), std::min((i + 1) * step, image.bytes()));
    return parts;
}

Hash128 name_of_save(const FileImage& image, const std::pmr::vector<FilePart>& parts) noexcept {
    Hasher hasher;
    const Hash128 head = image.head_checksum();
    hasher.add(&head, sizeof head);
    for (const FilePart& part : parts) {
        const std::uint64_t count = part.ranges.size();
        hasher.add(&count, sizeof count);
        hasher.add(part.ranges.data(), count * sizeof(ByteRange));
    }
    return hasher.result();
}

void name_parts(std::pmr::vector<FilePart>& parts, Hash128 save) {
    const auto count = static_cast<std::uint32_t>(parts.size());
    for (std::uint32_t i = 0; i < count; ++i) parts[i].name = part_name(save, i, count).text;
}

void write_part(const FileImage& image, FilePart& part, const char* folder, std::pmr::memory_resource* heap) {
    AtomicFile file(path_in(folder, part.name.c_str(), heap).c_str(), heap, image.stop());
    PartSink sink(file);
    for (const ByteRange& range : part.ranges) image.write(range, sink);
    file.commit();
    part.checksum = sink.checksum();
}

// ---- The folder ----

namespace {

// Whose parts stay; none where there is no manifest. Throws where there is one that cannot be read: its parts
// may be all that is left of a checkpoint.
Manifest read_named_parts(const char* folder, std::pmr::memory_resource* heap) {
    FolderReader reader(folder);
    const char* name = reader.next().name;
    while (name != nullptr && std::strcmp(name, kManifestName) != 0) name = reader.next().name;
    if (reader.error() != 0) fail(VOLTA_IO_ERROR, "cannot read the folder '%s'", folder);
    if (name == nullptr) return Manifest(heap);
    const Buffer text = read_file(path_in(folder, kManifestName, heap).c_str(), heap, kMostManifestBytes);
    return parse_manifest({static_cast<const char*>(text.data()), text.bytes()}, heap);
}

bool has_text(const char* path, const std::pmr::string& text) noexcept {
    try {
        const Buffer found = read_file(path, text.get_allocator().resource(), kMostManifestBytes);
        return found.bytes() == text.size() && std::memcmp(found.data(), text.data(), text.size()) == 0;
    } catch (const std::exception&) {
        return false;
    }
}

// A part, or what a writer of one has left, that the manifest does not name.
bool is_unnamed(const void* user, const char* name) {
    const auto& manifest = *static_cast<const Manifest*>(user);
    const std::string_view whole(name), part = whole.substr(0, whole.find(".tmp-"));
    if (!is_part_name(part)) return false;
    return part.size() < whole.size() || std::none_of(manifest.parts.begin(), manifest.parts.end(),
                                                      [&](const FilePart& one) { return one.name == whole; });
}

}  // namespace

std::pmr::string PartsFolder::made(const char* path, std::pmr::memory_resource* heap) {
    make_folders(path, heap);
    return std::pmr::string(path, heap);
}

PartsFolder::PartsFolder(const char* path, std::pmr::memory_resource* heap)
    : heap_(heap), path_(made(path, heap)), lock_(path) {
    remove_unnamed();
}

void PartsFolder::remove_unnamed() noexcept {
    try {
        const Manifest named = read_named_parts(path_.c_str(), heap_);
        remove_files(path_.c_str(), is_unnamed, &named);
    } catch (const std::exception&) {
    }
}

void PartsFolder::require_parts(const Manifest& manifest) const {
    for (const FilePart& part : manifest.parts) {
        const std::pmr::string path = path_in(path_.c_str(), part.name.c_str(), heap_);
        if (!file_exists(path.c_str()))
            fail(VOLTA_IO_ERROR,
                 "part '%s' is not in '%s' for the process that writes the manifest: they need one folder",
                 part.name.c_str(), path_.c_str());
        const FileReader file(path.c_str(), heap_);
        if (file.bytes() != part.bytes())
            fail(VOLTA_IO_ERROR, "part '%s' in '%s' has %" PRIu64 " bytes, its writer wrote %" PRIu64,
                 part.name.c_str(), path_.c_str(), file.bytes(), part.bytes());
    }
}

void PartsFolder::commit(const Manifest& manifest, const Stop& stop) {
    const std::pmr::string text = print(manifest, heap_), path = path_in(path_.c_str(), kManifestName, heap_);
    try {
        require_parts(manifest);
        AtomicFile file(path.c_str(), heap_, stop);
        file.write(text.data(), text.size());
        file.commit();
    } catch (...) {
        // In its place all the same where only the folder could not be synced: the old one may come back.
        if (!has_text(path.c_str(), text)) remove_unnamed();
        throw;
    }
    remove_unnamed();
}

void write_model_parts(const SaveSource& source, std::uint32_t count, const char* folder,
                       std::pmr::memory_resource* heap) {
    PartsFolder place(folder, heap);
    FileImage image(source, heap);
    for (std::size_t i = 0; i < image.tensor_count(); ++i) image.compute_checksum(i);
    image.make_head();
    Manifest manifest(heap);
    manifest.bytes = image.bytes();
    manifest.parts = equal_parts(image, count, heap);
    name_parts(manifest.parts, name_of_save(image, manifest.parts));
    try {
        for (FilePart& part : manifest.parts) write_part(image, part, folder, heap);
    } catch (...) {
        place.remove_unnamed();
        throw;
    }
    place.commit(manifest, image.stop());
}

// ---- Reading ----

namespace {

Buffer read_manifest(const char* folder, std::pmr::memory_resource* heap) {
    const std::pmr::string path = path_in(folder, kManifestName, heap);
    if (!file_exists(path.c_str()))
        fail(VOLTA_IO_ERROR, "it is a directory without '%s', which a checkpoint in parts has",
             kManifestName);
    return read_file(path.c_str(), heap, kMostManifestBytes);
}

Manifest parse(const Buffer& text, std::pmr::memory_resource* heap) {
    try {
        return parse_manifest({static_cast<const char*>(text.data()), text.bytes()}, heap);
    } catch (const Error& error) {
        fail(error.status(), "'%s': %s", kManifestName, error.what());
    }
}

void require_size(const FilePart& part, const FileReader& file) {
    if (file.bytes() != part.bytes())
        fail(VOLTA_CORRUPT_MODEL, "part '%s' has %" PRIu64 " bytes, '%s' says %" PRIu64, part.name.c_str(),
             file.bytes(), kManifestName, part.bytes());
}

void read_part(const FilePart& part, FileReader& file, unsigned char* whole) {
    constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;  // so that it is in a cache when it is hashed
    Hasher hasher;
    for (const ByteRange& range : part.ranges)
        for (std::uint64_t at = range.begin; at < range.end;) {
            const auto bytes = static_cast<std::size_t>(std::min(range.end - at, kAtOnce));
            file.read(whole + at, bytes);
            hasher.add(whole + at, bytes);
            at += bytes;
        }
    if (hasher.result() != part.checksum)
        fail(VOLTA_CORRUPT_MODEL,
             "the checksum of part '%s' is not that of '%s': it is damaged, or of another save",
             part.name.c_str(), kManifestName);
}

Buffer read_named(const Manifest& manifest, const char* folder, const Stop& stop,
                  std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    // Before so much memory is asked for: the files are as large as the manifest says.
    for (const FilePart& part : manifest.parts)
        require_size(part, FileReader(path_in(folder, part.name.c_str(), structures).c_str(), structures));
    Buffer whole(tensors, static_cast<std::size_t>(manifest.bytes));
    for (std::size_t i = 0; i < manifest.parts.size(); ++i) {
        const FilePart& part = manifest.parts[i];
        stop.ask("part", i, manifest.parts.size());
        FileReader file(path_in(folder, part.name.c_str(), structures).c_str(), structures);
        require_size(part, file);
        read_part(part, file, static_cast<unsigned char*>(whole.data()));
    }
    return whole;
}

bool is_same(const Buffer& a, const Buffer& b) {
    return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

}  // namespace

Buffer read_parts(const char* folder, const Stop& stop, std::pmr::memory_resource* structures,
                  std::pmr::memory_resource* tensors) {
    constexpr int kTries = 16;
    Buffer text = read_manifest(folder, structures);
    for (int i = 1;; ++i) {
        try {
            return read_named(parse(text, structures), folder, stop, structures, tensors);
        } catch (const Error&) {
            // A save that came to its end in the meantime has removed the parts of the one before it.
            Buffer now = read_manifest(folder, structures);
            if (i == kTries || is_same(now, text)) throw;
            text = std::move(now);
        }
    }
}

}  // namespace volta
