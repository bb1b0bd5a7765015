#!/usr/bin/env python3
"""Tapes beside the trainer, sessions and PyTorch, on this machine and the same threads.

    bench/tape_peers.py [--library build/libvolta.so] [--threads 2] [--only mlp block gpt resnet20 resnet50 calls] [--quick] [--json]
                        [--check] [--compile]

Networks are written with volta.nn (bench/tape_networks.py), so a step has Python's cost, as PyTorch's has; that of the perceptron,
of few milliseconds, is taken from C too. Compared are
    train     a whole step: forward, backward, update; LAZY and EAGER tapes, a trainer of the captured network, PyTorch eager
    infer     one picture: LAZY and EAGER, a session with packed weights, PyTorch eager
    backward  a block without update: with backward less forward alone, in LAZY (one plan ahead of time) and EAGER; PyTorch eager, with
              --compile by AOTAutograd (aot_eager) and by inductor too, where they work
    calls     of 8 elements: from C recorded and EAGER, from Python EAGER; PyTorch from Python, with --compile from C++ too
Volta and PyTorch live in processes of their own and take turns; within a turn of a process its ways alternate step by step. Figures are
medians, ratios those of medians and, for ways of one process, medians of neighbouring steps. PyTorch has fused optimizers,
scaled_dot_product_attention and inference_mode. --check: status 1 where a bar is missed. It needs NumPy and the build's overhead_loop.
"""

import argparse
import ctypes
import json
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import machine  # noqa: E402
import turns  # noqa: E402
from arguments import at_least, require_numpy  # noqa: E402

ROOT = os.path.dirname(HERE)
CASES = {  # name -> (network, task, batch)
    "mlp": ("mlp", "train", None), "gpt": ("gpt", "train", None), "block": ("block", "train", None),
    "resnet20": ("resnet20", "train", 32), "resnet20-infer": ("resnet20", "infer", 1), "resnet50-infer": ("resnet50", "infer", 1),
    "block-backward": ("block", "backward", None), "calls": ("calls", "calls", None),
}
OPTIMIZERS = {"mlp": ("sgd", dict(lr=0.01, momentum=0.9)), "resnet20": ("sgd", dict(lr=0.01, momentum=0.9)),
              "block": ("adamw", dict(lr=1e-4)), "gpt": ("adamw", dict(lr=1e-3))}
# case, way, to what, ratio of times other / way that is asked
BARS = [("mlp", "C, lazy", "trainer", 0.97), ("gpt", "lazy", "trainer", 0.97), ("resnet20", "lazy", "trainer", 0.97),
        ("block", "lazy", "torch", 1.3), ("resnet50-infer", "lazy", "eager", 1.1), ("resnet50-infer", "lazy", "torch", 1.2),
        ("calls", "C, eager", "torch", 1 / 0.6)]
WARMUP_STEPS, WARM_SECONDS = 3, 0.1
CALLS = 64  # of a record


# ---- Volta ---------------------------------------------------------------------------------------------------------


def volta_ways(case, threads, arguments):
    """(version, way -> a function that does it once and gives nothing)."""
    os.environ["VOLTA_LIBRARIES"] = os.path.dirname(os.path.abspath(arguments.library))
    sys.path.insert(0, os.path.join(ROOT, "bindings", "python"))
    import volta

    context = volta.Context(threads=threads)
    ways = {"train": volta_training, "infer": volta_inference, "backward": volta_backward, "calls": volta_calls}
    network, task, batch = CASES[case]
    return f"Volta {volta.__version__}", ways[task](volta, context, network, batch)


def on(volta, tape, step):
    def run():
        with volta.recording.entered(tape):
            step()

    return run


def volta_network(volta, context, name, batch):
    """(network, inputs, targets, loss) with tensors of this context."""
    from tape_networks import data, volta_network

    volta.nn.manual_seed(1)
    x, targets = (volta.Tensor(array, ctx=context) for array in data(name, batch))
    with volta.tape(ctx=context):
        network = volta_network(name, volta)
    return network, x, targets, volta.nn.mse if name == "block" else volta.nn.cross_entropy


