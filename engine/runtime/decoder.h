// What follows a sequence of tokens: logits, by one of two ways with the same bits. The cached one computes
// each token once, for any number of sequences together; the other runs the whole sequence for every token.
#pragma once

#include <cstdint>

#include "engine/base/memory.h"
#include "engine/runtime/session.h"
#include "engine/runtime/token_cost.h"

namespace volta {

// One sequence in its slot.
struct SequenceState {
    std::int32_t slot = 0;
    std::int32_t* tokens = nullptr;  // [context]
    std::int64_t used = 0;           // tokens so far
    std::int64_t cached = 0;  // of these, whose keys and values the slot holds; below `used` before a run
    float* logits = nullptr;  // [vocabulary], of what follows `used` tokens
};

struct DecoderSizes {
    std::int64_t slots = 1;    // sequences
    std::int64_t context = 0;  // tokens of each
    std::int64_t cache = 0;    // of these, what a cache has room for at first
    std::int64_t chunk = 0;    // most tokens of one sequence per run
    std::int32_t vocabulary = 0;
};

class Decoder {
  public:
    virtual ~Decoder() = default;
    // Tokens of each sequence that there is room for: `context`, or less where a cache grows.
    virtual std::int64_t room() const = 0;
    // Makes room for `tokens`, at least; what the cache holds of `kept` stays. Throws OUT_OF_MEMORY and what
    // the device reports; then everything is as before.
    virtual void grow(std::int64_t tokens, SequenceState* const* kept, std::size_t count) = 0;
    // The logits after every token of each sequence, of at most room(). Allocates nothing. Throws what the
    // device reports.
    virtual void run(SequenceState* const* sequences, std::size_t count) = 0;
    // Computes the next piece of a prompt that is longer than one piece. False: what is left is one run's
    // work, or the decoder keeps nothing. run() does the same; between two pieces a host may think again.
    virtual bool run_piece_of(SequenceState& sequence) = 0;
    // `to` gets what the cache holds of the first `tokens` tokens of `from`. Throws what the device reports.
    virtual void copy(const SequenceState& from, const SequenceState& to, std::int64_t tokens) = 0;
    virtual void add_to(volta_bill& bill) const = 0;
    // Of computing the token at `position` of one sequence.
    virtual TokenCost cost(std::int64_t position) const = 0;
};

struct DecoderDelete {
    std::pmr::memory_resource* heap = nullptr;
    std::size_t size = 0, alignment = 0;
    void operator()(Decoder* decoder) const noexcept {
        decoder->~Decoder();
        heap->deallocate(decoder, size, alignment);
    }
};
using DecoderPtr = std::unique_ptr<Decoder, DecoderDelete>;

// Of a model whose decode_obstacle() is empty.
DecoderPtr make_cached_decoder(const ContextRef& context, const ModelRef& model, const DecoderSizes& sizes);
// Of any model whose attention is causal.
DecoderPtr make_whole_decoder(const ContextRef& context, const ModelRef& model, const DecoderSizes& sizes);

// A compiled program of a decoder, its parameters lent anew only when the model has changed.
class DecodeProgram final {
  public:
    DecodeProgram(const Program& program, std::int64_t rows, std::pmr::memory_resource* structures)
        : rows_(rows), memory_(program, structures) {}
    std::int64_t rows() const { return rows_; }
    ProgramMemory& memory() { return memory_; }
    const ProgramMemory& memory() const { return memory_; }
    void lend(RegionKind kind, const char* name, void* address);
    void place(RegionKind kind, const char* name, const Exchange& exchange, std::size_t offset);
    // Throws when the device fails.
    void run(ModelMemory& parameters, const Model& model);

  private:
    std::int64_t rows_;
    ProgramMemory memory_;
    std::uint64_t lent_version_ = ~std::uint64_t{0};
};

// Throws INVALID_ARGUMENT where a graph that verifies is no language model after all, so that nothing is
// written behind a buffer or read behind a table: its logits of `rows` tokens must be [rows, vocabulary] (0
// rows: there are none), and what it looks up must have every token, and every position below `positions`.
void check_decode_program(const Program& program, std::int64_t rows, std::int64_t vocabulary,
                          std::int64_t positions, std::pmr::memory_resource* heap);

// The name of the input that the host's tokens go to.
const char* token_input(const Program& program, std::pmr::memory_resource* heap);

}  // namespace volta
