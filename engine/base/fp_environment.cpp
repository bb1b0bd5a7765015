#include "engine/base/fp_environment.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace volta {
namespace {

#if defined(__x86_64__)
unsigned read_control() { return _mm_getcsr(); }
void write_control(unsigned value) { _mm_setcsr(value); }
#elif defined(__aarch64__)
unsigned read_control() {
    unsigned long value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return static_cast<unsigned>(value);
}
void write_control(unsigned value) {
    asm volatile("msr fpcr, %0" : : "r"(static_cast<unsigned long>(value)));
}
#else
#error "the floating-point control register of this processor is not known"
#endif

// AArch64 keeps its sticky flags in a register of their own.
#if defined(__x86_64__)
constexpr unsigned kStickyFlags = 0x3f;
#else
constexpr unsigned kStickyFlags = 0;
#endif

bool is_contract(unsigned control) { return (control & ~kStickyFlags) == kContractMxcsr; }

}  // namespace

unsigned FpEnvironment::current() noexcept { return read_control(); }

FpEnvironment::FpEnvironment() noexcept : saved_(read_control()) {
    if (!is_contract(saved_)) write_control(kContractMxcsr);
}

FpEnvironment::FpEnvironment(unsigned mxcsr) noexcept : saved_(read_control()) { write_control(mxcsr); }

FpEnvironment::~FpEnvironment() { write_control(saved_); }

ContractScope::ContractScope() noexcept : saved_(read_control()), is_set_(!is_contract(saved_)) {
    if (is_set_) write_control(kContractMxcsr);
}

ContractScope::~ContractScope() {
    if (is_set_) write_control(saved_);
}

namespace {

thread_local unsigned host_value = kContractMxcsr;

}  // namespace

HostEnvironmentScope::HostEnvironmentScope(unsigned host_mxcsr) noexcept : outer_(host_value) {
    host_value = host_mxcsr;
}

HostEnvironmentScope::~HostEnvironmentScope() { host_value = outer_; }

HostCallback::HostCallback() noexcept : environment_(host_value) {}

}  // namespace volta
