"""Tapes: where operators on tensors are recorded and computed. Each thread has a current one."""

from __future__ import annotations

import contextlib
import ctypes
import json as _json
import struct as _struct
import sys
import threading
from array import array as _array
from ctypes import byref, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Union
from weakref import ref

from . import native
from . import tensor as _tensor
from ._library import Handle, check, constant, extents, fields_of, lent_text, lib, made, struct
from .aliases import Info, Operand
from .context import Context, default_context
from .errors import Error, InvalidState, error_of
from .operations import OF_INTEGERS

if TYPE_CHECKING:
    from .model import Model

_CALLS_OF_A_RECORD = 1024  # of an eager tape that nobody resets
_ENDED = ("a result of a record that has ended: mark it with keep() before the tape's reset, or read it before")

_new = object.__new__
_pointers: Dict[int, Any] = {}  # how many -> the type of an array of handles
_files: Dict[str, bytes] = {}  # of code; b"" where it is this package's

# Each call of an operator goes through here. Its arguments are made so that ctypes has nothing to convert (without argtypes a bytes
# object is the address of its bytes, which nobody changes), and as few objects as there can be.
_apply: Any = lib["volta_tape_apply"]
_apply.restype = ctypes.c_int32
_size: Any = getattr(c_size_t, "from_param")  # a size_t as an argument; an int would be one of 32 bits
_MANY = 16  # inputs or attributes, for which nothing is prepared
_SIZES = tuple(_size(count) for count in range(_MANY))
_ONE = _SIZES[1]
PACKED: Tuple[Callable[..., bytes], ...] = tuple(_struct.Struct(f"{count}P").pack for count in range(_MANY))
_ATTRIBUTE = _struct.Struct("PdPN")  # a volta_attribute
_names: Dict[str, Tuple[bytes, int]] = {}  # texts and their addresses, by name


def handles(count: int, *pointers: Any) -> Any:
    """An array of so many, which begins with these."""
    kind = _pointers.get(count)
    if kind is None:
        kind = _pointers[count] = c_void_p * max(count, 1)
    return kind(*pointers)


def name_of(name: str) -> Tuple[bytes, int]:
    """The text for the library, and where it lies as long as this module does."""
    found = _names.get(name)
    if found is None:
        text = name.encode()
        found = _names[name] = text, ctypes.cast(ctypes.c_char_p(text), c_void_p).value or 0
    return found


def _place(frame: Any = None) -> Tuple[bytes, int]:
    """The file and line of whoever called this package: of this frame, else the caller's, or of one around it."""
    if frame is None:
        frame = sys._getframe(2)
    while True:
        name = frame.f_code.co_filename
        file = _files.get(name)
        if file is None:
            is_ours = frame.f_globals.get("__package__") == __package__
            file = _files[name] = b"" if is_ours else name.encode(errors="replace")
        if file or frame.f_back is None:
            return file, frame.f_lineno
        frame = frame.f_back


