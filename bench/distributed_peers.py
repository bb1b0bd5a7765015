#!/usr/bin/env python3
"""A training step of several processes, Volta beside PyTorch's DistributedDataParallel over gloo, on this machine.

    bench/distributed_peers.py [--library build/libvolta.so] [--model gpt2 | resnet18] [--ranks 2] [--rows N] [--time 64] [--rounds N] [--json]

GPT-2 124M by AdamW without clipping, or ResNet-18 of pictures of 32 x 32 by SGD with momentum, whose batch norms see a rank's pictures on all
sides. The batch of a step is the same on all sides: 4 rows, or 32 pictures, of which a rank computes its part. Sides take turns: one process
with as many threads as there are ranks, and that many ranks of one thread each. Volta computes as many shards as there are ranks, in one
process too, with the same bits; one process with one shard is what a run without ranks does. Processes on the cores of one machine are no
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
GPT2 = dict(vocabulary=50257, layers=12, dim=768, heads=12, context=1024)
CLASSES, SIDE = 10, 32  # of ResNet-18's pictures
ROWS = {"gpt2": 4, "resnet18": 32}  # of a step
WAYS = {  # name: what one line says, and its processes
    "volta": ("Volta, one process", 1),
    "volta-shards": ("Volta, one process, shards", 1),
    "volta-ranks": ("Volta, ranks", 0),
    "torch": ("PyTorch, one process", 1),
    "torch-ranks": ("PyTorch, DDP over gloo", 0),
}


def data(arguments):
    """Inputs and targets of a step."""
    import numpy

    random = numpy.random.default_rng(1)
    if arguments.model == "resnet18":
        pictures = random.standard_normal((arguments.rows, 3, SIDE, SIDE), dtype=numpy.float32)
        return pictures, random.integers(0, CLASSES, arguments.rows).astype(numpy.int32)
    stream = random.integers(0, GPT2["vocabulary"], (arguments.rows, arguments.time + 1)).astype(numpy.int32)
    return stream[:, :-1].copy(), stream[:, 1:].copy()


def volta_step(arguments, threads):
    os.environ["VOLTA_LIBRARIES"] = os.path.dirname(os.path.abspath(arguments.library))
    sys.path.insert(0, os.path.join(ROOT, "bindings", "python"))
    import volta

    context = volta.Context(threads=threads)
    if arguments.model == "resnet18":
        model = volta.Model.network("resnet18", ctx=context, classes=CLASSES, channels=3, rows=SIDE, columns=SIDE, stem="small")
        options = dict(learning_rate=1e-3, momentum=0.9, optimizer="sgd")
    else:
        model = volta.Model.gpt(ctx=context, **GPT2)
        options = dict(learning_rate=1e-4, weight_decay=0.1, optimizer="adamw")
    group = None
    if arguments.worker == "volta-ranks":
        group = volta.Group(context, transport="local", address=arguments.meet, rank=arguments.rank, size=arguments.ranks, timeout=600)
    shards = 1 if arguments.worker == "volta" else arguments.ranks
    inputs, targets = data(arguments)
    trainer = volta.Trainer(model, [(arguments.rows // shards, *inputs.shape[1:])], shards=shards, group=group, **options)
    return f"{volta.__version__}", lambda: trainer.step(inputs, targets)


def torch_model(arguments):
    """A network and its loss as one module, and the optimizer of its parameters."""
    import torch

    sys.path.insert(0, os.path.join(ROOT, "tests", "parity"))
    if arguments.model == "resnet18":
        from networks_torch import Resnet

        class Loss(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.network = Resnet(18, CLASSES, large=False)

            def forward(self, pictures, labels):
                return torch.nn.functional.cross_entropy(self.network(pictures), labels)

        return Loss(), lambda parameters: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9)
    from gpt_torch import Gpt

    return Gpt(**GPT2), lambda parameters: torch.optim.AdamW(parameters, lr=1e-4, weight_decay=0.1, fused=True)


def torch_step(arguments, threads):
    import torch
    import torch.distributed

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    inputs, targets = (torch.from_numpy(array) for array in data(arguments))
    inputs, targets = inputs if inputs.is_floating_point() else inputs.long(), targets.long()
    model, optimizer_of = torch_model(arguments)
    if arguments.worker == "torch-ranks":
        torch.distributed.init_process_group("gloo", init_method=f"file://{arguments.meet}/torch", rank=arguments.rank, world_size=arguments.ranks)
        own = arguments.rows // arguments.ranks
        inputs, targets = (array[arguments.rank * own:(arguments.rank + 1) * own] for array in (inputs, targets))
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = optimizer_of(model.parameters())

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(inputs, targets).backward()
        optimizer.step()

    return torch.__version__, step


def call(arguments, way):
    """This script as a worker."""
    return [os.path.abspath(__file__), "--library", arguments.library, "--model", arguments.model, "--ranks", str(arguments.ranks), "--rows",
            str(arguments.rows), "--time", str(arguments.time), "--worker", way]


def worker(arguments):
    """Rank 0 answers {"rounds": N} with the milliseconds of N steps, which the other ranks make with it."""
    ranks = arguments.ranks if WAYS[arguments.worker][1] == 0 else 1
    others = []
    if arguments.rank == 0 and ranks > 1:
        arguments.meet = tempfile.mkdtemp()
        for rank in range(1, ranks):
            command = [sys.executable, *call(arguments, arguments.worker), "--rank", str(rank), "--meet", arguments.meet]
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
    parser.add_argument("--model", choices=list(ROWS), default="gpt2")
    parser.add_argument("--ranks", type=int, choices=[2, 4], default=2)
    parser.add_argument("--rows", type=at_least(1), help="of a step: a multiple of the ranks (default: 4; pictures: 32)")
    parser.add_argument("--time", type=at_least(1), default=64, help="tokens of a row")
    parser.add_argument("--rounds", type=at_least(1), default=9, help="steps of each way")
    parser.add_argument("--json", action="store_true", help="one object per line")
    parser.add_argument("--worker", choices=list(WAYS), help=argparse.SUPPRESS)
    parser.add_argument("--rank", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--meet", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    arguments.rows = arguments.rows or ROWS[arguments.model]
    if arguments.rows % arguments.ranks != 0:
        parser.error(f"argument --rows: {arguments.rows} is no multiple of {arguments.ranks} ranks")
    if arguments.worker:
        return worker(arguments)
    require_numpy("distributed_peers.py")
    sides = []
    for name in WAYS:
        side = turns.Side(call(arguments, name), turns.environment(arguments.ranks if WAYS[name][1] else 1))
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
