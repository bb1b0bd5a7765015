"""Operators of tensors: each is one of docs/operators.md, recorded on the current tape."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Sequence, Tuple, Union, cast

from .aliases import Operand

if TYPE_CHECKING:
    from .tensor import Tensor

OF_INTEGERS = {"less", "less_equal", "equal", "argmax", "position_ids"}  # whose results are

Axes = Optional[Union[int, Sequence[int]]]


def _one(op: str, *inputs: Any, **attributes: Any) -> Tensor:
    result: Tensor = recording.calling().applied(op, inputs, attributes, 1, sys._getframe(1))
    return result


def _listed(given: Tuple[Any, ...]) -> Tuple[int, ...]:
    """f(2, 3) and f((2, 3)) are the same."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], (list, tuple)) else given


# The way of most calls, to which Python would add much: Tape.apply in short, for tensors and no attributes.


def _unary(op: str) -> Callable[[Any], Tensor]:
    """A method that is an operator of one input."""
    text, differentiable = op.encode(), op not in OF_INTEGERS

    def method(self: Tensor) -> Tensor:
        tape, pointer = recording.calling(), self._as_parameter_.value or self._pointer()
        if self._tape is None:
            tape._held.add(self)
        return tape.computed(text, recording.PACKED[1](pointer), 1, None, 0, differentiable and self._requires_grad,
                             sys._getframe(1))

    method.__name__ = op
    return method


def _binary(op: str, is_swapped: bool = False) -> Callable[[Any, Operand], Tensor]:
    """A method that is an operator of two inputs, of which either may be no tensor."""
    text, differentiable = op.encode(), op not in OF_INTEGERS

    def method(self: Tensor, other: Operand) -> Tensor:
        tape = recording.calling()
        if type(other) is not type(self):
            other = tape._operand(other)
        a, b = (other, self) if is_swapped else (self, other)
        pointers = recording.PACKED[2](a._as_parameter_.value or a._pointer(), b._as_parameter_.value or b._pointer())
        if a._tape is None:
            tape._held.add(a)
        if b._tape is None:
            tape._held.add(b)
        return tape.computed(text, pointers, 2, None, 0, differentiable and (a._requires_grad or b._requires_grad),
                             sys._getframe(1))

    method.__name__ = op
    return method


_equal = _binary("equal")
_MOST_REDUCTIONS = 256
_reductions: Dict[Any, Any] = {}  # axes and whether they stay -> the attributes, packed


