// What a benchmark says about a device of its own memory, beside the figures that it has of every machine.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/support.h"

namespace voltac::bench {

volta_device_info device_of(const Context& context);

// Between the host and the device, by one step. All zero where plans use the host's memory.
struct Moved {
    std::string device;  // "cuda:0"; "": the processor
    std::uint64_t copies_to_device = 0, bytes_to_device = 0, copies_to_host = 0, bytes_to_host = 0;
    std::uint64_t launches = 0;  // of kernels, those that graphs start too, and of graphs
};

// What has moved since `before`.
Moved moved_since(const Context& context, const volta_device_info& before);

// What body(), one step, moves. Nothing is run on the processor, where nothing moves.
template <class Body>
Moved moved_by(const Context& context, Body&& body) {
    const volta_device_info before = device_of(context);
    if (before.memory_bytes == 0) return {};
    body();
    return moved_since(context, before);
}

// Adds "device" and the counts to a line of results, unless it is the processor's.
void add_moved(nlohmann::ordered_json& line, const Moved& moved);
// One line of text; "" for the processor.
std::string moved_text(const Moved& moved);

}  // namespace voltac::bench
