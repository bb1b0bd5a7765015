/* What tests of golden numbers share: the file's text, numbers behind a key, and the random words that the
 * Python side draws too. */
#ifndef VOLTA_TESTS_PARITY_GOLDEN_NUMBERS_H
#define VOLTA_TESTS_PARITY_GOLDEN_NUMBERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CHECK(call)                                                            \
    do {                                                                       \
        if ((call) != VOLTA_OK) fail_msg("%s: %s", #call, volta_last_error()); \
    } while (0)

static inline uint64_t splitmix(uint64_t seed, uint64_t index) {
    uint64_t z = seed + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The whole file, to be freed; NULL where it cannot be read. ctest runs tests in the folder tests. */
static inline char* read_golden(const char* path) {
    const size_t room = 1 << 20;
    FILE* file = fopen(path, "rb");
    if (!file) return NULL;
    char* text = calloc(room, 1);
    const size_t bytes = text ? fread(text, 1, room - 1, file) : 0;
    fclose(file);
    if (bytes > 0 && bytes < room - 1) return text;
    free(text);
    return NULL;
}

/* The text after `"key":` at or behind `from`; the files are our own, so this is all the JSON that is needed.
 */
static inline const char* after(const char* from, const char* key) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char* found = strstr(from, quoted);
    if (!found) fail_msg("the golden file has no %s", quoted);
    return found + strlen(quoted);
}

static inline const char* read_numbers(const char* from, double* numbers, int count) {
    from = strchr(from, '[');
    for (int i = 0; from && i < count; ++i) {
        char* end;
        numbers[i] = strtod(from + 1, &end);
        from = end + strspn(end, " \n");
    }
    return from;
}

#endif
