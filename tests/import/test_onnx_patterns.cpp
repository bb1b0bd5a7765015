// Operators that exporters write as several nodes: recognised, with the same bits where the table says so,
// and not where a pattern is only nearly there.
#include "engine/import/onnx/patterns.h"
#include "tests/import/onnx_nodes.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr std::int64_t kColumns = 37;

// Of x [5, 37], with a scale g and a bias b; the result is y.
OnnxGraph rows_of(const std::string& text) {
    OnnxGraph graph;
    graph.inputs = {port("x", kFloat, {"5", std::to_string(kColumns)})};
    graph.outputs = {port("y", kFloat, {})};
    std::vector<float> scale, bias;
    for (int i = 0; i < kColumns; ++i) {
        scale.push_back(0.5f + 0.03f * static_cast<float>(i));
        bias.push_back(0.25f - 0.07f * static_cast<float>(i));
    }
    graph.initializers = {float_tensor("g", {kColumns}, scale), float_tensor("b", {kColumns}, bias)};
    add_nodes(graph, text);
    return graph;
}

#define SQUARES \
    "m=ReduceMean(x) axes=-1; d=Sub(x,m); q=Pow(d,#2); v=ReduceMean(q) axes=-1; a=Add(v,#1e-5); s=Sqrt(a); "
#define RMS_SQUARES "q=Mul(x,x); v=ReduceMean(q) axes=-1; a=Add(v,#1e-6); s=Sqrt(a); "
#define CUBE "k=Pow(x,#3); l=Mul(k,#0.044715); o=Add(x,l); p=Mul(o,#0.7978845608); t=Tanh(p); h=Add(t,#1); "

// One for each row of the table but attention's, in its order: a way of writing it.
struct Written {
    const char* nodes;
};
const Written kWritten[] = {
    {SQUARES "r=Reciprocal(s); n=Mul(d,r); e=Mul(n,g); y=Add(e,b)"},
    {SQUARES "n=Div(d,s); e=Mul(n,g); y=Add(e,b)"},
    {SQUARES "n=Div(d,s); y=Mul(g,n)"},
    {SQUARES "y=Div(d,s)"},
    {RMS_SQUARES "r=Div(#1,s); n=Mul(x,r); y=Mul(g,n)"},
    {RMS_SQUARES "n=Div(x,s); y=Mul(n,g)"},
    {"h=Mul(x,#0.5); c=Mul(x,#0.70710678118654752); e=Erf(c); o=Add(e,#1); y=Mul(h,o)"},
    {"c=Div(x,#1.41421356237309515); e=Erf(c); o=Add(e,#1); h=Mul(x,o); y=Mul(h,#0.5)"},
    {CUBE "e=Mul(x,h); y=Mul(#0.5,e)"},
    {"s=Sigmoid(x); y=Mul(s,x)"},
    {"n=Neg(x); e=Exp(n); a=Add(#1,e); y=Div(x,a)"},
    {"a=Add(x,#3); c=Clip(a,#0,#6); h=Mul(c,#0.16666667163372040); y=Mul(x,h)"},
    {"a=Add(x,#3); c=Clip(a,#0,#6); h=Div(c,#6); y=Mul(x,h)"},
    {"s=Softplus(x); t=Tanh(s); y=Mul(x,t)"},
};

