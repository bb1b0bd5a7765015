#include "engine/backend/cuda/product_timer.h"

#include <algorithm>
#include <chrono>

#include "engine/backend/cuda/event_time.h"
#include "jitgen/cuda/row_source.h"

namespace volta::cuda {
namespace {

constexpr float kShortestRun = 0.2f;  // milliseconds
constexpr int kMostRepeats = 100;
constexpr std::size_t kAlignment = 256;  // bytes, of matrices: more than any load wants

double now() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
}

std::size_t padded(std::int64_t elements) {
    const auto bytes = static_cast<std::size_t>(elements) * sizeof(float);
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

DeviceTimer::DeviceTimer(const ProductShape& shape, bool has_epilogue, const Contenders& contenders, Gpu& gpu,
                         KernelBatch& kernels, std::pmr::memory_resource* heap,
                         std::pmr::memory_resource* tensors)
    : gpu_(gpu), has_epilogue_(has_epilogue), contenders_(heap), begin_(gpu), end_(gpu), start_(0) {
    const jit::RowPlan epilogue = jit::cuda_plan(tuning_stand_in(false, heap), heap);
    std::size_t scratch_bytes = 0;
    for (int i = 0; i < contenders.count; ++i) {
        contenders_.emplace_back(Product(kernels, gpu.facts().multiprocessors, shape, DType::f32,
                                         has_epilogue ? &epilogue : nullptr, contenders.choices[i]),
                                 gpu);
        scratch_bytes = std::max(scratch_bytes, contenders_.back().product.scratch_bytes());
    }
    kernels.build();
    scratch_ = gpu.allocate(scratch_bytes, "tuning");
    make_matrices(shape, tensors);
    start_ = now();  // compiling is not what the search spends
    record_graphs();
}

void DeviceTimer::make_matrices(const ProductShape& shape, std::pmr::memory_resource* tensors) {
    const std::int64_t a = matrix_elements(shape.batch, shape.batch_stride_a,
                                           shape.a_transposed ? shape.k : shape.m, shape.lda),
                       b = matrix_elements(shape.batch, shape.batch_stride_b,
                                           shape.b_transposed ? shape.n : shape.k, shape.ldb),
                       c = matrix_elements(shape.batch, shape.batch_stride_c, shape.m, shape.ldc);
    const std::size_t caches = 2 * gpu_.facts().l2_bytes;
    b_bytes_ = padded(b);
    b_count_ = static_cast<int>(std::clamp<std::size_t>((caches + b_bytes_ - 1) / b_bytes_, 1, kMostRepeats));
    a_ = gpu_.allocate(padded(a), "tuning");
    b_ = gpu_.allocate(b_bytes_ * static_cast<std::size_t>(b_count_), "tuning");
    c_ = gpu_.allocate(padded(c), "tuning");
    if (has_epilogue_) bias_ = gpu_.allocate(padded(shape.n), "tuning");
    const std::int64_t most = std::max({a, b, shape.n});
    Buffer numbers(tensors, static_cast<std::size_t>(most) * sizeof(float));
    fill_with_numbers(static_cast<float*>(numbers.data()), most);
    const auto give = [&](const DeviceMemory& to, std::int64_t elements) {
        gpu_.require(
            gpu_.upload(to.address(), numbers.data(), static_cast<std::size_t>(elements) * sizeof(float)));
    };
    give(a_, a);
    give(b_, b);
    if (has_epilogue_) give(bias_, shape.n);
    for (int i = 1; i < b_count_; ++i)
        gpu_.require(
            gpu_.copy(b_.address() + static_cast<std::size_t>(i) * b_bytes_, b_.address(), b_bytes_));
    gpu_.require(gpu_.fill(c_.address(), 0, c_.bytes()));
}

jit::CudaProductArgs DeviceTimer::arguments(const Product& product, int launch) const {
    jit::CudaProductArgs args = product.arguments();
    args.a = a_.as<float>();
    args.b =
        reinterpret_cast<const float*>(b_.address() + static_cast<std::size_t>(launch % b_count_) * b_bytes_);
    args.c = c_.as<float>();
    args.scratch = scratch_.as<float>();
    if (!has_epilogue_) return args;
    args.keep = 0;
    args.epilogue.operands[0] = args.epilogue.operands[2] = args.c;
    args.epilogue.operands[1] = bias_.as<float>();
    args.epilogue.row_strides[0] = args.epilogue.row_strides[2] = product.shape().ldc;
    return args;
}

void DeviceTimer::record_graphs() {
    const Product& rule = contenders_.front().product;
    const auto once = [&] {
        return milliseconds_of(gpu_, begin_, end_,
                               [&]() noexcept { return rule.run(gpu_, arguments(rule, 0)); });
    };
    once();  // the first launch loads code
    repeats_ = std::clamp(static_cast<int>(kShortestRun / once()) + 1, 1, kMostRepeats);
    for (Contender& contender : contenders_)
        gpu_.require(contender.graph.record([&]() noexcept {
            volta_status status = VOLTA_OK;
            for (int i = 0; i < repeats_ && status == VOLTA_OK; ++i)
                status = contender.product.run(gpu_, arguments(contender.product, i));
            return status;
        }));
}

double DeviceTimer::run(int contender) {
    Graph& graph = contenders_[static_cast<std::size_t>(contender)].graph;
    const float milliseconds = milliseconds_of(gpu_, begin_, end_, [&]() noexcept { return graph.run(); });
    return 1e-3 * static_cast<double>(milliseconds) / repeats_;
}

double DeviceTimer::elapsed() const noexcept { return now() - start_; }

}  // namespace volta::cuda
