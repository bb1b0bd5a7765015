#include "tests/cuda/check/training_run.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

namespace volta::check {
namespace {

constexpr int kBetweenHashes = 10;

bool is_hashed(int step, int steps) { return step % kBetweenHashes == 0 || step == steps; }

// Steps first+1 .. steps; a checkpoint into `half` after `stop` of them, unless stop is 0.
Run go_on(const Trainer& trainer, const Settings& settings, int first, int stop, const File& half) {
    Run run;
    for (int step = first + 1; step <= settings.steps; ++step) {
        volta_step_report report = {};
        report.struct_size = sizeof report;
        require(volta_trainer_step_tokens(trainer.get(), &report));
        run.losses.push_back(report.loss);
        if (is_hashed(step, settings.steps)) run.hashes.push_back(hash_of(trainer));
        if (step == stop) require(volta_trainer_save(trainer.get(), half.path.c_str()));
    }
    const File last(half.path + ".last");
    require(volta_trainer_save(trainer.get(), last.path.c_str()));
    run.file = content(last.path);
    return run;
}

std::vector<std::int32_t> write(const Model& model, int count) {
    volta_generator* made = nullptr;
    require(volta_generator_create(model.get(), nullptr, &made));
    const std::unique_ptr<volta_generator, Release<volta_generator, volta_generator_release>> generator(made);
    const std::int32_t prompt = 1;
    require(volta_generator_start(made, &prompt, 1));
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
    for (std::int32_t& token : tokens) require(volta_generator_next(made, &token));
    return tokens;
}

}  // namespace

File::File(std::string name) : path(std::move(name)) {}
File::~File() { std::remove(path.c_str()); }

std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
}

Run train(const Settings& settings, const Subject& subject, const Place& place, int stop, const File& half,
          int written) {
    const Context context = make_context(place);
    const Model model = make_model(context, subject);
    const Trainer trainer = make_trainer(model, subject, settings.steps);
    set_tokens(trainer, subject);
    Run run = go_on(trainer, settings, 0, stop, half);
    if (written > 0) {
        require(volta_trainer_update_model(trainer.get()));
        run.tokens = write(model, written);
    }
    return run;
}

Run resume(const Settings& settings, const Subject& subject, const Place& place, int stop, const File& half) {
    const Context context = make_context(place);
    volta_model* model = nullptr;
    volta_trainer* trainer = nullptr;
    require(volta_model_open(context.get(), half.path.c_str(), nullptr, &model));
    const Model owned(model);
    require(volta_trainer_resume(model, nullptr, &trainer));
    const Trainer resumed(trainer);
    set_tokens(resumed, subject);
    return go_on(resumed, settings, stop, 0, half);
}

int step_of_hash(const Settings& settings, std::size_t index) {
    return std::min(settings.steps, static_cast<int>(index + 1) * kBetweenHashes);
}

int compare(const Settings& settings, const Subject& subject, const char* what, const Run& expected,
            const Run& got) {
    const std::size_t skipped = expected.hashes.size() - got.hashes.size();
    for (std::size_t i = 0; i < got.hashes.size(); ++i) {
        if (got.hashes[i] == expected.hashes[skipped + i]) continue;
        std::printf("%s, %s: after step %d the parameters are %s, expected %s\n", subject.name, what,
                    step_of_hash(settings, skipped + i), got.hashes[i].c_str(),
                    expected.hashes[skipped + i].c_str());
        return 1;
    }
    const std::size_t first = expected.losses.size() - got.losses.size();
    for (std::size_t i = 0; i < got.losses.size(); ++i) {
        const float wanted = expected.losses[first + i], loss = got.losses[i];
        if (std::memcmp(&wanted, &loss, sizeof loss) == 0) continue;
        std::printf("%s, %s: the loss of step %zu is %.9g, expected %.9g\n", subject.name, what,
                    first + i + 1, static_cast<double>(loss), static_cast<double>(wanted));
        return 1;
    }
    if (got.file == expected.file && !got.file.empty()) return 0;
    std::printf("%s, %s: the checkpoints are not the same bytes\n", subject.name, what);
    return 1;
}

}  // namespace volta::check
