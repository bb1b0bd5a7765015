// Convolutions, pooling and resizing as ONNX.
#include "engine/graph/forms.h"
#include "engine/import/onnx/write_table.h"

namespace volta::onnx::write {
namespace {

struct Named {
    Attr key;
    const char* name;
};
constexpr Named kLists[] = {{Attr::kernel, "kernel_shape"},
                            {Attr::strides, "strides"},
                            {Attr::dilations, "dilations"},
                            {Attr::pads, "pads"}};

// The lists that the node has, where they are not empty.
class Settings {
  public:
    explicit Settings(const Writer& w) {
        for (const Named& list : kLists) {
            const Shape values = w.integers(list.key);
            if (values.rank > 0) add(wholes(list.name, values));
        }
    }
    void add(const Setting& setting) { settings_[count_++] = setting; }
    const Setting* data() const { return settings_; }
    int count() const { return count_; }

  private:
    Setting settings_[8] = {};
    int count_ = 0;
};

void give_conv(Writer& w, const char* name, Settings& settings) {
    Shape kernel;
    for (int axis = 2; axis < w.shape(1).rank; ++axis) kernel[kernel.rank++] = w.shape(1)[axis];
    settings.add(wholes("kernel_shape", kernel));
    settings.add(whole("group", w.count(Attr::groups)));
    const Ref operands[] = {w.in(0), w.in(1), w.inputs() > 2 ? w.in(2) : -1};
    w.give(w.op(name, operands, w.inputs(), settings.data(), settings.count()));
}

}  // namespace

void conv(Writer& w) {
    Settings settings(w);
    give_conv(w, "Conv", settings);
}

// Extents that the node asks for are its least ones and output_padding.
void conv_transpose(Writer& w) {
    Settings settings(w);
    Shape extra = w.integers(Attr::output_padding);
    const Shape to = w.integers(Attr::shape), strides = w.integers(Attr::strides),
                dilations = w.integers(Attr::dilations), pads = w.integers(Attr::pads);
    for (int axis = 0; axis < to.rank; ++axis) {
        if (w.is_open(w.value(0), axis + 2))
            w.refuse("it has a shape, and axis %d of its input is open", axis + 2);
        const auto of = [&](const Shape& list, int i, std::int64_t otherwise) {
            return list.rank > 0 ? list[i] : otherwise;
        };
        const std::int64_t taps = (w.shape(1)[axis + 2] - 1) * of(dilations, axis, 1) + 1;
        const std::int64_t least = of(strides, axis, 1) * (w.shape(0)[axis + 2] - 1) + taps -
                                   of(pads, axis, 0) - of(pads, axis + to.rank, 0);
        extra.rank = to.rank;
        extra[axis] = to[axis] - least;
        if (extra[axis] < 0) w.refuse("axis %d of its shape is below the least extent", axis);
    }
    if (extra.rank > 0) settings.add(wholes("output_padding", extra));
    give_conv(w, "ConvTranspose", settings);
}

void pool(Writer& w) {
    const bool is_average = w.node().op == Op::average_pool;
    Settings settings(w);
    settings.add(whole("ceil_mode", w.count(Attr::ceil_mode)));
    if (is_average) settings.add(whole("count_include_pad", w.count(Attr::count_include_pad)));
    const Ref x = w.in(0);
    w.give(w.op(is_average ? "AveragePool" : "MaxPool", &x, 1, settings.data(), settings.count()));
}

void resize(Writer& w) {
    const Shape to = w.integers(Attr::shape);
    const ValueId x = w.value(0);
    const bool linear = w.number(Attr::mode) != 0;
    Ref sizes = -1;
    if (w.is_open(x, 0) || w.is_open(x, 1)) {
        const Ref front = w.op("Slice", {w.extents(x), w.wholes({0}), w.wholes({2}), w.wholes({0})});
        sizes = w.op("Concat", {front, w.wholes(to)}, {whole("axis", 0)});
    } else {
        Shape all{w.shape(0)[0], w.shape(0)[1]};
        for (int axis = 0; axis < to.rank; ++axis) all[all.rank++] = to[axis];
        sizes = w.wholes(all);
    }
    const char* const places = linear ? "half_pixel" : "asymmetric";
    w.give(w.op("Resize", {w.in(0), -1, -1, sizes},
                {text("coordinate_transformation_mode", places), text("mode", linear ? "linear" : "nearest"),
                 text("nearest_mode", "floor")}));
}

}  // namespace volta::onnx::write
