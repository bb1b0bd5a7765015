// LoRA: a model on the weights of another one, its base, which stay as they are; beside each product with a
// weight that is a target stand two small matrices, which alone are trained:
//
//   y = x W + (scale (x A)) B,  scale = alpha / rank, A [inputs, rank], B [rank, outputs]
//
// They are a rewrite of the base's graph, so that every architecture has them.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <string_view>

#include "engine/model/model.h"

namespace volta {

inline constexpr std::int64_t kMostAdapterRank = 4096;
inline constexpr double kMostAdapterAlpha = 1e6;

struct AdapterOptions {
    std::int64_t rank = 8;
    double alpha = 16;
    std::string_view targets;  // parts or names of weights, joined by +
};

// One pair of matrices. A part of a weight that holds several side by side has a pair of its own.
struct AdapterPlace {
    ValueId weight = -1;              // in the base's graph
    bool transposed = false;          // it is [outputs, inputs]
    std::int64_t inputs = 0;          // of the weight
    std::int64_t begin = 0, end = 0;  // the outputs that are this part
    std::pmr::string a, b;            // names of the two parameters
};
// In the order of the weights' first products, each weight's parts by their outputs. Throws
// INVALID_ARGUMENT: a target that the model does not have; two that mean the same outputs.
std::pmr::vector<AdapterPlace> adapter_places(const Model& base, std::string_view targets,
                                              std::pmr::memory_resource* heap);

// The parts that targets may name, joined by ", ".
std::pmr::string adapter_parts(std::pmr::memory_resource* heap);

// What the metadata of a model with adapters, or of their file, tell. Throws CORRUPT_MODEL: they do not.
AdapterOptions adapter_options(const Model& model);  // lends targets

// A drawn from `seed`, uniform in +-1/sqrt(inputs), and B zero: the model computes what its base does. The
// base's parameters are lent, not copied, and cannot be set as long as the model lives. Metadata
// "volta.adapter.*" tell rank, alpha, targets and the hash of the base's parameters. Throws INVALID_ARGUMENT.
HeapPtr<Model> add_adapters(const std::shared_ptr<const Model>& base, const AdapterOptions& options,
                            std::uint64_t seed, std::pmr::memory_resource* structures,
                            std::pmr::memory_resource* tensors, const InitMachine& machine = {});

// The same with adapters of zeros, for who fills them.
HeapPtr<Model> empty_adapters(const std::shared_ptr<const Model>& base, const AdapterOptions& options,
                              std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);

// By whose names other programs call the weights of adapters on this base: "gpt", "llama", "bert", or another
// architecture that has none.
const char* adapter_architecture(const Model& base);
// Whether models of this model_type of Hugging Face have other modules than their architecture here: an
// imported one keeps it as "volta.model_type".
bool has_other_modules(std::string_view model_type);

// The same with the adapters of a file, which `file` is: their values and, of a checkpoint, the state of
// training. Throws INVALID_ARGUMENT: of another base; CORRUPT_MODEL: no adapters, or such as do not fit.
HeapPtr<Model> open_adapters(const std::shared_ptr<const Model>& base, const Model& file,
                             std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);

// The adapters of a model alone, as a file has them: a graph with the product A B of each. Values are
// borrowed.
HeapPtr<Model> adapters_alone(const Model& adapted, std::pmr::memory_resource* heap);

// The base with scale A B added to its weights, each sum in f64 and rounded once; a weight that is stored is
// stored again. *difference: the largest |merged - (W + scale A B)|, the sum in f64.
HeapPtr<Model> merge_adapters(const Model& adapted, double* difference, std::pmr::memory_resource* structures,
                              std::pmr::memory_resource* tensors);

}  // namespace volta
