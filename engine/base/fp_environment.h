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

// Sets the contract's value for its scope where it does not hold yet: where an FpEnvironment does, nothing is
// written, which would take longer than a small product's checks. The sticky flags stay as computing leaves
// them: the FpEnvironment around it puts the host's back.
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

// Remembers, for the calling thread, the value its host had when it entered the library (engine/api/guard.h).
class HostEnvironmentScope final {
  public:
    explicit HostEnvironmentScope(unsigned host_mxcsr) noexcept;
    ~HostEnvironmentScope();
    HostEnvironmentScope(const HostEnvironmentScope&) = delete;
    HostEnvironmentScope& operator=(const HostEnvironmentScope&) = delete;

  private:
    unsigned outer_;
};

// Gives the host its own value back for the length of a callback (allocator, log); the contract's returns
// after it.
class HostCallback final {
  public:
    HostCallback() noexcept;

  private:
    FpEnvironment environment_;
};

}  // namespace volta
