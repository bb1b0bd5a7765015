#include "engine/import/onnx/export_onnx.h"

#include <cstdio>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/import/onnx/stored_parts.h"
#include "engine/import/onnx/wire_writer.h"
#include "engine/import/onnx/writer.h"
#include "engine/model/description.h"
#include "engine/numerics/stored_weights.h"

namespace volta::onnx {
namespace {

// Of a protobuf message, and of what readers take.
constexpr std::uint64_t kMostBytes = INT32_MAX;
constexpr std::uint64_t kExternalAlignment = 4096;  // a page: readers map it
constexpr char kExternalEnding[] = ".data";

struct OpsetRow {
    int opset, ir_version;
};
constexpr OpsetRow kOpsets[] = {{13, 7}, {17, 8}, {20, 9}, {21, 10}};

class Exporter {
  public:
    Exporter(const Model& model, const char* path, const OnnxExport& options, std::pmr::memory_resource* heap)
        : model_(model),
          path_(path),
          options_(options),
          heap_(heap),
          writer_(model.graph, options.opset, kMostNodes, kMostBytes, heap),
          heads_(heap) {}

    void run() {
        writer_.write();
        std::pmr::string front(heap_), back(heap_);
        add_texts(back);
        std::uint64_t data_bytes = 0, graph_bytes = 0;
        for (const Initializer& tensor : writer_.initializers()) data_bytes += tensor.bytes();
        const std::uint64_t other_bytes = writer_.nodes().size() + writer_.ports().size() + back.size() +
                                          writer_.initializers().size() * 512 + 4096;
        if (other_bytes > kMostBytes)
            fail(VOLTA_UNSUPPORTED, "its nodes and texts have more than the %llu bytes of an ONNX file",
                 static_cast<unsigned long long>(kMostBytes));
        std::uint64_t most = kMostBytes - other_bytes;
        if (options_.inline_bytes > 0 && options_.inline_bytes < most) most = options_.inline_bytes;
        is_external_ = data_bytes > most;
        std::pmr::string name(heap_);
        FieldWriter(name).bytes(2, "volta");
        graph_bytes = add_heads() + writer_.nodes().size() + name.size() + writer_.ports().size();

        FieldWriter fields(front);
        for (const OpsetRow& row : kOpsets)
            if (row.opset == options_.opset) fields.integer(1, row.ir_version);
        fields.bytes(2, "Volta");
        fields.bytes(3, VOLTA_VERSION_TEXT);
        fields.head(7, graph_bytes);
        if (is_external_) write_external();
        AtomicFile file(path_, heap_,
                        is_external_ ? kNeverStops : *options_.stop);  // the file beside is in place
        write(file, front);
        write(file, writer_.nodes());
        write(file, name);
        for (std::size_t i = 0; i < heads_.size(); ++i) {
            write(file, heads_[i]);
            if (!is_external_) write_elements(file, writer_.initializers()[i]);
        }
        write(file, writer_.ports());
        write(file, back);
        file.commit();
    }

  private:
    static void write(AtomicFile& file, const std::pmr::string& text) {
        file.write(text.data(), text.size());
    }

    // opset_import and metadata_props.
    void add_texts(std::pmr::string& to) {
        std::pmr::string opset(heap_);
        FieldWriter(opset).bytes(1, "");
        FieldWriter(opset).integer(2, options_.opset);
        FieldWriter(to).bytes(8, opset);
        const auto add = [&](std::string_view key, std::string_view value) {
            std::pmr::string entry(heap_);
            FieldWriter(entry).bytes(1, key);
            FieldWriter(entry).bytes(2, value);
            FieldWriter(to).bytes(14, entry);
        };
        for (const Metadata& text : model_.metadata) add(text.key, text.value);
        if (model_.tokenizer) add("volta.tokenizer", tokenizer_kind_name(model_.tokenizer->kind()));
        const Description description = describe(model_, heap_);
        add(kModelKey, description.model);
        if (!description.constants.empty()) add(kConstantsKey, description.constants);
    }

