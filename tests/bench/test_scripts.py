"""The command lines of bench/*_peers.py and bench/peers/run.py: what they refuse and with which sentence, what they do
without NumPy, neighbours beside training. No clock, no PyTorch, no library."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BENCH = os.path.join(ROOT, "bench")
sys.path[:0] = [BENCH, os.path.join(BENCH, "peers")]

import train_peers  # noqa: E402


def run(script, *arguments, **more):
    """(status, lines of standard error)"""
    done = subprocess.run([sys.executable, "-B", os.path.join(BENCH, script), *arguments], capture_output=True, text=True,
                          env=dict(os.environ, **more), check=False)
    return done.returncode, done.stderr.splitlines()


class FakeSide:
    """Steps of 2 ms on every machine."""

    reason = None
    hello = {"version": "1.0"}

    def ask(self, question):
        if "peaks" in question:
            return {"isa": "avx2", "fma_gflops": 100.0, "read_gb_s": 10.0, "stream_gb_s": 10.0}
        return {"ms": [2.0]}

    def close(self):
        pass


class ScriptsTest(unittest.TestCase):
    def refused(self, sentence, script, *arguments):
        status, lines = run(script, *arguments)
        self.assertEqual((status, lines[-1:]), (2, [f"{os.path.basename(script)}: error: argument {sentence}"]))

    def test_counts_below_one_are_refused(self):
        for script in ("train_peers.py", "infer_peers.py", "ops_peers.py", "conv_peers.py", "onnx_peers.py", "network_peers.py",
                       "tape_peers.py", "peers/run.py"):
            for wrong in ("0", "-1", "1.5", "two"):
                self.refused(f"--threads: '{wrong}' is no whole number of 1 or more", script, f"--threads={wrong}")
            self.refused("--rounds: '0' is no whole number of 1 or more", script, "--rounds", "0")
        for script in ("train_peers.py", "peers/run.py"):
            self.refused("--busy: '-1' is no whole number of 0 or more", script, "--busy=-1")
        self.refused("--tokens: '2' is no whole number of 3 or more", "infer_peers.py", "--tokens", "2")
        self.refused("--batch-ms: 0 is not above zero", "peers/run.py", "--batch-ms", "0")

    def test_rows_are_a_multiple_of_the_ranks(self):
        self.refused("--rows: 3 is no multiple of 2 ranks", "distributed_peers.py", "--rows", "3")

    def test_wrong_products_are_named(self):
        self.refused("--shapes: '16x16' is no product: write MxNxK, nt:MxNxK or tn:MxNxK", "peers/run.py", "--shapes",
                     "16x16")

    def test_without_numpy_one_sentence_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "numpy.py"), "w", encoding="utf-8") as file:
                file.write("raise ModuleNotFoundError(\"No module named 'numpy'\")\n")
            for script in ("train_peers.py", "infer_peers.py", "onnx_peers.py", "tape_peers.py"):
                self.assertEqual(run(script, PYTHONPATH=folder), (1, [
                    f"{script}: NumPy is missing: install python3-numpy, as make deps-bench does "
                    "(No module named 'numpy')"]))
                self.assertEqual(run(script, "--help", PYTHONPATH=folder), (0, []))

    def test_training_beside_neighbours(self):
        neighbours = []

        @contextlib.contextmanager
        def busy(count):
            neighbours.append(count)
            yield
            neighbours.append("gone")

        def start(*_):
            self.assertEqual(neighbours, [3])
            return FakeSide()

        output = io.StringIO()
        with mock.patch.object(train_peers, "busy_neighbours", busy), mock.patch.object(train_peers, "start", start), \
                mock.patch.dict(sys.modules, numpy=types.ModuleType("numpy")), contextlib.redirect_stdout(output):
            train_peers.main(["--busy", "3", "--threads", "1", "--only", "tiny", "--task", "train", "--pause", "0", "--json"])
        self.assertEqual(neighbours, [3, "gone"])
        row = json.loads(output.getvalue())
        self.assertEqual((row["busy"], row["volta_ms"], row["ratio"]), (3, 2.0, 1.0))


if __name__ == "__main__":
    unittest.main()
