// What the forms of row kernels are written with; only for this folder.
#pragma once

#include "jitgen/cuda/row_expression.h"
#include "jitgen/cuda/row_source.h"

namespace volta::jit {

inline bool is_sum(Code code) { return code == Code::row_sum; }

// Writes the kernels of one plan, form by form: instructions and epilogues in row_source.cpp, rows in
// row_forms.cpp, column sums in row_columns.cpp.
class RowWriter {
  public:
    RowWriter(const RowPlan& plan, const char* name, SourceText& text);

    void warps();
    void blocks();
    void segments();
    void close();
    void epilogue();
    void function();

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
    bool product_is_operand_0_ = false;    // of an epilogue: its loads are the argument
    bool operands_are_arguments_ = false;  // of a function
};

}  // namespace volta::jit
