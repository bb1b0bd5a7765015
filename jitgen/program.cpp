// Programs as data: the table of codes, comparison, text and verification. Recording them is builder.cpp.
#include "jitgen/program.h"

#include <cinttypes>
#include <cstdio>

#include "engine/base/error.h"
#include "jitgen/row_kernel.h"

namespace volta::jit {
namespace {

// In the order of enum Code. Everything that walks arguments (verify, print, append, the plan) reads this
// table.
constexpr CodeInfo kCodes[kCodeCount] = {
    // name, result, arguments, immediate
    {"constant", 't', "---", 'b'},     {"load", 't', "o--", 'x'},       {"row_index", 'i', "---", '-'},
    {"column_index", 'i', "---", '-'}, {"row_length", 'r', "---", '-'}, {"add", 'r', "rr-", '-'},
    {"sub", 'r', "rr-", '-'},          {"mul", 'r', "rr-", '-'},        {"div", 'r', "rr-", '-'},
    {"fma", 'r', "rrr", '-'},          {"sqrt", 'r', "r--", '-'},       {"neg", 'r', "r--", '-'},
    {"abs", 'r', "r--", '-'},          {"less", 'm', "rr-", '-'},       {"less_equal", 'm', "rr-", '-'},
    {"equal", 'm', "rr-", '-'},        {"is_nan", 'm', "r--", '-'},     {"both", 'm', "mm-", '-'},
    {"either", 'm', "mm-", '-'},       {"invert", 'm', "m--", '-'},     {"select", 't', "mtt", '-'},
    {"iadd", 'i', "ii-", '-'},         {"isub", 'i', "ii-", '-'},       {"iand", 'i', "ii-", '-'},
    {"ior", 'i', "ii-", '-'},          {"ixor", 'i', "ii-", '-'},       {"shl", 'i', "i--", 'n'},
    {"shr", 'i', "i--", 'n'},          {"sar", 'i', "i--", 'n'},        {"umul_low", 'i', "ii-", '-'},
    {"umul_high", 'i', "ii-", '-'},    {"iequal", 'm', "ii-", '-'},     {"uless", 'm', "ii-", '-'},
    {"bits", 'i', "r--", '-'},         {"from_bits", 'r', "i--", '-'},  {"truncate", 'i', "r--", '-'},
    {"to_real", 'r', "i--", '-'},      {"row_sum", 'r', "r--", '-'},    {"row_max", 'r', "r--", '-'},
    {"row_argmax", 'i', "r--", '-'},   {"column_sum", 't', "or-", '-'}, {"store", 't', "ot-", '-'},
};

constexpr const char* kAccessNames[] = {"full", "per_row", "per_column", "single"};
constexpr const char* kTypeNames[] = {"real", "integer", "mask"};

const char* name_of(Type type) { return kTypeNames[static_cast<int>(type)]; }

bool fits(char wanted, Type own, Type given) {
    switch (wanted) {
        case 'r':
            return given == Type::real;
        case 'i':
            return given == Type::integer;
        case 'm':
            return given == Type::mask;
        default:
            return given == own && given != Type::mask;
    }
}

// One walk over the program, with what is known about the instructions passed so far.
class Verifier {
  public:
    explicit Verifier(const Program& program)
        : program_(program),
          varies_(program.code.size(), false, program.code.get_allocator().resource()),
          stored_(program.operands.size(), false, program.code.get_allocator().resource()) {}

    void run() {
        check(program_.operands.size() <= kMaxOperands, "has more operands than a kernel takes");
        std::uint32_t full_outputs = 0;
        for (std::size_t k = 0; k < program_.operands.size(); ++k) {
            const Operand& operand = program_.operands[k];
            check(operand.type != Type::mask, "has an operand of type mask");
            check(!operand.output || operand.access != Access::single, "has a single output");
            if (operand.output && operand.access == Access::full) full_outputs |= 1u << k;
        }
        check((program_.streams & ~full_outputs) == 0, "streams what is no full output");
        for (at_ = 0; at_ < static_cast<int>(program_.code.size()); ++at_) instruction(program_.code[at_]);
    }

  private:
    void check(bool condition, const char* what) const {
        if (condition) return;
        if (at_ < 0) fail(VOLTA_INTERNAL, "program %s", what);
        fail(VOLTA_INTERNAL, "program instruction %%%d (%s) %s", at_, info(program_.code[at_].code).name,
             what);
    }

    void instruction(const Instruction& x) {
        if (static_cast<int>(x.code) >= kCodeCount)
            fail(VOLTA_INTERNAL, "program instruction %%%d has the unknown code %d", at_,
                 static_cast<int>(x.code));
        const CodeInfo& row = info(x.code);
        check(fits(row.result, x.type, x.type), "has a result type that does not fit");
        const std::int32_t arguments[3] = {x.a, x.b, x.c};
        for (int k = 0; k < 3; ++k) argument(x, row.arguments[k], arguments[k]);
        immediate(x, row.immediate);
        if (row.arguments[0] == 'o') operand(x);
        reduction(x);
        varies_[at_] = varies_[at_] || x.code == Code::column_index;
    }

    void argument(const Instruction& x, char wanted, std::int32_t id) {
        if (wanted == '-') return check(id == -1, "has an argument too many");
        if (wanted == 'o')
            return check(id >= 0 && id < static_cast<int>(program_.operands.size()),
                         "names an operand out of range");
        check(id >= 0 && id < at_, "uses a value that is not defined before it");
        const Instruction& source = program_.code[id];
        check(source.code != Code::store && source.code != Code::column_sum,
              "uses an instruction without result");
        check(fits(wanted, x.type, source.type), "has an argument whose type does not fit");
        varies_[at_] = varies_[at_] || varies_[id];
    }