void test_every_row(void**) {
    OnnxWorld world;
    int rows = 0, at = 0;
    const onnx::PatternRow* const row = onnx::pattern_rows(&rows);
    for (int i = 0; i < rows; ++i) {
        if (row[i].op == Op::attention) continue;
        assert_true(at < static_cast<int>(sizeof kWritten / sizeof *kWritten));
        const OnnxGraph graph = rows_of(kWritten[at++].nodes);
        const auto exact = world.import(graph, true), made = world.import(graph);
        assert_int_equal(count_of(exact->graph, row[i].op), 0);
        assert_int_equal(
            exact->graph.nodes.size() - exact->graph.constants.size() - exact->graph.sources.size(),
            graph.nodes.size());
        // The row itself finds it.
        onnx::Contents contents(exact->graph, world.heap.structures());
        onnx::Matcher matcher(exact->graph, contents, world.heap.structures());
        const auto anything = [](const void*, const onnx::Letters&, ValueId) { return true; };
        const ValueId end = exact->graph.outputs[0].value;
        const bool found =
            matcher.find(onnx::read_pattern(row[i].text, world.heap.structures()), row[i].same_bits,
                         exact->graph.value(end).producer, anything, nullptr);
        if (!found || count_of(made->graph, row[i].op) != 1) print_error("row %d: %s\n", i, row[i].text);
        assert_true(found);
        assert_int_equal(count_of(made->graph, row[i].op), 1);
        assert_true(made->graph.producer(made->graph.outputs[0].value).op == row[i].op);
        assert_string_equal(made->graph.outputs[0].name.c_str(), "y");
        assert_int_equal(made->parameters.size(), exact->parameters.size());
        const std::vector<float> a = run(*made, world), b = run(*exact, world);
        if (row[i].same_bits)
            assert_memory_equal(a.data(), b.data(), a.size() * sizeof(float));
        else
            assert_close(a, b, 1e-6f);
    }
    assert_int_equal(at, sizeof kWritten / sizeof *kWritten);
}

// Ways of writing that rows have beside the first.
void test_other_ways(void**) {
    const struct {
        const char* nodes;
        Op op;
    } cases[] = {
        {"m=ReduceMean(x) axes=1; d=Sub(x,m); q=Mul(d,d); v=ReduceMean(q) axes=-1; a=Add(#1e-5,v); "
         "r=Pow(a,#-0.5); n=Mul(r,d); e=Mul(g,n); y=Add(b,e)",
         Op::layer_norm},
        {"q=Pow(x,#2); v=ReduceMean(q) axes=-1; a=Add(v,#1e-6); r=Pow(a,#-0.5); n=Mul(x,r); y=Mul(g,n)",
         Op::rms_norm},
        {"c=Mul(x,#0.70710678); e=Erf(c); o=Add(#1,e); h=Mul(#0.5,o); y=Mul(x,h)", Op::gelu_erf},
        {"c=Div(x,#1.4142135); e=Erf(c); o=Add(e,#1); h=Mul(x,#0.5); y=Mul(h,o)", Op::gelu_erf},
        {"k=Mul(x,x); j=Mul(k,x); l=Mul(j,#0.044715); o=Add(l,x); p=Mul(o,#0.79788458); t=Tanh(p); "
         "h=Add(t,#1); "
         "f=Mul(x,#0.5); y=Mul(f,h)",
         Op::gelu_tanh},
        {"c=Mul(x,#0.044715); k=Mul(x,x); j=Mul(c,k); o=Add(l,x); l=Mul(j,#1); p=Mul(o,#0.79788458); "
         "t=Tanh(p); "
         "h=Add(t,#1); f=Mul(x,#0.5); y=Mul(f,h)",
         Op::count_},  // a product with 1 is one node more
        {"a=Add(x,#3); c=Clip(a,#0,#6); h=Mul(c,x); y=Div(h,#6)", Op::hard_swish},
    };
    OnnxWorld world;
    for (const auto& one : cases) {
        const OnnxGraph graph = rows_of(one.nodes);
        const auto made = world.import(graph);
        if (one.op == Op::count_) {
            assert_int_equal(count_of(made->graph, Op::gelu_tanh), 0);
            continue;
        }
        if (count_of(made->graph, one.op) != 1) print_error("%s\n", one.nodes);
        assert_int_equal(count_of(made->graph, one.op), 1);
        assert_close(run(*made, world), run(*world.import(graph, true), world), 1e-6f);
    }
}

