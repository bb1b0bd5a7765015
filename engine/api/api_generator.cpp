// volta.h: generator and sequences.
#include "engine/api/guard.h"
#include "engine/api/handles.h"
#include "engine/api/options.h"

using namespace volta;
using namespace volta::api;

namespace {

template <class Given>  // volta_generator_options, volta_sampling_options
SamplerOptions sampler_of(const Given& given) {
    SamplerOptions sampler;
    sampler.temperature = given.temperature;
    sampler.top_k = given.top_k;
    sampler.top_p = given.top_p;
    sampler.min_p = given.min_p;
    sampler.repetition_penalty = given.repetition_penalty == 0 ? 1 : given.repetition_penalty;
    sampler.seed = given.seed;
    return sampler;
}

GeneratorOptions generator_options(const volta_generator_options& given) {
    require((given.flags & ~static_cast<uint32_t>(VOLTA_GENERATOR_NO_CACHE)) == 0,
            "flags is %u, which has unknown bits", given.flags);
    GeneratorOptions options;
    options.sampler = sampler_of(given);
    options.context = given.context;
    if (given.sequences != 0) options.sequences = given.sequences;
    if (given.prefill_chunk != 0) options.chunk = given.prefill_chunk;
    options.cache_tokens = given.cache_tokens;
    options.cache = (given.flags & VOLTA_GENERATOR_NO_CACHE) == 0;
    return options;
}

Generator& inner(const volta_generator* generator) {
    require(generator != nullptr, "generator is NULL");
    return *generator->generator;
}

const volta_sequence& checked(const volta_sequence* sequence) {
    require(sequence != nullptr, "sequence is NULL");
    return *sequence;
}

// A handle for the sequence that `make` gives, which is given back if there is no memory for the handle.
template <class Make>
void make_sequence(const ContextRef& context, const std::shared_ptr<Generator>& generator,
                   const volta_sampling_options* sampling, volta_sequence** out_sequence, Make make) {
    require(out_sequence != nullptr, "out_sequence is NULL");
    const SamplerOptions sampler = sampler_of(read_options(sampling));
    const std::int32_t number = make(sampling != nullptr ? &sampler : nullptr);
    try {
        *out_sequence = make_handle<volta_sequence>(context, generator, number);
    } catch (...) {
        generator->release(number);
        throw;
    }
}

}  // namespace

// ---- Generator ----

volta_status volta_generator_create(volta_model* model, const volta_generator_options* options,
                                    volta_generator** out_generator) {
    if (out_generator != nullptr) *out_generator = nullptr;
    return guarded([&] {
        require(out_generator != nullptr, "out_generator is NULL");
        require(model != nullptr, "model is NULL");
        const GeneratorOptions given = generator_options(read_options(options));
        const std::pmr::polymorphic_allocator<Generator> heap(model->context->structures());
        *out_generator = make_handle<volta_generator>(
            model->context, std::allocate_shared<Generator>(heap, model->context, model->model, given));
    });
}

void volta_generator_release(volta_generator* generator) {
    unfailing([&] {
        if (generator != nullptr && generator->own >= 0) generator->generator->release(generator->own);
        end_handle(generator);
    });
}

volta_status volta_generator_start(volta_generator* generator, const int32_t* tokens, size_t count) {
    return guarded([&] {
        Generator& self = inner(generator);
        if (generator->own < 0) generator->own = self.create(nullptr);
        self.restart(generator->own, tokens, count);
    });
}

volta_status volta_generator_next(volta_generator* generator, int32_t* out_token) {
    if (out_token != nullptr) *out_token = -1;
    return guarded([&] {
        Generator& self = inner(generator);
        require(out_token != nullptr, "out_token is NULL");
        if (generator->own < 0) fail(VOLTA_INVALID_STATE, "no sequence has been started");
        std::int32_t token = -1;
        self.step(&generator->own, 1, &token);
        *out_token = token;
    });
}

volta_status volta_generator_logits(const volta_generator* generator, const float** out_logits,
                                    size_t* out_count) {
    if (out_logits != nullptr) *out_logits = nullptr;
    if (out_count != nullptr) *out_count = 0;
    return guarded([&] {
        const Generator& self = inner(generator);
        require(out_logits != nullptr && out_count != nullptr, "%s is NULL",
                out_logits == nullptr ? "out_logits" : "out_count");
        if (generator->own < 0) fail(VOLTA_INVALID_STATE, "no token has been drawn yet");
        *out_logits = self.logits(generator->own, out_count);
    });
}

