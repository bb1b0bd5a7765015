#!/usr/bin/env python3
"""Has Volta become slower? Times the short list beside its peers twice and compares the ratios with the baseline of
this machine's class (bench/baseline.json). Fails if a ratio is more than 10 % below it in both passes, unless those
to the other peers say that it is the peer that became faster.

    bench/perf_check.py [--update] [--baseline FILE] [arguments of bench/peers/run.py]

--update writes the baseline of this machine's class instead, of four passes. A machine without a baseline passes,
with a message.
"""

import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "peers")]

import compare  # noqa: E402
import run as peers_run  # noqa: E402
import shapes  # noqa: E402
import summary  # noqa: E402
from processes import PeerError  # noqa: E402

PASSES = 2
UPDATE_PASSES = 4  # whose lower quartile is the baseline


def read_baseline(path):
    """{class key: measurement}; empty without a file."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    if content.get("format") != 1:
        raise ValueError(f"{path} has format {content.get('format')}, not 1")
    return content["classes"]


def write_baseline(path, classes):
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump({"format": 1, "classes": classes}, file, indent=1, sort_keys=True)
        file.write("\n")
    os.replace(temporary, path)


def measure(arguments):
    """{class key: measurement} of one pass."""
    result = peers_run.run_suite(arguments)
    return {compare.class_key(result["machine"]["class"], run["isa"], run["threads"]):
            compare.measurement(run, summary.row_ratios, summary.row_name) for run in result["runs"]}


def judge(classes, passes, out=print):
    """Prints what moved; True if nothing failed."""
    good = True
    for key in passes[0]:
        if key not in classes:
            out(f"{key}: no baseline for this class of machine; `make perf-check UPDATE=1` writes one. Passed.")
            continue
        verdict = compare.compare(classes[key], [one[key] for one in passes])
        out(f"{key}: {verdict.compared} ratios compared, {len(verdict.failures)} failed")
        for line in compare.explain(verdict):
            out("  " + line)
        good = good and not verdict.failures
    return good


def main(argv=None):
    # No abbreviations: a slip in another option must not write a baseline.
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    parser.add_argument("--update", action="store_true", help="write the baseline")
    parser.add_argument("--baseline", default=os.path.join(HERE, "baseline.json"), metavar="FILE")
    own, rest = parser.parse_known_args(argv)
    arguments = peers_run.parse_arguments(rest)
    if not arguments.shapes:
        arguments.shapes = shapes.QUICK
    try:
        classes = read_baseline(own.baseline)
        passes = []
        count = UPDATE_PASSES if own.update else PASSES
        for number in range(1, count + 1):
            print(f"\n==== pass {number} of {count}", flush=True)
            passes.append(measure(arguments))
    except (PeerError, ValueError) as error:
        print(f"perf-check: {error}", file=sys.stderr)
        return 1
    print()
    if own.update:
        for key in passes[0]:
            classes[key] = compare.merge([one[key] for one in passes])
            print(f"{key}: baseline of {len(classes[key]['ratios'])} products written")
        write_baseline(own.baseline, classes)
        return 0
    return 0 if judge(classes, passes) else 1


if __name__ == "__main__":
    sys.exit(main())
