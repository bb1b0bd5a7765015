#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "cli/text.h"

namespace voltac {

Progress::Progress(std::uint64_t first, std::uint64_t last, std::uint64_t tokens_per_step, bool quiet,
                   const char* unit)
    : first_(first),
      last_(last),
      tokens_per_step_(tokens_per_step),
      quiet_(quiet),
      terminal_(isatty(2) == 1),
      unit_(unit),
      start_(Clock::now()),
      shown_(start_) {}

double Progress::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

double Progress::tokens_per_second() const {
    const double elapsed = seconds();
    return elapsed > 0 ? static_cast<double>(done_ * tokens_per_step_) / elapsed : 0;
}

namespace {

std::string duration(double seconds) {
    char text[32];
    const auto whole = std::llround(seconds);
    if (whole >= 3600)
        std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
    else
        std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
    return text;
}

}  // namespace

void Progress::step(std::uint64_t step, double loss) {
    smooth_loss_ = done_ == 0 ? loss : 0.9 * smooth_loss_ + 0.1 * loss;
    done_ += 1;
    if (quiet_) return;
    const auto now = Clock::now();
    const double since_shown = std::chrono::duration<double>(now - shown_).count();
    const bool ends = step == last_ || done_ == 1;
    if (!ends && since_shown < (terminal_ ? 0.1 : 10.0)) return;
    shown_ = now;

    const double share =
        last_ > first_ ? static_cast<double>(step - first_) / static_cast<double>(last_ - first_) : 1;
    const double left = seconds() / static_cast<double>(done_) * static_cast<double>(last_ - step);
    char line[256];
    std::snprintf(line, sizeof line, "step %llu/%llu  loss %.4f  %.0f %s/s  ETA %s",
                  static_cast<unsigned long long>(step), static_cast<unsigned long long>(last_),
                  unsigned_nan(smooth_loss_), tokens_per_second(), unit_, duration(left).c_str());
    if (!terminal_) {
        std::fprintf(stderr, "%s\n", line);
        return;
    }
    const int width = std::clamp(columns_of(2) - static_cast<int>(std::string(line).size()) - 4, 0, 40);
    const int filled = static_cast<int>(share * width);
    const std::string bar = width > 0 ? "[" + std::string(static_cast<std::size_t>(filled), '#') +
                                            std::string(static_cast<std::size_t>(width - filled), ' ') + "] "
                                      : "";
    std::fprintf(stderr, "\r%s%s\033[K", bar.c_str(), line);
    std::fflush(stderr);
}

void Progress::finish() {
    if (!quiet_ && terminal_ && done_ > 0) std::fputc('\n', stderr);
}

}  // namespace voltac
