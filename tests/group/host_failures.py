#!/usr/bin/env python3
"""What becomes of a run whose hosts fail, at moments drawn at random: each rank is a voltac train on a host of its own (network.py).

    host_failures.py VOLTAC [--rounds N] [--seed N] [--only WORDS]

Whatever happens, every rank ends by a sentence that names the one at fault, within the timeout and what a busy machine needs; the checkpoint
is whole; and once the fault is mended, a run that goes on from it ends with the parameters of a run in which nothing failed.
"""

import argparse
import os
import random
import re
import shutil
import signal
import sys
import time
from typing import Callable, NamedTuple

from network import Network, Proxy, SmallDisk, enter_or_skip
from voltac_runs import GPT, LONGEST, SKIPPED, Failed, Workshop

COUNTS = 2, 4  # ranks, each on a host
TIMEOUT = 3  # seconds that ranks wait for one that does not answer: VOLTA_TIMEOUT
SLACK = 7  # what processes take to see that, to say it and to end, where many others run
OUTAGE = TIMEOUT / 3  # that costs nothing: TCP tries again after 1.4 s, and then after 3 s
STEPS, SAVE_EVERY = 300, 10
FLIPS = 4  # of bits, each in a run of its own
FIRST_PORT = 29500


class Rank:
    def __init__(self, number, process, said):
        self.number, self.process, self.said = number, process, said

    def status(self):
        """None: it has not ended."""
        return self.process.poll()

    def last_line(self):
        lines = self.said().strip().splitlines()
        return lines[-1] if lines else ""


def collect(ranks, seconds):
    """Waits until all have ended, at most so many seconds altogether."""
    end = time.monotonic() + seconds
    while any(rank.status() is None for rank in ranks) and time.monotonic() < end:
        time.sleep(0.01)


def end(ranks):
    for rank in ranks:
        if rank.status() is None:
            rank.process.kill()
        rank.process.wait()


class Cluster:
    """Runs over the hosts of a network, each on the first ones."""

    def __init__(self, workshop, network):
        self.workshop, self.network, self.port = workshop, network, FIRST_PORT

    def start(self, count, out, programs=(), options=(), addresses=(), save_every=SAVE_EVERY, common=()):
        """Ranks that go on from `out`, where it is there. By rank, where they differ: the program, further options, where rank 0 is.
        common: further options of all."""
        self.port += 1
        own = f"{self.network.address(0)}:{self.port}"
        saves = ["--save-every", str(save_every), *common]
        return [self._start_one(rank, count, out, dict(programs).get(rank, [self.workshop.voltac]), saves + dict(options).get(rank, []),
                                dict(addresses).get(rank, own)) for rank in range(count)]

    def _start_one(self, rank, count, out, program, options, address):
        resumed = ["--resume", out] if os.path.exists(self.workshop.path(out)) else []
        command = [*program, *GPT.train(out, STEPS), "--threads", "1", *resumed, *options]
        process = self.workshop.start([*self.network.on(rank), *command], f"said-{rank}", VOLTA_RANK=str(rank), VOLTA_RANKS=str(count),
                                      VOLTA_TRANSPORT="tcp", VOLTA_ADDRESS=address, VOLTA_TIMEOUT=str(TIMEOUT))
        return Rank(rank, process, lambda: self.workshop.said(f"said-{rank}"))


class Fault(NamedTuple):
    name: str
    harm: Callable  # of (network, the rank)
    release: Callable = lambda network, rank: None  # when the others have ended, so that it too can
    mend: Callable = lambda network, rank: None  # when all have ended
    is_told: bool = True  # the rank itself lives to say how it ended


def cut(how):
    return Fault(how, lambda network, rank: network.cut(rank.number, how), mend=lambda network, rank: network.mend(rank.number, how))


FAULTS = [
    Fault("it is killed", lambda _, rank: rank.process.kill(), is_told=False),
    Fault("it is stopped", lambda _, rank: rank.process.send_signal(signal.SIGSTOP), lambda _, rank: rank.process.send_signal(signal.SIGCONT)),
    *map(cut, Network.CUTS),
]


