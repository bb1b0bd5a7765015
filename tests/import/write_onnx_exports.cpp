// Writes models as ONNX files into a folder, with inputs and what Volta gives of them, for other readers:
//     onnx_exports FOLDER
// "manifest.txt" has a line for each: "model NAME", then "input" or "output" with name, type, extents and
// file.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "engine/import/onnx/export_onnx.h"
#include "engine/model/quantize.h"
#include "tests/import/random_graphs.h"
#include "tests/import/run_model.h"
#include "tests/model/test_heap.h"

namespace {
using namespace volta;
using namespace volta::test;

class Folder {
  public:
    explicit Folder(const char* path) : path_(path), manifest_(path_ + "/manifest.txt") {}

    void add(const std::string& name, const Model& model, int opset, std::pmr::memory_resource* heap) {
        const std::string whole = name + "_" + std::to_string(opset);
        onnx::OnnxExport options;
        options.opset = opset;
        onnx::export_onnx(model, (path_ + "/" + whole + ".onnx").c_str(), options, heap);
        manifest_ << "model " << whole << "\n";
        const ModelRun run = run_model(model, heap);
        for (const ModelTensor& tensor : run.inputs) add("input", whole, tensor);
        for (const ModelTensor& tensor : run.outputs) add("output", whole, tensor);
    }
    bool is_written() { return static_cast<bool>(manifest_.flush()); }

  private:
    void add(const char* what, const std::string& model, const ModelTensor& tensor) {
        const std::string file = model + "." + std::to_string(files_++) + ".raw";
        manifest_ << what << " " << tensor.name << " " << (tensor.dtype == DType::f32 ? "f32" : "i32") << " ";
        for (int axis = 0; axis < tensor.shape.rank; ++axis)
            manifest_ << (axis > 0 ? "x" : "") << tensor.shape[axis];
        manifest_ << (tensor.shape.rank == 0 ? "scalar " : " ") << file << "\n";
        std::ofstream raw(path_ + "/" + file, std::ios::binary);
        raw.write(reinterpret_cast<const char*>(tensor.real.data()),
                  static_cast<std::streamsize>(tensor.real.size() * 4));
        raw.write(reinterpret_cast<const char*>(tensor.integer.data()),
                  static_cast<std::streamsize>(tensor.integer.size() * 4));
    }
    std::string path_;
    std::ofstream manifest_;
    int files_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: onnx_exports FOLDER\n");
        return 2;
    }
    TestHeap heap;
    Folder folder(argv[1]);
    constexpr int kOpsets[] = {13, 17, 20, 21};
    try {
        for (const NamedModel& built : built_models(heap.structures(), heap.tensors())) {
            for (const int opset : kOpsets) folder.add(built.name, *built.model, opset, heap.structures());
            if (built.name == "gpt" || built.name == "llama")
                folder.add(built.name + "_int8",
                           *quantize(*built.model, DType::int8, heap.structures(), heap.tensors()), 21,
                           heap.structures());
        }
        for (int i = 0; i < kRandomGraphs; ++i) {
            const NamedModel made = random_model(i, heap.structures(), heap.tensors());
            folder.add(made.name, *made.model, kOpsets[i % 4], heap.structures());
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return folder.is_written() ? 0 : 1;
}
