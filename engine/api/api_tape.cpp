// volta.h: tape.
#include <cstring>

#include "engine/api/guard.h"
#include "engine/api/handles.h"
#include "engine/api/new_models.h"
#include "engine/api/operators.h"
#include "engine/api/options.h"
#include "engine/base/host_call.h"
#include "engine/tape/capture.h"
#include "engine/tape/tape_report.h"

using namespace volta;
using namespace volta::api;

namespace {

Tape& inner(const volta_tape* tape) {
    require(tape != nullptr, "tape is NULL");
    return *tape->tape;
}

volta_tape* make_tape(const ContextRef& context, const volta_tape_options& given) {
    require(given.mode == VOLTA_TAPE_EAGER || given.mode == VOLTA_TAPE_LAZY, "mode is %d, it must be 0 or 1",
            given.mode);
    require((given.flags & ~static_cast<uint32_t>(VOLTA_TAPE_ONE_SEGMENT)) == 0,
            "flags is %u, which has unknown bits", given.flags);
    TapeOptions read;
    read.is_eager = given.mode == VOLTA_TAPE_EAGER;
    read.one_segment = (given.flags & VOLTA_TAPE_ONE_SEGMENT) != 0;
    require(!read.is_eager || !read.one_segment, "an EAGER tape computes each call: it is not ONE_SEGMENT");
    read.seed = given.seed;
    if (given.most_plans != 0) read.most_plans = given.most_plans;
    const std::pmr::polymorphic_allocator<Tape> heap(context->structures());
    return make_handle<volta_tape>(context, std::allocate_shared<Tape>(heap, context, read),
                                   std::pmr::string(context->structures()));
}

void end_tape(volta_tape* tape) noexcept {
    if (tape != nullptr) tape->tape->end();
    end_handle(tape);
}

// Records one call. A failure stays with the record.
void record(Tape& tape, const char* op, volta_tensor* const* inputs, size_t input_count,
            const volta_attribute* attributes, size_t attribute_count, volta_tensor** results,
            size_t result_count, CallPlace place) {
    constexpr size_t kMostInputs = 4096, kFew = 16;
    try {
        tape.require_whole();
        require(op != nullptr, "op is NULL");
        const OpRow* row = tape.expected(op);
        if (row == nullptr) row = find_tape_op(op);
        require(inputs != nullptr || input_count == 0, "%s: inputs is NULL", op);
        require(input_count <= kMostInputs, "%s: %zu inputs are given", op, input_count);
        require(result_count <= kFew, "%s: %zu outputs are asked for", op, result_count);
        // A few attributes need none of the host's memory.
        alignas(Attribute) unsigned char room[16 * sizeof(Attribute)];
        std::pmr::monotonic_buffer_resource near(room, sizeof room, tape.context()->structures());
        std::pmr::vector<Attribute> read(&near);
        if (attribute_count > 0) read.reserve(attribute_count);
        if (attribute_count > 0) read_attributes(attributes_of(*row), attributes, attribute_count, read);
        Tensor* few[kFew];
        std::pmr::vector<Tensor*> many(tape.context()->structures());
        Tensor** operands = few;
        if (input_count > kFew) {
            many.resize(input_count);
            operands = many.data();
        }
        for (size_t i = 0; i < input_count; ++i) operands[i] = inputs[i];
        Tensor* made[kFew];
        tape.apply(*row, operands, input_count, read.data(), read.size(), made, result_count, place);
        for (size_t i = 0; i < result_count; ++i) results[i] = as_handle(made[i]);
    } catch (const Error& error) {
        tape.fail_record(error, place);
    } catch (const std::bad_alloc&) {
        tape.fail_record(Error(VOLTA_OUT_OF_MEMORY, "a call could not be recorded: out of memory"), place);
    }
}

}  // namespace

volta_compiled::~volta_compiled() { end_tape(tape); }

volta_status volta_tape_create(volta_context* context, const volta_tape_options* options,
                               volta_tape** out_tape) {
    if (out_tape != nullptr) *out_tape = nullptr;
    return guarded([&] {
        require(out_tape != nullptr, "out_tape is NULL");
        require(context != nullptr, "context is NULL");
        const auto given = read_options(options);
        *out_tape = make_tape(ContextRef(unwrap(context)), given);
    });
}

void volta_tape_release(volta_tape* tape) {
    unfailing([&] { end_tape(tape); });
}

