"""Tapes: where operators on tensors are recorded and computed. Each thread has a current one."""

from __future__ import annotations

import contextlib
import ctypes
import json as _json
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from . import native
from . import tensor as _tensor
from ._library import Handle, check, constant, extents, fields_of, lent_text, lib, made, struct
from .aliases import Info, Operand
from .context import Context, default_context
from .errors import Error, InvalidState, error_of

if TYPE_CHECKING:
    from .model import Model

_CALLS_OF_A_RECORD = 1024  # of an eager tape that nobody resets
_ENDED = ("a result of a record that has ended: mark it with keep() before the tape's reset, or read it before")

_OF_INTEGERS = {"less", "less_equal", "equal", "argmax", "position_ids"}  # whose results are

_pointers: Dict[int, Any] = {}  # how many -> the type of an array of handles
_files: Dict[str, bytes] = {}


def handles(count: int, *pointers: Any) -> Any:
    """An array of so many, which begins with these."""
    kind = _pointers.get(count)
    if kind is None:
        kind = _pointers[count] = ctypes.c_void_p * max(count, 1)
    return kind(*pointers)


def _place() -> Tuple[bytes, int]:
    """The file and line of whoever called this package."""
    frame = sys._getframe(2)
    while frame.f_globals.get("__package__") == __package__ and frame.f_back is not None:
        frame = frame.f_back
    name = frame.f_code.co_filename
    file = _files.get(name)
    if file is None:
        file = _files[name] = name.encode(errors="replace")
    return file, frame.f_lineno


def _attributes(given: Dict[str, Any]) -> Tuple[Any, List[Any]]:
    kept: List[Any] = []
    listed = (native.volta_attribute * len(given))()
    for attribute, (name, value) in zip(listed, given.items()):
        attribute.name = name.encode()
        if isinstance(value, (list, tuple)):
            integers = extents(value)
            kept.append(integers)
            attribute.integers, attribute.integer_count = ctypes.addressof(integers), len(value)
        else:
            attribute.number = float(value)
    return listed, kept


