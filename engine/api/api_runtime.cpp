// volta.h: session, trainer, generator.
#include <cstring>

#include "engine/api/guard.h"
#include "engine/api/handles.h"
#include "engine/api/options.h"
#include "engine/base/host_call.h"
#include "engine/runtime/training_plan.h"

using namespace volta;
using namespace volta::api;

namespace {

// Tensors of a call as views, without allocating: runs have few of them.
constexpr size_t kMostTensors = 64;

// Neither cleared nor copied: that would take longer than a small product.
class TensorViews {
  public:
    TensorViews(const char* what, const volta_tensor* const* tensors, size_t count);
    const TensorView* const* data() const { return views_; }

  private:
    const TensorView* views_[kMostTensors];
};

TensorViews::TensorViews(const char* what, const volta_tensor* const* tensors, size_t count) {
    require(count <= kMostTensors, "%zu %ss are given, at most %zu are possible", count, what, kMostTensors);
    require(tensors != nullptr || count == 0, "%ss is NULL", what);
    for (size_t i = 0; i < count; ++i) {
        if (tensors[i] == nullptr) fail(VOLTA_INVALID_ARGUMENT, "%s %zu is NULL", what, i);
        compute(*const_cast<volta_tensor*>(tensors[i]));  // a tape's result
        views_[i] = &tensors[i]->view;
    }
}

}  // namespace

// ---- Session ----

volta_status volta_session_create(volta_model* model, const volta_session_options* options,
                                  volta_session** out_session) {
    if (out_session != nullptr) *out_session = nullptr;
    return guarded([&] {
        require(out_session != nullptr, "out_session is NULL");
        require(model != nullptr, "model is NULL");
        const auto given = read_options(options);
        require((given.flags & ~static_cast<uint32_t>(VOLTA_SESSION_PACK_WEIGHTS)) == 0,
                "flags is %u, which has unknown bits", given.flags);
        const bool pack_weights = (given.flags & VOLTA_SESSION_PACK_WEIGHTS) != 0;
        const auto shapes = read_input_shapes(model->model->graph, given.input_shapes,
                                              given.input_extent_count, model->context->structures());
        *out_session = make_handle<volta_session>(
            model->context, Session(model->context, model->model, shapes, pack_weights));
    });
}

void volta_session_release(volta_session* session) {
    unfailing([&] { end_handle(session); });
}

volta_status volta_session_run(volta_session* session, const volta_tensor* const* inputs, size_t input_count,
                               volta_tensor* const* outputs, size_t output_count) {
    return guarded([&] {
        require(session != nullptr, "session is NULL");
        const TensorViews in("input", inputs, input_count), out("output", outputs, output_count);
        session->session.run(in.data(), input_count, out.data(), output_count);
    });
}

volta_status volta_session_output_shape(const volta_session* session, size_t index, int64_t* shape,
                                        int32_t* out_rank) {
    if (out_rank != nullptr) *out_rank = 0;
    return guarded([&] {
        require(session != nullptr, "session is NULL");
        require(shape != nullptr && out_rank != nullptr, "%s is NULL",
                shape == nullptr ? "shape" : "out_rank");
        const Shape found = session->session.output_shape(index);
        std::copy_n(found.extent, found.rank, shape);
        *out_rank = found.rank;
    });
}

volta_status volta_session_get_bill(const volta_session* session, volta_bill* bill) {
    return guarded([&] {
        require(session != nullptr, "session is NULL");
        write_report(session->session.bill(), bill);
    });
}

volta_status volta_session_print_plan(volta_session* session, const char** out_text) {
    if (out_text != nullptr) *out_text = nullptr;
    return guarded([&] {
        require(session != nullptr && out_text != nullptr, "%s is NULL",
                session == nullptr ? "session" : "out_text");
        *out_text = session->session.plan_text();
    });
}

// ---- Trainer ----

namespace {

// A group lives on its context's heap.
GroupRef group_of(const volta_trainer_options& options, const ContextRef& context) {
    if (options.group == nullptr) return nullptr;
    require(options.group->context.get() == context.get(), "the group is of another context than the model");
    return options.group->group;
}

}  // namespace

volta_status volta_trainer_create(volta_model* model, const volta_trainer_options* options,
                                  volta_trainer** out_trainer) {
    if (out_trainer != nullptr) *out_trainer = nullptr;
    return guarded([&] {
        require(out_trainer != nullptr, "out_trainer is NULL");
        require(model != nullptr, "model is NULL");
        const ContextRef& context = model->context;
        const auto given = read_options(options);
        TrainerOptions read = read_trainer_options(given, *model->model, context->structures());
        read.group = group_of(given, context);
        require_group_fits(read);
        auto trainer = make_on<Trainer>(context->structures(), context, model->model, std::move(read));
        *out_trainer = make_handle<volta_trainer>(context, std::move(trainer));
    });
}

