#!/usr/bin/env python3
"""A training step of GPT-2 124M in less memory, Volta beside PyTorch, on this machine and the same threads.

    bench/memory_peers.py [--library build/libvolta.so] [--threads 2] [--time 64 256] [--rounds N] [--compiled] [--json]

Volta computes activations again as activation_budget says (docs/memory.md): all of them kept, shares of that, the least; and updates in
the backward pass. PyTorch 2 computes blocks again by torch.utils.checkpoint: none, each, and the first half of them; and, compiled
(--compiled), what its partitioner chooses for an activation_memory_budget of 1, 0.5 and 0. Both sides train with AdamW and without clipping. Ways of a side alternate step by step in one process, sides take turns; figures are medians,
ratios medians of neighbouring steps to the side's first way. Bytes: of Volta the bill's activations and total; of PyTorch what the graph has saved for
the backward pass, parameters left out (torch.autograd.graph.saved_tensors_hooks), each storage once, without what is alive for a moment; and as
the total the most that a step had resident beyond what the process had before its model.
"""

import argparse
import ctypes
import json
import os
import statistics
import sys
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import turns  # noqa: E402
from arguments import at_least, require_numpy  # noqa: E402

ROOT = os.path.dirname(HERE)
SIZES = dict(vocabulary=50257, layers=12, dim=768, heads=12, context=1024)
BATCH = 4
MIB = 1 << 20


def data(length):
    import numpy

    stream = numpy.random.default_rng(1).integers(0, SIZES["vocabulary"], (BATCH, length + 1)).astype(numpy.int32)
    return stream[:, :-1].copy(), stream[:, 1:].copy()


