"""One rank of bench/scaling.py, in a process of its own: it trains, over TCP, over a link with a delay, or over nothing.

    bench/scaling_rank.py JOB    a JSON object; asked as bench/turns.py says
"""

import contextlib
import dataclasses
import json
import os
import select
import socket
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, HERE)

import scaling_model as model  # noqa: E402
import turns  # noqa: E402


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


# ---- Transports -----------------------------------------------------------------------------------------

class NoTransport:
    """Sends nothing: what it is asked for is written down, with the time between two calls. What comes are zeros to add, numbers that all
    ranks have as this one has them, and parameters as they were in the beginning: of others, processors could take a multiple of the time
    where next to nothing is left of gradients."""

    def __init__(self, tensors, values, ranks, rank):
        """values: of each of the tensors."""
        self.calls, self.has_joined = [], False
        _, _, parameters = tensors.portions(ranks)
        numbers, meeting, sums, loss, norms, _ = map(len, model.messages(tensors, ranks, rank))
        self.added = range(numbers + meeting, numbers + meeting + sums)
        at = self.added.stop + loss + norms
        self.parameters = {}  # number of the call: its bytes; none where a slice is received in its place
        for d in reversed(model.levels(ranks)):
            for number, bucket in enumerate(model.slices(parameters.chosen(2 * d - 1, rank ^ d))):
                if len(bucket) > 1:
                    self.parameters[at + number] = b"".join(values[tensor][first:first + count].tobytes() for tensor, first, count in bucket)
            at += len(parameters.gathered(rank, rank ^ d, d))

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


# ---- Training --------------------------------------------------------------------------------------------

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
    made = []
    if job["transport"] == "none":
        alone = volta.Trainer(network, [(rows, *case.shape)], shards=2, **options)
        made = made_in_pass(context, alone, batch_of(case, rows * 2), names)
        tensors = dataclasses.replace(tensors, order=sorted(range(len(made)), key=lambda i: (made[i], i)))
        alone.close()
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

    turns.answer({"version": volta.__version__, "made": made, **dataclasses.asdict(tensors)}, reply)


def made_in_pass(context, trainer, batch, names):
    """For each of the tensors, behind which part of the forward and backward pass of a shard its gradient has been written, by the profiler;
    running statistics, after which no step is named, are written in the forward pass and count as there from the beginning. A step that
    writes two gradients is named after the first."""
    trainer.step(*batch)
    with context.profile() as profile:
        trainer.step(*batch)
    events = profile.events
    forward_and_backward = max((event for event in events if event["name"] == "each"), key=lambda event: event["end_ns"] - event["begin_ns"])
    begin = forward_and_backward["begin_ns"]
    end = min(event["end_ns"] for event in events if event["name"] == "reduce" and event["begin_ns"] > begin)
    last = {}
    for event in events:
        kind, _, name = event["node"].partition("/")
        if name and kind in ("gradient", "statistic") and begin <= event["begin_ns"] < end:
            last[name] = (event["end_ns"] - begin) / (end - begin)
    made = []
    for name in names:
        made.append(last[name] if name in last else 0.0 if is_statistic(name) else made[-1])
    return made


if __name__ == "__main__":
    worker(json.loads(sys.argv[1]))