volta_status volta_trainer_resume(volta_model* model, const volta_trainer_options* options,
                                  volta_trainer** out_trainer) {
    if (out_trainer != nullptr) *out_trainer = nullptr;
    return guarded([&] {
        require(out_trainer != nullptr, "out_trainer is NULL");
        require(model != nullptr, "model is NULL");
        const auto given = read_options(options);
        *out_trainer =
            make_handle<volta_trainer>(model->context, Trainer::resume(model->context, model->model,
                                                                       options != nullptr ? &given : nullptr,
                                                                       group_of(given, model->context)));
    });
}

namespace {

// The options of a trainer that is not made.
TrainerOptions read_estimate(const volta_model& model, const volta_trainer_options& given) {
    TrainerOptions wanted = read_trainer_options(given, *model.model, model.context->structures());
    wanted.group = group_of(given, model.context);
    require_group_fits(wanted);
    return wanted;
}

}  // namespace

volta_status volta_trainer_estimate(volta_model* model, const volta_trainer_options* options,
                                    const volta_machine_speed* speed, volta_bill* bill,
                                    volta_training_cost* cost) {
    const auto write = [&](const volta_bill& needed, const volta_training_cost& costs) {
        if (bill != nullptr) write_report(needed, bill);
        if (cost != nullptr) write_report(costs, cost);
    };
    const volta_status cleared = guarded([&] { write(volta_bill{}, volta_training_cost{}); });
    if (cleared != VOLTA_OK) return cleared;
    return guarded([&] {
        require(model != nullptr, "model is NULL");
        const ContextRef& context = model->context;
        const auto given = read_options(options);
        volta_machine_speed measured = {};
        if (speed != nullptr) {
            measured = read_options(speed);
            require(measured.fma_gflops > 0 && measured.stream_gb_s > 0,
                    "speed has %g GFLOP/s and %g GB/s: volta_measure_machine fills it", measured.fma_gflops,
                    measured.stream_gb_s);
        }
        const TrainerOptions wanted = read_estimate(*model, given);
        volta_bill needed = {};
        TrainingCost found;
        estimate_training(*context, *model->model, wanted, needed, speed != nullptr ? &measured : nullptr,
                          cost != nullptr ? &found : nullptr);
        volta_training_cost costs = {};
        costs.operations = found.operations;
        costs.repeated_operations = found.repeated_operations;
        costs.bytes = found.bytes;
        costs.seconds = found.seconds;
        costs.smallest_activations = found.smallest_activations;
        write(needed, costs);
    });
}

volta_status volta_trainer_estimate_steps(volta_model* model, const volta_trainer_options* options,
                                          volta_plan_visit visit, void* user) {
    return guarded([&] {
        require(model != nullptr, "model is NULL");
        require(visit != nullptr, "visit is NULL");
        const TrainerOptions wanted = read_estimate(*model, read_options(options));
        for (const PlanStep& step : plan_steps(*model->context, *model->model, wanted)) {
            volta_plan_step out = {};
            out.struct_size = sizeof out;
            out.operation = step.operation;
            out.alive = step.alive;
            out.part = static_cast<volta_plan_part>(step.part);
            if (const HostException thrown = call_host([&] { visit(user, &out); }))
                fail_thrown(HostFunction::visit, thrown);
        }
    });
}

void volta_trainer_release(volta_trainer* trainer) {
    unfailing([&] { end_handle(trainer); });
}

namespace {

void write_step_report(const StepReport& step, volta_step_report* out) {
    if (out == nullptr) return;
    volta_step_report report = {};
    report.step = step.step;
    report.loss = step.loss;
    report.gradient_norm = step.gradient_norm;
    report.learning_rate = step.learning_rate;
    report.wait_seconds = step.wait_seconds;
    report.exchange_seconds = step.exchange_seconds;
    write_report(report, out);
}

// A wrong struct_size must not be found only after the step has been made.
void check_step_report(const volta_step_report* out) {
    if (out != nullptr) checked_size(out);
}

Trainer& inner(const volta_trainer* trainer) {
    require(trainer != nullptr, "trainer is NULL");
    return *trainer->trainer;
}

}  // namespace