volta_status volta_tape_apply(volta_tape* tape, const char* op, volta_tensor* const* inputs,
                              size_t input_count, const volta_attribute* attributes, size_t attribute_count,
                              volta_tensor** out_tensors, size_t out_count, const char* file, int32_t line) {
    const volta_status status = guarded([&] {
        Tape& self = inner(tape);
        require(out_tensors != nullptr || out_count == 0, "out_tensors is NULL");
        record(self, op, inputs, input_count, attributes, attribute_count, out_tensors, out_count,
               {file, line});
    });
    if (status == VOLTA_OK || out_tensors == nullptr) return status;
    for (size_t i = 0; i < out_count; ++i)
        out_tensors[i] = tape != nullptr ? as_handle(tape->tape->poison()) : nullptr;
    return status;
}

volta_tensor* volta_tape_call(volta_tape* tape, const char* op, volta_tensor* const* inputs,
                              size_t input_count, const volta_attribute* attributes, size_t attribute_count,
                              const char* file, int32_t line) {
    volta_tensor* result = nullptr;
    volta_tape_apply(tape, op, inputs, input_count, attributes, attribute_count, &result, 1, file, line);
    return result;
}

volta_status volta_tape_status(const volta_tape* tape) {
    return guarded([&] { inner(tape).require_whole(); });
}

volta_tensor* volta_tape_detach(volta_tape* tape, volta_tensor* tensor) {
    if (tape == nullptr) return nullptr;
    volta_tensor* result = as_handle(tape->tape->poison());
    guarded([&] {
        Tape& self = inner(tape);
        const CallPlace place = self.take_place();
        try {
            self.require_whole();
            result = as_handle(self.detach(tensor, place));
        } catch (const Error& error) {
            self.fail_record(error, place);
        }
    });
    return result;
}

volta_tape* volta_tape_at(volta_tape* tape, const char* file, int32_t line) {
    if (tape != nullptr) tape->tape->come_from({file, line});
    return tape;
}

volta_status volta_tape_set_gradients(volta_tape* tape, int32_t enabled) {
    return guarded([&] {
        require(enabled == 0 || enabled == 1, "enabled is %d, it must be 0 or 1", enabled);
        inner(tape).gradients_enabled = enabled == 1;
    });
}

volta_status volta_tape_flush(volta_tape* tape) {
    return guarded([&] {
        Tape& self = inner(tape);
        at_place(self, [&](CallPlace place) { self.flush(place); });
    });
}

volta_status volta_tape_reset(volta_tape* tape) {
    return guarded([&] { inner(tape).reset(); });
}

volta_status volta_tensor_item(volta_tensor* tensor, double* out_value) {
    if (out_value != nullptr) *out_value = 0;
    return guarded([&] {
        require(tensor != nullptr && out_value != nullptr, "%s is NULL",
                tensor == nullptr ? "tensor" : "out_value");
        if (tensor->view.shape.elements() != 1)
            fail(VOLTA_SHAPE_MISMATCH, "the tensor has the shape %s, not one element",
                 to_text(tensor->view.shape).text);
        compute(*tensor);
        *out_value = tensor->view.dtype == DType::i32
                         ? static_cast<double>(*static_cast<const int32_t*>(tensor->view.data))
                         : static_cast<double>(*static_cast<const float*>(tensor->view.data));
    });
}

volta_status volta_tensor_keep(volta_tensor* tensor) {
    return guarded([&] {
        require(tensor != nullptr, "tensor is NULL");
        if (tensor->role == Tensor::Role::poison) tensor->tape->require_whole();
        if (tensor->role == Tensor::Role::result && tensor->tape != nullptr) tensor->tape->keep(tensor);
    });
}

volta_status volta_tensor_set_requires_grad(volta_tensor* tensor, int32_t required) {
    return guarded([&] {
        require(tensor != nullptr, "tensor is NULL");
        require(required == 0 || required == 1, "required is %d, it must be 0 or 1", required);
        require(tensor->role == Tensor::Role::leaf,
                "a result requires what its inputs do: volta_tape_detach ends that");
        if (tensor->holders > 0) fail(VOLTA_INVALID_STATE, "a record holds the tensor until its reset");
        require_elements(*tensor);
        require(tensor->view.dtype == DType::f32, "a tensor of %s has no gradient: it must be f32",
                dtype_name(tensor->view.dtype));
        require(reinterpret_cast<std::uintptr_t>(tensor->view.data) % kTensorAlignment == 0,
                "elements that an optimizer changes must be aligned to %zu bytes", kTensorAlignment);
        tensor->requires_grad = required == 1;
    });
}

