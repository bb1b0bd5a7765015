// Networks that classify pictures, one row each: residual networks of ImageNet (18, 34, 50 layers) and of
// CIFAR (20, 32, 44, 56), MobileNetV2, and a small network of convolutions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string_view>

#include "engine/model/model.h"

namespace volta {

// How a picture becomes the first stage's; the values are volta_network_stem's.
enum class Stem : std::int32_t {
    usual = VOLTA_STEM_USUAL,  // the network's own
    large = VOLTA_STEM_LARGE,  // for pictures of ImageNet
    small = VOLTA_STEM_SMALL   // for pictures of CIFAR
};

struct NetworkConfig;

struct Network {
    const char* name;          // "resnet18"
    const char* architecture;  // "volta.architecture": "resnet", whose sizes lie in "volta.resnet.<size>"
    std::int64_t depth;        // by which the file of a ResNet names it; 0: by its architecture alone
    Stem stem;                 // its usual one
    bool has_stems;            // it can have either
    bool has_width;            // its numbers of filters can be multiplied
    std::int64_t classes, channels, side;  // what zeros stand for; side: with its usual stem
    std::int64_t least_side;               // of pictures
    const char* classifier;                // the parameter that has a row for each class
    Graph (*build)(const NetworkConfig& whole, std::pmr::memory_resource* heap);
};
struct Networks {
    const Network* first;
    std::size_t count;
    const Network* begin() const { return first; }
    const Network* end() const { return first + count; }
};
Networks all_networks();
const Network& find_network(std::string_view name);  // Throws INVALID_ARGUMENT.
const Network& resnet_of(std::int64_t depth);        // Throws INVALID_ARGUMENT.
// The row of a file; NULL: the architecture is none of a network.
const Network* network_of_architecture(std::string_view architecture);

struct NetworkConfig {
    const Network* network = nullptr;
    std::int64_t classes = 0, channels = 0, rows = 0, columns = 0;  // 0: the network's
    double width = 0;  // of all numbers of filters; 0: 1, or it has none
    Stem stem = Stem::usual;
};

// Zeros replaced by what they stand for, and everything checked. Throws INVALID_ARGUMENT.
NetworkConfig complete(const NetworkConfig& config);

// Input "pictures" f32 [-1, channels, rows, columns], output "logits" f32 [batch, classes]. Throws
// INVALID_ARGUMENT.
Graph build_network(const NetworkConfig& config, std::pmr::memory_resource* heap);

// Says in the model's metadata what it is: "volta.architecture", "volta.<architecture>.<size>".
void describe_network(const NetworkConfig& config, Model& model);

// A model of that graph, described.
HeapPtr<Model> create_network(const NetworkConfig& config, std::uint64_t seed,
                              std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors,
                              const InitMachine& machine = {});

// ---- The builders, of complete configurations ------------------------------------------------------------
//
// Names of parameters are torchvision's, where it has the network: a convolution's weight is [filters,
// channels, k, k], a norm has weight, bias, running_mean and running_var. Initial: convolutions
// N(0, sqrt(2 / (filters k k))), norms 1 and 0, statistics 0 and 1.

//   x = relu(bn1(conv1(pictures))), with the large stem max_pool(x)
//   per block:  x = relu(bn2(conv2(relu(bn1(conv1(x))))) + shortcut(x))       (18, 34 and CIFAR's: two 3x3)
//               x = relu(bn3(conv3(relu(bn2(conv2(relu(bn1(conv1(x)))))))) + shortcut(x))  (50: 1x1, 3x3, 1x1)
//   logits = matmul(mean of x over rows and columns, fc.weight') + fc.bias
//
// The large stem is a 7x7 of stride 2, then a maximum of 3x3, stride 2; the small one a 3x3. A shortcut is x
// where the shape stays; else downsample.1(downsample.0(x)), a 1x1 convolution and its norm, or, in CIFAR's,
// every second pixel between channels of zeros. Stages begin with a stride of 2, but the first. fc is uniform
// in +-1 / sqrt(its inputs) at first.
Graph build_resnet(const NetworkConfig& whole, std::pmr::memory_resource* heap);

//   x = relu6(norm(3x3 of stride 2 (pictures)))                                              features.0
//   per block:  y = relu6(norm(1x1 to 6 times the channels (x))), but in the first block
//               y = relu6(norm(3x3 of each channel alone (y)))
//               y = norm(1x1 (y)), and + x where the shape stays                             features.1 ... 17
//   x = relu6(norm(1x1 to 1280 (x)))                                                         features.18
//   logits = matmul(mean of x over rows and columns, classifier.1.weight') + classifier.1.bias
//
// The small stem has a stride of 1, and so has the second stage. The classifier is N(0, 0.01) and zeros.
Graph build_mobilenet_v2(const NetworkConfig& whole, std::pmr::memory_resource* heap);

//   per block i:  x = max_pool(relu(bn<i>(conv<i>(x)))), 3x3 to 32, 64 and 128 channels, maxima of 2x2 of
//                 stride 2
//   logits = matmul(all of x, fc.weight') + fc.bias
Graph build_cnn(const NetworkConfig& whole, std::pmr::memory_resource* heap);

}  // namespace volta
