"""volta.compile: a function of tensors on a lazy tape of its own, computed as one plan."""

from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Iterator, Optional

from . import recording
from .context import Context
from .recording import Tape
from .tensor import Tensor


def _tensors(value: Any) -> Iterator[Tensor]:
    """In what a function gives."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


class Compiled:
    """See compile."""

    def __init__(self, function: Callable[..., Any], fullgraph: bool, seed: int) -> None:
        self.function, self.fullgraph, self._seed = function, fullgraph, seed
        self._tapes: Dict[Context, Tape] = {}
        functools.update_wrapper(self, function)

    def _tape(self) -> Tape:
        context = recording.current_context()
        tape = self._tapes.get(context)
        if tape is None:
            tape = self._tapes[context] = Tape("lazy", self._seed, self.fullgraph, context)
        return tape

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if not recording.current_tape().is_eager:  # a part of that tape's record
            return self.function(*arguments, **named)
        tape = self._tape()
        with recording.entered(tape):
            try:
                given = self.function(*arguments, **named)
                for tensor in _tensors(given):
                    if tensor._tape is tape:
                        tensor.keep()
            finally:
                tape.reset()  # computes what is kept
        return given

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def report(self, json: bool = False) -> Any:
        """When and why it computed, see Tape.report; of the current context."""
        return self._tape().report(json)


def compile(function: Optional[Callable[..., Any]] = None, *, fullgraph: bool = False, seed: int = 0) -> Any:
    """@volta.compile, or volta.compile(function, fullgraph=True): what the function records is computed together, when it returns: the
    tensors that it gives, and the gradients and updates that it asked for. Its Python code runs in every call; another branch or
    shape is another plan, and both are remembered. fullgraph=True: computing in several pieces, because a result is read within,
    is an error. A gradient goes no further back than into the function: call backward() in it."""
    if function is None:
        return lambda given: Compiled(given, fullgraph, seed)
    return Compiled(function, fullgraph, seed)
