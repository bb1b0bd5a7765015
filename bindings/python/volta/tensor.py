"""Arrays in and out without copies: anything with a buffer or __array_interface__ goes in, NumPy or a view comes out."""

from __future__ import annotations

import ctypes
from array import array as new_array
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from . import dlpack, native
from ._library import NONE, Handle, check, constant, extents, fields_of, lent_text, lib, made, path_of
from .aliases import Info, Path, Shape
from .errors import InvalidState
from .operations import Operations

if TYPE_CHECKING:
    from .context import Context
    from .recording import Tape

_TYPES: Any = {native.VOLTA_F32: ("<f4", ctypes.c_float), native.VOLTA_I32: ("<i4", ctypes.c_int32)}
_BY_TYPE = {"<f4": native.VOLTA_F32, "<i4": native.VOLTA_I32}
_BY_FORMAT = {"f": native.VOLTA_F32, "<f": native.VOLTA_F32, "i": native.VOLTA_I32, "<i": native.VOLTA_I32,
              "l": native.VOLTA_I32 if ctypes.sizeof(ctypes.c_long) == 4 else None}

numpy: Any = None  # everything works without: arrays are then memoryviews
try:
    import numpy
except ImportError:
    pass


class Memory:
    """What an array is: address, dtype (a number of native.VOLTA_F32 or VOLTA_I32) and shape. Keeps the array."""

    __slots__ = ("address", "dtype", "shape", "kept", "read_only")
    shape: Any
    kept: Any

    def __init__(self, array: Any, name: str = "the array") -> None:
        self.read_only = False
        interface = getattr(array, "__array_interface__", None)
        if interface is None and hasattr(array, "__dlpack__"):
            taken = dlpack.Taken(array, name)
            self.address, self.dtype, self.shape, self.kept = taken.address, taken.dtype, taken.shape, (taken, array)
            return
        if interface is not None:
            self.read_only = bool(interface["data"][1])
            if interface["typestr"] not in _BY_TYPE:
                raise TypeError(f"{name} is {interface['typestr']}, it must be float32 or int32")
            self.dtype = _BY_TYPE[interface["typestr"]]
            if interface.get("strides") is not None:
                raise ValueError(f"{name} is not contiguous")
            self.address, self.shape, self.kept = interface["data"][0], interface["shape"], array
            return
        view = memoryview(array)
        dtype = _BY_FORMAT.get(view.format)
        if dtype is None:
            raise TypeError(f"{name} has elements of format {view.format}, they must be float or int of 4 bytes")
        if not view.c_contiguous:
            raise ValueError(f"{name} is not contiguous")
        self.dtype, self.shape, self.read_only = dtype, view.shape, view.readonly
        if view.readonly:  # ctypes lends no address of it
            view = memoryview(bytearray(view.cast("B")))
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(view)) if view.nbytes else 0
        self.kept = view


def array_of(dtype: int, shape: Shape, address: int, owner: Any) -> Any:
    """The elements at an address as an array that keeps `owner`: NumPy's, or a memoryview where there is none."""
    count = 1
    for extent in shape:
        count *= extent
    elements = (_TYPES[dtype][1] * count).from_address(address) if count else (_TYPES[dtype][1] * 0)()
    elements._owner = owner
    if numpy is not None:
        return numpy.frombuffer(elements, dtype=_TYPES[dtype][0]).reshape(shape)
    view: Any = memoryview(elements).cast("B").cast("f" if dtype == native.VOLTA_F32 else "i")
    return view.cast("B").cast(view.format, shape) if len(shape) > 1 else view


def bytes_at(address: int, shape: Shape, owner: Any) -> Any:
    """Bytes at an address as a read-only array that keeps `owner`."""
    count = 1
    for extent in shape:
        count *= extent
    elements: Any = (ctypes.c_uint8 * count).from_address(address)
    elements._owner = owner
    if numpy is not None:
        array = numpy.frombuffer(elements, dtype="u1").reshape(shape)
        array.setflags(write=False)
        return array
    return memoryview(elements).cast("B").cast("B", tuple(shape)).toreadonly()


