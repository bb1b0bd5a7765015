// volta.h: version, status, context, tensor.
#include <cmath>
#include <cstdio>

#include "engine/api/guard.h"
#include "engine/api/handles.h"
#include "engine/api/options.h"
#include "engine/runtime/gateway.h"
#include "engine/runtime/machine_speed.h"

using namespace volta;
using namespace volta::api;

namespace {

// Each thread's latest text, and the status that it belongs to.
thread_local char last_error[512] = "";
thread_local volta_status last_status = VOLTA_OK;

}  // namespace

volta_status volta::api::set_last_error(volta_status status, const char* text) noexcept {
    if (*text == '\0') {
        last_error[0] = '\0';
    } else {
        std::snprintf(last_error, sizeof last_error, "%s", text);
    }
    last_status = status;
    return status;
}

const char* volta_last_error(void) { return last_error; }
volta_status volta_last_status(void) { return last_status; }

const char* volta_version(void) { return VOLTA_VERSION_TEXT; }

const char* volta_status_name(volta_status status) {
    static constexpr const char* kNames[] = {"VOLTA_OK",
                                             "VOLTA_INVALID_ARGUMENT",
                                             "VOLTA_INVALID_STATE",
                                             "VOLTA_SHAPE_MISMATCH",
                                             "VOLTA_OUT_OF_MEMORY",
                                             "VOLTA_IO_ERROR",
                                             "VOLTA_CORRUPT_MODEL",
                                             "VOLTA_UNSUPPORTED",
                                             "VOLTA_DEVICE_ERROR",
                                             "VOLTA_INTERNAL",
                                             "VOLTA_NOT_FINITE",
                                             "VOLTA_CANCELLED"};
    constexpr int kCount = sizeof kNames / sizeof kNames[0];
    return status >= 0 && status < kCount ? kNames[status] : "VOLTA_UNKNOWN";
}

namespace {

Arithmetic read_arithmetic(volta_level level, volta_precision precision) {
    require(level >= VOLTA_STRICT && level <= VOLTA_FAST, "level is %d, it must be in 0 .. %d", level,
            VOLTA_FAST);
    require(precision >= VOLTA_PRECISION_FP32 && precision <= VOLTA_PRECISION_BF16,
            "precision is %d, it must be in 0 .. %d", precision, VOLTA_PRECISION_BF16);
    const Arithmetic read = {static_cast<Level>(level), static_cast<Precision>(precision)};
    require(read.level != Level::strict || read.precision == Precision::fp32,
            "level strict computes in fp32: precision %s needs level repeatable or fast",
            precision_name(read.precision));
    return read;
}

}  // namespace

volta_status volta_context_create(const volta_context_options* options, volta_context** out_context) {
    if (out_context != nullptr) *out_context = nullptr;
    return guarded([&] {
        require(out_context != nullptr, "out_context is NULL");
        const auto given = read_options(options);
        ContextOptions inner;
        inner.arithmetic = read_arithmetic(given.level, given.precision);
        require(given.isa >= VOLTA_ISA_AUTO && given.isa <= VOLTA_ISA_AVX512,
                "isa is %d, it must be in 0 .. 3", given.isa);
        require((given.flags & ~static_cast<uint32_t>(VOLTA_CONTEXT_NO_JIT)) == 0,
                "flags is %u, which has unknown bits", given.flags);
        require(given.thread_count <= 256, "thread_count is %u, at most 256 are supported",
                given.thread_count);
        if (given.allocator != nullptr)
            require(given.allocator->allocate != nullptr && given.allocator->release != nullptr,
                    "the allocator lacks %s", given.allocator->allocate == nullptr ? "allocate" : "release");
        inner.allocator = given.allocator;
        inner.log.write = given.log;
        inner.log.user = given.log_user;
        inner.thread_count = static_cast<int>(given.thread_count);
        inner.parallel_for = {given.parallel_for, given.parallel_user};
        inner.isa_auto = given.isa == VOLTA_ISA_AUTO;
        if (!inner.isa_auto) inner.isa = static_cast<Isa>(given.isa);
        inner.refuse_jit = (given.flags & VOLTA_CONTEXT_NO_JIT) != 0;
        require(given.tuning_folder == nullptr || *given.tuning_folder != '\0', "tuning_folder is empty");
        inner.tuning_folder = given.tuning_folder;
        require(given.kernel_folder == nullptr || *given.kernel_folder != '\0', "kernel_folder is empty");
        inner.kernel_folder = given.kernel_folder;
        inner.device = given.device;
        inner.host_budget = given.host_budget;
        inner.device_budget = given.device_budget;
        require(given.step_order >= VOLTA_STEP_ORDER_GRAPH && given.step_order <= VOLTA_STEP_ORDER_MEMORY,
                "step_order is %d, it must be 0 or 1", given.step_order);
        inner.step_order = static_cast<StepOrder>(given.step_order);
        *out_context = reinterpret_cast<volta_context*>(Context::create(inner));
    });
}

