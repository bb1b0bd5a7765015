#include "engine/runtime/generator.h"

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/fp_environment.h"
#include "engine/runtime/decode_graph.h"
#include "engine/runtime/profile.h"
#include "engine/runtime/token_loss.h"

namespace volta {
namespace {

constexpr std::int64_t kMostSequences = 65536, kMostChunk = 65536;

GeneratorOptions checked(GeneratorOptions options, const LanguageModel& model) {
    check(options.sampler);
    require(options.sequences >= 1 && options.sequences <= kMostSequences,
            "sequences is %lld, it must be in 1 .. %lld", static_cast<long long>(options.sequences),
            static_cast<long long>(kMostSequences));
    if (options.context == 0) options.context = model.context;
    require(options.context >= 1 && options.context <= model.context,
            "context is %lld, it must be in 1 .. %lld, which is the model's",
            static_cast<long long>(options.context), static_cast<long long>(model.context));
    require(options.chunk >= 1 && options.chunk <= kMostChunk,
            "prefill_chunk is %lld, it must be in 1 .. %lld", static_cast<long long>(options.chunk),
            static_cast<long long>(kMostChunk));
    options.chunk = std::min(options.chunk, options.context);
    require(options.cache || options.cache_tokens == 0,
            "cache_tokens is %lld, but the flags ask for no cache",
            static_cast<long long>(options.cache_tokens));
    if (options.cache_tokens == 0) options.cache_tokens = options.context;
    require(options.cache_tokens >= 1 && options.cache_tokens <= options.context,
            "cache_tokens is %lld, it must be in 1 .. %lld, which is the context",
            static_cast<long long>(options.cache_tokens), static_cast<long long>(options.context));
    return options;
}

}  // namespace

Generator::Generator(const ContextRef& context, ModelRef model, const GeneratorOptions& options)
    : context_(context),
      model_(std::move(model)),
      options_(checked(options, language_model(model_->graph))),
      vocabulary_(language_model(model_->graph).vocabulary),
      no_cache_(context->structures()),
      sequences_(context->structures()),
      pending_(context->structures()),
      numbers_(context->structures()),
      sampler_(vocabulary_, context->tensors(), context->structures(),
               {context->isa(), &context->code(), nullptr}) {
    no_cache_ = options_.cache ? decode_obstacle(model_->graph, context->structures())
                               : std::pmr::string("the host asked for none", context->structures());
    const DecoderSizes sizes = {options_.sequences, options_.context, options_.cache_tokens, options_.chunk,
                                vocabulary_};
    decoder_ = no_cache_.empty() ? make_cached_decoder(context_, model_, sizes)
                                 : make_whole_decoder(context_, model_, sizes);
    sampler_.prepare(options_.sampler);
    const auto count = static_cast<std::size_t>(options_.sequences);
    const auto context_length = static_cast<std::size_t>(options_.context);
    tokens_ = Buffer(context->tensors(), count * context_length * sizeof(std::int32_t));
    logits_ = Buffer(context->tensors(), count * static_cast<std::size_t>(vocabulary_) * sizeof(float));
    sequences_.resize(count);
    pending_.reserve(count);
    numbers_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        SequenceState& state = sequences_[i].state;
        state.slot = static_cast<std::int32_t>(i);
        state.tokens = static_cast<std::int32_t*>(tokens_.data()) + i * context_length;
        state.logits = static_cast<float*>(logits_.data()) + i * static_cast<std::size_t>(vocabulary_);
    }
}

volta_bill Generator::bill() const {
    volta_bill bill = {};
    decoder_->add_to(bill);
    const std::uint64_t own = tokens_.bytes() + logits_.bytes() + Sampler::bytes_for(vocabulary_);
    bill.staging += own;
    bill.total += own;
    return bill;
}

// Of all sequences, those that take part in no step included.
void Generator::make_room(std::int64_t tokens) {
    if (tokens <= decoder_->room()) return;
    pending_.clear();
    for (Sequence& sequence : sequences_)
        if (sequence.is_taken && sequence.state.cached > 0) pending_.push_back(&sequence.state);
    decoder_->grow(tokens, pending_.data(), pending_.size());
}

std::int32_t Generator::create(const SamplerOptions* sampler) {
    if (sampler != nullptr) {
        check(*sampler);
        sampler_.prepare(*sampler);
    }
    for (Sequence& sequence : sequences_) {
        if (sequence.is_taken) continue;
        sequence.is_taken = true;
        sequence.is_computed = sequence.has_drawn = false;
        sequence.state.used = sequence.state.cached = 0;
        sequence.sampler = sampler != nullptr ? *sampler : options_.sampler;
        return sequence.state.slot;
    }
    fail(VOLTA_INVALID_STATE, "all %lld sequences of the generator are in use",
         static_cast<long long>(options_.sequences));
}

std::int32_t Generator::fork(std::int32_t from, const SamplerOptions* sampler) {
    const Sequence& source = of(from);
    const std::int32_t made = create(sampler != nullptr ? sampler : &source.sampler);
    Sequence& copy = of(made);
    copy.state.used = source.state.used;
    copy.state.cached = source.state.cached;
    std::copy_n(source.state.tokens, source.state.used, copy.state.tokens);
    decoder_->copy(source.state, copy.state, source.state.cached);
    copy.is_computed = source.is_computed;
    if (source.is_computed) std::copy_n(source.state.logits, vocabulary_, copy.state.logits);
    return made;
}

