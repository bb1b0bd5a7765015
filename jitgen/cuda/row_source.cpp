#include "jitgen/cuda/row_source.h"

#include "engine/base/error.h"
#include "jitgen/cuda/row_expression.h"

namespace volta::jit {
namespace {

bool is_sum(Code code) { return code == Code::row_sum; }

// Writes the kernels of one plan.
class RowWriter {
  public:
    RowWriter(const RowPlan& plan, const char* name, SourceText& text)
        : plan_(plan),
          name_(name),
          text_(text),
          number_(plan.code.size(), -1, plan.code.get_allocator()),
          used_(plan.operands.size(), false, plan.code.get_allocator()) {
        int row_sums = 0, column_sums = 0;
        for (std::size_t id = 0; id < plan.code.size(); ++id) {
            const Code code = plan.code[id].code;
            reduces_ = reduces_ || is_row_reduction(code);
            if (code == Code::load || code == Code::store)
                used_[static_cast<std::size_t>(plan.code[id].a)] = true;
            if (code == Code::row_sum) number_[id] = row_sums++;
            if (code == Code::column_sum) number_[id] = column_sums++;
        }
    }

    void warps();
    void blocks();
    void segments();
    void close();
    void epilogue();

  private:
    using Ids = std::pmr::vector<std::int32_t>;

    void begin(const char* form, const char* what, int threads);
    void pointers();
    void row_pointers();
    void call_code();
    void row_code(const Ids& ids, const char* who_stores);
    void loop_code(const Ids& ids);
    void stage(int t, RowForm form);
    void declare_reductions(const Ids& ids);
    void element_loop(const Ids& ids, RowForm form);
    void chunk_loop(const Ids& ids, RowForm form);
    void finish_reductions(const Ids& ids);
    void exchange_reductions(const Ids& ids);
    void slots();

    bool has(const Ids& ids, bool (*fits)(Code)) const {
        for (const std::int32_t id : ids)
            if (fits(plan_.code[id].code)) return true;
        return false;
    }
    bool has_element_loop() const {
        for (const Stage& stage : plan_.stages)
            if (!stage.loop_code.empty() && !has(stage.loop_code, is_sum)) return true;
        return false;
    }
    const Operand& operand(const Instruction& x) const { return plan_.operands[x.a]; }
    SourceTerm element(const Instruction& x) const;
    void define(std::int32_t id, const char* value) {
        text_.line("const %s v%d = %s;", cuda_type(plan_.code[id].type), id, value);
    }
    void store(const Instruction& x) {
        text_.line("%s = %s;", element(x).text,
                   cuda_value(plan_, x.b, x.type == Type::real ? 'r' : 'i').text);
    }

