"""Graphs: what to compute. Values take Python's operators; every operator of docs/operators.md is a method."""

import ctypes

from . import native
from ._library import Handle, check, constant, extents, lent_text, lib, made
from .context import default_context
from .tensor import Tensor


class Value:
    """A value of a graph."""

    __slots__ = ("graph", "_value")

    def __init__(self, graph, value):
        self.graph, self._value = graph, value

    @property
    def shape(self):
        shape, rank = (ctypes.c_int64 * native.VOLTA_MAX_RANK)(), ctypes.c_int32()
        check(lib.volta_graph_value_shape(self.graph, self._value, shape, ctypes.byref(rank)))
        return tuple(shape[: rank.value])

    def __add__(self, other):
        return self.graph.apply("add", self, other)

    def __sub__(self, other):
        return self.graph.apply("sub", self, other)

    def __mul__(self, other):
        return self.graph.apply("mul", self, other)

    def __truediv__(self, other):
        return self.graph.apply("div", self, other)

    def __matmul__(self, other):
        return self.graph.apply("matmul", self, other)

    def __radd__(self, other):
        return self.graph.apply("add", other, self)

    def __rsub__(self, other):
        return self.graph.apply("sub", other, self)

    def __rmul__(self, other):
        return self.graph.apply("mul", other, self)

    def __rtruediv__(self, other):
        return self.graph.apply("div", other, self)

    def __neg__(self):
        return self.graph.apply("neg", self)


class Graph(Handle):
    """g = Graph(); x = g.input("x", (32, 784)); y = g.linear("fc", g.relu(g.linear("h", x, 128)), 10);
    g.output("y", y); model = Model.of(g, seed=1)"""

    _release = lib.volta_graph_release

    def __init__(self, ctx=None):
        context = ctx or default_context()
        super().__init__(made(lib.volta_graph_create, context), context)
        self.context = context

    def _given(self, function, *arguments):
        value = native.volta_value()
        check(function(self, *arguments, ctypes.byref(value)))
        return Value(self, value)

    def input(self, name, shape, dtype="f32"):
        """What every run is given. An extent of -1 is chosen per session."""
        return self._given(lib.volta_graph_input, name.encode(), constant("", dtype), extents(shape), len(shape))

    def parameter(self, name, shape, init=None, a=0.0, b=0.0):
        """A trainable tensor. init: None (zeros), "constant" (a), "normal" (deviation a) or "uniform" (a to b)."""
        start = None
        if init is not None:
            start = ctypes.byref(native.volta_init(constant("INIT", init), a, b))
        return self._given(lib.volta_graph_parameter, name.encode(), extents(shape), len(shape), start)

    def constant(self, array):
        """Fixed values, copied. A number becomes a tensor of no axes."""
        if isinstance(array, (int, float)):
            array = (ctypes.c_float * 1)(array)
            with Tensor((), "f32", self.context) as tensor:
                ctypes.memmove(lib.volta_tensor_data(tensor), array, 4)
                return self._given(lib.volta_graph_constant, tensor)
        with Tensor.wrap(array, self.context) as tensor:
            return self._given(lib.volta_graph_constant, tensor)

    def linear(self, name, x, features):
        """x W + b with new parameters "<name>.weight" and "<name>.bias"."""
        return self._given(lib.volta_graph_linear, name.encode(), x._value, features)

    def apply(self, op, *inputs, outputs=1, **attributes):
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

    def __getattr__(self, op):
        if op.startswith("_"):
            raise AttributeError(op)
        return lambda *inputs, outputs=1, **attributes: self.apply(op, *inputs, outputs=outputs, **attributes)

    def output(self, name, value):
        """Declares a result, in call order."""
        check(lib.volta_graph_output(self, name.encode(), value._value))

    def __str__(self):
        return lent_text(lib.volta_graph_print, self)
