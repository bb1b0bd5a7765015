// Sequences of any length: positions and causal masks that a file makes of an open extent. Each graph is
// imported with its time open and, for several lengths, with the length given: the same bits.
#include "tests/import/onnx_nodes.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr std::int64_t kMost = 32, kWidth = 4;  // of the table of positions, and of a buffer of masks

struct Buffers {
    std::vector<std::uint8_t> causal, window;
    std::vector<float> bias;
    std::vector<std::int64_t> places, other_places;
};
Buffers buffers() {
    Buffers made;
    for (std::int64_t query = 0; query < kMost; ++query)
        for (std::int64_t key = 0; key < kMost; ++key) {
            made.causal.push_back(key <= query);
            made.window.push_back(key <= query && query - key < 30);  // a triangle for short sequences
            made.bias.push_back(key <= query ? 0 : -INFINITY);
        }
    for (std::int64_t i = 0; i < kMost; ++i) {
        made.places.push_back(i);
        made.other_places.push_back(i < 30 ? i : 0);
    }
    return made;
}

// x [N, T, 4]; T as a number [1] is `t`, as one without axes `t0`; scores [N, T, T] are `s`.
OnnxGraph timed(const std::string& text) {
    const Buffers made = buffers();
    OnnxGraph graph;
    graph.inputs = {port("x", kFloat, {"N", "T", std::to_string(kWidth)})};
    graph.outputs = {port("y", kFloat, {})};
    std::vector<float> table;
    table.reserve(static_cast<std::size_t>(kMost) * kWidth);
    for (int i = 0; i < kMost * kWidth; ++i) table.push_back(static_cast<float>(i) * 0.25f - 3);
    graph.initializers = {float_tensor("table", {kMost, kWidth}, table),
                          float_tensor("batched", {1, kMost, kWidth}, table),
                          raw_tensor("causal", kBool, {1, kMost, kMost}, made.causal),
                          raw_tensor("window", kBool, {kMost, kMost}, made.window),
                          int_tensor("places", {1, kMost}, made.places),
                          int_tensor("others", {1, kMost}, made.other_places),
                          raw_tensor<std::uint8_t>("true", kBool, {1}, {1})};
    for (const auto& [name, value] :
         std::map<std::string, std::int64_t>{{"i0", 0}, {"i1", 1}, {"i2", 2}, {"im", -1}})
        graph.initializers.push_back(int_tensor(name, {1}, {value}));
    graph.initializers.push_back(int_tensor("zero", {}, {0}));
    graph.initializers.push_back(int_tensor("one", {}, {1}));
    graph.nodes.push_back(node("Constant", {}, {"bias"},
                               {tensor_attribute("value", float_tensor("", {kMost, kMost}, made.bias))}));
    graph.nodes.push_back(node("Concat", {"t", "t"}, {"tt"}, {int_attribute("axis", 0)}));
    add_nodes(graph,
              "shape=Shape(x); t=Slice(shape,i1,i2); t0=Squeeze(t,i0); xt=Transpose(x) perm=0,2,1; "
              "s=MatMul(x,xt); range=Range(zero,t0,one); " +
                  text);
    return graph;
}

#define MASKED "p=Softmax(m); y=MatMul(p,x)"

