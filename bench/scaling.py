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
import contextlib
import dataclasses
import itertools
import json
import os
import select
import socket
import statistics
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path[:0] = [HERE, os.path.join(HERE, "peers")]

import machine  # noqa: E402
import report  # noqa: E402
import scaling_model as model  # noqa: E402
import turns  # noqa: E402
from arguments import at_least, require_numpy  # noqa: E402

LIMIT = 0.15
NO_LIMIT = model.Link(0.0, 1e15)
PORT = 29600
GBIT = 1e9
TRANSPORTS = {"tcp": "tcp", "delayed": "the script's, with the delay"}
# name: bits per second, seconds one way
LINKS = {"10 Gbit/s, 50 µs": (10 * GBIT, 50e-6), "1 Gbit/s, 1 ms": (1 * GBIT, 1e-3)}
SHAPED_FRAME = 1514  # what tbf counts of a frame of 1500
LEAST_BURST, BURST_SECONDS = 256 << 10, 1e-3  # of tbf: some large packets, and more than a late timer loses


@dataclasses.dataclass(frozen=True)
class Case:
    title: str
    rows: int   # of a rank
    make: dict
    shape: tuple  # of a row


GPT2 = dict(vocabulary=50257, layers=12, dim=768, heads=12, context=1024)
CASES = {
    "gpt2": Case("GPT-2 124M, {rows} rows of 256 tokens a rank", 4, dict(kind="gpt", **GPT2), (256,)),
    "gpt2-short": Case("GPT-2 124M, {rows} rows of 64 tokens a rank", 2, dict(kind="gpt", **GPT2), (64,)),
    "resnet50": Case("ResNet-50, {rows} pictures of 224 x 224 a rank", 8,
                     dict(kind="network", name="resnet50", classes=1000, channels=3, rows=224, columns=224), (3, 224, 224)),
    "resnet18": Case("ResNet-18, {rows} pictures of 32 x 32 a rank", 16,
                     dict(kind="network", name="resnet18", classes=10, channels=3, rows=32, columns=32, stem="small"), (3, 32, 32)),
    "tiny": Case("a GPT of 1.7 M parameters, {rows} rows of 64 tokens a rank", 4,
                 dict(kind="gpt", vocabulary=512, layers=2, dim=256, heads=4, context=64), (64,)),
}
PREDICTED = ("resnet50", "gpt2")
VALIDATED = "gpt2-short"


# ---- A rank, in a process of its own --------------------------------------------------------------------

class NoTransport:
    """Sends nothing: what it is asked for is written down, with the time between two calls. What comes are zeros to add, numbers that all
    ranks have as this one has them, and parameters as they were in the beginning: of others, processors could take a multiple of the time
    where next to nothing is left of gradients."""

    def __init__(self, tensors, values, ranks, rank):
        """values: of each of the tensors."""
        self.calls, self.has_joined = [], False
        portions, norms = tensors.portions(ranks)
        few = model.levels(ranks)
        added = sum(len(portions.added(rank, rank ^ d, d)) for d in few)
        self.added = range(2 * len(few), 2 * len(few) + added)
        at = self.added.stop + len(few) + sum(len(norms.gathered(rank, rank ^ d, d)) for d in few)
        self.parameters = {}  # number of the call: its bytes; none where a slice is received in its place
        for d in reversed(few):
            for number, bucket in enumerate(model.slices(portions.chosen(2 * d - 1, rank ^ d))):
                if len(bucket) > 1:
                    self.parameters[at + number] = b"".join(values[tensor][first:first + count].tobytes() for tensor, first, count in bucket)
            at += len(portions.gathered(rank, rank ^ d, d))

    def begin_step(self):
        self.calls, self.has_joined = [], True

    def __call__(self, peer, send, receive):
        begin, number = time.perf_counter(), len(self.calls) if self.has_joined else -1
        if number in self.added:
            receive[:] = bytes(len(receive))
        elif number in self.parameters:
            receive[:] = self.parameters[number]
        elif len(send) == len(receive) <= 4096:
            receive[:] = send
        self.calls.append((begin, time.perf_counter(), peer, len(send), len(receive)))


