// What an imported model is: which of Volta's builders makes its graph, with which sizes, and by which names
// its file calls the parameters.
#pragma once

#include <memory_resource>
#include <optional>
#include <variant>

#include "engine/import/config_file.h"
#include "engine/import/gguf_file.h"
#include "engine/import/key_map.h"
#include "engine/import/weight_source.h"
#include "engine/model/bert.h"
#include "engine/model/decoder.h"
#include "engine/model/gpt.h"
#include "engine/model/llama.h"
#include "engine/model/network.h"

namespace volta {

using Architecture = std::variant<GptConfig, LlamaConfig, BertConfig, NetworkConfig, DecoderConfig>;

// The naming of a safetensors file: Volta's own where its texts say "volta.architecture", else that of the
// config's "model_type". `config` may be NULL. Throws UNSUPPORTED naming what is not known.
const Naming& naming_of(const WeightSource& source, const ConfigFile* config);

// The architecture of the names of an encoder's tensors, by its "model_type"; NULL: it is none.
const char* encoder_naming(std::string_view type);

// From the texts of a file that Volta wrote. Throws CORRUPT_MODEL.
Architecture architecture_from_texts(const std::pmr::vector<Metadata>& texts);
// What the host wants of a BERT: its head, its inputs, dropout.
struct BertChoice {
    std::optional<BertHead> head;  // none: what the file has
    bool segment_input = false, mask_input = false;
    double dropout = 0;
};

// From a config.json; what it does not say is read from the shapes of the weights, but for the number of
// heads. Throws CORRUPT_MODEL; UNSUPPORTED for a model that Volta's graph would compute otherwise.
Architecture architecture_from_config(const ConfigFile& config, const WeightSource& source,
                                      const KeyMap& keys, const BertChoice& choice,
                                      std::pmr::memory_resource* heap);

// Of a network that the host names, and whose pictures it says: classes are the file's where it says none.
Architecture network_architecture(const NetworkConfig& given, const WeightSource& source, const KeyMap& keys,
                                  std::pmr::memory_resource* heap);

// From the keys of a GGUF file, whose weights are `source`. Throws as above.
Architecture architecture_from_gguf(const GgufFile& file, const WeightSource& source, const KeyMap& keys,
                                    const BertChoice& choice, std::pmr::memory_resource* heap);
// The naming of a GGUF file, by its "general.architecture".
const Naming& naming_of(const GgufFile& file);

// Head, classes, inputs and dropout of a BERT: as chosen, else what the weights are there for.
class WeightShapes;
void choose_head(const BertChoice& choice, const WeightShapes& shapes, BertConfig& bert);

// The sizes of a model, checked. Throws CORRUPT_MODEL.
LlamaConfig completed(const LlamaConfig& config);
BertConfig completed(const BertConfig& config);
// `depth`: of a ResNet, by which its row is found.
NetworkConfig completed(const NetworkConfig& config, std::int64_t depth);
// As the GPT or the Llama that it is, else as itself.
Architecture completed(const DecoderConfig& config);

// Throws CORRUPT_MODEL for sizes that cannot be.
Graph build_graph(const Architecture& architecture, std::pmr::memory_resource* heap);
void describe(const Architecture& architecture, Model& model);

// Whether a file may hold this parameter although the model has none of it: another head's of a BERT.
bool of_another_head(const Architecture& architecture, std::string_view parameter);

// Pair `pair` of rotary positions turns by this angle per position; 0 where there is no such pair.
double turning_of(const Architecture& architecture, std::int64_t pair);
// Pairs that are turned; 0: none.
std::int64_t turning_pairs(const Architecture& architecture);

// The columns of `part` in a parameter that has `columns` of them.
struct ColumnSpan {
    std::int64_t first, width;
};
ColumnSpan columns_of(const Architecture& architecture, Part part, std::int64_t columns);
// Of a tensor that holds q, k and v of each head side by side (Part::by_head): where its piece `piece` of
// equal width goes, one head of q, k or v.
ColumnSpan columns_of_head(const Architecture& architecture, std::int64_t piece, std::int64_t columns);
std::int64_t pieces_by_head(const Architecture& architecture);

}  // namespace volta
