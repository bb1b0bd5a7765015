#include "engine/model/resnet.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/model/transformer.h"

namespace volta {
namespace {

constexpr int kStages = 4;
constexpr std::int64_t kMostPixels = 65536;  // along a side

struct ResnetRow {
    std::int64_t depth, width;     // channels of the first stage
    std::int64_t blocks[kStages];  // 0: there is no such stage
    bool bottleneck, of_cifar;
};
constexpr ResnetRow kRows[] = {
    {18, 64, {2, 2, 2, 2}, false, false}, {34, 64, {3, 4, 6, 3}, false, false},
    {50, 64, {3, 4, 6, 3}, true, false},  {20, 16, {3, 3, 3, 0}, false, true},
    {32, 16, {5, 5, 5, 0}, false, true},  {44, 16, {7, 7, 7, 0}, false, true},
    {56, 16, {9, 9, 9, 0}, false, true},
};
constexpr std::int64_t kExpansion = 4;  // of a bottleneck

const ResnetRow& row_of(std::int64_t depth) {
    for (const ResnetRow& row : kRows)
        if (row.depth == depth) return row;
    fail(VOLTA_INVALID_ARGUMENT,
         "depth is %" PRId64 "; a ResNet has 18, 34 or 50 layers, or 20, 32, 44 or 56", depth);
}

class ResnetBuilder {
  public:
    ResnetBuilder(const ResnetConfig& config, std::pmr::memory_resource* heap)
        : config_(config), row_(row_of(config.depth)), graph_(heap) {}

    Graph build() {
        ValueId x =
            graph_.input("pictures", DType::f32, {-1, config_.channels, config_.rows, config_.columns});
        x = stem(x);
        std::int64_t width = row_.width;
        for (int stage = 0; stage < kStages; ++stage, width *= 2)
            for (std::int64_t i = 0; i < row_.blocks[stage]; ++i) {
                std::snprintf(prefix_, sizeof prefix_, "layer%d.%" PRId64 ".", stage + 1, i);
                x = block(x, width, stage > 0 && i == 0 ? 2 : 1);
            }
        prefix_[0] = '\0';
        graph_.output("logits", classifier(x));
        return std::move(graph_);
    }

  private:
    ValueId parameter(const char* part, const char* what, const Shape& shape, const Init& init) {
        char name[96];
        std::snprintf(name, sizeof name, "%s%s.%s", prefix_, part, what);
        return graph_.parameter(name, shape, init);
    }
    static Init constant(double value) { return {VOLTA_INIT_CONSTANT, value, 0}; }

    ValueId conv(const char* part, ValueId x, std::int64_t filters, std::int64_t kernel, std::int64_t stride,
                 std::int64_t pad) {
        const double deviation = std::sqrt(2.0 / static_cast<double>(filters * kernel * kernel));
        const ValueId w = parameter(part, "weight", {filters, graph_.shape(x)[1], kernel, kernel},
                                    {VOLTA_INIT_NORMAL, deviation, 0});
        return graph_.apply(Op::conv, {x, w},
                            {list(Attr::strides, {stride, stride}), list(Attr::pads, {pad, pad, pad, pad})});
    }
    ValueId norm(const char* part, ValueId x) {
        const Shape channels{graph_.shape(x)[1]};
        const ValueId scale = parameter(part, "weight", channels, constant(1));
        const ValueId bias = parameter(part, "bias", channels, constant(0));
        const ValueId mean = parameter(part, "running_mean", channels, constant(0));
        const ValueId variance = parameter(part, "running_var", channels, constant(1));
        return graph_.apply(Op::batch_norm, {x, scale, bias, mean, variance});
    }
    ValueId relu(ValueId x) { return graph_.apply(Op::relu, {x}); }

    ValueId stem(ValueId x) {
        if (config_.stem == ResnetStem::small)
            return relu(norm("bn1", conv("conv1", x, row_.width, 3, 1, 1)));
        x = relu(norm("bn1", conv("conv1", x, row_.width, 7, 2, 3)));
        return graph_.apply(
            Op::max_pool, {x},
            {list(Attr::kernel, {3, 3}), list(Attr::strides, {2, 2}), list(Attr::pads, {1, 1, 1, 1})});
    }

