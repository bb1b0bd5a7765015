#!/usr/bin/env python3
"""voltac train --jsonl against PyTorch: the loss of completions alone, 40 steps.

    tests/parity/parity_documents.py [--voltac build/voltac]

A small GPT whose tokens are bytes learns pairs of prompt and completion. PyTorch begins with the same weights and is given the
same documents, in the order that the seed draws; prompts and what stands behind a document are left out of its loss. The loss
of every step must agree within 1e-4.

Exit status: 0 equal, 1 different, 77 no PyTorch.
"""

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

try:
    import torch
    import torch.nn.functional as F

    from gpt_torch import Gpt, clip, learning_rate
except ImportError:
    print("PyTorch is not installed: skipped")
    sys.exit(77)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIZES = dict(vocabulary=256, layers=2, dim=32, heads=4, context=64)
STEPS, WARMUP, RATE, LAST_RATE, BATCH, SEED, DECAY = 40, 4, 2e-3, 1e-4, 4, 5, 0.1
MASK = (1 << 64) - 1
TOLERANCE = 1e-4


def documents():
    return [{"prompt": f"{i} times {i % 7}:", "completion": f" {i * (i % 7)}" + "!" * (i % 5)} for i in range(30)]


def splitmix(seed, epoch):
    """The numbers of an epoch, as cli/document_lesson.cpp draws them."""
    state = (seed * 0xD1342543DE82EF95 + epoch * 0x2545F4914F6CDD1D) & MASK
    first = True
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        if not first:
            yield z ^ (z >> 31)
        first = False


def order(count, epoch):
    places, draws = list(range(count)), splitmix(SEED, epoch)
    for i in range(count, 1, -1):
        other = next(draws) % i
        places[i - 1], places[other] = places[other], places[i - 1]
    return places


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], np.float32).reshape(entry["shape"]).copy()
            for name, entry in header.items() if name != "__metadata__"}


def run_torch(weights, train):
    model = Gpt(**SIZES, fast=False)
    model.load(weights)
    optimizer = model.optimizer(RATE, 0.9, 0.99, DECAY)
    window = -(-max(len(document["prompt"] + document["completion"]) - 1 for document in documents()) // 8) * 8
    losses = []
    for step in range(STEPS):
        tokens, targets = np.zeros((BATCH, window), np.int64), np.full((BATCH, window), -1, np.int64)
        for row in range(BATCH):
            at = step * BATCH + row
            document = train[order(len(train), at // len(train))[at % len(train)]]
            ids, prompt = list((document["prompt"] + document["completion"]).encode()), len(document["prompt"])
            tokens[row, :len(ids) - 1] = ids[:-1]
            targets[row, prompt - 1:len(ids) - 1] = ids[prompt:]
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, STEPS, WARMUP, RATE, LAST_RATE)
        optimizer.zero_grad(set_to_none=True)
        logits = model(torch.from_numpy(tokens))
        loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), torch.from_numpy(targets).view(-1), ignore_index=-1)
        loss.backward()
        clip(list(model.parameters()), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voltac", default=os.path.join(ROOT, "build", "voltac"))
    voltac = os.path.abspath(parser.parse_args().voltac)
    torch.set_num_threads(2)
    with tempfile.TemporaryDirectory() as folder:
        def run(*arguments):
            return subprocess.run([voltac, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout

        with open(os.path.join(folder, "text.txt"), "w", encoding="utf-8") as file:
            file.write("".join(f"{i} and {i * i}\n" for i in range(100)))
        with open(os.path.join(folder, "pairs.jsonl"), "w", encoding="utf-8") as file:
            file.write("".join(json.dumps(document) + "\n" for document in documents()))
        run("train", "--text", "text.txt", "--out", "base.volta", "--tokenizer", "byte", "--layers", "2", "--dim", "32", "--heads",
            "4", "--context", "64", "--batch", "2", "--steps", "3")
        run("convert", "base.volta", "--out", "base.safetensors")
        weights = read_safetensors(os.path.join(folder, "base.safetensors"))
        told = run("train", "--jsonl", "pairs.jsonl", "--from", "base.volta", "--out", "m.volta", "--json", "--batch", str(BATCH),
                   "--steps", str(STEPS), "--warmup", str(WARMUP), "--lr", str(RATE), "--final-lr", str(LAST_RATE), "--seed",
                   str(SEED), "--weight-decay", str(DECAY))
    lines = [json.loads(line) for line in told.splitlines()]
    ours = [line["loss"] for line in lines if line["event"] == "step"]
    theirs = run_torch(weights, documents()[:27])
    differences = [abs(a - b) / b for a, b in zip(ours, theirs)]
    worst = int(np.argmax(differences))
    print(f"{len(ours)} steps, from {theirs[0]:.4f} to {theirs[-1]:.4f}: worst difference {differences[worst]:.2e}, "
          f"step {worst + 1}: {ours[worst]:.7f} and {theirs[worst]:.7f}")
    sys.exit(0 if len(ours) == STEPS and differences[worst] <= TOLERANCE else 1)


if __name__ == "__main__":
    main()
