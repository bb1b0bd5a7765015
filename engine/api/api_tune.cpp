// volta.h: tuning.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "engine/api/guard.h"
#include "engine/api/handles.h"
#include "engine/api/options.h"
#include "engine/base/host_call.h"
#include "engine/runtime/gateway.h"

using namespace volta;
using namespace volta::api;

namespace {

constexpr std::size_t kMostShapes = 4096;
constexpr std::uint32_t kMostRuns = 64;

TuneShape read_shape(const volta_tune_shape& one) {
    return {one.m, one.n, one.k, one.a_transposed != 0, one.b_transposed != 0, one.lda, one.ldb, one.ldc};
}

std::pmr::vector<TuneShape> read_shapes(const volta_tune_options& given, std::pmr::memory_resource* heap) {
    require(given.shapes != nullptr || given.shape_count == 0, "shapes is NULL");
    require(given.shape_count <= kMostShapes, "shape_count is %zu, at most %zu are possible",
            given.shape_count, kMostShapes);
    std::pmr::vector<TuneShape> shapes(heap);
    for (std::size_t i = 0; i < given.shape_count; ++i) shapes.push_back(read_shape(given.shapes[i]));
    return shapes;
}

// The host's callback, and why nothing more is to be tuned, where that is not what it said.
struct Progress {
    const volta_tune_options& options;
    const Stop& stop;
    HostException thrown;
    std::optional<Error> stopped;
};

// False: the host would like no more, or threw.
bool forward_report(void* user, const TuneReport& report) {
    auto& progress = *static_cast<Progress*>(user);
    const volta_tune_options& options = progress.options;
    try {
        progress.stop.ask("the next race of the tuner");
    } catch (const Error& stopped) {
        progress.stopped.emplace(stopped);
        return false;
    }
    if (options.progress == nullptr) return true;
    volta_tune_report out = {};
    out.struct_size = sizeof out;
    out.index = report.index;
    out.count = report.count;
    out.share = report.share;
    out.done = report.done;
    out.has_epilogue = report.epilogue;
    out.shape = {report.shape.m,
                 report.shape.n,
                 report.shape.k,
                 report.shape.a_transposed,
                 report.shape.b_transposed,
                 report.shape.lda,
                 report.shape.ldb,
                 report.shape.ldc};
    out.batch = report.batch;
    out.default_seconds = report.default_seconds;
    out.tuned_seconds = report.tuned_seconds;
    out.classic_seconds = report.classic_seconds;
    out.plans_timed = static_cast<std::uint64_t>(report.contenders);
    out.choice = report.choice;
    out.packed_once = report.keeps_b;
    out.from_memory = report.from_memory;
    std::int32_t answer = 0;
    if (const HostException thrown = call_host([&] { answer = options.progress(options.user, &out); })) {
        progress.thrown = thrown;
        return false;
    }
    return answer == 0;
}

}  // namespace

volta_status volta_tune(volta_context* context, const volta_tune_options* options) {
    return guarded([&] {
        require(context != nullptr, "context is NULL");
        const ContextRef owner(unwrap(context));
        volta_tune_options given = read_options(options);
        require(given.shape_count > 0 || given.session != nullptr || given.trainer != nullptr,
                "there is nothing to tune: no shapes, no session and no trainer");
        require(given.session == nullptr || given.session->context.get() == owner.get(),
                "the session is of another context");
        require(given.trainer == nullptr || given.trainer->context.get() == owner.get(),
                "the trainer is of another context");
        require(given.runs <= kMostRuns && given.warmup <= kMostRuns,
                "runs is %u and warmup is %u, at most %u are possible", given.runs, given.warmup, kMostRuns);
        require(std::isfinite(given.seconds) && given.seconds >= 0, "seconds is %g", given.seconds);
        const auto shapes = read_shapes(given, owner->structures());
        TuneRequest request;
        request.shapes = shapes.data();
        request.shape_count = shapes.size();
        request.runs = static_cast<int>(given.runs);
        request.warmup = static_cast<int>(given.warmup);
        request.seconds = given.seconds;
        request.report = forward_report;
        Progress progress = {given, owner->stop(), {}, {}};
        request.user = &progress;
        const Program* const programs[] = {given.session ? &given.session->session.program() : nullptr,
                                           given.trainer ? &given.trainer->trainer->program() : nullptr};
        try {
            owner->plans().tune(request, programs, 2);
        } catch (const Error&) {
            if (progress.stopped) throw Error(*progress.stopped);
            if (progress.thrown) fail_thrown(HostFunction::progress, progress.thrown);
            throw;
        }
    });
}

volta_status volta_explain_matmul(volta_context* context, const volta_tune_shape* shape, uint32_t use,
                                  char* text, size_t capacity, size_t* out_bytes) {
    if (out_bytes != nullptr) *out_bytes = 0;
    if (text != nullptr && capacity > 0) *text = '\0';
    return guarded([&] {
        require(context != nullptr, "context is NULL");
        require(shape != nullptr, "shape is NULL");
        require(out_bytes != nullptr, "out_bytes is NULL");
        require(text != nullptr || capacity == 0, "text is NULL and capacity is %zu", capacity);
        constexpr std::uint32_t kUses = VOLTA_EXPLAIN_PACKED_ONCE | VOLTA_EXPLAIN_FROM_MEMORY;
        require((use & ~kUses) == 0, "use is 0x%x, known bits are 0x%x", use, kUses);
        const ContextRef owner(unwrap(context));
        ExplainRequest request;
        request.shape = read_shape(*shape);
        request.packed_once = (use & VOLTA_EXPLAIN_PACKED_ONCE) != 0;
        request.from_memory = (use & VOLTA_EXPLAIN_FROM_MEMORY) != 0;
        const std::pmr::string lines = owner->plans().explain(request);
        *out_bytes = lines.size();
        if (capacity == 0) return;
        const std::size_t count = std::min(lines.size(), capacity - 1);
        std::memcpy(text, lines.data(), count);
        text[count] = '\0';
    });
}
