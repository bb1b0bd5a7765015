// Tensors of every readable type, laid into columns of a matrix as they are and transposed.
#include "engine/import/weight_source.h"

#include <vector>

#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

struct Values {
    std::int64_t rows, columns;
    std::vector<float> at;
};

// A tensor of `type` whose values are small whole numbers, exact in all of them.
std::vector<unsigned char> stored(const StoredType& type, const Values& values) {
    std::vector<unsigned char> bytes;
    const std::string_view name = type.name;
    for (std::size_t i = 0; i < values.at.size(); i += type.block_values) {
        if (name == "Q8_0" || name == "Q4_0") bytes.insert(bytes.end(), {0x00, 0x3c});  // 1.0
        for (std::uint32_t j = 0; j < type.block_values; ++j) {
            const float x = values.at[i + j];
            std::uint32_t bits;
            std::memcpy(&bits, &x, sizeof bits);
            const auto push16 = [&](std::uint32_t half) {
                bytes.insert(bytes.end(),
                             {static_cast<unsigned char>(half), static_cast<unsigned char>(half >> 8)});
            };
            if (name == "F32")
                bytes.insert(bytes.end(), reinterpret_cast<unsigned char*>(&bits),
                             reinterpret_cast<unsigned char*>(&bits) + 4);
            if (name == "BF16") push16(bits >> 16);
            if (name == "F16")
                push16(x == 0 ? 0
                              : (bits >> 16 & 0x8000u) | (((bits >> 23 & 255u) - 112u) << 10) |
                                    (bits >> 13 & 1023u));
            if (name == "Q8_0") bytes.push_back(static_cast<unsigned char>(static_cast<int>(x)));
            if (name == "Q4_0" && j < 16) {
                const int low = static_cast<int>(x) + 8, high = static_cast<int>(values.at[i + 16 + j]) + 8;
                bytes.push_back(static_cast<unsigned char>(low | high << 4));
            }
        }
    }
    return bytes;
}

Values whole_numbers(std::int64_t rows, std::int64_t columns) {
    Values values{rows, columns, {}};
    for (std::int64_t i = 0; i < rows * columns; ++i)
        values.at.push_back(static_cast<float>((i * 7 + i / columns) % 15 - 7));
    return values;
}

const char* const kReadable[] = {"F32", "F16", "BF16", "Q8_0", "Q4_0"};

// Columns around the range keep what they had.
void check_copy(const char* type_name, std::int64_t rows, std::int64_t width, std::int64_t before,
                std::int64_t behind, bool transposed) {
    const StoredType& type = *find_stored_type(type_name);
    const Values values = transposed ? whole_numbers(width, rows) : whole_numbers(rows, width);
    std::vector<unsigned char> bytes = stored(type, values);
    bytes.insert(bytes.begin(), 0xff);  // an odd address: files align nothing
    WeightTensor tensor;
    tensor.type = &type;
    tensor.shape = {values.rows, values.columns};
    tensor.data = bytes.data() + 1;
    tensor.bytes = bytes.size() - 1;
    assert_int_equal(tensor.bytes, stored_bytes("x", type, tensor.shape));
    const std::int64_t columns = before + width + behind;
    std::vector<float> matrix(static_cast<std::size_t>(rows * columns), 99.0f);
    copy_weights(tensor, {matrix.data(), rows, columns, before, width}, transposed);
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c) {
            const bool inside = c >= before && c < before + width;
            const std::int64_t at = transposed ? (c - before) * rows + r : r * width + c - before;
            const float expected = inside ? values.at[static_cast<std::size_t>(at)] : 99.0f;
            assert_true(matrix[static_cast<std::size_t>(r * columns + c)] == expected);
        }
}

void test_tensors_go_into_their_columns(void**) {
    for (const char* type : kReadable)
        for (const bool transposed : {false, true}) {
            check_copy(type, 64, 96, 0, 0, transposed);
            check_copy(type, 160, 32, 5, 3, transposed);
            check_copy(type, 32, 64, 64, 0, transposed);
        }
    for (const bool transposed : {false, true}) {
        check_copy("F16", 1, 1, 0, 2, transposed);
        check_copy("BF16", 129, 33, 1, 1, transposed);  // beyond one tile both ways
        check_copy("F32", 33, 129, 0, 7, transposed);
    }
}

// Types of large blocks, as their own widen has them, through tiles and in columns.
void test_blocks_go_into_their_columns(void**) {
    for (const char* name :
         {"Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q4_1", "Q5_0", "Q5_1", "IQ4_NL", "MXFP4"}) {
        const StoredType& type = *find_stored_type(name);
        const std::int64_t rows = 21, width = 512, columns = rows + 3;
        WeightTensor tensor;
        tensor.type = &type;
        tensor.shape = {rows, width};
        tensor.bytes = stored_bytes("x", type, tensor.shape);
        std::vector<unsigned char> bytes(static_cast<std::size_t>(tensor.bytes));
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<unsigned char>(i * 73 + i / 251);
        tensor.data = bytes.data();
        std::vector<float> values(static_cast<std::size_t>(rows * width));
        type.widen(bytes.data(), rows * width / type.block_values, values.data());
        std::vector<float> matrix(static_cast<std::size_t>(width * columns), 99.0f);
        copy_weights(tensor, {matrix.data(), width, columns, 2, rows}, true);
        for (std::int64_t r = 0; r < width; ++r)
            for (std::int64_t c = 0; c < columns; ++c) {
                const bool inside = c >= 2 && c < 2 + rows;
                const float expected = inside ? values[static_cast<std::size_t>((c - 2) * width + r)] : 99.0f;
                assert_memory_equal(&matrix[static_cast<std::size_t>(r * columns + c)], &expected,
                                    sizeof(float));
            }
    }
}

void test_sizes_that_cannot_be_are_refused(void**) {
    const auto f32 = find_stored_type("F32"), q8 = find_stored_type("Q8_0");
    const std::int64_t huge = std::int64_t{1} << 40;
    assert_failure(failure_of([&] {
                       stored_bytes("a", *f32, {huge, huge});
                   }),
                   VOLTA_CORRUPT_MODEL, "too large");
    assert_failure(failure_of([&] {
                       stored_bytes("a", *f32, {huge, huge, 0});
                   }),
                   VOLTA_CORRUPT_MODEL, "tensor 'a' is too large");
    assert_failure(failure_of([&] { stored_bytes("a", *f32, {std::int64_t{1} << 61}); }), VOLTA_CORRUPT_MODEL,
                   "too large");
    assert_failure(failure_of([&] {
                       stored_bytes("a", *q8, {32, 33});
                   }),
                   VOLTA_CORRUPT_MODEL, "no whole blocks of 32");
    assert_int_equal(stored_bytes("a", *q8, {3, 64}), 3 * 2 * 34);
    assert_int_equal(stored_bytes("a", *f32, {}), 4);
    assert_null(find_stored_type("f32"));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors_go_into_their_columns),
        cmocka_unit_test(test_blocks_go_into_their_columns),
        cmocka_unit_test(test_sizes_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests_name("weight_source", tests, nullptr, nullptr);
}
