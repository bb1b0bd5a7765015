#!/usr/bin/env python3
"""Training and inference steps, Volta against PyTorch, on this machine and the same threads.

    bench/train_peers.py [--library build/libvolta.so] [--threads 1 2] [--only tiny gpt2 mlp] [--quick] [--busy N]
                         [--json]

Each side lives in a process of its own and they take turns, so that a change of clock or a neighbour's load meets
both. Figures are medians of single steps; warm-up, at the start and of every turn, is not counted. PyTorch uses what its users would for speed:
scaled_dot_product_attention, fused optimizers, inference_mode. The roofline bound is the least time that this machine needs, by
the peaks that volta_measure_machine gives behind each turn; the ratio is the median of all steps, each to its turn's bound:
    training   operations / multiply-add peak + bytes of the optimizer's pass / streaming bandwidth
    inference  the longer of operations / peak and weights / read bandwidth
A model whose weights stay in a cache may go below it. It needs NumPy; without PyTorch the Volta column stands alone.
With --busy the peaks are measured beside the same neighbours, in bursts so short that they may meet none: compare ms.
"""

import argparse
import json
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "peers")]

import turns  # noqa: E402
from arguments import at_least, require_numpy  # noqa: E402
from processes import busy_neighbours  # noqa: E402

ROOT = os.path.dirname(HERE)
GPTS = {
    "tiny": dict(vocabulary=65, layers=6, dim=384, heads=6, context=256, batch=4, time=256),
    "gpt2": dict(vocabulary=50257, layers=12, dim=768, heads=12, context=1024, batch=4, time=64),
}
MLPS = ["256-512-512-256-1", "512-1024-1024-512-256-1", "512-2048-2048-512-1"]
RATES = {"sgd": 1e-2, "adam": 1e-3, "adamw": 1e-3}
PASS_BYTES = {"sgd": 12, "adam": 28, "adamw": 28}  # per parameter: weights, gradient and moments, read and written
WARMUP = 3
# Of steps that do not count, at the start of a turn: threads that have slept may take tens of milliseconds until each
# has a core of its own, as long as many a step.
WARM_SECONDS = 0.1


def cases():
    """Everything that is compared: name, task ("train" or "infer"), optimizer, batch."""
    for name, gpt in GPTS.items():
        yield dict(name=name, task="train", optimizer="adamw", batch=gpt["batch"])
        yield dict(name=name, task="infer", optimizer=None, batch=gpt["batch"])
    for batch in (64, 256):
        for widths in MLPS:
            for optimizer in ("sgd", "adam"):
                yield dict(name="mlp:" + widths, task="train", optimizer=optimizer, batch=batch)
            yield dict(name="mlp:" + widths, task="infer", optimizer=None, batch=batch)


def is_gpt(case):
    return case["name"] in GPTS


def widths_of(case):
    return [int(width) for width in case["name"].split(":")[1].split("-")]


def work(case):
    """(operations, parameters) of one step, counted as voltac bench train does."""
    backward = 3 if case["task"] == "train" else 1  # forward, and twice as much backward
    if is_gpt(case):
        g = GPTS[case["name"]]
        dim, layers, tokens = g["dim"], g["layers"], g["batch"] * g["time"]
        weights = 12 * layers * dim * dim + g["vocabulary"] * dim
        attention = 2 * g["time"] ** 2 * dim * layers * g["batch"]  # causal: half of the square
        norms_and_biases = layers * 13 * dim + 2 * dim
        return backward * (2 * weights * tokens + attention), weights + g["context"] * dim + norms_and_biases
    widths = widths_of(case)
    products = [a * b for a, b in zip(widths, widths[1:])]
    operations = backward * 2 * sum(products) * case["batch"]
    if case["task"] == "train":
        operations -= 2 * products[0] * case["batch"]  # the first layer's input needs no gradient
    return operations, sum(products) + sum(widths[1:])


def bound_ms(case, peaks):
    operations, parameters = work(case)
    compute = operations / peaks["fma_gflops"] * 1e-6
    if case["task"] == "infer":
        return max(compute, 4 * parameters / peaks["read_gb_s"] * 1e-6)
    return compute + PASS_BYTES[case["optimizer"]] * parameters / peaks["stream_gb_s"] * 1e-6


def data(case):
    """(inputs, targets): the same on both sides."""
    import numpy as np

    random = np.random.default_rng(1)
    if is_gpt(case):
        g = GPTS[case["name"]]
        stream = random.integers(0, g["vocabulary"], (g["batch"], g["time"] + 1)).astype(np.int32)
        return stream[:, :-1].copy(), stream[:, 1:].copy()
    widths = widths_of(case)
    draw = lambda width: random.uniform(-1, 1, (case["batch"], width)).astype(np.float32)  # noqa: E731
    return draw(widths[0]), draw(widths[-1])


# ---- Volta ----------------------------------------------------------------------------------------------------


