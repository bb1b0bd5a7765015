#include "engine/backend/cpu/tune.h"

#include <algorithm>
#include <chrono>

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/cpu_cache.h"
#include "engine/backend/cpu/product_timer.h"
#include "engine/base/error.h"

namespace volta::cpu {
namespace {

constexpr double kDefaultSeconds = 20;  // of all products: a model is tuned in less than 30
constexpr double kMostSecondsEach = 3;  // the search has found what it can find by then
constexpr int kDefaultRuns = 5, kDefaultWarmup = 1;

struct Job {
    ProductShape shape;
    EpilogueKind epilogue = EpilogueKind::none;
    TuningKey key;
};

double seconds_since_start() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

void check_extent(const char* name, std::size_t index, std::int64_t extent) {
    require(extent >= 1 && extent <= 1 << 24, "shape %zu: %s is %lld, it must be in 1 .. 16777216", index,
            name, static_cast<long long>(extent));
}

std::int64_t stride_of(const char* name, std::size_t index, std::int64_t given, std::int64_t columns) {
    require(given == 0 || (given >= columns && given <= 1 << 26),
            "shape %zu: %s is %lld, it must be 0 or in %lld .. 67108864", index, name,
            static_cast<long long>(given), static_cast<long long>(columns));
    return given == 0 ? columns : given;
}

ProductShape product_of(const TuneShape& asked, std::size_t index) {
    check_extent("m", index, asked.m);
    check_extent("n", index, asked.n);
    check_extent("k", index, asked.k);
    ProductShape shape;
    shape.m = asked.m;
    shape.n = asked.n;
    shape.k = asked.k;
    shape.a_transposed = asked.a_transposed;
    shape.b_transposed = asked.b_transposed;
    shape.lda = stride_of("lda", index, asked.lda, asked.a_transposed ? asked.m : asked.k);
    shape.ldb = stride_of("ldb", index, asked.ldb, asked.b_transposed ? asked.k : asked.n);
    shape.ldc = stride_of("ldc", index, asked.ldc, asked.n);
    return shape;
}

class Tuning {
  public:
    Tuning(const TuneRequest& request, const BackendContext& context)
        : request_(request),
          context_(context),
          cache_(*static_cast<CpuCache*>(context.kernel_cache)),
          jobs_(context.heap),
          found_(context.heap) {
        compile_.isa = context.isa;
        compile_.thread_count = context.pool->thread_count();
        compile_.arena = context.arena;
        compile_.cache = &cache_.kernels;
        compile_.heap = context.heap;
        for (std::size_t i = 0; i < request.shape_count; ++i)
            add(product_of(request.shapes[i], i), EpilogueKind::none);
        for (std::size_t i = 0; i < request.executable_count; ++i)
            visit_products(
                *request.executables[i],
                [](void* self, const Product& product) {
                    static_cast<Tuning*>(self)->add(product.shape(), product.epilogue());
                },
                this);
    }

    void run() {
        if (jobs_.empty()) return;
        if (cache_.folder) cache_.folder->check_writable();
        start_ = seconds_since_start();
        for (index_ = 0; index_ < jobs_.size() && !cancelled_; ++index_) tune_one(jobs_[index_]);
        if (cache_.folder) cache_.folder->add(found_);
        if (cancelled_)
            fail(VOLTA_CANCELLED, "tuning was cancelled after %zu of %zu products", found_.size(),
                 jobs_.size());
    }

  private:
    const TuneRequest& request_;
    const BackendContext& context_;
    CpuCache& cache_;
    CompileContext compile_ = {};
    std::pmr::vector<Job> jobs_;
    std::pmr::vector<TuningEntry> found_;
    std::size_t index_ = 0;
    double start_ = 0;
    bool cancelled_ = false;

    // Empty products take no time, and equal ones are tuned once.
    void add(const ProductShape& shape, EpilogueKind epilogue) {
        if (shape.batch == 0 || shape.m == 0 || shape.n == 0 || shape.k == 0) return;
        const TuningKey key = key_of(shape, epilogue, compile_.isa, compile_.thread_count);
        for (const Job& job : jobs_)
            if (job.key == key) return;
        jobs_.push_back({shape, epilogue, key});
    }

    // What is left of the time is shared by the products that are left.
    double budget() const {
        const double all = request_.seconds > 0 ? request_.seconds : kDefaultSeconds;
        const double left = std::max(0.0, start_ + all - seconds_since_start());
        const double each = left / static_cast<double>(jobs_.size() - index_);
        return request_.seconds > 0 ? each : std::min(each, kMostSecondsEach);
    }

    void tune_one(const Job& job) {
        MachineTimer timer(job.shape, job.epilogue, compile_, *context_.pool, request_.tensors);
        TunerOptions options;
        options.runs = request_.runs > 0 ? request_.runs : kDefaultRuns;
        options.warmup = request_.warmup > 0 ? request_.warmup : kDefaultWarmup;
        options.budget_seconds = budget();
        options.user = this;
        options.progress = [](void* self, double share) {
            return static_cast<Tuning*>(self)->report(share, nullptr);
        };
        const TunerResult result =
            tune_product(job.shape, job.epilogue == EpilogueKind::rows, compile_, timer, options);
        if (result.cancelled) return;
        const TuningEntry entry{job.key, result.choice, result.default_seconds, result.tuned_seconds};
        cache_.tuning.set(entry);
        found_.push_back(entry);
        report(1, &result);
    }

    // share: of the product at hand. result: NULL while it is searched.
    bool report(double share, const TunerResult* result) {
        if (request_.report == nullptr) return true;
        const ProductShape& shape = jobs_[index_].shape;
        TuneReport report;
        report.index = index_;
        report.count = jobs_.size();
        report.share = (static_cast<double>(index_) + share) / static_cast<double>(jobs_.size());
        report.shape = {shape.m,   shape.n,   shape.k,  shape.a_transposed, shape.b_transposed,
                        shape.lda, shape.ldb, shape.ldc};
        report.batch = shape.batch;
        report.epilogue = jobs_[index_].epilogue != EpilogueKind::none;
        ChoiceText text = {};
        if (result != nullptr) {
            report.done = true;
            report.default_seconds = result->default_seconds;
            report.tuned_seconds = result->tuned_seconds;
            report.classic_seconds = result->classic_seconds;
            report.contenders = result->contenders;
            text = to_text(result->choice);
        }
        report.choice = text.text;
        if (!request_.report(request_.user, report)) cancelled_ = true;
        return !cancelled_;
    }
};

}  // namespace

void tune(const TuneRequest& request, const BackendContext& context) { Tuning(request, context).run(); }

}  // namespace volta::cpu
