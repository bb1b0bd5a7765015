#!/usr/bin/env python3
"""One result, whoever computes it: a small GPT and a small ResNet are trained by real processes of voltac, and each ends with one file.

    one_result.py VOLTAC [--whole]

Axes: ranks; what starts them and carries their bytes (voltac launch, or the mpirun of each MPI that is here); threads; instruction sets,
also another one on each rank; budgets of activations; the run in one go, or begun by another number of ranks. Every two values of two axes
meet in some way, with --whole every three of three: the ways are the same on every machine that has the same MPIs and instruction sets.
VOLTA_TEST_MPI5: a virtual environment with PyPI's mpich, 5.0 or later.
"""

import heapq
import itertools
import math
import os
import shutil
import sys
import time

from voltac_runs import GPT, RESNET, SHARDS, Failed, Workshop, instruction_sets

MIXED = "mixed"  # ranks have one after the other, rank 0 the last
RANKS = [1, 2, 4, 8]


# ---- Which ways are tried


def covering(axes, strength):
    """Rows of values, one of each axis, in which every `strength` values of different axes meet: greedily, each row is the first of those
    in which most meet that have not met before."""

    def meetings(row):
        return [tuple((axis, row[axis]) for axis in axes_met) for axes_met in itertools.combinations(range(len(axes)), strength)]

    rows = list(itertools.product(*axes))
    missing = {meeting for row in rows for meeting in meetings(row)}
    gains = [(-math.comb(len(axes), strength), i) for i in range(len(rows))]  # upper bounds: a gain never grows
    chosen = []
    while missing:
        _, i = heapq.heappop(gains)
        gain = (-sum(meeting in missing for meeting in meetings(rows[i])), i)
        if gains and gain > gains[0]:
            heapq.heappush(gains, gain)
            continue
        chosen.append(rows[i])
        missing.difference_update(meetings(rows[i]))
    return chosen


# ---- What starts ranks


class Local:
    """voltac launch. It gives all ranks the same call, so ranks that differ are started one by one, as on several machines."""

    def __init__(self, transport):
        self.name = transport

    def run(self, workshop, calls):
        if len(set(map(tuple, calls))) == 1:
            workshop.call([workshop.voltac, "launch", "-n", str(len(calls)), "--transport", self.name, "--", *calls[0]])
            return
        address = workshop.path("meeting") if self.name == "local" else f"127.0.0.1:{20000 + os.getpid() % 10000}"
        ranks = [workshop.start([workshop.voltac, *call], f"said-{rank}", VOLTA_RANK=str(rank), VOLTA_RANKS=str(len(calls)),
                                VOLTA_TRANSPORT=self.name, VOLTA_ADDRESS=address) for rank, call in enumerate(calls)]
        statuses = [rank.wait() for rank in ranks]  # one that waits in vain ends by itself
        if any(statuses):
            raise Failed(f"exit statuses {statuses}\n" + "".join(workshop.said(f"said-{rank}") for rank in range(len(calls))))

    def refused(self, workshop, call):
        return workshop.call([workshop.voltac, "launch", "-n", "3", "--transport", self.name, "--", *call], status=None)


class Mpi:
    """mpirun, which takes several calls, each with its number of ranks, between colons."""

    def __init__(self, name, starter, **variables):
        self.name, self.starter, self.variables = name, starter.split(), variables

    def is_here(self):
        return shutil.which(self.starter[0]) is not None

    def command(self, workshop, calls):
        command = list(self.starter)
        for call, same in itertools.groupby(calls):
            command += [":"] * (len(command) > len(self.starter)) + ["-n", str(len(list(same))), workshop.voltac, *call]
        return command

    def run(self, workshop, calls):
        workshop.call(self.command(workshop, calls), **self.variables)

    def refused(self, workshop, call):
        return workshop.call(self.command(workshop, [call] * 3), status=None, **self.variables)


