// A profile as one page: tables and the chart of memory stand in it as they are, the timeline is drawn by a
// script from numbers in the page. Nothing is fetched; every name is escaped.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cli/html.h"
#include "cli/profile.h"
#include "cli/profile_page.h"

namespace voltac {
namespace {

using Event = volta_profile_event;

double ms(std::uint64_t ns) { return static_cast<double>(ns) * 1e-6; }
double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / 1048576; }
std::uint64_t length(const Event& event) { return event.end_ns - event.begin_ns; }

std::string count(std::uint64_t value) { return std::to_string(value); }
std::string percent(double part, double whole) {
    return whole > 0 ? formatted("%.1f %%", 100 * part / whole) : "";
}

std::string summary(const Context& context, const ProfileData& profile) {
    volta_context_info machine = VOLTA_CONTEXT_INFO_INIT;
    check(volta_context_get_info(context.get(), &machine));
    const volta_profile_info& info = profile.info;
    std::string text = formatted("<p>%s, %u thread%s. ", escaped(machine.cpu).c_str(), machine.thread_count,
                                 machine.thread_count == 1 ? "" : "s");
    text += formatted(
        "Recorded %.3f ms; calls %.3f ms of them; steps of plans %.3f ms of these. Tensor memory at most "
        "%.2f MiB, "
        "of it activations that were still needed %.2f MiB. %llu events.",
        ms(info.duration_ns), ms(info.calls_ns), ms(info.steps_ns), mib(info.held_bytes_peak),
        mib(info.live_bytes_peak), static_cast<unsigned long long>(info.event_count));
    if (info.dropped > 0)
        text += formatted(
            " <b>%llu later events were dropped</b>: the table of operators is complete, everything below it "
            "is of "
            "the beginning.",
            static_cast<unsigned long long>(info.dropped));
    return text + "</p>\n";
}

std::string operators(const ProfileData& profile) {
    Table table({"operator<", "calls", "total ms", "share", "mean µs", "rate"});
    for (const volta_profile_operator& row : profile.operators)
        table.row(
            {row.name, count(row.calls), formatted("%.3f", ms(row.total_ns)), percent(row.share, 1),
             formatted("%.2f", static_cast<double>(row.total_ns) * 1e-3 / static_cast<double>(row.calls)),
             rate_of(row)});
    return table.take();
}

struct Sum {
    std::uint64_t calls = 0, ns = 0, least = UINT64_MAX, most = 0, bytes = 0;
    double operations = 0;
    void add(const Event& event) {
        calls += 1;
        ns += length(event);
        least = std::min(least, length(event));
        most = std::max(most, length(event));
        bytes += event.bytes;
        operations += event.operations;
    }
};

template <class Key>
std::vector<std::pair<Key, Sum>> longest_first(const std::map<Key, Sum>& sums) {
    std::vector<std::pair<Key, Sum>> rows(sums.begin(), sums.end());
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
    return rows;
}

std::string calls(const ProfileData& profile) {
    std::map<std::string, Sum> sums;
    for (const Event& event : profile.events)
        if (event.kind <= VOLTA_PROFILE_PHASE)
            sums[(event.kind == VOLTA_PROFILE_PHASE ? "phase " : "") + std::string(event.name)].add(event);
    Table table({"call<", "calls", "total ms", "mean ms", "least ms", "most ms"});
    for (const auto& [name, sum] : longest_first(sums))
        table.row({name, count(sum.calls), formatted("%.3f", ms(sum.ns)),
                   formatted("%.3f", ms(sum.ns) / static_cast<double>(sum.calls)),
                   formatted("%.3f", ms(sum.least)), formatted("%.3f", ms(sum.most))});
    return table.take();
}

std::string nodes(const ProfileData& profile) {
    constexpr std::size_t kMostRows = 60;
    std::map<std::tuple<std::string, std::string, std::string>, Sum> sums;
    std::uint64_t all = 0;
    for (const Event& event : profile.events) {
        if (event.kind != VOLTA_PROFILE_STEP) continue;
        sums[{event.name, event.node, event.kernel}].add(event);
        all += length(event);
    }
    Table table({"operator<", "reads or makes<", "kernel<", "calls", "total ms", "share", "rate"});
    const auto rows = longest_first(sums);
    for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
        const auto& [key, sum] = rows[i];
        volta_profile_operator row = {};
        row.total_ns = sum.ns;
        row.operations = sum.operations;
        row.bytes = sum.bytes;
        table.row({std::get<0>(key), std::get<1>(key), std::get<2>(key), count(sum.calls),
                   formatted("%.3f", ms(sum.ns)),
                   percent(static_cast<double>(sum.ns), static_cast<double>(all)), rate_of(row)});
    }
    return table.take();
}

// How much of the recorded calls each thread of the pool computed.
std::string threads(const ProfileData& profile) {
    if (profile.info.thread_count < 2) return "";
    std::vector<std::uint64_t> busy(profile.info.thread_count);
    std::uint64_t steps = 0;
    for (const Event& event : profile.events) {
        if (event.kind == VOLTA_PROFILE_WORKER) busy[event.thread] += length(event);
        if (event.kind == VOLTA_PROFILE_STEP) steps += length(event);
    }
    Table table({"thread<", "computed ms", "of the steps' time"});
    table.row({"host", formatted("%.3f", ms(steps)), "(waiting included)"});
    for (std::size_t i = 1; i < busy.size(); ++i)
        table.row({formatted("worker %zu", i), formatted("%.3f", ms(busy[i])),
                   percent(static_cast<double>(busy[i]), static_cast<double>(steps))});
    return "<h2>Threads</h2>\n" + table.take();
}

