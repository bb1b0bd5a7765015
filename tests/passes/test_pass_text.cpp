// The printed graph before and after each pass, as it was when somebody last looked at it.
#include "engine/graph/print.h"
#include "engine/passes/pass.h"
#include "tests/passes/sample_graphs.h"
#include "tests/support/golden.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr struct {
    const char* name;
    Graph (*build)();
} kSamples[] = {
    {"mlp", mlp_graph},           {"activation", activation_graph}, {"arithmetic", arithmetic_graph},
    {"movement", movement_graph}, {"duplicates", duplicates_graph}, {"step", [] { return step_graph(2); }},
    {"weights", weights_graph},   {"norms", norms_graph},
};

std::string story(Graph graph) {
    std::string text = "graph\n" + std::string(print(graph, test_heap()));
    for (int pass = 0; pass < kPassCount; ++pass) {
        Graph next = run_pass(kPasses[pass], graph, test_heap());
        const auto before = print(graph, test_heap()), after = print(next, test_heap());
        text += std::string("\nafter ") + kPasses[pass].name +
                (before == after ? ": the same\n" : "\n" + std::string(after));
        graph = std::move(next);
    }
    return text;
}

void test_pass_texts(void**) {
    bool all = true;
    for (const auto& sample : kSamples)
        all = matches_golden("passes/" + std::string(sample.name) + ".txt", story(sample.build())) && all;
    assert_true(all);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_pass_texts)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