void Generator::check_tokens(const std::int32_t* tokens, std::size_t count) const {
    require(tokens != nullptr || count == 0, "tokens is NULL");
    for (std::size_t i = 0; i < count; ++i)
        require(tokens[i] >= 0 && tokens[i] < vocabulary_, "token %zu is %d, outside the vocabulary of %d", i,
                tokens[i], vocabulary_);
}

void Generator::restart(std::int32_t sequence, const std::int32_t* tokens, std::size_t count) {
    require(tokens != nullptr && count > 0, "a sequence needs at least one token to start from");
    require(count <= static_cast<std::size_t>(options_.context),
            "the prompt has %zu tokens, the context holds %lld", count,
            static_cast<long long>(options_.context));
    check_tokens(tokens, count);
    const SequenceState& state = of(sequence).state;
    std::size_t common = 0;
    while (common < count && common < static_cast<std::size_t>(state.used) &&
           tokens[common] == state.tokens[common])
        ++common;
    rewind(sequence, common);
    append(sequence, tokens + common, count - common);
    of(sequence).has_drawn = false;
}

void Generator::append(std::int32_t sequence, const std::int32_t* tokens, std::size_t count) {
    SequenceState& state = of(sequence).state;
    check_tokens(tokens, count);
    require(count <= static_cast<std::size_t>(options_.context - state.used),
            "%zu tokens are to follow %lld, the context holds %lld", count,
            static_cast<long long>(state.used), static_cast<long long>(options_.context));
    if (count == 0) return;
    std::copy_n(tokens, count, state.tokens + state.used);
    state.used += static_cast<std::int64_t>(count);
    of(sequence).is_computed = false;
}

void Generator::rewind(std::int32_t sequence, std::size_t count) {
    SequenceState& state = of(sequence).state;
    require(count <= static_cast<std::size_t>(state.used),
            "the sequence has %lld tokens, it cannot go back to %zu", static_cast<long long>(state.used),
            count);
    if (static_cast<std::int64_t>(count) == state.used) return;
    state.used = static_cast<std::int64_t>(count);
    // The last token runs again: its logits are wanted.
    state.cached = std::min(state.cached, std::max<std::int64_t>(state.used - 1, 0));
    of(sequence).is_computed = false;
}

void Generator::check_step(const std::int32_t* sequences, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
        const SequenceState& state = sequences_[at(sequences[i])].state;
        if (state.used == 0) fail(VOLTA_INVALID_STATE, "sequence %zu has no tokens to go on from", i);
        if (state.used == options_.context)
            fail(VOLTA_INVALID_STATE, "the context of %lld tokens is full",
                 static_cast<long long>(options_.context));
        for (std::size_t j = 0; j < i; ++j)
            require(sequences[j] != sequences[i], "sequences %zu and %zu are the same", j, i);
    }
}

void Generator::step(const std::int32_t* sequences, std::size_t count, std::int32_t* tokens) {
    check_step(sequences, count);
    const ProfileCall call(*context_, "token_step", static_cast<std::int64_t>(count));
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < count; ++i) longest = std::max(longest, of(sequences[i]).state.used);
    make_room(longest);
    pending_.clear();
    for (std::size_t i = 0; i < count; ++i)
        if (!of(sequences[i]).is_computed) pending_.push_back(&of(sequences[i]).state);
    decoder_->run(pending_.data(), pending_.size());
    for (std::size_t i = 0; i < count; ++i) of(sequences[i]).is_computed = true;

    const ProfileCall sampling(*context_, "sample", static_cast<std::int64_t>(count));
    const FpEnvironment contract;
    // All are drawn before any is appended: a failure leaves every sequence as it was.
    for (std::size_t i = 0; i < count; ++i) {
        const Sequence& sequence = of(sequences[i]);
        tokens[i] = sampler_.next(sequence.sampler, sequence.state.logits, sequence.state.tokens,
                                  static_cast<std::size_t>(sequence.state.used),
                                  static_cast<std::uint32_t>(sequence.state.used));
    }
    for (std::size_t i = 0; i < count; ++i) {
        Sequence& sequence = of(sequences[i]);
        sequence.state.tokens[sequence.state.used++] = tokens[i];
        sequence.is_computed = false;
        sequence.has_drawn = true;
    }
}

std::pmr::vector<std::int32_t>& Generator::room_for(std::size_t count) {
    require(count <= sequences_.size(), "%zu sequences are given, the generator has %zu", count,
            sequences_.size());
    numbers_.resize(count);
    return numbers_;
}

const std::int32_t* Generator::tokens(std::int32_t sequence, std::size_t* count) const {
    const SequenceState& state = sequences_[at(sequence)].state;
    *count = static_cast<std::size_t>(state.used);
    return state.tokens;
}

TokenCost Generator::cost(std::int64_t position) const {
    require(position >= 0 && position < options_.context, "position is %lld, it must be in 0 .. %lld",
            static_cast<long long>(position), static_cast<long long>(options_.context - 1));
    return decoder_->cost(position);
}

const float* Generator::logits(std::int32_t sequence, std::size_t* count) const {
    if (!sequences_[at(sequence)].has_drawn) fail(VOLTA_INVALID_STATE, "no token has been drawn yet");
    *count = static_cast<std::size_t>(vocabulary_);
    return sequences_[at(sequence)].state.logits;
}

}  // namespace volta
