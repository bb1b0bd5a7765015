// voltac bench: the table of benchmarks. Each is a program of its own, cmd_bench_<name>.cpp.
#include "cli/bench.h"

#include <algorithm>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/suggest.h"
#include "cli/text.h"

namespace voltac {

const std::vector<Command>& bench::benchmarks() {
    static const std::vector<Command> table = {
        {"matmul", "matmul [--shapes MxNxK[:FORM],...] [--form nn|nt|tn] [--mode plain|packed|both]",
         "matrix products, in GFLOP/s and as a share of the peak", bench::run_matmul},
        {"train", "train [--preset NAME | --model mlp:A-B-...|linear:A-B]",
         "training steps on random data, beside the time the machine needs at least", bench::run_train},
        {"infer", "infer [MODEL | --preset NAME] [--prompt-tokens N] [--tokens N] [--batch N]",
         "a prompt and tokens after it, beside the time that reading the weights takes", bench::run_infer},
        {"ops", "ops [--only NAME]", "operators one by one, and the overhead of a plan of one operator",
         bench::run_ops},
        {"conv", "conv [--network NAME | --layers SIZES,...] [--batch N] [--pass NAME]",
         "convolutions of known networks, forward and both gradients, beside their roofline bound",
         bench::run_conv},
        {"memory", "memory [--preset tiny|small|gpt2|llama-tiny|all]",
         "the bill by class beside what the allocator and the system saw", bench::run_memory},
    };
    return table;
}

namespace {

std::string names() {
    std::string text;
    for (const Command& row : bench::benchmarks()) text += (text.empty() ? "" : "|") + std::string(row.name);
    return text;
}

void print_help() {
    const int columns = std::max(columns_of(1), 40);
    std::vector<Entry> entries;
    for (const Command& row : bench::benchmarks())
        entries.push_back({std::string("voltac bench ") + row.usage, row.summary});
    print(wrapped("Measures this machine and Volta on it. Warm-up is not counted; figures are medians on a "
                  "monotonic clock; spread is (90th - 10th percentile) / median of the runs.",
                  columns, 0) +
          "\n\n" + listed(entries, columns) + "\nvoltac bench NAME --help lists its options.\n");
}

}  // namespace

int run_bench(const std::vector<std::string>& arguments) {
    if (arguments.empty()) usage_error("voltac bench: name a benchmark: " + names());
    if (arguments[0] == "--help" || arguments[0] == "-h") {
        print_help();
        return 0;
    }
    std::vector<std::string> all;
    for (const Command& row : bench::benchmarks()) {
        if (arguments[0] == row.name)
            return row.run(std::vector<std::string>(arguments.begin() + 1, arguments.end()));
        all.emplace_back(row.name);
    }
    usage_error("voltac bench: there is no benchmark '" + arguments[0] + "', it must be one of " + names() +
                did_you_mean(arguments[0], all));
}

}  // namespace voltac
