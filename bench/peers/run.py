#!/usr/bin/env python3
"""Products of Volta beside those of other libraries: OpenBLAS, BLIS, oneDNN, libxsmm, Eigen.

Every library is a process of its own that sleeps while another one runs; they take turns, so that a
change of clock or a neighbour's load meets all. Each result is checked against a double reference. Printed: GFLOP/s,
and how many times faster Volta is. docs/benchmarks.md explains the method.

    bench/peers/run.py [--quick | --few-columns | --shapes 256x1152x384,nt:1024x384x1152] [--threads 1 2]
                       [--isa avx512 avx2]
                       [--busy N] [--json FILE]
"""

import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import machine  # noqa: E402
import shapes  # noqa: E402
import summary  # noqa: E402
from arguments import at_least  # noqa: E402
from processes import PROGRAMS, Peer, PeerError, busy_neighbours, environment  # noqa: E402

HUGE_FLOPS = 3e10  # above this one call takes a good part of a second: fewer samples do


def say(text=""):
    print(text, file=sys.stderr, flush=True)


class Field:
    """All contenders for one thread count and instruction set."""

    def __init__(self, threads, isa, arguments):
        self.threads, self.isa, self.arguments = threads, isa, arguments
        self.peers, self.skipped = [], {}
        core = arguments.openblas_core or machine.openblas_core(isa)
        variables = environment(isa, threads, core, arguments.wait)
        for name in arguments.peers:
            try:
                self.peers.append(Peer(name, arguments.programs, isa, threads, variables))
            except PeerError as error:
                self.drop(name, str(error))
        if not any(peer.name == summary.VOLTA for peer in self.peers):
            self.close()
            raise PeerError(f"no Volta to compare with: {self.skipped.get('volta', 'left out by --peers')}")

    def drop(self, name, reason):
        self.skipped[name] = reason
        say(f"  {name}: left out, {reason}")

    def lose(self, peer, reason):
        """A peer that fails is left out from here on; Volta must not fail."""
        if peer.name == summary.VOLTA:
            raise PeerError(f"volta: {reason}")
        self.drop(peer.name, reason)
        self.peers.remove(peer)
        peer.close()

    def load(self, product):
        """[(peer, mode)] that compute this product rightly."""
        contenders = []
        for peer in list(self.peers):
            try:
                modes = peer.ask(f"load {product.m} {product.n} {product.k} {product.form}")["modes"]
            except PeerError as error:
                self.lose(peer, str(error))
                continue
            for mode, check in modes.items():
                if "wrong" not in check:
                    contenders.append((peer, mode))
                elif peer.name == summary.VOLTA:
                    raise PeerError(f"volta, {shapes.name(product)}: {check['wrong']}")
                else:
                    say(f"  {peer.name} {mode}, {shapes.name(product)}: not counted, {check['wrong']}")
        return contenders

    def time(self, product):
        """{contender: its times of one call in ns}, rounds interleaved; every round starts with another one."""
        contenders = self.load(product)
        rounds, samples = self.arguments.rounds, self.arguments.samples
        if 2.0 * product.m * product.n * product.k > HUGE_FLOPS:
            rounds, samples = min(rounds, 3), 1
        times = {}
        for turn in range(rounds):
            first = turn % len(contenders)
            for peer, mode in contenders[first:] + contenders[:first]:
                if peer not in self.peers:
                    continue
                name = peer.name if mode == "plain" else f"{peer.name} packed"
                try:
                    answer = peer.ask(f"time {mode} {samples} {self.arguments.batch_ms * 1000:g}")
                    times.setdefault(name, []).extend(answer["ns"])
                except PeerError as error:
                    self.lose(peer, str(error))
        gone = [name for name in times if name.split()[0] in self.skipped]
        for name in gone:
            del times[name]
        return times

    def close(self):
        for peer in self.peers:
            peer.close()


def run_field(threads, isa, products, arguments):
    say(f"{threads} thread{'s' if threads > 1 else ''}, {isa}, load {os.getloadavg()[0]:.2f}")
    field = Field(threads, isa, arguments)
    try:
        for peer in field.peers:
            say(f"  {peer.name} {peer.version}: {peer.detail}")
        rows = [dict(product._asdict(), ns={}) for product in products]
        for repeat in range(arguments.repeats):
            if repeat == 0:
                print_header(field)
            for product, row in zip(products, rows):
                for contender, times in field.time(product).items():
                    row["ns"].setdefault(contender, []).append(times)
                if repeat == arguments.repeats - 1:
                    print_row(field, product, row)
        # A peer lost on the way has rows without it or with fewer repeats: it does not count at all.
        for row in rows:
            row["ns"] = {c: times for c, times in row["ns"].items() if c.split()[0] not in field.skipped}
        about = {peer.name: {"version": peer.version, "detail": peer.detail} for peer in field.peers}
        return {"threads": threads, "isa": isa, "peers": about, "skipped": field.skipped, "rows": rows}
    finally:
        field.close()


