#include "cli/bench_device.h"

#include <nlohmann/json.hpp>

namespace voltac::bench {

volta_device_info device_of(const Context& context) {
    volta_device_info info = VOLTA_DEVICE_INFO_INIT;
    check(volta_context_get_device(context.get(), &info));
    return info;
}

Moved moved_since(const Context& context, const volta_device_info& before) {
    const volta_device_info now = device_of(context);
    Moved moved;
    moved.device = now.name;
    moved.copies_to_device = now.copies_to_device - before.copies_to_device;
    moved.bytes_to_device = now.bytes_to_device - before.bytes_to_device;
    moved.copies_to_host = now.copies_to_host - before.copies_to_host;
    moved.bytes_to_host = now.bytes_to_host - before.bytes_to_host;
    moved.launches = now.launches - before.launches;
    return moved;
}

void add_moved(nlohmann::ordered_json& line, const Moved& moved) {
    if (moved.device.empty()) return;
    line["device"] = moved.device;
    line["copies_to_device"] = moved.copies_to_device;
    line["bytes_to_device"] = moved.bytes_to_device;
    line["copies_to_host"] = moved.copies_to_host;
    line["bytes_to_host"] = moved.bytes_to_host;
    line["launches"] = moved.launches;
}

std::string moved_text(const Moved& moved) {
    if (moved.device.empty()) return "";
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    return formatted(
        "one step moves     %llu B in %llu to %s, %llu B in %llu back, and starts %llu kernels and graphs\n",
        number(moved.bytes_to_device), number(moved.copies_to_device), moved.device.c_str(),
        number(moved.bytes_to_host), number(moved.copies_to_host), number(moved.launches));
}

}  // namespace voltac::bench
