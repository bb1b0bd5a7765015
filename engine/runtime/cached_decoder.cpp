// Tokens computed once each. A prompt runs in pieces of rows of one sequence; one token each of many
// sequences is one run of as many rows. All programs share arena, workspace and the cache.
#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/multiples.h"
#include "engine/graph/forms.h"
#include "engine/numerics/define_cached_attention.h"
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

// Keys and values of all layers: where a sequence's lie. They are one block, so that large pages cover it
// where the system grants them; between two tokens the weights have pushed all small pages out of the TLB.
class Cache {
  public:
    explicit Cache(std::pmr::memory_resource* structures) : layers_(structures) {}

    // As the states of `program` say, in the device's memory.
    void allocate(const Program& program) {
        memory_ = &program.memory();
        const Graph& graph = program.plan().graph;
        std::size_t bytes = 0;
        for (const Node& node : graph.nodes) {
            if (node.op != Op::cached_attention) continue;
            const Shape& keys = graph.shape(node.inputs[0]);
            Layer layer;
            layer.layout = {keys[0], keys[1], keys[2] * keys[4], keys[3]};
            for (const int i : {0, 1}) {
                const ValueId state = node.inputs[static_cast<std::size_t>(i)];
                layer.name[i] = &graph.producer(state).name;
                layer.offset[i] = bytes;
                bytes += static_cast<std::size_t>(graph.shape(state).elements()) * sizeof(float);
            }
            layers_.push_back(layer);
        }
        content_ = Block(*memory_, bytes);
        if (memory_->is_host()) prefer_large_pages(content_.data(), content_.bytes());
    }

    void lend_to(DecodeProgram& program) {
        for (const Layer& layer : layers_)
            for (const int i : {0, 1})
                program.lend(RegionKind::state, layer.name[i]->c_str(), floats(layer.offset[i]));
    }

    // Throws what the device reports.
    void copy(const Program& program, std::int64_t from, std::int64_t to, std::int64_t tokens) {
        const auto copy_floats = [&](const float* source, float* target, std::int64_t count) {
            program.require_ran(
                memory_->copy(target, source, static_cast<std::size_t>(count) * sizeof(float)));
        };
        for (const Layer& layer : layers_) {
            const define::CacheLayout& layout = layer.layout;
            float *const keys = floats(layer.offset[0]), *const values = floats(layer.offset[1]);
            const std::int64_t rounded = round_up(tokens, define::kCachePanel);
            for (std::int64_t head = 0; head < layout.kv_heads; ++head) {
                copy_floats(keys + layout.key_head(from, head), keys + layout.key_head(to, head),
                            rounded * layout.head_dim);
                for (std::int64_t c = 0; c < layout.head_dim; c += define::kCachePanel)
                    copy_floats(values + layout.value_head(from, head) + layout.value(0, c),
                                values + layout.value_head(to, head) + layout.value(0, c),
                                tokens * define::kCachePanel);
            }
        }
    }

    std::uint64_t bytes() const { return content_.bytes(); }

  private:
    struct Layer {
        define::CacheLayout layout;
        const std::pmr::string* name[2];  // of the states; programs live as long as the context
        std::size_t offset[2];            // keys, values: whole panels, so that all begin at whole lines
    };
    float* floats(std::size_t offset) const {
        return reinterpret_cast<float*>(static_cast<unsigned char*>(content_.data()) + offset);
    }
    Memory* memory_ = nullptr;
    Block content_;
    std::pmr::vector<Layer> layers_;
};

