#include "engine/base/fork_mark.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace volta {
namespace {

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// A page that is all zeros in a forked child; NULL: there is none to have.
void* map_emptied_at_fork() {
#if defined(MADV_WIPEONFORK)
    void* const page =
        mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return nullptr;
    if (madvise(page, page_bytes(), MADV_WIPEONFORK) == 0) return page;
    munmap(page, page_bytes());
#endif
    return nullptr;
}

}  // namespace

ForkMark::ForkMark() noexcept
    : process_(static_cast<long>(getpid())), page_(map_emptied_at_fork()), made_here_(&none_) {
    if (page_ == nullptr) return;
    char* const mark = static_cast<char*>(page_);
    *mark = 1;
    made_here_ = mark;
}

ForkMark::~ForkMark() {
    if (page_ != nullptr) munmap(page_, page_bytes());
}

bool ForkMark::is_other_process() const noexcept {
    return page_ != nullptr || static_cast<long>(getpid()) != process_;
}

}  // namespace volta
