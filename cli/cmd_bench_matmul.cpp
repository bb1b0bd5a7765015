// voltac bench matmul: products C[m, n] = A[m, k] B[k, n] on the path every product takes, graph to session.
// On a device with memory of its own, time_on_device leaves out what a run moves.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <nlohmann/json.hpp>

#include "cli/bench.h"
#include "cli/bench_case.h"
#include "cli/bench_device.h"
#include "cli/bench_timing.h"

namespace voltac::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Shape {
    std::int64_t m, n, k;
    bool a_transposed = false, b_transposed = false;  // stored so
    const char* form() const { return a_transposed ? "tn" : b_transposed ? "nt" : "nn"; }
};

// Squares, the layers of GPTs of width 384 and 768 in training and generation, their weight gradients, and
// odd sizes: the list that the peers are compared on.
constexpr Shape kShapes[] = {
    {64, 64, 64},       {128, 128, 128},    {256, 256, 256},   {512, 512, 512},   {1024, 1024, 1024},
    {2048, 2048, 2048}, {4096, 4096, 4096}, {64, 384, 384},    {256, 1152, 384},  {256, 1536, 384},
    {256, 384, 1536},   {1024, 1152, 384},  {1024, 1536, 384}, {1024, 384, 1536}, {1024, 65, 384},
    {1024, 768, 768},   {1024, 3072, 768},  {1024, 768, 3072}, {256, 50257, 768}, {384, 1152, 1024},
    {384, 1536, 1024},  {768, 3072, 1024},  {4, 3072, 768},    {8, 3072, 768},    {16, 3072, 768},
    {1, 1152, 384},     {1, 1536, 384},     {1, 2304, 768},    {1, 3072, 768},    {1, 768, 3072},
    {1, 50257, 768},    {100, 100, 100},    {127, 127, 127},   {255, 257, 253},   {1000, 1000, 1000},
    {1023, 1023, 1023}, {13, 777, 333},
};

// What is multiplied: "plain" has two inputs, so that whatever the product packs it packs within the run;
// "packed" has B as a parameter of the model, which the session packs once (VOLTA_SESSION_PACK_WEIGHTS).
struct Settings {
    std::string shapes, explain, form = "nn", mode = "both";
    bool cold = false, csv = false;
    Repeats repeats;
};

constexpr long long kMostExtent = 1 << 22;

[[noreturn]] void bad_shape(const char* option, const std::string& word) {
    usage_error("voltac bench matmul: " + std::string(option) + " has '" + word +
                "', which is no MxNxK of 1 .. " + std::to_string(kMostExtent) +
                " with :nn, :nt, :tn or nothing behind it");
}

std::int64_t extent_of(const char* option, const std::string& word, const std::string& text) {
    char* end = nullptr;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || value < 1 || value > kMostExtent) bad_shape(option, word);
    return value;
}

Shape with_form(Shape shape, const std::string& form) {
    shape.a_transposed = form == "tn";
    shape.b_transposed = form == "nt";
    return shape;
}

// "256x1152x384", which has the form of all that name none, or "256x384x1152:nt".
Shape shape_of(const char* option, const std::string& word, const std::string& form) {
    const std::vector<std::string> parts = cut(word, ':'), extents = cut(parts[0], 'x');
    const std::string own = parts.size() > 1 ? parts[1] : form;
    if (extents.size() != 3 || parts.size() > 2 || (own != "nn" && own != "nt" && own != "tn"))
        bad_shape(option, word);
    return with_form({extent_of(option, word, extents[0]), extent_of(option, word, extents[1]),
                      extent_of(option, word, extents[2])},
                     own);
}

std::vector<Shape> shapes_of(const Settings& settings) {
    std::vector<Shape> shapes;
    if (settings.shapes.empty())
        for (const Shape& shape : kShapes) shapes.push_back(with_form(shape, settings.form));
    else
        for (const std::string& word : cut(settings.shapes, ','))
            shapes.push_back(shape_of("--shapes", word, settings.form));
    return shapes;
}

