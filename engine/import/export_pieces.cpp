#include "engine/import/export_pieces.h"

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/model/text.h"
#include "engine/numerics/stored_weights.h"

namespace volta {
namespace {

std::pmr::string file_name(const Naming& naming, std::string_view name, std::pmr::memory_resource* heap) {
    std::pmr::string whole(heap);
    const auto begins = [&](std::string_view part) { return name.substr(0, part.size()) == part; };
    if (std::none_of(std::begin(kOutsidePrefix), std::end(kOutsidePrefix), begins)) whole = naming.prefix;
    whole += name;
    return whole;  // the string itself: a copy would be of the default heap
}

// A packed weight of products, [outputs, inputs], has its outputs as columns, as the f32 one has.
std::int64_t columns_of(const NamedTensor& parameter, bool transposed) {
    return is_stored(parameter.dtype) && transposed ? parameter.shape[0] : parameter.shape.last();
}

void add_pieces(const Naming& naming, const Architecture& architecture, const NamedTensor& parameter,
                std::pmr::vector<Piece>& pieces, std::pmr::memory_resource* heap) {
    std::int64_t columns = 0, wanted = parameter.shape.last();
    for (std::size_t i = 0; i < naming.count(); ++i) {
        const KeyRule& rule = naming.rule(i);
        const auto layer = match_pattern(rule.parameter, parameter.name);
        if (rule.parameter.empty() || !layer) continue;
        const bool transposed = rule.transposed && parameter.shape.rank == 2;
        wanted = columns_of(parameter, transposed);
        const ColumnSpan span = volta::columns_of(architecture, rule.part, wanted);
        if (span.first != columns) continue;
        columns += span.width;
        pieces.push_back({file_name(naming, fill_pattern(rule.pattern, *layer, heap), heap), &parameter, span,
                          transposed});
    }
    const ShownName name = shown(parameter.name);
    if (columns != wanted)
        fail(VOLTA_UNSUPPORTED, "parameter '%.*s' has no name in files of %s", name.bytes, name.text,
             naming.name);
}

void read_stored(const Piece& piece, std::int64_t first, std::int64_t count, float* out) {
    const NamedTensor& parameter = *piece.parameter;
    const StoredWeights stored = {parameter.dtype, static_cast<const unsigned char*>(parameter.data),
                                  parameter.shape[0], parameter.shape[1]};
    const std::int64_t before = piece.transposed ? piece.span.first : 0;
    for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t p = 0; p < stored.k; ++p)
            *out++ = stored.element(before + piece.source_of(first + i), p);
}

}  // namespace

Shape Piece::shape() const {
    if (parameter->shape.rank < 2) return Shape{span.width};
    if (is_stored(parameter->dtype))
        return transposed ? Shape{span.width, parameter->shape[1]} : parameter->shape;
    const std::int64_t rows = parameter->shape.rows();
    return transposed ? Shape{span.width, rows} : Shape{rows, span.width};
}

void Piece::read_rows(std::int64_t first, std::int64_t count, float* out) const {
    if (is_stored(parameter->dtype)) return read_stored(*this, first, count, out);
    const auto* const values = static_cast<const float*>(parameter->data);
    const std::int64_t rows = parameter->shape.rows(), columns = parameter->shape.last();
    if (parameter->shape.rank < 2) {
        for (std::int64_t i = 0; i < span.width; ++i) out[i] = values[span.first + source_of(i)];
        return;
    }
    for (std::int64_t i = 0; i < count && !transposed; ++i)
        std::memcpy(out + i * span.width, values + source_of(first + i) * columns + span.first,
                    static_cast<std::size_t>(span.width) * sizeof(float));
    for (std::int64_t row = 0; row < rows && transposed; ++row)
        for (std::int64_t i = 0; i < count; ++i)
            out[i * rows + row] = values[row * columns + span.first + source_of(first + i)];
}

std::pmr::vector<Piece> pieces_of(const Model& model, const Naming& naming, const Architecture& architecture,
                                  std::pmr::memory_resource* heap) {
    std::pmr::vector<Piece> pieces(heap);
    for (const NamedTensor& parameter : model.parameters)
        add_pieces(naming, architecture, parameter, pieces, heap);
    return pieces;
}

}  // namespace volta
