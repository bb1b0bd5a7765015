// A model: graph, parameters, tokenizer, metadata and, in a checkpoint, the state of training.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/arithmetic.h"
#include "engine/base/file.h"
#include "engine/base/hash.h"
#include "engine/base/memory.h"
#include "engine/graph/graph.h"
#include "engine/model/initialise.h"
#include "engine/model/tokenizer.h"

namespace volta {

// A named tensor whose bytes are owned, borrowed from the host, or inside its model's block or mapped file.
struct NamedTensor {
    std::pmr::string name;
    DType dtype = DType::f32;
    Shape shape;
    const void* data = nullptr;  // 64-byte aligned
    Buffer owned;                // empty where the bytes are another's
    bool is_lent = false;        // it is a parameter of the model's base
    std::size_t bytes() const { return static_cast<std::size_t>(tensor_bytes(dtype, shape)); }
};

struct Metadata {
    std::pmr::string key, value;
};

// What a checkpoint holds beside the parameters. Options are kept as named numbers, so that readers of later
// versions may know more of them; the trainer translates (runtime/trainer.cpp).
struct NamedNumber {
    std::pmr::string name;
    double value;  // exact: raw bits in the file
};
struct NamedInteger {
    std::pmr::string name;
    std::uint64_t value;
};
struct TrainingState {
    explicit TrainingState(std::pmr::memory_resource* heap) : numbers(heap), integers(heap), tensors(heap) {}
    std::pmr::vector<NamedNumber>
        numbers;  // ascending by name: "beta1", "beta1_product", "learning_rate", ...
    std::pmr::vector<NamedInteger>
        integers;  // ascending by name: "step", "seed", "epoch", "cursor", "steps", ...
    std::pmr::vector<NamedTensor> tensors;  // optimizer state: "<parameter>/m", "<parameter>/v", ...
};

class Model final {
  public:
    explicit Model(std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);

    // A model of `graph` (copied) with parameters drawn from `seed` (docs/numerics.md, 8: purpose 0, the
    // parameter's stream, row and column of the tensor seen as [rows, last axis]).
    static HeapPtr<Model> create(const Graph& graph, std::uint64_t seed,
                                 std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors,
                                 const InitMachine& machine = {});

    Graph graph;  // dynamic extents undecided; sources give the parameters' order
    std::pmr::vector<NamedTensor> parameters;  // in the graph's declaration order
    std::optional<Tokenizer> tokenizer;
    std::pmr::vector<Metadata> metadata;    // ascending by key
    std::optional<TrainingState> training;  // a checkpoint's
    Arithmetic arithmetic;                  // of the context that gave the parameters their values
    MappedFile mapping;                     // keeps mapped parameters alive
    // Of a model with adapters (engine/model/adapters.h): the one whose parameters are lent to it.
    std::shared_ptr<const Model> base;
    // The model's own memory, in which parameters lie one behind the other: those that were made, or a whole
    // file that was copied. Together they are large enough for large pages, which most are not by themselves.
    Buffer block;

    const NamedTensor* find_parameter(const char* name) const;  // NULL: none
    // Gives all parameters but those that are lent, which have types and shapes by then, their places in the
    // block. Throws std::bad_alloc.
    void allocate_parameters(bool zeroed);
    // For who has just done that, and fills them.
    void* place_of(std::size_t index) { return const_cast<void*>(parameters[index].data); }
    // The parameter's bytes for writing: a mapped or borrowed one is copied to memory of its own first.
    // Throws INVALID_STATE: it is lent, or the model lends its own.
    float* mutable_parameter(std::size_t index);
    // Grows with every call of mutable_parameter: what was made from the parameters is older then.
    std::uint64_t version() const { return version_; }
    const std::pmr::string* find_metadata(const char* key) const;
    void set_metadata(const char* key, const char* value);  // NULL removes; keeps the order
    std::pmr::memory_resource* structures() const { return structures_; }
    std::pmr::memory_resource* tensors() const { return tensors_; }

  private:
    friend std::shared_ptr<const Model> held(const std::shared_ptr<const Model>& model,
                                             std::pmr::memory_resource* heap);
    bool owns(const NamedTensor& parameter) const;
    std::uint64_t version_ = 0;
    mutable std::atomic<int> holders_{0};
    std::pmr::memory_resource* structures_;
    std::pmr::memory_resource* tensors_;
};

// A reference whose copies keep the model's parameters where they are and as they are.
std::shared_ptr<const Model> held(const std::shared_ptr<const Model>& model, std::pmr::memory_resource* heap);

// 128-bit hash of all parameter bits in name order (name, shape, floats with canonical NaNs; of a stored
// weight its type and its bytes).
Hash128 hash_parameters(const Model& model, std::pmr::memory_resource* heap);

}  // namespace volta
