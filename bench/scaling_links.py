"""What bench/scaling.py runs ranks in: processes that are asked together, and network namespaces behind links of a given rate."""

import json
import os
import subprocess
import sys

import turns

HERE = os.path.dirname(os.path.abspath(__file__))
SHAPED_FRAME = 1514  # what tbf counts of a frame of 1500
LEAST_BURST, BURST_SECONDS = 256 << 10, 1e-3  # of tbf: some large packets, and more than a late timer loses


class Ranks:
    """Worker processes, all of which are asked at once. places: the network namespace of each, or None."""

    def __init__(self, jobs, places):
        self.processes = []
        for job, place in zip(jobs, places):
            within = ["ip", "netns", "exec", place] if place else []
            command = within + [sys.executable, os.path.join(HERE, "scaling_rank.py"), json.dumps(job)]
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
