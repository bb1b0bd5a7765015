// Training in shards on a device that needs no GPU: the bits are those of the processor, whether one process
// computes the shards or ranks do, which exchange what lies on their devices by way of the host.
#include <unistd.h>

#include <filesystem>

#include "tests/cuda/device_ranks.h"

namespace {
using namespace volta::test;

Run on_device(Subject subject, std::uint64_t micro_batches = kShards) {
    Run run;
    run.subject = subject;
    run.device = "cuda";
    run.micro_batches = micro_batches;
    return run;
}

void test_one_process(void**) {
    for (const Subject subject : {Subject::gpt, Subject::batch_norm})
        for (const std::uint64_t micro_batches : {kShards, 2 * kShards})
            expect_same(train_alone(on_device(subject, micro_batches)), expected_of(subject, micro_batches),
                        name_of(subject));
    assert_true(nothing_is_left());
}

void test_ranks(void**) {
    for (const Subject subject : {Subject::gpt, Subject::batch_norm}) {
        const Result expected = expected_of(subject);
        for (const char* const transport : {"local", "tcp"})
            for (const std::uint32_t size : {2u, 4u})
                for (const Result& result :
                     train_over(transport, size, [&](std::uint32_t) { return on_device(subject); }))
                    expect_same(result, expected,
                                std::string(name_of(subject)) + " over " + transport + ", " +
                                    std::to_string(size) + " ranks");
    }
    assert_true(nothing_is_left());
}

// A device and a processor, either of which is rank 0.
void test_ranks_of_two_kinds(void**) {
    const Result expected = expected_of(Subject::gpt);
    for (const char* const transport : {"local", "tcp"})
        for (const std::uint32_t with_device : {0u, 1u})
            for (const Result& result : train_over(transport, 2, [&](std::uint32_t rank) {
                     return rank == with_device ? on_device(Subject::gpt) : Run();
                 }))
                expect_same(result, expected, "a device and a processor");
}

// A checkpoint of ranks with devices goes on in one process, on either.
void test_checkpoints(void**) {
    const std::string path = "/tmp/volta_device_shards_" + std::to_string(getpid()) + ".volta";
    for (const Subject subject : {Subject::gpt, Subject::batch_norm}) {
        Run whole = on_device(subject), first = whole, second = whole;
        whole.device = "cpu";
        whole.steps = 4;
        first.steps = second.steps = second.first_step = 2;
        first.to = second.from = path;
        const Result expected = train_alone(whole);
        for (const Result& result : train_over("tcp", 2, [&](std::uint32_t) { return first; })) {
            if (result.status != VOLTA_OK) print_error("%s\n", result.text.c_str());
            assert_int_equal(result.status, VOLTA_OK);
        }
        expect_same(train_alone(second), expected, "resumed alone");
        for (const Result& result : train_over("local", 4, [&](std::uint32_t) { return second; }))
            expect_same(result, expected, "resumed by four ranks");
        second.device = "cpu";
        expect_same(train_alone(second), expected, "resumed on the processor");
    }
    unlink(path.c_str());
}

// Those of the whole step, as the host reads them behind it, on the rank that updates the parameter.
std::vector<float> gradient_of(const Run& run, const char* parameter) {
    Rank rank(run, nullptr);
    rank.make_trainer();
    rank.make_step(0);
    const float* data = nullptr;
    std::size_t count = 0;
    if (rank.is_ok()) rank.check(volta_trainer_gradient(rank.trainer(), parameter, &data, &count));
    if (!rank.is_ok()) print_error("%s\n", rank.result().text.c_str());
    return std::vector<float>(data, data + count);
}

void test_gradients(void**) {
    for (const char* const parameter : {"token_embedding", "position_embedding"}) {
        const std::vector<float> expected = gradient_of(Run(), parameter),
                                 got = gradient_of(on_device(Subject::gpt), parameter);
        assert_true(!expected.empty() && got.size() == expected.size());
        assert_memory_equal(got.data(), expected.data(), expected.size() * sizeof(float));
    }
}

// A folder in which each rank with a device has a part goes on by one process on the processor.
void test_checkpoint_in_parts(void**) {
    const std::string folder = "/tmp/volta_device_parts_" + std::to_string(getpid());
    Run whole, half = on_device(Subject::batch_norm), rest;
    whole.subject = rest.subject = Subject::batch_norm;
    whole.steps = 4;
    half.steps = rest.steps = rest.first_step = 2;
    half.to_parts = folder;
    rest.from = folder;
    const Result expected = train_alone(whole);
    for (const Result& result : train_over("tcp", 2, [&](std::uint32_t) { return half; })) {
        if (result.status != VOLTA_OK) print_error("%s\n", result.text.c_str());
        assert_int_equal(result.status, VOLTA_OK);
    }
    expect_same(train_alone(rest), expected, "resumed from parts");
    rest.device = "cuda";
    expect_same(train_alone(rest), expected, "resumed from parts on the device");
    std::filesystem::remove_all(folder);
}

// What a bill says is held, to the byte, and fits where that much of the device is given.
void test_bill(void**) {
    Rank rank(on_device(Subject::gpt), nullptr);
    const Bill alone = bill_of(rank);
    assert_true(rank.is_ok());
    assert_int_equal(alone.total, alone.held);
    assert_int_equal(alone.total, alone.on_device + alone.staging);
    assert_true(alone.device >= alone.on_device);
    volta_bill estimate = VOLTA_BILL_INIT;
    const volta_trainer_options options = rank.options();
    assert_true(ok(volta_trainer_estimate(rank.model(), &options, nullptr, &estimate, nullptr)));
    assert_int_equal(estimate.total, alone.total);

    Run run = on_device(Subject::gpt);
    run.budget = alone.device + (std::uint64_t{64} << 10);  // allocations are rounded
    Rank enough(run, nullptr);
    enough.make_trainer();
    if (!enough.is_ok()) print_error("%s\n", enough.result().text.c_str());
    assert_true(enough.is_ok());
    run.budget = alone.device / 2;
    Rank less(run, nullptr);
    less.make_trainer();
    assert_int_equal(less.result().status, VOLTA_OUT_OF_MEMORY);
    assert_non_null(std::strstr(less.result().text.c_str(), "bytes of the device for its shards, which has"));
}

void test_bill_of_ranks(void**) {
    const Place place("tcp");
    Bill bills[2];
    for (const Result& result : in_threads(2, [&](std::uint32_t r) {
             const volta_group_options options = options_of(place, r, 2, 60);
             Rank rank(on_device(Subject::gpt), &options);
             bills[r] = bill_of(rank);
             return rank.result();
         }))
        assert_int_equal(result.status, VOLTA_OK);
    for (const Bill& bill : bills) {
        assert_int_equal(bill.total, bill.held);
        assert_int_equal(bill.total, bill.on_device + bill.staging);
        assert_true(bill.device >= bill.on_device);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_one_process),
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_ranks_of_two_kinds),
        cmocka_unit_test(test_checkpoints),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_checkpoint_in_parts),
        cmocka_unit_test(test_bill),
        cmocka_unit_test(test_bill_of_ranks),
    };
    return cmocka_run_group_tests(tests, make_kernels, remove_kernels);
}
