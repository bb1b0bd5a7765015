// voltac: the command table, and the one place where a failure becomes a line and an exit status.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/suggest.h"
#include "cli/text.h"

namespace {

using namespace voltac;
using Words = std::vector<std::string>;

constexpr Command kCommands[] = {
    {"train", "train --text PATH | --dataset KIND --data PATH [--from MODEL] --out FILE [options]",
     "train a model on a text or on pictures, a new one or one that is there; the file it writes is also the "
     "checkpoint",
     run_train},
    {"generate", "generate MODEL --prompt TEXT [options]", "write text with a trained model", run_generate},
    {"eval", "eval MODEL --text PATH | --dataset KIND --data PATH",
     "loss, perplexity and bits per byte on a text; or how many pictures are right", run_eval},
    {"classify", "classify MODEL PICTURE...", "the likeliest classes of pictures", run_classify},
    {"run", "run MODEL --input NAME=FILE.npy ... --out FOLDER", "any model on files of NumPy", run_run},
    {"embed", "embed MODEL --text FILE --out FILE.npy [--pool mean|first|max]",
     "a vector for each line of a text, by a language model", run_embed},
    {"convert",
     "convert FILE --out FILE [--tokenizer FILE] [--weights TYPE] [--model-config FILE] [--shape NAME=AxB] "
     "[--fold-batch-norm]",
     "a model of another program becomes a model file, or a model file safetensors", run_convert},
    {"quantize", "quantize MODEL --to bf16|f16|int8|int4|f32_panels --out FILE",
     "store the weights in fewer bits, or for reading", run_quantize},
    {"info", "info MODEL [--json] [--verify]",
     "architecture, tensors, sizes, memory bill, determinism level; of an ONNX file its operators", run_info},
    {"hash", "hash MODEL", "128-bit hash of all parameter bits in name order", run_hash},
    {"bench", "bench matmul|train|infer|ops|memory [options]", "measure this machine, and Volta on it",
     run_bench},
    {"tune", "tune matmul [--dim N|--shapes MxNxK,...|--model FILE]",
     "measure the fastest way through matrix products on this machine", run_tune},
    {"doctor", "doctor", "what this machine can do, and whether its bits are those of every machine",
     run_doctor},
    {"version", "version", "version of the program and of the numeric contract", run_version},
    {"help", "help [COMMAND]", "this text, or a command's options", nullptr},
};

std::string usage_line() {
    std::string line = "usage: voltac ";
    for (const Command& command : kCommands)
        line += (&command == kCommands ? "" : "|") + std::string(command.name);
    return line + " ... (voltac --help says more)";
}

void print_help() {
    const int columns = std::max(columns_of(1), 40);
    std::string text =
        wrapped("voltac: train, run and inspect small neural networks, with the same bits everywhere",
                columns, 0) +
        "\n\n";
    std::vector<Entry> entries;
    for (const Command& command : kCommands)
        entries.push_back({std::string("voltac ") + command.usage, command.summary});
    text += listed(entries, columns) + "\n";
    print(
        text +
        wrapped("voltac COMMAND --help lists a command's options. Results go to standard output, everything "
                "else to standard error. Files are named; - is standard input for a text. Exit status: 0 "
                "done, 1 it did not work, 2 the call was wrong, 128 and the number of the signal that ended "
                "it.",
                columns, 0) +
        "\n");
}

// `voltac help train`, and `voltac --help train`, are voltac train --help.
int help(const Words& words);

int dispatch(const Words& words) {
    if (words.empty()) usage_error(usage_line());
    if (words[0] == "--help" || words[0] == "-h" || words[0] == "help")
        return help(Words(words.begin() + 1, words.end()));
    const std::string name = words[0] == "--version" ? "version" : words[0];
    Words names;
    for (const Command& command : kCommands) {
        if (name == command.name) return command.run(Words(words.begin() + 1, words.end()));
        names.emplace_back(command.name);
    }
    const std::string meant = did_you_mean(name, names);
    usage_error("voltac: there is no command '" + name + "'" + (meant.empty() ? "; " + usage_line() : meant));
}

int help(const Words& words) {
    if (words.empty() || words[0] == "help" || words[0] == "--help" || words[0] == "-h") {
        print_help();
        return 0;
    }
    Words asked = words;
    asked.emplace_back("--help");
    return dispatch(asked);
}

}  // namespace

int main(int argc, char** argv) {
    // A full disk and a closed pipe are errors of a write call: print() tells them apart.
    std::signal(SIGXFSZ, SIG_IGN);
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return dispatch(Words(argv + 1, argv + argc));
    } catch (const Stop& stop) {
        if (std::strlen(stop.what()) > 0)
            std::fprintf(stderr, "%s%s\n", stop.status == kExitFailure ? "voltac: " : "",
                         one_line(stop.what()).c_str());
        return stop.status;
    } catch (const std::bad_alloc&) {
        std::fprintf(stderr, "voltac: out of memory\n");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "voltac: %s\n", one_line(error.what()).c_str());
    }
    return kExitFailure;
}
