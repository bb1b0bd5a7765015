// Training that is interrupted: half of the steps, a checkpoint, and the rest in another process give the bits of all steps
// in one. Run it twice: the first call ends half-way, the second goes on.
//     resume TEXT CHECKPOINT.volta STEPS [END]    END: the step to end at now
#include <volta.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace {

volta::trainer begin(const volta::context& context, std::uint64_t steps) {
    auto gpt = volta::options<volta_gpt_options>();
    gpt.vocabulary = 256, gpt.layers = 2, gpt.dim = 32, gpt.heads = 2, gpt.context = 32, gpt.dropout = 0.1;
    const std::int64_t batch[] = {4, 32};
    auto options = volta::options<volta_trainer_options>();
    options.input_shapes = batch, options.input_extent_count = 2;
    options.steps = steps;
    options.schedule = VOLTA_SCHEDULE_COSINE;
    options.seed = 7;
    return volta::trainer(volta::model(context, gpt, 1), options);
}

void run(const char* path, const char* checkpoint, std::uint64_t steps, std::uint64_t chosen) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const volta::context context;
    const bool again = std::ifstream(checkpoint).good();
    // A checkpoint has all of it: moments, seed, step, place in the data, options.
    volta::trainer trainer =
        again ? volta::trainer::resume(volta::model::open(context, checkpoint)) : begin(context, steps);
    const std::uint64_t end = chosen > 0 ? chosen : again ? steps : steps / 2;
    trainer.set_tokens(volta::tokenizer::bytes(context).encode(text));
    while (trainer.current_step() < end) trainer.step_tokens();
    trainer.save(checkpoint);
    std::printf("step %llu hash %s\n", static_cast<unsigned long long>(trainer.current_step()), trainer.hash().c_str());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4 || argc > 5 || std::atoi(argv[3]) < 2)
        return std::fprintf(stderr, "usage: resume TEXT CHECKPOINT.volta STEPS [END]\n"), 2;
    try {
        run(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10), argc == 5 ? std::strtoull(argv[4], nullptr, 10) : 0);
    } catch (const volta::error& error) {
        return std::fprintf(stderr, "resume: %s\n", error.what()), 1;
    }
    return 0;
}