// As they are stored.
Extents extents_of_a(const Shape& s) { return s.a_transposed ? Extents{s.k, s.m} : Extents{s.m, s.k}; }
Extents extents_of_b(const Shape& s) { return s.b_transposed ? Extents{s.n, s.k} : Extents{s.k, s.n}; }
volta_value multiply(GraphBuilder& graph, const Shape& s, volta_value a, volta_value b) {
    return graph.apply("matmul", {a, b},
                       {attribute("transpose_a", s.a_transposed), attribute("transpose_b", s.b_transposed)});
}

SessionCase product(const Context& context, const Shape& s, bool packed) {
    const Extents b = extents_of_b(s);
    GraphBuilder graph(context);
    const volta_value x = graph.input("a", extents_of_a(s));
    const volta_value w = packed ? graph.parameter("b", b) : graph.input("b", b);
    graph.output(multiply(graph, s, x, w));
    return SessionCase(context, graph.model());
}

// Cold: each call takes another copy of everything, until more than the last-level cache has passed by.
std::int64_t copies_of(const Shape& s, const volta_machine_speed& speed) {
    const double bytes = 4.0 * static_cast<double>(s.n) * static_cast<double>(s.k);
    return std::clamp<std::int64_t>(
        static_cast<std::int64_t>(static_cast<double>(speed.buffer_bytes) / bytes) + 1, 2, 4096);
}

Timing time_product(const Context& context, const Shape& s, const Settings& settings, bool packed,
                    const volta_machine_speed& speed) {
    std::deque<SessionCase> cases;
    const std::int64_t copies = settings.cold ? copies_of(s, speed) : 1;
    for (std::int64_t i = 0; i < copies; ++i) cases.push_back(product(context, s, packed));
    for (SessionCase& one : cases) one.run();
    std::size_t next = 0;
    return time_short_calls(settings.repeats, [&] {
        cases[next].run();
        next = next + 1 == cases.size() ? 0 : next + 1;
    });
}

// How many As and Bs there are on a device. Each A is multiplied by each B, so no product is another one's.
struct Operands {
    std::int64_t a, b;
    std::int64_t products() const { return a * b; }
};

// Of small matrices many, so that a run is long beside what starts it, within what stays in a GPU's cache; of
// large ones few. Cold: one A, and so many Bs that each has left the cache before it comes again, as far as
// 128 reach.
Operands operands_of(const Shape& s, bool cold, const volta_machine_speed& speed) {
    if (cold) return {1, std::clamp<std::int64_t>(copies_of(s, speed), 5, 128)};
    constexpr double kCached = 32 * kMiB;
    const double pair =
        4.0 * static_cast<double>(s.k) * (static_cast<double>(s.m) + static_cast<double>(s.n));
    const auto each = static_cast<std::int64_t>(std::clamp(kCached / pair, 3.0, 8.0));
    return {each, each};
}

volta_attribute shape_attribute(const Extents& shape) {  // lent: until the operator is applied
    volta_attribute made = {};
    made.name = "shape";
    made.integers = shape.data();
    made.integer_count = shape.size();
    return made;
}

// All products of `operands`, whose matrices are parameters: they lie on the device before the first run.
// What comes back is `numbers` elements: each product gives one, the last product those that are left.
SessionCase products(const Context& context, const Shape& s, const Operands& operands, std::int64_t numbers) {
    GraphBuilder graph(context);
    std::vector<volta_value> a, b, taken;
    volta_value latest = {};  // [m * n], the latest product
    for (std::int64_t i = 0; i < operands.a; ++i)
        a.push_back(graph.parameter(("a" + std::to_string(i)).c_str(), extents_of_a(s)));
    for (std::int64_t i = 0; i < operands.b; ++i)
        b.push_back(graph.parameter(("b" + std::to_string(i)).c_str(), extents_of_b(s)));
    const Extents line = {s.m * s.n};
    for (std::int64_t i = 0; i < numbers; ++i) {
        if (i < operands.products()) {
            const volta_value one = multiply(graph, s, a[static_cast<std::size_t>(i / operands.b)],
                                             b[static_cast<std::size_t>(i % operands.b)]);
            latest = graph.apply("reshape", {one}, {shape_attribute(line)});
        }
        const auto at = static_cast<double>(i % line[0]);
        taken.push_back(graph.apply("slice", {latest}, {attribute("begin", at), attribute("end", at + 1)}));
    }
    graph.output(graph.apply("concat", taken));
    return SessionCase(context, graph.model());
}

