// Decoders of other programs: one row per "model_type" of a config.json, whose settings become a
// DecoderConfig. docs/import.md is printed from these rows.
#pragma once

#include <cstddef>
#include <string_view>

#include "engine/import/config_file.h"
#include "engine/import/weight_shapes.h"
#include "engine/model/decoder.h"

namespace volta {

class DecoderSettings;

struct DecoderFamily {
    const char* type;      // "model_type"
    const char* naming;    // the architecture of its tensors' names (key_map.h)
    const char* programs;  // of transformers whose outputs it gives, divided by spaces
    const char* models;    // for readers: "Llama 1 to 3.3, SmolLM 1 and 2, ..."
    void (*read)(DecoderSettings& settings);
};
struct DecoderFamilies {
    const DecoderFamily* first;
    std::size_t count;
    const DecoderFamily* begin() const { return first; }
    const DecoderFamily* end() const { return first + count; }
};
DecoderFamilies decoder_families();
const DecoderFamily* decoder_family_of(const ConfigFile& config);  // NULL: it is of none

// What the config says, and for what it leaves out the shapes of the weights or what transformers takes.
// Throws CORRUPT_MODEL; UNSUPPORTED for a setting with which the model would be another one.
DecoderConfig read_decoder(const DecoderFamily& family, const ConfigFile& config, const WeightShapes& shapes);

}  // namespace volta