class Trial:
    """The runs of one case: what they are to give, how long one takes, and where random numbers come from."""

    def __init__(self, cluster, expected, seconds, rng):
        self.cluster, self.workshop, self.network = cluster, cluster.workshop, cluster.network
        self.expected, self.seconds, self.rng = expected, seconds, rng

    def moment(self, count):
        """Some time in a run of so many ranks, but for how long the last of them take to end."""
        time.sleep(self.rng.random() * 0.8 * self.seconds[count])

    def is_complete(self, out):
        return os.path.exists(self.workshop.path(out)) and self.workshop.hash_of(out) == self.expected

    def form(self):
        """Of checkpoints: options for one file, or for a part of each rank."""
        return self.rng.choice([(), ("--sharded",)])

    def goes_on(self, count, out, form=()):
        """From the checkpoint, if there is one, which must be whole; to the parameters that are expected."""
        if os.path.exists(self.workshop.path(out)):
            self.workshop.hash_of(out)
        ranks = self.cluster.start(count, out, common=form)
        collect(ranks, LONGEST)
        statuses = [rank.status() for rank in ranks]
        end(ranks)
        if any(status != 0 for status in statuses):
            raise Failed(f"the run that goes on ended with {statuses}:\n" + "".join(rank.said() for rank in ranks))
        if not self.is_complete(out):
            raise Failed(f"the run that goes on gives {self.workshop.hash_of(out)}, expected {self.expected}")

    def check_others(self, ranks, victim, out):
        """They have ended, and name it; or had all they wanted of it, and the run is complete."""
        for rank in ranks:
            if rank is victim:
                continue
            if rank.status() is None:
                raise Failed(f"rank {rank.number} has not ended within {TIMEOUT + SLACK} s: {rank.said()}")
            if rank.status() == 0 and not self.is_complete(out):
                raise Failed(f"rank {rank.number} ends as if all was well, with half a run: {rank.said()}")
            if rank.status() != 0 and not re.search(rf"\brank {victim.number}\b", rank.last_line()):
                raise Failed(f"rank {rank.number} does not name rank {victim.number}: {rank.said()}")

    def check_itself(self, victim, out):
        """Whoever is cut off, or comes back too late, cannot know who is at fault."""
        collect([victim], TIMEOUT + SLACK)
        if victim.status() is None:
            raise Failed(f"rank {victim.number} itself has not ended within {TIMEOUT + SLACK} s: {victim.said()}")
        if not re.search(r"\brank \d", victim.last_line()) and not self.is_complete(out):
            raise Failed(f"rank {victim.number} itself names nobody: {victim.said()}")

    def undergo(self, fault, count):
        for _ in range(10):
            told = self.undergo_once(fault, count)
            if told:
                return told
        raise Failed("each of 10 runs was over before")

    def undergo_once(self, fault, count):
        """What to tell of it; None: the run was over before."""
        out, victim, form = "run.volta", self.rng.randrange(count), self.form()
        ranks = self.cluster.start(count, out, common=form)
        self.moment(count)
        if any(rank.status() is not None for rank in ranks):
            end(ranks)
            self.workshop.remove(out)
            return None
        begin = time.monotonic()
        fault.harm(self.network, ranks[victim])
        try:
            collect([rank for rank in ranks if rank.number != victim], TIMEOUT + SLACK)
            took = time.monotonic() - begin
            self.check_others(ranks, ranks[victim], out)
            fault.release(self.network, ranks[victim])
            if fault.is_told:
                self.check_itself(ranks[victim], out)
        finally:
            end(ranks)
            fault.mend(self.network, ranks[victim])
        self.goes_on(count, out, form)
        return f"rank {victim} of {count}, {took:.1f} s" + ", in parts" * bool(form)


# ---- Cases of their own


def await_file(path, process):
    """As long as the process lives."""
    while not os.path.exists(path) and process.poll() is None:
        time.sleep(0.002)


def require_complete(trial, ranks, out, how):
    """All end by themselves, as if the link had never been cut."""
    collect(ranks, LONGEST)
    statuses = [rank.status() for rank in ranks]
    end(ranks)
    if any(status != 0 for status in statuses) or not trial.is_complete(out):
        raise Failed(f"{how} for {OUTAGE} s: {statuses}:\n" + "".join(rank.said() for rank in ranks))


def lasts_less_than_the_timeout(trial, count):
    """A link that is cut for a while costs nothing but that while."""
    out, victim, how = "run.volta", trial.rng.randrange(count), trial.rng.choice(list(Network.CUTS))
    ranks = trial.cluster.start(count, out)
    trial.moment(count)
    trial.network.cut(victim, how)
    time.sleep(OUTAGE)
    trial.network.mend(victim, how)
    require_complete(trial, ranks, out, how)
    return f"rank {victim} of {count}: {how}"


def ends_behind_a_cut_link(trial, count):
    """Rank 0 is held where it has saved, and has all it wants when its link is cut: that it has finished reaches the others later."""
    out, how = "run.volta", trial.rng.choice(list(Network.CUTS))
    ranks = trial.cluster.start(count, out, save_every=STEPS)
    await_file(trial.workshop.path(out), ranks[0].process)
    ranks[0].process.send_signal(signal.SIGSTOP)
    trial.network.cut(0, how)
    ranks[0].process.send_signal(signal.SIGCONT)
    time.sleep(OUTAGE)
    trial.network.mend(0, how)
    require_complete(trial, ranks, out, how)
    return f"{count} ranks, {how}"


