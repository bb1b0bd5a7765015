#!/usr/bin/env python3
"""tools/pt_to_safetensors.py over a torch that gives what a case plants: the file it writes, and its refusals."""

import array
import contextlib
import importlib.util
import io
import json
import os
import struct
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


def run(content, *options):
    """(what the tool ended with, what it said, the header it wrote, the bytes behind it)."""
    def load(path, map_location, weights_only):
        assert weights_only and map_location == "cpu"
        if isinstance(content, Exception):
            raise content
        return content

    sys.modules["torch"] = types.SimpleNamespace(load=load, is_tensor=lambda value: isinstance(value, Tensor), bfloat16=None)
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        out = os.path.join(folder, "out.safetensors")
        sys.argv = ["pt_to_safetensors.py", "in.pt", out, *options]
        try:
            tool.main()
        except SystemExit as end:
            return end.code, said.getvalue(), None, None
        finally:
            del sys.modules["torch"]
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
