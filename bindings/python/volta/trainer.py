"""Trainers: forward, backward, clipping and update as one plan."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import native
from ._library import Handle, check, fields_of, hash_of, lent_text, lib, path_of, struct, texts
from .aliases import Path, Info, Shapes
from .group import Group
from .model import read_only
from .session import Wrapped, bill_of, shapes_of
from .tensor import Memory

if TYPE_CHECKING:
    from .model import Model

_VISIT: Any = native.VOLTA_FUNCTIONS["volta_trainer_estimate_steps"][1][2]
_PARTS = {native.VOLTA_PLAN_FORWARD: "forward", native.VOLTA_PLAN_BACKWARD: "backward", native.VOLTA_PLAN_UPDATE: "update"}
_CONSTANTS = {"loss": "LOSS", "optimizer": "", "schedule": "SCHEDULE", "nonfinite": "NONFINITE"}


def _options(input_shapes: Shapes, frozen: Optional[Sequence[str]], class_weights: Optional[Sequence[float]],
             options: Any, group: Optional[Group] = None) -> Any:
    shapes, count = shapes_of(input_shapes)
    kept = [shapes]
    if group is not None:
        if group.closed:
            raise ValueError("the group was closed")
        options.update(group=group._as_parameter_.value)
    if shapes is not None:
        options.update(input_shapes=ctypes.addressof(shapes), input_extent_count=count)
    if frozen:
        kept.append(texts(frozen))
        options.update(frozen=kept[-1], frozen_count=len(frozen))
    if class_weights is not None:
        kept.append((ctypes.c_double * len(class_weights))(*class_weights))
        options.update(class_weights=ctypes.addressof(kept[-1]), class_weight_count=len(class_weights))
    given = struct(native.volta_trainer_options, options, _CONSTANTS)
    given._kept_too = kept
    return given


class Steps:
    """See Trainer.steps."""

    def __init__(self, trainer: Trainer, count: int) -> None:
        self._trainer, self._count = trainer, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Info]:
        for _ in range(self._count):
            yield self._trainer.step_tokens()


class PlanStep(NamedTuple):
    """A step of a trainer's plan: its operator, the bytes of activations that hold something while it runs, and whether it is part
    of the "forward" pass, of the "backward" pass or of the "update"."""

    operation: str
    alive: int
    part: str


def _told(progress: Any, report: Info) -> Any:
    if not hasattr(progress, "update"):
        return progress(report)
    if hasattr(progress, "set_postfix"):
        progress.set_postfix(loss=f"{report['loss']:.4f}", refresh=False)
    progress.update(1)
    return None


class Trainer(Handle):
    """Trainer(model, [(8, 32)], steps=200, learning_rate=3e-3, schedule="cosine", optimizer="adamw", loss="cross_entropy",
    clip_norm=1.0, weight_decay=0.1, seed=1, frozen=["embed*"], shards=4, ...): the fields of volta_trainer_options.
    group: the ranks that compute the shards.

    Its parameters are its own: model changes when update_model() is called."""

    _release: Any = lib.volta_trainer_release

    def __init__(self, model: Model, input_shapes: Shapes = None, frozen: Optional[Sequence[str]] = None,
                 class_weights: Optional[Sequence[float]] = None, group: Optional[Group] = None, _resume: bool = False,
                 **options: Any) -> None:
        given = None
        if options or input_shapes is not None or frozen or class_weights is not None or group is not None or not _resume:
            given = ctypes.byref(_options(input_shapes, frozen, class_weights, options, group))
        self._check = check if group is None else group._check
        function, out = lib.volta_trainer_resume if _resume else lib.volta_trainer_create, ctypes.c_void_p()
        self._check(function(model, given, ctypes.byref(out)))
        super().__init__(out, model, group)
        self.model = model
        self._wrapped = Wrapped(model.context)
        self._inputs = (ctypes.c_void_p * (len(model.inputs) + self.options["packed_documents"]))()

    @staticmethod
    def estimate(model: Model, input_shapes: Shapes = None, frozen: Optional[Sequence[str]] = None,
                 class_weights: Optional[Sequence[float]] = None, group: Optional[Group] = None, measure: bool = False,
                 **options: Any) -> Info:
        """What Trainer(model, ...) would need, a dict: its bill, the operations and bytes of a step, what is computed again
        for activation_budget, the smallest one that works. measure=True: how long a step takes at least on this machine."""
        bill, cost, speed = native.volta_bill(), native.volta_training_cost(), None
        if measure:
            speed = native.volta_machine_speed()
            check(lib.volta_measure_machine(model.context, ctypes.byref(speed)))
        given = _options(input_shapes, frozen, class_weights, options, group)
        check(lib.volta_trainer_estimate(model, ctypes.byref(given),
                                         None if speed is None else ctypes.byref(speed), ctypes.byref(bill), ctypes.byref(cost)))
        return {"bill": fields_of(bill), **fields_of(cost)}

    @staticmethod
    def estimate_steps(model: Model, input_shapes: Shapes = None, frozen: Optional[Sequence[str]] = None,
                       class_weights: Optional[Sequence[float]] = None, group: Optional[Group] = None,
                       **options: Any) -> List[PlanStep]:
        """The steps of the plan that Trainer(model, ...) would make, in their order: see PlanStep."""
        steps: List[PlanStep] = []

        def visit(_: Any, step: Any) -> None:
            one = step.contents
            steps.append(PlanStep(one.operation.decode(), one.alive, _PARTS[one.part]))

        given = _options(input_shapes, frozen, class_weights, options, group)
        check(lib.volta_trainer_estimate_steps(model, ctypes.byref(given), _VISIT(visit), None))
        return steps

    @classmethod
    def resume(cls, model: Model, input_shapes: Shapes = None, **options: Any) -> Trainer:
        """Goes on where the checkpoint `model` (Model.open) was written, bit for bit. Options, where given, must agree, but
        activation_budget, state_folder, update_in_backward and group: without input_shapes these alone are read."""
        return cls(model, input_shapes, _resume=True, **options)

    def step(self, *arrays: Any) -> Info:
        """One step: the inputs (with packed_documents, then where the document of each token begins), then the targets,
        all micro-batches one after the other. Gives step, loss, gradient_norm and learning_rate, a dict."""
        if len(arrays) != len(self._inputs) + 1:
            raise TypeError(f"step takes {len(self._inputs)} inputs and the targets, not {len(arrays)} arrays")
        tensors = [self._wrapped(x, f"array {i}") for i, x in enumerate(arrays)]
        for i, tensor in enumerate(tensors[:-1]):
            self._inputs[i] = tensor._as_parameter_.value
        report = native.volta_step_report()
        self._check(lib.volta_trainer_step(self, self._inputs, len(self._inputs), tensors[-1], ctypes.byref(report)))
        return fields_of(report)

    def rows(self) -> Tuple[int, int]:
        """Which rows of a step's batch this process reads: the first one, and how many. The others may hold anything."""
        first, count = ctypes.c_uint64(), ctypes.c_uint64()
        check(lib.volta_trainer_rows(self, ctypes.byref(first), ctypes.byref(count)))
        return first.value, count.value

    def set_tokens(self, tokens: Any) -> None:
        """A token stream as data, copied: for models of tokens and the cross-entropy loss."""
        memory = Memory(tokens, "tokens")
        if memory.dtype != native.VOLTA_I32:
            raise TypeError("tokens are int32")
        self._check(lib.volta_trainer_set_tokens(self, memory.address, memory.shape[0]))

    def step_tokens(self) -> Info:
        """One step on the next batch of the token stream."""
        report = native.volta_step_report()
        self._check(lib.volta_trainer_step_tokens(self, ctypes.byref(report)))
        return fields_of(report)

    def run(self, steps: int, progress: Optional[Callable[[Info], Any]] = None) -> Optional[Info]:
        """So many steps on the token stream; progress(report) after each, which may return False to stop, or a bar of tqdm, which
        is moved and shows the loss. Ctrl-C ends it between two steps, with the trainer as the last one left it. Gives the last
        report."""
        report = None
        for report in self.steps(steps):
            if progress is not None and _told(progress, report) is False:
                break
        return report

    def steps(self, count: int) -> Steps:
        """The reports of so many steps, which are made as they are asked for: for report in tqdm(trainer.steps(200)): ..."""
        return Steps(self, count)

    def evaluate_tokens(self, tokens: Any) -> float:
        """Mean loss per token of the current parameters."""
        memory, loss = Memory(tokens, "tokens"), ctypes.c_double()
        self._check(lib.volta_trainer_evaluate_tokens(self, memory.address, memory.shape[0], ctypes.byref(loss)))
        return loss.value

    @property
    def current_step(self) -> int:
        return int(lib.volta_trainer_current_step(self))

    def parameter(self, name: str) -> Any:
        """A parameter's current values, read-only, lent until the next call on the trainer."""
        return read_only(self, lib.volta_trainer_parameter, name, self.model.parameters)

    def gradient(self, name: str) -> Any:
        """Its gradient of the latest step, lent likewise."""
        return read_only(self, lib.volta_trainer_gradient, name, self.model.parameters)

    @property
    def hash(self) -> str:
        return hash_of(lib.volta_trainer_hash, self, self._check)

    def update_model(self) -> None:
        """Copies the trained parameters into the model."""
        self._check(lib.volta_trainer_update_model(self))

    def extend(self, steps: int) -> None:
        """Plans so many steps in all, from which the schedule follows from now on."""
        self._check(lib.volta_trainer_extend(self, steps))

    def save(self, path: Path) -> None:
        """A checkpoint: a model file from which Trainer.resume goes on."""
        self._check(lib.volta_trainer_save(self, path_of(path)))

    def save_sharded(self, folder: Path) -> None:
        """The same checkpoint as a folder in which every rank of the group writes a part."""
        self._check(lib.volta_trainer_save_sharded(self, path_of(folder)))

    @property
    def options(self) -> Info:
        """Those in force, a dict of the numbers."""
        options = native.volta_trainer_options()
        check(lib.volta_trainer_get_options(self, ctypes.byref(options)))
        return {name: value for name, value in fields_of(options).items() if isinstance(value, (int, float))}

    @property
    def bill(self) -> Info:
        return bill_of(lib.volta_trainer_get_bill, self)

    @property
    def plan(self) -> str:
        return lent_text(lib.volta_trainer_print_plan, self)