volta_status volta_generator_get_bill(const volta_generator* generator, volta_bill* bill) {
    return guarded([&] { write_report(inner(generator).bill(), bill); });
}

volta_status volta_generator_get_cost(const volta_generator* generator, int64_t position,
                                      volta_token_cost* cost) {
    return guarded([&] {
        const TokenCost counted = inner(generator).cost(position);
        volta_token_cost report = {};
        report.parameter_bytes = counted.parameter_bytes;
        report.cache_bytes = counted.cache_bytes;
        report.operations = counted.operations;
        write_report(report, cost);
    });
}

const char* volta_generator_no_cache_reason(const volta_generator* generator) {
    return generator != nullptr ? generator->generator->no_cache() : "";
}

volta_status volta_generator_step(volta_generator* generator, volta_sequence* const* sequences, size_t count,
                                  int32_t* out_tokens) {
    return guarded([&] {
        Generator& self = inner(generator);
        require(sequences != nullptr || count == 0, "sequences is NULL");
        require(out_tokens != nullptr || count == 0, "out_tokens is NULL");
        std::pmr::vector<std::int32_t>& numbers = self.room_for(count);
        for (size_t i = 0; i < count; ++i) {
            require(sequences[i] != nullptr, "sequence %zu is NULL", i);
            require(sequences[i]->generator == generator->generator, "sequence %zu is another generator's",
                    i);
            numbers[i] = sequences[i]->number;
        }
        self.step(numbers.data(), count, out_tokens);
    });
}

// ---- Sequence ----

volta_status volta_sequence_create(volta_generator* generator, const volta_sampling_options* sampling,
                                   volta_sequence** out_sequence) {
    if (out_sequence != nullptr) *out_sequence = nullptr;
    return guarded([&] {
        Generator& self = inner(generator);
        make_sequence(generator->context, generator->generator, sampling, out_sequence,
                      [&](const SamplerOptions* sampler) { return self.create(sampler); });
    });
}

volta_status volta_sequence_fork(const volta_sequence* sequence, const volta_sampling_options* sampling,
                                 volta_sequence** out_sequence) {
    if (out_sequence != nullptr) *out_sequence = nullptr;
    return guarded([&] {
        const volta_sequence& from = checked(sequence);
        make_sequence(
            from.context, from.generator, sampling, out_sequence,
            [&](const SamplerOptions* sampler) { return from.generator->fork(from.number, sampler); });
    });
}

void volta_sequence_release(volta_sequence* sequence) {
    unfailing([&] {
        if (sequence != nullptr) sequence->generator->release(sequence->number);
        end_handle(sequence);
    });
}

volta_status volta_sequence_append(volta_sequence* sequence, const int32_t* tokens, size_t count) {
    return guarded([&] { checked(sequence).generator->append(sequence->number, tokens, count); });
}

volta_status volta_sequence_rewind(volta_sequence* sequence, size_t count) {
    return guarded([&] { checked(sequence).generator->rewind(sequence->number, count); });
}

volta_status volta_sequence_tokens(const volta_sequence* sequence, const int32_t** out_tokens,
                                   size_t* out_count) {
    if (out_tokens != nullptr) *out_tokens = nullptr;
    if (out_count != nullptr) *out_count = 0;
    return guarded([&] {
        const volta_sequence& self = checked(sequence);
        require(out_tokens != nullptr && out_count != nullptr, "%s is NULL",
                out_tokens == nullptr ? "out_tokens" : "out_count");
        *out_tokens = self.generator->tokens(self.number, out_count);
    });
}

volta_status volta_sequence_logits(const volta_sequence* sequence, const float** out_logits,
                                   size_t* out_count) {
    if (out_logits != nullptr) *out_logits = nullptr;
    if (out_count != nullptr) *out_count = 0;
    return guarded([&] {
        const volta_sequence& self = checked(sequence);
        require(out_logits != nullptr && out_count != nullptr, "%s is NULL",
                out_logits == nullptr ? "out_logits" : "out_count");
        *out_logits = self.generator->logits(self.number, out_count);
    });
}
