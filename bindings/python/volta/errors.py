"""Exceptions: one for each status, all of them volta.Error. The text is the library's own sentence."""

from __future__ import annotations

from typing import Optional

from . import native


class Error(Exception):
    """A call failed. `status` is its number, native.VOLTA_INVALID_ARGUMENT for one."""

    status = None

    def __init__(self, text: str, status: Optional[int] = None) -> None:
        super().__init__(text)
        if status is not None:
            self.status = status


class InvalidArgument(Error, ValueError):
    """The call itself is wrong: the same call fails again."""

    status = native.VOLTA_INVALID_ARGUMENT


class InvalidState(Error):
    """A right call at the wrong moment."""

    status = native.VOLTA_INVALID_STATE


class ShapeMismatch(Error, ValueError):
    """Well-formed tensors that do not fit the graph."""

    status = native.VOLTA_SHAPE_MISMATCH


class OutOfMemory(Error, MemoryError):
    """The system or a budget said no."""

    status = native.VOLTA_OUT_OF_MEMORY


class IoError(Error, OSError):
    """A file could not be read or written."""

    status = native.VOLTA_IO_ERROR


class CorruptModel(Error, ValueError):
    """A file was read and is not valid."""

    status = native.VOLTA_CORRUPT_MODEL


class Unsupported(Error, NotImplementedError):
    """Valid, but this build or device cannot do it."""

    status = native.VOLTA_UNSUPPORTED


class DeviceError(Error):
    """The accelerator failed; the context stays usable."""

    status = native.VOLTA_DEVICE_ERROR


class InternalError(Error):
    """A bug in Volta."""

    status = native.VOLTA_INTERNAL


class NotFinite(Error, ArithmeticError):
    """A loss, gradient or logit is NaN or infinite; nothing was written."""

    status = native.VOLTA_NOT_FINITE


class Cancelled(Error):
    """A callback asked to stop, or raised."""

    status = native.VOLTA_CANCELLED


_BY_STATUS = {kind.status: kind for kind in (InvalidArgument, InvalidState, ShapeMismatch, OutOfMemory, IoError,
                                             CorruptModel, Unsupported, DeviceError, InternalError, NotFinite,
                                             Cancelled)}


def error_of(status: int, text: bytes) -> Error:
    return _BY_STATUS.get(status, Error)(text.decode(errors="replace"), status)
