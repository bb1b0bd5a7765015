"""Models: a graph and its parameters, made, opened, imported, saved and exported."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

from . import native
from ._library import Handle, check, constant, hash_of, lib, made, path_of, struct
from .aliases import Path, Info, Shape
from .context import default_context
from .graph import Graph
from .tensor import Memory, array_of
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    from .context import Context



def _info(function: Any, model: Model, index: int) -> Info:
    info = native.volta_tensor_info()
    check(function(model, index, ctypes.byref(info)))
    return {"name": info.name.decode(), "dtype": info.dtype, "shape": tuple(info.shape[: info.rank])}


class Metadata:
    """Free text of a model by key: model.metadata["title"] = "..."; None where there is none."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def __getitem__(self, key: str) -> Any:
        value = ctypes.c_char_p()
        check(lib.volta_model_get_metadata(self._model, key.encode(), ctypes.byref(value)))
        return None if value.value is None else value.value.decode()

    def __setitem__(self, key: str, value: Optional[str]) -> None:
        check(lib.volta_model_set_metadata(self._model, key.encode(), None if value is None else value.encode()))

    def __delitem__(self, key: str) -> None:
        self[key] = None


class Model(Handle):
    """Model.gpt(vocabulary=256, layers=4, dim=128, heads=4, context=128, seed=1), Model.network("resnet20"),
    Model.of(graph), Model.open("x.volta"), Model.load("model.safetensors"), Model.from_pretrained("folder")."""

    _release: Any = lib.volta_model_release

    def __init__(self, pointer: ctypes.c_void_p, context: Context) -> None:
        super().__init__(pointer, context)
        self.context = context

    # ---- Making

    @classmethod
    def _created(cls, function: Any, kind: Any, seed: int, ctx: Optional[Context], options: Any,
                 constants: Optional[Dict[str, str]] = None) -> Model:
        context = ctx or default_context()
        given = struct(kind, options, constants)
        return cls(made(function, context, ctypes.byref(given), seed), context)

    @classmethod
    def of(cls, graph: Graph, seed: int = 0) -> Model:
        """A model of a graph, its parameters drawn from the seed."""
        return cls(made(lib.volta_model_create, graph, seed), graph.context)

    @classmethod
    def gpt(cls, seed: int = 0, ctx: Optional[Context] = None, **options: Any) -> Model:
        """volta_gpt_options: vocabulary, layers, dim, heads, context, ..."""
        return cls._created(lib.volta_model_create_gpt, native.volta_gpt_options, seed, ctx, options)

    @classmethod
    def llama(cls, seed: int = 0, ctx: Optional[Context] = None, **options: Any) -> Model:
        """volta_llama_options."""
        return cls._created(lib.volta_model_create_llama, native.volta_llama_options, seed, ctx, options)

    @classmethod
    def bert(cls, seed: int = 0, ctx: Optional[Context] = None, **options: Any) -> Model:
        """volta_bert_options; head is "masked", "classes", ..."""
        return cls._created(lib.volta_model_create_bert, native.volta_bert_options, seed, ctx, options,
                            {"head": "BERT"})

    @classmethod
    def network(cls, name: str, seed: int = 0, ctx: Optional[Context] = None, **options: Any) -> Model:
        """volta_network_options: "resnet18", "resnet20", "mobilenet_v2", "cnn", ... (network_names())."""
        return cls._created(lib.volta_model_create_network, native.volta_network_options, seed, ctx,
                            dict(options, name=name), {"stem": "STEM"})

    @classmethod
    def open(cls, path: Path, verify: bool = False, copy: bool = False, ctx: Optional[Context] = None) -> Model:
        """A model file, mapped: milliseconds."""
        context = ctx or default_context()
        options = native.volta_open_options(mode=native.VOLTA_LOAD_COPY if copy else native.VOLTA_LOAD_MAP,
                                            verify=int(verify))
        return cls(made(lib.volta_model_open, context, path_of(path), ctypes.byref(options)), context)

    @classmethod
    def open_bytes(cls, data: Any, ctx: Optional[Context] = None) -> Model:
        """A model file from memory, copied."""
        context = ctx or default_context()
        options = native.volta_open_options(mode=native.VOLTA_LOAD_COPY)
        data = bytes(data)
        return cls(made(lib.volta_model_open_memory, context, data, len(data), ctypes.byref(options)), context)

    @classmethod
    def load(cls, path: Path, ctx: Optional[Context] = None, shapes: Optional[Dict[str, Shape]] = None,
             network: Optional[Dict[str, Any]] = None, bert: Optional[Dict[str, Any]] = None, **options: Any) -> Model:
        """Weights of another program (safetensors, GGUF, llama2.c) or an ONNX file: volta_import_options. shapes: of an
        ONNX file's inputs, {"x": (1, 3, 224, 224)}; network and bert: dicts of their options."""
        context, kept = ctx or default_context(), []
        if shapes:
            listed = (native.volta_input_shape * len(shapes))()
            for one, (name, shape) in zip(listed, shapes.items()):
                one.name, one.rank = name.encode(), len(shape)
                one.shape[: len(shape)] = shape
            options.update(shapes=listed, shape_count=len(shapes))
        if network is not None:
            kept.append(struct(native.volta_network_options, network, {"stem": "STEM"}))
            options["network"] = ctypes.pointer(kept[-1])
        if bert is not None:
            kept.append(struct(native.volta_bert_options, bert, {"head": "BERT"}))
            options["bert"] = ctypes.pointer(kept[-1])
        given = struct(native.volta_import_options, options, {"format": "WEIGHTS", "weights": ""})
        return cls(made(lib.volta_model_import, context, path_of(path), ctypes.byref(given)), context)

    @classmethod
    def from_pretrained(cls, folder: Path, ctx: Optional[Context] = None, **options: Any) -> Model:
        """A folder as Hugging Face lays it out: config.json, weights or their shards, a tokenizer with its chat template."""
        if not os.path.isdir(folder):
            raise NotADirectoryError(f"{folder} is no folder")
        return cls.load(folder, ctx, **options)

    # ---- What it is

    @property
    def inputs(self) -> List[Info]:
        return [_info(lib.volta_model_input_info, self, i) for i in range(lib.volta_model_input_count(self))]

    @property
    def outputs(self) -> List[Info]:
        return [_info(lib.volta_model_output_info, self, i) for i in range(lib.volta_model_output_count(self))]

    @property
    def parameters(self) -> List[Info]:
        return [_info(lib.volta_model_parameter_info, self, i) for i in range(lib.volta_model_parameter_count(self))]

    def __getitem__(self, name: str) -> Any:
        """A parameter's values, read-only, lent by the model."""
        return read_only(self, lib.volta_model_parameter, name, self.parameters)

    def __setitem__(self, name: str, values: Any) -> None:
        memory = Memory(values, name)
        if memory.dtype != native.VOLTA_F32:
            raise TypeError(f"{name} takes float32")
        count = 1
        for extent in memory.shape:
            count *= extent
        check(lib.volta_model_set_parameter(self, name.encode(), memory.address, count))

    @property
    def hash(self) -> str:
        """128 bits of all parameters, 32 hexadecimal digits."""
        return hash_of(lib.volta_model_hash, self)

    @property
    def metadata(self) -> Metadata:
        return Metadata(self)

    @property
    def arithmetic(self) -> Tuple[int, int]:
        """(level, precision) that gave the parameters their values."""
        level, precision = ctypes.c_int32(), ctypes.c_int32()
        check(lib.volta_model_get_arithmetic(self, ctypes.byref(level), ctypes.byref(precision)))
        return level.value, precision.value

    @property
    def tokenizer(self) -> Optional[Tokenizer]:
        pointer = made(lib.volta_model_get_tokenizer, self)
        return Tokenizer(pointer, self.context) if pointer else None

    @tokenizer.setter
    def tokenizer(self, tokenizer: Optional[Tokenizer]) -> None:
        check(lib.volta_model_set_tokenizer(self, tokenizer))

    # ---- Conversations

    def set_chat_format(self, name: Optional[str], system: Optional[str] = None) -> None:
        """How conversations become tokens, of chat_format_names(); system: what the system says where no message does."""
        check(lib.volta_model_set_chat_format(self, None if name is None else name.encode(),
                                              None if system is None else system.encode()))

    @property
    def chat_end(self) -> int:
        """The id that ends an answer."""
        token = ctypes.c_int32()
        check(lib.volta_model_get_chat_end(self, ctypes.byref(token)))
        return token.value

    def encode_chat(self, messages: Sequence[Dict[str, str]], whole: bool = False) -> Tuple[Any, Any]:
        """(ids, answers) of messages {"role": ..., "content": ...}: arrays; answers is 1 where an id belongs to an answer. whole:
        without the beginning of the next one."""
        array = (native.volta_chat_message * len(messages))()
        for place, message in zip(array, messages):
            place.role, place.content = message["role"].encode(), message["content"].encode()
        count, flags = ctypes.c_size_t(), native.VOLTA_CHAT_WHOLE if whole else 0
        check(lib.volta_model_encode_chat(self, array, len(messages), flags, None, None, 0, ctypes.byref(count)))
        ids, answers = (ctypes.c_int32 * count.value)(), (ctypes.c_uint8 * count.value)()
        check(lib.volta_model_encode_chat(self, array, len(messages), flags, ids, answers, count.value, ctypes.byref(count)))
        return ids, answers

    # ---- What becomes of it

    def save(self, path: Path) -> None:
        check(lib.volta_model_save(self, path_of(path)))

    def save_sharded(self, parts: int, folder: Path) -> None:
        """The bytes of that file as so many files of a folder, which Model.open takes too."""
        check(lib.volta_model_save_sharded(self, parts, path_of(folder)))

    def export_safetensors(self, path: Path, names: str = "own", config_path: Optional[Path] = None) -> None:
        """names: "own" or "hugging_face", which also writes a config.json where it is told to."""
        options = struct(native.volta_export_options, {"names": names, "config_path": config_path}, {"names": "NAMES"})
        check(lib.volta_model_export_safetensors_with(self, ctypes.byref(options), path_of(path)))

    def export_onnx(self, path: Path, opset: int = 0, inline_bytes: int = 0) -> None:
        """An ONNX file: opset 13, 17, 20 or 21. Model.load of it is this model, bit for bit."""
        options = native.volta_onnx_export_options(opset=opset, inline_bytes=inline_bytes)
        check(lib.volta_model_export_onnx(self, ctypes.byref(options), path_of(path)))

    def export_gguf(self, path: Path, weights: Union[str, int] = 0, no_tokenizer: bool = False) -> None:
        """A GGUF file, for programs like llama.cpp: weights as they are, or "f32", "f16", "bf16", "int8" (Q8_0), "int4" (Q4_0)."""
        wanted = constant("", weights) if weights else 0
        options = native.volta_gguf_export_options(weights=wanted, no_tokenizer=no_tokenizer)
        check(lib.volta_model_export_gguf(self, ctypes.byref(options), path_of(path)))

    def quantize(self, dtype: Union[str, int]) -> Model:
        """A model of stored weights: "bf16", "f16", "int8", "int4" or "f32_panels"."""
        return Model(made(lib.volta_model_quantize, self, constant("", dtype)), self.context)

    def add_lora(self, rank: int = 0, alpha: float = 0, targets: Optional[str] = None, seed: int = 0) -> Model:
        """A model with adapters beside the weights of this one, its base, which it keeps: volta_lora_options. They alone are
        trained, and saved."""
        given = struct(native.volta_lora_options, {"rank": rank, "alpha": alpha, "targets": targets, "seed": seed})
        return Model(made(lib.volta_model_add_lora, self, ctypes.byref(given)), self.context)

    def open_adapter(self, path: Path) -> Model:
        """The adapters of a file on this model, its base."""
        return Model(made(lib.volta_model_open_adapter, self, path_of(path), None), self.context)

    def merge_adapter(self) -> Tuple[Model, float]:
        """A model of the base's graph with the adapters added to its weights, and by how much one of these was rounded."""
        difference, pointer = ctypes.c_double(), ctypes.c_void_p()
        check(lib.volta_model_merge_adapter(self, ctypes.byref(difference), ctypes.byref(pointer)))
        return Model(pointer, self.context), difference.value

    def export_peft(self, folder: Path) -> None:
        """adapter_config.json and adapter_model.safetensors in a folder that is there."""
        check(lib.volta_model_export_peft(self, path_of(folder)))

    def import_peft(self, folder: Path) -> Model:
        """The adapters of such a folder on this model, their base."""
        return Model(made(lib.volta_model_import_peft, self, path_of(folder)), self.context)

    def replace_head(self, classes: int, seed: int = 0) -> Model:
        return Model(made(lib.volta_model_replace_head, self, classes, seed), self.context)

    def fold_batch_norm(self) -> Model:
        pointer, count = ctypes.c_void_p(), ctypes.c_size_t()
        check(lib.volta_model_fold_batch_norm(self, ctypes.byref(pointer), ctypes.byref(count)))
        return Model(pointer, self.context)

    def hidden_states(self) -> Model:
        """A model that ends with the states of a language model's tokens."""
        return Model(made(lib.volta_model_hidden_states, self), self.context)

    def evaluate_tokens(self, tokens: Any) -> float:
        """Mean loss per token over consecutive windows."""
        memory, loss = Memory(tokens, "tokens"), ctypes.c_double()
        check(lib.volta_model_evaluate_tokens(self, memory.address, memory.shape[0], ctypes.byref(loss)))
        return loss.value


