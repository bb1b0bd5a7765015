// Rotary positions as a config says them: their base, how much of a head they turn, and the scalings by which
// models were made to read longer texts than they were trained on.
#pragma once

#include <string_view>

#include "engine/import/config_file.h"
#include "engine/model/decoder.h"

namespace volta {

// Sets rope_base, turned, frequencies and rope_scale of a decoder whose heads, head_dim and dim are set; of
// one whose `turned` is -1 a quarter of a head turns where the config says nothing. `layers`: the part of
// "rope_parameters" that is meant, "full_attention", or "". A scaling that depends on the length of the text
// (dynamic, longrope) is that of texts up to the original length, to which the context is limited. Throws
// UNSUPPORTED naming a type that is not known.
void read_rope(const ConfigFile& config, std::string_view layers, DecoderConfig& decoder,
               std::pmr::memory_resource* heap);

// The base of layers with a window, which nothing scales.
double read_local_base(const ConfigFile& config, double fallback);

}  // namespace volta
