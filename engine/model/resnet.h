// Residual networks for pictures: those of ImageNet (18, 34, 50 layers) and of CIFAR (20, 32, 44, 56).
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/model/model.h"

namespace volta {

// How a picture becomes the first stage's; the values are volta_resnet_stem's.
enum class ResnetStem : std::int32_t {
    of_depth = VOLTA_RESNET_STEM_OF_DEPTH,  // large for ImageNet's depths, small for CIFAR's
    large = VOLTA_RESNET_STEM_LARGE,        // 7x7 of stride 2, then a maximum of 3x3, stride 2
    small = VOLTA_RESNET_STEM_SMALL         // 3x3
};

//   x = relu(bn1(conv1(pictures))), with the large stem max_pool(x)
//   per block:  x = relu(bn2(conv2(relu(bn1(conv1(x))))) + shortcut(x))       (18, 34 and CIFAR's: two 3x3)
//               x = relu(bn3(conv3(relu(bn2(conv2(relu(bn1(conv1(x)))))))) + shortcut(x))  (50: 1x1, 3x3, 1x1)
//   logits = matmul(mean of x over rows and columns, fc.weight') + fc.bias
//
// A shortcut is x where the shape stays; else downsample.1(downsample.0(x)), a 1x1 convolution and its norm,
// or, in CIFAR's, every second pixel between channels of zeros. Stages begin with a stride of 2, but the
// first. Names are torchvision's: conv1.weight [o, c, k, k], bn1.weight, .bias, .running_mean and
// .running_var [o], layer<1..4>.<i>.conv1.weight, ..., layer<s>.<i>.downsample.0.weight, fc.weight [classes,
// c], fc.bias [classes]. Initial: convolutions N(0, sqrt(2 / (o k k))), norms 1 and 0, statistics 0 and 1, fc
// uniform in +-1 / sqrt(c).
struct ResnetConfig {
    std::int64_t depth = 18;
    std::int64_t classes = 0;                          // 0: 1000, CIFAR's 10
    std::int64_t channels = 3, rows = 0, columns = 0;  // of pictures; 0: 224 with the large stem, else 32
    ResnetStem stem = ResnetStem::of_depth;
};

// Zeros replaced by what they stand for, and everything checked. Throws INVALID_ARGUMENT.
ResnetConfig complete(const ResnetConfig& config);

// Input "pictures" f32 [-1, channels, rows, columns], output "logits" f32 [batch, classes]. Throws
// INVALID_ARGUMENT.
Graph build_resnet(const ResnetConfig& config, std::pmr::memory_resource* heap);

// Says in the model's metadata what it is: "volta.architecture" = "resnet", "volta.resnet.<size>".
void describe_resnet(const ResnetConfig& config, Model& model);

// A model of that graph, described.
HeapPtr<Model> create_resnet(const ResnetConfig& config, std::uint64_t seed,
                             std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors,
                             const InitMachine& machine = {});

}  // namespace volta
