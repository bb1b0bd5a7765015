"""libvolta through ctypes: as much of volta.h as the parity tests and benchmarks call, of any libvolta that they name.

Structures and constants are the Python binding's, which are printed from the header. Arrays are NumPy arrays, lent for the duration
of a call.
"""

import ctypes as c
import importlib.util
import os

import numpy as np

_NATIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bindings", "python", "volta", "native.py")
_SPEC = importlib.util.spec_from_file_location("volta_native", _NATIVE)  # the package itself would load a library of its choice
native = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(native)

F32, I32, MAX_RANK = native.VOLTA_F32, native.VOLTA_I32, native.VOLTA_MAX_RANK
ISA = {name: getattr(native, f"VOLTA_ISA_{name}".upper()) for name in ("auto", "scalar", "avx2", "avx512")}
LOSS_CROSS_ENTROPY, LOSS_MSE = native.VOLTA_LOSS_CROSS_ENTROPY, native.VOLTA_LOSS_MSE
ADAMW, SGD = native.VOLTA_ADAMW, native.VOLTA_SGD
SCHEDULE_CONSTANT, SCHEDULE_COSINE = native.VOLTA_SCHEDULE_CONSTANT, native.VOLTA_SCHEDULE_COSINE

ContextOptions, ImportOptions, NetworkOptions = (
    native.volta_context_options, native.volta_import_options, native.volta_network_options)
SessionOptions, TrainerOptions, StepReport = (
    native.volta_session_options, native.volta_trainer_options, native.volta_step_report)
TensorInfo, Value, MachineSpeed = native.volta_tensor_info, native.volta_value, native.volta_machine_speed

# What volta_model_create_<architecture> takes.
MODEL_OPTIONS = {"gpt": native.volta_gpt_options, "llama": native.volta_llama_options, "bert": native.volta_bert_options}


def sized(structure, **fields):
    """A structure with the given fields set; everything else is zero, the default. It keeps arrays that it points to."""
    made = structure(**{name: c.addressof(value) if isinstance(value, c.Array) else value for name, value in fields.items()})
    made.kept = fields
    return made


class Library:
    """One loaded libvolta; every call that fails raises with the library's own sentence."""

    def __init__(self, path):
        self.so = c.CDLL(path)
        self.so.volta_version.restype = c.c_char_p
        self.so.volta_last_error.restype = c.c_char_p
        self.so.volta_status_name.restype = c.c_char_p
        self.so.volta_model_parameter_count.restype = c.c_size_t
        for release in ("context", "model", "session", "tensor", "trainer"):
            function = getattr(self.so, f"volta_{release}_release")
            function.restype, function.argtypes = None, [c.c_void_p]

    def version(self):
        return self.so.volta_version().decode()

    def call(self, name, *arguments):
        status = getattr(self.so, name)(*arguments)
        if status != 0:
            text = self.so.volta_last_error().decode()
            raise RuntimeError(f"{name}: {self.so.volta_status_name(status).decode()}: {text}")


class TrainedModel:
    """A model and its trainer over tensors of host memory: what LanguageModel and PictureModel share."""

    def _wrap(self, array):
        tensor = c.c_void_p()
        shape = (c.c_int64 * array.ndim)(*array.shape)
        data = array.ctypes.data_as(c.c_void_p)
        dtype = F32 if array.dtype == np.float32 else I32
        self.library.call(
            "volta_tensor_wrap", self.context, dtype, shape, array.ndim, data, c.byref(tensor)
        )
        return tensor

    def _step(self):
        report = sized(StepReport)
        tensors = (c.c_void_p * len(self.input_tensors))(*self.input_tensors)
        self.library.call(
            "volta_trainer_step", self.trainer, tensors, c.c_size_t(len(tensors)), self.target_tensor, c.byref(report)
        )
        return report

    def shapes(self):
        """Name -> shape of every parameter, in declaration order."""
        result = {}
        for index in range(self.library.so.volta_model_parameter_count(self.model)):
            info = TensorInfo()
            self.library.call("volta_model_parameter_info", self.model, c.c_size_t(index), c.byref(info))
            result[info.name.decode()] = tuple(info.shape[: info.rank])
        return result

    def _lent(self, function, owner, name, shape):
        data, count = c.POINTER(c.c_float)(), c.c_size_t()
        self.library.call(function, owner, name.encode(), c.byref(data), c.byref(count))
        return np.ctypeslib.as_array(data, (count.value,)).reshape(shape).copy()

    def parameters(self):
        """Copies of the trainer's current parameters."""
        return {n: self._lent("volta_trainer_parameter", self.trainer, n, s) for n, s in self.shapes().items()}

    def gradients(self):
        """Copies of the latest step's gradients, before clipping; running statistics have none."""
        return {n: self._lent("volta_trainer_gradient", self.trainer, n, s) for n, s in self.shapes().items()
                if ".running_" not in n}

    def hash(self):
        text = c.create_string_buffer(33)
        self.library.call("volta_model_hash", self.model, text)
        return text.value.decode()

    def close(self):
        for tensor in (*self.input_tensors, self.target_tensor):
            self.library.so.volta_tensor_release(tensor)
        self.library.so.volta_trainer_release(self.trainer)
        self.library.so.volta_model_release(self.model)
        self.library.so.volta_context_release(self.context)


