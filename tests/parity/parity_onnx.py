#!/usr/bin/env python3
"""A residual network and a GPT that PyTorch exports as ONNX: imported, they train as in PyTorch.

    tests/parity/parity_onnx.py --library build/libvolta.so [--steps 20]

Both are made here, exported by torch.onnx.export (TorchScript) with their batch norms kept and an open batch, and
trained by momentum on the same batches, once by PyTorch and once by Volta from the file. The losses of all steps must
agree to 1e-4 relative. The network is small, and the batches are random: deeper ones at this rate are chaotic, so that
two roundings of one sum part after a few steps.

Exit status: 0 equal, 1 different, 2 no PyTorch.
"""

import argparse
import copy
import ctypes as c
import os
import sys
import tempfile
import warnings

import numpy as np

from volta_ctypes import F32, I32, ContextOptions, Library, StepReport, TrainerOptions, sized

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError:
    torch = None

TOLERANCE, RATE, MOMENTUM, SGD = 1e-4, 0.01, 0.9, 2
CLASSES, VOCABULARY, WIDTH, HEADS, TIME, BATCH = 10, 50, 32, 4, 12, 16


def modules():
    class Residual(nn.Module):
        def __init__(self, channels, filters, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(channels, filters, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(filters)
            self.conv2 = nn.Conv2d(filters, filters, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(filters)
            self.shortcut = nn.Sequential()
            if stride != 1 or channels != filters:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(channels, filters, 1, stride, bias=False), nn.BatchNorm2d(filters)
                )

        def forward(self, x):
            y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
            return torch.relu(y + self.shortcut(x))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
            self.stages = nn.Sequential(Residual(16, 16, 1), Residual(16, 32, 2), Residual(32, 64, 2))
            self.head = nn.Linear(64, CLASSES)

        def forward(self, x):
            return self.head(self.stages(self.stem(x)).mean([2, 3]))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.register_buffer("mask", torch.tril(torch.ones(TIME, TIME)).bool()[None, None])

        def forward(self, x):
            batch, time, width = x.shape
            parts = self.qkv(self.norm1(x)).split(width, dim=2)
            q, k, v = [part.view(batch, time, HEADS, width // HEADS).transpose(1, 2) for part in parts]
            scores = q @ k.transpose(-2, -1) / (width // HEADS) ** 0.5
            weights = scores.masked_fill(~self.mask[:, :, :time, :time], float("-inf")).softmax(-1)
            x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, time, width))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TIME, WIDTH)
            self.blocks = nn.Sequential(Block(), Block())
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

        def forward(self, tokens):
            return self.head(self.norm(self.blocks(self.tokens(tokens) + self.places(torch.arange(tokens.shape[1])))))

    return Network(), Gpt()


def torch_losses(module, batches):
    module = copy.deepcopy(module).train()
    optimizer = torch.optim.SGD(module.parameters(), lr=RATE, momentum=MOMENTUM)
    losses = []
    for x, targets in batches:
        x = torch.tensor(x) if x.dtype == np.float32 else torch.tensor(x).long()
        loss = functional.cross_entropy(module(x).flatten(0, -2), torch.tensor(targets).long().flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def volta_losses(library, path, batches):
    context, model, trainer = c.c_void_p(), c.c_void_p(), c.c_void_p()
    library.call("volta_context_create", c.byref(sized(ContextOptions, thread_count=2)), c.byref(context))
    library.call("volta_model_import", context, path.encode(), None, c.byref(model))
    extents = batches[0][0].shape
    options = sized(
        TrainerOptions, input_shapes=(c.c_int64 * len(extents))(*extents), input_extent_count=len(extents),
        optimizer=SGD, steps=len(batches), learning_rate=RATE, final_learning_rate=RATE, momentum=MOMENTUM, seed=1,
    )
    library.call("volta_trainer_create", model, c.byref(options), c.byref(trainer))

    def wrapped(array):
        tensor = c.c_void_p()
        dtype = F32 if array.dtype == np.float32 else I32
        library.call("volta_tensor_wrap", context, dtype, (c.c_int64 * array.ndim)(*array.shape), array.ndim,
                     array.ctypes.data_as(c.c_void_p), c.byref(tensor))
        return tensor

    losses = []
    for x, targets in batches:
        report, given, meant = sized(StepReport), wrapped(x), wrapped(targets)
        library.call("volta_trainer_step", trainer, (c.c_void_p * 1)(given), c.c_size_t(1), meant, c.byref(report))
        losses.append(report.loss)
        library.so.volta_tensor_release(given)
        library.so.volta_tensor_release(meant)
    library.so.volta_trainer_release(trainer)
    library.so.volta_model_release(model)
    library.so.volta_context_release(context)
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", default="build/libvolta.so")
    parser.add_argument("--steps", type=int, default=20)
    arguments = parser.parse_args()
    if torch is None:
        print("PyTorch is not installed")
        return 2
    warnings.filterwarnings("ignore")
    torch.manual_seed(1)
    library = Library(os.path.abspath(arguments.library))
    random = np.random.default_rng(1)
    network, gpt = modules()
    for parameter in [*network.parameters(), *gpt.parameters()]:  # the exporter makes one initialiser of equal ones
        if parameter.dim() == 1:
            parameter.data += torch.randn_like(parameter) * 0.05
    pictures = [
        (random.standard_normal((BATCH, 3, 16, 16)).astype(np.float32), random.integers(0, CLASSES, BATCH, np.int32))
        for _ in range(arguments.steps)
    ]
    texts = [
        tuple(random.integers(0, VOCABULARY, (BATCH, TIME), np.int32) for _ in range(2))
        for _ in range(arguments.steps)
    ]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name, module, batches in (("ResNet", network, pictures), ("GPT", gpt, texts)):
            path = os.path.join(folder, "model.onnx")
            example = torch.tensor(batches[0][0])
            torch.onnx.export(
                module.eval(), (example if example.is_floating_point() else example.long(),), path, dynamo=False,
                opset_version=17, training=torch.onnx.TrainingMode.PRESERVE, input_names=["x"], output_names=["y"],
                dynamic_axes={"x": {0: "N"}},
            )
            ours, theirs = volta_losses(library, path, batches), torch_losses(module, batches)
            difference = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs))
            print(f"{name}: {theirs[0]:.6f} to {theirs[-1]:.6f} in {len(batches)} steps, "
                  f"largest difference {difference:.1e}")
            failed = failed or not difference <= TOLERANCE
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
