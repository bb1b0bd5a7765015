#include "cli/pictures.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>

namespace voltac {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMeanKey = "voltac.pictures.mean";
constexpr const char* kDeviationKey = "voltac.pictures.deviation";
constexpr const char* kResizeKey = "voltac.pictures.resize";
constexpr const char* kClassesKey = "voltac.pictures.classes";
constexpr float kImagenetMean[] = {0.485f, 0.456f, 0.406f}, kImagenetDeviation[] = {0.229f, 0.224f, 0.225f};
constexpr std::int64_t kImagenetSide = 224, kImagenetResize = 256;
constexpr std::uint32_t kBatch = 100, kLoaderThreads = 1;
constexpr std::size_t kShownClasses = 20;  // of a confusion matrix for people

const struct {
    const char* name;
    volta_data_format format;
} kFormats[] = {{"cifar10", VOLTA_DATA_CIFAR10},
                {"cifar100", VOLTA_DATA_CIFAR100},
                {"idx", VOLTA_DATA_IDX},
                {"folder", VOLTA_DATA_FOLDER}};

// One number for all channels, or three. False: it is something else.
bool read_numbers(const std::string& text, char between, float* values) {
    const std::vector<std::string> parts = cut(text, between);
    if (parts.size() != 1 && parts.size() != 3) return false;
    for (std::size_t i = 0; i < 3; ++i) {
        const std::string& part = parts[parts.size() == 1 ? 0 : i];
        char* end = nullptr;
        values[i] = std::strtof(part.c_str(), &end);
        if (part.empty() || *end != '\0' || !std::isfinite(values[i])) return false;
    }
    return true;
}

std::string numbers_text(const float* values) {
    return formatted("%.9g %.9g %.9g", static_cast<double>(values[0]), static_cast<double>(values[1]),
                     static_cast<double>(values[2]));
}

}  // namespace

void check_data(volta_status status) {
    if (status != VOLTA_OK) failure(volta_data_last_error());
}

std::vector<std::string> network_names() {
    std::vector<std::string> names;
    while (const char* name = volta_network_name(names.size())) names.emplace_back(name);
    return names;
}

// ---- What is done to a picture ---------------------------------------------------------------------------

Preprocess parse_preprocess(const std::string& label, const std::string& text, std::int64_t side) {
    Preprocess result;
    if (text == "none") return result;
    if (text == "imagenet") {
        std::copy_n(kImagenetMean, 3, result.mean);
        std::copy_n(kImagenetDeviation, 3, result.deviation);
        if (side >= kImagenetSide)
            result.resize = static_cast<std::uint32_t>(side * kImagenetResize / kImagenetSide);
        return result;
    }
    const std::vector<std::string> halves = cut(text, '/');
    const bool is_read = halves.size() == 2 && read_numbers(halves[0], ',', result.mean) &&
                         read_numbers(halves[1], ',', result.deviation);
    if (!is_read || std::any_of(result.deviation, result.deviation + 3, [](float x) { return !(x > 0); }))
        usage_error(label + ": '" + one_line(text) +
                    "' is neither imagenet nor none nor mean/deviation, as 0.5,0.5,0.5/0.2,0.2,0.2");
    return result;
}

void set_preprocess(volta_model* model, const Preprocess& preprocess) {
    check(volta_model_set_metadata(model, kMeanKey, numbers_text(preprocess.mean).c_str()));
    check(volta_model_set_metadata(model, kDeviationKey, numbers_text(preprocess.deviation).c_str()));
    check(volta_model_set_metadata(model, kResizeKey, std::to_string(preprocess.resize).c_str()));
}

Preprocess preprocess_of(const Model& model) {
    Preprocess result;
    const std::string mean = metadata(model, kMeanKey), deviation = metadata(model, kDeviationKey);
    if (!mean.empty() && !read_numbers(mean, ' ', result.mean))
        failure(formatted("the model's %s is '%s', which is not three numbers", kMeanKey,
                          one_line(mean).c_str()));
    if (!deviation.empty() && !read_numbers(deviation, ' ', result.deviation))
        failure(formatted("the model's %s is '%s', which is not three numbers", kDeviationKey,
                          one_line(deviation).c_str()));
    const std::string resize = metadata(model, kResizeKey);
    if (!resize.empty())
        result.resize = static_cast<std::uint32_t>(std::strtoul(resize.c_str(), nullptr, 10));
    return result;
}

