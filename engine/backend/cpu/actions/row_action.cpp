#include "engine/backend/cpu/actions/row_action.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/multiples.h"
#include "engine/base/offset.h"

namespace volta::cpu {
namespace {

// Columns are cut where lanes and cache lines end: 32 floats are 128 bytes.
constexpr std::int64_t kColumnGrain = 32;
constexpr std::int64_t kPieceElements = 32768;  // that a worker takes at a time, at least
constexpr std::int64_t kNearElements = 32768;   // of all full operands: with fewer, no vector is faster
constexpr std::int64_t kLineFloats = kTensorAlignment / sizeof(float);

const char* name_of(const jit::RowKernel& kernel, Isa isa) {
    if (!kernel.is_native()) return "row interpreted";
    return isa == Isa::avx512 ? "row avx512" : "row avx2";
}

// Moving data from cache to cache is all that a program of so little arithmetic does. A processor that has
// 512 bits only in two halves does that faster with vectors of 256: x + y from L2 1.1 to 1.2 times, from
// L3 1.2 to 1.3 times, from L1 and from memory the same (Zen 4).
Isa isa_for(const CpuStep& step, const jit::Program& program, const LoopSpace& loops) {
    const Isa isa = step.context.isa;
    if (isa != Isa::avx512 || !step.machine.double_pumped_avx512) return isa;
    if (program.has_row_reduction() || program.has_column_sum()) return isa;
    std::int64_t full = 0, arithmetic = 0;
    for (const jit::Operand& operand : program.operands) full += operand.access == jit::Access::full;
    for (const jit::Instruction& each : program.code)
        arithmetic += each.code > jit::Code::row_length && each.code < jit::Code::store;
    const std::int64_t elements = full * loops.outer_count() * loops.rows * loops.columns;
    return arithmetic <= full && elements > kNearElements ? Isa::avx2 : isa;
}

}  // namespace

RowAction::RowAction(CpuStep& step, const jit::Program& program, const std::pmr::vector<Ref>& refs,
                     const LoopSpace& loops, const RowUse& use)
    : isa_(isa_for(step, program, loops)),
      kernel_(step.kernel(program, isa_)),
      refs_(refs, step.heap()),
      row_strides_(step.heap()),
      loops_(loops, step.heap()),
      rows_per_micro_batch_(use.counts_rows_over_step ? loops.outer_count() * loops.rows : 0),
      continues_(use.continues_columns),
      name_(name_of(kernel_, isa_)) {
    when = use.when;
    if (refs.size() > jit::kMaxOperands || refs.size() != loops.operands.size())
        fail(VOLTA_INTERNAL, "%s: a row kernel of %zu operands, at most %d are possible",
             op_row(step.node.op).name, refs.size(), jit::kMaxOperands);
    for (const LoopOperand& operand : loops_.operands) row_strides_.push_back(operand.row_stride);
    choose_split(step);
    choose_streaming(step);
    scratch_bytes_ =
        (kernel_.scratch_bytes(loops_.columns) + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    if (scratch_bytes_ > 0) scratch_ = step.temporary(scratch_bytes_ * static_cast<std::size_t>(workers_));
}

bool RowAction::is_in_place(std::size_t output) const {
    const auto& operands = kernel_.program().operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        const bool same = refs_[i].region == refs_[output].region && refs_[i].offset == refs_[output].offset;
        if (!operands[i].output && same) return true;
    }
    return false;
}

// Which outputs may be written by non-temporal stores. Where a step's tensors exceed the LLC all of them,
// which would be read from memory before they are written, and drive out what could have stayed; but what
// lies in the place of an input has been read anyway. And parameters that several threads update: all of them
// have read them, and a thread takes the lines of the others back. Between cores without a common cache that
// takes longer than to send them to memory and to read them from there again.
void RowAction::choose_streaming(const CpuStep& step) {
    const auto& operands = kernel_.program().operands;
    const bool simple =
        kernel_.is_native() && !kernel_.program().has_column_sum() && loops_.outer_count() == 1;
    if (!simple) return;
    const double bytes = 4.0 * static_cast<double>(loops_.rows) * static_cast<double>(loops_.columns);
    double all = 0;
    std::uint32_t outputs = 0, parameters = 0;
    for (std::size_t k = 0; k < operands.size(); ++k) {
        if (operands[k].access != jit::Access::full) continue;
        all += bytes;
        if (!operands[k].output) continue;
        if (loops_.rows > 1 && row_strides_[k] % kLineFloats != 0) return;
        outputs |= 1u << k;
        if (!is_in_place(k)) continue;
        streams_if_far_ = true;
        if (workers_ > 1 && step.is_parameter(refs_[k])) parameters |= 1u << k;
    }
    if (!streams_if_far_ && all <= static_cast<double>(step.machine.likely_llc_bytes())) return;
    jit::Program program(kernel_.program(), step.heap());
    program.streams = streams_if_far_ ? parameters : outputs;
    if (program.streams != 0) streaming_ = &step.kernel(program, isa_);
}

const jit::RowKernel& RowAction::kernel_for(const StepCall& call, void* const* bases) const noexcept {
    if (streaming_ == nullptr) return kernel_;
    const std::uint32_t streams = streaming_->program().streams;
    for (std::size_t k = 0; k < refs_.size(); ++k)
        if ((streams >> k & 1) != 0 && reinterpret_cast<std::uintptr_t>(bases[k]) % kTensorAlignment != 0)
            return kernel_;
    return streams_if_far_ && !call.pool.spans_llcs() ? kernel_ : *streaming_;
}

void RowAction::choose_split(const CpuStep& step) {
    const std::int64_t outer = loops_.outer_count(), all_rows = outer * loops_.rows;
    // Short programs wait for memory, which costs as much as sixteen instructions.
    const auto per_element = static_cast<double>(std::max<std::size_t>(kernel_.program().code.size(), 16));
    workers_ = step.workers_for(static_cast<double>(all_rows * loops_.columns) * per_element);
    std::int64_t parts = all_rows;  // at most
    if (kernel_.program().has_column_sum()) {
        split_ = outer >= workers_ ? Split::outer : Split::columns;
    } else if (kernel_.program().needs_whole_rows() || all_rows >= 4 * workers_) {
        split_ = Split::rows;
    } else {
        split_ = Split::columns;
    }
    if (split_ == Split::outer) parts = outer;
    if (split_ == Split::columns) parts = ceil_div(loops_.columns, kColumnGrain);
    workers_ = static_cast<int>(std::clamp<std::int64_t>(parts, 1, workers_));
    choose_grain();
}

void RowAction::choose_grain() {
    const bool narrower = split_ == Split::columns && (loops_.rows > 1 || loops_.outer_count() > 1);
    const std::int64_t unit = split_ == Split::columns ? kColumnGrain : 1;
    const std::int64_t each =
        split_ == Split::columns ? 1 : loops_.columns * (split_ == Split::rows ? 1 : loops_.rows);
    const std::int64_t part = round_up(ceil_div(split_count(), workers_), unit);
    const std::int64_t least = ceil_div(kPieceElements, std::max<std::int64_t>(each, 1));
    // Narrower columns touch as many pages as wide ones do: everyone has one part of them.
    grain_ = std::max<std::int64_t>(narrower ? part : std::min(least, part), unit);
}

std::int64_t RowAction::split_count() const noexcept {
    if (split_ == Split::columns) return loops_.columns;
    return loops_.outer_count() * (split_ == Split::rows ? loops_.rows : 1);
}

void RowAction::run(const StepCall& call) const noexcept {
    void* bases[jit::kMaxOperands];
    for (std::size_t k = 0; k < refs_.size(); ++k) bases[k] = call.at(refs_[k]);
    const Running running = {call, bases, kernel_for(call, bases)};
    if (workers_ == 1) return run_part(running, 0, Range{0, split_count()});
    call.pool.run_stealing(workers_, split_count(), grain_,
                           [&](int worker, ThreadPool::WorkItems& items) noexcept {
                               for (Range piece; items.next(&piece);) run_part(running, worker, piece);
                           });
}

void RowAction::run_part(const Running& running, int worker, Range part) const noexcept {
    void* scratch = nullptr;
    if (scratch_bytes_ > 0)
        scratch = static_cast<unsigned char*>(running.call.at(scratch_)) +
                  scratch_bytes_ * static_cast<std::size_t>(worker);
    const Range all_columns{0, loops_.columns}, all_rows{0, loops_.rows};
    if (split_ == Split::columns) {
        if (part.begin == part.end && loops_.columns > 0) return;
        const std::int64_t outer_count = loops_.outer_count();
        for (std::int64_t outer = 0; outer < outer_count; ++outer)
            run_block(running, outer, all_rows, part, scratch);
    } else if (split_ == Split::outer) {
        for (std::int64_t outer = part.begin; outer < part.end; ++outer)
            run_block(running, outer, all_rows, all_columns, scratch);
    } else {
        for (std::int64_t row = part.begin; row < part.end;) {
            const std::int64_t first = row % loops_.rows;
            const std::int64_t end = std::min<std::int64_t>(loops_.rows, first + (part.end - row));
            run_block(running, row / loops_.rows, Range{first, end}, all_columns, scratch);
            row += end - first;
        }
    }
}

void RowAction::run_block(const Running& running, std::int64_t outer, Range rows, Range columns,
                          void* scratch) const noexcept {
    void* operands[jit::kMaxOperands];
    for (std::size_t k = 0; k < refs_.size(); ++k)
        operands[k] = offset(static_cast<float*>(running.bases[k]), loops_.outer_offset(k, outer));
    jit::RowArgs whole = {};
    whole.operands = operands;
    whole.row_strides = row_strides_.data();
    whole.rows = loops_.rows;
    whole.columns = loops_.columns;
    whole.first_row = static_cast<std::uint32_t>(rows_per_micro_batch_ * running.call.step_micro_index +
                                                 outer * loops_.rows);
    whole.continue_columns = continues_ && running.call.micro_index > 0 ? 1 : 0;
    jit::run_block(running.kernel, whole, rows.begin, rows.end, columns.begin, columns.end, scratch);
}

}  // namespace volta::cpu
