// The memories of a device under the core's interface, the same of every backend: where regions lie, and the
// host's side of what it exchanges.
#include <limits>
#include <string>
#include <vector>

#include "engine/backend/backend.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr std::uint64_t kNoBudget = std::numeric_limits<std::uint64_t>::max();

std::vector<std::string> log_lines;

DevicePtr open(const char* name, std::uint64_t host_budget = 0) {
    DeviceOptions options;
    options.structures = options.tensors = std::pmr::new_delete_resource();
    options.host_budget = host_budget;
    options.log.write = [](void*, std::int32_t, const char* line) { log_lines.emplace_back(line); };
    return open_device(name, options);
}

// Bytes go into a memory, from place to place in it, and out of it, at once and later.
void check_copies(Memory& memory, Memory& staging) {
    const std::vector<unsigned char> sent = {1, 2, 3, 4, 5, 6, 7, 8};
    std::vector<unsigned char> got(sent.size());
    Block first(memory, 64, true), second(memory, 64);
    assert_int_equal(memory.write(first.data(), sent.data(), sent.size()), VOLTA_OK);
    assert_int_equal(memory.copy(second.data(), first.data(), 64), VOLTA_OK);
    assert_int_equal(memory.read(got.data(), second.data(), got.size()), VOLTA_OK);
    assert_true(got == sent);
    assert_int_equal(memory.read(got.data(), static_cast<unsigned char*>(second.data()) + 8, 1), VOLTA_OK);
    assert_int_equal(got[0], 0);
    assert_int_equal(memory.copy(second.data(), first.data(), 0), VOLTA_OK);

    Block host(staging, 64, true);
    auto* const bytes = static_cast<unsigned char*>(host.data());
    bytes[5] = 77;
    assert_int_equal(memory.write_later(first.data(), host.data(), 64), VOLTA_OK);
    assert_int_equal(memory.read_later(bytes + 8, first.data(), 8), VOLTA_OK);
    assert_int_equal(memory.wait(), VOLTA_OK);
    assert_int_equal(bytes[13], 77);
    assert_int_equal(memory.write_later(first.data(), sent.data(), sent.size()), VOLTA_OK);  // not staging's
    assert_int_equal(memory.read_later(got.data(), first.data(), got.size()), VOLTA_OK);
    assert_int_equal(memory.wait(), VOLTA_OK);
    assert_true(got == sent);
}

void test_of_the_processor(void**) {
    const DevicePtr device = open("cpu");
    assert_true(&device->memory() == &device->staging() && device->memory().is_host());
    check_copies(device->memory(), device->staging());
}

void test_of_cuda(void**) {
    const DevicePtr device = open("cuda");
    assert_true(!device->memory().is_host() && device->staging().is_host());
    assert_true(device->staging().available() == kNoBudget);
    check_copies(device->memory(), device->staging());
    check_copies(device->staging(), device->staging());
}

// What is left of a budget of page-locked memory.
void test_budget(void**) {
    const DevicePtr device = open("cuda", 10000);
    assert_int_equal(device->staging().available(), 10000);
    const Block block(device->staging(), 9000);
    assert_int_equal(device->staging().available(), 1000);
    assert_failure(failure_of([&] { const Block more(device->staging(), 1001); }), VOLTA_OUT_OF_MEMORY,
                   "needs 1001 bytes of pinned host memory, has 1000: the budget is 10000");
    assert_int_equal(open("cpu", 10000)->memory().available(), 10000);
}

// "auto" is the first device of CUDA where there is one, and says which.
void test_auto(void**) {
    log_lines.clear();
    assert_false(open("auto")->memory().is_host());
    assert_int_equal(log_lines.size(), 1);
    assert_int_equal(log_lines[0].find("device auto: cuda:0, "), 0);
}

// Products are explained where they are chosen by rules: on the processor.
void test_explain(void**) {
    const DevicePtr device = open("cuda");
    std::pmr::string text;
    assert_failure(failure_of([&] { device->explain({}, {}, text); }), VOLTA_UNSUPPORTED,
                   "products are explained on the processor; the device is cuda:0");
    assert_true(text.empty());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_of_the_processor), cmocka_unit_test(test_of_cuda),
        cmocka_unit_test(test_budget),           cmocka_unit_test(test_auto),
        cmocka_unit_test(test_explain),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
