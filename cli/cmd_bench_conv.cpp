// voltac bench conv: convolutions one by one, forward and both gradients, on the path every one takes, graph
// to session.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/bench.h"
#include "cli/bench_case.h"
#include "cli/bench_timing.h"

namespace voltac::bench {
namespace {

using Json = nlohmann::ordered_json;

// A square kernel over a square picture, padded by half the kernel's width.
struct Layer {
    const char* network;
    std::int64_t channels, side, filters, kernel, stride, groups;
    std::int64_t out() const { return (side + 2 * (kernel / 2) - kernel) / stride + 1; }
};

// Every convolution of these networks on pictures of 224 x 224, each distinct one once. ResNet-50 has the
// last four of ResNet-18's besides its own.
constexpr Layer kLayers[] = {
    {"resnet18", 3, 224, 64, 7, 2, 1},         {"resnet18", 64, 56, 64, 3, 1, 1},
    {"resnet18", 64, 56, 128, 3, 2, 1},        {"resnet18", 64, 56, 128, 1, 2, 1},
    {"resnet18", 128, 28, 128, 3, 1, 1},       {"resnet18", 128, 28, 256, 3, 2, 1},
    {"resnet18", 128, 28, 256, 1, 2, 1},       {"resnet18", 256, 14, 256, 3, 1, 1},
    {"resnet18", 256, 14, 512, 3, 2, 1},       {"resnet18", 256, 14, 512, 1, 2, 1},
    {"resnet18", 512, 7, 512, 3, 1, 1},        {"resnet50", 64, 56, 64, 1, 1, 1},
    {"resnet50", 64, 56, 256, 1, 1, 1},        {"resnet50", 256, 56, 64, 1, 1, 1},
    {"resnet50", 256, 56, 128, 1, 1, 1},       {"resnet50", 128, 56, 128, 3, 2, 1},
    {"resnet50", 128, 28, 512, 1, 1, 1},       {"resnet50", 256, 56, 512, 1, 2, 1},
    {"resnet50", 512, 28, 128, 1, 1, 1},       {"resnet50", 512, 28, 256, 1, 1, 1},
    {"resnet50", 256, 28, 256, 3, 2, 1},       {"resnet50", 256, 14, 1024, 1, 1, 1},
    {"resnet50", 512, 28, 1024, 1, 2, 1},      {"resnet50", 1024, 14, 256, 1, 1, 1},
    {"resnet50", 1024, 14, 512, 1, 1, 1},      {"resnet50", 512, 14, 512, 3, 2, 1},
    {"resnet50", 512, 7, 2048, 1, 1, 1},       {"resnet50", 1024, 14, 2048, 1, 2, 1},
    {"resnet50", 2048, 7, 512, 1, 1, 1},       {"mobilenet_v2", 3, 224, 32, 3, 2, 1},
    {"mobilenet_v2", 32, 112, 32, 3, 1, 32},   {"mobilenet_v2", 32, 112, 16, 1, 1, 1},
    {"mobilenet_v2", 16, 112, 96, 1, 1, 1},    {"mobilenet_v2", 96, 112, 96, 3, 2, 96},
    {"mobilenet_v2", 96, 56, 24, 1, 1, 1},     {"mobilenet_v2", 24, 56, 144, 1, 1, 1},
    {"mobilenet_v2", 144, 56, 144, 3, 1, 144}, {"mobilenet_v2", 144, 56, 24, 1, 1, 1},
    {"mobilenet_v2", 144, 56, 144, 3, 2, 144}, {"mobilenet_v2", 144, 28, 32, 1, 1, 1},
    {"mobilenet_v2", 32, 28, 192, 1, 1, 1},    {"mobilenet_v2", 192, 28, 192, 3, 1, 192},
    {"mobilenet_v2", 192, 28, 32, 1, 1, 1},    {"mobilenet_v2", 192, 28, 192, 3, 2, 192},
    {"mobilenet_v2", 192, 14, 64, 1, 1, 1},    {"mobilenet_v2", 64, 14, 384, 1, 1, 1},
    {"mobilenet_v2", 384, 14, 384, 3, 1, 384}, {"mobilenet_v2", 384, 14, 64, 1, 1, 1},
    {"mobilenet_v2", 384, 14, 96, 1, 1, 1},    {"mobilenet_v2", 96, 14, 576, 1, 1, 1},
    {"mobilenet_v2", 576, 14, 576, 3, 1, 576}, {"mobilenet_v2", 576, 14, 96, 1, 1, 1},
    {"mobilenet_v2", 576, 14, 576, 3, 2, 576}, {"mobilenet_v2", 576, 7, 160, 1, 1, 1},
    {"mobilenet_v2", 160, 7, 960, 1, 1, 1},    {"mobilenet_v2", 960, 7, 960, 3, 1, 960},
    {"mobilenet_v2", 960, 7, 160, 1, 1, 1},    {"mobilenet_v2", 960, 7, 320, 1, 1, 1},
    {"mobilenet_v2", 320, 7, 1280, 1, 1, 1},
};

const std::vector<std::string> kPasses = {"forward", "data", "weights"};

struct Settings {
    std::string network = "all", layers, pass = "all";
    std::int64_t batch = 1;
    bool is_list = false, weight_changes = false;
    Repeats repeats;
};

constexpr long long kMostExtent = 1 << 20;

[[noreturn]] void bad_layer(const std::string& word) {
    usage_error("voltac bench conv: --layers has '" + word +
                "', which is no CHANNELSxSIDExFILTERSxKERNELxSTRIDExGROUPS of 1 .. " +
                std::to_string(kMostExtent) +
                ", as 64x56x128x3x2x1, whose groups divide channels and filters");
}

// The six numbers of the table, as --list prints them.
Layer parse_layer(const std::string& word) {
    std::int64_t extents[6];
    std::istringstream parts(word);
    std::string part;
    std::size_t count = 0;
    for (; std::getline(parts, part, 'x'); ++count) {
        char* end = nullptr;
        const long long value = std::strtoll(part.c_str(), &end, 10);
        if (count == 6 || part.empty() || *end != '\0' || value < 1 || value > kMostExtent) bad_layer(word);
        extents[count] = value;
    }
    if (count != 6) bad_layer(word);
    const Layer layer = {"", extents[0], extents[1], extents[2], extents[3], extents[4], extents[5]};
    if (layer.channels % layer.groups != 0 || layer.filters % layer.groups != 0) bad_layer(word);
    return layer;
}

std::string text_of(const Layer& l) {
    const auto whole = [](std::int64_t value) { return static_cast<long long>(value); };
    return formatted("%lldx%lldx%lldx%lldx%lldx%lld", whole(l.channels), whole(l.side), whole(l.filters),
                     whole(l.kernel), whole(l.stride), whole(l.groups));
}

std::vector<Layer> layers_of(const Settings& s) {
    std::vector<Layer> layers;
    std::istringstream words(s.layers);
    for (std::string word; std::getline(words, word, ',');) layers.push_back(parse_layer(word));
    if (s.layers.empty())
        for (const Layer& layer : kLayers)
            if (s.network == "all" || s.network == layer.network) layers.push_back(layer);
    return layers;
}

volta_attribute list_attribute(const char* name, const Extents& values) {  // lent: until it is applied
    volta_attribute made = {};
    made.name = name;
    made.integers = values.data();
    made.integer_count = values.size();
    return made;
}

// The weight is a parameter of the model, packed once, or an input, as for training. Gradients of weights
// have none.
SessionCase convolution(const Context& context, const Layer& l, const Settings& s, const std::string& pass) {
    const std::int64_t batch = s.batch;
    const Extents x = {batch, l.channels, l.side, l.side}, y = {batch, l.filters, l.out(), l.out()};
    const Extents weight = {l.filters, l.channels / l.groups, l.kernel, l.kernel};
    const Extents strides = {l.stride, l.stride}, side = {l.side, l.side};
    const std::int64_t pad = l.kernel / 2;
    const Extents pads = {pad, pad, pad, pad};
    GraphBuilder graph(context);
    const auto add_weight = [&] {
        return s.weight_changes ? graph.input("w", weight) : graph.parameter("w", weight);
    };
    std::vector<volta_attribute> attributes = {list_attribute("strides", strides),
                                               list_attribute("pads", pads),
                                               attribute("groups", static_cast<double>(l.groups))};
    if (pass == "forward") {
        const volta_value picture = graph.input("x", x);
        graph.output(graph.apply("conv", {picture, add_weight()}, attributes));
    } else if (pass == "data") {
        attributes.push_back(list_attribute("shape", side));
        const volta_value dy = graph.input("dy", y);
        graph.output(graph.apply("conv_transpose", {dy, add_weight()}, attributes));
    } else {
        attributes.push_back(list_attribute("shape", weight));
        graph.output(
            graph.apply("conv_grad_weight", {graph.input("x", x), graph.input("dy", y)}, attributes));
    }
    return SessionCase(context, graph.model());
}

// What it takes at least: its operations at the peak, or its three operands once through memory.
struct Bound {
    double operations, bytes;
    double seconds(const volta_machine_speed& speed) const {
        return std::max(operations / (speed.fma_gflops * 1e9), bytes / (speed.read_gb_s * 1e9));
    }
};
Bound bound_of(const Layer& l, std::int64_t batch) {
    const auto real = [](std::int64_t value) { return static_cast<double>(value); };
    const double weights = real(l.filters) * real(l.channels / l.groups) * real(l.kernel) * real(l.kernel);
    const double pixels = real(batch) * real(l.out()) * real(l.out());
    const double in = real(batch) * real(l.channels) * real(l.side) * real(l.side);
    return {2 * weights * pixels, 4 * (weights + in + pixels * real(l.filters))};
}

void print_row(const Layer& l, const Settings& s, const std::string& pass, const Timing& timing,
               const volta_machine_speed& speed, const volta_bill& bill) {
    const Bound bound = bound_of(l, s.batch);
    const double gflops = bound.operations / timing.seconds * 1e-9;
    const double share = bound.seconds(speed) / timing.seconds;
    if (s.repeats.json) {
        print(json_text(Json({{"network", l.network},
                              {"layer", text_of(l)},
                              {"batch", s.batch},
                              {"pass", pass},
                              {"threads", speed.thread_count},
                              {"isa", isa_name(speed.isa)},
                              {"median_us", timing.seconds * 1e6},
                              {"spread", timing.spread},
                              {"median_gflops", gflops},
                              {"fraction_of_bound", share},
                              {"packed_mib", static_cast<double>(bill.parameters) / kMiB},
                              {"workspace_mib", static_cast<double>(bill.workspace) / kMiB}})) +
              "\n");
        return;
    }
    print(formatted("%-13s %-22s %-8s %12.1f %8.1f %% %10.2f %10.1f %%\n", l.network, text_of(l).c_str(),
                    pass.c_str(), timing.seconds * 1e6, 100 * timing.spread, gflops, 100 * share));
}

}  // namespace

int run_conv(const std::vector<std::string>& arguments) {
    Settings s;
    s.repeats.runs = 7;
    s.repeats.warmup = 1;
    Options options(
        "bench conv",
        "Convolutions, each as a plan of its own: forward, the gradient of its picture (data) "
        "and of its weights. "
        "The roofline bound is the larger of operations / multiply-add peak and the three operands' bytes "
        "/ read bandwidth; "
        "what lies in a cache may pass it. A run repeats short ones for 2 ms; spread is (90th - "
        "10th percentile) / "
        "median of the runs.");
    options.choice(
        "--network", s.network, {"all", "resnet18", "resnet50", "mobilenet_v2"},
        "whose layers, on pictures of 224 x 224; ResNet-50's 3x3 ones that ResNet-18 has as well stand "
        "there (default: all)");
    options.text(
        "--layers", s.layers,
        "instead: CHANNELSxSIDExFILTERSxKERNELxSTRIDExGROUPS,..., square, padded by half the kernel");
    options.integer("--batch", s.batch, 1, 4096, "pictures (default: 1)");
    options.choice("--pass", s.pass, {"all", "forward", "data", "weights"},
                   "one of the three (default: all)");
    options.flag("--weight-changes", s.weight_changes,
                 "pack the weight in every run, as training does, and not once");
    options.flag("--list", s.is_list, "print the layers, one a line, and measure nothing");
    declare(options, s.repeats);
    options.parse(arguments);
    if (options.given("--layers") && options.given("--network"))
        usage_error("voltac bench conv: --layers and --network exclude each other");
    const std::vector<Layer> layers = layers_of(s);
    if (s.is_list) {
        for (const Layer& layer : layers) print(text_of(layer) + "\n");
        return 0;
    }
    const Context context = make_context(s.repeats.machine);
    Peaks peaks(context);
    if (!s.repeats.json)
        print(machine_line(context, peaks.refreshed()) +
              formatted("%lld pictures; %s\n\n%-13s %-22s %-8s %12s %10s %10s %12s\n",
                        static_cast<long long>(s.batch), kSpreadMeans, "network", "layer", "pass", "us",
                        "spread", "GFLOP/s", "of the bound"));
    for (const Layer& layer : layers)
        for (const std::string& pass : kPasses) {
            if (s.pass != "all" && s.pass != pass) continue;
            const volta_machine_speed speed = peaks.refreshed();
            SessionCase one = convolution(context, layer, s, pass);
            one.run();
            volta_bill bill = VOLTA_BILL_INIT;
            check(volta_session_get_bill(one.session().get(), &bill));
            print_row(layer, s, pass, time_short_calls(s.repeats, [&] { one.run(); }), speed, bill);
        }
    return 0;
}

}  // namespace voltac::bench
