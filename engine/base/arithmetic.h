// Which bits a context allows (docs/determinism.md). Recorded in every plan, checkpoint and log.
#pragma once

#include <cstdint>

namespace volta {

enum class Level : std::uint8_t {
    strict,      // the numeric contract: one result on every device
    repeatable,  // the same bits on the same device, build and configuration
    fast         // anything within tolerance
};

// What products round their operands to. They add in fp32.
enum class Precision : std::uint8_t { fp32, tf32, bf16 };

struct Arithmetic {
    Level level = Level::strict;
    Precision precision = Precision::fp32;  // of level strict always

    bool operator==(const Arithmetic& other) const noexcept {
        return level == other.level && precision == other.precision;
    }
    bool operator!=(const Arithmetic& other) const noexcept { return !(*this == other); }
};

inline constexpr int kLevelCount = 3, kPrecisionCount = 3;

constexpr const char* level_name(Level level) noexcept {
    constexpr const char* kNames[] = {"strict", "repeatable", "fast"};
    return kNames[static_cast<int>(level)];
}

constexpr const char* precision_name(Precision precision) noexcept {
    constexpr const char* kNames[] = {"fp32", "tf32", "bf16"};
    return kNames[static_cast<int>(precision)];
}

}  // namespace volta
