#include "engine/model/network.h"

#include <cinttypes>
#include <cmath>

#include "engine/base/error.h"
#include "engine/model/text.h"
#include "engine/model/transformer.h"

namespace volta {
namespace {

constexpr std::int64_t kMostPixels = 65536;  // along a side
constexpr std::int64_t kLargeSide = 224, kSmallSide = 32;
constexpr double kLeastWidth = 1.0 / 64, kMostWidth = 64;

constexpr Network resnet(const char* name, std::int64_t depth, Stem stem, std::int64_t classes) {
    const std::int64_t side = stem == Stem::large ? kLargeSide : kSmallSide;
    return {name, "resnet", depth, stem, true, false, classes, 3, side, 1, "fc.weight", build_resnet};
}

constexpr Network kNetworks[] = {
    resnet("resnet18", 18, Stem::large, 1000),
    resnet("resnet34", 34, Stem::large, 1000),
    resnet("resnet50", 50, Stem::large, 1000),
    resnet("resnet20", 20, Stem::small, 10),
    resnet("resnet32", 32, Stem::small, 10),
    resnet("resnet44", 44, Stem::small, 10),
    resnet("resnet56", 56, Stem::small, 10),
    {"mobilenet_v2", "mobilenet_v2", 0, Stem::large, true, true, 1000, 3, kLargeSide, 1,
     "classifier.1.weight", build_mobilenet_v2},
    {"cnn", "cnn", 0, Stem::small, false, true, 10, 1, 28, 8, "fc.weight", build_cnn},
};

// How a failure calls it: a ResNet by its architecture, whose depth is told apart.
const char* kind_of(const Network& network) { return network.depth > 0 ? "ResNet" : network.name; }

std::int64_t usual_side(const NetworkConfig& whole) {
    if (whole.stem == whole.network->stem) return whole.network->side;
    return whole.stem == Stem::large ? kLargeSide : kSmallSide;
}

}  // namespace

Networks all_networks() { return {kNetworks, std::size(kNetworks)}; }

const Network& find_network(std::string_view name) {
    for (const Network& network : kNetworks)
        if (name == network.name) return network;
    const ShownName part = shown(name);
    fail(VOLTA_INVALID_ARGUMENT, "there is no network '%.*s': volta_network_name tells those that there are",
         part.bytes, part.text);
}

const Network& resnet_of(std::int64_t depth) {
    for (const Network& network : kNetworks)
        if (depth > 0 && network.depth == depth) return network;
    fail(VOLTA_INVALID_ARGUMENT,
         "depth is %" PRId64 "; a ResNet has 18, 34 or 50 layers, or 20, 32, 44 or 56", depth);
}

const Network* network_of_architecture(std::string_view architecture) {
    for (const Network& network : kNetworks)
        if (architecture == network.architecture) return &network;
    return nullptr;
}

NetworkConfig complete(const NetworkConfig& config) {
    const Network& network = *config.network;
    NetworkConfig whole = config;
    require_size({"stem", static_cast<std::int64_t>(config.stem)}, VOLTA_STEM_USUAL, VOLTA_STEM_SMALL);
    require(network.has_stems || config.stem == Stem::usual || config.stem == network.stem,
            "stem is %d, but a %s has the small one only, %d", static_cast<int>(config.stem),
            kind_of(network), static_cast<int>(network.stem));
    if (whole.stem == Stem::usual) whole.stem = network.stem;
    require(config.width == 0 || network.has_width, "width is %g, but a %s has none", config.width,
            kind_of(network));
    if (network.has_width) {
        if (whole.width == 0) whole.width = 1;
        require(whole.width >= kLeastWidth && whole.width <= kMostWidth,
                "width is %g; it must be from %g to %g", whole.width, kLeastWidth, kMostWidth);
    }
    if (whole.classes == 0) whole.classes = network.classes;
    if (whole.channels == 0) whole.channels = network.channels;
    if (whole.rows == 0) whole.rows = usual_side(whole);
    if (whole.columns == 0) whole.columns = usual_side(whole);
    require_size({"classes", whole.classes}, 1, kMostModelSize);
    require_size({"channels", whole.channels}, 1, kMostModelSize);
    require_size({"rows", whole.rows}, network.least_side, kMostPixels);
    require_size({"columns", whole.columns}, network.least_side, kMostPixels);
    return whole;
}

Graph build_network(const NetworkConfig& config, std::pmr::memory_resource* heap) {
    const NetworkConfig whole = complete(config);
    return build_architecture(kind_of(*whole.network), [&] { return whole.network->build(whole, heap); });
}

void describe_network(const NetworkConfig& config, Model& model) {
    const NetworkConfig whole = complete(config);
    const Network& network = *whole.network;
    const char* const architecture = network.architecture;
    if (network.depth > 0) describe_architecture(model, architecture, {{"depth", network.depth}});
    describe_architecture(model, architecture,
                          {{"classes", whole.classes},
                           {"channels", whole.channels},
                           {"rows", whole.rows},
                           {"columns", whole.columns}});
    if (network.has_stems)
        describe_architecture(model, architecture, {{"stem", static_cast<std::int64_t>(whole.stem)}});
    if (network.has_width) describe_number(model, architecture, "width", whole.width);
}

HeapPtr<Model> create_network(const NetworkConfig& config, std::uint64_t seed,
                              std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors,
                              const InitMachine& machine) {
    HeapPtr<Model> model =
        Model::create(build_network(config, structures), seed, structures, tensors, machine);
    describe_network(config, *model);
    return model;
}

}  // namespace volta
