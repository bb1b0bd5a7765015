#include "data/home.h"

namespace volta::data {
namespace {

constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 26, kMaxFileBytes = std::uint64_t{1} << 30;

}  // namespace

Home::Home(const volta_dataset_options& options)
    : heap_(options.allocator),
      log_{options.log, options.log_user},
      limits_{options.max_pixels == 0 ? kMaxPixels : options.max_pixels,
              options.max_file_bytes == 0 ? kMaxFileBytes : options.max_file_bytes},
      allocator_(options.allocator == nullptr ? volta_allocator{} : *options.allocator),
      has_allocator_(options.allocator != nullptr) {}

Home* Home::create(const volta_dataset_options& options) {
    HostHeap outer(options.allocator);
    void* place = outer.structures()->allocate(sizeof(Home), alignof(Home));
    try {
        return new (place) Home(options);
    } catch (...) {
        outer.structures()->deallocate(place, sizeof(Home), alignof(Home));
        throw;
    }
}

void Home::release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const volta_allocator allocator = allocator_;
    HostHeap outer(has_allocator_ ? &allocator : nullptr);
    this->~Home();
    outer.structures()->deallocate(this, sizeof(Home), alignof(Home));
}

}  // namespace volta::data
