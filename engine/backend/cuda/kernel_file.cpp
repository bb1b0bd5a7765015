#include "engine/backend/cuda/kernel_file.h"

#include <cstdio>
#include <cstring>

#include "engine/base/file.h"

namespace volta::cuda {
namespace {

constexpr char kMagic[8] = {'V', 'O', 'L', 'T', 'A', 'K', 'R', 'N'};

// In front of the image; little endian, as the machines that have these devices.
struct Header {
    char magic[8];
    std::uint32_t format = 1;
    std::uint32_t is_ptx;
    std::uint64_t text_high, text_low;
    std::int32_t architecture, driver_version, compiler_version, contract_version;
    std::uint64_t bytes;                        // of the image
    std::uint64_t checksum_high, checksum_low;  // of header, these two as 0, and image
};
static_assert(sizeof(Header) == 72, "written as it is in memory");

Header header_of(const KernelKey& key, std::uint64_t bytes) {
    Header header{};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    header.format = 1;
    header.is_ptx = key.is_ptx;
    header.text_high = key.text.high;
    header.text_low = key.text.low;
    header.architecture = key.architecture;
    header.driver_version = key.driver_version;
    header.compiler_version = key.compiler_version;
    header.contract_version = key.contract_version;
    header.bytes = bytes;
    return header;
}

Hash128 checksum(Header header, const void* image) {
    header.checksum_high = header.checksum_low = 0;
    Hasher hasher;
    hasher.add(&header, sizeof header);
    hasher.add(image, header.bytes);
    return hasher.result();
}

// Throws INVALID_ARGUMENT with the reason why these bytes do not count.
void check(const unsigned char* file, std::size_t bytes, const KernelKey& key) {
    Header header;
    require(bytes > sizeof header, "it is damaged: it has %zu bytes", bytes);
    std::memcpy(&header, file, sizeof header);
    require(std::memcmp(header.magic, kMagic, sizeof kMagic) == 0, "it is no file of kernels");
    require(header.format == 1, "it is of format %u, this program reads format 1", header.format);
    require(header.bytes == bytes - sizeof header, "it is damaged: it is cut");
    require(checksum(header, file + sizeof header) == Hash128{header.checksum_high, header.checksum_low},
            "it is damaged: its checksum is wrong");
    const auto same = [](int theirs, int ours, const char* what) {
        require(theirs == ours, "it is stale: made with %s %d.%d, this is %d.%d", what, theirs / 1000,
                theirs % 1000 / 10, ours / 1000, ours % 1000 / 10);
    };
    same(header.driver_version, key.driver_version, "driver");
    same(header.compiler_version, key.compiler_version, "NVRTC");
    require(header.contract_version == key.contract_version,
            "it is stale: made for numeric contract %d, this is %d", header.contract_version,
            key.contract_version);
    require(Hash128{header.text_high, header.text_low} == key.text &&
                header.architecture == key.architecture && header.is_ptx == std::uint32_t{key.is_ptx},
            "it is foreign: of another kernel or device");
}

}  // namespace

KernelFolder::KernelFolder(const char* folder, const Log& log, std::pmr::memory_resource* heap)
    : heap_(heap), log_(log), folder_(folder, heap) {}

std::pmr::string KernelFolder::path_of(const KernelKey& key) const {
    char name[80];
    std::snprintf(name, sizeof name, key.is_ptx ? "/%s_compute_%d.ptx" : "/%s_sm_%d.cubin",
                  to_text(key.text).text, key.architecture);
    std::pmr::string path(folder_, heap_);
    path += name;
    return path;
}

bool KernelFolder::read(const KernelKey& key, KernelImage& image, bool* ignored) const {
    *ignored = false;
    if (!kept()) return false;
    const std::pmr::string path = path_of(key);
    if (!file_exists(path.c_str())) return false;
    try {
        const Buffer file = read_file(path.c_str(), heap_, kMostKernelBytes);
        const auto* const bytes = static_cast<const unsigned char*>(file.data());
        check(bytes, file.bytes(), key);
        image.bytes = Buffer(heap_, file.bytes() - sizeof(Header));
        std::memcpy(image.bytes.data(), bytes + sizeof(Header), image.bytes.bytes());
        image.architecture = key.architecture;
        image.is_ptx = key.is_ptx;
        return true;
    } catch (const Error& error) {
        *ignored = true;
        log_(VOLTA_LOG_WARNING, "the file of kernels '%s' is ignored: %s", path.c_str(), error.what());
        return false;
    }
}

void KernelFolder::write(const KernelKey& key, const KernelImage& image) const {
    if (!kept()) return;
    try {
        Header header = header_of(key, image.bytes.bytes());
        const Hash128 sum = checksum(header, image.bytes.data());
        header.checksum_high = sum.high;
        header.checksum_low = sum.low;
        make_folders(folder_.c_str(), heap_);
        AtomicFile file(path_of(key).c_str(), heap_);
        file.write(&header, sizeof header);
        file.write(image.bytes.data(), image.bytes.bytes());
        file.commit();
    } catch (const Error& error) {
        log_(VOLTA_LOG_WARNING, "a compiled kernel is not kept: %s", error.what());
    }
}

}  // namespace volta::cuda
