// A folder as Hugging Face's libraries write a model: which of its files are the weights and the tokenizer.
// What is in them is for the readers of files; config.json lies beside the weights.
#pragma once

#include <memory_resource>
#include <string>

namespace volta {

// The path of the weights: model.safetensors, the index of its shards, or the only *.safetensors file there.
// Throws IO_ERROR when the folder cannot be read, UNSUPPORTED saying what is there instead.
std::pmr::string find_weights(const char* folder, std::pmr::memory_resource* heap);

// The path of the tokenizer; "" when there is none.
std::pmr::string find_tokenizer(const char* folder, std::pmr::memory_resource* heap);

// "<folder>/<name>".
std::pmr::string path_in(const char* folder, const char* name, std::pmr::memory_resource* heap);

}  // namespace volta
