// The window of a convolution or pool as the node's attributes say it.
#pragma once

#include "engine/graph/forms.h"
#include "engine/import/onnx/call.h"

namespace volta::onnx {

struct Window {
    std::pmr::vector<std::int64_t> kernel, strides, dilations, pads;
};

// One entry of a list per spatial axis, or the default.
std::pmr::vector<std::int64_t> per_axis(Call& call, const char* name, int count, std::int64_t otherwise);
// By auto_pad, or as given.
Window window_of(Call& call, const Extents& x, const std::pmr::vector<std::int64_t>& kernel);
inline std::int64_t reach_of(const Window& window, std::size_t i) {
    return (window.kernel[i] - 1) * window.dilations[i] + 1;
}
inline Attribute list_of(Attr key, const std::pmr::vector<std::int64_t>& values) {
    Attribute attribute = list(key, {});
    for (const std::int64_t value : values) attribute.integers[attribute.integer_count++] = value;
    return attribute;
}

// volumes.cpp: three spatial axes, as pictures.
ValueId convolved_volume(Call& call, ValueId x, ValueId weight, ValueId bias, const Window& window,
                         std::int64_t groups);
ValueId volume_maxima(Call& call, ValueId x, const Window& window, bool ceil);
// Sums over a window of any number of axes and with dilations, divided by how many elements there are: of the
// tensor, or of the padding too.
enum class Of { nothing, tensor, all };
ValueId window_sums(Call& call, ValueId x, const Window& window, bool ceil, Of what);

}  // namespace volta::onnx
