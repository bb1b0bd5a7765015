// Writes tests/golden/models anew: build the target write_golden_models and run it with the folder. The valid
// files of a release are never written again (schemas/README.md); this is for a new minor version's.
#include <cstdio>
#include <string>

#include "engine/base/error.h"
#include "engine/model/gpt.h"
#include "engine/model/model_file.h"
#include "tests/model/defects.h"
#include "tests/model/model_editor.h"
#include "tests/model/sample_models.h"
#include "tests/model/test_heap.h"

using namespace volta;
using namespace volta::test;

int main(int count, char** arguments) {
    if (count != 3) return std::fprintf(stderr, "write_golden_models GOLDEN-FOLDER SEED-FOLDER\n"), 2;
    const std::string folder = arguments[1], seeds = arguments[2];
    TestHeap heap;
    try {
        const auto write = [&](const std::string& path, const Model& model) {
            SaveSource source;
            source.model = &model;
            write_model(source, path.c_str(), heap.structures());
        };
        write(folder + "/gpt_v1.0.volta", *make_golden_gpt(heap.structures(), heap.tensors()));
        write(folder + "/graph_v1.0.volta", *make_golden_graph(heap.structures(), heap.tensors()));
        write(folder + "/bpe_v1.1.volta", *make_golden_bpe(heap.structures(), heap.tensors()));
        write(folder + "/spm_v1.1.volta", *make_golden_spm(heap.structures(), heap.tensors()));
        write(folder + "/wordpiece_v1.1.volta", *make_golden_wordpiece(heap.structures(), heap.tensors()));
        write(folder + "/bf16_v1.2.volta", *make_golden_bf16(heap.structures(), heap.tensors()));
        write(folder + "/f16_v1.2.volta", *make_golden_f16(heap.structures(), heap.tensors()));
        write(folder + "/int8_v1.2.volta", *make_golden_int8(heap.structures(), heap.tensors()));
        write(folder + "/int4_v1.2.volta", *make_golden_int4(heap.structures(), heap.tensors()));
        write(folder + "/repeatable_bf16_v1.3.volta",
              *make_golden_repeatable_bf16(heap.structures(), heap.tensors()));
        write(folder + "/fast_tf32_v1.3.volta", *make_golden_fast_tf32(heap.structures(), heap.tensors()));
        write(folder + "/f32_panels_v1.4.volta", *make_golden_f32_panels(heap.structures(), heap.tensors()));
        write(folder + "/stepped_bpe_v1.5.volta",
              *make_golden_stepped_bpe(heap.structures(), heap.tensors()));
        write(folder + "/unigram_v1.5.volta", *make_golden_unigram(heap.structures(), heap.tensors()));
        write(folder + "/sentencepiece_v1.5.volta",
              *make_golden_sentencepiece(heap.structures(), heap.tensors()));
        write(seeds + "/graph", *make_golden_graph(heap.structures(), heap.tensors()));
        // Mutations of small files are fast.
        GptConfig config;
        config.vocabulary = 256;
        config.layers = config.heads = 1;
        config.dim = config.context = 2;
        config.dropout = 0.5;
        const auto gpt = create_gpt(config, 1, heap.structures(), heap.tensors());
        gpt->tokenizer.emplace(Tokenizer::make_byte(heap.structures()));
        gpt->training.emplace(heap.structures());
        write(seeds + "/gpt", *gpt);
    } catch (const Error& error) {
        return std::fprintf(stderr, "%s\n", error.what()), 1;
    }
    const std::string gpt = read_bytes(folder + "/gpt_v1.0.volta"),
                      graph = read_bytes(folder + "/graph_v1.0.volta");
    for (int i = 0; i < kDefectCount; ++i)
        if (kDefects[i].committed)
            write_bytes(folder + "/" + broken_path(kDefects[i]),
                        make_broken(kDefects[i], kDefects[i].base == Base::gpt ? gpt : graph));
    return 0;
}
