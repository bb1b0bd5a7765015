#!/usr/bin/env python3
"""How long a data-parallel training step takes on N ranks: a prediction, and whether it holds where it can be tried.

    bench/scaling.py [--library build/libvolta.so] [--only gpt2 resnet50] [--rounds N] [--json]   validates, then predicts
    bench/scaling.py --validate ... | --predict ...                                               one of the two
    bench/scaling.py --write docs/distributed.md                                                  both, into the page
    bench/scaling.py --check [--json]                                                             the arithmetic, of fixed numbers

Measured are the parts of a rank's step, each rank with a transport that sends nothing (so that a process alone can be rank 5 of 64), and
what the transport tcp costs per byte where the link is no limit. A link is two numbers, latency and rate. bench/scaling_model.py makes a
step of them, and says of what.

Validation: ranks in network namespaces (root is needed, and ip and tc), each behind a link whose rate is shaped by tbf: transport tcp, and
with a delay a transport of this script's own, which holds back what has come until it would have come (not every kernel has netem).
Prediction and measured step are printed; more than 15 % between them is exit status 1. Ranks share the cores of this machine.

Prediction: one rank on each machine of this kind, with all its cores; rows of a rank stay the same (weak scaling), and efficiency is the
step of one machine alone over that of N. Frames are Ethernet's of 1500 bytes. Nothing there was measured on a network.
"""

import argparse
import dataclasses
import itertools
import json
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(HERE, "peers")]

import machine  # noqa: E402
import report  # noqa: E402
import scaling_model as model  # noqa: E402
import turns  # noqa: E402
from arguments import at_least, require_numpy  # noqa: E402
from scaling_links import SHAPED_FRAME, Network, Ranks, burst_of  # noqa: E402
from scaling_rank import CASES  # noqa: E402

LIMIT = 0.15
NO_LIMIT = model.Link(0.0, 1e15)
PORT = 29600
GBIT = 1e9
SENDS_BESIDE = {"tcp": True, "delayed": False}  # the backward pass; one of the host's own sends behind it
TRANSPORTS = {"tcp": "tcp", "delayed": "the script's, with the delay"}
# name: bits per second, seconds one way
LINKS = {"10 Gbit/s, 50 µs": (10 * GBIT, 50e-6), "1 Gbit/s, 1 ms": (1 * GBIT, 1e-3)}

PREDICTED = ("resnet50", "gpt2")
VALIDATED = "gpt2-short"


# ---- What a rank's step costs ---------------------------------------------------------------------------

def parts_of(step, tensors, ranks, rank):
    """(compute, add, norms, update) in seconds, of one step whose transport sends nothing."""
    calls = step["calls"]
    gaps = [now[0] - before[1] for before, now in zip([(0, 0)] + calls, calls + [(step["seconds"],)])]
    numbers, meeting, sums, loss, norms, _ = map(len, model.messages(tensors, ranks, rank))
    added = numbers + meeting
    gathered = added + sums + loss
    return gaps[0] + gaps[numbers], sum(gaps[added + 1:added + sums + 1]), gaps[gathered], sum(gaps[gathered + norms:])


def check_messages(calls, tensors, ranks, rank):
    """Ends the script where the library asks its transport for other messages than the model has."""
    told = [tuple(call[2:]) for call in calls]
    ours = [message for part in model.messages(tensors, ranks, rank) for message in part]
    for at, (theirs, own) in enumerate(itertools.zip_longest(told, ours)):
        if theirs != own:
            sys.exit(f"scaling.py: exchange {at} of rank {rank} of {ranks} is {theirs} in the library, {own} in the model (peer, bytes sent, "
                     f"bytes received); of {len(told)} and {len(ours)}")


def costs_of(steps, tensors, ranks, rank):
    """The median of each part over the steps, per byte where the model has it so."""
    added, _, parameters = tensors.portions(ranks)
    received = sum(pair[1] for d in model.levels(ranks) for pair in added.added(rank, rank ^ d, d))
    owned = parameters.owned(rank)
    rows = [parts_of(one, tensors, ranks, rank) for one in steps]
    compute, add, norms, update = (statistics.median(column) for column in zip(*rows))
    return model.Costs(compute, add / received, norms / owned, update / owned, 0.0, 0.0)


