// Tokens computed once each. A prompt runs in pieces of rows of one sequence; one token each of many
// sequences is one run of as many rows. All programs share arena, workspace and the cache; a cache that grows
// has programs of its own for each size.
#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/multiples.h"
#include "engine/graph/forms.h"
#include "engine/graph/step_input.h"
#include "engine/runtime/decode_angles.h"
#include "engine/runtime/decode_cache.h"
#include "engine/runtime/decode_graph.h"
#include "engine/runtime/decoder.h"
#include "engine/runtime/profile.h"

namespace volta {
namespace {

// 1, 2, 3, 4, 6, 8, 12, 16, ...: a run has at most a third more rows than tokens.
std::int64_t next_rows(std::int64_t rows) {
    if (rows < 4) return rows + 1;
    const bool is_power = (rows & (rows - 1)) == 0;
    return is_power ? rows + rows / 2 : rows + rows / 3;
}
constexpr std::int64_t kShortestPiece = 4;  // of a prompt; a shorter one is padded

// All that depends on how many tokens the cache has room for.
class RowPrograms final {
  public:
    RowPrograms(Context& context, const Model& model, const DecoderSizes& sizes, std::int64_t capacity,
                ModelMemory& parameters)
        : context_(context),
          capacity_(capacity),
          steps_(context.structures()),
          pieces_(context.structures()),
          silent_(context.structures()) {
        std::int64_t rows = 1;
        for (; rows < sizes.slots; rows = next_rows(rows)) prepare(steps_, model, sizes, rows, rows);
        prepare(steps_, model, sizes, rows, rows);
        for (rows = std::min(kShortestPiece, sizes.chunk); rows < sizes.chunk; rows = next_rows(rows))
            prepare(pieces_, model, sizes, rows, 1);
        prepare(pieces_, model, sizes, sizes.chunk, 1);
        prepare(silent_, model, sizes, sizes.chunk, 0);
        cache_ = make_on<DecodeCache>(context.structures(), first(), context.structures());
        angles_ = make_on<DecodeAngles>(context.structures(), context, model.graph, capacity);
        allocate(sizes.vocabulary);
        for (auto* programs : {&steps_, &pieces_, &silent_})
            for (DecodeProgram& program : *programs) {
                lend_to(program);
                parameters.lend_to(program.memory(), model);
                program.memory().allocate();
            }
    }
    RowPrograms(const RowPrograms&) = delete;  // programs point at what is here
    RowPrograms& operator=(const RowPrograms&) = delete;

    std::int64_t capacity() const { return capacity_; }
    DecodeCache& cache() { return *cache_; }
    // Before a run of rows at positions below `positions`.
    void cover(std::int64_t positions) { angles_->cover(first(), positions); }
    const Program& first() const { return steps_.front().memory().program(); }
    // The smallest with so many rows: one token each of `rows` sequences; rows of one prompt, with the last
    // one's logits; a whole chunk of a prompt that goes on.
    DecodeProgram& step(std::int64_t rows) { return smallest(steps_, rows); }
    DecodeProgram& piece(std::int64_t rows) { return smallest(pieces_, rows); }
    DecodeProgram& silent() { return silent_.front(); }

    // Of all programs, of which one runs at a time.
    std::int32_t* tokens() { return input(0); }
    std::int32_t* positions() { return input(1); }
    std::int32_t* slots() { return input(2); }
    std::int32_t* logit_rows() { return input(3); }
    SequenceState** batch() { return static_cast<SequenceState**>(batch_.data()); }
    const float* logits() const { return static_cast<const float*>(logits_.host()); }

    void add_to(volta_bill& bill) const {
        for (const auto* programs : {&steps_, &pieces_, &silent_})
            for (const DecodeProgram& program : *programs) program.memory().add_to(bill);
        const std::uint64_t staging =
            rows_.held_bytes() + logits_.held_bytes() + batch_.bytes() + angles_->staging_bytes();
        const std::uint64_t kept = cache_->bytes() + angles_->device_bytes();
        bill.activations += arena_.bytes();
        bill.workspace += workspace_.bytes();
        bill.staging += staging;
        bill.cache += kept;
        bill.total += arena_.bytes() + workspace_.bytes() + staging + kept;
    }

