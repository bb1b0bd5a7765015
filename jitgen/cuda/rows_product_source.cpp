// The entry points of products of few rows, and how they are launched.
#include "jitgen/cuda/rows_product_source.h"

#include <algorithm>

#include "engine/base/error.h"
#include "jitgen/cuda/row_source.h"
#include "jitgen/cuda/source_text.h"

namespace volta::jit {
namespace {

constexpr std::int64_t kMostGridX = 0x7fffffff, kMostGridZ = 65535;  // of every device

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t columns_of(DType b) { return is_stored(b) ? 16 : 8; }
// What shared memory has room for: warps of a block, and steps of a stage of f32.
std::int64_t most_warps(int rows) { return rows <= 2 ? 8 : 4; }
int float_steps(int rows) { return rows <= 8 ? 128 : 64; }

}  // namespace

void append_rows_product_kernel(const RowsProductForm& form, const RowPlan* epilogue, const char* name,
                                std::pmr::string& text) {
    if (form.rows < 1 || form.rows > kMostProductRows || form.b == DType::i32 ||
        (is_stored(form.b) && form.transposed_b))
        fail(VOLTA_INTERNAL, "product kernel %s: %d rows of %s%s", name, form.rows, dtype_name(form.b),
             form.transposed_b ? ", transposed" : "");
    SourceTerm function = term("NoEpilogue");
    if (epilogue != nullptr) {
        function = term("%s_epilogue", name);
        append_row_epilogue(*epilogue, function.text, text);
    }
    const SourceTerm stage =
        is_stored(form.b)
            ? term("StoredStage<Stored::%s>", storage_format(form.b).name)
            : term("FloatStage<%s, %d>", form.transposed_b ? "true" : "false", float_steps(form.rows));
    const bool scaled = is_stored(form.b) && storage_format(form.b).has_scales;
    SourceText lines(text.get_allocator().resource());
    lines.line("%s", "");
    lines.line("// %s: a product of %d rows at a time.", name, form.rows);
    lines.line("extern \"C\" __global__ void __launch_bounds__(%d) %s_rows(const VoltaProductArgs args) {",
               static_cast<int>(32 * most_warps(form.rows)), name);
    lines.line("    rows_product<%s, %s, %d, %s>(args);", stage.text, scaled ? "true" : "false", form.rows,
               function.text);
    lines.line("}");
    text += lines.take();
}

RowsProductLaunch rows_product_launch(const RowsProductForm& form, std::int64_t m, std::int64_t n,
                                      std::int64_t k, std::int64_t batch) {
    const std::int64_t units = ceil_div(m, form.rows) * ceil_div(n, columns_of(form.b));
    if (units == 0 || batch == 0) return {0, 0, 0};
    const std::int64_t warps = std::clamp<std::int64_t>(ceil_div(k, kSumSegment), 1, most_warps(form.rows));
    return {static_cast<unsigned>(std::min(units, kMostGridX)),
            static_cast<unsigned>(std::min(batch, kMostGridZ)), static_cast<unsigned>(32 * warps)};
}

}  // namespace volta::jit
