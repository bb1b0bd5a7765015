// What a training run learns from its text: how a step gets its data, and what the validation loss is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/support.h"
#include "cli/training_report.h"

namespace voltac {

class Lesson {
  public:
    virtual ~Lesson() = default;
    std::string validated;  // what the validation loss is of, where that has to be said beside it
    virtual volta_status step(volta_trainer* trainer, volta_step_report* report) = 0;
    virtual bool validates() const { return true; }
    virtual double validation_loss(volta_trainer* trainer) = 0;
    // Of pictures, when that loss was computed: how many are right. 0 of 0: it is not asked.
    virtual std::uint64_t validation_correct() const { return 0; }
    virtual std::uint64_t validation_count() const { return 0; }
    // Of pictures, what validation found of them the last time.
    virtual PictureResults picture_results() { return {}; }
    // Samples that could not be read, by then.
    virtual std::uint64_t skipped() const { return 0; }
    virtual const char* unit() const { return "tokens"; }
};

// Of one row of logits, in f64.
double cross_entropy(const float* logits, std::int64_t count, std::int32_t target);

// Each token from those before it: windows of the text in the library's own order, as gpt and llama learn.
std::unique_ptr<Lesson> next_tokens(volta_trainer* trainer, const std::string& text_path,
                                    const std::vector<std::int32_t>& train,
                                    std::vector<std::int32_t> validation);

// --- tokens that are hidden, as a bert learns (cli/masked_tokens.cpp)

// The id that stands for a hidden token: the vocabulary's [MASK], else the one behind its last.
struct MaskToken {
    std::int32_t id;
    std::int64_t vocabulary;  // of the model: with a row for it
};
MaskToken mask_token(const Tokenizer& tokenizer);

// A text's tokens as a word of a checkpoint's metadata, kMaskedTextKey: a resumed run must have the same.
inline constexpr const char* kMaskedTextKey = "voltac.masked_text";
std::string text_mark(const std::vector<std::int32_t>& tokens);

// Every step takes windows at random, hides 15 of 100 tokens (at least one of each window) and asks for them:
// 8 of 10 of those become the mask, 1 of 10 another token, 1 of 10 stays. All of it follows from seed and
// step, so that a resumed run goes on as if it had never ended. The validation loss hides tokens of
// consecutive windows, the same ones each time. Keeps `model`, which the trainer updates.
std::unique_ptr<Lesson> masked_tokens(const Context& context, Model model, volta_trainer* trainer,
                                      MaskToken mask, std::vector<std::int32_t> train,
                                      std::vector<std::int32_t> validation);

}  // namespace voltac
