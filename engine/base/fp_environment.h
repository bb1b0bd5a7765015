// The floating-point environment of the contract: round to nearest even, no FTZ, no DAZ, exceptions masked,
// in every control register that numbers meet. On x86 these are two: MXCSR, of SSE and AVX, and the x87
// control word, of long double, which is also where the C library looks for the rounding mode when it reads
// or prints a number (strtod, printf).
#pragma once

#include <cstdint>

namespace volta {

// x86: MXCSR with all exceptions masked. AArch64: the same environment is FPCR = 0.
#if defined(__aarch64__)
inline constexpr unsigned kContractMxcsr = 0;
#else
inline constexpr unsigned kContractMxcsr = 0x1F80;
#endif
// x86: to nearest, 64 bits of mantissa, all exceptions masked.
inline constexpr std::uint16_t kContractX87 = 0x037F;

// What a host has set. mxcsr is FPCR on AArch64, which has no x87.
struct FpControl {
    unsigned mxcsr = kContractMxcsr;
    std::uint16_t x87 = kContractX87;
};

// Sets the environment for its scope and restores at the end what the host had, sticky flags too. API entries
// and worker tasks hold one. A register that has the right value already is not written.
class FpEnvironment final {
  public:
    FpEnvironment() noexcept;                            // the contract's
    explicit FpEnvironment(FpControl control) noexcept;  // the host's own, around host callbacks
    explicit FpEnvironment(unsigned mxcsr) noexcept : FpEnvironment(FpControl{mxcsr, kContractX87}) {}
    ~FpEnvironment();
    FpEnvironment(const FpEnvironment&) = delete;
    FpEnvironment& operator=(const FpEnvironment&) = delete;
    FpControl host() const noexcept { return saved_; }
    static unsigned current() noexcept;  // MXCSR

  private:
    FpControl saved_;
    std::uint16_t x87_flags_;  // the host's sticky ones
};

// Sets the contract's value of MXCSR for its scope where it does not hold yet: where an FpEnvironment does,
// nothing is written, which would take longer than a small product's checks. The sticky flags stay as
// computing leaves them: the FpEnvironment around it puts the host's back. x87 is left to that: nothing
// inside is text.
class ContractScope final {
  public:
    ContractScope() noexcept;
    ~ContractScope();
    ContractScope(const ContractScope&) = delete;
    ContractScope& operator=(const ContractScope&) = delete;

  private:
    unsigned saved_;
    bool is_set_;
};

// Remembers, for the calling thread, what its host had when it entered the library (engine/base/guard.h).
class HostEnvironmentScope final {
  public:
    explicit HostEnvironmentScope(FpControl host) noexcept;
    ~HostEnvironmentScope();
    HostEnvironmentScope(const HostEnvironmentScope&) = delete;
    HostEnvironmentScope& operator=(const HostEnvironmentScope&) = delete;

  private:
    FpControl outer_;
};

// Gives the host its own environment back for the length of a callback (engine/base/host_call.h); the
// contract's returns after it.
class HostCallback final {
  public:
    HostCallback() noexcept;

  private:
    FpEnvironment environment_;
};

}  // namespace volta
