// voltac convert: models of other programs become Volta's, and Volta's become safetensors, ONNX or GGUF.
#include <cstdio>
#include <utility>

#include "cli/adapters.h"
#include "cli/chat_format.h"
#include "cli/commands.h"
#include "cli/foreign_model.h"
#include "cli/graphs.h"
#include "cli/options.h"
#include "cli/pictures.h"

namespace voltac {
namespace {

const std::vector<std::string> kHeads = {"masked", "classes", "pooled", "hidden",
                                         "tokens"};  // volta_bert_head

struct Conversion {
    std::string in, out, tokenizer, config, keys, head, model, preprocess, labels, names = "volta",
                                                                                   config_out, weights;
    std::vector<std::string> shapes;
    std::string opset, chat_format, base;
    bool segments = false, mask = false, fold = false, exact_graph = false;
    Machine machine;
};

// How a GGUF file calls the types that its weights can be written as; 0: none.
volta_dtype gguf_dtype(const std::string& name) {
    return name == "q8_0"   ? VOLTA_INT8
           : name == "q4_0" ? VOLTA_INT4
           : name == "f32"  ? VOLTA_F32
                            : stored_dtype(name);
}

Model import_model(const Context& context, Conversion& c) {
    volta_import_options options = VOLTA_IMPORT_OPTIONS_INIT;
    const std::vector<volta_input_shape> shapes = parse_shapes("voltac convert", c.shapes);
    options.shapes = shapes.data();
    options.shape_count = shapes.size();
    options.exact_graph = c.exact_graph;
    options.no_tokenizer = c.tokenizer == "none";
    options.tokenizer_path = c.tokenizer.empty() || c.tokenizer == "none" ? nullptr : c.tokenizer.c_str();
    options.config_path = c.config.empty() ? nullptr : c.config.c_str();
    options.key_map_path = c.keys.empty() ? nullptr : c.keys.c_str();
    volta_bert_options bert = VOLTA_BERT_OPTIONS_INIT;
    bert.segment_input = c.segments;
    bert.mask_input = c.mask;
    for (std::size_t i = 0; i < kHeads.size(); ++i)
        if (c.head == kHeads[i]) bert.head = static_cast<volta_bert_head>(i);
    if (!c.head.empty()) options.bert = &bert;
    volta_network_options network = VOLTA_NETWORK_OPTIONS_INIT;
    network.name = c.model.c_str();
    if (!c.model.empty()) options.network = &network;
    const bool keeps = c.weights == "keep" || has_ending(c.out, ".gguf");   // which rounds as it is written
    options.weights = keeps ? VOLTA_IMPORT_KEEP : stored_dtype(c.weights);  // 0: f32
    volta_model* model = nullptr;
    check(volta_model_import(context.get(), c.in.c_str(), &options, &model));
    Model imported(model);
    tell_types(context, c.in, options);
    return imported;
}

// One line for standard error: what is not f32, and what to do where that is in the way.
void tell_stored(const Model& model) {
    volta_dtype stored = VOLTA_F32;
    size_t count = 0;
    std::string types;
    for (size_t i = 0; i < volta_model_parameter_count(model.get()); ++i) {
        volta_tensor_info info;
        check(volta_model_parameter_info(model.get(), i, &info));
        if (info.dtype == VOLTA_F32) continue;
        ++count;
        if (info.dtype == stored) continue;
        stored = info.dtype;
        const std::string name = dtype_name(stored);
        if (types.find(name) == std::string::npos) types += (types.empty() ? "" : ", ") + name;
    }
    if (count > 0)
        std::fprintf(
            stderr,
            "%zu of %zu parameters are stored as %s: the model runs, but cannot be trained or exported; "
            "--weights f32 makes one that can\n",
            count, volta_model_parameter_count(model.get()), types.c_str());
}

void export_model(const Model& model, const Conversion& c) {
    volta_export_options options = VOLTA_EXPORT_OPTIONS_INIT;
    options.names = c.names == "huggingface" ? VOLTA_NAMES_HUGGING_FACE : VOLTA_NAMES_OWN;
    options.config_path = c.config_out.empty() ? nullptr : c.config_out.c_str();
    check(volta_model_export_safetensors_with(model.get(), &options, c.out.c_str()));
}

void export_onnx(const Model& model, const Conversion& c) {
    volta_onnx_export_options options = VOLTA_ONNX_EXPORT_OPTIONS_INIT;
    options.opset = c.opset.empty() ? 0 : std::stoi(c.opset);
    check(volta_model_export_onnx(model.get(), &options, c.out.c_str()));
}

void export_gguf(const Model& model, const Conversion& c) {
    volta_gguf_export_options options = VOLTA_GGUF_EXPORT_OPTIONS_INIT;
    options.weights = c.weights == "keep" ? 0 : gguf_dtype(c.weights);
    options.no_tokenizer = c.tokenizer == "none";
    check(volta_model_export_gguf(model.get(), &options, c.out.c_str()));
}

// What the model is told of its pictures; those of --model are ImageNet's unless the call says otherwise.
void describe_pictures(const Model& model, const Conversion& c) {
    if (c.preprocess.empty() && c.labels.empty() && c.model.empty()) return;
    const PictureShape shape = picture_shape(model);
    if (!c.preprocess.empty() || !c.model.empty())
        set_preprocess(model.get(),
                       parse_preprocess("voltac convert: --preprocess",
                                        c.preprocess.empty() ? "imagenet" : c.preprocess, shape.rows));
    if (c.labels.empty()) return;
    std::vector<std::string> names;
    std::string line;
    for (const char letter : read_text(c.labels)) {
        if (letter != '\n')
            line += letter;
        else if (!line.empty())
            names.push_back(std::exchange(line, std::string()));
    }
    if (!line.empty()) names.push_back(line);
    if (names.size() != static_cast<std::size_t>(shape.classes))
        failure(formatted("%s: %zu names, but the model has %lld classes", one_line(c.labels).c_str(),
                          names.size(), static_cast<long long>(shape.classes)));
    set_classes(model.get(), names);
}

// The format of conversations, and a line for standard error where the template that came is not known.
void describe_chat(const Model& model, const Conversion& c) {
    if (!c.chat_format.empty())
        check(volta_model_set_chat_format(model.get(), c.chat_format.c_str(), nullptr));
    const std::string refused = metadata(model, "volta.chat.refused");
    if (!refused.empty()) warn("the chat template is not known, so voltac chat needs --format: " + refused);
}

[[noreturn]] void refuse(const std::string& line) { usage_error("voltac convert: " + line); }

// A GGUF file has names of its own for types, and not all of them.
void check_weights(const Conversion& c, bool own) {
    const bool to_gguf = has_ending(c.out, ".gguf"), theirs = c.weights == "q8_0" || c.weights == "q4_0";
    if (to_gguf && (c.weights == "int8" || c.weights == "int4" || c.weights == "f32_panels"))
        refuse("--weights " + c.weights + " is for a model file: GGUF has f32, f16, bf16, q8_0 and q4_0");
    if (!to_gguf && theirs) refuse("--weights " + c.weights + " needs an --out that ends in .gguf");
    if (own && !to_gguf && !c.weights.empty())
        refuse("--weights is for models of other programs; " + c.in +
               " is a model file, which voltac quantize stores in fewer bits");
}

// Options that do not go together, or not with what the file is.
void check_call(const Conversion& c, bool own, bool to_safetensors, bool to_onnx) {
    check_weights(c, own);
    const bool writes_none = c.tokenizer == "none" && has_ending(c.out, ".gguf");
    if (!c.opset.empty() && !to_onnx) refuse("--opset needs an --out that ends in .onnx");
    if (c.names == "volta" && !c.config_out.empty()) refuse("--config-out needs --names huggingface");
    if (c.head.empty() && (c.segments || c.mask)) refuse("--segments and --mask need --head");
    if (own && ((!c.tokenizer.empty() && !writes_none) || !c.config.empty() || !c.keys.empty()))
        refuse("--tokenizer, --model-config and --keys are for models of other programs; " + c.in +
               " is a model file");
    if (own && !c.shapes.empty()) refuse("--shape is for ONNX files; " + c.in + " is a model file");
    if (own && c.exact_graph) refuse("--exact-graph is for ONNX files; " + c.in + " is a model file");
    if (own && !c.model.empty())
        refuse("--model is for weights of another program; " + c.in + " is a model file");
    if (!c.model.empty() && (!c.config.empty() || !c.head.empty()))
        refuse("--model goes with neither --model-config nor --head: it says what the file holds");
    if (to_safetensors && !c.weights.empty() && c.weights != "f32")
        refuse("--weights " + c.weights + " is for a model file: safetensors are written in f32");
    if (own && !c.head.empty())
        refuse("--head is for a BERT of another program; " + c.in + " is a model file");
    if (!to_safetensors && c.names != "volta")
        refuse("--names huggingface needs an --out that ends in .safetensors");
}

// Another model, and a line for standard error that says so.
Model folded(const Model& model) {
    volta_model* made = nullptr;
    std::size_t count = 0;
    check(volta_model_fold_batch_norm(model.get(), &made, &count));
    std::fprintf(
        stderr,
        "%zu batch norm%s folded into the convolutions before: another model, with a hash of its own and "
        "results that differ by rounding\n",
        count, count == 1 ? " is" : "s are");
    return Model(made);
}

// Adapters go to a folder, or from one to a file.
int convert_adapter(const Conversion& c) {
    for (const char* other : {".safetensors", ".onnx", ".gguf"})
        if (!c.base.empty() && has_ending(c.out, other))
            refuse("--base makes a file of adapters, whose name ends with .adapter or .volta, not " + c.out);
    const Context context = make_context(c.machine);
    if (c.base.empty())
        export_adapter(open_model(context, c.in), c.out);
    else
        import_adapter(open_model(context, c.base), c.in, c.out);
    return 0;
}

}  // namespace

int run_convert(const std::vector<std::string>& arguments) {
    Conversion c;
    Options options(
        "convert",
        "A model of another program as a model file, or a model file as safetensors, ONNX or GGUF.");
    options.positional("in", c.in,
                       "a folder of Hugging Face (config.json, safetensors, tokenizer), safetensors (one "
                       "file, or the index of "
                       "several), GGUF, ONNX, llama2.c, or a model file");
    options.output(
        "--out", c.out, kConvertOutput,
        "the file to write, and by its ending what: .volta or none a model file, .safetensors the weights, "
        ".onnx the graph too, .gguf what llama.cpp reads, .adapter adapters");
    options.require("--out");
    options.input(
        "--tokenizer", c.tokenizer, kTokenizer,
        "a tokenizer.json, tokenizer.bin, vocab.txt, encoder.json or GGUF file, or none (default: the "
        "one in the file or the folder; of a model file to GGUF, none leaves it out)");
    options.input("--model-config", c.config, kSideFile,
                  "the config.json of a safetensors model (default: the one beside it)");
    options.input("--keys", c.keys, kSideFile,
                  "lines 'their.%d.name = our.%d.name [transpose]' for names not built in");
    options.choice(
        "--weights", c.weights, with_stored_names({"keep", "f32", "q8_0", "q4_0"}),
        "what the weights of products become: keep, as small as they are in the file, exactly; or a type, of "
        "GGUF f32, f16, bf16, q8_0 or q4_0 (default: keep for a model file and GGUF, f32 for others)");
    options.choice("--model", c.model, network_names(),
                   "what a safetensors file without a config holds, by torchvision's names; its pictures are "
                   "ImageNet's unless "
                   "--preprocess says otherwise");
    options.texts("--shape", c.shapes, kShapeHelp);
    options.choice("--chat-format", c.chat_format, chat_format_names(),
                   "how conversations become tokens (default: as the template beside the tokenizer says)");
    options.flag("--exact-graph", c.exact_graph, kExactGraphHelp);
    options.text("--preprocess", c.preprocess, kPreprocessHelp);
    options.input("--labels", c.labels, kSideFile,
                  "of a model of pictures: a file with the name of a class per line");
    options.flag(
        "--fold-batch-norm", c.fold,
        "another model: each batch norm becomes part of the convolution before it, which runs faster and "
        "rounds otherwise");
    options.choice("--head", c.head, kHeads, "of a BERT: what it gives (default: what the file has)");
    options.flag("--segments", c.segments, "with --head: each token's segment is an input");
    options.flag("--mask", c.mask, "with --head: which tokens are no padding is an input");
    options.choice("--names", c.names, {"volta", "huggingface"},
                   "tensors in --out *.safetensors are called so");
    options.choice("--opset", c.opset, {"13", "17", "20", "21"},
                   "of ONNX's operators, with --out *.onnx (default: 13, which everything reads)");
    options.input(
        "--base", c.base, kSideFile,
        "of a folder with PEFT's adapter_config.json and adapter_model.safetensors: the model file that its "
        "adapters are on; the other way, adapters become such a folder where --out ends with /");
    options.output("--config-out", c.config_out, kConfigOutput,
                   "with --names huggingface: the config.json to write");
    options.tuning(c.machine);
    options.parse(arguments);
    const bool own = is_volta_model(c.in), to_safetensors = has_ending(c.out, ".safetensors"),
               to_onnx = has_ending(c.out, ".onnx"), to_gguf = has_ending(c.out, ".gguf");
    if (!c.base.empty() || c.out.back() == '/') return convert_adapter(c);
    if (has_ending(c.out, ".adapter"))
        refuse("--out " + c.out + " is a file of adapters, which needs --base and a folder of PEFT");
    check_call(c, own, to_safetensors, to_onnx);
    if (c.weights.empty()) c.weights = to_safetensors || to_onnx ? "f32" : "keep";
    c.machine.tells = true;  // what was rounded
    const Context context = make_context(c.machine);
    Model model = own ? open_model(context, c.in) : import_model(context, c);
    describe_pictures(model, c);
    describe_chat(model, c);
    if (c.fold) model = folded(model);
    if (to_safetensors)
        export_model(model, c);
    else if (to_onnx)
        export_onnx(model, c);
    else if (to_gguf)
        export_gguf(model, c);
    else
        check(volta_model_save(model.get(), c.out.c_str()));
    if (!own && !to_gguf) tell_stored(model);
    char hash[33];
    check(volta_model_hash(model.get(), hash));
    print(std::string(hash) + "\n");
    return 0;
}

}  // namespace voltac