// Memory over time: what is held, and in it the activations that a later step reads; the most of each slice
// of time.
class MemoryChart {
  public:
    explicit MemoryChart(const ProfileData& profile) : held_(kSlices), live_(kSlices) {
        for (const Event& event : profile.events) end_ = std::max(end_, event.end_ns);
        for (const Event& event : profile.events) {
            if (event.kind <= VOLTA_PROFILE_PHASE) fill(held_, event, event.held_bytes);
            if (event.kind == VOLTA_PROFILE_STEP) fill(live_, event, event.live_bytes);
        }
        most_ = std::max<std::uint64_t>(1, *std::max_element(held_.begin(), held_.end()));
    }

    std::string svg() const {
        std::string text = formatted("<svg viewBox=\"0 0 %d %d\" role=img aria-label=\"memory over time\">",
                                     kSlices + 80, kHeight + 20);
        text += "<path class=held d=\"" + area(held_) + "\"/><path class=live d=\"" + area(live_) + "\"/>";
        text += formatted("<text x=%d y=12>%.2f MiB</text><text x=%d y=%d>0</text>", kSlices + 6, mib(most_),
                          kSlices + 6, kHeight);
        return text +
               formatted("<text x=0 y=%d>0</text><text x=%d y=%d text-anchor=end>%.3f ms</text></svg>\n",
                         kHeight + 16, kSlices, kHeight + 16, ms(end_));
    }

  private:
    static constexpr int kSlices = 900, kHeight = 120;
    using Slices = std::vector<std::uint64_t>;

    void fill(Slices& slices, const Event& event, std::uint64_t bytes) const {
        const auto slice = [&](std::uint64_t ns) {
            return end_ == 0 ? 0
                             : std::min<std::size_t>(
                                   kSlices - 1, static_cast<std::size_t>(static_cast<double>(ns) * kSlices /
                                                                         static_cast<double>(end_)));
        };
        for (std::size_t i = slice(event.begin_ns); i <= slice(event.end_ns); ++i)
            slices[i] = std::max(slices[i], bytes);
    }

    std::string area(const Slices& slices) const {
        std::string path = formatted("M0 %d", kHeight);
        for (std::size_t i = 0; i < slices.size(); ++i)
            if (i + 1 == slices.size() || slices[i + 1] != slices[i])
                path += formatted(
                    "V%.1fH%zu",
                    kHeight - static_cast<double>(slices[i]) * kHeight / static_cast<double>(most_), i + 1);
        return path + formatted("V%dZ", kHeight);
    }

    Slices held_, live_;
    std::uint64_t end_ = 0, most_ = 1;
};

// {"lanes":[...],"labels":[[name, node, kernel],...],"events":[label, begin, length, lane, depth, kind,
// ...]}: times in ns, a beginning counted from the one before it.
std::string timeline_data(const ProfileData& profile) {
    nlohmann::ordered_json data;
    data["lanes"] = profile.info.thread_count + 1;  // the last: a group's
    std::map<std::tuple<std::string, std::string, std::string>, std::size_t> known;
    nlohmann::ordered_json labels = nlohmann::ordered_json::array(), events = labels;
    std::uint64_t before = 0;
    for (const Event& event : profile.events) {
        std::string name = event.name;
        if (event.kind <= VOLTA_PROFILE_PHASE && event.number >= 0)
            name += " " + std::to_string(event.number);
        const auto key = std::make_tuple(name, std::string(event.node), std::string(event.kernel));
        const auto [at, is_new] = known.emplace(key, known.size());
        if (is_new) labels.push_back({name, event.node, event.kernel});
        events.push_back(at->second);
        events.push_back(static_cast<std::int64_t>(event.begin_ns) - static_cast<std::int64_t>(before));
        events.push_back(length(event));
        events.push_back(event.thread);
        events.push_back(event.depth);
        events.push_back(event.kind);
        before = event.begin_ns;
    }
    data["labels"] = std::move(labels);
    data["events"] = std::move(events);
    std::string text = json_text(data);
    for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;) text.replace(at, 1, "\\u003c");
    return text;
}

}  // namespace

std::string profile_html(const Context& context, const ProfileData& profile, const std::string& title) {
    std::string page = kPageHead;
    page += "<title>" + escaped(title) + ": profile</title>\n<h1>" + escaped(title) + "</h1>\n";
    page += summary(context, profile);
    page += "<h2>Operators</h2>\n" + operators(profile);
    page += "<h2>Timeline</h2>\n";
    page += kTimelinePlace;
    page += "<h2>Memory over time</h2>\n" + MemoryChart(profile).svg();
    page +=
        "<p><span class=held>■</span> tensor memory held <span class=live>■</span> activations that are "
        "alive</p>\n";
    page += "<h2>Calls</h2>\n" + calls(profile) + threads(profile);
    page += "<h2>Steps by what they read or make</h2>\n" + nodes(profile);
    page += "<script type=\"application/json\" id=data>" + timeline_data(profile) + "</script>\n";
    return page + kTimelineScript;
}

}  // namespace voltac
