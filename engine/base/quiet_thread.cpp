#include "engine/base/quiet_thread.h"

#include <signal.h>

namespace volta {

// They are blocked while the thread is created, which inherits that.
int start_quiet_thread(pthread_t& thread, std::size_t stack_bytes, void* (*body)(void*), void* data,
                       [[maybe_unused]] const char* name) noexcept {
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_t attributes;
    if (const int error = pthread_attr_init(&attributes)) return error;
    pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&thread, &attributes, body, data);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
#if defined(__linux__)
    if (error == 0) pthread_setname_np(thread, name);
#endif
    return error;
}

}  // namespace volta
