// volta.h: profiler.
#include "engine/api/guard.h"
#include "engine/api/handles.h"
#include "engine/api/options.h"
#include "engine/runtime/gateway.h"
#include "engine/runtime/profile.h"

using namespace volta;
using namespace volta::api;

namespace {

constexpr uint64_t kDefaultCapacity = 1 << 16, kMostCapacity = 1 << 24;

Context& inner(const volta_context* context) {
    require(context != nullptr, "context is NULL");
    return *const_cast<Context*>(unwrap(context));
}

}  // namespace

volta_status volta_profile_start(volta_context* context, const volta_profile_options* options) {
    return guarded([&] {
        const ContextRef owner(&inner(context));
        const auto given = read_options(options);
        require(given.capacity <= kMostCapacity, "capacity is %llu, at most %llu events are possible",
                static_cast<unsigned long long>(given.capacity),
                static_cast<unsigned long long>(kMostCapacity));
        owner->start_profile(given.capacity == 0 ? kDefaultCapacity : given.capacity);
    });
}

volta_status volta_profile_stop(volta_context* context) {
    return guarded([&] { inner(context).stop_profile(); });
}

volta_status volta_profile_get_info(const volta_context* context, volta_profile_info* info) {
    return guarded([&] {
        Context& owner = inner(context);
        const Profile& profile = owner.profile();
        volta_profile_info report = {};
        report.event_count = profile.event_count();
        report.dropped = profile.dropped();
        report.operator_count = profile.operator_count();
        report.thread_count = static_cast<uint32_t>(owner.pool().thread_count());
        report.duration_ns = profile.duration_ns();
        report.calls_ns = profile.calls_ns();
        report.steps_ns = profile.steps_ns();
        report.held_bytes_peak = profile.held_peak();
        report.live_bytes_peak = profile.live_peak();
        write_report(report, info);
    });
}

volta_status volta_profile_get_operator(const volta_context* context, size_t index,
                                        volta_profile_operator* row) {
    return guarded([&] {
        const Profile& profile = inner(context).profile();
        const Op op = profile.operator_at(index);
        const Profile::Totals& totals = profile.totals(op);
        const uint64_t all = profile.steps_ns();
        volta_profile_operator report = {};
        report.name = op_row(op).name;
        report.calls = totals.calls;
        report.total_ns = totals.ns;
        report.share = all > 0 ? static_cast<double>(totals.ns) / static_cast<double>(all) : 0;
        report.operations = totals.operations;
        report.bytes = totals.bytes;
        write_report(report, row);
    });
}

namespace {

void describe_step(const ProfileEvent& event, volta_profile_event& report) {
    const Program& program = event.program();
    const StepFacts& facts = program.facts(event.step);
    const Plan& plan = program.plan();
    report.name = op_row(program.op(event.step)).name;
    report.node = subject_of(program, event.step);
    report.kernel = program.kernel_name(event.step);
    report.step = event.step;
    report.value = plan.graph.node(plan.steps[event.step].node).first_output;
    report.number = -1;
    if (event.kind != VOLTA_PROFILE_STEP) return;
    report.operations = facts.cost.operations;
    report.bytes = facts.cost.bytes;
    report.live_bytes = facts.live_bytes;
}

}  // namespace

volta_status volta_profile_get_event(const volta_context* context, size_t index, volta_profile_event* event) {
    return guarded([&] {
        const ProfileEvent& found = inner(context).profile().event(index);
        volta_profile_event report = {};
        report.kind = found.kind;
        report.thread = found.thread;
        report.depth = found.depth;
        report.begin_ns = found.begin;
        report.end_ns = found.end;
        report.node = report.kernel = "";
        report.step = report.value = -1;
        report.number = found.number;
        report.held_bytes = found.held;
        if (found.kind >= VOLTA_PROFILE_STEP)
            describe_step(found, report);
        else
            report.name = found.kind == VOLTA_PROFILE_CALL ? found.call() : phase_name(found.step);
        write_report(report, event);
    });
}

volta_status volta_profile_write_trace(const volta_context* context, const char* path) {
    return guarded([&] {
        const Context& owner = inner(context);
        require(path != nullptr && *path != '\0', "path is NULL or empty");
        write_trace(owner.profile(), owner, path);
    });
}