const char* const kOpen[] = {
    // positions
    "e=Gather(table,range); y=Add(x,e)",
    "r2=Unsqueeze(range,i0); e=Gather(table,r2); y=Add(x,e)",
    "p=Slice(places,i0,t,i1); e=Gather(table,p); y=Add(x,e)",
    "e=Slice(batched,i0,t,i1); y=Add(x,e)",
    "bt=Slice(shape,i0,i2); p=Slice(places,i0,t,i1); q=Expand(p,bt); e=Gather(table,q); y=Add(x,e)",
    // two axes that are computed, around one that stays; and back
    "n4=Concat(im,t,i2,i2) axis=0; a=Reshape(x,n4); b=Transpose(a) perm=0,2,1,3; n3=Concat(im,t,i2) axis=0; "
    "c=Reshape(b,n3); d=Transpose(c) perm=0,2,1; nb=Slice(shape,i0,i1); n5=Concat(nb,i2,i2,t) axis=0; "
    "y=Reshape(d,n5)",
    // PyTorch's is_causal
    "w=Expand(true,tt); l=Trilu(w); lo=Not(l); b=Where(lo,#0,#-inf); m=Add(s,b); " MASKED,
    // parts of buffers, one axis after the other
    "c1=Slice(causal,i0,t,i1); c2=Slice(c1,i0,t,i2); b=Where(c2,#0,#-inf); m=Add(s,b); " MASKED,
    "c1=Slice(causal,i0,t,i2); c2=Slice(c1,i0,t,i1); m=Where(c2,s,#-inf); " MASKED,
    "c1=Slice(causal,i0,t,i2); c2=Slice(c1,i0,t,i1); n=Not(c2); m=Where(n,#-1e9,s); " MASKED,
    "c1=Slice(bias,i0,t,i0); c2=Slice(c1,i0,t,i1); m=Add(s,c2); " MASKED,
    // places compared
    "k=Unsqueeze(range,i0); q=Unsqueeze(range,im); c=LessOrEqual(k,q); m=Where(c,s,#-inf); " MASKED,
    "k=Unsqueeze(range,i0); q=Unsqueeze(range,im); c=Greater(k,q); m=Where(c,#-inf,s); " MASKED,
    "k=Unsqueeze(range,i0); q=Unsqueeze(range,im); c=GreaterOrEqual(q,k); m=Where(c,s,#-inf); " MASKED,
    // not causal: a query does not see itself, or sees one key more
    "k=Unsqueeze(range,i0); q=Unsqueeze(range,im); c=Less(k,q); m=Where(c,s,#-5); " MASKED,
    "w=Expand(true,tt); l=Trilu(w,one); m=Where(l,#-5,s); " MASKED,
    "w=ConstantOfShape(tt); v=Add(w,#-7); l=Trilu(v,i2); m=Add(s,l); " MASKED,
};

void test_open_time(void**) {
    OnnxWorld world;
    for (const char* const text : kOpen) {
        OnnxGraph graph = timed(text);
        for (std::string& one : graph.nodes)  // the lower triangle
            if (std::string(text).find("Not(l)") != std::string::npos && one.find("Trilu") != one.npos)
                one = node("Trilu", {"w"}, {"l"}, {int_attribute("upper", 0)});
        const auto open = world.import(graph);
        for (const std::int64_t time : {1, 2, 5, 32}) {
            const Shape shape = {2, time, kWidth};
            const Graph concrete = specialize(open->graph, &shape, 1, world.heap.structures());
            OnnxGraph given = graph;
            given.inputs = {port("x", kFloat, {"2", std::to_string(time), std::to_string(kWidth)})};
            const auto fixed = world.import(given);
            const std::vector<float> a = run(concrete, *open, world), b = run(*fixed, world);
            assert_int_equal(a.size(), b.size());
            if (std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) != 0)
                print_error("another result at %lld: %s\n", static_cast<long long>(time), text);
            assert_memory_equal(a.data(), b.data(), a.size() * sizeof(float));
        }
    }
}

// What only begins like a triangle, or like 0, 1, 2 ..., is not taken for one.
void test_what_is_refused(void**) {
    const struct {
        const char *text, *refusal;
    } cases[] = {
        {"c1=Slice(window,i0,t,i0); c2=Slice(c1,i0,t,i1); m=Where(c2,s,#-inf); " MASKED,
         "'c2' is computed from extents that are open; left open: x[N, T, 4]"},
        {"p=Slice(others,i0,t,i1); e=Gather(table,p); y=Add(x,e)",
         "its indices are computed from extents that are open"},
        {"r=Range(one,t0,one); e=Gather(table,r); y=ReduceSum(e)",
         "its indices are computed from extents that are open"},
        {"r=Mul(range,range); e=Gather(table,r); y=Add(x,e)",
         "its indices are computed from extents that are open"},
    };
    OnnxWorld world;
    for (const auto& one : cases) {
        const std::string text = failure_of([&] { world.import(timed(one.text)); }).text;
        if (text.find(one.refusal) == text.npos) print_error("%s: %s\n", one.text, text.c_str());
        assert_true(text.find(one.refusal) != text.npos);
    }
    // Longer than the table of positions.
    const auto open = world.import(timed(kOpen[0]));
    const Shape shape = {2, kMost + 1, kWidth};
    const std::string text =
        failure_of([&] { specialize(open->graph, &shape, 1, world.heap.structures()); }).text;
    assert_true(text.find("position_ids") != std::string::npos);
}

}  // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_time),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
