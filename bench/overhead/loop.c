/* The loop as a library, for languages that cannot include it. */
#include "bench/overhead/loop.h"

VOLTA_API double volta_overhead(volta_session* session, const volta_tensor* input, volta_tensor* output,
                                int64_t runs);

double volta_overhead(volta_session* session, const volta_tensor* input, volta_tensor* output, int64_t runs) {
    return volta_overhead_loop(session, input, output, runs);
}