  private:
    void prepare(std::pmr::vector<DecodeProgram>& programs, const Model& model, const DecoderSizes& sizes,
                 std::int64_t rows, std::int64_t logit_rows) {
        DecodeShape shape;
        shape.rows = rows;
        shape.logit_rows = logit_rows;
        shape.slots = sizes.slots;
        shape.capacity = capacity_;
        std::pmr::memory_resource* const heap = context_.structures();
        const Program& program = context_.plans().prepare(decode_graph(model.graph, shape, heap), {});
        check_decode_program(program, logit_rows, sizes.vocabulary, std::min(sizes.context, capacity_), heap);
        programs.emplace_back(program, rows, heap);
        arena_bytes_ = std::max(arena_bytes_, programs.back().memory().arena_bytes());
        workspace_bytes_ = std::max<std::uint64_t>(workspace_bytes_, program.workspace_bytes());
        most_rows_ = std::max(most_rows_, rows);
        most_logits_ = std::max(most_logits_, logit_rows);
    }

    void allocate(std::int64_t vocabulary) {
        Memory &memory = context_.memory(), &staging = context_.staging();
        arena_ = Block(memory, arena_bytes_);
        workspace_ = Block(memory, workspace_bytes_);
        rows_ = Exchange(memory, staging, static_cast<std::size_t>(4 * most_rows_) * sizeof(std::int32_t));
        batch_ = Block(staging, static_cast<std::size_t>(steps_.back().rows()) * sizeof(SequenceState*));
        logits_ =
            Exchange(memory, staging, static_cast<std::size_t>(most_logits_ * vocabulary) * sizeof(float));
    }

    void lend_to(DecodeProgram& program) {
        program.memory().lend_scratch(arena_.data(), workspace_.data());
        const Program& compiled = program.memory().program();
        const char* const inputs[] = {token_input(compiled, context_.structures()),
                                      name_of(StepInput::position), name_of(StepInput::slot),
                                      name_of(StepInput::logit_row)};
        for (std::size_t i = 0; i < 4; ++i)
            program.place(RegionKind::input, inputs[i], rows_, input_offset(i));
        program.place(RegionKind::output, "logits", logits_, 0);
        cache_->lend_to(program);
        angles_->lend_to(program);
    }

    static DecodeProgram& smallest(std::pmr::vector<DecodeProgram>& programs, std::int64_t rows) {
        DecodeProgram* program = programs.data();
        while (program->rows() < rows) ++program;
        return *program;
    }

    // The inputs of a run, one behind the other.
    std::size_t input_offset(std::size_t i) const {
        return i * static_cast<std::size_t>(most_rows_) * sizeof(std::int32_t);
    }
    std::int32_t* input(std::size_t i) { return static_cast<std::int32_t*>(rows_.host(input_offset(i))); }

    Context& context_;
    const std::int64_t capacity_;  // tokens of a sequence, whole panels
    std::pmr::vector<DecodeProgram> steps_, pieces_, silent_;
    HeapPtr<DecodeCache> cache_;
    HeapPtr<DecodeAngles> angles_;
    std::uint64_t arena_bytes_ = 0, workspace_bytes_ = 0;
    std::int64_t most_rows_ = 0, most_logits_ = 0;
    Block arena_, workspace_, batch_;  // the last: the host's
    Exchange rows_, logits_;
};

class CachedDecoder final : public Decoder {
  public:
    CachedDecoder(const ContextRef& context, const ModelRef& model, const DecoderSizes& sizes)
        : context_(context), model_(model), sizes_(sizes), parameters_(*context, *model) {
        programs_ = programs_for(sizes.cache);
    }

    std::int64_t room() const override { return std::min(programs_->capacity(), sizes_.context); }

    // By doubling, so that all copies of a sequence that goes on cost less than as many tokens again.
    void grow(std::int64_t tokens, SequenceState* const* kept, std::size_t count) override {
        const std::int64_t doubled = std::min(2 * programs_->capacity(), sizes_.context);
        HeapPtr<RowPrograms> larger = programs_for(std::max(tokens, doubled));
        for (std::size_t i = 0; i < count; ++i)
            larger->cache().copy(programs_->cache(), kept[i]->slot, kept[i]->slot, kept[i]->cached);
        programs_ = std::move(larger);
    }

