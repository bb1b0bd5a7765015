#!/usr/bin/env python3
"""voltac train --jsonl --pack against PyTorch: documents side by side in rows, 100 steps, of a GPT and of a Llama.

    tests/parity/parity_packing.py [--voltac build/voltac]

PyTorch begins with the same weights and knows nothing of rows: it runs each document of a step alone, from position 0 on, and
adds up what they ask for. The loss of every step must agree within 1e-4.

Exit status: 0 equal, 1 different, 77 no PyTorch.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

try:
    import torch
    import torch.nn.functional as F

    from gpt_torch import Gpt, clip, learning_rate
    from llama_torch import Llama
    from parity_documents import ROOT, SEED, TOLERANCE, order, read_safetensors
except ImportError:
    print("PyTorch is not installed: skipped")
    sys.exit(77)

SIZES = dict(vocabulary=256, layers=2, dim=32, heads=4, context=64)
STEPS, WARMUP, RATE, LAST_RATE, BATCH, DECAY = 100, 10, 2e-3, 1e-4, 3, 0.1


def documents():
    return [{"prompt": f"{i} times {i % 7}:", "completion": f" {i * (i % 7)}" + "!" * (i * i % 23)} for i in range(60)]


def rows_of(train):
    """First-fit: each document into the first row with room for it."""
    rows, used = [], []
    for document in train:
        places = len(document["prompt"] + document["completion"]) - 1
        row = next((i for i, taken in enumerate(used) if taken + places <= SIZES["context"]), len(rows))
        if row == len(rows):
            rows.append([])
            used.append(0)
        rows[row].append(document)
        used[row] += places
    return rows


def run_torch(model, weights, rows):
    model.load(weights)
    optimizer = model.optimizer(RATE, 0.9, 0.99, DECAY)
    losses = []
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, STEPS, WARMUP, RATE, LAST_RATE)
        optimizer.zero_grad(set_to_none=True)
        total, asked = 0.0, 0
        for row in range(step * BATCH, (step + 1) * BATCH):
            for document in rows[order(len(rows), row // len(rows))[row % len(rows)]]:
                ids, prompt = list((document["prompt"] + document["completion"]).encode()), len(document["prompt"])
                logits = model(torch.tensor([ids[:-1]]))[0, prompt - 1:]
                total = total + F.cross_entropy(logits, torch.tensor(ids[prompt:]), reduction="sum")
                asked += len(ids) - prompt
        loss = total / asked
        loss.backward()
        clip(list(model.parameters()), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def compare(voltac, folder, architecture, model):
    def run(*arguments):
        return subprocess.run([voltac, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout

    run("train", "--text", "text.txt", "--out", "base.volta", "--tokenizer", "byte", "--architecture", architecture, "--layers",
        "2", "--dim", "32", "--heads", "4", "--context", "64", "--batch", "2", "--steps", "3")
    run("convert", "base.volta", "--out", "base.safetensors")
    told = run("train", "--jsonl", "pairs.jsonl", "--pack", "--from", "base.volta", "--out", "m.volta", "--json", "--batch",
               str(BATCH), "--context", str(SIZES["context"]), "--steps", str(STEPS), "--warmup", str(WARMUP), "--lr", str(RATE),
               "--final-lr", str(LAST_RATE), "--seed", str(SEED), "--weight-decay", str(DECAY))
    ours = [line["loss"] for line in map(json.loads, told.splitlines()) if line["event"] == "step"]
    rows = rows_of(documents()[:54])
    theirs = run_torch(model, read_safetensors(os.path.join(folder, "base.safetensors")), rows)
    differences = [abs(a - b) / b for a, b in zip(ours, theirs)]
    worst = int(np.argmax(differences))
    print(f"{architecture}: {len(ours)} steps, 54 documents in {len(rows)} rows, from {theirs[0]:.4f} to {theirs[-1]:.4f}: worst "
          f"difference {differences[worst]:.2e}, step {worst + 1}: {ours[worst]:.7f} and {theirs[worst]:.7f}")
    return len(ours) == STEPS and differences[worst] <= TOLERANCE


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voltac", default=os.path.join(ROOT, "build", "voltac"))
    voltac = os.path.abspath(parser.parse_args().voltac)
    torch.set_num_threads(2)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "text.txt"), "w", encoding="utf-8") as file:
            file.write("".join(f"{i} and {i * i}\n" for i in range(100)))
        with open(os.path.join(folder, "pairs.jsonl"), "w", encoding="utf-8") as file:
            file.write("".join(json.dumps(document) + "\n" for document in documents()))
        equal = [compare(voltac, folder, "gpt", Gpt(**SIZES, fast=False)), compare(voltac, folder, "llama", Llama(**SIZES, fast=False))]
    sys.exit(0 if all(equal) else 1)


if __name__ == "__main__":
    main()
