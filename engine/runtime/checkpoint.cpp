#include "engine/runtime/checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "engine/base/error.h"

namespace volta {

namespace {

// One row per option that is a number: its name in the file and its field in the public struct, which is also
// what read_trainer_options() checks. A new option is a new row.
struct NumberField {
    const char* name;
    double volta_trainer_options::*field;
};
constexpr NumberField kNumbers[] = {
    {"beta1", &volta_trainer_options::beta1},
    {"beta2", &volta_trainer_options::beta2},
    {"clip_norm", &volta_trainer_options::clip_norm},
    {"epsilon", &volta_trainer_options::epsilon},
    {"final_learning_rate", &volta_trainer_options::final_learning_rate},
    {"learning_rate", &volta_trainer_options::learning_rate},
    {"momentum", &volta_trainer_options::momentum},
    {"weight_decay", &volta_trainer_options::weight_decay},
};
struct CountField {
    const char* name;
    std::uint64_t volta_trainer_options::*field;
};
constexpr CountField kCounts[] = {
    {"micro_batches", &volta_trainer_options::micro_batches},
    {"seed", &volta_trainer_options::seed},
    {"steps", &volta_trainer_options::steps},
    {"warmup_steps", &volta_trainer_options::warmup_steps},
};
struct ChoiceField {
    const char* name;
    std::int32_t volta_trainer_options::*field;
};
constexpr ChoiceField kChoices[] = {
    {"decay_all_parameters", &volta_trainer_options::decay_all_parameters},
    {"loss", &volta_trainer_options::loss},
    {"nesterov", &volta_trainer_options::nesterov},
    {"nonfinite", &volta_trainer_options::nonfinite},
    {"optimizer", &volta_trainer_options::optimizer},
    {"output_index", &volta_trainer_options::output_index},
    {"schedule", &volta_trainer_options::schedule},
};

constexpr int kExtentNameBytes = 40;
void extent_name(std::size_t index, char (&name)[kExtentNameBytes]) {
    std::snprintf(name, sizeof name, "input_extent_%06zu", index);
}

}  // namespace

void add_number(TrainingState& state, const char* name, double value) {
    std::pmr::memory_resource* heap = state.numbers.get_allocator().resource();
    state.numbers.push_back(NamedNumber{std::pmr::string(name, heap), value});
}

void add_integer(TrainingState& state, const char* name, std::uint64_t value) {
    std::pmr::memory_resource* heap = state.integers.get_allocator().resource();
    state.integers.push_back(NamedInteger{std::pmr::string(name, heap), value});
}

void sort_by_name(TrainingState& state) {
    const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    std::sort(state.numbers.begin(), state.numbers.end(), by_name);
    std::sort(state.integers.begin(), state.integers.end(), by_name);
    std::sort(state.tensors.begin(), state.tensors.end(), by_name);
}

double number_of(const TrainingState& state, const char* name) {
    for (const NamedNumber& number : state.numbers)
        if (number.name == name) return number.value;
    fail(VOLTA_CORRUPT_MODEL, "the checkpoint lacks the number %s", name);
}

std::uint64_t integer_of(const TrainingState& state, const char* name) {
    for (const NamedInteger& integer : state.integers)
        if (integer.name == name) return integer.value;
    fail(VOLTA_CORRUPT_MODEL, "the checkpoint lacks the integer %s", name);
}

namespace {

// The public struct with explicit values: what a caller would have to pass to get `options`.
volta_trainer_options explicit_options(const TrainerOptions& options) {
    volta_trainer_options c = {};
    c.struct_size = sizeof c;
    c.loss = options.spec.loss;
    c.optimizer = options.spec.optimizer;
    c.seed = options.seed;
    c.steps = options.schedule.steps;
    c.micro_batches = options.spec.micro_batches;
    c.schedule = options.schedule.kind;
    c.warmup_steps = options.schedule.warmup_steps;
    c.learning_rate = options.schedule.learning_rate;
    c.final_learning_rate = options.schedule.final_learning_rate;
    c.beta1 = options.beta1 == 0 ? -1 : options.beta1;
    c.beta2 = options.beta2 == 0 ? -1 : options.beta2;
    c.epsilon = options.epsilon;
    c.weight_decay = options.weight_decay;
    c.decay_all_parameters = options.spec.decay_all_parameters;
    c.momentum = options.momentum;
    c.nesterov = options.spec.nesterov;
    c.clip_norm = options.spec.clip_norm;
    c.nonfinite = options.nonfinite;
    c.output_index = options.spec.output_index;
    return c;
}

}  // namespace

volta_trainer_options Trainer::c_options() const {
    volta_trainer_options c = explicit_options(options_);
    c.input_shapes = extents_.data();
    c.input_extent_count = extents_.size();
    return c;
}

void describe_options(const TrainerOptions& options, TrainingState& state) {
    const volta_trainer_options c = explicit_options(options);
    for (const NumberField& row : kNumbers) add_number(state, row.name, c.*row.field);
    for (const CountField& row : kCounts) add_integer(state, row.name, c.*row.field);
    for (const ChoiceField& row : kChoices)
        add_integer(state, row.name, static_cast<std::uint64_t>(static_cast<std::uint32_t>(c.*row.field)));
    std::size_t index = 0;
    for (const Shape& shape : options.input_shapes)
        for (int axis = 0; axis < shape.rank; ++axis) {
            char name[kExtentNameBytes];
            extent_name(index++, name);
            add_integer(state, name, static_cast<std::uint64_t>(shape[axis]));
        }
    add_integer(state, "input_extents", index);
}

TrainerOptions options_of_checkpoint(const TrainingState& state, const Model& model,
                                     std::pmr::memory_resource* heap) {
    volta_trainer_options c = {};
    c.struct_size = sizeof c;
    for (const NumberField& row : kNumbers) c.*row.field = number_of(state, row.name);
    for (const CountField& row : kCounts) c.*row.field = integer_of(state, row.name);
    for (const ChoiceField& row : kChoices)
        c.*row.field = static_cast<std::int32_t>(static_cast<std::uint32_t>(integer_of(state, row.name)));
    const std::uint64_t count = integer_of(state, "input_extents");
    if (count > state.integers.size())
        fail(VOLTA_CORRUPT_MODEL, "the checkpoint claims %llu input extents",
             static_cast<unsigned long long>(count));
    std::pmr::vector<std::int64_t> extents(heap);
    for (std::size_t i = 0; i < count; ++i) {
        char name[kExtentNameBytes];
        extent_name(i, name);
        extents.push_back(static_cast<std::int64_t>(integer_of(state, name)));
    }
    c.input_shapes = extents.data();
    c.input_extent_count = extents.size();
    try {
        return read_trainer_options(c, model, heap);
    } catch (const Error& error) {
        fail(VOLTA_CORRUPT_MODEL, "the checkpoint's options are not valid: %s", error.what());
    }
}

void require_same_options(const TrainerOptions& given, const TrainerOptions& checkpoint,
                          std::pmr::memory_resource* heap) {
    TrainingState a(heap), b(heap);
    describe_options(given, a);
    describe_options(checkpoint, b);
    for (std::size_t i = 0; i < a.numbers.size(); ++i)
        if (std::memcmp(&a.numbers[i].value, &b.numbers[i].value, sizeof(double)) != 0)
            fail(VOLTA_INVALID_ARGUMENT, "%s is %.17g, the checkpoint was trained with %.17g",
                 a.numbers[i].name.c_str(), a.numbers[i].value, b.numbers[i].value);
    if (a.integers.size() != b.integers.size())
        fail(VOLTA_INVALID_ARGUMENT, "the input shapes have another rank than the checkpoint's");
    for (std::size_t i = 0; i < a.integers.size(); ++i)
        if (a.integers[i].value != b.integers[i].value)
            fail(VOLTA_INVALID_ARGUMENT, "%s is %llu, the checkpoint was trained with %llu",
                 a.integers[i].name.c_str(), static_cast<unsigned long long>(a.integers[i].value),
                 static_cast<unsigned long long>(b.integers[i].value));
}

}  // namespace volta
