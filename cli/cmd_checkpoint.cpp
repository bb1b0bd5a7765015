// voltac checkpoint merge, split and verify: a model in one file and the same in parts.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/checkpoint_folder.h"
#include "cli/commands.h"
#include "cli/foreign_model.h"
#include "cli/options.h"
#include "cli/suggest.h"
#include "cli/text.h"

namespace voltac {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostParts = 4096;

void refuse_same(const char* command, const std::string& from, const std::string& to) {
    if (same_file(without_slashes(from), without_slashes(to)))
        usage_error(std::string(command) + ": both are '" + from + "'");
}

// Every checksum is compared, of parts and of tensors.
Model open_verified(const Context& context, const std::string& path) {
    volta_open_options options = VOLTA_OPEN_OPTIONS_INIT;
    options.verify = 1;
    volta_model* model = nullptr;
    if (volta_model_open(context.get(), path.c_str(), &options, &model) != VOLTA_OK)
        failure(volta_last_error() + conversion_hint(path));
    return Model(model);
}

std::string hash_of(const Model& model) {
    char hash[33];
    check(volta_model_hash(model.get(), hash));
    return hash;
}

// Null: a model without training state, or adapters without their base.
Json step_of(const Model& model) {
    volta_trainer* trainer = nullptr;
    const volta_status status = volta_trainer_resume(model.get(), nullptr, &trainer);
    if (status == VOLTA_INVALID_STATE) return nullptr;
    check(status);
    return volta_trainer_current_step(Trainer(trainer).get());
}

int run_merge_parts(const std::vector<std::string>& arguments) {
    std::string folder, file;
    Machine machine;
    Options options("checkpoint merge", "Writes a checkpoint in parts as the file that one process writes.");
    options.positional("folder", folder, "a checkpoint in parts");
    options.positional("file", file, "the model file to write");
    options.tuning(machine);
    options.parse(arguments);
    refuse_same("voltac checkpoint merge", folder, file);
    check_name("voltac checkpoint merge: file", file, kModelOutput);
    check_writable("file", file);
    const Context context = make_context(machine);
    check(volta_model_save(open_verified(context, folder).get(), file.c_str()));
    return 0;
}

int run_split_parts(const std::vector<std::string>& arguments) {
    std::string file, folder;
    std::int64_t parts = 0;
    Machine machine;
    Options options("checkpoint split", "Writes a model file as parts of about the same size, in a folder.");
    options.positional("file", file, "a model file, or a checkpoint in parts");
    options.positional("folder", folder, "the folder to write; it is made where it is missing");
    options.integer("--parts", parts, 1, kMostParts, "how many files");
    options.require("--parts");
    options.tuning(machine);
    options.parse(arguments);
    folder = without_slashes(folder);
    check_folder_writable("folder", folder);
    const Context context = make_context(machine);
    check(volta_model_save_sharded(open_verified(context, file).get(), static_cast<std::uint32_t>(parts),
                                   folder.c_str()));
    return 0;
}

int run_verify_parts(const std::vector<std::string>& arguments) {
    std::string path;
    bool json = false;
    Machine machine;
    Options options("checkpoint verify", "Compares all checksums of a checkpoint, in parts or in one file.");
    options.positional("checkpoint", path, "a model file, or a folder with its parts");
    options.flag("--json", json, "one JSON object");
    options.tuning(machine);
    options.parse(arguments);
    const Context context = make_context(machine);
    const Model model = open_verified(context, path);
    const std::uint64_t parts = is_folder(path) ? read_parts_summary(path).parts : 1;
    Json info = {{"parts", parts}, {"bytes", model_bytes(path)}};
    const Json step = step_of(model);
    if (!step.is_null()) info["step"] = step;
    info["hash"] = hash_of(model);
    if (json) {
        info["valid"] = true;
        print(json_text(info) + "\n");
        return 0;
    }
    std::string text;
    for (const auto& [key, value] : info.items())
        text += formatted("%-6s %s\n", key.c_str(),
                          (value.is_string() ? value.get<std::string>() : json_text(value)).c_str());
    print(text + "valid\n");
    return 0;
}

std::string names() {
    std::string text;
    for (const Command& row : checkpoint_commands())
        text += (text.empty() ? "" : "|") + std::string(row.name);
    return text;
}

void print_help() {
    const int columns = std::max(columns_of(1), 40);
    std::vector<Entry> entries;
    for (const Command& row : checkpoint_commands())
        entries.push_back({std::string("voltac checkpoint ") + row.usage, row.summary});
    print(
        wrapped("A model file and the same bytes as parts in a folder, which voltac train --sharded writes.",
                columns, 0) +
        "\n\n" + listed(entries, columns) + "\nvoltac checkpoint NAME --help lists its options.\n");
}

}  // namespace

int run_checkpoint(const std::vector<std::string>& arguments) {
    if (arguments.empty()) usage_error("voltac checkpoint: say what: " + names());
    if (arguments[0] == "--help" || arguments[0] == "-h") {
        print_help();
        return 0;
    }
    std::vector<std::string> all;
    for (const Command& row : checkpoint_commands()) {
        if (arguments[0] == row.name)
            return row.run(std::vector<std::string>(arguments.begin() + 1, arguments.end()));
        all.emplace_back(row.name);
    }
    usage_error("voltac checkpoint: there is no '" + arguments[0] + "', it must be one of " + names() +
                did_you_mean(arguments[0], all));
}

const std::vector<Command>& checkpoint_commands() {
    static const std::vector<Command> table = {
        {"merge", "merge FOLDER FILE", "the parts of a checkpoint as one file", run_merge_parts},
        {"split", "split FILE FOLDER --parts N", "a model file as parts in a folder", run_split_parts},
        {"verify", "verify FOLDER-OR-FILE [--json]", "compare all checksums", run_verify_parts},
    };
    return table;
}

}  // namespace voltac
