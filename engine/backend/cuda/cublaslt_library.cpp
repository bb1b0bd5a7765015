#include "engine/backend/cuda/cublaslt_library.h"

#include <cstdio>

namespace volta::cuda {
namespace {

void* open(int driver_version, const char* what) {
    return open_toolkit_library({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, driver_version,
                                what);
}

// What sentences begin with.
struct Subject {
    char missing[48], too_new[64];
    explicit Subject(Level level) {
        std::snprintf(missing, sizeof missing, "level %s: no cuBLASLt", level_name(level));
        std::snprintf(too_new, sizeof too_new, "level %s: no cuBLASLt: cuBLASLt", level_name(level));
    }
};

}  // namespace

CublasLtLibrary::CublasLtLibrary(Gpu& gpu, Level level, std::pmr::memory_resource* heap) : gpu_(gpu) {
    const Subject subject(level);
    const int driver_version = gpu.driver().version();
    void* const library = open(driver_version, subject.missing);
    try {
        api_ = make_on<LtApi>(heap, library);
    } catch (const Error& lacking) {
        fail(lacking.status(), "%s: %s", subject.missing, lacking.what());
    }
    const std::size_t version = api_->version();
    version_ = static_cast<int>(1000 * (version / 10000) + 10 * (version / 100 % 100));
    require_not_newer(subject.too_new, version_, driver_version);
    call(api_->create, &handle_);
}

CublasLtLibrary::~CublasLtLibrary() {
    const Gpu::Turn turn(gpu_);
    if (turn.has_context()) api_->destroy.function(handle_);
}

Error CublasLtLibrary::error(LtStatus status, const char* name_of_call) const noexcept {
    const char* const name = api_->status_name(status);
    char text[256];
    std::snprintf(text, sizeof text, "cuBLASLt: %s: %s %d", name_of_call, name != nullptr ? name : "status",
                  status);
    return {VOLTA_DEVICE_ERROR, text};
}

LtStatus CublasLtLibrary::choose(LtProduct product, const LtLayout (&layouts)[3], LtPreference preference,
                                 int wanted, LtChoice* choices, int* count) const {
    const Gpu::Turn turn(gpu_);
    return api_->choose.function(handle_, product, layouts[0], layouts[1], layouts[2], layouts[2], preference,
                                 wanted, choices, count);
}

volta_status CublasLtLibrary::run(const Multiplication& work) const noexcept {
    const Gpu::Turn turn(gpu_);
    if (gpu_.lost_) return gpu_.failure_.status();
    const float alpha = 1;
    const LtStatus status =
        api_->multiply.function(handle_, work.product, &alpha, work.a, work.layouts[0], work.b,
                                work.layouts[1], &work.beta, work.c, work.layouts[2], work.c, work.layouts[2],
                                &work.algorithm, work.workspace, work.workspace_bytes, gpu_.stream());
    if (status != 0) return gpu_.report(error(status, api_->multiply.name));
    ++gpu_.counted_->kernel_launches;
    return VOLTA_OK;
}

}  // namespace volta::cuda
