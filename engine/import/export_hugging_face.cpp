// Parameters in the names and layouts of Hugging Face: the key maps of import, read from right to left.
#include <algorithm>
#include <vector>

#include "engine/base/error.h"
#include "engine/import/export_config.h"
#include "engine/import/export_safetensors.h"
#include "engine/import/safetensors_header.h"
#include "engine/model/text.h"

namespace volta {
namespace {

// One tensor of the file: columns of a parameter, turned or not.
struct Piece {
    std::pmr::string name;
    const NamedTensor* parameter;
    ColumnSpan span;
    bool transposed;

    Shape shape() const {
        if (parameter->shape.rank < 2) return Shape{span.width};
        const std::int64_t rows = parameter->shape.rows();
        return transposed ? Shape{span.width, rows} : Shape{rows, span.width};
    }
};

Architecture architecture_of(const Model& model) {
    const std::pmr::string* kind = model.find_metadata("volta.architecture");
    if (kind == nullptr) fail(VOLTA_UNSUPPORTED, "a graph of the host's own has no names in another program");
    Architecture architecture = architecture_from_texts(model.metadata);
    if (const auto* network = std::get_if<NetworkConfig>(&architecture))
        fail(VOLTA_UNSUPPORTED,
             "a %s has no names of Hugging Face, but PyTorch's as its own: export it with them",
             network->network->name);
    const auto* llama = std::get_if<LlamaConfig>(&architecture);
    if (llama != nullptr && llama->interleaved)
        fail(VOLTA_UNSUPPORTED,
             "its rotary pairs are neighbours (interleaved 1), those of Hugging Face's Llama are not");
    return architecture;
}

std::pmr::string file_name(const Naming& naming, std::string_view name, std::pmr::memory_resource* heap) {
    std::pmr::string whole(heap);
    const auto begins = [&](std::string_view part) { return name.substr(0, part.size()) == part; };
    if (std::none_of(std::begin(kOutsidePrefix), std::end(kOutsidePrefix), begins)) whole = naming.prefix;
    whole += name;
    return whole;  // the string itself: a copy would be of the default heap
}

// Every piece of a parameter once: by the first rule for it, where old files have a second name.
void add_pieces(const Naming& naming, const Architecture& architecture, const NamedTensor& parameter,
                std::pmr::vector<Piece>& pieces, std::pmr::memory_resource* heap) {
    std::int64_t columns = 0;
    for (const KeyRule* rule = naming.rules; rule != naming.rules + naming.rule_count; ++rule) {
        const auto layer = match_pattern(rule->parameter, parameter.name);
        if (rule->parameter.empty() || !layer) continue;
        const ColumnSpan span = columns_of(architecture, rule->part, parameter.shape.last());
        if (span.first != columns) continue;
        columns += span.width;
        pieces.push_back({file_name(naming, fill_pattern(rule->pattern, *layer, heap), heap), &parameter,
                          span, rule->transposed && parameter.shape.rank == 2});
    }
    const ShownName name = shown(parameter.name);
    if (columns != parameter.shape.last())
        fail(VOLTA_INTERNAL, "parameter '%.*s' has no name for column %lld", name.bytes, name.text,
             static_cast<long long>(columns));
}

constexpr std::int64_t kLines = 32;  // of a transposed piece at a time: what one cache line and more holds

void write_piece(AtomicFile& file, const Piece& piece, std::pmr::vector<float>& lines) {
    const auto* const values = static_cast<const float*>(piece.parameter->data);
    const std::int64_t rows = piece.parameter->shape.rows(), columns = piece.parameter->shape.last();
    const auto write = [&](const float* from, std::int64_t count) {
        file.write(from, static_cast<std::size_t>(count) * sizeof(float));
    };
    if (!piece.transposed) {
        for (std::int64_t row = 0; row < rows; ++row)
            write(values + row * columns + piece.span.first, piece.span.width);
        return;
    }
    lines.resize(static_cast<std::size_t>(kLines * rows));
    for (std::int64_t first = 0; first < piece.span.width; first += kLines) {
        const std::int64_t count = std::min(kLines, piece.span.width - first);
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t i = 0; i < count; ++i)
                lines[static_cast<std::size_t>(i * rows + row)] =
                    values[row * columns + piece.span.first + first + i];
        write(lines.data(), count * rows);
    }
}

}  // namespace

void export_hugging_face(const Model& model, const char* path, const char* config_path,
                         std::pmr::memory_resource* heap, const Stop& stop) {
    require_f32(model);
    const Architecture architecture = architecture_of(model);
    const Naming& naming = find_naming("huggingface", model.find_metadata("volta.architecture")->c_str());
    std::pmr::vector<Piece> pieces(heap);
    for (const NamedTensor& parameter : model.parameters)
        add_pieces(naming, architecture, parameter, pieces, heap);
    SafetensorsHeader header(heap);
    header.add_text("format", "pt");
    for (const Piece& piece : pieces) header.add_tensor(piece.name, piece.shape());
    AtomicFile file(path, heap, stop);
    write_header(file, header.finish());
    std::pmr::vector<float> lines(heap);
    for (const Piece& piece : pieces) write_piece(file, piece, lines);
    file.commit();
    if (config_path == nullptr) return;
    const std::pmr::string config = config_json(architecture, heap);
    AtomicFile json(config_path, heap);
    json.write(config.data(), config.size());
    json.commit();
}

}  // namespace volta
