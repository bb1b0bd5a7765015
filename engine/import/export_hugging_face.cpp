// Parameters in the names and layouts of Hugging Face: the key maps of import, read from right to left.
#include <algorithm>
#include <vector>

#include "engine/base/error.h"
#include "engine/import/export_config.h"
#include "engine/import/export_pieces.h"
#include "engine/import/export_safetensors.h"
#include "engine/import/safetensors_header.h"

namespace volta {
namespace {

Architecture architecture_of(const Model& model) {
    const std::pmr::string* kind = model.find_metadata("volta.architecture");
    if (kind == nullptr) fail(VOLTA_UNSUPPORTED, "a graph of the host's own has no names in another program");
    Architecture architecture = architecture_from_texts(model.metadata);
    if (const auto* network = std::get_if<NetworkConfig>(&architecture))
        fail(VOLTA_UNSUPPORTED,
             "a %s has no names of Hugging Face, but PyTorch's as its own: export it with them",
             network->network->name);
    if (std::holds_alternative<DecoderConfig>(architecture))
        fail(VOLTA_UNSUPPORTED,
             "of decoders, GPT-2 and Llama as transformers has them are written with the names of Hugging "
             "Face; "
             "this one is neither");
    const auto* llama = std::get_if<LlamaConfig>(&architecture);
    if (llama != nullptr && llama->interleaved)
        fail(VOLTA_UNSUPPORTED,
             "its rotary pairs are neighbours (interleaved 1), those of Hugging Face's Llama are not");
    return architecture;
}

void write_piece(AtomicFile& file, const Piece& piece, std::pmr::vector<float>& lines) {
    const Shape shape = piece.shape();
    for (std::int64_t first = 0; first < shape.rows(); first += kPieceRows) {
        const std::int64_t count = std::min(kPieceRows, shape.rows() - first);
        lines.resize(static_cast<std::size_t>(count * shape.last()));
        piece.read_rows(first, count, lines.data());
        file.write(lines.data(), lines.size() * sizeof(float));
    }
}

}  // namespace

void export_hugging_face(const Model& model, const char* path, const char* config_path,
                         std::pmr::memory_resource* heap, const Stop& stop) {
    require_f32(model);
    const Architecture architecture = architecture_of(model);
    const Naming& naming = find_naming("huggingface", model.find_metadata("volta.architecture")->c_str());
    const std::pmr::vector<Piece> pieces = pieces_of(model, naming, architecture, heap);
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
