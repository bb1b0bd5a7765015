"""Sessions: a model compiled to run, on arrays."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

from . import native
from ._library import Handle, check, constant, extents, fields_of, lent_text, lib, made
from .aliases import Info, Shape, Shapes
from .tensor import Memory, Tensor, array_of, numpy

_SMALL = 65536  # bytes: an array of fewer is copied sooner than it is wrapped

if TYPE_CHECKING:
    from .context import Context
    from .model import Model

_EMPTY = {native.VOLTA_F32: "float32", native.VOLTA_I32: "int32"}


def shapes_of(shapes: Shapes) -> Tuple[Any, int]:
    """(extents one after the other, their count) of a list of shapes, or of one shape."""
    if shapes is None:
        return None, 0
    given: Any = shapes
    if len(given) and not isinstance(given[0], (list, tuple)):
        given = [given]
    flat = [extent for shape in given for extent in shape]
    return extents(flat), len(flat)


def bill_of(function: Any, handle: Any) -> Info:
    """Bytes of tensor memory by class, a dict; the peak equals "total"."""
    bill = native.volta_bill()
    check(function(handle, ctypes.byref(bill)))
    return fields_of(bill)


class Wrapped:
    """Tensors over arrays of the caller. An array that comes again, unchanged in place, finds its tensor again."""

    def __init__(self, context: Context, most: int = 16) -> None:
        self._context, self._most = context, most
        self._known: Dict[Any, Tensor] = {}

    def __call__(self, array: Any, name: str, written: bool = False) -> Tensor:
        if isinstance(array, Tensor):
            return array
        memory = Memory(array, name)
        if written and memory.read_only:
            raise ValueError(f"{name} is read-only")
        key = (memory.address, memory.dtype, memory.shape)
        tensor = self._known.get(key)
        if tensor is None:
            if len(self._known) >= self._most:
                self._known.clear()
            tensor = self._known[key] = Tensor._over(memory, self._context)
        tensor._kept = (self._context, memory)  # of the array that is there now
        return tensor


def _small_run(inputs: List[Tensor], outputs: List[Tensor]) -> Callable[..., Any]:
    """run(session, arrays, out) through these tensors. It gives the outputs; None where an array is not one of NumPy, just as the
    model has it: whoever looks closer says what is wrong with it."""
    given, taken = ([(array, array.shape, array.dtype) for array in (tensor.array() for tensor in tensors)]
                    for tensors in (inputs, outputs))
    pointers_in, pointers_out = ((ctypes.c_void_p * max(len(tensors), 1))(*(tensor._as_parameter_.value for tensor in tensors))
                                 for tensors in (inputs, outputs))
    # All arguments but the session are what they are: without argtypes ctypes has nothing to convert.
    run = lib["volta_session_run"]
    run.restype = ctypes.c_int32
    first, second = (ctypes.c_void_p(ctypes.addressof(pointers)) for pointers in (pointers_in, pointers_out))
    inputs_count, outputs_count = ctypes.c_size_t(len(inputs)), ctypes.c_size_t(len(outputs))
    ndarray, count, alone = numpy.ndarray, len(inputs), len(outputs) == 1
    kept = (pointers_in, pointers_out, inputs, outputs)

    def fits(x: Any, shape: Any, dtype: Any) -> bool:
        return type(x) is ndarray and x.dtype is dtype and x.shape == shape and bool(x.flags.c_contiguous)

    def call(session: Any, arrays: Tuple[Any, ...], out: Any, _kept: Any = kept) -> Any:
        if len(arrays) != count:
            return None
        for x, (mine, shape, dtype) in zip(arrays, given):
            if type(x) is not ndarray or x.dtype is not dtype or x.shape != shape or not x.flags.c_contiguous:
                return None
            mine[...] = x
        if out is not None:
            targets = out if isinstance(out, (list, tuple)) else (out,)
            if len(targets) != len(taken) or not all(
                    fits(x, shape, dtype) and x.flags.writeable for x, (_, shape, dtype) in zip(targets, taken)):
                return None
        status = run(session, first, inputs_count, second, outputs_count)
        if status:
            check(status)
        if out is None:
            return taken[0][0].copy() if alone else [mine.copy() for mine, _, _ in taken]
        for x, (mine, _, _) in zip(targets, taken):
            x[...] = mine
        return targets[0] if alone else list(targets)

    return call


class Session(Handle):
    """session = Session(model, [(1, 3, 224, 224)]); y = session.run(x). For a model of one output run gives an array,
    else a list of them."""

    _release: Any = lib.volta_session_release

    def __init__(self, model: Model, input_shapes: Shapes = None, pack_weights: bool = False) -> None:
        shapes, count = shapes_of(input_shapes)
        options = native.volta_session_options(
            input_shapes=ctypes.addressof(shapes) if shapes is not None else None, input_extent_count=count,
            flags=native.VOLTA_SESSION_PACK_WEIGHTS if pack_weights else 0)
        super().__init__(made(lib.volta_session_create, model, ctypes.byref(options)), model, shapes)
        self.model = model
        self._names = [one["name"] for one in model.inputs]
        self._dtypes = [one["dtype"] for one in model.outputs]
        self._shapes = [self._output_shape(i) for i in range(len(self._dtypes))]
        self._wrapped = Wrapped(model.context)
        self._inputs = (ctypes.c_void_p * len(self._names))()
        self._outputs = (ctypes.c_void_p * len(self._dtypes))()
        self._prepare(input_shapes)

    def _prepare(self, input_shapes: Shapes) -> None:
        """Tensors of its own for arrays that are small: a call then copies them, and makes nothing."""
        self._small: Optional[Callable[..., Any]] = None
        if numpy is None:
            return
        infos = self.model.inputs
        given: Any = [one["shape"] for one in infos] if input_shapes is None else input_shapes
        if input_shapes is not None and not isinstance(given[0], (list, tuple)):
            given = [given]
        dtypes = [one["dtype"] for one in infos] + self._dtypes
        shapes = [tuple(shape) for shape in given] + self._shapes
        if any(4 * numpy.prod(shape, dtype="f8") > _SMALL for shape in shapes):
            return
        tensors = [Tensor.zeros(shape, dtype, self.model.context) for shape, dtype in zip(shapes, dtypes)]
        self._small = _small_run(tensors[: len(infos)], tensors[len(infos):])

    def _output_shape(self, index: int) -> Tuple[int, ...]:
        shape, rank = (ctypes.c_int64 * native.VOLTA_MAX_RANK)(), ctypes.c_int32()
        check(lib.volta_session_output_shape(self, index, shape, ctypes.byref(rank)))
        return tuple(shape[: rank.value])

    @property
    def output_shapes(self) -> List[Tuple[int, ...]]:
        return list(self._shapes)

    def _new(self, index: int) -> Any:
        if numpy is not None:
            return numpy.empty(self._shapes[index], _EMPTY[self._dtypes[index]])
        return Tensor.zeros(self._shapes[index], self._dtypes[index], self.model.context)

    def run(self, *inputs: Any, out: Any = None) -> Any:
        """Runs the graph once. inputs: arrays of float32 and int32 in the model's order, read without copies. out: arrays
        that take the outputs; else new ones. The interpreter runs other threads meanwhile."""
        if self._small is not None:
            results = self._small(self._as_parameter_, inputs, out)
            if results is not None:
                return results
        if len(inputs) != len(self._names):
            raise TypeError(f"the model has {len(self._names)} inputs ({', '.join(self._names)}), not {len(inputs)}")
        tensors = [self._wrapped(x, name) for x, name in zip(inputs, self._names)]
        for i, tensor in enumerate(tensors):
            self._inputs[i] = tensor._as_parameter_.value
        if out is None:
            results = [self._new(i) for i in range(len(self._dtypes))]
        else:
            results = list(out) if isinstance(out, (list, tuple)) else [out]
            if len(results) != len(self._dtypes):
                raise TypeError(f"the model has {len(self._dtypes)} outputs, out has {len(results)}")
        targets = [x if isinstance(x, Tensor) else Tensor.wrap(x, self.model.context) if out is None
                   else self._wrapped(x, "out", True) for x in results]
        for i, tensor in enumerate(targets):
            self._outputs[i] = tensor._as_parameter_.value
        check(lib.volta_session_run(self, self._inputs, len(tensors), self._outputs,
                                    len(targets)))
        if out is None and numpy is None:
            results = [array_of(self._dtypes[i], self._shapes[i], lib.volta_tensor_data(x), x)
                       for i, x in enumerate(results)]
        return results[0] if len(results) == 1 else results

    __call__ = run

    @property
    def bill(self) -> Info:
        return bill_of(lib.volta_session_get_bill, self)

    @property
    def plan(self) -> str:
        """The plan as text: steps, kernels, offsets, bill, hash."""
        return lent_text(lib.volta_session_print_plan, self)



