"""A context: threads, instruction set, device and memory of everything that is made in it."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Callable, Dict, Iterator, Optional

from . import native
from ._library import Handle, check, fields_of, lib, made, struct
from .aliases import Info
from .interrupt import Cancel, Interrupt
from .tuning import Tuning

_CONSTANTS = {"level": "", "isa": "ISA", "precision": "PRECISION", "step_order": "STEP_ORDER"}


class Context(Tuning, Handle):
    """Everything is made in a context, and used by one thread at a time with all that was made from it.

    Context(threads=2, isa="avx2", level="strict", device="cpu", precision="fp32", log=print, tuning_folder=...,
    kernel_folder=..., host_budget=bytes, device_budget=bytes, flags=native.VOLTA_CONTEXT_NO_JIT). Without arguments: a
    thread for each core, the best instruction set, strict. `log(level, line)` is called with warnings and remarks. allocator:
    a native.volta_allocator, whose functions any thread of the library may call. parallel_for(count, part): runs part(i) once for each i
    below count, on threads of the program, and returns when all have ended; the context then has no threads of its own.
    """

    _release: Any = lib.volta_context_release

    def __init__(self, threads: int = 0, log: Optional[Callable[[int, str], Any]] = None, **options: Any) -> None:
        options["thread_count"] = threads
        kinds: Dict[str, Any] = {field[0]: field[1] for field in native.volta_context_options._fields_}
        self._log = None
        if log is not None:
            self._log = kinds["log"](lambda _, level, line: log(level, ctypes.string_at(line).decode()))
            options["log"] = self._log
        parallel_for = options.get("parallel_for")
        if callable(parallel_for) and not isinstance(parallel_for, kinds["parallel_for"]):
            def run(_: Any, count: int, part: Any, user: Any) -> None:
                parallel_for(count, lambda index: part(user, index))

            options["parallel_for"] = kinds["parallel_for"](run)
        allocator = options.get("allocator")
        if allocator is not None:
            options["allocator"] = ctypes.pointer(allocator)
        given = struct(native.volta_context_options, options, _CONSTANTS)
        super().__init__(made(lib.volta_context_create, ctypes.byref(given)), given)

    @contextlib.contextmanager
    def stopping(self, cancel: Optional[Cancel] = None, max_seconds: float = 0.0) -> Iterator[None]:
        """with context.stopping(max_seconds=10): model.evaluate_tokens(tokens). Within, a long call on this context (a step, an
        evaluation, an import, a save) ends with Cancelled between two pieces of its work when it is late, when cancel.request() was
        called, or at Ctrl-C, which then raises KeyboardInterrupt. Nothing is lost; the same call made again does the same work."""
        own = cancel or Cancel()
        ask: Any = {field[0]: field[1] for field in native.volta_stop_options._fields_}["should_stop"]
        options = native.volta_stop_options(cancel=ctypes.pointer(own._cancel), max_seconds=max_seconds)
        options.should_stop = ask(lambda _: 0)  # a place where Ctrl-C is noticed
        check(lib.volta_context_set_stop(self, ctypes.byref(options)))
        try:
            with Interrupt(own.request):
                yield
        finally:
            check(lib.volta_context_set_stop(self, None))

    @property
    def info(self) -> Info:
        """What is in use and what was asked of memory, a dict: threads, isa, cpu, tensor_bytes_peak ..."""
        info = native.volta_context_info()
        check(lib.volta_context_get_info(self, ctypes.byref(info)))
        return fields_of(info)

    @property
    def device(self) -> Info:
        """The device of the context, a dict."""
        info = native.volta_device_info()
        check(lib.volta_context_get_device(self, ctypes.byref(info)))
        return fields_of(info)

    def measure_machine(self) -> Info:
        """The most that the device does, measured now, a dict."""
        speed = native.volta_machine_speed()
        check(lib.volta_measure_machine(self, ctypes.byref(speed)))
        return fields_of(speed)


_default = None


def default_context() -> Context:
    """The context of whatever is made without one: as many threads as cores, strict."""
    global _default
    if _default is None or _default.closed:
        _default = Context()
    return _default


def device_count(backend: str = "cuda") -> int:
    count = ctypes.c_uint32()
    check(lib.volta_device_count(backend.encode(), ctypes.byref(count)))
    return count.value


def describe_device(backend: str = "cuda", index: int = 0) -> Info:
    info = native.volta_device_info()
    check(lib.volta_device_describe(backend.encode(), index, ctypes.byref(info)))
    return fields_of(info)
