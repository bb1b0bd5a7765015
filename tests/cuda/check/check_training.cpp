// Training on the processor and on the device: equal parameters after every ten steps, twice; a checkpoint of
// one goes on on the other; the files are the same bytes.
#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "tests/cuda/check/training_run.h"

namespace volta::check {

int check_training(const Settings& settings) {
    if (settings.steps < 2) throw std::runtime_error("steps must be 2 or more");
    // Near the end: what follows is trained twice more.
    const int stop = settings.steps - std::min(settings.steps / 2, 50);
    int failures = 0;
    for (const Subject& subject : subjects(settings.small)) {
        const Place cpu_place{"cpu", {}, {}, {}, {}}, device_place{settings.device, {}, {}, {}, {}};
        const File here(settings.folder + "/cuda_check_cpu.volta"),
            there(settings.folder + "/cuda_check_device.volta");
        const Run cpu = train(settings, subject, cpu_place, stop, here);
        const Run device = train(settings, subject, device_place, stop, there);
        const int before = failures;
        failures += compare(settings, subject, "on the device", cpu, device);
        failures += compare(settings, subject, "on the device again", cpu,
                            train(settings, subject, device_place, 0, File(there.path + ".again")));
        failures += compare(settings, subject, "from the device to the processor", cpu,
                            resume(settings, subject, cpu_place, stop, there));
        failures += compare(settings, subject, "from the processor to the device", cpu,
                            resume(settings, subject, device_place, stop, here));
        std::printf("%s: %d steps, %s\n", subject.name, settings.steps,
                    failures == before ? cpu.hashes.back().c_str() : "differs");
    }
    return failures;
}

}  // namespace volta::check
