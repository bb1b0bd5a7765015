"""Modules: tensors that are trained, and what is done with them. Weights of linear layers lie as in Volta's models, [in, out]."""

from __future__ import annotations

import itertools
import math
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from . import recording
from .aliases import Operand, Shape
from .graph import Graph
from .model import Model
from .operations import _one
from .tensor import Tensor

_numbers = itertools.count()  # of initial values: the n-th tensor of a process has the n-th seed
_seed = 0


def manual_seed(seed: int) -> None:
    """Of the initial values of what is made from now on."""
    global _numbers, _seed
    _numbers, _seed = itertools.count(), seed


def initial(shape: Shape, kind: str = "uniform", a: float = 0.0, b: float = 0.0) -> Tensor:
    """A tensor that requires a gradient, with the library's own random values, as in a graph: "constant" (a), "normal" (deviation a)
    or "uniform" (a to b). The same seed gives the same values, in every binding."""
    context = recording.current_context()
    with Graph(context) as graph:
        graph.output("y", graph.sum(graph.parameter("p", shape, kind, a, b)))
        with Model.of(graph, seed=_seed * 2**32 + next(_numbers)) as model:
            values = Tensor.wrap(model["p"], context)
            made = values._copied()
    made.requires_grad = True
    return made


class Module:
    """A thing with parameters: Tensors that require a gradient, among its attributes, and further Modules, also in lists. Its own
    class says forward(...)."""

    training = True

    def forward(self, *inputs: Any, **named: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        return self.forward(*inputs, **named)

    def _children(self) -> Iterator[Tuple[str, Module]]:
        for name, value in vars(self).items():
            if isinstance(value, Module):
                yield name, value
            elif isinstance(value, (list, tuple)):
                for i, part in enumerate(value):
                    if isinstance(part, Module):
                        yield f"{name}.{i}", part

    def modules(self) -> Iterator[Module]:
        """This, then those within."""
        yield self
        for _, child in self._children():
            yield from child.modules()

    def _named_tensors(self, prefix: str = "") -> Iterator[Tuple[str, Tensor, Module, str]]:
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                yield prefix + name, value, self, name
        for name, child in self._children():
            yield from child._named_tensors(f"{prefix}{name}.")

    def named_parameters(self) -> Iterator[Tuple[str, Tensor]]:
        """Each tensor once, by the first name that it has."""
        seen = set()
        for name, tensor, _, _ in self._named_tensors():
            if tensor.requires_grad and id(tensor) not in seen:
                seen.add(id(tensor))
                yield name, tensor

    def parameters(self) -> List[Tensor]:
        return [tensor for _, tensor in self.named_parameters()]

    def zero_grad(self) -> None:
        for parameter in self.parameters():
            parameter.zero_grad()

    def state_dict(self) -> Dict[str, Any]:
        """Copies of all tensors, parameters or not, as arrays by name."""
        return {name: tensor._copied().array() for name, tensor, _, _ in self._named_tensors()}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Copies arrays of these names and shapes into the tensors. All must be there, and no others; else nothing is copied."""
        tensors = {name: tensor for name, tensor, _, _ in self._named_tensors()}
        missing, unknown = sorted(set(tensors) - set(state)), sorted(set(state) - set(tensors))
        if missing or unknown:
            raise KeyError(f"the state lacks {missing} and has {unknown}, which the module has not")
        given = {name: Tensor(array) for name, array in state.items()}
        for name, tensor in tensors.items():
            if (given[name].shape, given[name].dtype) != (tensor.shape, tensor.dtype):
                raise ValueError(f"{name} is {tensor.dtype}{list(tensor.shape)}, the state has {given[name].dtype}{list(given[name].shape)}")
        for name, tensor in tensors.items():
            tensor._assign(given[name])

    def train(self, mode: bool = True) -> Module:
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        return self.train(False)


class Sequential(Module):
    """One after the other."""

    def __init__(self, *modules: Module) -> None:
        self.layers = list(modules)

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index: int) -> Module:
        return self.layers[index]

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


class Linear(Module):
    """x @ weight + bias, with weight [inputs, outputs]."""

    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        bound = 1 / math.sqrt(inputs)
        self.weight = initial((inputs, outputs), "uniform", -bound, bound)
        self.bias = initial((outputs,), "uniform", -bound, bound) if bias else None

    def forward(self, x: Operand) -> Tensor:
        y = _one("matmul", x, self.weight)
        return y if self.bias is None else y + self.bias


def _pair(value: Union[int, Sequence[int]]) -> List[int]:
    return [value, value] if isinstance(value, int) else list(value)


class Conv2d(Module):
    """On pictures [N, channels, rows, columns]; weight [filters, channels / groups, rows, columns]."""

    def __init__(self, channels: int, filters: int, kernel: Union[int, Sequence[int]], stride: Union[int, Sequence[int]] = 1,
                 padding: Union[int, Sequence[int]] = 0, dilation: Union[int, Sequence[int]] = 1, groups: int = 1,
                 bias: bool = True) -> None:
        taps = _pair(kernel)
        bound = 1 / math.sqrt(channels // groups * taps[0] * taps[1])
        self.weight = initial((filters, channels // groups, *taps), "uniform", -bound, bound)
        self.bias = initial((filters,), "uniform", -bound, bound) if bias else None
        self._attributes = {"strides": _pair(stride), "dilations": _pair(dilation), "pads": 2 * _pair(padding), "groups": groups}

    def forward(self, x: Operand) -> Tensor:
        operands = [x, self.weight] if self.bias is None else [x, self.weight, self.bias]
        return _one("conv", *operands, **self._attributes)


class LayerNorm(Module):
    """Of the last axis."""

    def __init__(self, dim: int, eps: float = 1e-5) -> None:
        self.weight, self.bias, self.eps = initial((dim,), "constant", 1), initial((dim,), "constant"), eps

    def forward(self, x: Operand) -> Tensor:
        return _one("layer_norm", x, self.weight, self.bias, epsilon=self.eps)


class RMSNorm(Module):
    """Of the last axis."""

    def __init__(self, dim: int, eps: float = 1e-5) -> None:
        self.weight, self.eps = initial((dim,), "constant", 1), eps

    def forward(self, x: Operand) -> Tensor:
        return _one("rms_norm", x, self.weight, epsilon=self.eps)


class GroupNorm(Module):
    """Of pictures [N, channels, ...]: the channels of a group, with their planes, as one row."""

    def __init__(self, groups: int, channels: int, eps: float = 1e-5) -> None:
        self.weight, self.bias = initial((channels,), "constant", 1), initial((channels,), "constant")
        self.groups, self.eps = groups, eps

    def forward(self, x: Operand) -> Tensor:
        return _one("group_norm", x, self.weight, self.bias, groups=self.groups, epsilon=self.eps)


class BatchNorm2d(Module):
    """Of pictures [N, channels, rows, columns]: in training by the mean and variance of the batch, which an optimizer's step() lets
    running_mean and running_var follow by `momentum`; in eval() by the running ones."""

    def __init__(self, channels: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        self.weight, self.bias = initial((channels,), "constant", 1), initial((channels,), "constant")
        self.running_mean, self.running_var = Tensor.zeros((channels,)), Tensor.ones((channels,))
        self.eps, self.momentum = eps, momentum

    def forward(self, x: Operand) -> Tensor:
        return _one("batch_norm_train" if self.training else "batch_norm", x, self.weight, self.bias, self.running_mean, self.running_var,
                    epsilon=self.eps, momentum=self.momentum)


class Embedding(Module):
    """Rows of a table by i32 ids."""

    def __init__(self, rows: int, dim: int) -> None:
        self.weight = initial((rows, dim), "normal", 1)

    def forward(self, ids: Operand) -> Tensor:
        return _one("gather", self.weight, ids)


class MultiHeadAttention(Module):
    """Of a sequence [batch, time, dim] to itself: one projection to queries, keys and values, attention, one projection back."""

    def __init__(self, dim: int, heads: int, causal: bool = True, bias: bool = True) -> None:
        if dim % heads != 0:
            raise ValueError(f"dim is {dim}, which {heads} heads do not divide")
        self.qkv, self.out = Linear(dim, 3 * dim, bias), Linear(dim, dim, bias)
        self.heads, self.causal = heads, causal

    def forward(self, x: Operand) -> Tensor:
        result: Tensor = self.out(_one("attention", self.qkv(x), heads=self.heads, causal=int(self.causal), packed=1))
        return result


class Dropout(Module):
    """Drops elements in training; nothing in eval()."""

    def __init__(self, probability: float = 0.5) -> None:
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        return x.dropout(self.probability) if self.training and self.probability > 0 else x


class ReLU(Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.relu()


class GELU(Module):
    def __init__(self, approximate: str = "none") -> None:
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return x.gelu(self.approximate)


class SiLU(Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.silu()


def cross_entropy(logits: Tensor, targets: Operand, label_smoothing: float = 0.0) -> Tensor:
    """The mean over all rows, ignored ones (-1) counted with a loss of 0."""
    return logits.cross_entropy(targets, label_smoothing).mean()


def mse(x: Tensor, target: Operand) -> Tensor:
    """The mean of the squared differences."""
    return ((x - target) ** 2).mean()


__all__ = ["BatchNorm2d", "Conv2d", "Dropout", "Embedding", "GELU", "GroupNorm", "LayerNorm", "Linear", "Module", "MultiHeadAttention",
           "RMSNorm", "ReLU", "Sequential", "SiLU", "cross_entropy", "initial", "manual_seed", "mse"]
