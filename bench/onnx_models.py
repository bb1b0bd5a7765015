"""The networks of onnx_peers.py as ONNX files: some that are there, some that PyTorch exports from modules made here.

The light models of the Python package onnx have constants in the place of their weights; they get random ones, so that
both sides read them from memory as they would read a trained network's, and end before their softmax, which would hide
differences. Weights that a file lists as inputs too, which keeps ONNX Runtime from packing them, are listed once.
"""

import math
import os
import warnings

LIGHT = ("resnet50", "squeezenet", "bvlc_alexnet", "inception_v1", "inception_v2", "densenet121", "shufflenet",
         "zfnet512", "vgg19")
STORED = {"mnist-8": os.path.join("mnist-8", "model.onnx"), "ultraface": os.path.join("ultraface-slim-320", "model.onnx")}
EXPORTED = ("gpt", "bert", "resnet18", "mobilenet_v2", "lstm", "unet")
NAMES = (*STORED, *LIGHT, *EXPORTED)


def light(name, folder):
    """The light model with random numbers where it has constants: 1/sqrt(inputs of a weight) large, others around 1."""
    import numpy as np
    import onnx
    from onnx import numpy_helper

    random = np.random.default_rng(1)
    here = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light", f"light_{name}.onnx")
    model = onnx.load(here)
    graph = model.graph
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    made = {}
    kept = []
    for node in graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in shapes:
            kept.append(node)
            continue
        shape = tuple(int(extent) for extent in shapes[node.input[0]])
        if len(shape) > 1:
            values = random.standard_normal(shape, np.float32) * np.float32(math.sqrt(2 / np.prod(shape[1:])))
        else:
            values = random.uniform(0.5, 1.5, shape).astype(np.float32)
        made[node.output[0]] = values
    del graph.node[:]
    graph.node.extend(kept)
    for node in kept:  # biases are small, and means: what is left around 1 are scales and variances
        small = [node.input[2]] if node.op_type in ("Conv", "Gemm") and len(node.input) > 2 else []
        if node.op_type == "BatchNormalization":
            small = [node.input[2], node.input[3]]
        for tensor in small:
            if tensor in made:
                made[tensor] = (made[tensor] - 1) / 10
    used = {tensor for node in kept for tensor in node.input}
    initializers = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.initializer[:]
    graph.initializer.extend(initializers)
    graph.initializer.extend(numpy_helper.from_array(values, tensor) for tensor, values in made.items() if tensor in used)
    ends = {node.output[0]: node for node in kept if node.op_type == "Softmax"}
    for port in graph.output:
        if port.name in ends:
            kept.remove(ends[port.name])
            port.name = ends[port.name].input[0]
    del graph.node[:]
    graph.node.extend(kept)
    return written(model, name, folder)


def written(model, name, folder):
    """The file, with inputs that are no weights."""
    import onnx

    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    used = {tensor for node in graph.node for tensor in node.input}
    inputs = [port for port in graph.input if port.name in used and port.name not in weights]
    del graph.input[:]
    graph.input.extend(inputs)
    model.ir_version = max(model.ir_version, 4)
    path = os.path.join(folder, f"{name}.onnx")
    onnx.save(model, path)
    return path


