#include "data/loader.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <type_traits>

#include "engine/base/error.h"
#include "engine/base/fp_environment.h"

namespace volta::data {
namespace {

constexpr std::uint32_t kMostBatch = 65536, kMostThreads = 256, kMostQueue = 256, kMostStandIns = 100;
constexpr std::uint64_t kEpochs = std::uint64_t{1} << 32;
constexpr std::size_t kStackBytes = 1 << 20;

static_assert(std::is_same<pthread_t, unsigned long>::value, "handles_ holds them");

void check(const volta_loader_options& o) {
    constexpr std::uint32_t kFlags = VOLTA_LOADER_EVALUATE | VOLTA_LOADER_NO_THREADS;
    require(o.batch <= kMostBatch, "batch is %u, at most %u is possible", o.batch, kMostBatch);
    require(o.thread_count <= kMostThreads, "thread_count is %u, at most %u is possible", o.thread_count,
            kMostThreads);
    require(o.queue <= kMostQueue, "queue is %u, at most %u is possible", o.queue, kMostQueue);
    require(o.order == VOLTA_ORDER_SEQUENTIAL || o.order == VOLTA_ORDER_SHUFFLED,
            "order is %d, an unknown one", o.order);
    require(o.batches == VOLTA_BATCHES_FULL || o.batches == VOLTA_BATCHES_ALL,
            "batches is %d, an unknown one", o.batches);
    require(o.damaged == VOLTA_DAMAGED_STOP || o.damaged == VOLTA_DAMAGED_SKIP,
            "damaged is %d, an unknown one", o.damaged);
    require((o.flags & ~kFlags) == 0, "flags is %u, which has unknown bits", o.flags);
    require(o.reserved == 0, "reserved is %u, not 0", o.reserved);
}

std::uint32_t limited(std::uint64_t count, std::uint64_t limit) {
    return static_cast<std::uint32_t>(limit == 0 ? count : std::min(count, limit));
}

std::uint64_t batches_of(std::uint32_t samples, std::uint32_t batch, bool is_full) {
    const std::uint64_t batches = is_full ? samples / batch : (samples + std::uint64_t{batch} - 1) / batch;
    require(batches > 0, "a batch of %u samples is never full: there are %u", batch, samples);
    return batches;
}

bool is_damage(volta_status status) { return status == VOLTA_CORRUPT_MODEL || status == VOLTA_UNSUPPORTED; }

void set_text(char (&to)[512], const char* text) { std::snprintf(to, sizeof to, "%s", text); }

}  // namespace

Loader::Slot::Slot(Loader& loader, std::pmr::memory_resource* heap, std::pmr::memory_resource* tensors)
    : order(loader.batch_, heap),
      samples(loader.batch_, heap),
      labels(loader.batch_, heap),
      outcomes(loader.batch_, heap) {
    std::uint64_t floats, bytes;
    if (multiply_overflows(loader.transform_.elements(), loader.batch_, &floats) ||
        multiply_overflows(floats, sizeof(float), &bytes) || bytes > SIZE_MAX)
        fail(VOLTA_OUT_OF_MEMORY, "a batch of %u pictures of %zu values is too large", loader.batch_,
             loader.transform_.elements());
    pixels = Buffer(tensors, static_cast<std::size_t>(bytes));
    if (loader.transform_.mixup() == 0 || loader.evaluates_) return;
    weights = Buffer(tensors, std::size_t{loader.batch_} * loader.data_->classes() * sizeof(float));
}

Loader::Loader(const DataSetRef& data, const volta_loader_options& options,
               const volta_transform_options& transform)
    : data_(data),
      transform_(transform, data->channels(), data->height(), data->width(), data->home().limits().pixels),
      seed_(options.seed),
      samples_((check(options), limited(data->count(), options.sample_limit))),
      batch_(options.batch == 0 ? 32 : options.batch),
      is_shuffled_(options.order == VOLTA_ORDER_SHUFFLED),
      is_full_(options.batches == VOLTA_BATCHES_FULL),
      skips_(options.damaged == VOLTA_DAMAGED_SKIP),
      evaluates_((options.flags & VOLTA_LOADER_EVALUATE) != 0),
      batches_(batches_of(samples_, batch_, is_full_)),
      queue_(options.queue == 0 ? 2 : options.queue),
      heap_(data->home().structures()),
      order_(samples_, heap_),
      slots_(heap_),
      threads_(heap_),
      handles_(heap_),
      own_(heap_) {
    slots_.reserve(queue_ + 1);
    for (std::uint64_t i = 0; i <= queue_; ++i) slots_.emplace_back(*this, heap_, data->home().tensors());
    if ((options.flags & VOLTA_LOADER_NO_THREADS) == 0)
        start_threads(options.thread_count == 0 ? 1 : options.thread_count);
}

Loader::~Loader() { stop_threads(); }

// ---- Threads ----

void Loader::start_threads(std::uint32_t count) {
    threads_.reserve(count);
    handles_.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) threads_.emplace_back(*this, heap_);
    // All signals stay with the host's threads: a new one inherits what is blocked.
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error == 0) {
        pthread_attr_setstacksize(&attributes, kStackBytes);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        for (std::uint32_t i = 0; i < count && error == 0; ++i) {
            pthread_t handle;
            error = pthread_create(&handle, &attributes, thread_main, &threads_[i]);
            if (error == 0) handles_.push_back(handle);
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        pthread_attr_destroy(&attributes);
    }
    if (error == 0) return;
    stop_threads();
    fail(VOLTA_OUT_OF_MEMORY, "thread %zu of %u could not be started (error %d)", handles_.size() + 1, count,
         error);
}

