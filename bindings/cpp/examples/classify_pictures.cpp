// Pictures in a folder for each class: trains a small convolutional network on its train part, counts what is right of its
// test part, and says what one more picture shows.
//     classify_pictures FOLDER PICTURE OUT.volta
#include <volta_data.hpp>

#include <algorithm>
#include <array>
#include <cstdio>

namespace {

constexpr std::uint32_t kBatch = 16, kSide = 28, kEpochs = 4;

// The same for training, testing and asking: grey, 28 x 28, about -2 to 2.
volta_transform_options transform(bool random) {
    auto made = volta::options<volta_transform_options>();
    made.channels = 1;
    made.height = made.width = kSide;
    made.resize = VOLTA_RESIZE_EXACT;
    made.mean[0] = 0.5f;
    made.deviation[0] = 0.25f;
    made.random_crop = random;
    made.crop_padding = random ? 2 : 0;
    return made;
}

volta::dataset open_part(const char* folder, volta_data_split part) {
    auto options = volta::options<volta_dataset_options>();
    options.split = part;
    return volta::dataset(VOLTA_DATA_FOLDER, {folder}, options);
}

void train(const volta::context& context, const volta::model& model, const volta::dataset& dataset, const char* path) {
    const volta_transform_options prepared = transform(true);
    auto loading = volta::options<volta_loader_options>();
    loading.transform = &prepared;
    loading.batch = kBatch;
    loading.order = VOLTA_ORDER_SHUFFLED;
    loading.damaged = VOLTA_DAMAGED_SKIP;
    loading.seed = 1;
    volta::loader loader(dataset, loading);

    const std::int64_t shape[] = {kBatch, 1, kSide, kSide};
    auto options = volta::options<volta_trainer_options>();
    options.input_shapes = shape, options.input_extent_count = 4;
    options.learning_rate = 3e-3;
    volta::trainer trainer(model, options);
    for (volta_batch batch = loader.next(); batch.epoch < kEpochs; batch = loader.next()) {
        // Over the loader's memory, which is lent until the next call: nothing is copied.
        const auto x = volta::tensor::wrap(context, const_cast<float*>(batch.pixels), shape);
        const auto y = volta::tensor::wrap(context, const_cast<std::int32_t*>(batch.labels), {kBatch});
        const volta_step_report report = trainer.step(x, y);
        if (batch.batch + 1 == batch.batches_of_epoch)
            std::printf("epoch %llu loss %.4f\n", static_cast<unsigned long long>(batch.epoch) + 1,
                        static_cast<double>(report.loss));
    }
    trainer.save(path);
    std::printf("hash %s\n", trainer.hash().c_str());
    trainer.update_model();
}

class classifier {
  public:
    classifier(const volta::context& context, const volta::model& model, std::uint32_t classes)
        : session_(model, {1, 1, kSide, kSide}),
          logits_(classes),
          x_(volta::tensor::wrap(context, pixels_.data(), {1, 1, kSide, kSide})),
          y_(volta::tensor::wrap(context, logits_.data(), {1, classes})) {}
    std::uint32_t operator()(const volta::picture& picture) {
        picture.transform(transform(false), pixels_);
        session_.run(x_, y_);
        return static_cast<std::uint32_t>(std::max_element(logits_.begin(), logits_.end()) - logits_.begin());
    }

  private:
    volta::session session_;
    std::array<float, kSide * kSide> pixels_{};
    std::vector<float> logits_;
    volta::tensor x_, y_;  // over the two above
};

void run(const char* folder, const char* shown, const char* path) {
    const volta::dataset training = open_part(folder, VOLTA_SPLIT_TRAIN), test = open_part(folder, VOLTA_SPLIT_TEST);
    const std::uint32_t classes = training.info().class_count;
    const volta::context context;
    auto network = volta::options<volta_network_options>();
    network.name = "cnn";  // or "resnet18", "mobilenet_v2", ...
    network.classes = classes;
    network.width = 0.25;
    const volta::model model(context, network, 1);
    train(context, model, training, path);

    classifier classify(context, model, classes);
    const std::uint64_t count = test.info().sample_count;
    std::uint64_t right = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        const volta::picture picture = test.read(i);
        right += classify(picture) == static_cast<std::uint32_t>(picture.info().label);
    }
    std::printf("%llu of %llu test pictures right\n", static_cast<unsigned long long>(right),
                static_cast<unsigned long long>(count));
    std::printf("%s: %s\n", shown, training.class_name(classify(volta::picture::open(shown))));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return std::fprintf(stderr, "usage: classify_pictures FOLDER PICTURE OUT.volta\n"), 2;
    try {
        return run(argv[1], argv[2], argv[3]), 0;
    } catch (const volta::error& error) {
        return std::fprintf(stderr, "classify_pictures: %s\n", error.what()), 1;
    }
}
