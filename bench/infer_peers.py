#!/usr/bin/env python3
"""Writing one token after the other and reading a prompt: Volta beside llama2.c and PyTorch, on this machine.

    bench/infer_peers.py [--library build/libvolta.so] [--llama2c PATH] [--threads 1 2] [--only tiny 124m] [--quick] [--json]

The models are Llamas with random weights, the same file of llama2.c's format for all sides. A decode figure is the mean
time of a token over positions 1 .. 255 of one greedy sequence; a prefill figure is a prompt of 256 tokens up to the
logits of its last one. Sides live in processes of their own and take turns; figures are medians of the turns. PATH is
the program `run` of llama2.c, built with `make runomp`; it reads the file by mmap and has no prefill of its own, so that
column stays empty. PyTorch writes with a cache in place, scaled_dot_product_attention and inference_mode. The roofline bound is
the bytes of weights and cache that a token reads / read bandwidth, and for a prompt the longer of that and operations /
multiply-add peak; both peaks are the mean of what was measured right before and after the turn. Absent sides are skipped
with a message; NumPy is needed.
"""

import argparse
import json
import os
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import turns  # noqa: E402
from arguments import at_least, require_numpy  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODELS = {
    "tiny": dict(dim=384, hidden=1024, layers=6, heads=6, vocabulary=512, context=512),
    "124m": dict(dim=768, hidden=2048, layers=12, heads=12, vocabulary=50257, context=512),
}
STORED = {"f32": 0, "bf16": 3, "f16": 4, "int8": 5, "int4": 6, "f32_panels": 7}
TOKENS = 256


# ---- One file for all ---------------------------------------------------------------------------------------


