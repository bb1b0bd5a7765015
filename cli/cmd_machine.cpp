// voltac doctor and version: the machine and the program.
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/self_check.h"

namespace voltac {
namespace {

volta_context_info info_of(const Context& context) {
    volta_context_info info = VOLTA_CONTEXT_INFO_INIT;
    check(volta_context_get_info(context.get(), &info));
    return info;
}

// A line per device, or why there is none.
std::string devices_of(const char* backend) {
    std::uint32_t count = 0;
    if (volta_device_count(backend, &count) != VOLTA_OK)
        return formatted("%-18s no: %s\n", backend, volta_last_error());
    std::string text;
    for (std::uint32_t i = 0; i < count; ++i) {
        volta_device_info info = VOLTA_DEVICE_INFO_INIT;
        check(volta_device_describe(backend, i, &info));
        text += formatted("%-18s %s, compute capability %u.%u, %u multiprocessors, %.1f of %.1f GiB free\n",
                          info.name, info.description, info.capability_major, info.capability_minor,
                          info.multiprocessors, static_cast<double>(info.free_bytes) / (1 << 30),
                          static_cast<double>(info.memory_bytes) / (1 << 30));
    }
    return text;
}

const std::string kSameBits = "same bits", kAbsent = "not on this processor";

// One of these two, or what is wrong. What may be absent may refuse to be made, but not fail later.
std::string verdict_on(const Machine& machine, bool may_be_absent) {
    Context context;
    try {
        context = make_context(machine);
    } catch (const Stop& stop) {
        return may_be_absent ? kAbsent : stop.what();
    }
    try {
        const std::string others = other_bits(context);
        return others.empty() ? kSameBits : "OTHER BITS: please report this machine: " + others;
    } catch (const Stop& stop) {
        return stop.what();
    }
}

}  // namespace

int run_doctor(const std::vector<std::string>& arguments) {
    Options options(
        "doctor",
        "What this machine can do, and whether each instruction set and device gives the bits that "
        "the numeric contract has everywhere.");
    Machine chosen;
    options.tuning(chosen);
    options.parse(arguments);
    const Context best = make_context(chosen);
    const volta_context_info machine = info_of(best);
    std::string text =
        formatted("version            %s, numeric contract %d\n", volta_version(), VOLTA_CONTRACT_VERSION);
    text += formatted("processor          %s\nphysical cores     %u\nthreads            %u\n", machine.cpu,
                      machine.physical_cores, machine.thread_count);
    text += formatted(
        "generated code     %s\n",
        machine.jit_active
            ? "yes: pages are writable or executable, never both"
            : "no: the system refuses executable memory; kernels are interpreted, with the same bits");
    text += devices_of("cuda");
    text += formatted("tried              %s\n", self_checks().c_str());
    bool same = true;
    const auto add = [&](const std::string& name, const std::string& verdict) {
        text += formatted("%-18s %s\n", name.c_str(), verdict.c_str());
        same = same && (verdict == kSameBits || verdict == kAbsent);
    };
    for (const char* isa : {"scalar", "avx2", "avx512"}) {
        Machine one = chosen;
        one.isa = isa;
        add(isa, verdict_on(one, true));
    }
    std::uint32_t devices = 0;
    volta_device_count("cuda", &devices);  // why there is none was said above
    for (std::uint32_t i = 0; i < devices; ++i) {
        Machine one = chosen;
        one.device = formatted("cuda:%u", i);
        add(one.device, verdict_on(one, false));
    }
    print(text);
    return same ? 0 : kExitFailure;
}

int run_version(const std::vector<std::string>& arguments) {
    Options options("version", "Version of the program and of the numeric contract.");
    options.parse(arguments);
    print(formatted("voltac %s, numeric contract %d\n", volta_version(), VOLTA_CONTRACT_VERSION));
    return 0;
}

}  // namespace voltac
