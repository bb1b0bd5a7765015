"""Generators: tokens and text from a language model."""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any, Iterable, Iterator, List, Optional, Union

from . import native
from ._library import Handle, check, fields_of, lib, made, struct
from .aliases import Text, Prompt, Info, OnText
from .interrupt import Cancel, Interrupt
from .session import bill_of
from .tensor import array_of
from .tokenizer import Tokenizer, bytes_of

if TYPE_CHECKING:
    from .model import Model

_ON_TEXT: Any = {field[0]: field[1] for field in native.volta_write_options._fields_}["on_text"]
_REASONS = {value: name[len("VOLTA_STOP_"):].lower() for name, value in vars(native).items()
            if name.startswith("VOLTA_STOP_")}


def _ids(tokens: Any) -> Any:
    return tokens if isinstance(tokens, ctypes.Array) else (ctypes.c_int32 * len(tokens))(*tokens)


def _lent_floats(function: Any, owner: Any) -> Any:
    data, count = ctypes.c_void_p(), ctypes.c_size_t()
    check(function(owner, ctypes.byref(data), ctypes.byref(count)))
    return array_of(native.VOLTA_F32, (count.value,), data.value or 0, owner)


class Sequence(Handle):
    """One text of a generator among others: sequences come and go between steps."""

    _release: Any = lib.volta_sequence_release

    def __init__(self, generator: Generator, pointer: Optional[ctypes.c_void_p] = None, **sampling: Any) -> None:
        if pointer is None:
            options = struct(native.volta_sampling_options, sampling)
            pointer = made(lib.volta_sequence_create, generator, ctypes.byref(options) if sampling else None)
        super().__init__(pointer, generator)
        self.generator = generator

    def append(self, tokens: Any) -> None:
        ids = _ids(tokens)
        check(lib.volta_sequence_append(self, ids, len(ids)))

    def rewind(self, count: int) -> None:
        """Forgets all but the first `count` tokens."""
        check(lib.volta_sequence_rewind(self, count))

    def fork(self, **sampling: Any) -> Sequence:
        """A new sequence with the same tokens; nothing is computed again."""
        options = struct(native.volta_sampling_options, sampling)
        return Sequence(self.generator, made(lib.volta_sequence_fork, self, ctypes.byref(options) if sampling else None))

    @property
    def tokens(self) -> List[int]:
        data, count = ctypes.c_void_p(), ctypes.c_size_t()
        check(lib.volta_sequence_tokens(self, ctypes.byref(data), ctypes.byref(count)))
        return list((ctypes.c_int32 * count.value).from_address(data.value or 0)) if count.value else []

    @property
    def logits(self) -> Any:
        return _lent_floats(lib.volta_sequence_logits, self)