def volta_training(volta, context, name, batch):
    from tape_networks import data

    kind, options = OPTIMIZERS[name]

    def stepping(mode):
        network, x, targets, loss = volta_network(volta, context, name, batch)
        tape = volta.Tape(mode, ctx=context)
        optimizer = {"sgd": volta.optim.SGD, "adamw": volta.optim.AdamW}[kind](network.parameters(), **options)

        def step():
            optimizer.zero_grad()
            loss(network(x), targets).backward()
            optimizer.step()

        return on(volta, tape, step)

    network, x, _, _ = volta_network(volta, context, name, batch)
    with volta.tape("lazy", ctx=context) as tape:
        model = tape.capture(network(x))
    given = {("learning_rate" if key == "lr" else key): value for key, value in options.items()}
    arrays = data(name, batch)
    trainer = volta.Trainer(model, [arrays[0].shape], optimizer=kind, loss="mse" if name == "block" else "cross_entropy", **given)
    ways = {"lazy": stepping("lazy"), "trainer": lambda: trainer.step(*arrays), "eager": stepping("eager")}
    return {"C, lazy": stepping_in_c(volta, context), **ways} if name == "mlp" else ways


def overhead_loop():
    return ctypes.CDLL(os.path.join(os.environ["VOLTA_LIBRARIES"], "bench", "liboverhead_loop.so"))


def stepping_in_c(volta, context):
    """The perceptron's step from C: beside few milliseconds of it Python's calls would count."""
    network, x, targets, _ = volta_network(volta, context, "mlp", None)
    tape = volta.Tape("lazy", ctx=context)
    parameters = network.parameters()
    optimizer = volta.optim.SGD(parameters, **OPTIMIZERS["mlp"][1])._on(tape)
    weights = volta.recording.handles(len(parameters), *(parameter._pointer() for parameter in parameters))
    step = overhead_loop().volta_overhead_step
    step.restype, step.argtypes = ctypes.c_double, [ctypes.c_void_p] * 3 + [ctypes.c_int32] + [ctypes.c_void_p] * 2

    def run(_kept=(network, tape, optimizer)):
        if step(tape, optimizer, weights, len(parameters) // 2, x, targets) < 0:
            raise RuntimeError(volta.lib.volta_last_error().decode())

    return run


def volta_inference(volta, context, name, batch):
    network, x, _, _ = volta_network(volta, context, name, batch)
    network.eval()

    def running(mode):
        tape = volta.Tape(mode, ctx=context)

        def step():
            with volta.no_grad():
                network(x).numpy()
            tape.reset()

        return on(volta, tape, step)

    with volta.tape("lazy", ctx=context) as tape:
        model = tape.capture(network(x))
    array = x.numpy()
    session = volta.Session(model, [array.shape], pack_weights=True)
    return {"lazy": running("lazy"), "eager": running("eager"), "session": lambda: session.run(array)}


def volta_backward(volta, context, name, batch):
    def running(mode, is_backward):
        network, x, targets, loss = volta_network(volta, context, name, batch)
        tape = volta.Tape(mode, ctx=context)

        def step():
            network.zero_grad()
            result = loss(network(x), targets)
            if is_backward:
                result.backward()
                tape.flush()
            result.item()
            tape.reset()

        return on(volta, tape, step)

    return {f"{mode}, {what}": running(mode, what == "both") for mode in ("lazy", "eager") for what in ("forward", "both")}


def volta_calls(volta, context, _, __):
    """Each gives its nanoseconds itself."""
    loop = overhead_loop().volta_overhead_tape
    loop.restype, loop.argtypes = ctypes.c_double, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64]
    a, b = (volta.Tensor.ones((8,), ctx=context) for _ in range(2))
    tapes = {mode: volta.Tape(mode, ctx=context) for mode in ("lazy", "eager")}

    def python():
        with volta.recording.entered(tapes["eager"]):
            begin = time.perf_counter_ns()
            for _ in range(CALLS):
                a + b
            tapes["eager"].reset()
        return (time.perf_counter_ns() - begin) / CALLS

    return {"C, recorded": lambda: loop(tapes["lazy"], a, b, CALLS, 20), "C, eager": lambda: loop(tapes["eager"], a, b, CALLS, 20),
            "Python, eager": python}


# ---- PyTorch -------------------------------------------------------------------------------------------------------


