// Broadcast operands as rows and columns: few long rows, whatever the rank.
#include "engine/backend/lower/loop_space.h"
#include "tests/support/cmocka_cpp.h"

namespace volta::test {
namespace {

using jit::Access;

struct Row {
    const char* name;
    Shape space;
    Shape other;  // the second operand; the first has the shape of the space
    bool keep_columns;
    std::int64_t outer, rows, columns;
    Access first, second;
};

const Row kRows[] = {
    {"equal shapes are one row",
     {8, 256, 384},
     {8, 256, 384},
     false,
     1,
     1,
     786432,
     Access::full,
     Access::full},
    {"a bias", {8, 256, 384}, {384}, false, 1, 2048, 384, Access::full, Access::per_column},
    {"a factor per row", {8, 256, 384}, {8, 256, 1}, false, 1, 2048, 384, Access::full, Access::per_row},
    {"a scalar", {8, 256, 384}, {}, false, 1, 1, 786432, Access::full, Access::single},
    {"a table per batch", {8, 256, 384}, {256, 384}, false, 1, 8, 98304, Access::full, Access::per_column},
    {"an inner axis", {8, 256, 384}, {8, 1, 384}, false, 8, 256, 384, Access::full, Access::per_column},
    {"unit axes vanish", {1, 7, 1, 5, 1}, {7, 1, 1, 1}, false, 1, 7, 5, Access::full, Access::per_row},
    {"the program knows its columns",
     {8, 256, 384},
     {8, 256, 384},
     true,
     1,
     2048,
     384,
     Access::full,
     Access::full},
    {"columns of one element", {8, 256, 1}, {8, 256, 1}, true, 1, 2048, 1, Access::per_row, Access::per_row},
    {"a single element", {}, {}, true, 1, 1, 1, Access::single, Access::single},
    {"nothing", {4, 0, 3}, {4, 0, 3}, false, 1, 1, 0, Access::full, Access::full},
};

void test_space_has_few_long_rows(void** state) {
    const Row& row = *static_cast<const Row*>(*state);
    std::int64_t outer, rows, columns;
    Access first, second;
    {
        const std::pmr::vector<const Shape*> shapes({&row.space, &row.other});
        const LoopSpace loops =
            make_loop_space(row.space, shapes, row.keep_columns, std::pmr::get_default_resource());
        outer = loops.outer_count();
        rows = loops.rows;
        columns = loops.columns;
        first = loops.operands[0].access;
        second = loops.operands[1].access;
    }
    assert_int_equal(outer, row.outer);
    assert_int_equal(rows, row.rows);
    assert_int_equal(columns, row.columns);
    assert_int_equal(first, row.first);
    assert_int_equal(second, row.second);
}

}  // namespace
}  // namespace volta::test

int main() {
    using namespace volta::test;
    return run_rows("loop_space", kRows, test_space_has_few_long_rows,
                    [](const Row& row) { return row.name; });
}
