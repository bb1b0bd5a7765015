"""Arrays in and out without copies: anything with a buffer or __array_interface__ goes in, NumPy or a view comes out."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Optional, Tuple, Union

from . import native
from ._library import Handle, constant, extents, lib, made
from .aliases import Info, Shape
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

    __slots__ = ("address", "dtype", "shape", "kept")

    def __init__(self, array: Any, name: str = "the array") -> None:
        interface = getattr(array, "__array_interface__", None)
        if interface is None and numpy is not None and hasattr(array, "__dlpack__"):
            array = numpy.from_dlpack(array)
            interface = array.__array_interface__
        if interface is not None:
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
        self.dtype, self.shape = dtype, view.shape
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


class Tensor(Handle):
    """A dense array of the library, of zeros, or over memory of another array, which it keeps.

    Tensor((2, 3)), Tensor((2, 3), "i32"), Tensor.wrap(array). It has the buffer protocol's part by array(), and
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

    @property
    def __array_interface__(self) -> Info:
        return {"version": 3, "shape": self.shape, "typestr": _TYPES[lib.volta_tensor_dtype(self)][0],
                "data": (lib.volta_tensor_data(self), False)}

    def __dlpack__(self, **request: Any) -> Any:
        return self.array().__dlpack__(**request)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (1, 0)  # the processor's memory

    def __len__(self) -> int:
        return self.shape[0]
