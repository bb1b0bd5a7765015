#!/usr/bin/env python3
"""The operators of `voltac bench ops` beside PyTorch's kernels, on this machine and the same threads.

    bench/ops_peers.py [--voltac build/voltac] [--threads 1 2] [--only add softmax ...] [--rounds 3] [--quick]
                       [--json]

`voltac bench ops` and a PyTorch process take turns, operator by operator. PyTorch writes into tensors that exist
already (out=), in inference mode, with its fused AdamW; `launch` is one call of torch.add on two numbers from Python.
Operators that write what cannot be given beforehand do not occur. Without PyTorch the Volta column stands alone.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import turns  # noqa: E402
from arguments import at_least  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RUN_SECONDS = 2e-3  # a run repeats a short operator for so long, as voltac's


def torch_calls(torch, op, shape):
    """A function without arguments that does what voltac bench ops does for this row."""
    aten = torch.ops.aten
    if op == "matmul":
        m, n, k = shape
        a, b, y = torch.rand(m, k), torch.rand(k, n), torch.empty(m, n)
        return lambda: torch.mm(a, b, out=y)
    rows, columns = shape
    if op == "adamw":
        return torch_adamw(torch, rows, columns)
    if op == "layer_norm_gelu_grad":
        return torch_both_directions(torch, rows, columns)
    a, b, y = torch.rand(rows, columns), torch.rand(rows, columns), torch.empty(rows, columns)
    scale, bias = torch.rand(columns), torch.rand(columns)
    mean, rstd = torch.empty(rows, 1), torch.empty(rows, 1)
    row_sums, column_sums, whole = torch.empty(rows), torch.empty(columns), torch.empty(())

    def layer_norm():
        aten.native_layer_norm.out(a, [columns], scale, bias, 1e-5, out0=y, out1=mean, out2=rstd)

    def layer_norm_gelu():
        layer_norm()
        aten.gelu.out(y, approximate="tanh", out=y)

    return {
        "add": lambda: torch.add(a, b, out=y),
        "launch": lambda: torch.add(a, b, out=y),
        "mul": lambda: torch.mul(a, b, out=y),
        "gelu": lambda: aten.gelu.out(a, approximate="tanh", out=y),
        "sum": lambda: aten.sum.IntList_out(a, [0, 1], out=whole),
        "sum_rows": lambda: torch.sum(a, 1, out=row_sums),
        "sum_columns": lambda: torch.sum(a, 0, out=column_sums),
        "layer_norm": layer_norm,
        "layer_norm_gelu": layer_norm_gelu,
        "softmax": lambda: torch.softmax(a, -1, out=y),
    }[op]


def torch_adamw(torch, rows, columns):
    """A training step of one big parameter of whose rows the loss takes the first: the gradient written, its norm
    clipped, the fused pass. The gradient's memory is kept between steps."""
    w = torch.nn.Parameter(torch.rand(rows, columns))
    x, target = torch.rand(1, columns), torch.rand(1, columns)
    optimizer = torch.optim.AdamW([w], lr=1e-3, weight_decay=0.1, fused=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.mse_loss(w[:1] * x, target).backward()
        torch.nn.utils.clip_grad_norm_([w], 1.0)
        optimizer.step()

    return step


def torch_both_directions(torch, rows, columns):
    """gelu(layer_norm(x)) and its gradients by autograd, of the loss sum(y * w)."""
    functional = torch.nn.functional
    x, scale, bias = (torch.rand(*shape, requires_grad=True) for shape in [(rows, columns), (columns,), (columns,)])
    w = torch.rand(rows, columns)

    def step():
        y = functional.gelu(functional.layer_norm(x, [columns], scale, bias, 1e-5), approximate="tanh")
        (y * w).sum().backward()
        for tensor in (x, scale, bias):
            tensor.grad = None

    return step


WITH_AUTOGRAD = ["adamw", "layer_norm_gelu_grad"]


def torch_worker(arguments):
    import torch

    torch.set_num_threads(arguments.threads[0])
    torch.manual_seed(1)

    def measure(question):
        """Seconds of one call: the median over runs, each repeating the call for RUN_SECONDS."""
        op = question["op"]
        call = torch_calls(torch, op, [int(extent) for extent in question["shape"].split("x")])

        def run(calls):
            start = time.perf_counter()
            for _ in range(calls):
                call()
            return time.perf_counter() - start

        with torch.inference_mode(op not in WITH_AUTOGRAD):
            run(2)
            calls, seconds = 1, min(run(1) for _ in range(3))
            while op != "adamw" and seconds < RUN_SECONDS / 4:
                calls *= 2
                seconds = min(run(calls) for _ in range(3))
            calls = max(1, int(RUN_SECONDS / seconds * calls)) if op != "adamw" else 1
            times = [run(calls) / calls for _ in range(question["runs"])]
        return {"us": statistics.median(times) * 1e6}

    turns.answer({"version": f"PyTorch {torch.__version__}"}, measure)


def voltac(arguments, threads, op):
    """The rows of one operator."""
    command = [arguments.voltac, "bench", "ops", "--only", op, "--json", "--threads", str(threads), "--isa", arguments.isa,
               "--runs", str(arguments.runs)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or f"{arguments.voltac} ended with status {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


OPERATORS = ["matmul", "add", "mul", "gelu", "sum", "sum_rows", "sum_columns", "layer_norm", "layer_norm_gelu", "layer_norm_gelu_grad", "softmax",
             "adamw", "launch"]


def compare(arguments, threads, op, torch):
    """Medians over the rounds of both sides, row by row of the operator."""
    rounds, peers = [], []
    for _ in range(arguments.rounds):
        rounds.append(voltac(arguments, threads, op))
        peers.append([torch.ask({"op": op, "shape": row["shape"], "runs": arguments.runs})["us"] if torch else None
                      for row in rounds[-1]])
        time.sleep(arguments.pause)
    for i, row in enumerate(rounds[0]):
        ours = statistics.median(measured[i]["median_us"] for measured in rounds)
        theirs = statistics.median(measured[i] for measured in peers) if torch else None
        yield dict(op=op, shape=row["shape"], threads=threads, isa=row["isa"], volta_us=ours, torch_us=theirs,
                   ratio=theirs / ours if torch else None, unit=row["unit"],
                   rate=statistics.median(measured[i]["rate"] for measured in rounds),
                   fraction_of_peak=statistics.median(measured[i]["fraction_of_peak"] for measured in rounds),
                   torch=torch.hello["version"] if torch else None)


def print_row(row, as_json):
    if as_json:
        print(json.dumps(row), flush=True)
        return
    torch = f"{row['torch_us']:12.2f} {row['ratio']:7.2f}x" if row["torch_us"] else f"{'-':>12} {'-':>8}"
    print(f"{row['op']:<16} {row['shape']:>15} {row['threads']:>3} {row['volta_us']:12.2f} {torch} {row['rate']:10.2f} "
          f"{row['unit']:<7} {100 * row['fraction_of_peak']:7.1f} %", flush=True)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voltac", default=os.path.join(ROOT, "build", "voltac"))
    parser.add_argument("--isa", default="auto", choices=["auto", "scalar", "avx2", "avx512"], help="Volta's")
    parser.add_argument("--threads", type=at_least(1), nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", choices=OPERATORS, metavar="OPERATOR", help=", ".join(OPERATORS))
    parser.add_argument("--rounds", type=at_least(1), default=3, help="turns of each side")
    parser.add_argument("--runs", type=at_least(1), default=9, help="runs of a turn")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds between turns")
    parser.add_argument("--waiting", choices=["passive", "default"], default="passive",
                        help="how PyTorch's OpenMP threads wait: asleep, or as its users have it")
    parser.add_argument("--quick", action="store_true", help="1 turn of 3 runs")
    parser.add_argument("--json", action="store_true", help="one object per line")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.worker:
        return torch_worker(arguments)
    if arguments.quick:
        arguments.rounds, arguments.runs = 1, 3
    if not arguments.json:
        print(f"load {os.getloadavg()[0]:.1f}; us per call; ratio: PyTorch / Volta, above 1 Volta is faster\n"
              f"{'operator':<16} {'shape':>15} {'thr':>3} {'Volta':>12} {'PyTorch':>12} {'ratio':>8} {'Volta rate':>10} "
              f"{'':<7} {'of the peak':>9}")
    for threads in arguments.threads:
        command = [os.path.abspath(__file__), "--worker", "--threads", str(threads)]
        side = turns.Side(command, turns.environment(threads, arguments.waiting))
        if not side.hello:
            print(f"PyTorch is left out: {side.reason}", file=sys.stderr)
        for op in arguments.only or OPERATORS:
            for row in compare(arguments, threads, op, side if side.hello else None):
                print_row(row, arguments.json)
        side.close()
        if not arguments.json and side.hello:
            print(side.hello["version"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