def mean_costs(costs):
    """Of ranks that ran side by side; the slowest forward and backward pass counts, since the others wait for it."""
    means = [statistics.mean(column) for column in zip(*(dataclasses.astuple(one) for one in costs))]
    return dataclasses.replace(model.Costs(*means), compute=max(one.compute for one in costs))


def job_of(arguments, name, ranks, rank, threads, transport, **more):
    rows = arguments.rows or CASES[name].rows
    return dict(library=arguments.library, case=name, rows=rows, ranks=ranks, rank=rank, threads=threads, transport=transport, **more)


def tensors_of(hello):
    return model.Tensors(hello["gradients"], hello["statistics"], hello["order"])


def measured_parts(arguments, name, ranks, which, threads):
    """(tensors, when their gradients are made, costs without a transport) of the ranks in `which`, side by side."""
    jobs = [job_of(arguments, name, ranks, rank, threads, "none") for rank in which]
    with Ranks(jobs, [None] * len(jobs)) as workers:
        tensors, made = tensors_of(workers.hello[0]), workers.hello[0]["made"]
        answers = workers.ask(arguments.rounds)
    for rank, steps in zip(which, answers):
        check_messages(steps[0]["calls"], tensors, ranks, rank)
    return tensors, made, mean_costs([costs_of(steps, tensors, ranks, rank) for rank, steps in zip(which, answers)])


# ---- Prediction beside measurement ----------------------------------------------------------------------

class Turns:
    """Ranks that exchange beside ranks that do not, taking turns, so that a neighbour's load meets all alike: parts of a step, the step
    without a limit, and the step over each link."""

    WARM = 1  # step before the one that counts: behind a rest, or the first over a link

    def __init__(self, arguments, network, transport, links):
        self.ranks, self.name = len(network.names), arguments.case
        self.steps, self.times = [[] for _ in network.names], {title: [] for title in [None, *links]}
        jobs = [job_of(arguments, self.name, self.ranks, rank, 1, "none") for rank in range(self.ranks)]
        places = [dict(job, transport=transport, addresses=network.addresses(PORT)) for job in jobs]
        with Ranks(jobs, [None] * self.ranks) as silent, Ranks(places, network.names) as group:
            self.tensors = tensors_of(silent.hello[0])
            self.made = silent.hello[0]["made"] if SENDS_BESIDE[transport] else None
            for _ in range(arguments.rounds):
                for own, steps in zip(self.steps, silent.ask(self.WARM + 1)):
                    own.append(steps[-1])
                for title, (bits, delay) in [(None, (None, 0.0)), *links.items()]:
                    network.shape(bits)
                    self.times[title].append(group.ask(self.WARM + 1, delay)[0][-1]["seconds"])
        for rank, steps in enumerate(self.steps):
            check_messages(steps[0]["calls"], self.tensors, self.ranks, rank)

    def costs(self):
        """With those of the transport, found from the step without a limit."""
        own = mean_costs([costs_of(steps, self.tensors, self.ranks, rank) for rank, steps in enumerate(self.steps)])
        return model.transport_cost(self.tensors, self.ranks, own, NO_LIMIT, statistics.median(self.times[None]), self.made)


