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
GFLOPS = {"fp32": 50000.0, "tf32": 300000.0, "bf16": 400000.0}
SENTENCE = "voltac: level repeatable: no cuBLASLt: libcublasLt.so.13 cannot be opened"
TORCH = types.SimpleNamespace(__version__="9.9", cuda=types.SimpleNamespace(get_device_name=lambda: "a GPU"))


def option(command, name):
    return command[command.index(name) + 1]


def answer(command, level, precision):
    """What `voltac bench` says."""
    if command[2] == "train":
        return [{"per_second": TOKENS[precision]}]
    if command[2] == "infer":
        return [{"tokens_per_s": 1000.0, "fraction_of_bandwidth": 0.625 if level == "strict" else 0.75}]
    sizes = [int(shape.split("x")[0]) for shape in option(command, "--shapes").split(",")]
    return [{"m": n, "n": n, "k": n, "median_gflops": GFLOPS[precision] + n} for n in sizes]


class CudaPeersTest(unittest.TestCase):
    def run_with(self, torch=(None, "no PyTorch"), refused=()):
        """(exit status, lines, commands of voltac)"""
        commands = []

        def voltac(command, **_):
            commands.append(command)
            level, precision = option(command, "--level"), option(command, "--precision")
            if level in refused or command[2] in refused:
                return subprocess.CompletedProcess(command, 1, "", "voltac: warning\n" + SENTENCE + "\n")
            lines = answer(command, level, precision)
            return subprocess.CompletedProcess(command, 0, "".join(json.dumps(line) + "\n" for line in lines), "")

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
            "product 1024x1024x1024, Volta strict fp32 51024 GFLOP/s",
            "product 2048x2048x2048, Volta strict fp32 52048 GFLOP/s",
            "product 4096x4096x4096, Volta strict fp32 54096 GFLOP/s",
            "product 1024x1024x1024, Volta repeatable tf32 301024 GFLOP/s",
            "product 2048x2048x2048, Volta repeatable tf32 302048 GFLOP/s",
            "product 4096x4096x4096, Volta repeatable tf32 304096 GFLOP/s",
            "product 1024x1024x1024, Volta repeatable bf16 401024 GFLOP/s",
            "product 2048x2048x2048, Volta repeatable bf16 402048 GFLOP/s",
            "product 4096x4096x4096, Volta repeatable bf16 404096 GFLOP/s",
            "PyTorch: not run: no PyTorch"])
        self.assertEqual([c[2] for c in commands], ["train"] * 3 + ["infer"] * 3 + ["matmul"] * 3)
        self.assertEqual([option(c, "--batch") for c in commands[:6]], ["4"] * 3 + ["1"] * 3)
        self.assertEqual([option(c, "--weights") for c in commands[3:6]], ["f32", "f32", "bf16"])
        self.assertEqual([("--preset" in c, option(c, "--device")) for c in commands],
                         [(True, "cuda")] * 6 + [(False, "cuda")] * 3)

    def test_a_level_that_is_missing_says_why(self):
        status, lines, _ = self.run_with(refused=("repeatable",))
        self.assertEqual(status, 1)
        self.assertEqual(lines[1], "training, Volta strict fp32 40000 tokens/s")
        self.assertEqual(lines[3], "training, Volta repeatable bf16 not run: " + SENTENCE)
        self.assertEqual(lines[6], "decoding, Volta, bf16 weights repeatable bf16 not run: " + SENTENCE)
        self.assertEqual(lines[9], "product 4096x4096x4096, Volta strict fp32 54096 GFLOP/s")
        self.assertEqual(lines[10], "product 1024x1024x1024, Volta repeatable tf32 not run: " + SENTENCE)

    def test_products_that_are_missing_are_a_failure(self):
        status, lines, _ = self.run_with(refused=("matmul",))
        self.assertEqual(status, 1)
        self.assertEqual(lines[7:10], [f"product {n}x{n}x{n}, Volta strict fp32 not run: {SENTENCE}"
                                       for n in (1024, 2048, 4096)])

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
                mock.patch.object(cuda_peers, "torch_product",
                                  lambda _torch, precision, n: 2 * GFLOPS[precision] + 2 * n if n < 4096 else 1e6):
            status, lines, _ = self.run_with(torch=(TORCH, None))
        self.assertEqual(status, 0)
        self.assertEqual(lines[16:21], [
            "PyTorch 9.9 on a GPU",
            "training, PyTorch eager - fp32 80000 tokens/s, Volta / PyTorch 0.50",
            "training, PyTorch eager - tf32 not run: out of memory",
            "training, PyTorch eager - bf16 80000 tokens/s, Volta / PyTorch 1.12",
            "training, PyTorch compiled - bf16 45000 tokens/s, Volta / PyTorch 2.00"])
        self.assertEqual(len(lines[21:]), 9)
        self.assertEqual(lines[21], "product 1024x1024x1024, PyTorch - fp32 102048 GFLOP/s, Volta / PyTorch 0.50")
        self.assertEqual(lines[26], "product 4096x4096x4096, PyTorch - tf32 1000000 GFLOP/s, Volta / PyTorch 0.30")
        self.assertEqual(lines[29], "product 4096x4096x4096, PyTorch - bf16 1000000 GFLOP/s, Volta / PyTorch 0.40")

    def test_a_ratio_needs_both(self):
        with mock.patch.object(cuda_peers, "torch_training", lambda *_: 80000.0), \
                mock.patch.object(cuda_peers, "torch_product", lambda *_: 1e6):
            status, lines, _ = self.run_with(torch=(TORCH, None), refused=("repeatable",))
        self.assertEqual(status, 1)
        self.assertEqual(lines[21], "product 1024x1024x1024, PyTorch - fp32 1000000 GFLOP/s, Volta / PyTorch 0.05")
        self.assertEqual(lines[29], "product 4096x4096x4096, PyTorch - bf16 1000000 GFLOP/s")


if __name__ == "__main__":
    unittest.main()