class Tape(Handle):
    """Tape(mode="eager" or "lazy", seed=0, one_segment=False, ctx=None, most_plans=0); volta.tape(...) makes it the current one.

    What is called between two resets is a record. Results of an eager tape that Python holds outlive it; of a lazy one those that
    keep() marked, and those of one element that an optimizer's step has computed."""

    _release: Any = lib.volta_tape_release

    def __init__(self, mode: Union[str, int] = "eager", seed: int = 0, one_segment: bool = False,
                 ctx: Optional[Context] = None, most_plans: int = 0) -> None:
        context = ctx or default_context()
        number = constant("TAPE", mode)
        options = struct(native.volta_tape_options, {"mode": number, "seed": seed, "most_plans": most_plans,
                                                     "flags": native.VOLTA_TAPE_ONE_SEGMENT if one_segment else 0})
        super().__init__(made(lib.volta_tape_create, context, ctypes.byref(options)), context)
        self.context = context
        self.is_eager = number == native.VOLTA_TAPE_EAGER
        self._live: List[weakref.ref[_tensor.Tensor]] = []  # results of the record
        self._gradients = True
        self._held: Dict[int, _tensor.Tensor] = {}  # operands of the record that are no results: the memory that they are over
        self._numbers: List[Tuple[_tensor.Tensor, Any]] = []  # tensors of one element, which records use one after the other
        self._numbers_used = self._streams = 0
        self._calls = 0
        self._is_begun = False  # the record has a call

    def close(self) -> None:
        if self._as_parameter_:
            with contextlib.suppress(Error):  # what is lost now, its own use will say
                self.reset()
        super().close()

    # ---- calls ----

    def _number(self, value: float) -> _tensor.Tensor:
        """A number as an operand. Its place in the record is always the same tensor: the record stays a known one."""
        if self._numbers_used == len(self._numbers):
            tensor = _tensor.Tensor.zeros((), "f32", self.context)
            self._numbers.append((tensor, ctypes.c_float.from_address(lib.volta_tensor_data(tensor))))
        tensor, cell = self._numbers[self._numbers_used]
        self._numbers_used += 1
        cell.value = value
        return tensor

    def stream(self) -> int:
        """A random stream that no call of this record has drawn from."""
        self._streams += 1
        return self._streams - 1

    def _operand(self, value: Operand) -> _tensor.Tensor:
        if isinstance(value, _tensor.Tensor):
            return value
        if isinstance(value, (bool, int, float)):
            return self._number(value)
        return _tensor.Tensor(value, ctx=self.context)

    def _result(self, pointer: Any, requires_grad: bool) -> _tensor.Tensor:
        result = _tensor.Tensor.__new__(_tensor.Tensor)  # as _of makes them; this is the way of each call
        result._as_parameter_, result._kept = ctypes.c_void_p(pointer), (self.context, None)
        result._requires_grad, result._tape, result._is_lent = requires_grad, self, True
        self._live.append(weakref.ref(result))
        return result

    def apply(self, op: str, *inputs: Operand, outputs: int = 1, **attributes: Any) -> Any:
        """The operator named `op` of docs/operators.md. With outputs=2 and more, a tuple."""
        if self.is_eager and self._calls >= _CALLS_OF_A_RECORD:
            self._renew()
        pointers, requires_grad = [], False
        for value in inputs:
            operand = value if isinstance(value, _tensor.Tensor) else self._operand(value)
            pointers.append(operand._pointer())
            if operand._tape is None:
                self._held[id(operand)] = operand
            requires_grad = requires_grad or operand._requires_grad
        self._is_begun = True
        listed, _kept = _attributes(attributes) if attributes else (None, None)
        file, line = _place()
        results = handles(outputs)
        status = lib.volta_tape_apply(self._as_parameter_, op.encode(), handles(len(pointers), *pointers), len(pointers), listed,
                                      len(attributes), results, outputs, file, line)
        if status:
            self._failed(status)
        self._calls += 1
        requires_grad = requires_grad and self._gradients and op not in _OF_INTEGERS
        if outputs == 1:
            return self._result(results[0], requires_grad)
        return tuple(self._result(results[i], requires_grad) for i in range(outputs))

    def _failed(self, status: int) -> None:
        """The record cannot go on; the exception says what was wrong, and the next record begins."""
        error = error_of(status, lib.volta_last_error())
        with contextlib.suppress(Error):
            self.reset()
        raise error

    def at_caller(self) -> None:
        """The library's next call comes from whoever called this package: for the report and for sentences."""
        lib.volta_tape_at(self._as_parameter_, *_place())

    def detach(self, tensor: _tensor.Tensor) -> _tensor.Tensor:
        if tensor._tape is None:
            self._held[id(tensor)] = tensor
        self._is_begun = True
        self.at_caller()
        pointer = lib.volta_tape_detach(self, tensor._pointer())
        status = lib.volta_tape_status(self)
        if status:
            self._failed(status)
        return self._result(pointer, False)

    def backward(self, loss: _tensor.Tensor) -> None:
        """Adds the gradient of `loss`, of one element, to those of the tensors that require one."""
        self.at_caller()
        check(lib.volta_tape_backward(self, loss._pointer()))

    def set_gradients(self, enabled: bool) -> None:
        check(lib.volta_tape_set_gradients(self, int(enabled)))
        self._gradients = enabled

    # ---- records ----

    def _living(self) -> Iterator[_tensor.Tensor]:
        for reference in self._live:
            result = reference()
            if result is not None and result._as_parameter_:
                yield result

    def _renew(self) -> bool:
        """Ends the record of an eager tape if no gradient can still be asked of it."""
        if any(result._requires_grad for result in self._living()):
            self._calls = 0
            return False
        self.reset()
        return True

    def flush(self) -> None:
        """Computes all results that were recorded, and the gradients."""
        self.at_caller()
        check(lib.volta_tape_flush(self))

    def reset(self) -> None:
        """Ends the record."""
        if not self._is_begun:
            return
        if self.is_eager:
            for result in self._living():
                result._keep()
        else:
            self.at_caller()
        try:
            check(lib.volta_tape_reset(self))
        finally:
            for result in self._living():
                result._record_ended(_ENDED)
            self._live.clear()
            self._held.clear()
            self._calls = self._numbers_used = self._streams = 0
            self._is_begun = False

    def _keep_numbers(self) -> None:
        """Results of one element, which a step has computed, stay where Python holds them."""
        for result in self._living():
            if lib.volta_tensor_elements(result) == 1:
                with contextlib.suppress(InvalidState):  # of before an earlier step
                    result._keep()

    def capture(self, *outputs: _tensor.Tensor, names: Optional[Dict[str, _tensor.Tensor]] = None,
                output_names: Optional[Sequence[str]] = None, open_batch: bool = False) -> Model:
        """What results of the record compute, as a model: tensors that require a gradient are its parameters, with the elements of
        now, others its inputs. names: of tensors that it reads. open_batch=True: the first extent of inputs is open."""
        from .model import Model

        given = names or {}
        called = (ctypes.c_char_p * max(len(given), 1))(*(name.encode() for name in given))
        results = (ctypes.c_char_p * max(len(output_names or ()), 1))(*(name.encode() for name in output_names or ()))
        named = handles(len(given), *(tensor._pointer() for tensor in given.values()))
        options = native.volta_capture_options(name_count=len(given), open_batch=int(open_batch))
        if given:
            options.tensors = ctypes.cast(named, ctypes.POINTER(ctypes.c_void_p))
            options.names = ctypes.cast(called, ctypes.POINTER(ctypes.c_char_p))
        if output_names is not None:
            if len(output_names) != len(outputs):
                raise ValueError(f"{len(output_names)} names are given for {len(outputs)} outputs")
            options.output_names = ctypes.cast(results, ctypes.POINTER(ctypes.c_char_p))
        pointers = handles(len(outputs), *(tensor._pointer() for tensor in outputs))
        return Model(made(lib.volta_tape_capture, self, pointers, len(outputs), ctypes.byref(options)), self.context)

    # ---- what it did ----

    def report(self, json: bool = False) -> Any:
        """When and why it computed, and what would make that one piece: text, or a dict. docs/compile.md explains the reasons."""
        text = lent_text(lambda tape, out: lib.volta_tape_report(tape, int(json), out), self)
        return _json.loads(text) if json else text

    @property
    def info(self) -> Info:
        """Counts, a dict: records, calls, segments, plans_known, plans_made, held_bytes ..."""
        info = native.volta_tape_info()
        check(lib.volta_tape_get_info(self, ctypes.byref(info)))
        return fields_of(info)


