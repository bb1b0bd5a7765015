// The same by volta.hpp: the same hash.
#include <cstdint>
#include <cstdio>
#include <vector>
#include <volta.hpp>

int main() try {
    volta::context context;
    auto gpt = volta::options<volta_gpt_options>();
    gpt.vocabulary = 8, gpt.layers = 1, gpt.dim = 16, gpt.heads = 2, gpt.context = 8;
    volta::model model(context, gpt, 1);

    const std::int64_t batch[] = {2, 8};
    auto options = volta::options<volta_trainer_options>();
    options.input_shapes = batch, options.input_extent_count = 2;
    volta::trainer trainer(model, options);
    std::vector<std::int32_t> tokens(64);
    for (int i = 0; i < 64; ++i) tokens[static_cast<std::size_t>(i)] = i % 7;
    trainer.set_tokens(tokens);
    for (int step = 0; step < 10; ++step) trainer.step_tokens();
    std::printf("volta %s hash %s\n", volta_version(), trainer.hash().c_str());
    return 0;
} catch (const volta::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