def volta_worker(case, threads, arguments):
    from volta_models import OPTIMIZERS, Bench

    bench = Bench(arguments.library, threads, arguments.isa)
    inputs, targets = data(case)
    gpt = GPTS.get(case["name"])
    if gpt:
        bench.make_gpt({key: gpt[key] for key in ("vocabulary", "layers", "dim", "heads", "context")})
    else:
        bench.make_dense(widths_of(case), case["batch"])
    if case["task"] == "train":
        more = dict(clip_norm=1.0, weight_decay=0.1) if gpt else {}
        step = bench.trainer(inputs, targets, optimizer=OPTIMIZERS[case["optimizer"]],
                             learning_rate=RATES[case["optimizer"]], **more)
    else:
        shape = inputs.shape + (gpt["vocabulary"],) if gpt else targets.shape
        step = bench.session(inputs, shape)
    return {"version": "Volta " + bench.library.version()}, step, bench


# ---- PyTorch --------------------------------------------------------------------------------------------------


def fused(torch, make):
    """make(fused=True), or without where this PyTorch has no such kernel for the processor."""
    try:
        return make(fused=True), "fused"
    except (RuntimeError, TypeError, ValueError):
        return make(), "not fused"


def torch_worker(case, threads):
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    inputs, targets = (torch.from_numpy(array) for array in data(case))
    gpt = GPTS.get(case["name"])
    if gpt:
        sys.path.insert(0, os.path.join(ROOT, "tests", "parity"))
        from gpt_torch import Gpt

        model = Gpt(**{key: gpt[key] for key in ("vocabulary", "layers", "dim", "heads", "context")})
        inputs, targets = inputs.long(), targets.long()
    else:
        layers = []
        for a, b in zip(widths_of(case), widths_of(case)[1:]):
            layers += [torch.nn.ReLU()] if layers else []
            layers.append(torch.nn.Linear(a, b))
        model = torch.nn.Sequential(*layers)
    hello = {"version": f"PyTorch {torch.__version__}"}
    if case["task"] == "infer":

        def infer():
            with torch.inference_mode():
                return model(inputs).flatten()[0].item()

        return hello, infer
    rate = RATES[case["optimizer"]]
    if case["optimizer"] == "adamw":
        optimizer, kind = fused(torch, lambda **more: model.optimizer(rate, 0.9, 0.999, 0.1, **more))
    else:
        kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
        optimizer, kind = fused(torch, lambda **more: kinds[case["optimizer"]](model.parameters(), lr=rate, **more))
    hello["version"] += f", {kind} {case['optimizer']}"

    def train():
        optimizer.zero_grad(set_to_none=True)
        if gpt:
            loss = model(inputs, targets)
        else:
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        if gpt:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return hello, train


# ---- Worker and driver ------------------------------------------------------------------------------------------


def worker(arguments):
    """Answers {"seconds": S} with the times of as many steps as fill S, and {"peaks": true} with the machine's."""
    case, threads = json.loads(arguments.case), arguments.threads[0]
    bench = None
    if arguments.worker == "torch":
        hello, step = torch_worker(case, threads)
    else:
        hello, step, bench = volta_worker(case, threads, arguments)
    for _ in range(WARMUP):
        begin = time.perf_counter()
        step()
    is_short = time.perf_counter() - begin < WARM_SECONDS

    def reply(question):
        if "peaks" in question:
            return bench.peaks()
        begin = time.perf_counter()
        while is_short and time.perf_counter() - begin < WARM_SECONDS:
            step()
        times, begin = [], time.perf_counter()
        while not times or time.perf_counter() - begin < question["seconds"]:
            start = time.perf_counter()
            step()
            times.append((time.perf_counter() - start) * 1e3)
        return {"ms": times}

    turns.answer(hello, reply)


def start(kind, case, threads, arguments):
    command = [os.path.abspath(__file__), "--worker", kind, "--case", json.dumps(case), "--threads", str(threads),
               "--library", arguments.library, "--isa", arguments.isa]
    return turns.Side(command, turns.environment(threads, arguments.waiting))


