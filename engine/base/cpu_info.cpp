#include "engine/base/cpu_info.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>
#endif

namespace volta {
namespace {

#if defined(__x86_64__)

struct Leaf {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf cpuid(unsigned leaf, unsigned subleaf = 0) {
    Leaf r;
    if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx)) return Leaf();
    return r;
}

constexpr bool bit(unsigned word, int index) { return (word >> index & 1) != 0; }

// The register states that the operating system saves (XCR0). A set feature bit alone is not enough: without
// the OS the upper halves of the registers would be lost at every switch of threads.
unsigned saved_states() {
    if (!bit(cpuid(1).ecx, 27)) return 0;  // OSXSAVE
    unsigned low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

Isa best_isa() {
    constexpr unsigned kYmm = 0x06, kZmm = 0xe6;  // SSE, AVX | and opmask, ZMM_Hi256, Hi16_ZMM
    const Leaf one = cpuid(1), seven = cpuid(7);
    const unsigned states = saved_states();
    const bool avx2 = bit(one.ecx, 28) && bit(one.ecx, 12) && bit(one.ecx, 29) &&
                      bit(seven.ebx, 5);  // AVX, FMA, F16C, AVX2
    if (!avx2 || (states & kYmm) != kYmm) return Isa::scalar;
    const bool avx512 = bit(seven.ebx, 16) && bit(seven.ebx, 17) && bit(seven.ebx, 30) &&
                        bit(seven.ebx, 31);  // F, DQ, BW, VL
    return avx512 && (states & kZmm) == kZmm ? Isa::avx512 : Isa::avx2;
}

void read_brand(char (&brand)[64]) {
    char text[49] = "";
    for (unsigned i = 0; i < 3; ++i) {
        const Leaf part = cpuid(0x80000002u + i);
        std::memcpy(text + 16 * i, &part, 16);
    }
    const char* start = text + std::strspn(text, " ");
    std::size_t length = std::strlen(start);
    while (length > 0 && start[length - 1] == ' ') --length;
    std::snprintf(brand, sizeof brand, "%.*s", static_cast<int>(length), start);
}

void read_identity(CpuInfo& info) {
    const Leaf zero = cpuid(0), one = cpuid(1), seven = cpuid(7);
    std::memcpy(info.vendor, &zero.ebx, 4);
    std::memcpy(info.vendor + 4, &zero.edx, 4);
    std::memcpy(info.vendor + 8, &zero.ecx, 4);
    const unsigned family = one.eax >> 8 & 15, model = one.eax >> 4 & 15;
    info.family = static_cast<int>(family == 15 ? family + (one.eax >> 20 & 255) : family);
    info.model = static_cast<int>(family == 15 || family == 6 ? model + ((one.eax >> 16 & 15) << 4) : model);
    info.double_pumped_avx512 = std::strcmp(info.vendor, "AuthenticAMD") == 0 && info.family == 25;
    info.stepping = static_cast<int>(one.eax & 15);
    constexpr unsigned kVectorBits = 1u << 12 | 1u << 19 | 1u << 20 | 1u << 28;  // FMA, SSE4.1, SSE4.2, AVX
    info.features = std::uint64_t{seven.ebx} << 32 | (one.ecx & kVectorBits);
}

// Deterministic cache parameters: Intel's leaf 4, AMD's 0x8000001D, of one layout.
void read_caches(CpuInfo& info) {
    const bool amd_layout = bit(cpuid(0x80000001u).ecx, 22);  // TOPOEXT
    for (unsigned i = 0; i < 16; ++i) {
        const Leaf cache = cpuid(amd_layout ? 0x8000001du : 4u, i);
        const unsigned type = cache.eax & 31, level = cache.eax >> 5 & 7;
        if (type == 0) break;
        if (type == 2) continue;  // instructions
        const std::size_t ways = (cache.ebx >> 22) + 1, partitions = (cache.ebx >> 12 & 1023) + 1;
        const std::size_t line = (cache.ebx & 4095) + 1, sets = std::size_t{cache.ecx} + 1;
        const std::size_t bytes = ways * partitions * line * sets;
        if (level == 1) info.l1_bytes = bytes;
        if (level == 2) info.l2_bytes = bytes;
        if (level == 3) info.l3_bytes = bytes;
    }
}

#else

Isa best_isa() { return Isa::scalar; }
void read_brand(char (&brand)[64]) { std::snprintf(brand, sizeof brand, "unknown"); }
void read_caches(CpuInfo&) {}
void read_identity(CpuInfo&) {}

#endif

#if defined(__linux__)

constexpr int kMostCpus = 8192;  // the kernel's own limit
struct CpuSet {
    unsigned long words[kMostCpus / (8 * sizeof(unsigned long))] = {};
    bool has(int cpu) const {
        return CPU_ISSET_S(cpu, sizeof words, reinterpret_cast<const cpu_set_t*>(words));
    }
    void add(int cpu) { CPU_SET_S(cpu, sizeof words, reinterpret_cast<cpu_set_t*>(words)); }
};

// The lowest logical processor of the core that `cpu` is part of; `cpu` itself where the system does not say.
int first_of_core(int cpu) {
    char path[80];
    std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return cpu;
    char text[32] = "";  // "0-1,64-65": the first number counts
    const ssize_t bytes = ::read(file, text, sizeof text - 1);
    ::close(file);
    char* end = text;
    const long first = bytes > 0 ? std::strtol(text, &end, 10) : -1;
    return end != text && first >= 0 && first < kMostCpus ? static_cast<int>(first) : cpu;
}

// Counts what this process may use (taskset, containers), not what the machine has.
void count_cores(CpuInfo& info) {
    CpuSet allowed, cores;
    if (sched_getaffinity(0, sizeof allowed.words, reinterpret_cast<cpu_set_t*>(allowed.words)) != 0) return;
    int logical = 0, physical = 0;
    for (int cpu = 0; cpu < kMostCpus; ++cpu) {
        if (!allowed.has(cpu)) continue;
        ++logical;
        const int core = first_of_core(cpu);
        if (!cores.has(core)) ++physical;
        cores.add(core);
    }
    info.logical_cores = std::max(logical, 1);
    info.physical_cores = std::max(physical, 1);
}

#else

void count_cores(CpuInfo&) {}

#endif

CpuInfo detect() {
    CpuInfo info = {};
    info.best_isa = best_isa();
    info.logical_cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    info.physical_cores = info.logical_cores;
    count_cores(info);
    read_caches(info);
    read_brand(info.brand);
    read_identity(info);
    return info;
}

}  // namespace

CpuSignature cpu_signature(const CpuInfo& info) {
    char vendor[sizeof info.vendor];
    std::size_t length = 0;
    for (const char* c = info.vendor; *c != '\0'; ++c) {
        const bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        if (letter) vendor[length++] = *c;
    }
    vendor[length] = '\0';
    CpuSignature signature;
    std::snprintf(signature.text, sizeof signature.text,
                  "%s-%d-%d-%d-%016llx-l1_%zu-l2_%zu-l3_%zu-contract_%d", length > 0 ? vendor : "unknown",
                  info.family, info.model, info.stepping, static_cast<unsigned long long>(info.features),
                  info.l1_bytes, info.l2_bytes, info.l3_bytes, VOLTA_CONTRACT_VERSION);
    return signature;
}

const CpuInfo& host_cpu() {
    static const CpuInfo info = detect();
    return info;
}

const char* isa_name(Isa isa) {
    const IsaRow* const row = find_isa(isa);
    return row != nullptr ? row->name : "unknown";
}

}  // namespace volta