class DelayedSockets:
    """Sockets between the ranks; what comes counts as there `delay` seconds behind the time at which the system had it."""

    LENGTH = struct.Struct("<Q")
    STAMP = struct.Struct("@ll")
    TIMESTAMPNS = 35  # SO_TIMESTAMPNS of Linux

    def __init__(self, rank, ranks, addresses):
        self.delay, self.sockets = 0.0, {}
        listener = socket.create_server(addresses[rank], backlog=ranks)
        for peer in range(rank):
            connection = connect(addresses[peer])
            connection.sendall(bytes([rank]))
            self.add(peer, connection)
        for _ in range(rank + 1, ranks):
            connection, _ = listener.accept()
            self.add(connection.recv(1)[0], connection)
        listener.close()

    def add(self, peer, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, self.TIMESTAMPNS, 1)
        connection.setblocking(False)
        self.sockets[peer] = connection

    def __call__(self, peer, send, receive):
        connection = self.sockets[peer]
        out = [memoryview(self.LENGTH.pack(len(send))), send]
        length = bytearray(self.LENGTH.size)
        into = [memoryview(length), receive]
        there = 0.0
        while any(map(len, out)) or any(map(len, into)):
            moved = False
            if any(map(len, out)):
                with contextlib.suppress(BlockingIOError):
                    count = connection.sendmsg(out)
                    out, moved = advanced(out, count), True
            if any(map(len, into)):
                with contextlib.suppress(BlockingIOError):
                    count, notes, _, _ = connection.recvmsg_into(into, 64)
                    if count == 0:
                        raise ConnectionError(f"rank {peer} has ended")
                    into, moved = advanced(into, count), True
                    there = self.stamp(notes)
                    if not into[0] and self.LENGTH.unpack(length)[0] != len(receive):
                        raise ConnectionError(f"rank {peer} sent {self.LENGTH.unpack(length)[0]} bytes where {len(receive)} were expected")
            if not moved:
                select.select([connection] if any(map(len, into)) else [], [connection] if any(map(len, out)) else [], [], 60)
        sleep_until(there + self.delay)

    def stamp(self, notes):
        for level, kind, data in notes:
            if level == socket.SOL_SOCKET and kind == self.TIMESTAMPNS:
                seconds, nanoseconds = self.STAMP.unpack(data)
                return seconds + 1e-9 * nanoseconds
        return time.time()


def advanced(views, count):
    """What is left of memoryviews of which `count` bytes are done."""
    left = []
    for view in views:
        done = min(count, len(view))
        count -= done
        left.append(view[done:])
    return left


def sleep_until(moment):
    """Of time.time(); the last bit awake, as a sleep is up to a tenth of a millisecond too long."""
    left = moment - time.time()
    if left > 2e-4:
        time.sleep(left - 2e-4)
    while time.time() < moment:
        pass


def connect(address, seconds=60):
    deadline = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection(address, timeout=seconds)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def load_volta(library):
    os.environ["VOLTA_LIBRARIES"] = os.path.dirname(os.path.abspath(library))
    sys.path.insert(0, os.path.join(ROOT, "bindings", "python"))
    import volta

    return volta


def is_statistic(name):
    return name.endswith((".running_mean", ".running_var"))


def network_of(volta, case, context):
    options = dict(case.make)
    if options.pop("kind") == "gpt":
        return volta.Model.gpt(ctx=context, **options)
    return volta.Model.network(options.pop("name"), ctx=context, **options)


def batch_of(case, rows):
    import numpy

    random = numpy.random.default_rng(1)
    if case.make["kind"] == "gpt":
        stream = random.integers(0, case.make["vocabulary"], (rows, case.shape[0] + 1)).astype(numpy.int32)
        return stream[:, :-1].copy(), stream[:, 1:].copy()
    pictures = random.standard_normal((rows, *case.shape), dtype=numpy.float32)
    return pictures, random.integers(0, case.make["classes"], rows).astype(numpy.int32)


def group_of(volta, context, job, tensors, values):
    """The group, and its transport where that is this script's."""
    place = dict(rank=job["rank"], size=job["ranks"], timeout=600)
    if job["transport"] == "none":
        silent = NoTransport(tensors, values, job["ranks"], job["rank"])
        return volta.Group(context, exchange=silent, **place), silent
    if job["transport"] == "delayed":
        sockets = DelayedSockets(job["rank"], job["ranks"], [tuple(address) for address in job["addresses"]])
        return volta.Group(context, exchange=sockets, **place), sockets
    host, port = job["addresses"][0]
    return volta.Group(context, transport="tcp", address=f"{host}:{port}", **place), None


