// Failures of readers, which know what is wrong but not the file's path, said again with it.
#pragma once

#include "engine/base/error.h"

namespace volta {

// Throws `error` again as "<what>: <its text> ('<path>')". The path goes last, where a text that is too long
// is cut, and is left out where the text names it already.
[[noreturn]] void fail_about(const Error& error, const char* what, const char* path);

}  // namespace volta
