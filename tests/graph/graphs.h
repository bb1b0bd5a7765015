// What the graph tests share: sources of a shape, the sentence of a failure, data for a graph's sources.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>

#include "engine/base/error.h"
#include "engine/graph/evaluate.h"
#include "engine/graph/graph.h"
#include "engine/graph/print.h"
#include "engine/graph/verify.h"
#include "tests/support/tensors.h"

namespace volta::test {

inline std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

// Sources named after their number: x0, x1, ...
struct SourceName {
    char text[16];
    explicit SourceName(const Graph& graph) {
        std::snprintf(text, sizeof text, "x%zu", graph.sources.size());
    }
};
inline ValueId reals(Graph& graph, const Shape& shape) {
    return graph.input(SourceName(graph).text, DType::f32, shape);
}
inline ValueId integers(Graph& graph, const Shape& shape) {
    return graph.input(SourceName(graph).text, DType::i32, shape);
}
// A parameter whose test data are uniform in [low, high).
inline ValueId weights(Graph& graph, const Shape& shape, double low = -1, double high = 1) {
    return graph.parameter(SourceName(graph).text, shape, {VOLTA_INIT_UNIFORM, low, high});
}

// How a call failed; "" and VOLTA_OK when it did not.
struct Failure {
    volta_status status = VOLTA_OK;
    char text[512] = "";
};
template <class Call>
Failure failure_of(Call call) {
    Failure failure;
    try {
        call();
    } catch (const Error& error) {
        failure.status = error.status();
        std::snprintf(failure.text, sizeof failure.text, "%s", error.what());
    }
    return failure;
}

inline void assert_failure(const char* name, const Failure& actual, volta_status status, const char* text) {
    const bool equal = actual.status == status && std::strcmp(actual.text, text) == 0;
    if (!equal)
        print_error("%s:\n  expected %s: %s\n  got      %s: %s\n", name, std::to_string(status).c_str(), text,
                    std::to_string(actual.status).c_str(), actual.text);
    assert_true(equal);
}

// A failure shows the first line that differs.
inline void assert_text(const char* name, const char* actual, const char* expected) {
    const char *a = actual, *e = expected;
    for (const char* at = actual; *at != '\0' && at[0] == expected[at - actual]; ++at)
        if (*at == '\n') a = at + 1, e = expected + (at + 1 - actual);
    const bool equal = std::strcmp(actual, expected) == 0;
    const int a_length = static_cast<int>(std::strcspn(a, "\n")),
              e_length = static_cast<int>(std::strcspn(e, "\n"));
    if (!equal) print_error("%s:\n  expected %.*s\n  got      %.*s\n", name, e_length, e, a_length, a);
    assert_true(equal);
}

template <class T>
using Tensors = std::pmr::vector<EvalTensor<T>>;

// A tensor for every source: parameters uniform as their Init says (or over special values), i32 inputs small
// ids, the first of which is 1 and, where `ignored` says so, the second -1.
template <class T>
void fill_sources(const Graph& graph, Tensors<T>& tensors, std::uint64_t seed, Data data = Data::plain) {
    Random random(seed);
    for (const SourceInfo& source : graph.sources) {
        const Node& node = graph.node(source.node);
        EvalTensor<T>& tensor = tensors[static_cast<std::size_t>(node.first_output)];
        const std::int64_t count = graph.shape(node.first_output).elements();
        const double low = node.op == Op::parameter ? source.init.a : -1,
                     high = node.op == Op::parameter ? source.init.b : 1;
        tensor.real.clear();
        tensor.integer.clear();
        for (std::int64_t i = 0; i < count; ++i) {
            if (graph.value(node.first_output).dtype == DType::i32)
                tensor.integer.push_back(static_cast<std::int32_t>(random.below(3)));
            else if (data == Data::special)
                tensor.real.push_back(random_float(random, data));
            else
                tensor.real.push_back(static_cast<T>(low + (high - low) * random.uniform()));
        }
    }
}

}  // namespace volta::test
