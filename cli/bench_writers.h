// Sequences that are written again and again: what voltac bench infer measures.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cli/architectures.h"
#include "cli/bench_case.h"
#include "cli/bench_timing.h"
#include "cli/options.h"

namespace voltac::bench {

using Sequence = std::unique_ptr<volta_sequence, Release<volta_sequence, volta_sequence_release>>;

// A generator with its sequences, whose prompts are given again for every run.
class Writers {
  public:
    Writers(const Model& model, std::int64_t prompt_tokens, std::int64_t sequences, uint32_t flags,
            const Draws& draws = {}) {
        volta_generator_options options = VOLTA_GENERATOR_OPTIONS_INIT;
        draws.fill(options);
        options.sequences = sequences;
        options.flags = flags;
        volta_generator* generator = nullptr;
        check(volta_generator_create(model.get(), &options, &generator));
        generator_.reset(generator);
        Random random(1);
        const std::int64_t vocabulary = vocabulary_of(model);
        for (std::int64_t i = 0; i < sequences; ++i) {
            volta_sequence* made = nullptr;
            check(volta_sequence_create(generator, nullptr, &made));
            owned_.emplace_back(made);
            handles_.push_back(made);
            std::vector<std::int32_t> prompt(static_cast<std::size_t>(prompt_tokens));
            for (std::int32_t& token : prompt) token = random.below(vocabulary);
            prompts_.push_back(std::move(prompt));
        }
        drawn_.resize(handles_.size());
    }

    const volta_generator* get() const { return generator_.get(); }
    void restart() {
        for (std::size_t i = 0; i < handles_.size(); ++i) {
            check(volta_sequence_rewind(handles_[i], 0));
            check(volta_sequence_append(handles_[i], prompts_[i].data(), prompts_[i].size()));
        }
    }
    void step() {
        check(volta_generator_step(generator_.get(), handles_.data(), handles_.size(), drawn_.data()));
    }

  private:
    Generator generator_;
    std::vector<Sequence> owned_;
    std::vector<volta_sequence*> handles_;
    std::vector<std::vector<std::int32_t>> prompts_;
    std::vector<std::int32_t> drawn_;
};

// Seconds from the prompt to the last of a few tokens.
inline double seconds_to_draw(Writers& writers, std::int64_t tokens) {
    return seconds_of([&] {
        writers.restart();
        for (std::int64_t i = 0; i < tokens; ++i) writers.step();
    });
}

}  // namespace voltac::bench
