// Graphs: what is recorded runs when it is told to, by one call, as often as asked; what cannot be recorded
// is refused and spoils nothing. On the fakes.
#include "engine/backend/cuda/graph_capture.h"
#include "engine/backend/cuda/kernel_store.h"
#include "tests/support/errors.h"
#include "tests/support/fake_cuda/fake_access.h"

namespace {
using namespace volta;
using namespace volta::test;
using cuda::DeviceMemory;
using cuda::Driver;
using cuda::Gpu;
using cuda::Graph;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

constexpr char kText[] = R"(
extern "C" __global__ void add(int* x, int value) { x[threadIdx.x] += value; }
)";

// x[0 .. 31] on the device.
struct Numbers {
    explicit Numbers(Gpu& owner) : gpu(owner), memory(owner.allocate(128, "a test")) {}
    volta_status set(unsigned value) { return gpu.fill_words(memory.address(), value, 32); }
    bool are(int expected) {
        int x[32];
        if (gpu.download(x, memory.address(), 128) != VOLTA_OK) return false;
        for (const int value : x)
            if (value != expected) return print_error("expected %d, got %d\n", expected, value), false;
        return true;
    }
    Gpu& gpu;
    DeviceMemory memory;
};

void test_recorded_work(void**) {
#if defined(VOLTA_NO_FIBERS)
    skip();
#endif
    const Driver driver;
    {
        Gpu gpu(driver, {}, heap());
        cuda::KernelStore store(gpu, "", {}, heap());
        const cuda::Kernel add = store.kernel(kText, "add");
        Numbers numbers(gpu), copies(gpu);
        const cuda::PinnedMemory pinned = gpu.allocate_pinned(256, "a test");
        auto* const host = static_cast<int*>(pinned.data());
        for (int i = 0; i < 32; ++i) host[i] = 10;
        Graph graph(gpu);
        assert_true(graph.empty());
        int* x = numbers.memory.as<int>();
        const volta_status recorded = graph.record([&] {
            int value = 5;  // read while it is recorded
            void* parameters[] = {&x, &value};
            gpu.require(gpu.upload_later(numbers.memory.address(), pinned, 0, 128));
            for (int i = 0; i < 3; ++i) gpu.require(gpu.launch(add, {1, 1, 1, 32}, parameters));
            gpu.require(gpu.copy(copies.memory.address(), numbers.memory.address(), 128));
            return gpu.download_later(pinned, 128, numbers.memory.address(), 128);
        });
        assert_int_equal(recorded, VOLTA_OK);
        assert_false(graph.empty());
        assert_int_equal(gpu.figures().kernel_launches, 0);
        assert_int_equal(graph.work().kernel_launches, 3);
        assert_int_equal(graph.work().on_device.bytes, 128);
        assert_int_equal(gpu.wait(), VOLTA_OK);
        assert_int_equal(fake_kernels(), 0);
        assert_true(numbers.set(1) == VOLTA_OK && numbers.are(1));

        const int launches = fake_calls("cuLaunchKernel");
        assert_int_equal(graph.run(), VOLTA_OK);
        assert_int_equal(gpu.wait(), VOLTA_OK);
        assert_true(numbers.are(25) && copies.are(25));
        assert_int_equal(host[32], 25);
        for (int i = 0; i < 32; ++i) host[i] = 100;  // other bytes, the same graph
        assert_int_equal(graph.run(), VOLTA_OK);
        assert_int_equal(graph.run(), VOLTA_OK);
        assert_true(numbers.are(115));
        assert_int_equal(fake_calls("cuGraphLaunch"), 3);
        assert_int_equal(fake_calls("cuLaunchKernel"), launches);
        assert_int_equal(fake_kernels(), 9);
        const cuda::GpuFigures figures = gpu.figures();
        assert_int_equal(figures.graph_launches, 3);
        assert_int_equal(figures.kernel_launches, 9);
        assert_int_equal(figures.to_device.count, 3);
        assert_int_equal(figures.to_device.bytes, 3 * 128);
        assert_int_equal(figures.on_device.bytes, 3 * 128);
    }
    assert_true(nothing_is_left());
}

void test_recorded_again(void**) {
    const Driver driver;
    {
        Gpu gpu(driver, {}, heap());
        Numbers numbers(gpu);
        Graph graph(gpu);
        for (unsigned value = 1; value < 4; ++value) {
            assert_int_equal(graph.record([&] { return numbers.set(value); }), VOLTA_OK);
            assert_int_equal(graph.run(), VOLTA_OK);
            assert_true(numbers.are(static_cast<int>(value)));
        }
        assert_int_equal(fake_counts().executables, 1);
        assert_int_equal(gpu.figures().filled.count, 3);
        graph.clear();
        assert_int_equal(fake_counts().executables, 0);
        assert_int_equal(graph.run(), VOLTA_INVALID_STATE);
        assert_string_equal(gpu.failure().what(), "CUDA: no graph is recorded");
        assert_int_equal(graph.record([] { return VOLTA_OK; }), VOLTA_OK);  // nothing is a graph too
        assert_int_equal(graph.run(), VOLTA_OK);
    }
    assert_true(nothing_is_left());
}

