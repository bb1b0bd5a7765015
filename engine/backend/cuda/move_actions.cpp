#include "engine/backend/cuda/move_actions.h"

#include <array>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/numerics/define_pairs.h"

namespace volta::cuda {

CopyAction::CopyAction(CudaStep& step, const CopyLoops& loops, Ref from, Ref to) : from_(from), to_(to) {
    for (int i = 0; i < loops.rank; ++i) args_.push(loops.extent[i], loops.in_stride[i], loops.out_stride[i]);
    launch_ = jit::copy_launch(args_, step.multiprocessors());
    kernel_ = step.kernels().entry(launch_.tiles ? "move_tiles" : "move_copy");
}

volta_status CopyAction::run(const StepCall& call) const noexcept {
    jit::CudaCopyArgs args = args_;
    args.from = call.at<std::uint32_t>(from_);
    args.to = call.at<std::uint32_t>(to_);
    return launch(call, kernel_, {launch_.grid_x}, jit::kMoveThreads, args);
}

const char* CopyAction::kernel_name() const noexcept {
    return launch_.tiles ? "cuda copy tiles" : "cuda copy";
}

volta_status ZeroAction::run(const StepCall& call) const noexcept {
    if (elements_ == 0) return VOLTA_OK;
    return call.gpu.fill_words(reinterpret_cast<CUdeviceptr>(call.at(to_)), 0,
                               static_cast<std::size_t>(elements_));
}

PositionAction::PositionAction(CudaStep& step, Ref to, std::int64_t rows, std::int64_t columns)
    : to_(to),
      rows_(rows),
      columns_(columns),
      kernel_(step.kernels().entry("move_positions")),
      grid_x_(jit::blocks_for(rows * columns, step.multiprocessors())) {}

volta_status PositionAction::run(const StepCall& call) const noexcept {
    const jit::CudaPositionArgs args = {call.at<std::int32_t>(to_), rows_, columns_};
    return launch(call, kernel_, {grid_x_}, jit::kMoveThreads, args);
}

namespace {

// "gather_f32", "gather_int8": integers are moved as floats are.
std::array<char, 32> gather_entry(DType dtype) {
    std::array<char, 32> name;
    std::snprintf(name.data(), name.size(), "gather_%s", is_stored(dtype) ? dtype_name(dtype) : "f32");
    return name;
}

}  // namespace

GatherAction::GatherAction(CudaStep& step, const GatherStep& work)
    : work_(work), kernel_(step.kernels().entry(gather_entry(work.dtype).data())) {}

volta_status GatherAction::run(const StepCall& call) const noexcept {
    jit::CudaGatherArgs args = {};
    args.table = call.at(work_.table);
    args.ids = call.at<std::int32_t>(work_.ids);
    args.to = call.at<float>(work_.y);
    args.count = work_.count;
    args.width = work_.width;
    const jit::GridSize grid = jit::gather_grid(args);
    return launch(call, kernel_, {grid.x, grid.y}, jit::kEmbeddingThreads, args);
}

EmbeddingGradientAction::EmbeddingGradientAction(CudaStep& step, const EmbeddingGradientStep& work)
    : work_(work),
      clear_(step.kernels().entry("embedding_clear")),
      list_(step.kernels().entry("embedding_order")),
      sum_(step.kernels().entry("embedding_gradient")),
      multiprocessors_(step.multiprocessors()) {
    first_ = step.temporary(static_cast<std::size_t>(work.rows) * sizeof(std::int32_t));
    end_ = step.temporary(static_cast<std::size_t>(work.rows) * sizeof(std::int32_t));
    order_ = step.temporary(static_cast<std::size_t>(work.count) * sizeof(std::int32_t));
}

volta_status EmbeddingGradientAction::run(const StepCall& call) const noexcept {
    jit::CudaEmbeddingArgs args = {};
    args.ids = call.at<std::int32_t>(work_.ids);
    args.gradient = call.at<float>(work_.gradient);
    args.base = work_.has_base ? call.at<float>(work_.base) : nullptr;
    args.to = call.at<float>(work_.y);
    args.first = call.at<std::int32_t>(first_);
    args.end = call.at<std::int32_t>(end_);
    args.order = call.at<std::int32_t>(order_);
    args.positions = work_.count;
    args.rows = work_.rows;
    args.width = work_.width;
    const jit::EmbeddingLaunch shape = jit::embedding_launch(args, multiprocessors_);
    volta_status status = launch(call, clear_, {shape.clear_x}, jit::kEmbeddingThreads, args);
    if (status == VOLTA_OK) status = launch(call, list_, {shape.order_x}, jit::kEmbeddingThreads, args);
    if (status != VOLTA_OK) return status;
    return launch(call, sum_, {shape.gradient.x, shape.gradient.y}, jit::kEmbeddingThreads, args);
}

RotaryAction::RotaryAction(CudaStep& step, const RotaryStep& work)
    : work_(work), kernel_(step.kernels().entry("rotary_rows")) {}

volta_status RotaryAction::run(const StepCall& call) const noexcept {
    jit::CudaRotaryArgs args = {};
    args.x = call.at<float>(work_.x);
    args.y = call.at<float>(work_.y);
    args.positions = call.at<std::int32_t>(work_.positions);
    args.table = call.at<float>(work_.table);
    args.tokens = work_.tokens;
    args.columns = work_.columns;
    args.heads = work_.form.heads;
    args.width = work_.form.width;
    args.stride = work_.form.stride;
    args.interleaved = work_.form.interleaved ? 1 : 0;
    args.inverse = work_.form.inverse ? 1 : 0;
    const jit::GridSize grid = jit::rotary_grid(args);
    return launch(call, kernel_, {grid.x, grid.y}, jit::kRotaryThreads, args);
}

RotaryTableAction::RotaryTableAction(CudaStep& step, const RotaryTableStep& work) : to_(work.table) {
    const std::size_t bytes = static_cast<std::size_t>(work.limit * work.width) * sizeof(float);
    Buffer host(step.heap(), bytes);
    std::pmr::vector<float> frequencies(step.heap());
    if (work.has_frequencies && !step.plan.graph.read_constant(step.input_id(0), frequencies))
        step.unsupported(Limit::rotary_frequencies);
    RotaryAngles<float> angles;
    angles.base = work.base;
    angles.scale = work.scale;
    if (work.has_frequencies) angles.frequencies = frequencies.data();
    define::rotary_table(work.limit, work.width, angles, static_cast<float*>(host.data()));
    table_ = step.gpu().allocate(bytes, "a rotary table");
    step.gpu().require(step.gpu().upload(table_.address(), host.data(), bytes));
}

volta_status RotaryTableAction::run(const StepCall& call) const noexcept {
    return call.gpu.copy(reinterpret_cast<CUdeviceptr>(call.at(to_)), table_.address(), table_.bytes());
}

}  // namespace volta::cuda
