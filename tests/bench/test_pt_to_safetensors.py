#!/usr/bin/env python3
"""tools/pt_to_safetensors.py over a torch that gives what a case plants: the file it writes, and its refusals."""

import array
import contextlib
import fcntl
import importlib.util
import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import types
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "pt_to_safetensors.py")
spec = importlib.util.spec_from_file_location("pt_to_safetensors", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)


class Tensor:
    """Just what the tool asks of a tensor."""

    def __init__(self, values, dtype="torch.float32", code="f"):
        self.data, self.dtype, self.shape = array.array(code, values), dtype, (len(values),)

    def numel(self):
        return len(self.data)

    def element_size(self):
        return self.data.itemsize

    def detach(self):
        return self

    contiguous = numpy = detach

    def tobytes(self):
        return self.data.tobytes()


@contextlib.contextmanager
def planted_torch(load=None):
    sys.modules["torch"] = types.SimpleNamespace(load=load, is_tensor=lambda value: isinstance(value, Tensor), bfloat16=None)
    try:
        yield
    finally:
        del sys.modules["torch"]


def run(content, *options):
    """(what the tool ended with, what it said, the header it wrote, the bytes behind it)."""
    def load(path, map_location, weights_only):
        assert weights_only and map_location == "cpu"
        if isinstance(content, Exception):
            raise content
        return content

    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        out = os.path.join(folder, "out.safetensors")
        sys.argv = ["pt_to_safetensors.py", "in.pt", out, *options]
        try:
            with planted_torch(load):
                tool.main()
        except SystemExit as end:
            return end.code, said.getvalue(), None, None
        with open(out, "rb") as file:
            length = struct.unpack("<Q", file.read(8))[0]
            return None, said.getvalue(), json.loads(file.read(length)), file.read()


class PtToSafetensorsTest(unittest.TestCase):
    def test_writes_the_tensors_of_a_state_dict(self):
        state = {"b": Tensor([1.5, -2.0]), "a": Tensor([7], "torch.int64", "q"), "step": 3, 4: "a number as a key"}
        end, said, header, data = run({"state_dict": state, "epoch": 1})
        self.assertIsNone(end)
        self.assertEqual(header["a"], {"dtype": "I64", "shape": [1], "data_offsets": [0, 8]})
        self.assertEqual(header["b"], {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]})
        self.assertEqual(data, struct.pack("<qff", 7, 1.5, -2.0))
        self.assertIn("left out: 4", said)
        self.assertIn("left out: step", said)

    def test_what_killed_runs_left_goes_with_the_next(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.safetensors")
            ours = [f"{out}.tmp-{gone.pid}-0", f"{out}.tmp-{gone.pid}-12", f"{out}.tmp-{os.getpid()}-3"]
            held = f"{out}.tmp-{gone.pid}-1"
            others = [f"{out}.tmp-{gone.pid}", f"{out}.tmp-{gone.pid}-0x", f"{out}.tmp-{gone.pid}-0-0",
                      f"{out}.tmp-x-0", f"{out}.tmp-{os.getppid()}-0", f"{out}.tmp-1-0",
                      os.path.join(folder, f"another.tmp-{gone.pid}-0")]
            for name in [*ours, held, *others]:
                open(name, "w", encoding="utf-8").close()
            link = os.path.join(folder, "link.safetensors")
            os.symlink("out.safetensors", link)
            with planted_torch(), open(held, encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                tool.write({"w": Tensor([1.0])}, link)
            self.assertTrue(os.path.islink(link))
            self.assertEqual(sorted(os.path.join(folder, name) for name in os.listdir(folder)),
                             sorted([out, link, held, *others]))

    def test_a_run_that_fails_leaves_nothing(self):
        class Broken(Tensor):
            def tobytes(self):
                raise KeyboardInterrupt

        with tempfile.TemporaryDirectory() as folder:
            with planted_torch(), self.assertRaises(KeyboardInterrupt):
                tool.write({"w": Broken([1.0])}, os.path.join(folder, "out.safetensors"))
            self.assertEqual(os.listdir(folder), [])

    def test_refuses_in_one_sentence(self):
        for content, options, wanted in (
                ([Tensor([1.0])], (), "in.pt holds no dict of tensors, but a list"),
                (Tensor([1.0]), (), "in.pt holds no dict of tensors, but a Tensor"),
                ({"epoch": 1}, (), "in.pt holds no tensors; --key names the dict that does"),
                ({"model": {"w": Tensor([1.0])}}, ("--key", "net"), "in.pt has no dict 'net'"),
                ({"w": Tensor([1.0], "torch.complex64")}, (), "tensor 'w' has the type complex64, which is not written"),
                (RuntimeError("Weights only load failed.\nMore lines"), (), "in.pt is not read: Weights only load failed."),
                (FileNotFoundError(2, "No such file", "in.pt"), (), "in.pt is not read: [Errno 2] No such file: 'in.pt'")):
            with self.subTest(wanted):
                self.assertEqual(run(content, *options)[0], wanted)


if __name__ == "__main__":
    unittest.main()
