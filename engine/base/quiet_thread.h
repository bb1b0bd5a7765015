// A thread of the library in a host's process: all signals stay with the host's threads.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace volta {

// 0, or the system's error. The name is cut at 15 letters where the system has names.
int start_quiet_thread(pthread_t& thread, std::size_t stack_bytes, void* (*body)(void*), void* data,
                       const char* name) noexcept;

}  // namespace volta