def worker(job):
    """Answers {"rounds": N, "delay": S} with N steps: seconds, and the calls of the transport where that sends nothing."""
    volta = load_volta(job["library"])
    case, rows, ranks = CASES[job["case"]], job["rows"], job["ranks"]
    context = volta.Context(threads=job["threads"])
    network = network_of(volta, case, context)
    names = [one["name"] for one in network.parameters]
    names.sort(key=is_statistic)  # stable
    values = [network[name].reshape(-1) for name in names]
    tensors = model.Tensors([value.size for name, value in zip(names, values) if not is_statistic(name)],
                            [value.size for name, value in zip(names, values) if is_statistic(name)])
    options = dict(learning_rate=1e-4, weight_decay=0.1, optimizer="adamw")
    if case.make["kind"] == "network":
        options = dict(learning_rate=1e-4, momentum=0.9, optimizer="sgd")
    group, transport = group_of(volta, context, job, tensors, values)
    silent = transport if isinstance(transport, NoTransport) else None
    trainer = volta.Trainer(network, [(rows, *case.shape)], shards=ranks, group=group, **options)
    batch = batch_of(case, rows * ranks)
    if silent:
        silent.begin_step()
    trainer.step(*batch)

    def reply(question):
        steps = []
        if isinstance(transport, DelayedSockets):
            transport.delay = question["delay"]
        for _ in range(question["rounds"]):
            if silent:
                silent.begin_step()
            begin = time.perf_counter()
            trainer.step(*batch)
            end = time.perf_counter()
            calls = [(a - begin, b - begin, *rest) for a, b, *rest in silent.calls] if silent else []
            steps.append({"seconds": end - begin, "calls": calls})
        return steps

    turns.answer({"version": volta.__version__, **dataclasses.asdict(tensors)}, reply)


class Ranks:
    """Worker processes, all of which are asked at once. places: the network namespace of each, or None."""

    def __init__(self, jobs, places):
        self.processes = []
        for job, place in zip(jobs, places):
            within = ["ip", "netns", "exec", place] if place else []
            command = within + [sys.executable, os.path.abspath(__file__), "--worker", json.dumps(job)]
            self.processes.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                                   env=turns.environment(job["threads"])))

    def __enter__(self):
        self.hello = [self.read(process) for process in self.processes]
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def read(self, process):
        line = process.stdout.readline()
        if not line:
            sys.exit("scaling.py: a rank has ended; what it said is above")
        return json.loads(line)

    def ask(self, rounds, delay=0.0):
        """The steps of each rank."""
        for process in self.processes:
            process.stdin.write(json.dumps({"rounds": rounds, "delay": delay}) + "\n")
            process.stdin.flush()
        return [self.read(process) for process in self.processes]


# ---- What a rank's step costs ---------------------------------------------------------------------------

def parts_of(step, tensors, ranks, rank):
    """(compute, add, norms, update) in seconds, of one step whose transport sends nothing."""
    portions, norms = tensors.portions(ranks)
    few = model.levels(ranks)
    count_added = sum(len(portions.added(rank, rank ^ d, d)) for d in few)
    count_norms = sum(len(norms.gathered(rank, rank ^ d, d)) for d in few)
    calls = step["calls"]
    gaps = [now[0] - before[1] for before, now in zip([(0, 0)] + calls, calls + [(step["seconds"],)])]
    added = 2 * len(few)  # the first call that sends gradients
    loss = added + count_added
    gathered = loss + len(few)
    parameters = gathered + count_norms
    return gaps[0] + gaps[added], sum(gaps[added + 1:loss + 1]), gaps[gathered], sum(gaps[parameters:])


def check_messages(calls, tensors, ranks, rank):
    """Ends the script where the library asks its transport for other messages than the model has."""
    told = [tuple(call[2:]) for call in calls]
    ours = model.messages(tensors, ranks, rank)
    for at, (theirs, own) in enumerate(itertools.zip_longest(told, ours)):
        if theirs != own:
            sys.exit(f"scaling.py: exchange {at} of rank {rank} of {ranks} is {theirs} in the library, {own} in the model (peer, bytes sent, "
                     f"bytes received); of {len(told)} and {len(ours)}")


def costs_of(steps, tensors, ranks, rank):
    """The median of each part over the steps, per byte where the model has it so."""
    portions, _ = tensors.portions(ranks)
    received = sum(pair[1] for d in model.levels(ranks) for pair in portions.added(rank, rank ^ d, d))
    owned = portions.owned(rank)
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
    return model.Tensors(hello["gradients"], hello["statistics"])


def measured_parts(arguments, name, ranks, which, threads):
    """(tensors, costs without a transport) of the ranks in `which`, side by side."""
    jobs = [job_of(arguments, name, ranks, rank, threads, "none") for rank in which]
    with Ranks(jobs, [None] * len(jobs)) as workers:
        tensors = tensors_of(workers.hello[0])
        answers = workers.ask(arguments.rounds)
    for rank, steps in zip(which, answers):
        check_messages(steps[0]["calls"], tensors, ranks, rank)
    return tensors, mean_costs([costs_of(steps, tensors, ranks, rank) for rank, steps in zip(which, answers)])


