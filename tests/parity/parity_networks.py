#!/usr/bin/env python3
"""Networks of pictures against PyTorch: ResNet-20 and a small MobileNetV2 (depthwise convolutions), 20 steps each.

    tests/parity/parity_networks.py [--library build/libvolta.so] [--update]

From PyTorch's own initial weights, and on the same batches, Volta is trained beside PyTorch in double precision: losses
within 1e-4 relative, every gradient of the first within 1e-4 of its norm, running statistics after
all steps within 1e-5. Then PyTorch computes what tests/golden/parity_networks.json holds, from weights of the sizes of
PyTorch's initial ones that a few lines of any language make, and compares; --update writes the file.
tests/parity/test_parity_networks.c checks Volta against it without PyTorch.

Exit status: 0 equal, 1 different, 2 no PyTorch.
"""

import argparse
import json
import math
import os
import sys

import numpy as np

from volta_ctypes import PictureModel

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = os.path.join(ROOT, "tests", "golden", "parity_networks.json")
BATCH, CHANNELS, CLASSES, STEPS = 8, 3, 10, 20
MOMENTUM = 0.9
SIGNS = 8  # sums of a gradient with signs: their mean square is its squared norm
SMALL_STEM = 2

try:
    import torch
    from torch import nn

    from networks_torch import CifarResnet, MobilenetV2
except ImportError:
    torch = None

# Volta's options, PyTorch's network, and a learning rate at which float32 can follow float64 for 20 steps. Batch norms
# over few pixels and the kinks of activations make differences grow: with 0.01, PyTorch's own float32 is 3e-3
# (ResNet-20, 32 pictures) and 8e-2 (MobileNetV2) away from its float64 then, Volta 4e-3 and 1e-1.
NETWORKS = {
    "resnet20": (dict(rows=16, columns=16), lambda: CifarResnet(20, CLASSES), 1e-5),
    "mobilenet_v2": (dict(rows=16, columns=16, width=0.125, stem=SMALL_STEM), lambda: MobilenetV2(0.125, CLASSES), 1e-7),
}


def splitmix(seed, count):
    z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def uniform(seed, count):
    """Numbers in [-1, 1) that are floats: multiples of 2^-23."""
    return (splitmix(seed, count) >> np.uint64(40)).astype(np.float64) * 2.0**-23 - 1


def batch_of(step, side):
    """Noise, with a bright square at a place that the class says."""
    targets = (splitmix(5000 + step, BATCH) % np.uint64(CLASSES)).astype(np.int64)
    x = uniform(1000 + step, BATCH * CHANNELS * side * side).reshape(BATCH, CHANNELS, side, side)
    for n, t in enumerate(targets):
        x[n, t % 3, t : t + 4, 12 - t : 16 - t] += 1.5
    return x, targets


def made_weights(model):
    """Uniform in about +-1 / sqrt(inputs), a power of two, as PyTorch begins; norms near 1 and 0."""
    with torch.no_grad():
        for index, (name, parameter) in enumerate(model.named_parameters()):
            values = uniform(100 + index, parameter.numel())
            if parameter.dim() == 1:
                scale, shift = 0.25, 1 if name.endswith("weight") else 0
            else:
                scale, shift = 2.0 ** round(-0.5 * math.log2(parameter[0].numel())), 0
            parameter.copy_(torch.tensor(values * scale + shift).reshape(parameter.shape))


def signed_sums(gradient, index):
    """SIGNS sums of the elements, each with a sign of its own: bit s of a word per element."""
    flat = gradient.reshape(-1)
    words = splitmix(9000 + index, len(flat))
    return [float(np.where(words >> np.uint64(s) & np.uint64(1), -flat, flat).sum()) for s in range(SIGNS)]


def is_statistic(name):
    return name.endswith(("running_mean", "running_var"))


class Course:
    """What 20 steps of PyTorch in double precision give."""

    def __init__(self, model, side, rate):
        model = model.double()
        model.train()
        optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=MOMENTUM)
        self.losses, self.gradients = [], []
        for step in range(STEPS):
            x, targets = batch_of(step, side)
            loss = nn.functional.cross_entropy(model(torch.tensor(x)), torch.tensor(targets))
            optimizer.zero_grad()
            loss.backward()
            self.gradients.append({n: p.grad.numpy().copy() for n, p in model.named_parameters()})
            optimizer.step()
            self.losses.append(float(loss.detach()))
        self.statistics = {n: b.numpy() for n, b in model.named_buffers() if is_statistic(n)}