// Nearly a pattern: the graph stays as it is, and so do its bits.
void test_near_misses(void**) {
    const char* const cases[] = {
        // another constant
        "c=Div(x,#1.4142); e=Erf(c); o=Add(e,#1); h=Mul(x,o); y=Mul(h,#0.5)",
        "c=Div(x,#1.41421356237309515); e=Erf(c); o=Add(e,#1); h=Mul(x,o); y=Mul(h,#0.25)",
        "c=Div(x,#1.41421356237309515); e=Erf(c); o=Add(e,#2); h=Mul(x,o); y=Mul(h,#0.5)",
        "a=Add(x,#3); c=Clip(a,#0,#5); h=Div(c,#6); y=Mul(x,h)",
        "k=Pow(x,#3); l=Mul(k,#0.0447); o=Add(x,l); p=Mul(o,#0.7978845608); t=Tanh(p); h=Add(t,#1); "
        "e=Mul(x,h); "
        "y=Mul(#0.5,e)",
        "k=Pow(x,#2); l=Mul(k,#0.044715); o=Add(x,l); p=Mul(o,#0.7978845608); t=Tanh(p); h=Add(t,#1); "
        "e=Mul(x,h); y=Mul(#0.5,e)",
        // another operand
        "s=Sigmoid(g); y=Mul(x,s)",
        "c=Mul(x,#1.702); s=Sigmoid(c); y=Mul(x,s)",
        "m=ReduceMean(x) axes=-1; d=Sub(x,m); q=Mul(d,x); v=ReduceMean(q) axes=-1; a=Add(v,#1e-5); "
        "s=Sqrt(a); "
        "n=Div(d,s); e=Mul(n,g); y=Add(e,b)",
        // another axis, or a number for each row that is a scale of columns no more
        "m=ReduceMean(x) axes=0; d=Sub(x,m); q=Mul(d,d); v=ReduceMean(q) axes=-1; a=Add(v,#1e-5); s=Sqrt(a); "
        "y=Div(d,s)",
        "m=ReduceMean(x) axes=-1; d=Sub(x,m); q=Mul(d,d); v=ReduceMean(q) axes=0; a=Add(v,#1e-5); s=Sqrt(a); "
        "y=Div(d,s)",
        "m=ReduceMean(x) axes=0,1; d=Sub(x,m); q=Mul(d,d); v=ReduceMean(q) axes=0,1; a=Add(v,#1e-5); "
        "s=Sqrt(a); "
        "y=Div(d,s)",
        // another sign, another order
        "m=ReduceMean(x) axes=-1; d=Sub(m,x); q=Mul(d,d); v=ReduceMean(q) axes=-1; a=Add(v,#1e-5); "
        "s=Sqrt(a); "
        "y=Div(d,s)",
        "m=ReduceMean(x) axes=-1; d=Sub(x,m); q=Mul(d,d); v=ReduceMean(q) axes=-1; a=Add(v,#-1e-5); "
        "s=Sqrt(a); "
        "y=Div(d,s)",
        "n=Neg(x); e=Exp(n); a=Add(#1,e); y=Div(a,x)",
    };
    OnnxWorld world;
    int rows = 0;
    const onnx::PatternRow* const row = onnx::pattern_rows(&rows);
    for (const char* const nodes : cases) {
        const OnnxGraph graph = rows_of(nodes);
        const auto made = world.import(graph), exact = world.import(graph, true);
        for (int i = 0; i < rows; ++i)
            if (count_of(made->graph, row[i].op) != count_of(exact->graph, row[i].op)) {
                print_error("%s became %s\n", nodes, op_row(row[i].op).name);
                assert_true(false);
            }
        const std::vector<float> a = run(*made, world), b = run(*exact, world);
        assert_memory_equal(a.data(), b.data(), a.size() * sizeof(float));
    }
}

