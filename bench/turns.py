"""How two programs are timed beside each other: each in a process of its own, taking turns, one idle while the other runs.

A change of clock or a neighbour's load then meets both sides. A side answers lines of JSON on its standard input
with lines of JSON on its standard output; its first line says what it is, and a side that cannot start (no PyTorch,
no library) is left out with the reason it gave.
"""

import json
import os
import statistics
import subprocess
import sys

# OpenMP threads that wait do so asleep: peers that spin disturb whoever has the next turn.
PASSIVE = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}


def environment(threads, waiting="passive"):
    chosen = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
    return dict(chosen, **PASSIVE) if waiting == "passive" else chosen


class Side:
    """A worker process. `hello` is its first line, or None with `reason` set where there is no such process."""

    def __init__(self, command, env):
        self.process = subprocess.Popen([sys.executable] + command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=env)
        first = self.process.stdout.readline()
        self.hello = json.loads(first) if first else None
        self.reason = None
        if not first:
            lines = self.process.stderr.read().strip().splitlines() or ["no reason given"]
            self.reason = lines[-1]
            self.process.wait()

    def ask(self, question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError((self.process.stderr.read().strip().splitlines() or ["the process ended"])[-1])
        return json.loads(answer)

    def close(self):
        if self.hello:
            self.process.stdin.close()
            self.process.wait()


def answer(first, reply):
    """The worker's half: says hello, then replies to each question until the driver closes."""
    print(json.dumps(first), flush=True)
    for line in sys.stdin:
        print(json.dumps(reply(json.loads(line))), flush=True)


def spread(samples):
    """(90th - 10th percentile) / median, as voltac bench."""
    if len(samples) < 2:
        return 0.0
    ordered = sorted(samples)

    def quantile(q):
        at = q * (len(ordered) - 1)
        below = int(at)
        above = min(below + 1, len(ordered) - 1)
        return ordered[below] + (at - below) * (ordered[above] - ordered[below])

    return (quantile(0.9) - quantile(0.1)) / statistics.median(ordered)