def full_disk_of_checkpoints(trial, count):
    """Rank 0 cannot write: all end, the old file stays, whole and alone. So do they where the only file is that of the end."""
    with SmallDisk(trial.workshop.path(f"disk-{trial.rng.random()}"), 2 << 20) as disk:
        out = os.path.join(os.path.basename(disk.folder), "run.volta")
        for save_every in SAVE_EVERY, STEPS:
            ranks = trial.cluster.start(count, out, save_every=save_every)
            if save_every == SAVE_EVERY:
                await_file(trial.workshop.path(out), ranks[0].process)
            had_file = os.path.exists(trial.workshop.path(out))
            disk.fill()
            collect(ranks, LONGEST)
            try:
                trial.check_others(ranks, ranks[0], out)
                if ranks[0].status() != 1 or "No space left" not in ranks[0].last_line():
                    raise Failed(f"rank 0 does not say that the disk is full: {ranks[0].status()}, {ranks[0].said()}")
            finally:
                end(ranks)
            if sorted(os.listdir(disk.folder)) != ["ballast"] + ["run.volta"] * had_file:
                raise Failed(f"left on the full disk: {os.listdir(disk.folder)}")
            disk.empty()
            trial.goes_on(count, out)
            os.remove(trial.workshop.path(out))
    return f"{count} ranks"


def full_disk_of_a_part(trial, count):
    """One rank writes its part to a disk of its own, which is full: all name it, and the parts that were there stay."""
    workshop, out, form, victim = trial.workshop, "run.volta", ("--sharded",), trial.rng.randrange(count)
    ranks = trial.cluster.start(count, out, common=(*form, "--stop-at", str(SAVE_EVERY)))
    collect(ranks, LONGEST)
    end(ranks)
    before = workshop.hash_of(out)
    with SmallDisk(workshop.path(f"disk-{trial.rng.random()}"), 4 << 20) as disk:
        shutil.copytree(workshop.path(out), disk.folder, dirs_exist_ok=True)
        disk.fill()
        alone = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', disk.folder, out, workshop.voltac]
        ranks = trial.cluster.start(count, out, programs={victim: alone}, common=form)
        collect(ranks, LONGEST)
        try:
            trial.check_others(ranks, ranks[victim], out)
            if ranks[victim].status() != 1 or "No space left" not in ranks[victim].last_line():
                raise Failed(f"rank {victim} does not say that its disk is full: {ranks[victim].status()}, {ranks[victim].said()}")
        finally:
            end(ranks)
    if workshop.hash_of(out) != before:
        raise Failed(f"the checkpoint has changed: {workshop.hash_of(out)}")
    trial.goes_on(count, out, form)
    return f"rank {victim} of {count}"


def full_disk_of_logs(trial, count):
    """What a rank has to say is lost, and no more than that: voltac launch itself tells who was killed, and begins again."""
    workshop, out = trial.workshop, "run.volta"
    with SmallDisk(workshop.path(f"logs-{trial.rng.random()}"), 1 << 16) as disk:
        disk.fill()
        launch = workshop.start([workshop.voltac, "launch", "-n", str(count), "--transport", "tcp", "--restarts", "1", "--logs", disk.folder,
                                 "--", *GPT.train(out, STEPS), "--save-every", str(SAVE_EVERY)], "launched")
        await_file(workshop.path(out), launch)
        with open(f"/proc/{launch.pid}/task/{launch.pid}/children", encoding="ascii") as file:
            os.kill(int(file.read().split()[0]), signal.SIGKILL)  # rank 0: the others have something to say
        status = launch.wait(LONGEST)
    if status != 0 or not trial.is_complete(out):
        raise Failed(f"exit status {status}: {workshop.said('launched')}")
    if "rank 0 of" not in workshop.said("launched"):
        raise Failed(f"nobody names rank 0: {workshop.said('launched')}")
    return f"{count} ranks"


def other_build(workshop):
    """A voltac that says, and compares, another version."""
    with open(workshop.voltac, "rb") as file:
        program = file.read()
    version = re.search(r"\d+\.\d+\.\d+", workshop.call([workshop.voltac, "version"])).group(0).encode()
    other = version[:-1] + (b"9" if version[-1:] != b"9" else b"8")
    path = workshop.path("other-voltac")
    with open(path, "wb") as file:
        file.write(program.replace(version + b"\0", other + b"\0"))
    os.chmod(path, 0o755)
    if other.decode() not in workshop.call([path, "version"]):
        raise Failed("the version cannot be found in the program")
    return path


