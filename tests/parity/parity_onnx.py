#!/usr/bin/env python3
"""Networks that PyTorch exports as ONNX: imported, they give what PyTorch gives, and train as in PyTorch.

    tests/parity/parity_onnx.py --library build/libvolta.so [--steps 20] [--update]

Trained: a small residual network, ResNet-20 and a GPT, exported by torch.onnx.export (TorchScript) with their batch norms
kept and an open batch, by momentum on the same batches, once by PyTorch and once by Volta from the file. The losses of
all steps must agree to 1e-4 relative. Batches are random, and ResNet-20 has a rate at which float32 can follow: at 0.01
two roundings of one sum part after a few steps (parity_networks.py).

Run: GPTs with attention in the ways in which it is written, batch and time open, at several lengths; each by TorchScript
and, where onnxscript is installed, by dynamo. Outputs within 1e-4 of the largest of PyTorch's, and of ONNX Runtime's where it is installed. Their
norms, GELUs and attentions must be recognised, all of them, and with exact_graph none.

--update writes tests/golden/parity_onnx_gpt.onnx and what PyTorch's losses are from there, in double precision;
tests/parity/test_parity_onnx.c checks Volta against them without PyTorch.

Exit status: 0 equal, 1 different, 2 no PyTorch.
"""

import argparse
import copy
import ctypes as c
import importlib.util
import json
import os
import sys
import tempfile
import warnings

import numpy as np

from volta_ctypes import (
    F32, I32, ContextOptions, ImportOptions, Library, SessionOptions, StepReport, TrainerOptions, sized,
)

try:
    import torch
    from torch import nn
    from torch.nn import functional

    from networks_torch import CifarResnet
except ImportError:
    torch = None

