// A folder with the parts of a model's file and the manifest that makes them one checkpoint. The order of a
// save: all parts, each under a name that no former save has; the manifest, in place of the old one; only
// then are the parts removed that it does not name. So at every instant the folder has the old checkpoint or
// the new one, whole.
#pragma once

#include <memory_resource>
#include <string>
#include <vector>

#include "engine/base/file.h"
#include "engine/base/memory.h"
#include "engine/model/file_image.h"
#include "engine/model/manifest.h"

namespace volta {

// Which tensor each part has, by the owner of every one; the head is in part 0.
std::pmr::vector<FilePart> parts_by_owner(const FileImage& image,
                                          const std::pmr::vector<std::uint32_t>& owners, std::uint32_t count,
                                          std::pmr::memory_resource* heap);
// As many, of about the same size.
std::pmr::vector<FilePart> equal_parts(const FileImage& image, std::uint32_t count,
                                       std::pmr::memory_resource* heap);
// Their names, from what the file has and how it is cut: the same for the same, else others.
Hash128 name_of_save(const FileImage& image, const std::pmr::vector<FilePart>& parts) noexcept;
void name_parts(std::pmr::vector<FilePart>& parts, Hash128 save);

// Writes one part, which is synced when this returns, and notes its checksum.
void write_part(const FileImage& image, FilePart& part, const char* folder, std::pmr::memory_resource* heap);

// What the one that writes the manifest does; the folder is its own as long as this lives.
class PartsFolder final {
  public:
    // Makes the folder where it is missing. Throws IO_ERROR: another is saving there.
    PartsFolder(const char* path, std::pmr::memory_resource* heap);
    // Removes parts that no manifest names, of saves that did not come to their end.
    void remove_unnamed() noexcept;
    // Behind the last part; then remove_unnamed(). Throws IO_ERROR: a part is not there.
    void commit(const Manifest& manifest, const Stop& stop);

  private:
    void require_parts(const Manifest& manifest) const;
    static std::pmr::string made(const char* path, std::pmr::memory_resource* heap);
    std::pmr::memory_resource* heap_;
    std::pmr::string path_;
    FolderLock lock_;
};

// The file that the folder has the parts of, each compared with its checksum. Throws IO_ERROR or
// CORRUPT_MODEL, naming the file at fault.
Buffer read_parts(const char* folder, const Stop& stop, std::pmr::memory_resource* structures,
                  std::pmr::memory_resource* tensors);

}  // namespace volta
