// A mutator for pictures: after a change the checksums of a PNG are made right again, since without that
// every change ends at the next one. Other files are changed as libFuzzer does it.
#include <stdint.h>
#include <string.h>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

uint32_t crc32_of(const uint8_t* data, size_t size) {
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < size; ++i) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

void mend(uint8_t* data, size_t size) {
    for (size_t at = 8; at + 12 <= size;) {
        const size_t length =
            static_cast<size_t>(data[at]) << 24 | data[at + 1] << 16 | data[at + 2] << 8 | data[at + 3];
        if (length > size - at - 12) return;
        const uint32_t crc = crc32_of(data + at + 4, length + 4);
        for (int i = 0; i < 4; ++i) data[at + 8 + length + i] = static_cast<uint8_t>(crc >> (24 - 8 * i));
        at += 12 + length;
    }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
    size = LLVMFuzzerMutate(data, size, max_size);
    if (size > 8 && memcmp(data, "\x89PNG", 4) == 0 && seed % 8 != 0) mend(data, size);
    return size;
}
