// The floating-point environment of the contract: round to nearest even, no FTZ, no DAZ, exceptions masked.
#pragma once

namespace volta {

// x86: MXCSR with all exceptions masked. AArch64: the same environment is FPCR = 0.
#if defined(__aarch64__)
inline constexpr unsigned kContractMxcsr = 0;
#else
inline constexpr unsigned kContractMxcsr = 0x1F80;
#endif

// Sets MXCSR for its scope and restores the host's value at the end. API entries and worker tasks hold one.
class FpEnvironment final {
  public:
    FpEnvironment() noexcept;                         // the contract's value
    explicit FpEnvironment(unsigned mxcsr) noexcept;  // the host's own value, around host callbacks
    ~FpEnvironment();
    FpEnvironment(const FpEnvironment&) = delete;
    FpEnvironment& operator=(const FpEnvironment&) = delete;
    unsigned host() const noexcept { return saved_; }
    static unsigned current() noexcept;

  private:
    unsigned saved_;
};

}  // namespace volta
