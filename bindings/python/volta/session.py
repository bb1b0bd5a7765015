"""Sessions: a model compiled to run, on arrays."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from . import native
from ._library import Handle, check, constant, extents, fields_of, lent_text, lib, made
from .aliases import Info, Shape, Shapes
from .tensor import Memory, Tensor, array_of, numpy

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

    def __call__(self, array: Any, name: str) -> Tensor:
        if isinstance(array, Tensor):
            return array
        memory = Memory(array, name)
        key = (memory.address, memory.dtype, memory.shape)
        tensor = self._known.get(key)
        if tensor is None:
            if len(self._known) >= self._most:
                self._known.clear()
            tensor = self._known[key] = Tensor(memory.shape, memory.dtype, self._context, memory)
        tensor._kept = (self._context, memory)  # of the array that is there now
        return tensor


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
        return Tensor(self._shapes[index], self._dtypes[index], self.model.context)

    def run(self, *inputs: Any, out: Any = None) -> Any:
        """Runs the graph once. inputs: arrays of float32 and int32 in the model's order, read without copies. out: arrays
        that take the outputs; else new ones. The interpreter runs other threads meanwhile."""
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
                   else self._wrapped(x, "out") for x in results]
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