// In a forked child there is nobody to wait for.
void Loader::stop_threads() noexcept {
    if (handles_.empty() || mark_.in_child()) return;
    {
        const Lock lock(mutex_);
        stops_ = true;
    }
    work_.notify_all();
    for (const pthread_t handle : handles_) pthread_join(handle, nullptr);
}

void* Loader::thread_main(void* given) {
    Thread& thread = *static_cast<Thread*>(given);
    const FpEnvironment contract;
    thread.loader.work(thread.scratch);
    return nullptr;
}

void Loader::work(Scratch& scratch) noexcept {
    Lock lock(mutex_);
    while (!stops_) {
        Claim claimed;
        if (!is_paused_ && claim(&claimed, head_ + queue_))
            compute(lock, claimed, scratch);
        else
            work_.wait(lock);
    }
}

// ---- What is to be done: with the mutex held ----

bool Loader::claim(Claim* claim, std::uint64_t limit) noexcept {
    limit = std::min(limit, kEpochs * batches_);
    for (std::uint64_t number = claiming_; number < limit; ++number) {
        if (number == opened_) open(opened_++);
        Slot& slot = slot_of(number);
        if (slot.claimed < slot.count) {
            *claim = {&slot, slot.claimed++};
            ++in_flight_;
            return true;
        }
        claiming_ = number + 1;
    }
    return false;
}

void Loader::open(std::uint64_t number) noexcept {
    const std::uint32_t epoch = epoch_of(number);
    if (epoch != ordered_epoch_) order_epoch(epoch);
    const std::uint64_t begin = number % batches_ * batch_;
    Slot& slot = slot_of(number);
    slot.number = number;
    slot.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(batch_, samples_ - begin));
    std::copy_n(order_.begin() + static_cast<std::ptrdiff_t>(begin), slot.count, slot.order.begin());
    reset(slot);
}

void Loader::reset(Slot& slot) noexcept {
    slot.claimed = slot.done = slot.kept = 0;
    slot.skipped = 0;
    slot.is_ready = slot.is_failed = false;
}

void Loader::order_epoch(std::uint32_t epoch) noexcept {
    for (std::uint32_t i = 0; i < samples_; ++i) order_[i] = i;
    if (is_shuffled_)
        shuffle({seed_, epoch, Purpose::data_order, static_cast<std::uint32_t>(Draw::order)}, order_.data(),
                samples_);
    ordered_epoch_ = epoch;
}

// Computes a row without the mutex, and the batch's end with its last one.
void Loader::compute(Lock& lock, const Claim& claim, Scratch& scratch) noexcept {
    Slot& slot = *claim.slot;
    lock.unlock();
    compute_row(slot, claim.row, scratch);
    lock.lock();
    if (++slot.done == slot.count) {
        lock.unlock();
        complete(slot);
        lock.lock();
        slot.is_ready = true;
        ready_.notify_all();
    }
    if (--in_flight_ == 0) idle_.notify_all();
}

