// The models that voltac bench trains: presets of language models, multi-layer perceptrons and one linear
// layer, with the work one training step of them is at least.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/presets.h"
#include "cli/support.h"

namespace voltac::bench {

// One training step on `batch` sequences (or samples).
struct Subject {
    std::string name;
    Model model;
    std::int64_t batch = 0, seq = 0, vocabulary = 0;  // seq, vocabulary: 0 for what is no language model
    std::vector<std::int64_t> input_shape;            // of the one input
    std::vector<std::int64_t> target_shape;
    std::int64_t classes = 0;  // of targets, which are i32 then; 0: they are numbers
    double parameters = 0;
    double forward_operations = 0;  // of networks of pictures: of the forward pass alone
    double operations = 0;          // of one step, forward and backward: a multiply-add is two
    std::int64_t per_step() const { return seq > 0 ? batch * seq : batch; }  // tokens, or samples
};

const Preset& preset_of(const std::string& name);

// Operations: 6 per weight of a product and token (the head included), and causal attention.
Subject language_subject(const Context& context, const Preset& preset, std::int64_t vocabulary,
                         std::int64_t batch, std::int64_t seq);

// "mlp:A-B-...-Z": linear layers with ReLU between them; "linear:A-B" or "linear" (512-512): one layer. Wrong
// words are usage errors of `command`. Operations: 6 per weight and sample, 4 in the first layer, whose input
// needs no gradient.
Subject dense_subject(const Context& context, const std::string& command, const std::string& text,
                      std::int64_t batch);

// "resnet20", "resnet18" (both on pictures of 32 x 32), "resnet50" or "mobilenet_v2" (224 x 224). Operations:
// 6 per multiply-add of convolutions and the head, 4 in the first one.
std::vector<std::string> all_preset_names();  // of language models, then of networks
bool is_network(const std::string& preset);
std::int64_t usual_batch(const std::string& network);
Subject network_subject(const Context& context, const std::string& network, std::int64_t batch);

double parameter_count(const Model& model);

}  // namespace voltac::bench
