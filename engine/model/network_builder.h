// What the builders of networks of pictures share: convolutions, norms and linear layers with their
// parameters, and how these start.
#pragma once

#include <cmath>
#include <cstdio>

#include "engine/model/network.h"

namespace volta {

class NetworkBuilder {
  public:
    NetworkBuilder(const NetworkConfig& whole, std::pmr::memory_resource* heap)
        : config_(whole), graph_(heap) {}

  protected:
    ValueId pictures() {
        return graph_.input("pictures", DType::f32, {-1, config_.channels, config_.rows, config_.columns});
    }
    std::int64_t channels(ValueId x) const { return graph_.shape(x)[1]; }

    // "<part>.<what>" of the network.
    ValueId parameter(const char* part, const char* what, const Shape& shape, const Init& init) {
        char name[96];
        std::snprintf(name, sizeof name, "%s.%s", part, what);
        return graph_.parameter(name, shape, init);
    }
    static Init constant(double value) { return {VOLTA_INIT_CONSTANT, value, 0}; }
    static Init normal(double deviation) { return {VOLTA_INIT_NORMAL, deviation, 0}; }

    // k x k with as much padding as keeps the size at stride 1; "<part>.weight".
    ValueId conv(const char* part, ValueId x, std::int64_t filters, std::int64_t k, std::int64_t stride,
                 std::int64_t groups = 1) {
        const std::int64_t pad = k / 2;
        const double deviation = std::sqrt(2.0 / static_cast<double>(filters * k * k));
        const ValueId w = parameter(part, "weight", {filters, channels(x) / groups, k, k}, normal(deviation));
        const Attribute strides = list(Attr::strides, {stride, stride}),
                        pads = list(Attr::pads, {pad, pad, pad, pad});
        if (groups == 1) return graph_.apply(Op::conv, {x, w}, {strides, pads});
        return graph_.apply(Op::conv, {x, w},
                            {strides, pads, number(Attr::groups, static_cast<double>(groups))});
    }
    ValueId norm(const char* part, ValueId x) {
        const Shape each{channels(x)};
        const ValueId scale = parameter(part, "weight", each, constant(1));
        const ValueId bias = parameter(part, "bias", each, constant(0));
        const ValueId mean = parameter(part, "running_mean", each, constant(0));
        const ValueId variance = parameter(part, "running_var", each, constant(1));
        return graph_.apply(Op::batch_norm, {x, scale, bias, mean, variance});
    }
    ValueId relu(ValueId x) { return graph_.apply(Op::relu, {x}); }
    ValueId maximum(ValueId x, std::int64_t k, std::int64_t stride, std::int64_t pad) {
        return graph_.apply(Op::max_pool, {x},
                            {list(Attr::kernel, {k, k}), list(Attr::strides, {stride, stride}),
                             list(Attr::pads, {pad, pad, pad, pad})});
    }

    // [batch, channels]
    ValueId mean(ValueId x) { return graph_.apply(Op::mean, {x}, {list(Attr::axes, {2, 3})}); }

    // x W' + b with "<part>.weight" [classes, width of x] and "<part>.bias".
    ValueId classifier(const char* part, ValueId x, const Init& weight, const Init& bias) {
        const ValueId w = parameter(part, "weight", {config_.classes, graph_.shape(x).last()}, weight);
        const ValueId b = parameter(part, "bias", {config_.classes}, bias);
        return graph_.apply(Op::add, {graph_.apply(Op::matmul, {x, w}, {number(Attr::transpose_b, 1)}), b});
    }
    // With weight and bias uniform in +-1 / sqrt(width of x).
    ValueId uniform_classifier(const char* part, ValueId x) {
        const double bound = 1 / std::sqrt(static_cast<double>(graph_.shape(x).last()));
        const Init uniform = {VOLTA_INIT_UNIFORM, -bound, bound};
        return classifier(part, x, uniform, uniform);
    }

    const NetworkConfig& config_;
    Graph graph_;
};

// `filters` times the network's width, as a multiple of 8 that is at least nine tenths of that.
inline std::int64_t scaled(std::int64_t filters, double width) {
    constexpr std::int64_t kMultiple = 8;
    const double wanted = static_cast<double>(filters) * width;
    const auto nearest = static_cast<std::int64_t>(wanted + kMultiple / 2.0) / kMultiple * kMultiple;
    const std::int64_t rounded = nearest > kMultiple ? nearest : kMultiple;
    return static_cast<double>(rounded) < 0.9 * wanted ? rounded + kMultiple : rounded;
}

}  // namespace volta