# ---- Links that this machine makes ----------------------------------------------------------------------

def system(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"scaling.py: {' '.join(command)}: {done.stderr.strip() or f'status {done.returncode}'}")


def burst_of(bits_per_second):
    """Bytes that tbf lets through at once behind a rest."""
    return max(LEAST_BURST, int(bits_per_second / 8 * BURST_SECONDS))


class Network:
    """A network namespace for each rank, and a switch between them."""

    def __init__(self, ranks):
        self.names = [f"volta{os.getpid()}-{rank}" for rank in range(ranks)]
        self.switch = f"volta{os.getpid()}-switch"

    def __enter__(self):
        for name in [self.switch] + self.names:
            system("ip", "netns", "add", name)
        self.within(self.switch, "ip", "link", "add", "switch", "type", "bridge")
        self.within(self.switch, "ip", "link", "set", "switch", "up")
        for rank, name in enumerate(self.names):
            system("ip", "link", "add", "link0", "netns", name, "type", "veth", "peer", "name", f"port{rank}", "netns", self.switch)
            self.within(self.switch, "ip", "link", "set", f"port{rank}", "master", "switch", "up")
            self.within(name, "ip", "addr", "add", f"10.97.0.{rank + 1}/24", "dev", "link0")
            self.within(name, "ip", "link", "set", "link0", "up")
            self.within(name, "ip", "link", "set", "lo", "up")
            self.within(name, "ip", "route", "change", "10.97.0.0/24", "dev", "link0", "proto", "kernel", "scope", "link", "congctl", "cubic")
        return self

    def __exit__(self, *_):
        for name in [self.switch] + self.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    @staticmethod
    def within(name, *command):
        system("ip", "netns", "exec", name, *command)

    def addresses(self, port):
        return [(f"10.97.0.{rank + 1}", port) for rank in range(len(self.names))]

    def shape(self, bits_per_second):
        """None: no limit."""
        for name in self.names:
            subprocess.run(["ip", "netns", "exec", name, "tc", "qdisc", "del", "dev", "link0", "root"], capture_output=True, check=False)
            if bits_per_second is not None:
                self.within(name, "tc", "qdisc", "add", "dev", "link0", "root", "tbf", "rate", f"{bits_per_second:.0f}bit", "burst",
                            str(burst_of(bits_per_second)), "limit", str(8 << 20))


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
        return model.transport_cost(self.tensors, self.ranks, own, NO_LIMIT, statistics.median(self.times[None]))


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
                times, predicted = turns_of.times[title], model.step(turns_of.tensors, arguments.ranks, costs, link)
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


def prediction_rows(name, title, tensors, costs, many=(8, 64)):
    alone = model.step(tensors, 1, costs, model.Link(0.0, 1e15))
    rows = [dict(kind="prediction", case=name, title=title, ranks=1, link="-", step_s=alone.seconds, compute=1.0, exchange=0.0, wait=0.0,
                 efficiency=1.0)]
    for link, (bits, delay) in LINKS.items():
        for ranks in many:
            step = model.step(tensors, ranks, costs, model.Link(delay, model.payload_rate(bits)))
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
        tensors, parts = measured_parts(arguments, name, 8, [0], cores)
        costs = dataclasses.replace(parts, send=transport.send, receive=transport.receive)
        title = CASES[name].title.format(rows=arguments.rows or CASES[name].rows)
        tell(arguments, dict(kind="costs", case=name, transport="tcp", parameters=sum(tensors.gradients), **dataclasses.asdict(costs)),
             f"\n{title}: {sum(tensors.gradients) / 1e6:.1f} M parameters; {parts_text(costs)}")
        made = prediction_rows(name, title, tensors, costs)
        tell_predictions(arguments, made)
        rows += made
    return rows


def check(arguments):
    """Fixed numbers: what the model makes of them is what tests/bench/test_scaling.py expects."""
    costs = model.Costs(compute=1.0, add=0.25e-9, norms=0.1e-9, update=1e-9, send=0.25e-9, receive=0.25e-9)
    for name, title, elements in (("even", "64 tensors of 1 Mi elements", [1 << 20] * 64),
                                  ("uneven", "one tensor of 32 Mi elements, 32 of 1 Mi", [32 << 20] + [1 << 20] * 32)):
        tell_predictions(arguments, prediction_rows(name, title, model.Tensors(elements), costs, (2, 8, 64)))


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
    parser.add_argument("--worker", type=json.loads, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.worker:
        return worker(arguments.worker)
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
