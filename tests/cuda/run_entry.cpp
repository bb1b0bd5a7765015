#include "tests/cuda/entries.h"

namespace volta::test {

std::string run_entry(const std::string& name, const simt::Launch& launch, const void* args) {
    for (int t = 0; t < kEmulatedEntryTableCount; ++t)
        for (int i = 0; i < kEmulatedEntryTables[t].count; ++i) {
            const EmulatedEntry& entry = kEmulatedEntryTables[t].entries[i];
            if (name == entry.name) return simt::run(launch, entry.run, args);
        }
    return "no kernel " + name + " was generated";
}

}  // namespace volta::test
