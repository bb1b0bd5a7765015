// Operators on a tape: a call is the next one of the trace, or becomes it.
#include <algorithm>
#include <cstring>

#include "engine/model/batch_statistics.h"
#include "engine/tape/next_call.h"

namespace volta {

const OpRow* Tape::expected(const char* op) const {
    if (cursor_ >= trace_->calls.size()) return nullptr;
    const Call& call = trace_->calls[cursor_];
    if (call.kind != CallKind::apply) return nullptr;
    const OpRow& row = op_row(call.op);
    return std::strcmp(row.name, op) == 0 ? &row : nullptr;
}

namespace {

constexpr std::size_t kMostAttributes = 32;               // of a call
constexpr std::size_t kMostCalls = std::size_t{1} << 20;  // of a record
constexpr std::size_t kLongRecord = 4096;                 // calls of one plan

// Whether the call is one that draws, without the input that says by what: on a tape that is the tape's.
bool lacks_random(const OpRow& row, std::size_t input_count, const Attribute* attributes, std::size_t count) {
    if (row.op == Op::dropout) return input_count == 1;
    if (row.op != Op::attention) return false;
    std::size_t expected = 3;
    bool draws = false;
    for (std::size_t i = 0; i < count; ++i) {
        if (attributes[i].key == Attr::packed && attributes[i].number != 0) expected -= 2;
        if (attributes[i].key == Attr::documents && attributes[i].number != 0) expected += 1;
        if (attributes[i].key == Attr::probability) draws = attributes[i].number > 0;
    }
    return draws && input_count == expected;
}

}  // namespace

bool Tape::matches_apply(const Call& call, const OpRow& row, Tensor* const* inputs, std::size_t input_count,
                         const Attribute* attributes, std::size_t attribute_count) {
    const std::size_t own = lacks_random(row, input_count, attributes, attribute_count) ? 1 : 0;
    if (call.kind != CallKind::apply || call.op != row.op || call.is_detached == gradients_enabled ||
        call.inputs.size() != input_count + own || call.attributes.size() != attribute_count ||
        !std::equal(attributes, attributes + attribute_count, call.attributes.begin()))
        return false;
    for (std::size_t i = 0; i < input_count; ++i)
        if (!follows(inputs[i], call.inputs[i])) return false;
    return own == 0 || follows_random(call.inputs.back());
}

const Call& Tape::record_apply(const OpRow& row, Tensor* const* inputs, std::size_t input_count,
                               const Attribute* attributes, std::size_t attribute_count) {
    std::pmr::memory_resource* const heap = context_->structures();
    const std::size_t source_count = bound_.size();
    try {
        Call call(heap);
        call.op = row.op;
        call.is_detached = !gradients_enabled;
        for (std::size_t i = 0; i < input_count; ++i) call.inputs.push_back(record_leaf(inputs[i]));
        if (lacks_random(row, input_count, attributes, attribute_count))
            call.inputs.push_back(record_random());
        call.attributes.assign(attributes, attributes + attribute_count);
        if (row.op == Op::batch_norm_train) {
            record_batch_norm(call);
            return complete(std::move(call));
        }
        const std::size_t before = trace_->graph.values.size();
        call.first = trace_->graph.apply(row.op, call.inputs.data(), static_cast<int>(call.inputs.size()),
                                         attributes, static_cast<int>(attribute_count), Phase::each);
        call.count = static_cast<std::int32_t>(trace_->graph.values.size() - before);
        for (std::int32_t i = 0; call.is_detached && i < call.count; ++i)
            trace_->detached.push_back(call.first + i);
        return complete(std::move(call));
    } catch (...) {
        unbind_from(source_count);
        trace_->cut(cursor_);
        throw;
    }
}

// ---- Batch norm in training -------------------------------------------------------------------------------

// A step writes the running statistics: tensors of the host, of which nobody wants a gradient.
void Tape::check_batch_norm(Tensor* const* inputs, std::size_t input_count) const {
    require(input_count == 5, "batch_norm_train: %zu inputs are given, it takes 5", input_count);
    static constexpr const char* kNames[] = {"running mean", "running variance"};
    for (int i = 0; i < 2; ++i) {
        const Tensor& running = *inputs[3 + i];
        if (running.role != Tensor::Role::leaf)
            fail(VOLTA_INVALID_ARGUMENT, "batch_norm_train: its %s is a result: a step could not change it",
                 kNames[i]);
        require(!running.requires_grad, "batch_norm_train: its %s requires a gradient, it has none",
                kNames[i]);
    }
    require(inputs[3] != inputs[4], "batch_norm_train: its running mean and variance are one tensor");
}

// Several batches of one step move the running statistics one after the other.
ValueId Tape::follower_of(const Tensor* running) const {
    for (const Following& known : following_)
        if (known.tensor == running) return known.value;
    return -1;
}

void Tape::record_batch_norm(Call& call) {
    const auto given = [&](Attr key) -> const Attribute* {
        for (const Attribute& attribute : call.attributes)
            if (attribute.key == key) return &attribute;
        return nullptr;
    };
    ValueId inputs[5];
    std::copy_n(call.inputs.begin(), 5, inputs);
    for (int i = 3; i < 5; ++i) {
        const ValueId before = follower_of(bound_tensor(inputs[i]));
        if (before >= 0) inputs[i] = before;
    }
    const TrainedNorm made =
        add_trained_norm(trace_->graph, inputs, given(Attr::epsilon), given(Attr::momentum));
    call.first = made.y;
    call.count = 1;
    call.running = made.running;
    if (call.is_detached) trace_->detached.push_back(made.y);
}

// From now on the call's running statistics are what it has made of them.
void Tape::follow(const Call& call) {
    if (call.running < 0) return;
    for (int i = 0; i < 2; ++i) {
        Tensor* const tensor = bound_tensor(call.inputs[static_cast<std::size_t>(3 + i)]);
        const ValueId value = call.running + i;
        const auto known = std::find_if(following_.begin(), following_.end(),
                                        [&](const Following& each) { return each.tensor == tensor; });
        if (known != following_.end())
            known->value = value;
        else
            following_.push_back({tensor, value});
    }
}

void Tape::apply(const OpRow& row, Tensor* const* inputs, std::size_t input_count,
                 const Attribute* attributes, std::size_t attribute_count, Tensor** results,
                 std::size_t result_count, CallPlace place) {
    require_whole();
    require(cursor_ < kMostCalls, "%s: the record has %zu calls: call volta_tape_reset between steps",
            row.name, cursor_);
    for (std::size_t i = 0; i < input_count; ++i) check_operand(inputs[i], i, row.name);
    if (row.op == Op::batch_norm_train) check_batch_norm(inputs, input_count);
    // Calls that draw have a stream each, numbered as they come, unless the host says which.
    const auto is_stream = [](const Attribute& each) { return each.key == Attr::stream; };
    if (lacks_random(row, input_count, attributes, attribute_count) &&
        std::none_of(attributes, attributes + attribute_count, is_stream)) {
        Attribute numbered[kMostAttributes];
        require(attribute_count < kMostAttributes, "%s: %zu attributes are given", row.name, attribute_count);
        std::copy_n(attributes, attribute_count, numbered);
        numbered[attribute_count] = number(Attr::stream, static_cast<double>(streams_++));
        return apply(row, inputs, input_count, numbered, attribute_count + 1, results, result_count, place);
    }
    const Call* call = next_call(
        [&](const Call& known) {
            return matches_apply(known, row, inputs, input_count, attributes, attribute_count);
        },
        [&](const Call& known) { describe_apply(known, row, inputs, input_count); });
    if (call == nullptr) call = &record_apply(row, inputs, input_count, attributes, attribute_count);
    if (result_count > static_cast<std::size_t>(call->count))
        fail(VOLTA_INVALID_ARGUMENT, "%s has %d outputs, %zu are asked for", row.name, call->count,
             result_count);
    const ValueId first = call->first;
    follow(*call);
    ++cursor_;
    ++counts_.calls;
    for (std::size_t i = 0; i < result_count; ++i) results[i] = hand_out(first + static_cast<ValueId>(i));
    if (!options_.is_eager) {
        if (cursor_ - flushed_ < kLongRecord) return;
        SegmentRequest& long_one = new_request();
        want_results(long_one, Results::all);
        compute(long_one, FlushReason::size, place);
        return;
    }
    SegmentRequest& request = new_request();
    want_call(request, *call);
    compute(request, FlushReason::eager, place);
}

Tensor* Tape::detach(Tensor* tensor, CallPlace place) {
    require(tensor != nullptr, "tensor is NULL");
    const bool before = gradients_enabled;
    const Attribute same = list(Attr::shape, tensor->view.shape);
    Tensor* result = poison_;
    gradients_enabled = false;
    try {
        apply(op_row(Op::reshape), &tensor, 1, &same, 1, &result, 1, place);
    } catch (...) {
        gradients_enabled = before;
        throw;
    }
    gradients_enabled = before;
    return result;
}

}  // namespace volta