// ---- One sample ----

void Loader::compute_row(Slot& slot, std::uint32_t row, Scratch& scratch) noexcept {
    Outcome& outcome = slot.outcomes[row];
    outcome.status = VOLTA_OK;
    outcome.is_skipped = outcome.is_left_out = false;
    std::uint32_t sample = slot.order[row];
    for (std::uint32_t tries = 1;; ++tries) {
        Outcome tried;
        if (try_sample(slot, row, sample, scratch, tried)) return;
        const bool may_skip = skips_ && is_damage(tried.status);
        if (!outcome.is_skipped || !may_skip) set_text(outcome.text, tried.text);
        if (!may_skip || (is_full_ && (tries == kMostStandIns || tries == samples_))) {
            outcome.status = tried.status;
            return;
        }
        outcome.is_skipped = true;
        outcome.is_left_out = !is_full_;
        if (outcome.is_left_out) return;
        sample = sample + 1 == samples_ ? 0 : sample + 1;
    }
}

bool Loader::try_sample(Slot& slot, std::uint32_t row, std::uint32_t sample, Scratch& scratch,
                        Outcome& outcome) noexcept {
    const auto failed = [&](volta_status status, const char* text) {
        outcome.status = status;
        set_text(outcome.text, text);
        return false;
    };
    try {
        data_->read(sample, scratch, scratch.picture);
        try {
            const Draws draws{seed_, epoch_of(slot.number), sample};
            transform_.apply(scratch.picture, evaluates_ ? nullptr : &draws, scratch,
                             slot.row(row, transform_.elements()));
        } catch (const Error& e) {
            char name[4096];
            data_->name_sample(sample, name, sizeof name);
            fail(e.status(), "'%s': %s", name, e.what());
        }
        slot.samples[row] = sample;
        slot.labels[row] = scratch.picture.label;
        return true;
    } catch (const Error& e) {
        return failed(e.status(), e.what());
    } catch (const std::bad_alloc& e) {
        return failed(VOLTA_OUT_OF_MEMORY, e.what());
    } catch (...) {
        return failed(VOLTA_INTERNAL, "an exception of unknown type; please report it");
    }
}

// ---- A whole batch ----

void Loader::complete(Slot& slot) noexcept {
    for (std::uint32_t row = 0; row < slot.count; ++row) {
        slot.is_failed = slot.is_failed || slot.outcomes[row].status != VOLTA_OK;
        slot.skipped += slot.outcomes[row].is_skipped ? 1 : 0;
    }
    if (slot.is_failed) return;
    drop_left_out(slot);
    slot.is_failed = slot.kept == 0;
    if (!slot.is_failed && slot.weights.data() != nullptr) mix(slot);
}

void Loader::drop_left_out(Slot& slot) noexcept {
    const std::size_t elements = transform_.elements();
    for (std::uint32_t row = 0; row < slot.count; ++row) {
        if (slot.outcomes[row].is_left_out) continue;
        if (slot.kept != row) {
            std::memcpy(slot.row(slot.kept, elements), slot.row(row, elements), elements * sizeof(float));
            slot.labels[slot.kept] = slot.labels[row];
            slot.samples[slot.kept] = slot.samples[row];
        }
        ++slot.kept;
    }
}

