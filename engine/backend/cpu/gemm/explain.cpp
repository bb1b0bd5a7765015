#include "engine/backend/cpu/gemm/explain.h"

#include <cstdarg>
#include <cstdio>

#include "engine/base/format.h"

namespace volta::cpu {
namespace {

[[gnu::format(printf, 2, 3)]] void append(std::pmr::string& text, const char* format, ...) {
    char line[1280];
    std::va_list values;
    va_start(values, format);
    vformat(line, sizeof line, format, values);
    va_end(values);
    text += line;
}

long long number(std::int64_t n) { return n; }

void append_machine(const Machine& machine, std::pmr::string& text) {
    append(text, "machine   %s: %s, %d thread%s, L2 %zu KiB, L3 %zu KiB%s%s%s\n", machine.name,
           isa_name(machine.isa), machine.threads, machine.threads == 1 ? "" : "s", machine.l2_bytes / 1024,
           machine.l3_bytes / 1024,
           machine.isa == Isa::avx512 && machine.double_pumped_avx512 ? ", double-pumped 512 bits" : "",
           machine.wants_repeated_prefetch ? ", repeated prefetch" : "",
           machine.code ? "" : ", no machine code");
}

void append_product(const ProductShape& shape, const Request& request, std::pmr::string& text) {
    append(text,
           "product   C[%lld,%lld] = A[%lld,%lld]%s B[%lld,%lld]%s, rows of A %lld, B %lld, C %lld apart\n",
           number(shape.m), number(shape.n), number(shape.m), number(shape.k), shape.a_transposed ? "^T" : "",
           number(shape.k), number(shape.n), shape.b_transposed ? "^T" : "", number(shape.lda),
           number(shape.ldb), number(shape.ldc));
    append(text, "use       B %s, the plan's weights fill %.2f of the LLC%s\n",
           request.prepacked ? "is packed once" : "may change between calls", request.cache_use,
           request.sums_b ? ", column sums of B are wanted" : "");
}

struct Rows {
    std::pmr::string applied, rejected;
};
void add_row(void* self, const Rule& rule, const char* why_not) {
    Rows& rows = *static_cast<Rows*>(self);
    if (why_not == nullptr)
        append(rows.applied, "applied   %s%s%s\n", rule.name, *rule.evidence ? "  docs/" : "", rule.evidence);
    else
        append(rows.rejected, "rejected  %s: %s\n", rule.name, why_not);
}

}  // namespace

void explain_product(const ProductShape& shape, const CompileContext& context, std::pmr::string& text) {
    std::pmr::memory_resource* const heap = context.compiler.heap;
    Machine machine = context.machine;
    machine.code = machine.code && context.compiler.arena->available();
    const Problem problem = problem_of(shape, EpilogueKind::none, context.request);
    const ProductChoice choice = context.overrides.choice ? *context.overrides.choice
                                 : context.tuned
                                     ? context.tuned->find(shape, problem.epilogue, machine, context.request)
                                     : ProductChoice();
    Rows rows{std::pmr::string(heap), std::pmr::string(heap)};
    const Trace trace = {add_row, &rows};
    decide(problem, machine, context.overrides, choice, &trace);
    append_machine(machine, text);
    append_product(shape, context.request, text);
    if (choice != ProductChoice()) append(text, "tuned     %s\n", to_text(choice).text);
    text += rows.applied;
    text += rows.rejected;
    const ProductPtr product = compile_product(shape, nullptr, context);
    ScheduleText schedule;
    product->describe(schedule);
    append(text, "schedule  %s\n", schedule.text);
    append(text, "kernel    %s, workspace %zu bytes, packed once %zu bytes\n", product->kernel_name(),
           product->workspace_bytes(), product->prepacked_bytes());
}

}  // namespace volta::cpu
