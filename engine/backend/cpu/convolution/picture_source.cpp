#include "engine/backend/cpu/convolution/picture_source.h"

#include <algorithm>
#include <cstring>

#include "engine/backend/cpu/gemm/kernel_cache.h"

namespace volta::cpu {
namespace {

// Planes a page apart meet in one set of L1: a line more between them.
constexpr std::int64_t kPageFloats = 1024, kLineFloats = 16;

jit::Program make_copy(std::pmr::memory_resource* heap) {
    jit::Builder b(heap);
    const int from = b.input(jit::Access::full), to = b.output(jit::Access::full);
    b.store(to, b.load(from));
    return b.finish();
}

}  // namespace

PictureSource::PictureSource(const AxisPhases& rows, const AxisPhases& columns, const Compiler& compiler,
                             Isa isa)
    : is_copied_(rows.is_padded() || columns.is_padded()),
      rows_(rows.extent),
      columns_(columns.extent),
      row_(is_copied_ ? columns.padded : columns.extent),
      plane_(is_copied_ ? rows.padded * columns.padded : rows.extent * columns.extent),
      // What lies beyond the last tap is not read, and a source may have more rows than are.
      read_rows_(std::min(rows.extent, rows.padded - rows.pad)),
      read_columns_(std::min(columns.extent, columns.padded - columns.pad)),
      begin_(rows.pad * row_ + columns.pad) {
    if (!is_copied_) return;
    if (plane_ % kPageFloats == 0) plane_ += kLineFloats;
    const jit::RowKernel& kernel = compiler.cache->row(make_copy(compiler.heap), isa, *compiler.arena);
    if (kernel.is_native()) kernel_ = &kernel;
}

void PictureSource::copy_rows(const float* from, std::int64_t from_row, std::int64_t count, float* to,
                              std::int64_t to_row) const noexcept {
    if (kernel_ == nullptr) {
        for (std::int64_t r = 0; r < count; ++r)
            std::memcpy(to + r * to_row, from + r * from_row,
                        sizeof(float) * static_cast<std::size_t>(read_columns_));
        return;
    }
    void* const operands[] = {const_cast<float*>(from), to};  // the first is only read
    const std::int64_t strides[] = {from_row, to_row};
    jit::RowArgs args = {};
    args.operands = operands;
    args.row_strides = strides;
    args.rows = count;
    args.columns = read_columns_;
    kernel_->run(args);
}

void PictureSource::copy(const float* from, std::int64_t planes, float* to) const noexcept {
    const std::int64_t plane = rows_ * columns_;
    to += begin_;
    if (planes < read_rows_) {
        for (std::int64_t p = 0; p < planes; ++p)
            copy_rows(from + p * plane, columns_, read_rows_, to + p * plane_, row_);
    } else {  // small planes: a row of all of them at once
        for (std::int64_t r = 0; r < read_rows_; ++r)
            copy_rows(from + r * columns_, plane, planes, to + r * row_, plane_);
    }
}

}  // namespace volta::cpu
