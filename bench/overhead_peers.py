#!/usr/bin/env python3
"""What each binding costs over C per session.run of a tiny model (a product of 1 x 4 x 4), in nanoseconds.

    bench/overhead_peers.py [--library build/libvolta.so] [--quick] [--json] [--check]

A program of each language, one after the other, several times round; in each process C's loop and the language's own take turns, on
sessions of one thread. The cost is the median over all rounds of the difference, beside the least one. A language that is not
installed is left out with a message. --check: status 1 where the least cost, which a busy machine moves little, is above its limit. It needs NumPy for Python's row, and the programs overhead_cpp and overhead_loop of the build.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
LIMITS = {"C++": 50, "Rust": 50, "Go": 1000, "Python": 5000}  # ns


def run(command, environment, folder=ROOT):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, check=False,
                          env=dict(os.environ, **environment))
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no reason given"])[-1])
    return done.stdout


def cpp(build):
    return [os.path.join(build, "bench", "overhead_cpp")], {}


def python(build):
    environment = {"PYTHONPATH": os.path.join(ROOT, "bindings", "python"), "VOLTA_LIBRARIES": build}
    return [sys.executable, "-B", os.path.join(HERE, "overhead", "overhead.py"),
            os.path.join(build, "bench", "liboverhead_loop.so")], environment


def rust(build):
    target = os.path.join(build, "cargo")
    run(["cargo", "build", "--quiet", "--offline", "--locked", "--release", "--example", "overhead"],
        {"VOLTA_DIR": build, "CARGO_TARGET_DIR": target}, os.path.join(ROOT, "bindings", "rust"))
    return [os.path.join(target, "release", "examples", "overhead")], {}


def go(build):
    script = f'root={ROOT} build={build}; . tests/bindings/go_environment.sh; cd bindings/go; go build -o "$build/go/" ./bench/overhead'
    run(["sh", "-c", script], {})
    return [os.path.join(build, "go", "overhead")], {}


PROGRAMS = {"C++": cpp, "Rust": rust, "Go": go, "Python": python}


def measured(build, passes, rounds, runs):
    """language -> (C's ns, own ns) of all rounds, and why a language was left out."""
    commands, rows, reasons = {}, {}, {}
    for language, program in PROGRAMS.items():
        try:
            commands[language] = program(build)
            if not os.path.exists(commands[language][0][-1]) or not os.path.exists(commands[language][0][0]):
                raise RuntimeError(f"there is no {commands[language][0][-1]}")
        except (RuntimeError, OSError) as reason:
            reasons[language] = str(reason)
            commands.pop(language, None)
    for _ in range(passes):
        for language, (command, environment) in commands.items():
            try:
                for line in run([*command, str(rounds), str(runs)], environment).splitlines():
                    found = json.loads(line)
                    c, own = rows.setdefault(found["language"], ([], []))
                    c += found["c"]
                    own += found["own"]
            except RuntimeError as reason:
                reasons[language] = str(reason)
    return rows, reasons


def summary(language, c, own):
    differences = [mine - theirs for mine, theirs in zip(own, c)]
    limit = LIMITS[language.split(",")[0]]
    cost = statistics.median(differences)
    return {"language": language, "c_ns": statistics.median(c), "own_ns": statistics.median(own), "cost_ns": cost,
            "least_ns": min(own) - min(c), "limit_ns": limit, "within": cost <= limit}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "libvolta.so"), metavar="FILE")
    parser.add_argument("--threads", nargs="+", help=argparse.SUPPRESS)  # as make_bench.py says: it is always one
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--check", action="store_true", help="status 1 where a least cost is above its limit")
    parser.add_argument("--json", action="store_true", help="a line of JSON per language")
    arguments = parser.parse_args()
    passes, rounds, runs = (1, 200, 100) if arguments.quick else (5, 1000, 100)
    rows, reasons = measured(os.path.dirname(os.path.abspath(arguments.library)), passes, rounds, runs)
    for language, reason in reasons.items():
        print(f"{language} is left out: {reason}", file=sys.stderr)
    if not arguments.json:
        print(f"{'':30} {'C ns':>8} {'own ns':>8} {'cost':>8} {'least':>8} {'limit':>6}")
    above = []
    for language, (c, own) in rows.items():
        row = summary(language, c, own)
        if row["least_ns"] > row["limit_ns"]:
            above.append(language)
        if arguments.json:
            print(json.dumps(row))
        else:
            print(f"{language:30} {row['c_ns']:8.0f} {row['own_ns']:8.0f} {row['cost_ns']:8.0f} {row['least_ns']:8.0f} "
                  f"{row['limit_ns']:6d}{'' if row['within'] else '  above it'}")
    if arguments.check and above:
        print(f"above the limit: {'; '.join(above)}", file=sys.stderr)
    return 0 if rows and not (arguments.check and above) else 1


if __name__ == "__main__":
    sys.exit(main())