def compare(case, threads, arguments, absent):
    """One row: both sides started, turns taken, medians compared."""
    sides = {}
    for kind in ("volta", "torch"):
        if kind in absent:
            continue
        side = start(kind, case, threads, arguments)
        if side.hello:
            sides[kind] = side
        elif kind == "volta":
            sys.exit(f"Volta: {side.reason}")
        else:
            absent[kind] = side.reason
            print(f"PyTorch is left out: {side.reason}", file=sys.stderr)
    times = {kind: [] for kind in sides}
    peaks, ratios = [], []  # one each for a turn; one for a step: what a neighbour takes comes and goes
    for _ in range(arguments.rounds):
        for kind, side in sides.items():
            time.sleep(arguments.pause)  # until the other side's threads have gone to sleep
            turn = side.ask({"seconds": arguments.seconds})["ms"]
            times[kind] += turn
            if kind == "volta":
                peaks.append(side.ask({"peaks": True}))
                ratios += [ms / bound_ms(case, peaks[-1]) for ms in turn]
    peak = {rate: statistics.median(each[rate] for each in peaks) for rate in ("fma_gflops", "stream_gb_s")}
    row = dict(model=case["name"], task=case["task"], optimizer=case["optimizer"], batch=case["batch"],
               seq=GPTS[case["name"]]["time"] if is_gpt(case) else None, threads=threads, busy=arguments.busy,
               isa=peaks[0]["isa"], volta_ms=statistics.median(times["volta"]), volta_spread=turns.spread(times["volta"]),
               volta_best_ms=min(times["volta"]), torch_ms=None, torch_spread=None, torch_best_ms=None, ratio=None,
               ratio_of_bests=None, bound_ms=statistics.median(bound_ms(case, each) for each in peaks),
               peak_gflops=peak["fma_gflops"], stream_gb_s=peak["stream_gb_s"],
               ratio_to_bound=statistics.median(ratios), volta=sides["volta"].hello["version"], torch=None)
    if "torch" in sides:
        row["torch_ms"], row["torch_spread"] = statistics.median(times["torch"]), turns.spread(times["torch"])
        row["torch_best_ms"] = min(times["torch"])
        row["ratio"] = row["torch_ms"] / row["volta_ms"]
        row["ratio_of_bests"] = row["torch_best_ms"] / row["volta_best_ms"]
        row["torch"] = sides["torch"].hello["version"]
    for side in sides.values():
        side.close()
    return row


def print_row(row, as_json):
    if as_json:
        print(json.dumps(row), flush=True)
        return
    torch = f"{'-':>9} {'-':>8} {'-':>8}"
    if row["torch_ms"]:
        torch = f"{row['torch_ms']:9.3f} {row['ratio']:7.2f}x {row['ratio_of_bests']:7.2f}x"
    what = f"{row['task']} {row['optimizer'] or ''}".strip()
    print(f"{row['model']:<27} {what:<12} {row['batch']:>5} {row['threads']:>3} {row['volta_ms']:9.3f} {torch} "
          f"{row['bound_ms']:9.3f} {row['ratio_to_bound']:7.2f}  {100 * row['volta_spread']:5.1f} %", flush=True)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "libvolta.so"))
    parser.add_argument("--isa", default="auto", choices=["auto", "scalar", "avx2", "avx512"], help="Volta's; PyTorch "
                        "is limited by the environment: ATEN_CPU_CAPABILITY, ONEDNN_MAX_CPU_ISA, MKL_ENABLE_INSTRUCTIONS")
    parser.add_argument("--threads", type=at_least(1), nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="models whose name starts so: tiny, gpt2, mlp, ...")
    parser.add_argument("--task", choices=["train", "infer"])
    parser.add_argument("--rounds", type=at_least(1), default=5, help="turns of each side")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a turn; at least one step")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds before a turn")
    parser.add_argument("--waiting", choices=["passive", "default"], default="passive",
                        help="how PyTorch's OpenMP threads wait: asleep, or as its users have it")
    parser.add_argument("--busy", type=at_least(0), default=0, metavar="N",
                        help="processes of others that compute all the time (0)")
    parser.add_argument("--quick", action="store_true", help="2 turns of 0.3 s")
    parser.add_argument("--json", action="store_true", help="one object per line")
    parser.add_argument("--worker", choices=["torch", "volta"], help=argparse.SUPPRESS)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.worker:
        return worker(arguments)
    require_numpy("train_peers.py")
    if arguments.quick:
        arguments.rounds, arguments.seconds = 2, 0.3

    chosen = [case for case in cases()
              if (not arguments.only or case["name"].startswith(tuple(arguments.only)))
              and (not arguments.task or case["task"] == arguments.task)]
    if not chosen:
        parser.error(f"no model starts with {' or '.join(arguments.only)}")
    if not arguments.json:
        others = f"busy neighbours: {arguments.busy}; " if arguments.busy else ""
        print(f"load {os.getloadavg()[0]:.1f}; {others}times in ms; ratio: PyTorch / Volta, above 1 Volta is faster; of the medians,\n"
              f"and of the best steps, which tell more where the load is high\n"
              f"{'model':<27} {'task':<12} {'batch':>5} {'thr':>3} {'Volta':>9} {'PyTorch':>9} {'ratio':>8} {'of bests':>8} "
              f"{'bound':>9} {'x bound':>7}  {'spread':>7}")
    absent, versions = {}, set()
    with busy_neighbours(arguments.busy):
        for threads in arguments.threads:
            for case in chosen:
                row = compare(case, threads, arguments, absent)
                versions |= {version for version in (row["volta"], row["torch"]) if version}
                print_row(row, arguments.json)
    if not arguments.json:
        print("\n" + "; ".join(sorted(versions)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