def ranks_that_differ(trial, count):
    """Before the first step: another build, level, option or model on one rank."""
    victim = trial.rng.randrange(1, count)
    for what, build, options in (("another version of the library", other_build(trial.workshop), []),
                                 ("another level of determinism", None, ["--level", "repeatable"]),
                                 ("other options of the trainer", None, ["--seed", "7"]), ("another model", None, ["--heads", "4"])):
        ranks = trial.cluster.start(count, "run.volta", {victim: [build]} if build else {}, {victim: options})
        collect(ranks, TIMEOUT + SLACK)
        statuses, words = [rank.status() for rank in ranks], f"rank {victim} has {what} than rank 0"
        end(ranks)
        if any(status in (None, 0) for status in statuses) or not all(words in rank.last_line() for rank in ranks):
            raise Failed(f"{statuses}, {words}:\n" + "".join(rank.said() for rank in ranks))
        if os.path.exists(trial.workshop.path("run.volta")):
            raise Failed(f"{what}: a checkpoint was written")
    trial.goes_on(count, "run.volta")
    return f"rank {victim} of {count}"


def run_by_proxy(trial, count, out, flip, seconds):
    """Ranks of which the last, with which no other connects, finds rank 0 by way of a proxy. (the proxy, the ranks, what all said)"""
    trial.cluster.port += 1
    address = Network.OWN, trial.cluster.port
    proxy = Proxy(address, (trial.network.address(0), trial.cluster.port + 1), flip)
    ranks = trial.cluster.start(count, out, addresses={count - 1: "%s:%d" % address})
    collect(ranks, seconds)
    proxy.close()
    statuses = [rank.status() for rank in ranks]
    end(ranks)
    return proxy, ranks, f"{flip}, {statuses}:\n" + "".join(rank.said() for rank in ranks)


def flipped_bit(trial, count):
    """Somewhere in what two ranks send each other: it is found, or was of no matter."""
    out, found = "run.volta", 0
    proxy, ranks, told = run_by_proxy(trial, count, out, None, LONGEST)
    if any(rank.status() for rank in ranks) or not trial.is_complete(out):
        raise Failed("a proxy that flips nothing: " + told)
    counts = proxy.counts
    for _ in range(FLIPS):
        os.remove(trial.workshop.path(out))
        (connection, way), size = trial.rng.choice(sorted(counts.items()))
        flip = connection, way, trial.rng.randrange(size), trial.rng.randrange(8)
        proxy, ranks, told = run_by_proxy(trial, count, out, flip, 4 * trial.seconds[count] + TIMEOUT + SLACK)
        if not proxy.has_flipped:
            raise Failed("no bit was flipped: " + told)
        for rank in ranks:
            ends_well = rank.status() == 0 and trial.is_complete(out)
            if not ends_well and (rank.status() != 1 or not re.search(r"\brank \d", rank.last_line())):
                raise Failed(f"rank {rank.number}: {told}")
        found += any("damaged" in rank.last_line() for rank in ranks)
        trial.goes_on(count, out)
    return f"{count} ranks, {found} of {FLIPS} named as damage"


CASES = [lasts_less_than_the_timeout, ends_behind_a_cut_link, full_disk_of_checkpoints, full_disk_of_a_part, full_disk_of_logs, ranks_that_differ, flipped_bit]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("voltac")
    parser.add_argument("--rounds", type=int, default=1, help="each fault so often, by turns with 2 and 4 ranks")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="faults whose name has these words")
    return parser.parse_args()


def duration(cluster, expected, count):
    begin = time.monotonic()
    Trial(cluster, expected, {}, None).goes_on(count, f"{count}.volta")
    return time.monotonic() - begin


def main():
    given = arguments()
    failed = done = 0
    with Workshop(given.voltac) as workshop:
        cluster = Cluster(workshop, Network(max(COUNTS)))
        workshop.call([workshop.voltac, *GPT.train("reference.volta", STEPS), "--threads", "1"])
        expected = workshop.hash_of("reference.volta")
        seconds = {count: duration(cluster, expected, count) for count in COUNTS}
        print(f"seed {given.seed}; runs take {seconds[2]:.1f} and {seconds[4]:.1f} s and give {expected}", flush=True)
        cases = [(fault.name, lambda trial, count, fault=fault: trial.undergo(fault, count)) for fault in FAULTS]
        cases += [(case.__name__.replace("_", " "), case) for case in CASES]
        for turn in range(given.rounds):
            for i, (name, case) in enumerate(cases):
                if given.only not in name:
                    continue
                workshop.remove("run.volta")
                rng = random.Random(f"{given.seed} {turn} {name}")
                try:
                    told = case(Trial(cluster, expected, seconds, rng), COUNTS[(turn + i) % 2])
                    done += 1
                    print(f"{name}: {told}", flush=True)
                except Failed as failure:
                    failed += 1
                    print(f"FAILED: round {turn}, {name}: {failure}", flush=True)
    print(f"{done} faults as expected, {failed} not")
    return failed != 0


if __name__ == "__main__":
    enter_or_skip(SKIPPED)
    sys.exit(main())
