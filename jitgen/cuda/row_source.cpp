// Operands and instructions of row kernels, what follows a product, and the entry points of the emitter.
#include "jitgen/cuda/row_source.h"

#include "engine/base/error.h"
#include "jitgen/cuda/row_writer.h"

namespace volta::jit {

RowWriter::RowWriter(const RowPlan& plan, const char* name, SourceText& text)
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

void RowWriter::begin(const char* form, const char* what, int threads) {
    text_.line("%s", "");
    text_.line("// %s: %s.", name_, what);
    text_.open("extern \"C\" __global__ void __launch_bounds__(%d) %s_%s(const VoltaRowArgs args) {", threads,
               name_, form);
    text_.line("if (!may_run(args)) return;");
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
    if (operands_are_arguments_) return term("a%d", x.a);
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

void append_row_epilogue(const RowPlan& plan, const char* name, std::pmr::string& text) {
    if (plan.column_sums || plan.stages.size() != 1 || plan.operands.empty() ||
        plan.operands[0].access != Access::full)
        fail(VOLTA_INTERNAL, "epilogue %s is no elementwise program over a full operand 0", name);
    SourceText source(text.get_allocator().resource());
    RowWriter(plan, name, source).epilogue();
    text += source.take();
}

// ---- Functions -------------------------------------------------------------------------------------------

void RowWriter::function() {
    text_.line("%s", "");
    std::pmr::string arguments(plan_.code.get_allocator().resource());
    for (std::size_t k = 0; k < plan_.operands.size(); ++k) {
        const Operand& x = plan_.operands[k];
        arguments += term("%s%s%s a%zu", k == 0 ? "" : ", ", cuda_type(x.type), x.output ? "&" : "", k).text;
    }
    text_.open("__device__ __forceinline__ void %s(%s) {", name_, arguments.c_str());
    operands_are_arguments_ = true;
    loop_code(plan_.stages[0].loop_code);
    text_.close();
}

void append_row_function(const Program& program, const char* name, std::pmr::string& text) {
    verify(program);
    std::pmr::memory_resource* const heap = text.get_allocator().resource();
    const RowPlan plan = cuda_plan(program, heap);
    const bool elementwise = !plan.column_sums && plan.stages.size() == 1 && plan.call_code.empty() &&
                             plan.stages[0].row_code.empty();
    if (!elementwise) fail(VOLTA_INTERNAL, "function %s is no program over full operands alone", name);
    SourceText source(heap);
    RowWriter(plan, name, source).function();
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