def write_model(sizes, folder):
    """A llama2.c model of version 0 with a tied head, and a tokenizer that gives every id a text."""
    import numpy as np

    random = np.random.default_rng(1)
    dim, hidden, layers, vocabulary = (sizes[key] for key in ("dim", "hidden", "layers", "vocabulary"))
    width = dim // sizes["heads"]
    path = os.path.join(folder, "model.bin")
    with open(path, "wb") as file:
        file.write(struct.pack("7i", dim, hidden, layers, sizes["heads"], sizes["heads"], vocabulary, sizes["context"]))

        def weight(*shape):
            (random.standard_normal(shape, dtype=np.float32) * np.float32(0.05)).tofile(file)

        def norm(*shape):
            np.ones(shape, dtype=np.float32).tofile(file)

        weight(vocabulary, dim)
        norm(layers, dim)
        for _ in range(4):  # q, k, v, o
            weight(layers, dim, dim)
        norm(layers, dim)
        weight(layers, hidden, dim)  # gate
        weight(layers, dim, hidden)  # down
        weight(layers, hidden, dim)  # up
        norm(dim)
        norm(2 * sizes["context"], width // 2)  # where rotary tables once were
    with open(os.path.join(folder, "tokenizer.bin"), "wb") as file:
        texts = [b"<%d>" % i for i in range(vocabulary)]
        file.write(struct.pack("i", max(map(len, texts))))
        for text in texts:
            file.write(struct.pack("fi", 0.0, len(text)) + text)
    return path


def read_weights(sizes, path):
    import numpy as np

    dim, hidden, layers, vocabulary = (sizes[key] for key in ("dim", "hidden", "layers", "vocabulary"))
    data = np.fromfile(path, dtype=np.float32, offset=28)
    shapes = [("embedding", (vocabulary, dim)), ("norm1", (layers, dim)), ("q", (layers, dim, dim)),
              ("k", (layers, dim, dim)), ("v", (layers, dim, dim)), ("o", (layers, dim, dim)), ("norm2", (layers, dim)),
              ("gate", (layers, hidden, dim)), ("down", (layers, dim, hidden)), ("up", (layers, hidden, dim)),
              ("norm", (dim,))]
    weights, begin = {}, 0
    for name, shape in shapes:
        count = int(np.prod(shape))
        weights[name] = data[begin:begin + count].reshape(shape)
        begin += count
    return weights


# ---- Sides ----------------------------------------------------------------------------------------------------


def volta_worker(arguments, threads, path):
    import ctypes as c

    import volta_models as m

    bench = m.Bench(arguments.library, threads, arguments.isa)
    model = c.c_void_p()
    bench.call("volta_model_import", bench.context, path.encode(), None, c.byref(model))
    if arguments.weights != "f32":
        stored = c.c_void_p()
        bench.call("volta_model_quantize", model, c.c_int32(STORED[arguments.weights]), c.byref(stored))
        bench.library.so.volta_model_release(model)
        model = stored
    generator, sequence = c.c_void_p(), c.c_void_p()
    bench.call("volta_generator_create", model, None, c.byref(generator))
    bench.call("volta_sequence_create", generator, None, c.byref(sequence))
    step = bench.library.so.volta_generator_step
    handles, token = (c.c_void_p * 1)(sequence), c.c_int32()

    def start(tokens):
        bench.call("volta_sequence_rewind", sequence, c.c_size_t(0))
        bench.call("volta_sequence_append", sequence, (c.c_int32 * len(tokens))(*tokens), c.c_size_t(len(tokens)))

    def draw():
        if step(generator, handles, c.c_size_t(1), c.byref(token)) != 0:
            raise RuntimeError("volta_generator_step failed")

    return {"version": "Volta " + bench.library.version()}, start, draw, bench


def torch_worker(threads, sizes, path):
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(threads)
    w = {name: torch.from_numpy(array.copy()) for name, array in read_weights(sizes, path).items()}
    layers, heads, dim, context = sizes["layers"], sizes["heads"], sizes["dim"], sizes["context"]
    width = dim // heads
    w["qkv"] = torch.cat((w["q"], w["k"], w["v"]), 1)
    w["gate_up"] = torch.cat((w["gate"], w["up"]), 1)
    frequencies = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.arange(context, dtype=torch.float64)[:, None] * frequencies
    cosine, sine = angles.cos().float(), angles.sin().float()
    cache = torch.zeros(layers, 2, 1, heads, context, width)
    state = {"position": 0, "tokens": None}

    def turn(x, begin):
        a, b = x[..., 0::2], x[..., 1::2]
        at_cosine, at_sine = cosine[begin:begin + x.shape[2]], sine[begin:begin + x.shape[2]]
        return torch.stack((a * at_cosine - b * at_sine, a * at_sine + b * at_cosine), -1).flatten(-2)

    def forward(tokens, begin):
        time_steps = tokens.shape[1]
        x = F.embedding(tokens, w["embedding"])
        for i in range(layers):
            qkv = F.linear(F.rms_norm(x, (dim,), w["norm1"][i], 1e-5), w["qkv"][i])
            q, k, v = (part.view(1, time_steps, heads, width).transpose(1, 2) for part in qkv.chunk(3, 2))
            cache[i, 0, :, :, begin:begin + time_steps] = turn(k, begin)
            cache[i, 1, :, :, begin:begin + time_steps] = v
            seen = cache[i, :, :, :, :begin + time_steps]
            mixed = F.scaled_dot_product_attention(turn(q, begin), seen[0], seen[1], is_causal=time_steps > 1)
            x = x + F.linear(mixed.transpose(1, 2).reshape(1, time_steps, dim), w["o"][i])
            gate, up = F.linear(F.rms_norm(x, (dim,), w["norm2"][i], 1e-5), w["gate_up"][i]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, w["down"][i])
        return F.linear(F.rms_norm(x[:, -1], (dim,), w["norm"], 1e-5), w["embedding"])

    def start(tokens):
        state["position"], state["tokens"] = 0, torch.tensor([tokens])

    def draw():
        with torch.inference_mode():
            logits = forward(state["tokens"], state["position"])
            state["position"] += state["tokens"].shape[1]
            state["tokens"] = logits.argmax(-1, keepdim=True)
            return state["tokens"].item()

    return {"version": f"PyTorch {torch.__version__}"}, start, draw, None


def llama2c_seconds(arguments, path, tokens):
    """Per token, as the program counts it: from the second token on."""
    run = subprocess.run([arguments.llama2c, path, "-z", os.path.join(os.path.dirname(path), "tokenizer.bin"), "-t", "0",
                          "-n", str(tokens)], capture_output=True, text=True, check=True)
    rate = re.search(r"achieved tok/s: ([0-9.]+)", run.stderr)
    if rate is None:
        raise RuntimeError("llama2.c ended before its second token")
    return 1 / float(rate.group(1))


def worker(arguments):
    threads, sizes, path = arguments.threads[0], MODELS[arguments.only[0]], arguments.model
    if arguments.worker == "llama2c":
        llama2c_seconds(arguments, path, 8)
        return turns.answer({"version": "llama2.c"}, lambda question: {
            "decode": llama2c_seconds(arguments, path, question["tokens"]), "prefill": None})
    if arguments.worker == "torch":
        hello, start, draw, bench = torch_worker(threads, sizes, path)
    else:
        hello, start, draw, bench = volta_worker(arguments, threads, path)
    prompt = [(7 * i * i + 3) % sizes["vocabulary"] for i in range(TOKENS)]

    def reply(question):
        if "peaks" in question:
            return bench.peaks()
        start(prompt)  # not timed: after a pause a system takes a while to bring threads to cores of their own
        draw()
        start(prompt)
        begin = time.perf_counter()
        draw()
        prefill = time.perf_counter() - begin
        start(prompt[:1])
        draw()
        begin = time.perf_counter()
        for _ in range(question["tokens"] - 2):
            draw()
        return {"prefill": prefill, "decode": (time.perf_counter() - begin) / (question["tokens"] - 2)}

    reply({"tokens": 8})
    return turns.answer(hello, reply)


# ---- Driver ---------------------------------------------------------------------------------------------------


def bounds(sizes, weights, peaks):
    """Milliseconds of a token and of a prompt: docs/quantization.md for the bytes of a packed weight."""
    dim, hidden, layers = sizes["dim"], sizes["hidden"], sizes["layers"]
    elements = layers * (4 * dim * dim + 3 * dim * hidden) + sizes["vocabulary"] * dim
    bits = {"f32": 32, "bf16": 16, "f16": 16, "int8": 8.5, "int4": 4.5, "f32_panels": 32}[weights]
    cache = 2 * 4 * layers * dim * TOKENS / 2
    read = (elements * bits / 8 + cache) / peaks["read_gb_s"] * 1e-6
    layer_elements = elements - sizes["vocabulary"] * dim
    operations = 2 * layer_elements * TOKENS + 2 * sizes["vocabulary"] * dim + 2 * TOKENS ** 2 * dim * layers
    return read, max(operations / peaks["fma_gflops"] * 1e-6, read)


def compare(name, threads, path, arguments, absent):
    wanted = [("volta", weights) for weights in arguments.stored] + [("llama2c", None), ("torch", None)]
    sides = {}
    for kind, weights in wanted:
        label = f"Volta {weights}" if weights else {"llama2c": "llama2.c", "torch": "PyTorch"}[kind]
        if label in absent:
            continue
        if kind == "llama2c" and not arguments.llama2c:
            absent[label] = "no --llama2c"
            print("llama2.c is left out: give --llama2c PATH", file=sys.stderr)
            continue
        command = [os.path.abspath(__file__), "--worker", kind, "--only", name, "--threads", str(threads), "--model", path,
                   "--library", arguments.library, "--isa", arguments.isa]
        command += ["--weights", weights] if weights else []
        command += ["--llama2c", arguments.llama2c] if kind == "llama2c" else []
        side = turns.Side(command, turns.environment(threads, arguments.waiting))
        if side.hello:
            sides[label] = (side, weights)
            continue
        if kind == "volta":
            sys.exit(f"{label}: {side.reason}")
        absent[label] = side.reason
        print(f"{label} is left out: {side.reason}", file=sys.stderr)
    meter = next(side for side, weights in sides.values() if weights)  # memory is Volta's to measure
    times = {label: {"decode": [], "prefill": []} for label in sides}
    limits = {label: {"decode": [], "prefill": []} for label in sides}
    peaks = [meter.ask({"peaks": True})]
    for _ in range(arguments.rounds):
        for label, (side, weights) in sides.items():
            time.sleep(arguments.pause)
            answer = side.ask({"tokens": arguments.tokens})
            peaks.append(meter.ask({"peaks": True}))
            around = {key: (peaks[-2][key] + peaks[-1][key]) / 2 for key in ("read_gb_s", "fma_gflops")}
            bound = dict(zip(("decode", "prefill"), bounds(MODELS[name], weights or "f32", around)))
            for task, seconds in answer.items():
                if seconds:
                    times[label][task].append(seconds * 1e3)
                    limits[label][task].append(bound[task])
    own = times["Volta f32"] if "Volta f32" in times else next(iter(times.values()))
    median = statistics.median
    for label, (side, weights) in sides.items():
        for task in ("decode", "prefill"):
            samples, bound = times[label][task], limits[label][task]
            if not samples:
                continue
            yield dict(model=name, task=task, threads=threads, isa=peaks[0]["isa"], side=label, ms=median(samples),
                       spread=turns.spread(samples), bound_ms=median(bound),
                       ratio_to_bound=median(ms / least for ms, least in zip(samples, bound)),
                       to_volta_f32=median(samples) / median(own[task]),
                       read_gb_s=median(peak["read_gb_s"] for peak in peaks),
                       peak_gflops=median(peak["fma_gflops"] for peak in peaks), version=side.hello["version"])
        side.close()


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "libvolta.so"))
    parser.add_argument("--llama2c", metavar="PATH", default=os.environ.get("LLAMA2C"),
                        help="the program (default: the environment's LLAMA2C)")
    parser.add_argument("--isa", default="auto", choices=["auto", "scalar", "avx2", "avx512"], help="Volta's alone")
    parser.add_argument("--threads", type=at_least(1), nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--stored", nargs="+", choices=list(STORED),
                        default=["f32", "f32_panels", "bf16", "int8", "int4"],
                        help="how Volta's weights are stored, a side each")
    parser.add_argument("--rounds", type=at_least(1), default=3, help="turns of each side")
    parser.add_argument("--tokens", type=at_least(3), default=TOKENS)
    parser.add_argument("--pause", type=float, default=0.2, help="seconds before a turn")
    parser.add_argument("--waiting", choices=["passive", "default"], default="passive",
                        help="how OpenMP threads of the peers wait: asleep, or as their users have it")
    parser.add_argument("--quick", action="store_true", help="one turn of 64 tokens")
    parser.add_argument("--json", action="store_true", help="one object per line")
    parser.add_argument("--worker", choices=["volta", "torch", "llama2c"], help=argparse.SUPPRESS)
    parser.add_argument("--weights", default="f32", help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.worker:
        return worker(arguments)
    require_numpy("infer_peers.py")
    if arguments.quick:
        arguments.rounds, arguments.tokens = 1, 64
    absent = {}
    if not arguments.json:
        print(f"load {os.getloadavg()[0]:.1f}; ms; x Volta: above 1 Volta with f32 weights is faster\n"
              f"{'model':<6} {'task':<8} {'thr':>3} {'side':<11} {'ms':>9} {'x Volta':>8} {'bound':>8} {'x bound':>8} {'spread':>8}")
    for name in arguments.only:
        with tempfile.TemporaryDirectory() as folder:
            path = write_model(MODELS[name], folder)
            for threads in arguments.threads:
                for row in compare(name, threads, path, arguments, absent):
                    if arguments.json:
                        print(json.dumps(row), flush=True)
                        continue
                    print(f"{row['model']:<6} {row['task']:<8} {row['threads']:>3} {row['side']:<11} {row['ms']:9.3f} "
                          f"{row['to_volta_f32']:8.2f} {row['bound_ms']:8.3f} {row['ratio_to_bound']:8.2f} "
                          f"{100 * row['spread']:6.1f} %", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
