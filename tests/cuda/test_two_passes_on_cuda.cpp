// Clipping with updates in the backward pass on a device that needs no GPU: a pass for the norm, then one
// that updates, with the bits of a trainer on the processor that keeps its gradients.
#include <unistd.h>

#include "tests/cuda/device_ranks.h"

namespace {
using namespace volta::test;

Run clipped(Subject subject, const char* device, bool early) {
    Run run;
    run.subject = subject;
    run.device = device;
    run.shards = run.micro_batches = 1;
    run.clip_norm = 0.05;
    run.update_in_backward = early;
    return run;
}

void test_same_bits(void**) {
    for (const Subject subject : {Subject::gpt, Subject::batch_norm}) {
        const Result expected = train_alone(clipped(subject, "cpu", false));
        assert_true(expected.norm > 0.05f);
        for (const bool early : {false, true})
            expect_same(train_alone(clipped(subject, "cuda", early)), expected, name_of(subject));
    }
    assert_true(nothing_is_left());
}

// To the byte, and with one arena.
void test_bill(void**) {
    Run once = clipped(Subject::gpt, "cuda", true);
    once.clip_norm = 0;
    Rank rank(clipped(Subject::gpt, "cuda", true), nullptr), unclipped(once, nullptr);
    const Bill both = bill_of(rank), one = bill_of(unclipped);
    assert_true(rank.is_ok() && unclipped.is_ok());
    assert_int_equal(both.total, both.held);
    assert_int_equal(both.total, both.on_device + both.staging);
    assert_true(both.on_device < one.on_device + one.on_device / 50);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_bill),
    };
    return cmocka_run_group_tests(tests, make_kernels, remove_kernels);
}
