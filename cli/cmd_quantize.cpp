// voltac quantize: a model whose weights are stored for reading: in fewer bits, or in another order.
#include "cli/commands.h"
#include "cli/options.h"

namespace voltac {

int run_quantize(const std::vector<std::string>& arguments) {
    std::string in, out, to;
    Machine machine;
    Options options(
        "quantize",
        "Stores the weights of a model in fewer bits, or in the order of reading. All arithmetic stays f32.");
    options.positional("model", in, "a model file of f32 weights");
    options.choice(
        "--to", to, with_stored_names({}),
        "int8 and int4: groups of 32 that share an f16 scale; f32_panels: the same f32, in the order "
        "that writing reads them");
    options.require("--to");
    options.output("--out", out, kModelOutput, "the model file to write; without training state");
    options.require("--out");
    options.tuning(machine);
    options.parse(arguments);

    const Context context = make_context(machine);
    const Model model = open_model(context, in);
    volta_model* made = nullptr;
    check(volta_model_quantize(model.get(), stored_dtype(to), &made));
    const Model stored(made);
    check(volta_model_save(made, out.c_str()));
    char hash[33];
    check(volta_model_hash(made, hash));
    print(std::string(hash) + "\n");
    return 0;
}

}  // namespace voltac
