"""The networks of volta_model_create_network in PyTorch: parameters have Volta's names."""

import torch
from torch import nn


def conv(inputs, outputs, kernel, stride, groups=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)


class BasicBlock(nn.Module):
    """Of a ResNet for CIFAR: a shortcut that changes its shape takes every second pixel, between channels of zeros."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = conv(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = conv(outputs, outputs, 3, 1), nn.BatchNorm2d(outputs)
        self.stride, self.before = stride, (outputs - inputs) // 2

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        if self.stride > 1:
            x = nn.functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.before, self.before))
        return torch.relu(y + x)


class CifarResnet(nn.Module):
    def __init__(self, depth, classes):
        super().__init__()
        self.conv1, self.bn1 = conv(3, 16, 3, 1), nn.BatchNorm2d(16)
        blocks, inputs = (depth - 2) // 6, 16
        for stage, outputs in enumerate((16, 32, 64), 1):
            layers = []
            for i in range(blocks):
                layers.append(BasicBlock(inputs, outputs, 2 if stage > 1 and i == 0 else 1))
                inputs = outputs
            setattr(self, f"layer{stage}", nn.Sequential(*layers))
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        return self.fc(self.layer3(self.layer2(self.layer1(x))).mean((2, 3)))


class ProjectedBlock(nn.Module):
    """Of a ResNet for ImageNet: basic or, with `bottleneck`, of 1x1, 3x3 and 1x1; its shortcut is a convolution."""

    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = 4 * width if bottleneck else width
        kernels = ((inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)) if bottleneck else \
            ((inputs, width, 3, stride), (width, width, 3, 1))
        self.count = len(kernels)
        for i, sizes in enumerate(kernels, 1):
            setattr(self, f"conv{i}", conv(*sizes))
            setattr(self, f"bn{i}", nn.BatchNorm2d(sizes[1]))
        self.downsample = None
        if stride > 1 or inputs != outputs:
            self.downsample = nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = x
        for i in range(1, self.count + 1):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            y = torch.relu(y) if i < self.count else y
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class Resnet(nn.Module):
    """ResNet-18, 34 and 50; `large`: the stem for ImageNet, 7x7 and a pooling."""

    def __init__(self, depth, classes, large):
        super().__init__()
        self.conv1 = conv(3, 64, 7, 2) if large else conv(3, 64, 3, 1)
        self.bn1, self.pool = nn.BatchNorm2d(64), nn.MaxPool2d(3, 2, 1) if large else nn.Identity()
        blocks, bottleneck = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}[depth], depth >= 50
        inputs = 64
        for stage, count in enumerate(blocks, 1):
            layers = []
            for i in range(count):
                width = 32 << stage
                layers.append(ProjectedBlock(inputs, width, 2 if stage > 1 and i == 0 else 1, bottleneck))
                inputs = 4 * width if bottleneck else width
            setattr(self, f"layer{stage}", nn.Sequential(*layers))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        return self.fc(self.layer4(self.layer3(self.layer2(self.layer1(x)))).mean((2, 3)))


def scaled(channels, width):
    """As torchvision's _make_divisible: a multiple of 8, at least nine tenths of channels * width."""
    wanted = channels * width
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * wanted else rounded


def activated(inputs, outputs, kernel, stride, groups=1):
    return nn.Sequential(conv(inputs, outputs, kernel, stride, groups), nn.BatchNorm2d(outputs), nn.ReLU6())


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, expansion):
        super().__init__()
        hidden = inputs * expansion
        layers = [activated(inputs, hidden, 1, 1)] if expansion > 1 else []
        layers += [activated(hidden, hidden, 3, stride, hidden), conv(hidden, outputs, 1, 1), nn.BatchNorm2d(outputs)]
        self.conv = nn.Sequential(*layers)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.conv(x) if self.adds else self.conv(x)


class MobilenetV2(nn.Module):
    """Without dropout. The stem for small pictures has strides of 1 at the beginning and of the second stage."""

    def __init__(self, width, classes, large=False):
        super().__init__()
        inputs, first = scaled(32, width), 2 if large else 1
        features = [activated(3, inputs, 3, first)]
        stages = [(1, 16, 1, 1), (6, 24, 2, first), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                  (6, 320, 1, 1)]
        for expansion, channels, blocks, stride in stages:
            outputs = scaled(channels, width)
            for i in range(blocks):
                features.append(InvertedResidual(inputs, outputs, stride if i == 0 else 1, expansion))
                inputs = outputs
        last = scaled(1280, max(1, width))
        features.append(activated(inputs, last, 1, 1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(0), nn.Linear(last, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))