    const RowPlan& plan_;
    const char* name_;
    SourceText& text_;
    std::pmr::vector<int> number_;  // of row sums: their row of chunk results; of column sums: their table
    std::pmr::vector<bool> used_;   // per operand: read or written by element
    bool reduces_ = false;
    bool product_is_operand_0_ = false;  // of an epilogue: its loads are the argument
};

// ---- Operands and instructions ---------------------------------------------------------------------------

void RowWriter::begin(const char* form, const char* what, int threads) {
    text_.line("%s", "");
    text_.line("// %s: %s.", name_, what);
    text_.open("extern \"C\" __global__ void __launch_bounds__(%d) %s_%s(const VoltaRowArgs args) {", threads,
               name_, form);
}

void RowWriter::pointers() {
    for (std::size_t k = 0; k < plan_.operands.size(); ++k) {
        const Operand& x = plan_.operands[k];
        if (!used_[k]) continue;
        const char *constant = x.output ? "" : "const ", *type = cuda_type(x.type);
        text_.line("%s%s* const p%zu = (%s%s*)args.operands[%zu];", constant, type, k, constant, type, k);
    }
}

void RowWriter::row_pointers() {
    for (std::size_t k = 0; k < plan_.operands.size(); ++k) {
        const Operand& x = plan_.operands[k];
        if (!used_[k] || (x.access != Access::full && x.access != Access::per_row)) continue;
        text_.line("%s%s* const row%zu = p%zu + row * args.row_strides[%zu];", x.output ? "" : "const ",
                   cuda_type(x.type), k, k, k);
    }
}

SourceTerm RowWriter::element(const Instruction& x) const {
    if (product_is_operand_0_ && x.code == Code::load && x.a == 0) return term("product");
    switch (operand(x).access) {
        case Access::full:
            return term("row%d[j]", x.a);
        case Access::per_row:
            return term("row%d[0]", x.a);
        case Access::per_column:
            return term("p%d[j]", x.a);
        default:
            return term("p%d[%u]", x.a, x.immediate);
    }
}

void RowWriter::call_code() {
    for (const std::int32_t id : plan_.call_code) {
        const Instruction& x = plan_.code[id];
        if (x.code == Code::load)
            define(id, element(x).text);
        else if (x.code == Code::row_length)
            define(id, "__ll2float_rn(args.columns)");
        else
            define(id, cuda_expression(plan_, id).text);
    }
}

// `who_stores`: the one thread that writes what all of a row have computed.
void RowWriter::row_code(const Ids& ids, const char* who_stores) {
    for (const std::int32_t id : ids) {
        const Instruction& x = plan_.code[id];
        if (x.code == Code::store)
            text_.line("if (%s) %s = %s;", who_stores, element(x).text,
                       cuda_value(plan_, x.b, x.type == Type::real ? 'r' : 'i').text);
        else if (x.code == Code::load)
            define(id, element(x).text);
        else if (x.code == Code::row_index)
            define(id, "args.first_row + (unsigned)row");
        else
            define(id, cuda_expression(plan_, id).text);
    }
}

// One element of every value of a loop.
void RowWriter::loop_code(const Ids& ids) {
    for (const std::int32_t id : ids) {
        const Instruction& x = plan_.code[id];
        const auto real = [&](std::int32_t argument) { return cuda_value(plan_, argument, 'r'); };
        switch (x.code) {
            case Code::load:
                define(id, element(x).text);
                break;
            case Code::store:
                store(x);
                break;
            case Code::column_index:
                define(id, "args.first_column + (unsigned)j");
                break;
            case Code::row_sum:
                text_.line("lanes%d = __fadd_rn(lanes%d, %s);", id, id, real(x.a).text);
                break;
            case Code::column_sum:
                text_.line("lanes%d = __fadd_rn(lanes%d, %s);", id, id, real(x.b).text);
                break;
            case Code::row_max:
                text_.line("max%d = larger(max%d, %s);", id, id, real(x.a).text);
                break;
            case Code::row_argmax:
                text_.line("best%d = better(best%d, Best{order_key(%s), j});", id, id, real(x.a).text);
                break;
            default:
                define(id, cuda_expression(plan_, id).text);
        }
    }
}

// ---- Rows ------------------------------------------------------------------------------------------------

void RowWriter::declare_reductions(const Ids& ids) {
    for (const std::int32_t id : ids) {
        const Code code = plan_.code[id].code;
        if (code == Code::row_max) text_.line("float max%d = __uint_as_float(0xff800000u);", id);
        if (code == Code::row_argmax) text_.line("Best best%d = no_best();", id);
    }
}

// Stages without row sums: no element minds which thread takes it.
void RowWriter::element_loop(const Ids& ids, RowForm form) {
    const bool stores = has(ids, [](Code code) { return code == Code::store; });
    if (!stores) text_.line("#pragma unroll 4");
    if (form == RowForm::warps)
        text_.open("for (long long j = lane; j < columns; j += 32) {");
    else
        text_.open("for (long long j = first; j < columns; j += step) {");
    loop_code(ids);
    text_.close();
}

// Stages with row sums: element j joins lane j % 32 of chunk j / 4096.
void RowWriter::chunk_loop(const Ids& ids, RowForm form) {
    const bool blocks = form == RowForm::blocks;
    if (blocks) {
        text_.open("for (long long chunk = 4096LL * warp; chunk < columns; chunk += 4096LL * warps) {");
    } else {
        for (const std::int32_t id : ids)
            if (is_sum(plan_.code[id].code)) text_.line("ChunkSum sum%d = {};", id);
        text_.open("for (long long chunk = 0; chunk < columns; chunk += 4096) {");
    }
    for (const std::int32_t id : ids)
        if (is_sum(plan_.code[id].code)) text_.line("float lanes%d = 0.0f;", id);
    text_.line("const long long end = least(columns, chunk + 4096);");
    text_.line("#pragma unroll 4");
    text_.open("for (long long j = chunk + lane; j < end; j += 32) {");
    loop_code(ids);
    text_.close();
    for (const std::int32_t id : ids) {
        if (!is_sum(plan_.code[id].code)) continue;
        if (!blocks) {
            text_.line("add_chunk(sum%d, chunk / 4096, lanes%d, lane);", id, id);
            continue;
        }
        text_.line("const float chunk%d = folded(lanes%d);", id, id);
        text_.line("if (lane == 0) chunks%d[chunk / 4096] = chunk%d;", number_[id], id);
    }
    text_.close();
}

// One warp per row: its lanes hold everything.
void RowWriter::finish_reductions(const Ids& ids) {
    for (const std::int32_t id : ids) {
        const Code code = plan_.code[id].code;
        if (code == Code::row_sum) define(id, term("row_total(sum%d, columns, lane)", id).text);
        if (code == Code::row_max) define(id, term("max_of_warp(max%d)", id).text);
        if (code == Code::row_argmax)
            define(id, term("args.first_column + (unsigned)best_of_warp(best%d).column", id).text);
    }
}

// A block per row: warps leave their parts in memory, and after a barrier each of them reads all.
void RowWriter::exchange_reductions(const Ids& ids) {
    for (const std::int32_t id : ids) {
        const Code code = plan_.code[id].code;
        if (code == Code::row_max) text_.line("max%d = max_of_warp(max%d);", id, id);
        if (code == Code::row_max) text_.line("if (lane == 0) slots%d[warp] = max%d;", id, id);
        if (code == Code::row_argmax) text_.line("best%d = best_of_warp(best%d);", id, id);
        if (code == Code::row_argmax) text_.line("if (lane == 0) slots%d[warp] = best%d;", id, id);
    }
    text_.line("__syncthreads();");
    for (const std::int32_t id : ids) {
        const Code code = plan_.code[id].code;
        if (code == Code::row_sum)
            define(id, term("total_of_chunks(chunks%d, columns, lane)", number_[id]).text);
        if (code == Code::row_max) define(id, term("max_of_warps(slots%d, warps, lane)", id).text);
        if (code == Code::row_argmax)
            define(id,
                   term("args.first_column + (unsigned)best_of_warps(slots%d, warps, lane).column", id).text);
    }
}

void RowWriter::stage(int t, RowForm form) {
    const Stage& stage = plan_.stages[static_cast<std::size_t>(t)];
    if (plan_.stages.size() > 1) text_.line("// Stage %d", t);
    const bool shared = form == RowForm::blocks && !reduces_;
    row_code(stage.row_code, form == RowForm::warps ? "lane == 0"
                             : shared               ? "first == 0"
                                                    : "threadIdx.x == 0");
    if (stage.loop_code.empty()) return;
    declare_reductions(stage.loop_code);
    if (has(stage.loop_code, is_sum))
        chunk_loop(stage.loop_code, form);
    else
        element_loop(stage.loop_code, form);
    if (!has(stage.loop_code, is_row_reduction)) return;
    if (form == RowForm::warps)
        finish_reductions(stage.loop_code);
    else
        exchange_reductions(stage.loop_code);
}

void RowWriter::warps() {
    begin("warps", "one warp per row", 256);
    text_.line("const int lane = threadIdx.x %% 32;");
    text_.line("const long long columns = args.columns;");
    text_.line("const long long warps = (long long)gridDim.x * (blockDim.x / 32);");
    pointers();
    call_code();
    text_.line("long long row = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;");
    text_.open("for (; row < args.rows; row += warps) {");
    row_pointers();
    for (int t = 0; t < static_cast<int>(plan_.stages.size()); ++t) stage(t, RowForm::warps);
    text_.close();
    text_.close();
}

// Where the warps of a block meet. Each reduction has its own place, so one barrier per stage is enough.
void RowWriter::slots() {
    for (std::size_t id = 0; id < plan_.code.size(); ++id) {
        const Code code = plan_.code[id].code;
        if (code == Code::row_max) text_.line("__shared__ float slots%zu[32];", id);
        if (code == Code::row_argmax) text_.line("__shared__ Best slots%zu[32];", id);
        if (code == Code::row_sum)
            text_.line(
                "float* const chunks%d = args.scratch + (%d + (long long)blockIdx.x * %d) * "
                "args.chunk_stride;",
                number_[id], number_[id], plan_.row_sums);
    }
}

void RowWriter::blocks() {
    begin("blocks", reduces_ ? "a block of warps per row" : "blocks share rows", 1024);
    text_.line("const long long columns = args.columns;");
    if (reduces_) {
        text_.line("const int lane = threadIdx.x %% 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;");
        if (has_element_loop()) text_.line("const long long first = threadIdx.x, step = blockDim.x;");
    } else {
        text_.line("const long long first = (long long)blockIdx.y * blockDim.x + threadIdx.x;");
        text_.line("const long long step = (long long)gridDim.y * blockDim.x;");
    }
    slots();
    pointers();
    call_code();
    text_.open("for (long long row = blockIdx.x; row < args.rows; row += gridDim.x) {");
    row_pointers();
    for (int t = 0; t < static_cast<int>(plan_.stages.size()); ++t) stage(t, RowForm::blocks);
    if (reduces_) text_.line("__syncthreads();  // before the next row overwrites what warps have left");
    text_.close();
    text_.close();
}

// ---- Column sums -----------------------------------------------------------------------------------------

// A chain of additions per column and segment of 512 rows, left in scratch; `close` adds them in order.
void RowWriter::segments() {
    const Stage& stage = plan_.stages[0];
    begin("segments", "one thread per column and segment of 512 rows", 256);
    text_.line("const long long columns = args.columns, segments = (args.rows + 511) / 512;");
    text_.line("const long long step = (long long)gridDim.x * blockDim.x;");
    pointers();
    call_code();
    text_.open("for (long long segment = blockIdx.y; segment < segments; segment += gridDim.y) {");
    text_.line("const long long end = least(args.rows, 512 * (segment + 1));");
    text_.line("long long j = (long long)blockIdx.x * blockDim.x + threadIdx.x;");
    text_.open("for (; j < columns; j += step) {");
    for (const std::int32_t id : stage.loop_code)
        if (plan_.code[id].code == Code::column_sum) text_.line("float lanes%d = 0.0f;", id);
    text_.open("for (long long row = 512 * segment; row < end; ++row) {");
    row_pointers();
    row_code(stage.row_code, "j == 0");
    loop_code(stage.loop_code);
    text_.close();
    for (const std::int32_t id : stage.loop_code)
        if (plan_.code[id].code == Code::column_sum)
            text_.line("args.scratch[(%d * segments + segment) * columns + j] = lanes%d;", number_[id], id);
    text_.close();
    text_.close();
    text_.close();
}

void RowWriter::close() {
    begin("close", "adds the segments of each column in ascending order", 256);
    text_.line("const long long columns = args.columns, segments = (args.rows + 511) / 512;");
    text_.line("const long long step = (long long)gridDim.x * blockDim.x;");
    text_.line("long long j = (long long)blockIdx.x * blockDim.x + threadIdx.x;");
    text_.open("for (; j < columns; j += step) {");
    for (const std::int32_t id : plan_.stages[0].loop_code) {
        const Instruction& x = plan_.code[id];
        if (x.code != Code::column_sum) continue;
        text_.line("float* const sum%d = (float*)args.operands[%d] + j;", id, x.a);
        text_.line("const float* const part%d = args.scratch + %d * segments * columns + j;", id,
                   number_[id]);
        text_.line("bool stored%d = args.continue_columns != 0;", id);
        text_.line("float total%d = stored%d ? *sum%d : 0.0f;", id, id, id);
        text_.open("for (long long segment = 0; segment < segments; ++segment) {");
        text_.line("const float part = part%d[segment * columns];", id);
        text_.line("total%d = stored%d ? __fadd_rn(total%d, part) : part;  // the first is stored", id, id,
                   id);
        text_.line("stored%d = true;", id);
        text_.close();
        text_.line("*sum%d = total%d;", id, id);
    }
    text_.close();
    text_.close();
}

// ---- Epilogues -------------------------------------------------------------------------------------------

// Everything for one element: what a call or a row has in common is left to the compiler to share.
void RowWriter::epilogue() {
    text_.line("%s", "");
    text_.open("struct %s {", name_);
    text_.line("const VoltaRowArgs& args;");
    text_.line("__device__ explicit %s(const VoltaRowArgs& row_args) : args(row_args) {}", name_);
    text_.open(
        "__device__ __forceinline__ void operator()(long long row, long long j, float product) const {");
    product_is_operand_0_ = true;
    used_[0] = false;
    for (const Instruction& x : plan_.code) used_[0] = used_[0] || (x.code == Code::store && x.a == 0);
    pointers();
    call_code();
    row_pointers();
    row_code(plan_.stages[0].row_code, "j == 0");
    loop_code(plan_.stages[0].loop_code);
    text_.close();
    text_.close(";");
}

}  // namespace

void append_row_epilogue(const RowPlan& plan, const char* name, std::pmr::string& text) {
    if (plan.column_sums || plan.stages.size() != 1 || plan.operands.empty() ||
        plan.operands[0].access != Access::full)
        fail(VOLTA_INTERNAL, "epilogue %s is no elementwise program over a full operand 0", name);
    SourceText source(text.get_allocator().resource());
    RowWriter(plan, name, source).epilogue();
    text += source.take();
}

void append_row_kernels(const RowPlan& plan, const char* name, std::pmr::string& text) {
    SourceText source(text.get_allocator().resource());
    RowWriter writer(plan, name, source);
    if (plan.column_sums) {
        writer.segments();
        writer.close();
    } else {
        writer.warps();
        writer.blocks();
    }
    text += source.take();
}

std::pmr::string row_source(const Program& program, const char* name, std::pmr::memory_resource* heap) {
    verify(program);
    std::pmr::string text(heap);
    append_row_prelude(text);
    append_row_kernels(cuda_plan(program, heap), name, text);
    return text;
}

}  // namespace volta::jit
