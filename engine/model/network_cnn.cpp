#include "engine/model/network_builder.h"

namespace volta {
namespace {

constexpr std::int64_t kFilters[] = {32, 64, 128};

class CnnBuilder : NetworkBuilder {
  public:
    using NetworkBuilder::NetworkBuilder;

    Graph build() {
        ValueId x = pictures();
        int number = 0;
        for (const std::int64_t filters : kFilters) {
            ++number;
            x = conv(part("conv", number), x, scaled(filters, config_.width), 3, 1);
            x = maximum(relu(norm(part("bn", number), x)), 2, 2, 0);
        }
        x = graph_.apply(Op::reshape, {x}, {list(Attr::shape, {-2, -1})});  // [batch, all of a picture]
        graph_.output("logits", uniform_classifier("fc", x));
        return std::move(graph_);
    }

  private:
    const char* part(const char* kind, int number) {
        std::snprintf(part_, sizeof part_, "%s%d", kind, number);
        return part_;
    }
    char part_[16];
};

}  // namespace

Graph build_cnn(const NetworkConfig& whole, std::pmr::memory_resource* heap) {
    return CnnBuilder(whole, heap).build();
}

}  // namespace volta
