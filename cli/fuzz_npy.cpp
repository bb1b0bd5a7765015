// The fuzz target read_npy (fuzz/targets.cmake): any bytes as a .npy file, which is an array whose elements
// are all there, or refused in one sentence that names the file.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/npy.h"
#include "cli/support.h"

namespace {

using namespace voltac;

void expect(bool condition, const char* what, const char* line = "") {
    if (condition) return;
    std::fprintf(stderr, "%s: %s\n", what, line);
    std::abort();
}

void expect_sentence(const Stop& stop) {
    const char* const line = stop.what();
    const std::size_t bytes = std::strlen(line);
    expect(stop.status == kExitFailure, "another status", line);
    expect(std::strncmp(line, "a.npy: ", 7) == 0 && bytes > 16 && bytes < 400, "a refusal says nothing",
           line);
    for (std::size_t i = 0; i < bytes; ++i)
        expect(static_cast<unsigned char>(line[i]) >= 0x20, "a refusal is no line", line);
    expect(line[bytes - 1] != '.' && line[bytes - 1] != ' ', "a refusal has no end", line);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    NpyView array;
    try {
        array = parse_npy("a.npy", data, size);
    } catch (const Stop& stop) {
        expect_sentence(stop);
        return 0;
    }
    expect(array.type != nullptr && array.shape.size() <= VOLTA_MAX_RANK && array.elements >= 0, "no array");
    const std::uint64_t bytes = static_cast<std::uint64_t>(array.elements) * array.type->bytes;
    expect(array.data >= data && array.data + bytes == data + size, "elements that are not there");
    for (const volta_dtype dtype : {VOLTA_F32, VOLTA_I32}) try {
            const auto elements = npy_elements("a.npy", array, dtype, "input 'x'");
            expect(elements.size() == static_cast<std::size_t>(array.elements), "another number of elements");
            const std::string written = npy_text(dtype, array.shape, elements.data());
            const auto* const text = reinterpret_cast<const unsigned char*>(written.data());
            const NpyView again = parse_npy("a.npy", text, written.size());
            expect(again.shape == array.shape, "another shape comes back");
            expect(npy_elements("a.npy", again, dtype, "input 'x'") == elements, "other elements come back");
        } catch (const Stop& stop) {
            expect_sentence(stop);
        }
    return 0;
}