// In place: row r needs row r + 1 as it was. Of row 0, which the last one needs, each value is kept in turn:
// values of one place in all rows are mixed before those of the next, in blocks that stay in the cache.
void Loader::mix(Slot& slot) noexcept {
    constexpr std::size_t kBlock = 1024;
    float first[kBlock];
    const std::size_t elements = transform_.elements(), classes = data_->classes();
    auto* const weights = static_cast<float*>(slot.weights.data());
    std::memset(weights, 0, slot.kept * classes * sizeof(float));
    const auto share_of = [&](std::uint32_t row) {
        return draw_beta({seed_, epoch_of(slot.number), static_cast<std::uint32_t>(slot.samples[row])},
                         transform_.mixup());
    };
    for (std::uint32_t row = 0; row < slot.kept; ++row) {
        const std::uint32_t partner = row + 1 == slot.kept ? 0 : row + 1;
        const float share = share_of(row);
        weights[row * classes + static_cast<std::size_t>(slot.labels[row])] += share;
        weights[row * classes + static_cast<std::size_t>(slot.labels[partner])] += 1 - share;
    }
    for (std::size_t begin = 0; begin < elements; begin += kBlock) {
        const std::size_t count = std::min(kBlock, elements - begin);
        std::copy_n(slot.row(0, elements) + begin, count, first);
        for (std::uint32_t row = 0; row < slot.kept; ++row) {
            const float share = share_of(row), other_share = 1 - share;
            const float* const other = row + 1 == slot.kept ? first : slot.row(row + 1, elements) + begin;
            float* const own = slot.row(row, elements) + begin;
            for (std::size_t i = 0; i < count; ++i) own[i] = share * own[i] + other_share * other[i];
        }
    }
}

// ---- For the caller ----

// The mutex may be held by a thread that is not here.
void Loader::become_child() noexcept {
    if (is_child_ || !mark_.in_child()) return;
    is_child_ = true;
    new (&mutex_) std::mutex;
    for (std::condition_variable* const one : {&work_, &ready_, &idle_}) new (one) std::condition_variable;
    in_flight_ = 0;
    is_paused_ = false;
    restart_at(head_);
}

void Loader::restart_at(std::uint64_t number) noexcept {
    head_ = opened_ = claiming_ = number;
    ordered_epoch_ = UINT64_MAX;  // a fork may have come while it was made
    for (Slot& slot : slots_) reset(slot);
}

volta_batch Loader::next() {
    become_child();
    Lock lock(mutex_);
    if (head_ >= kEpochs * batches_) fail(VOLTA_INVALID_STATE, "the last epoch, number 4294967295, is over");
    Slot& slot = slot_of(head_);
    if (opened_ > head_ && slot.is_ready && slot.is_failed) {  // again
        reset(slot);
        claiming_ = head_;
        work_.notify_all();
    }
    while (opened_ == head_ || !slot.is_ready) {
        Claim claimed;
        if (claim(&claimed, head_ + 1))
            compute(lock, claimed, own_);
        else
            ready_.wait(lock);
    }
    if (slot.is_failed) {
        const auto end = slot.outcomes.begin() + slot.count;
        const auto bad =
            std::find_if(slot.outcomes.begin(), end, [](const Outcome& o) { return o.status != VOLTA_OK; });
        if (bad != end) throw Error(bad->status, bad->text);
        throw Error(VOLTA_CORRUPT_MODEL, slot.outcomes[0].text);  // all were left out
    }
    ++head_;
    lock.unlock();
    work_.notify_all();

    for (std::uint32_t row = 0; row < slot.count; ++row)
        if (slot.outcomes[row].is_skipped)
            data_->home().log()(VOLTA_LOG_WARNING, "skipped: %s", slot.outcomes[row].text);
    volta_batch batch = VOLTA_BATCH_INIT;
    batch.pixels = static_cast<const float*>(slot.pixels.data());
    batch.labels = slot.labels.data();
    batch.weights = static_cast<const float*>(slot.weights.data());
    batch.samples = slot.samples.data();
    batch.epoch = slot.number / batches_;
    batch.batch = slot.number % batches_;
    batch.batches_of_epoch = batches_;
    batch.skipped = slot.skipped;
    batch.count = slot.kept;
    batch.channels = transform_.channels();
    batch.height = transform_.height();
    batch.width = transform_.width();
    return batch;
}

void Loader::seek(const Position& to) {
    require(to.epoch < kEpochs, "epoch is %llu, at most 4294967295 is possible",
            static_cast<unsigned long long>(to.epoch));
    require(to.batch < batches_, "batch is %llu, and an epoch has %llu",
            static_cast<unsigned long long>(to.batch), static_cast<unsigned long long>(batches_));
    become_child();
    Lock lock(mutex_);
    is_paused_ = true;
    idle_.wait(lock, [&] { return in_flight_ == 0; });
    is_paused_ = false;
    restart_at(to.epoch * batches_ + to.batch);
    lock.unlock();
    work_.notify_all();
}

}  // namespace volta::data
