"""What bench/tape_peers.py runs: the same networks of volta.nn and of torch.nn, and their inputs."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Widths of the perceptron; of a block of GPT-2 124M; of a GPT that is small.
MLP = dict(widths=(784, 1024, 1024, 10), batch=64)
BLOCK = dict(dim=768, heads=12, batch=4, time=64)
GPT = dict(vocabulary=65, layers=6, dim=384, heads=6, batch=4, time=256)  # the preset tiny
RESNET20 = dict(depth=20, classes=10, side=32)
RESNET50 = dict(depth=50, classes=1000, side=224)


def data(name, batch=None):
    """(inputs, targets) of NumPy, the same on both sides."""
    import numpy as np

    random = np.random.default_rng(1)
    normal = lambda *shape: random.standard_normal(shape).astype(np.float32)  # noqa: E731
    if name == "mlp":
        return normal(MLP["batch"], MLP["widths"][0]), random.integers(0, MLP["widths"][-1], MLP["batch"]).astype(np.int32)
    if name == "block":
        shape = (BLOCK["batch"], BLOCK["time"], BLOCK["dim"])
        return normal(*shape), normal(*shape)
    if name == "gpt":
        words = random.integers(0, GPT["vocabulary"], (GPT["batch"], GPT["time"] + 1)).astype(np.int32)
        return words[:, :-1].copy(), words[:, 1:].copy()
    of = RESNET20 if name == "resnet20" else RESNET50
    return normal(batch, 3, of["side"], of["side"]), random.integers(0, of["classes"], batch).astype(np.int32)


def volta_network(name, volta):
    """A volta.nn.Module, made of tape operators alone."""
    nn = volta.nn

    class Block(nn.Module):
        def __init__(self, dim, heads):
            self.norm1, self.attention, self.norm2 = nn.LayerNorm(dim), nn.MultiHeadAttention(dim, heads), nn.LayerNorm(dim)
            self.fc, self.proj = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.proj(self.fc(self.norm2(x)).gelu("tanh"))

    class Gpt(nn.Module):
        def __init__(self, vocabulary, layers, dim, heads, time, **_):
            self.tokens = nn.Embedding(vocabulary, dim)
            self.positions = nn.initial((time, dim), "normal", 0.02)
            self.blocks, self.norm = [Block(dim, heads) for _ in range(layers)], nn.LayerNorm(dim)
            self.head = nn.Linear(dim, vocabulary, bias=False)

        def forward(self, ids):
            x = self.tokens(ids) + self.positions
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    class Residual(nn.Module):
        """A block of a ResNet: two convolutions, or with `bottleneck` three. Its shortcut is a convolution, or for CIFAR every second
        pixel between channels of zeros."""

        def __init__(self, inputs, width, stride, bottleneck, of_cifar):
            outputs = 4 * width if bottleneck else width
            kernels = ((inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)) if bottleneck else \
                ((inputs, width, 3, stride), (width, width, 3, 1))
            self.convolutions = [nn.Conv2d(a, b, k, s, k // 2, bias=False) for a, b, k, s in kernels]
            self.norms = [nn.BatchNorm2d(sizes[1]) for sizes in kernels]
            self.stride, self.inputs, self.outputs, self.shortcut = stride, inputs, outputs, []
            if not of_cifar and (stride > 1 or inputs != outputs):
                self.shortcut = [nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)]

        def forward(self, x):
            y = x
            for i, (convolution, norm) in enumerate(zip(self.convolutions, self.norms), 1):
                y = norm(convolution(y))
                y = y.relu() if i < len(self.norms) else y
            for layer in self.shortcut:
                x = layer(x)
            if not self.shortcut and self.inputs != self.outputs:
                x = volta.apply("average_pool", x, kernel=[1, 1], strides=[self.stride, self.stride])
                x = volta.apply("slice_grad", x, axis=1, begin=(self.outputs - self.inputs) // 2, rows=self.outputs)
            return (y + x).relu()

    class Resnet(nn.Module):
        def __init__(self, depth, classes, **_):
            self.of_cifar = depth == 20
            width, counts = (16, (3, 3, 3)) if self.of_cifar else (64, (3, 4, 6, 3))
            self.stem = nn.Conv2d(3, width, 3, 1, 1, bias=False) if self.of_cifar else nn.Conv2d(3, width, 7, 2, 3, bias=False)
            self.norm, self.blocks, inputs = nn.BatchNorm2d(width), [], width
            for stage, count in enumerate(counts):
                for i in range(count):
                    stride = 2 if stage > 0 and i == 0 else 1
                    self.blocks.append(Residual(inputs, width << stage, stride, not self.of_cifar, self.of_cifar))
                    inputs = self.blocks[-1].outputs
            self.fc = nn.Linear(inputs, classes)

        def forward(self, x):
            x = self.norm(self.stem(x)).relu()
            if not self.of_cifar:
                x = volta.apply("max_pool", x, kernel=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
            for block in self.blocks:
                x = block(x)
            return self.fc(x.mean(axis=(2, 3)))

    if name == "mlp":
        layers = []
        for a, b in zip(MLP["widths"], MLP["widths"][1:]):
            layers += [nn.ReLU()] * bool(layers) + [nn.Linear(a, b)]
        return nn.Sequential(*layers)
    if name == "block":
        return Block(BLOCK["dim"], BLOCK["heads"])
    return Gpt(**GPT) if name == "gpt" else Resnet(**(RESNET20 if name == "resnet20" else RESNET50))


def torch_network(name, torch):
    """A torch.nn.Module of the same sizes, with what PyTorch's users would take for speed."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "parity"))
    from networks_torch import CifarResnet, Resnet

    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.norm1, self.norm2, self.heads = nn.LayerNorm(dim), nn.LayerNorm(dim), heads
            self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
            self.fc, self.proj = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

        def forward(self, x):
            batch, time, dim = x.shape
            q, k, v = (t.view(batch, time, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).split(dim, -1))
            o = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(o.transpose(1, 2).reshape(batch, time, dim))
            return x + self.proj(nn.functional.gelu(self.fc(self.norm2(x)), approximate="tanh"))

    class Gpt(nn.Module):
        def __init__(self, vocabulary, layers, dim, heads, time, **_):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(vocabulary, dim), nn.Parameter(0.02 * torch.randn(time, dim))
            self.blocks = nn.Sequential(*(Block(dim, heads) for _ in range(layers)))
            self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocabulary, bias=False)

        def forward(self, ids):
            return self.head(self.norm(self.blocks(self.tokens(ids) + self.positions)))

    if name == "mlp":
        layers = []
        for a, b in zip(MLP["widths"], MLP["widths"][1:]):
            layers += [nn.ReLU()] * bool(layers) + [nn.Linear(a, b)]
        return nn.Sequential(*layers)
    if name == "block":
        return Block(BLOCK["dim"], BLOCK["heads"])
    if name == "gpt":
        return Gpt(**GPT)
    return CifarResnet(20, 10) if name == "resnet20" else Resnet(50, 1000, True)