// One product on a device with memory of its own. A run of one product and a run of many take the same
// numbers from their results, in as many steps, and fetch them; they differ by products alone. So the
// difference is theirs: it holds no transfer, no launch of a run, nothing of the host. (Fewer steps take them
// from a result of fewer elements, because equal steps are one: then the figure is slower than the product.)
Timing time_on_device(const Context& context, const Shape& s, const Settings& settings,
                      const volta_machine_speed& speed) {
    const Operands operands = operands_of(s, settings.cold, speed);
    SessionCase many = products(context, s, operands, operands.products());
    SessionCase one = products(context, s, {1, 1}, operands.products());
    for (int i = 0; i < 3; ++i) one.run();  // the first runs are recorded, later ones are one launch
    Timing timing = time_difference(
        settings.repeats, [&] { many.run(); }, [&] { one.run(); });
    if (timing.seconds <= 0)
        failure(formatted("bench matmul: a product of %lldx%lldx%lld is too short to be told from noise",
                          static_cast<long long>(s.m), static_cast<long long>(s.n),
                          static_cast<long long>(s.k)));
    timing.seconds /= static_cast<double>(operands.products() - 1);
    return timing;
}

void print_row(const Shape& s, const Settings& settings, const char* mode, const Timing& timing,
               const volta_machine_speed& speed) {
    const double operations =
        2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
    const double gflops = operations / timing.seconds * 1e-9;
    const double share = gflops / speed.fma_gflops;
    if (settings.repeats.json) {
        print(json_text(Json({{"m", s.m},
                              {"n", s.n},
                              {"k", s.k},
                              {"threads", speed.thread_count},
                              {"isa", isa_name(speed.isa)},
                              {"mode", mode},
                              {"median_gflops", gflops},
                              {"spread", timing.spread},
                              {"fraction_of_peak", share},
                              {"form", s.form()},
                              {"cold", settings.cold}})) +
              "\n");
        return;
    }
    const auto whole = [](std::int64_t value) { return static_cast<long long>(value); };
    if (settings.csv) {
        print(formatted("%lld,%lld,%lld,%u,%s,%s,%.6g,%.4g,%.4g,%s,%d\n", whole(s.m), whole(s.n), whole(s.k),
                        speed.thread_count, isa_name(speed.isa), mode, gflops, timing.spread, share, s.form(),
                        settings.cold ? 1 : 0));
        return;
    }
    const double weights = 4e-9 * static_cast<double>(s.n) * static_cast<double>(s.k) / timing.seconds;
    print(formatted("%6lld %6lld %6lld  %-4s  %-6s %10.2f %8.1f %% %10.1f %% %10.1f\n", whole(s.m),
                    whole(s.n), whole(s.k), s.form(), mode, gflops, 100 * timing.spread, 100 * share,
                    weights));
}

constexpr const char* kDeviceMeans =
    "mode device: what further products add to a run, their matrices lying in the device's memory";

void print_head(const Context& context, const Settings& settings, const volta_machine_speed& speed,
                bool on_device) {
    if (settings.repeats.json) return;
    if (settings.csv) {
        print("m,n,k,threads,isa,mode,median_gflops,spread,fraction_of_peak,form,cold\n");
        return;
    }
    print(machine_line(context, speed) +
          formatted("%s%s\n%s%s\n%6s %6s %6s  %-4s  %-6s %10s %10s %12s %10s\n",
                    settings.cold ? "cold; " : "", kSpreadMeans, on_device ? kDeviceMeans : "",
                    on_device ? "\n" : "", "M", "N", "K", "form", "mode", "GFLOP/s", "spread", "of the peak",
                    "GB/s of B"));
}

