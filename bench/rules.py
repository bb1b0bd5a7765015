#!/usr/bin/env python3
"""What each rule of the CPU's products brings: on and off in turns, on the products where it changes something.

    bench/rules.py [--program build/tests/kernels/bench_product] [--rounds 11] [--threads 1,2]
                   [--isa avx2,avx512] [--rule NAME] [--out bench/rules]

Writes a CSV per rule (rule,product,use,threads,isa,on_us,off_us: medians) and verdicts.csv: the geometric mean of
off / on over the rule's products, the least and the most, and "keep" where it brings 2 % or more, else "delete".
A rule is deleted only if two classes of machines say so (engine/backend/cpu/gemm/rules.cpp).
"""
import argparse
import csv
import math
import pathlib
import subprocess
import sys

HEAD = ["rule", "product", "use", "threads", "isa", "on_us", "off_us"]
WORTH = 1.02


def lines_of(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def measure(program, rule, rounds, threads, isas):
    rows = []
    for isa in isas:
        for count in threads:
            command = [program, "--rule", rule, str(rounds), str(count)] + ([isa] if isa else [])
            rows += [line.split(",") for line in lines_of(command)]
    # A product's text has commas of its own: ld=a,b,c.
    return [[row[0], ",".join(row[1:-5])] + row[-5:] for row in rows]


def verdict_of(rule, rows):
    ratios = [float(row[6]) / float(row[5]) for row in rows if float(row[5]) > 0]
    if not ratios:
        return [rule, 0, "", "", "", "changes nothing here"]
    mean = math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
    word = "keep" if mean >= WORTH else "delete"
    return [rule, len(ratios)] + ["%.3f" % x for x in (mean, min(ratios), max(ratios))] + [word]


def write(path, head, rows):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/tests/kernels/bench_product")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--isa", default="", help="avx2,avx512 (default: the best of this processor)")
    parser.add_argument("--rule", action="append", help="this rule alone; may be repeated")
    parser.add_argument("--out", default="bench/rules")
    given = parser.parse_args()
    out = pathlib.Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    rules = given.rule or [line.split()[0] for line in lines_of([given.program, "--rules"])]
    threads = [int(word) for word in given.threads.split(",")]
    verdicts = []
    for rule in rules:
        rows = measure(given.program, rule, given.rounds, threads, given.isa.split(","))
        write(out / (rule.replace("-", "_") + ".csv"), HEAD, rows)
        verdicts.append(verdict_of(rule, rows))
        print("%-24s %s" % (rule, " ".join(str(x) for x in verdicts[-1][1:])), flush=True)
    write(out / "verdicts.csv", ["rule", "products", "off_over_on", "least", "most", "verdict"], verdicts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
