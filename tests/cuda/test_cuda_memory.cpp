// Memory of a device: the pool's books to the byte against what the fake driver has given, budgets, and
// copies that arrive when they are waited for.
#include <thread>
#include <vector>

#include "engine/backend/cuda/device.h"
#include "tests/support/errors.h"
#include "tests/support/fake_cuda/fake_access.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;
using cuda::DeviceMemory;
using cuda::Driver;
using cuda::Gpu;

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

bool has(Gpu& gpu, std::uint64_t in_use, std::uint64_t held) {
    const cuda::MemoryFigures figures = gpu.memory();
    const fake::Counts counts = fake_counts();
    if (figures.in_use == in_use && figures.held == held && counts.bytes == held) return true;
    print_error("in use %llu, held %llu, of the driver %zu\n",
                static_cast<unsigned long long>(figures.in_use),
                static_cast<unsigned long long>(figures.held), counts.bytes);
    return false;
}

void test_books(void**) {
    const Driver driver;
    {
        Gpu gpu(driver, {}, heap());
        assert_true(has(gpu, 0, 0));
        DeviceMemory a = gpu.allocate(1000, "a test");
        assert_true(has(gpu, 1000, 1024));
        assert_int_equal(a.bytes(), 1000);
        assert_int_equal(a.address() % cuda::kDeviceAlignment, 0);
        DeviceMemory b = gpu.allocate(1, "a test"), none = gpu.allocate(0, "a test");
        assert_true(has(gpu, 1001, 1536));
        assert_int_equal(none.address(), 0);
        const cuda::CUdeviceptr address = a.address();
        a = DeviceMemory();
        assert_true(has(gpu, 1, 1536));
        DeviceMemory c = gpu.allocate(513, "a test");  // where a was
        assert_true(c.address() == address);
        assert_true(has(gpu, 514, 1536));
        const DeviceMemory& left = c;
        DeviceMemory moved = std::move(c);
        assert_int_equal(left.address(), 0);
        assert_true(moved.address() == address);
        b = DeviceMemory();
        gpu.trim();
        assert_true(has(gpu, 513, 1024));
        const cuda::MemoryFigures figures = gpu.memory();
        assert_int_equal(figures.peak_in_use, 1001);
        assert_int_equal(figures.peak_held, 1536);
        assert_int_equal(figures.allocations, 3);
        assert_int_equal(figures.reused, 1);
    }
    assert_true(nothing_is_left());
}

// What is cut is put together again, and small requests cut no large block.
void test_fragments(void**) {
    const Driver driver;
    Gpu gpu(driver, {}, heap());
    { const DeviceMemory whole = gpu.allocate(8 * kMiB, "a test"); }
    {
        const DeviceMemory small = gpu.allocate(100, "a test");
        assert_true(has(gpu, 100, 8 * kMiB + 512));
        DeviceMemory a = gpu.allocate(3 * kMiB, "a test"), b = gpu.allocate(3 * kMiB, "a test"),
                     c = gpu.allocate(2 * kMiB, "a test");
        assert_true(b.address() == a.address() + 3 * kMiB && c.address() == b.address() + 3 * kMiB);
        assert_true(has(gpu, 8 * kMiB + 100, 8 * kMiB + 512));
        b = DeviceMemory();
        const DeviceMemory best = gpu.allocate(2 * kMiB, "a test");  // into the hole, not a new block
        assert_true(best.address() == a.address() + 3 * kMiB);
        a = DeviceMemory();
        c = DeviceMemory();
        gpu.trim();  // the block is still in use in its middle
        assert_true(has(gpu, 2 * kMiB + 100, 8 * kMiB + 512));
    }
    const DeviceMemory whole = gpu.allocate(8 * kMiB, "a test");
    assert_true(has(gpu, 8 * kMiB, 8 * kMiB + 512));
}

void test_budget(void**) {
    const Driver driver;
    Gpu gpu(driver, {0, 4 * kMiB, 10000}, heap());
    assert_int_equal(gpu.memory().budget, 4 * kMiB);
    DeviceMemory a = gpu.allocate(3 * kMiB, "the arena");
    assert_failure(
        failure_of([&] { gpu.allocate(kMiB + 1, "the workspace"); }), VOLTA_OUT_OF_MEMORY,
        "CUDA: the workspace needs 1048577 bytes, has 1048576: of the budget of 4194304, 3145728 are held");
    DeviceMemory b = gpu.allocate(kMiB, "the workspace");  // to the byte
    assert_failure(failure_of([&] { gpu.allocate(1, "one byte"); }), VOLTA_OUT_OF_MEMORY,
                   "CUDA: one byte needs 1 bytes, has 0");
    b = DeviceMemory();
    const DeviceMemory one = gpu.allocate(1, "one byte");  // b's block was given back for it
    assert_true(has(gpu, 3 * kMiB + 1, 3 * kMiB + 512));
    a = DeviceMemory();
    a = gpu.allocate(2 * kMiB, "the arena");
    const DeviceMemory cut = gpu.allocate(kMiB - 512, "the rest");
    const DeviceMemory last = gpu.allocate(kMiB - 512, "a test");
    assert_true(has(gpu, 4 * kMiB - 1023, 4 * kMiB));
    const DeviceMemory least =
        gpu.allocate(512, "a test");  // of the large block, because nothing else is there
    assert_true(has(gpu, 4 * kMiB - 511, 4 * kMiB));

    const cuda::PinnedMemory pinned = gpu.allocate_pinned(9000, "staging");
    assert_failure(failure_of([&] { gpu.allocate_pinned(1001, "staging"); }), VOLTA_OUT_OF_MEMORY,
                   "CUDA: staging needs 1001 bytes of pinned host memory, has 1000: the budget is 10000");
    assert_int_equal(gpu.memory().pinned, 9000);
    assert_int_equal(fake_counts().pinned_bytes, 9000);
}

