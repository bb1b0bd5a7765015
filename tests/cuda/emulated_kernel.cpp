#include "tests/cuda/emulated_kernel.h"

#include <algorithm>
#include <vector>

namespace volta::test {
namespace {

constexpr std::size_t kGuard = 64;  // floats behind the scratch memory
constexpr float kGuardValue = -7777.0f;

jit::RowLaunch smaller(jit::RowLaunch launch) {
    launch.grid_x = std::min(launch.grid_x, 2u);
    launch.grid_y = std::min(launch.grid_y, 3u);
    launch.threads = launch.form == jit::RowForm::blocks ? 96 : 64;
    return launch;
}

}  // namespace

const EmulatedKernels* find_emulated(const std::string& name) {
    for (int t = 0; t < kEmulatedTableCount; ++t)
        for (int i = 0; i < kEmulatedTables[t].count; ++i)
            if (name == kEmulatedTables[t].kernels[i].name) return &kEmulatedTables[t].kernels[i];
    return nullptr;
}

EmulatedKernel::EmulatedKernel(const jit::Program& program, const EmulatedKernels& kernels,
                               std::pmr::memory_resource* heap)
    : RowKernel(jit::Program(program, heap), false),
      plan_(jit::cuda_plan(program, heap)),
      kernels_(kernels) {}

void EmulatedKernel::run(const jit::RowArgs& args) const noexcept {
    jit::RowLaunch launch = jit::row_launch(plan_, form, args.rows, args.columns, 1);
    if (size == Size::small) launch = smaller(launch);
    std::vector<float> scratch(launch.scratch_bytes / sizeof(float) + kGuard, kGuardValue);
    jit::CudaRowArgs device{};
    std::copy_n(args.operands, program_.operands.size(), device.operands);
    std::copy_n(args.row_strides, program_.operands.size(), device.row_strides);
    device.rows = args.rows;
    device.columns = args.columns;
    device.scratch = scratch.data();
    device.chunk_stride = launch.chunk_stride;
    device.first_row = args.first_row;
    device.first_column = args.first_column;
    device.continue_columns = args.continue_columns;

    simt::Launch grid;
    grid.grid = {launch.grid_x, launch.grid_y, 1};
    grid.block = {launch.threads, 1, 1};
    grid.order = order;
    const auto start = [&](void (*kernel)(const void*)) {
        error += simt::run(grid, [&] { kernel(&device); });
    };
    start(form == jit::RowForm::blocks ? kernels_.second : kernels_.first);
    if (form == jit::RowForm::segments) {
        grid.grid.y = 1;
        start(kernels_.second);
    }
    for (std::size_t i = scratch.size() - kGuard; i < scratch.size(); ++i)
        if (scratch[i] != kGuardValue) error = "wrote behind the scratch memory";
}

}  // namespace volta::test
