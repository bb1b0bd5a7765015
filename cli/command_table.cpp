// The command table of voltac.
#include "cli/bench.h"
#include "cli/commands.h"

namespace voltac {

const std::vector<Command>& commands() {
    static const std::vector<Command> table = {
        {"train",
         "train --text PATH | --jsonl FILE | --dataset KIND --data PATH [--from MODEL] --out FILE [options]",
         "train a model on a text or on pictures, a new one or one that is there; the file it writes is also "
         "the "
         "checkpoint",
         run_train},
        {"launch", "launch -n N [options] -- train ...",
         "train with several processes of this machine, to the bits of one", run_launch},
        {"generate", "generate MODEL --prompt TEXT | --prompt-file FILE [options]",
         "write text with a trained model", run_generate},
        {"chat", "chat MODEL [options]", "a conversation with a model: a line in, an answer out", run_chat},
        {"tokenize", "tokenize MODEL TEXT | --file FILE [--decode]", "a text as tokens, and back",
         run_tokenize},
        {"eval", "eval MODEL --text PATH | --dataset KIND --data PATH",
         "loss, perplexity and bits per byte on a text; or how many pictures are right", run_eval},
        {"classify", "classify MODEL PICTURE...", "the likeliest classes of pictures", run_classify},
        {"run", "run MODEL --input NAME=FILE.npy ... --out FOLDER", "any model on files of NumPy", run_run},
        {"embed", "embed MODEL --text FILE --out FILE.npy [--pool mean|first|max]",
         "a vector for each line of a text, by a language model", run_embed},
        {"convert",
         "convert FILE --out FILE [--tokenizer FILE] [--weights TYPE] [--model-config FILE] [--shape "
         "NAME=AxB] "
         "[--fold-batch-norm]",
         "a model of another program becomes a model file, or a model file safetensors or ONNX", run_convert},
        {"quantize", "quantize MODEL --to bf16|f16|int8|int4|f32_panels --out FILE",
         "store the weights in fewer bits, or for reading", run_quantize},
        {"merge", "merge BASE ADAPTER --out FILE", "add LoRA adapters to the weights of their base",
         run_merge},
        {"checkpoint", "checkpoint merge|split|verify ...",
         "checkpoints in parts: one file of them, parts of a file, and whether all is whole", run_checkpoint,
         checkpoint_commands},
        {"info", "info MODEL [--json] [--verify]",
         "architecture, tensors, sizes, memory bill, determinism level; of an ONNX file its operators",
         run_info},
        {"plan", "plan MODEL | --preset NAME [--batch N,...] [--seq N,...] [--memory BYTES] [options]",
         "what training needs before anything runs: memory, time, what is computed again, the largest batch",
         run_plan},
        {"hash", "hash MODEL", "128-bit hash of all parameter bits in name order", run_hash},
        {"bench", "bench matmul|train|infer|ops|memory [options]", "measure this machine, and Volta on it",
         run_bench, bench::benchmarks},
        {"tune", "tune matmul [--dim N|--shapes MxNxK,...|--model FILE]",
         "measure the fastest way through matrix products on this machine", run_tune, tunings},
        {"doctor", "doctor", "what this machine can do, and whether its bits are those of every machine",
         run_doctor},
        {"version", "version", "version of the program and of the numeric contract", run_version},
        {"help", "help [COMMAND]", "this text, or a command's options", nullptr},
    };
    return table;
}

}  // namespace voltac
