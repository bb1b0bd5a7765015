// Places of a step's operands, as every backend resolves them when a step runs.
#pragma once

#include <cstdint>

namespace volta {

// Where a tensor lies: a region of the plan, or one of the two that belong to the backend.
inline constexpr std::int32_t kWorkspace = -2;  // Executable::workspace_bytes: temporaries of one step
inline constexpr std::int32_t kKept = -3;       // Executable::kept_bytes: holds over runs
struct Ref {
    std::int32_t region = -1;
    std::uint64_t offset = 0;        // bytes
    std::uint64_t micro_stride = 0;  // bytes that are added per micro-batch
};
inline Ref plus_elements(Ref ref, std::int64_t elements) {
    ref.offset += static_cast<std::uint64_t>(elements) * 4;  // every element type has 4 bytes
    return ref;
}

// Outputs that persist over micro-batches are stored by the first and continued by the later ones.
enum class When : std::uint8_t { always, first, later };
constexpr bool runs_at(When when, std::uint32_t micro_index) {
    return when == When::always || (when == When::first) == (micro_index == 0);
}

}  // namespace volta