def module(name):
    """A module with random weights and an example of its inputs."""
    import torch
    from torch import nn
    from torch.nn import functional

    def normed(channels, filters, kernel, stride=1, groups=1, act=nn.ReLU):
        parts = [nn.Conv2d(channels, filters, kernel, stride, kernel // 2, groups=groups, bias=False),
                 nn.BatchNorm2d(filters)]
        return nn.Sequential(*parts, *([act()] if act else []))

    class Residual(nn.Module):
        def __init__(self, channels, filters, stride):
            super().__init__()
            self.body = nn.Sequential(normed(channels, filters, 3, stride), normed(filters, filters, 3, act=None))
            same = stride == 1 and channels == filters
            self.shortcut = nn.Identity() if same else normed(channels, filters, 1, stride, act=None)

        def forward(self, x):
            return torch.relu(self.body(x) + self.shortcut(x))

    class Inverted(nn.Module):
        def __init__(self, channels, filters, stride, factor):
            super().__init__()
            wide = channels * factor
            body = [normed(channels, wide, 1, act=nn.ReLU6)] if factor > 1 else []
            self.body = nn.Sequential(*body, normed(wide, wide, 3, stride, wide, act=nn.ReLU6),
                                      normed(wide, filters, 1, act=None))
            self.adds = stride == 1 and channels == filters

        def forward(self, x):
            return x + self.body(x) if self.adds else self.body(x)

    class Pooled(nn.Module):
        def __init__(self, body, channels):
            super().__init__()
            self.body, self.head = body, nn.Linear(channels, 1000)

        def forward(self, x):
            return self.head(self.body(x).mean([2, 3]))

    def resnet18():
        stages = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
        blocks = [block for a, b, s in stages for block in (Residual(a, b, s), Residual(b, b, 1))]
        return Pooled(nn.Sequential(normed(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1), *blocks), 512)

    def mobilenet_v2():
        rows = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
        blocks, channels = [normed(3, 32, 3, 2, act=nn.ReLU6)], 32
        for factor, filters, count, stride in rows:
            for i in range(count):
                blocks.append(Inverted(channels, filters, stride if i == 0 else 1, factor))
                channels = filters
        return Pooled(nn.Sequential(*blocks, normed(320, 1280, 1, act=nn.ReLU6)), 1280)

    class Block(nn.Module):
        def __init__(self, width, heads, causal):
            super().__init__()
            self.heads, self.causal = heads, causal
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x, mask):
            batch, time, width = x.shape
            parts = self.qkv(self.norm1(x)).split(width, dim=2)
            q, k, v = [part.view(batch, time, self.heads, width // self.heads).transpose(1, 2) for part in parts]
            scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5
            scores = scores.masked_fill(~mask, float("-inf")) if self.causal else scores + mask
            x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, time, width))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class Transformer(nn.Module):
        def __init__(self, width, heads, layers, time, vocabulary, causal):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(time, width)
            self.blocks = nn.ModuleList(Block(width, heads, causal) for _ in range(layers))
            self.norm, self.causal = nn.LayerNorm(width), causal
            self.head = nn.Linear(width, vocabulary if causal else 2, bias=False)
            self.register_buffer("mask", torch.tril(torch.ones(time, time)).bool()[None, None])

        def forward(self, tokens, attention=None):
            time = tokens.shape[1]
            x = self.tokens(tokens) + self.places(torch.arange(time))
            mask = self.mask[:, :, :time, :time]
            if not self.causal:
                mask = (1.0 - attention[:, None, None, :].float()) * -10000.0
            for block in self.blocks:
                x = block(x, mask)
            return self.head(self.norm(x) if self.causal else self.norm(x)[:, 0])

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(128, 256, 2, batch_first=True), nn.Linear(256, 64)

        def forward(self, x):
            return self.head(self.lstm(x)[0])

    class Unet(nn.Module):
        def __init__(self):
            super().__init__()
            def pair(channels, filters):
                return nn.Sequential(normed(channels, filters, 3), normed(filters, filters, 3))
            self.down = nn.ModuleList([pair(3, 32), pair(32, 64), pair(64, 128)])
            self.up = nn.ModuleList([nn.ConvTranspose2d(128, 64, 2, 2), nn.ConvTranspose2d(64, 32, 2, 2)])
            self.join = nn.ModuleList([pair(128, 64), pair(64, 32)])
            self.head = nn.Conv2d(32, 2, 1)

        def forward(self, x):
            a = self.down[0](x)
            b = self.down[1](functional.max_pool2d(a, 2))
            x = self.join[0](torch.cat([self.up[0](self.down[2](functional.max_pool2d(b, 2))), b], 1))
            return self.head(self.join[1](torch.cat([self.up[1](x), a], 1)))

    torch.manual_seed(1)
    pictures = torch.randn(1, 3, 224, 224)
    tokens = torch.randint(0, 1000, (1, 128))
    return {
        "gpt": lambda: (Transformer(384, 6, 6, 128, 1000, True), (tokens,)),
        "bert": lambda: (Transformer(384, 6, 6, 128, 1000, False), (tokens, torch.ones(1, 128, dtype=torch.int64))),
        "resnet18": lambda: (resnet18(), (pictures,)),
        "mobilenet_v2": lambda: (mobilenet_v2(), (pictures,)),
        "lstm": lambda: (Recurrent(), (torch.randn(1, 64, 128),)),
        "unet": lambda: (Unet(), (torch.randn(1, 3, 128, 128),)),
    }[name]()


def exported(name, folder):
    import torch

    warnings.filterwarnings("ignore")
    net, inputs = module(name)
    path = os.path.join(folder, f"{name}.onnx")
    torch.onnx.export(net.eval(), inputs, path, dynamo=False, opset_version=17,
                      input_names=[f"x{i}" for i in range(len(inputs))], output_names=["y"])
    return path


def write(name, folder, data):
    """The path of the model's file; raises where it cannot be had, with one line."""
    if name in STORED:
        path = os.path.join(data, STORED[name])
        if not os.path.exists(path):
            raise FileNotFoundError(f"there is no {path}")
        import onnx

        return written(onnx.load(path), name, folder)
    return exported(name, folder) if name in EXPORTED else light(name, folder)
