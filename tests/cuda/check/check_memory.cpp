// The bill of a trainer is what the host and the device hold for it, to the byte.
#include <cstdio>

#include "tests/cuda/check/check.h"

namespace volta::check {
namespace {

std::uint64_t host_bytes(const Context& context) {
    volta_context_info info = {};
    info.struct_size = sizeof info;
    require(volta_context_get_info(context.get(), &info));
    return info.tensor_bytes + device_of(context).pinned_bytes;
}

}  // namespace

int check_memory(const Settings& settings) {
    int failures = 0;
    for (const Subject& subject : subjects(settings.small)) {
        const Context context = make_context(settings.device);
        const Model model = make_model(context, subject);
        const std::uint64_t host = host_bytes(context), device = device_of(context).bytes_in_use;
        const Trainer trainer = make_trainer(model, subject, settings.steps);
        volta_bill bill = {};
        bill.struct_size = sizeof bill;
        require(volta_trainer_get_bill(trainer.get(), &bill));
        const std::uint64_t on_host = host_bytes(context) - host;
        const std::uint64_t on_device = device_of(context).bytes_in_use - device;
        const bool equal = on_host + on_device == bill.total && on_device > 0;
        std::printf("%s: the bill says %llu bytes, %llu are held on the host and %llu on the device%s\n",
                    subject.name, static_cast<unsigned long long>(bill.total),
                    static_cast<unsigned long long>(on_host), static_cast<unsigned long long>(on_device),
                    equal ? "" : ": not the same");
        failures += equal ? 0 : 1;
        set_tokens(trainer, subject);
        require(volta_trainer_step_tokens(trainer.get(), nullptr));
        const std::uint64_t before = device_of(context).bytes_in_use;
        for (int i = 0; i < 3; ++i) require(volta_trainer_step_tokens(trainer.get(), nullptr));
        if (device_of(context).bytes_in_use == before) continue;
        std::printf("%s: a step changed what is held on the device\n", subject.name);
        ++failures;
    }
    return failures;
}

}  // namespace volta::check
