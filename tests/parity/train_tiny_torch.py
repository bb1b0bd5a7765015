#!/usr/bin/env python3
"""What `voltac train --preset tiny --text FILE --steps N` does, in PyTorch: prints the validation loss it reaches.

    tests/parity/train_tiny_torch.py FILE [--steps 1000] [--seed 1]

Same model, split (first 90 % train), tokenizer (sorted distinct characters), AdamW (0.9, 0.99, decay 0.1 on
matrices), clipping 1.0, 100 warm-up steps to 1e-3, cosine to 1e-4, and evaluation over the last 10 % in consecutive
windows. Initial weights and batch order come from PyTorch's own generator: runs differ by seed, by about 0.01.
"""

import argparse
import json
import sys
import time

import torch

from gpt_torch import Gpt, clip, learning_rate

BATCH, TIME, WARMUP, HIGH, LOW = 4, 256, 100, 1e-3, 1e-4


def batches(tokens, generator):
    """Epochs of non-overlapping windows of TIME + 1 tokens in random order, each epoch from a random offset."""
    while True:
        offset = int(torch.randint(0, TIME, (1,), generator=generator))
        starts = torch.arange(offset, len(tokens) - TIME - 1, TIME)
        order = starts[torch.randperm(len(starts), generator=generator)]
        for i in range(0, len(order) - BATCH + 1, BATCH):
            rows = torch.stack([tokens[s : s + TIME + 1] for s in order[i : i + BATCH]])
            yield rows[:, :-1], rows[:, 1:]


@torch.no_grad()
def evaluate(model, tokens):
    """Mean loss over consecutive windows; every token but the first is predicted once."""
    total = 0.0
    for start in range(0, len(tokens) - 1, TIME):
        window = tokens[start : start + TIME + 1]
        total += float(model(window[None, :-1], window[None, 1:])) * (len(window) - 1)
    return total / (len(tokens) - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)

    with open(arguments.text, encoding="utf-8") as file:
        text = file.read()
    ids = {character: i for i, character in enumerate(sorted(set(text)))}
    tokens = torch.tensor([ids[character] for character in text])
    cut = len(tokens) * 9 // 10
    model = Gpt(len(ids))
    optimizer = model.optimizer(HIGH, 0.9, 0.99, 0.1)
    source = batches(tokens[:cut], torch.Generator().manual_seed(arguments.seed))
    begin = time.time()
    for step in range(arguments.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, arguments.steps, WARMUP, HIGH, LOW)
        optimizer.zero_grad(set_to_none=True)
        loss = model(*next(source))
        loss.backward()
        clip(list(model.parameters()), 1.0)
        optimizer.step()
        if (step + 1) % 100 == 0 or step == 0:
            print(f"step {step + 1} loss {loss.item():.4f} {time.time() - begin:.0f} s", file=sys.stderr)
    print(json.dumps(dict(pytorch=torch.__version__, steps=arguments.steps, seed=arguments.seed,
                          validation_loss=evaluate(model, tokens[cut:]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
