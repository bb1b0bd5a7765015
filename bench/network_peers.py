#!/usr/bin/env python3
"""Whole networks of pictures, Volta beside PyTorch and ONNX Runtime, on this machine and the same threads.

    bench/network_peers.py [--voltac build/voltac] [--only CASE...] [--threads 1 2] [--rounds 3] [--quick] [--json]

Training steps of ResNet-20 and ResNet-18 on pictures of 32 x 32 and inference of larger networks, on random data.
PyTorch computes in both layouts, the faster counts; it trains by SGD with momentum (foreach) and infers in inference_mode.
ONNX Runtime runs what PyTorch exports (inference alone). Sides take turns in processes of their own; figures are medians
of the turns' medians. The ratio is the fastest peer's time over Volta's: above 1 Volta is faster.
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, HERE)

import turns  # noqa: E402
from arguments import at_least  # noqa: E402

# network, task, batch, side of a picture, classes
CASES = (("resnet20", "train", 128, 32, 10), ("resnet18", "train", 32, 32, 10), ("resnet50", "infer", 1, 224, 1000),
         ("mobilenet_v2", "infer", 1, 224, 1000))
LAYOUTS = ("contiguous_format", "channels_last")


def module_of(network, side, classes):
    sys.path.insert(0, os.path.join(ROOT, "tests", "parity"))
    import networks_torch

    if network == "resnet20":
        return networks_torch.CifarResnet(20, classes)
    if network == "mobilenet_v2":
        return networks_torch.MobilenetV2(1.0, classes, large=side > 64)
    return networks_torch.Resnet(int(network[len("resnet"):]), classes, large=side > 64)


def median_ms(call, seconds):
    """Of one call: at least three, as many as fill the time."""
    call()
    times, begin = [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def torch_worker(case, threads):
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    network, task, batch, side, classes = case
    calls = {}
    for name in LAYOUTS:
        layout = getattr(torch, name)
        module = module_of(network, side, classes).to(memory_format=layout)
        pictures = torch.rand(batch, 3, side, side).to(memory_format=layout)
        labels = torch.randint(0, classes, (batch,))
        optimizer = torch.optim.SGD(module.parameters(), lr=1e-3, momentum=0.9)
        module.train(task == "train")

        def step(module=module, pictures=pictures, labels=labels, optimizer=optimizer):
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(module(pictures), labels).backward()
            optimizer.step()

        def infer(module=module, pictures=pictures):
            with torch.inference_mode():
                return module(pictures)

        calls[name] = step if task == "train" else infer
    turns.answer({"version": f"PyTorch {torch.__version__}"},
                 lambda question: {"ms": min(median_ms(call, question["seconds"]) for call in calls.values())})


def onnxruntime_worker(case, threads):
    import numpy
    import onnxruntime
    import torch

    network, task, batch, side, classes = case
    if task == "train":
        raise SystemExit("it does not train")
    file = io.BytesIO()
    pictures = torch.rand(batch, 3, side, side)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module_of(network, side, classes).eval(), pictures, file, opset_version=17, dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: numpy.ascontiguousarray(pictures.numpy())}
    turns.answer({"version": f"ONNX Runtime {onnxruntime.__version__}"},
                 lambda question: {"ms": median_ms(lambda: session.run(None, feed), question["seconds"])})


WORKERS = {"torch": torch_worker, "onnxruntime": onnxruntime_worker}


def volta_row(arguments, case, threads):
    network, task, batch, _, _ = case
    command = [arguments.voltac, "bench", task, "--preset", network, "--batch", str(batch), "--threads", str(threads),
               "--isa", arguments.isa, "--json"]
    if task == "train":
        command += ["--optimizer", "sgd", "--momentum", "0.9"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or f"{arguments.voltac} ended with status {done.returncode}")
    row = json.loads(done.stdout.splitlines()[0])
    return {"ms": row["median_ms"] if task == "train" else row["ms"], "isa": row["isa"]}


def compare(arguments, case, threads):
    sides = {}
    for name in WORKERS:
        side = turns.Side([os.path.abspath(__file__), "--worker", name, "--case", json.dumps(case), "--threads",
                           str(threads)], turns.environment(threads))
        if side.hello:
            sides[name] = side
        elif not (name == "onnxruntime" and case[1] == "train"):
            print(f"{name} is left out: {side.reason}", file=sys.stderr)
    ours, theirs = [], {name: [] for name in sides}
    for _ in range(arguments.rounds):
        ours.append(volta_row(arguments, case, threads))
        for name, side in sides.items():
            time.sleep(arguments.pause)
            theirs[name].append(side.ask({"seconds": arguments.seconds})["ms"])
    for side in sides.values():
        side.close()
    ms = statistics.median(row["ms"] for row in ours)
    peers = {name: statistics.median(times) for name, times in theirs.items()}
    network, task, batch, side, _ = case
    return dict(network=network, task=task, batch=batch, side=side, threads=threads, isa=ours[0]["isa"], volta_ms=ms,
                volta_spread=turns.spread([row["ms"] for row in ours]),
                **{f"{name}_ms": peers.get(name) for name in WORKERS},
                ratio=min(peers.values()) / ms if peers else None,
                peers=", ".join(side.hello["version"] for side in sides.values()))


def print_row(row, as_json):
    if as_json:
        print(json.dumps(row), flush=True)
        return
    peers = "".join(f"{row[f'{name}_ms']:10.1f}" if row[f"{name}_ms"] else f"{'-':>10}" for name in WORKERS)
    ratio = f"{row['ratio']:8.2f}" if row["ratio"] else f"{'-':>8}"
    print(f"{row['network']:<13} {row['task']:<6} {row['batch']:>5} {row['threads']:>3} {row['volta_ms']:10.1f}{peers} "
          f"{ratio}  {100 * row['volta_spread']:5.1f} %", flush=True)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voltac", default=os.path.join(ROOT, "build", "voltac"))
    parser.add_argument("--isa", default="auto", choices=["auto", "scalar", "avx2", "avx512"], help="Volta's")
    parser.add_argument("--only", nargs="+", choices=[case[0] for case in CASES], default=[case[0] for case in CASES])
    parser.add_argument("--threads", type=at_least(1), nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=at_least(1), default=3, help="turns of each side")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a peer's turn and layout")
    parser.add_argument("--pause", type=float, default=0.1, help="seconds between turns")
    parser.add_argument("--quick", action="store_true", help="1 turn")
    parser.add_argument("--json", action="store_true", help="one object per line")
    parser.add_argument("--worker", choices=list(WORKERS), help=argparse.SUPPRESS)
    parser.add_argument("--case", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.worker:
        return WORKERS[arguments.worker](arguments.case, arguments.threads[0])
    if arguments.quick:
        arguments.rounds = 1
    if not arguments.json:
        print(f"load {os.getloadavg()[0]:.1f}; ms; ratio: fastest peer / Volta\n{'network':<13} {'task':<6} {'n':>5} {'thr':>3} "
              f"{'Volta':>10}" + "".join(f"{name:>10.10}" for name in WORKERS) + f" {'ratio':>8}  {'spread':>7}")
    for threads in arguments.threads:
        for case in CASES:
            if case[0] in arguments.only:
                print_row(compare(arguments, case, threads), arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
