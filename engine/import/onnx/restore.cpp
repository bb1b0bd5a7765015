#include "engine/import/onnx/restore.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/import/onnx/export_onnx.h"
#include "engine/import/onnx/stored_parts.h"
#include "engine/import/onnx/wire_writer.h"
#include "engine/import/onnx/writer.h"
#include "engine/model/description.h"
#include "engine/numerics/stored_weights.h"

namespace volta::onnx {
namespace {

template <class View>
bool are_equal(const std::pmr::vector<View>& a, const std::pmr::vector<View>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const View& x, const View& y) { return x.message == y.message; });
}

// That the file has the nodes, inputs and outputs which the model is written as.
bool is_written_so(const Writer& writer, const FileView& file, std::pmr::memory_resource* heap) {
    std::pmr::string graph(writer.nodes(), heap), message(heap);
    FieldWriter(message).bytes(7, graph += writer.ports());
    const FileView written = read_file_view(message, heap);
    return are_equal(written.nodes, file.nodes) && are_equal(written.inputs, file.inputs) &&
           are_equal(written.outputs, file.outputs);
}

// The file's tensor of each initialiser; empty: one is missing, or is something else.
std::pmr::vector<const TensorView*> find_tensors(const Writer& writer, const FileView& file,
                                                 std::pmr::memory_resource* heap) {
    std::pmr::vector<const TensorView*> given(heap), found(heap);
    for (const TensorView& tensor : file.initializers) given.push_back(&tensor);
    const auto before = [](const TensorView* a, const TensorView* b) { return a->name < b->name; };
    // The first of a name is the one that counts: they lie in one array.
    std::sort(given.begin(), given.end(), [&](const TensorView* a, const TensorView* b) {
        return before(a, b) || (a->name == b->name && a < b);
    });
    for (const Initializer& wanted : writer.initializers()) {
        TensorView key;
        key.name = wanted.name;
        const auto at = std::lower_bound(given.begin(), given.end(), &key, before);
        if (at == given.end() || (*at)->name != key.name || (*at)->type != wanted.type ||
            (*at)->shape != wanted.shape)
            return std::pmr::vector<const TensorView*>(heap);
        found.push_back(*at);
    }
    return found;
}

// Of a weight [n, k] stored as int8, one of its parts.
void fill_part(Part part, const TensorView& tensor, ExternalFiles& files, const Shape& weight,
               unsigned char* to, std::pmr::memory_resource* heap) {
    const auto count = static_cast<std::size_t>(tensor.shape.elements());
    std::pmr::vector<float> scales(part == Part::scales ? count : 0, 0, heap);
    std::pmr::vector<std::int32_t> integers(part == Part::scales ? 0 : count, 0, heap);
    if (part == Part::scales)
        fill_reals(tensor, files, scales.data());
    else
        fill_integers(tensor, files, integers.data());
    std::size_t at = 0;
    for (std::int64_t row = 0; row < tensor.shape[0]; ++row)
        for (std::int64_t i = 0; i < tensor.shape[1]; ++i, ++at) {
            if (part == Part::scales)
                store_u16(to + scale_place(row, i, weight[1]), f16_from_f32(scales[at]));
            else
                to[integer_place(row, i, weight[1])] = static_cast<unsigned char>(integers[at] & 255);
        }
}

// The model that the file describes and the nodes that it is written as; false: not this file.
class Restoring {
  public:
    Restoring(const FileView& file, int opset, std::size_t file_bytes, std::pmr::memory_resource* structures,
              std::pmr::memory_resource* tensors)
        : heap_(structures) {
        if (file.description.empty() || !is_written(opset)) return;
        try {
            HeapPtr<Model> model = read_description(file.description, file.constants, structures, tensors);
            writer_.emplace(model->graph, opset, file.nodes.size(), file_bytes, structures);
            writer_->write();
            tensors_ = find_tensors(*writer_, file, structures);
            if (!is_written_so(*writer_, file, structures) ||
                tensors_.size() != writer_->initializers().size())
                return;
            model_ = std::move(model);
        } catch (const Error&) {  // what it says of itself is wrong: then it is a file like any other
        }
    }

    HeapPtr<Model> graph() { return std::move(model_); }

    HeapPtr<Model> filled(ExternalFiles& files, const Stop& stop) {
        if (model_ == nullptr) return nullptr;
        for (const TensorView* tensor : tensors_) check_elements(*tensor, files);
        model_->allocate_parameters(writer_->initializers().size() > model_->parameters.size());
        for (std::size_t i = 0; i < tensors_.size(); ++i) {
            stop.ask("tensor", i, tensors_.size());
            const Initializer& part = writer_->initializers()[i];
            void* const to = model_->place_of(part.parameter);
            if (part.part == Part::elements)
                fill_reals(*tensors_[i], files, static_cast<float*>(to));
            else
                fill_part(part.part, *tensors_[i], files, model_->parameters[part.parameter].shape,
                          static_cast<unsigned char*>(to), heap_);
        }
        return std::move(model_);
    }

  private:
    std::pmr::memory_resource* heap_;
    std::pmr::vector<const TensorView*> tensors_{heap_};
    std::optional<Writer> writer_;
    HeapPtr<Model> model_;
};

}  // namespace

HeapPtr<Model> restore_graph(const FileView& file, int opset, std::size_t file_bytes,
                             std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors) {
    return Restoring(file, opset, file_bytes, structures, tensors).graph();
}

HeapPtr<Model> restore_model(const FileView& file, ExternalFiles& files, int opset, std::size_t file_bytes,
                             std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors,
                             const Stop& stop) {
    return Restoring(file, opset, file_bytes, structures, tensors).filled(files, stop);
}

}  // namespace volta::onnx
