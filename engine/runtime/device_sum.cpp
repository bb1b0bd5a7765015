#include "engine/runtime/device_sum.h"

namespace volta {

namespace {

Graph sum_graph(std::uint64_t elements, std::pmr::memory_resource* heap) {
    Graph graph(heap);
    const Shape row{static_cast<std::int64_t>(elements)};
    const ValueId earlier = graph.input("earlier", DType::f32, row);
    const ValueId later = graph.input("later", DType::f32, row);
    graph.output("sum", graph.apply(Op::add, {earlier, later}, {}, Phase::each));
    return graph;
}

}  // namespace

DeviceSum::DeviceSum(Context& context, std::uint64_t elements)
    : memory_(context.plans().prepare(sum_graph(elements, context.structures()), {}), context.structures()),
      earlier_(static_cast<std::size_t>(memory_.find(RegionKind::input, "earlier"))),
      later_(static_cast<std::size_t>(memory_.find(RegionKind::input, "later"))),
      sum_(static_cast<std::size_t>(memory_.find(RegionKind::output, "sum"))) {
    for (const std::size_t region : {earlier_, later_, sum_}) memory_.lend_in_place(region, nullptr);
}

void DeviceSum::run(const void* earlier, const void* later, void* sum) {
    memory_.lend_in_place(earlier_, const_cast<void*>(earlier));
    memory_.lend_in_place(later_, const_cast<void*>(later));
    memory_.lend_in_place(sum_, sum);
    memory_.run(Phase::each, 0);
}

}  // namespace volta
