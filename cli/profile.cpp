#include "cli/profile.h"

namespace voltac {
void start_profile(const Context& context, std::uint64_t capacity) {
    volta_profile_options options = VOLTA_PROFILE_OPTIONS_INIT;
    options.capacity = capacity;
    check(volta_profile_start(context.get(), &options));
}

void stop_profile(const Context& context) { check(volta_profile_stop(context.get())); }

ProfileData read_profile(const Context& context, bool with_events) {
    ProfileData profile;
    check(volta_profile_get_info(context.get(), &profile.info));
    for (std::size_t i = 0; i < profile.info.operator_count; ++i) {
        volta_profile_operator row = VOLTA_PROFILE_OPERATOR_INIT;
        check(volta_profile_get_operator(context.get(), i, &row));
        profile.operators.push_back(row);
    }
    if (!with_events) return profile;
    profile.events.reserve(profile.info.event_count);
    for (std::size_t i = 0; i < profile.info.event_count; ++i) {
        volta_profile_event event = VOLTA_PROFILE_EVENT_INIT;
        check(volta_profile_get_event(context.get(), i, &event));
        profile.events.push_back(event);
    }
    return profile;
}

std::string rate_of(const volta_profile_operator& row) {
    const double ns = static_cast<double>(row.total_ns);
    if (ns <= 0) return "";
    std::string text;
    if (row.operations > 0) text = formatted("%.1f GFLOP/s", row.operations / ns);
    if (row.bytes > 0)
        text += (text.empty() ? "" : ", ") + formatted("%.1f GB/s", static_cast<double>(row.bytes) / ns);
    return text;
}

void ProfileFile::declare(Options& options) {
    options.output("--profile", path_, kProfileOutput,
                   "also write where the time goes: FILE.json, a trace for Perfetto, or FILE.html, a report");
}

bool ProfileFile::is_html() const { return has_ending(path_, ".html"); }

void ProfileFile::start(const Context& context) const {
    if (is_wanted()) start_profile(context);
}

void ProfileFile::finish(const Context& context) const {
    if (!is_wanted()) return;
    stop_profile(context);
    if (is_html())
        write_text(path_, profile_html(context, read_profile(context, true), command_));
    else
        voltac::check(volta_profile_write_trace(context.get(), path_.c_str()));
}

}  // namespace voltac
