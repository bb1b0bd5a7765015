// The emulation itself: what it hands over, and that it finds the mistakes it is there to find.
#include "tests/support/simt_emulation.h"

#include <atomic>
#include <cmath>
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
    hosts.reserve(4);
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
        launch,
        [](const void*) {
            alignas(16) static float to[8], from[8] = {};
            async_four(to + 4, from + 2, true);
        },
        "copies 16 bytes from or to an address that is no multiple of it"));
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

// The product of one warp, with fragments in registers as the PTX manual writes them (the chapter on
// mma.m16n8k16 with .bf16, and on mma.m16n8k8 with .tf32), against three plain loops. Elements are small
// integers: every sum is exact.
float element(int seed, int row, int column) {
    return static_cast<float>((row * 7 + column * 5 + seed) % 13 - 6);
}

template <bool kBf16>
int wrong_sums(simt::Order order) {
    static int wrong;
    wrong = 0;
    const std::string error = simt::run(launch_of(1, 64, order), [] {
        constexpr int k = kBf16 ? 16 : 8;
        const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
        const int group = lane >> 2, in_group = lane % 4;
        unsigned a[4], b[2];
        float sums[4];
        for (int i = 0; i < 4; ++i) sums[i] = element(3, i < 2 ? group : group + 8, in_group * 2 + (i & 1));
        if (kBf16) {
            float of_a[8], of_b[4];
            for (int i = 0; i < 8; ++i)
                of_a[i] = element(warp, i < 2 || (i >= 4 && i < 6) ? group : group + 8,
                                  in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0));
            for (int i = 0; i < 4; ++i)
                of_b[i] = element(warp + 9, in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0), group);
            for (int i = 0; i < 4; ++i) a[i] = bf16_pair(of_a[2 * i], of_a[2 * i + 1]);
            for (int i = 0; i < 2; ++i) b[i] = bf16_pair(of_b[2 * i], of_b[2 * i + 1]);
            mma_bf16(sums, a, b[0], b[1]);
        } else {
            for (int i = 0; i < 4; ++i)
                a[i] =
                    tf32_word(element(warp, i % 2 == 0 ? group : group + 8, i < 2 ? in_group : in_group + 4));
            for (int i = 0; i < 2; ++i) b[i] = tf32_word(element(warp + 9, in_group + 4 * i, group));
            mma_tf32(sums, a, b[0], b[1]);
        }
        for (int i = 0; i < 4; ++i) {
            const int row = i < 2 ? group : group + 8, column = in_group * 2 + (i & 1);
            float expected = element(3, row, column);
            for (int p = 0; p < k; ++p) expected += element(warp, row, p) * element(warp + 9, p, column);
            wrong += sums[i] != expected;
        }
    });
    return error.empty() ? wrong : -1;
}
void test_tensor_products(void**) {
    for (const simt::Order order : kOrders) {
        assert_int_equal(wrong_sums<true>(order), 0);
        assert_int_equal(wrong_sums<false>(order), 0);
    }
    assert_true(reports(
        launch_of(1, 32),
        [](const void*) {
            const unsigned a[4] = {};
            float sums[4] = {};
            if (threadIdx.x != 5) mma_bf16(sums, a, 0, 0);
        },
        "waits for ever at an mma, and thread 5 is at its end"));
    assert_true(reports(
        launch_of(1, 32),
        [](const void*) {
            const unsigned a[4] = {};
            float sums[4] = {};
            if (threadIdx.x < 5)
                mma_bf16(sums, a, 0, 0);
            else
                mma_tf32(sums, a, 0, 0);
        },
        "waits for ever at an mma"));
}

// bf16 to nearest even, tf32 to nearest and ties away; what is special stays so.
void test_operand_roundings(void**) {
    assert_int_equal(bf16_pair(1.0f, -2.0f), 0xc0003f80u);
    assert_int_equal(bf16_pair(0x1.01p+0f, 0x1.03p+0f), 0x3f823f80u);  // ties: down to even, up to even
    assert_int_equal(bf16_pair(0x1.010002p+0f, 0x1.02fffep+0f), 0x3f813f81u);  // just above and below them
    assert_int_equal(bf16_pair(3.4e38f, INFINITY), 0x7f807f80u);
    assert_int_equal(bf16_pair(NAN, -0.0f), 0x80007fffu);
    assert_int_equal(tf32_word(0x1.002p+0f), 0x3f802000u);
    assert_int_equal(tf32_word(0x1.001ffep+0f), 0x3f800000u);
    assert_int_equal(tf32_word(-0x1.006p+0f), 0xbf804000u);
    assert_int_equal(tf32_word(INFINITY), 0x7f800000u);
    assert_int_equal(tf32_word(NAN), 0x7fffffffu);
    assert_true(exp2_fast(-3.0f) == 0.125f && exp2_fast(-INFINITY) == 0.0f && exp2_fast(-130.0f) == 0.0f);
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
        cmocka_unit_test(test_tensor_products),
        cmocka_unit_test(test_operand_roundings),
        cmocka_unit_test(test_conversions),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
