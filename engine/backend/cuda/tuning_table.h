// Which choice tuning found for which product, on GPUs; docs/matmul_tuning.md.
#pragma once

#include "engine/backend/cuda/driver.h"
#include "engine/backend/cuda/product_choice.h"
#include "engine/backend/lower/problem_shapes.h"
#include "engine/backend/tuning/tuning_file.h"

namespace volta::cuda {

// The device and the numeric contract are those of the table.
struct TuningKey : ProductKey {
    bool a_fours = false, b_fours = false;  // rows of the operand begin at multiples of four elements
    bool has_epilogue = false;
};
bool operator==(const TuningKey& x, const TuningKey& y);
TuningKey key_of(const ProductShape& shape, bool has_epilogue);

using TuningEntry = TuningEntryOf<TuningKey, ProductChoice>;
// Throws INVALID_ARGUMENT naming the value: sizes from 1 to 2^40, times finite and positive, a choice within
// its limits.
void check(const TuningEntry& entry);

using TuningTable = TuningTableOf<TuningEntry>;
using TuningFile = TuningFileOf<TuningEntry>;

// What measured speeds belong to: name, architecture, multiprocessors, caches, contract version. A file name:
// letters, digits, '-', '_' only.
struct DeviceSignature {
    char text[240];
};
DeviceSignature device_signature(const DeviceFacts& facts);

// For the device `signature`.
TuningFile parse_tuning(const char* text, std::size_t bytes, const char* signature,
                        std::pmr::memory_resource* heap);
std::pmr::string print_tuning(const std::pmr::vector<TuningEntry>& entries, const char* signature,
                              std::pmr::memory_resource* heap);

// The folder of a context, with the file of this device: <folder>/<device signature>.json.
class TuningFolder final : public TuningFolderOf<TuningEntry> {
  public:
    TuningFolder(const char* folder, const DeviceFacts& facts, const Log& log,
                 std::pmr::memory_resource* heap);
};

}  // namespace volta::cuda

namespace volta {
extern template class TuningFolderOf<cuda::TuningEntry>;
}
