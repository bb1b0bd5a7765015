"""Finds and loads the two libraries and calls them: a status that is not OK becomes an exception with its sentence."""

from __future__ import annotations

from .aliases import Path, Info, Shape

import ctypes
import ctypes.util
import os
from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Union

from . import native
from .errors import error_of

HERE = os.path.dirname(os.path.abspath(__file__))
NONE = ctypes.c_void_p()  # a handle that there is not


def _paths(name: str) -> Iterator[str]:
    """In VOLTA_LIBRARIES, beside this file (a wheel), in the build of the tree that this file is in, else where the system
    looks."""
    if os.environ.get("VOLTA_LIBRARIES"):
        yield os.path.join(os.environ["VOLTA_LIBRARIES"], f"lib{name}.so.1")
    yield os.path.join(HERE, f"lib{name}.so.1")
    yield os.path.join(HERE, "..", "..", "..", "build", f"lib{name}.so.1")
    yield ctypes.util.find_library(name) or f"lib{name}.so.1"


def _load(name: str, functions: Dict[str, Any]) -> ctypes.CDLL:
    paths = [path for path in _paths(name) if os.path.exists(path) or os.sep not in path]
    library = ctypes.CDLL(paths[0])
    for function, (returns, takes) in functions.items():
        entry = getattr(library, function)
        entry.restype, entry.argtypes = returns, takes
    return library


lib: Any = _load("volta", native.VOLTA_FUNCTIONS)
_data: Any = None


def data() -> Any:
    """libvolta_data, loaded when it is first asked for."""
    global _data
    if _data is None:
        _data = _load("volta_data", native.VOLTA_DATA_FUNCTIONS)
    return _data


def check(status: int) -> None:
    if status != native.VOLTA_OK:
        raise error_of(status, lib.volta_last_error())


def check_data(status: int) -> None:
    if status != native.VOLTA_OK:
        raise error_of(status, data().volta_data_last_error())


def text_of(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else value.decode()


def path_of(path: Path) -> bytes:
    return os.fsencode(path)


class Handle:
    """An object of the library. `with` or close() ends it; else the collector does. Closing twice is fine."""

    _release: Any = None  # name of the function that ends it

    def __init__(self, pointer: ctypes.c_void_p, *kept: Any) -> None:
        self._as_parameter_ = pointer
        self._kept = kept  # what must not be closed by the collector before this

    @property
    def closed(self) -> bool:
        return not self._as_parameter_

    def close(self) -> None:
        pointer, self._as_parameter_ = getattr(self, "_as_parameter_", NONE), NONE
        if pointer and self._release is not None:
            self._release(pointer)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # the interpreter is ending: what it had is gone already
            pass


def made(function: Any, *arguments: Any) -> ctypes.c_void_p:
    """The handle that a function of the kind (..., out) makes."""
    out = ctypes.c_void_p()
    check(function(*arguments, ctypes.byref(out)))
    return out


def lent_text(function: Any, handle: Any) -> str:
    """The text that a function of the kind (handle, out text) lends."""
    out = ctypes.c_char_p()
    check(function(handle, ctypes.byref(out)))
    return (out.value or b"").decode()


def hash_of(function: Any, handle: Any, checked: Callable[[int], None] = check) -> str:
    text = ctypes.create_string_buffer(33)
    checked(function(handle, text))
    return text.value.decode()


def extents(shape: Shape) -> Any:
    return (ctypes.c_int64 * len(shape))(*shape)


def texts(values: Sequence[Path]) -> Any:
    return (ctypes.c_char_p * len(values))(*(os.fsencode(value) for value in values))


def constant(prefix: str, value: Union[str, int]) -> int:
    """A constant of the header by the end of its name, in small letters, or by its number: constant("ISA", "avx2")."""
    if isinstance(value, int):
        return value
    name = f"VOLTA_{prefix}_{value}".upper() if prefix else f"VOLTA_{value}".upper()
    number = getattr(native, name, None)
    if not isinstance(number, int):
        known = [word[len(f"VOLTA_{prefix}_"):].lower() for word in vars(native) if prefix and word.startswith(f"VOLTA_{prefix}_")]
        raise ValueError(f"{value!r} is none of {', '.join(known)}" if known else f"{value!r} is not known")
    return number


def struct(kind: Any, fields: Dict[str, Any], constants: Optional[Dict[str, str]] = None) -> Any:
    """An options struct of keyword arguments. Texts become bytes; `constants` says which fields are names of constants.
    What pointers point to is kept with the struct."""
    made_of = {}
    known = {name for name, _ in kind._fields_}
    for name, value in fields.items():
        if name not in known:
            raise TypeError(f"{kind.__name__} has no {name}; it has {', '.join(sorted(known - {'struct_size'}))}")
        if value is None:
            continue
        if constants and name in constants:
            value = constant(constants[name], value)
        elif isinstance(value, (str, os.PathLike)):
            value = os.fsencode(value)
        made_of[name] = value
    options = kind(**made_of)
    options._kept = made_of
    return options


def fields_of(value: Any) -> Info:
    """A struct as a dict of its fields, texts decoded."""
    found = {}
    for name, _ in value._fields_:
        if name not in ("struct_size", "reserved"):
            field = getattr(value, name)
            found[name] = field.decode() if isinstance(field, bytes) else field
    return found