class Generator(Handle):
    """generator = Generator(model, temperature=0.8, seed=1); for piece in generator.stream("Once"): print(piece, end="").
    The fields of volta_generator_options."""

    _release: Any = lib.volta_generator_release

    def __init__(self, model: Model, **options: Any) -> None:
        given = struct(native.volta_generator_options, options)
        super().__init__(made(lib.volta_generator_create, model, ctypes.byref(given)), model)
        self.model = model
        self._tokenizer: Optional[Tokenizer] = None

    @property
    def tokenizer(self) -> Optional[Tokenizer]:
        if self._tokenizer is None:
            self._tokenizer = self.model.tokenizer
        return self._tokenizer

    def _tokens_of(self, prompt: Prompt) -> Any:
        if not isinstance(prompt, (str, bytes)):
            return _ids(prompt)
        if self.tokenizer is None:
            raise ValueError("the model has no tokenizer: give ids instead of a text")
        return self.tokenizer.encode(prompt)

    def start(self, prompt: Prompt) -> None:
        """Begins a sequence with a text or with ids."""
        ids = self._tokens_of(prompt)
        check(lib.volta_generator_start(self, ids, len(ids)))

    def next(self) -> int:
        """Draws the next token."""
        token = ctypes.c_int32()
        check(lib.volta_generator_next(self, ctypes.byref(token)))
        return token.value

    def step(self, sequences: List[Sequence]) -> List[int]:
        """Draws the next token of each sequence; they share runs of the model."""
        handles = (ctypes.c_void_p * len(sequences))(*(one._as_parameter_.value for one in sequences))
        tokens = (ctypes.c_int32 * len(sequences))()
        check(lib.volta_generator_step(self, handles, len(sequences), tokens))
        return list(tokens)

    def sequence(self, prompt: Optional[Prompt] = None, **sampling: Any) -> Sequence:
        one = Sequence(self, **sampling)
        if prompt is not None:
            one.append(self._tokens_of(prompt))
        return one

    @property
    def logits(self) -> Any:
        return _lent_floats(lib.volta_generator_logits, self)

    def write(self, on_text: Optional[OnText] = None, sequence: Optional[Sequence] = None, max_tokens: int = 0,
              stop: Union[Text, Iterable[Text]] = (), stop_tokens: Iterable[int] = (), max_seconds: float = 0.0,
              cancel: Optional[Cancel] = None, past_end: bool = False, tokenizer: Optional[Tokenizer] = None) -> Info:
        """Writes until something ends it. on_text(text, token) is called with each piece and may return True to stop; what
        it raises ends the writing and is raised here. Gives a dict: reason ("max_tokens", "text", ...), token_count, ...

        Ctrl-C ends the writing between two tokens, which the sequence keeps, and raises KeyboardInterrupt."""
        raised, own = [], cancel or Cancel()

        def piece(_: Any, text: Any, count: int, token: int) -> int:
            try:
                return 1 if on_text is not None and on_text((ctypes.string_at(text, count) if count else b"").decode(errors="replace"), token) is True else 0
            except BaseException as error:  # carried over the library's frames
                raised.append(error)
                return 1

        stops = [bytes_of(text) for text in ([stop] if isinstance(stop, (str, bytes)) else stop)]
        kept = ((ctypes.c_char_p * len(stops))(*stops), _ids(list(stop_tokens)))
        options = native.volta_write_options(
            max_tokens=max_tokens, stop_texts=kept[0], stop_text_count=len(stops),
            stop_tokens=ctypes.addressof(kept[1]) if len(kept[1]) else None, stop_token_count=len(kept[1]),
            max_seconds=max_seconds, cancel=ctypes.pointer(own._cancel), flags=native.VOLTA_WRITE_PAST_END if past_end else 0)
        callback = _ON_TEXT(piece)
        options.on_text = callback
        if on_text is None:
            options.on_text = _ON_TEXT(lambda *_: 0)  # a place where Ctrl-C is noticed
        result = native.volta_write_result()
        with Interrupt(own.request):
            status = lib.volta_generator_write(self, sequence, tokenizer or self.tokenizer, ctypes.byref(options),
                                               ctypes.byref(result))
        if raised:
            raise raised[0]
        check(status)
        found = fields_of(result)
        found["reason"] = _REASONS[result.reason]
        return found

    def generate(self, prompt: Prompt, **options: Any) -> str:
        """The text that follows the prompt."""
        self.start(prompt)
        pieces = []
        self.write(lambda text, _: pieces.append(text), **options)
        return "".join(pieces)

    def stream(self, prompt: Prompt, **options: Any) -> Iterator[str]:
        """Pieces of the text that follows, as they come. Leaving the loop ends the writing."""
        import queue

        self.start(prompt)
        pieces: queue.Queue[Any] = queue.Queue()
        cancel = options.pop("cancel", None) or Cancel()

        def work() -> None:
            try:
                self.write(lambda text, _: pieces.put(text), cancel=cancel, **options)
                pieces.put(None)
            except BaseException as error:  # raised where the pieces are read
                pieces.put(error)

        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        try:
            while True:
                piece = pieces.get()
                if piece is None:
                    return
                if isinstance(piece, BaseException):
                    raise piece
                if piece:
                    yield piece
        finally:
            cancel.request()
            worker.join()

    def cost(self, position: int) -> Info:
        """What computing one token at a position takes at least, a dict."""
        cost = native.volta_token_cost()
        check(lib.volta_generator_get_cost(self, position, ctypes.byref(cost)))
        return fields_of(cost)

    @property
    def no_cache_reason(self) -> str:
        return str(lib.volta_generator_no_cache_reason(self).decode())

    @property
    def bill(self) -> Info:
        return bill_of(lib.volta_generator_get_bill, self)

