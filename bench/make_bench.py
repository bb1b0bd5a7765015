#!/usr/bin/env python3
"""Runs every benchmark and writes docs/benchmarks.md and its charts. What `make bench` calls.

    bench/make_bench.py [--quick] [--only SUITE...] [--build build-bench] [--from FOLDER] [--page FILE]

A suite that is not there is skipped with a message, and its section stays as it is. Raw results go to
BUILD/results/SUITE.json; --from writes the page from such a folder again, without running anything. --page names the
page of another class of machine (docs/benchmarks_avx2.md), so that this one's figures stay; it has sections for the
suites that it shows.
"""

import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(HERE, "peers")]

import machine  # noqa: E402
import report  # noqa: E402
import shapes  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "benchmarks.md")
MLPS = ("mlp:256-512-512-256-1", "mlp:512-1024-1024-512-256-1", "mlp:512-2048-2048-512-1")


class Skipped(Exception):
    """Why a suite does not run; one line."""


def thread_counts():
    return sorted({1, min(2, len(os.sched_getaffinity(0)))})


def json_lines(command):
    """The objects that a command prints, one a line."""
    print("  " + " ".join(os.path.relpath(c, ROOT) if os.path.isabs(c) else c for c in command), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Skipped(f"status {done.returncode}: {reason}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def voltac_rows(arguments, *commands):
    """Rows of `voltac bench ...` for each command and thread count."""
    voltac = os.path.join(arguments.build, "voltac")
    if subprocess.run([voltac, "bench", commands[0][0], "--help"], capture_output=True, check=False).returncode != 0:
        raise Skipped(f"this voltac has no command bench {commands[0][0]}")
    rows = []
    for command in commands:
        for threads in thread_counts():
            found = json_lines([voltac, "bench", *command, "--threads", str(threads), "--json"])
            rows += [{"threads": threads, **row} for row in found]
    return rows


def script_rows(arguments, name):
    """Rows of a script of this folder that prints JSON lines."""
    path = os.path.join(HERE, name)
    if not os.path.exists(path):
        raise Skipped(f"there is no bench/{name}")
    command = [sys.executable, path]
    usage = subprocess.run(command + ["--help"], capture_output=True, text=True, check=False).stdout
    if arguments.quick and "--quick" in usage:
        command.append("--quick")
    for option, built in (("--library", "libvolta.so"), ("--voltac", "voltac")):
        if option in usage:
            command += [option, os.path.join(arguments.build, built)]
    command += ["--threads", *map(str, thread_counts())]
    return json_lines(command + ["--json"])


def run_products(arguments):
    path = os.path.join(arguments.build, "results", "products.json")
    command = [sys.executable, os.path.join(HERE, "peers", "run.py"), "--json", path,
               "--programs", os.path.join(arguments.build, "bench")]
    short = ["--rounds", "2", "--samples", "2", "--batch-ms", "10"]  # per pass; the medians are over three
    command += ["--quick", "--rounds", "3"] if arguments.quick else ["--repeats", "3", *short]
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        raise Skipped("bench/peers/run.py failed")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def run_matmul(arguments):
    products = shapes.QUICK if arguments.quick else shapes.ALL
    commands = []
    for form in ("nn", "nt", "tn"):
        wanted = ",".join(f"{p.m}x{p.n}x{p.k}" for p in products if p.form == form)
        commands.append(["matmul", "--form", form, "--shapes", wanted])
    return {"rows": voltac_rows(arguments, *commands)}


def run_train(arguments):
    models = [["--preset", "tiny"], ["--preset", "gpt2"]]
    models += [["--model", m, "--optimizer", o, "--batch", b, "--runs", "101"]  # of a millisecond and more
               for m in MLPS for o in ("sgd", "adam") for b in ("64", "256")]
    if arguments.quick:
        models = [models[0], models[2]]
    return {"rows": voltac_rows(arguments, *(["train", *model] for model in models))}


RUNNERS = {
    "products": run_products,
    "matmul": run_matmul,
    "train": run_train,
    "train_peers": lambda arguments: {"rows": script_rows(arguments, "train_peers.py")},
    "infer_peers": lambda arguments: {"rows": script_rows(arguments, "infer_peers.py")},
    "ops": lambda arguments: {"rows": voltac_rows(arguments, ["ops"])},
    "ops_peers": lambda arguments: {"rows": script_rows(arguments, "ops_peers.py")},
    "conv_peers": lambda arguments: {"rows": script_rows(arguments, "conv_peers.py")},
    "network_peers": lambda arguments: {"rows": script_rows(arguments, "network_peers.py")},
    "onnx_peers": lambda arguments: {"rows": script_rows(arguments, "onnx_peers.py")},
    "overhead_peers": lambda arguments: {"rows": script_rows(arguments, "overhead_peers.py")},
    "memory": lambda arguments: {"rows": voltac_rows(arguments, ["memory"])},
}


def run_suite(suite, arguments):
    """The result of one suite, also written to its file."""
    about = {"suite": suite, "machine": machine.describe()}  # the load is that before the run
    result = {**about, **RUNNERS[suite](arguments)}
    if not result.get("rows") and not result.get("runs"):
        raise Skipped("it printed no rows")
    with open(os.path.join(arguments.build, "results", f"{suite}.json"), "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
    return result


def read_result(suite, folder):
    path = os.path.join(folder, f"{suite}.json")
    if not os.path.exists(path):
        raise Skipped(f"there is no {path}")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def write_report(suite, result, page=PAGE):
    """The suite's section of the page, and its chart beside the page."""
    section, chart = report.SUITES[suite]
    machine_class = os.path.splitext(os.path.basename(page))[0].replace("benchmarks", "bench", 1)  # bench, bench_avx2
    chart_name = f"{machine_class}_{suite}.svg"
    body = f"![{suite}]({chart_name})\n\n{section(result)}"
    with open(page, encoding="utf-8") as file:
        text = report.replace_section(file.read(), suite, body)
    with open(os.path.join(os.path.dirname(page), chart_name), "w", encoding="utf-8") as file:
        file.write(chart(result))
    with open(page, "w", encoding="utf-8") as file:
        file.write(text)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short lists")
    parser.add_argument("--only", nargs="+", default=list(RUNNERS), choices=list(RUNNERS), metavar="SUITE",
                        help=" ".join(RUNNERS))
    parser.add_argument("--build", default=os.path.join(ROOT, "build-bench"), metavar="FOLDER",
                        help="build folder with voltac and the peers (build-bench)")
    parser.add_argument("--from", dest="source", metavar="FOLDER", help="write the page from these results")
    parser.add_argument("--page", default=PAGE, metavar="FILE", help="where the figures go (docs/benchmarks.md)")
    arguments = parser.parse_args(argv)
    if not os.path.exists(arguments.page):
        parser.error(f"--page {arguments.page}: there is no such page; it needs the comments bench:SUITE:begin and end")
    arguments.build = os.path.abspath(arguments.build)
    os.makedirs(os.path.join(arguments.build, "results"), exist_ok=True)
    written = 0
    for suite in arguments.only:
        print(f"\n==== {suite}", flush=True)
        try:
            result = read_result(suite, arguments.source) if arguments.source else run_suite(suite, arguments)
            write_report(suite, result, arguments.page)
            written += 1
        except (Skipped, ValueError) as reason:
            print(f"{suite}: skipped, {reason}", flush=True)
    print(f"\n{written} of {len(arguments.only)} sections of {os.path.relpath(arguments.page, ROOT)} written")
    return 0 if written else 1


if __name__ == "__main__":
    sys.exit(main())
