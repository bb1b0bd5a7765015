// The floating-point environment of the contract: round to nearest even, no FTZ, no DAZ, exceptions masked.
#pragma once

namespace volta {

inline constexpr unsigned kContractMxcsr = 0x1F80;

// Sets MXCSR for its scope and restores the host's value at the end. API entries and worker tasks hold one.
class FpEnvironment final {
  public:
    FpEnvironment() noexcept;                      // the contract's value
    explicit FpEnvironment(unsigned mxcsr) noexcept;  // the host's own value, around host callbacks
    ~FpEnvironment();
    FpEnvironment(const FpEnvironment&) = delete;
    FpEnvironment& operator=(const FpEnvironment&) = delete;
    unsigned host() const noexcept { return saved_; }

  private:
    unsigned saved_;
};

}  // namespace volta
