// Tuning results on disk: <folder>/<cpu signature>.json, docs/matmul_tuning.md. What a file says is never
// trusted: every number goes through the limits of a choice from code, and a file with anything wrong in it
// is left out whole, with one line of the log that says why.
#pragma once

#include <memory_resource>
#include <string>
#include <vector>

#include "engine/backend/cpu/tuning_table.h"
#include "engine/base/log.h"

namespace volta::cpu {

inline constexpr std::size_t kMostTuningBytes = 4 * 1024 * 1024;

struct TuningFile {
    explicit TuningFile(std::pmr::memory_resource* heap) : entries(heap) { reason[0] = '\0'; }
    std::pmr::vector<TuningEntry> entries;
    char reason[256];  // why it was left out, with no entries then; "" when it was read
};

// Reads the text of a file for the processor `signature`. Never throws but for memory.
TuningFile parse_tuning(const char* text, std::size_t bytes, const char* signature,
                        std::pmr::memory_resource* heap);
std::pmr::string print_tuning(const std::pmr::vector<TuningEntry>& entries, const char* signature,
                              std::pmr::memory_resource* heap);

// The folder of a context.
class TuningFolder final {
  public:
    TuningFolder(const char* folder, const Log& log, std::pmr::memory_resource* heap);

    // Puts what the file holds into the table. A missing file is no news; any other reason is logged.
    void load(TuningTable& table) const;
    // Throws IO_ERROR if results could not be written here: asked before minutes are spent on them.
    void check_writable() const;
    // Adds `entries` to the file as it is now, under a lock between processes, and replaces it atomically.
    // Throws IO_ERROR.
    void add(const std::pmr::vector<TuningEntry>& entries) const;
    const char* path() const { return path_.c_str(); }

  private:
    std::pmr::vector<TuningEntry> read() const;
    std::pmr::memory_resource* heap_;
    Log log_;
    CpuSignature signature_;
    std::pmr::string folder_, path_, lock_path_;
};

}  // namespace volta::cpu
