#include "engine/import/onnx/patterns.h"

#include <algorithm>

#include "engine/passes/passes.h"

namespace volta::onnx {
namespace {

// ---- Where a pattern is what its row says ----------------------------------------------------------------

bool same(const Extents& a, const Extents& b) { return a.now == b.now && a.later == b.later; }

// Nothing is broadcast: the result has the shape of x.
bool fits_elements(const Found& found) { return same(found.extents('x'), found.building.extents(found.end)); }

// One number for each column of x, or one for all of them.
bool is_of_columns(const Found& found, char letter) {
    if (found.value(letter) < 0) return true;  // the pattern has none
    const Extents own = found.extents(letter), of_x = found.extents('x');
    return !own.has_open() && own.rank() >= 1 && own.now.elements() == own.now.last() &&
           (own.now.last() == of_x.now.last() || own.now.last() == 1);
}

// Rows of x by a scale and a bias of its columns, which are not open.
bool fits_rows(const Found& found) {
    const Extents of_x = found.extents('x');
    return fits_elements(found) && of_x.rank() >= 1 && !of_x.is_open(of_x.rank() - 1) &&
           found.number('E') >= 0 && is_of_columns(found, 'g') && is_of_columns(found, 'b');
}

// ---- What it becomes -------------------------------------------------------------------------------------

ValueId make_elements(const Found& found, Op op, Rewrite& rewrite) {
    return rewrite.to.apply(op, {rewrite.now(found.value('x'))});
}

// A scale or bias as a vector of x's columns; `otherwise` where the pattern has none.
ValueId columns(const Found& found, char letter, float otherwise, Rewrite& rewrite) {
    const std::int64_t width = found.extents('x').now.last();
    if (found.value(letter) < 0)
        return rewrite.to.apply(Op::broadcast_to, {rewrite.to.scalar(otherwise)},
                                {list(Attr::shape, {width})});
    const ValueId given = rewrite.now(found.value(letter));
    const Shape& own = rewrite.to.shape(given);
    if (own == Shape{width}) return given;
    const ValueId vector = rewrite.to.apply(Op::reshape, {given}, {list(Attr::shape, {own.last()})});
    if (own.last() == width) return vector;
    return rewrite.to.apply(Op::broadcast_to, {vector}, {list(Attr::shape, {width})});
}

ValueId make_layer_norm(const Found& found, Op op, Rewrite& rewrite) {
    const ValueId scale = columns(found, 'g', 1, rewrite), bias = columns(found, 'b', 0, rewrite);
    return rewrite.to.apply(op, {rewrite.now(found.value('x')), scale, bias},
                            {number(Attr::epsilon, static_cast<double>(found.number('E')))});
}

ValueId make_rms_norm(const Found& found, Op op, Rewrite& rewrite) {
    return rewrite.to.apply(op, {rewrite.now(found.value('x')), columns(found, 'g', 1, rewrite)},
                            {number(Attr::epsilon, static_cast<double>(found.number('E')))});
}

// ---- The table -------------------------------------------------------------------------------------------

// Of equal ends the first that fits is taken, so the larger pattern stands first.
// clang-format off
constexpr PatternRow kRows[] = {
    {Op::attention, "reshape(transpose{2,0,1,3}(matmul{0,0,0}(n,w))); w=reshape(transpose{1,0,2}(c)); c=reshape(v); n=p/where(less(0,where(equal(p,p),0,1)),0,p); p=softmax(s); s=u/add(u,z)/where(m,u,L)/where(o,L,u); u=t/div(t,D)/mul(t,M); t=matmul{0,0,0}(a,b); a=f/mul(f,F)/div(f,G); f=reshape(transpose{1,0,2}(i)); i=reshape(q); b=h/mul(h,K); h=reshape(transpose{0,2,1}(y))/transpose{0,1,3,2}(reshape(y)); y=transpose{1,0,2}(j); j=reshape(k)",
     false, fits_time_first, make_time_first, "PyTorch, `nn.MultiheadAttention`; without a mask or with a causal one"},
    {Op::attention, "reshape(transpose{0,2,1,3}(matmul{0,0,0}(n,w))); w=transpose{0,2,1,3}(c); c=reshape(v); n=p/where(less(0,where(equal(p,p),0,1)),0,p); p=softmax(s); s=u/add(u,z)/where(m,u,L)/where(o,L,u); u=t/div(t,D)/mul(t,M); t=matmul{0,0,0}(a,b); a=f/mul(f,F)/div(f,G); f=transpose{0,2,1,3}(i); i=reshape(q); b=h/mul(h,K); h=transpose{0,2,3,1}(j)/transpose{0,1,3,2}(y)/reshape(transpose{0,2,1}(r))/transpose{1,2,3,0}(reshape(transpose{2,0,1}(transpose{0,2,1}(transpose{1,0,2}(e))))); e=reshape(transpose{2,0,1,3}(y)); r=reshape(y); y=transpose{0,2,1,3}(j); j=reshape(k)",
     false, fits_attention, make_attention, "PyTorch, GPT-2, BERT; without a mask or with a causal one"},
    {Op::layer_norm, "add(mul(mul(d,r),g),b); r=div(1,sqrt(a))/pow{-0.5}(a); a=add(mean{-1}(q),E); q=mul(d,d)/pow{2}(d); d=sub(x,mean{-1}(x))",
     true, fits_rows, make_layer_norm, "Volta, at opset 13"},
    {Op::layer_norm, "add(mul(div(d,sqrt(a)),g),b); a=add(mean{-1}(q),E); q=mul(d,d)/pow{2}(d); d=sub(x,mean{-1}(x))",
     false, fits_rows, make_layer_norm, "PyTorch, to opset 16"},
    {Op::layer_norm, "mul(div(d,sqrt(a)),g); a=add(mean{-1}(q),E); q=mul(d,d)/pow{2}(d); d=sub(x,mean{-1}(x))",
     false, fits_rows, make_layer_norm, "PyTorch, without bias"},
    {Op::layer_norm, "div(d,sqrt(a)); a=add(mean{-1}(q),E); q=mul(d,d)/pow{2}(d); d=sub(x,mean{-1}(x))",
     false, fits_rows, make_layer_norm, "PyTorch, without scale and bias"},
    {Op::rms_norm, "mul(mul(x,r),g); r=div(1,sqrt(a))/pow{-0.5}(a); a=add(mean{-1}(q),E); q=mul(x,x)/pow{2}(x)",
     true, fits_rows, make_rms_norm, "PyTorch, of `x * rsqrt(...)`"},
    {Op::rms_norm, "mul(div(x,sqrt(a)),g); a=add(mean{-1}(q),E); q=mul(x,x)/pow{2}(x)",
     false, fits_rows, make_rms_norm, "of `x / sqrt(...)`"},
    {Op::gelu_erf, "mul(mul(0.5,x),add(1,erf(mul(x,0.707106781187))))",
     true, fits_elements, make_elements, "Volta, to opset 19"},
    {Op::gelu_erf, "mul(mul(x,h),0.5)/mul(x,mul(0.5,h))/mul(mul(0.5,x),h)/div(mul(x,h),2); h=add(1,erf(t)); t=div(x,1.41421356237)/mul(x,0.707106781187)",
     false, fits_elements, make_elements, "PyTorch, to opset 19"},
    {Op::gelu_tanh, "mul(mul(x,h),0.5)/mul(x,mul(0.5,h))/mul(mul(0.5,x),h); h=add(1,tanh(t)); t=mul(0.797884560803,add(x,c))/mul(x,mul(0.797884560803,add(1,mul(0.044715,mul(x,x))))); c=mul(0.044715,k)/mul(mul(0.044715,x),mul(x,x)); k=pow{3}(x)/mul(mul(x,x),x)/mul(x,pow{2}(x))",
     false, fits_elements, make_elements, "PyTorch, GPT-2"},
    {Op::silu, "mul(x,sigmoid(x))", true, fits_elements, make_elements, "PyTorch, to opset 23"},
    {Op::silu, "div(x,add(1,exp(neg(x))))", false, fits_elements, make_elements, "of its definition"},
    {Op::hard_swish, "mul(x,mul(clamp{0,6}(add(x,3)),0.166666666667))", true, fits_elements, make_elements, "of its definition"},
    {Op::hard_swish, "mul(x,div(c,6))/div(mul(x,c),6)/mul(x,hard_sigmoid{0.166666666667,0.5}(x)); c=clamp{0,6}(add(x,3))",
     false, fits_elements, make_elements, "PyTorch, to opset 13"},
    {Op::mish, "mul(x,tanh(softplus(x)))", false, fits_elements, make_elements, "PyTorch, to opset 17"},
};
// clang-format on
constexpr int kRowCount = sizeof kRows / sizeof *kRows;

struct Context {
    const Building& building;
    Contents& contents;
    const PatternRow& row;
};

bool row_fits(const void* context, const Letters& letters, ValueId end) {
    const Context& given = *static_cast<const Context*>(context);
    return given.row.fits({given.building, given.contents, letters, end});
}

// The operators with which a pattern may end.
bool may_end(const Pattern& pattern, int part, Op op) {
    const PatternPart& end = pattern.parts[static_cast<std::size_t>(part)];
    if (end.kind != PatternPart::Kind::choice) return end.op == op;
    return std::any_of(end.parts.begin(), end.parts.end(),
                       [&](int way) { return may_end(pattern, way, op); });
}

}  // namespace

const PatternRow* pattern_rows(int* count) {
    *count = kRowCount;
    return kRows;
}

PatternCounts recognise(Building& building) {
    std::pmr::memory_resource* const heap = building.heap();
    const Graph& graph = building.graph;
    PatternCounts counts(kRowCount, 0, heap);
    std::pmr::vector<Pattern> patterns(heap);
    for (const PatternRow& row : kRows) patterns.push_back(read_pattern(row.text, heap));

    struct Place {
        int row;
        Letters letters;
    };
    std::pmr::vector<Place> places(heap);
    std::pmr::vector<int> place_of(graph.nodes.size(), -1, heap);
    Contents contents(graph, heap);
    Matcher matcher(graph, contents, heap);
    // From the end, so that a pattern inside of a larger one does not come first.
    for (NodeId id = node_count(graph); id-- > 0;) {
        const Op op = graph.node(id).op;
        for (int row = 0; row < kRowCount && !matcher.is_taken(id); ++row) {
            const Pattern& pattern = patterns[index_of(row)];
            const Context context = {building, contents, kRows[row]};
            if (!may_end(pattern, pattern.end, op) ||
                !matcher.find(pattern, kRows[row].same_bits, id, row_fits, &context))
                continue;
            matcher.take();
            ++counts[index_of(row)];
            place_of[index_of(id)] = static_cast<int>(places.size());
            places.push_back({row, matcher.letters()});
        }
    }
    if (places.empty()) return counts;

    Rewrite rewrite(graph, heap);
    for (NodeId id = 0; id < node_count(graph); ++id) {
        const int place = place_of[index_of(id)];
        if (place < 0) {
            if (!matcher.is_taken(id) || is_source(graph.node(id))) rewrite.copy(id);
            continue;
        }
        const auto& [row, letters] = places[index_of(place)];
        const ValueId end = graph.node(id).first_output;
        rewrite.renamed[index_of(end)] =
            kRows[row].make({building, contents, letters, end}, kRows[row].op, rewrite);
    }
    Graph made = remove_dead(rewrite.finish(), heap);
    auto weight = building.weights.begin();
    for (const SourceInfo& source : made.sources)
        if (made.node(source.node).op == Op::parameter) (weight++)->id = made.node(source.node).first_output;
    building.graph = std::move(made);
    return counts;
}

}  // namespace volta::onnx
