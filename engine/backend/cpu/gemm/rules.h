// How a product's schedule is decided: one function folds one table. A rule looks at the problem, the machine
// and what the rules before it have decided, and edits the schedule; their order is their meaning. Each
// threshold is a constant of rules.cpp or a column of kMachines.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm/choice.h"
#include "engine/backend/cpu/gemm/schedule.h"

namespace volta::cpu {

// What tests, tuning and benchmarks ask for instead of the rules.
struct Overrides {
    const char* tile = nullptr;             // a row of the tile table by name; NULL: choose
    const ProductChoice* choice = nullptr;  // of every product; NULL: what tuning found, or the rules
    bool blocked = false;                   // no other algorithm, as tuning has it
    const char* without_rule = nullptr;     // a row of the table that never applies, if it is_measured()
};

// A product on its way through the table.
struct Case {
    const Problem& problem;
    const Machine& machine;
    const Overrides& overrides;
    ProductChoice choice;
    Schedule schedule;
};

// Which of a schedule's fields a rule decides: the first rule that applies has it. `amends`: what is decided.
enum class Decides : std::uint8_t { amends, way, b, split, tile, a, order, prefetch, kc, nc };
// Whose rules: of the way alone, of each algorithm, of the transposed product.
enum class Rules : std::uint8_t { way, blocked, skinny_axpy, skinny_dot, prepacked, slices };

struct Rule {
    Rules of;
    Decides decides;
    const char* name;
    const char*
        evidence;  // where it was measured, below docs/; "": it says what has to be, or what else there is
    const char* (*against)(const Case&);  // why it does not apply; NULL: it does
    void (*then)(Case&);
};
struct RuleTable {
    const Rule* rows;
    int count;
    const Rule* begin() const { return rows; }
    const Rule* end() const { return rows + count; }
};
RuleTable rules();
// May it be switched off? Then there is another way, which it is measured against (bench/rules.py).
inline bool is_measured(const Rule& rule) { return *rule.evidence != '\0'; }
const Rule* find_rule(const char* name);  // NULL: no such row

// Is told of every rule in turn; why_not: NULL where it was applied.
struct Trace {
    void (*visit)(void* self, const Rule& rule, const char* why_not) = nullptr;
    void* self = nullptr;
};

// The schedule of `problem`, with what `choice` says instead of rules. Throws INVALID_ARGUMENT when a choice
// is outside its limits or the shape cannot have it (B stored transposed and not packed), UNSUPPORTED when
// its tile cannot run here.
Schedule decide(const Problem& problem, const Machine& machine, const Overrides& overrides,
                const ProductChoice& choice, const Trace* trace = nullptr);

// What a prepacked product whose schedule has panels_without_shared_llc does there.
Schedule without_shared_llc(const Problem& problem, const Machine& machine, const Schedule& schedule);

// Does the product wait for DRAM when it reads B: by itself, or with all weights of its plan?
bool b_is_in_dram(const Problem& problem, const Machine& machine, double most);

// Is A one row whose elements follow each other?
inline bool has_plain_row(const ProductShape& shape) {
    return shape.m == 1 && (!shape.a_transposed || shape.lda == 1);
}

}  // namespace volta::cpu
