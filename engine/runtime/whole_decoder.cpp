// The whole sequence for every token, in the smallest of a few compiled lengths that holds it. Positions
// after the sequence are padding that no earlier row can see, so the bits are those of the exact length.
#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/graph/step_input.h"
#include "engine/model/gpt.h"
#include "engine/runtime/decode_graph.h"
#include "engine/runtime/decoder.h"
#include "engine/runtime/profile.h"

namespace volta {
namespace {

constexpr std::int64_t kShortest = 16;

Graph last_row_graph(const Graph& model, std::int64_t time, std::pmr::memory_resource* heap) {
    const Graph inference = without_dropout(model, heap);
    const Shape tokens{1, time};
    Graph graph = specialize(inference, &tokens, 1, heap);
    keep_logit_rows(graph, time, graph.input(name_of(StepInput::logit_row), DType::i32, Shape{1}));
    return graph;
}

class WholeDecoder final : public Decoder {
  public:
    WholeDecoder(const ContextRef& context, const ModelRef& model, const DecoderSizes& sizes)
        : context_(context),
          model_(model),
          sizes_(sizes),
          parameters_(*context, *model),
          programs_(context->structures()) {
        std::pmr::memory_resource* const heap = context->structures();
        std::uint64_t arena = 0, workspace = 0;
        for (std::int64_t length = kShortest;; length *= 2) {
            length = std::min(length, sizes.context);
            const Program& program = context->plans().prepare(last_row_graph(model->graph, length, heap), {});
            check_decode_program(program, 1, sizes.vocabulary, length, heap);
            programs_.emplace_back(program, length, heap);
            arena = std::max(arena, programs_.back().memory().arena_bytes());
            workspace = std::max<std::uint64_t>(workspace, program.workspace_bytes());
            if (length == sizes.context) break;
        }
        Memory &memory = context->memory(), &staging = context->staging();
        arena_ = Block(memory, arena);
        workspace_ = Block(memory, workspace);
        tokens_ = Block(staging, static_cast<std::size_t>(sizes.context) * sizeof(std::int32_t));
        logits_ = Exchange(memory, staging, static_cast<std::size_t>(sizes.vocabulary) * sizeof(float));
        for (DecodeProgram& program : programs_) {
            program.memory().lend_scratch(arena_.data(), workspace_.data());
            program.lend(RegionKind::input, token_input(program.memory().program(), heap), tokens_.data());
            program.lend(RegionKind::input, name_of(StepInput::logit_row), &last_);
            program.place(RegionKind::output, "logits", logits_, 0);
            parameters_.lend_to(program.memory(), *model_);
            program.memory().allocate();
        }
    }

    std::int64_t room() const override { return sizes_.context; }
    void grow(std::int64_t, SequenceState* const*, std::size_t) override {}  // unreachable: never too small

    void run(SequenceState* const* sequences, std::size_t count) override {
        for (std::size_t i = 0; i < count; ++i) {
            SequenceState& sequence = *sequences[i];
            DecodeProgram* program = programs_.data();
            while (program->rows() < sequence.used) ++program;
            const ProfileCall call(*context_, "prefill",
                                   sequence.used);  // each token runs all that were before it
            const auto used = static_cast<std::size_t>(sequence.used);
            auto* const tokens = static_cast<std::int32_t*>(tokens_.data());
            std::memcpy(tokens, sequence.tokens, used * sizeof(std::int32_t));
            std::fill(tokens + used, tokens + program->rows(), 0);
            last_ = static_cast<std::int32_t>(sequence.used - 1);
            program->run(parameters_, *model_);
            std::memcpy(sequence.logits, logits_.host(),
                        static_cast<std::size_t>(sizes_.vocabulary) * sizeof(float));
        }
    }

    bool run_piece_of(SequenceState&) override { return false; }

    void copy(const SequenceState&, const SequenceState&, std::int64_t) override {}

    void add_to(volta_bill& bill) const override {
        parameters_.add_to(bill);
        for (const DecodeProgram& program : programs_) program.memory().add_to(bill);
        bill.activations += arena_.bytes();
        bill.workspace += workspace_.bytes();
        const std::uint64_t staging = tokens_.bytes() + logits_.held_bytes();
        bill.staging += staging;
        bill.total += arena_.bytes() + workspace_.bytes() + staging;
    }

    TokenCost cost(std::int64_t position) const override {
        const DecodeProgram* program = programs_.data();
        while (program->rows() <= position) ++program;
        return token_cost(program->memory().program().plan().graph, position);
    }

  private:
    const ContextRef context_;
    const ModelRef model_;
    const DecoderSizes sizes_;
    ModelMemory parameters_;
    std::pmr::vector<DecodeProgram> programs_;  // ascending; the last one is the context
    Block arena_, workspace_, tokens_;          // the last: the host's
    Exchange logits_;                           // of all programs, of which one runs at a time
    std::int32_t last_ = 0;
};

}  // namespace

DecoderPtr make_whole_decoder(const ContextRef& context, const ModelRef& model, const DecoderSizes& sizes) {
    std::pmr::memory_resource* const heap = context->structures();
    return DecoderPtr(make_on<WholeDecoder>(heap, context, model, sizes).release(),
                      DecoderDelete{heap, sizeof(WholeDecoder), alignof(WholeDecoder)});
}

}  // namespace volta
