// The memory a program runs in: one address per region of its plan, owned here or lent by someone else. The
// bill is known before anything is allocated, and what is allocated is the bill to the byte.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/base/memory.h"
#include "engine/runtime/gateway.h"

namespace volta {

class ProgramMemory final {
  public:
    // Every region is owned until lend() says otherwise; nothing is allocated before allocate().
    ProgramMemory(const Program& program, std::pmr::memory_resource* structures);

    // The region's memory belongs to someone else and takes no part in the bill. `address` may be NULL until
    // run.
    void lend(std::size_t region, void* address);
    // Arena and workspace of another, larger memory are used: programs that never run at the same time share.
    void lend_scratch(void* arena, void* workspace);

    // Adds this memory's share to the bill's classes and its total.
    void add_to(volta_bill& bill) const;
    // Allocates what is owned: states zeroed, constants filled, the rest uninitialised.
    void allocate(std::pmr::memory_resource* tensors);

    // The region of a source or output by kind and name; -1: none.
    int find(RegionKind kind, const char* name) const;
    void* address(std::size_t region) const { return addresses_[region]; }
    void* const* addresses() const { return addresses_.data(); }
    template <class T>
    T* at(int region) const {
        return static_cast<T*>(addresses_[static_cast<std::size_t>(region)]);
    }
    std::uint64_t arena_bytes() const;
    std::uint64_t workspace_bytes() const { return program_->workspace_bytes(); }
    void* workspace() const { return workspace_address_; }

    volta_status run(Phase phase, std::uint32_t micro_index) const noexcept {
        return program_->run(phase,
                             RunState{addresses_.data(), workspace_address_, micro_index, kept_.data()});
    }
    // Packs the parameters that the program keeps, from where they lie now.
    void keep() noexcept { program_->keep(RunState{addresses_.data(), workspace_address_, 0, kept_.data()}); }
    const Program& program() const { return *program_; }

  private:
    const Program* program_;
    std::pmr::vector<void*> addresses_;  // one per region
    std::pmr::vector<bool> lent_;
    std::pmr::vector<Buffer> owned_;
    mutable Buffer kept_;  // runs read it
    Buffer workspace_;
    void* workspace_address_ = nullptr;
    bool workspace_lent_ = false;
};

}  // namespace volta
