// Training in shards: on the device, the sums of shards have the processor's bits.
#include <cstdio>

#include "tests/cuda/check/training_run.h"

namespace volta::check {
namespace {

constexpr int kSteps = 4;

std::string hash_after(const std::string& device, const Subject& subject, std::uint32_t shards) {
    const Context context = make_context(device);
    const Model model = make_model(context, subject);
    const Trainer trainer = make_trainer(model, subject, kSteps, shards);
    set_tokens(trainer, subject);
    for (int step = 0; step < kSteps; ++step) require(volta_trainer_step_tokens(trainer.get(), nullptr));
    return hash_of(trainer);
}

}  // namespace

int check_shards(const Settings& settings) {
    int failures = 0;
    for (const Subject& subject : subjects(settings.small))
        for (const std::uint32_t shards : {2u, 4u}) {
            const std::string cpu = hash_after("cpu", subject, shards),
                              device = hash_after(settings.device, subject, shards);
            const bool is_same = cpu == device;
            std::printf("%s in %u shards: %s%s%s\n", subject.name, shards, device.c_str(),
                        is_same ? "" : ", expected ", is_same ? "" : cpu.c_str());
            failures += !is_same;
        }
    return failures;
}

}  // namespace volta::check