void set_classes(volta_model* model, const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : "\n") + name;
    check(volta_model_set_metadata(model, kClassesKey, text.c_str()));
}

std::vector<std::string> classes_of(const Model& model) {
    const std::string text = metadata(model, kClassesKey);
    return text.empty() ? std::vector<std::string>() : cut(text, '\n');
}

// ---- Data sets -------------------------------------------------------------------------------------------

void DatasetChoice::declare(Options& options) {
    options.choice(
        "--dataset", format, {"cifar10", "cifar100", "idx", "folder", "text"},
        "what --data holds: records of CIFAR, IDX files of MNIST and its like, a folder per class of "
        "JPEG and PNG files, or texts");
    options.text("--data", data, "a folder, or one or several files of records or text separated by commas");
    options.choice("--split", split, {"train", "test", "validation"},
                   split == "train" ? "which part of a folder (default: train)"
                                    : "which part of a folder (default: test); validation: of texts");
    options.integer("--limit", limit, 1, INT64_MAX,
                    "the first N samples alone; of a folder, those of its first classes");
    options.choice(
        "--damaged", damaged, {"stop", "skip"},
        "what a picture does that cannot be read: it ends the command (default), or is left out, named "
        "and counted");
}

void DatasetChoice::check(const std::string& command, const Options& options) const {
    if (options.given("--dataset") != options.given("--data"))
        usage_error(command + ": --dataset and --data go together");
    for (const char* name : {"--split", "--limit", "--damaged"})
        if (options.given(name) && format.empty()) usage_error(command + ": " + name + " needs --dataset");
    for (const char* name : {"--limit", "--damaged"})
        if (options.given(name) && is_of_text())
            usage_error(command + ": " + name + " is of pictures, --dataset text has none");
    if (split == "validation" && !is_of_text())
        usage_error(command + ": --split validation is of texts, --dataset " + format + " has none");
}

DatasetChoice DatasetChoice::evaluated(const std::string& path) const {
    DatasetChoice other = *this;
    if (!path.empty()) other.data = path;
    other.split = "test";
    other.limit = 0;
    return other;
}

namespace {

// Which sample is skipped; on the caller's thread.
void warn_of_data(void*, volta_log_level level, const char* line) {
    if (level >= VOLTA_LOG_WARNING) warn(line);
}

volta_data_damaged policy_of(const DatasetChoice& choice) {
    return choice.damaged == "skip" ? VOLTA_DAMAGED_SKIP : VOLTA_DAMAGED_STOP;
}

volta_status open_dataset(const DatasetChoice& choice, volta_dataset** dataset) {
    volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
    options.log = warn_of_data;
    options.split = choice.split == "train" ? VOLTA_SPLIT_TRAIN : VOLTA_SPLIT_TEST;
    const std::vector<std::string> paths = cut(choice.data, ',');
    std::vector<const char*> names;
    names.reserve(paths.size());
    for (const std::string& path : paths) names.push_back(path.c_str());
    volta_data_format kind = VOLTA_DATA_FOLDER;
    for (const auto& row : kFormats)
        if (choice.format == row.name) kind = row.format;
    return volta_dataset_open(kind, names.data(), names.size(), &options, dataset);
}

}  // namespace

Dataset DatasetChoice::open() const {
    volta_dataset* dataset = nullptr;
    check_data(open_dataset(*this, &dataset));
    return Dataset(dataset);
}

Dataset DatasetChoice::open_if_there() const {
    volta_dataset* dataset = nullptr;
    const volta_status status = is_folder(data) ? open_dataset(*this, &dataset) : VOLTA_IO_ERROR;
    if (status != VOLTA_OK && status != VOLTA_IO_ERROR) check_data(status);
    return Dataset(dataset);
}

// ---- The model on pictures -------------------------------------------------------------------------------

