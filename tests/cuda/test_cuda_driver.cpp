// The driver layer as a guest: what it says about machines that cannot, what it leaves behind, and that a
// failed device is a status. On the fake driver (docs/cuda.md).
#include "engine/backend/cuda/device.h"
#include "tests/support/errors.h"
#include "tests/support/fake_cuda/fake_access.h"

namespace {
using namespace volta;
using namespace volta::test;
using cuda::Driver;
using cuda::Gpu;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

Failure failure_of_driver(const char* name, const char* value) {
    const Setting setting(name, value);
    return failure_of([] { Driver driver; });
}

void test_devices(void**) {
    const Setting two("VOLTA_FAKE_CUDA_DEVICES", "2"), memory("VOLTA_FAKE_CUDA_MEMORY", "3000000");
    const Driver driver;
    const auto list = cuda::list_devices(driver, heap());
    assert_int_equal(list.size(), 2);
    assert_int_equal(driver.version(), 13000);
    const cuda::DeviceFacts& facts = list[1];
    assert_int_equal(facts.ordinal, 1);
    assert_string_equal(facts.name, "Fake device 1");
    assert_int_equal(facts.architecture(), 90);
    assert_int_equal(facts.driver_version, 13000);
    assert_int_equal(facts.warp_size, 32);
    assert_int_equal(facts.multiprocessors, 2);
    assert_int_equal(facts.shared_bytes_per_block, 227 * 1024);
    assert_int_equal(facts.memory_bytes, 3000000);
    assert_true(facts.memory_bytes_per_second == 2.0 * 2e9 * 64);
    assert_int_equal(fake_calls("cuDevicePrimaryCtxRetain"), 0);  // a list makes nothing on a device
    assert_int_equal(driver.free_bytes(1), 3000000);
    {
        const Setting fault("VOLTA_FAKE_CUDA_FAIL", "cuCtxPushCurrent_v2:1:201");
        assert_failure(failure_of([] { Driver().free_bytes(0); }), VOLTA_DEVICE_ERROR,
                       "cuCtxPushCurrent_v2: ");
    }
    assert_true(nothing_is_left());
}

void test_machines_that_cannot(void**) {
    assert_failure(failure_of_driver("VOLTA_FAKE_CUDA_DRIVER", "11080"), VOLTA_UNSUPPORTED,
                   "CUDA: the driver is too old: it is made for CUDA 11.8, Volta needs 12.0 or later");
    assert_failure(failure_of_driver("VOLTA_FAKE_CUDA_DEVICES", "0"), VOLTA_UNSUPPORTED,
                   "CUDA: no device: the driver, made for CUDA 13.0, finds none");
    assert_failure(failure_of_driver("VOLTA_FAKE_CUDA_FAIL", "cuDriverGetVersion:1:34"), VOLTA_UNSUPPORTED,
                   "CUDA: no driver: the libcuda.so.1 that was found is a stub for linking");
    assert_failure(failure_of_driver("VOLTA_FAKE_CUDA_FAIL", "cuDriverGetVersion:1:3"), VOLTA_DEVICE_ERROR,
                   "CUDA: cuDriverGetVersion of libcuda.so.1 failed with result 3");
    assert_failure(failure_of_driver("VOLTA_FAKE_CUDA_FAIL", "cuInit:1:999"), VOLTA_DEVICE_ERROR,
                   "CUDA: cuInit: result 999 (the driver does not say what that is)");
    assert_failure(failure_of_driver("VOLTA_FAKE_CUDA_FAIL", "cuDeviceGetCount:1:101"), VOLTA_DEVICE_ERROR,
                   "CUDA: cuDeviceGetCount: CUDA_ERROR_INVALID_DEVICE 101 (invalid device ordinal)");
    assert_failure(failure_of([] { Driver().facts(1); }), VOLTA_INVALID_ARGUMENT,
                   "CUDA: device 1 does not exist, there is 1");
    assert_failure(failure_of([] {
                       const Driver driver;
                       Gpu gpu(driver, {-1}, heap());
                   }),
                   VOLTA_INVALID_ARGUMENT, "CUDA: device -1 does not exist");
}

// Whatever fails while a device is opened, nothing stays.
void test_opening_that_fails(void**) {
    for (const char* name : {"cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDeviceTotalMem_v2",
                             "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuStreamCreate"}) {
        const Setting fault("VOLTA_FAKE_CUDA_FAIL", std::string(name) + ":1:201");
        assert_failure(failure_of([] {
                           const Driver driver;
                           Gpu gpu(driver, {}, heap());
                       }),
                       VOLTA_DEVICE_ERROR, name);
        assert_true(nothing_is_left());
    }
}

// The host works with device 1 and lends its thread.
void test_context_of_the_thread(void**) {
    const Setting two("VOLTA_FAKE_CUDA_DEVICES", "2");
    const Driver driver;
    const auto current = fake_function<cuda::CUresult(cuda::CUcontext*)>("cuCtxGetCurrent");
    cuda::CUcontext of_host = nullptr, seen = nullptr;
    const auto is_current = [&] { return current(&seen) == 0 && seen == of_host; };
    driver.call(driver.api().context_retain, &of_host, 1);
    driver.call(driver.api().context_push, of_host);
    {
        Gpu gpu(driver, {}, heap());
        assert_true(is_current());
        {
            auto memory = gpu.allocate(100, "a test");
            auto pinned = gpu.allocate_pinned(100, "a test");
            cuda::Event event(gpu);
            char host[100] = {};
            assert_true(is_current());
            assert_int_equal(gpu.upload(memory.address(), host, 100), VOLTA_OK);
            assert_int_equal(gpu.download(host, memory.address(), 100), VOLTA_OK);
            assert_int_equal(event.record(), VOLTA_OK);
            assert_int_equal(event.wait(), VOLTA_OK);
            assert_true(is_current());
            assert_int_not_equal(gpu.upload(memory.address() + 1000, host, 100), VOLTA_OK);
            const Failure failure = failure_of([&] { gpu.allocate(std::size_t{1} << 60, "a test"); });
            assert_int_equal(failure.status, VOLTA_OUT_OF_MEMORY);
            assert_true(is_current());
            const Gpu::Turn turn(gpu);
            const Gpu::Turn nested(gpu);
            assert_false(is_current());
        }
        assert_true(is_current());
    }
    assert_true(is_current());
    driver.call(driver.api().context_pop, &seen);
    driver.call(driver.api().context_release, 1);
    assert_true(nothing_is_left());
}

struct Used {
    explicit Used(Gpu& gpu)
        : memory(gpu.allocate(4096, "a test")), pinned(gpu.allocate_pinned(4096, "a test")), event(gpu) {}
    cuda::DeviceMemory memory;
    cuda::PinnedMemory pinned;
    cuda::Event event;
};

constexpr char kIllegal[] =
    "CUDA: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS 700 (an illegal memory access was encountered)";

bool is_lost(Gpu& gpu, volta_status status) {
    return status == VOLTA_DEVICE_ERROR && gpu.lost() && std::strcmp(gpu.failure().what(), kIllegal) == 0;
}

void test_lost_device(void**) {
    const Setting fault("VOLTA_FAKE_CUDA_FAIL", "cuStreamSynchronize:2:700");
    const Driver driver;
    {
        Gpu gpu(driver, {}, heap());
        Used used(gpu);
        char host[64] = {};
        assert_int_equal(gpu.wait(), VOLTA_OK);
        assert_string_equal(gpu.failure().what(), "");
        assert_true(is_lost(gpu, gpu.wait()));
        assert_true(is_lost(gpu, gpu.upload(used.memory.address(), host, 64)));
        assert_true(is_lost(gpu, gpu.download(host, used.memory.address(), 64)));
        assert_true(is_lost(gpu, gpu.upload_later(used.memory.address(), used.pinned, 0, 64)));
        assert_true(is_lost(gpu, gpu.download_later(used.pinned, 0, used.memory.address(), 64)));
        assert_true(is_lost(gpu, gpu.copy(used.memory.address(), used.memory.address() + 512, 64)));
        assert_true(is_lost(gpu, gpu.fill(used.memory.address(), 1, 64)));
        assert_true(is_lost(gpu, gpu.fill_words(used.memory.address(), 1, 64)));
        assert_true(is_lost(gpu, gpu.launch({}, {}, nullptr)));
        assert_true(is_lost(gpu, gpu.wait()));
        assert_true(is_lost(gpu, used.event.record()));
        assert_true(is_lost(gpu, used.event.wait()));
        assert_int_equal(gpu.free_bytes(), 0);
        assert_failure(failure_of([&] { gpu.allocate(64, "a test"); }), VOLTA_DEVICE_ERROR, kIllegal);
        assert_failure(failure_of([&] { gpu.allocate_pinned(64, "a test"); }), VOLTA_DEVICE_ERROR, kIllegal);
        assert_failure(failure_of([&] { cuda::Event event(gpu); }), VOLTA_DEVICE_ERROR, kIllegal);
    }
    assert_true(nothing_is_left());
    Gpu gpu(driver, {}, heap());
    assert_int_equal(gpu.fill(gpu.allocate(64, "a test").address(), 1, 64), VOLTA_OK);
    assert_int_equal(gpu.wait(), VOLTA_OK);
}

// The host still holds the context that failed: it stays as it is until the host lets go too.
void test_lost_context_of_the_host(void**) {
    const Setting fault("VOLTA_FAKE_CUDA_FAIL", "cuMemsetD8Async:1:719");
    const Driver driver;
    cuda::CUcontext of_host = nullptr;
    driver.call(driver.api().context_retain, &of_host, 0);
    {
        Gpu gpu(driver, {}, heap());
        const auto memory = gpu.allocate(64, "a test");
        assert_int_equal(gpu.fill(memory.address(), 0, 64), VOLTA_DEVICE_ERROR);
        assert_true(gpu.lost());
    }
    assert_failure(failure_of([&] { Gpu gpu(driver, {}, heap()); }), VOLTA_DEVICE_ERROR,
                   "cuStreamCreate: CUDA_ERROR_LAUNCH_FAILED 719");
    driver.call(driver.api().context_release, 0);
    assert_true(nothing_is_left());
    const Gpu gpu(driver, {}, heap());
}

// The host resets the device under us.
void test_device_that_is_reset(void**) {
    const Driver driver;
    {
        Gpu gpu(driver, {}, heap());
        const Used used(gpu);
        const auto reset = fake_function<cuda::CUresult(cuda::CUdevice)>("cuDevicePrimaryCtxReset_v2");
        assert_int_equal(reset(0), 0);
        assert_int_equal(gpu.wait(), VOLTA_DEVICE_ERROR);
        assert_true(gpu.lost());
        assert_string_equal(
            gpu.failure().what(),
            "CUDA: cuCtxPushCurrent_v2: CUDA_ERROR_CONTEXT_IS_DESTROYED 709 (context is destroyed)");
        assert_int_equal(gpu.fill(used.memory.address(), 0, 64), VOLTA_DEVICE_ERROR);
    }
    assert_int_equal(
        fake_calls("cuMemFree_v2") + fake_calls("cuStreamDestroy_v2") + fake_calls("cuMemFreeHost"), 0);
    assert_true(nothing_is_left());
    const Gpu gpu(driver, {}, heap());
}

// A refusal is not the end: the next call works, and the sentence names the call.
void test_failure_that_passes(void**) {
    const Setting fault("VOLTA_FAKE_CUDA_FAIL", "cuMemsetD8Async:1:1,cuMemAlloc_v2:2:209");
    const Driver driver;
    Gpu gpu(driver, {}, heap());
    const auto memory = gpu.allocate(64, "a test");
    assert_int_equal(gpu.fill(memory.address(), 0, 64), VOLTA_DEVICE_ERROR);
    assert_string_equal(gpu.failure().what(),
                        "CUDA: cuMemsetD8Async: CUDA_ERROR_INVALID_VALUE 1 (invalid argument)");
    assert_failure(failure_of([&] { gpu.require(VOLTA_DEVICE_ERROR); }), VOLTA_DEVICE_ERROR,
                   "cuMemsetD8Async");
    assert_failure(failure_of([&] { gpu.allocate(5000, "a test"); }), VOLTA_DEVICE_ERROR,
                   "cuMemAlloc_v2: CUDA_ERROR_NO_BI");
    assert_false(gpu.lost());
    assert_int_equal(gpu.fill(memory.address(), 0, 64), VOLTA_OK);
    assert_int_equal(gpu.wait(), VOLTA_OK);
    assert_int_equal(gpu.figures().filled.count, 1);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_machines_that_cannot),
        cmocka_unit_test(test_opening_that_fails),
        cmocka_unit_test(test_context_of_the_thread),
        cmocka_unit_test(test_lost_device),
        cmocka_unit_test(test_lost_context_of_the_host),
        cmocka_unit_test(test_device_that_is_reset),
        cmocka_unit_test(test_failure_that_passes),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
