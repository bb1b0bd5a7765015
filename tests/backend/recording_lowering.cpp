#include "tests/backend/recording_lowering.h"

namespace volta::test {
namespace {

std::string text(std::int64_t value) { return std::to_string(value); }

// "4x8" or "2x4x8", with strides behind "/".
std::string sizes(std::initializer_list<std::int64_t> values) {
    std::string line;
    for (const std::int64_t value : values) line += (line.empty() ? "" : "x") + text(value);
    return line;
}

const char* text(When when) { return when == When::always ? "" : when == When::first ? " first" : " later"; }

// The program by its instructions, without loads and constants; a long one by how many there are and by what
// decides how it may be cut.
std::string text(const jit::Program& program) {
    std::string all, decisive;
    int count = 0;
    for (const jit::Instruction& instruction : program.code) {
        const jit::Code code = instruction.code;
        if (code == jit::Code::load || code == jit::Code::constant || code == jit::Code::store) continue;
        ++count;
        const std::string name = std::string(" ") + jit::info(code).name;
        all += name;
        const bool reduces = code >= jit::Code::row_sum && code <= jit::Code::column_sum;
        if (reduces || code == jit::Code::row_index) decisive += name;
    }
    return "{" + (count <= 3 ? all : decisive + " ...") + " }";
}

const char* text(jit::Access access) {
    switch (access) {
        case jit::Access::full:
            return "full";
        case jit::Access::per_row:
            return "row";
        case jit::Access::per_column:
            return "column";
        case jit::Access::single:
            break;
    }
    return "single";
}

class RecordingLowering final : public StepLowering {
  public:
    RecordingLowering(const Plan& owner, const Node& lowered, const RecordedBackend& backend,
                      std::string& lines)
        : StepLowering(owner, lowered, owner.graph.heap()), backend_(backend), lines_(lines) {}

    const char* backend_name() const override { return "paper"; }
    bool shares_one_row() const override { return backend_.shares_one_row; }

