#include "cli/training_report.h"

#include <algorithm>
#include <cmath>

#include "cli/html.h"

namespace voltac {
namespace {

constexpr int kWidth = 900, kHeight = 140, kLabels = 80;
constexpr std::size_t kTableClasses = 20, kPairs = 30;  // of a confusion matrix

// A curve over steps: of each slice of them the mean as a line, and from the least to the most as a band.
class Curve {
  public:
    Curve(std::uint64_t first, std::uint64_t last) : first_(first), span_(last > first ? last - first : 1) {}
    void add(std::uint64_t step, double value) {
        if (std::isfinite(value)) points_.emplace_back(step, value);
    }
    bool is_empty() const { return points_.empty(); }

    // marks: with a dot for each point, for curves of few.
    std::string svg(const std::string& label, bool marks = false) const {
        if (points_.empty()) return "<p>No finite value.</p>\n";
        double least = points_[0].second, most = least;
        for (const auto& point : points_) {
            least = std::min(least, point.second);
            most = std::max(most, point.second);
        }
        const double range = most > least ? most - least : 1;
        const auto y = [&](double value) { return kHeight - (value - least) / range * (kHeight - 4) - 2; };
        std::string top, bottom, line, dots;
        for (std::size_t begin = 0; begin < points_.size();) {
            const int x = column(points_[begin].first);
            double low = points_[begin].second, high = low, sum = 0;
            std::size_t end = begin;
            for (; end < points_.size() && column(points_[end].first) == x; ++end) {
                low = std::min(low, points_[end].second);
                high = std::max(high, points_[end].second);
                sum += points_[end].second;
            }
            const double mean = sum / static_cast<double>(end - begin);
            top += formatted("%s%d %.1f", begin == 0 ? "M" : "L", x, y(high));
            bottom.insert(0, formatted("L%d %.1f", x, y(low)));
            line += formatted("%s%d %.1f", begin == 0 ? "M" : "L", x, y(mean));
            if (marks) dots += formatted("<circle cx=%d cy=%.1f r=3 fill=\"#3a6ea5\"/>", x, y(mean));
            begin = end;
        }
        return formatted("<svg viewBox=\"0 0 %d %d\" role=img aria-label=\"%s\">", kWidth + kLabels,
                         kHeight + 20, escaped(label).c_str()) +
               formatted("<path class=axis d=\"M0 %dH%d\"/>", kHeight, kWidth) + "<path class=band d=\"" +
               top + bottom + "Z\"/><path class=line d=\"" + line + "\"/>" + dots +
               formatted("<text x=%d y=12>%.4g</text><text x=%d y=%d>%.4g</text>", kWidth + 6, most,
                         kWidth + 6, kHeight, least) +
               formatted(
                   "<text x=0 y=%d>step %llu</text><text x=%d y=%d text-anchor=end>step %llu</text></svg>\n",
                   kHeight + 16, static_cast<unsigned long long>(first_), kWidth, kHeight + 16,
                   static_cast<unsigned long long>(first_ + span_));
    }

  private:
    int column(std::uint64_t step) const {
        return static_cast<int>(static_cast<double>(step - first_) * kWidth / static_cast<double>(span_));
    }
    std::uint64_t first_, span_;
    std::vector<std::pair<std::uint64_t, double>> points_;
};

std::string section(const std::string& title, const std::string& body) {
    return "<h2>" + escaped(title) + "</h2>\n" + body;
}

// Of few classes the matrix, of many the pairs that are mistaken most often.
std::string confusion(const PictureResults& pictures) {
    const auto& counts = pictures.confusion;
    if (counts.size() <= kTableClasses) {
        std::string html = "<p>Labels by rows, answers by columns.</p>\n<table><tr><th>";
        for (const std::string& name : pictures.classes) html += "<th>" + escaped(name);
        for (std::size_t label = 0; label < counts.size(); ++label) {
            html += "\n<tr><th class=t>" + escaped(pictures.classes[label]);
            for (std::size_t answer = 0; answer < counts[label].size(); ++answer) {
                const std::uint64_t count = counts[label][answer];
                const char* const kind = answer == label ? " class=right" : count > 0 ? " class=wrong" : "";
                html += std::string("<td") + kind + ">" + std::to_string(count);
            }
        }
        return html + "\n</table>\n";
    }
    struct Pair {
        std::size_t label, answer;
        std::uint64_t count;
    };
    std::vector<Pair> pairs;
    for (std::size_t label = 0; label < counts.size(); ++label)
        for (std::size_t answer = 0; answer < counts[label].size(); ++answer)
            if (answer != label && counts[label][answer] > 0)
                pairs.push_back({label, answer, counts[label][answer]});
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const Pair& a, const Pair& b) { return a.count > b.count; });
    pairs.resize(std::min(pairs.size(), kPairs));
    Table table({"label<", "answer<", "pictures"});
    for (const Pair& pair : pairs)
        table.row({pictures.classes[pair.label], pictures.classes[pair.answer], std::to_string(pair.count)});
    return "<p>What is mistaken most often.</p>\n" + table.take();
}