def resident(field):
    """Bytes of this process: VmRSS now, VmHWM the most since it was cleared."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(field))


def peak_of(step):
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as clear:
        clear.write("5")
    step()
    return resident("VmHWM")


def volta_ways(arguments, length):
    """[(name, activations in bytes, total in bytes or None, step)]"""
    os.environ["VOLTA_LIBRARIES"] = os.path.dirname(os.path.abspath(arguments.library))
    sys.path.insert(0, os.path.join(ROOT, "bindings", "python"))
    import volta

    context = volta.Context(threads=arguments.threads)
    model = volta.Model.gpt(ctx=context, **SIZES)
    shapes, options = [(BATCH, length)], dict(learning_rate=1e-4, weight_decay=0.1, optimizer="adamw")
    found = volta.Trainer.estimate(model, shapes, **options)
    whole, least = found["bill"]["activations"], found["smallest_activations"]
    ways = [("all kept", {})]
    for share in (75, 60, 50):
        if whole * share // 100 > least:
            ways.append((f"{share} %", dict(activation_budget=whole * share // 100)))
    ways += [("least", dict(activation_budget=least))]
    early = dict(update_in_backward=1)  # a gradient then lies among the activations
    least = volta.Trainer.estimate(model, shapes, **options, **early)["smallest_activations"]
    ways += [("update in backward", early), ("least, update in backward", dict(early, activation_budget=least))]
    inputs, targets = data(length)
    rows = []
    for name, more in ways:
        trainer = volta.Trainer(model, shapes, **options, **more)
        bill = trainer.bill
        rows.append((name, bill["activations"], bill["total"], lambda trainer=trainer: trainer.step(inputs, targets)))
    return f"Volta {volta.__version__}", rows


def torch_ways(arguments, length):
    import torch
    from torch.utils.checkpoint import checkpoint

    sys.path.insert(0, os.path.join(ROOT, "tests", "parity"))
    from gpt_torch import Gpt

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    inputs, targets = (torch.from_numpy(array).long() for array in data(length))

    class Checkpointed(Gpt):
        again = 0  # blocks, from the first

        def _block(self, i, x):
            block = super()._block
            return checkpoint(block, i, x, use_reentrant=False) if i < self.again else block(i, x)

    before = resident("VmRSS")
    model = Checkpointed(**SIZES)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, fused=True)
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}

    def saved(forward):
        kept = {}

        def pack(tensor):
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in own:
                kept[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            forward()
        return sum(kept.values())

    def step(forward):
        optimizer.zero_grad(set_to_none=True)
        forward().backward()
        optimizer.step()

    def checkpointed(again):
        model.again = again
        return model(inputs, targets)

    def compiled(share):
        """Of a code of its own: what is compiled is kept by its code."""
        def forward():
            return model(inputs, targets)

        code = forward.__code__.replace(co_firstlineno=int(1000 + 100 * share))
        call = torch.compile(types.FunctionType(code, globals(), "forward", None, forward.__closure__))

        def budgeted():
            model.again = 0
            with torch._functorch.config.patch(activation_memory_budget=share):
                return call()

        with torch._functorch.config.patch(activation_memory_budget=share):
            call().backward()  # compiles both ways
        return budgeted

    ways = [(name, lambda again=again: checkpointed(again))
            for name, again in (("all kept", 0), ("half of the blocks", SIZES["layers"] // 2), ("all blocks", SIZES["layers"]))]
    if arguments.compiled:
        ways += [(f"compiled, budget {share}", compiled(share)) for share in (1.0, 0.5, 0.0)]
    rows = []
    for name, forward in ways:
        step(forward)
        rows.append((name, saved(forward), peak_of(lambda: step(forward)) - before, lambda forward=forward: step(forward)))
    return f"PyTorch {torch.__version__}", rows


def worker(arguments):
    """Answers {"rounds": N} with the milliseconds of each way, N steps each, one after the other."""
    make = {"volta": volta_ways, "torch": torch_ways}[arguments.worker]
    version, ways = make(arguments, arguments.time[0])
    for _, _, _, step in ways:
        step()

    def reply(question):
        times = {name: [] for name, _, _, _ in ways}
        for _ in range(question["rounds"]):
            for name, _, _, step in ways:
                begin = time.perf_counter()
                step()
                times[name].append(1e3 * (time.perf_counter() - begin))
        return times

    turns.answer({"version": version, "ways": [way[:3] for way in ways]}, reply)


def measured(arguments, length):
    """[(version, name, activations, total, times)] of both sides, in turns."""
    command = [os.path.abspath(__file__), "--library", arguments.library, "--threads", str(arguments.threads), "--time", str(length)]
    command += ["--compiled"] if arguments.compiled else []
    sides = [turns.Side(command + ["--worker", name], turns.environment(arguments.threads)) for name in ("volta", "torch")]
    for side in sides:
        if side.reason:
            print(f"left out: {side.reason}", file=sys.stderr)
    sides = [side for side in sides if side.hello]
    times = [{name: [] for name, _, _ in side.hello["ways"]} for side in sides]
    for _ in range(arguments.rounds):
        for side, of in zip(sides, times):
            for name, more in side.ask({"rounds": 1}).items():
                of[name] += more
    rows = []
    for side, of in zip(sides, times):
        rows += [(side.hello["version"], name, kept, total, of[name]) for name, kept, total in side.hello["ways"]]
        side.close()
    return rows


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "libvolta.so"), metavar="FILE")
    parser.add_argument("--threads", type=at_least(1), default=2)
    parser.add_argument("--time", type=at_least(1), nargs="+", default=[64, 256], help="tokens of a row, of which there are 4")
    parser.add_argument("--rounds", type=at_least(1), default=9, help="steps of each way")
    parser.add_argument("--compiled", action="store_true", help="PyTorch compiled, too, by budgets")
    parser.add_argument("--json", action="store_true", help="one object per line")
    parser.add_argument("--worker", choices=["torch", "volta"], help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.worker:
        return worker(arguments)
    require_numpy("memory_peers.py")
    if not arguments.json:
        print(f"{'tokens':8} {'side':22} {'way':26} {'activations':>12} {'':>7} {'total':>10} {'ms':>9} {'spread':>7} {'ratio':>7}")
    for length in arguments.time:
        first = {}
        for version, name, kept, total, times in measured(arguments, length):
            whole, begin = first.setdefault(version, (kept, times))
            row = dict(tokens=f"{BATCH} x {length}", side=version, way=name, activations=kept, share=kept / whole, total=total,
                       ms=statistics.median(times), spread=turns.spread(times),
                       ratio=statistics.median(a / b for a, b in zip(times, begin)))
            if arguments.json:
                print(json.dumps(row), flush=True)
                continue
            bill = f"{total / MIB:6.0f} MiB" if total else ""
            print(f"{row['tokens']:8} {version:22} {name:26} {kept / MIB:8.1f} MiB {100 * row['share']:5.1f} % {bill:>10} {row['ms']:9.1f} "
                  f"{100 * row['spread']:5.1f} % {row['ratio']:7.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