volta_tensor* volta_tensor_grad(volta_tensor* tensor) {
    return tensor != nullptr && tensor->has_gradient ? as_handle(tensor->grad) : nullptr;
}

volta_status volta_tensor_zero_grad(volta_tensor* tensor) {
    return guarded([&] {
        require(tensor != nullptr, "tensor is NULL");
        zero_gradient(*tensor);
    });
}

volta_status volta_tape_backward(volta_tape* tape, volta_tensor* loss) {
    return guarded([&] {
        Tape& self = inner(tape);
        at_place(self, [&](CallPlace place) { self.backward(loss, place); });
    });
}

volta_status volta_tape_optimizer_create(volta_tape* tape, const volta_optimizer_options* options,
                                         volta_tensor* const* tensors, size_t count,
                                         volta_tape_optimizer** out_optimizer) {
    if (out_optimizer != nullptr) *out_optimizer = nullptr;
    return guarded([&] {
        require(out_optimizer != nullptr, "out_optimizer is NULL");
        Tape& self = inner(tape);
        const OptimizerSettings settings = read_optimizer_options(read_options(options));
        require(tensors != nullptr || count == 0, "tensors is NULL");
        require(count <= 1000000, "%zu tensors are given, at most 1000000 are possible", count);
        const ContextRef& context = tape->context;
        std::pmr::vector<Tensor*> read(context->structures());
        for (size_t i = 0; i < count; ++i) read.push_back(tensors[i]);
        auto made = make_on<TapeOptimizer>(context->structures(), context, settings, read.data(), count);
        TapeOptimizer& optimizer = *made;
        *out_optimizer = make_handle<volta_tape_optimizer>(context, tape->tape, std::move(made));
        self.add(optimizer);
    });
}

void volta_tape_optimizer_release(volta_tape_optimizer* optimizer) {
    unfailing([&] { end_handle(optimizer); });
}

volta_status volta_tape_optimizer_zero_grad(volta_tape_optimizer* optimizer) {
    return guarded([&] {
        require(optimizer != nullptr, "optimizer is NULL");
        for (Tensor* tensor : optimizer->optimizer->tensors()) zero_gradient(*tensor);
    });
}

volta_status volta_tape_step(volta_tape* tape, volta_tape_optimizer* optimizer, volta_step_report* report) {
    return guarded([&] {
        Tape& self = inner(tape);
        require(optimizer != nullptr, "optimizer is NULL");
        require(optimizer->tape == tape->tape, "the optimizer belongs to another tape");
        if (report != nullptr) checked_size(report);
        Tape::StepResult made;
        at_place(self, [&](CallPlace place) { made = self.step(*optimizer->optimizer, place); });
        if (report == nullptr) return;
        volta_step_report read = {};
        read.step = made.step;
        read.loss = made.loss;
        read.gradient_norm = made.gradient_norm;
        read.learning_rate = made.learning_rate;
        write_report(read, report);
    });
}

volta_status volta_tape_get_info(const volta_tape* tape, volta_tape_info* info) {
    return guarded([&] {
        const Tape& self = inner(tape);
        const TapeCounts& counts = self.counts();
        volta_tape_info read = {};
        read.records = counts.records;
        read.calls = counts.calls;
        read.segments = counts.flushes;
        read.plans_known = counts.plans_known;
        read.plans_made = counts.plans_made;
        read.repeated_nodes = counts.repeated_nodes;
        read.traces = self.trace_count();
        read.held_bytes = self.held_bytes();
        read.plans_held = self.plan_count();
        read.plans_released = counts.plans_released;
        write_report(read, info);
    });
}

volta_status volta_tape_report(volta_tape* tape, int32_t json, const char** out_text) {
    if (out_text != nullptr) *out_text = nullptr;
    return guarded([&] {
        const Tape& self = inner(tape);
        require(out_text != nullptr, "out_text is NULL");
        std::pmr::memory_resource* const heap = tape->context->structures();
        tape->text = json != 0 ? report_as_json(self, heap) : report_as_text(self, heap);
        *out_text = tape->text.c_str();
    });
}

