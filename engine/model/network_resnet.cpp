#include "engine/base/error.h"
#include "engine/model/network_builder.h"

namespace volta {
namespace {

constexpr int kStages = 4;

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
    fail(VOLTA_INTERNAL, "there is no ResNet of %lld layers", static_cast<long long>(depth));
}

class ResnetBuilder : NetworkBuilder {
  public:
    ResnetBuilder(const NetworkConfig& whole, std::pmr::memory_resource* heap)
        : NetworkBuilder(whole, heap), row_(row_of(whole.network->depth)) {}

    Graph build() {
        ValueId x = stem(pictures());
        std::int64_t width = row_.width;
        for (stage_ = 1; stage_ <= kStages; ++stage_, width *= 2)
            for (block_ = 0; block_ < row_.blocks[stage_ - 1]; ++block_)
                x = block(x, width, stage_ > 1 && block_ == 0 ? 2 : 1);
        graph_.output("logits", uniform_classifier("fc", mean(x)));
        return std::move(graph_);
    }

  private:
    // "layer<stage>.<block>.<end>"
    const char* part(const char* end) {
        std::snprintf(part_, sizeof part_, "layer%d.%d.%s", stage_, block_, end);
        return part_;
    }
    ValueId convolved(const char* conv_part, const char* norm_part, ValueId x, std::int64_t filters,
                      std::int64_t k, std::int64_t stride) {
        x = conv(part(conv_part), x, filters, k, stride);
        return norm(part(norm_part), x);
    }

    ValueId stem(ValueId x) {
        if (config_.stem == Stem::small) return relu(norm("bn1", conv("conv1", x, row_.width, 3, 1)));
        x = relu(norm("bn1", conv("conv1", x, row_.width, 7, 2)));
        return maximum(x, 3, 2, 1);
    }

    ValueId block(ValueId x, std::int64_t width, std::int64_t stride) {
        ValueId y;
        if (row_.bottleneck) {
            y = relu(convolved("conv1", "bn1", x, width, 1, 1));
            y = relu(convolved("conv2", "bn2", y, width, 3, stride));
            y = convolved("conv3", "bn3", y, width * kExpansion, 1, 1);
        } else {
            y = relu(convolved("conv1", "bn1", x, width, 3, stride));
            y = convolved("conv2", "bn2", y, width, 3, 1);
        }
        return relu(graph_.apply(Op::add, {y, shortcut(x, channels(y), stride)}));
    }

    ValueId shortcut(ValueId x, std::int64_t filters, std::int64_t stride) {
        const std::int64_t given = channels(x);
        if (stride == 1 && given == filters) return x;
        if (!row_.of_cifar) return convolved("downsample.0", "downsample.1", x, filters, 1, stride);
        const ValueId pixels = graph_.apply(
            Op::average_pool, {x}, {list(Attr::kernel, {1, 1}), list(Attr::strides, {stride, stride})});
        const std::int64_t before = (filters - given) / 2;
        // The gradient of a slice puts zeros around it.
        return graph_.apply(Op::slice_grad, {pixels},
                            {number(Attr::axis, 1), number(Attr::begin, static_cast<double>(before)),
                             number(Attr::rows, static_cast<double>(filters))});
    }

    const ResnetRow& row_;
    int stage_ = 0, block_ = 0;
    char part_[48];
};

}  // namespace

Graph build_resnet(const NetworkConfig& whole, std::pmr::memory_resource* heap) {
    return ResnetBuilder(whole, heap).build();
}

}  // namespace volta
