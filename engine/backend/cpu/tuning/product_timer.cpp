#include "engine/backend/cpu/tuning/product_timer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "engine/base/multiples.h"

namespace volta::cpu {
namespace {

constexpr double kShortestRun = 100e-6;  // seconds
constexpr int kMostRepeats = 1000;

double now() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
}

// So many that they use the LLC as the weights of the plan do.
std::int64_t copies_of(std::int64_t floats, double cache_use, const Machine& machine) {
    if (cache_use <= machine.dram_use) return 1;
    const double bytes = cache_use * static_cast<double>(machine.l3_bytes);
    return std::max<std::int64_t>(std::llround(bytes / (sizeof(float) * static_cast<double>(floats))), 1);
}

Buffer matrix(std::int64_t floats, std::pmr::memory_resource* heap) {
    Buffer buffer(heap, static_cast<std::size_t>(floats) * sizeof(float));
    fill_with_numbers(static_cast<float*>(buffer.data()), floats);
    return buffer;
}

}  // namespace

MachineTimer::MachineTimer(const ProductShape& shape, EpilogueKind epilogue, const CompileContext& context,
                           ThreadPool& pool, std::pmr::memory_resource* tensors)
    : shape_(shape),
      context_(context),
      pool_(pool),
      tensors_(tensors),
      a_(matrix(matrix_elements(shape.batch, shape.batch_stride_a, shape.a_transposed ? shape.k : shape.m,
                                shape.lda),
                tensors)),
      c_(matrix(matrix_elements(shape.batch, shape.batch_stride_c, shape.m, shape.ldc), tensors)),
      b_floats_(matrix_elements(shape.batch, shape.batch_stride_b, shape.b_transposed ? shape.n : shape.k,
                                shape.ldb)),
      products_(context.compiler.heap),
      start_(now()) {
    context_.overrides.tile = nullptr;
    context_.tuned = nullptr;
    make_copies();
    make_epilogue(epilogue, context);
    if (context.request.sums_b) sums_ = matrix(shape.n, tensors);
    pool_.begin_hot();
    try {
        choose_repeats();
    } catch (...) {
        pool_.end_hot();
        throw;
    }
}

MachineTimer::~MachineTimer() {
    products_.clear();
    pool_.end_hot();
}

void MachineTimer::make_epilogue(EpilogueKind epilogue, const CompileContext& context) {
    if (epilogue == EpilogueKind::none) return;
    owned_kernel_ = jit::compile(tuning_stand_in(epilogue == EpilogueKind::rows, context.compiler.heap),
                                 context.machine.isa, *context.compiler.arena, context.compiler.heap);
    kernel_ = owned_kernel_.get();
    bias_ = matrix(shape_.n, tensors_);
    operands_[0] = operands_[2] = c_.data();
    operands_[1] = bias_.data();
    strides_[0] = strides_[2] = shape_.ldc;
    epilogue_.kernel = kernel_;
    epilogue_.args = {operands_, strides_, shape_.batch * shape_.m, shape_.n, 0, 0, nullptr, 0};
}

void MachineTimer::make_copies() {
    copies_ = copies_of(b_floats_, context_.request.cache_use, context_.machine);
    b_ = matrix(copies_ * b_floats_, tensors_);
}

void MachineTimer::choose_repeats() {
    const ProductChoice rule;
    open(&rule, 1);
    run(0);  // pages and code are touched
    const double seconds = std::max(run(0), 1e-7);
    repeats_ = std::clamp(static_cast<int>(kShortestRun / seconds) + 1, 1, kMostRepeats);
}

void MachineTimer::open(const ProductChoice* contenders, int count) {
    products_.clear();
    code_ =
        make_on<Code>(context_.compiler.heap, context_.compiler.heap, !context_.compiler.arena->available());
    CompileContext context = context_;
    context.compiler.arena = &code_->arena;
    context.compiler.cache = &code_->cache;
    std::size_t workspace = 0;
    kept_bytes_ = 0;
    packed_ = -1;
    for (int i = 0; i < count; ++i) {
        context.overrides.choice = &contenders[i];
        products_.push_back(compile_product(shape_, kernel_, context));
        workspace = std::max(workspace, products_.back()->workspace_bytes());
        const auto kept = static_cast<std::int64_t>(products_.back()->prepacked_bytes());
        kept_bytes_ = std::max(kept_bytes_, round_up(kept, kTensorAlignment));
    }
    const auto kept = static_cast<std::size_t>(kept_bytes_ * copies_);
    if (kept > kept_.bytes()) {
        kept_ = Buffer();
        kept_ = Buffer(tensors_, kept, true);
    }
    if (workspace > workspace_.bytes()) {
        workspace_ = Buffer();
        workspace_ = Buffer(tensors_, workspace, true);
    }
}

// All copies. The last ones are in the cache then, so the first ones are read next.
void MachineTimer::pack(const Product& product) noexcept {
    if (product.prepacked_bytes() == 0) return;
    for (std::int64_t i = 0; i < copies_; ++i)
        product.prepack(pool_, static_cast<const float*>(b_.data()) + i * b_floats_, kept_at(i));
    turn_ = 0;
}

float* MachineTimer::kept_at(std::int64_t copy) noexcept {
    return reinterpret_cast<float*>(static_cast<char*>(kept_.data()) + kept_bytes_ * copy);
}

// With the next copy of B.
ProductCall MachineTimer::next_call(const Product& product) noexcept {
    const std::int64_t copy = turn_++ % copies_;
    ProductCall call = {static_cast<const float*>(a_.data()),
                        static_cast<const float*>(b_.data()) + copy * b_floats_,
                        static_cast<float*>(c_.data()),
                        false,
                        workspace_.data(),
                        kernel_ ? &epilogue_ : nullptr};
    if (product.prepacked_bytes() > 0) call.prepacked = kept_at(copy);
    if (product.sums_b()) call.sums = static_cast<float*>(sums_.data());
    return call;
}

double MachineTimer::run(int contender) noexcept {
    const Product& product = *products_[static_cast<std::size_t>(contender)];
    if (packed_ != contender) pack(product);
    packed_ = contender;
    const double start = now();
    for (int i = 0; i < repeats_; ++i) product.run(pool_, next_call(product));
    return (now() - start) / repeats_;
}

double MachineTimer::elapsed() const noexcept { return now() - start_; }

}  // namespace volta::cpu