def compare(title, worst, bound):
    print(f"  {title:<52} {worst:8.1e}  (at most {bound:.0e})")
    return worst <= bound


def beside_volta(library, name):
    """PyTorch's own initial weights, both sides running freely."""
    options, make, rate = NETWORKS[name]
    side = options["rows"]
    torch.manual_seed(4)  # with it no activation of the first step lies so near a kink that rounding decides
    model = make()
    volta = PictureModel(library, name, dict(options, classes=CLASSES), BATCH, rate, MOMENTUM,
                         {n: p.detach().numpy() for n, p in model.named_parameters()})
    losses, gradients = [], []
    for step in range(STEPS):
        losses.append(volta.step(*batch_of(step, side)))
        gradients.append(volta.gradients())
    statistics = {n: v for n, v in volta.parameters().items() if is_statistic(n)}
    print(f"{name}: {sum(p.numel() for p in model.parameters())} parameters, beside libvolta {volta.library.version()}")
    volta.close()
    course = Course(model, side, rate)

    def gradient_error(step):
        ours, theirs = gradients[step], course.gradients[step]
        largest = max(np.linalg.norm(g) for g in theirs.values())
        # What the next norm takes away again has a gradient of rounding errors alone.
        return max(np.linalg.norm(ours[n] - g) / max(np.linalg.norm(g), 1e-3 * largest) for n, g in theirs.items())

    passed = compare("loss, the worst of 20 steps, relative",
                     max(abs(a - b) / b for a, b in zip(losses, course.losses)), 1e-4)
    passed &= compare("gradients of the first step, by their norms", gradient_error(0), 1e-4)
    print(f"  {'gradients of the last step (kinks of ReLUs differ)':<52} {gradient_error(STEPS - 1):8.1e}")
    assert statistics.keys() == course.statistics.keys()
    passed &= compare("running statistics after 20 steps",
                      max(float((np.abs(statistics[n] - v) / (1 + np.abs(v))).max())
                          for n, v in course.statistics.items()), 1e-5)
    return passed


def golden_of(name):
    options, make, rate = NETWORKS[name]
    model = make()
    made_weights(model)
    course = Course(model, options["rows"], rate)
    first = course.gradients[0]
    gradients = [{"name": n, "norm": float(np.linalg.norm(g)), "sums": signed_sums(g, index)}
                 for index, (n, g) in enumerate(first.items())]
    statistics = [{"name": n, "values": [float(f"{v:.8g}") for v in values]}
                  for n, values in course.statistics.items()]
    return {"loss": course.losses, "gradients": gradients, "statistics": statistics}


def close(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b))
    return a == b if isinstance(a, str) else abs(a - b) <= 1e-7 * (1 + abs(b))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "libvolta.so"))
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    if torch is None:
        print("PyTorch is not installed: nothing to compare with", file=sys.stderr)
        return 2
    torch.set_num_threads(2)
    golden = {name: golden_of(name) for name in NETWORKS}
    if arguments.update:
        text = json.dumps({"made_by": f"PyTorch {torch.__version__}, float64", **golden}, separators=(",", ":"))
        with open(GOLDEN, "w", encoding="utf-8") as file:  # a line for each parameter
            file.write(text.replace('{"name"', '\n{"name"') + "\n")
        return 0
    print(f"PyTorch {torch.__version__}, float64, {STEPS} steps of {BATCH} pictures")
    passed = all([beside_volta(arguments.library, name) for name in NETWORKS])
    with open(GOLDEN, encoding="utf-8") as file:
        written = json.load(file)
    written.pop("made_by")
    equal = close(golden, written)
    print(f"{'as' if equal else 'NOT as'} {os.path.relpath(GOLDEN, ROOT)}")
    return 0 if passed and equal else 1


if __name__ == "__main__":
    sys.exit(main())