def columns(field):
    """Contenders in a stable order: plain ones, then packed ones."""
    names = [peer.name for peer in field.peers]
    return names + [f"{name} packed" for name in names if name in ("volta", "onednn", "libxsmm")]


def print_header(field):
    titles = [c.replace(" packed", "+") for c in columns(field)]
    print(f"\nGFLOP/s, {field.threads} thread{'s' if field.threads > 1 else ''}, {field.isa}; + is B packed outside "
          "the clock; a ratio above 1: Volta is faster")
    print(f"{'m,n,k':>18} " + " ".join(f"{t:>9}" for t in titles) + f" {'plain':>6} {'all':>6}  fastest peer")


def print_row(field, product, row):
    cells = [f"{summary.gflops(row, c):9.1f}" if c in row["ns"] else f"{'-':>9}" for c in columns(field)]
    plain, best = summary.best_peer(row, True), summary.best_peer(row, False)
    ratios = "".join(f" {b[1]:5.2f}{'<' if b[1] < 1 else ' '}" if b else f"{'-':>7}" for b in (plain, best))
    print(f"{shapes.name(product):>18} " + " ".join(cells) + f"{ratios}  {best[0] if best else ''}", flush=True)


def print_means(result):
    print("\nGeometric mean over the list, Volta / peer, the same mode on both sides; "
          "products below 0.95 of the fastest:")
    for run in result["runs"]:
        means = summary.means(run["rows"])
        line = ", ".join(f"{peer} {value:.2f}" for peer, value in means.items())
        print(f"  {run['threads']} threads, {run['isa']}: {line or 'no peers'}", flush=True)
        for row, peer, value in summary.losses(run["rows"], 0.95):
            print(f"    {summary.row_name(row)}: {value:.2f} of {peer}")


def parse_arguments(argv):
    available = machine.instruction_sets()
    root = os.path.dirname(os.path.dirname(HERE))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=os.path.join(root, "build-bench", "bench"), metavar="FOLDER",
                        help="where the peer programs are (build-bench/bench)")
    parser.add_argument("--peers", nargs="+", default=list(PROGRAMS), choices=list(PROGRAMS), metavar="NAME",
                        help=" ".join(PROGRAMS))
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--quick", action="store_true", help="the short list")
    which.add_argument("--few-columns", action="store_true", help="products of few columns, which are on no other list")
    which.add_argument("--shapes", type=shapes.parse, metavar="LIST", help="MxNxK,nt:MxNxK,tn:MxNxK")
    parser.add_argument("--threads", type=at_least(1), nargs="+", metavar="N",
                        help="thread counts (1 and all processors, up to 2)")
    parser.add_argument("--isa", nargs="+", default=available, choices=["avx512", "avx2"],
                        help="instruction sets that all sides are limited to")
    parser.add_argument("--rounds", type=at_least(1), default=5, help="turns of each contender per product (5)")
    parser.add_argument("--samples", type=at_least(1), default=3, help="times per turn (3)")
    parser.add_argument("--batch-ms", type=float, default=20, help="shortest batch of calls that is timed (20)")
    parser.add_argument("--repeats", type=at_least(1), default=1, help="passes over the whole list; their median counts (1)")
    parser.add_argument("--wait", choices=["passive", "default"], default="passive",
                        help="how peers' threads wait between calls: asleep, or as their libraries like it")
    parser.add_argument("--busy", type=at_least(0), default=0, metavar="N",
                        help="processes of others that compute all the time (0)")
    parser.add_argument("--openblas-core", metavar="NAME", help="OPENBLAS_CORETYPE (from the feature bits)")
    parser.add_argument("--json", metavar="FILE", help="write every time there")
    arguments = parser.parse_args(argv)
    if not arguments.threads:
        arguments.threads = sorted({1, min(2, len(os.sched_getaffinity(0)))})
    for isa in arguments.isa:
        if isa not in available:
            parser.error(f"this processor has no {isa}")
    if not arguments.batch_ms > 0:
        parser.error(f"argument --batch-ms: {arguments.batch_ms:g} is not above zero")
    return arguments


def run_suite(arguments):
    """The suite's result, as written by --json."""
    products = arguments.shapes or (shapes.QUICK if arguments.quick else
                                    shapes.FEW_COLUMNS if arguments.few_columns else shapes.ALL)
    settings = {name: getattr(arguments, name) for name in ("rounds", "samples", "batch_ms", "repeats", "wait", "busy")}
    result = {"suite": "products", "machine": machine.describe(), "settings": settings, "runs": []}
    if result["machine"]["load"] > 0.5:
        say(f"this machine is busy (load {result['machine']['load']}): the figures are indicative only")
    with busy_neighbours(arguments.busy):
        for isa in arguments.isa:
            for threads in arguments.threads:
                result["runs"].append(run_field(threads, isa, products, arguments))
    return result


def main(argv=None):
    arguments = parse_arguments(argv)
    try:
        result = run_suite(arguments)
    except PeerError as error:
        say(f"bench/peers: {error}")
        return 1
    print_means(result)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
