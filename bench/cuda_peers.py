#!/usr/bin/env python3
"""GPT-2 124M on one GPU at every level and precision, Volta against PyTorch, and the products of PyTorch.

    bench/cuda_peers.py --voltac build/voltac [--device cuda] [--batch 4] [--seconds 5]

Training is tokens per second of whole steps (forward, backward, clipping, AdamW) on random tokens. PyTorch runs f32
without TF32, TF32 and bf16 autocast as they are, and bf16 compiled; a figure of Volta stands beside those of its own
precision. Decoding is one sequence of the same model, its share of the bandwidth being what a step reads over what
copies within the device reach. Products are PyTorch's alone, at the precision that is named: what a product of that
precision is to be compared with. Volta's own `bench matmul` moves its operands for every run, so no figure of it
stands here. Whatever cannot run says "not run" and why. Exit status: 0; 1 if a figure of Volta is missing.
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

TRAINING = (("strict", "fp32"), ("repeatable", "tf32"), ("repeatable", "bf16"))
DECODING = (("strict", "fp32", "f32"), ("repeatable", "fp32", "f32"), ("repeatable", "bf16", "bf16"))  # weights last
TORCH_TRAINING = (("fp32", False), ("tf32", False), ("bf16", False), ("bf16", True))  # compiled last
TORCH_PRODUCTS = ("fp32", "tf32", "bf16")


# ---- Volta -----------------------------------------------------------------------------------------------------


def volta(arguments, level, precision, *words):
    """The line of results of `voltac bench WORDS`, or None and the reason."""
    command = [arguments.voltac, "bench", *words, "--preset", "gpt2", "--device", arguments.device, "--level", level,
               "--precision", precision, "--json"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return None, str(error)
    if result.returncode != 0:
        return None, (result.stderr.strip().splitlines() or ["no reason given"])[-1]
    return json.loads(result.stdout), None


def show(what, level, precision, text):
    print(f"{what:<38} {level:<11} {precision:<10} {text}", flush=True)


def measure_training(arguments):
    """{precision: tokens per second}, without those that did not run."""
    speeds = {}
    for level, precision in TRAINING:
        line, reason = volta(arguments, level, precision, "train", "--vocab", str(GPT2["vocabulary"]), "--batch",
                             str(arguments.batch), "--seq", str(TIME))
        if line:
            speeds[precision] = line["per_second"]
        show("training, Volta", level, precision,
             f"{line['per_second']:.0f} tokens/s" if line else f"not run: {reason}")
    return speeds


def measure_decoding(arguments):
    """How many of DECODING ran."""
    ran = 0
    for level, precision, weights in DECODING:
        line, reason = volta(arguments, level, precision, "infer", "--weights", weights, "--batch", "1", "--no-speedup")
        ran += line is not None
        show(f"decoding, Volta, {weights} weights", level, precision,
             f"{line['tokens_per_s']:.1f} tokens/s, {100 * line['fraction_of_bandwidth']:.1f} % of the copy bandwidth"
             if line else f"not run: {reason}")
    return ran


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
    a, b = (torch.rand(n, n, device="cuda").to(dtype) for _ in range(2))
    out = torch.empty(n, n, device="cuda", dtype=dtype)
    return 2e-9 * n ** 3 * rate(torch, lambda: torch.mm(a, b, out=out), 1.0)


def attempt(what, precision, body, text):
    """Shows text(body()), or why there is none."""
    try:
        told = text(body())
    except Exception as error:  # a compiler that is missing, memory that is not enough
        told = "not run: " + (str(error).strip().splitlines() or [type(error).__name__])[0]
    show(what, "-", precision, told)


def measure_torch(torch, arguments, speeds):
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}", flush=True)
    for precision, compiled in TORCH_TRAINING:
        def text(speed, precision=precision):
            beside = f", Volta / PyTorch {speeds[precision] / speed:.2f}" if precision in speeds else ""
            return f"{speed:.0f} tokens/s{beside}"

        attempt("training, PyTorch " + ("compiled" if compiled else "eager"), precision,
                lambda p=precision, c=compiled: torch_training(torch, arguments, p, c), text)
    for precision in TORCH_PRODUCTS:
        for n in (1024, 2048, 4096):
            attempt(f"product {n}x{n}x{n}, PyTorch", precision, lambda p=precision, size=n: torch_product(torch, p, size),
                    lambda speed: f"{speed:.0f} GFLOP/s")


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voltac", default=os.path.join(ROOT, "build", "voltac"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, default=4, help="sequences of 1024 tokens per step")
    parser.add_argument("--seconds", type=float, default=5.0, help="of a measurement")
    arguments = parser.parse_args(words)
    show("GPT-2 124M", "level", "precision", "")
    speeds = measure_training(arguments)
    decoded = measure_decoding(arguments)
    torch, missing = torch_on_cuda()
    if torch is None:
        print(f"PyTorch: not run: {missing}")
    else:
        measure_torch(torch, arguments, speeds)
    return 0 if len(speeds) == len(TRAINING) and decoded == len(DECODING) else 1


if __name__ == "__main__":
    sys.exit(main())
