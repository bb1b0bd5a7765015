/* Quick tiers take a sample of what a test does many times (volta_sample in tests/CMakeLists.txt): about
 * every n-th of it, where VOLTA_TEST_EVERY=n; 1 without it, which is all. C99, for tests of the public header
 * too. */
#ifndef VOLTA_TESTS_SUPPORT_SAMPLED_H
#define VOLTA_TESTS_SUPPORT_SAMPLED_H

#include <stdlib.h>

static inline int sample_stride(void) {
    const char* const every = getenv("VOLTA_TEST_EVERY");
    const int stride = every ? atoi(every) : 1;
    return stride > 0 ? stride : 1;
}

/* Whether the next row, of those that this program has asked about, is in the sample. */
static inline int sample_takes_next(void) {
    static int rows;
    return rows++ % sample_stride() == 0;
}

#endif
