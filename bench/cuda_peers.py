#!/usr/bin/env python3
"""GPT-2 124M and products on one GPU at every level and precision, Volta against PyTorch.

    bench/cuda_peers.py --voltac build/voltac [--device cuda] [--batch 4] [--seconds 5]

Training is tokens per second of whole steps (forward, backward, clipping, AdamW) on random tokens. PyTorch runs f32
without TF32, TF32 and bf16 autocast as they are, and bf16 compiled; a figure of Volta stands beside those of its own
precision. Decoding is one sequence of the same model, its share of the bandwidth being what a step reads over what
copies within the device reach. Products are of square matrices that lie on the device, without transfers on either
side: Volta's are those of `bench matmul`, PyTorch's are torch.mm. Volta's operands and results are fp32 in memory
whatever the precision, and what rounds them is part of its time; PyTorch's of bf16 are bf16 in memory already.
Whatever cannot run says "not run" and why. Exit status: 0; 1 if a figure of Volta is missing.
"""

import argparse
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GPT2 = dict(vocabulary=50257, layers=12, dim=768, heads=12, context=1024)
TIME = 1024

ARITHMETICS = (("strict", "fp32"), ("repeatable", "tf32"), ("repeatable", "bf16"))  # of training and of products
DECODING = (("strict", "fp32", "f32"), ("repeatable", "fp32", "f32"), ("repeatable", "bf16", "bf16"))  # weights last
TORCH_TRAINING = (("fp32", False), ("tf32", False), ("bf16", False), ("bf16", True))  # compiled last
SIZES = (1024, 2048, 4096)  # of square products
PRESET = ("--preset", "gpt2")


# ---- Volta -----------------------------------------------------------------------------------------------------