// Each run of a graph records its events anew: who waits for one goes on in the middle of that run.
void test_event_of_a_graph(void**) {
    const Driver driver;
    {
        Gpu gpu(driver, {}, heap());
        Numbers numbers(gpu);
        const cuda::PinnedMemory pinned = gpu.allocate_pinned(128, "a test");
        const auto* const host = static_cast<const int*>(pinned.data());
        cuda::Event event(gpu);
        Graph graph(gpu);
        for (int before = 0; before < 2; ++before) {  // recorded outside of the graph, too
            if (before == 1) assert_int_equal(event.record(), VOLTA_OK);
            assert_int_equal(graph.record([&] {
                gpu.require(gpu.download_later(pinned, 0, numbers.memory.address(), 128));
                gpu.require(event.record());
                return numbers.set(8);
            }),
                             VOLTA_OK);
            for (const unsigned value : {5u, 6u}) {
                assert_int_equal(numbers.set(value), VOLTA_OK);
                assert_int_equal(graph.run(), VOLTA_OK);
                assert_int_equal(event.wait(), VOLTA_OK);
                assert_int_equal(host[31], static_cast<int>(value));
                assert_true(numbers.are(8));
            }
        }
    }
    assert_true(nothing_is_left());
}

// What would wait for the device is refused before the driver hears of it: the recording goes on.
void test_what_cannot_be_recorded(void**) {
    const Driver driver;
    Gpu gpu(driver, {}, heap());
    cuda::KernelStore store(gpu, "", {}, heap());
    Numbers numbers(gpu);
    cuda::Event event(gpu);
    Graph graph(gpu), other(gpu);
    char host[8] = {};
    { const DeviceMemory in_the_pool = gpu.allocate(5000, "a test"); }
    static int refused;
    refused = 0;
    const volta_status recorded = graph.record([&] {
        const auto count = [](volta_status status) { refused += status == VOLTA_INVALID_STATE; };
        const auto from_pool = gpu.allocate(4000, "scratch");
        count(numbers.set(3) == VOLTA_OK ? VOLTA_INVALID_STATE : VOLTA_OK);
        count(gpu.wait());
        count(gpu.upload(numbers.memory.address(), host, 8));
        count(gpu.download(host, numbers.memory.address(), 8));
        count(event.wait());
        count(other.run());
        count(other.record([] { return VOLTA_OK; }));
        count(failure_of([&] { gpu.allocate(1 << 20, "scratch"); }).status);
        count(failure_of([&] { gpu.allocate_pinned(64, "staging"); }).status);
        count(failure_of([&] { store.kernel(kText, "add"); }).status);
        gpu.trim();
        return VOLTA_OK;
    });
    assert_int_equal(recorded, VOLTA_OK);
    assert_int_equal(refused, 10);
    assert_int_equal(graph.run(), VOLTA_OK);
    assert_true(numbers.are(3));
    assert_failure(
        failure_of([&] {
            graph.record([&] {
                gpu.allocate(1 << 20, "scratch");
                return VOLTA_OK;
            });
        }),
        VOLTA_INVALID_STATE,
        "CUDA: scratch needs 1048576 bytes while a graph is recorded, and the pool has no free range");
    assert_true(graph.empty());
    assert_int_equal(gpu.wait(), VOLTA_OK);
}

// The stream leaves the recording however it ends.
void test_recordings_that_fail(void**) {
    const Driver driver;
    {
        Gpu gpu(driver, {}, heap());
        Numbers numbers(gpu);
        Graph graph(gpu);
        assert_true(numbers.set(1) == VOLTA_OK && numbers.are(1));
        const volta_status given = graph.record([&] {
            gpu.require(numbers.set(2));
            return volta_status{VOLTA_SHAPE_MISMATCH};
        });
        assert_int_equal(given, VOLTA_SHAPE_MISMATCH);
        assert_true(graph.empty());
        assert_failure(failure_of([&] {
                           graph.record([&]() -> volta_status {
                               gpu.require(numbers.set(2));
                               volta::fail(VOLTA_INTERNAL, "thrown by a test");
                           });
                       }),
                       VOLTA_INTERNAL, "thrown by a test");
        assert_true(graph.empty());
        assert_true(numbers.are(1));
        assert_int_equal(fake_counts().graphs, 0);
    }
    for (const char* call :
         {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"}) {
        const Setting fault("VOLTA_FAKE_CUDA_FAIL", std::string(call) + ":1:901");
        const Driver failing;
        Gpu gpu(failing, {}, heap());
        Numbers numbers(gpu);
        Graph graph(gpu);
        assert_int_equal(graph.record([&] { return numbers.set(2); }), VOLTA_DEVICE_ERROR);
        assert_non_null(std::strstr(gpu.failure().what(), call));
        assert_true(graph.empty());
        assert_false(gpu.lost());
    }
    assert_true(nothing_is_left());
}

// A kernel of a graph breaks the device: the graph fails, and goes without a trace.
void test_lost_while_it_runs(void**) {
    const Setting fault("VOLTA_FAKE_CUDA_FAIL", "cuGraphLaunch:2:719");
    const Driver driver;
    {
        Gpu gpu(driver, {}, heap());
        Numbers numbers(gpu);
        Graph graph(gpu);
        assert_int_equal(graph.record([&] { return numbers.set(2); }), VOLTA_OK);
        assert_int_equal(graph.run(), VOLTA_OK);
        assert_int_equal(graph.run(), VOLTA_DEVICE_ERROR);
        assert_true(gpu.lost());
        assert_int_equal(graph.run(), VOLTA_DEVICE_ERROR);
        assert_int_equal(graph.record([&] { return numbers.set(2); }), VOLTA_DEVICE_ERROR);
        assert_int_equal(gpu.figures().graph_launches, 1);
    }
    assert_true(nothing_is_left());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_work),           cmocka_unit_test(test_recorded_again),
        cmocka_unit_test(test_what_cannot_be_recorded), cmocka_unit_test(test_recordings_that_fail),
        cmocka_unit_test(test_lost_while_it_runs),      cmocka_unit_test(test_event_of_a_graph),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
