// Compiled kernels on disk, one file per text and architecture. What a file says is never trusted: it counts
// only when key, length and checksum are right, and is written anew otherwise.
#pragma once

#include <memory_resource>
#include <string>

#include "engine/backend/cuda/compiler.h"
#include "engine/base/hash.h"
#include "engine/base/log.h"

namespace volta::cuda {

inline constexpr std::size_t kMostKernelBytes = 256u * 1024 * 1024;

// Everything that the machine code depends on.
struct KernelKey {
    Hash128 text;
    int architecture;  // of the image: 90
    bool is_ptx;
    int driver_version, compiler_version, contract_version;
};

// <folder>/<hash of the text>_sm_90.cubin, or _compute_90.ptx. A folder "" holds nothing and takes nothing.
class KernelFolder final {
  public:
    KernelFolder(const char* folder, const Log& log, std::pmr::memory_resource* heap);

    // False: no file, or one that is ignored; then *ignored is true and a line of the log says why.
    bool read(const KernelKey& key, KernelImage& image, bool* ignored) const;
    // Atomically; what goes wrong is logged.
    void write(const KernelKey& key, const KernelImage& image) const;
    bool kept() const noexcept { return !folder_.empty(); }

  private:
    std::pmr::string path_of(const KernelKey& key) const;
    std::pmr::memory_resource* heap_;
    Log log_;
    std::pmr::string folder_;
};

}  // namespace volta::cuda
