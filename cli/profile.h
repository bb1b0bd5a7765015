// --profile FILE: where a command's time goes, as a trace for Perfetto (.json) or as a report to read
// (.html).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/support.h"

namespace voltac {

// What was recorded, read once. Names live as long as the context.
struct ProfileData {
    volta_profile_info info = VOLTA_PROFILE_INFO_INIT;
    std::vector<volta_profile_operator> operators;  // the longest first
    std::vector<volta_profile_event> events;        // empty unless asked for
};
ProfileData read_profile(const Context& context, bool with_events);

void start_profile(const Context& context, std::uint64_t capacity = 0);  // 0: the library's default
void stop_profile(const Context& context);

// "45.1 GFLOP/s, 3.2 GB/s" of one operator, or what is known of it.
std::string rate_of(const volta_profile_operator& row);

// A page that needs nothing but itself. `title` is what was run.
std::string profile_html(const Context& context, const ProfileData& profile, const std::string& title);

// The option and the file. All of it does nothing where the option is not given.
class ProfileFile {
  public:
    explicit ProfileFile(std::string command) : command_(std::move(command)) {}  // "voltac train"
    void declare(Options& options);
    bool is_wanted() const { return !path_.empty(); }
    void start(const Context& context) const;
    void finish(const Context& context) const;  // ends the profile and writes the file

  private:
    bool is_html() const;
    std::string command_, path_;
};

}  // namespace voltac
