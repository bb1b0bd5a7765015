// What asks a long command to end in order: Ctrl-C, SIGTERM, and SIGHUP unless it is ignored (nohup). A
// second one ends the process as ever.
#pragma once

#include "cli/support.h"

namespace voltac {

// From now on. `cancel`: is also asked, if it is not NULL.
void watch_interrupts(volta_cancel* cancel = nullptr);
// What was asked for is done: from now on every signal ends the process at once again.
void end_at_interrupts();

int interrupted_by();  // the signal's number; 0: none came
// The exit status of a command that a signal ended: 128 and its number; 0: none came.
int interrupt_status();

}  // namespace voltac
