#include "engine/backend/cuda/compiler.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace volta::cuda {
namespace {

using Program = void*;           // nvrtcProgram
constexpr int kCompilation = 6;  // NVRTC_ERROR_COMPILATION: the log says more

template <class... Parameters>
struct NvrtcCall : LibraryCall<Parameters...> {
    NvrtcCall(void* library, const char* symbol) : LibraryCall<Parameters...>(library, symbol, "NVRTC") {}
};

void* open_nvrtc(int driver_version) {
    return open_toolkit_library({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, driver_version,
                                "CUDA: no NVRTC");
}

}  // namespace

// The part of nvrtc.h that is used here.
struct NvrtcApi {
    explicit NvrtcApi(void* opened) : library(opened) {}

    void* library;
    NvrtcCall<int*, int*> version{library, "nvrtcVersion"};
    NvrtcCall<int*> architecture_count{library, "nvrtcGetNumSupportedArchs"};
    NvrtcCall<int*> architectures{library, "nvrtcGetSupportedArchs"};
    NvrtcCall<Program*, const char*, const char*, int, const char* const*, const char* const*> create{
        library, "nvrtcCreateProgram"};
    NvrtcCall<Program*> destroy{library, "nvrtcDestroyProgram"};
    NvrtcCall<Program, int, const char* const*> compile{library, "nvrtcCompileProgram"};
    NvrtcCall<Program, std::size_t*> log_bytes{library, "nvrtcGetProgramLogSize"};
    NvrtcCall<Program, char*> log{library, "nvrtcGetProgramLog"};
    NvrtcCall<Program, std::size_t*> cubin_bytes{library, "nvrtcGetCUBINSize"};
    NvrtcCall<Program, char*> cubin{library, "nvrtcGetCUBIN"};
    NvrtcCall<Program, std::size_t*> ptx_bytes{library, "nvrtcGetPTXSize"};
    NvrtcCall<Program, char*> ptx{library, "nvrtcGetPTX"};
    const char* (*error_string)(int) =
        reinterpret_cast<const char* (*)(int)>(library_symbol(library, "nvrtcGetErrorString", "NVRTC"));

    template <class... Parameters, class... Arguments>
    void call(const NvrtcCall<Parameters...>& function, Arguments... arguments) const {
        const int result = function.function(arguments...);
        if (result != 0) fail(VOLTA_DEVICE_ERROR, "CUDA: %s: %s", function.name, error_string(result));
    }
};

namespace {

// Destroyed with the scope.
struct OwnedProgram {
    const NvrtcApi& api;
    Program program = nullptr;
    ~OwnedProgram() { api.destroy.function(&program); }
};

// The first lines that name an error, joined: "kernel(3): error: ...; kernel(5): error: ...".
void find_errors(const char* log, char* text, std::size_t bytes) {
    text[0] = '\0';
    std::size_t used = 0;
    for (int found = 0; *log != '\0' && found < 2;) {
        const char* const end = std::strchr(log, '\n');
        const auto length =
            static_cast<int>(end != nullptr ? end - log : static_cast<long>(std::strlen(log)));
        const char* const error = std::strstr(log, "error");
        if (error != nullptr && error < log + length && used < bytes) {
            used += static_cast<std::size_t>(std::snprintf(
                text + used, bytes - used, "%s%.*s", found == 0 ? "" : "; ", std::min(length, 200), log));
            ++found;
        }
        log += length + (end != nullptr ? 1 : 0);
    }
}

}  // namespace

Compiler::Compiler(int driver_version, std::pmr::memory_resource* heap)
    : heap_(heap), api_(make_on<NvrtcApi>(heap, open_nvrtc(driver_version))), architectures_(heap) {
    int major = 0, minor = 0, count = 0;
    api_->call(api_->version, &major, &minor);
    version_ = 1000 * major + 10 * minor;
    require_not_newer("CUDA: NVRTC", version_, driver_version);
    api_->call(api_->architecture_count, &count);
    if (count < 1) fail(VOLTA_UNSUPPORTED, "CUDA: NVRTC %d.%d names no architecture", major, minor);
    architectures_.resize(static_cast<std::size_t>(count));
    api_->call(api_->architectures, architectures_.data());
    std::sort(architectures_.begin(), architectures_.end());
}

Compiler::~Compiler() = default;

int Compiler::target(int architecture, bool* is_ptx) const {
    const auto above = std::upper_bound(architectures_.begin(), architectures_.end(), architecture);
    if (above == architectures_.begin())
        fail(VOLTA_UNSUPPORTED,
             "CUDA: NVRTC %d.%d makes no code for the device's sm_%d, sm_%d is the least it knows",
             version_ / 1000, version_ % 1000 / 10, architecture, architectures_.front());
    *is_ptx = above[-1] != architecture;
    return above[-1];
}

KernelImage Compiler::compile(const char* text, const char* name, int architecture) const {
    KernelImage image;
    image.architecture = target(architecture, &image.is_ptx);
    char target_option[64];
    std::snprintf(target_option, sizeof target_option, "--gpu-architecture=%s_%d",
                  image.is_ptx ? "compute" : "sm", image.architecture);
    const char* const options[] = {target_option, "--fmad=false", "--std=c++17"};
    OwnedProgram owned{*api_};
    api_->call(api_->create, &owned.program, text, name, 0, nullptr, nullptr);
    const int result = api_->compile.function(owned.program, static_cast<int>(std::size(options)), options);
    if (result != 0) fail_with_log(owned.program, result, name);
    std::size_t bytes = 0;
    api_->call(image.is_ptx ? api_->ptx_bytes : api_->cubin_bytes, owned.program, &bytes);
    image.bytes = Buffer(heap_, bytes);
    api_->call(image.is_ptx ? api_->ptx : api_->cubin, owned.program, static_cast<char*>(image.bytes.data()));
    return image;
}

void Compiler::fail_with_log(void* program, int result, const char* name) const {
    char errors[420] = "";
    std::size_t bytes = 0;
    if (result == kCompilation && api_->log_bytes.function(program, &bytes) == 0 && bytes > 0) {
        Buffer log(heap_, bytes + 1, true);
        if (api_->log.function(program, static_cast<char*>(log.data())) == 0)
            find_errors(static_cast<const char*>(log.data()), errors, sizeof errors);
    }
    fail(VOLTA_INTERNAL, "CUDA: NVRTC does not compile %s: %s", name,
         errors[0] != '\0' ? errors : api_->error_string(result));
}

}  // namespace volta::cuda
