#!/usr/bin/env python3
"""A training step of GPT-2 124M by several processes, Volta beside PyTorch's DistributedDataParallel over gloo, on this machine.

    bench/distributed_peers.py [--library build/libvolta.so] [--ranks 2] [--time 64] [--rounds N] [--json]

The batch of a step is the same on all sides: 4 rows, of which a rank computes its part. Sides take turns: one process with as many threads
as there are ranks, and that many ranks of one thread each. Volta computes as many shards as there are ranks, in one process too, with the same
bits; one process with one shard is what a run without ranks does. AdamW without clipping. Processes on the cores of one machine are no
network: what is measured is what the exchange costs in copies and waiting. Figures are medians, ratios medians of neighbouring steps to the
first way.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import turns  # noqa: E402
from arguments import at_least, require_numpy  # noqa: E402

ROOT = os.path.dirname(HERE)
SIZES = dict(vocabulary=50257, layers=12, dim=768, heads=12, context=1024)
BATCH = 4
WAYS = {  # name: what one line says, and its processes
    "volta": ("Volta, one process", 1),
    "volta-shards": ("Volta, one process, shards", 1),
    "volta-ranks": ("Volta, ranks", 0),
    "torch": ("PyTorch, one process", 1),
    "torch-ranks": ("PyTorch, DDP over gloo", 0),
}


def data(length):
    import numpy

    stream = numpy.random.default_rng(1).integers(0, SIZES["vocabulary"], (BATCH, length + 1)).astype(numpy.int32)
    return stream[:, :-1].copy(), stream[:, 1:].copy()


def volta_step(arguments, threads):
    os.environ["VOLTA_LIBRARIES"] = os.path.dirname(os.path.abspath(arguments.library))
    sys.path.insert(0, os.path.join(ROOT, "bindings", "python"))
    import volta

    context = volta.Context(threads=threads)
    model = volta.Model.gpt(ctx=context, **SIZES)
    group = None
    if arguments.worker == "volta-ranks":
        group = volta.Group(context, transport="local", address=arguments.meet, rank=arguments.rank, size=arguments.ranks, timeout=600)
    shards = 1 if arguments.worker == "volta" else arguments.ranks
    inputs, targets = data(arguments.time)
    trainer = volta.Trainer(model, [(BATCH // shards, arguments.time)], learning_rate=1e-4, weight_decay=0.1, optimizer="adamw", shards=shards,
                            group=group)
    return f"{volta.__version__}", lambda: trainer.step(inputs, targets)


def torch_step(arguments, threads):
    import torch
    import torch.distributed

    sys.path.insert(0, os.path.join(ROOT, "tests", "parity"))
    from gpt_torch import Gpt

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    inputs, targets = (torch.from_numpy(array).long() for array in data(arguments.time))
    model = Gpt(**SIZES)
    if arguments.worker == "torch-ranks":
        torch.distributed.init_process_group("gloo", init_method=f"file://{arguments.meet}/torch", rank=arguments.rank, world_size=arguments.ranks)
        own = BATCH // arguments.ranks
        inputs, targets = (array[arguments.rank * own:(arguments.rank + 1) * own] for array in (inputs, targets))
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, fused=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(inputs, targets).backward()
        optimizer.step()

    return torch.__version__, step


def worker(arguments):
    """Rank 0 answers {"rounds": N} with the milliseconds of N steps, which the other ranks make with it."""
    ranks = arguments.ranks if WAYS[arguments.worker][1] == 0 else 1
    others = []
    if arguments.rank == 0 and ranks > 1:
        arguments.meet = tempfile.mkdtemp()
        for rank in range(1, ranks):
            command = [sys.executable, os.path.abspath(__file__), "--library", arguments.library, "--ranks", str(arguments.ranks), "--time",
                       str(arguments.time), "--worker", arguments.worker, "--rank", str(rank), "--meet", arguments.meet]
            others.append(subprocess.Popen(command, stdin=subprocess.PIPE, text=True))
    make = volta_step if arguments.worker.startswith("volta") else torch_step
    version, step = make(arguments, arguments.ranks // ranks)
    step()
    if arguments.rank > 0:
        for _ in sys.stdin:  # a line, a step
            step()
        return

    def reply(question):
        times = []
        for _ in range(question["rounds"]):
            for other in others:
                other.stdin.write("step\n")
                other.stdin.flush()
            begin = time.perf_counter()
            step()
            times.append(1e3 * (time.perf_counter() - begin))
        return times

    turns.answer({"version": version}, reply)
    for other in others:
        other.stdin.close()
        other.wait()


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "libvolta.so"), metavar="FILE")
    parser.add_argument("--ranks", type=int, choices=[2, 4], default=2)
    parser.add_argument("--time", type=at_least(1), default=64, help="tokens of a row, of which there are 4")
    parser.add_argument("--rounds", type=at_least(1), default=9, help="steps of each way")
    parser.add_argument("--json", action="store_true", help="one object per line")
    parser.add_argument("--worker", choices=list(WAYS), help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--meet", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.worker:
        return worker(arguments)
    require_numpy("distributed_peers.py")
    sides = []
    for name in WAYS:
        command = [os.path.abspath(__file__), "--library", arguments.library, "--ranks", str(arguments.ranks), "--time", str(arguments.time),
                   "--worker", name]
        side = turns.Side(command, turns.environment(arguments.ranks if WAYS[name][1] else 1))
        if side.reason:
            print(f"left out: {side.reason}", file=sys.stderr)
        else:
            sides.append((name, side, []))
    for _ in range(arguments.rounds):
        for _, side, times in sides:
            times += side.ask({"rounds": 1})
    if not arguments.json:
        print(f"{'side':34} {'processes':>9} {'threads':>7} {'ms':>9} {'spread':>7} {'ratio':>7}")
    for name, side, times in sides:
        processes = WAYS[name][1] or arguments.ranks
        row = dict(side=f"{WAYS[name][0]} ({side.hello['version']})", processes=processes, threads=arguments.ranks // processes,
                   ms=statistics.median(times), spread=turns.spread(times),
                   ratio=statistics.median(a / b for a, b in zip(times, sides[0][2])))
        side.close()
        if arguments.json:
            print(json.dumps(row), flush=True)
        else:
            print(f"{row['side']:34} {processes:9} {row['threads']:7} {row['ms']:9.1f} {100 * row['spread']:5.1f} % {row['ratio']:7.3f}",
                  flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