void measure_shape(const Context& context, const Shape& shape, const Settings& s, Peaks& peaks,
                   bool on_device) {
    const auto row = [&](const char* mode, auto&& time) {
        const volta_machine_speed speed = peaks.refreshed();
        print_row(shape, s, mode, time(speed), speed);
    };
    const auto product = [&](bool packed) {
        return [&, packed](const auto& speed) { return time_product(context, shape, s, packed, speed); };
    };
    if (on_device)
        return row("device", [&](const auto& speed) { return time_on_device(context, shape, s, speed); });
    if (s.mode != "packed") row("plain", product(false));
    if (s.mode != "plain") row("packed", product(true));
}

// Why a product is computed as it is, in the mode that is asked for (plain, where that is both).
int explain(const Context& context, const Shape& s, const Settings& settings) {
    const volta_tune_shape shape = {s.m, s.n, s.k, s.a_transposed, s.b_transposed, 0, 0, 0};
    uint32_t use = 0;
    if (settings.mode == "packed") use |= VOLTA_EXPLAIN_PACKED_ONCE;
    if (settings.cold) use |= VOLTA_EXPLAIN_FROM_MEMORY;
    std::size_t bytes = 0;
    check(volta_explain_matmul(context.get(), &shape, use, nullptr, 0, &bytes));
    std::string text(bytes + 1, '\0');
    check(volta_explain_matmul(context.get(), &shape, use, text.data(), text.size(), &bytes));
    text.resize(bytes);
    print(text);
    return 0;
}

}  // namespace

int run_matmul(const std::vector<std::string>& arguments) {
    Settings s;
    s.repeats.runs = 7;
    s.repeats.warmup = 1;
    Options options(
        "bench matmul",
        "Matrix products C[m,n] = A[m,k] B[k,n], in GFLOP/s. A run repeats short products for 2 ms; "
        "spread is (90th - 10th percentile) / median of the runs. Mode plain has two inputs, so packing "
        "is within the run; mode packed has B as a parameter of the model, packed once. On a device with "
        "memory of its own there is one row, mode device: A and B lie in that memory, and the figure is what "
        "each further product adds to a run, without transfers and launches of runs.");
    options.text(
        "--shapes", s.shapes,
        "MxNxK,... with :nn, :nt or :tn where a shape has another form than --form (default: 37 shapes of "
        "small transformers, squares, odd sizes)");
    options.choice(
        "--form", s.form, {"nn", "nt", "tn"},
        "of shapes that name none. nt: B is stored [n,k]; tn: A is stored [k,m], as in a weight gradient "
        "(default: nn)");
    options.choice("--mode", s.mode, {"plain", "packed", "both"},
                   "of a processor; a device has its own (default: both)");
    options.flag("--cold", s.cold,
                 "every call takes another copy of the matrices, so that B comes from memory");
    options.flag("--csv", s.csv, "comma-separated values on standard output");
    options.text(
        "--explain", s.explain,
        "MxNxK, as in --shapes: measure nothing, but say which machine the rules see, which of them apply "
        "and what is against the others, and how the product is computed");
    declare(options, s.repeats);
    options.parse(arguments);
    if (s.repeats.json && s.csv) usage_error("voltac bench matmul: --json and --csv exclude each other");
    const std::vector<Shape> shapes = shapes_of(s);

    if (!s.explain.empty()) {
        const Shape shape = shape_of("--explain", s.explain, s.form);
        return explain(make_context(s.repeats.machine), shape, s);
    }

    const Context context = make_context(s.repeats.machine);
    Peaks peaks(context);
    const bool on_device = device_of(context).memory_bytes > 0;
    print_head(context, s, peaks.refreshed(), on_device);
    for (const Shape& shape : shapes) measure_shape(context, shape, s, peaks, on_device);
    return 0;
}

}  // namespace voltac::bench
