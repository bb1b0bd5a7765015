"""libvolta through ctypes: as much of volta.h as the parity tests and benchmarks call, and no more.

Structures mirror the header field by field; struct_size guards against drift, because the library refuses or
ignores what it does not know. Arrays are NumPy arrays, lent for the duration of a call.
"""

import ctypes as c

import numpy as np

F32, I32 = 1, 2
ISA = {"auto": 0, "scalar": 1, "avx2": 2, "avx512": 3}
LOSS_CROSS_ENTROPY = 0
ADAMW, SGD = 0, 2
SCHEDULE_CONSTANT, SCHEDULE_COSINE = 0, 1
MAX_RANK = 8


class ContextOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("allocator", c.c_void_p),
        ("log", c.c_void_p),
        ("log_user", c.c_void_p),
        ("thread_count", c.c_uint32),
        ("level", c.c_int32),
        ("isa", c.c_int32),
        ("flags", c.c_uint32),
    ]


class GptOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("vocabulary", c.c_int64),
        ("layers", c.c_int64),
        ("dim", c.c_int64),
        ("heads", c.c_int64),
        ("context", c.c_int64),
        ("dropout", c.c_double),
    ]


class LlamaOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("vocabulary", c.c_int64),
        ("layers", c.c_int64),
        ("dim", c.c_int64),
        ("heads", c.c_int64),
        ("kv_heads", c.c_int64),
        ("hidden", c.c_int64),
        ("context", c.c_int64),
        ("rope_base", c.c_double),
        ("epsilon", c.c_double),
        ("untied", c.c_int32),
        ("interleaved", c.c_int32),
    ]


class BertOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("vocabulary", c.c_int64),
        ("layers", c.c_int64),
        ("dim", c.c_int64),
        ("heads", c.c_int64),
        ("hidden", c.c_int64),
        ("context", c.c_int64),
        ("segments", c.c_int64),
        ("classes", c.c_int64),
        ("dropout", c.c_double),
        ("epsilon", c.c_double),
        ("head", c.c_int32),
        ("segment_input", c.c_int32),
        ("mask_input", c.c_int32),
    ]


class NetworkOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("name", c.c_char_p),
        ("classes", c.c_int64),
        ("channels", c.c_int64),
        ("rows", c.c_int64),
        ("columns", c.c_int64),
        ("width", c.c_double),
        ("stem", c.c_int32),
    ]


class ImportOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("format", c.c_int32),
        ("tokenizer_path", c.c_char_p),
        ("config_path", c.c_char_p),
        ("key_map_path", c.c_char_p),
        ("bert", c.c_void_p),
        ("weights", c.c_int32),
        ("no_tokenizer", c.c_int32),
        ("resnet", c.c_void_p),
        ("shapes", c.c_void_p),
        ("shape_count", c.c_size_t),
        ("network", c.c_void_p),
        ("exact_graph", c.c_int32),
    ]


class SessionOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("input_shapes", c.POINTER(c.c_int64)),
        ("input_extent_count", c.c_size_t),
        ("flags", c.c_uint32),
    ]


# What volta_model_create_<architecture> takes.
MODEL_OPTIONS = {"gpt": GptOptions, "llama": LlamaOptions, "bert": BertOptions}


class TensorInfo(c.Structure):
    _fields_ = [("name", c.c_char_p), ("dtype", c.c_int32), ("rank", c.c_int32), ("shape", c.c_int64 * MAX_RANK)]


class TrainerOptions(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("input_shapes", c.POINTER(c.c_int64)),
        ("input_extent_count", c.c_size_t),
        ("loss", c.c_int32),
        ("optimizer", c.c_int32),
        ("seed", c.c_uint64),
        ("steps", c.c_uint64),
        ("micro_batches", c.c_uint64),
        ("schedule", c.c_int32),
        ("warmup_steps", c.c_uint64),
        ("learning_rate", c.c_double),
        ("final_learning_rate", c.c_double),
        ("beta1", c.c_double),
        ("beta2", c.c_double),
        ("epsilon", c.c_double),
        ("weight_decay", c.c_double),
        ("decay_all_parameters", c.c_int32),
        ("momentum", c.c_double),
        ("nesterov", c.c_int32),
        ("clip_norm", c.c_double),
        ("nonfinite", c.c_int32),
        ("output_index", c.c_int32),
    ]


class StepReport(c.Structure):
    _fields_ = [
        ("struct_size", c.c_size_t),
        ("step", c.c_uint64),
        ("loss", c.c_float),
        ("gradient_norm", c.c_float),
        ("learning_rate", c.c_double),
    ]


def sized(structure, **fields):
    """A structure with struct_size and the given fields set; everything else is zero, the default."""
    return structure(struct_size=c.sizeof(structure), **fields)


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
