// Fine-tuning: weights of another program are imported, evaluated, trained further on a text, quantized and given back.
//     fine_tune WEIGHTS.safetensors TEXT OUT [STEPS]
// writes OUT.volta, OUT.int8.volta and OUT.safetensors with OUT.json, which Hugging Face's GPT-2 reads. A config.json lies
// beside the weights, and a tokenizer.json too, unless tokens are bytes.
#include <volta.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace {

std::string read_file(const char* path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) std::fprintf(stderr, "fine_tune: cannot read %s\n", path), std::exit(1);
    return {std::istreambuf_iterator<char>(file), {}};
}

// What the tables of tokens and positions hold stays; the rest moves slowly.
void train(const volta::model& model, volta::token_view tokens, int steps) {
    const std::int64_t batch[] = {8, 32};
    const char* const frozen[] = {"*embedding*"};
    auto options = volta::options<volta_trainer_options>();
    options.input_shapes = batch, options.input_extent_count = 2;
    options.steps = static_cast<std::uint64_t>(steps);
    options.schedule = VOLTA_SCHEDULE_COSINE;
    options.warmup_steps = static_cast<std::uint64_t>(steps) / 10;
    options.learning_rate = 1e-3;
    options.clip_norm = 1;
    options.frozen = frozen, options.frozen_count = 1;
    volta::trainer trainer(model, options);
    trainer.set_tokens(tokens);
    for (int step = 0; step < steps; ++step) trainer.step_tokens();
    trainer.update_model();
}

int run(const char* weights, const char* path, const std::string& out, int steps) {
    const volta::context context;
    // Architecture and sizes are what config.json says; weights become f32, exactly.
    volta::model model = volta::model::import(context, weights);
    volta::tokenizer tokenizer = model.get_tokenizer();
    if (!tokenizer) {
        tokenizer = volta::tokenizer::bytes(context);
        model.set_tokenizer(tokenizer);
    }
    const std::vector<std::int32_t> tokens = tokenizer.encode(read_file(path));
    const std::size_t count = tokens.size() * 9 / 10;  // of the rest is asked whether it helped
    const volta::token_view first(tokens.data(), count), kept(tokens.data() + count, tokens.size() - count);

    const double before = model.evaluate(kept);
    train(model, first, steps);
    const double after = model.evaluate(kept);
    model.save((out + ".volta").c_str());
    volta::model small = model.quantize(VOLTA_INT8);  // a model of its own, a quarter of the size
    const double quantized = small.evaluate(kept);
    small.save((out + ".int8.volta").c_str());
    std::printf("loss on the last tenth: %.4f imported, %.4f fine-tuned, %.4f in int8\n", before, after, quantized);

    const std::string config = out + ".json";
    auto names = volta::options<volta_export_options>();  // those that the weights came with
    names.names = VOLTA_NAMES_HUGGING_FACE;
    names.config_path = config.c_str();
    model.export_safetensors((out + ".safetensors").c_str(), names);
    std::printf("hash %s\n", model.hash().c_str());
    return after < before && quantized < before ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4 || argc > 5)
        return std::fprintf(stderr, "usage: fine_tune WEIGHTS.safetensors TEXT OUT [STEPS]\n"), 2;
    try {
        return run(argv[1], argv[2], argv[3], argc == 5 ? std::atoi(argv[4]) : 100);
    } catch (const volta::error& error) {
        return std::fprintf(stderr, "fine_tune: %s\n", error.what()), 1;
    }
}
