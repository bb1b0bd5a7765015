#include "engine/import/weight_source.h"

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/model/text.h"
#include "engine/numerics/storage_types.h"

namespace volta {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "f32 tensors are copied, not converted");

void widen_f32(const unsigned char* from, std::int64_t count, float* to) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
}

template <float (*one)(std::uint16_t)>
void widen_16(const unsigned char* from, std::int64_t count, float* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = one(load_u16(from + 2 * i));
}

template <float (*one)(unsigned char)>
void widen_8(const unsigned char* from, std::int64_t count, float* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = one(from[i]);
}

// To nearest, ties to even; what is too large becomes infinite.
void widen_f64(const unsigned char* from, std::int64_t count, float* to) {
    for (std::int64_t i = 0; i < count; ++i) {
        double value;
        std::memcpy(&value, from + 8 * i, sizeof value);
        to[i] = quiet(static_cast<float>(value));
    }
}

template <void (*one)(const unsigned char*, float*), int block_bytes, int block_values = kBlockValues>
void widen_blocks(const unsigned char* from, std::int64_t blocks, float* to) {
    for (std::int64_t i = 0; i < blocks; ++i) one(from + i * block_bytes, to + i * block_values);
}

constexpr StoredType block_row(const char* name, int bytes,
                               void (*widen)(const unsigned char*, std::int64_t, float*),
                               int values = kBlockValues) {
    return {name, static_cast<std::uint32_t>(values), static_cast<std::uint32_t>(bytes), widen};
}
// Blocks of 32 integers behind an f16 scale.
template <void (*integers)(const unsigned char*, int*), int bytes>
constexpr StoredType scaled_row(const char* name, DType kept_as) {
    StoredType row = block_row(name, bytes, widen_blocks<f32_from_scaled<integers>, bytes>);
    row.kept_as = kept_as;
    row.scaled = {bytes, integers};
    return row;
}
template <void (*one)(const unsigned char*, float*), int bytes>
constexpr StoredType super_row(const char* name) {
    return block_row(name, bytes, widen_blocks<one, bytes, kSuperBlockValues>, kSuperBlockValues);
}

// The types without `widen` are known by size, so that a file may hold them where nothing reads them
// (attention masks, counters).
constexpr StoredType kStoredTypes[] = {
    {"F32", 1, 4, widen_f32},
    {"F16", 1, 2, widen_16<f32_from_f16>, DType::f16},
    {"BF16", 1, 2, widen_16<f32_from_bf16>, DType::bf16},
    scaled_row<q8_0_integers, kQ80BlockBytes>("Q8_0", DType::int8),
    scaled_row<q4_0_integers, kQ40BlockBytes>("Q4_0", DType::int4),
    scaled_row<q5_0_integers, kQ50BlockBytes>("Q5_0", DType::int8),
    scaled_row<iq4_nl_integers, kIq4NlBlockBytes>("IQ4_NL", DType::int8),
    block_row("Q4_1", kQ41BlockBytes, widen_blocks<f32_from_q4_1, kQ41BlockBytes>),
    block_row("Q5_1", kQ51BlockBytes, widen_blocks<f32_from_q5_1, kQ51BlockBytes>),
    block_row("MXFP4", kMxfp4BlockBytes, widen_blocks<f32_from_mxfp4, kMxfp4BlockBytes>),
    super_row<f32_from_q2_k, kQ2KBlockBytes>("Q2_K"),
    super_row<f32_from_q3_k, kQ3KBlockBytes>("Q3_K"),
    super_row<f32_from_q4_k, kQ4KBlockBytes>("Q4_K"),
    super_row<f32_from_q5_k, kQ5KBlockBytes>("Q5_K"),
    super_row<f32_from_q6_k, kQ6KBlockBytes>("Q6_K"),
    {"F8_E4M3", 1, 1, widen_8<f32_from_f8_e4m3>, DType::f16},
    {"F8_E5M2", 1, 1, widen_8<f32_from_f8_e5m2>, DType::f16},
    {"F64", 1, 8, widen_f64, DType::f32, {0, nullptr}, true},
    {"I64", 1, 8, nullptr},
    {"U64", 1, 8, nullptr},
    {"I32", 1, 4, nullptr},
    {"U32", 1, 4, nullptr},
    {"I16", 1, 2, nullptr},
    {"U16", 1, 2, nullptr},
    {"I8", 1, 1, nullptr},
    {"U8", 1, 1, nullptr},
    {"BOOL", 1, 1, nullptr},
};
constexpr bool blocks_fit() {
    for (const StoredType& type : kStoredTypes)
        if (type.block_values > kMostBlockValues) return false;
    return true;
}
static_assert(blocks_fit(), "kMostBlockValues");

bool by_name(const WeightTensor& a, const WeightTensor& b) { return a.name < b.name; }

