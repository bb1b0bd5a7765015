"""Tuning and the profiler: what makes a context faster, and where its time goes. Methods of Context."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Tuple, Union

from . import native
from ._library import check, fields_of, lib, path_of
from .aliases import Info, Path

if TYPE_CHECKING:
    from .context import Context
    from .session import Session
    from .trainer import Trainer

Product = Union[Tuple[int, int, int], Dict[str, int]]  # (m, n, k), or the fields of volta_tune_shape
_PROGRESS: Any = {field[0]: field[1] for field in native.volta_tune_options._fields_}["progress"]


def _shape(product: Product) -> native.volta_tune_shape:
    return native.volta_tune_shape(**product) if isinstance(product, dict) else native.volta_tune_shape(*product)


def _report(report: Any) -> Info:
    found = fields_of(report)
    found["shape"] = fields_of(report.shape)
    return found


class Tuning:
    """What Context inherits."""

    def tune(self, session: Optional[Session] = None, trainer: Optional[Trainer] = None, products: Iterable[Product] = (),
             seconds: float = 0.0, runs: int = 0, warmup: int = 0, progress: Optional[Callable[[Info], Any]] = None) -> None:
        """Searches the fastest way through products, (m, n, k) or all of a session and a trainer, for this machine. No choice changes
        a bit of any result. progress(report) may return False to stop; what was tuned by then is kept."""
        shapes = [_shape(product) for product in products]
        listed, raised = (native.volta_tune_shape * len(shapes))(*shapes), []

        def told(_: Any, report: Any) -> int:
            try:
                return int(progress is not None and progress(_report(report.contents)) is False)
            except BaseException as error:  # carried over the library's frames
                raised.append(error)
                return 1

        options = native.volta_tune_options(
            shapes=ctypes.cast(listed, ctypes.POINTER(native.volta_tune_shape)), shape_count=len(shapes),
            session=session._as_parameter_ if session is not None else None,
            trainer=trainer._as_parameter_ if trainer is not None else None, runs=runs, warmup=warmup, seconds=seconds)
        options.progress = _PROGRESS(told)
        status = lib.volta_tune(self, ctypes.byref(options))
        if raised:
            raise raised[0]
        check(status)

    def explain_matmul(self, product: Product, packed_once: bool = False, from_memory: bool = False) -> str:
        """Why a product is computed as it is: rules, schedule, kernel. Lines for people."""
        use = packed_once * native.VOLTA_EXPLAIN_PACKED_ONCE | from_memory * native.VOLTA_EXPLAIN_FROM_MEMORY
        shape, count = _shape(product), ctypes.c_size_t()

        def ask(text: Any, capacity: int) -> None:
            check(lib.volta_explain_matmul(self, ctypes.byref(shape), use, text, capacity, ctypes.byref(count)))

        ask(None, 0)
        text = ctypes.create_string_buffer(count.value + 1)
        ask(text, count.value + 1)
        return text.value.decode()

    def profile(self, capacity: int = 0) -> Profile:
        """with context.profile() as profile: ...; then profile.operators, profile.write_trace("trace.json")."""
        return Profile(self, capacity)


class Profile:
    """What a context did between the beginning and the end of a `with`."""

    def __init__(self, context: Any, capacity: int) -> None:
        self._context, self._capacity = context, capacity

    def __enter__(self) -> Profile:
        options = native.volta_profile_options(capacity=self._capacity)
        check(lib.volta_profile_start(self._context, ctypes.byref(options)))
        return self

    def __exit__(self, *_: Any) -> None:
        check(lib.volta_profile_stop(self._context))

    @property
    def info(self) -> Info:
        """How many events and operators, and how long, a dict."""
        info = native.volta_profile_info()
        check(lib.volta_profile_get_info(self._context, ctypes.byref(info)))
        return fields_of(info)

    @property
    def operators(self) -> List[Info]:
        """All steps of each operator, the longest total first: dicts of name, calls, total_ns, share, operations, bytes."""
        rows = []
        for index in range(self.info["operator_count"]):
            row = native.volta_profile_operator()
            check(lib.volta_profile_get_operator(self._context, index, ctypes.byref(row)))
            rows.append(fields_of(row))
        return rows

    @property
    def events(self) -> List[Info]:
        """All that was kept, dicts."""
        rows = []
        for index in range(self.info["event_count"]):
            event = native.volta_profile_event()
            check(lib.volta_profile_get_event(self._context, index, ctypes.byref(event)))
            rows.append(fields_of(event))
        return rows

    def write_trace(self, path: Path) -> None:
        """In the Chrome trace event format, for Perfetto."""
        check(lib.volta_profile_write_trace(self._context, path_of(path)))
