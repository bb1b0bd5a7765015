// Graphs of other programs: ONNX files, and the shapes that their inputs are given.
#pragma once

#include <string>
#include <vector>

#include "cli/support.h"

namespace voltac {

inline constexpr const char* kShapeHelp =
    "of an ONNX file: the shape of an input, as NAME=1x3x224x224, -1 for an extent that stays as the file "
    "has "
    "it; may be given for several";
inline constexpr const char* kExactGraphHelp =
    "of an ONNX file: its nodes stay as they are written; else those that are a layer norm, a GELU, "
    "attention and "
    "so on become that operator, which may round otherwise";

// "x=1x3x224x224", each as the library takes it. The names are lent: by `texts`, which are changed.
std::vector<volta_input_shape> parse_shapes(const char* command, std::vector<std::string>& texts);

// By its first bytes; no other kind of file that commands read begins like this.
bool is_onnx_file(const std::string& path);
// What `voltac info` says of it.
std::string survey_text(const Context& context, const std::string& path, std::vector<std::string>& shapes,
                        bool json);

// Lines for standard error: which inputs and outputs of a file that is imported have another type than there.
void tell_types(const Context& context, const std::string& path, const volta_import_options& options);

}  // namespace voltac
