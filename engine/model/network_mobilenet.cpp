#include <algorithm>
#include <cinttypes>

#include "engine/model/network_builder.h"

namespace volta {
namespace {

struct Stage {
    std::int64_t expansion, channels, blocks, stride;
};
constexpr Stage kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                             {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
constexpr std::int64_t kFirst = 32, kLast = 1280;
constexpr double kDeviation = 0.01;  // of the classifier

class MobilenetBuilder : NetworkBuilder {
  public:
    using NetworkBuilder::NetworkBuilder;

    Graph build() {
        const bool is_small = config_.stem == Stem::small;
        ValueId x = activated(pictures(), scaled(kFirst, config_.width), 3, is_small ? 1 : 2);
        for (const Stage& stage : kStages)
            for (std::int64_t i = 0; i < stage.blocks; ++i) {
                ++feature_;
                const bool halves = i == 0 && !(is_small && &stage == &kStages[1]);
                x = block(x, stage, halves ? stage.stride : 1);
            }
        ++feature_;
        x = activated(x, scaled(kLast, std::max(1.0, config_.width)), 1, 1);
        graph_.output("logits", classifier("classifier.1", mean(x), normal(kDeviation), constant(0)));
        return std::move(graph_);
    }

  private:
    // "features.<i>", in a block "features.<i>.conv.<n>", and what lies in that.
    const char* part(const char* end) {
        if (inner_ < 0)
            std::snprintf(part_, sizeof part_, "features.%d%s", feature_, end);
        else
            std::snprintf(part_, sizeof part_, "features.%d.conv.%d%s", feature_, inner_, end);
        return part_;
    }

    // relu6(norm(conv(x))), the parts 0 and 1 of one part.
    ValueId activated(ValueId x, std::int64_t filters, std::int64_t k, std::int64_t stride,
                      std::int64_t groups = 1) {
        x = conv(part(".0"), x, filters, k, stride, groups);
        x = norm(part(".1"), x);
        return graph_.apply(Op::clamp, {x}, {number(Attr::low, 0), number(Attr::high, 6)});
    }

    ValueId block(ValueId x, const Stage& stage, std::int64_t stride) {
        const std::int64_t given = channels(x), filters = scaled(stage.channels, config_.width);
        ValueId y = x;
        inner_ = 0;
        if (stage.expansion > 1) {
            y = activated(y, given * stage.expansion, 1, 1);
            ++inner_;
        }
        y = activated(y, channels(y), 3, stride, channels(y));
        ++inner_;
        y = conv(part(""), y, filters, 1, 1);
        ++inner_;
        y = norm(part(""), y);
        inner_ = -1;
        return stride == 1 && given == filters ? graph_.apply(Op::add, {y, x}) : y;
    }

    int feature_ = 0, inner_ = -1;  // inner_ -1: outside the blocks
    char part_[48];
};

}  // namespace

Graph build_mobilenet_v2(const NetworkConfig& whole, std::pmr::memory_resource* heap) {
    return MobilenetBuilder(whole, heap).build();
}

}  // namespace volta
