// What tests of a device in use share: a small GPT in training on the fake driver, whose objects are released
// when a test leaves.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/fake_cuda/fake_access.h"
#include "volta.h"

namespace volta::test {

inline char kernels[] = "/tmp/volta_traffic_XXXXXX";  // a folder: compiled once for all tests
// Around a group of tests.
inline int make_kernels(void**) { return mkdtemp(kernels) == nullptr ? -1 : 0; }
inline int remove_kernels(void**) {
    std::filesystem::remove_all(kernels);
    return 0;
}
inline constexpr std::uint64_t kBudget = std::uint64_t{1} << 30;
inline constexpr std::int32_t kVocabulary = 4096, kContext = 32;
inline constexpr std::int64_t kBatch = 2;
inline constexpr std::uint64_t kMicroBatches = 2;

inline bool ok(volta_status status) {
    if (status != VOLTA_OK) print_error("%s: %s\n", volta_status_name(status), volta_last_error());
    return status == VOLTA_OK;
}

// Releases by C++'s rules, so that a failed assertion is the only thing that a test leaves behind.
template <class T, void (*release)(T*)>
struct Owned {
    T* object = nullptr;
    Owned() = default;
    ~Owned() { release(object); }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;
    void reset() {
        release(object);
        object = nullptr;
    }
};
using OwnedContext = Owned<volta_context, volta_context_release>;
using OwnedModel = Owned<volta_model, volta_model_release>;
using OwnedTrainer = Owned<volta_trainer, volta_trainer_release>;
using OwnedGenerator = Owned<volta_generator, volta_generator_release>;

inline volta_status make_context(OwnedContext& context, std::uint64_t budget = kBudget,
                                 const char* device = "cuda") {
    volta_context_options options = {};
    options.struct_size = sizeof options;
    options.device = device;
    options.device_budget = budget;
    options.kernel_folder = kernels;
    options.thread_count = 1;
    return volta_context_create(&options, &context.object);
}

inline volta_status make_model(const OwnedContext& context, OwnedModel& model) {
    volta_gpt_options gpt = {};
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = kVocabulary;
    gpt.layers = 1;
    gpt.dim = 32;
    gpt.heads = 2;
    gpt.context = kContext;
    gpt.dropout = 0.1;
    return volta_model_create_gpt(context.object, &gpt, 7, &model.object);
}

inline volta_status make_trainer(const OwnedModel& model, OwnedTrainer& trainer,
                                 std::uint32_t micro_batches = kMicroBatches) {
    const std::int64_t shape[] = {kBatch, kContext};
    volta_trainer_options options = {};
    options.struct_size = sizeof options;
    options.input_shapes = shape;
    options.input_extent_count = 2;
    options.micro_batches = micro_batches;
    options.clip_norm = 1;
    options.learning_rate = 1e-2;
    return volta_trainer_create(model.object, &options, &trainer.object);
}

inline volta_status give_tokens(const OwnedTrainer& trainer) {
    std::vector<std::int32_t> tokens(2000);
    for (std::size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = static_cast<std::int32_t>(i * i % static_cast<std::size_t>(kVocabulary));
    return volta_trainer_set_tokens(trainer.object, tokens.data(), tokens.size());
}

}  // namespace volta::test
