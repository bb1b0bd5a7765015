#!/usr/bin/env python3
"""Batch, group and instance norm against PyTorch: a small net that has all of them, trained for 20 steps.

    tests/parity/parity_norms.py [--update]

Computes in double precision what tests/golden/parity_norms.json holds, and compares; --update writes the file. The
losses, the first step's gradients, the running statistics after all steps and what inference gives by them then are
checked without PyTorch by tests/parity/test_parity_norms.c, which makes the same parameters and batches.

Exit status: 0 equal, 1 different, 2 no PyTorch.
"""

import argparse
import json
import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = os.path.join(ROOT, "tests", "golden", "parity_norms.json")
BATCH, CHANNELS, SIDE, GROUPS, HIDDEN, CLASSES, STEPS = 8, 6, 5, 3, 16, 5, 20
EPSILON, MOMENTUM, RATE, VELOCITY = 1e-3, 0.2, 0.01, 0.9

try:
    import torch
    from torch import nn
except ImportError:
    torch = None

MASK = (1 << 64) - 1


def splitmix(seed, index):
    z = (seed + (index + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def uniform(seed, count):
    """Numbers in [-1, 1) that are floats: multiples of 2^-23."""
    return [(splitmix(seed, i) >> 40) * 2.0**-23 - 1 for i in range(count)]


def batch_of(step):
    """Channel c lies around c - 2 and is (c + 1)/2 wide; class t lifts channel t."""
    targets = [splitmix(5000 + step, n) % CLASSES for n in range(BATCH)]
    plane = SIDE * SIDE
    x = uniform(1000 + step, BATCH * CHANNELS * plane)
    for i in range(len(x)):
        n, c = i // (CHANNELS * plane), i // plane % CHANNELS
        x[i] = x[i] * (0.5 * (c + 1)) + (c - 2) + (0.5 if targets[n] == c else 0.0)
    return x, targets


def net():
    return nn.Sequential(
        nn.BatchNorm2d(CHANNELS, eps=EPSILON, momentum=MOMENTUM), nn.ReLU(),
        nn.GroupNorm(GROUPS, CHANNELS, eps=EPSILON), nn.ReLU(),
        nn.InstanceNorm2d(CHANNELS, eps=EPSILON, affine=True), nn.ReLU(), nn.Flatten(),
        nn.Linear(CHANNELS * SIDE * SIDE, HIDDEN, bias=False), nn.BatchNorm1d(HIDDEN, eps=EPSILON, momentum=MOMENTUM),
        nn.ReLU(), nn.Linear(HIDDEN, CLASSES, bias=False))


# Where a parameter of PyTorch's comes from: its name here and how its numbers are scaled and shifted.
PARAMETERS = {
    "0.weight": ("bn1.weight", 0.25, 1), "0.bias": ("bn1.bias", 0.25, 0),
    "2.weight": ("gn.weight", 0.25, 1), "2.bias": ("gn.bias", 0.25, 0),
    "4.weight": ("in.weight", 0.25, 1), "4.bias": ("in.bias", 0.25, 0),
    "7.weight": ("fc1.weight", 0.125, 0),
    "8.weight": ("bn2.weight", 0.25, 1), "8.bias": ("bn2.bias", 0.25, 0),
    "10.weight": ("fc2.weight", 0.5, 0),
}


def run():
    model = net().double()
    with torch.no_grad():
        for index, (name, parameter) in enumerate(model.named_parameters()):
            _, scale, shift = PARAMETERS[name]
            values = [scale * u + shift for u in uniform(100 + index, parameter.numel())]
            parameter.copy_(torch.tensor(values, dtype=torch.float64).reshape(parameter.shape))
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=VELOCITY)
    losses, gradients = [], []
    for step in range(STEPS):
        x, targets = batch_of(step)
        logits = model(torch.tensor(x, dtype=torch.float64).reshape(BATCH, CHANNELS, SIDE, SIDE))
        loss = nn.functional.cross_entropy(logits, torch.tensor(targets))
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            for name, parameter in model.named_parameters():
                flat = parameter.grad.reshape(-1)
                gradients.append({"name": PARAMETERS[name][0], "norm": math.sqrt(float((flat * flat).sum())),
                                  "first": [float(v) for v in flat[:5]]})
        optimizer.step()
        losses.append(float(loss.detach()))
    model.eval()
    x, _ = batch_of(STEPS)
    with torch.no_grad():
        logits = model(torch.tensor(x, dtype=torch.float64).reshape(BATCH, CHANNELS, SIDE, SIDE))
    statistics = {f"{ours}.{what}": [float(v) for v in getattr(model[index], what)]
                  for index, ours in ((0, "bn1"), (8, "bn2")) for what in ("running_mean", "running_var")}
    return {"loss": losses, "gradients": gradients, **statistics, "logits": [float(v) for v in logits.reshape(-1)]}


def close(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b))
    return a == b if isinstance(a, str) else abs(a - b) <= 1e-9 * (1 + abs(b))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    if torch is None:
        print("PyTorch is not installed: nothing to compare with", file=sys.stderr)
        return 2
    result = run()
    if arguments.update:
        with open(GOLDEN, "w", encoding="utf-8") as file:
            json.dump({"made_by": f"PyTorch {torch.__version__}, float64", **result}, file, indent=1)
            file.write("\n")
        return 0
    with open(GOLDEN, encoding="utf-8") as file:
        golden = json.load(file)
    golden.pop("made_by")
    equal = close(result, golden)
    print(f"PyTorch {torch.__version__}: {'as' if equal else 'NOT as'} {os.path.relpath(GOLDEN, ROOT)}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
