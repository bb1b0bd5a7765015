// Tuning results of processors on disk: <folder>/<cpu signature>.json.
#pragma once

#include "engine/backend/cpu/tuning/tuning_table.h"
#include "engine/backend/tuning/tuning_file.h"

namespace volta::cpu {

using TuningFile = TuningFileOf<TuningEntry>;

// For the processor `signature`.
TuningFile parse_tuning(const char* text, std::size_t bytes, const char* signature,
                        std::pmr::memory_resource* heap);
std::pmr::string print_tuning(const std::pmr::vector<TuningEntry>& entries, const char* signature,
                              std::pmr::memory_resource* heap);

// The folder of a context, with the file of this processor.
class TuningFolder final : public TuningFolderOf<TuningEntry> {
  public:
    TuningFolder(const char* folder, const Log& log, std::pmr::memory_resource* heap);
};

}  // namespace volta::cpu

namespace volta {
extern template class TuningFolderOf<cpu::TuningEntry>;
}
