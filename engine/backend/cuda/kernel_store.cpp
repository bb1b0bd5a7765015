#include "engine/backend/cuda/kernel_store.h"

#include <cstring>

namespace volta::cuda {

KernelStore::KernelStore(Gpu& gpu, const char* folder, const Log& log, std::pmr::memory_resource* heap)
    : gpu_(gpu),
      heap_(heap),
      log_(log),
      compiler_(gpu.driver().version(), heap),
      folder_(folder, log, heap),
      modules_(heap) {
    target_ = compiler_.target(gpu.facts().architecture(), &is_ptx_);
}

KernelStore::~KernelStore() {
    const Gpu::Turn turn(gpu_);
    if (!turn.has_context()) return;
    for (auto& [key, module] : modules_) gpu_.driver().api().module_unload.function(module.module);
}

Kernel KernelStore::kernel(const char* text, const char* entry, unsigned shared_bytes) {
    const Gpu::Turn turn(gpu_);
    if (!gpu_.may_wait(entry)) throw gpu_.failure_;  // a stream that records takes no modules
    Module& module = module_of(text, entry);
    auto found = module.kernels.find(entry);
    if (found == module.kernels.end()) {
        const Kernel made = find_function(module.module, entry);
        found = module.kernels.emplace(entry, made).first;
        found->second.name = found->first.c_str();
    }
    if (shared_bytes > 0) allow_shared(found->second, shared_bytes);
    return found->second;
}

KernelStore::Module& KernelStore::module_of(const char* text, const char* entry) {
    const Hash128 hash = hash_bytes(text, std::strlen(text));
    const auto [place, is_new] = modules_.try_emplace(hash, heap_);
    if (!is_new) {
        ++figures_.from_memory;
        return place->second;
    }
    try {
        const KernelKey key{
            hash, target_, is_ptx_, gpu_.driver().version(), compiler_.version(), VOLTA_CONTRACT_VERSION};
        place->second.module = load_from_disk(key, entry);
        if (place->second.module == nullptr) place->second.module = compile(key, text, entry);
    } catch (...) {
        modules_.erase(place);
        throw;
    }
    return place->second;
}

// NULL: there is none that can be used.
CUmodule KernelStore::load_from_disk(const KernelKey& key, const char* entry) {
    KernelImage image;
    bool ignored = false;
    if (folder_.read(key, image, &ignored)) {
        try {
            auto* const module = load(image, entry);
            ++figures_.from_disk;
            return module;
        } catch (const Error& error) {
            if (gpu_.lost()) throw;
            ignored = true;
            log_(VOLTA_LOG_WARNING, "a file of kernels is ignored: %s", error.what());
        }
    }
    figures_.ignored_files += ignored;
    return nullptr;
}

CUmodule KernelStore::compile(const KernelKey& key, const char* text, const char* entry) {
    const KernelImage image = compiler_.compile(text, entry, gpu_.facts().architecture());
    auto* const module = load(image, entry);
    ++figures_.compiled;
    folder_.write(key, image);
    return module;
}

// PTX is compiled by the driver, which has a log of its own.
CUmodule KernelStore::load(const KernelImage& image, const char* entry) {
    char log[256] = "";
    int options[] = {kJitErrorLog, kJitErrorLogBytes};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    CUmodule module = nullptr;
    const auto& call = gpu_.driver().api().module_load;
    const CUresult result = call.function(&module, image.bytes.data(), 2u, options, values);
    log[sizeof log - 1] = '\0';
    if (result != kCudaSuccess && log[0] != '\0' && !is_fatal(result))
        fail(VOLTA_INTERNAL, "CUDA: the driver does not take the kernel %s: %s", entry, log);
    gpu_.require(gpu_.report(result, call.name));
    return module;
}

// Asking for attributes also makes the driver load the function now, rather than at its first launch, which
// may be while a graph is recorded.
Kernel KernelStore::find_function(CUmodule module, const char* entry) {
    const DriverApi& api = gpu_.driver().api();
    Kernel kernel;
    const CUresult result = api.module_function.function(&kernel.function, module, entry);
    if (result == kCudaNotFound)
        fail(VOLTA_INTERNAL, "CUDA: the text of kernels has no entry point %s", entry);
    gpu_.require(gpu_.report(result, api.module_function.name));
    const auto attribute = [&](int which) {
        int value = 0;
        gpu_.require(gpu_.run(api.function_attribute, &value, which, kernel.function));
        return value;
    };
    kernel.registers = attribute(kFunctionRegisters);
    kernel.max_threads = attribute(kFunctionMaxThreads);
    kernel.shared_bytes = static_cast<std::size_t>(attribute(kFunctionSharedBytes));
    kernel.local_bytes = static_cast<std::size_t>(attribute(kFunctionLocalBytes));
    return kernel;
}

// Without this a launch gets 48 KiB at most.
void KernelStore::allow_shared(const Kernel& kernel, unsigned bytes) {
    const std::size_t most = gpu_.facts().shared_bytes_per_block, all = kernel.shared_bytes + bytes;
    if (all > most)
        fail(VOLTA_UNSUPPORTED,
             "CUDA: the kernel %s needs %zu bytes of shared memory, %s has %zu for a block", kernel.name, all,
             gpu_.facts().name, most);
    gpu_.require(gpu_.run(gpu_.driver().api().function_set_attribute, kernel.function,
                          int{kFunctionMaxDynamicSharedBytes}, static_cast<int>(bytes)));
}

StoreFigures KernelStore::figures() noexcept {
    const Gpu::Turn turn(gpu_);
    return figures_;
}

}  // namespace volta::cuda
