// A mutator for archives of arrays: after a change the members' checksums are made right again, since without
// that every change ends at the next one.
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

template <class T>
T load(const uint8_t* at) {
    T value;
    memcpy(&value, at, sizeof value);
    return value;
}

// The entry of a directory at `entry`, whose member lies before it.
void mend(uint8_t* data, size_t entry) {
    const size_t bytes = load<uint32_t>(data + entry + 24), place = load<uint32_t>(data + entry + 42);
    if (place > entry || entry - place < 30) return;
    const size_t begin = place + 30 + load<uint16_t>(data + place + 26) + load<uint16_t>(data + place + 28);
    if (begin > entry || bytes > entry - begin) return;
    const uint32_t sum = crc32_of(data + begin, bytes);
    memcpy(data + entry + 16, &sum, sizeof sum);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
    size = LLVMFuzzerMutate(data, size, max_size);
    if (seed % 8 == 0) return size;
    for (size_t at = 0; at + 46 <= size; ++at)
        if (memcmp(data + at, "PK\1\2", 4) == 0) mend(data, at);
    return size;
}
