#!/usr/bin/env python3
"""One training step of the preset `tiny`, Volta against PyTorch, on the same machine and threads.

Each side lives in a process of its own and they take turns, a few steps each, so that a change of clock or a
neighbour's load meets both. Reported: the median step in milliseconds and the ratio. A side that is not
available (no libvolta, no PyTorch) is left out and said so.

    bench/step_vs_torch.py [--library build/libvolta.so] [--threads 1 2] [--rounds 7] [--steps 3]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "parity"))

VOCABULARY, BATCH, TIME = 65, 4, 256  # tiny: 6 layers, width 384, 6 heads, context 256
RATE, BETA1, BETA2, DECAY, CLIP = 1e-3, 0.9, 0.99, 0.1, 1.0


def tokens(np):
    stream = np.random.default_rng(1).integers(0, VOCABULARY, (BATCH, TIME + 1))
    return stream[:, :-1], stream[:, 1:]


def torch_stepper(threads):
    import numpy as np
    import torch

    from gpt_torch import Gpt

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = Gpt(VOCABULARY)
    try:
        optimizer = model.optimizer(RATE, BETA1, BETA2, DECAY, fused=True)
        kind = "fused AdamW"
    except (RuntimeError, TypeError, ValueError):
        optimizer = model.optimizer(RATE, BETA1, BETA2, DECAY)
        kind = "AdamW, not fused"
    inputs, targets = (torch.from_numpy(x.copy()) for x in tokens(np))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = model(inputs, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        return loss.item()

    return step, f"PyTorch {torch.__version__}, {kind}"


def volta_stepper(threads, library, isa):
    import numpy as np

    from volta_ctypes import ADAMW, Gpt, SCHEDULE_CONSTANT

    options = dict(optimizer=ADAMW, schedule=SCHEDULE_CONSTANT, learning_rate=RATE, beta1=BETA1, beta2=BETA2,
                   weight_decay=DECAY, clip_norm=CLIP, steps=1 << 20)
    gpt = Gpt(library, dict(vocabulary=VOCABULARY), options, BATCH, TIME, threads=threads, isa=isa)
    inputs, targets = tokens(np)
    return (lambda: gpt.step(inputs, targets)[0]), f"Volta {gpt.library.version()}, isa {isa}"


def worker(arguments):
    """Answers each line "N" on standard input with the times of N steps."""
    if arguments.worker == "torch":
        step, name = torch_stepper(arguments.threads[0])
    else:
        step, name = volta_stepper(arguments.threads[0], arguments.library, arguments.isa)
    for _ in range(3):
        step()
    print(json.dumps({"name": name}), flush=True)
    for line in sys.stdin:
        times, loss = [], None
        for _ in range(int(line)):
            start = time.perf_counter()
            loss = step()
            times.append((time.perf_counter() - start) * 1e3)
        print(json.dumps({"ms": times, "loss": loss}), flush=True)


class Side:
    """A worker process, or the reason why there is none."""

    def __init__(self, kind, threads, arguments):
        command = [sys.executable, __file__, "--worker", kind, "--threads", str(threads),
                   "--library", arguments.library, "--isa", arguments.isa]
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=environment)
        first = self.process.stdout.readline()
        self.ms = []
        self.name = json.loads(first)["name"] if first else None
        if not first:
            lines = self.process.stderr.read().strip().splitlines() or ["no reason given"]
            print(f"  {kind} left out: {lines[-1]}")

    def run(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        self.ms += json.loads(self.process.stdout.readline())["ms"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "libvolta.so"))
    parser.add_argument("--isa", default="auto")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--worker", choices=["torch", "volta"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return worker(arguments)

    for threads in arguments.threads:
        print(f"{threads} thread{'s' if threads > 1 else ''}, load {os.getloadavg()[0]:.1f}")
        sides = [side for side in (Side(kind, threads, arguments) for kind in ("volta", "torch")) if side.name]
        for _ in range(arguments.rounds):
            for side in sides:
                time.sleep(0.05)  # until the other side's OpenMP threads have stopped spinning
                side.run(arguments.steps)
        for side in sides:
            side.close()
            quartiles = statistics.quantiles(side.ms, n=4)
            print(f"  {statistics.median(side.ms):8.1f} ms  (quartiles {quartiles[0]:.1f} .. {quartiles[2]:.1f}, "
                  f"best {min(side.ms):.1f})  {side.name}")
        if len(sides) == 2:
            ratio = statistics.median(sides[0].ms) / statistics.median(sides[1].ms)
            print(f"  Volta / PyTorch = {ratio:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
