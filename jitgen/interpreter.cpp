#include "jitgen/interpreter.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "jitgen/row_reduction.h"

namespace volta::jit {
namespace {

using Word = std::uint32_t;

constexpr std::int64_t kBlock = 128;  // columns per instruction; a multiple of 32 that divides kSumChunk

std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

float real_of(Word word) {
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
}
Word word_of(float value) {
    Word word;
    std::memcpy(&word, &value, sizeof word);
    return word;
}

// One call: its arguments, where its scratch lies, and the block at hand.
struct Frame {
    const RowArgs& args;
    Word* words;   // one per value: of Rate::call and Rate::row
    Word* blocks;  // kBlock words each: values of loops
    RowReduction* reductions;
    char* kept;    // kept rows
    char* chunks;  // chunk results of row sums
    std::size_t kept_bytes, chunk_bytes;
    std::int64_t row = 0, column = 0, count = 0;  // `count` columns from `column`

    template <class T>
    T* element(const RowPlan& plan, const Instruction& x) const {
        T* const base = static_cast<T*>(args.operands[x.a]);
        switch (plan.operands[x.a].access) {
            case Access::full:
                return base + row * args.row_strides[x.a] + column;
            case Access::per_row:
                return base + row * args.row_strides[x.a];
            case Access::per_column:
                return base + column;
            default:
                return base + x.immediate;
        }
    }
    Word* block(std::int32_t number) const { return blocks + number * kBlock; }
    Word* kept_row(int number) const {
        return reinterpret_cast<Word*>(kept + static_cast<std::size_t>(number) * kept_bytes) + column;
    }
    float* chunk_row(int number) const {
        return reinterpret_cast<float*>(chunks + static_cast<std::size_t>(number) * chunk_bytes);
    }
};

class Interpreter final : public RowKernel {
  public:
    Interpreter(const Program& program, std::pmr::memory_resource* heap);
    void run(const RowArgs& args) const noexcept override;
    std::size_t scratch_bytes(std::int64_t columns) const noexcept override {
        return fixed_bytes() + jit::scratch_bytes(plan_, columns);
    }

  private:
    std::size_t fixed_bytes() const {  // words, blocks, reductions
        return padded(plan_.code.size() * sizeof(Word)) +
               static_cast<std::size_t>(blocks_) * kBlock * sizeof(Word) +
               padded(static_cast<std::size_t>(reductions_) * sizeof(RowReduction));
    }
    void assign_blocks(std::pmr::memory_resource* heap);
    void assign_loop(int t, std::pmr::memory_resource* heap);
    Frame frame_of(const RowArgs& args) const noexcept;

    void run_rows(Frame& frame) const noexcept;
    void run_columns(Frame& frame) const noexcept;
    void run_uniform(Frame& frame, std::int32_t id) const noexcept;
    void broadcast(Frame& frame, Rate rate) const noexcept;
    void run_loop(Frame& frame, int t) const noexcept;
    void run_step(Frame& frame, std::int32_t id) const noexcept;
    void close_segment(Frame& frame, bool stored) const noexcept;
    Word* value(const Frame& frame, std::int32_t id) const noexcept {
        return plan_.kept_row[id] >= 0 ? frame.kept_row(plan_.kept_row[id]) : frame.block(block_of_[id]);
    }

