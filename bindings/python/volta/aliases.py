"""Names of types that signatures use."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Optional, Sequence, Union

if TYPE_CHECKING:
    from .graph import Value

Path = Union[str, "os.PathLike[str]"]
Text = Union[str, bytes]
Prompt = Union[str, bytes, Iterable[int]]
Info = Dict[str, Any]  # the fields of a struct of the header
Shape = Sequence[int]
Shapes = Optional[Union[Sequence[Shape], Shape]]  # of all inputs, or of the only one
Operand = Union["Value", int, float, Any]  # a number or an array becomes a constant
OnText = Callable[[str, int], Any]
