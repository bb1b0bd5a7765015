// Graphs of ONNX written as a line of text, what becomes of them, and what they give.
#pragma once

#include <cmath>
#include <cstring>
#include <map>

#include "engine/graph/evaluate.h"
#include "engine/import/import_model.h"
#include "tests/import/onnx_files.h"
#include "tests/model/test_heap.h"
#include "tests/support/errors.h"
#include "tests/support/weight_files.h"

namespace volta::test {

struct OnnxWorld {
    TestHeap heap;
    TemporaryFolder folder;
    HeapPtr<Model> import(const OnnxGraph& graph, bool exact = false) {
        ImportOptions options;
        options.onnx.exact_graph = exact;
        return import_model(folder.write("model.onnx", onnx_file(graph)).c_str(), options, heap.structures(),
                            heap.tensors());
    }
    std::string survey(const OnnxGraph& graph, bool exact = false) {
        ImportOptions options;
        options.onnx.exact_graph = exact;
        return survey_model(folder.write("model.onnx", onnx_file(graph)).c_str(), options, heap.structures())
            .c_str();
    }
};

// Nodes as text: "d=Sub(x,m); m=ReduceMean(x) axes=-1; y=Mul(d,#0.5)", where # is a constant of one element.
// A list of integers is an attribute: perm=0,2,1,3.
inline void add_nodes(OnnxGraph& graph, const std::string& text) {
    std::map<std::string, bool> constants;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(';', at), text.size());
        std::string line = text.substr(at, end - at);
        at = end + 1;
        line.erase(0, line.find_first_not_of(' '));
        const std::size_t equals = line.find('='), open = line.find('('), close = line.find(')');
        const std::string op = line.substr(equals + 1, open - equals - 1);
        Names inputs;
        for (std::size_t i = open + 1; i < close;) {
            const std::size_t comma = std::min(line.find(',', i), close);
            inputs.push_back(line.substr(i, comma - i));
            if (inputs.back()[0] == '#' && !constants[inputs.back()]) {
                constants[inputs.back()] = true;
                graph.initializers.push_back(
                    float_tensor(inputs.back(), {}, {std::strtof(inputs.back().c_str() + 1, nullptr)}));
            }
            i = comma + 1;
        }
        Messages attributes;
        if (const std::size_t value = line.find('=', close); value != line.npos) {
            const std::size_t name = line.rfind(' ', value) + 1;
            std::vector<std::int64_t> integers;
            for (std::size_t i = value + 1; i < line.size();) {
                const std::size_t comma = std::min(line.find(',', i), line.size());
                integers.push_back(std::stoll(line.substr(i, comma - i)));
                i = comma + 1;
            }
            const std::string key = line.substr(name, value - name);
            attributes.push_back(key == "axis" ? int_attribute(key, integers[0])
                                               : ints_attribute(key, integers));
        }
        graph.nodes.push_back(node(op, inputs, {line.substr(0, equals)}, attributes));
    }
}

// Values of both signs and several magnitudes, without a period that a shape has.
inline float sample(std::size_t i) {
    const float wave = std::sin(static_cast<float>(i) * 0.739f + 0.3f) * 2.7f;
    return i % 11 == 7 ? wave * 4 : wave;
}

inline std::vector<float> run(const Graph& graph, const Model& model, OnnxWorld& world) {
    std::pmr::vector<EvalTensor<float>> tensors(graph.values.size(), world.heap.structures());
    std::size_t parameter = 0;
    for (const SourceInfo& source : graph.sources) {
        const Node& node = graph.node(source.node);
        auto& tensor = tensors[static_cast<std::size_t>(node.first_output)];
        const auto count = static_cast<std::size_t>(graph.shape(node.first_output).elements());
        if (node.op == Op::parameter) {
            const float* data = static_cast<const float*>(model.parameters[parameter++].data);
            tensor.real.assign(data, data + count);
        } else if (graph.value(node.first_output).dtype == DType::f32) {
            for (std::size_t i = 0; i < count; ++i) tensor.real.push_back(sample(i));
        } else {
            for (std::size_t i = 0; i < count; ++i)
                tensor.integer.push_back(static_cast<std::int32_t>(i % 3));
        }
    }
    evaluate(graph, tensors);
    const auto& result = tensors[static_cast<std::size_t>(graph.outputs[0].value)];
    return {result.real.begin(), result.real.end()};
}
inline std::vector<float> run(const Model& model, OnnxWorld& world) { return run(model.graph, model, world); }

inline int count_of(const Graph& graph, Op op) {
    int count = 0;
    for (const Node& node : graph.nodes) count += node.op == op;
    return count;
}

inline void assert_close(const std::vector<float>& a, const std::vector<float>& b, float tolerance) {
    assert_int_equal(a.size(), b.size());
    float largest = 0;
    for (const float value : b) largest = std::max(largest, std::fabs(value));
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!(std::fabs(a[i] - b[i]) <= tolerance * largest)) {
            print_error("element %zu is %.9g, not %.9g\n", i, static_cast<double>(a[i]),
                        static_cast<double>(b[i]));
            assert_true(false);
        }
}

}  // namespace volta::test
