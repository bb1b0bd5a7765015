#!/usr/bin/env python3
"""Ranks of voltac launch are killed at moments drawn at random, and each run begins again by itself: it ends with the parameters of a run in
which nobody was killed.

    kills.py VOLTAC [--kills N] [--seed N] [--seconds N]

Runs have 2, 4 or 8 ranks, by local and by tcp, a checkpoint every few steps, in one file or a part for each rank, and one to four kills each. --seconds ends the campaign before
its kills are done; the seed that the last line names goes on with the rest, since each run has a seed of its own, one above that of the run
before.
"""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import time

from voltac_runs import GPT, LONGEST, Failed, Workshop

STEPS, SAVE_EVERY = 100, 5
HELD = 0.2  # seconds
OUT = "run"


def ranks_of(launch):
    """(number, process) of each rank that lives, in the order in which they were started."""
    try:
        with open(f"/proc/{launch.pid}/task/{launch.pid}/children", encoding="ascii") as file:
            children = [int(word) for word in file.read().split()]
    except OSError:
        return []
    found = []
    for child in children:
        try:
            with open(f"/proc/{child}/environ", "rb") as file:  # empty of one that has ended, or is not the program yet
                rank = re.search(rb"(?:^|\0)VOLTA_RANK=(\d+)\0", file.read())
        except OSError:
            continue
        if rank:
            found.append((int(rank.group(1)), child))
    return found


def kill_some(launch, moments, rng):
    """The ranks that were killed, at those seconds after the one before or after the start. Sometimes voltac launch is held, and finds more
    than that one ended when it goes on."""
    killed = []
    for seconds in moments:
        time.sleep(seconds)
        held = HELD if rng.random() < 0.2 else 0
        ranks = ranks_of(launch)
        if not ranks:
            continue
        rank, process = rng.choice(ranks)
        if held:
            launch.send_signal(signal.SIGSTOP)
        try:
            os.kill(process, signal.SIGKILL)
            killed.append(rank)
        except ProcessLookupError:  # it has ended by itself
            pass
        time.sleep(held)
        launch.send_signal(signal.SIGCONT)
    return killed


def check(workshop, status, killed, expected):
    said = workshop.said("launched")
    named = [int(rank) for rank in re.findall(r"^voltac: rank (\d+) of \d+ (?:was )?ended", said, re.MULTILINE)]
    if status != 0 or workshop.hash_of(OUT) != expected:
        raise Failed(f"exit status {status}, {workshop.hash_of(OUT)}, expected {expected}; killed were {killed}:\n{said}")
    if set(named) - set(killed) or len(named) > len(killed):
        raise Failed(f"killed were {killed}, named {named}:\n{said}")


def run(workshop, seed, seconds, expected):
    """How many were killed."""
    rng = random.Random(seed)
    transport, ranks = rng.choice(["local", "tcp"]), rng.choice([2, 2, 4, 4, 8])
    workshop.remove(OUT)
    command = [workshop.voltac, "launch", "-n", str(ranks), "--transport", transport, "--restarts", "9", "--",
               *GPT.train(OUT, STEPS), "--save-every", str(SAVE_EVERY), "--threads", "1", *rng.choice([[], ["--sharded"]])]
    launch = workshop.start(command, "launched")
    moments = [rng.random() * seconds for _ in range(rng.randint(1, 4))]
    killed = kill_some(launch, moments, rng)
    try:
        status = launch.wait(LONGEST)
    except subprocess.TimeoutExpired:
        launch.terminate()
        launch.wait()
        raise Failed(f"no end within {LONGEST} s; killed were {killed}:\n{workshop.said('launched')}") from None
    check(workshop, status, killed, expected)
    return len(killed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("voltac")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9)
    given = parser.parse_args()
    begin = time.monotonic()
    with Workshop(given.voltac) as workshop:
        workshop.call([workshop.voltac, *GPT.train("reference.volta", STEPS), "--threads", "1"])
        expected = workshop.hash_of("reference.volta")
        before = time.monotonic()
        workshop.call([workshop.voltac, "launch", "-n", "4", "--", *GPT.train(OUT, STEPS), "--save-every", str(SAVE_EVERY), "--threads", "1"])
        seconds = time.monotonic() - before
        kills, runs, seed, failed = 0, 0, given.seed, 0
        while kills < given.kills and time.monotonic() - begin < given.seconds:
            try:
                kills += run(workshop, seed, seconds, expected)
            except Failed as failure:
                failed += 1
                print(f"FAILED: seed {seed}: {failure}", flush=True)
            runs, seed = runs + 1, seed + 1
            if runs % 50 == 0:
                print(f"{kills} kills, the next seed is {seed}", flush=True)
    print(f"{kills} kills in {runs} runs from seed {given.seed}, {failed} wrong, {expected}, {time.monotonic() - begin:.0f} s; the next seed is {seed}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