class Tensor(Operations, Handle):
    """A dense array of float32 or int32: of the library's own memory, over memory of another array, which it keeps, or the result
    of an operator on a tape.

    Tensor([[1.0, 2.0]]), Tensor(array), Tensor(array, requires_grad=True), Tensor.zeros((2, 3)), Tensor.wrap(array),
    from_dlpack(array). Arrays of other libraries are not copied where they are float32 or int32 and contiguous, so what is written to
    them is seen here; a tensor that requires a gradient has memory of its own unless theirs is aligned to 64 bytes. Out:
    numpy(), __array_interface__ and __dlpack__, which do not copy either; only the elements of a gradient are copied.
    """

    _release: Any = lib.volta_tensor_release
    _tape: Optional[Tape] = None  # whose record it is a result of
    _parent: Optional[Tensor] = None  # whose gradient it is
    _is_lent = False  # ended by another than this
    _requires_grad = False
    _gone = "the tensor is closed"
    _shape: Optional[Tuple[int, ...]] = None

    def __init__(self, values: Any, requires_grad: bool = False, dtype: Optional[Union[str, int]] = None,
                 ctx: Optional[Context] = None) -> None:
        context = ctx or recording.current_context()
        memory = _memory_of(values, None if dtype is None else constant("", dtype))
        is_fit = memory.address % _ALIGNMENT == 0 and not memory.read_only
        if memory.address == 0 or (requires_grad and not is_fit):
            pointer = made(lib.volta_tensor_create, context, memory.dtype, extents(memory.shape), len(memory.shape))
            ctypes.memmove(lib.volta_tensor_data(pointer), memory.address, 4 * lib.volta_tensor_elements(pointer))
            super().__init__(pointer, context)
        else:
            super().__init__(_wrapping(memory, context), context, memory)
        if requires_grad:
            self.requires_grad = True

    @classmethod
    def _of(cls, pointer: ctypes.c_void_p, context: Context, kept: Any = None, requires_grad: bool = False,
            tape: Optional[Tape] = None) -> Tensor:
        tensor = cls.__new__(cls)
        Handle.__init__(tensor, pointer, context, kept)
        tensor._requires_grad, tensor._tape, tensor._is_lent = requires_grad, tape, tape is not None
        return tensor

    @classmethod
    def _over(cls, memory: Memory, ctx: Optional[Context] = None) -> Tensor:
        context = ctx or recording.current_context()
        return cls._of(_wrapping(memory, context), context, memory)

    @classmethod
    def zeros(cls, shape: Shape, dtype: Union[str, int] = "f32", ctx: Optional[Context] = None) -> Tensor:
        context = ctx or recording.current_context()
        return cls._of(made(lib.volta_tensor_create, context, constant("", dtype), extents(shape), len(shape)), context)

    @classmethod
    def full(cls, shape: Shape, value: float, dtype: Union[str, int] = "f32", ctx: Optional[Context] = None) -> Tensor:
        return cls.zeros(shape, dtype, ctx).fill(value)

    @classmethod
    def ones(cls, shape: Shape, dtype: Union[str, int] = "f32", ctx: Optional[Context] = None) -> Tensor:
        return cls.full(shape, 1, dtype, ctx)

    @classmethod
    def wrap(cls, array: Any, ctx: Optional[Context] = None) -> Tensor:
        """Over the array's memory, whatever its alignment; another element type is refused."""
        return cls._over(Memory(array), ctx)

    # ---- what it is ----

    def _pointer(self) -> Any:
        pointer = self._as_parameter_
        if not pointer:
            raise InvalidState(self._gone)
        return pointer.value

    @property
    def shape(self) -> Tuple[int, ...]:
        if self._shape is None:
            self._pointer()
            self._shape = tuple(lib.volta_tensor_extent(self, axis) for axis in range(lib.volta_tensor_rank(self)))
        return self._shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many elements it has."""
        self._pointer()
        return int(lib.volta_tensor_elements(self))

    @property
    def dtype(self) -> str:
        self._pointer()
        return "i32" if lib.volta_tensor_dtype(self) == native.VOLTA_I32 else "f32"

    # ---- its elements ----

    def _data(self) -> int:
        """Where they are; of a result or gradient they are computed if need be."""
        pointer = self._pointer()
        if self._parent is not None and not lib.volta_tensor_grad(self._parent):
            raise InvalidState("the gradient has been zeroed")
        if self._tape is not None:
            self._tape.at_caller()
        address = lib.volta_tensor_data(pointer)
        if not address:
            check(lib.volta_last_status())
        return address or 0

    def array(self) -> Any:
        """Its elements, for reading and writing: a NumPy array, or a memoryview where NumPy is not installed. Elements of a gradient
        are a copy: their memory is used again."""
        address, of = self._data(), self
        if self._tape is not None:
            self._keep()  # the array's memory is the tensor's from now on
        elif self._parent is not None:
            of = self._copied()
            address = lib.volta_tensor_data(of) or 0
        return array_of(lib.volta_tensor_dtype(of), of.shape, address, of)

    def numpy(self) -> Any:
        """array(), and an error where NumPy is not installed."""
        if numpy is None:
            raise ImportError("NumPy is not installed: array() gives a memoryview")
        return self.array()

    def _assign(self, other: Tensor) -> None:
        """The elements of another tensor of this shape."""
        ctypes.memmove(self._data(), other._data(), 4 * lib.volta_tensor_elements(self))

    def _copied(self) -> Tensor:
        address = self._data()
        copy = Tensor.zeros(self.shape, self.dtype, self._kept[0])
        ctypes.memmove(lib.volta_tensor_data(copy), address, 4 * lib.volta_tensor_elements(copy))
        return copy

    def tolist(self) -> Any:
        """Nested lists, or a number."""
        elements = self.array()
        if self.shape or numpy is not None:
            return elements.tolist()
        return elements[0]

    def item(self) -> Union[float, int]:
        """The one element."""
        value = ctypes.c_double()
        if self._tape is not None:
            self._tape.at_caller()
        check(lib.volta_tensor_item(self._pointer(), ctypes.byref(value)))
        return int(value.value) if self.dtype == "i32" else value.value

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __bool__(self) -> bool:
        return bool(self.item())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a tensor of no axes")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        try:
            text = (numpy.array2string(self.array(), separator=", ", prefix="Tensor(") if numpy is not None
                    else repr(self.tolist()))
        except InvalidState as error:
            return f"<Tensor: {error}>"
        return f"Tensor({text}{', dtype=i32' if self.dtype == 'i32' else ''}{', requires_grad=True' if self.requires_grad else ''})"

    def fill(self, value: float) -> Tensor:
        """Sets every element, and gives the tensor."""
        check(lib.volta_tensor_fill(self, value))
        return self

    def arange(self, start: float = 0, step: float = 1) -> Tensor:
        """Sets element i to start + i * step, and gives the tensor."""
        check(lib.volta_tensor_arange(self, start, step))
        return self

    def random(self, init: str, a: float = 0.0, b: float = 0.0, *, seed: int, stream: int = 0) -> Tensor:
        """Draws what a parameter of this shape starts with in a model made from the seed; stream: its number in the graph. init:
        "constant" (a), "normal" (deviation a) or "uniform" (a to b). Gives the tensor."""
        start = native.volta_init(constant("INIT", init), a, b)
        check(lib.volta_tensor_random(self, ctypes.byref(start), seed, stream))
        return self

    def __str__(self) -> str:
        """As NumPy prints an array."""
        return lent_text(lib.volta_tensor_print, self)

    def compare(self, expected: Any, rtol: float = 0, atol: float = 0) -> Info:
        """How far it is from a tensor or array: is_equal, differing, first, largest_absolute, largest_relative and largest_ulps.
        Tolerances of 0: by bits."""
        other = expected if isinstance(expected, Tensor) else Tensor.wrap(expected, self._kept[0])
        report = native.volta_comparison()
        check(lib.volta_tensor_compare(self, other, rtol, atol, ctypes.byref(report)))
        return fields_of(report)

    @property
    def __array_interface__(self) -> Info:
        array = self.array()
        if numpy is not None:
            return {**array.__array_interface__, "shape": self.shape}
        return {"version": 3, "shape": self.shape, "typestr": _TYPES[lib.volta_tensor_dtype(self)][0],
                "data": (self._data(), False)}

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Optional[Tuple[int, int]] = None,
                   copy: Optional[bool] = None) -> Any:
        if stream is not None or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("the tensor is in the processor's memory")
        of = self._copied() if copy or self._parent is not None else self
        address = of._data()
        if of._tape is not None:
            of._keep()
        return dlpack.given(address, lib.volta_tensor_dtype(of), of.shape, of)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (1, 0)  # the processor's memory

    # ---- gradients ----

    @property
    def requires_grad(self) -> bool:
        """Whether backward() gives it a gradient, or goes through it."""
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, required: bool) -> None:
        check(lib.volta_tensor_set_requires_grad(self._pointer(), int(required)))
        self._requires_grad = required

    @property
    def grad(self) -> Optional[Tensor]:
        """The gradient since it was last zeroed, None if there is none. It follows what later calls of backward() add."""
        pointer = lib.volta_tensor_grad(self._pointer())
        if not pointer:
            return None
        gradient = Tensor._of(ctypes.c_void_p(pointer), self._kept[0], kept=self)
        gradient._is_lent, gradient._parent = True, self
        return gradient

    def backward(self) -> None:
        """Adds the gradient of this, of one element, to grad of the tensors that require one."""
        if self._tape is None:
            raise InvalidState(self._gone if not self._as_parameter_ else
                               "backward: the loss is no result of a tape's record, or the record has ended")
        self._tape.backward(self)

    def zero_grad(self) -> None:
        check(lib.volta_tensor_zero_grad(self._pointer()))

    def detach(self) -> Tensor:
        """The same elements, through which no gradient goes back."""
        return recording.current_tape().detach(self)

    # ---- records ----

    def keep(self) -> Tensor:
        """A result outlives the record, as results of an eager tape do anyway. Gives the tensor itself."""
        self._pointer()
        self._keep()
        return self

    def _keep(self) -> None:
        if self._tape is not None and self._is_lent:
            check(lib.volta_tensor_keep(self))
            self._is_lent = False

    def _record_ended(self, sentence: str) -> None:
        self._tape, self._requires_grad = None, False
        if self._is_lent:
            self._as_parameter_, self._gone = NONE, sentence

    def close(self) -> None:
        if self._is_lent:
            self._as_parameter_ = NONE
        super().close()

    def __del__(self) -> None:
        if not self._is_lent:  # most are results, and there is nothing to do
            super().__del__()


_ALIGNMENT = 64  # of elements that an optimizer changes


def _wrapping(memory: Memory, context: Context) -> ctypes.c_void_p:
    return made(lib.volta_tensor_wrap, context, memory.dtype, extents(memory.shape), len(memory.shape), memory.address)


def _nested(values: Any) -> Tuple[Tuple[int, ...], List[Any]]:
    """The shape of nested lists of numbers, and the numbers."""
    if isinstance(values, (bool, int, float)):
        return (), [values]
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"a tensor is made of an array, numbers or lists of them, not of {type(values).__name__}")
    parts = [_nested(value) for value in values]
    if any(shape != parts[0][0] for shape, _ in parts):
        raise ValueError("the lists of a tensor have different lengths")
    numbers = [number for _, part in parts for number in part]
    return (len(parts),) + (parts[0][0] if parts else ()), numbers


def _memory_of(values: Any, dtype: Optional[int]) -> Memory:
    """Memory of an array as it is, where its elements are float32 or int32, else of a copy."""
    if isinstance(values, (bool, int, float, list, tuple)):
        shape, numbers = _nested(values)
        if dtype is None:
            dtype = native.VOLTA_F32 if not numbers or any(isinstance(x, float) for x in numbers) else native.VOLTA_I32
        code = "f" if dtype == native.VOLTA_F32 else "i"
        memory = Memory(new_array(code, (float(x) if code == "f" else int(x) for x in numbers)))
        memory.dtype, memory.shape = dtype, shape
        return memory
    if numpy is not None and isinstance(values, (numpy.ndarray, numpy.generic)):
        kind = values.dtype.kind
        if kind not in "fiub":
            raise TypeError(f"the array has elements of {values.dtype}, a tensor has float32 or int32")
        wanted = dtype or (native.VOLTA_F32 if kind == "f" else native.VOLTA_I32)
        if wanted == native.VOLTA_I32 and kind in "iu" and values.dtype.itemsize >= 4 and values.size and (
                values.max() > 2**31 - 1 or values.min() < -2**31):
            raise OverflowError("the array has integers that int32 cannot hold")
        shape = values.shape
        memory = Memory(numpy.ascontiguousarray(values, dtype=_TYPES[wanted][0]))
        memory.shape = shape  # NumPy makes one axis of none
        return memory
    memory = Memory(values)
    if dtype is not None and memory.dtype != dtype:
        raise TypeError(f"the array is {_TYPES[memory.dtype][0]}, asked for is {_TYPES[dtype][0]}")
    return memory


def from_dlpack(array: Any, ctx: Optional[Context] = None) -> Tensor:
    """A tensor over the memory of an array of PyTorch or another library that has __dlpack__."""
    return Tensor.wrap(array, ctx)


class _Opened(Handle):
    """What a file gave; its tensors are its own."""

    _release: Any = lib.volta_tensors_release


class _Lent(Tensor):
    """A tensor of such a file, which it keeps."""

    _release: Any = None
    _is_lent = True

    def __init__(self, pointer: int, context: Context, opened: _Opened) -> None:
        Handle.__init__(self, ctypes.c_void_p(pointer), context, opened)


def save_tensors(path: Path, tensors: Mapping[str, Any], ctx: Optional[Context] = None) -> None:
    """Writes tensors or arrays by name to a file that ends with .safetensors, .npz or, a single one, .npy."""
    context = ctx or recording.current_context()
    given = [tensor if isinstance(tensor, Tensor) else Tensor.wrap(tensor, context) for tensor in tensors.values()]
    names = (ctypes.c_char_p * len(given))(*(name.encode() for name in tensors))
    handles = (ctypes.c_void_p * len(given))(*(tensor._as_parameter_ for tensor in given))
    check(lib.volta_tensors_save(context, path_of(path), names, handles, len(given)))


def open_tensors(path: Path, ctx: Optional[Context] = None) -> Dict[str, Tensor]:
    """All tensors of such a file, of this library or another program, by name."""
    context = ctx or recording.current_context()
    opened = _Opened(made(lib.volta_tensors_open, context, path_of(path)), context)
    return {lib.volta_tensors_name(opened, i).decode(): _Lent(lib.volta_tensors_tensor(opened, i), context, opened)
            for i in range(lib.volta_tensors_count(opened))}


from . import recording  # noqa: E402  (it makes tensors)