PictureShape picture_shape(const Model& model) {
    volta_tensor_info in, out;
    const bool fits = volta_model_input_count(model.get()) == 1 && volta_model_output_count(model.get()) == 1;
    if (fits) {
        check(volta_model_input_info(model.get(), 0, &in));
        check(volta_model_output_info(model.get(), 0, &out));
    }
    if (!fits || in.rank != 4 || in.shape[0] != -1 || in.dtype != VOLTA_F32 || out.rank != 2 ||
        in.shape[2] < 1 || in.shape[3] < 1)
        failure(
            "the model does not classify pictures: it needs one input [-1, channels, rows, columns] and one "
            "output "
            "[-1, classes]");
    return {in.shape[1], in.shape[2], in.shape[3], out.shape[1]};
}

volta_transform_options transform_of(const PictureShape& shape, const Preprocess& preprocess) {
    volta_transform_options transform = VOLTA_TRANSFORM_OPTIONS_INIT;
    transform.channels = static_cast<std::uint32_t>(shape.channels);
    transform.height = static_cast<std::uint32_t>(shape.rows);
    transform.width = static_cast<std::uint32_t>(shape.columns);
    transform.resize = preprocess.resize > 0 ? preprocess.resize : VOLTA_RESIZE_EXACT;
    std::copy_n(preprocess.mean, 3, transform.mean);
    std::copy_n(preprocess.deviation, 3, transform.deviation);
    return transform;
}

PictureRunner::PictureRunner(const Context& context, const Model& model)
    : context_(context), model_(model), shape_(picture_shape(model)) {}

const float* PictureRunner::run(const float* pictures, std::int64_t count) {
    const std::int64_t in[] = {count, shape_.channels, shape_.rows, shape_.columns},
                       out[] = {count, shape_.classes};
    if (count != count_) {
        volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
        options.input_shapes = in;
        options.input_extent_count = 4;
        volta_session* session = nullptr;
        volta_tensor* logits = nullptr;
        check(volta_session_create(model_.get(), &options, &session));
        session_.reset(session);
        check(volta_tensor_create(context_.get(), VOLTA_F32, out, 2, &logits));
        logits_.reset(logits);
        count_ = count;
    }
    volta_tensor* wrapped = nullptr;
    // Inputs are only read.
    check(volta_tensor_wrap(context_.get(), VOLTA_F32, in, 4, const_cast<float*>(pictures), &wrapped));
    const Tensor x(wrapped);
    const volta_tensor* const inputs[] = {wrapped};
    volta_tensor* outputs[] = {logits_.get()};
    check(volta_session_run(session_.get(), inputs, 1, outputs, 1));
    return static_cast<const float*>(volta_tensor_data(logits_.get()));
}

std::vector<double> probabilities(const float* logits, std::int64_t classes) {
    std::vector<double> result(logits, logits + classes);
    const double largest = *std::max_element(result.begin(), result.end());
    double sum = 0;
    for (double& value : result) sum += value = std::exp(value - largest);
    for (double& value : result) value /= sum;
    return result;
}

// ---- eval ------------------------------------------------------------------------------------------------

namespace {

constexpr std::size_t kWorst = 24;
constexpr std::uint32_t kShownSide = 224;  // of the worst pictures

// A sample that the model has little of its label for.
struct Missed {
    std::uint64_t sample;
    std::size_t label, answer;
    double loss, probability;
};

struct Score {
    std::uint64_t count = 0, correct = 0, in_five = 0, skipped = 0;
    double loss = 0;
    std::vector<std::vector<std::uint64_t>> confusion;  // [the label][what the model says]
    std::vector<Missed> worst;                          // the highest loss first; at most kWorst
};

// Of equal losses the first sample stays before the others.
void keep_worst(std::vector<Missed>& worst, const Missed& missed) {
    const auto behind = std::upper_bound(worst.begin(), worst.end(), missed,
                                         [](const Missed& a, const Missed& b) { return a.loss > b.loss; });
    if (behind - worst.begin() >= static_cast<std::ptrdiff_t>(kWorst)) return;
    worst.insert(behind, missed);
    if (worst.size() > kWorst) worst.pop_back();
}

void add_sample(Score& score, const float* logits, std::int64_t classes, std::int32_t label,
                std::uint64_t sample) {
    const auto at = static_cast<std::size_t>(label);
    const float own = logits[at];
    std::int64_t above = 0, best = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
        above += logits[c] > own || (logits[c] == own && c < label);  // of equals the first is the answer
        if (logits[c] > logits[best]) best = c;
    }
    ++score.count;
    score.correct += above == 0;
    score.in_five += above < 5;
    const double probability = probabilities(logits, classes)[at], loss = -std::log(probability);
    score.loss += loss;
    keep_worst(score.worst, {sample, at, static_cast<std::size_t>(best), loss, probability});
    ++score.confusion[at][static_cast<std::size_t>(best)];
}