volta_status volta_tape_capture(volta_tape* tape, volta_tensor* const* outputs, size_t output_count,
                                const volta_capture_options* options, volta_model** out_model) {
    if (out_model != nullptr) *out_model = nullptr;
    return guarded([&] {
        require(out_model != nullptr, "out_model is NULL");
        const Tape& self = inner(tape);
        self.require_whole();
        const auto given = read_options(options);
        require(outputs != nullptr && output_count > 0, "a model has at least one output, 0 are given");
        require(output_count <= 4096, "%zu outputs are given", output_count);
        require(given.name_count == 0 || (given.tensors != nullptr && given.names != nullptr), "%s is NULL",
                given.tensors == nullptr ? "tensors" : "names");
        require(given.open_batch == 0 || given.open_batch == 1, "open_batch is %d, it must be 0 or 1",
                given.open_batch);
        const ContextRef& context = tape->context;
        std::pmr::memory_resource* const heap = context->structures();
        std::pmr::vector<const Tensor*> named(heap), read(heap);
        for (size_t i = 0; i < given.name_count; ++i) {
            check_source_name(given.names[i]);
            named.push_back(given.tensors[i]);
        }
        for (size_t i = 0; i < output_count; ++i) {
            if (given.output_names != nullptr) check_source_name(given.output_names[i]);
            read.push_back(outputs[i]);
        }
        CaptureNames names;
        names.tensors = named.data();
        names.names = given.names;
        names.count = named.size();
        names.outputs = given.output_names;
        names.open_batch = given.open_batch == 1;
        const Capture captured = capture(self, read.data(), output_count, names, heap);
        HeapPtr<Model> model =
            Model::create(captured.graph, 0, heap, context->tensors(), init_machine(*context));
        for (std::size_t p = 0; p < captured.parameters.size(); ++p) {
            const TensorView& view = captured.parameters[p]->view;
            std::memcpy(model->mutable_parameter(p), view.data,
                        static_cast<std::size_t>(view.shape.elements()) * sizeof(float));
        }
        model->arithmetic = context->arithmetic();
        give_model(context, std::move(model), out_model);
    });
}

volta_status volta_compile(volta_context* context, volta_function function, void* user,
                           const volta_compile_options* options, volta_compiled** out_compiled) {
    if (out_compiled != nullptr) *out_compiled = nullptr;
    return guarded([&] {
        require(out_compiled != nullptr, "out_compiled is NULL");
        require(context != nullptr && function != nullptr, "%s is NULL",
                context == nullptr ? "context" : "function");
        const auto given = read_options(options);
        const ContextRef owner(unwrap(context));
        volta_tape_options tape_options = VOLTA_TAPE_OPTIONS_INIT;
        tape_options.mode = VOLTA_TAPE_LAZY;
        tape_options.flags = given.flags;
        tape_options.seed = given.seed;
        volta_tape* tape = make_tape(owner, tape_options);
        try {
            *out_compiled = make_handle<volta_compiled>(owner, tape, function, user);
        } catch (...) {
            end_tape(tape);
            throw;
        }
    });
}

void volta_compiled_release(volta_compiled* compiled) {
    unfailing([&] { end_handle(compiled); });
}

volta_status volta_compiled_call(volta_compiled* compiled, volta_tensor* const* inputs, size_t input_count,
                                 volta_tensor** outputs, size_t output_count) {
    for (size_t i = 0; outputs != nullptr && i < output_count; ++i) outputs[i] = nullptr;
    return guarded([&] {
        require(compiled != nullptr, "compiled is NULL");
        require(inputs != nullptr || input_count == 0, "inputs is NULL");
        require(outputs != nullptr && output_count > 0, "a function has at least one output, 0 are given");
        Tape& self = *compiled->tape->tape;
        self.reset();
        volta_status status = VOLTA_OK;
        const HostException thrown = call_host([&] {
            status = compiled->function(compiled->user, compiled->tape, inputs, input_count, outputs,
                                        output_count);
        });
        if (thrown) fail_thrown(HostFunction::function, thrown);
        self.require_whole();
        if (status != VOLTA_OK) fail(status, "the compiled function returned %s", volta_status_name(status));
        for (size_t i = 0; i < output_count; ++i)
            require(outputs[i] != nullptr, "the compiled function has not set output %zu", i);
        self.flush(CallPlace{});
    });
}

volta_tape* volta_compiled_tape(volta_compiled* compiled) {
    return compiled != nullptr ? compiled->tape : nullptr;
}
