// voltac train --from: a new run that begins with the weights of a model that is there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/adapters.h"
#include "cli/options.h"
#include "cli/support.h"

namespace voltac {

struct FineTuning {
    std::string from;
    std::vector<std::string> freeze;  // names and patterns of parameters, some behind commas
    std::int64_t classes = 0;         // of a new last layer; 0: the model's stays
    LoraChoice lora{"voltac train"};

    void declare(Options& options);
    // What belongs to --from alone, and what the model says itself.
    void check(const Options& options, bool of_pictures) const;
    bool is_given() const { return !from.empty(); }
    // The model; with --classes one whose last layer is drawn from `seed`, with --lora one with adapters.
    Model open(const Context& context, std::uint64_t seed) const;
    // What --resume goes on with: a checkpoint, with --from one of adapters on that model.
    Model resumed(const Context& context, const std::string& checkpoint) const;
    // volta_trainer_create with the frozen parameters among the options.
    Trainer train(volta_model* model, volta_trainer_options options) const;
};

// For a run on a text. Tokens of a window: `given`, or as many as the model takes, at most 256.
std::int64_t window_of(const Model& model, std::int64_t given);
// Failure unless the model can be trained on a text by voltac.
void check_of_text(const Model& model, const std::string& path);

}  // namespace voltac