def packed_attributes(given: Dict[str, Any]) -> Tuple[bytes, List[Any]]:
    """An array of volta_attribute, and what it points to."""
    listed, kept = b"", []
    for name, value in given.items():
        if isinstance(value, (list, tuple)):
            integers = _array("q", value)
            kept.append(integers)
            listed += _ATTRIBUTE.pack(name_of(name)[1], 0.0, integers.buffer_info()[0], len(value))
        else:
            listed += _ATTRIBUTE.pack(name_of(name)[1], value, 0, 0)
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
        self._live: List[ref[_tensor.Tensor]] = []  # results of the record
        self._of_results = (context, None)  # what they keep
        self._gradients = True
        self._held: Set[_tensor.Tensor] = set()  # operands of the record that are no results: the memory that they are over
        self._numbers: List[Tuple[_tensor.Tensor, Any]] = []  # tensors of one element, which records use one after the other
        self._numbers_used = self._streams = 0
        self._most = _CALLS_OF_A_RECORD if self.is_eager else sys.maxsize
        self._room = self._most  # for further calls; 0 when the tape is closed
        self._is_begun = False  # the record has a call

    def close(self) -> None:
        if self._as_parameter_:
            with contextlib.suppress(Error):  # what is lost now, its own use will say
                self.reset()
        self._room = 0
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
        if isinstance(value, (float, int)):
            return self._number(value)
        if isinstance(value, _tensor.Tensor):
            return value
        return _tensor.Tensor(value, ctx=self.context)

    def _result(self, pointer: c_void_p, requires_grad: bool) -> _tensor.Tensor:
        result = _new(_tensor.Tensor)  # as _of makes them; this is the way of each call
        result._as_parameter_, result._kept, result._tape, result._is_lent = pointer, self._of_results, self, True
        if requires_grad:
            result._requires_grad = True
        self._live.append(ref(result))
        return result

    def computed(self, op: bytes, pointers: bytes, count: int, attributes: Optional[bytes], attribute_count: int,
                 requires_grad: bool, frame: Any) -> _tensor.Tensor:
        """The result of an operator of one output. Its operands are known to the record."""
        self._is_begun = True
        file, line = _files.get(frame.f_code.co_filename), frame.f_lineno
        if not file:
            file, line = _place(frame)
        out = c_void_p()
        status = _apply(self._as_parameter_, op, pointers, _SIZES[count], attributes, _SIZES[attribute_count], byref(out), _ONE, file,
                        line)
        if status:
            self._failed(status)
        self._room -= 1
        return self._result(out, requires_grad and self._gradients)

    def apply(self, op: str, *inputs: Operand, outputs: int = 1, **attributes: Any) -> Any:
        """The operator named `op` of docs/operators.md. With outputs=2 and more, a tuple."""
        if self._room <= 0:
            self._renew()
        return self.applied(op, inputs, attributes, outputs, sys._getframe(1))

    def applied(self, op: str, inputs: Sequence[Operand], attributes: Dict[str, Any], outputs: int, frame: Any) -> Any:
        """apply(), called by `frame`; the record has room."""
        pointers, requires_grad = [], False
        for value in inputs:
            operand = value if isinstance(value, _tensor.Tensor) else self._operand(value)
            pointers.append(operand._as_parameter_.value or operand._pointer())
            if operand._tape is None:
                self._held.add(operand)
            if operand._requires_grad:
                requires_grad = True
        requires_grad = requires_grad and op not in OF_INTEGERS
        count = len(pointers)
        listed, _kept = packed_attributes(attributes) if attributes else (None, None)
        if outputs == 1 and count < _MANY and len(attributes) < _MANY:
            return self.computed(name_of(op)[0], PACKED[count](*pointers), count, listed, len(attributes), requires_grad, frame)
        self._is_begun = True
        results = handles(outputs)
        status = _apply(self._as_parameter_, name_of(op)[0], handles(count, *pointers), _size(count), listed, _size(len(attributes)),
                        results, _size(outputs), *_place(frame))
        if status:
            self._failed(status)
        self._room -= 1
        made = tuple(self._result(c_void_p(results[i]), requires_grad and self._gradients) for i in range(outputs))
        return made if outputs > 1 else made[0]

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
            self._held.add(tensor)
        self._is_begun = True
        self.at_caller()
        pointer = lib.volta_tape_detach(self, tensor._pointer())
        status = lib.volta_tape_status(self)
        if status:
            self._failed(status)
        return self._result(c_void_p(pointer), False)

    def backward(self, loss: _tensor.Tensor) -> None:
        """Adds the gradient of `loss`, of one element, to those of the tensors that require one."""
        self.at_caller()
        check(lib.volta_tape_backward(self, loss._pointer()))

    def set_gradients(self, enabled: bool) -> None:
        check(lib.volta_tape_set_gradients(self, int(enabled)))
        self._gradients = enabled

    # ---- records ----

    def _living(self) -> List[_tensor.Tensor]:
        results = [reference() for reference in self._live]
        return [result for result in results if result is not None and result._as_parameter_]

    def _renew(self) -> bool:
        """Ends the record of an eager tape if no gradient can still be asked of it."""
        if any(result._requires_grad for result in self._living()):
            self._room = self._most
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
            self._numbers_used = self._streams = 0
            self._room = self._most
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
        self.tape: Optional[Tape] = None  # the innermost, else the default
        self.gradients = True


_thread = _Thread()


def current_tape() -> Tape:
    """The innermost of `with volta.tape(...)`, else the thread's own eager one: on default_context() in the main thread, on a
    context of its own in others, since a context is used by one thread at a time."""
    if _thread.tapes:
        return _thread.tapes[-1]
    if _thread.default is None or _thread.default.closed or _thread.default.context.closed:
        is_main = threading.current_thread() is threading.main_thread()
        _thread.default = _thread.tape = Tape(ctx=default_context() if is_main else Context())
        _thread.default.set_gradients(_thread.gradients)
    return _thread.default


def calling() -> Tape:
    """The current tape, for a call."""
    tape = _thread.tape
    if tape is not None and tape._room > 0 and tape.context._as_parameter_:
        return tape
    tape = current_tape()
    if tape._room <= 0:
        tape._renew()
    return tape


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
    _thread.tape = tape
    try:
        yield tape
    finally:
        _thread.tapes.pop()
        _thread.tape = _thread.tapes[-1] if _thread.tapes else _thread.default


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