    // A TensorProto up to its elements, as field 5 of the graph. Returns the bytes of all of them.
    std::uint64_t add_heads() {
        std::uint64_t total = 0;
        for (const Initializer& tensor : writer_.initializers()) {
            std::pmr::string message(heap_), head(heap_);
            FieldWriter fields(message);
            for (int axis = 0; axis < tensor.shape.rank; ++axis) fields.integer(1, tensor.shape[axis]);
            fields.integer(2, static_cast<std::int64_t>(tensor.type));
            fields.bytes(8, tensor.name);
            const std::uint64_t bytes = tensor.bytes(), own = is_external_ ? 0 : bytes;
            if (is_external_)
                add_place(fields, bytes);
            else
                fields.head(9, bytes);
            FieldWriter(head).head(5, message.size() + own);
            head += message;
            total += head.size() + own;
            heads_.push_back(std::move(head));
        }
        return total;
    }

    void add_place(FieldWriter& fields, std::uint64_t bytes) {
        external_end_ = (external_end_ + kExternalAlignment - 1) / kExternalAlignment * kExternalAlignment;
        const std::string_view path(path_);
        const std::pmr::string location(path.substr(path.rfind('/') + 1), heap_);
        const auto add = [&](const char* key, std::string_view value, const char* ending) {
            std::pmr::string entry(heap_), whole(value, heap_);
            FieldWriter(entry).bytes(1, key);
            FieldWriter(entry).bytes(2, whole += ending);
            fields.bytes(13, entry);
        };
        char number[24];
        add("location", location, kExternalEnding);
        std::snprintf(number, sizeof number, "%llu", static_cast<unsigned long long>(external_end_));
        add("offset", number, "");
        std::snprintf(number, sizeof number, "%llu", static_cast<unsigned long long>(bytes));
        add("length", number, "");
        fields.integer(14, 1);
        external_end_ += bytes;
    }

    void write_external() {
        static constexpr char kZeros[kExternalAlignment] = {};
        AtomicFile file((std::pmr::string(path_, heap_) += kExternalEnding).c_str(), heap_, *options_.stop);
        for (const Initializer& tensor : writer_.initializers()) {
            const std::uint64_t over = file.written() % kExternalAlignment;
            if (over > 0) file.write(kZeros, static_cast<std::size_t>(kExternalAlignment - over));
            write_elements(file, tensor);
        }
        file.commit();
    }

    void write_elements(AtomicFile& file, const Initializer& tensor) {
        const NamedTensor& parameter = model_.parameters[tensor.parameter];
        const auto* const bytes = static_cast<const unsigned char*>(parameter.data);
        if (tensor.part == Part::elements) {
            if (tensor.bytes() > 0) file.write(bytes, static_cast<std::size_t>(tensor.bytes()));
            return;
        }
        const std::int64_t columns = tensor.shape[1], k = parameter.shape[1];
        std::pmr::vector<float> scales(static_cast<std::size_t>(columns), 0, heap_);
        std::pmr::vector<unsigned char> integers(static_cast<std::size_t>(columns), 0, heap_);
        const bool has_scales = tensor.part == Part::scales;
        for (std::int64_t row = 0; row < tensor.shape[0]; ++row) {
            for (std::int64_t i = 0; i < columns; ++i) {
                const auto at = static_cast<std::size_t>(i);
                if (has_scales)
                    scales[at] = f32_from_f16(load_u16(bytes + scale_place(row, i, k)));
                else
                    integers[at] = bytes[integer_place(row, i, k)];
            }
            if (has_scales)
                file.write(scales.data(), scales.size() * sizeof(float));
            else
                file.write(integers.data(), integers.size());
        }
    }

    const Model& model_;
    const char* path_;
    const OnnxExport& options_;
    std::pmr::memory_resource* heap_;
    Writer writer_;
    std::pmr::vector<std::pmr::string> heads_;
    bool is_external_ = false;
    std::uint64_t external_end_ = 0;
};

}  // namespace

bool is_written(int opset) {
    for (const OpsetRow& row : kOpsets)
        if (row.opset == opset) return true;
    return false;
}

void export_onnx(const Model& model, const char* path, const OnnxExport& options,
                 std::pmr::memory_resource* heap) {
    Exporter(model, path, options, heap).run();
}

}  // namespace volta::onnx
