// A model file taken apart: metadata as an object, the data section as bytes. Tests and the fuzzer change one
// thing and put the file together again with every length and checksum right, so that only that one thing is
// wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model_v1_object_generated.h"  // the schema, compiled with its object API into the namespace model_v1_object

namespace volta::test {

namespace object = model_v1_object;

struct ModelEditor {
    object::ModelT model;
    std::string data;  // the data section

    std::uint32_t format_version = 1;
    std::string magic;  // "": the right one

    object::TensorT& tensor(std::string_view name);
    object::NodeT& node(std::size_t index) { return *model.graph->nodes.at(index); }
    object::NodeT& node(std::string_view op_or_name);  // the first node of that operator or name
};

// Takes a file apart; false unless its frame and its FlatBuffer are whole.
bool take_apart(std::string_view file, ModelEditor* editor);

// The file again. Tensors keep the offsets and checksums that the editor holds.
std::string put_together(const ModelEditor& editor);

// Lays all tensors out again, in order and without gaps, as zeros, and computes their checksums.
void relayout(ModelEditor& editor);

// The checksum of tensor i over the bytes that it names now, as far as they exist.
void refresh_checksums(ModelEditor& editor);

// The file around these metadata bytes and this data section.
std::string frame(std::string_view metadata, std::string_view data, std::uint32_t format_version = 1,
                  std::string_view magic = {});

std::string read_bytes(const std::string& path);
void write_bytes(const std::string& path, std::string_view bytes);

}  // namespace volta::test
