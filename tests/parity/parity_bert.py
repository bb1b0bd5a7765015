#!/usr/bin/env python3
"""BERT against PyTorch: same random weights, same masked batches, same optimizer, 20 steps.

    tests/parity/parity_bert.py [--library build/libvolta.so] [--size masked|padded|classes]

Checks what parity_gpt.py checks, each within 1e-4 relative: the loss curve, both sides running freely, and every
parameter's gradient in every step, PyTorch starting each step from Volta's parameters. The sizes:

  masked   tokens alone, every seventh replaced and asked for
  padded   the same with segments, and a mask over sequences of many lengths
  classes  sequences and their classes, with segments and a mask

Exit status: 0 equal, 1 different, 2 no PyTorch.
"""

import argparse
import os
import sys

import numpy as np

from parity_gpt import ROOT, TRAINER, Report, batch_of, compare_gradients, run_torch, splitmix
from volta_ctypes import ADAMW, SCHEDULE_COSINE, LanguageModel

try:
    import torch

    from bert_torch import Bert
except ImportError:
    torch = None

BATCH, TIME, VOCABULARY, CLASSES = 4, 64, 65, 5
SMALL = dict(vocabulary=VOCABULARY + 1, layers=2, dim=64, heads=4, context=TIME)  # one more: [MASK]
SIZES = {
    "masked": SMALL,
    "padded": dict(SMALL, hidden=96, segments=3, epsilon=1e-6, segment_input=1, mask_input=1),
    "classes": dict(SMALL, head=1, classes=CLASSES, segment_input=1, mask_input=1),
}


def inputs_of(step, sizes):
    """Inputs [1 or 3, batch, time] and targets. Padding holds tokens too: nothing may see them."""
    tokens, _ = batch_of(step, BATCH, TIME, VOCABULARY)
    words = splitmix(10000 + step, BATCH * TIME).reshape(BATCH, TIME)
    masked = sizes.get("mask_input", 0) == 1
    lengths = TIME - (words[:, 1] % np.uint64(TIME // 2)).astype(np.int64) if masked else np.full(BATCH, TIME)
    there = np.arange(TIME)[None, :] < lengths[:, None]
    if sizes.get("head", 0) == 1:
        targets = (tokens[:, :3].sum(1) % CLASSES).astype(np.int64)
    else:
        hidden = there & (words % np.uint64(7) == 0)
        hidden[:, 0] = True  # never a batch without any
        targets = np.where(hidden, tokens, -1)
        tokens = np.where(hidden, VOCABULARY, tokens)
    if not masked:
        return tokens[None], targets
    segments = (np.arange(TIME)[None, :] * sizes.get("segments", 2) // lengths[:, None]) % sizes.get("segments", 2)
    return np.stack((tokens, segments, there.astype(np.int64))), targets


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "libvolta.so"))
    parser.add_argument("--size", choices=SIZES, default="masked")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--isa", default="auto")
    arguments = parser.parse_args()
    if torch is None:
        print("PyTorch is not installed: nothing to compare with", file=sys.stderr)
        return 2
    torch.set_num_threads(arguments.threads)

    sizes = SIZES[arguments.size]
    batches = [inputs_of(step, sizes) for step in range(TRAINER["steps"])]
    volta = LanguageModel(arguments.library, sizes, dict(TRAINER, optimizer=ADAMW, schedule=SCHEDULE_COSINE), BATCH,
                          TIME, threads=arguments.threads, isa=arguments.isa, architecture="bert",
                          input_count=len(batches[0][0]), targets=batches[0][1].shape)
    print(f"Volta {volta.library.version()}, PyTorch {torch.__version__}, BERT {arguments.size}, {BATCH} x {TIME}")
    before, losses, norms, gradients = [], [], [], []
    for inputs, targets in batches:
        before.append(volta.parameters())
        loss, norm, _ = volta.step(inputs, targets)
        losses.append(loss)
        norms.append(norm)
        gradients.append(volta.gradients())
    volta.close()

    report = Report()
    free = run_torch(Bert, before[0], batches, sizes, torch.float32)
    forced = run_torch(Bert, before[0], batches, sizes, torch.float32, before)
    report.curve("loss curve, 20 steps", losses, free[0])
    report.curve("gradient norms, same weights", norms, forced[1])
    compare_gradients(report, gradients, forced[2])
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
