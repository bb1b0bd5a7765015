#include "engine/runtime/checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "engine/base/error.h"

namespace volta {

namespace {

// One row per option that is a number: its name in the file and its field in the public struct, which is also
// what read_trainer_options() checks. A new option is a new row, whose 0 is not written: what files without
// it mean.
struct NumberField {
    const char* name;
    double volta_trainer_options::*field;
    bool is_newer = false;
};
constexpr NumberField kNumbers[] = {
    {"beta1", &volta_trainer_options::beta1},
    {"beta2", &volta_trainer_options::beta2},
    {"clip_norm", &volta_trainer_options::clip_norm},
    {"epsilon", &volta_trainer_options::epsilon},
    {"final_learning_rate", &volta_trainer_options::final_learning_rate},
    {"huber_delta", &volta_trainer_options::huber_delta, true},
    {"label_smoothing", &volta_trainer_options::label_smoothing, true},
    {"learning_rate", &volta_trainer_options::learning_rate},
    {"momentum", &volta_trainer_options::momentum},
    {"weight_decay", &volta_trainer_options::weight_decay},
};
struct CountField {
    const char* name;
    std::uint64_t volta_trainer_options::*field;
    bool is_newer = false;
};
constexpr CountField kCounts[] = {
    {"micro_batches", &volta_trainer_options::micro_batches}, {"seed", &volta_trainer_options::seed},
    {"shards", &volta_trainer_options::shards, true},         {"steps", &volta_trainer_options::steps},
    {"warmup_steps", &volta_trainer_options::warmup_steps},
};
struct ChoiceField {
    const char* name;
    std::int32_t volta_trainer_options::*field;
    bool is_newer = false;
};
constexpr ChoiceField kChoices[] = {
    {"decay_all_parameters", &volta_trainer_options::decay_all_parameters},
    {"loss", &volta_trainer_options::loss},
    {"nesterov", &volta_trainer_options::nesterov},
    {"nonfinite", &volta_trainer_options::nonfinite},
    {"optimizer", &volta_trainer_options::optimizer},
    {"output_index", &volta_trainer_options::output_index},
    {"packed_documents", &volta_trainer_options::packed_documents, true},
    {"schedule", &volta_trainer_options::schedule},
};

constexpr int kIndexedNameBytes = 48;
void indexed_name(const char* what, std::size_t index, char (&name)[kIndexedNameBytes]) {
    std::snprintf(name, sizeof name, "%s_%06zu", what, index);
}
constexpr const char *kExtent = "input_extent", *kClassWeight = "class_weight", *kFrozen = "frozen_parameter";

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

namespace {

// NULL: there is none of that name.
template <class Named>
const Named* find_named(const std::pmr::vector<Named>& all, const char* name) {
    for (const Named& one : all)
        if (one.name == name) return &one;
    return nullptr;
}

}  // namespace

double number_of(const TrainingState& state, const char* name) {
    if (const NamedNumber* number = find_named(state.numbers, name)) return number->value;
    fail(VOLTA_CORRUPT_MODEL, "the checkpoint lacks the number %s", name);
}

std::uint64_t integer_of(const TrainingState& state, const char* name) {
    if (const NamedInteger* integer = find_named(state.integers, name)) return integer->value;
    fail(VOLTA_CORRUPT_MODEL, "the checkpoint lacks the integer %s", name);
}

namespace {

// The public struct with explicit values: what a caller would have to pass to get `options`, which lends the
// weights.
volta_trainer_options explicit_options(const TrainerOptions& options) {
    volta_trainer_options c = {};
    c.struct_size = sizeof c;
    c.loss = options.spec.loss;
    c.optimizer = options.spec.optimizer;
    c.seed = options.seed;
    c.steps = options.schedule.steps;
    c.micro_batches = std::uint64_t{options.spec.micro_batches} * options.shards;
    c.shards = options.shards == 1 ? 0 : options.shards;
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
    c.label_smoothing = options.spec.label_smoothing;
    c.class_weight_count = options.spec.class_weights.size();
    if (c.class_weight_count != 0) c.class_weights = options.spec.class_weights.data();
    c.huber_delta = options.spec.huber_delta;
    c.packed_documents = options.packed;
    c.activation_budget = options.activation_budget;
    if (!options.state_folder.empty()) c.state_folder = options.state_folder.c_str();
    c.update_in_backward = options.spec.update_in_backward;
    return c;
}

}  // namespace

volta_trainer_options Trainer::c_options() const {
    volta_trainer_options c = explicit_options(options_);
    c.input_shapes = extents_.data();
    c.input_extent_count = extents_.size();
    c.frozen_count = frozen_.size();
    if (!frozen_.empty()) c.frozen = frozen_.data();
    return c;
}

void describe_options(const TrainerOptions& options, TrainingState& state) {
    const volta_trainer_options c = explicit_options(options);
    for (const NumberField& row : kNumbers)
        if (!row.is_newer || c.*row.field != 0) add_number(state, row.name, c.*row.field);
    for (const CountField& row : kCounts)
        if (!row.is_newer || c.*row.field != 0) add_integer(state, row.name, c.*row.field);
    for (const ChoiceField& row : kChoices)
        if (!row.is_newer || c.*row.field != 0)
            add_integer(state, row.name,
                        static_cast<std::uint64_t>(static_cast<std::uint32_t>(c.*row.field)));
    std::size_t index = 0;
    char name[kIndexedNameBytes];
    for (const Shape& shape : options.input_shapes)
        for (int axis = 0; axis < shape.rank; ++axis) {
            indexed_name(kExtent, index++, name);
            add_integer(state, name, static_cast<std::uint64_t>(shape[axis]));
        }
    add_integer(state, "input_extents", index);
    const auto& frozen = options.spec.frozen;
    for (std::size_t i = 0; i < frozen.size(); ++i) {
        indexed_name(kFrozen, i, name);
        add_integer(state, name, static_cast<std::uint64_t>(frozen[i]));
    }
    if (!frozen.empty()) add_integer(state, "frozen_parameters", frozen.size());
    if (c.class_weight_count == 0) return;
    for (std::size_t i = 0; i < c.class_weight_count; ++i) {
        indexed_name(kClassWeight, i, name);
        add_number(state, name, c.class_weights[i]);
    }
    add_integer(state, "class_weights", c.class_weight_count);
}

namespace {

// A base's parameters are lent for reading.
void require_frozen_base(const Model& model, const std::pmr::vector<std::int32_t>& frozen) {
    for (std::size_t i = 0; i < model.parameters.size(); ++i)
        if (model.parameters[i].is_lent &&
            !std::binary_search(frozen.begin(), frozen.end(), static_cast<std::int32_t>(i)))
            fail(VOLTA_CORRUPT_MODEL,
                 "the checkpoint trains %s, which is of the base that its adapters are on",
                 model.parameters[i].name.c_str());
}

// They stand together, as class weights do.
void read_frozen(const TrainingState& state, const Model& model, std::pmr::vector<std::int32_t>& frozen) {
    const NamedInteger* const claimed = find_named(state.integers, "frozen_parameters");
    if (claimed == nullptr) return require_frozen_base(model, frozen);
    const std::size_t most = model.parameters.size();
    if (claimed->value > most)
        fail(VOLTA_CORRUPT_MODEL, "the checkpoint claims %llu frozen parameters, the model has %zu",
             static_cast<unsigned long long>(claimed->value), most);
    char name[kIndexedNameBytes];
    indexed_name(kFrozen, 0, name);
    const NamedInteger* next = find_named(state.integers, name);
    const NamedInteger* const end = state.integers.data() + state.integers.size();
    for (std::size_t i = 0; i < claimed->value; ++i) {
        indexed_name(kFrozen, i, name);
        if (next == nullptr || next == end || next->name != name)
            fail(VOLTA_CORRUPT_MODEL, "the checkpoint lacks the integer %s", name);
        const std::uint64_t place = next++->value;
        const bool ascends = frozen.empty() || place > static_cast<std::uint64_t>(frozen.back());
        if (place >= most || !ascends)
            fail(VOLTA_CORRUPT_MODEL, "the checkpoint's %s is %llu, which is no place among %zu parameters",
                 name, static_cast<unsigned long long>(place), most);
        frozen.push_back(static_cast<std::int32_t>(place));
    }
    require_frozen_base(model, frozen);
}

}  // namespace

TrainerOptions options_of_checkpoint(const TrainingState& state, const Model& model,
                                     std::pmr::memory_resource* heap) {
    volta_trainer_options c = {};
    c.struct_size = sizeof c;
    for (const NumberField& row : kNumbers)
        if (!row.is_newer || find_named(state.numbers, row.name) != nullptr)
            c.*row.field = number_of(state, row.name);
    for (const CountField& row : kCounts)
        if (!row.is_newer || find_named(state.integers, row.name) != nullptr)
            c.*row.field = integer_of(state, row.name);
    for (const ChoiceField& row : kChoices)
        if (!row.is_newer || find_named(state.integers, row.name) != nullptr)
            c.*row.field = static_cast<std::int32_t>(static_cast<std::uint32_t>(integer_of(state, row.name)));
    const std::uint64_t count = integer_of(state, "input_extents");
    if (count > state.integers.size())
        fail(VOLTA_CORRUPT_MODEL, "the checkpoint claims %llu input extents",
             static_cast<unsigned long long>(count));
    char name[kIndexedNameBytes];
    std::pmr::vector<std::int64_t> extents(heap);
    for (std::size_t i = 0; i < count; ++i) {
        indexed_name(kExtent, i, name);
        extents.push_back(static_cast<std::int64_t>(integer_of(state, name)));
    }
    c.input_shapes = extents.data();
    c.input_extent_count = extents.size();
    std::pmr::vector<double> weights(heap);
    if (const NamedInteger* claimed = find_named(state.integers, "class_weights")) {
        if (claimed->value > state.numbers.size())
            fail(VOLTA_CORRUPT_MODEL, "the checkpoint claims %llu class weights",
                 static_cast<unsigned long long>(claimed->value));
        // They stand together: numbers are written in the order of their names.
        indexed_name(kClassWeight, 0, name);
        const NamedNumber* next = find_named(state.numbers, name);
        const NamedNumber* const end = state.numbers.data() + state.numbers.size();
        for (std::size_t i = 0; i < claimed->value; ++i) {
            indexed_name(kClassWeight, i, name);
            if (next == nullptr || next == end || next->name != name)
                fail(VOLTA_CORRUPT_MODEL, "the checkpoint lacks the number %s", name);
            weights.push_back(next++->value);
        }
    }
    c.class_weight_count = weights.size();
    if (!weights.empty()) c.class_weights = weights.data();
    std::pmr::vector<std::int32_t> frozen(heap);
    read_frozen(state, model, frozen);
    try {
        TrainerOptions options = read_trainer_options(c, model, heap);
        options.spec.frozen = std::move(frozen);
        return options;
    } catch (const Error& error) {
        fail(VOLTA_CORRUPT_MODEL, "the checkpoint's options are not valid: %s", error.what());
    }
}

namespace {

void require_same_number(const char* name, double given, double trained) {
    if (std::memcmp(&given, &trained, sizeof given) != 0)
        fail(VOLTA_INVALID_ARGUMENT, "%s is %.17g, the checkpoint was trained with %.17g", name, given,
             trained);
}

void require_same_integer(const char* name, std::uint64_t given, std::uint64_t trained) {
    if (given != trained)
        fail(VOLTA_INVALID_ARGUMENT, "%s is %llu, the checkpoint was trained with %llu", name,
             static_cast<unsigned long long>(given), static_cast<unsigned long long>(trained));
}

}  // namespace

namespace {

void require_same_frozen(const std::pmr::vector<std::int32_t>& given,
                         const std::pmr::vector<std::int32_t>& trained, const Model& model) {
    if (given == trained) return;
    std::size_t i = 0;
    while (i < given.size() && i < trained.size() && given[i] == trained[i]) ++i;
    const bool is_given = i < given.size() && (i == trained.size() || given[i] < trained[i]);
    const auto place = static_cast<std::size_t>(is_given ? given[i] : trained[i]);
    fail(VOLTA_INVALID_ARGUMENT, "parameter %s is %sfrozen, in the checkpoint it is%s",
         model.parameters[place].name.c_str(), is_given ? "" : "not ", is_given ? " not" : "");
}

}  // namespace

void require_same_options(const TrainerOptions& given, const TrainerOptions& checkpoint, const Model& model,
                          std::pmr::memory_resource* heap) {
    require_same_frozen(given.spec.frozen, checkpoint.spec.frozen, model);
    const volta_trainer_options a = explicit_options(given), b = explicit_options(checkpoint);
    char name[kIndexedNameBytes];
    for (const NumberField& row : kNumbers) require_same_number(row.name, a.*row.field, b.*row.field);
    require_same_integer("packed_documents", given.packed, checkpoint.packed);
    require_same_integer("shards", given.shards, checkpoint.shards);
    require_same_integer("class_weight_count", a.class_weight_count, b.class_weight_count);
    for (std::size_t i = 0; i < a.class_weight_count; ++i) {
        indexed_name(kClassWeight, i, name);
        require_same_number(name, a.class_weights[i], b.class_weights[i]);
    }
    TrainingState x(heap), y(heap);  // for the input shapes, which are integers as the others are
    describe_options(given, x);
    describe_options(checkpoint, y);
    if (x.integers.size() != y.integers.size())
        fail(VOLTA_INTERNAL, "the options have %zu integers, those of the checkpoint %zu", x.integers.size(),
             y.integers.size());
    for (std::size_t i = 0; i < x.integers.size(); ++i)
        require_same_integer(x.integers[i].name.c_str(), x.integers[i].value, y.integers[i].value);
}

}  // namespace volta
