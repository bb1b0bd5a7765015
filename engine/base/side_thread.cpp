#include "engine/base/side_thread.h"

#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/quiet_thread.h"

namespace volta {

namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;

}  // namespace

SideThread::SideThread() : process_(::getpid()) {
    const int error = start_quiet_thread(thread_, kStackBytes, main, this, "volta-side");
    if (error != 0) fail(VOLTA_OUT_OF_MEMORY, "cannot create a thread: error %d of the system", error);
}

bool SideThread::is_forked() const noexcept { return process_ != ::getpid(); }

SideThread::~SideThread() {
    if (is_forked()) return;
    wait();
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    pthread_join(thread_, nullptr);
}

void* SideThread::main(void* self) noexcept {
    SideThread& side = *static_cast<SideThread*>(self);
    std::unique_lock<std::mutex> lock(side.mutex_);
    for (;;) {
        side.changed_.wait(lock, [&] { return side.task_ != nullptr || side.ends_; });
        if (side.task_ == nullptr) return nullptr;
        lock.unlock();
        side.task_(side.data_);
        lock.lock();
        side.task_ = nullptr;
        side.changed_.notify_all();
    }
}

void SideThread::start(Task task, void* data) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    task_ = task;
    data_ = data;
    changed_.notify_all();
}

void SideThread::wait() noexcept {
    if (is_forked()) {
        if (task_ != nullptr) task_(data_);
        task_ = nullptr;
        return;
    }
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return task_ == nullptr; });
}

}  // namespace volta
