#include "engine/backend/backend.h"

#include <cstring>

#include "engine/backend/cpu/cpu_device.h"
#include "engine/backend/cuda_module.h"
#include "engine/base/error.h"

namespace volta {

const BackendRow kBackends[] = {
    {"cpu", cpu::count_devices, cpu::describe_device, cpu::open_device},
    {"cuda", count_cuda_devices, describe_cuda_device, open_cuda_device},
};
const int kBackendCount = static_cast<int>(sizeof kBackends / sizeof *kBackends);

namespace {

const BackendRow& row_of(const char* backend) {
    for (const BackendRow& row : kBackends)
        if (std::strcmp(row.name, backend) == 0) return row;
    fail(VOLTA_INVALID_ARGUMENT, "backend is '%s', it must be cpu or cuda", backend);
}

// "cuda:12" of backend "cuda" is 12, "cuda" is 0; -1: another name. Throws for a number that is none.
int index_of(const char* name, const char* backend) {
    const std::size_t length = std::strlen(backend);
    if (std::strncmp(name, backend, length) != 0) return -1;
    const char* digits = name + length;
    if (*digits == '\0') return 0;
    if (*digits != ':') return -1;
    int index = 0;
    const char* digit = digits + 1;
    for (; *digit >= '0' && *digit <= '9' && index < 1000; ++digit) index = 10 * index + (*digit - '0');
    if (*digit != '\0' || digit == digits + 1)
        fail(VOLTA_INVALID_ARGUMENT, "device is '%s', what follows '%s:' must be a number", name, backend);
    return index;
}

// The processor, where `error` kept CUDA away. Where neither serves, both reasons count.
DevicePtr open_instead(const DeviceOptions& options, const Error& error) {
    try {
        return kBackends[0].open(options);
    } catch (const Error& refusal) {
        fail(refusal.status(), "%s, because cuda cannot be used: %s", refusal.what(), error.what());
    }
}

DevicePtr open_best(DeviceOptions options) {
    try {
        DevicePtr device = kBackends[1].open(options);
        options.log(VOLTA_LOG_INFO, "device auto: %s, %s", device->info().name, device->info().description);
        return device;
    } catch (const Error& error) {
        DevicePtr device = open_instead(options, error);
        options.log(VOLTA_LOG_INFO, "device auto: cpu, because: %s", error.what());
        return device;
    }
}

}  // namespace

int count_devices(const char* backend, std::pmr::memory_resource* heap) {
    return row_of(backend).count(heap);
}

DeviceInfo describe_device(const char* backend, std::uint32_t index, std::pmr::memory_resource* heap) {
    const BackendRow& row = row_of(backend);
    const int count = row.count(heap);
    require(index < static_cast<std::uint32_t>(count), "index is %u, %s has %d device%s", index, backend,
            count, count == 1 ? "" : "s");
    return row.describe(static_cast<int>(index), heap);
}

DevicePtr open_device(const char* name, DeviceOptions options) {
    if (name == nullptr) return kBackends[0].open(options);
    if (std::strcmp(name, "auto") == 0) return open_best(options);
    for (const BackendRow& row : kBackends) {
        options.index = index_of(name, row.name);
        if (options.index >= 0) return row.open(options);
    }
    fail(VOLTA_INVALID_ARGUMENT, "device is '%s', it must be cpu, cuda, cuda:N or auto", name);
}

}  // namespace volta
