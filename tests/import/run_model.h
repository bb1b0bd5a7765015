// What a model gives, by the reference evaluator, of inputs that follow from their names and shapes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "engine/graph/evaluate.h"
#include "engine/graph/step_input.h"
#include "engine/model/gpt.h"

namespace volta::test {

struct ModelTensor {
    std::string name;
    DType dtype;
    Shape shape;
    std::vector<float> real;
    std::vector<std::int32_t> integer;
};
struct ModelRun {
    std::vector<ModelTensor> inputs, outputs;
    std::vector<std::uint32_t> bits;  // of all outputs
};

// The extents that hosts choose: 3 of the first axis, 5 of the others.
inline Shape chosen(const Shape& declared) {
    Shape shape = declared;
    for (int axis = 0; axis < shape.rank; ++axis)
        if (shape[axis] < 0) shape[axis] = axis == 0 ? 3 : 5;
    return shape;
}

inline ModelRun run_model(const Model& model, std::pmr::memory_resource* heap) {
    const Graph plain = without_dropout(model.graph, heap);
    std::pmr::vector<Shape> shapes(heap);
    for (const SourceInfo& source : plain.sources)
        if (plain.node(source.node).op == Op::input) shapes.push_back(chosen(source.declared));
    const Graph graph = specialize(plain, shapes.data(), static_cast<int>(shapes.size()), heap);
    std::pmr::vector<EvalTensor<float>> tensors(graph.values.size(), heap);
    ModelRun run;
    std::size_t parameter = 0;
    for (const SourceInfo& source : graph.sources) {
        const Node& node = graph.node(source.node);
        auto& tensor = tensors[static_cast<std::size_t>(node.first_output)];
        const Value& value = graph.value(node.first_output);
        const auto count = static_cast<std::size_t>(value.shape.elements());
        if (node.op == Op::parameter) {
            const NamedTensor& data = model.parameters[parameter++];
            if (is_stored(data.dtype))
                tensor.stored = static_cast<const unsigned char*>(data.data);
            else
                tensor.real.assign(static_cast<const float*>(data.data),
                                   static_cast<const float*>(data.data) + count);
            continue;
        }
        ModelTensor input{node.name.c_str(), value.dtype, value.shape, {}, {}};
        for (std::size_t i = 0; i < count; ++i) {
            if (value.dtype == DType::f32)
                tensor.real.push_back(static_cast<float>(std::sin(1.7 * static_cast<double>(i) + 0.3)));
            else
                tensor.integer.push_back(
                    static_cast<std::int32_t>(node.name == "tokens" ? i * 7 % 11 : i % 3 != 2));
        }
        input.real.assign(tensor.real.begin(), tensor.real.end());
        input.integer.assign(tensor.integer.begin(), tensor.integer.end());
        run.inputs.push_back(std::move(input));
    }
    evaluate(graph, tensors);
    for (const GraphOutput& output : graph.outputs) {
        const auto& tensor = tensors[static_cast<std::size_t>(output.value)];
        const Value& value = graph.value(output.value);
        ModelTensor result{output.name.c_str(), value.dtype, value.shape, {}, {}};
        result.real.assign(tensor.real.begin(), tensor.real.end());
        result.integer.assign(tensor.integer.begin(), tensor.integer.end());
        for (const float element : result.real) {
            std::uint32_t bits;
            std::memcpy(&bits, &element, sizeof bits);
            run.bits.push_back(bits);
        }
        run.bits.insert(run.bits.end(), result.integer.begin(), result.integer.end());
        run.outputs.push_back(std::move(result));
    }
    return run;
}

// Of the outputs, relative to the largest element of each; infinite where they are not of one form.
inline double largest_difference(const ModelRun& a, const ModelRun& b) {
    double largest = 0;
    if (a.outputs.size() != b.outputs.size()) return HUGE_VAL;
    for (std::size_t k = 0; k < a.outputs.size(); ++k) {
        const ModelTensor &x = a.outputs[k], &y = b.outputs[k];
        if (x.name != y.name || x.shape != y.shape || x.dtype != y.dtype || x.integer != y.integer)
            return HUGE_VAL;
        double most = 1e-3, difference = 0;
        for (std::size_t i = 0; i < x.real.size(); ++i) {
            if (std::isnan(x.real[i]) != std::isnan(y.real[i])) return HUGE_VAL;
            if (x.real[i] == y.real[i] || std::isnan(x.real[i])) continue;
            most = std::max(most, std::fabs(static_cast<double>(x.real[i])));
            difference = std::max(difference,
                                  std::fabs(static_cast<double>(x.real[i]) - static_cast<double>(y.real[i])));
        }
        largest = std::max(largest, difference / most);
    }
    return largest;
}

}  // namespace volta::test
