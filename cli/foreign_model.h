// Which files and folders are models of other programs, and the call that makes a model file of one.
#pragma once

#include <string>

namespace voltac {

// What the file begins with decides, not its name; or it is a checkpoint in parts.
bool is_volta_model(const std::string& path);

// Behind the sentence why a model could not be opened: "; voltac convert FILE --out NAME.volta makes a model
// file of it"; "" where that would not help.
std::string conversion_hint(const std::string& path);

}  // namespace voltac