void test_full_device(void**) {
    const Setting memory("VOLTA_FAKE_CUDA_MEMORY", "1048576"),
        fault("VOLTA_FAKE_CUDA_FAIL", "cuMemHostAlloc:1:2");
    const Driver driver;
    Gpu gpu(driver, {}, heap());
    assert_int_equal(gpu.free_bytes(), kMiB);
    assert_failure(failure_of([&] { gpu.allocate(kMiB + 1, "the arena"); }), VOLTA_OUT_OF_MEMORY,
                   "CUDA: the arena needs 1048577 bytes, has 1048576: that is what the device has free");
    assert_failure(failure_of([&] { gpu.allocate(static_cast<std::size_t>(-1), "the arena"); }),
                   VOLTA_OUT_OF_MEMORY, "CUDA: the arena needs 18446744073709551615 bytes, has 1048576");
    assert_failure(failure_of([&] { gpu.allocate_pinned(64, "staging"); }), VOLTA_OUT_OF_MEMORY,
                   "CUDA: staging needs 64 bytes of pinned host memory, and the system refuses them");
    { const DeviceMemory half = gpu.allocate(kMiB / 2, "a test"); }
    const DeviceMemory whole = gpu.allocate(kMiB, "the arena");  // the free half was given back for it
    assert_true(has(gpu, kMiB, kMiB));
    assert_int_equal(gpu.fill(whole.address(), 0, kMiB), VOLTA_OK);
    assert_int_equal(gpu.wait(), VOLTA_OK);
}

// Any order of requests: ranges never overlap, are aligned, and the books agree with a list.
void test_many_requests(void**) {
    const Driver driver;
    Gpu gpu(driver, {0, 64 * kMiB}, heap());
    Random random(7);
    int wrong = 0;
    std::uint64_t in_use = 0;
    {
        std::vector<DeviceMemory> list;
        for (int turn = 0; turn < 3000; ++turn) {
            if (list.size() < 40 && random.below(5) > 1) {
                const auto bytes =
                    static_cast<std::size_t>(1 + random.below(random.below(4) == 0 ? 3 << 20 : 5000));
                try {
                    list.push_back(gpu.allocate(bytes, "a test"));
                    in_use += bytes;
                } catch (const Error& error) {
                    wrong += error.status() != VOLTA_OUT_OF_MEMORY;
                }
            } else if (!list.empty()) {
                const auto at =
                    static_cast<std::size_t>(random.below(static_cast<std::int64_t>(list.size())));
                in_use -= list[at].bytes();
                std::swap(list[at], list.back());
                list.pop_back();
            }
            const cuda::MemoryFigures figures = gpu.memory();
            wrong += figures.in_use != in_use || figures.held > figures.budget;
            if (list.empty()) continue;
            const DeviceMemory& last = list.back();
            for (std::size_t i = 0; i + 1 < list.size(); ++i)
                wrong += last.address() < list[i].address() + list[i].bytes() &&
                         list[i].address() < last.address() + last.bytes();
        }
    }
    assert_int_equal(wrong, 0);
    assert_true(gpu.memory().reused > 100);
    gpu.trim();  // all ranges have found together
    assert_true(has(gpu, 0, 0));
}

bool is(cuda::Traffic traffic, std::uint64_t count, std::uint64_t bytes) {
    return traffic.count == count && traffic.bytes == bytes;
}

void test_copies(void**) {
    const Driver driver;
    Gpu gpu(driver, {}, heap());
    const DeviceMemory a = gpu.allocate(4000, "a test"), b = gpu.allocate(4000, "a test");
    static unsigned char in[4000], out[4000];
    for (std::size_t i = 0; i < sizeof in; ++i) in[i] = static_cast<unsigned char>(i * 7);
    assert_int_equal(gpu.upload(a.address(), in, 4000), VOLTA_OK);
    assert_int_equal(gpu.copy(b.address() + 100, a.address(), 3000), VOLTA_OK);
    assert_int_equal(gpu.fill(b.address(), 9, 100), VOLTA_OK);
    assert_int_equal(gpu.fill_words(b.address() + 3100, 0x01020304, 225), VOLTA_OK);
    assert_int_equal(gpu.upload(a.address(), in, 0), VOLTA_OK);
    assert_int_equal(gpu.download(out, b.address(), 4000), VOLTA_OK);
    assert_memory_equal(out + 100, in, 3000);
    for (int i = 0; i < 100; ++i) assert_int_equal(out[i], 9);
    for (int i = 0; i < 900; ++i) assert_int_equal(out[3100 + i], 4 - i % 4);
    const cuda::GpuFigures figures = gpu.figures();
    assert_true(is(figures.to_device, 1, 4000));
    assert_true(is(figures.to_host, 1, 4000));
    assert_true(is(figures.on_device, 1, 3000));
    assert_true(is(figures.filled, 2, 1000));
    assert_int_equal(figures.waits, 2);
    assert_int_equal(figures.kernel_launches, 0);
}

