#include "data/text_files.h"

#include <algorithm>
#include <string_view>

#include "data/input_file.h"
#include "engine/base/error.h"

namespace volta::data {
namespace {

// How the parts of a folder are called: WikiText's two forms, and what copies of it use. The first that is
// there.
struct Layout {
    const char *before, *behind;
};
constexpr Layout kLayouts[] = {{"wiki.", ".tokens"}, {"wiki.", ".raw"}, {"", ".txt"}};

const char* part_of(volta_data_split split) {
    return split == VOLTA_SPLIT_TRAIN ? "train" : split == VOLTA_SPLIT_TEST ? "test" : "valid";
}

// Empty: the folder has no such part.
Text find_part(const char* folder, volta_data_split split, std::pmr::memory_resource* heap) {
    for (const Layout& layout : kLayouts)
        for (const char* compressed : {"", ".gz"}) {
            Text name(layout.before, heap);
            ((name += part_of(split)) += layout.behind) += compressed;
            Text path = join(folder, name, heap);
            if (kind_of(path.c_str()) == PathKind::file) return path;
        }
    return Text(heap);
}

bool has_ending(std::string_view name, std::string_view ending) {
    return name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending;
}

// What is no part by its name, all of which is a folder's train part where no part has one.
std::pmr::vector<Text> other_texts(const char* folder, std::pmr::memory_resource* heap) {
    std::pmr::vector<Text> files(heap);
    for (const Entry& entry : list_folder(folder, heap))
        if (!entry.is_folder && (has_ending(entry.name, ".txt") || has_ending(entry.name, ".txt.gz")))
            files.push_back(join(folder, entry.name, heap));
    return files;
}

std::pmr::vector<Text> files_of(const char* folder, volta_data_split split, std::pmr::memory_resource* heap) {
    std::pmr::vector<Text> files(heap);
    if (Text part = find_part(folder, split, heap); !part.empty()) {
        files.push_back(std::move(part));
        return files;
    }
    if (text_parts(folder, heap) == 1u << split) files = other_texts(folder, heap);  // of train alone
    if (files.empty())
        fail(VOLTA_IO_ERROR, "the folder '%s' has no file %s.txt, wiki.%s.tokens or wiki.%s.raw", folder,
             part_of(split), part_of(split), part_of(split));
    return files;
}

void expand(const char* path, const unsigned char* packed, std::size_t bytes, const Limits& limits,
            std::pmr::memory_resource* heap, Text& text) {
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    Gunzip gunzip(path, packed, bytes, heap);
    const std::size_t begin = text.size();
    for (std::size_t read = kPiece; read == kPiece;) {
        const std::size_t there = text.size();
        text.resize(there + kPiece);
        read = gunzip.read(text.data() + there, kPiece);
        text.resize(there + read);
        if (text.size() - begin > limits.file_bytes)
            fail(VOLTA_UNSUPPORTED, "'%s' expands to more than %llu bytes, the most that are read", path,
                 static_cast<unsigned long long>(limits.file_bytes));
    }
}

void append(const char* path, const Limits& limits, std::pmr::memory_resource* heap, Text& text) {
    const InputFile file(path, heap);
    if (file.bytes() > limits.file_bytes)
        fail(VOLTA_CORRUPT_MODEL, "'%s' has %llu bytes, at most %llu are read", path,
             static_cast<unsigned long long>(file.bytes()),
             static_cast<unsigned long long>(limits.file_bytes));
    const std::size_t begin = text.size(), bytes = static_cast<std::size_t>(file.bytes());
    text.resize(begin + bytes);
    char* const there = text.data() + begin;
    file.read_at(0, there, bytes);
    if (!is_gzip(reinterpret_cast<const unsigned char*>(there), bytes)) return;
    Bytes packed(heap);
    std::copy_n(there, bytes, packed.reserve(bytes));
    text.resize(begin);
    expand(path, packed.data(), bytes, limits, heap, text);
}

}  // namespace

std::uint32_t text_parts(const char* folder, std::pmr::memory_resource* heap) {
    if (kind_of(folder) != PathKind::folder) fail(VOLTA_IO_ERROR, "there is no folder '%s'", folder);
    std::uint32_t parts = 0;
    for (const volta_data_split split : {VOLTA_SPLIT_TRAIN, VOLTA_SPLIT_TEST, VOLTA_SPLIT_VALIDATION})
        if (!find_part(folder, split, heap).empty()) parts |= 1u << split;
    if (parts == 0 && !other_texts(folder, heap).empty()) parts = 1u << VOLTA_SPLIT_TRAIN;
    return parts;
}

TextFiles read_texts(const HomeRef& home, const Paths& paths) {
    std::pmr::memory_resource* const heap = home->structures();
    TextFiles result = {Text(home->tensors()), Text(heap), 0};
    const auto add = [&](const char* path) {
        append(path, home->limits(), heap, result.bytes);
        if (result.files++ == 0) result.name = path;
    };
    for (std::size_t i = 0; i < paths.count; ++i)
        if (kind_of(paths[i]) != PathKind::folder)
            add(paths[i]);
        else
            for (const Text& file : files_of(paths[i], paths.split, heap)) add(file.c_str());
    if (result.bytes.empty()) fail(VOLTA_CORRUPT_MODEL, "'%s' has no text", result.name.c_str());
    return result;
}

}  // namespace volta::data
