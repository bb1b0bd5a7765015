#!/usr/bin/env python3
"""The same GGUF file read by llama.cpp and, as it is stored, by Volta: a prompt of 256 tokens, and tokens after it.

    bench/gguf_peers.py GGUF... [--voltac build/voltac] [--threads 2] [--rounds 3] [--tokens 64]

llama.cpp comes with PyPI's llama-cpp-python; what it was compiled for is printed, since a wheel for every processor uses
less than this one has (CMAKE_ARGS=-DGGML_NATIVE=ON pip install --no-binary llama-cpp-python llama-cpp-python builds it for
this machine). Sides take turns; figures are the medians of the rounds' best prompts and of their median tokens. Of quantised
weights the work is not the same: llama.cpp rounds activations to 8 bits, which Volta's contract does not allow.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import turns  # noqa: E402
from arguments import at_least  # noqa: E402

PROMPT = 256


def worker(path, threads, tokens):
    """llama.cpp's side: each question is a round."""
    import llama_cpp

    model = llama_cpp.Llama(path, n_ctx=PROMPT + tokens + 8, n_batch=PROMPT, n_threads=threads, n_threads_batch=threads,
                            verbose=False)
    words = model.n_vocab()
    prompt = [(13 * place + 1) % words for place in range(PROMPT)]

    def round_of(_):
        prompts, steps = [], []
        for _ in range(3):
            model.reset()
            start = time.perf_counter()
            model.eval(prompt)
            prompts.append(time.perf_counter() - start)
        for place in range(tokens):
            start = time.perf_counter()
            model.eval([(7 * place + 5) % words])
            steps.append(time.perf_counter() - start)
        return {"prompt": PROMPT / min(prompts), "token": 1e3 * statistics.median(steps)}

    turns.answer({"built": llama_cpp.llama_print_system_info().decode()}, round_of)


def volta_round(voltac, path, threads, tokens):
    run = subprocess.run([voltac, "bench", "infer", path, "--prompt-tokens", str(PROMPT), "--tokens", str(tokens),
                          "--threads", str(threads), "--load", "copy", "--no-speedup", "--json"],
                         capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(run.stderr.strip())
    figures = json.loads(run.stdout)
    return {"prompt": figures["prefill_tokens_per_s"], "token": figures["decode_ms_p50"]}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("gguf", nargs="+", help="GGUF files of a language model")
    options.add_argument("--voltac", default="build/voltac")
    options.add_argument("--threads", type=at_least(1), default=2)
    options.add_argument("--rounds", type=at_least(1), default=3)
    options.add_argument("--tokens", type=at_least(1), default=64)
    options.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.worker:
        return worker(chosen.gguf[0], chosen.threads, chosen.tokens)

    print(f"{'file':24}  prompt of {PROMPT}, tokens/s: Volta, llama.cpp, ratio    token, ms: Volta, llama.cpp, ratio")
    with tempfile.TemporaryDirectory() as folder:
        for path in chosen.gguf:
            own = os.path.join(folder, "model.volta")
            subprocess.run([chosen.voltac, "convert", path, "--weights", "keep", "--out", own], check=True,
                           stdout=subprocess.DEVNULL)
            side = turns.Side([os.path.abspath(__file__), "--worker", "--threads", str(chosen.threads), "--tokens",
                               str(chosen.tokens), path], turns.environment(chosen.threads))
            if side.hello is None:
                sys.exit(f"no llama.cpp: {side.reason}")
            theirs, ours = [], []
            for _ in range(chosen.rounds):
                theirs.append(side.ask({}))
                ours.append(volta_round(chosen.voltac, own, chosen.threads, chosen.tokens))
            side.close()
            median = {who: {what: statistics.median(r[what] for r in rounds) for what in ("prompt", "token")}
                      for who, rounds in (("ours", ours), ("theirs", theirs))}
            a, b = median["ours"], median["theirs"]
            print(f"{os.path.basename(path):24}  {a['prompt']:8.1f} {b['prompt']:8.1f} {a['prompt'] / b['prompt']:6.2f}"
                  f"    {a['token']:8.3f} {b['token']:8.3f} {b['token'] / a['token']:6.2f}")
        print(f"llama.cpp: {side.hello['built']}")


if __name__ == "__main__":
    main()
