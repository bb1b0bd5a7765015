"""Arrays in and out without copies: anything with a buffer or __array_interface__ goes in, NumPy or a view comes out."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Tuple, Union

from . import dlpack, native
from ._library import Handle, check, constant, extents, fields_of, lent_text, lib, made, path_of
from .aliases import Info, Path, Shape
from .context import default_context

if TYPE_CHECKING:
    from .context import Context

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


class Tensor(Handle):
    """A dense array of the library, of zeros, or over memory of another array, which it keeps.

    Tensor((2, 3)), Tensor((2, 3), "i32"), Tensor.wrap(array), from_dlpack(array). It has the buffer protocol's part by array(), and
    __array_interface__ and __dlpack__ for NumPy, PyTorch and others; none of them copies.
    """

    _release: Any = lib.volta_tensor_release

    def __init__(self, shape: Shape, dtype: Union[str, int] = "f32", ctx: Optional[Context] = None,
                 _wrapped: Optional[Memory] = None) -> None:
        context = ctx or default_context()
        number = dtype if isinstance(dtype, int) else constant("", dtype)
        if _wrapped is not None:
            pointer = made(lib.volta_tensor_wrap, context, number, extents(shape), len(shape), _wrapped.address)
        else:
            pointer = made(lib.volta_tensor_create, context, number, extents(shape), len(shape))
        super().__init__(pointer, context, _wrapped)

    @classmethod
    def wrap(cls, array: Any, ctx: Optional[Context] = None) -> Tensor:
        memory = Memory(array)
        return cls(memory.shape, memory.dtype, ctx, memory)

    @property
    def shape(self) -> Tuple[int, ...]:
        return tuple(lib.volta_tensor_extent(self, axis) for axis in range(lib.volta_tensor_rank(self)))

    @property
    def dtype(self) -> str:
        return "i32" if lib.volta_tensor_dtype(self) == native.VOLTA_I32 else "f32"

    def array(self) -> Any:
        """Its elements, for reading and writing: a NumPy array, or a memoryview where NumPy is not installed."""
        return array_of(lib.volta_tensor_dtype(self), self.shape, lib.volta_tensor_data(self), self)

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
        return {"version": 3, "shape": self.shape, "typestr": _TYPES[lib.volta_tensor_dtype(self)][0],
                "data": (lib.volta_tensor_data(self), False)}

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Optional[Tuple[int, int]] = None,
                   copy: Optional[bool] = None) -> Any:
        if stream is not None or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("the tensor is in the processor's memory")
        of = self
        if copy:
            of = Tensor(self.shape, self.dtype, self._kept[0])
            ctypes.memmove(lib.volta_tensor_data(of), lib.volta_tensor_data(self), 4 * lib.volta_tensor_elements(self))
        return dlpack.given(lib.volta_tensor_data(of) or 0, lib.volta_tensor_dtype(of), of.shape, of)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (1, 0)  # the processor's memory

    def __len__(self) -> int:
        return self.shape[0]


def from_dlpack(array: Any, ctx: Optional[Context] = None) -> Tensor:
    """A tensor over the memory of an array of PyTorch or another library that has __dlpack__."""
    return Tensor.wrap(array, ctx)


class _Opened(Handle):
    """What a file gave; its tensors are its own."""

    _release: Any = lib.volta_tensors_release


class _Lent(Tensor):
    """A tensor of such a file, which it keeps."""

    _release: Any = None

    def __init__(self, pointer: int, context: Context, opened: _Opened) -> None:
        Handle.__init__(self, ctypes.c_void_p(pointer), context, opened)


def save_tensors(path: Path, tensors: Mapping[str, Any], ctx: Optional[Context] = None) -> None:
    """Writes tensors or arrays by name to a file that ends with .safetensors, .npz or, a single one, .npy."""
    context = ctx or default_context()
    given = [tensor if isinstance(tensor, Tensor) else Tensor.wrap(tensor, context) for tensor in tensors.values()]
    names = (ctypes.c_char_p * len(given))(*(name.encode() for name in tensors))
    handles = (ctypes.c_void_p * len(given))(*(tensor._as_parameter_ for tensor in given))
    check(lib.volta_tensors_save(context, path_of(path), names, handles, len(given)))


def open_tensors(path: Path, ctx: Optional[Context] = None) -> Dict[str, Tensor]:
    """All tensors of such a file, of this library or another program, by name."""
    context = ctx or default_context()
    opened = _Opened(made(lib.volta_tensors_open, context, path_of(path)), context)
    return {lib.volta_tensors_name(opened, i).decode(): _Lent(lib.volta_tensors_tensor(opened, i), context, opened)
            for i in range(lib.volta_tensors_count(opened))}
