"""Optimizers of tensors: the trainer's own, on the tape whose gradients they take."""

from __future__ import annotations

import ctypes
from typing import Any, Iterable, List, Optional, Tuple

from . import native, recording
from ._library import Handle, check, fields_of, lib, made, struct
from .aliases import Info
from .tensor import Tensor

_CONSTANTS = {"optimizer": "", "schedule": "SCHEDULE"}


class Optimizer:
    """What SGD, Adam, AdamW and Adagrad are. Further options are the fields of volta_optimizer_options: clip_norm=1.0,
    schedule="cosine" with steps and warmup_steps, final_learning_rate, decay_all_parameters=1 (else weight_decay leaves out tensors of
    one axis)."""

    def __init__(self, optimizer: str, parameters: Iterable[Tensor], lr: float, **options: Any) -> None:
        self.parameters: List[Tensor] = list(parameters)
        self._options = struct(native.volta_optimizer_options, {"optimizer": optimizer, "learning_rate": lr, **options}, _CONSTANTS)
        self._made: Optional[Handle] = None
        self._tape: Optional[recording.Tape] = None

    def _on(self, tape: recording.Tape) -> Handle:
        """The library's optimizer. It belongs to the tape of the first step, with all its moments."""
        if self._made is None:
            tensors = recording.handles(len(self.parameters))
            for i, parameter in enumerate(self.parameters):
                tensors[i] = parameter._pointer()
            self._made = _Made(made(lib.volta_tape_optimizer_create, tape, ctypes.byref(self._options), tensors,
                                    len(self.parameters)), tape, *self.parameters)
            self._tape = tape
        return self._made

    def zero_grad(self) -> None:
        """The next backward() starts from nothing."""
        for parameter in self.parameters:
            parameter.zero_grad()

    def step(self, reset: bool = True) -> Info:
        """Computes what is recorded, with the gradients and the update, and ends the record, unless reset=False. Gives step, loss,
        gradient_norm and learning_rate, a dict. Results of one element that Python holds can be read afterwards."""
        tape, report = recording.current_tape(), native.volta_step_report()
        optimizer = self._on(tape)
        tape.at_caller()
        check(lib.volta_tape_step(tape, optimizer, ctypes.byref(report)))
        if reset:
            tape._keep_numbers()
            tape.reset()
        return fields_of(report)


class _Made(Handle):
    _release: Any = lib.volta_tape_optimizer_release


class SGD(Optimizer):
    def __init__(self, parameters: Iterable[Tensor], lr: float, momentum: float = 0.0, nesterov: bool = False,
                 weight_decay: float = 0.0, **options: Any) -> None:
        super().__init__("sgd", parameters, lr, momentum=momentum, nesterov=int(nesterov), weight_decay=weight_decay, **options)


class Adam(Optimizer):
    def __init__(self, parameters: Iterable[Tensor], lr: float = 1e-3, betas: Tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0.0, **options: Any) -> None:
        super().__init__("adam", parameters, lr, beta1=betas[0], beta2=betas[1], epsilon=eps, weight_decay=weight_decay, **options)


class AdamW(Optimizer):
    def __init__(self, parameters: Iterable[Tensor], lr: float = 1e-3, betas: Tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0.01, **options: Any) -> None:
        super().__init__("adamw", parameters, lr, beta1=betas[0], beta2=betas[1], epsilon=eps, weight_decay=weight_decay, **options)


class Adagrad(Optimizer):
    def __init__(self, parameters: Iterable[Tensor], lr: float = 1e-2, eps: float = 1e-10, weight_decay: float = 0.0,
                 **options: Any) -> None:
        super().__init__("adagrad", parameters, lr, epsilon=eps, weight_decay=weight_decay, **options)
