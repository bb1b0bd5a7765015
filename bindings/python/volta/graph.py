"""Graphs: what to compute. Values take Python's operators; every operator of docs/operators.md is a method."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Optional, Tuple, Union

from . import native
from ._library import Handle, check, constant, extents, lent_text, lib, made
from .aliases import Shape, Operand
from .context import default_context
from .tensor import Tensor

if TYPE_CHECKING:
    from .context import Context
    from .model import Model


class Value:
    """A value of a graph."""

    __slots__ = ("graph", "_value")

    def __init__(self, graph: Graph, value: native.volta_value) -> None:
        self.graph, self._value = graph, value

    @property
    def shape(self) -> Tuple[int, ...]:
        shape, rank = (ctypes.c_int64 * native.VOLTA_MAX_RANK)(), ctypes.c_int32()
        check(lib.volta_graph_value_shape(self.graph, self._value, shape, ctypes.byref(rank)))
        return tuple(shape[: rank.value])

    def __add__(self, other: Operand) -> Value:
        return self.graph._one("add", self, other)

    def __sub__(self, other: Operand) -> Value:
        return self.graph._one("sub", self, other)

    def __mul__(self, other: Operand) -> Value:
        return self.graph._one("mul", self, other)

    def __truediv__(self, other: Operand) -> Value:
        return self.graph._one("div", self, other)

    def __matmul__(self, other: Operand) -> Value:
        return self.graph._one("matmul", self, other)

    def __radd__(self, other: Operand) -> Value:
        return self.graph._one("add", other, self)

    def __rsub__(self, other: Operand) -> Value:
        return self.graph._one("sub", other, self)

    def __rmul__(self, other: Operand) -> Value:
        return self.graph._one("mul", other, self)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.graph._one("div", other, self)

    def __neg__(self) -> Value:
        return self.graph._one("neg", self)


class Graph(Handle):
    """g = Graph(); x = g.input("x", (32, 784)); y = g.linear("fc", g.relu(g.linear("h", x, 128)), 10);
    g.output("y", y); model = Model.of(g, seed=1)"""

    _release: Any = lib.volta_graph_release

    def __init__(self, ctx: Optional[Context] = None) -> None:
        context = ctx or default_context()
        super().__init__(made(lib.volta_graph_create, context), context)
        self.context = context

    def _given(self, function: Any, *arguments: Any) -> Value:
        value = native.volta_value()
        check(function(self, *arguments, ctypes.byref(value)))
        return Value(self, value)

    def input(self, name: str, shape: Shape, dtype: Union[str, int] = "f32") -> Value:
        """What every run is given. An extent of -1 is chosen per session."""
        return self._given(lib.volta_graph_input, name.encode(), constant("", dtype), extents(shape), len(shape))

    def parameter(self, name: str, shape: Shape, init: Optional[str] = None, a: float = 0.0, b: float = 0.0) -> Value:
        """A trainable tensor. init: None (zeros), "constant" (a), "normal" (deviation a) or "uniform" (a to b)."""
        start = None
        if init is not None:
            start = ctypes.byref(native.volta_init(constant("INIT", init), a, b))
        return self._given(lib.volta_graph_parameter, name.encode(), extents(shape), len(shape), start)

    def constant(self, array: Any) -> Value:
        """Fixed values, copied. A number becomes a tensor of no axes."""
        if isinstance(array, (int, float)):
            array = (ctypes.c_float * 1)(array)
            with Tensor.zeros((), "f32", self.context) as tensor:
                ctypes.memmove(lib.volta_tensor_data(tensor), array, 4)
                return self._given(lib.volta_graph_constant, tensor)
        with Tensor.wrap(array, self.context) as tensor:
            return self._given(lib.volta_graph_constant, tensor)

    def _one(self, op: str, *inputs: Operand) -> Value:
        value: Value = self.apply(op, *inputs)
        return value

    def linear(self, name: str, x: Value, features: int) -> Value:
        """x W + b with new parameters "<name>.weight" and "<name>.bias"."""
        return self._given(lib.volta_graph_linear, name.encode(), x._value, features)

    def apply(self, op: str, *inputs: Operand, outputs: int = 1, **attributes: Any) -> Any:
        """The operator named `op`; numbers among the inputs become constants. With outputs=2 and more, a tuple."""
        values = [x if isinstance(x, Value) else self.constant(x) for x in inputs]
        given = (native.volta_value * len(values))(*(value._value for value in values))
        kept, listed = [], (native.volta_attribute * len(attributes))()
        for attribute, (name, value) in zip(listed, attributes.items()):
            attribute.name = name.encode()
            if isinstance(value, (list, tuple)):
                integers = extents(value)
                kept.append(integers)
                attribute.integers, attribute.integer_count = ctypes.addressof(integers), len(value)
            else:
                attribute.number = float(value)
        results = (native.volta_value * outputs)()
        check(lib.volta_graph_apply(self, op.encode(), given, len(values), listed,
                                    len(attributes), results, outputs))
        made_values = tuple(Value(self, native.volta_value(result.id)) for result in results)
        return made_values[0] if outputs == 1 else made_values

    def __getattr__(self, op: str) -> Callable[..., Any]:
        if op.startswith("_"):
            raise AttributeError(op)
        return lambda *inputs, outputs=1, **attributes: self.apply(op, *inputs, outputs=outputs, **attributes)

    def output(self, name: str, value: Value) -> None:
        """Declares a result, in call order."""
        check(lib.volta_graph_output(self, name.encode(), value._value))

    def __str__(self) -> str:
        return lent_text(lib.volta_graph_print, self)
