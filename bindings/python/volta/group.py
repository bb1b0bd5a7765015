"""Groups: processes that train one model together."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Dict, List, Optional

from . import native
from ._library import Handle, check, lib, made, struct
from .context import Context, default_context

Exchange = Callable[[int, memoryview, memoryview], Any]
_KINDS: Dict[str, Any] = {field[0]: field[1] for field in native.volta_group_options._fields_}


def _calling(exchange: Exchange, raised: List[BaseException]) -> Any:
    """It as C calls it. What it raises is carried over the library's frames in the list."""

    def call(_: Any, peer: int, send: Any, send_bytes: int, receive: Any, receive_bytes: int, text: Any, text_bytes: int) -> int:
        try:
            with _bytes_at(send, send_bytes).toreadonly() as out, _bytes_at(receive, receive_bytes) as into:
                exchange(peer, out, into)
            return native.VOLTA_OK
        except BaseException as error:
            raised.append(error)
            said = f"exchange with rank {peer} raised {type(error).__name__}: {error}".encode(errors="replace")[:text_bytes - 1]
            ctypes.memmove(text, said + b"\0", len(said) + 1)
            return native.VOLTA_IO_ERROR

    return call


def _bytes_at(address: Optional[int], count: int) -> memoryview:
    return memoryview((ctypes.c_char * count).from_address(address or 0) if count else bytearray()).cast("B")


class Group(Handle):
    """group = Group(transport="tcp", address="host:7000", rank=0, size=4); Trainer(model, shapes, shards=4, group=group, ...).
    Returns when all ranks have joined. transport: "local" (address: a folder that all of them may write), "tcp" (HOST:PORT where
    rank 0 listens), "mpi" (rank and size are what it says), "nccl" (as tcp, from device to device; library: its file) or "host", a
    transport of the program's own: exchange(peer, send, receive) sends the bytes of one memoryview to a rank and fills the other
    with what that rank sends, both ways at once; either may be empty, and both are lent for the call. What it raises ends the group,
    and is raised by the call on the trainer that it was part of.
    """

    _release: Any = lib.volta_group_release

    def __init__(self, context: Optional[Context] = None, transport: Optional[str] = None, exchange: Optional[Exchange] = None,
                 **options: Any) -> None:
        self._raised: List[BaseException] = []
        if exchange is not None:
            transport = transport or "host"
            options["exchange"] = _KINDS["exchange"](_calling(exchange, self._raised))
        given = struct(native.volta_group_options, {"transport": transport, **options})
        self.context = context or default_context()
        super().__init__(made(lib.volta_group_create, self.context, ctypes.byref(given)), self.context, given)

    def _check(self, status: int) -> None:
        """The error of a call that may have exchanged something: what exchange raised, where it did, else the library's."""
        raised = self._raised[:]
        self._raised.clear()
        if raised and status != native.VOLTA_OK:
            raise raised[0]
        check(status)

    @property
    def rank(self) -> int:
        return int(lib.volta_group_rank(self))

    @property
    def size(self) -> int:
        return int(lib.volta_group_size(self))