def read_only(owner: Any, function: Any, name: str, parameters: Sequence[Info]) -> Any:
    """What a call of the kind (object, name, out data, out elements) lends, in the parameter's shape."""
    data, count = ctypes.c_void_p(), ctypes.c_size_t()
    check(function(owner, name.encode(), ctypes.byref(data), ctypes.byref(count)))
    shape = next((one["shape"] for one in parameters if one["name"] == name), (count.value,))
    array = array_of(native.VOLTA_F32, shape, data.value or 0, owner)
    if hasattr(array, "setflags"):
        array.setflags(write=False)
        return array
    return array.toreadonly()


def chat_format_names() -> List[str]:
    """What Model.set_chat_format takes."""
    names: List[str] = []
    while True:
        name = lib.volta_chat_format_name(len(names))
        if name is None:
            return names
        names.append(name.decode())


def network_names() -> List[str]:
    """The networks of Model.network."""
    names: List[str] = []
    while True:
        name = lib.volta_network_name(len(names))
        if name is None:
            return names
        names.append(name.decode())


def survey(path: Path, ctx: Optional[Context] = None) -> Info:
    """What an ONNX file holds, without making a model of it: the library's JSON, as a dict."""
    import json

    context, count = ctx or default_context(), ctypes.c_size_t()
    options = native.volta_import_options()

    def ask(text: Any, capacity: int) -> None:
        check(lib.volta_model_survey(context, path_of(path), ctypes.byref(options), text, capacity, ctypes.byref(count)))

    ask(None, 0)
    text = ctypes.create_string_buffer(count.value + 1)
    ask(text, count.value + 1)
    return dict(json.loads(text.value))
