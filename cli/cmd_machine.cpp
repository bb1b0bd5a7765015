// voltac doctor and version: the machine and the program.
#include <cstring>

#include "cli/commands.h"
#include "cli/options.h"

namespace voltac {
namespace {

// The bits of a small GPT's logits on one instruction set: every backend must give the same.
std::string logits_of(const Context& context) {
    volta_gpt_options gpt = {};
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = 65;
    gpt.layers = 2;
    gpt.dim = 48;
    gpt.heads = 3;
    gpt.context = 33;
    volta_model* model = nullptr;
    check(volta_model_create_gpt(context.get(), &gpt, 1, &model));
    const Model owned(model);
    const std::int64_t shape[] = {2, 33};
    volta_session_options options = {};
    options.struct_size = sizeof options;
    options.input_shapes = shape;
    options.input_extent_count = 2;
    volta_session* session = nullptr;
    check(volta_session_create(model, &options, &session));
    const Session owned_session(session);
    std::vector<std::int32_t> tokens(2 * 33);
    for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<std::int32_t>(i * 7 % 65);
    std::vector<float> logits(2 * 33 * 65);
    const std::int64_t logits_shape[] = {2, 33, 65};
    volta_tensor *input = nullptr, *output = nullptr;
    check(volta_tensor_wrap(context.get(), VOLTA_I32, shape, 2, tokens.data(), &input));
    volta_status status =
        volta_tensor_wrap(context.get(), VOLTA_F32, logits_shape, 3, logits.data(), &output);
    if (status == VOLTA_OK) status = volta_session_run(session, &input, 1, &output, 1);
    const std::string error = volta_last_error();
    volta_tensor_release(input);
    volta_tensor_release(output);
    if (status != VOLTA_OK) failure(error);
    return std::string(reinterpret_cast<const char*>(logits.data()), logits.size() * sizeof(float));
}

volta_context_info info_of(const Context& context) {
    volta_context_info info = {};
    info.struct_size = sizeof info;
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
        volta_device_info info = {};
        info.struct_size = sizeof info;
        check(volta_device_describe(backend, i, &info));
        text += formatted("%-18s %s, compute capability %u.%u, %u multiprocessors, %.1f of %.1f GiB free\n",
                          info.name, info.description, info.capability_major, info.capability_minor,
                          info.multiprocessors, static_cast<double>(info.free_bytes) / (1 << 30),
                          static_cast<double>(info.memory_bytes) / (1 << 30));
    }
    return text;
}

}  // namespace

int run_doctor(const std::vector<std::string>& arguments) {
    Options options("doctor",
                    "What this machine can do, and whether every backend gives the same bits here.");
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
    Machine reference = chosen;
    reference.isa = "scalar";
    const std::string expected = logits_of(make_context(reference));
    bool same = true;
    for (const char* isa : {"scalar", "avx2", "avx512"}) {
        Machine one = chosen;
        one.isa = isa;
        std::string verdict;
        try {
            const bool equal = logits_of(make_context(one)) == expected;
            same = same && equal;
            verdict = equal ? "same bits" : "OTHER BITS: please report this machine";
        } catch (const Stop&) {
            verdict = "not on this processor";
        }
        text += formatted("%-18s %s\n", isa, verdict.c_str());
    }
    std::uint32_t devices = 0;
    volta_device_count("cuda", &devices);  // why there is none was said above
    for (std::uint32_t i = 0; i < devices; ++i) {
        Machine one = chosen;
        one.device = formatted("cuda:%u", i);
        std::string verdict;
        try {
            const bool equal = logits_of(make_context(one)) == expected;
            same = same && equal;
            verdict = equal ? "same bits" : "OTHER BITS: please report this device";
        } catch (const Stop& stop) {
            same = false;
            verdict = stop.what();
        }
        text += formatted("%-18s %s\n", one.device.c_str(), verdict.c_str());
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
