"""Requests to end. Ctrl-C within a call of the library: it asks the call to end, and is raised when the call has returned."""

from __future__ import annotations

import ctypes
import signal
import threading
from typing import Any, Callable

from . import native
from ._library import lib


class Cancel:
    """Asks a writing, or a long call within Context.stopping, to end, from any thread: cancel.request()."""

    def __init__(self) -> None:
        self._cancel = native.volta_cancel()

    def request(self) -> None:
        lib.volta_cancel_request(ctypes.byref(self._cancel))


class Interrupt:
    """`with Interrupt(request):` while a call runs whose callbacks are Python's. In the main thread a signal that comes calls
    request(); leaving the block then does what the signal would have done, which is to raise KeyboardInterrupt. The library's frames
    are never left by an exception."""

    def __init__(self, request: Callable[[], None]) -> None:
        self._request = request
        self._before: Any = None
        self._came = False

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT)):
            self._before = signal.signal(signal.SIGINT, self._noticed)
        return self

    def _noticed(self, number: int, frame: Any) -> None:
        self._came = True
        self._request()

    def __exit__(self, *_: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            if self._came:
                self._before(signal.SIGINT, None)
