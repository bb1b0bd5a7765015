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

#if defined(__x86_64__)

constexpr std::uint16_t kX87Flags = 0x3f;  // of the status word: sticky, one per exception

// What fnstenv stores and fldenv loads, in 64-bit mode.
struct X87Environment {
    std::uint16_t control, reserved0, status, reserved1;
    std::uint32_t others[5];  // tags, and where the last instruction and its operand were
};
static_assert(sizeof(X87Environment) == 28);

std::uint16_t read_x87_control() {
    std::uint16_t control;
    asm volatile("fnstcw %0" : "=m"(control));
    return control;
}

std::uint16_t read_x87_flags() {
    std::uint16_t status;
    asm volatile("fnstsw %0" : "=a"(status));
    return status & kX87Flags;
}

// Control word and flags at once: a flag that is set while its exception is being unmasked would be raised by
// the next instruction. fnstenv itself looks at no exception that waits.
void write_x87(std::uint16_t control, std::uint16_t flags) {
    X87Environment environment;
    asm volatile("fnstenv %0" : "=m"(environment));
    environment.control = control;
    environment.status = static_cast<std::uint16_t>((environment.status & ~0x80ff) | flags);
    asm volatile("fldenv %0" : : "m"(environment));
}

#else  // no x87

std::uint16_t read_x87_control() { return kContractX87; }
std::uint16_t read_x87_flags() { return 0; }
void write_x87(std::uint16_t, std::uint16_t) {}

#endif

}  // namespace

unsigned FpEnvironment::current() noexcept { return read_control(); }

FpEnvironment::FpEnvironment() noexcept
    : saved_{read_control(), read_x87_control()}, x87_flags_(read_x87_flags()) {
    if (!is_contract(saved_.mxcsr)) write_control(kContractMxcsr);
    if (saved_.x87 != kContractX87) write_x87(kContractX87, 0);
}

FpEnvironment::FpEnvironment(FpControl control) noexcept
    : saved_{read_control(), read_x87_control()}, x87_flags_(read_x87_flags()) {
    write_control(control.mxcsr);
    if (saved_.x87 != control.x87) write_x87(control.x87, 0);
}

FpEnvironment::~FpEnvironment() {
    write_control(saved_.mxcsr);
    if (read_x87_control() != saved_.x87 || read_x87_flags() != x87_flags_) write_x87(saved_.x87, x87_flags_);
}

ContractScope::ContractScope() noexcept : saved_(read_control()), is_set_(!is_contract(saved_)) {
    if (is_set_) write_control(kContractMxcsr);
}

ContractScope::~ContractScope() {
    if (is_set_) write_control(saved_);
}

namespace {

thread_local FpControl host_value;  // of the host that this thread last came from

}  // namespace

HostEnvironmentScope::HostEnvironmentScope(FpControl host) noexcept : outer_(host_value) {
    host_value = host;
}

HostEnvironmentScope::~HostEnvironmentScope() { host_value = outer_; }

HostCallback::HostCallback() noexcept : environment_(host_value) {}

}  // namespace volta