// Pinned memory is read and written when the stream comes to it.
void test_late_copies(void**) {
    const Driver driver;
    Gpu gpu(driver, {}, heap());
    const DeviceMemory memory = gpu.allocate(64, "a test");
    const cuda::PinnedMemory in = gpu.allocate_pinned(64, "a test"), out = gpu.allocate_pinned(64, "a test");
    cuda::Event begin(gpu), end(gpu);
    std::memset(in.data(), 1, 64);
    std::memset(out.data(), 2, 64);
    assert_int_equal(begin.record(), VOLTA_OK);
    assert_int_equal(gpu.upload_later(memory.address(), in, 0, 64), VOLTA_OK);
    assert_int_equal(gpu.download_later(out, 32, memory.address(), 32), VOLTA_OK);
    assert_int_equal(end.record(), VOLTA_OK);
    const auto* const bytes = static_cast<const unsigned char*>(out.data());
    assert_int_equal(bytes[32], 2);  // not yet
    assert_int_equal(end.wait(), VOLTA_OK);
    assert_int_equal(bytes[31], 2);
    assert_int_equal(bytes[32], 1);
    float milliseconds = -1;
    assert_int_equal(end.milliseconds_since(begin, &milliseconds), VOLTA_OK);
    assert_true(milliseconds >= 0);
    assert_int_equal(gpu.upload_later(memory.address(), in, 1, 64), VOLTA_INVALID_ARGUMENT);
    assert_string_equal(gpu.failure().what(),
                        "CUDA: a copy of 64 bytes at 1 is beyond the 64 bytes of pinned memory");
    assert_int_equal(gpu.download_later(out, 33, memory.address(), 32), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(gpu.download_later(out, 64, memory.address(), 0), VOLTA_OK);
    assert_int_equal(gpu.figures().to_device.bytes, 64);
    assert_int_equal(gpu.figures().to_host.bytes, 32);
}

// The fake driver itself: what a real one leaves undefined is an error here.
void test_wrong_addresses(void**) {
    const Driver driver;
    Gpu gpu(driver, {}, heap());
    const DeviceMemory memory = gpu.allocate(512, "a test");
    static unsigned char host[512];
    const auto of_host = reinterpret_cast<cuda::CUdeviceptr>(host);
    const auto refused = [&](volta_status status) { return status == VOLTA_DEVICE_ERROR && !gpu.lost(); };
    assert_true(refused(gpu.upload(memory.address() + 1, host, 512)));
    assert_true(refused(gpu.download(host, memory.address() - 1, 512)));
    assert_true(refused(gpu.upload(of_host, host, 512)));
    assert_true(refused(gpu.upload(memory.address(), memory.as<char>(), 512)));
    assert_true(refused(gpu.copy(memory.address(), of_host, 512)));
    assert_true(refused(gpu.copy(memory.address(), memory.address() + 100, 400)));
    assert_true(refused(gpu.fill(memory.address(), 0, 513)));
    assert_int_equal(gpu.figures().to_device.count, 0);
}

// Four threads take turns.
void test_threads(void**) {
    const Driver driver;
    static int wrong[4];
    {
        Gpu gpu(driver, {}, heap());
        const auto work = [&](int thread) {
            Random random(static_cast<std::uint64_t>(thread));
            for (int turn = 0; turn < 200; ++turn) {
                const auto bytes = static_cast<std::size_t>(1 + random.below(3000));
                const std::vector<unsigned char> in(bytes, static_cast<unsigned char>(thread + turn));
                std::vector<unsigned char> out(bytes);
                const DeviceMemory memory = gpu.allocate(bytes, "a test");
                wrong[thread] += gpu.upload(memory.address(), in.data(), bytes) != VOLTA_OK;
                wrong[thread] += gpu.download(out.data(), memory.address(), bytes) != VOLTA_OK;
                wrong[thread] += in != out;
            }
        };
        std::thread threads[4];
        for (int thread = 0; thread < 4; ++thread) threads[thread] = std::thread(work, thread);
        for (std::thread& thread : threads) thread.join();
        assert_int_equal(gpu.memory().in_use, 0);
        assert_int_equal(gpu.figures().to_device.count, 800);
    }
    for (const int count : wrong) assert_int_equal(count, 0);
    assert_true(nothing_is_left());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_books),         cmocka_unit_test(test_fragments),
        cmocka_unit_test(test_budget),        cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_many_requests), cmocka_unit_test(test_copies),
        cmocka_unit_test(test_late_copies),   cmocka_unit_test(test_wrong_addresses),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
