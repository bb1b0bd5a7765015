#include "engine/runtime/decode_angles.h"

#include <algorithm>

#include "engine/base/fp_environment.h"
#include "engine/base/multiples.h"
#include "engine/runtime/decode_graph.h"

namespace volta {
namespace {
constexpr std::int64_t kRowsAtOnce = 256;  // a millisecond
}

DecodeAngles::DecodeAngles(Context& context, const Graph& model, std::int64_t capacity)
    : tables_(context.structures()) {
    const Graph graph = graph_of_rows(model, 1, context.structures());
    std::size_t bytes = 0;
    for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes.size()); ++id) {
        if (!has_lent_angles(graph, id)) continue;
        const Node& node = graph.node(id);
        Table& table = tables_.emplace_back();
        table.rows = std::min(graph.shape(node.first_output)[0], capacity);
        table.width = graph.shape(node.first_output)[1];
        table.offset = bytes;
        table.base = node.number(Attr::base);
        table.scale = node.number(Attr::scale);
        if (!node.inputs.empty()) graph.read_constant(node.inputs[0], table.frequencies);
        bytes +=
            round_up(static_cast<std::size_t>(table.rows * table.width) * sizeof(float), kTensorAlignment);
    }
    if (bytes > 0) content_ = Exchange(context.memory(), context.staging(), bytes);
}

void DecodeAngles::lend_to(DecodeProgram& program) const {
    char name[kAngleNameBytes];
    for (std::size_t i = 0; i < tables_.size(); ++i) {
        write_angle_name(static_cast<int>(i), name);
        program.lend(RegionKind::state, name, content_.device(tables_[i].offset));
    }
}

void DecodeAngles::cover(const Program& program, std::int64_t positions) {
    if (positions <= filled_ || tables_.empty()) return;
    const std::int64_t last = round_up(positions, kRowsAtOnce);
    const ContractScope contract;
    for (const Table& table : tables_) {
        const std::int64_t first = std::min(filled_, table.rows), end = std::min(last, table.rows);
        if (first == end) continue;
        fill(table, end);
        const auto row_bytes = static_cast<std::size_t>(table.width) * sizeof(float);
        Exchange::Span span;
        span.add(table.offset + static_cast<std::size_t>(first) * row_bytes,
                 static_cast<std::size_t>(end - first) * row_bytes);
        if (!program.memory().is_host()) program.require_ran(content_.send(span));
    }
    filled_ = last;
}

void DecodeAngles::fill(const Table& table, std::int64_t last) const {
    RotaryAngles<float> angles;
    angles.base = table.base;
    angles.scale = table.scale;
    if (!table.frequencies.empty()) angles.frequencies = table.frequencies.data();
    define::rotary_rows(std::min(filled_, table.rows), last, table.width, angles,
                        static_cast<float*>(content_.host(table.offset)));
}

}  // namespace volta
