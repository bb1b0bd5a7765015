// Trainer options as a checkpoint's named numbers: what every loss has comes back, options that came later
// are not in the files of runs without them, and files that lack something or claim too much are refused.
#include <vector>

#include "engine/runtime/checkpoint.h"
#include "engine/runtime/loss.h"
#include "engine/runtime/trainer.h"
#include "tests/support/cmocka_cpp.h"
#include "tests/support/errors.h"

namespace {

using namespace volta;
using namespace volta::test;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

struct Subject {
    Model model{heap(), heap()};
    std::int64_t shape[2] = {4, 3};
    std::vector<double> weights = {0.5, 2, 0, 1e-3};
    Subject() {
        const ValueId x = model.graph.input("x", DType::f32, {4, 3});
        model.graph.output("y", x);
    }
    volta_trainer_options options(volta_loss loss) const {
        volta_trainer_options c = {};
        c.struct_size = sizeof c;
        c.input_shapes = shape;
        c.input_extent_count = 2;
        c.loss = loss;
        return c;
    }
    TrainerOptions read(const volta_trainer_options& c) const {
        return read_trainer_options(c, model, heap());
    }
    TrainingState described(const volta_trainer_options& c) const {
        TrainingState state(heap());
        describe_options(read(c), state);
        sort_by_name(state);
        return state;
    }
};

template <class Named>
bool has(const std::pmr::vector<Named>& all, const char* name) {
    for (const Named& one : all)
        if (one.name == name) return true;
    return false;
}
template <class Named>
void remove(std::pmr::vector<Named>& all, const char* name) {
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].name == name) return (void)all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    fail(VOLTA_INTERNAL, "there is no %s", name);
}

void test_every_loss_comes_back(void**) {
    const Subject subject;
    for (volta_loss loss = 0; loss <= VOLTA_LOSS_HUBER; ++loss) {
        volta_trainer_options c = subject.options(loss);
        if (loss == VOLTA_LOSS_CROSS_ENTROPY) c.label_smoothing = 0.1;
        if (loss == VOLTA_LOSS_HUBER) c.huber_delta = 0.75;
        if (loss_row(loss).has_weights) {
            c.class_weights = subject.weights.data();
            c.class_weight_count = subject.weights.size();
        }
        const TrainerOptions given = subject.read(c);
        const TrainerOptions back = options_of_checkpoint(subject.described(c), subject.model, heap());
        assert_int_equal(back.spec.loss, loss);
        assert_true(back.spec.label_smoothing == c.label_smoothing);
        assert_true(back.spec.huber_delta == c.huber_delta);
        assert_int_equal(back.spec.class_weights.size(), c.class_weight_count);
        assert_true(back.spec.class_weights == given.spec.class_weights);
        require_same_options(given, back, subject.model, heap());
    }
}

// So that such files are what they were, and those from before are read.
void test_options_that_came_later_are_not_written_without_need(void**) {
    const Subject subject;
    for (const volta_loss loss : {VOLTA_LOSS_CROSS_ENTROPY, VOLTA_LOSS_MSE}) {
        const TrainingState state = subject.described(subject.options(loss));
        assert_false(has(state.numbers, "label_smoothing") || has(state.numbers, "huber_delta") ||
                     has(state.integers, "class_weights") || has(state.integers, "packed_documents"));
        const TrainerOptions back = options_of_checkpoint(state, subject.model, heap());
        assert_true(back.spec.label_smoothing == 0 && back.spec.huber_delta == 0);
        assert_true(back.spec.class_weights.empty());
        assert_false(back.packed);
    }
}

