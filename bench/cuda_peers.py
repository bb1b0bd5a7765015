#!/usr/bin/env python3
"""GPT-2 124M and f32 products on one GPU, Volta against PyTorch.

    bench/cuda_peers.py --voltac build/voltac [--device cuda] [--batch 4] [--seconds 5]

Training is tokens per second of whole steps (forward, backward, clipping, AdamW) on random tokens. Volta is strict
f32. PyTorch runs twice: f32 without TF32, and compiled with bf16 autocast. Products are PyTorch's alone, f32 without
TF32: what a strict product is to be compared with. Volta's own `bench matmul` moves its operands for every run, so no
figure of it stands here. Without PyTorch or its CUDA the lines of PyTorch say "not run".
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


def volta_training(arguments):
    """Tokens per second, or the reason there are none."""
    command = [arguments.voltac, "bench", "train", "--preset", "gpt2", "--vocab", str(GPT2["vocabulary"]), "--batch",
               str(arguments.batch), "--seq", str(TIME), "--device", arguments.device, "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return None, (result.stderr.strip().splitlines() or ["no reason given"])[-1]
    return json.loads(result.stdout)["per_second"], None


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


def torch_training(torch, arguments, fast):
    sys.path += [os.path.join(ROOT, "tests", "parity"), os.path.dirname(os.path.abspath(__file__))]
    from gpt_torch import Gpt

    torch.manual_seed(1)
    model = Gpt(**GPT2).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1, fused=True)
    tokens = torch.randint(GPT2["vocabulary"], (arguments.batch, TIME + 1), device="cuda")
    loss_of = torch.compile(model) if fast else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=fast):
            loss = loss_of(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return rate(torch, step, arguments.seconds) * arguments.batch * TIME


def print_torch(torch, arguments, volta):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name()}")
    for name, fast in (("f32", False), ("bf16, compiled", True)):
        try:
            speed = torch_training(torch, arguments, fast)
        except Exception as error:  # a compiler that is missing, memory that is not enough
            print(f"GPT-2 training, PyTorch {name}: not run: {str(error).strip().splitlines()[0]}")
            continue
        beside = f", Volta / PyTorch {volta / speed:.2f}" if volta else ""
        print(f"GPT-2 training, PyTorch {name}: {speed:.0f} tokens/s{beside}")
    for n in (1024, 2048, 4096):
        a, b = torch.rand(n, n, device="cuda"), torch.rand(n, n, device="cuda")
        out = torch.empty(n, n, device="cuda")
        speed = rate(torch, lambda: torch.mm(a, b, out=out), 1.0)  # noqa: B023
        print(f"f32 product {n}x{n}x{n}, PyTorch: {2e-9 * n ** 3 * speed:.0f} GFLOP/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voltac", default=os.path.join(ROOT, "build", "voltac"))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, default=4, help="sequences of 1024 tokens per step")
    parser.add_argument("--seconds", type=float, default=5.0, help="of a measurement")
    arguments = parser.parse_args()
    volta, reason = volta_training(arguments)
    print("GPT-2 training, Volta strict f32: " + (f"{volta:.0f} tokens/s" if volta else f"not run: {reason}"))
    torch, missing = torch_on_cuda()
    if torch is None:
        print(f"PyTorch: not run: {missing}")
        return 0 if volta else 1
    print_torch(torch, arguments, volta)
    return 0 if volta else 1


if __name__ == "__main__":
    sys.exit(main())
