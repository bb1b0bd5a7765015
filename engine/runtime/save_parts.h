// A checkpoint in parts (engine/model/parts.h) of which each rank of a group writes what it has.
#pragma once

#include <memory_resource>

#include "engine/model/model_file.h"
#include "engine/runtime/sharded_step.h"

namespace volta {

// Every rank makes the same call; the states of `source` that another rank owns have data NULL. step NULL, or
// without a group: this process writes all. Throws on all ranks, naming the one that failed, IO_ERROR on the
// others; the checkpoint that was there stays.
void save_parts(const SaveSource& source, ShardedStep* step, const char* folder,
                std::pmr::memory_resource* heap);

}  // namespace volta
