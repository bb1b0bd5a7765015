// In front of the text of every kernel that the fake NVRTC compiles: CUDA C on a processor, and calls of
// entry points with the parameters of cuLaunchKernel, whatever their types.
#pragma once

#include <cstdio>
#include <utility>

#include "tests/support/fake_cuda/fake_entry.h"

namespace volta::fake {

template <class Function>
struct KernelOf;

template <class... Parameters>
struct KernelOf<void (*)(Parameters...)> {
    static constexpr std::size_t count = sizeof...(Parameters);
    static constexpr std::size_t bytes[] = {sizeof(Parameters)..., 0};

    static void call(void (*kernel)(Parameters...), void** parameters) {
        call(kernel, parameters, std::index_sequence_for<Parameters...>());
    }
    template <std::size_t... indices>
    static void call(void (*kernel)(Parameters...), [[maybe_unused]] void** parameters,
                     std::index_sequence<indices...>) {
        kernel(*static_cast<Parameters*>(parameters[indices])...);
    }
};

template <auto kernel>
void run_kernel(const simt::Launch& launch, void** parameters, char* error, std::size_t error_bytes) {
    const std::string found =
        simt::run(launch, [&] { KernelOf<decltype(kernel)>::call(kernel, parameters); });
    std::snprintf(error, error_bytes, "%s", found.c_str());
}

template <auto kernel>
constexpr Entry entry(const char* name, unsigned max_threads) {
    using Kernel = KernelOf<decltype(kernel)>;
    return {name, run_kernel<kernel>, Kernel::count, Kernel::bytes, max_threads};
}

}  // namespace volta::fake
