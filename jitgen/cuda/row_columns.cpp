// Row kernels with column sums: the form segments.
#include "jitgen/cuda/row_writer.h"

namespace volta::jit {

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

}  // namespace volta::jit
