// The emulation itself: what it hands over, and that it finds the mistakes it is there to find.
#include "tests/support/simt_emulation.h"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;

simt::Launch launch_of(unsigned blocks, unsigned threads, simt::Order order = simt::Order::ascending) {
    simt::Launch launch;
    launch.grid.x = blocks;
    launch.block.x = threads;
    launch.order = order;
    return launch;
}

constexpr simt::Order kOrders[] = {simt::Order::ascending, simt::Order::descending, simt::Order::shuffled};

bool reports(const simt::Launch& launch, void (*kernel)(const void*), const char* what) {
    const std::string text = simt::run(launch, kernel, nullptr);
    if (text.find(what) != std::string::npos) return true;
    print_error("expected \"%s\", got \"%s\"\n", what, text.c_str());
    return false;
}

// Every thread of a grid of three axes runs once.
void test_places(void**) {
    static int seen[2][3][2][4][5][2];
    std::memset(seen, 0, sizeof seen);
    simt::Launch launch;
    launch.grid = {2, 3, 2};
    launch.block = {4, 5, 2};
    const bool good = simt::run(launch, [] {
                          ++seen[blockIdx.x][blockIdx.y][blockIdx.z][threadIdx.x][threadIdx.y][threadIdx.z];
                      }).empty();
    assert_true(good);
    const int* all = &seen[0][0][0][0][0][0];
    for (int i = 0; i < 2 * 3 * 2 * 4 * 5 * 2; ++i) assert_int_equal(all[i], 1);
}

void test_shuffles(void**) {
    static int wrong;
    for (const simt::Order order : kOrders) {
        wrong = 0;
        const std::string error = simt::run(launch_of(2, 96, order), [] {
            const int lane = static_cast<int>(threadIdx.x % 32), base = static_cast<int>(threadIdx.x) - lane;
            const int value = static_cast<int>(threadIdx.x);
            wrong += __shfl_xor_sync(~0u, value, 5) != base + (lane ^ 5);
            wrong += __shfl_down_sync(~0u, value, 3) != (lane + 3 < 32 ? value + 3 : value);
            wrong += __shfl_up_sync(~0u, value, 3) != (lane >= 3 ? value - 3 : value);
            wrong += __shfl_sync(~0u, value, 7) != base + 7;
            wrong += __ballot_sync(~0u, lane % 3 == 0) != 0x49249249u;
            wrong += __any_sync(~0u, lane == 31) != 1;
            wrong += __all_sync(~0u, lane != 31) != 0;
            wrong += __shfl_xor_sync(~0u, 0x100000000LL + lane, 1) != 0x100000000LL + (lane ^ 1);
            // Half a warp each, at different times.
            if (lane < 16)
                wrong += __shfl_sync(0x0000ffffu, value, 2) != base + 2;
            else
                wrong += __shfl_sync(0xffff0000u, value, 18) != base + 18;
        });
        assert_true(error.empty());
        assert_int_equal(wrong, 0);
    }
}

// The sum of a block through shared memory; without the barrier, the orders disagree.
template <bool kBarrier>
int sum_of_block(simt::Order order) {
    static int result;
    result = 0;
    const std::string error = simt::run(launch_of(1, 256, order), [] {
        __shared__ int values[256];
        values[threadIdx.x] = 0;
        __syncthreads();
        values[threadIdx.x] = static_cast<int>(threadIdx.x) + 1;
        if (kBarrier) __syncthreads();
        if (threadIdx.x == 77)
            for (const int value : values) result += value;
    });
    return error.empty() ? result : -1;
}
void test_barriers(void**) {
    for (const simt::Order order : kOrders) assert_int_equal(sum_of_block<true>(order), 256 * 257 / 2);
    assert_int_not_equal(sum_of_block<false>(simt::Order::ascending), 256 * 257 / 2);
    assert_int_not_equal(sum_of_block<false>(simt::Order::ascending),
                         sum_of_block<false>(simt::Order::descending));
}

