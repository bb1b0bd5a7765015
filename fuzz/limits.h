// What every reader of hostile files must keep to, checked by its fuzz target: an answer within a second and
// twice the file and 64 MiB, nothing left behind, and for a refusal one sentence.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "include/volta.h"

namespace fuzz {

// A wrong answer of the library is a finding like any other.
inline void expect(bool condition, const char* what) {
    if (condition) return;
    fprintf(stderr, "%s: %s\n", what, volta_last_error());
    abort();
}

// What the library holds now, and the most it may.
inline size_t held = 0, limit = SIZE_MAX;

inline void* allocate(void*, size_t size, size_t alignment, volta_memory_kind) {
    held += size;
    expect(held <= limit, "a small file asked for much memory");
    void* pointer = nullptr;
    return posix_memalign(&pointer, alignment < sizeof(void*) ? sizeof(void*) : alignment, size) == 0
               ? pointer
               : nullptr;
}
inline void release(void*, void* pointer, size_t size, size_t, volta_memory_kind) {
    held -= size;
    free(pointer);
}

// One for the whole run, of one thread and scalar code: nothing is generated, nothing waits.
inline volta_context* context() {
    static volta_context* made = [] {
        static const volta_allocator allocator = {allocate, release, nullptr};
        volta_context_options options = {};
        options.struct_size = sizeof options;
        options.allocator = &allocator;
        options.thread_count = 1;
        options.isa = VOLTA_ISA_SCALAR;
        volta_context* context = nullptr;
        expect(volta_context_create(&options, &context) == VOLTA_OK, "no context");
        return context;
    }();
    return made;
}

// Of this process, not of the clock on the wall: a machine that does other things is no finding.
inline double seconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// From its making to its end, for a file of `size` bytes.
class Limits {
  public:
    explicit Limits(size_t size) : before_((context(), held)), start_(seconds()) {
        limit = before_ + 2 * size + (size_t{64} << 20);
    }
    ~Limits() {
        expect(held == before_, "something was left behind");
        limit = SIZE_MAX;
    }
    // FUZZ_ANY_TIME: under a sanitizer a second says nothing.
    void check_time() const {
        expect(seconds() - start_ < 1 || getenv("FUZZ_ANY_TIME") != nullptr, "it took more than a second");
    }

  private:
    size_t before_;
    double start_;
};

// The length of the UTF-8 character at `text`; 0: there is none.
inline size_t character_bytes(const unsigned char* text) {
    const size_t bytes = *text < 0x80             ? 1
                         : (*text & 0xe0) == 0xc0 ? 2
                         : (*text & 0xf0) == 0xe0 ? 3
                         : (*text & 0xf8) == 0xf0 ? 4
                                                  : 0;
    for (size_t i = 1; i < bytes; ++i)
        if ((text[i] & 0xc0) != 0x80) return 0;
    return bytes;
}

// After a refusal: words, in one line of UTF-8, without control characters and without an end that was cut.
inline void expect_sentence(const char* text = volta_last_error()) {
    const size_t bytes = strlen(text);
    expect(bytes > 8 && strchr(text, ' ') != nullptr, "a refusal says nothing");
    for (size_t i = 0; i < bytes;) {
        const unsigned char* const at = reinterpret_cast<const unsigned char*>(text) + i;
        const size_t length = character_bytes(at);
        expect(*at >= 0x20 && *at != 0x7f && length > 0, "a refusal is no line of text");
        i += length;
    }
    const char last = text[bytes - 1];
    expect(last != ' ' && last != '.' && last != ',' && last != ':', "a refusal has no end");
}

inline void expect_status(volta_status status, bool gave) {
    expect((status == VOLTA_OK) == gave, "what is given and the status disagree");
    if (status != VOLTA_OK) expect_sentence();
}

}  // namespace fuzz
