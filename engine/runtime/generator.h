// Sequences of tokens from a language model, alone or in a batch. What a sequence draws depends on its
// tokens, its options and its seed alone.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/runtime/decoder.h"
#include "engine/runtime/sampler.h"

namespace volta {

struct GeneratorOptions {
    SamplerOptions sampler;  // of sequences that bring none of their own
    std::int64_t sequences = 1;
    std::int64_t context = 0;       // tokens of a sequence; 0: as many as the model allows
    std::int64_t chunk = 256;       // most tokens of a prompt per run
    std::int64_t cache_tokens = 0;  // of a sequence, what the cache has room for at first; 0: the context
    bool cache = true;              // keys and values are kept; false: every token runs its whole sequence
};

class Generator final {
  public:
    Generator(const ContextRef& context, ModelRef model, const GeneratorOptions& options);

    // Sequences are numbers below options.sequences. Throws INVALID_STATE when all are taken.
    std::int32_t create(const SamplerOptions* sampler);
    void release(std::int32_t sequence) noexcept { sequences_[at(sequence)].is_taken = false; }
    // A new sequence with the same tokens; what the cache holds of them is copied.
    std::int32_t fork(std::int32_t sequence, const SamplerOptions* sampler);
    void append(std::int32_t sequence, const std::int32_t* tokens, std::size_t count);
    // The tokens of a sequence from now on; what the cache holds of a common beginning stays.
    void restart(std::int32_t sequence, const std::int32_t* tokens, std::size_t count);
    // Forgets all but the first `count` tokens.
    void rewind(std::int32_t sequence, std::size_t count);
    // Draws one token for each and appends it: one run for all whose tokens are known up to the last.
    void step(const std::int32_t* sequences, std::size_t count, std::int32_t* tokens);

    // Computes one piece of a prompt that takes several. False: a step is next.
    bool prepare_piece(std::int32_t sequence) {
        if (of(sequence).is_computed) return false;
        make_room(of(sequence).state.used);
        return decoder_->run_piece_of(of(sequence).state);
    }

    // Room for the numbers of a step; throws INVALID_ARGUMENT when there are more than sequences.
    std::pmr::vector<std::int32_t>& room_for(std::size_t count);
    const std::int32_t* tokens(std::int32_t sequence, std::size_t* count) const;
    bool is_full(std::int32_t sequence) const {
        return sequences_[at(sequence)].state.used == options_.context;
    }
    std::int32_t vocabulary() const { return vocabulary_; }
    const Model& model() const { return *model_; }
    const Stop& stop() const { return context_->stop(); }
    // Of which the sequence's latest token was drawn. Throws INVALID_STATE before the first.
    const float* logits(std::int32_t sequence, std::size_t* count) const;
    // What it holds now: a cache that grows has more later.
    volta_bill bill() const;
    // Of computing the token at `position`, which is below the context.
    TokenCost cost(std::int64_t position) const;
    // Why there is no cache, where none was asked for or none can be: "" with a cache.
    const char* no_cache() const { return no_cache_.c_str(); }

  private:
    struct Sequence {
        SequenceState state;
        SamplerOptions sampler;
        bool is_taken = false;
        bool is_computed = false;  // the logits are those after the last token
        bool has_drawn = false;
    };
    static std::size_t at(std::int32_t sequence) { return static_cast<std::size_t>(sequence); }
    Sequence& of(std::int32_t sequence) { return sequences_[at(sequence)]; }
    void check_tokens(const std::int32_t* tokens, std::size_t count) const;
    void check_step(const std::int32_t* sequences, std::size_t count) const;
    void make_room(std::int64_t tokens);

    ContextRef context_;
    ModelRef model_;
    GeneratorOptions options_;
    std::int32_t vocabulary_ = 0;
    std::pmr::string no_cache_;
    std::pmr::vector<Sequence> sequences_;
    std::pmr::vector<SequenceState*> pending_;
    std::pmr::vector<std::int32_t> numbers_;
    DecoderPtr decoder_;
    Sampler sampler_;
    Buffer tokens_, logits_;  // i32 [sequences, context]; f32 [sequences, vocabulary]
};

}  // namespace volta
