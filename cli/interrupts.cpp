#include "cli/interrupts.h"

#include <csignal>

namespace voltac {
namespace {

volatile std::sig_atomic_t latest = 0;
volta_cancel* to_cancel = nullptr;

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

void note(int signal) {
    latest = signal;
    volta_cancel_request(to_cancel);  // NULL: no effect
}

}  // namespace

void watch_interrupts(volta_cancel* cancel) {
    to_cancel = cancel;
    struct sigaction action = {};
    action.sa_handler = note;
    action.sa_flags = SA_RESETHAND | SA_RESTART;
    for (const int signal : kSignals) {
        struct sigaction before = {};
        sigaction(signal, nullptr, &before);
        if (signal != SIGHUP || before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
    }
}

void end_at_interrupts() {
    for (const int signal : kSignals) {
        struct sigaction now = {};
        sigaction(signal, nullptr, &now);
        if (now.sa_handler == note) std::signal(signal, SIG_DFL);
    }
}

int interrupted_by() { return latest; }
int interrupt_status() { return latest == 0 ? 0 : 128 + latest; }

}  // namespace voltac