// Values inside of a pattern that somebody else reads, or that are outputs, keep it as it is; its end and its
// operands may have readers.
void test_other_readers(void**) {
    OnnxWorld world;
    const char* const inside[] = {"m", "d", "q", "v", "a", "s", "n", "e"};
    for (const char* const value : inside) {
        OnnxGraph graph = rows_of(kWritten[1].nodes);
        graph.outputs.push_back(port(value, kFloat, {}));
        const auto made = world.import(graph);
        // Where the scaled or normalised value is asked for, what is left of the pattern is one of its own.
        const std::string name = value;
        const int expected = name == "n" || name == "e" ? 1 : 0;
        if (count_of(made->graph, Op::layer_norm) != expected) print_error("%s is an output\n", value);
        assert_int_equal(count_of(made->graph, Op::layer_norm), expected);
        graph.outputs.pop_back();
        graph.nodes.push_back(node("Abs", {value}, {"other"}));
        graph.outputs.push_back(port("other", kFloat, {}));
        const auto read = world.import(graph);
        assert_int_equal(count_of(read->graph, Op::layer_norm), expected);
        assert_close(run(*read, world), run(*world.import(graph, true), world), 1e-6f);
    }
    OnnxGraph graph = rows_of(std::string(kWritten[1].nodes) + "; other=Add(y,x); third=Mul(g,b)");
    graph.outputs.push_back(port("other", kFloat, {}));
    graph.outputs.push_back(port("third", kFloat, {}));
    assert_int_equal(count_of(world.import(graph)->graph, Op::layer_norm), 1);
}

// A scale or bias that is one number for all columns, or has axes of 1 in front; one that would broadcast x.
void test_shapes_of_operands(void**) {
    OnnxWorld world;
    const std::vector<float> values(kColumns, 1.5f);
    const struct {
        std::vector<std::int64_t> shape;
        int count;
    } cases[] = {{{1}, 1},           {{1, kColumns}, 1}, {{1, 1}, 1},   {{5, 1}, 0},
                 {{5, kColumns}, 0}, {{1, 5, 1}, 0},     {{2, 1, 1}, 0}};
    for (const auto& one : cases) {
        OnnxGraph graph = rows_of(kWritten[1].nodes);
        std::int64_t elements = 1;
        for (const std::int64_t extent : one.shape) elements *= extent;
        graph.initializers[0] =
            float_tensor("g", one.shape, std::vector<float>(static_cast<std::size_t>(elements), 1.5f));
        const auto made = world.import(graph);
        const int whole = count_of(made->graph, Op::layer_norm);
        // What does not scale columns stays a product behind a norm without scale.
        const bool scales = made->graph.producer(made->graph.outputs[0].value).op == Op::layer_norm;
        assert_int_equal(whole, 1);
        assert_int_equal(scales, one.count);
        assert_close(run(*made, world), run(*world.import(graph, true), world), 1e-6f);
    }
}

// ---- Attention -------------------------------------------------------------------------------------------

constexpr std::int64_t kTime = 6, kHeads = 3, kWidth = 4;

struct Attending {
    std::string queries = "f=Transpose(i) perm=0,2,1,3; ", keys = "h=Transpose(j) perm=0,2,3,1; ";
    std::string scores = "t=MatMul(f,h); u=Mul(t,#0.5); ", masked = "p=Softmax(u); ";
    std::string back = "o=MatMul(p,w); x1=Transpose(o) perm=0,2,1,3; y=Reshape(x1,rows)";
};

std::vector<float> mask_values(float seen, float unseen, std::int64_t reach) {
    std::vector<float> values;
    for (std::int64_t query = 0; query < kTime; ++query)
        for (std::int64_t key = 0; key < kTime; ++key) values.push_back(key <= query + reach ? seen : unseen);
    return values;
}