def validate(arguments):
    """Rows: link, transport, measured and predicted step. Costs of the transport tcp."""
    rows, found = [], {}
    with Network(arguments.ranks) as network:
        for transport in ("tcp", "delayed"):
            links = {title if transport == "delayed" else title.partition(",")[0]: (bits, delay if transport == "delayed" else 0.0)
                     for title, (bits, delay) in LINKS.items()}
            turns_of = Turns(arguments, network, transport, links)
            costs = found[transport] = turns_of.costs()
            for title, (bits, delay) in links.items():
                link = model.Link(delay, model.payload_rate(bits, SHAPED_FRAME), burst_of(bits))
                times, predicted = turns_of.times[title], model.step(turns_of.tensors, arguments.ranks, costs, link, turns_of.made)
                measured = statistics.median(times)
                rows.append(dict(kind="validation", case=arguments.case, rows=arguments.rows or CASES[arguments.case].rows,
                                 ranks=arguments.ranks, link=title, transport=transport, measured_s=measured, spread=turns.spread(times),
                                 predicted_s=predicted.seconds, error=predicted.seconds / measured - 1))
                tell_validation(arguments, rows[-1])
            tell(arguments, dict(kind="costs", case=arguments.case, transport=transport, **dataclasses.asdict(costs)),
                 f"         {transport:8} without a limit {statistics.median(turns_of.times[None]):.3f} s; {parts_text(costs)}")
    return rows, found["tcp"]


# ---- What is told ---------------------------------------------------------------------------------------

def tell(arguments, row, text):
    print(json.dumps(row) if arguments.json else text, flush=True)


def tell_validation(arguments, row):
    tell(arguments, row, f"{row['ranks']} ranks  {row['transport']:8} {row['link']:18} measured {row['measured_s']:7.3f} s (spread "
         f"{100 * row['spread']:4.1f} %)  predicted {row['predicted_s']:7.3f} s  {100 * row['error']:+5.1f} %")


def prediction_rows(name, title, tensors, costs, many=(8, 64), made=None, share=1.0):
    alone = model.step(tensors, 1, costs, model.Link(0.0, 1e15))
    rows = [dict(kind="prediction", case=name, title=title, ranks=1, link="-", step_s=alone.seconds, compute=1.0, exchange=0.0, wait=0.0,
                 efficiency=1.0)]
    for link, (bits, delay) in LINKS.items():
        for ranks in many:
            step = model.step(tensors, ranks, costs, model.Link(delay, model.payload_rate(bits)), made, share)
            rows.append(dict(kind="prediction", case=name, title=title, ranks=ranks, link=link, step_s=step.seconds,
                             compute=step.compute / step.seconds, exchange=step.exchange / step.seconds, wait=step.wait / step.seconds,
                             efficiency=alone.seconds / step.seconds))
    return rows


def tell_predictions(arguments, rows):
    if not arguments.json:
        print(f"\nprediction: {rows[0]['title']}\n{'ranks':>5}  {'link':18} {'step, s':>9} {'compute':>8} {'exchange':>9} {'wait':>6} "
              f"{'efficiency':>11}")
    for row in rows:
        tell(arguments, row, f"{row['ranks']:5}  {row['link']:18} {row['step_s']:9.2f} {100 * row['compute']:6.0f} % {100 * row['exchange']:7.0f} % "
             f"{100 * row['wait']:4.0f} % {row['efficiency']:11.2f}")


def parts_text(costs):
    return (f"forward and backward {costs.compute:.3f} s; per MiB: sum {costs.add * 2**30:.3f} ms, norms {costs.norms * 2**30:.3f} ms, update "
            f"{costs.update * 2**30:.3f} ms, sent or received {costs.send * 2**30:.3f} ms")


def validation_table(rows):
    """Of a page."""
    return report.table(["link", "transport", "measured, s", "predicted, s", "difference"],
                        [[row["link"], TRANSPORTS[row["transport"]], f"{row['measured_s']:.3f}", f"{row['predicted_s']:.3f}",
                          f"{100 * row['error']:+.1f} %"] for row in rows])


def prediction_table(rows):
    return report.table(["prediction: of a rank", "ranks", "link", "step, s", "compute", "exchange", "wait", "efficiency"],
                        [[row["title"], row["ranks"], row["link"], f"{row['step_s']:.2f}",
                          *(f"{100 * row[part]:.0f} %" for part in ("compute", "exchange", "wait")), f"{row['efficiency']:.2f}"] for row in rows])