TOLERANCE, RATE, DEEP_RATE, MOMENTUM, SGD = 1e-4, 0.01, 1e-4, 0.9, 2
GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden")
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
        def __init__(self, attention):
            super().__init__()
            self.attention = attention
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.register_buffer("mask", torch.tril(torch.ones(TIME, TIME)).bool()[None, None])

        def forward(self, x):
            batch, time, width = x.shape
            parts = self.qkv(self.norm1(x)).split(width, dim=2)
            q, k, v = [part.view(batch, time, HEADS, width // HEADS).transpose(1, 2) for part in parts]
            mask = self.mask[:, :, :time, :time]
            if self.attention == "causal":
                y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            elif self.attention == "mask":
                y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            elif self.attention == "all keys":
                y = functional.scaled_dot_product_attention(q, k, v)
            else:
                scores = q @ k.transpose(-2, -1) / (width // HEADS) ** 0.5
                y = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
            x = x + self.out(y.transpose(1, 2).reshape(batch, time, width))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class Gpt(nn.Module):
        def __init__(self, attention="written out"):
            super().__init__()
            self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TIME, WIDTH)
            self.blocks = nn.Sequential(Block(attention), Block(attention))
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

        def forward(self, tokens):
            return self.head(self.norm(self.blocks(self.tokens(tokens) + self.places(torch.arange(tokens.shape[1])))))

    return Network(), Gpt


def torch_losses(module, batches, rate):
    module = copy.deepcopy(module).train()
    real = next(module.parameters()).dtype
    optimizer = torch.optim.SGD(module.parameters(), lr=rate, momentum=MOMENTUM)
    losses = []
    for x, targets in batches:
        x = torch.tensor(x).to(real) if x.dtype == np.float32 else torch.tensor(x).long()
        loss = functional.cross_entropy(module(x).flatten(0, -2), torch.tensor(targets).long().flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def volta_losses(library, path, batches, rate):
    context, model, trainer = c.c_void_p(), c.c_void_p(), c.c_void_p()
    library.call("volta_context_create", c.byref(sized(ContextOptions, thread_count=2)), c.byref(context))
    library.call("volta_model_import", context, path.encode(), None, c.byref(model))
    extents = batches[0][0].shape
    options = sized(
        TrainerOptions, input_shapes=(c.c_int64 * len(extents))(*extents), input_extent_count=len(extents),
        optimizer=SGD, steps=len(batches), learning_rate=rate, final_learning_rate=rate, momentum=MOMENTUM, seed=1,
    )
    library.call("volta_trainer_create", model, c.byref(options), c.byref(trainer))

    losses = []
    for x, targets in batches:
        report, given, meant = sized(StepReport), wrapped(library, context, x), wrapped(library, context, targets)
        library.call("volta_trainer_step", trainer, (c.c_void_p * 1)(given), c.c_size_t(1), meant, c.byref(report))
        losses.append(report.loss)
        library.so.volta_tensor_release(given)
        library.so.volta_tensor_release(meant)
    library.so.volta_trainer_release(trainer)
    library.so.volta_model_release(model)
    library.so.volta_context_release(context)
    return losses


def wrapped(library, context, array):
    tensor = c.c_void_p()
    dtype = F32 if array.dtype == np.float32 else I32
    library.call("volta_tensor_wrap", context, dtype, (c.c_int64 * array.ndim)(*array.shape), array.ndim,
                 array.ctypes.data_as(c.c_void_p), c.byref(tensor))
    return tensor


def recognised(library, path, exact=0):
    """Operator -> how many were recognised."""
    context, count = c.c_void_p(), c.c_size_t()
    text = c.create_string_buffer(1 << 16)
    library.call("volta_context_create", c.byref(sized(ContextOptions, thread_count=1)), c.byref(context))
    library.call("volta_model_survey", context, path.encode(), c.byref(sized(ImportOptions, exact_graph=exact)), text,
                 c.c_size_t(len(text)), c.byref(count))
    library.so.volta_context_release(context)
    survey = json.loads(text.value)
    if survey["refused"]:
        raise RuntimeError(survey["refused"])
    return {row["operator"]: row["count"] for row in survey["recognised"]}


def volta_output(library, path, x, width, exact):
    context, model, session = c.c_void_p(), c.c_void_p(), c.c_void_p()
    library.call("volta_context_create", c.byref(sized(ContextOptions, thread_count=2)), c.byref(context))
    library.call("volta_model_import", context, path.encode(), c.byref(sized(ImportOptions, exact_graph=exact)),
                 c.byref(model))
    options = sized(SessionOptions, input_shapes=(c.c_int64 * x.ndim)(*x.shape), input_extent_count=x.ndim)
    library.call("volta_session_create", model, c.byref(options), c.byref(session))
    y = np.zeros((*x.shape, width), np.float32)
    given, result = wrapped(library, context, x), wrapped(library, context, y)
    library.call("volta_session_run", session, (c.c_void_p * 1)(given), c.c_size_t(1), (c.c_void_p * 1)(result),
                 c.c_size_t(1))
    for release, handle in (("tensor", given), ("tensor", result), ("session", session), ("model", model),
                            ("context", context)):
        getattr(library.so, f"volta_{release}_release")(handle)
    return y


def run_open(library, make, folder):
    """Every way of writing attention, by every exporter that is here; True: all as they should be."""
    ways = [(attention, False, 17) for attention in ("causal", "mask", "all keys", "written out")]
    ways.append(("written out", False, 13))
    if importlib.util.find_spec("onnxscript"):
        ways += [(attention, True, 18) for attention in ("causal", "mask", "all keys", "written out")]
    runtime = importlib.util.find_spec("onnxruntime") and __import__("onnxruntime")
    good = True
    for attention, dynamo, opset in ways:
        torch.manual_seed(2)
        gpt, path = make(attention).eval(), os.path.join(folder, "open.onnx")
        example = torch.randint(0, VOCABULARY, (2, 5))
        names = dict(input_names=["x"], output_names=["y"], opset_version=opset)
        if dynamo:
            axes = ({0: torch.export.Dim("N", max=64), 1: torch.export.Dim("T", max=TIME)},)
            torch.onnx.export(gpt, (example,), path, dynamo=True, dynamic_shapes=axes, verbose=False,
                              external_data=False, **names)
        else:
            torch.onnx.export(gpt, (example,), path, dynamo=False, dynamic_axes={"x": {0: "N", 1: "T"}}, **names)
        found, none = recognised(library, path), recognised(library, path, 1)
        expected = {"gelu_erf": 2, "attention": 2, **({"layer_norm": 5} if opset < 17 else {})}
        largest = 0
        for batch, time in ((1, 1), (3, 5), (2, TIME)):
            x = np.random.default_rng(time).integers(0, VOCABULARY, (batch, time), np.int32)
            with torch.no_grad():
                references = [gpt(torch.tensor(x).long()).numpy()]
            if runtime:
                session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
                references.append(session.run(None, {"x": x.astype(np.int64)})[0])
            for exact in (0, 1):
                y = volta_output(library, path, x, VOCABULARY, exact)
                largest = max(largest, *(abs(y - other).max() / abs(other).max() for other in references))
        fits = largest <= TOLERANCE and found == expected and not none
        good = good and fits
        print(f"GPT, attention {attention}, opset {opset} by {'dynamo' if dynamo else 'TorchScript'}: recognised "
              f"{found}, largest difference {largest:.1e}{'' if fits else ' WRONG, expected ' + str(expected)}")
    return good


def splitmix(seed, count):
    z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def write_golden(gpt, steps=20):
    """The batches are those of test_parity_onnx.c."""
    batches = [tuple((splitmix(2 * step + which, BATCH * TIME) % np.uint64(VOCABULARY)).astype(np.int32).reshape(BATCH, TIME)
                     for which in (0, 1)) for step in range(steps)]
    torch.onnx.export(
        gpt.eval(), (torch.tensor(batches[0][0]).long(),), os.path.join(GOLDEN, "parity_onnx_gpt.onnx"), dynamo=False,
        opset_version=17, training=torch.onnx.TrainingMode.PRESERVE, input_names=["x"], output_names=["y"],
        dynamic_axes={"x": {0: "N", 1: "T"}},
    )
    losses = torch_losses(copy.deepcopy(gpt).double(), batches, RATE)
    with open(os.path.join(GOLDEN, "parity_onnx.json"), "w") as file:
        json.dump({"torch": torch.__version__, "losses": losses}, file, indent=1)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", default="build/libvolta.so")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--update", action="store_true", help="write the golden files")
    arguments = parser.parse_args()
    if torch is None:
        print("PyTorch is not installed")
        return 2
    warnings.filterwarnings("ignore")
    torch.manual_seed(1)
    library = Library(os.path.abspath(arguments.library))
    random = np.random.default_rng(1)
    network, make_gpt = modules()
    gpt, deep = make_gpt(), CifarResnet(20, CLASSES)
    for parameter in [*network.parameters(), *gpt.parameters(), *deep.parameters()]:
        if parameter.dim() == 1:  # the exporter makes one initialiser of equal ones
            parameter.data += torch.randn_like(parameter) * 0.05
    if arguments.update:
        write_golden(gpt)
        return 0
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
        for name, module, batches, rate in (
            ("residual network", network, pictures, RATE), ("ResNet-20", deep, pictures, DEEP_RATE),
            ("GPT", gpt, texts, RATE),
        ):
            path = os.path.join(folder, "model.onnx")
            example = torch.tensor(batches[0][0])
            torch.onnx.export(
                module.eval(), (example if example.is_floating_point() else example.long(),), path, dynamo=False,
                opset_version=17, training=torch.onnx.TrainingMode.PRESERVE, input_names=["x"], output_names=["y"],
                dynamic_axes={"x": {0: "N"}},
            )
            ours, theirs = volta_losses(library, path, batches, rate), torch_losses(module, batches, rate)
            difference = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs))
            print(f"{name}: {theirs[0]:.6f} to {theirs[-1]:.6f} in {len(batches)} steps, "
                  f"largest difference {difference:.1e}, recognised {recognised(library, path)}")
            failed = failed or not difference <= TOLERANCE
        failed = not run_open(library, make_gpt, folder) or failed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
