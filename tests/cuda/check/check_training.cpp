// Training on the processor and on the device: equal parameters after every ten steps, twice; a checkpoint of
// one goes on on the other; the files are the same bytes.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/cuda/check/check.h"

namespace volta::check {
namespace {

constexpr int kBetweenHashes = 10;

std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
}

// A file of a run, which goes with the object.
struct File {
    explicit File(std::string name) : path(std::move(name)) {}
    ~File() { std::remove(path.c_str()); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    const std::string path;
};

struct Run {
    std::vector<std::string> hashes;  // after every ten steps, and after the last
    std::string file;                 // the last checkpoint's bytes
};

bool is_hashed(int step, int steps) { return step % kBetweenHashes == 0 || step == steps; }

// Steps first+1 .. steps; a checkpoint into `half` after `stop` of them, unless stop is 0.
Run go_on(const Trainer& trainer, const Settings& settings, int first, int stop, const File& half) {
    Run run;
    for (int step = first + 1; step <= settings.steps; ++step) {
        require(volta_trainer_step_tokens(trainer.get(), nullptr));
        if (is_hashed(step, settings.steps)) run.hashes.push_back(hash_of(trainer));
        if (step == stop) require(volta_trainer_save(trainer.get(), half.path.c_str()));
    }
    const File last(half.path + ".last");
    require(volta_trainer_save(trainer.get(), last.path.c_str()));
    run.file = content(last.path);
    return run;
}

Run train(const Settings& settings, const Subject& subject, const std::string& device, int stop,
          const File& half) {
    const Context context = make_context(device);
    const Model model = make_model(context, subject);
    const Trainer trainer = make_trainer(model, subject, settings.steps);
    set_tokens(trainer, subject);
    return go_on(trainer, settings, 0, stop, half);
}

Run resume(const Settings& settings, const Subject& subject, const std::string& device, int stop,
           const File& half) {
    const Context context = make_context(device);
    volta_model* model = nullptr;
    volta_trainer* trainer = nullptr;
    require(volta_model_open(context.get(), half.path.c_str(), nullptr, &model));
    const Model owned(model);
    require(volta_trainer_resume(model, nullptr, &trainer));
    const Trainer resumed(trainer);
    set_tokens(resumed, subject);
    return go_on(resumed, settings, stop, 0, half);
}

// `got` may have begun later: its hashes are the last of `expected`.
int compare(const Settings& settings, const Subject& subject, const char* what, const Run& expected,
            const Run& got) {
    const std::size_t skipped = expected.hashes.size() - got.hashes.size();
    for (std::size_t i = 0; i < got.hashes.size(); ++i) {
        if (got.hashes[i] == expected.hashes[skipped + i]) continue;
        std::printf("%s, %s: after step %d the parameters are %s, expected %s\n", subject.name, what,
                    std::min(settings.steps, static_cast<int>(skipped + i + 1) * kBetweenHashes),
                    got.hashes[i].c_str(), expected.hashes[skipped + i].c_str());
        return 1;
    }
    if (got.file == expected.file && !got.file.empty()) return 0;
    std::printf("%s, %s: the checkpoints are not the same bytes\n", subject.name, what);
    return 1;
}

}  // namespace

int check_training(const Settings& settings) {
    if (settings.steps < 2) throw std::runtime_error("steps must be 2 or more");
    // Near the end: what follows is trained twice more.
    const int stop = settings.steps - std::min(settings.steps / 2, 50);
    int failures = 0;
    for (const Subject& subject : subjects(settings.small)) {
        const File here(settings.folder + "/cuda_check_cpu.volta"),
            there(settings.folder + "/cuda_check_device.volta");
        const Run cpu = train(settings, subject, "cpu", stop, here);
        const Run device = train(settings, subject, settings.device, stop, there);
        const int before = failures;
        failures += compare(settings, subject, "on the device", cpu, device);
        failures += compare(settings, subject, "on the device again", cpu,
                            train(settings, subject, settings.device, 0, File(there.path + ".again")));
        failures += compare(settings, subject, "from the device to the processor", cpu,
                            resume(settings, subject, "cpu", stop, there));
        failures += compare(settings, subject, "from the processor to the device", cpu,
                            resume(settings, subject, settings.device, stop, here));
        std::printf("%s: %d steps, %s\n", subject.name, settings.steps,
                    failures == before ? cpu.hashes.back().c_str() : "differs");
    }
    return failures;
}

}  // namespace volta::check