    void run(SequenceState* const* sequences, std::size_t count) override {
        // Prompts one after the other; then one token of each of the others. Both use the same inputs.
        for (std::size_t i = 0; i < count; ++i)
            if (sequences[i]->used - sequences[i]->cached > 1) run_prompt(*sequences[i]);
        std::int64_t row = 0;
        for (std::size_t i = 0; i < count; ++i) {
            SequenceState& sequence = *sequences[i];
            if (sequence.used == sequence.cached) continue;
            set_row(row, sequence, sequence.cached);
            programs_->batch()[row++] = &sequence;
        }
        if (row > 0) run_step(row);
    }

    bool run_piece_of(SequenceState& sequence) override {
        if (sequence.used - sequence.cached <= sizes_.chunk) return false;
        run_piece(programs_->silent(), sequence, sizes_.chunk);
        return true;
    }

    void copy(const SequenceState& from, const SequenceState& to, std::int64_t tokens) override {
        programs_->cache().copy(programs_->cache(), from.slot, to.slot, tokens);
    }

    void add_to(volta_bill& bill) const override {
        programs_->add_to(bill);
        parameters_.add_to(bill);
    }

    TokenCost cost(std::int64_t position) const override {
        return token_cost(programs_->first().plan().graph, position);
    }

  private:
    HeapPtr<RowPrograms> programs_for(std::int64_t tokens) {
        return make_on<RowPrograms>(context_->structures(), *context_, *model_, sizes_,
                                    round_up(tokens, define::kCachePanel), parameters_);
    }

    void set_row(std::int64_t row, const SequenceState& sequence, std::int64_t position) {
        programs_->tokens()[row] = sequence.tokens[position];
        programs_->positions()[row] = static_cast<std::int32_t>(position);
        programs_->slots()[row] = sequence.slot;
        programs_->cover(position + 1);
    }
    // Rows that no token needs.
    void pad(std::int64_t row, std::int64_t rows) {
        for (; row < rows; ++row) {
            programs_->tokens()[row] = programs_->positions()[row] = 0;
            programs_->slots()[row] = -1;
        }
    }

    // One token each of batch()[0 .. count - 1], whose rows are set.
    void run_step(std::int64_t count) {
        const ProfileCall call(*context_, "decode", count);
        DecodeProgram& program = programs_->step(count);
        pad(count, program.rows());
        for (std::int64_t row = 0; row < program.rows(); ++row)
            programs_->logit_rows()[row] = static_cast<std::int32_t>(row);
        program.run(parameters_, *model_);
        for (std::int64_t row = 0; row < count; ++row) finish(*programs_->batch()[row], row);
    }

    void run_prompt(SequenceState& sequence) {
        while (run_piece_of(sequence)) context_->stop().ask("the next piece of the prompt");
        const std::int64_t rest = sequence.used - sequence.cached;
        run_piece(programs_->piece(rest), sequence, rest);
        finish(sequence, 0);
    }

    void run_piece(DecodeProgram& program, SequenceState& sequence, std::int64_t count) {
        const ProfileCall call(*context_, "prefill", count);
        for (std::int64_t row = 0; row < count; ++row) set_row(row, sequence, sequence.cached + row);
        pad(count, program.rows());
        programs_->logit_rows()[0] = static_cast<std::int32_t>(count - 1);
        program.run(parameters_, *model_);
        sequence.cached += count;
    }

    void finish(SequenceState& sequence, std::int64_t row) {
        sequence.cached = sequence.used;
        std::memcpy(sequence.logits, programs_->logits() + row * sizes_.vocabulary,
                    static_cast<std::size_t>(sizes_.vocabulary) * sizeof(float));
    }

    const ContextRef context_;
    const ModelRef model_;
    const DecoderSizes sizes_;
    ModelMemory parameters_;
    HeapPtr<RowPrograms> programs_;
};

}  // namespace

DecoderPtr make_cached_decoder(const ContextRef& context, const ModelRef& model, const DecoderSizes& sizes) {
    std::pmr::memory_resource* const heap = context->structures();
    return DecoderPtr(make_on<CachedDecoder>(heap, context, model, sizes).release(),
                      DecoderDelete{heap, sizeof(CachedDecoder), alignof(CachedDecoder)});
}

}  // namespace volta