Json json_of(const Score& score) {
    const auto count = static_cast<double>(score.count);
    return {{"correct", score.correct},
            {"count", score.count},
            {"top1", static_cast<double>(score.correct) / count},
            {"top5", static_cast<double>(score.in_five) / count},
            {"loss", score.loss / count},
            {"skipped", score.skipped},
            {"confusion", score.confusion}};
}

std::string text_of(const Score& score, const std::vector<std::string>& names) {
    const auto count = static_cast<double>(score.count);
    std::string text = formatted(
        "correct            %llu of %llu\ntop1               %.4f\ntop5               %.4f\n"
        "loss               %.6f\n",
        static_cast<unsigned long long>(score.correct), static_cast<unsigned long long>(score.count),
        static_cast<double>(score.correct) / count, static_cast<double>(score.in_five) / count,
        unsigned_nan(score.loss / count));
    if (score.skipped > 0)
        text += formatted("skipped            %llu\n", static_cast<unsigned long long>(score.skipped));
    if (score.confusion.size() > kShownClasses) return text;
    text += "\nlabels by rows, answers by columns:\n";
    for (std::size_t label = 0; label < score.confusion.size(); ++label) {
        text += formatted("%-16.16s", names[label].c_str());
        for (const std::uint64_t answers : score.confusion[label])
            text += formatted(" %6llu", static_cast<unsigned long long>(answers));
        text += "\n";
    }
    return text;
}

}  // namespace

namespace {

// All samples of a data set, or the first `limit`.
Score score_of(PictureRunner& runner, const Preprocess& preprocess, volta_dataset* dataset,
               const DatasetChoice& choice) {
    const PictureShape& shape = runner.shape();
    const volta_transform_options transform = transform_of(shape, preprocess);
    volta_loader_options options = VOLTA_LOADER_OPTIONS_INIT;
    options.transform = &transform;
    options.sample_limit = static_cast<std::uint64_t>(choice.limit);
    options.damaged = policy_of(choice);
    options.batch = kBatch;
    options.thread_count = kLoaderThreads;
    options.batches = VOLTA_BATCHES_ALL;
    options.flags = VOLTA_LOADER_EVALUATE;
    volta_loader* made = nullptr;
    check_data(volta_loader_create(dataset, &options, &made));
    const Loader loader(made);
    const auto classes = static_cast<std::size_t>(shape.classes);
    Score score;
    score.confusion.assign(classes, std::vector<std::uint64_t>(classes));
    volta_batch batch = VOLTA_BATCH_INIT;
    do {
        check_data(volta_loader_next(loader.get(), &batch));
        score.skipped += batch.skipped;
        const float* const logits = runner.run(batch.pixels, batch.count);
        for (std::uint32_t i = 0; i < batch.count; ++i)
            add_sample(score, logits + i * shape.classes, shape.classes, batch.labels[i], batch.samples[i]);
    } while (batch.batch + 1 < batch.batches_of_epoch);
    return score;
}

void check_classes(volta_dataset* dataset, const PictureShape& shape) {
    volta_dataset_info info = VOLTA_DATASET_INFO_INIT;
    check_data(volta_dataset_get_info(dataset, &info));
    if (info.class_count > shape.classes)
        failure(formatted("the data has %u classes, the model %lld", info.class_count,
                          static_cast<long long>(shape.classes)));
}

}  // namespace

namespace {

// The model's names of classes, then the data's, then numbers.
std::vector<std::string> shown_classes(const Model& model, const volta_dataset* dataset, std::size_t count) {
    std::vector<std::string> names = classes_of(model);
    for (std::size_t c = names.size(); c < count; ++c) {
        const char* const name = volta_dataset_class_name(dataset, static_cast<std::uint32_t>(c));
        names.push_back(name != nullptr ? name : std::to_string(c));
    }
    return names;
}

}  // namespace

