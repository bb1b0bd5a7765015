// The products of one request, tuned one after the other, with the time that there is for them. How one is
// tuned is its backend's.
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>

#include "engine/backend/lower/problem_shapes.h"
#include "engine/backend/tuning/choice_text.h"
#include "engine/backend/tuning/timed_runs.h"
#include "engine/backend/tuning/tune_request.h"
#include "engine/backend/tuning/tuning_file.h"
#include "engine/base/error.h"
#include "engine/base/memory.h"

namespace volta {

// The product of a request's shape, strides filled in. Throws INVALID_ARGUMENT naming shape and value.
ProductShape product_of(const TuneShape& asked, std::size_t index);

template <class Entry>
class TuningRunOf {
  public:
    using Key = typename Entry::Key;
    using Result = TunerResultOf<typename Entry::Choice>;

    virtual ~TuningRunOf() = default;

    // Throws CANCELLED when the host said so, and what a product's tuning throws, with the product's name;
    // what was found by then is in the table, and in the folder if there is one.
    void run() {
        if (jobs_.empty()) return;
        if (folder_ != nullptr) folder_->check_writable();
        start_ = now();
        try {
            for (index_ = 0; index_ < jobs_.size() && !cancelled_; ++index_) tune_one(jobs_[index_]);
        } catch (const Error& error) {
            fail_product(error.status(), error.what());
        } catch (const HostRefusal& refusal) {
            fail_product(VOLTA_OUT_OF_MEMORY, refusal.what());
        } catch (const std::bad_alloc&) {
            fail_product(VOLTA_OUT_OF_MEMORY, "the host allocator returned NULL");
        }
        if (folder_ != nullptr) folder_->add(found_);
        if (cancelled_)
            fail(VOLTA_CANCELLED, "tuning was cancelled after %zu of %zu products", found_.size(),
                 jobs_.size());
    }

  protected:
    // `folder` NULL: results stay in memory. All outlive it.
    TuningRunOf(const TuneRequest& request, TuningTableOf<Entry>& table, const TuningFolderOf<Entry>* folder,
                std::pmr::memory_resource* heap)
        : request_(request), table_(table), folder_(folder), jobs_(heap), found_(heap) {}

    // Empty products take no time, and those of equal keys are tuned once.
    void add(const ProductShape& shape, EpilogueKind epilogue, const Key& key) {
        if (shape.batch == 0 || shape.m == 0 || shape.n == 0 || shape.k == 0) return;
        for (const Job& job : jobs_)
            if (job.key == key) return;
        jobs_.push_back({shape, epilogue, key});
    }

    const TuneRequest& request_;

  private:
    static constexpr double kDefaultSeconds = 20;  // of all products: a model is tuned in less than 30
    static constexpr double kMostSecondsEach = 3;  // the search has found what it can find by then, of most
    static constexpr int kDefaultRuns = 5, kDefaultWarmup = 1;

    struct Job {
        ProductShape shape;
        EpilogueKind epilogue = EpilogueKind::none;
        Key key;
    };

    virtual Result tune_product_of(const ProductShape& shape, EpilogueKind epilogue, const Key& key,
                                   const TunerOptions& options) = 0;
    // What to say of a key beside its shape.
    virtual void describe(const Key&, TuneReport&) const {}

    static double now() {
        const auto since = std::chrono::steady_clock::now().time_since_epoch();
        return std::chrono::duration<double>(since).count();
    }

    // Keeps what was found, and throws for the product at hand; that nothing could be kept is the lesser
    // error.
    [[noreturn]] void fail_product(volta_status status, const char* reason) const {
        try {
            if (folder_ != nullptr) folder_->add(found_);
        } catch (const std::exception&) {
        }
        const ProductShape& shape = jobs_[index_].shape;
        fail(status, "product %zu of %zu, %lld x %lld x %lld%s%s: %s", index_ + 1, jobs_.size(),
             static_cast<long long>(shape.m), static_cast<long long>(shape.n),
             static_cast<long long>(shape.k), shape.a_transposed ? " A^T" : "",
             shape.b_transposed ? " B^T" : "", reason);
    }

    // What is left of the time is shared by the products that are left.
    double share_of_time() const {
        const double all = request_.seconds > 0 ? request_.seconds : kDefaultSeconds;
        const double left = std::max(0.0, start_ + all - now());
        return left / static_cast<double>(jobs_.size() - index_);
    }

    void tune_one(const Job& job) {
        TunerOptions options;
        options.runs = request_.runs > 0 ? request_.runs : kDefaultRuns;
        options.warmup = request_.warmup > 0 ? request_.warmup : kDefaultWarmup;
        options.most_seconds = share_of_time();
        options.budget_seconds =
            request_.seconds > 0 ? options.most_seconds : std::min(options.most_seconds, kMostSecondsEach);
        options.user = this;
        options.progress = [](void* self, double share) {
            return static_cast<TuningRunOf*>(self)->report(share, nullptr);
        };
        const Result result = tune_product_of(job.shape, job.epilogue, job.key, options);
        if (result.cancelled) return;
        const Entry entry{job.key, result.choice, result.default_seconds, result.tuned_seconds};
        table_.set(entry);
        found_.push_back(entry);
        report(1, &result);
    }

    // share: of the product at hand. result: NULL while it is searched.
    bool report(double share, const Result* result) {
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
        describe(jobs_[index_].key, report);
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

    TuningTableOf<Entry>& table_;
    const TuningFolderOf<Entry>* const folder_;
    std::pmr::vector<Job> jobs_;
    std::pmr::vector<Entry> found_;
    std::size_t index_ = 0;
    double start_ = 0;
    bool cancelled_ = false;
};

}  // namespace volta