def torch_ways(case, threads, is_compiling):
    import torch
    from tape_networks import data, torch_network

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    name, task, batch = CASES[case]
    version = f"PyTorch {torch.__version__}"
    if task == "calls":
        return version, torch_calls(torch, is_compiling)
    network, (x, targets) = torch_network(name, torch), (torch.from_numpy(array) for array in data(name, batch))
    if name == "gpt":
        x = x.long()
    if name != "block":
        targets = targets.long()

    def loss_of(model):
        y = model(x)
        if name == "block":
            return torch.nn.functional.mse_loss(y, targets)
        return torch.nn.functional.cross_entropy(y.flatten(0, -2), targets.flatten())

    if task == "infer":
        network.eval()

        def infer():
            with torch.inference_mode():
                network(x).numpy()

        return version, {"torch": infer}
    if task == "backward":
        return version, torch_backward(torch, network, loss_of, is_compiling)
    kind, options = OPTIMIZERS[name]
    optimizer = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[kind](network.parameters(), fused=True, **options)

    def train():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(network)
        loss.backward()
        optimizer.step()
        loss.item()

    return version, {"torch": train}


def torch_backward(torch, network, loss_of, is_compiling):
    def running(model, is_backward):
        def step():
            network.zero_grad(set_to_none=True)
            loss = loss_of(model)
            if is_backward:
                loss.backward()
            loss.item()

        return step

    ways = {}
    for kind in ("eager", "aot_eager", "inductor") if is_compiling else ("eager",):
        model = network if kind == "eager" else torch.compile(network, backend=kind)
        try:
            running(model, True)()
        except Exception as reason:  # a backend that this machine has no compiler for
            print(f"torch.compile by {kind} is left out: {str(reason).splitlines()[0]}", file=sys.stderr)
            continue
        label = "torch" if kind == "eager" else f"torch {kind}"
        ways.update({f"{label}, forward": running(model, False), f"{label}, both": running(model, True)})
    return ways


def torch_calls(torch, is_compiling):
    x, y = torch.ones(8), torch.ones(8)

    def python():
        begin = time.perf_counter_ns()
        for _ in range(CALLS):
            x + y
        return (time.perf_counter_ns() - begin) / CALLS

    ways = {"torch": python}
    if not is_compiling:
        return ways
    try:
        from torch.utils.benchmark import Language, Timer

        timer = Timer("x + y;", setup="auto x = torch::ones({8}); auto y = torch::ones({8}); torch::NoGradGuard none;", language=Language.CPP)
        timer.timeit(1)
        ways["torch, C++"] = lambda: 1e9 * timer.timeit(1000).mean
    except Exception as reason:  # no compiler, or no ninja
        print(f"PyTorch from C++ is left out: {str(reason).splitlines()[0]}", file=sys.stderr)
    return ways


# ---- Worker and driver ------------------------------------------------------------------------------------------------


def worker(arguments):
    """Answers {"seconds": S} with the times of its ways, in ms or, of calls, in ns, one after the other until S are over."""
    threads = arguments.threads
    version, ways = torch_ways(arguments.case, threads, arguments.compile) if arguments.worker == "torch" else volta_ways(arguments.case, threads, arguments)
    is_timed = CASES[arguments.case][1] == "calls"

    clock = time.process_time if arguments.processor_time else time.perf_counter

    def timed(way):
        begin = clock()
        given = way()
        return given if is_timed else (clock() - begin) * 1e3

    for way in ways.values():
        for _ in range(WARMUP_STEPS):
            way()

    def reply(question):
        begin = time.perf_counter()
        while time.perf_counter() - begin < WARM_SECONDS:
            for way in ways.values():
                way()
        times, begin = {name: [] for name in ways}, time.perf_counter()
        while not times[next(iter(ways))] or time.perf_counter() - begin < question["seconds"]:
            for name, way in ways.items():
                times[name].append(timed(way))
        return times

    turns.answer({"version": version}, reply)


def measured(case, arguments, absent):
    """(way -> times, versions), all sides in turns."""
    sides, times = {}, {}
    for kind in ("volta", "torch"):
        if kind in absent:
            continue
        command = [os.path.abspath(__file__), "--worker", kind, "--case", case, "--threads", str(arguments.threads), "--library",
                   arguments.library, *(["--compile"] if arguments.compile else []), *(["--processor-time"] if arguments.processor_time else [])]
        side = turns.Side(command, turns.environment(arguments.threads))
        if side.hello:
            sides[kind] = side
        elif kind == "volta":
            sys.exit(f"Volta, {case}: {side.reason}")
        else:
            absent[kind] = side.reason
            print(f"PyTorch is left out: {side.reason}", file=sys.stderr)
    for _ in range(arguments.rounds):
        for side in sides.values():
            time.sleep(arguments.pause)  # until the other side's threads have gone to sleep
            for way, found in side.ask({"seconds": arguments.seconds}).items():
                times.setdefault(way, []).extend(found)
    versions = {kind: side.hello["version"] for kind, side in sides.items()}
    for side in sides.values():
        side.close()
    return times, versions