void volta_context_release(volta_context* context) {
    if (context != nullptr) unfailing([&] { unwrap(context)->release(); });
}

volta_status volta_context_set_stop(volta_context* context, const volta_stop_options* options) {
    return guarded([&] {
        require(context != nullptr, "context is NULL");
        const auto given = read_options(options);
        require(std::isfinite(given.max_seconds) && given.max_seconds >= 0,
                "max_seconds is %g, it must be a finite number of at least 0", given.max_seconds);
        unwrap(context)->set_stop({given.cancel, given.should_stop, given.user, given.max_seconds});
    });
}

volta_status volta_context_get_info(const volta_context* context, volta_context_info* info) {
    return guarded([&] {
        require(context != nullptr, "context is NULL");
        auto& inner = *const_cast<Context*>(unwrap(context));
        volta_context_info report = {};
        report.isa = static_cast<volta_isa>(inner.isa());
        report.thread_count = static_cast<uint32_t>(inner.pool().thread_count());
        report.physical_cores = static_cast<uint32_t>(host_cpu().physical_cores);
        report.jit_active = inner.isa() != Isa::scalar && inner.code().available();
        report.plan_cache_hits = inner.plans().hits();
        report.plan_cache_misses = inner.plans().misses();
        report.allocation_count = inner.heap().allocation_count();
        report.tensor_bytes = inner.heap().tensor_bytes();
        report.tensor_bytes_peak = inner.heap().tensor_bytes_peak();
        report.code_bytes = inner.code().bytes();
        std::snprintf(report.cpu, sizeof report.cpu, "%s", host_cpu().brand);
        report.level = static_cast<volta_level>(inner.arithmetic().level);
        report.precision = static_cast<volta_precision>(inner.arithmetic().precision);
        write_report(report, info);
    });
}

namespace {

volta_device_info report_of(const DeviceInfo& info) {
    volta_device_info report = {};
    std::snprintf(report.name, sizeof report.name, "%s", info.name);
    std::snprintf(report.description, sizeof report.description, "%s", info.description);
    report.memory_bytes = info.memory_bytes;
    report.free_bytes = info.free_bytes;
    report.multiprocessors = static_cast<uint32_t>(info.multiprocessors);
    report.capability_major = static_cast<uint32_t>(info.major);
    report.capability_minor = static_cast<uint32_t>(info.minor);
    return report;
}

}  // namespace

volta_status volta_device_count(const char* backend, uint32_t* out_count) {
    if (out_count != nullptr) *out_count = 0;
    return guarded([&] {
        require(out_count != nullptr && backend != nullptr, "%s is NULL",
                backend == nullptr ? "backend" : "out_count");
        HostHeap heap(nullptr);
        *out_count = static_cast<uint32_t>(count_devices(backend, heap.structures()));
    });
}

volta_status volta_device_describe(const char* backend, uint32_t index, volta_device_info* info) {
    return guarded([&] {
        write_report(volta_device_info{}, info);
        require(backend != nullptr, "backend is NULL");
        HostHeap heap(nullptr);
        write_report(report_of(describe_device(backend, index, heap.structures())), info);
    });
}

volta_status volta_context_get_device(const volta_context* context, volta_device_info* info) {
    return guarded([&] {
        write_report(volta_device_info{}, info);
        require(context != nullptr, "context is NULL");
        const Device& device = const_cast<Context*>(unwrap(context))->plans().device();
        volta_device_info report = report_of(device.info());
        const DeviceTraffic traffic = device.traffic();
        report.copies_to_device = traffic.copies_to_device;
        report.bytes_to_device = traffic.bytes_to_device;
        report.copies_to_host = traffic.copies_to_host;
        report.bytes_to_host = traffic.bytes_to_host;
        report.launches = traffic.launches;
        report.bytes_in_use = traffic.bytes_in_use;
        report.pinned_bytes = traffic.pinned_bytes;
        write_report(report, info);
    });
}

volta_status volta_measure_machine(volta_context* context, volta_machine_speed* speed) {
    return guarded([&] {
        volta_machine_speed report = {};
        write_report(report, speed);  // before a second is spent
        require(context != nullptr, "context is NULL");
        const ContextRef owner(unwrap(context));
        const MachineSpeed measured = measure_machine(*owner);
        if (owner->memory().is_host()) {
            report.isa = static_cast<volta_isa>(owner->isa());
            report.thread_count = static_cast<uint32_t>(owner->pool().thread_count());
        }
        report.fma_gflops = measured.fma.median;
        report.fma_spread = measured.fma.spread;
        report.read_gb_s = measured.read.median;
        report.read_spread = measured.read.spread;
        report.stream_gb_s = measured.stream.median;
        report.stream_spread = measured.stream.spread;
        report.buffer_bytes = measured.buffer_bytes;
        write_report(report, speed);
    });
}