// Frozen parameters are places in the model, which names and patterns become.
void test_frozen_parameters_come_back(void**) {
    Subject subject;
    for (const char* name : {"a.weight", "a.bias", "b.weight", "b.bias"})
        subject.model.parameters.push_back(
            {std::pmr::string(name, heap()), DType::f32, Shape{2}, nullptr, Buffer()});
    volta_trainer_options c = subject.options(VOLTA_LOSS_MSE);
    const char* const patterns[] = {"*.bias", "a*"};
    c.frozen = patterns;
    c.frozen_count = 2;
    const TrainerOptions given = subject.read(c);
    const TrainerOptions back = options_of_checkpoint(subject.described(c), subject.model, heap());
    assert_true(back.spec.frozen == given.spec.frozen);
    assert_true(back.spec.frozen == std::pmr::vector<std::int32_t>({0, 1, 3}));
    require_same_options(given, back, subject.model, heap());
    const auto set = [](TrainingState& s, const char* name, std::uint64_t value) {
        for (NamedInteger& integer : s.integers)
            if (integer.name == name) integer.value = value;
    };
    const auto refuse = [&](auto damage, const char* sentence) {
        TrainingState state = subject.described(c);
        damage(state);
        assert_failure(failure_of([&] { options_of_checkpoint(state, subject.model, heap()); }),
                       VOLTA_CORRUPT_MODEL, sentence);
    };
    refuse([](TrainingState& s) { remove(s.integers, "frozen_parameter_000001"); },
           "the checkpoint lacks the integer frozen_parameter_000001");
    refuse([&](TrainingState& s) { set(s, "frozen_parameters", 5); },
           "the checkpoint claims 5 frozen parameters, the model has 4");
    refuse([&](TrainingState& s) { set(s, "frozen_parameters", 4); },
           "the checkpoint lacks the integer frozen_parameter_000003");
    refuse([&](TrainingState& s) { set(s, "frozen_parameter_000002", 4); },
           "the checkpoint's frozen_parameter_000002 is 4, which is no place among 4 parameters");
    refuse([&](TrainingState& s) { set(s, "frozen_parameter_000001", 0); },
           "the checkpoint's frozen_parameter_000001 is 0, which is no place among 4 parameters");
    // Runs without any have files as before.
    assert_false(has(subject.described(subject.options(VOLTA_LOSS_MSE)).integers, "frozen_parameters"));
}

// A base's parameters are its own: adapters alone are trained.
void test_a_base_stays_as_it_is(void**) {
    Subject subject;
    for (const char* name : {"of.base", "of.adapter"})
        subject.model.parameters.push_back(
            {std::pmr::string(name, heap()), DType::f32, Shape{2}, nullptr, Buffer()});
    const TrainingState all = subject.described(subject.options(VOLTA_LOSS_MSE));
    subject.model.parameters[0].is_lent = true;
    const TrainingState adapters = subject.described(subject.options(VOLTA_LOSS_MSE));
    assert_true(options_of_checkpoint(adapters, subject.model, heap()).spec.frozen ==
                std::pmr::vector<std::int32_t>({0}));
    assert_failure(failure_of([&] { options_of_checkpoint(all, subject.model, heap()); }),
                   VOLTA_CORRUPT_MODEL,
                   "the checkpoint trains of.base, which is of the base that its adapters are on");
}

// Shards change what a step computes: a run goes on with as many.
void test_other_shards_are_refused(void**) {
    const Subject subject;
    volta_trainer_options c = subject.options(VOLTA_LOSS_MSE);
    const TrainerOptions one = subject.read(c);
    c.micro_batches = c.shards = 2;
    const TrainerOptions two = subject.read(c);
    assert_failure(failure_of([&] { require_same_options(two, one, subject.model, heap()); }),
                   VOLTA_INVALID_ARGUMENT, "shards is 2, the checkpoint was trained with 1");
    assert_failure(failure_of([&] { require_same_options(one, two, subject.model, heap()); }),
                   VOLTA_INVALID_ARGUMENT, "shards is 1, the checkpoint was trained with 2");
    require_same_options(two, two, subject.model, heap());
}

// AdamW has two states of each parameter; of one without the second, nothing goes on.
void test_a_lost_state_is_named(void**) {
    ContextOptions options;
    options.thread_count = 1;
    Context* const made = Context::create(options);
    const ContextRef context(made);
    made->release();
    Graph graph(heap());
    const ValueId x = graph.input("x", DType::f32, {4, 3});
    graph.output("y", graph.apply(Op::mul, {x, graph.parameter("w", {3}, {})}));
    const ModelRef model = Model::create(graph, 1, heap(), heap());
    const std::int64_t shape[] = {4, 3};
    volta_trainer_options c = {};
    c.struct_size = sizeof c;
    c.input_shapes = shape;
    c.input_extent_count = 2;
    c.loss = VOLTA_LOSS_MSE;
    const float zeros[3] = {};
    const auto resumed_with = [&](std::initializer_list<std::pair<const char*, Shape>> states) {
        TrainingState& state = model->training.emplace(heap());
        describe_options(read_trainer_options(c, *model, heap()), state);
        for (const char* name : {"beta1_product", "beta2_product"}) add_number(state, name, 1);
        for (const char* name : {"step", "data_epoch", "data_cursor", "data_hash_high", "data_hash_low"})
            add_integer(state, name, 0);
        for (const auto& [name, of] : states)
            state.tensors.push_back(
                NamedTensor{std::pmr::string(name, heap()), DType::f32, of, zeros, Buffer()});
        sort_by_name(state);
        return failure_of([&] { Trainer::resume(context, model, nullptr, nullptr); });
    };
    const Failure whole = resumed_with({{"w/m", {3}}, {"w/v", {3}}}), lost = resumed_with({{"w/m", {3}}}),
                  shorter = resumed_with({{"w/m", {3}}, {"w/v", {2}}});
    assert_string_equal(whole.text, "");
    assert_failure(lost, VOLTA_CORRUPT_MODEL, "the checkpoint has no optimizer state w/v of 12 bytes");
    assert_failure(shorter, VOLTA_CORRUPT_MODEL, "the checkpoint has no optimizer state w/v of 12 bytes");
}