    ValueId block(ValueId x, std::int64_t width, std::int64_t stride) {
        ValueId y;
        if (row_.bottleneck) {
            y = relu(norm("bn1", conv("conv1", x, width, 1, 1, 0)));
            y = relu(norm("bn2", conv("conv2", y, width, 3, stride, 1)));
            y = norm("bn3", conv("conv3", y, width * kExpansion, 1, 1, 0));
        } else {
            y = relu(norm("bn1", conv("conv1", x, width, 3, stride, 1)));
            y = norm("bn2", conv("conv2", y, width, 3, 1, 1));
        }
        return relu(graph_.apply(Op::add, {y, shortcut(x, graph_.shape(y)[1], stride)}));
    }

    ValueId shortcut(ValueId x, std::int64_t channels, std::int64_t stride) {
        const std::int64_t given = graph_.shape(x)[1];
        if (stride == 1 && given == channels) return x;
        if (!row_.of_cifar) return norm("downsample.1", conv("downsample.0", x, channels, 1, stride, 0));
        const ValueId pixels = graph_.apply(
            Op::average_pool, {x}, {list(Attr::kernel, {1, 1}), list(Attr::strides, {stride, stride})});
        const std::int64_t before = (channels - given) / 2;
        // The gradient of a slice puts zeros around it.
        return graph_.apply(Op::slice_grad, {pixels},
                            {number(Attr::axis, 1), number(Attr::begin, static_cast<double>(before)),
                             number(Attr::rows, static_cast<double>(channels))});
    }

    ValueId classifier(ValueId x) {
        x = graph_.apply(Op::mean, {x}, {list(Attr::axes, {2, 3})});
        const std::int64_t width = graph_.shape(x).last();
        const Init uniform = {VOLTA_INIT_UNIFORM, -1 / std::sqrt(static_cast<double>(width)),
                              1 / std::sqrt(static_cast<double>(width))};
        const ValueId w = parameter("fc", "weight", {config_.classes, width}, uniform);
        const ValueId bias = parameter("fc", "bias", {config_.classes}, uniform);
        return graph_.apply(Op::add,
                            {graph_.apply(Op::matmul, {x, w}, {number(Attr::transpose_b, 1)}), bias});
    }

    const ResnetConfig& config_;
    const ResnetRow& row_;
    Graph graph_;
    char prefix_[48] = "";
};

}  // namespace

ResnetConfig complete(const ResnetConfig& config) {
    const ResnetRow& row = row_of(config.depth);
    ResnetConfig whole = config;
    require_size({"stem", static_cast<std::int64_t>(config.stem)}, VOLTA_RESNET_STEM_OF_DEPTH,
                 VOLTA_RESNET_STEM_SMALL);
    if (whole.stem == ResnetStem::of_depth) whole.stem = row.of_cifar ? ResnetStem::small : ResnetStem::large;
    if (whole.classes == 0) whole.classes = row.of_cifar ? 10 : 1000;
    const std::int64_t side = whole.stem == ResnetStem::large ? 224 : 32;
    if (whole.rows == 0) whole.rows = side;
    if (whole.columns == 0) whole.columns = side;
    require_size({"classes", whole.classes}, 1, kMostModelSize);
    require_size({"channels", whole.channels}, 1, kMostModelSize);
    require_size({"rows", whole.rows}, 1, kMostPixels);
    require_size({"columns", whole.columns}, 1, kMostPixels);
    return whole;
}

Graph build_resnet(const ResnetConfig& config, std::pmr::memory_resource* heap) {
    const ResnetConfig whole = complete(config);
    return build_architecture("ResNet", [&] { return ResnetBuilder(whole, heap).build(); });
}

void describe_resnet(const ResnetConfig& config, Model& model) {
    const ResnetConfig whole = complete(config);
    describe_architecture(model, "resnet",
                          {{"depth", whole.depth},
                           {"classes", whole.classes},
                           {"channels", whole.channels},
                           {"rows", whole.rows},
                           {"columns", whole.columns},
                           {"stem", static_cast<std::int64_t>(whole.stem)}});
}

HeapPtr<Model> create_resnet(const ResnetConfig& config, std::uint64_t seed,
                             std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors,
                             const InitMachine& machine) {
    HeapPtr<Model> model =
        Model::create(build_resnet(config, structures), seed, structures, tensors, machine);
    describe_resnet(config, *model);
    return model;
}

}  // namespace volta
