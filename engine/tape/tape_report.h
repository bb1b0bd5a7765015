// What a tape says of itself: when it computed, why, and what would make it one piece.
#pragma once

#include <memory_resource>
#include <string>

#include "engine/tape/tape.h"

namespace volta {

std::pmr::string report_as_text(const Tape& tape, std::pmr::memory_resource* heap);
std::pmr::string report_as_json(const Tape& tape, std::pmr::memory_resource* heap);

}  // namespace volta