void test_damaged_options_are_refused(void**) {
    const Subject subject;
    volta_trainer_options c = subject.options(VOLTA_LOSS_CROSS_ENTROPY);
    c.label_smoothing = 0.1;
    c.packed_documents = 1;
    c.class_weights = subject.weights.data();
    c.class_weight_count = subject.weights.size();
    assert_true(options_of_checkpoint(subject.described(c), subject.model, heap()).packed);
    const struct {
        void (*damage)(TrainingState& state);
        const char* sentence;
    } rows[] = {
        {[](TrainingState& s) { remove(s.numbers, "class_weight_000000"); },
         "the checkpoint lacks the number class_weight_000000"},
        {[](TrainingState& s) { remove(s.numbers, "class_weight_000002"); },
         "the checkpoint lacks the number class_weight_000002"},
        {[](TrainingState& s) { remove(s.numbers, "class_weight_000003"); },
         "the checkpoint lacks the number class_weight_000003"},
        {[](TrainingState& s) {
             for (NamedInteger& integer : s.integers)
                 if (integer.name == "class_weights") integer.value = std::uint64_t{1} << 60;
         },
         "the checkpoint claims 1152921504606846976 class weights"},
        {[](TrainingState& s) {
             for (NamedNumber& number : s.numbers)
                 if (number.name == "label_smoothing") number.value = 2;
         },
         "the checkpoint's options are not valid: label_smoothing is 2, it must be at least 0 and below 1"},
        {[](TrainingState& s) {
             for (NamedNumber& number : s.numbers)
                 if (number.name == "class_weight_000001") number.value = -3;
         },
         "the checkpoint's options are not valid: class_weights[1] is -3, it must be in 0 .. 1e+30"},
        {[](TrainingState& s) {
             for (NamedInteger& integer : s.integers)
                 if (integer.name == "loss") integer.value = 77;
         },
         "the checkpoint's options are not valid: loss is 77, it must be in 0 .. 4"},
        {[](TrainingState& s) {
             for (NamedInteger& integer : s.integers)
                 if (integer.name == "packed_documents") integer.value = 2;
         },
         "the checkpoint's options are not valid: packed_documents is 2, it must be in 0 .. 1"},
        {[](TrainingState& s) { remove(s.numbers, "beta1"); }, "the checkpoint lacks the number beta1"},
        {[](TrainingState& s) { remove(s.integers, "seed"); }, "the checkpoint lacks the integer seed"},
        {[](TrainingState& s) {
             for (NamedInteger& integer : s.integers)
                 if (integer.name == "input_extents") integer.value = std::uint64_t{1} << 60;
         },
         "the checkpoint claims 1152921504606846976 input extents"},
    };
    for (const auto& row : rows) {
        TrainingState state = subject.described(c);
        row.damage(state);
        assert_failure(failure_of([&] { options_of_checkpoint(state, subject.model, heap()); }),
                       VOLTA_CORRUPT_MODEL, row.sentence);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_every_loss_comes_back),
        cmocka_unit_test(test_options_that_came_later_are_not_written_without_need),
        cmocka_unit_test(test_frozen_parameters_come_back),
        cmocka_unit_test(test_a_base_stays_as_it_is),
        cmocka_unit_test(test_other_shards_are_refused),
        cmocka_unit_test(test_a_lost_state_is_named),
        cmocka_unit_test(test_damaged_options_are_refused),
    };
    return cmocka_run_group_tests_name("checkpoint options", tests, nullptr, nullptr);
}
