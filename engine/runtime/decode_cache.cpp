#include "engine/runtime/decode_cache.h"

#include "engine/base/multiples.h"

namespace volta {

DecodeCache::DecodeCache(const Program& program, std::pmr::memory_resource* structures)
    : program_(program), layers_(structures) {
    const Graph& graph = program.plan().graph;
    std::size_t bytes = 0;
    for (const Node& node : graph.nodes) {
        if (node.op != Op::cached_attention) continue;
        const Shape& keys = graph.shape(node.inputs[0]);
        Layer layer;
        layer.layout = {keys[0], keys[1], keys[2] * keys[4], keys[3]};
        for (const int i : {0, 1}) {
            const ValueId state = node.inputs[static_cast<std::size_t>(i)];
            layer.name[i] = &graph.producer(state).name;
            layer.offset[i] = bytes;
            bytes += static_cast<std::size_t>(graph.shape(state).elements()) * sizeof(float);
        }
        layers_.push_back(layer);
    }
    content_ = Block(program.memory(), bytes);
    if (program.memory().is_host()) prefer_large_pages(content_.data(), content_.bytes());
}

void DecodeCache::lend_to(DecodeProgram& program) const {
    for (const Layer& layer : layers_)
        for (const int i : {0, 1})
            program.lend(RegionKind::state, layer.name[i]->c_str(), floats(layer.offset[i]));
}

void DecodeCache::copy_floats(const float* from, float* to, std::int64_t count) {
    program_.require_ran(program_.memory().copy(to, from, static_cast<std::size_t>(count) * sizeof(float)));
}

void DecodeCache::copy(const DecodeCache& source, std::int64_t from, std::int64_t to, std::int64_t tokens) {
    const std::int64_t rounded = round_up(tokens, define::kCachePanel);
    for (std::size_t i = 0; i < layers_.size() && tokens > 0; ++i) {
        const Layer &there = source.layers_[i], &here = layers_[i];
        const define::CacheLayout &theirs = there.layout, &ours = here.layout;
        const float* const keys = source.floats(there.offset[0]);
        const float* const values = source.floats(there.offset[1]);
        for (std::int64_t head = 0; head < ours.kv_heads; ++head) {
            copy_floats(keys + theirs.key_head(from, head), floats(here.offset[0]) + ours.key_head(to, head),
                        rounded * ours.head_dim);
            for (std::int64_t c = 0; c < ours.head_dim; c += define::kCachePanel)
                copy_floats(values + theirs.value_head(from, head) + theirs.value(0, c),
                            floats(here.offset[1]) + ours.value_head(to, head) + ours.value(0, c),
                            tokens * define::kCachePanel);
        }
    }
}

}  // namespace volta