def write_page(path, described, validated, predicted):
    """The sections of a page that bench:scaling_validation and bench:scaling_prediction stand around."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    case = CASES[validated[0]["case"]].title.format(rows=validated[0]["rows"])
    line = report.machine_line({"machine": described})
    page = report.replace_section(page, "scaling_validation", f"{validated[0]['ranks']} ranks, {case}, on {line}\n\n{validation_table(validated)}")
    page = report.replace_section(page, "scaling_prediction", f"Prediction from parts measured on {line}\n\n{prediction_table(predicted)}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


def predict(arguments, transport):
    """Parts of rank 0 of 8, with all cores; the transport's costs as ranks of one core each had them."""
    cores, rows = len(os.sched_getaffinity(0)), []
    for name in arguments.only:
        tensors, made, parts = measured_parts(arguments, name, 8, [0], cores)
        costs = dataclasses.replace(parts, send=transport.send, receive=transport.receive)
        title = CASES[name].title.format(rows=arguments.rows or CASES[name].rows)
        tell(arguments, dict(kind="costs", case=name, transport="tcp", parameters=sum(tensors.gradients), **dataclasses.asdict(costs)),
             f"\n{title}: {sum(tensors.gradients) / 1e6:.1f} M parameters; {parts_text(costs)}")
        predicted = prediction_rows(name, title, tensors, costs, made=made, share=1 / cores)
        tell_predictions(arguments, predicted)
        rows += predicted
    return rows


def check(arguments):
    """Fixed numbers: what the model makes of them is what tests/bench/test_scaling.py expects."""
    costs = model.Costs(compute=1.0, add=0.25e-9, norms=0.1e-9, update=1e-9, send=0.25e-9, receive=0.25e-9)
    even, uneven = [1 << 20] * 64, [32 << 20] + [1 << 20] * 32
    late = [1 - tensor / 96 for tensor in range(64)]
    for name, title, elements, made in (("even", "64 tensors of 1 Mi elements", even, None),
                                        ("uneven", "one tensor of 32 Mi elements, 32 of 1 Mi", uneven, None),
                                        ("beside", "64 tensors of 1 Mi elements, sent beside the pass", even, late)):
        tell_predictions(arguments, prediction_rows(name, title, model.Tensors(elements), costs, (2, 8, 64), made, 0.5))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "libvolta.so"), metavar="FILE")
    parser.add_argument("--validate", action="store_true", help="compare with real ranks, predict nothing")
    parser.add_argument("--predict", action="store_true", help="predict, without validation")
    parser.add_argument("--check", action="store_true", help="fixed numbers, nothing measured")
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(PREDICTED), help="of the prediction")
    parser.add_argument("--case", choices=list(CASES), default=VALIDATED, help="of the validation")
    parser.add_argument("--ranks", type=int, choices=[2, 4], default=2, help="of the validation")
    parser.add_argument("--rows", type=at_least(1), help="of a rank, where the case's number is not wanted")
    parser.add_argument("--rounds", type=at_least(1), default=5, help="steps of each kind")
    parser.add_argument("--write", metavar="PAGE", help="also write the tables into a page: docs/distributed.md")
    parser.add_argument("--json", action="store_true", help="one object per line")
    arguments = parser.parse_args(argv)
    if arguments.check:
        return check(arguments)
    require_numpy("scaling.py")
    if os.geteuid() != 0:
        sys.exit("scaling.py: it makes network namespaces, which needs root")
    if arguments.write and (arguments.validate or arguments.predict):
        parser.error("argument --write: the page has both tables, --validate and --predict make one")
    described = machine.describe()
    tell(arguments, dict(kind="machine", **described), report.machine_line({"machine": described}))
    validated, predicted = [], []
    if arguments.predict:
        with Network(arguments.ranks) as network:
            transport = Turns(arguments, network, "tcp", {}).costs()
    else:
        validated, transport = validate(arguments)
    if not arguments.validate:
        predicted = predict(arguments, transport)
    wrong = [row for row in validated if abs(row["error"]) > LIMIT]
    if arguments.write and not wrong:
        write_page(arguments.write, described, validated, predicted)
    for row in wrong:
        print(f"scaling.py: {row['transport']}, {row['link']}: the prediction is {100 * row['error']:+.1f} % off, {100 * LIMIT:.0f} % are "
              "allowed", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
