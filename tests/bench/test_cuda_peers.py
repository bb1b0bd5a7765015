"""The table of bench/cuda_peers.py over a voltac and a PyTorch that answer fixed figures. No GPU, no clock."""

import contextlib
import io
import json
import os
import subprocess
import sys
import types
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))

import cuda_peers  # noqa: E402

TOKENS = {"fp32": 40000, "tf32": 60000, "bf16": 90000}
SENTENCE = "voltac: level repeatable: no cuBLASLt: libcublasLt.so.13 cannot be opened"
TORCH = types.SimpleNamespace(__version__="9.9", cuda=types.SimpleNamespace(get_device_name=lambda: "a GPU"))


def option(command, name):
    return command[command.index(name) + 1]


class CudaPeersTest(unittest.TestCase):
    def run_with(self, torch=(None, "no PyTorch"), refused=()):
        """(exit status, lines, commands of voltac)"""
        commands = []

        def voltac(command, **_):
            commands.append(command)
            level, precision = option(command, "--level"), option(command, "--precision")
            if level in refused:
                return subprocess.CompletedProcess(command, 1, "", "voltac: warning\n" + SENTENCE + "\n")
            line = {"per_second": TOKENS[precision]} if command[2] == "train" else \
                {"tokens_per_s": 1000.0, "fraction_of_bandwidth": 0.625 if level == "strict" else 0.75}
            return subprocess.CompletedProcess(command, 0, json.dumps(line), "")

        output = io.StringIO()
        with mock.patch.object(cuda_peers.subprocess, "run", voltac), contextlib.redirect_stdout(output), \
                mock.patch.object(cuda_peers, "torch_on_cuda", lambda: torch):
            status = cuda_peers.main(["--voltac", "voltac"])
        return status, [" ".join(line.split()) for line in output.getvalue().splitlines()], commands

    def test_lines_name_level_and_precision(self):
        status, lines, commands = self.run_with()
        self.assertEqual(status, 0)
        self.assertEqual(lines[1:], [
            "training, Volta strict fp32 40000 tokens/s",
            "training, Volta repeatable tf32 60000 tokens/s",
            "training, Volta repeatable bf16 90000 tokens/s",
            "decoding, Volta, f32 weights strict fp32 1000.0 tokens/s, 62.5 % of the copy bandwidth",
            "decoding, Volta, f32 weights repeatable fp32 1000.0 tokens/s, 75.0 % of the copy bandwidth",
            "decoding, Volta, bf16 weights repeatable bf16 1000.0 tokens/s, 75.0 % of the copy bandwidth",
            "PyTorch: not run: no PyTorch"])
        self.assertEqual([option(c, "--batch") for c in commands], ["4"] * 3 + ["1"] * 3)
        self.assertEqual([option(c, "--weights") for c in commands[3:]], ["f32", "f32", "bf16"])

    def test_a_level_that_is_missing_says_why(self):
        status, lines, _ = self.run_with(refused=("repeatable",))
        self.assertEqual(status, 1)
        self.assertEqual(lines[1], "training, Volta strict fp32 40000 tokens/s")
        self.assertEqual(lines[3], "training, Volta repeatable bf16 not run: " + SENTENCE)
        self.assertEqual(lines[6], "decoding, Volta, bf16 weights repeatable bf16 not run: " + SENTENCE)

    def test_a_voltac_that_is_missing_says_so(self):
        arguments = types.SimpleNamespace(voltac="/there/is/none", device="cuda")
        line, reason = cuda_peers.volta(arguments, "strict", "fp32", "train")
        self.assertIsNone(line)
        self.assertIn("/there/is/none", reason)

    def test_ratios_are_of_the_same_precision(self):
        def training(_torch, _arguments, precision, compiled):
            if compiled:
                return 45000.0
            if precision == "tf32":
                raise RuntimeError("out of memory\nand more")
            return 80000.0

        with mock.patch.object(cuda_peers, "torch_training", training), \
                mock.patch.object(cuda_peers, "torch_product", lambda _torch, precision, n: n + len(precision)):
            status, lines, _ = self.run_with(torch=(TORCH, None))
        self.assertEqual(status, 0)
        self.assertEqual(lines[7:12], [
            "PyTorch 9.9 on a GPU",
            "training, PyTorch eager - fp32 80000 tokens/s, Volta / PyTorch 0.50",
            "training, PyTorch eager - tf32 not run: out of memory",
            "training, PyTorch eager - bf16 80000 tokens/s, Volta / PyTorch 1.12",
            "training, PyTorch compiled - bf16 45000 tokens/s, Volta / PyTorch 2.00"])
        self.assertEqual(len(lines[12:]), 9)
        self.assertEqual(lines[20], "product 4096x4096x4096, PyTorch - bf16 4100 GFLOP/s")


if __name__ == "__main__":
    unittest.main()
