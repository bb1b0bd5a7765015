// The text of kernels as a C++ compiler gets it from the fake NVRTC.
#pragma once

#include <string>

namespace volta::fake {

// `text` and, behind it, the list of its entry points (fake_entry.h): every function that is __global__.
// Lines of errors are counted as in `text`, in a file `name`.
std::string with_entries(const std::string& text, const std::string& name);

}  // namespace volta::fake
