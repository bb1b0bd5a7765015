#!/usr/bin/env python3
"""Volta against PyTorch: same initial weights, same batches, same optimizer, 20 steps.

    tests/parity/parity_gpt.py [--library build/libvolta.so] [--size small|tiny|llama|llama-pairs] [--update]

Checks, each within 1e-4 relative:
  curve      the loss of every step, both sides running freely
  gradients  every parameter's gradient (norm of the difference over the norm) in every step; PyTorch starts each
             step from Volta's current parameters, so that a difference is one of that step and not of its history
  golden     both curves, and step 1's gradients, against tests/golden/parity_gpt.json (size small)

The golden numbers come from PyTorch in double precision (--update writes them); test_parity_golden.c checks them
where there is no PyTorch. Exit status: 0 equal, 1 different, 2 no PyTorch.
"""

import argparse
import json
import os
import sys

import numpy as np

from volta_ctypes import ADAMW, SCHEDULE_COSINE
from volta_ctypes import LanguageModel

try:
    import torch

    from gpt_torch import Gpt, clip, learning_rate
    from llama_torch import Llama

    MODELS = {"gpt": Gpt, "llama": Llama}
except ImportError:
    torch = None

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = os.path.join(ROOT, "tests", "golden", "parity_gpt.json")
TOLERANCE = 1e-4
PROJECTIONS = 4

SIZES = {  # architecture, batch, time, and what its options say
    "small": ("gpt", 4, 64, dict(vocabulary=65, layers=2, dim=64, heads=4, context=64)),
    "tiny": ("gpt", 4, 256, dict(vocabulary=65, layers=6, dim=384, heads=6, context=256)),
    "llama": ("llama", 4, 64, dict(vocabulary=65, layers=2, dim=64, heads=4, kv_heads=2, context=64)),
    "llama-pairs": ("llama", 4, 64, dict(vocabulary=65, layers=2, dim=64, heads=4, context=64, rope_base=5e5,
                                         epsilon=1e-6, untied=1, interleaved=1)),
}
TRAINER = dict(steps=20, warmup_steps=5, learning_rate=1e-3, final_learning_rate=1e-4, beta1=0.9, beta2=0.99,
               epsilon=1e-8, weight_decay=0.1, clip_norm=1.0)
GAMMA, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1


