#include "tests/cuda/device_kernel.h"

#include <vector>

namespace volta::test {
namespace {

constexpr std::int64_t kSingles = 8;  // elements of a single operand, as tests/jitgen/compare.cpp has them

std::size_t bytes_of(const jit::Operand& operand, const jit::RowArgs& args, std::int64_t stride) {
    const std::int64_t elements = operand.access == jit::Access::full
                                      ? (args.rows == 0 ? 0 : (args.rows - 1) * stride + args.columns)
                                  : operand.access == jit::Access::per_row    ? args.rows * stride
                                  : operand.access == jit::Access::per_column ? args.columns
                                                                              : kSingles;
    return static_cast<std::size_t>(elements) * sizeof(float);
}

}  // namespace

DeviceKernel::DeviceKernel(const jit::Program& program, const char* text, const std::string& name,
                           cuda::Gpu& gpu, cuda::KernelStore& store, std::pmr::memory_resource* heap)
    : RowKernel(jit::Program(program, heap), false), plan_(jit::cuda_plan(program, heap)), gpu_(gpu) {
    first_ = store.kernel(text, (name + (plan_.column_sums ? "_segments" : "_warps")).c_str());
    second_ = store.kernel(text, (name + (plan_.column_sums ? "_close" : "_blocks")).c_str());
}

void DeviceKernel::run(const jit::RowArgs& args) const noexcept {
    try {
        run_throwing(args);
    } catch (const Error& failure) {
        error = failure.what();
    }
}

void DeviceKernel::run_throwing(const jit::RowArgs& args) const {
    const jit::RowLaunch launch =
        jit::row_launch(plan_, form, args.rows, args.columns, gpu_.facts().multiprocessors);
    const std::size_t count = program_.operands.size();
    jit::CudaRowArgs device{};
    std::vector<cuda::DeviceMemory> memory;
    std::vector<std::size_t> sizes;
    for (std::size_t k = 0; k < count; ++k) {
        sizes.push_back(bytes_of(program_.operands[k], args, args.row_strides[k]));
        memory.push_back(gpu_.allocate(sizes[k], "an operand"));
        gpu_.require(gpu_.upload(memory[k].address(), args.operands[k], sizes[k]));
        device.operands[k] = memory[k].as<void>();
        device.row_strides[k] = args.row_strides[k];
        for (std::size_t other = 0; other < k; ++other)  // in place
            if (args.operands[other] == args.operands[k]) device.operands[k] = device.operands[other];
    }
    const cuda::DeviceMemory scratch = gpu_.allocate(launch.scratch_bytes, "scratch");
    device.rows = args.rows;
    device.columns = args.columns;
    device.scratch = scratch.as<float>();
    device.chunk_stride = launch.chunk_stride;
    device.first_row = args.first_row;
    device.first_column = args.first_column;
    device.continue_columns = args.continue_columns;
    void* parameters[] = {&device};
    const bool segments = form == jit::RowForm::segments;
    gpu_.require(gpu_.launch(form == jit::RowForm::blocks ? second_ : first_,
                             {launch.grid_x, launch.grid_y, 1, launch.threads}, parameters));
    if (segments) gpu_.require(gpu_.launch(second_, {launch.grid_x, 1, 1, launch.threads}, parameters));
    gpu_.require(gpu_.wait());
    for (std::size_t k = 0; k < count; ++k)
        if (program_.operands[k].output)
            gpu_.require(gpu_.download(args.operands[k],
                                       reinterpret_cast<cuda::CUdeviceptr>(device.operands[k]), sizes[k]));
}

}  // namespace volta::test
