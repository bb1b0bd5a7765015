#include "cli/bench_timing.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cli/bench_device.h"

namespace voltac::bench {

void declare(Options& options, Repeats& repeats) {
    options.integer(
        "--runs", repeats.runs, 1, 1000000,
        formatted("runs that count (default: %lld)", static_cast<long long>(repeats.runs)).c_str());
    options.integer("--warmup", repeats.warmup, 0, 1000000,
                    formatted("runs before them that do not, of several threads half a second of them at "
                              "least; 0: none (default: %lld)",
                              static_cast<long long>(repeats.warmup))
                        .c_str());
    options.flag("--json", repeats.json, "one JSON object per line on standard output");
    options.machine(repeats.machine);
}

Timing summarize(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    const auto quantile = [&](double q) {
        const double at = q * static_cast<double>(samples.size() - 1);
        const auto below = static_cast<std::size_t>(at);
        const std::size_t above = std::min(below + 1, samples.size() - 1);
        return samples[below] + (at - static_cast<double>(below)) * (samples[above] - samples[below]);
    };
    const double median = quantile(0.5);
    return {median, median > 0 ? (quantile(0.9) - quantile(0.1)) / median : 0};
}

volta_machine_speed measure_machine(const Context& context) {
    volta_machine_speed speed = VOLTA_MACHINE_SPEED_INIT;
    check(volta_measure_machine(context.get(), &speed));
    return speed;
}

namespace {

constexpr double volta_machine_speed::*const kRates[] = {
    &volta_machine_speed::fma_gflops, &volta_machine_speed::read_gb_s, &volta_machine_speed::stream_gb_s};

}  // namespace

void Peaks::measure() {
    all_.push_back(measure_machine(context_));
    measured_ = Clock::now();
}

const volta_machine_speed& Peaks::refreshed() {
    if (all_.empty() || seconds_since(measured_) > kFreshSeconds) measure();
    return all_.back();
}

volta_machine_speed Peaks::around() const {
    volta_machine_speed speed = all_.back();
    if (all_.size() == 1) return speed;
    for (const auto rate : kRates) speed.*rate = (all_[all_.size() - 2].*rate + speed.*rate) / 2;
    return speed;
}

volta_machine_speed Peaks::medians() const {
    volta_machine_speed speed = all_.back();
    for (const auto rate : kRates) {
        std::vector<double> samples;
        for (const volta_machine_speed& each : all_) samples.push_back(each.*rate);
        speed.*rate = summarize(samples).seconds;
    }
    return speed;
}

volta_context_info info_of(const Context& context) {
    volta_context_info info = VOLTA_CONTEXT_INFO_INIT;
    check(volta_context_get_info(context.get(), &info));
    return info;
}

const char* isa_name(volta_isa isa) {
    switch (isa) {
        case VOLTA_ISA_SCALAR:
            return "scalar";
        case VOLTA_ISA_AVX2:
            return "avx2";
        case VOLTA_ISA_AVX512:
            return "avx512";
        default:
            return "auto";
    }
}

namespace {

// ", level repeatable, precision bf16"; "" at level strict.
std::string arithmetic_text(const volta_context_info& info) {
    if (info.level == VOLTA_STRICT) return "";
    return formatted(", level %s, precision %s", kLevelNames[info.level], kPrecisionNames[info.precision]);
}

}  // namespace

std::string machine_line(const Context& context, const volta_machine_speed& speed) {
    const volta_device_info device = device_of(context);
    const volta_context_info info = info_of(context);
    const std::string arithmetic = arithmetic_text(info);
    if (device.memory_bytes > 0)
        return formatted("%s, %s%s: %.1f GFLOP/s, copies within its memory %.1f GB/s read and written\n",
                         device.description, device.name, arithmetic.c_str(), speed.fma_gflops,
                         speed.read_gb_s);
    return formatted("%s, %s%s, %u thread%s%s: %.1f GFLOP/s, read %.1f GB/s, optimizer stream %.1f GB/s\n",
                     info.cpu, isa_name(speed.isa),
                     info.jit_active || info.isa == VOLTA_ISA_SCALAR ? "" : " interpreted",
                     speed.thread_count, speed.thread_count == 1 ? "" : "s", arithmetic.c_str(),
                     speed.fma_gflops, speed.read_gb_s, speed.stream_gb_s);
}

std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char character : text) quoted += character == '"' ? "\"\"" : std::string(1, character);
    return quoted + "\"";
}

std::uint64_t resident_peak_bytes() {
    std::FILE* file = std::fopen("/proc/self/status", "r");
    if (file == nullptr) return 0;
    char line[256];
    unsigned long long kib = 0;
    while (std::fgets(line, sizeof line, file) != nullptr)
        if (std::strncmp(line, "VmHWM:", 6) == 0) {
            if (std::sscanf(line + 6, "%llu", &kib) != 1) kib = 0;
            break;
        }
    std::fclose(file);
    return kib * 1024;
}

}  // namespace voltac::bench
