"""DLPack both ways, without NumPy: arrays of PyTorch and others in, tensors of the library out. Nothing is copied."""

from __future__ import annotations

import ctypes as c
from typing import Any, Dict, Tuple

from . import native

_CPU, _CUDA_HOST = 1, 3  # kDLCPU, kDLCUDAHost
_INT, _FLOAT = 0, 2
_TYPES = {native.VOLTA_F32: (_FLOAT, 32), native.VOLTA_I32: (_INT, 32)}
_NAME, _USED = b"dltensor", b"used_dltensor"


class _Device(c.Structure):
    _fields_ = [("kind", c.c_int32), ("index", c.c_int32)]


class _Type(c.Structure):
    _fields_ = [("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16)]


class _Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device", _Device), ("ndim", c.c_int32), ("dtype", _Type),
                ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


class _Managed(c.Structure):
    _fields_ = [("tensor", _Tensor), ("context", c.c_void_p), ("deleter", c.c_void_p)]


_DELETER = c.CFUNCTYPE(None, c.c_void_p)


def _api(name: str, returns: Any, *takes: Any) -> Any:
    return c.PYFUNCTYPE(returns, *takes)((name, c.pythonapi))


# A capsule as an address where it is being ended: an object that is going is not to be held.
_is_valid = _api("PyCapsule_IsValid", c.c_int, c.c_void_p, c.c_char_p)
_pointer_at = _api("PyCapsule_GetPointer", c.c_void_p, c.c_void_p, c.c_char_p)
_new = _api("PyCapsule_New", c.py_object, c.c_void_p, c.c_char_p, c.c_void_p)
_pointer = _api("PyCapsule_GetPointer", c.c_void_p, c.py_object, c.c_char_p)
_rename = _api("PyCapsule_SetName", c.c_int, c.py_object, c.c_char_p)

_lent: Dict[int, Any] = {}  # what others look at: address of the struct -> all that it points to


def _forget(address: int, lent: Dict[int, Any] = _lent) -> None:
    lent.pop(address, None)


def _end_capsule(capsule: int) -> None:
    if _is_valid(capsule, _NAME):  # nobody took it
        _forget(_pointer_at(capsule, _NAME))


_delete, _end = _DELETER(_forget), _DELETER(_end_capsule)
for _function in (_delete, _end):  # others may call them when this module is gone
    c.pythonapi.Py_IncRef(c.py_object(_function))


def given(address: int, dtype: int, shape: Tuple[int, ...], owner: Any) -> Any:
    """A capsule of the elements at an address, which keeps `owner`."""
    extents = (c.c_int64 * max(len(shape), 1))(*shape)
    code, bits = _TYPES[dtype]
    managed = _Managed(_Tensor(address, _Device(_CPU, 0), len(shape), _Type(code, bits, 1), extents, None, 0), None,
                       c.cast(_delete, c.c_void_p))
    where = c.addressof(managed)
    _lent[where] = (managed, extents, owner)
    return _new(where, _NAME, c.cast(_end, c.c_void_p))


class Taken:
    """What another library's capsule has: address, dtype, shape. It gives the memory back when it goes."""

    def __init__(self, array: Any, name: str) -> None:
        device = array.__dlpack_device__()
        if device[0] not in (_CPU, _CUDA_HOST):
            raise ValueError(f"{name} is on a device, it must be in the processor's memory")
        capsule = array.__dlpack__()
        self._managed = _Managed.from_address(_pointer(capsule, _NAME))
        _rename(capsule, _USED)  # from here on it is ours to end
        tensor = self._managed.tensor
        known = {value: key for key, value in _TYPES.items()}
        dtype = known.get((tensor.dtype.code, tensor.dtype.bits)) if tensor.dtype.lanes == 1 else None
        if dtype is None:
            raise TypeError(f"{name} has elements of DLPack's type {tensor.dtype.code} of {tensor.dtype.bits} bits, they must be "
                            "float or int of 32")
        self.dtype, self.shape = dtype, tuple(tensor.shape[: tensor.ndim])
        self.address = (tensor.data or 0) + tensor.byte_offset
        dense = 1
        for extent, stride in zip(reversed(self.shape), reversed(tensor.strides[: tensor.ndim]) if tensor.strides else ()):
            if extent > 1 and stride != dense and 0 not in self.shape:
                raise ValueError(f"{name} is not contiguous")
            dense *= extent

    def __del__(self) -> None:
        managed = getattr(self, "_managed", None)
        if managed is not None and managed.deleter:
            self._managed = None  # type: ignore[assignment]
            _DELETER(managed.deleter)(c.addressof(managed))
