"""A peer as a process: started once per thread count, asked line by line, asleep between questions."""

import contextlib
import glob
import json
import os
import subprocess
import sys
import time

# name -> program; {isa} where the instruction set is a matter of compilation.
PROGRAMS = {"volta": "peer_volta", "openblas": "peer_openblas", "blis": "peer_blis", "onednn": "peer_onednn",
            "libxsmm": "peer_libxsmm", "eigen": "peer_eigen_{isa}"}


class PeerError(Exception):
    """Why a peer does not take part; one line."""


def environment(isa, threads, openblas_core, wait):
    """What holds every peer to the instruction set and threads asked for, and to waiting asleep."""
    variables = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_DYNAMIC="FALSE",
                     OPENBLAS_NUM_THREADS=str(threads), OPENBLAS_CORETYPE=openblas_core, BLIS_NUM_THREADS=str(threads))
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OPENBLAS_THREAD_TIMEOUT"):
        variables.pop(name, None)
    if wait == "passive":
        # OpenBLAS: log2 of the cycles that an idle worker spins; 4 is its least.
        variables.update(OMP_WAIT_POLICY="passive", GOMP_SPINCOUNT="0", OPENBLAS_THREAD_TIMEOUT="4")
    if isa == "avx2":
        variables.update(ONEDNN_MAX_CPU_ISA="AVX2", DNNL_MAX_CPU_ISA="AVX2", LIBXSMM_TARGET="hsw")
    return variables


@contextlib.contextmanager
def busy_neighbours(count):
    """So many processes that compute all the time, each on one core."""
    neighbours = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield [neighbour.pid for neighbour in neighbours]
    finally:
        for neighbour in neighbours:
            neighbour.kill()
            neighbour.wait()


class Peer:
    def __init__(self, name, folder, isa, threads, variables):
        self.name = name
        program = os.path.join(folder, PROGRAMS[name].format(isa=isa))
        if not os.path.exists(program):
            raise PeerError(f"not built: there is no {program}, make build-bench-programs makes it" +
                            ("" if name == "volta" else " where its library can be had"))
        self.process = subprocess.Popen([program, "--threads", str(threads), "--isa", isa], env=variables, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        about = self._answer()
        self.version, self.detail = about["version"], about["detail"]

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise PeerError(f"ended with status {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer

    def ask(self, question):
        """One question, one answer; returns when all threads of the peer sleep again."""
        try:
            self.process.stdin.write(question + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended: the answer says how
        answer = self._answer()
        self._settle()
        return answer

    def _settle(self, limit_s=5.0):
        """A peer whose threads still spin would be timed together with the next one."""
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if self._asleep():
                return
            time.sleep(0.001)
        raise PeerError(f"its threads do not sleep {limit_s:g} s after its last call")

    def _asleep(self):
        for path in glob.glob(f"/proc/{self.process.pid}/task/*/stat"):
            try:
                with open(path, encoding="ascii", errors="replace") as file:
                    if file.read().rpartition(")")[2].split()[0] not in "SZX":
                        return False
            except FileNotFoundError:
                pass  # the thread ended meanwhile
        return True

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