// q, k and v [2, 6, 12] are columns of x; mask: "causal" (bool), "bias" (0, -Inf), "late" (sees one key
// more).
OnnxGraph attending(const Attending& text) {
    OnnxGraph graph;
    graph.inputs = {port("x", kFloat, {"2", "6", "36"}), port("given", kFloat, {"6", "6"})};
    graph.outputs = {port("y", kFloat, {})};
    const float infinity = std::numeric_limits<float>::infinity();
    std::vector<std::uint8_t> causal, future;
    for (const float value : mask_values(1, 0, 0)) {
        causal.push_back(value != 0);
        future.push_back(value == 0);
    }
    graph.initializers = {int_tensor("heads", {4}, {2, kTime, kHeads, kWidth}),
                          int_tensor("flat", {3}, {2 * kHeads, kTime, kWidth}),
                          int_tensor("apart", {4}, {2, kHeads, kWidth, kTime}),
                          int_tensor("rows", {3}, {2, kTime, kHeads * kWidth}),
                          raw_tensor("causal", kBool, {1, 1, kTime, kTime}, causal),
                          raw_tensor("future", kBool, {kTime, kTime}, future)};
    const auto constant = [&](const char* name, const std::vector<float>& values) {
        graph.nodes.push_back(node("Constant", {}, {name},
                                   {tensor_attribute("value", float_tensor("", {kTime, kTime}, values))}));
    };
    constant("bias", mask_values(0, -infinity, 0));
    constant("least", mask_values(0, std::numeric_limits<float>::lowest(), 0));
    constant("weak", mask_values(0, -50, 0));
    constant("late", mask_values(0, -infinity, 1));
    constant("open", mask_values(0, 0, 0));
    add_nodes(graph,
              "a=Slice(x,s0,e0,ax); a2=Slice(x,e0,e1,ax); a3=Slice(x,e1,e2,ax); i=Reshape(a,heads); "
              "j=Reshape(a2,heads); c=Reshape(a3,heads); w=Transpose(c) perm=0,2,1,3; " +
                  text.queries + text.keys + text.scores + text.masked + text.back);
    for (const auto& [name, value] :
         std::map<std::string, std::int64_t>{{"s0", 0}, {"e0", 12}, {"e1", 24}, {"e2", 36}, {"ax", 2}})
        graph.initializers.push_back(int_tensor(name, {1}, {value}));
    return graph;
}

void check_attention(OnnxWorld& world, const Attending& text, int count, bool causal) {
    const OnnxGraph graph = attending(text);
    const auto made = world.import(graph), exact = world.import(graph, true);
    if (count_of(made->graph, Op::attention) != count)
        print_error("%s%s%s%s%s\n", text.queries.c_str(), text.keys.c_str(), text.scores.c_str(),
                    text.masked.c_str(), text.back.c_str());
    assert_int_equal(count_of(made->graph, Op::attention), count);
    assert_int_equal(count_of(exact->graph, Op::attention), 0);
    assert_close(run(*made, world), run(*exact, world), 2e-6f);
    for (const Node& node : made->graph.nodes)
        if (node.op == Op::attention) {
            assert_int_equal(node.flag(Attr::causal), causal);
            assert_int_equal(static_cast<int>(node.number(Attr::heads)), kHeads);
            assert_int_equal(count_of(made->graph, Op::softmax), 0);
        }
}

