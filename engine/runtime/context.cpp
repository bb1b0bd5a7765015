#include "engine/runtime/context.h"

#include <new>

#include "engine/base/error.h"
#include "engine/runtime/gateway.h"
#include "engine/runtime/profile.h"

namespace volta {
namespace {

constexpr int kMaxThreads = 256;

Isa choose_isa(const ContextOptions& options) {
    const CpuInfo& cpu = host_cpu();
    if (options.isa_auto) return cpu.best_isa;
    if (!cpu.has(options.isa))
        fail(VOLTA_UNSUPPORTED, "the processor (%s) has no %s; its best is %s", cpu.brand,
             isa_name(options.isa), isa_name(cpu.best_isa));
    return options.isa;
}

int choose_threads(int asked) {
    require(asked >= 0 && asked <= kMaxThreads, "thread_count is %d, it must be 0 .. %d", asked, kMaxThreads);
    if (asked > 0) return asked;
    const int cores = host_cpu().physical_cores;
    return cores < kMaxThreads ? cores : kMaxThreads;
}

}  // namespace

Context::Context(const ContextOptions& options)
    : heap_(options.allocator),
      log_(options.log),
      isa_(choose_isa(options)),
      arithmetic_(options.arithmetic),
      step_order_(options.step_order) {
    std::pmr::memory_resource* heap = heap_.structures();
    pool_ = make_on<ThreadPool>(heap, choose_threads(options.thread_count), heap, options.parallel_for);
    code_ = make_on<jit::CodeArena>(heap, heap, options.refuse_jit);
    plans_ = make_on<PlanCache>(heap, *this, options);
    if (arithmetic_ != Arithmetic())
        log_(VOLTA_LOG_INFO, "level %s, precision %s on %s", level_name(arithmetic_.level),
             precision_name(arithmetic_.precision), plans_->device().info().name);
    if (options.tuning_folder != nullptr) plans_->open_tuning_folder(options.tuning_folder);
}

Context::~Context() =
    default;  // plans_ before code_ and pool_, which programs use: members end in reverse order

Memory& Context::memory() noexcept { return plans_->device().memory(); }
Memory& Context::staging() noexcept { return plans_->device().staging(); }
DeviceStream* Context::device_stream() noexcept { return plans_->device().stream(); }

void Context::start_profile(std::uint64_t capacity) {
    if (recording_ != nullptr) fail(VOLTA_INVALID_STATE, "the context is recording a profile already");
    HeapPtr<Profile> made = make_on<Profile>(heap_.structures(), capacity, heap_, heap_.structures());
    plans_->describe();
    profile_ = std::move(made);
    recording_ = profile_.get();
    pool_->observe(recording_);
}

void Context::stop_profile() {
    if (recording_ == nullptr) fail(VOLTA_INVALID_STATE, "the context is not recording a profile");
    if (recording_->is_inside())
        fail(VOLTA_INVALID_STATE, "a call of the context is running: its profile cannot end in it");
    pool_->observe(nullptr);
    recording_ = nullptr;
    profile_->stop();
}

const Profile& Context::profile() const {
    if (recording_ != nullptr)
        fail(VOLTA_INVALID_STATE, "the profile is being recorded: call volta_profile_stop first");
    if (!profile_) fail(VOLTA_INVALID_STATE, "the context has no profile: call volta_profile_start first");
    return *profile_;
}

// The object lies on the host's heap but cannot own the heap it lies on: its own bytes are asked from, and
// given back to, a HostHeap that lives as long as the call.
Context* Context::create(const ContextOptions& options) {
    HostHeap outer(options.allocator);
    void* place = outer.structures()->allocate(sizeof(Context), alignof(Context));
    try {
        Context* context = new (place) Context(options);
        context->has_allocator_ = options.allocator != nullptr;
        if (context->has_allocator_) context->allocator_ = *options.allocator;
        return context;
    } catch (...) {
        outer.structures()->deallocate(place, sizeof(Context), alignof(Context));
        throw;
    }
}

void Context::retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }

void Context::release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const volta_allocator allocator = allocator_;
    HostHeap outer(has_allocator_ ? &allocator : nullptr);
    this->~Context();
    outer.structures()->deallocate(this, sizeof(Context), alignof(Context));
}

}  // namespace volta
