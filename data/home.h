// What a data set, its pictures and its loaders borrow from the host: memory and log. Each keeps it; it ends
// with the last of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "include/volta_data.h"

namespace volta::data {

struct Limits {
    std::uint64_t pixels;      // of a picture
    std::uint64_t file_bytes;  // of a file that is read or decompressed whole
};

class Home final {
  public:
    static Home* create(const volta_dataset_options& options);  // with one reference, on the host's heap
    void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept;

    std::pmr::memory_resource* structures() noexcept { return heap_.structures(); }
    std::pmr::memory_resource* tensors() noexcept { return heap_.tensors(); }
    const Log& log() const noexcept { return log_; }
    const Limits& limits() const noexcept { return limits_; }

  private:
    explicit Home(const volta_dataset_options& options);
    HostHeap heap_;
    Log log_;
    Limits limits_;
    volta_allocator allocator_;
    bool has_allocator_;
    std::atomic<std::uint32_t> references_{1};
};

class HomeRef final {
  public:
    explicit HomeRef(Home* home) noexcept : home_(home) {}  // takes over one reference
    HomeRef(const HomeRef& other) noexcept : home_(other.home_) { home_->retain(); }
    HomeRef& operator=(HomeRef other) noexcept {
        std::swap(home_, other.home_);
        return *this;
    }
    ~HomeRef() { home_->release(); }
    Home* operator->() const noexcept { return home_; }
    Home& operator*() const noexcept { return *home_; }

  private:
    Home* home_;
};

}  // namespace volta::data
