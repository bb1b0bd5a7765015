#include "jitgen/cuda/product_source.h"

#include "engine/base/error.h"
#include "jitgen/cuda/row_source.h"
#include "jitgen/cuda/source_text.h"

namespace volta::jit {
namespace {

// The blocks that a multiprocessor holds: one multiplies while another waits at its barrier, so the compiler
// is told to leave registers for two tiles of 128, or three of 64.
int resident_blocks(int tile) { return tile == 128 ? 2 : 3; }

void kernel(SourceText& text, int tile, const char* name, const char* form, const char* body) {
    text.line("extern \"C\" __global__ void __launch_bounds__(%u, %d)", kProductThreads,
              resident_blocks(tile));
    text.line("%s_%s(const VoltaProductArgs args) {", name, form);
    text.line("    %s(args);", body);
    text.line("}");
}

}  // namespace

void append_product_kernels(const ProductForm& form, const RowPlan* epilogue, const char* name,
                            std::pmr::string& text) {
    if (form.tile != 64 && form.tile != 128)
        fail(VOLTA_INTERNAL, "product kernel %s: a tile of %d is neither 64 nor 128", name, form.tile);
    SourceTerm function = term("NoEpilogue");
    if (epilogue != nullptr) {
        function = term("%s_epilogue", name);
        append_row_epilogue(*epilogue, function.text, text);
    }
    SourceText lines(text.get_allocator().resource());
    const char *a = form.transposed_a ? "true" : "false", *b = form.transposed_b ? "true" : "false";
    lines.line("%s", "");
    lines.line("// %s: a product in tiles of %d x %d.", name, form.tile, form.tile);
    const auto product = [&](const char* split) {
        return term("product<%d, %s, %s, %s, %s>", form.tile / 16, a, b, split, function.text);
    };
    kernel(lines, form.tile, name, "tiles", product("false").text);
    kernel(lines, form.tile, name, "segments", product("true").text);
    kernel(lines, form.tile, name, "close", term("product_close<%s>", function.text).text);
    text += lines.take();
}

}  // namespace volta::jit
