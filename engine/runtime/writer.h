// Text from a sequence: the token loop with everything that may end it. Tokens are the generator's, what is
// text when is TextStream's.
#pragma once

#include <string_view>

#include "engine/model/tokenizer.h"
#include "engine/runtime/generator.h"

namespace volta {

// Checked by whoever gives it.
struct WriteRequest {
    std::int32_t sequence = 0;
    const Tokenizer* tokenizer = nullptr;
    const std::string_view* stop_texts = nullptr;
    const volta_write_options* options = nullptr;  // the rest
};

// Fills `result` as it goes: what it says holds after an exception too. A host's callback runs in the host's
// floating-point environment.
void write_text(Generator& generator, const WriteRequest& request, std::pmr::memory_resource* heap,
                volta_write_result& result);

}  // namespace volta
