// Calls that differentiate and update: what they add to the record's graph.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "engine/graph/gradient.h"
#include "engine/tape/next_call.h"

namespace volta {

// ---- Gradients --------------------------------------------------------------------------------------------

Tape::PendingGradient* Tape::pending(const Tensor* leaf) {
    for (PendingGradient& gradient : pending_)
        if (gradient.leaf == leaf) return &gradient;
    return nullptr;
}

void Tape::zero_gradient(Tensor* tensor) {
    for (std::size_t i = 0; i < pending_.size(); ++i)
        if (pending_[i].leaf == tensor) {
            tensor->grad->value = pending_[i].held;
            pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
            break;
        }
}

// The uses' gradients as the trainer adds them: the last one first (docs/numerics.md, 2.2).
ValueId Tape::total(const ParameterGradient& parameter) {
    Graph& graph = trace_->graph;
    ValueId sum = -1;
    for (std::size_t use = parameter.contributions.size(); use-- > 0;) {
        const ValueId contribution = parameter.contributions[use];
        if (sum < 0) {
            sum = contribution;
            continue;
        }
        const Node& node = graph.producer(contribution);
        if (node.op != Op::embedding_gradient) {
            sum = graph.apply(Op::add, {sum, contribution});
            continue;
        }
        const ValueId ids = node.inputs[0], rows = node.inputs[1];
        sum = graph.apply(Op::embedding_gradient, {ids, rows, sum},
                          {number(Attr::rows, node.number(Attr::rows))});
    }
    return sum;
}

bool Tape::matches_backward(const Call& call, Tensor* loss) {
    if (call.kind != CallKind::backward || !is_bound(loss) || loss->value != call.inputs[0]) return false;
    for (const GradientEntry& entry : call.gradients) {  // before anything is bound
        const Tensor* const leaf = bound_[static_cast<std::size_t>(entry.source)];
        if (leaf == nullptr ||
            value_of(leaf) != trace_->sources[static_cast<std::size_t>(entry.source)].value)
            return false;
        require_own_gradient(*leaf, "backward");
    }
    for (const GradientEntry& entry : call.gradients) {
        Tensor* const leaf = bound_[static_cast<std::size_t>(entry.source)];
        if (!leaf->has_gradient) {
            if (entry.before >= 0) return false;
        } else if (const PendingGradient* waiting = pending(leaf)) {
            if (waiting->value != entry.before) return false;
        } else if (entry.before < 0 || !follows(leaf->grad, entry.before)) {
            return false;
        }
    }
    return true;
}

const Call& Tape::record_backward(Tensor* loss) {
    std::pmr::memory_resource* const heap = context_->structures();
    const std::size_t source_count = bound_.size();
    Backward backward(heap);
    try {
        for (std::size_t i = 0; i < bound_.size(); ++i) {
            const TraceSource& source = trace_->sources[i];
            if (!source.requires_grad || bound_[i] == nullptr || value_of(bound_[i]) != source.value)
                continue;
            backward.gradients.emplace_back();
            backward.gradients.back().parameter = source.value;
        }
        if (backward.gradients.empty())
            fail(VOLTA_INVALID_STATE,
                 "backward: no tensor of the record requires a gradient: volta_tensor_set_requires_grad");
        backward.detached.assign(trace_->detached.begin(), trace_->detached.end());
        backward.graph = std::move(trace_->graph);
        try {
            const float one = 1;
            std::pmr::vector<Seed> seeds(heap);
            seeds.push_back(
                {loss->value, backward.graph.constant(DType::f32, backward.graph.shape(loss->value), &one)});
            differentiate(backward, seeds);
        } catch (...) {
            trace_->graph = std::move(backward.graph);
            throw;
        }
        trace_->graph = std::move(backward.graph);
        Call call(heap);
        call.kind = CallKind::backward;
        call.inputs.push_back(loss->value);
        for (const ParameterGradient& gradient : backward.gradients) {
            if (gradient.contributions.empty()) continue;
            const auto at =
                std::find_if(trace_->sources.begin(), trace_->sources.end(),
                             [&](const auto& source) { return source.value == gradient.parameter; });
            GradientEntry entry;
            entry.source = static_cast<std::int32_t>(at - trace_->sources.begin());
            Tensor* const leaf = bound_[static_cast<std::size_t>(entry.source)];
            require_own_gradient(*leaf, "backward");
            const PendingGradient* const waiting = pending(leaf);
            entry.before =
                !leaf->has_gradient ? -1 : (waiting != nullptr ? waiting->value : record_leaf(leaf->grad));
            entry.after = total(gradient);
            if (entry.before >= 0) entry.after = trace_->graph.apply(Op::add, {entry.before, entry.after});
            call.gradients.push_back(entry);
        }
        if (call.gradients.empty())
            fail(VOLTA_INVALID_STATE, "backward: the loss depends on no tensor that requires a gradient");
        return complete(std::move(call));
    } catch (...) {
        unbind_from(source_count);
        trace_->cut(cursor_);
        throw;
    }
}

void Tape::backward(Tensor* loss, CallPlace place) {
    require_whole();
    require(loss != nullptr, "backward: the loss is NULL");
    if (!is_bound(loss) || loss->role != Tensor::Role::result)
        fail(VOLTA_INVALID_STATE, "backward: the loss is no result of this record");
    if (loss->view.dtype != DType::f32 || loss->view.shape.elements() != 1)
        fail(VOLTA_SHAPE_MISMATCH, "backward: the loss is %s%s, not one f32 element",
             dtype_name(loss->view.dtype), to_text(loss->view.shape).text);
    const Call* call = next_call([&](const Call& known) { return matches_backward(known, loss); },
                                 [&](const Call& known) { describe_other(known, "backward"); });
    if (call == nullptr) call = &record_backward(loss);
    ++cursor_;
    ++counts_.calls;
    loss_ = loss->value;
    for (const GradientEntry& entry : call->gradients) {
        Tensor* const leaf = bound_[static_cast<std::size_t>(entry.source)];
        if (leaf->grad == nullptr) {
            leaf->grad = make_tensor(context_, TensorView{DType::f32, leaf->view.shape, nullptr}, Buffer());
            leaf->grad->role = Tensor::Role::gradient;
        }
        Tensor& grad = *leaf->grad;
        if (PendingGradient* waiting = pending(leaf))
            waiting->value = entry.after;
        else
            pending_.push_back({leaf, entry.after, is_bound(&grad) ? grad.value : -1});
        leaf->has_gradient = true;
        grad.view.data = nullptr;  // until it is computed
        grad.tape = this;
        grad.value = entry.after;
    }
    if (options_.is_eager) compute_backward_now(*call, place);
}

// One node after the other, as a tape computes that holds nothing back.
void Tape::compute_backward_now(const Call& call, CallPlace place) {
    const std::size_t index = cursor_ - 1;
    const std::size_t first = index == 0 ? 0 : trace_->calls[index - 1].nodes_after;
    for (std::size_t node = first; node < call.nodes_after; ++node) {
        const Node& made = trace_->graph.nodes[node];
        if (op_row(made.op).lowering == Lowering::source) continue;
        SegmentRequest& request = new_request();
        for (std::int32_t i = 0; i < made.output_count; ++i) request.wanted.push_back(made.first_output + i);
        compute(request, FlushReason::eager, place);
    }
    SegmentRequest& rest = new_request();  // gradients that are no node's result
    want_gradients(rest);
    if (!rest.wanted.empty()) compute(rest, FlushReason::eager, place);
}

// ---- Updates ----------------------------------------------------------------------------------------------

void Tape::add(TapeOptimizer& optimizer) {
    optimizer.number = next_optimizer_++;
    optimizers_.push_back(&optimizer);
}

void Tape::remove(const TapeOptimizer& optimizer) noexcept {
    for (std::size_t i = 0; i < bound_.size(); ++i)
        if (trace_->sources[i].optimizer == optimizer.number) state(trace_->sources[i].value).data = nullptr;
    optimizers_.erase(std::remove(optimizers_.begin(), optimizers_.end(), &optimizer), optimizers_.end());
}

bool Tape::matches_step(const Call& call, TapeOptimizer& optimizer) {
    if (call.kind != CallKind::step || call.optimizer != optimizer.number) return false;
    std::size_t next = 0;
    for (Tensor* tensor : optimizer.tensors()) {
        if (!tensor->has_gradient) continue;
        if (next + 2 > call.inputs.size() || !follows(tensor, call.inputs[next])) return false;
        const PendingGradient* const waiting = pending(tensor);
        if (waiting != nullptr ? waiting->value != call.inputs[next + 1]
                               : !follows(tensor->grad, call.inputs[next + 1]))
            return false;
        next += 2;
    }
    if (next != call.inputs.size()) return false;
    while (bound_.size() < call.sources_after) bind_own(trace_->sources[bound_.size()]);
    return true;
}

// As TrainingGraphBuilder has it: the norm of all gradients, then one update per parameter.
const Call& Tape::record_step(TapeOptimizer& optimizer) {
    std::pmr::memory_resource* const heap = context_->structures();
    const std::size_t source_count = bound_.size();
    try {
        Call call(heap);
        call.kind = CallKind::step;
        call.optimizer = optimizer.number;
        std::pmr::vector<std::uint32_t> places(heap);
        for (std::size_t t = 0; t < optimizer.tensors().size(); ++t) {
            Tensor* const tensor = optimizer.tensors()[t];
            if (!tensor->has_gradient) continue;
            const PendingGradient* const waiting = pending(tensor);
            call.inputs.push_back(record_leaf(tensor));
            call.inputs.push_back(waiting != nullptr ? waiting->value : record_leaf(tensor->grad));
            places.push_back(static_cast<std::uint32_t>(t));
        }
        Graph& graph = trace_->graph;
        std::pmr::vector<ValueId> squares(heap);
        for (std::size_t i = 1; i < call.inputs.size(); i += 2) {
            const ValueId square = graph.apply(Op::square_sum, {call.inputs[i]}, {}, Phase::reduce);
            squares.push_back(
                graph.apply(Op::reshape, {square}, {list(Attr::shape, Shape{1})}, Phase::reduce));
        }
        const Attribute axis = number(Attr::axis, 0);
        call.square_sums = graph.apply(Op::concat, squares.data(), static_cast<int>(squares.size()), &axis, 1,
                                       Phase::reduce);
        call.norm = graph.apply(Op::sqrt, {graph.apply(Op::sum, {call.square_sums}, {}, Phase::reduce)}, {},
                                Phase::reduce);
        const OptimizerSettings& settings = optimizer.settings();
        const OptimizerRow& row = optimizer.row();
        const ValueId clip =
            settings.clip_norm > 0
                ? graph.apply(Op::clip_factor, {call.norm}, {number(Attr::maximum_norm, settings.clip_norm)},
                              Phase::update)
                : graph.scalar(1.0f);
        const Shape factor_shape{row.factor_count};
        const ValueId factors =
            record_own(SourceKind::factors, "factors", DType::f32, factor_shape, false, optimizer.number, 0);
        const ValueId plain = record_own(SourceKind::factors_plain, "plain", DType::f32, factor_shape, false,
                                         optimizer.number, 0);
        for (std::size_t i = 0; i < places.size(); ++i) {
            const Tensor& tensor = *optimizer.tensors()[places[i]];
            std::pmr::vector<ValueId> inputs({call.inputs[2 * i], call.inputs[2 * i + 1]}, heap);
            for (int s = 0; s < row.state_count; ++s) {
                const auto count = static_cast<std::uint32_t>(row.state_count);
                inputs.push_back(record_own(SourceKind::state, "state", DType::f32, tensor.view.shape, true,
                                            optimizer.number,
                                            places[i] * count + static_cast<std::uint32_t>(s)));
            }
            inputs.push_back(optimizer.decays(tensor) ? factors : plain);
            inputs.push_back(clip);
            const Attribute nesterov = number(Attr::nesterov, settings.nesterov);
            const ValueId updated = graph.apply(row.op, inputs.data(), static_cast<int>(inputs.size()),
                                                &nesterov, row.op == Op::sgd ? 1 : 0, Phase::update);
            call.effects.push_back(graph.value(updated).producer);
        }
        return complete(std::move(call));
    } catch (...) {
        unbind_from(source_count);
        trace_->cut(cursor_);
        throw;
    }
}

void Tape::check_step(const TapeOptimizer& optimizer) const {
    bool any = false;
    for (const Tensor* tensor : optimizer.tensors()) {
        if (!tensor->has_gradient) continue;
        require_changeable(*tensor);
        require_own_gradient(*tensor, "step");
        any = true;
    }
    for (const Following& running : following_) require_changeable(*running.tensor);
    if (!any)
        fail(VOLTA_INVALID_STATE,
             "step: no tensor of the optimizer has a gradient: call volta_tape_backward");
    require(optimizer.step() < 0xffffffffu, "the optimizer has made 2^32 - 1 steps, the most there can be");
}

Tape::StepResult Tape::step(TapeOptimizer& optimizer, CallPlace place) {
    require_whole();
    check_step(optimizer);
    context_->stop().ask("the step");
    optimizer.write_factors();
    const Call* call = next_call([&](const Call& known) { return matches_step(known, optimizer); },
                                 [&](const Call& known) { describe_other(known, "step"); });
    if (call == nullptr) call = &record_step(optimizer);
    ++cursor_;
    ++counts_.calls;
    return finish_step(*call, optimizer, place);
}

Tape::StepResult Tape::finish_step(const Call& call, TapeOptimizer& optimizer, CallPlace place) {
    SegmentRequest& request = new_request();
    request.effects.assign(call.effects.begin(), call.effects.end());
    request.norm = call.norm;
    request.wanted.push_back(call.norm);
    request.wanted.push_back(call.square_sums);
    if (loss_ >= stepped_ && loss_ >= 0 && state(loss_).data == nullptr) {
        request.loss = loss_;
        request.wanted.push_back(loss_);
    }
    want_gradients(request);
    want_results(request, Results::kept_and_scalars);
    for (const Following& running : following_) request.wanted.push_back(running.value);
    compute(request, FlushReason::step, place);

    StepResult result;
    result.step = optimizer.step() + 1;
    result.learning_rate = optimizer.learning_rate();
    result.gradient_norm = *static_cast<const float*>(state(call.norm).data);
    if (loss_ >= 0 && state(loss_).data != nullptr)
        result.loss = *static_cast<const float*>(state(loss_).data);
    if (!std::isfinite(result.gradient_norm) || (request.loss >= 0 && !std::isfinite(result.loss))) {
        const auto* sums = static_cast<const float*>(state(call.square_sums).data);
        const std::size_t count = call.inputs.size() / 2;
        std::size_t bad = 0;
        while (bad < count && std::isfinite(sums[bad])) ++bad;
        if (bad == count)
            fail(VOLTA_NOT_FINITE, "step %llu: the %s is not finite; nothing was updated",
                 static_cast<unsigned long long>(result.step),
                 std::isfinite(result.gradient_norm) ? "loss" : "gradient norm of all tensors together");
        fail(VOLTA_NOT_FINITE,
             "step %llu: gradient %zu of %zu has a sum of squares that is not finite; nothing was updated",
             static_cast<unsigned long long>(result.step), bad, count);
    }
    optimizer.advance();
    end_update(call);
    return result;
}

// As the trainer assigns them: once all is finite, with the update.
void Tape::store_running_statistics() {
    for (const Following& running : following_) {
        const TensorView& view = running.tensor->view;
        std::memcpy(view.data, state(running.value).data,
                    static_cast<std::size_t>(view.shape.elements()) * sizeof(float));
        forget(value_of(running.tensor));
    }
    following_.clear();
}

// What was changed is another value from now on, in a place of its own.
void Tape::forget(ValueId value) {
    for (std::size_t i = 0; i < bound_.size(); ++i)
        if (trace_->sources[i].value == value) unbind(bound_[i], value);
}

void Tape::end_update(const Call& call) {
    store_running_statistics();
    for (std::size_t i = 0; i < call.inputs.size(); i += 2) forget(call.inputs[i]);
    for (std::size_t i = 0; i < bound_.size(); ++i)
        if (trace_->sources[i].kind != SourceKind::leaf) state(trace_->sources[i].value).data = nullptr;
    if (random_ >= 0) ++draws_;
    random_words_[2] = static_cast<std::uint32_t>(draws_);
    random_ = -1;
    stepped_ = static_cast<ValueId>(call.values_after);
}

}  // namespace volta
