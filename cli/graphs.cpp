#include "cli/graphs.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/text.h"

namespace voltac {
namespace {

using Json = nlohmann::ordered_json;

bool parse_extent(const std::string& text, std::int64_t& extent) {
    if (text.empty() || text.size() > 18) return false;
    char* end = nullptr;
    extent = std::strtoll(text.c_str(), &end, 10);
    return *end == '\0' && extent >= -1;
}

Json survey_of(const Context& context, const std::string& path, const volta_import_options& options) {
    std::size_t bytes = 0;
    check(volta_model_survey(context.get(), path.c_str(), &options, nullptr, 0, &bytes));
    std::string json(bytes + 1, '\0');
    check(volta_model_survey(context.get(), path.c_str(), &options, &json[0], json.size(), &bytes));
    json.resize(bytes);
    return Json::parse(json);
}

// Of a type that becomes another one; "" of one that stays.
std::string conversion(const char* what, const Json& port) {
    const auto type = port["type"].get<std::string>();
    if (type == "float" || type == "int32") return "";
    return formatted("the %s '%s' is %s in the file and %s in the model\n", what,
                     one_line(port["name"].get<std::string>()).c_str(), type.c_str(),
                     port["becomes"].get<std::string>().c_str());
}

}  // namespace

std::vector<volta_input_shape> parse_shapes(const char* command, std::vector<std::string>& texts) {
    std::vector<volta_input_shape> shapes;
    for (std::string& text : texts) {
        volta_input_shape shape = {};
        const std::size_t equals = text.rfind('=');
        const std::string given = one_line(text);
        const auto refuse = [&] {
            usage_error(std::string(command) + ": --shape " + given +
                        " is not of the form NAME=1x3x224x224, at most 8 extents of at least -1");
        };
        if (equals == text.npos || equals == 0) refuse();
        for (std::size_t at = equals + 1; at < text.size();) {
            const std::size_t end = std::min(text.find('x', at), text.size());
            if (shape.rank == VOLTA_MAX_RANK ||
                !parse_extent(text.substr(at, end - at), shape.shape[shape.rank]) || end + 1 == text.size())
                refuse();
            ++shape.rank;
            at = end + 1;
        }
        text.resize(equals);
        shape.name = text.c_str();
        shapes.push_back(shape);
    }
    return shapes;
}

// A ModelProto begins with its ir_version, field 1, and some text or graph behind it.
bool is_onnx_file(const std::string& path) {
    unsigned char start[3] = {};
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) return false;  // the library says why
    const bool read = std::fread(start, 1, sizeof start, file) == sizeof start;
    std::fclose(file);
    return read && start[0] == 0x08 && start[1] > 0 && start[1] < 0x80 && (start[2] & 7) == 2;
}

std::string survey_text(const Context& context, const std::string& path, std::vector<std::string>& shapes,
                        bool json) {
    const std::vector<volta_input_shape> given = parse_shapes("voltac info", shapes);
    volta_import_options options = VOLTA_IMPORT_OPTIONS_INIT;
    options.shapes = given.data();
    options.shape_count = given.size();
    const Json survey = survey_of(context, path, options);
    Json info = {{"file", path}};
    info.update(survey);
    if (json) return json_text(info) + "\n";
    std::string text = formatted("%-18s %s\n", "file", one_line(path).c_str());
    text += formatted("%-18s %s\n", "ir_version", json_text(survey["ir_version"]).c_str());
    text += formatted("%-18s %s\n", "producer", one_line(survey["producer"].get<std::string>()).c_str());
    for (const auto& [domain, version] : survey["opsets"].items())
        text += formatted("%-18s %s %s\n", "opset", one_line(domain).c_str(), json_text(version).c_str());
    text += formatted("%-18s %s\n", "nodes", json_text(survey["nodes"]).c_str());
    text += "operators\n";
    for (const Json& row : survey["operators"]) {
        const auto domain = row["domain"].get<std::string>();
        const std::string name = (domain.empty() ? "" : domain + " ") + row["operator"].get<std::string>();
        text += formatted("  %-40s %8s%s\n", one_line(name).c_str(), json_text(row["count"]).c_str(),
                          row["imported"].get<bool>() ? "" : "   not imported");
    }
    if (!survey["recognised"].empty()) text += "recognised, of several nodes each\n";
    for (const Json& row : survey["recognised"])
        text += formatted("  %-40s %8s\n", row["operator"].get<std::string>().c_str(),
                          json_text(row["count"]).c_str());
    for (const char* group : {"inputs", "outputs"}) {
        text += std::string(group) + "\n";
        for (const Json& port : survey[group])
            text += formatted("  %-40s %s\n", one_line(port["name"].get<std::string>()).c_str(),
                              port["type"].get<std::string>().c_str());
    }
    const auto refused = survey["refused"].get<std::string>();
    text += refused.empty() ? std::string("it can be converted\n") : "refused: " + one_line(refused) + "\n";
    return text;
}

void tell_types(const Context& context, const std::string& path, const volta_import_options& options) {
    if (!is_onnx_file(path)) return;
    const Json survey = survey_of(context, path, options);
    for (const Json& port : survey["inputs"]) std::fputs(conversion("input", port).c_str(), stderr);
    for (const Json& port : survey["outputs"]) std::fputs(conversion("output", port).c_str(), stderr);
}

}  // namespace voltac