class LanguageModel(TrainedModel):
    """Context, model and trainer for token batches [batch, time] that the caller provides.

    input_count: how many inputs of that shape the model has. targets: their shape; None: that of an input.
    """

    def __init__(self, path, sizes, trainer, batch, time, seed=1, threads=1, isa="auto", architecture="gpt",
                 input_count=1, targets=None):
        self.library = Library(path)
        self.context, self.model, self.trainer = c.c_void_p(), c.c_void_p(), c.c_void_p()
        options = sized(ContextOptions, thread_count=threads, isa=ISA[isa])
        self.library.call("volta_context_create", c.byref(options), c.byref(self.context))
        model_options = sized(MODEL_OPTIONS[architecture], **sizes)
        self.library.call(
            f"volta_model_create_{architecture}", self.context, c.byref(model_options), c.c_uint64(seed),
            c.byref(self.model)
        )
        shape = (c.c_int64 * (2 * input_count))(*(batch, time) * input_count)
        trainer_options = sized(
            TrainerOptions, input_shapes=shape, input_extent_count=2 * input_count, loss=LOSS_CROSS_ENTROPY, **trainer
        )
        self.library.call("volta_trainer_create", self.model, c.byref(trainer_options), c.byref(self.trainer))

        # Tensors over host memory that every step refills, of i32: each input [batch, time], and the targets.
        self.inputs = np.zeros((input_count, batch, time), np.int32)
        self.targets = np.zeros(targets or (batch, time), np.int32)
        self.input_tensors = [self._wrap(one) for one in self.inputs]
        self.target_tensor = self._wrap(self.targets)

    def step(self, inputs, targets):
        """One optimizer step; returns (loss, gradient norm, learning rate)."""
        self.inputs[:], self.targets[:] = inputs, targets
        report = self._step()
        return report.loss, report.gradient_norm, report.learning_rate


class PictureModel(TrainedModel):
    """A network of volta_network_name with a trainer (SGD), whose parameters begin as `parameters` has them."""

    def __init__(self, path, name, options, batch, rate, momentum, parameters, threads=2):
        self.library = Library(path)
        self.context, self.model, self.trainer = c.c_void_p(), c.c_void_p(), c.c_void_p()
        context = sized(ContextOptions, thread_count=threads)
        self.library.call("volta_context_create", c.byref(context), c.byref(self.context))
        network = sized(NetworkOptions, name=name.encode(), **options)
        self.library.call("volta_model_create_network", self.context, c.byref(network), c.c_uint64(1),
                          c.byref(self.model))
        for key, values in parameters.items():
            flat = np.ascontiguousarray(values, np.float32).reshape(-1)
            self.library.call("volta_model_set_parameter", self.model, key.encode(),
                              flat.ctypes.data_as(c.POINTER(c.c_float)), c.c_size_t(flat.size))
        self.inputs = np.zeros((batch, 3, options["rows"], options["columns"]), np.float32)
        self.targets = np.zeros(batch, np.int32)
        shape = (c.c_int64 * 4)(*self.inputs.shape)
        training = sized(TrainerOptions, input_shapes=shape, input_extent_count=4, loss=LOSS_CROSS_ENTROPY,
                         optimizer=SGD, learning_rate=rate, momentum=momentum)
        self.library.call("volta_trainer_create", self.model, c.byref(training), c.byref(self.trainer))
        self.input_tensors, self.target_tensor = [self._wrap(self.inputs)], self._wrap(self.targets)

    def step(self, pictures, targets):
        """One optimizer step; returns its loss."""
        self.inputs[:], self.targets[:] = pictures, targets
        return self._step().loss
