// voltac info and hash: what is in a model file.
#include <nlohmann/json.hpp>

#include "cli/adapters.h"
#include "cli/architectures.h"
#include "cli/checkpoint_folder.h"
#include "cli/commands.h"
#include "cli/foreign_model.h"
#include "cli/graphs.h"
#include "cli/npy.h"
#include "cli/options.h"

namespace voltac {
namespace {

using Json = nlohmann::ordered_json;

Json extents(const volta_tensor_info& info) {
    Json shape = Json::array();
    for (std::int32_t axis = 0; axis < info.rank; ++axis) shape.push_back(info.shape[axis]);
    return shape;
}

Json tensors(const Model& model, std::size_t count,
             volta_status (*get)(const volta_model*, std::size_t, volta_tensor_info*)) {
    Json list = Json::array();
    for (std::size_t i = 0; i < count; ++i) {
        volta_tensor_info info;
        check(get(model.get(), i, &info));
        list.push_back({{"name", info.name}, {"dtype", dtype_name(info.dtype)}, {"shape", extents(info)}});
    }
    return list;
}

std::uint64_t parameter_elements(const Json& parameters) {
    std::uint64_t total = 0;
    for (const Json& parameter : parameters) {
        std::uint64_t elements = 1;
        for (const Json& extent : parameter["shape"]) elements *= extent.get<std::uint64_t>();
        total += elements;
    }
    return total;
}

Json bill_json(const volta_bill& bill) {
    return {{"parameters", bill.parameters},
            {"gradients", bill.gradients},
            {"optimizer_state", bill.optimizer_state},
            {"activations", bill.activations},
            {"workspace", bill.workspace},
            {"staging", bill.staging},
            {"cache", bill.cache},
            {"total", bill.total}};
}

// What generating with the model will hold.
Json generation_bill(const Model& model) {
    volta_generator_options options = VOLTA_GENERATOR_OPTIONS_INIT;
    volta_generator* generator = nullptr;
    if (volta_generator_create(model.get(), &options, &generator) != VOLTA_OK)
        return nullptr;  // no language model
    const Generator owned(generator);
    volta_bill bill = VOLTA_BILL_INIT;
    check(volta_generator_get_bill(generator, &bill));
    return bill_json(bill);
}

// Step, steps and the training's own bill, where the file is a checkpoint.
Json training(const Model& model) {
    volta_trainer* trainer = nullptr;
    const volta_status status = volta_trainer_resume(model.get(), nullptr, &trainer);
    if (status == VOLTA_INVALID_STATE) return nullptr;  // a model without training state
    check(status);
    const Trainer owned(trainer);
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    check(volta_trainer_get_options(trainer, &options));
    volta_bill bill = VOLTA_BILL_INIT;
    check(volta_trainer_get_bill(trainer, &bill));
    return {{"step", volta_trainer_current_step(trainer)},
            {"steps", options.steps},
            {"seed", options.seed},
            {"bill", bill_json(bill)}};
}

std::string type_text(const Json& tensor) {
    const auto shape = tensor["shape"].get<std::vector<std::int64_t>>();
    return tensor["dtype"].get<std::string>() + shape_text(shape.data(), shape.size());
}

std::string bill_text(const char* title, const Json& bill) {
    std::string text = std::string(title) + "\n";
    for (const auto& [name, bytes] : bill.items())
        text += formatted("  %-40s %15llu bytes\n", name.c_str(),
                          static_cast<unsigned long long>(bytes.get<std::uint64_t>()));
    return text;
}

std::string as_text(const Json& info) {
    std::string text;
    for (const char* key : {"file", "bytes", "architecture", "level", "precision", "contract", "tokenizer",
                            "vocabulary", "chat_format", "parameters", "hash"})
        if (info.contains(key))
            text += formatted(
                "%-18s %s\n", key,
                (info[key].is_string() ? one_line(info[key].get<std::string>()) : json_text(info[key]))
                    .c_str());
    if (info.contains("verified")) text += formatted("%-18s verified\n", "checksums");
    const auto architecture = info["architecture"].get<std::string>();
    if (info.contains("adapter")) {
        text += "adapters\n";
        for (const auto& [key, value] : info["adapter"].items())
            text += formatted("  %-16s %s\n", key.c_str(), one_line(value.get<std::string>()).c_str());
    }
    if (info.contains(architecture))
        for (const auto& [key, value] : info[architecture].items())
            text += formatted("  %-16s %s\n", key.c_str(), one_line(value.get<std::string>()).c_str());
    if (!info["training"].is_null())
        text += formatted(
            "%-18s step %s of %s, seed %s\n", "checkpoint", json_text(info["training"]["step"]).c_str(),
            json_text(info["training"]["steps"]).c_str(), json_text(info["training"]["seed"]).c_str());
    for (const char* group : {"inputs", "outputs", "tensors"}) {
        text += std::string(group) + "\n";
        for (const Json& tensor : info[group])
            text += formatted("  %-40s %s\n", one_line(tensor["name"].get<std::string>()).c_str(),
                              type_text(tensor).c_str());
    }
    if (!info["generation_bill"].is_null()) text += bill_text("memory to generate", info["generation_bill"]);
    if (!info["training"].is_null()) text += bill_text("memory to go on training", info["training"]["bill"]);
    return text;
}

}  // namespace

int run_info(const std::vector<std::string>& arguments) {
    std::string path;
    bool json = false, verify = false;
    std::vector<std::string> shapes;
    AdapterFile adapter;
    Machine machine;
    Options options("info", "What a model file holds and what it will need, or what an ONNX file holds.");
    options.positional("model", path, "a model file, or an ONNX file");
    options.texts("--shape", shapes, kShapeHelp);
    adapter.declare(options);
    options.flag("--json", json, "one JSON object");
    options.flag("--verify", verify, "verify the checksum of every tensor, and say so");
    options.tuning(machine);
    options.config();
    options.parse(arguments);

    const Context context = make_context(machine);
    if (is_onnx_file(path)) {
        print(survey_text(context, path, shapes, json));
        return 0;
    }
    if (!shapes.empty()) usage_error("voltac info: --shape is for ONNX files; " + path + " is none");
    volta_open_options open = VOLTA_OPEN_OPTIONS_INIT;
    open.verify = verify;
    volta_model* opened = nullptr;
    if (volta_model_open(context.get(), path.c_str(), &open, &opened) != VOLTA_OK)
        failure(volta_last_error() + conversion_hint(path));
    const Model model = adapter.on(Model(opened));
    opened = model.get();

    Json info = {{"file", path}, {"bytes", model_bytes(path)}};
    const std::string architecture = architecture_name(model);
    info["architecture"] = architecture.empty() ? "graph" : architecture;
    volta_level level = 0;
    volta_precision precision = 0;
    check(volta_model_get_arithmetic(opened, &level, &precision));
    info["level"] = kLevelNames[level];
    info["precision"] = kPrecisionNames[precision];
    info["contract"] = VOLTA_CONTRACT_VERSION;
    if (verify) info["verified"] = true;  // or the file would not have been opened
    volta_tokenizer* tokenizer = nullptr;
    check(volta_model_get_tokenizer(opened, &tokenizer));
    const Tokenizer owned(tokenizer);
    if (tokenizer != nullptr) {
        info["tokenizer"] = volta_tokenizer_kind(tokenizer);
        info["vocabulary"] = volta_tokenizer_size(tokenizer);
    }
    const std::string chat_format = metadata(model, "volta.chat.format");
    if (!chat_format.empty()) info["chat_format"] = chat_format;
    const Json parameters = tensors(model, volta_model_parameter_count(opened), volta_model_parameter_info);
    info["parameters"] = parameter_elements(parameters);
    char hash[33];
    check(volta_model_hash(opened, hash));
    info["hash"] = hash;
    for (const Architecture& row : architectures())
        for (const char* size : row.sizes)
            if (architecture == row.name) info[architecture][size] = model_size(model, size);
    for (const char* key : {"rank", "alpha", "targets", "base"}) {
        const std::string value = metadata(model, (std::string("volta.adapter.") + key).c_str());
        if (!value.empty()) info["adapter"][key] = value;
    }
    info["training"] = training(model);
    info["inputs"] = tensors(model, volta_model_input_count(opened), volta_model_input_info);
    info["outputs"] = tensors(model, volta_model_output_count(opened), volta_model_output_info);
    info["tensors"] = parameters;
    info["generation_bill"] = generation_bill(model);
    print(json ? json_text(info) + "\n" : as_text(info));
    return 0;
}

int run_hash(const std::vector<std::string>& arguments) {
    std::string path;
    Options options("hash", "One line: the 128-bit hash of all parameter bits in name order.");
    Machine machine;
    options.positional("model", path, "a model file");
    options.tuning(machine);
    options.parse(arguments);
    const Context context = make_context(machine);
    const Model model = open_model(context, path);
    char hash[33];
    check(volta_model_hash(model.get(), hash));
    print(std::string(hash) + "\n");
    return 0;
}

}  // namespace voltac
