#include "engine/runtime/gradient_exchange.h"

#include <algorithm>

#include "engine/base/clock.h"
#include "engine/base/fp_environment.h"
#include "engine/runtime/profile.h"

namespace volta {

namespace {

constexpr int kMostLane = 255;

double seconds_between(std::uint64_t begin, std::uint64_t end) {
    return end > begin ? static_cast<double>(end - begin) * 1e-9 : 0;
}

}  // namespace

GradientExchange::GradientExchange(Context& context, Collective& collective,
                                   const std::pmr::vector<Part>& parts, LocalSums& local)
    : context_(context),
      collective_(collective),
      local_(local),
      portions_(context.structures()),
      written_(context.structures()),
      is_made_(parts.size(), false, context.structures()) {
    portions_.reserve(parts.size());
    written_.reserve(parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        portions_.push_back(parts[i].sum);
        if (parts[i].last_step != kBehind) written_.push_back({parts[i].last_step, i});
    }
    std::sort(written_.begin(), written_.end(),
              [](const Written& a, const Written& b) { return a.step < b.step; });
    const bool is_sent = !written_.empty() && portions_[0].place == Portion::kNowhere;
    if (is_sent && collective.group().can_change_threads() && !context.pool().is_of_host()) side_.emplace();
}

StepObserver* GradientExchange::begin() {
    if (!side_) return nullptr;
    std::fill(is_made_.begin(), is_made_.end(), false);
    made_ = released_ = completed_ = 0;
    begin_ns_ = met_ns_ = 0;
    failure_.reset();
    runs_ = true;
    side_->start([](void* self) noexcept { static_cast<GradientExchange*>(self)->send(); }, this);
    return this;
}

// A step of the pass has ended.
void GradientExchange::end(std::size_t step) noexcept {
    const auto first = std::lower_bound(written_.begin(), written_.end(), step,
                                        [](const Written& one, std::size_t of) { return one.step < of; });
    for (auto one = first; one != written_.end() && one->step == step; ++one) is_made_[one->part] = true;
    const std::size_t before = made_;
    while (made_ < is_made_.size() && is_made_[made_]) ++made_;
    if (made_ > before) release(made_);
}

void GradientExchange::release(std::size_t count) noexcept {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        released_ = count;
    }
    changed_.notify_all();
}

// On the side thread.
void GradientExchange::wait_for(std::size_t count) {
    {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return released_ >= count; });
    }
    if (met_ns_ == 0) {
        begin_ns_ = monotonic_ns();
        collective_.meet();
        met_ns_ = monotonic_ns();
    }
    complete(count, nullptr);
}

void GradientExchange::complete(std::size_t count, ThreadPool* pool) noexcept {
    for (; completed_ < count; ++completed_) local_.complete(completed_, pool);
}

void GradientExchange::send() noexcept {
    const ContractScope contract;
    try {
        collective_.add(portions_.data(), portions_.size(), this);
    } catch (const Error& error) {
        failure_.emplace(error);
    }
    end_ns_ = monotonic_ns();
}

void GradientExchange::join() noexcept {
    release(portions_.size());
    side_->wait();
    runs_ = false;
}

GradientExchange::Times GradientExchange::end() {
    const std::uint64_t begin = monotonic_ns();
    if (runs_) {
        join();
        if (failure_) throw Error(*failure_);
        if (Profile* const profile = context_.recording())
            profile->beside("send", -1,
                            static_cast<std::uint8_t>(std::min(context_.pool().thread_count(), kMostLane)),
                            begin_ns_, end_ns_);
    } else {
        completed_ = 0;
        complete(portions_.size(), &context_.pool());
        collective_.meet();
        met_ns_ = monotonic_ns();
        collective_.add(portions_.data(), portions_.size());
    }
    return {seconds_between(begin, met_ns_), seconds_between(std::max(begin, met_ns_), monotonic_ns())};
}

void GradientExchange::abandon() noexcept {
    if (runs_) join();
}

}  // namespace volta
