// Pages of generated code: writable or executable, never both (W^X). Owned by a context.
#pragma once

#include <cstddef>
#include <memory_resource>

namespace volta::jit {

// Collects code and publishes it in read-and-execute pages. Thread: one at a time.
class CodeArena final {
  public:
    // refuse: as if the system forbade executable memory (VOLTA_CONTEXT_NO_JIT), which is tried here.
    CodeArena(std::pmr::memory_resource* heap, bool refuse);
    ~CodeArena();
    CodeArena(const CodeArena&) = delete;
    CodeArena& operator=(const CodeArena&) = delete;

    // Copies `bytes` of position-independent code into fresh pages: mapped RW, written, then switched to RX.
    // NULL where available() is false, which does not change: who asked before relies on it. OUT_OF_MEMORY
    // where the system has no more. `name` is kept for profilers and dumps. 64-byte aligned.
    const void* publish(const void* code, std::size_t bytes, const char* name);
    bool available() const noexcept { return available_; }

    // Everything published, latest first: what a profiler's symbol map or a dump needs.
    using Visitor = void (*)(void* data, const void* code, std::size_t bytes, const char* name);
    void visit(Visitor visitor, void* data) const;

    std::size_t bytes() const noexcept { return bytes_; }  // of pages mapped

  private:
    struct Block;
    std::pmr::memory_resource* heap_;
    Block* blocks_ = nullptr;
    std::size_t bytes_ = 0;
    bool available_;
};

}  // namespace volta::jit