void test_attention(void**) {
    OnnxWorld world;
    check_attention(world, {}, 1, false);
    Attending text;
    for (const char* const scores :
         {"t=MatMul(f,h); u=Div(t,#2); ", "f1=Mul(f,#0.70710678); h1=Mul(h,#0.70710678); u=MatMul(f1,h1); ",
          "f1=Mul(f,#0.5); u=MatMul(f1,h); ", "u=MatMul(f,h); ", "t=MatMul(f,h); r=Sqrt(#4); u=Div(t,r); ",
          "t=MatMul(f,h); r=Pow(#4,#0.5); e=Reciprocal(r); u=Mul(t,e); "}) {
        text.scores = scores;
        check_attention(world, text, 1, false);
    }
    text = {};
    for (const char* const keys : {"l=Transpose(j) perm=0,2,1,3; h=Transpose(l) perm=0,1,3,2; ",
                                   "l=Transpose(j) perm=0,2,1,3; r=Reshape(l,flat); r1=Transpose(r) "
                                   "perm=0,2,1; h=Reshape(r1,apart); "}) {
        text.keys = keys;
        check_attention(world, text, 1, false);
    }
    text = {};
    for (const char* const masked :
         {"s=Add(u,bias); p=Softmax(s); ", "s=Add(least,u); p=Softmax(s); ",
          "s=Where(causal,u,#-10000); p=Softmax(s); ", "s=Where(future,#-inf,u); p=Softmax(s); ",
          "z=Where(causal,#0,#-inf); s=Add(u,z); p=Softmax(s); ",
          "s=Add(u,bias); p1=Softmax(s); n=IsNaN(p1); p=Where(n,#0,p1); "}) {
        text.masked = masked;
        check_attention(world, text, 1, true);
    }
    text.masked = "s=Add(u,open); p=Softmax(s); ";
    check_attention(world, text, 1, false);
}

void test_attention_that_is_another(void**) {
    OnnxWorld world;
    Attending text;
    for (const char* const masked :
         {"s=Add(u,weak); p=Softmax(s); ", "s=Add(u,late); p=Softmax(s); ", "s=Add(u,given); p=Softmax(s); ",
          "s=Where(causal,u,#-50); p=Softmax(s); ", "s=Where(causal,u,#0); p=Softmax(s); "}) {
        text.masked = masked;
        check_attention(world, text, 0, false);
    }
    text = {};
    text.scores = "t=MatMul(f,h); u=Mul(t,#0); ";
    check_attention(world, text, 0, false);
    text = {};
    text.keys = "h=Reshape(j,apart); ";  // the shape of k', with other elements
    check_attention(world, text, 0, false);
    text = {};
    text.back = "o=MatMul(p,w); y=Reshape(o,rows)";  // heads are not beside each other
    check_attention(world, text, 0, false);
    text = {};
    text.queries = "f=Reshape(i,q4); ";
    OnnxGraph graph = attending(text);
    graph.initializers.push_back(int_tensor("q4", {4}, {2, kHeads, kTime, kWidth}));
    assert_int_equal(count_of(world.import(graph)->graph, Op::attention), 0);
    // Probabilities that are an output, or another axis of the softmax.
    graph = attending({});
    graph.outputs.push_back(port("p", kFloat, {}));
    assert_int_equal(count_of(world.import(graph)->graph, Op::attention), 0);
    graph = attending({});
    for (std::string& one : graph.nodes)
        if (one.find("Softmax") != one.npos) one = node("Softmax", {"u"}, {"p"}, {int_attribute("axis", 2)});
    assert_int_equal(count_of(world.import(graph)->graph, Op::attention), 0);
}

// As nn.MultiheadAttention has it: x is [T, B, 36], heads are beside the batch.
OnnxGraph attending_time_first(const std::string& masked, const std::string& perm) {
    OnnxGraph graph = attending({});
    graph.nodes.resize(5);  // the constants
    graph.inputs[0] = port("x", kFloat, {"6", "2", "36"});
    for (auto [name, shape] :
         std::map<std::string, std::vector<std::int64_t>>{{"beside", {kTime, 2 * kHeads, kWidth}},
                                                          {"turned", {2, kHeads, kTime, kWidth}},
                                                          {"turned_keys", {2, kHeads, kWidth, kTime}},
                                                          {"all_rows", {kTime * 2, kHeads * kWidth}}})
        graph.initializers.push_back(int_tensor(name, {static_cast<std::int64_t>(shape.size())}, shape));
    add_nodes(graph,
              "q=Slice(x,s0,e0,ax); k=Slice(x,e0,e1,ax); v=Slice(x,e1,e2,ax); i=Reshape(q,beside); "
              "j=Reshape(k,beside); c=Reshape(v,beside); i1=Transpose(i) perm=1,0,2; f=Reshape(i1,turned); "
              "j1=Transpose(j) perm=1,0,2; j2=Transpose(j1) perm=0,2,1; h=Reshape(j2,turned_keys); "
              "c1=Transpose(c) perm=1,0,2; w=Reshape(c1,turned); t=MatMul(f,h); u=Mul(t,#0.50); " +
                  masked + "o=MatMul(p,w); o1=Transpose(o) perm=" + perm + "; y=Reshape(o1,all_rows)");
    return graph;
}

