#include "cli/memory_picture.h"

#include <algorithm>

#include "cli/html.h"
#include "cli/training_memory.h"

namespace voltac {
namespace {

constexpr std::size_t kRows = 10, kColumns = 64, kIndent = 12;

std::size_t fullest(const PlanSteps& steps) {
    const auto less = [](const PlanStep& a, const PlanStep& b) { return a.alive < b.alive; };
    return static_cast<std::size_t>(std::max_element(steps.begin(), steps.end(), less) - steps.begin());
}

// A stretch of steps of one part. Updates within the backward pass are of it.
struct Stretch {
    std::size_t begin, end;
    volta_plan_part part;
};

std::vector<Stretch> stretches_of(const PlanSteps& steps) {
    std::vector<Stretch> found;
    volta_plan_part next = VOLTA_PLAN_UPDATE;
    for (std::size_t i = steps.size(); i-- > 0;) {  // from the end: what follows an update says what it is of
        const bool is_within = steps[i].part == VOLTA_PLAN_UPDATE && next == VOLTA_PLAN_BACKWARD;
        next = is_within ? next : steps[i].part;
        if (found.empty() || found.back().part != next) found.push_back({i, i + 1, next});
        found.back().begin = i;
    }
    std::reverse(found.begin(), found.end());
    return found;
}

// The fullest step of each of so many equal parts of the axis.
std::vector<std::uint64_t> columns_of(const PlanSteps& steps, std::size_t count) {
    std::vector<std::uint64_t> columns(count, 0);
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const std::size_t first = i * count / steps.size(), last = ((i + 1) * count - 1) / steps.size();
        for (std::size_t c = first; c <= last; ++c) columns[c] = std::max(columns[c], steps[i].alive);
    }
    return columns;
}

// "| forward" and so on, each where it begins, in the first line that has room for it.
std::string legend_of(const PlanSteps& steps) {
    std::vector<std::string> lines;
    for (const Stretch& stretch : stretches_of(steps)) {
        const std::size_t at = kIndent + stretch.begin * kColumns / steps.size();
        const auto has_room = [&](const std::string& line) { return line.size() < at; };
        auto line = std::find_if(lines.begin(), lines.end(), has_room);
        if (line == lines.end()) line = lines.insert(line, "");
        line->resize(at, ' ');
        *line += std::string("| ") + part_name(stretch.part);
    }
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
}

std::string right(const std::string& text, std::size_t width) {
    return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string bytes_text(std::uint64_t bytes) { return memory_text(static_cast<double>(bytes)); }

}  // namespace

PlanSteps plan_steps(const Model& model, const volta_trainer_options& options) {
    PlanSteps steps;
    const volta_plan_visit visit = [](void* user, const volta_plan_step* step) {
        static_cast<PlanSteps*>(user)->push_back({step->operation, step->alive, step->part});
    };
    check(volta_trainer_estimate_steps(model.get(), &options, visit, &steps));
    return steps;
}

const char* part_name(volta_plan_part part) {
    constexpr const char* kNames[] = {"forward", "backward", "update"};  // by volta_plan_part
    return kNames[part];
}

std::string text_picture(const PlanSteps& steps) {
    const std::size_t peak = fullest(steps);
    const std::uint64_t most = std::max<std::uint64_t>(steps[peak].alive, 1);
    const std::vector<std::uint64_t> columns = columns_of(steps, kColumns);
    std::string text;
    for (std::size_t row = kRows; row-- > 0;) {
        std::string line = row + 1 == kRows       ? right(bytes_text(most), kIndent - 2) + " |"
                           : row + 1 == kRows / 2 ? right(bytes_text(most / 2), kIndent - 2) + " |"
                                                  : std::string(kIndent - 1, ' ') + "|";
        for (const std::uint64_t alive : columns)  // a part of a row is drawn as a whole one
            line += static_cast<double>(alive) * kRows > static_cast<double>(most) * static_cast<double>(row)
                        ? '#'
                        : ' ';
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    text += right("0", kIndent - 2) + " +" + std::string(kColumns, '-') + "\n" + legend_of(steps);
    return text + formatted("%*smost: %s at step %zu of %zu, %s (%s)\n", static_cast<int>(kIndent), "",
                            bytes_text(most).c_str(), peak + 1, steps.size(), steps[peak].operation.c_str(),
                            part_name(steps[peak].part));
}

// ---- SVG: as bench/plot.py draws ----

namespace {

constexpr int kWidth = 760, kLeft = 84, kPlot = 640, kHeight = 150, kPanel = 236, kTop = 56;
constexpr const char *kInk = "#222222", *kFaint = "#d8d8d8", *kPaper = "#fdfdfb";
constexpr const char* kColours[] = {"#0072b2", "#d55e00",
                                    "#009e73"};  // by volta_plan_part; told apart by all

std::string svg_text(double x, double y, const char* anchor, double size, const std::string& text,
                     const char* weight = "normal") {
    return formatted(
               "<text x='%.1f' y='%.1f' text-anchor='%s' font-size='%g' fill='%s' font-weight='%s' "
               "font-family='system-ui, sans-serif'>",
               x, y, anchor, size, kInk, weight) +
           escaped(text) + "</text>\n";
}

// One stretch as a filled outline, a corner wherever a step holds another number of bytes than the one
// before.
std::string svg_stretch(const PlanSteps& steps, const Stretch& stretch, std::uint64_t most, double bottom) {
    const auto x = [&](std::size_t step) {
        return kLeft + static_cast<double>(step) * kPlot / static_cast<double>(steps.size());
    };
    const auto y = [&](std::uint64_t alive) {
        return bottom - static_cast<double>(alive) * kHeight / static_cast<double>(most);
    };
    std::string path =
        formatted("<path fill='%s' d='M%.1f %.1f", kColours[stretch.part], x(stretch.begin), bottom);
    for (std::size_t i = stretch.begin; i < stretch.end; ++i)
        if (i == stretch.begin || steps[i].alive != steps[i - 1].alive)
            path += formatted("H%.1fV%.1f", x(i), y(steps[i].alive));
    return path + formatted("H%.1fV%.1fZ'/>\n", x(stretch.end), bottom);
}

std::string svg_panel(const SvgPanel& panel, double top) {
    const PlanSteps& steps = panel.steps;
    const std::size_t peak = fullest(steps);
    const std::uint64_t most = std::max<std::uint64_t>(steps[peak].alive, 1);
    const double bottom = top + 30 + kHeight;
    std::string svg = svg_text(kLeft, top, "start", 11, panel.heading, "bold");
    for (const int tenths : {0, 5, 10}) {
        const double y = bottom - kHeight * tenths / 10.0;
        svg += formatted("<line x1='%d' y1='%.1f' x2='%d' y2='%.1f' stroke='%s'/>\n", kLeft, y, kLeft + kPlot,
                         y, kFaint);
        svg += svg_text(kLeft - 8, y + 4, "end", 10,
                        tenths == 0 ? "0" : bytes_text(most / 10 * static_cast<std::uint64_t>(tenths)));
    }
    for (const Stretch& stretch : stretches_of(steps)) svg += svg_stretch(steps, stretch, most, bottom);
    const double at = kLeft + (static_cast<double>(peak) + 0.5) * kPlot / static_cast<double>(steps.size());
    svg += svg_text(at, bottom - kHeight - 6, 2 * peak < steps.size() ? "start" : "end", 10,
                    bytes_text(most) + ", " + steps[peak].operation);
    return svg + svg_text(kLeft + kPlot, bottom + 16, "end", 10, formatted("%zu steps", steps.size()));
}

}  // namespace

std::string svg_picture(const std::string& title, const std::vector<SvgPanel>& panels) {
    const int height = kTop + 20 + kPanel * static_cast<int>(panels.size());
    std::string svg = formatted(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' width='%d' height='%d' role='img'>\n",
        kWidth, height, kWidth, height);
    svg += "<title>" + escaped(title) + "</title>\n";
    svg += formatted("<rect width='%d' height='%d' fill='%s'/>\n", kWidth, height, kPaper);
    svg += svg_text(16, 24, "start", 15, title, "bold");
    for (int part = VOLTA_PLAN_FORWARD; part <= VOLTA_PLAN_UPDATE; ++part) {
        svg +=
            formatted("<circle cx='%d' cy='40' r='4.5' fill='%s'/>\n", kLeft + 5 + 90 * part, kColours[part]);
        svg += svg_text(kLeft + 14 + 90 * part, 44, "start", 11, part_name(part));
    }
    for (std::size_t i = 0; i < panels.size(); ++i)
        svg += svg_panel(panels[i], kTop + 20 + kPanel * static_cast<double>(i));
    return svg + "</svg>\n";
}

}  // namespace voltac
