/* What the bindings are held against: the same call from C, in the same process, on the same kind of session.
 */
#ifndef VOLTA_OVERHEAD_LOOP_H
#define VOLTA_OVERHEAD_LOOP_H

#include <time.h>
#include <volta.h>

static inline double volta_overhead_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Nanoseconds of one of `runs` runs of a session of one input and one output; -1: one failed. */
static inline double volta_overhead_loop(volta_session* session, const volta_tensor* input,
                                         volta_tensor* output, int64_t runs) {
    const double begin = volta_overhead_now();
    int64_t i;
    for (i = 0; i < runs; ++i)
        if (volta_session_run(session, &input, 1, &output, 1) != VOLTA_OK) return -1;
    return (volta_overhead_now() - begin) / (double)runs;
}

#endif