void test_attention_time_first(void**) {
    OnnxWorld world;
    const struct {
        const char *masked, *perm;
        int count;
        bool causal;
    } cases[] = {{"p=Softmax(u); ", "2,0,1,3", 1, false},
                 {"s=Add(u,bias); p=Softmax(s); ", "2,0,1,3", 1, true},
                 {"s=Add(u,late); p=Softmax(s); ", "2,0,1,3", 0, false},
                 {"p=Softmax(u); ", "0,2,1,3", 0, false}};
    for (const auto& one : cases) {
        const OnnxGraph graph = attending_time_first(one.masked, one.perm);
        const auto made = world.import(graph), exact = world.import(graph, true);
        assert_int_equal(count_of(made->graph, Op::attention), one.count);
        assert_close(run(*made, world), run(*exact, world), 2e-6f);
        for (const Node& node : made->graph.nodes)
            if (node.op == Op::attention) assert_int_equal(node.flag(Attr::causal), one.causal);
    }
}

// What is no weight does not become a parameter: a mask, and numbers of PyTorch's newer exporter.
void test_what_is_no_weight(void**) {
    OnnxWorld world;
    Attending text;
    text.scores = "f1=Mul(f,val_3); h1=Mul(h,val_3); u=MatMul(f1,h1); ";
    text.masked = "s=Add(u,mask); p=Softmax(s); ";
    OnnxGraph graph = attending(text);
    const float least = std::numeric_limits<float>::lowest();
    graph.initializers.push_back(float_tensor("mask", {1, 1, kTime, kTime}, mask_values(0, least, 0)));
    graph.initializers.push_back(float_tensor("val_3", {1}, {0.70710678f}));
    assert_int_equal(count_of(world.import(graph)->graph, Op::attention),
                     0);  // a weight, by whoever wrote it
    assert_int_equal(world.import(graph)->parameters.size(), 1);
    graph.producer = "pytorch";
    assert_int_equal(count_of(world.import(graph)->graph, Op::attention), 1);
    assert_int_equal(world.import(graph)->parameters.size(), 0);
    graph.initializers[graph.initializers.size() - 2] =
        float_tensor("mask", {1, 1, kTime, kTime}, mask_values(0, -9, 0));
    assert_int_equal(count_of(world.import(graph)->graph, Op::attention), 0);
    assert_int_equal(world.import(graph)->parameters.size(), 1);
    // Only the shape of a node is asked.
    graph = attending({});
    graph.nodes.push_back(node("Transpose", {"j"}, {"j1"}, {ints_attribute("perm", {0, 2, 1, 3})}));
    graph.nodes.push_back(node("Shape", {"j1"}, {"j2"}));
    graph.outputs.push_back(port("j2", kInt64, {}));
    assert_int_equal(count_of(world.import(graph)->graph, Op::attention), 1);
}