    RowPlan plan_;
    std::pmr::vector<std::int32_t> block_of_;  // per value, and per column sum (its accumulator); -1: none
    std::pmr::vector<std::int32_t> state_of_;  // per row reduction: its RowReduction; also its chunk row
    std::pmr::vector<std::int32_t> uniforms_;  // values of Rate::call and Rate::row that loops use
    int blocks_ = 0, reductions_ = 0;
};

Interpreter::Interpreter(const Program& program, std::pmr::memory_resource* heap)
    : RowKernel(Program(program, heap), false),
      plan_(program, heap),
      block_of_(program.code.size(), -1, heap),
      state_of_(program.code.size(), -1, heap),
      uniforms_(heap) {
    // Row sums first, so that their numbers count the chunk rows.
    for (const bool sums : {true, false})
        for (std::size_t id = 0; id < plan_.code.size(); ++id)
            if (is_row_reduction(plan_.code[id].code) && (plan_.code[id].code == Code::row_sum) == sums)
                state_of_[id] = reductions_++;
    assign_blocks(heap);
}

void Interpreter::assign_blocks(std::pmr::memory_resource* heap) {
    for (const Stage& stage : plan_.stages)
        for (const std::int32_t id : stage.loop_code) {
            if (plan_.code[id].code == Code::column_sum) block_of_[id] = blocks_++;
            for (const std::int32_t argument : arguments_of(plan_.code[id])) {
                if (plan_.rates[argument] == Rate::column || block_of_[argument] >= 0) continue;
                block_of_[argument] = blocks_++;
                uniforms_.push_back(argument);
            }
        }
    for (int t = 0; t < static_cast<int>(plan_.stages.size()); ++t) assign_loop(t, heap);
}

// A value that several stages compute keeps its block number in all of them; blocks are reused after a
// value's last use within a stage only when the value lives in one stage.
void Interpreter::assign_loop(int t, std::pmr::memory_resource* heap) {
    const auto& code = plan_.stages[t].loop_code;
    std::pmr::vector<std::int32_t> last_use(plan_.code.size(), -1, heap), free(heap);
    for (std::size_t at = 0; at < code.size(); ++at)
        for (const std::int32_t argument : arguments_of(plan_.code[code[at]]))
            last_use[argument] = static_cast<std::int32_t>(at);
    const auto is_shared = [&](std::int32_t id) {
        for (int other = 0; other < static_cast<int>(plan_.stages.size()); ++other)
            if (other != t &&
                std::count(plan_.stages[other].loop_code.begin(), plan_.stages[other].loop_code.end(), id))
                return true;
        return false;
    };
    for (std::size_t at = 0; at < code.size(); ++at) {
        const std::int32_t id = code[at];
        const Code kind = plan_.code[id].code;
        const bool has_value = !is_row_reduction(kind) && kind != Code::store && kind != Code::column_sum;
        if (has_value && block_of_[id] < 0 && plan_.kept_row[id] < 0) {
            if (is_shared(id) || free.empty()) {
                block_of_[id] = blocks_++;
            } else {
                block_of_[id] = free.back();
                free.pop_back();
            }
        }
        for (const std::int32_t argument : arguments_of(plan_.code[id]))
            if (last_use[argument] == static_cast<std::int32_t>(at) &&
                plan_.rates[argument] == Rate::column && plan_.kept_row[argument] < 0 &&
                !is_shared(argument)) {
                free.push_back(block_of_[argument]);
                last_use[argument] = -1;  // an instruction may name it twice
            }
    }
}

Frame Interpreter::frame_of(const RowArgs& args) const noexcept {
    char* at = static_cast<char*>(args.scratch);
    const auto take = [&at](std::size_t bytes) {
        char* const begin = at;
        at += bytes;
        return begin;
    };
    const std::size_t kept_bytes = kept_row_bytes(args.columns), chunk_bytes = chunk_row_bytes(args.columns);
    Word* const words = reinterpret_cast<Word*>(take(padded(plan_.code.size() * sizeof(Word))));
    Word* const blocks =
        reinterpret_cast<Word*>(take(static_cast<std::size_t>(blocks_) * kBlock * sizeof(Word)));
    auto* const reductions = reinterpret_cast<RowReduction*>(
        take(padded(static_cast<std::size_t>(reductions_) * sizeof(RowReduction))));
    char* const kept = take(static_cast<std::size_t>(plan_.kept_rows) * kept_bytes);
    return Frame{args, words, blocks, reductions, kept, at, kept_bytes, chunk_bytes};
}

void Interpreter::run(const RowArgs& args) const noexcept {
    Frame frame = frame_of(args);
    for (std::size_t id = 0; id < plan_.code.size(); ++id)
        if (plan_.code[id].code == Code::constant) frame.words[id] = plan_.code[id].immediate;
    for (const std::int32_t id : plan_.call_code) run_uniform(frame, id);
    broadcast(frame, Rate::call);
    if (plan_.column_sums)
        run_columns(frame);
    else
        run_rows(frame);
}

// A value that is one word: for the whole call or for the row at hand.
void Interpreter::run_uniform(Frame& frame, std::int32_t id) const noexcept {
    const Instruction& x = plan_.code[id];
    Word* const words = frame.words;
    switch (x.code) {
        case Code::load:
            words[id] = *frame.element<const Word>(plan_, x);
            return;
        case Code::store:
            *frame.element<Word>(plan_, x) = words[x.b];
            return;
        case Code::row_index:
            words[id] = frame.args.first_row + static_cast<Word>(frame.row);
            return;
        case Code::row_length:
            words[id] = word_of(static_cast<float>(frame.args.columns));
            return;
        default:
            evaluate(x, &words[id], &words[std::max(x.a, 0)], &words[std::max(x.b, 0)],
                     &words[std::max(x.c, 0)], 1);
    }
}

// Copies one-word values that loops use into their blocks.
void Interpreter::broadcast(Frame& frame, Rate rate) const noexcept {
    const std::int64_t n = std::min(kBlock, frame.args.columns);
    for (const std::int32_t id : uniforms_)
        if (plan_.rates[id] == rate) std::fill_n(frame.block(block_of_[id]), n, frame.words[id]);
}

void Interpreter::run_rows(Frame& frame) const noexcept {
    for (frame.row = 0; frame.row < frame.args.rows; ++frame.row) {
        for (int t = 0; t < static_cast<int>(plan_.stages.size()); ++t) {
            frame.column = 0;
            for (const std::int32_t id : plan_.stages[t].row_code) run_uniform(frame, id);
            broadcast(frame, Rate::row);
            run_loop(frame, t);
        }
    }
}

void Interpreter::run_loop(Frame& frame, int t) const noexcept {
    const auto& code = plan_.stages[t].loop_code;
    for (const std::int32_t id : code)
        if (state_of_[id] >= 0) frame.reductions[state_of_[id]].begin(frame.args.first_column);
    if (!code.empty())
        for (frame.column = 0; frame.column < frame.args.columns; frame.column += kBlock) {
            frame.count = std::min(kBlock, frame.args.columns - frame.column);
            for (const std::int32_t id : code) run_step(frame, id);
        }
    for (const std::int32_t id : code) {
        const int state = state_of_[id];
        if (state < 0) continue;
        const Code kind = plan_.code[id].code;
        float* const chunks = kind == Code::row_sum ? frame.chunk_row(state) : nullptr;
        frame.words[id] = frame.reductions[state].result(kind, chunks);
    }
}

// One instruction on the block at hand.
void Interpreter::run_step(Frame& frame, std::int32_t id) const noexcept {
    const Instruction& x = plan_.code[id];
    const std::size_t bytes = static_cast<std::size_t>(frame.count) * sizeof(Word);
    switch (x.code) {
        case Code::load:
            std::memcpy(value(frame, id), frame.element<const Word>(plan_, x), bytes);
            return;
        case Code::store:
            std::memcpy(frame.element<Word>(plan_, x), value(frame, x.b), bytes);
            return;
        case Code::column_index:
            for (std::int64_t i = 0; i < frame.count; ++i)
                value(frame, id)[i] = frame.args.first_column + static_cast<Word>(frame.column + i);
            return;
        case Code::row_sum:
        case Code::row_max:
        case Code::row_argmax: {
            const int state = state_of_[id];
            float* const chunks = x.code == Code::row_sum ? frame.chunk_row(state) : nullptr;
            frame.reductions[state].add(x.code, value(frame, x.a), frame.column, frame.count,
                                        frame.args.first_column, chunks);
            return;
        }
        case Code::column_sum: {
            Word *const sums = frame.block(block_of_[id]), *const terms = value(frame, x.b);
            for (std::int64_t i = 0; i < frame.count; ++i)
                sums[i] = word_of(real_of(sums[i]) + real_of(terms[i]));
            return;
        }
        default:
            break;
    }
    const auto argument = [&](std::int32_t a) { return a >= 0 ? value(frame, a) : nullptr; };
    evaluate(x, value(frame, id), argument(x.a), argument(x.b), argument(x.c), frame.count);
}

// Column sums: a block of columns walks down all rows, its accumulators staying in their blocks.
void Interpreter::run_columns(Frame& frame) const noexcept {
    const auto& stage = plan_.stages[0];
    for (std::int64_t column = 0; column < frame.args.columns; column += kBlock) {
        bool stored = frame.args.continue_columns != 0;
        for (std::int64_t first = 0; first < frame.args.rows || (first == 0 && !stored);
             first += kSumSegment) {
            frame.column = column;
            frame.count = std::min(kBlock, frame.args.columns - column);
            for (const std::int32_t id : stage.loop_code)
                if (plan_.code[id].code == Code::column_sum)
                    std::fill_n(frame.block(block_of_[id]), frame.count, Word{0});
            const std::int64_t end = std::min(first + kSumSegment, frame.args.rows);
            for (frame.row = first; frame.row < end; ++frame.row) {
                for (const std::int32_t id : stage.row_code) run_uniform(frame, id);
                broadcast(frame, Rate::row);
                for (const std::int32_t id : stage.loop_code) run_step(frame, id);
            }
            close_segment(frame, stored);
            stored = true;
        }
    }
}

void Interpreter::close_segment(Frame& frame, bool stored) const noexcept {
    for (const std::int32_t id : plan_.stages[0].loop_code) {
        const Instruction& x = plan_.code[id];
        if (x.code != Code::column_sum) continue;
        const Word* const sums = frame.block(block_of_[id]);
        float* const out = frame.element<float>(plan_, x);
        for (std::int64_t i = 0; i < frame.count; ++i)
            out[i] = stored ? out[i] + real_of(sums[i]) : real_of(sums[i]);
    }
}

}  // namespace

RowKernelPtr interpret(const Program& program, std::pmr::memory_resource* heap) {
    void* const place = heap->allocate(sizeof(Interpreter), alignof(Interpreter));
    try {
        return RowKernelPtr(new (place) Interpreter(program, heap),
                            RowKernelDelete{heap, sizeof(Interpreter), alignof(Interpreter)});
    } catch (...) {
        heap->deallocate(place, sizeof(Interpreter), alignof(Interpreter));
        throw;
    }
}

}  // namespace volta::jit