class _Thread(threading.local):
    """Of each thread: its tapes, the innermost last, and whether results get gradients."""

    def __init__(self) -> None:
        self.tapes: List[Tape] = []
        self.default: Optional[Tape] = None
        self.gradients = True


_thread = _Thread()


def current_tape() -> Tape:
    """The innermost of `with volta.tape(...)`, else the thread's own eager one: on default_context() in the main thread, on a
    context of its own in others, since a context is used by one thread at a time."""
    if _thread.tapes:
        return _thread.tapes[-1]
    if _thread.default is None or _thread.default.closed or _thread.default.context.closed:
        is_main = threading.current_thread() is threading.main_thread()
        _thread.default = Tape(ctx=default_context() if is_main else Context())
        _thread.default.set_gradients(_thread.gradients)
    return _thread.default


def current_context() -> Context:
    """Of tensors that are made without one."""
    if not _thread.tapes and threading.current_thread() is threading.main_thread():
        return default_context()
    return current_tape().context


@contextlib.contextmanager
def entered(tape: Tape) -> Iterator[Tape]:
    """with entered(tape): makes it the current one. The record of an eager tape around it ends where no gradient can still be asked
    of it: a step here can then change its tensors."""
    around = _thread.tapes[-1] if _thread.tapes else _thread.default
    if around is not None and around is not tape and around.is_eager and not around.closed:
        around._renew()
    tape.set_gradients(_thread.gradients)
    _thread.tapes.append(tape)
    try:
        yield tape
    finally:
        _thread.tapes.pop()


@contextlib.contextmanager
def tape(mode: Union[str, int] = "eager", seed: int = 0, one_segment: bool = False, ctx: Optional[Context] = None,
         most_plans: int = 0) -> Iterator[Tape]:
    """with volta.tape("lazy") as tape: operators within are recorded there. At its end the record ends, and the tape. most_plans: that
    it keeps, 0: 4096."""
    with Tape(mode, seed, one_segment, ctx or current_context(), most_plans) as one, entered(one):
        yield one


@contextlib.contextmanager
def no_grad() -> Iterator[None]:
    """with volta.no_grad(): results within get no gradient."""
    one, before = current_tape(), _thread.gradients
    _thread.gradients = False
    one.set_gradients(False)
    try:
        yield
    finally:
        _thread.gradients = before
        if not one.closed:
            one.set_gradients(before)


def apply(op: str, *inputs: Operand, outputs: int = 1, **attributes: Any) -> Any:
    """Any operator of docs/operators.md by name, on the current tape: volta.apply("layer_norm", x, scale, bias, epsilon=1e-6).
    Numbers and arrays among the inputs become tensors; with outputs=2 and more, a tuple."""
    return current_tape().apply(op, *inputs, outputs=outputs, **attributes)


def where(mask: _tensor.Tensor, a: Operand, b: Operand) -> _tensor.Tensor:
    """a where the mask, made by a comparison, is not 0; else b."""
    result: _tensor.Tensor = apply("where", mask, a, b)
    return result


def concat(tensors: Sequence[Operand], axis: int = 0) -> _tensor.Tensor:
    """One behind the other along an axis."""
    result: _tensor.Tensor = apply("concat", *tensors, axis=axis)
    return result


def maximum(a: Operand, b: Operand) -> _tensor.Tensor:
    result: _tensor.Tensor = apply("maximum", a, b)
    return result


def minimum(a: Operand, b: Operand) -> _tensor.Tensor:
    result: _tensor.Tensor = apply("minimum", a, b)
    return result