// Open extents stay open, and nothing is decided by the 1 in their place.
void test_open_extents(void**) {
    OnnxWorld world;
    OnnxGraph graph = rows_of(kWritten[1].nodes);
    graph.inputs = {port("x", kFloat, {"N", "T", std::to_string(kColumns)})};
    const auto made = world.import(graph), exact = world.import(graph, true);
    assert_int_equal(count_of(made->graph, Op::layer_norm), 1);
    for (const Shape& shape : {Shape{1, 1, kColumns}, Shape{2, 3, kColumns}}) {
        const Graph a = specialize(made->graph, &shape, 1, world.heap.structures()),
                    b = specialize(exact->graph, &shape, 1, world.heap.structures());
        assert_close(run(a, *made, world), run(b, *exact, world), 1e-6f);
    }
    // The norm's axis is open: there is no scale of its columns.
    graph = rows_of(
        "m=ReduceMean(x) axes=-1; d=Sub(x,m); q=Mul(d,d); v=ReduceMean(q) axes=-1; a=Add(v,#1e-5); "
        "s=Sqrt(a); y=Div(d,s)");
    graph.inputs = {port("x", kFloat, {"2", "N"})};
    assert_int_equal(count_of(world.import(graph)->graph, Op::layer_norm), 0);
    // One column, and a scale of one for now, of as many as there will be later: x is repeated.
    graph = rows_of(SQUARES "n=Div(d,s); y=Mul(n,w)");
    graph.inputs = {port("x", kFloat, {"2", "1"}), port("w", kFloat, {"N"})};
    const auto repeated = world.import(graph);
    assert_true(repeated->graph.producer(repeated->graph.outputs[0].value).op == Op::mul);
}

void test_survey(void**) {
    OnnxWorld world;
    const OnnxGraph graph = rows_of(std::string(kWritten[1].nodes) +
                                    "; s2=Sigmoid(y); y2=Mul(s2,y); n3=Neg(y2); "
                                    "e3=Exp(n3); a3=Add(#1,e3); y3=Div(y2,a3); z=Add(y3,y2)");
    OnnxGraph with_end = graph;
    with_end.outputs = {port("z", kFloat, {})};
    const std::string counts =
        "\"recognised\": [{\"operator\": \"layer_norm\", \"count\": 1}, {\"operator\": \"silu\", \"count\": "
        "2}]";
    assert_true(world.survey(with_end).find(counts) != std::string::npos);
    assert_true(world.survey(with_end, true).find("\"recognised\": []") != std::string::npos);
}

// A graph made to be searched in vain: chains of sums that are nearly a pattern everywhere.
void test_no_blow_up(void**) {
    OnnxWorld world;
    std::string text = "v0=Add(x,#1)";
    for (int i = 0; i < 400; ++i)
        text += "; v" + std::to_string(i + 1) + "=" + (i % 2 == 0 ? "Add" : "Mul") + "(v" +
                std::to_string(i) + ",v" + std::to_string(i) + ")";
    OnnxGraph graph = rows_of(text);
    graph.outputs = {port("v400", kFloat, {})};
    assert_int_equal(count_of(world.import(graph)->graph, Op::silu), 0);
    // The same of constants alone: 2^24 times the same node is not computed.
    text = "v0=Add(#1,#2)";
    for (int i = 0; i < 60; ++i)
        text += "; v" + std::to_string(i + 1) + "=Abs(v" + std::to_string(i) + "); w" + std::to_string(i) +
                "=Tanh(v" + std::to_string(i) + ")";
    text += "; t=Sigmoid(v60); y=Mul(x,t)";
    assert_int_equal(count_of(world.import(rows_of(text))->graph, Op::silu), 0);
}

}  // namespace

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row),
        cmocka_unit_test(test_other_ways),
        cmocka_unit_test(test_near_misses),
        cmocka_unit_test(test_other_readers),
        cmocka_unit_test(test_shapes_of_operands),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_attention_that_is_another),
        cmocka_unit_test(test_open_extents),
        cmocka_unit_test(test_what_is_no_weight),
        cmocka_unit_test(test_attention_time_first),
        cmocka_unit_test(test_survey),
        cmocka_unit_test(test_no_blow_up),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
