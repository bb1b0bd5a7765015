/* Stands where the CUDA module is looked for, and says when it is loaded: the test that put it there reads
 * that. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void say(void) {
    const char* const path = getenv("VOLTA_LOUD_MODULE");
    if (path != NULL) close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* Of another build. */
__attribute__((visibility("default"))) const void* volta_cuda_backend(const char* build);
const void* volta_cuda_backend(const char* build) {
    (void)build;
    return NULL;
}