void test_largest_block(void**) {
    static int rounds;
    rounds = 0;
    const std::string error = simt::run(launch_of(3, 1024), [] {
        for (int i = 0; i < 10; ++i) {
            __syncthreads();
            rounds += threadIdx.x == 1023;
        }
    });
    assert_true(error.empty());
    assert_int_equal(rounds, 30);
    assert_true(reports(
        launch_of(1, 1025), [](const void*) {}, "1025 threads"));
}

// Several threads of the host emulate at once: each has its own shared memory.
void test_host_threads(void**) {
    std::atomic<int> good{0};
    std::vector<std::thread> hosts;
    for (int host = 0; host < 4; ++host)
        hosts.emplace_back([&good, host] {
            int total = 0;
            const std::string error = simt::run(launch_of(50, 128), [&] {
                __shared__ int first;
                if (threadIdx.x == 0) first = host;
                __syncthreads();
                total += first;
                __syncthreads();
            });
            if (error.empty() && total == 50 * 128 * host) ++good;
        });
    for (std::thread& host : hosts) host.join();
    assert_int_equal(good.load(), 4);
}

void test_mistakes(void**) {
    const simt::Launch launch = launch_of(1, 64);
    assert_true(reports(
        launch,
        [](const void*) {
            if (threadIdx.x != 3) __syncthreads();
        },
        "waits for ever at __syncthreads, and thread 3 is at its end"));
    assert_true(reports(
        launch,
        [](const void*) {
            if (threadIdx.x != 40) __syncwarp();
        },
        "waits for ever at __syncwarp"));
    assert_true(reports(
        launch,
        [](const void*) {
            if (threadIdx.x < 5)
                __syncthreads();
            else
                __shfl_xor_sync(~0u, 1, 1);
        },
        "waits for ever at a shuffle (xor)"));
    assert_true(reports(
        launch, [](const void*) { __shfl_sync(0x0000ffffu, 1, 20); }, "is not in the mask 0000ffff"));
    assert_true(reports(
        launch_of(1, 40), [](const void*) { __shfl_xor_sync(~0u, 1, 1); }, "waits for ever"));
    // What went wrong once does not stay.
    assert_true(simt::run(launch, [] { __syncthreads(); }).empty());
}

// A copy lands when its group is waited for, and not before.
void test_asynchronous_copies(void**) {
    static int before, first, second;
    const std::string error = simt::run(launch_of(1, 1), [] {
        const int from[2] = {5, 6};
        int to[2] = {0, 0};
        simt::copy_async(&to[0], &from[0], sizeof(int));
        simt::commit_copies();
        simt::copy_async(&to[1], &from[1], sizeof(int));
        simt::commit_copies();
        before = to[0] + to[1];
        simt::wait_copies(1);
        first = 10 * to[0] + to[1];
        simt::wait_copies(0);
        second = 10 * to[0] + to[1];
    });
    assert_true(error.empty());
    assert_int_equal(before, 0);
    assert_int_equal(first, 50);
    assert_int_equal(second, 56);
}

void test_conversions(void**) {
    assert_int_equal(__float2int_rz(-2.9f), -2);
    assert_int_equal(__float2int_rz(3e9f), 0x7fffffff);
    assert_int_equal(__float2int_rz(-3e9f), -0x7fffffff - 1);
    assert_int_equal(__float2int_rz(__uint_as_float(0x7fc00000u)), 0);
    assert_int_equal(__umulhi(0xffffffffu, 0xffffffffu), 0xfffffffeu);
    // One rounding: 1 + 2^-24 squared, less 1.
    assert_true(__fmaf_rn(0x1.000002p+0f, 0x1.000002p+0f, -0x1.000004p+0f) == 0x1p-46f);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_shuffles),
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_largest_block),
        cmocka_unit_test(test_host_threads),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_asynchronous_copies),
        cmocka_unit_test(test_conversions),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
