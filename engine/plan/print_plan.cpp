// The plan as text. It says everything that a plan holds: equal text, equal plan.
#include <cstdarg>
#include <cstdio>

#include "engine/base/format.h"
#include "engine/graph/print.h"
#include "engine/plan/plan.h"

namespace volta {
namespace {

constexpr const char* kPhaseNames[] = {"each", "reduce", "update"};
constexpr const char* kRegionNames[] = {"arena",     "constants", "input",   "output",
                                        "parameter", "state",     "gradient"};

using Wide = unsigned long long;

class Text {
  public:
    explicit Text(std::pmr::memory_resource* heap) : text_(heap) {}
    std::pmr::string take() { return std::move(text_); }

    void add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
        char piece[160];  // numbers and fixed words only; names are added by add_name
        va_list arguments;
        va_start(arguments, format);
        vformat(piece, sizeof piece, format, arguments);
        va_end(arguments);
        text_ += piece;
    }
    void add_text(const std::pmr::string& text) { text_ += text; }

    // Quoted; what could end the quotes or the line as \xNN, so that no name imitates another line.
    void add_name(const std::pmr::string& name) {
        text_ += '"';
        for (const char c : name) {
            const unsigned code = static_cast<unsigned char>(c);
            if (code < 0x20 || code == 0x7f || c == '"' || c == '\\')
                add("\\x%02x", code);
            else
                text_ += c;
        }
        text_ += '"';
    }

    // %5@0+1024, and *512 where every micro-batch has its own bytes.
    void add_value(const Plan& plan, ValueId value) {
        const Place& place = plan.places[static_cast<std::size_t>(value)];
        add(" %%%d@%d+%llu", value, place.region, static_cast<Wide>(place.offset));
        if (place.micro_stride != 0) add("*%llu", static_cast<Wide>(place.micro_stride));
    }

  private:
    std::pmr::string text_;
};

void add_regions(Text& text, const Plan& plan) {
    text.add("regions\n");
    for (std::size_t r = 0; r < plan.regions.size(); ++r) {
        const Region& region = plan.regions[r];
        text.add("  %zu %s ", r, kRegionNames[static_cast<int>(region.kind)]);
        if (region.source >= 0) {
            text.add_name(region.name);
            text.add(" %%%d ", region.source);
        }
        text.add("%llu bytes\n", static_cast<Wide>(region.bytes));
    }
    for (const InputLimit& limit : plan.limits)
        text.add("  region %d holds ids %d .. %d\n", limit.region, limit.low, limit.high);
}

// Places of values that no step writes: sources and aliases.
void add_places(Text& text, const Plan& plan) {
    text.add("values\n");
    for (const Node& node : plan.graph.nodes) {
        const Lowering lowering = op_row(node.op).lowering;
        if (lowering != Lowering::source && lowering != Lowering::alias) continue;
        text.add(" ");
        text.add_value(plan, node.first_output);
        text.add(" %s\n", op_row(node.op).name);
    }
}

void add_steps(Text& text, const Plan& plan) {
    text.add("steps\n");
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
        const Step& step = plan.steps[s];
        text.add("  %zu %s node %d", s, kPhaseNames[static_cast<int>(step.phase)], step.node);
        if (step.node < 0 || static_cast<std::size_t>(step.node) >= plan.graph.nodes.size()) {
            text.add(", which does not exist\n");  // a broken plan prints too: the verifier will say so
            continue;
        }
        const Node& node = plan.graph.node(step.node);
        for (std::int32_t i = 0; i < node.output_count; ++i) text.add_value(plan, node.first_output + i);
        text.add(" = %s", op_row(node.op).name);
        for (const ValueId input : node.inputs) text.add_value(plan, input);
        text.add("\n");
    }
}

void add_bill(Text& text, const PlanBill& bill) {
    const struct {
        const char* name;
        std::uint64_t bytes;
    } rows[] = {{"parameters", bill.parameters},
                {"gradients", bill.gradients},
                {"optimizer state", bill.optimizer_state},
                {"activations", bill.activations},
                {"inputs", bill.inputs},
                {"outputs", bill.outputs},
                {"constants", bill.constants}};
    text.add("bill\n");
    for (const auto& row : rows) text.add("  %s %llu bytes\n", row.name, static_cast<Wide>(row.bytes));
}

}  // namespace

std::pmr::string print(const Plan& plan, std::pmr::memory_resource* heap) {
    Text text(heap);
    text.add("plan of %u micro-batch%s\n", plan.micro_batches, plan.micro_batches == 1 ? "" : "es");
    // What is not said is strict: the texts and hashes of such plans are older than the other levels.
    if (plan.arithmetic != Arithmetic())
        text.add("level %s, precision %s\n", level_name(plan.arithmetic.level),
                 precision_name(plan.arithmetic.precision));
    text.add("graph\n");
    text.add_text(print_shortened(plan.graph, heap));
    add_regions(text, plan);
    add_places(text, plan);
    add_steps(text, plan);
    add_bill(text, plan.bill);
    return text.take();
}

namespace {

// The line of `text` that starts at `at`, without its end; moves `at` behind it.
std::string_view next_line(std::string_view text, std::size_t& at) {
    const std::size_t end = text.find('\n', at);
    const std::string_view line =
        text.substr(at, end == std::string_view::npos ? text.size() - at : end - at);
    at = end == std::string_view::npos ? text.size() : end + 1;
    return line;
}

}  // namespace

std::pmr::string first_divergence(const Plan& a, const Plan& b, std::pmr::memory_resource* heap) {
    const std::string_view x = a.text, y = b.text;
    std::pmr::string result(heap);
    std::size_t at_x = 0, at_y = 0;
    for (int number = 1; at_x < x.size() || at_y < y.size(); ++number) {
        const std::string_view line_x = next_line(x, at_x), line_y = next_line(y, at_y);
        if (line_x == line_y) continue;
        char head[32];
        std::snprintf(head, sizeof head, "line %d: \"", number);
        result.append(head).append(line_x).append("\" or \"").append(line_y).append("\"");
        break;
    }
    return result;
}

}  // namespace volta
