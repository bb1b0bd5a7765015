// Documents side by side in rows of tokens, first-fit: which row takes which, and where.
#pragma once

#include <cstdint>
#include <memory_resource>

namespace volta::data {

// Puts document i, of lengths[i] tokens, into the first row with room for it, at places[i] of rows[i].
// Returns the number of rows. INVALID_ARGUMENT for a length of 0 or above row_tokens.
std::uint64_t pack_documents(const std::uint64_t* lengths, std::uint64_t count, std::uint64_t row_tokens,
                             std::uint64_t* rows, std::uint64_t* places, std::pmr::memory_resource* heap);

}  // namespace volta::data
