// Models of pictures: what is done to a picture before the model sees it, data sets of pictures, and the
// model run on them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/lesson.h"
#include "cli/options.h"
#include "cli/support.h"
#include "include/volta_data.h"

namespace voltac {

void check_data(volta_status status);  // failure(volta_data_last_error()) unless OK

using Dataset = std::unique_ptr<volta_dataset, Release<volta_dataset, volta_dataset_release>>;
using Loader = std::unique_ptr<volta_loader, Release<volta_loader, volta_loader_release>>;
using Picture = std::unique_ptr<volta_picture, Release<volta_picture, volta_picture_release>>;

// Of values between 0 and 1, per channel. It lies in the model's metadata.
struct Preprocess {
    float mean[3] = {0, 0, 0}, deviation[3] = {1, 1, 1};
    std::uint32_t resize = 0;  // the shorter side, before the middle is cut out; 0: to the model's size
};
inline constexpr const char* kPreprocessHelp =
    "of a model of pictures: imagenet (ImageNet's mean and deviation), none, or numbers mean/deviation, each "
    "one or "
    "three, as 0.5,0.5,0.5/0.2,0.2,0.2";
// The value of --preprocess; a usage error that begins with `label`. `side`: the model's pictures.
Preprocess parse_preprocess(const std::string& label, const std::string& text, std::int64_t side);
void set_preprocess(volta_model* model, const Preprocess& preprocess);
Preprocess preprocess_of(const Model& model);
// Names of classes in the model's metadata; empty: none.
void set_classes(volta_model* model, const std::vector<std::string>& names);
std::vector<std::string> classes_of(const Model& model);

// The networks that the library makes: --model.
std::vector<std::string> network_names();

// --dataset, --data, --split, --limit and --damaged: of pictures, but for `text`.
struct DatasetChoice {
    std::string format, data, split = "test", damaged = "stop";
    std::int64_t limit = 0;
    void declare(Options& options);  // the split's default is what it holds
    // Both or none of --dataset and --data, and no other option without them.
    void check(const std::string& command, const Options& options) const;
    bool is_given() const { return !format.empty() && !is_of_text(); }  // of pictures
    bool is_of_text() const { return format == "text"; }                // cli/texts.h reads it
    Dataset open() const;
    Dataset open_if_there() const;  // NULL where the folder has no such part
    DatasetChoice evaluated(
        const std::string& path) const;  // the same of other files, or of a folder's test part
};

// The model's only input, [-1, channels, rows, columns], and its classes.
struct PictureShape {
    std::int64_t channels, rows, columns, classes;
    std::int64_t elements() const { return channels * rows * columns; }
};
PictureShape picture_shape(const Model& model);  // failure where the model is not of pictures
volta_transform_options transform_of(const PictureShape& shape, const Preprocess& preprocess);

// The model on so many pictures at a time. Makes a session for each number of them that comes.
class PictureRunner {
  public:
    PictureRunner(const Context& context, const Model& model);
    const PictureShape& shape() const { return shape_; }
    // logits [count, classes], which stay until the next call.
    const float* run(const float* pictures, std::int64_t count);

  private:
    using Tensor = std::unique_ptr<volta_tensor, Release<volta_tensor, volta_tensor_release>>;
    const Context& context_;
    const Model& model_;
    const PictureShape shape_;
    std::int64_t count_ = 0;
    Session session_;
    Tensor logits_;
};

// Probabilities of a row of logits, in double.
std::vector<double> probabilities(const float* logits, std::int64_t classes);

// How training changes pictures at random, by name: --augment.
inline constexpr const char* kAugmentNames[] = {"none", "crop-flip", "resized-crop"};

// The model, metadata of pictures included, learns a data set's shuffled batches; where there is another one,
// what it has right of that is told at the end. Everything follows from the trainer's seed and step: a
// resumed run goes on as if it had never ended. Keeps `model`, which the trainer updates.
std::unique_ptr<Lesson> picture_lesson(const Context& context, Model model, volta_trainer* trainer,
                                       Dataset train, const DatasetChoice& choice, Dataset validation);
void set_augment(volta_model* model, const std::string& name);
// Batches that an epoch of `batch` samples has.
std::uint64_t batches_of(const Dataset& dataset, const DatasetChoice& choice, std::int64_t batch);
std::vector<std::string> class_names(const Dataset& dataset);

// voltac eval with --dataset.
int evaluate_pictures(const Context& context, const Model& model, const DatasetChoice& choice, bool json);

}  // namespace voltac
