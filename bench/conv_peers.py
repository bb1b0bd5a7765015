#!/usr/bin/env python3
"""The convolutions of `voltac bench conv` beside PyTorch, ONNX Runtime and oneDNN, on this machine and the same threads.

    bench/conv_peers.py [--voltac build/voltac] [--network resnet18 resnet50 mobilenet_v2] [--batch 1 32]
                        [--passes forward data weights] [--threads 1 2] [--rounds 2] [--json]

Layer by layer, all take turns. PyTorch computes in both layouts, the faster counts. ONNX Runtime has the forward pass
alone, in a session of one node whose weight is constant. oneDNN of the distribution computes with operands in the
layouts that it chose itself, reordered before the clock starts: what it would do in the middle of a network. Volta's
operands are dense NCHW, as its interface has them, and its weight is packed once. A peer that is not installed is left
out. Ratios are the best peer's time over Volta's: above 1 Volta is faster.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import turns  # noqa: E402
from arguments import at_least  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RUN_SECONDS = 2e-3  # a run repeats a short convolution for so long, as voltac's
PASSES = ("forward", "data", "weights")
NETWORKS = ("resnet18", "resnet50", "mobilenet_v2")


class Layer:
    """CHANNELSxSIDExFILTERSxKERNELxSTRIDExGROUPS, as voltac prints it."""

    def __init__(self, text):
        self.channels, self.side, self.filters, self.kernel, self.stride, self.groups = map(int, text.split("x"))
        self.pad = self.kernel // 2
        self.out = (self.side + 2 * self.pad - self.kernel) // self.stride + 1

    def extents(self, batch):
        """Those of x, the weight and y."""
        return ((batch, self.channels, self.side, self.side),
                (self.filters, self.channels // self.groups, self.kernel, self.kernel),
                (batch, self.filters, self.out, self.out))


def median_us(call, runs):
    """Of one call: the median over runs, each repeating the call for RUN_SECONDS."""
    def run(calls):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return time.perf_counter() - start

    run(2)
    calls, seconds = 1, min(run(1) for _ in range(3))
    while seconds < RUN_SECONDS / 4:
        calls *= 2
        seconds = min(run(calls) for _ in range(3))
    calls = max(1, int(RUN_SECONDS / seconds * calls))
    return statistics.median(run(calls) / calls for _ in range(runs)) * 1e6


def torch_worker(arguments):
    import torch

    torch.set_num_threads(arguments.threads[0])
    torch.manual_seed(1)

    def call_of(layer, batch, which, layout):
        x, weight, y = (torch.rand(extents).to(memory_format=layout) for extents in layer.extents(batch))
        stride, pad = [layer.stride] * 2, [layer.pad] * 2
        if which == "forward":
            return lambda: torch.nn.functional.conv2d(x, weight, None, stride, pad, 1, layer.groups)
        wanted = [which == "data", which == "weights", False]
        return lambda: torch.ops.aten.convolution_backward(y, x, weight, None, stride, pad, [1, 1], False, [0, 0],
                                                           layer.groups, wanted)

    def measure(question):
        layer = Layer(question["layer"])
        with torch.inference_mode():
            return {"us": min(median_us(call_of(layer, question["batch"], question["pass"], layout), question["runs"])
                              for layout in (torch.contiguous_format, torch.channels_last))}

    turns.answer({"version": f"PyTorch {torch.__version__}"}, measure)


def onnxruntime_worker(arguments):
    import numpy
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = arguments.threads[0]

    def measure(question):
        if question["pass"] != "forward":
            return {"us": None}
        layer = Layer(question["layer"])
        x, weight, y = layer.extents(question["batch"])
        constant = numpy_helper.from_array(numpy.random.rand(*weight).astype(numpy.float32), "w")
        node = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=weight[2:], strides=[layer.stride] * 2,
                                pads=[layer.pad] * 4, group=layer.groups)
        graph = helper.make_graph([node], "conv", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, y)], [constant])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        value = onnxruntime.OrtValue.ortvalue_from_numpy
        binding.bind_ortvalue_input("x", value(numpy.random.rand(*x).astype(numpy.float32)))
        binding.bind_ortvalue_output("y", value(numpy.empty(y, numpy.float32)))
        return {"us": median_us(lambda: session.run_with_iobinding(binding), question["runs"])}

    turns.answer({"version": f"ONNX Runtime {onnxruntime.__version__}"}, measure)


WORKERS = {"torch": torch_worker, "onnxruntime": onnxruntime_worker}


class OneDnn:
    """bench/peers/conv_onednn.cpp: the same questions, as words of a line."""

    def __init__(self, program, env, threads):
        self.hello, self.reason = None, None
        if not os.path.exists(program):
            self.reason = f"there is no {program}: make build-bench-programs makes it where oneDNN is installed"
            return
        self.process = subprocess.Popen([program, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=env)
        self.hello = json.loads(self.process.stdout.readline())

    def ask(self, question):
        l = Layer(question["layer"])
        print(question["pass"], question["batch"], l.channels, l.side, l.filters, l.kernel, l.stride, l.groups,
              question["runs"], RUN_SECONDS, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("oneDNN's process ended")
        return json.loads(answer)

    def close(self):
        if self.hello:
            self.process.stdin.close()
            self.process.wait()


def voltac(arguments, command):
    done = subprocess.run([arguments.voltac, "bench", "conv", *command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or f"{arguments.voltac} ended with status {done.returncode}")
    return done.stdout.splitlines()


def compare(arguments, threads, network, layer, batch, sides):
    """A row per pass: medians over the rounds of all sides."""
    ours = {which: [] for which in arguments.passes}
    theirs = {which: {name: [] for name in sides} for which in arguments.passes}
    for _ in range(arguments.rounds):
        for which in arguments.passes:
            row = json.loads(voltac(arguments, ["--layers", layer, "--batch", str(batch), "--pass", which, "--json",
                                                "--threads", str(threads), "--isa", arguments.isa,
                                                "--runs", str(arguments.runs)])[0])
            ours[which].append(row)
            for name, side in sides.items():
                time.sleep(arguments.pause)
                us = side.ask({"layer": layer, "batch": batch, "pass": which, "runs": arguments.runs})["us"]
                if us is not None:
                    theirs[which][name].append(us)
    for which in arguments.passes:
        us = statistics.median(row["median_us"] for row in ours[which])
        peers = {name: statistics.median(times) for name, times in theirs[which].items() if times}
        row = ours[which][0]
        yield dict(network=network, layer=layer, batch=batch, **{"pass": which}, threads=threads, isa=row["isa"],
                   volta_us=us, **{f"{name}_us": peers.get(name) for name in sides},
                   ratio=min(peers.values()) / us if peers else None,
                   fraction_of_bound=statistics.median(r["fraction_of_bound"] for r in ours[which]),
                   peers=", ".join(side.hello["version"] for side in sides.values()))


def print_row(row, names, as_json):
    if as_json:
        print(json.dumps(row), flush=True)
        return
    peers = "".join(f"{row[f'{name}_us'] or math.nan:13.1f}" for name in names)
    ratio = f"{row['ratio']:8.2f}" if row["ratio"] else f"{'-':>8}"
    print(f"{row['network']:<13} {row['layer']:<22} {row['batch']:>4} {row['pass']:<8} {row['threads']:>3} "
          f"{row['volta_us']:12.1f}{peers} {ratio} {100 * row['fraction_of_bound']:9.1f} %", flush=True)


def print_summary(rows):
    """Geometric means of the ratios by thread count, network, batch and pass."""
    groups = {}
    for row in rows:
        if row["ratio"]:
            depthwise = row["layer"].split("x")[5] != "1"
            for key in (("all", "", "", row["threads"]),
                        ("depthwise" if depthwise else "dense", row["pass"], row["batch"], row["threads"])):
                groups.setdefault(key, []).append(row["ratio"])
    print("\ngeometric mean and least of the ratios")
    for key, ratios in sorted(groups.items(), key=str):
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"{key[0]:<10} {key[1]:<8} batch {key[2] or '-':<3} threads {key[3]}: {mean:5.2f}  {min(ratios):5.2f}  "
              f"of {len(ratios)}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voltac", default=os.path.join(ROOT, "build", "voltac"))
    parser.add_argument("--onednn", default=None, metavar="PROGRAM",
                        help="conv_onednn (default: bench/conv_onednn beside voltac)")
    parser.add_argument("--isa", default="auto", choices=["auto", "scalar", "avx2", "avx512"], help="Volta's")
    parser.add_argument("--network", nargs="+", default=NETWORKS, choices=NETWORKS)
    parser.add_argument("--layers", nargs="+", metavar="LAYER", help="these alone, as voltac bench conv --list prints")
    parser.add_argument("--batch", type=at_least(1), nargs="+", default=[1, 32])
    parser.add_argument("--passes", nargs="+", default=PASSES, choices=PASSES)
    parser.add_argument("--threads", type=at_least(1), nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=at_least(1), default=2, help="turns of each side")
    parser.add_argument("--runs", type=at_least(1), default=5, help="runs of a turn")
    parser.add_argument("--pause", type=float, default=0.02, help="seconds between turns")
    parser.add_argument("--quick", action="store_true", help="1 turn of 3 runs")
    parser.add_argument("--json", action="store_true", help="one object per line")
    parser.add_argument("--worker", choices=list(WORKERS), help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.worker:
        return WORKERS[arguments.worker](arguments)
    if arguments.quick:
        arguments.rounds, arguments.runs = 1, 3
    onednn = arguments.onednn or os.path.join(os.path.dirname(os.path.abspath(arguments.voltac)), "bench", "conv_onednn")
    layers = [("", layer) for layer in arguments.layers or []]
    if not layers:
        layers = [(network, layer) for network in arguments.network
                  for layer in voltac(arguments, ["--list", "--network", network])]
    rows = []
    for threads in arguments.threads:
        env = turns.environment(threads)
        sides = {name: turns.Side([os.path.abspath(__file__), "--worker", name, "--threads", str(threads)], env)
                 for name in WORKERS}
        sides["onednn"] = OneDnn(onednn, env, threads)
        for name, side in list(sides.items()):
            if not side.hello:
                print(f"{name} is left out: {side.reason}", file=sys.stderr)
                del sides[name]
        if not arguments.json:
            print(", ".join(side.hello["version"] for side in sides.values()) +
                  f"; load {os.getloadavg()[0]:.1f}; us per call; ratio: best peer / Volta\n"
                  f"{'network':<13} {'layer':<22} {'n':>4} {'pass':<8} {'thr':>3} {'Volta':>12}" +
                  "".join(f"{name:>13}" for name in sides) + f" {'ratio':>8} {'of bound':>11}")
        for batch in arguments.batch:
            for network, layer in layers:
                for row in compare(arguments, threads, network, layer, batch, sides):
                    print_row(row, sides, arguments.json)
                    rows.append(row)
        for side in sides.values():
            side.close()
    if not arguments.json:
        print_summary(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