def volta(arguments, level, precision, *words):
    """The lines of results of `voltac bench WORDS`, or None and the reason."""
    command = [arguments.voltac, "bench", *words, "--device", arguments.device, "--level", level, "--precision",
               precision, "--json"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return None, str(error)
    if result.returncode != 0:
        return None, (result.stderr.strip().splitlines() or ["no reason given"])[-1]
    return [json.loads(line) for line in result.stdout.splitlines()], None


def show(what, level, precision, text):
    print(f"{what:<38} {level:<11} {precision:<10} {text}", flush=True)


def measure_training(arguments):
    """{precision: tokens per second}, without those that did not run."""
    speeds = {}
    for level, precision in ARITHMETICS:
        lines, reason = volta(arguments, level, precision, "train", *PRESET, "--vocab", str(GPT2["vocabulary"]),
                              "--batch", str(arguments.batch), "--seq", str(TIME))
        if lines:
            speeds[precision] = lines[0]["per_second"]
        show("training, Volta", level, precision,
             f"{speeds[precision]:.0f} tokens/s" if lines else f"not run: {reason}")
    return speeds


def measure_decoding(arguments):
    """How many of DECODING ran."""
    ran = 0
    for level, precision, weights in DECODING:
        lines, reason = volta(arguments, level, precision, "infer", *PRESET, "--weights", weights, "--batch", "1",
                              "--no-speedup")
        ran += lines is not None
        show(f"decoding, Volta, {weights} weights", level, precision,
             f"{lines[0]['tokens_per_s']:.1f} tokens/s, "
             f"{100 * lines[0]['fraction_of_bandwidth']:.1f} % of the copy bandwidth"
             if lines else f"not run: {reason}")
    return ran


def measure_products(arguments):
    """{(precision, n): GFLOP/s} of n x n matrices, without those that did not run."""
    speeds = {}
    shapes = ",".join(f"{n}x{n}x{n}" for n in SIZES)
    for level, precision in ARITHMETICS:
        lines, reason = volta(arguments, level, precision, "matmul", "--shapes", shapes, "--warmup", "10", "--runs",
                              "30")
        for line in lines or ():
            speeds[precision, line["n"]] = line["median_gflops"]
        for n in SIZES:
            show(f"product {n}x{n}x{n}, Volta", level, precision,
                 f"{speeds[precision, n]:.0f} GFLOP/s" if lines else f"not run: {reason}")
    return speeds


# ---- PyTorch -----------------------------------------------------------------------------------------------------


def torch_on_cuda():
    """The module, or the reason it cannot be used."""
    try:
        import torch
    except ImportError as error:
        return None, str(error)
    return (torch, None) if torch.cuda.is_available() else (None, f"PyTorch {torch.__version__} finds no CUDA")


def rate(torch, body, seconds, warmup=5):
    """Calls of body() per second, the device being waited for."""
    for _ in range(warmup):
        body()
    torch.cuda.synchronize()
    calls, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for _ in range(4):
            body()
        torch.cuda.synchronize()
        calls += 4
    return calls / (time.perf_counter() - begin)


def allow_tf32(torch, allowed):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed


def torch_training(torch, arguments, precision, compiled):
    sys.path += [os.path.join(ROOT, "tests", "parity"), os.path.dirname(os.path.abspath(__file__))]
    from gpt_torch import Gpt

    allow_tf32(torch, precision == "tf32")
    torch.manual_seed(1)
    model = Gpt(**GPT2).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1, fused=True)
    tokens = torch.randint(GPT2["vocabulary"], (arguments.batch, TIME + 1), device="cuda")
    loss_of = torch.compile(model) if compiled else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
            loss = loss_of(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return rate(torch, step, arguments.seconds) * arguments.batch * TIME


def torch_product(torch, precision, n):
    """GFLOP/s of a product of n x n matrices."""
    allow_tf32(torch, precision == "tf32")
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    a, b = ((2 * torch.rand(n, n, device="cuda") - 1).to(dtype) for _ in range(2))  # as Volta's: values cost power
    out = torch.empty(n, n, device="cuda", dtype=dtype)
    return 2e-9 * n ** 3 * rate(torch, lambda: torch.mm(a, b, out=out), 1.0)


def attempt(what, precision, body, text):
    """Shows text(body()), or why there is none."""
    try:
        told = text(body())
    except Exception as error:  # a compiler that is missing, memory that is not enough
        told = "not run: " + (str(error).strip().splitlines() or [type(error).__name__])[0]
    show(what, "-", precision, told)


def beside(speeds, key, speed):
    """The ratio of Volta's speed to this one, if Volta has one."""
    return f", Volta / PyTorch {speeds[key] / speed:.2f}" if key in speeds else ""


def measure_torch(torch, arguments, training, products):
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}", flush=True)
    for precision, compiled in TORCH_TRAINING:
        attempt("training, PyTorch " + ("compiled" if compiled else "eager"), precision,
                lambda p=precision, c=compiled: torch_training(torch, arguments, p, c),
                lambda speed, p=precision: f"{speed:.0f} tokens/s" + beside(training, p, speed))
    for _, precision in ARITHMETICS:
        for n in SIZES:
            attempt(f"product {n}x{n}x{n}, PyTorch", precision,
                    lambda p=precision, size=n: torch_product(torch, p, size),
                    lambda speed, key=(precision, n): f"{speed:.0f} GFLOP/s" + beside(products, key, speed))


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voltac", default=os.path.join(ROOT, "build", "voltac"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, default=4, help="sequences of 1024 tokens per step")
    parser.add_argument("--seconds", type=float, default=5.0, help="of a measurement")
    arguments = parser.parse_args(words)
    show("GPT-2 124M and products", "level", "precision", "")
    training = measure_training(arguments)
    decoded = measure_decoding(arguments)
    products = measure_products(arguments)
    torch, missing = torch_on_cuda()
    if torch is None:
        print(f"PyTorch: not run: {missing}")
    else:
        measure_torch(torch, arguments, training, products)
    complete = len(training) == len(ARITHMETICS) and decoded == len(DECODING) and \
        len(products) == len(ARITHMETICS) * len(SIZES)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
