#include "cli/bench_models.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/architectures.h"
#include "cli/bench_case.h"

namespace voltac::bench {

const Preset& preset_of(const std::string& name) {
    for (const Preset& preset : kPresets)
        if (name == preset.name) return preset;
    failure("there is no preset " + name);
}

double parameter_count(const Model& model) {
    double count = 0;
    volta_tensor_info info = {};
    for (std::size_t i = 0; i < volta_model_parameter_count(model.get()); ++i) {
        check(volta_model_parameter_info(model.get(), i, &info));
        count += static_cast<double>(elements_of(Extents(info.shape, info.shape + info.rank)));
    }
    return count;
}

namespace {

// Elements of the weights that a token is multiplied with: matrices, but for positions that are looked up.
double product_weights(const Model& model) {
    double count = 0;
    volta_tensor_info info = {};
    for (std::size_t i = 0; i < volta_model_parameter_count(model.get()); ++i) {
        check(volta_model_parameter_info(model.get(), i, &info));
        if (info.rank == 2 && std::strcmp(info.name, "position_embedding") != 0)
            count += static_cast<double>(info.shape[0]) * static_cast<double>(info.shape[1]);
    }
    return count;
}

}  // namespace

Subject language_subject(const Context& context, const Preset& preset, std::int64_t vocabulary,
                         std::int64_t batch, std::int64_t seq) {
    ModelSizes sizes;
    sizes.vocabulary = vocabulary;
    sizes.layers = preset.layers;
    sizes.dim = preset.dim;
    sizes.heads = preset.heads;
    sizes.context = preset.context;
    Subject subject;
    subject.model = new_model(context, architecture_of(preset.architecture), sizes, 1);
    subject.name = preset.name;
    subject.batch = batch;
    subject.seq = seq;
    subject.vocabulary = vocabulary;
    subject.input_shape = subject.target_shape = {batch, seq};
    subject.parameters = parameter_count(subject.model);
    const auto number = [](std::int64_t value) { return static_cast<double>(value); };
    // Attention, per sequence: half of the square, three times.
    const double attention = 6 * number(seq) * number(seq) * number(preset.dim) * number(preset.layers);
    subject.operations =
        6 * product_weights(subject.model) * number(batch) * number(seq) + attention * number(batch);
    return subject;
}

namespace {

constexpr std::int64_t kMostWidth = 1 << 20;

// "mlp:8-16-1" as {8, 16, 1}; empty when the text is no such thing.
std::vector<std::int64_t> widths_of(const std::string& text) {
    if (text == "linear") return {512, 512};
    const bool linear = text.rfind("linear:", 0) == 0;
    if (!linear && text.rfind("mlp:", 0) != 0) return {};
    std::vector<std::int64_t> widths;
    const char* at = text.c_str() + text.find(':') + 1;
    for (;;) {
        char* end = nullptr;
        const long long width = *at >= '0' && *at <= '9' ? std::strtoll(at, &end, 10) : 0;
        if (width < 1 || width > kMostWidth || (*end != '-' && *end != '\0')) return {};
        widths.push_back(width);
        if (*end == '\0') break;
        at = end + 1;
    }
    return widths.size() < 2 || (linear && widths.size() > 2) ? std::vector<std::int64_t>{} : widths;
}

}  // namespace

Subject dense_subject(const Context& context, const std::string& command, const std::string& text,
                      std::int64_t batch) {
    const std::vector<std::int64_t> widths = widths_of(text);
    if (widths.empty())
        usage_error(command + ": --model is '" + text +
                    "', it must be mlp:A-B-...-Z, linear:A-B or linear, each width in 1 .. " +
                    std::to_string(kMostWidth));
    GraphBuilder graph(context);
    Subject subject;
    subject.name = text;
    subject.batch = batch;
    subject.input_shape = {batch, widths.front()};
    subject.target_shape = {batch, widths.back()};
    volta_value x = graph.input("x", subject.input_shape);
    for (std::size_t i = 1; i < widths.size(); ++i) {
        if (i > 1) x = graph.apply("relu", {x});
        x = graph.linear(formatted("layer.%zu", i).c_str(), x, widths[i]);
        const double weights = static_cast<double>(widths[i - 1]) * static_cast<double>(widths[i]);
        subject.operations += (i == 1 ? 4 : 6) * weights * static_cast<double>(batch);
    }
    graph.output(x);
    subject.model = graph.model();
    subject.parameters = parameter_count(subject.model);
    return subject;
}

// ---- Networks of pictures --------------------------------------------------------------------------------

namespace {

struct NetworkRow {
    const char* name;  // as volta_network_name has it
    std::int64_t side, classes, batch;
    volta_network_stem stem;
    int (*halvings)(const NetworkRow& row, const char* name);  // of the side, up to what a convolution gives
    const char* widening;  // the convolution of a block that comes before its stride; "": none does
};

// Stages halve the side, in their first block; the large stem does so twice, once behind its convolution.
int resnet_halvings(const NetworkRow& row, const char* name) {
    int stage = 0, block = 0;
    char part[32] = "";
    const int of_stem = row.stem == VOLTA_STEM_LARGE ? 1 : 0;
    if (std::sscanf(name, "layer%d.%d.%31s", &stage, &block, part) != 3) return of_stem;
    const bool is_before = block == 0 && stage > 1 && std::strcmp(part, row.widening) == 0;
    return 2 * of_stem + stage - 1 - (is_before ? 1 : 0);
}

int mobilenet_halvings(const NetworkRow& row, const char* name) {
    constexpr int kHalving[] = {0, 2, 4, 7, 14};  // the features with a stride of 2
    int feature = 0;
    char part[32] = "";
    if (std::sscanf(name, "features.%d.%31s", &feature, part) != 2) return 0;
    int halvings = 0;
    for (const int at : kHalving)
        halvings += at < feature || (at == feature && std::strcmp(part, row.widening) != 0) ? 1 : 0;
    return halvings;
}

constexpr NetworkRow kNetworks[] = {
    {"resnet20", 32, 10, 128, VOLTA_STEM_SMALL, resnet_halvings, ""},
    {"resnet18", 32, 10, 32, VOLTA_STEM_SMALL, resnet_halvings, ""},
    {"resnet50", 224, 1000, 32, VOLTA_STEM_LARGE, resnet_halvings, "conv1.weight"},
    {"mobilenet_v2", 224, 1000, 32, VOLTA_STEM_LARGE, mobilenet_halvings, "conv.0.0.weight"},
};

const NetworkRow& network_row(const std::string& name) {
    for (const NetworkRow& row : kNetworks)
        if (name == row.name) return row;
    failure("there is no network " + name);
}

}  // namespace

std::vector<std::string> all_preset_names() {
    std::vector<std::string> names = preset_names();
    for (const NetworkRow& row : kNetworks) names.emplace_back(row.name);
    return names;
}

bool is_network(const std::string& preset) {
    return std::any_of(std::begin(kNetworks), std::end(kNetworks),
                       [&](const NetworkRow& row) { return preset == row.name; });
}

std::int64_t usual_batch(const std::string& network) { return network_row(network).batch; }

Subject network_subject(const Context& context, const std::string& network, std::int64_t batch) {
    const NetworkRow& row = network_row(network);
    volta_network_options options = VOLTA_NETWORK_OPTIONS_INIT;
    options.name = row.name;
    options.classes = row.classes;
    options.rows = options.columns = row.side;
    options.stem = row.stem;
    volta_model* model = nullptr;
    check(volta_model_create_network(context.get(), &options, 1, &model));
    Subject subject;
    subject.model = Model(model);
    subject.name = network;
    subject.batch = batch;
    subject.classes = row.classes;
    subject.input_shape = {batch, 3, row.side, row.side};
    subject.target_shape = {batch};
    subject.parameters = parameter_count(subject.model);
    volta_tensor_info info = {};
    bool is_first = true;  // of the convolutions: the pictures need no gradient
    for (std::size_t i = 0; i < volta_model_parameter_count(model); ++i) {
        check(volta_model_parameter_info(model, i, &info));
        if (info.rank != 4 && info.rank != 2) continue;
        const std::int64_t side = info.rank == 4 ? row.side >> row.halvings(row, info.name) : 1;
        const double weights = static_cast<double>(elements_of(Extents(info.shape, info.shape + info.rank)));
        const double products = weights * static_cast<double>(side * side * batch);
        subject.operations += (is_first ? 4 : 6) * products;
        is_first = false;
        subject.forward_operations += 2 * products;
    }
    return subject;
}

}  // namespace voltac::bench
