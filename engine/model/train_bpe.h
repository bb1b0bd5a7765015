// Learns a byte-level BPE vocabulary from a text.
#pragma once

#include <memory_resource>
#include <string_view>

#include "engine/base/stop.h"
#include "engine/model/tokenizer.h"

namespace volta {

inline constexpr std::int32_t kMostTrainedPieces = 1 << 20;

// Ids 0 to 255 are the bytes; each further one is the merge of the pair of neighbours that is most frequent
// in the words of the text (cut as GPT-2 does), of equals the pair of the lowest left id, then of the lowest
// right id. Ends at `pieces` ids, or earlier when no pair is there twice. The same text gives the same
// vocabulary everywhere. Throws INVALID_ARGUMENT: an empty text, `pieces` outside [256, kMostTrainedPieces].
// `stop` is asked before each piece.
Tokenizer train_bpe(std::string_view text, std::int32_t pieces, std::pmr::memory_resource* heap,
                    const Stop& stop = kNeverStops);

}  // namespace volta
