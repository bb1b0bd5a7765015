#include "engine/import/file_kind.h"

#include <algorithm>

namespace volta {
namespace {

using namespace std::string_view_literals;

#define VOLTA_CONVERT_FIRST "convert it first with tools/pt_to_safetensors.py"
#define VOLTA_PAGE "a page of HTML, as a server sends instead of a file: download the file itself"

// `after`: one of these bytes must follow, where the beginning alone is too short to tell.
struct Kind {
    std::string_view begins, after;
    const char* text;
};
constexpr Kind kKinds[] = {
    {"version https://git-lfs.github.com/spec/"sv, ""sv,
     "a pointer of git LFS, which stands for a file that was not fetched: run 'git lfs pull'"},
    {"version https://hawser.github.com/spec/"sv, ""sv,
     "a pointer of git LFS, which stands for a file that was not fetched: run 'git lfs pull'"},
    {"<!DOCTYPE"sv, ""sv, VOLTA_PAGE},
    {"<!doctype"sv, ""sv, VOLTA_PAGE},
    {"<!--"sv, ""sv, VOLTA_PAGE},
    {"<html"sv, " >\r\n"sv, VOLTA_PAGE},
    {"<HTML"sv, " >\r\n"sv, VOLTA_PAGE},
    {"<head"sv, ">"sv, VOLTA_PAGE},
    {"<HEAD"sv, ">"sv, VOLTA_PAGE},
    {"<?xml"sv, ""sv, "XML, as a server sends instead of a file: download the file itself"},
    {"PK\3\4"sv, ""sv, "a zip archive, as PyTorch writes them: " VOLTA_CONVERT_FIRST},
    {"PK\5\6"sv, ""sv, "an empty zip archive"},
    {"\x80\2"sv, "\x8a}c](qX"sv, "a pickle, as PyTorch writes them: " VOLTA_CONVERT_FIRST},
    {"\x80\3"sv, "\x8a}c](qX"sv, "a pickle, as PyTorch writes them: " VOLTA_CONVERT_FIRST},
    {"\x80\4\x95"sv, ""sv, "a pickle, as PyTorch writes them: " VOLTA_CONVERT_FIRST},
    {"\x80\5\x95"sv, ""sv, "a pickle, as PyTorch writes them: " VOLTA_CONVERT_FIRST},
    {"\x1f\x8b\x08"sv, ""sv, "compressed by gzip: unpack it first"},
    {"\x28\xb5\x2f\xfd"sv, ""sv, "compressed by zstd: unpack it first"},
    {"\xfd\x37zXZ\0"sv, ""sv, "compressed by xz: unpack it first"},
    {"BZh"sv, "123456789"sv, "compressed by bzip2: unpack it first"},
    {"7z\xbc\xaf\x27\x1c"sv, ""sv, "a 7z archive: unpack it first"},
    {"Rar!\x1a\7"sv, ""sv, "a RAR archive: unpack it first"},
    {"\x89HDF\r\n\x1a\n"sv, ""sv, "an HDF5 file, as Keras writes them, which is not read"},
    {"\x93NUMPY"sv, ""sv, "an array of NumPy, which is not read"},
    {"lmgg"sv, ""sv, "a GGML file of before GGUF, which is not read: convert it to GGUF"},
    {"fmgg"sv, ""sv, "a GGML file of before GGUF, which is not read: convert it to GGUF"},
    {"tjgg"sv, ""sv, "a GGML file of before GGUF, which is not read: convert it to GGUF"},
    {"algg"sv, ""sv, "an adapter of GGML (LoRA), which is not read: merge it into its model"},
    {"\x7f"
     "ELF"sv,
     ""sv, "a program, no model"},
    {"\x89PNG"sv, ""sv, "a picture, no model"},
    {"%PDF"sv, ""sv, "a PDF, no model"},
};

constexpr std::size_t kTarMagicAt = 257;

}  // namespace

const char* other_file_kind(std::string_view bytes) noexcept {
    for (const Kind& kind : kKinds) {
        const std::string_view magic = kind.begins;
        if (bytes.substr(0, magic.size()) != magic) continue;
        if (kind.after.empty() ||
            (bytes.size() > magic.size() && kind.after.find(bytes[magic.size()]) != kind.after.npos))
            return kind.text;
    }
    if (bytes.size() > kTarMagicAt && bytes.substr(kTarMagicAt, 5) == "ustar")
        return "a tar archive: unpack it first";
    const std::size_t first = bytes.find_first_not_of(" \t\r\n\xef\xbb\xbf");  // a mark of UTF-8 as well
    if (first != bytes.npos && first > 0 && bytes[first] == '<') return other_file_kind(bytes.substr(first));
    return nullptr;
}

}  // namespace volta
