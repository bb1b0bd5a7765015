// Row kernels whose rows a warp or a block walks: the forms warps and blocks.
#include "jitgen/cuda/row_writer.h"

namespace volta::jit {

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

}  // namespace volta::jit
