// A two-layer classifier defined operator by operator: two interleaved spirals, trained with Adam, saved, loaded, and run in
// a session.
//     train_mlp OUT.volta
#include <volta.hpp>

#include <array>
#include <cmath>
#include <cstdio>

namespace {

constexpr std::int64_t kPoints = 256, kHidden = 32;
constexpr int kSteps = 400;
std::array<float, 2 * kPoints> points, logits;
std::array<std::int32_t, kPoints> classes;

// Point i of class i % 2 on a spiral arm of one and a half turns.
void make_spirals() {
    for (int i = 0; i < kPoints; ++i) {
        const double t = static_cast<double>(i / 2) / (kPoints / 2), angle = 9.42 * t + 3.14159265 * (i % 2);
        points[2 * i] = static_cast<float>(t * std::cos(angle));
        points[2 * i + 1] = static_cast<float>(t * std::sin(angle));
        classes[i] = i % 2;
    }
}

volta::model define(const volta::context& context) {
    volta::graph graph(context);
    const volta_value x = graph.input("points", {-1, 2});  // any number of points
    const volta_value first = graph.apply("tanh", {graph.linear("hidden1", x, kHidden)});
    const volta_value second = graph.apply("relu", {graph.linear("hidden2", first, kHidden)});
    graph.output("logits", graph.linear("head", second, 2));
    return volta::model(graph, 1);
}

int run(const char* path) {
    const volta::context context;
    make_spirals();
    const auto x = volta::tensor::wrap(context, points.data(), {kPoints, 2});
    const auto y = volta::tensor::wrap(context, classes.data(), {kPoints});
    const auto scores = volta::tensor::wrap(context, logits.data(), {kPoints, 2});
    const std::int64_t shape[] = {kPoints, 2};
    {
        auto options = volta::options<volta_trainer_options>();
        options.input_shapes = shape, options.input_extent_count = 2;
        options.loss = VOLTA_LOSS_CROSS_ENTROPY;
        options.optimizer = VOLTA_ADAM;
        options.learning_rate = 0.01;
        const volta::model model = define(context);
        volta::trainer trainer(model, options);
        volta_step_report report{};
        for (int step = 0; step < kSteps; ++step) {
            report = trainer.step(x, y);
            if (step % 100 == 0) std::printf("step %d loss %.6f\n", step + 1, static_cast<double>(report.loss));
        }
        std::printf("step %d loss %.6f\n", kSteps, static_cast<double>(report.loss));
        trainer.save(path);
        std::printf("hash %s\n", trainer.hash().c_str());
    }
    volta::session session(volta::model::open(context, path), shape);
    session.run(x, scores);
    int right = 0;
    for (int i = 0; i < kPoints; ++i) right += (logits[2 * i + 1] > logits[2 * i]) == (classes[i] == 1);
    std::printf("%d of %d points right\n", right, static_cast<int>(kPoints));
    return right > kPoints * 9 / 10 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return std::fprintf(stderr, "usage: train_mlp OUT.volta\n"), 2;
    try {
        return run(argv[1]);
    } catch (const volta::error& error) {
        return std::fprintf(stderr, "train_mlp: %s\n", error.what()), 1;
    }
}
