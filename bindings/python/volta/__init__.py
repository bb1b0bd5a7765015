"""Volta: define, train, save, resume, load and run small and medium neural networks, with one result.

    import volta
    model = volta.Model.gpt(vocabulary=256, layers=2, dim=64, heads=4, context=32, seed=1)
    trainer = volta.Trainer(model, [(8, 32)], steps=200, learning_rate=3e-3)

Everything of include/volta.h is here: what has no class of its own is in volta.native, called by volta.lib.
"""

from . import native, nn, optim
from ._library import data as _data
from ._library import lib
from .data import Batch, Dataset, Loader, Picture, pack_documents, parse_documents, read_texts, text_parts
from .context import Context, default_context, describe_device, device_count
from .errors import (Cancelled, CorruptModel, DeviceError, Error, InternalError, InvalidArgument, InvalidState, IoError,
                     NotFinite, OutOfMemory, ShapeMismatch, Unsupported)
from .compiling import Compiled, compile
from .generator import Generator, Sequence
from .graph import Graph, Value
from .group import Group
from .interrupt import Cancel
from .model import Model, chat_format_names, network_names, survey
from .recording import Tape, apply, concat, current_tape, maximum, minimum, no_grad, tape, where
from .session import Session
from .tensor import Tensor, from_dlpack, open_tensors, save_tensors
from .tokenizer import Tokenizer
from .trainer import PlanStep, Trainer

__version__ = lib.volta_version().decode()


def data_version() -> str:
    """Of libvolta_data, which this loads."""
    return str(_data().volta_data_version().decode())


def status_name(status: int) -> str:
    """"VOLTA_OK" and so on."""
    return str(lib.volta_status_name(status).decode())


__all__ = ["Batch", "Cancel", "Cancelled", "Compiled", "Context", "CorruptModel", "Dataset", "DeviceError", "Error",
           "Generator", "Graph", "InternalError", "InvalidArgument", "InvalidState", "IoError", "Loader", "Model",
           "NotFinite", "OutOfMemory", "Picture", "PlanStep", "Sequence", "Session", "ShapeMismatch", "Tape", "Tensor",
           "Tokenizer", "Trainer", "Unsupported", "Value", "apply", "chat_format_names", "compile", "concat",
           "current_tape", "data_version", "default_context", "describe_device", "device_count", "from_dlpack", "lib",
           "maximum", "minimum", "native", "network_names", "nn", "no_grad", "open_tensors", "optim", "pack_documents",
           "parse_documents", "read_texts", "save_tensors", "status_name", "survey", "tape", "text_parts", "where"]