class Operations:
    """What Tensor takes from here: Python's operators, and methods named as in NumPy and PyTorch. Numbers and arrays may stand
    where tensors may; shapes broadcast as in NumPy."""

    __hash__ = object.__hash__  # == compares elements
    __array_ufunc__ = None  # array + tensor is the tensor's to compute

    @property
    def shape(self) -> Tuple[int, ...]:
        raise NotImplementedError

    __add__ = _binary("add")
    __radd__ = _binary("add", is_swapped=True)
    __sub__ = _binary("sub")
    __rsub__ = _binary("sub", is_swapped=True)
    __mul__ = _binary("mul")
    __rmul__ = _binary("mul", is_swapped=True)
    __truediv__ = _binary("div")
    __rtruediv__ = _binary("div", is_swapped=True)
    __matmul__ = _binary("matmul")
    __rmatmul__ = _binary("matmul", is_swapped=True)

    def __pow__(self, exponent: float) -> Tensor:
        if not isinstance(exponent, (int, float)):
            return NotImplemented
        return _one("pow", self, exponent=exponent)

    __neg__ = _unary("neg")
    __abs__ = _unary("abs")

    # Comparisons: 1 and 0 in an i32 tensor, a mask for volta.where.

    __lt__ = _binary("less")
    __le__ = _binary("less_equal")
    __gt__ = _binary("less", is_swapped=True)
    __ge__ = _binary("less_equal", is_swapped=True)

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        if other is None or isinstance(other, str):
            return NotImplemented
        return _equal(self, other)

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        if other is None or isinstance(other, str):
            return NotImplemented
        return _equal(_one("where", _equal(self, other), 1, 0), 0)

    # ---- one input ----

    abs = _unary("abs")
    exp = _unary("exp")
    log = _unary("log")
    sqrt = _unary("sqrt")
    rsqrt = _unary("rsqrt")
    sin = _unary("sin")
    cos = _unary("cos")
    tanh = _unary("tanh")
    erf = _unary("erf")
    sigmoid = _unary("sigmoid")
    relu = _unary("relu")
    silu = _unary("silu")
    softplus = _unary("softplus")

    def gelu(self, approximate: str = "none") -> Tensor:
        """approximate="tanh" is the one of GPT-2."""
        if approximate not in ("none", "tanh"):
            raise ValueError(f"approximate is {approximate!r}, it must be 'none' or 'tanh'")
        return _one("gelu_tanh" if approximate == "tanh" else "gelu_erf", self)

    floor = _unary("floor")
    ceil = _unary("ceil")
    round = _unary("round")

    def pow(self, exponent: float) -> Tensor:
        return _one("pow", self, exponent=exponent)

    def clamp(self, low: float, high: float) -> Tensor:
        return _one("clamp", self, low=low, high=high)

    def softmax(self) -> Tensor:
        """Along the last axis."""
        return _one("softmax", self)

    def log_softmax(self) -> Tensor:
        """Along the last axis."""
        return _one("log_softmax", self)

    def dropout(self, probability: float) -> Tensor:
        """Elements dropped by the tape's seed, others scaled by 1 / (1 - probability); anew after each step or reset."""
        tape = recording.current_tape()
        result: Tensor = tape.apply("dropout", self, probability=probability, stream=tape.stream())
        return result

    def cross_entropy(self, targets: Operand, label_smoothing: float = 0.0) -> Tensor:
        """The loss of each row of logits; targets are i32 and -1 where ignored."""
        return _one("cross_entropy", self, targets, label_smoothing=label_smoothing)

    # ---- reductions ----

    def _reduced(self, op: str, axis: Axes, keepdims: bool) -> Tensor:
        axes = axis if axis is None or isinstance(axis, int) else tuple(axis)
        known = _reductions.get((axes, keepdims))
        if known is None:
            attributes: Any = {"keep_dims": int(keepdims)}
            if axes is not None:
                attributes["axes"] = axes if isinstance(axes, tuple) else (axes,)
            known = recording.packed_attributes(attributes), len(attributes)
            if len(_reductions) < _MOST_REDUCTIONS:
                _reductions[axes, keepdims] = known
        (listed, _), count = known
        tape, tensor = recording.calling(), cast("Tensor", self)
        pointer = tensor._as_parameter_.value or tensor._pointer()
        if tensor._tape is None:
            tape._held.add(tensor)
        return tape.computed(op.encode(), recording.PACKED[1](pointer), 1, listed, count, tensor._requires_grad, sys._getframe(2))

    def sum(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return self._reduced("sum", axis, keepdims)

    def mean(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return self._reduced("mean", axis, keepdims)

    def max(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return self._reduced("max", axis, keepdims)

    def min(self, axis: Axes = None, keepdims: bool = False) -> Tensor:
        return self._reduced("min", axis, keepdims)

    def argmax(self) -> Tensor:
        """Along the last axis; i32."""
        return _one("argmax", self)

    # ---- movement ----

    def reshape(self, *shape: Any) -> Tensor:
        return _one("reshape", self, shape=_listed(shape))

    def permute(self, *axes: Any) -> Tensor:
        """Axis i of the result is axis axes[i] of this."""
        rank = len(self.shape)
        return _one("transpose", self, permutation=[axis + rank if axis < 0 else axis for axis in _listed(axes)])

    def transpose(self, *axes: Any) -> Tensor:
        """transpose() turns the axes around, transpose(0, 2, 1) orders them, as in NumPy."""
        return self.permute(*(_listed(axes) or reversed(range(len(self.shape)))))

    @property
    def T(self) -> Tensor:
        return self.transpose()

    def broadcast_to(self, *shape: Any) -> Tensor:
        return _one("broadcast_to", self, shape=_listed(shape))

    def gather(self, ids: Operand) -> Tensor:
        """Rows of this table [V, d] by i32 ids."""
        return _one("gather", self, ids)

    def __getitem__(self, index: Any) -> Tensor:
        """By integers, slices of step 1, `...` and None, as in NumPy."""
        parts = list(index) if isinstance(index, tuple) else [index]
        shape = self.shape
        axes = sum(part is not None and part is not Ellipsis for part in parts)
        if axes > len(shape):
            raise IndexError(f"{axes} indices for a tensor of {len(shape)} axes: {list(shape)}")
        dots = [i for i, part in enumerate(parts) if part is Ellipsis]
        if len(dots) > 1:
            raise IndexError("an index has `...` once at most")
        at = dots[0] if dots else len(parts)
        parts[at:at + 1] = [slice(None)] * (len(shape) - axes)
        result: Any = self
        kept, axis = [], 0  # the result's extents, the axis that the next part is for
        for part in parts:
            if part is None:
                kept.append(1)
                continue
            begin, end, is_one = self._range(part, shape[axis], axis)
            if (begin, end) != (0, shape[axis]):
                result = _one("slice", result, axis=axis, begin=begin, end=end)
            if not is_one:
                kept.append(end - begin)
            axis += 1
        return _one("reshape", result, shape=kept) if result is self or tuple(kept) != result.shape else result

    @staticmethod
    def _range(part: Any, extent: int, axis: int) -> Tuple[int, int, bool]:
        if isinstance(part, slice):
            begin, end, step = part.indices(extent)
            if step != 1:
                raise IndexError(f"the slice of axis {axis} has step {step}, it must be 1")
            if end <= begin:
                raise IndexError(f"the slice {begin}:{end} of axis {axis} is empty")
            return begin, end, False
        if not hasattr(part, "__index__"):
            raise TypeError(f"an index is an integer, a slice, `...` or None, not {type(part).__name__}; rows by a tensor: gather()")
        at = part.__index__()
        if not -extent <= at < extent:
            raise IndexError(f"index {at} is outside of axis {axis}, which has {extent} elements")
        return at % extent, at % extent + 1, True


from . import recording  # noqa: E402  (it needs Tensor, which is made of this)
