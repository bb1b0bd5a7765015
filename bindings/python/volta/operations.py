"""Operators of tensors: each is one of docs/operators.md, recorded on the current tape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple, Union

from .aliases import Operand

if TYPE_CHECKING:
    from .tensor import Tensor

Axes = Optional[Union[int, Sequence[int]]]


def _one(op: str, *inputs: Any, **attributes: Any) -> Tensor:
    result: Tensor = recording.current_tape().apply(op, *inputs, **attributes)
    return result


def _listed(given: Tuple[Any, ...]) -> Tuple[int, ...]:
    """f(2, 3) and f((2, 3)) are the same."""
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], (list, tuple)) else given


class Operations:
    """What Tensor takes from here: Python's operators, and methods named as in NumPy and PyTorch. Numbers and arrays may stand
    where tensors may; shapes broadcast as in NumPy."""

    __hash__ = object.__hash__  # == compares elements
    __array_ufunc__ = None  # array + tensor is the tensor's to compute

    @property
    def shape(self) -> Tuple[int, ...]:
        raise NotImplementedError

    def __add__(self, other: Operand) -> Tensor:
        return _one("add", self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return _one("add", other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return _one("sub", self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return _one("sub", other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return _one("mul", self, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return _one("mul", other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return _one("div", self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return _one("div", other, self)

    def __matmul__(self, other: Operand) -> Tensor:
        return _one("matmul", self, other)

    def __rmatmul__(self, other: Operand) -> Tensor:
        return _one("matmul", other, self)

    def __pow__(self, exponent: float) -> Tensor:
        if not isinstance(exponent, (int, float)):
            return NotImplemented
        return _one("pow", self, exponent=exponent)

    def __neg__(self) -> Tensor:
        return _one("neg", self)

    def __abs__(self) -> Tensor:
        return _one("abs", self)

    # Comparisons: 1 and 0 in an i32 tensor, a mask for volta.where.

    def __lt__(self, other: Operand) -> Tensor:
        return _one("less", self, other)

    def __le__(self, other: Operand) -> Tensor:
        return _one("less_equal", self, other)

    def __gt__(self, other: Operand) -> Tensor:
        return _one("less", other, self)

    def __ge__(self, other: Operand) -> Tensor:
        return _one("less_equal", other, self)

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        if other is None or isinstance(other, str):
            return NotImplemented
        return _one("equal", self, other)

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        if other is None or isinstance(other, str):
            return NotImplemented
        return _one("equal", _one("where", _one("equal", self, other), 1, 0), 0)

    # ---- one input ----

    def abs(self) -> Tensor:
        return _one("abs", self)

    def exp(self) -> Tensor:
        return _one("exp", self)

    def log(self) -> Tensor:
        return _one("log", self)

    def sqrt(self) -> Tensor:
        return _one("sqrt", self)

    def rsqrt(self) -> Tensor:
        return _one("rsqrt", self)

    def sin(self) -> Tensor:
        return _one("sin", self)

    def cos(self) -> Tensor:
        return _one("cos", self)

    def tanh(self) -> Tensor:
        return _one("tanh", self)

    def erf(self) -> Tensor:
        return _one("erf", self)

    def sigmoid(self) -> Tensor:
        return _one("sigmoid", self)

    def relu(self) -> Tensor:
        return _one("relu", self)

    def silu(self) -> Tensor:
        return _one("silu", self)

    def softplus(self) -> Tensor:
        return _one("softplus", self)

    def gelu(self, approximate: str = "none") -> Tensor:
        """approximate="tanh" is the one of GPT-2."""
        if approximate not in ("none", "tanh"):
            raise ValueError(f"approximate is {approximate!r}, it must be 'none' or 'tanh'")
        return _one("gelu_tanh" if approximate == "tanh" else "gelu_erf", self)

    def floor(self) -> Tensor:
        return _one("floor", self)

    def ceil(self) -> Tensor:
        return _one("ceil", self)

    def round(self) -> Tensor:
        return _one("round", self)

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
        attributes: Any = {"keep_dims": int(keepdims)}
        if axis is not None:
            attributes["axes"] = [axis] if isinstance(axis, int) else list(axis)
        return _one(op, self, **attributes)

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
