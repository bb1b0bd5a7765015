// Ranks whose devices exchange by NCCL, on a driver and an NCCL that need no GPU: the bits of one processor,
// what moves by which way, and what is refused. How they fail is in test_nccl_failures.cpp.

#include "tests/cuda/device_ranks.h"

namespace {
using namespace volta::test;

// Each rank has a device of its own.
Run on_device(Subject subject, std::uint32_t rank) {
    Run run;
    run.subject = subject;
    run.device = "cuda:" + std::to_string(rank);
    return run;
}

Run of_rank(Run run, std::uint32_t rank) {
    run.device = "cuda:" + std::to_string(rank);
    return run;
}

std::uint64_t bytes_to_host(const Rank& rank) {
    volta_device_info info = VOLTA_DEVICE_INFO_INIT;
    assert_true(ok(volta_context_get_device(rank.context().object, &info)));
    return info.bytes_to_host;
}

void test_one_result(void**) {
    for (const Subject subject : {Subject::gpt, Subject::batch_norm}) {
        const Result expected = expected_of(subject);
        for (const std::uint32_t size : {1u, 2u, 4u}) {
            for (const Result& result :
                 train_over("nccl", size, [&](std::uint32_t r) { return on_device(subject, r); }))
                expect_same(result, expected,
                            std::string(name_of(subject)) + ", " + std::to_string(size) + " ranks");
            assert_true((fake_calls("ncclSend") > 0) == (size > 1));
        }
    }
    assert_true(nothing_is_left());
}

// Gradients and parameters go from device to device: the host sees some numbers of a step.
void test_what_moves(void**) {
    const Place place("nccl");
    std::uint64_t moved[2] = {}, gradients = 0;
    for (const Result& result : in_threads(2, [&](std::uint32_t r) {
             const volta_group_options options = options_of(place, r, 2, 60);
             Rank rank(on_device(Subject::gpt, r), &options);
             rank.make_trainer();
             rank.make_step(0);
             const std::uint64_t before = bytes_to_host(rank);
             rank.make_step(1);
             moved[r] = bytes_to_host(rank) - before;
             volta_bill bill = VOLTA_BILL_INIT;
             rank.check(volta_trainer_get_bill(rank.trainer(), &bill));
             if (r == 0) gradients = bill.gradients / 2;  // two shards: two levels
             return rank.result();
         })) {
        if (result.status != VOLTA_OK) print_error("%s\n", result.text.c_str());
        assert_int_equal(result.status, VOLTA_OK);
    }
    for (const std::uint64_t bytes : moved) assert_in_range(bytes, 8, gradients / 20);
}

void test_bill(void**) {
    const Place place("nccl");
    for (const Result& result : in_threads(4, [&](std::uint32_t r) {
             const volta_group_options options = options_of(place, r, 4, 60);
             Rank rank(on_device(Subject::gpt, r), &options);
             const Bill bill = bill_of(rank);
             if (rank.is_ok() && bill.total != bill.held) {
                 rank.result().status = VOLTA_INTERNAL;
                 rank.result().text =
                     "the bill is " + std::to_string(bill.total) + ", held are " + std::to_string(bill.held);
             }
             return rank.result();
         })) {
        if (result.status != VOLTA_OK) print_error("%s\n", result.text.c_str());
        assert_int_equal(result.status, VOLTA_OK);
    }
}

// A checkpoint of two ranks goes on with four, and over sockets.
void test_checkpoints(void**) {
    const std::string path = "/tmp/volta_nccl_" + std::to_string(getpid()) + ".volta";
    Run whole = on_device(Subject::gpt, 0), first = whole, second = whole;
    whole.device = "cpu";
    whole.steps = 4;
    first.steps = second.steps = second.first_step = 2;
    first.to = second.from = path;
    const Result expected = train_alone(whole);
    for (const Result& result : train_over("nccl", 2, [&](std::uint32_t r) { return of_rank(first, r); })) {
        if (result.status != VOLTA_OK) print_error("%s\n", result.text.c_str());
        assert_int_equal(result.status, VOLTA_OK);
    }
    for (const char* const transport : {"nccl", "local"})
        for (const Result& result :
             train_over(transport, 4, [&](std::uint32_t r) { return of_rank(second, r); }))
            expect_same(result, expected, std::string("resumed over ") + transport);
    unlink(path.c_str());
}

std::string refusal(volta_status expected, const Run& run, const volta_group_options& options) {
    const Rank rank(run, &options);
    const Result result = const_cast<Rank&>(rank).result();
    assert_int_equal(result.status, expected);
    return result.text;
}

void test_refusals(void**) {
    const Place place("nccl");
    volta_group_options options = options_of(place, 0, 2, 5);
    assert_string_equal(refusal(VOLTA_UNSUPPORTED, Run(), options).c_str(),
                        "transport is nccl, and the context has no device: its device is \"cpu\"");
    const Run run = on_device(Subject::gpt, 0);
    options.library = "/nowhere/libnccl.so.2";
    std::string text = refusal(VOLTA_UNSUPPORTED, run, options);
    assert_non_null(std::strstr(text.c_str(), "NCCL: /nowhere/libnccl.so.2 cannot be opened ("));
    options.library = "libcuda.so.1";
    text = refusal(VOLTA_UNSUPPORTED, run, options);
    assert_string_equal(text.c_str(), "NCCL: libcuda.so.1 has no ncclGetVersion");
    options.library = nullptr;
    {
        const Setting old("VOLTA_FAKE_NCCL_VERSION", "21003");
        text = refusal(VOLTA_UNSUPPORTED, run, options);
        assert_string_equal(
            text.c_str(), "NCCL: libnccl.so.2 is of version 2.10.3, the oldest that is known here is 2.14.0");
    }
    options.address = nullptr;
    text = refusal(VOLTA_INVALID_ARGUMENT, run, options);
    assert_string_equal(text.c_str(), "transport nccl needs an address, none is given");
    const Place folder("local");
    volta_group_options local = options_of(folder, 0, 1, 5);
    local.library = "libnccl.so.2";
    text = refusal(VOLTA_INVALID_ARGUMENT, run, local);
    assert_string_equal(text.c_str(), "library is given, and transport is local: it names that of nccl");
}

// NCCL refuses two ranks on one device.
void test_one_device_for_two(void**) {
    for (const Result& result :
         train_over("nccl", 2, [](std::uint32_t) { return on_device(Subject::gpt, 1); })) {
        assert_int_equal(result.status, VOLTA_IO_ERROR);
        assert_non_null(
            std::strstr(result.text.c_str(), "ncclCommInitRankConfig of NCCL 2.20.5: invalid usage"));
    }
}

}  // namespace

int main() {
    const Setting devices("VOLTA_FAKE_CUDA_DEVICES", "4");
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_one_result), cmocka_unit_test(test_what_moves),
        cmocka_unit_test(test_bill),       cmocka_unit_test(test_checkpoints),
        cmocka_unit_test(test_refusals),   cmocka_unit_test(test_one_device_for_two),
    };
    return cmocka_run_group_tests(tests, make_kernels, remove_kernels);
}