def transports():
    mpi5 = os.environ.get("VOLTA_TEST_MPI5", "/nowhere")
    known = [Mpi("openmpi", "mpirun.openmpi --quiet --allow-run-as-root --oversubscribe"), Mpi("mpich", "mpirun.mpich"),
             Mpi("mpi5", mpi5 + "/bin/mpiexec", VOLTA_ADDRESS=mpi5 + "/lib/libmpi_abi.so.1")]
    for one in known:
        if not one.is_here():
            print(f"left out: {one.name}, whose {one.starter[0]} is not here")
    return [Local("local"), Local("tcp")] + [one for one in known if one.is_here()]


# ---- A way


def calls_of(subject, out, ranks, threads, isa, budget, more=()):
    sets = instruction_sets()[::-1]
    return [[*subject.train(out), "--threads", str(threads), "--isa", sets[rank % len(sets)] if isa == MIXED else isa,
             *(["--activation-memory", str(budget)] if budget else []), *more] for rank in range(ranks)]


def train(workshop, subject, budgets, way, out):
    _, transport, ranks, threads, isa, budget, begun_by = way
    how = (threads, isa, budgets[budget])
    if begun_by:
        transport.run(workshop, calls_of(subject, out, begun_by, *how, ["--stop-at", str(subject.half)]))
    transport.run(workshop, calls_of(subject, out, ranks, *how, ["--resume", out] if begun_by else []))


def told(way):
    subject, transport, ranks, threads, isa, budget, begun_by = way
    begun = f", begun by {begun_by}" if begun_by else ""
    return f"{subject.name}: {ranks} ranks, {transport.name}, {threads} threads, {isa}, {budget} activations{begun}"


def content(path):
    with open(path, "rb") as file:
        return file.read()


def is_same(workshop, subject, budgets, way, expected):
    """Of the file, and of the hash, which is what a difference is told by."""
    out = workshop.path("way.volta")
    if os.path.exists(out):
        os.remove(out)
    try:
        train(workshop, subject, budgets, way, "way.volta")
        found = workshop.hash_of("way.volta")
    except Failed as failure:
        print(f"FAILED: {told(way)}: {failure}")
        return False
    if found == expected[0] and content(out) == expected[1]:
        return True
    print(f"FAILED: {told(way)}: {found}, " + ("in another file" if found == expected[0] else f"expected {expected[0]}"))
    return False


def three_ranks_are_refused(workshop, transport):
    text = transport.refused(workshop, GPT.train("refused.volta"))
    is_refused = "is 3, it must be a power of two" in text and not os.path.exists(workshop.path("refused.volta"))
    if not is_refused:
        print(f"FAILED: three ranks, {transport.name}: {text}")
    return is_refused


def main():
    whole = sys.argv[2:] == ["--whole"]
    begin, failed = time.monotonic(), 0
    with Workshop(sys.argv[1]) as workshop:
        carriers, subjects = transports(), [GPT, RESNET]
        isas = instruction_sets() + [MIXED]
        ways = covering([subjects, carriers, RANKS, [1, 2], isas, ["all", "some", "least"], [0, *RANKS]], 3 if whole else 2)
        for subject in subjects:
            reference = f"reference-{subject.name}.volta"
            workshop.call([workshop.voltac, *subject.train(reference), "--threads", "1"])
            expected = workshop.hash_of(reference), content(workshop.path(reference))
            least = workshop.least_activations(subject)
            budgets = {"all": 0, "some": least * 3 // 2, "least": least}
            own = [way for way in ways if way[0] is subject]
            failed += sum(not is_same(workshop, subject, budgets, way, expected) for way in own)
            print(f"{subject.name}: {len(own)} ways, {expected[0]}", flush=True)
        failed += sum(not three_ranks_are_refused(workshop, transport) for transport in carriers)
    print(f"{len(ways)} ways in {time.monotonic() - begin:.0f} s, {failed} failed; {SHARDS} shards, "
          f"by {', '.join(transport.name for transport in carriers)}, with {', '.join(isas)}")
    return failed != 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        print(f"FAILED: {failure}")
        sys.exit(1)
