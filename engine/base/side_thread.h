// A thread beside the caller's, for work that waits for other processes while the caller computes.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <condition_variable>
#include <mutex>

namespace volta {

class SideThread final {
  public:
    SideThread();   // throws OUT_OF_MEMORY where the system refuses a thread
    ~SideThread();  // waits for its task
    SideThread(const SideThread&) = delete;
    SideThread& operator=(const SideThread&) = delete;

    using Task = void (*)(void* data) noexcept;
    // None is running. In a forked child, which has no such thread, wait() runs it.
    void start(Task task, void* data) noexcept;
    void wait() noexcept;  // for its end

  private:
    static void* main(void* self) noexcept;
    bool is_forked() const noexcept;

    std::mutex mutex_;
    std::condition_variable changed_;
    Task task_ = nullptr;  // NULL: none is running
    void* data_ = nullptr;
    bool ends_ = false;
    pid_t process_;
    pthread_t thread_;
};

}  // namespace volta