def splitmix(seed, count):
    """The first `count` words of SplitMix64; test_parity_golden.c has the same generator."""
    z = (np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GAMMA)).astype(np.uint64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def batch_of(step, batch, time, vocabulary):
    """Sequences with something to learn: each token is 5 times the last plus 1 to 4. [batch, time + 1]"""
    rows = np.zeros((batch, time + 1), np.int64)
    for b in range(batch):
        words = splitmix(1000 * step + b, time + 1)
        token = 0
        for t in range(time + 1):
            token = (5 * token + 1 + int(words[t] % np.uint64(4))) % vocabulary
            rows[b, t] = token
    return rows[:, :-1], rows[:, 1:]


def fingerprint(index, gradient):
    """Norm of gradient number `index` and its sums under fixed random signs: four numbers see what a norm misses."""
    flat = gradient.astype(np.float64).ravel()
    sums = []
    for r in range(PROJECTIONS):
        words = splitmix(index * PROJECTIONS + r + 1, (flat.size + 63) // 64)
        bits = (words[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
        signs = 1.0 - 2.0 * bits.ravel()[: flat.size].astype(np.float64)
        sums.append(float(flat @ signs))
    return float(np.linalg.norm(flat)), sums


def run_torch(kind, initial, batches, sizes, dtype, forced=None):
    """Losses, global gradient norms and gradients of each step. forced: parameters to start each step from."""
    model = kind(**sizes, fast=dtype == torch.float32).to(dtype)
    model.load({name: value.astype(np.float64) for name, value in initial.items()})
    optimizer = model.optimizer(TRAINER["learning_rate"], TRAINER["beta1"], TRAINER["beta2"], TRAINER["weight_decay"])
    losses, norms, gradients = [], [], []
    for step, (inputs, targets) in enumerate(batches):
        if forced:
            model.load(forced[step])
        rate = learning_rate(step, TRAINER["steps"], TRAINER["warmup_steps"], TRAINER["learning_rate"],
                             TRAINER["final_learning_rate"])
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad(set_to_none=True)
        loss = model(torch.from_numpy(inputs), torch.from_numpy(targets))
        loss.backward()
        gradients.append({name: p.grad.numpy().copy() for name, p in model.named().items()})
        norms.append(clip(list(model.parameters()), TRAINER["clip_norm"]))
        optimizer.step()
        losses.append(loss.item())
    return losses, norms, gradients


def relative(a, b):
    return abs(a - b) / max(abs(b), 1e-30)


class Report:
    """Collects the worst difference of each check, and whether all stayed within tolerance."""

    def __init__(self):
        self.passed = True

    def line(self, what, worst, where):
        good = worst <= TOLERANCE
        self.passed &= good
        print(f"{'ok  ' if good else 'FAIL'} {what:34s} worst {worst:.2e}  {where}")

    def curve(self, what, actual, expected):
        differences = [relative(a, e) for a, e in zip(actual, expected)]
        step = int(np.argmax(differences))
        self.line(what, differences[step], f"step {step + 1}: {actual[step]:.7f} and {expected[step]:.7f}")


def compare_gradients(report, actual, expected):
    worst, where = 0.0, "no gradient"
    for step, (left, right) in enumerate(zip(actual, expected)):
        for name, gradient in right.items():
            difference = np.linalg.norm((left[name] - gradient).ravel().astype(np.float64))
            value = difference / max(np.linalg.norm(gradient.ravel().astype(np.float64)), 1e-30)
            if value >= worst:
                worst, where = float(value), f"step {step + 1}, {name}"
    report.line("gradients, all steps", worst, where)


def compare_golden(report, losses, first_gradients):
    with open(GOLDEN, encoding="utf-8") as file:
        golden = json.load(file)
    report.curve("Volta's curve and the golden one", losses, golden["loss"])
    worst, where = 0.0, "no gradient"
    for index, entry in enumerate(golden["gradients"]):
        norm, sums = fingerprint(index, first_gradients[entry["name"]])
        # A sum under random signs moves about as much as the vector does: 1e-4 of the norm, times 4 for safety.
        value = max([relative(norm, entry["norm"])] +
                    [abs(a - e) / (4 * entry["norm"]) for a, e in zip(sums, entry["sums"])])
        if value >= worst:
            worst, where = value, entry["name"]
    report.line("step 1's gradients and the golden ones", worst, where)


def write_golden(sizes, batch, time, start_hash, losses, norms, first_gradients):
    entries = []
    for index, (name, gradient) in enumerate(first_gradients.items()):
        norm, sums = fingerprint(index, gradient)
        entries.append(dict(name=name, norm=norm, sums=sums))
    golden = dict(made_by=f"PyTorch {torch.__version__}, float64", batch=batch, time=time, model=sizes,
                  trainer=TRAINER, initial_hash=start_hash, loss=losses, gradient_norm=norms, gradients=entries)
    os.makedirs(os.path.dirname(GOLDEN), exist_ok=True)
    with open(GOLDEN, "w", encoding="utf-8") as file:
        json.dump(golden, file, indent=1)
        file.write("\n")
    print(f"wrote {os.path.relpath(GOLDEN, ROOT)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "libvolta.so"))
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--isa", default="auto")
    parser.add_argument("--update", action="store_true", help="write the golden file (size small only)")
    arguments = parser.parse_args()
    if torch is None:
        print("PyTorch is not installed: nothing to compare with", file=sys.stderr)
        return 2
    torch.set_num_threads(arguments.threads)

    architecture, batch, time, sizes = SIZES[arguments.size]
    kind = MODELS[architecture]
    batches = [batch_of(step, batch, time, sizes["vocabulary"]) for step in range(TRAINER["steps"])]
    volta = LanguageModel(arguments.library, sizes, dict(TRAINER, optimizer=ADAMW, schedule=SCHEDULE_COSINE), batch,
                          time, threads=arguments.threads, isa=arguments.isa, architecture=architecture)
    print(f"Volta {volta.library.version()}, PyTorch {torch.__version__}, {arguments.size}, {batch} x {time} tokens")
    start_hash, before, losses, norms, gradients = volta.hash(), [], [], [], []
    for inputs, targets in batches:
        before.append(volta.parameters())
        loss, norm, _ = volta.step(inputs, targets)
        losses.append(loss)
        norms.append(norm)
        gradients.append(volta.gradients())
    volta.close()

    report = Report()
    free = run_torch(kind, before[0], batches, sizes, torch.float32)
    forced = run_torch(kind, before[0], batches, sizes, torch.float32, before)
    report.curve("loss curve, 20 steps", losses, free[0])
    report.curve("gradient norms, same weights", norms, forced[1])
    compare_gradients(report, gradients, forced[2])
    if arguments.update:
        assert arguments.size == "small", "the golden file is of size small"
        exact = run_torch(kind, before[0], batches, sizes, torch.float64)
        write_golden(sizes, batch, time, start_hash, exact[0], exact[1], exact[2][0])
    if arguments.size == "small":
        compare_golden(report, losses, gradients[0])
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
