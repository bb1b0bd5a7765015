// Validation losses of a run: whether the latest is the best so far, and whether waiting for a better one is
// over.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "cli/files.h"

namespace voltac {

class EarlyStop {
  public:
    explicit EarlyStop(std::int64_t patience) : patience_(patience) {}  // 0: never over
    bool is_wanted() const { return patience_ > 0; }
    // Whether it is the best; a NaN never is.
    bool improves(double loss) {
        const bool better = loss < best_;
        best_ = better ? loss : best_;
        waited_ = better ? 0 : waited_ + 1;
        return better;
    }
    bool is_over() const { return patience_ > 0 && waited_ >= patience_; }
    double best() const { return best_; }

  private:
    std::int64_t patience_, waited_ = 0;
    double best_ = std::numeric_limits<double>::infinity();
};

// "m.best.volta" beside "m.volta": where the best checkpoint of a run goes.
inline std::string best_name(const std::string& out) {
    constexpr char kEnding[] = ".volta";
    return has_ending(out, kEnding) ? out.substr(0, out.size() - (sizeof kEnding - 1)) + ".best" + kEnding
                                    : out + ".best";
}

}  // namespace voltac
