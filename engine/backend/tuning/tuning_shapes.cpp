#include "engine/backend/tuning/tuning_run.h"

namespace volta {
namespace {

void check_extent(const char* name, std::size_t index, std::int64_t extent) {
    require(extent >= 1 && extent <= 1 << 24, "shape %zu: %s is %lld, it must be in 1 .. 16777216", index,
            name, static_cast<long long>(extent));
}

std::int64_t stride_of(const char* name, std::size_t index, std::int64_t given, std::int64_t columns) {
    require(given == 0 || (given >= columns && given <= 1 << 26),
            "shape %zu: %s is %lld, it must be 0 or in %lld .. 67108864", index, name,
            static_cast<long long>(given), static_cast<long long>(columns));
    return given == 0 ? columns : given;
}

}  // namespace

ProductKey product_key(const ProductShape& shape) {
    return {shape.batch, shape.m, shape.n, shape.k, shape.a_transposed, shape.b_transposed};
}

ProductShape product_of(const TuneShape& asked, std::size_t index) {
    check_extent("m", index, asked.m);
    check_extent("n", index, asked.n);
    check_extent("k", index, asked.k);
    ProductShape shape;
    shape.m = asked.m;
    shape.n = asked.n;
    shape.k = asked.k;
    shape.a_transposed = asked.a_transposed;
    shape.b_transposed = asked.b_transposed;
    shape.lda = stride_of("lda", index, asked.lda, asked.a_transposed ? asked.m : asked.k);
    shape.ldb = stride_of("ldb", index, asked.ldb, asked.b_transposed ? asked.k : asked.n);
    shape.ldc = stride_of("ldc", index, asked.ldc, asked.n);
    return shape;
}

}  // namespace volta
