// Sums of two rows of numbers in a device's memory: an ordinary plan, so that they have the bits of every
// other addition.
#pragma once

#include "engine/runtime/program_memory.h"

namespace volta {

class DeviceSum final {
  public:
    // Throws as PlanCache::prepare.
    DeviceSum(Context& context, std::uint64_t elements);
    void add_to(volta_bill& bill) const { memory_.add_to(bill); }
    std::uint64_t needed_bytes() const { return memory_.needed_bytes(); }
    void allocate() { memory_.allocate(); }
    // sum = earlier + later, all of the device's memory; the sum may lie where one of them does.
    void run(const void* earlier, const void* later, void* sum);

  private:
    ProgramMemory memory_;
    std::size_t earlier_, later_, sum_;  // regions
};

}  // namespace volta