int evaluate_pictures(const Context& context, const Model& model, const DatasetChoice& choice, bool json) {
    PictureRunner runner(context, model);
    const Dataset dataset = choice.open();
    check_classes(dataset.get(), runner.shape());
    const Score score = score_of(runner, preprocess_of(model), dataset.get(), choice);
    const std::vector<std::string> names = shown_classes(model, dataset.get(), score.confusion.size());
    print(json ? json_text(json_of(score)) + "\n" : text_of(score, names));
    return 0;
}

// ---- train -----------------------------------------------------------------------------------------------

namespace {

constexpr const char* kAugmentKey = "voltac.pictures.augment";
constexpr std::uint32_t kCropShare = 8;  // of the side, padding of crop-flip: 4 of 32
constexpr float kFlip = 0.5f;

volta_transform_options augmented(volta_transform_options transform, const std::string& name) {
    if (name == kAugmentNames[0]) return transform;
    transform.flip = kFlip;
    if (name == kAugmentNames[2]) {
        transform.random_resized_crop = 1;
        transform.resize = 0;
    } else {
        transform.random_crop = 1;
        transform.crop_padding = transform.height / kCropShare;
    }
    return transform;
}

class PictureLesson final : public Lesson {
  public:
    PictureLesson(const Context& context, Model model, volta_trainer* trainer, Dataset train,
                  const DatasetChoice& choice, Dataset validation)
        : context_(context),
          model_(std::move(model)),
          shape_(picture_shape(model_)),
          train_(std::move(train)),
          validation_(std::move(validation)),
          validated_(choice.evaluated("")) {
        check_classes(train_.get(), shape_);
        if (validation_) check_classes(validation_.get(), shape_);
        volta_trainer_options used = VOLTA_TRAINER_OPTIONS_INIT;
        check(volta_trainer_get_options(trainer, &used));
        const std::int64_t samples = used.input_shapes[0] * static_cast<std::int64_t>(used.micro_batches);
        const volta_transform_options transform =
            augmented(transform_of(shape_, preprocess_of(model_)), metadata(model_, kAugmentKey));
        volta_loader_options options = VOLTA_LOADER_OPTIONS_INIT;
        options.transform = &transform;
        options.seed = used.seed;
        options.sample_limit = static_cast<std::uint64_t>(choice.limit);
        options.batch = static_cast<std::uint32_t>(samples);
        options.thread_count = kLoaderThreads;
        options.damaged = policy_of(choice);
        options.order = VOLTA_ORDER_SHUFFLED;
        volta_loader* made = nullptr;
        check_data(volta_loader_create(train_.get(), &options, &made));
        loader_.reset(made);
        const std::uint64_t step = volta_trainer_current_step(trainer);
        const std::uint64_t batches = batches_of(train_, choice, samples);
        if (step > 0) check_data(volta_loader_seek(made, step / batches, step % batches));
    }

    volta_status step(volta_trainer* trainer, volta_step_report* report) override {
        check_data(volta_loader_next(loader_.get(), &batch_));
        skipped_ += batch_.skipped;
        const std::int64_t shape[] = {batch_.count, shape_.channels, shape_.rows, shape_.columns};
        volta_tensor *pictures = nullptr, *labels = nullptr;
        // Inputs and targets are only read.
        check(volta_tensor_wrap(context_.get(), VOLTA_F32, shape, 4, const_cast<float*>(batch_.pixels),
                                &pictures));
        const Tensor x(pictures);
        check(volta_tensor_wrap(context_.get(), VOLTA_I32, shape, 1, const_cast<std::int32_t*>(batch_.labels),
                                &labels));
        const Tensor y(labels);
        const volta_tensor* const inputs[] = {pictures};
        return volta_trainer_step(trainer, inputs, 1, labels, report);
    }