namespace {

Shape read_shape(const int64_t* extents, int32_t rank) {
    require(rank >= 0 && rank <= VOLTA_MAX_RANK, "rank is %d, it must be in 0 .. %d", rank, VOLTA_MAX_RANK);
    require(extents != nullptr || rank == 0, "shape is NULL");
    Shape shape;
    shape.rank = rank;
    std::uint64_t elements = 1;
    for (int axis = 0; axis < rank; ++axis) {
        require(extents[axis] >= 0, "the extent of axis %d is %lld", axis,
                static_cast<long long>(extents[axis]));
        shape[axis] = extents[axis];
        if (multiply_overflows(elements, static_cast<std::uint64_t>(extents[axis]), &elements) ||
            elements >> 60)
            fail(VOLTA_INVALID_ARGUMENT, "the tensor would have more than 2^60 elements");
    }
    return shape;
}

DType read_dtype(volta_dtype dtype) {
    require(dtype == VOLTA_F32 || dtype == VOLTA_I32, "dtype is %d, it must be VOLTA_F32 or VOLTA_I32",
            dtype);
    return static_cast<DType>(dtype);
}

}  // namespace

volta_status volta_tensor_create(volta_context* context, volta_dtype dtype, const int64_t* shape,
                                 int32_t rank, volta_tensor** out_tensor) {
    if (out_tensor != nullptr) *out_tensor = nullptr;
    return guarded([&] {
        require(out_tensor != nullptr, "out_tensor is NULL");
        require(context != nullptr, "context is NULL");
        const ContextRef owner(unwrap(context));
        TensorView view{read_dtype(dtype), read_shape(shape, rank), nullptr};
        Buffer bytes(owner->tensors(),
                     static_cast<std::size_t>(view.shape.elements()) * element_size(view.dtype), true);
        view.data = bytes.data();
        *out_tensor = as_handle(make_tensor(owner, view, std::move(bytes)));
    });
}

volta_status volta_tensor_wrap(volta_context* context, volta_dtype dtype, const int64_t* shape, int32_t rank,
                               void* data, volta_tensor** out_tensor) {
    if (out_tensor != nullptr) *out_tensor = nullptr;
    return guarded([&] {
        require(out_tensor != nullptr, "out_tensor is NULL");
        require(context != nullptr, "context is NULL");
        require(data != nullptr, "data is NULL");
        const TensorView view{read_dtype(dtype), read_shape(shape, rank), data};
        require(reinterpret_cast<std::uintptr_t>(data) % element_size(view.dtype) == 0,
                "data is not aligned to its elements of %zu bytes", element_size(view.dtype));
        *out_tensor = as_handle(make_tensor(ContextRef(unwrap(context)), view, Buffer()));
    });
}

// Results and gradients are the tape's and the tensor's; a kept result is given up.
void volta_tensor_release(volta_tensor* tensor) {
    unfailing([&] {
        if (tensor == nullptr) return;
        if (tensor->role == Tensor::Role::leaf)
            release(tensor);
        else
            tensor->is_kept = false;
    });
}

volta_dtype volta_tensor_dtype(const volta_tensor* tensor) {
    return tensor != nullptr ? static_cast<volta_dtype>(tensor->view.dtype) : 0;
}
int32_t volta_tensor_rank(const volta_tensor* tensor) {
    return tensor != nullptr ? tensor->view.shape.rank : -1;
}
int64_t volta_tensor_extent(const volta_tensor* tensor, int32_t axis) {
    return tensor != nullptr && axis >= 0 && axis < tensor->view.shape.rank ? tensor->view.shape[axis] : -1;
}
int64_t volta_tensor_elements(const volta_tensor* tensor) {
    return tensor != nullptr ? tensor->view.shape.elements() : 0;
}
void* volta_tensor_data(volta_tensor* tensor) {
    // The usual case, at no cost.
    if (tensor != nullptr && tensor->role == Tensor::Role::leaf && tensor->view.data != nullptr) {
        set_last_error(VOLTA_OK, "");
        return tensor->view.data;
    }
    const volta_status status = guarded([&] {
        require(tensor != nullptr, "tensor is NULL");
        compute(*tensor);
    });
    return status == VOLTA_OK ? tensor->view.data : nullptr;
}