// `count` values of a tensor from value `first` on; both lie on block borders.
void read_values(const WeightTensor& tensor, std::int64_t first, std::int64_t count, float* to) {
    const StoredType& type = *tensor.type;
    tensor.type->widen(tensor.data + first / type.block_values * type.block_bytes, count / type.block_values,
                       to);
}

// A tile of source rows: each touched line of the matrix takes a cache line of values at once, and the tile
// is small enough for the stack and the L1 cache. Its columns are whole blocks of every type.
constexpr std::int64_t kTileRows = 16, kTileColumns = 256;
static_assert(kTileColumns % kMostBlockValues == 0, "a tile is whole blocks");

void copy_transposed(const WeightTensor& tensor, const ColumnRange& to) {
    float tile[kTileRows][kTileColumns];
    for (std::int64_t row = 0; row < to.width; row += kTileRows)
        for (std::int64_t column = 0; column < to.rows; column += kTileColumns) {
            const std::int64_t rows = std::min(kTileRows, to.width - row);
            const std::int64_t columns = std::min(kTileColumns, to.rows - column);
            for (std::int64_t i = 0; i < rows; ++i)
                read_values(tensor, (row + i) * to.rows + column, columns, tile[i]);
            for (std::int64_t j = 0; j < columns; ++j) {
                float* line = to.matrix + (column + j) * to.columns + to.first + row;
                for (std::int64_t i = 0; i < rows; ++i) line[i] = tile[i][j];
            }
        }
}

}  // namespace

const StoredType* find_stored_type(std::string_view name) {
    for (const StoredType& type : kStoredTypes)
        if (name == type.name) return &type;
    return nullptr;
}

const WeightTensor* WeightSource::find(std::string_view name) const {
    const auto at = std::lower_bound(tensors.begin(), tensors.end(), name,
                                     [](const WeightTensor& a, std::string_view b) { return a.name < b; });
    return at != tensors.end() && at->name == name ? &*at : nullptr;
}

const std::pmr::string* find_text(const std::pmr::vector<Metadata>& texts, std::string_view key) {
    for (const Metadata& text : texts)
        if (text.key == key) return &text.value;
    return nullptr;
}

void check_weight_name(std::string_view name) {
    const ShownName part = shown(name);
    if (const char* problem = name_problem(name))
        fail(VOLTA_CORRUPT_MODEL, "the name of tensor '%.*s' %s", part.bytes, part.text, problem);
}

std::uint64_t stored_bytes(std::string_view name, const StoredType& type, const Shape& shape) {
    const ShownName part = shown(name);
    std::uint64_t values = 1, bytes = 0;
    for (int axis = 0; axis < shape.rank; ++axis)
        if (shape[axis] < 0 || multiply_overflows(values, static_cast<std::uint64_t>(shape[axis]), &values) ||
            values >> 62 != 0)
            fail(VOLTA_CORRUPT_MODEL, "the shape %s of tensor '%.*s' is too large", to_text(shape).text,
                 part.bytes, part.text);
    if (shape.last() % type.block_values != 0)
        fail(VOLTA_CORRUPT_MODEL,
             "the rows of tensor '%.*s' of shape %s are no whole blocks of %u, as %s needs", part.bytes,
             part.text, to_text(shape).text, type.block_values, type.name);
    if (multiply_overflows(values / type.block_values, type.block_bytes, &bytes) || bytes >> 62 != 0)
        fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' of shape %s is too large", part.bytes, part.text,
             to_text(shape).text);
    return bytes;
}

void add_tensor(WeightSource& source, WeightTensor&& tensor) {
    if (source.tensors.size() == kMostWeightTensors)
        fail(VOLTA_CORRUPT_MODEL, "it has more than %zu tensors", kMostWeightTensors);
    source.tensors.push_back(std::move(tensor));
}

void finish_tensors(WeightSource& source) {
    auto& tensors = source.tensors;
    std::sort(tensors.begin(), tensors.end(), by_name);
    const auto same = [](const WeightTensor& a, const WeightTensor& b) { return a.name == b.name; };
    const auto twice = std::adjacent_find(tensors.begin(), tensors.end(), same);
    if (twice == tensors.end()) return;
    const ShownName part = shown(twice->name);
    fail(VOLTA_CORRUPT_MODEL, "tensor '%.*s' is there twice", part.bytes, part.text);
}

void copy_weights(const WeightTensor& tensor, const ColumnRange& to, bool transposed) {
    if (to.rows == 0 || to.width == 0) return;
    if (transposed) return copy_transposed(tensor, to);
    if (to.width == to.columns) return read_values(tensor, 0, to.rows * to.columns, to.matrix);
    for (std::int64_t row = 0; row < to.rows; ++row)
        read_values(tensor, row * to.width, to.width, to.matrix + row * to.columns + to.first);
}

}  // namespace volta