volta_status volta_trainer_step(volta_trainer* trainer, const volta_tensor* const* inputs, size_t input_count,
                                const volta_tensor* targets, volta_step_report* report) {
    return guarded([&] {
        Trainer& self = inner(trainer);
        require(targets != nullptr, "targets is NULL");
        compute(*const_cast<volta_tensor*>(targets));
        check_step_report(report);
        const TensorViews in("input", inputs, input_count);
        write_step_report(self.step(in.data(), input_count, targets->view), report);
    });
}

volta_status volta_trainer_set_tokens(volta_trainer* trainer, const int32_t* tokens, size_t count) {
    return guarded([&] { inner(trainer).set_tokens(tokens, count); });
}

volta_status volta_trainer_step_tokens(volta_trainer* trainer, volta_step_report* report) {
    return guarded([&] {
        check_step_report(report);
        write_step_report(inner(trainer).step_tokens(), report);
    });
}

volta_status volta_trainer_evaluate_tokens(volta_trainer* trainer, const int32_t* tokens, size_t count,
                                           double* out_loss) {
    if (out_loss != nullptr) *out_loss = 0;
    return guarded([&] {
        require(out_loss != nullptr, "out_loss is NULL");
        *out_loss = inner(trainer).evaluate_tokens(tokens, count);
    });
}

volta_status volta_trainer_rows(const volta_trainer* trainer, uint64_t* out_first, uint64_t* out_count) {
    if (out_first != nullptr) *out_first = 0;
    if (out_count != nullptr) *out_count = 0;
    return guarded([&] {
        require(out_first != nullptr && out_count != nullptr, "out_first or out_count is NULL");
        const Trainer::Rows rows = inner(trainer).rows();
        *out_first = rows.first;
        *out_count = rows.count;
    });
}

uint64_t volta_trainer_current_step(const volta_trainer* trainer) {
    return trainer != nullptr ? trainer->trainer->current_step() : 0;
}

namespace {

void lend(const Trainer::Lent& lent, const float** out_data, size_t* out_elements) {
    *out_data = lent.data;
    *out_elements = lent.elements;
}

template <class Body>
volta_status lend_by_name(const char* name, const float** out_data, size_t* out_elements, Body&& body) {
    if (out_data != nullptr) *out_data = nullptr;
    if (out_elements != nullptr) *out_elements = 0;
    return guarded([&] {
        require(name != nullptr, "name is NULL");
        require(out_data != nullptr && out_elements != nullptr, "%s is NULL",
                out_data == nullptr ? "out_data" : "out_elements");
        lend(body(), out_data, out_elements);
    });
}

}  // namespace

volta_status volta_trainer_parameter(const volta_trainer* trainer, const char* name, const float** out_data,
                                     size_t* out_elements) {
    return lend_by_name(name, out_data, out_elements, [&] { return inner(trainer).parameter(name); });
}

volta_status volta_trainer_gradient(const volta_trainer* trainer, const char* name, const float** out_data,
                                    size_t* out_elements) {
    return lend_by_name(name, out_data, out_elements, [&] { return inner(trainer).gradient(name); });
}

volta_status volta_trainer_hash(const volta_trainer* trainer, char* text) {
    if (text != nullptr) *text = '\0';
    return guarded([&] {
        require(text != nullptr, "text is NULL");
        const HashText hash = to_text(inner(trainer).hash());
        std::memcpy(text, hash.text, sizeof hash.text);
    });
}

volta_status volta_trainer_extend(volta_trainer* trainer, uint64_t steps) {
    return guarded([&] { inner(trainer).extend(steps); });
}

volta_status volta_trainer_update_model(volta_trainer* trainer) {
    return guarded([&] { inner(trainer).update_model(); });
}

volta_status volta_trainer_save(volta_trainer* trainer, const char* path) {
    return guarded([&] {
        require(path != nullptr && *path != '\0', "path is NULL or empty");
        inner(trainer).save(path);
    });
}

volta_status volta_trainer_save_sharded(volta_trainer* trainer, const char* folder) {
    return guarded([&] {
        require(folder != nullptr && *folder != '\0', "folder is NULL or empty");
        inner(trainer).save_sharded(folder);
    });
}

volta_status volta_trainer_get_options(const volta_trainer* trainer, volta_trainer_options* options) {
    return guarded([&] { write_report(inner(trainer).c_options(), options); });
}

volta_status volta_trainer_get_bill(const volta_trainer* trainer, volta_bill* bill) {
    return guarded([&] { write_report(inner(trainer).bill(), bill); });
}

volta_status volta_trainer_print_plan(volta_trainer* trainer, const char** out_text) {
    if (out_text != nullptr) *out_text = nullptr;
    return guarded([&] {
        require(out_text != nullptr, "out_text is NULL");
        *out_text = inner(trainer).plan_text();
    });
}