// A BMP of 24 bits a pixel: its rows from the last to the first, blue first, each of a multiple of 4 bytes.
std::string bitmap(const WorstPicture& picture) {
    const std::uint32_t row_bytes = (picture.width * 3 + 3) / 4 * 4;
    constexpr std::uint32_t kHead = 54;
    std::string bytes = "BM";
    const auto number = [&](std::uint32_t value, int count) {
        for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> (8 * i) & 255);
    };
    number(kHead + row_bytes * picture.height, 4);
    number(0, 4);
    number(kHead, 4);
    number(40, 4);
    number(picture.width, 4);
    number(picture.height, 4);
    number(1, 2);
    number(24, 2);
    for (int i = 0; i < 6; ++i) number(0, 4);
    const std::size_t plane = std::size_t{picture.height} * picture.width;
    for (std::uint32_t y = picture.height; y-- > 0;) {
        for (std::uint32_t x = 0; x < picture.width; ++x)
            for (std::size_t c = 3; c-- > 0;)
                bytes += picture.pixels[(picture.channels == 3 ? c : 0) * plane + y * picture.width + x];
        bytes.append(row_bytes - picture.width * 3, '\0');
    }
    return bytes;
}

std::string worst(const PictureResults& pictures) {
    std::string html;
    for (const WorstPicture& picture : pictures.worst)
        html += "<figure><img alt=\"\" title=\"" + escaped(picture.name) + "\" src=\"data:image/bmp;base64," +
                base64(bitmap(picture)) + "\"><figcaption>" + escaped(pictures.classes[picture.label]) +
                formatted(" %.1f %%", 100 * picture.probability) +
                "<br>answer: " + escaped(pictures.classes[picture.answer]) +
                formatted("<br>loss %.3f", picture.loss) + "</figcaption></figure>\n";
    return html;
}

}  // namespace

void TrainingReport::declare(Options& options) {
    options.output("--report", path_, kReportOutput,
                   "a page of how the run went: loss, learning rate, throughput and what validation gave; of "
                   "pictures also what is mistaken for what, and the worst of them");
}

void TrainingReport::step(const volta_step_report& step, double seconds) {
    if (!is_wanted()) return;
    steps_.push_back(step.step);
    losses_.push_back(static_cast<double>(step.loss));
    rates_.push_back(step.learning_rate);
    seconds_.push_back(seconds);
}

void TrainingReport::validated(std::uint64_t step, double loss, std::uint64_t correct, std::uint64_t count) {
    if (is_wanted())
        validations_.push_back(
            {step, loss, count > 0 ? static_cast<double>(correct) / static_cast<double>(count) : -1});
}

void TrainingReport::fact(const std::string& name, const std::string& value) {
    facts_.emplace_back(name, value);
}

void TrainingReport::write(const std::string& title, const char* unit, std::uint64_t per_step,
                           const PictureResults& pictures) const {
    if (!is_wanted()) return;
    std::string page = kPageHead;
    page += "<title>" + escaped(title) + ": training</title>\n<h1>" + escaped(title) + "</h1>\n";
    Table facts({"run<", "<"});
    for (const auto& [name, value] : facts_) facts.row({name, value});
    page += facts.take();
    const std::uint64_t first = steps_.empty() ? 0 : steps_.front(),
                        last = steps_.empty() ? 0 : steps_.back();
    Curve losses(first, last), rates(first, last), speeds(first, last);
    Curve validation(first, last), accuracy(first, last);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
        losses.add(steps_[i], losses_[i]);
        rates.add(steps_[i], rates_[i]);
        if (seconds_[i] > 0) speeds.add(steps_[i], static_cast<double>(per_step) / seconds_[i]);
    }
    for (const Validation& row : validations_) {
        if (row.step < first) continue;
        validation.add(row.step, row.loss);
        if (row.share >= 0) accuracy.add(row.step, row.share);
    }
    if (steps_.empty()) {
        page += "<p>The run made no step.</p>\n";
    } else {
        page += section("Training loss", losses.svg("training loss"));
        page += section("Learning rate", rates.svg("learning rate"));
        page += section(std::string("Throughput, ") + unit + " per second", speeds.svg("throughput"));
        if (!validation.is_empty())
            page += section("Validation loss", validation.svg("validation loss", true));
        if (!accuracy.is_empty()) page += section("Accuracy", accuracy.svg("accuracy", true));
    }
    if (!pictures.confusion.empty()) page += section("Answers", confusion(pictures));
    if (!pictures.worst.empty()) page += section("Highest loss", worst(pictures));
    write_text(path_, page);
}

}  // namespace voltac