    bool validates() const override { return validation_ != nullptr; }
    double validation_loss(volta_trainer* trainer) override {
        check(volta_trainer_update_model(trainer));
        PictureRunner runner(context_, model_);
        score_ = score_of(runner, preprocess_of(model_), validation_.get(), validated_);
        return score_.loss / static_cast<double>(score_.count);
    }
    std::uint64_t validation_correct() const override { return score_.correct; }
    std::uint64_t validation_count() const override { return score_.count; }
    PictureResults picture_results() override {
        PictureResults results;
        if (score_.count == 0) return results;
        results.classes = shown_classes(model_, validation_.get(), score_.confusion.size());
        results.confusion = score_.confusion;
        for (const Missed& missed : score_.worst) results.worst.push_back(shown(missed));
        return results;
    }
    std::uint64_t skipped() const override { return skipped_ + score_.skipped; }
    const char* unit() const override { return "pictures"; }

  private:
    // As it is in its file, but small.
    WorstPicture shown(const Missed& missed) const {
        WorstPicture picture;
        char name[512];
        check_data(volta_dataset_sample_name(validation_.get(), missed.sample, name, sizeof name));
        picture.name = name;
        picture.label = missed.label;
        picture.answer = missed.answer;
        picture.loss = missed.loss;
        picture.probability = missed.probability;
        volta_picture* read = nullptr;
        check_data(volta_dataset_read(validation_.get(), missed.sample, &read));
        Picture owned(read);
        volta_picture_info info = VOLTA_PICTURE_INFO_INIT;
        check_data(volta_picture_get_info(read, &info));
        const std::uint32_t side = std::max(info.height, info.width);
        if (side > kShownSide) {
            const auto less = [&](std::uint32_t extent) {
                return std::max<std::uint32_t>(
                    1, static_cast<std::uint32_t>(std::uint64_t{extent} * kShownSide / side));
            };
            volta_picture* resized = nullptr;
            check_data(volta_picture_resize(read, less(info.height), less(info.width), VOLTA_FILTER_BILINEAR,
                                            &resized));
            owned.reset(resized);
            check_data(volta_picture_get_info(resized, &info));
        }
        picture.channels = info.channels;
        picture.height = info.height;
        picture.width = info.width;
        picture.pixels.assign(reinterpret_cast<const char*>(info.pixels),
                              std::size_t{info.channels} * info.height * info.width);
        return picture;
    }

    using Tensor = std::unique_ptr<volta_tensor, Release<volta_tensor, volta_tensor_release>>;
    const Context& context_;
    Model model_;
    const PictureShape shape_;
    Dataset train_, validation_;
    const DatasetChoice validated_;
    std::uint64_t skipped_ = 0;  // of the pictures that were learnt
    Loader loader_;
    volta_batch batch_ = VOLTA_BATCH_INIT;
    Score score_;
};

}  // namespace

std::unique_ptr<Lesson> picture_lesson(const Context& context, Model model, volta_trainer* trainer,
                                       Dataset train, const DatasetChoice& choice, Dataset validation) {
    return std::make_unique<PictureLesson>(context, std::move(model), trainer, std::move(train), choice,
                                           std::move(validation));
}

void set_augment(volta_model* model, const std::string& name) {
    check(volta_model_set_metadata(model, kAugmentKey, name.c_str()));
}

std::uint64_t batches_of(const Dataset& dataset, const DatasetChoice& choice, std::int64_t batch) {
    volta_dataset_info info = VOLTA_DATASET_INFO_INIT;
    check_data(volta_dataset_get_info(dataset.get(), &info));
    std::uint64_t samples = info.sample_count;
    if (choice.limit > 0) samples = std::min(samples, static_cast<std::uint64_t>(choice.limit));
    const std::uint64_t batches = samples / static_cast<std::uint64_t>(batch);
    if (batches == 0)
        failure(formatted("the data has %llu samples, fewer than a batch of %lld",
                          static_cast<unsigned long long>(samples), static_cast<long long>(batch)));
    return batches;
}

std::vector<std::string> class_names(const Dataset& dataset) {
    volta_dataset_info info = VOLTA_DATASET_INFO_INIT;
    check_data(volta_dataset_get_info(dataset.get(), &info));
    std::vector<std::string> names;
    for (std::uint32_t c = 0; c < info.class_count; ++c)
        names.push_back(volta_dataset_class_name(dataset.get(), c));
    return names;
}

}  // namespace voltac
