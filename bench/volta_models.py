"""The models of train_peers.py through libvolta: trainers, sessions and the machine's peaks."""

import ctypes as c
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "parity"))

import volta_ctypes as v  # noqa: E402

OPTIMIZERS = {name: getattr(v.native, f"VOLTA_{name}".upper()) for name in ("adamw", "adam", "sgd", "adagrad")}


class Bench:
    """A context, one model and what is made of it. Lives as long as its process: nothing is released."""

    def __init__(self, path, threads, isa):
        self.library = v.Library(path)
        self.context, self.model, self.made = c.c_void_p(), c.c_void_p(), c.c_void_p()
        options = v.sized(v.ContextOptions, thread_count=threads, isa=v.ISA[isa])
        self.call("volta_context_create", c.byref(options), c.byref(self.context))
        self.kept = []  # arrays that tensors lie over

    def call(self, name, *arguments):
        self.library.call(name, *arguments)

    def peaks(self):
        speed = v.sized(v.MachineSpeed)
        self.call("volta_measure_machine", self.context, c.byref(speed))
        return {"isa": {1: "scalar", 2: "avx2", 3: "avx512"}[speed.isa], "fma_gflops": speed.fma_gflops,
                "read_gb_s": speed.read_gb_s, "stream_gb_s": speed.stream_gb_s}

    def tensor(self, array):
        made = c.c_void_p()
        shape = (c.c_int64 * array.ndim)(*array.shape)
        dtype = v.I32 if array.dtype == np.int32 else v.F32
        self.call("volta_tensor_wrap", self.context, dtype, shape, array.ndim,
                  array.ctypes.data_as(c.c_void_p), c.byref(made))
        self.kept.append(array)
        return made

    def make_gpt(self, sizes):
        options = v.sized(v.MODEL_OPTIONS["gpt"], **sizes)
        self.call("volta_model_create_gpt", self.context, c.byref(options), c.c_uint64(1), c.byref(self.model))

    def make_dense(self, widths, batch):
        """Linear layers with ReLU between them over an input [batch, widths[0]]."""
        graph, x = c.c_void_p(), v.Value()
        self.call("volta_graph_create", self.context, c.byref(graph))
        shape = (c.c_int64 * 2)(batch, widths[0])
        self.call("volta_graph_input", graph, b"x", v.F32, shape, 2, c.byref(x))
        for i, width in enumerate(widths[1:]):
            if i > 0:
                self.call("volta_graph_unary", graph, b"relu", x, c.byref(x))
            self.call("volta_graph_linear", graph, f"layer.{i}".encode(), x, c.c_int64(width), c.byref(x))
        self.call("volta_graph_output", graph, b"y", x)
        self.call("volta_model_create", graph, c.c_uint64(1), c.byref(self.model))

    def trainer(self, inputs, targets, **options):
        """Returns step(): one optimizer step on these arrays, its loss."""
        shape = (c.c_int64 * inputs.ndim)(*inputs.shape)
        loss = v.LOSS_CROSS_ENTROPY if targets.dtype == np.int32 else v.LOSS_MSE
        chosen = v.sized(v.TrainerOptions, input_shapes=shape, input_extent_count=inputs.ndim, loss=loss, **options)
        self.call("volta_trainer_create", self.model, c.byref(chosen), c.byref(self.made))
        report, given, target = v.sized(v.StepReport), (c.c_void_p * 1)(self.tensor(inputs)), self.tensor(targets)
        step = self.library.so.volta_trainer_step
        step.argtypes = [c.c_void_p, c.c_void_p, c.c_size_t, c.c_void_p, c.c_void_p]

        def run():
            if step(self.made, given, 1, target, c.byref(report)) != 0:
                raise RuntimeError(self.library.so.volta_last_error().decode())
            return report.loss

        return run

    def session(self, inputs, output_shape):
        """Returns run(): the model's output for these inputs, written to an array of its own."""
        shape = (c.c_int64 * inputs.ndim)(*inputs.shape)
        options = v.sized(v.SessionOptions, input_shapes=shape, input_extent_count=inputs.ndim)
        self.call("volta_session_create", self.model, c.byref(options), c.byref(self.made))
        outputs = np.zeros(output_shape, np.float32)
        given, written = (c.c_void_p * 1)(self.tensor(inputs)), (c.c_void_p * 1)(self.tensor(outputs))
        session_run = self.library.so.volta_session_run
        session_run.argtypes = [c.c_void_p, c.c_void_p, c.c_size_t, c.c_void_p, c.c_size_t]

        def run():
            if session_run(self.made, given, 1, written, 1) != 0:
                raise RuntimeError(self.library.so.volta_last_error().decode())
            return float(outputs.flat[0])

        return run
