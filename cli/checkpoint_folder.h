// Checkpoints in parts: folders that the library opens as the one file that they are (docs/model_format.md).
#pragma once

#include <cstdint>
#include <string>

namespace voltac {

std::string manifest_of(const std::string& path);  // the file that a save replaces last

// Whether the folder says that it is one; whether that is true the library finds out.
bool is_checkpoint_folder(const std::string& path);

// What the manifest says, of a folder that has been opened.
struct PartsSummary {
    std::uint64_t bytes = 0, parts = 0;
};
PartsSummary read_parts_summary(const std::string& path);

// The bytes of a model, in one file or in parts.
std::uint64_t model_bytes(const std::string& path);

// Fails unless the library could write a folder of this name now.
void check_folder_writable(const char* option, const std::string& path);

std::string without_slashes(std::string path);  // at the end

}  // namespace voltac