def ratio(times, way, other):
    """How many times faster `way` is: of neighbouring steps where both alternated, else of medians."""
    if len(times[way]) == len(times[other]) and "torch" not in other:
        return statistics.median(b / a for a, b in zip(times[way], times[other]))
    return statistics.median(times[other]) / statistics.median(times[way])


def rows_of(case, times):
    unit = "ns" if CASES[case][1] == "calls" else "ms"
    rows = [dict(case=case, way=way, unit=unit, median=statistics.median(found), spread=turns.spread(found), best=min(found), count=len(found))
            for way, found in times.items()]
    if CASES[case][1] == "backward":  # of the medians, and of the least
        for label in {row["way"].split(",")[0]: None for row in rows}:
            forward, both = (next(row for row in rows if row["way"] == f"{label}, {what}") for what in ("forward", "both"))
            rows.append(dict(case=case, way=f"{label}, backward", unit=unit, median=both["median"] - forward["median"], spread=0.0,
                             best=both["best"] - forward["best"], count=forward["count"]))
    return rows


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "libvolta.so"), metavar="FILE")
    parser.add_argument("--threads", type=at_least(1), default=2)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="cases whose name starts so: mlp, block, resnet50, calls, ...")
    parser.add_argument("--rounds", type=at_least(1), default=7, help="turns of each side")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a turn; at least one step of each way")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds before a turn")
    parser.add_argument("--quick", action="store_true", help="2 turns of 0.3 s")
    parser.add_argument("--processor-time", action="store_true", help="what all threads of a process take of the processor, instead of the "
                        "time that passes: tells more where others compute too, with --threads 1")
    parser.add_argument("--compile", action="store_true", help="also what PyTorch compiles: a block by aot_eager and inductor, and a call "
                        "from C++; minutes, and it needs ninja")
    parser.add_argument("--json", action="store_true", help="one object per line")
    parser.add_argument("--check", action="store_true", help="status 1 where a bar is missed")
    parser.add_argument("--worker", choices=["torch", "volta"], help=argparse.SUPPRESS)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.worker:
        return worker(arguments)
    require_numpy("tape_peers.py")
    if arguments.quick:
        arguments.rounds, arguments.seconds = 2, 0.3
    chosen = [case for case in CASES if not arguments.only or case.startswith(tuple(arguments.only))]
    if not chosen:
        parser.error(f"no case starts with {' or '.join(arguments.only)}")
    about, absent, missed = machine.describe(), {}, []
    if not arguments.json:
        clock = "processor time" if arguments.processor_time else "time"
        print(f"{about['cpu']}, {arguments.threads} threads, {clock}, load {about['load']}, {about['date']}")
        print(f"{'case':16} {'way':28} {'median':>10} {'best':>10} {'spread':>8} {'steps':>6}")
    for case in chosen:
        times, versions = measured(case, arguments, absent)
        for row in rows_of(case, times):
            if arguments.json:
                print(json.dumps({**row, "threads": arguments.threads, "versions": versions, "machine": about}), flush=True)
            else:
                print(f"{case:16} {row['way']:28} {row['median']:10.3f} {row['best']:10.3f} {100 * row['spread']:6.1f} % {row['count']:6d}",
                      flush=True)
        for of, way, other, least in BARS:
            if of != case or other not in times:
                continue
            found, bests = ratio(times, way, other), min(times[other]) / min(times[way])
            missed += [] if found >= least else [f"{case}, {way} to {other}"]
            if arguments.json:
                print(json.dumps(dict(case=case, way=way, other=other, ratio=found, ratio_of_bests=bests, least=least)), flush=True)
            else:
                print(f"{case:16} {way} to {other}: {found:.2f}x (of the bests {bests:.2f}x), {'reaches' if found >= least else 'misses'} {least:.2f}x",
                      flush=True)
    if arguments.check and missed:
        print(f"missed: {'; '.join(missed)}", file=sys.stderr)
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
