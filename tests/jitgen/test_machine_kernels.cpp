// The loops that measure the machine do all of the work they are credited with: machine code and plain C++
// leave the same bits, and every element of every stream counts.
#include <algorithm>

#include "engine/base/cpu_info.h"
#include "jitgen/peak_kernels.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::jit;

constexpr std::int64_t kGuard = 16;  // floats behind each array that no loop may write

// Calls check(kernels, name) with every instruction set of this machine.
template <class Check>
void on_each_isa(Check check) {
    std::pmr::memory_resource* heap = std::pmr::new_delete_resource();
    CodeArena arena(heap, false), refused(heap, true);
    check(machine_kernels(Isa::scalar, arena, heap), "scalar");
    for (Isa isa : {Isa::avx2, Isa::avx512}) {
        if (!host_cpu().has(isa)) continue;
        check(machine_kernels(isa, arena, heap), isa_name(isa));
        assert_ptr_equal(machine_kernels(isa, refused, heap).read, plain_machine_kernels().read);
    }
}

void assert_equal_bits(const char* name, const std::vector<float>& expected,
                       const std::vector<float>& actual) {
    test::assert_same_bits(name, expected.data(), actual.data(), static_cast<std::int64_t>(expected.size()));
}

void test_multiply_adds_are_done(void**) {
    on_each_isa([](const MachineKernels& kernels, const char* name) {
        for (std::int64_t turns : {0, 1, 2, 7}) {
            const auto start = test::random_floats(4 * kMachineVector, 3);
            auto expected = start, actual = start;
            plain_machine_kernels().multiply_adds(turns, expected.data());
            kernels.multiply_adds(turns, actual.data());
            std::copy(start.begin() + kernels.lanes, start.begin() + kMachineVector,
                      expected.begin() + kernels.lanes);
            assert_equal_bits(name, expected, actual);
        }
    });
}

void test_every_element_is_read(void**) {
    on_each_isa([](const MachineKernels& kernels, const char* name) {
        for (std::int64_t count : {std::int64_t{0}, kMachineGrain, 3 * kMachineGrain}) {
            const std::int64_t stride = count + 8;
            const auto data = test::random_floats(4 * stride + kGuard, 5);
            std::uint32_t expected[kMachineVector] = {}, actual[kMachineVector];
            for (int s = 0; s < 4; ++s)
                for (std::int64_t i = 0; i < count; ++i)
                    expected[i % kMachineVector] ^=
                        test::bits_of(data[static_cast<std::size_t>(s * stride + i)]);
            kernels.read(data.data(), stride, count, actual);
            const bool same = std::memcmp(expected, actual, sizeof expected) == 0;
            if (!same)
                print_error("%s: %lld floats per stream were not all read once\n", name,
                            static_cast<long long>(count));
            assert_true(same);
        }
    });
}

void test_update_streams_whole_arrays(void**) {
    on_each_isa([](const MachineKernels& kernels, const char* name) {
        for (std::int64_t count : {std::int64_t{0}, kMachineGrain, 5 * kMachineGrain}) {
            const std::int64_t apart = count + kGuard;
            const auto start = test::random_floats(4 * apart, 7);
            auto expected = start, actual = start;
            for (std::int64_t i = 0; i < count; ++i) {
                float* const x = &expected[static_cast<std::size_t>(i)];
                const float g = x[apart];
                x[2 * apart] += g;
                x[3 * apart] = x[3 * apart] > g ? x[3 * apart] : g;
                x[0] -= x[2 * apart];
            }
            float* const p = actual.data();
            const UpdateStreams streams = {p, p + apart, p + 2 * apart, p + 3 * apart};
            kernels.update(&streams, count);
            assert_equal_bits(name, expected, actual);
        }
    });
}

}  // namespace

int main() {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_multiply_adds_are_done),
                                       cmocka_unit_test(test_every_element_is_read),
                                       cmocka_unit_test(test_update_streams_whole_arrays)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
