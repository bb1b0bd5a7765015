// The whole life cycle of a small GPT in C++: define, train, save, load in a fresh context, generate.
//   train_gpt TEXT OUT.volta [STEPS]
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <volta.hpp>

namespace {

void train(std::string_view text, const char *path, std::uint64_t steps) {
    const volta::context context;  // all cores, the best instruction set
    const auto tokenizer = volta::tokenizer::characters(context, text);

    auto gpt = volta::options<volta_gpt_options>();
    gpt.vocabulary = tokenizer.size();
    gpt.layers = 2;
    gpt.dim = 64;
    gpt.heads = 4;
    gpt.context = 32;
    volta::model model(context, gpt, 1);
    model.set_tokenizer(tokenizer);

    const std::int64_t batch[] = {8, 32};  // 8 sequences of 32 tokens
    auto options = volta::options<volta_trainer_options>();
    options.input_shapes = batch;
    options.input_extent_count = 2;
    options.steps = steps;
    options.schedule = VOLTA_SCHEDULE_COSINE;
    options.learning_rate = 3e-3;
    options.weight_decay = 0.1;
    options.clip_norm = 1.0;
    options.seed = 1;
    volta::trainer trainer(model, options);
    trainer.set_tokens(tokenizer.encode(text));
    for (std::uint64_t step = 0; step < steps; ++step) {
        const volta_step_report report = trainer.step_tokens();
        if (step % 50 == 0) std::cerr << "step " << report.step << " loss " << report.loss << '\n';
    }
    trainer.save(path);  // the model and everything to go on from here
    std::cout << "hash " << trainer.hash() << '\n';
}

void generate(const char *path, std::string_view prompt) {
    const volta::context context;
    const auto model = volta::model::open(context, path);  // mapped: opens in milliseconds
    auto options = volta::options<volta_generator_options>();
    options.temperature = 0.8;
    options.seed = 1;
    volta::generator generator(model, options);
    generator.start(model.get_tokenizer().encode(prompt));
    std::cout << prompt;
    generator.write([](std::string_view piece, std::int32_t) { return !(std::cout << piece); });
    std::cout << '\n';
}

}  // namespace

int main(int count, char **arguments) {
    if (count < 3 || count > 4) return std::cerr << "usage: train_gpt TEXT OUT.volta [STEPS]\n", 2;
    std::ifstream file(arguments[1], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.empty()) return std::cerr << "train_gpt: cannot read " << arguments[1] << '\n', 1;
    try {
        train(text, arguments[2], count == 4 ? std::strtoull(arguments[3], nullptr, 10) : 200);
        generate(arguments[2], std::string_view(text).substr(0, 4));
    } catch (const volta::error &error) {
        return std::cerr << "train_gpt: " << error.what() << '\n', 1;
    }
    return 0;
}
