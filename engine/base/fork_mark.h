// Tells a forked child from the process that made an object: what other threads did for the object, nobody
// does in the child, which has the thread alone that forked.
#pragma once

namespace volta {

class ForkMark final {
  public:
    ForkMark() noexcept;
    ~ForkMark();
    ForkMark(const ForkMark&) = delete;
    ForkMark& operator=(const ForkMark&) = delete;
    // Whether this process is a child of the one that made the mark. One load where the system can empty a
    // page at a fork (Linux since 4.14), a system call elsewhere.
    bool in_child() const noexcept { return *made_here_ == 0 && is_other_process(); }

  private:
    bool is_other_process() const noexcept;
    long process_;
    char none_ = 0;
    void* page_ = nullptr;  // NULL: the system cannot
    const volatile char*
        made_here_;  // in the page, 1 until a fork empties it; else none_, which says nothing
};

}  // namespace volta