    void immediate(const Instruction& x, char kind) const {
        if (kind == 'n') check(x.immediate < 32, "shifts by more than 31");
        if (kind == '-') check(x.immediate == 0, "has an immediate it does not use");
        if (kind == 'x')
            check(x.immediate == 0 || program_.operands[x.a].access == Access::single,
                  "gives an index for an operand that is not single");
    }

    void operand(const Instruction& x) {
        const Operand& target = program_.operands[x.a];
        check(target.type == x.type, "has another type than its operand");
        if (x.code == Code::load) {
            // Loading an output means: its content before the call. So the load comes first, and only an
            // element's own place may be read.
            check(!target.output || target.access == Access::full, "loads an output that is not full");
            check(!stored_[x.a], "loads an operand after its store");
            varies_[at_] = target.access == Access::full || target.access == Access::per_column;
            return;
        }
        check(target.output, "writes an operand that is no output");
        check(!stored_[x.a], "writes an operand a second time");
        stored_[x.a] = true;
        if (x.code == Code::column_sum) {
            check(target.access == Access::per_column, "sums columns into an operand that is not per column");
        } else {
            check(target.access != Access::per_column, "stores per column, which only a column sum may");
            check(target.access == Access::full || !varies_[x.b],
                  "stores a value per row that varies over columns");
        }
    }

    void reduction(const Instruction& x) {
        const bool row = x.code == Code::row_sum || x.code == Code::row_max || x.code == Code::row_argmax;
        const bool column = x.code == Code::column_sum;
        check(!(row && column_sum_seen_) && !(column && row_reduction_seen_),
              "mixes row reductions and column sums in one program");
        row_reduction_seen_ = row_reduction_seen_ || row;
        column_sum_seen_ = column_sum_seen_ || column;
        if (row) varies_[at_] = false;
    }

    const Program& program_;
    std::pmr::vector<bool> varies_;  // over the columns, per instruction
    std::pmr::vector<bool> stored_;  // per operand
    bool row_reduction_seen_ = false, column_sum_seen_ = false;
    int at_ = -1;  // -1: before the first instruction
};

void print_operand(const Operand& operand, std::size_t index, std::pmr::string& text) {
    char line[80];
    std::snprintf(line, sizeof line, "@%zu = %s %s %s\n", index, operand.output ? "output" : "input",
                  kAccessNames[static_cast<int>(operand.access)], name_of(operand.type));
    text += line;
}

// "%7 = fma %3 %4 %6", "%8 = load @2", "store @1 %7"
void print_instruction(const Instruction& x, std::size_t index, std::pmr::string& text) {
    const CodeInfo& row = info(x.code);
    char piece[48];
    if (x.code != Code::store && x.code != Code::column_sum) {
        std::snprintf(piece, sizeof piece, "%%%zu = ", index);
        text += piece;
    }
    text += row.name;
    if (row.result == 't' && x.code != Code::store && x.code != Code::column_sum)
        (text += ' ') += name_of(x.type);
    const std::int32_t arguments[3] = {x.a, x.b, x.c};
    for (int k = 0; k < 3; ++k) {
        if (row.arguments[k] == '-') continue;
        std::snprintf(piece, sizeof piece, " %c%" PRId32, row.arguments[k] == 'o' ? '@' : '%', arguments[k]);
        text += piece;
    }
    // Constants print as bits: exact, and independent of the locale.
    if (row.immediate == 'b') std::snprintf(piece, sizeof piece, " 0x%08" PRIx32, x.immediate);
    if (row.immediate == 'n') std::snprintf(piece, sizeof piece, " by %" PRIu32, x.immediate);
    if (row.immediate == 'x') std::snprintf(piece, sizeof piece, "[%" PRIu32 "]", x.immediate);
    const bool shown = row.immediate == 'x' ? x.immediate != 0 : row.immediate != '-';
    if (shown) text += piece;
    text += '\n';
}

bool any(const Program& program, Code code) {
    for (const Instruction& x : program.code)
        if (x.code == code) return true;
    return false;
}

}  // namespace

const CodeInfo& info(Code code) { return kCodes[static_cast<int>(code)]; }

bool operator==(const Instruction& x, const Instruction& y) {
    return x.code == y.code && x.type == y.type && x.a == y.a && x.b == y.b && x.c == y.c &&
           x.immediate == y.immediate;
}

bool operator==(const Program& x, const Program& y) {
    if (x.operands.size() != y.operands.size() || x.code.size() != y.code.size()) return false;
    if (x.streams != y.streams) return false;
    for (std::size_t k = 0; k < x.operands.size(); ++k) {
        const Operand &a = x.operands[k], &b = y.operands[k];
        if (a.access != b.access || a.type != b.type || a.output != b.output) return false;
    }
    for (std::size_t i = 0; i < x.code.size(); ++i)
        if (!(x.code[i] == y.code[i])) return false;
    return true;
}

bool Program::has_column_sum() const { return any(*this, Code::column_sum); }

bool Program::has_row_reduction() const {
    return any(*this, Code::row_sum) || any(*this, Code::row_max) || any(*this, Code::row_argmax);
}

bool Program::needs_whole_rows() const { return has_row_reduction() || any(*this, Code::row_length); }

void verify(const Program& program) { Verifier(program).run(); }

std::pmr::string print(const Program& program, std::pmr::memory_resource* heap) {
    std::pmr::string text(heap);
    for (std::size_t k = 0; k < program.operands.size(); ++k) print_operand(program.operands[k], k, text);
    for (std::size_t i = 0; i < program.code.size(); ++i) print_instruction(program.code[i], i, text);
    return text;
}

}  // namespace volta::jit