class CachedDecoder final : public Decoder {
  public:
    CachedDecoder(const ContextRef& context, const ModelRef& model, const DecoderSizes& sizes)
        : context_(context),
          model_(model),
          sizes_(sizes),
          parameters_(*context, *model),
          steps_(context->structures()),
          pieces_(context->structures()),
          cache_(context->structures()) {
        std::int64_t rows = 1;
        for (; rows < sizes.slots; rows = next_rows(rows)) prepare(steps_, rows, rows);
        prepare(steps_, rows, rows);
        for (rows = std::min(kShortestPiece, sizes.chunk); rows < sizes.chunk; rows = next_rows(rows))
            prepare(pieces_, rows, 1);
        prepare(pieces_, sizes.chunk, 1);
        prepare(silent_, sizes.chunk, 0);
        cache_.allocate(steps_[0].memory().program());
        allocate();
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
            batch()[row++] = &sequence;
        }
        if (row > 0) run_step(row);
    }

    bool run_piece_of(SequenceState& sequence) override {
        if (sequence.used - sequence.cached <= sizes_.chunk) return false;
        run_piece(silent_[0], sequence, sizes_.chunk);
        return true;
    }

    void copy(const SequenceState& from, const SequenceState& to, std::int64_t tokens) override {
        cache_.copy(steps_[0].memory().program(), from.slot, to.slot, tokens);
    }

    void add_to(volta_bill& bill) const override {
        const auto add = [&](const std::pmr::vector<DecodeProgram>& programs) {
            for (const DecodeProgram& program : programs) program.memory().add_to(bill);
        };
        add(steps_), add(pieces_), add(silent_);
        parameters_.add_to(bill);
        const std::uint64_t staging = rows_.held_bytes() + logits_.held_bytes() + batch_.bytes();
        bill.activations += arena_.bytes();
        bill.workspace += workspace_.bytes();
        bill.staging += staging;
        bill.cache += cache_.bytes();
        bill.total += arena_.bytes() + workspace_.bytes() + staging + cache_.bytes();
    }

    TokenCost cost(std::int64_t position) const override {
        return token_cost(steps_.front().memory().program().plan().graph, position);
    }

  private:
    void prepare(std::pmr::vector<DecodeProgram>& programs, std::int64_t rows, std::int64_t logit_rows) {
        DecodeShape shape;
        shape.rows = rows;
        shape.logit_rows = logit_rows;
        shape.slots = sizes_.slots;
        shape.capacity = round_up(sizes_.context, define::kCachePanel);
        std::pmr::memory_resource* const heap = context_->structures();
        const Program& program = context_->plans().prepare(decode_graph(model_->graph, shape, heap), {});
        programs.emplace_back(program, rows, heap);
        arena_bytes_ = std::max(arena_bytes_, programs.back().memory().arena_bytes());
        workspace_bytes_ = std::max<std::uint64_t>(workspace_bytes_, program.workspace_bytes());
        most_rows_ = std::max(most_rows_, rows);
        most_logits_ = std::max(most_logits_, logit_rows);
    }

    void allocate() {
        Memory &memory = context_->memory(), &staging = context_->staging();
        arena_ = Block(memory, arena_bytes_);
        workspace_ = Block(memory, workspace_bytes_);
        rows_ = Exchange(memory, staging, static_cast<std::size_t>(4 * most_rows_) * sizeof(std::int32_t));
        batch_ = Block(staging, static_cast<std::size_t>(steps_.back().rows()) * sizeof(SequenceState*));
        logits_ = Exchange(memory, staging,
                           static_cast<std::size_t>(most_logits_ * sizes_.vocabulary) * sizeof(float));
        for (auto* programs : {&steps_, &pieces_, &silent_})
            for (DecodeProgram& program : *programs) {
                program.memory().lend_scratch(arena_.data(), workspace_.data());
                const Program& compiled = program.memory().program();
                const char* const inputs[] = {token_input(compiled, context_->structures()), kPositionInput,
                                              kSlotInput, kLogitRowInput};
                for (std::size_t i = 0; i < 4; ++i)
                    program.place(RegionKind::input, inputs[i], rows_, input_offset(i));
                program.place(RegionKind::output, "logits", logits_, 0);
                parameters_.lend_to(program.memory(), *model_);
                cache_.lend_to(program);
                program.memory().allocate();
            }
    }

    // The inputs of a run, one behind the other.
    std::size_t input_offset(std::size_t i) const {
        return i * static_cast<std::size_t>(most_rows_) * sizeof(std::int32_t);
    }
    std::int32_t* input(std::size_t i) { return static_cast<std::int32_t*>(rows_.host(input_offset(i))); }
    std::int32_t* tokens() { return input(0); }
    std::int32_t* positions() { return input(1); }
    std::int32_t* slots() { return input(2); }
    std::int32_t* logit_rows() { return input(3); }
    SequenceState** batch() { return static_cast<SequenceState**>(batch_.data()); }

    void set_row(std::int64_t row, const SequenceState& sequence, std::int64_t position) {
        tokens()[row] = sequence.tokens[position];
        positions()[row] = static_cast<std::int32_t>(position);
        slots()[row] = sequence.slot;
    }
    // Rows that no token needs.
    void pad(std::int64_t row, std::int64_t rows) {
        for (; row < rows; ++row) tokens()[row] = positions()[row] = 0, slots()[row] = -1;
    }

    static DecodeProgram& smallest(std::pmr::vector<DecodeProgram>& programs, std::int64_t rows) {
        DecodeProgram* program = programs.data();
        while (program->rows() < rows) ++program;
        return *program;
    }

    // One token each of batch()[0 .. count - 1], whose rows are set.
    void run_step(std::int64_t count) {
        const ProfileCall call(*context_, "decode", count);
        DecodeProgram& program = smallest(steps_, count);
        pad(count, program.rows());
        for (std::int64_t row = 0; row < program.rows(); ++row)
            logit_rows()[row] = static_cast<std::int32_t>(row);
        program.run(parameters_, *model_);
        for (std::int64_t row = 0; row < count; ++row) finish(*batch()[row], row);
    }

    void run_prompt(SequenceState& sequence) {
        while (run_piece_of(sequence)) {
        }
        const std::int64_t rest = sequence.used - sequence.cached;
        run_piece(smallest(pieces_, rest), sequence, rest);
        finish(sequence, 0);
    }

    void run_piece(DecodeProgram& program, SequenceState& sequence, std::int64_t count) {
        const ProfileCall call(*context_, "prefill", count);
        for (std::int64_t row = 0; row < count; ++row) set_row(row, sequence, sequence.cached + row);
        pad(count, program.rows());
        logit_rows()[0] = static_cast<std::int32_t>(count - 1);
        program.run(parameters_, *model_);
        sequence.cached += count;
    }

    void finish(SequenceState& sequence, std::int64_t row) {
        sequence.cached = sequence.used;
        std::memcpy(sequence.logits, static_cast<const float*>(logits_.host()) + row * sizes_.vocabulary,
                    static_cast<std::size_t>(sizes_.vocabulary) * sizeof(float));
    }

    const ContextRef context_;
    const ModelRef model_;
    const DecoderSizes sizes_;
    ModelMemory parameters_;
    // steps_: one token of each of `rows` sequences. pieces_: of one prompt, with the last row's logits.
    // silent_: a whole chunk of a prompt that goes on.
    std::pmr::vector<DecodeProgram> steps_, pieces_, silent_{steps_.get_allocator()};
    Cache cache_;
    std::uint64_t arena_bytes_ = 0, workspace_bytes_ = 0;
    std::int64_t most_rows_ = 0, most_logits_ = 0;
    Block arena_, workspace_, batch_;  // the last: the host's
    Exchange rows_, logits_;           // of all programs, of which one runs at a time
};

}  // namespace

DecoderPtr make_cached_decoder(const ContextRef& context, const ModelRef& model, const DecoderSizes& sizes) {
    std::pmr::memory_resource* const heap = context->structures();
    return DecoderPtr(make_on<CachedDecoder>(heap, context, model, sizes).release(),
                      DecoderDelete{heap, sizeof(CachedDecoder), alignof(CachedDecoder)});
}

}  // namespace volta
