// Tuning results on disk: <folder>/<signature>.json, docs/matmul_tuning.md. What a file says is never
// trusted: every number goes through the limits of a choice from code, and a file with anything wrong in it
// is left out whole, with one line of the log that says why.
//
// The bodies are in tuning_folder.h, for the one source of each backend that makes them.
#pragma once

#include <atomic>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/tuning/tuning_table.h"
#include "engine/base/log.h"

namespace volta {

inline constexpr std::size_t kMostTuningBytes = 4 * 1024 * 1024;

// Where speeds were measured: `member` of the file holds its signature, which is a file name too.
struct TuningPlace {
    const char* member;  // "cpu"
    const char* kind;    // "processor", for messages
    const char* signature;
};

template <class Entry>
struct TuningFileOf {
    explicit TuningFileOf(std::pmr::memory_resource* heap) : entries(heap) { reason[0] = '\0'; }
    std::pmr::vector<Entry> entries;
    char reason[256];  // why it was left out, with no entries then; "" when it was read
};

// Reads the text of a file from `place`. Never throws but for memory.
template <class Entry>
TuningFileOf<Entry> parse_tuning_of(const char* text, std::size_t bytes, const TuningPlace& place,
                                    std::pmr::memory_resource* heap);
template <class Entry>
std::pmr::string print_tuning_of(const std::pmr::vector<Entry>& entries, const TuningPlace& place,
                                 std::pmr::memory_resource* heap);

// The folder of a context.
template <class Entry>
class TuningFolderOf {
  public:
    TuningFolderOf(const char* folder, const TuningPlace& place, const Log& log,
                   std::pmr::memory_resource* heap);

    // Puts what the file holds into the table. A missing file is no news; any other reason is logged, once
    // until the file is replaced.
    void load(TuningTableOf<Entry>& table) const;
    // Throws IO_ERROR if results could not be written here: asked before minutes are spent on them.
    void check_writable() const;
    // Adds `entries` to the file as it is now, under a lock between processes, and replaces it atomically.
    // Throws IO_ERROR.
    void add(const std::pmr::vector<Entry>& entries) const;
    const char* path() const { return path_.c_str(); }

  private:
    TuningPlace place() const { return {member_, kind_, signature_.c_str()}; }
    std::pmr::vector<Entry> read() const;
    static void tell_waiting(void* self);
    std::pmr::memory_resource* heap_;
    Log log_;
    const char *member_, *kind_;
    std::pmr::string signature_, folder_, path_, lock_path_;
    mutable std::atomic<bool> told_{false};  // that the file is ignored
};

}  // namespace volta