    void rows(const jit::Program& program, const std::pmr::vector<Ref>& refs, const LoopSpace& loops,
              const RowUse& use) override {
        std::string line = "rows " + sizes({loops.outer_count(), loops.rows, loops.columns}) + text(program);
        for (std::size_t k = 0; k < refs.size(); ++k) {
            line += program.operands[k].output ? " -> " : " ";
            line += at(refs[k]) + "." + text(program.operands[k].access);
            if (loops.operands[k].row_stride != 0) line += "/" + text(loops.operands[k].row_stride);
        }
        line += text(use.when);
        if (use.counts_rows_over_step) line += " counted";
        if (use.continues_columns) line += " continued";
        write(line);
    }
    void copy(const CopyLoops& loops, Ref from, Ref to, When when) override {
        const CopyLoops fewest = collapse(loops);
        std::string line = "copy " + at(from) + " -> " + at(to) + " of";
        for (int i = 0; i < fewest.rank; ++i)
            line += " " + text(fewest.extent[i]) + ":" + text(fewest.in_stride[i]) + ":" +
                    text(fewest.out_stride[i]);
        write(line + text(when));
    }
    void zero(Ref to, std::int64_t elements) override { write("zero " + at(to) + " of " + text(elements)); }
    void positions(const PositionStep& work) override {
        std::string line = "positions " + sizes({work.rows, work.columns});
        if (work.documents) line += " starts " + at(work.starts);
        write(line + " -> " + at(work.y));
    }
    void rotary(const RotaryStep& work) override {
        std::string line = "rotary " + sizes({work.tokens, work.columns});
        line += " heads " + sizes({work.form.heads, work.form.width});
        if (work.form.stride != work.form.width) line += " of " + text(work.form.stride);
        if (work.form.interleaved) line += " interleaved";
        if (work.form.inverse) line += " inverse";
        write(line + " " + list({work.x, work.positions, work.table}) + " -> " + at(work.y));
    }
    void rotary_table(const RotaryTableStep& work) override {
        std::string line = "rotary_table " + sizes({work.limit, work.width});
        if (work.has_frequencies) line += " " + at(work.frequencies);
        if (work.scale != 1) line += " scaled";
        write(line + " -> " + at(work.table));
    }
    void gather(const GatherStep& work) override {
        std::string line = "gather " + text(work.count) + " of " + sizes({work.rows, work.width});
        line += std::string(" ") + dtype_name(work.dtype) + " ";
        write(line + list({work.table, work.ids}) + " -> " + at(work.y));
    }
    void embedding_gradient(const EmbeddingGradientStep& work) override {
        std::string line = "embedding_gradient " + text(work.count) + " into ";
        line += sizes({work.rows, work.width}) + " " + list({work.ids, work.gradient});
        if (work.has_base) line += " base " + at(work.base);
        write(line + " -> " + at(work.y));
    }
    bool product(const ProductStep& work) override {
        const ProductShape& shape = work.shape;
        std::string line = "product " + sizes({shape.batch, shape.m, shape.n, shape.k}) + " ";
        line += at(work.a) + (shape.a_transposed ? "^T/" : "/") + text(shape.lda) + " ";
        line += at(work.b) + (shape.b_transposed ? "^T/" : "/") + text(shape.ldb);
        if (work.b_dtype != DType::f32) line += std::string(" ") + dtype_name(work.b_dtype);
        if (work.b.region >= 0 &&
            plan.regions[static_cast<std::size_t>(work.b.region)].kind == RegionKind::parameter)
            line += " parameter";
        line += " -> " + at(work.c) + "/" + text(shape.ldc);
        if (work.accumulates) line += " continued";
        if (const ProductEpilogue* epilogue = work.epilogue) {
            line += " then" + text(*epilogue->program);
            for (std::size_t k = 0; k < epilogue->refs->size(); ++k) {
                line += (epilogue->program->operands[k].output ? " -> " : " ") + at((*epilogue->refs)[k]) +
                        "." + text(epilogue->program->operands[k].access);
                if ((*epilogue->row_strides)[k] != 0) line += "/" + text((*epilogue->row_strides)[k]);
            }
            if (epilogue->rows_per_micro_batch != 0)
                line += " counted by " + text(epilogue->rows_per_micro_batch);
        }
        if (work.b_sums != nullptr) line += " sums of b wanted -> " + at(*work.b_sums);
        write(line);
        return backend_.sums_b;
    }
    void attention(const AttentionStep& work) override {
        const AttentionShape& shape = work.shape;
        std::string line = work.backward ? "attention backward " : "attention ";
        line += sizes({shape.batch, shape.time, shape.heads, shape.kv_heads, shape.head_dim});
        line += shape.causal ? " causal" : " all";
        if (shape.window > 0) line += " window " + text(shape.window);
        if (shape.cap != 0) line += " capped";
        line += " q " + at(work.q) + "/" + text(shape.q_stride) + " k " + at(work.k) + "/" +
                text(shape.k_stride) + " v " + at(work.v) + "/" + text(shape.v_stride);
        if (shape.documents) line += " starts " + at(work.starts);
        if (shape.dropout > 0) line += " random " + at(work.random);
        const std::string saved =
            at(work.o) + "/" + text(shape.o_stride) + " " + list({work.row_max, work.row_sum});
        if (!work.backward) return write(line + " -> " + saved);
        write(line + " " + saved + " d_o " + at(work.d_o) + " -> " + at(work.dq) + "/" +
              text(shape.dq_stride) + " " + at(work.dk) + "/" + text(shape.dk_stride) + " " + at(work.dv) +
              "/" + text(shape.dv_stride));
    }
    void cached_attention(const CachedAttentionStep& work) override {
        const CachedAttentionShape& shape = work.shape;
        std::string line = "cached_attention " + sizes({shape.rows, shape.heads}) + " cache ";
        line += sizes({shape.cache.slots, shape.cache.kv_heads, shape.cache.capacity, shape.cache.head_dim});
        if (shape.window > 0) line += " window " + text(shape.window);
        if (shape.cap != 0) line += " capped";
        line += " " + list({work.slots, work.positions, work.q, work.k, work.v});
        write(line + " -> " + list({work.o, work.keys, work.values}));
    }

  private:
    void write(const std::string& line) { lines_ += std::string(op_row(node.op).name) + ": " + line + "\n"; }
    std::string at(const Ref& ref) const {
        std::string name = "tmp";
        if (ref.region >= 0) {
            const Region& region = plan.regions[static_cast<std::size_t>(ref.region)];
            name = region.kind == RegionKind::arena       ? "@"
                   : region.kind == RegionKind::constants ? "constant"
                                                          : std::string(region.name);
        } else if (ref.region != kWorkspace) {
            name = "nowhere";
        }
        if (ref.offset != 0 || name == "@") name += (name == "@" ? "" : "+") + std::to_string(ref.offset);
        if (ref.micro_stride != 0) name += "~" + std::to_string(ref.micro_stride);
        return name;
    }
    std::string list(std::initializer_list<Ref> refs) const {
        std::string line;
        for (const Ref& ref : refs) line += (line.empty() ? "" : " ") + at(ref);
        return line;
    }

    const RecordedBackend backend_;
    std::string& lines_;
};

}  // namespace

std::string record_node(const Plan& plan, const Node& node, const RecordedBackend& backend) {
    std::string lines;
    RecordingLowering lowering(plan, node, backend, lines);
    lower_step(lowering);
    return lines;
}

std::string record(const Plan& plan, const RecordedBackend& backend) {
    std::string lines;
    for (const Step& step : plan.steps) lines += record_node(plan, plan.graph.node(step.node), backend);
    return lines;
}

}  // namespace volta::test
