"""Pictures and texts from files to batches: libvolta_data, loaded when it is first used."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from . import native
from ._library import Handle, check_data, constant, data, fields_of, path_of, struct, texts
from .aliases import Info, Path
from .tensor import array_of, bytes_at

Paths = Union[Path, Sequence[Path]]
_SPLITS = {"split": "SPLIT"}
_LOG: Any = {field[0]: field[1] for field in native.volta_dataset_options._fields_}["log"]


def _options(options: Dict[str, Any]) -> Any:
    """volta_dataset_options of keyword arguments; log(level, line) is a function."""
    log = options.pop("log", None)
    if log is not None:
        options["log"] = _LOG(lambda _, level, line: log(level, ctypes.string_at(line).decode()))
    return struct(native.volta_dataset_options, options, _SPLITS)


def _listed(paths: Paths) -> List[Path]:
    return [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)


def _made(function: Any, *arguments: Any) -> ctypes.c_void_p:
    out = ctypes.c_void_p()
    check_data(function(*arguments, ctypes.byref(out)))
    return out


class Picture(Handle):
    """A picture of bytes: Picture.open("x.png"), dataset[17]."""

    @property
    def _release(self) -> Any:
        return data().volta_picture_release

    @classmethod
    def open(cls, path: Path, **options: Any) -> Picture:
        """One JPEG or PNG file. max_pixels and max_file_bytes limit what is read."""
        given = _options(options)
        return cls(_made(data().volta_picture_open, path_of(path), ctypes.byref(given)), given)

    @property
    def _info(self) -> native.volta_picture_info:
        info = native.volta_picture_info()
        check_data(data().volta_picture_get_info(self, ctypes.byref(info)))
        return info

    @property
    def shape(self) -> Tuple[int, int, int]:
        """(channels, height, width)."""
        info = self._info
        return info.channels, info.height, info.width

    @property
    def label(self) -> int:
        """Its class; -1: none."""
        return int(self._info.label)

    def array(self) -> Any:
        """Its bytes, [channels, height, width], read-only and not copied: uint8 of NumPy, or a memoryview."""
        return bytes_at(self._info.pixels or 0, self.shape, self)

    def resize(self, height: int, width: int, filter: Union[str, int] = "bilinear") -> Picture:
        """Another size, with the results of Pillow: "bilinear", "bicubic", "box"."""
        return Picture(_made(data().volta_picture_resize, self, height, width, constant("FILTER", filter)))

    def transform(self, **options: Any) -> Any:
        """As a model takes it, float32 [channels, height, width]: the fields of volta_transform_options that are not random."""
        given = _transform(options)
        channels, height, width = self.shape
        shape = (given.channels or channels, given.height or height, given.width or width)
        values = (ctypes.c_float * (shape[0] * shape[1] * shape[2]))()
        check_data(data().volta_picture_transform(self, ctypes.byref(given), values, len(values)))
        return array_of(native.VOLTA_F32, shape, ctypes.addressof(values), values)


def _transform(options: Dict[str, Any]) -> Any:
    for name in ("mean", "deviation"):
        if name in options:
            options[name] = (ctypes.c_float * 3)(*options[name])
    if options.get("resize") == "exact":
        options["resize"] = native.VOLTA_RESIZE_EXACT
    return struct(native.volta_transform_options, options, {"filter": "FILTER"})


class Dataset(Handle):
    """Dataset("folder", "pictures"), Dataset("cifar10", "data_batch_1.bin", split="test"), Dataset("idx", [images, labels]). Its
    length is the number of samples, dataset[i] a Picture."""

    @property
    def _release(self) -> Any:
        return data().volta_dataset_release

    def __init__(self, format: Union[str, int], paths: Paths, **options: Any) -> None:
        listed, given = texts(_listed(paths)), _options(options)
        super().__init__(_made(data().volta_dataset_open, constant("DATA", format), listed, len(listed), ctypes.byref(given)), given)

    @property
    def info(self) -> Info:
        """sample_count, class_count, channels, height and width (0: each has its own), a dict."""
        info = native.volta_dataset_info()
        check_data(data().volta_dataset_get_info(self, ctypes.byref(info)))
        return fields_of(info)

    @property
    def classes(self) -> List[str]:
        """The names of its classes."""
        return [data().volta_dataset_class_name(self, i).decode() for i in range(self.info["class_count"])]

    def __len__(self) -> int:
        return int(self.info["sample_count"])

    def __getitem__(self, index: int) -> Picture:
        if not 0 <= index < len(self):
            raise IndexError(f"sample {index} of {len(self)}")
        return Picture(_made(data().volta_dataset_read, self, index), self)

    def name(self, index: int) -> str:
        """Where a sample comes from."""
        text = ctypes.create_string_buffer(4096)
        check_data(data().volta_dataset_sample_name(self, index, text, len(text)))
        return text.value.decode()


class Batch:
    """What a loader gives: pixels [count, channels, height, width], labels [count], weights [count, classes] (with mixup; else None),
    samples (their numbers), epoch, batch, batches_of_epoch, skipped. Its arrays are the loader's until it is asked for the next."""

    def __init__(self, raw: native.volta_batch, classes: int, owner: Any) -> None:
        self.count: int = raw.count
        shape = (raw.count, raw.channels, raw.height, raw.width)
        self.pixels = array_of(native.VOLTA_F32, shape, raw.pixels or 0, owner)
        self.labels = array_of(native.VOLTA_I32, (raw.count,), raw.labels or 0, owner)
        self.weights = array_of(native.VOLTA_F32, (raw.count, classes), raw.weights, owner) if raw.weights else None
        self.samples: List[int] = list((ctypes.c_uint64 * raw.count).from_address(raw.samples)) if raw.count else []
        self.epoch: int = raw.epoch
        self.batch: int = raw.batch
        self.batches_of_epoch: int = raw.batches_of_epoch
        self.skipped: int = raw.skipped

    def __len__(self) -> int:
        return self.count


class Loader(Handle):
    """Loader(dataset, batch=64, order="shuffled", seed=1, threads=2, transform=dict(height=32, width=32, flip=0.5)): batches that its own
    threads load ahead. Iterating gives the rest of the current epoch; the next loop the next epoch. evaluate=True leaves out what is
    random."""

    @property
    def _release(self) -> Any:
        return data().volta_loader_release

    def __init__(self, dataset: Dataset, transform: Optional[Dict[str, Any]] = None, threads: int = 0, evaluate: bool = False,
                 **options: Any) -> None:
        options["thread_count"] = threads
        if evaluate:
            options["flags"] = options.get("flags", 0) | native.VOLTA_LOADER_EVALUATE
        if transform is not None:
            options["transform"] = ctypes.pointer(_transform(dict(transform)))
        given = struct(native.volta_loader_options, options, {"order": "ORDER", "batches": "BATCHES", "damaged": "DAMAGED"})
        super().__init__(_made(data().volta_loader_create, dataset, ctypes.byref(given)), dataset)
        self._classes = dataset.info["class_count"]

    def next(self) -> Batch:
        """The next batch; after the last one of an epoch the first of the next."""
        raw = native.volta_batch()
        check_data(data().volta_loader_next(self, ctypes.byref(raw)))
        return Batch(raw, self._classes, self)

    def __iter__(self) -> Iterator[Batch]:
        while True:
            batch = self.next()
            yield batch
            if batch.batch + 1 == batch.batches_of_epoch:
                return

    @property
    def position(self) -> Tuple[int, int]:
        """(epoch, batch) of what comes next: saved with a checkpoint, seek(*position) resumes it."""
        epoch, batch = ctypes.c_uint64(), ctypes.c_uint64()
        check_data(data().volta_loader_get_position(self, ctypes.byref(epoch), ctypes.byref(batch)))
        return epoch.value, batch.value

    def seek(self, epoch: int, batch: int = 0) -> None:
        """Goes to a batch of an epoch."""
        check_data(data().volta_loader_seek(self, epoch, batch))


def read_texts(paths: Paths, **options: Any) -> bytes:
    """Files of text, one behind the other, as they are; a folder is its file of split ("train", "test", "validation")."""
    listed, given, info = texts(_listed(paths)), _options(options), native.volta_text_info()
    text = _made(data().volta_text_open, listed, len(listed), ctypes.byref(given))
    try:
        check_data(data().volta_text_get_info(text, ctypes.byref(info)))
        address = ctypes.c_void_p.from_buffer(info, native.volta_text_info.bytes.offset)  # bytes with zeros among them
        return ctypes.string_at(address.value or 0, info.byte_count)
    finally:
        data().volta_text_release(text)


def text_parts(folder: Path) -> List[str]:
    """Which parts a folder of texts has: "train", "test", "validation"."""
    parts = ctypes.c_uint32()
    check_data(data().volta_text_parts(path_of(folder), None, ctypes.byref(parts)))
    return [name for name in ("train", "test", "validation") if parts.value >> constant("SPLIT", name) & 1]


def parse_documents(name: str, text: Union[str, bytes], **options: Any) -> List[Dict[str, Any]]:
    """Lines of JSON to fine-tune on, of the file that sentences call name: what each has of "prompt", "completion", "messages", "text",
    "text_pair", "label" (a number or a name), and its "line"."""
    given, raw = _options(options), text.encode() if isinstance(text, str) else text
    documents = _made(data().volta_documents_parse, name.encode(), raw, len(raw), ctypes.byref(given))
    try:
        return [_document(documents, index) for index in range(data().volta_documents_count(documents))]
    finally:
        data().volta_documents_release(documents)


def pack_documents(lengths: Sequence[int], row_tokens: int) -> List[List[Tuple[int, int]]]:
    """Documents side by side in rows, each in the first row that has room for it: of each row, which documents and where they begin."""
    count = len(lengths)
    numbers = ctypes.c_uint64 * count
    rows, places, row_count = numbers(), numbers(), ctypes.c_uint64()
    check_data(data().volta_documents_pack(numbers(*lengths), count, row_tokens, None, rows, places, ctypes.byref(row_count)))
    packed: List[List[Tuple[int, int]]] = [[] for _ in range(row_count.value)]
    for document in range(count):
        packed[rows[document]].append((document, places[document]))
    return packed


def _document(documents: Any, index: int) -> Dict[str, Any]:
    raw = native.volta_document()
    check_data(data().volta_documents_get(documents, index, ctypes.byref(raw)))
    named = {key: getattr(raw, key) for key in ("prompt", "completion", "text", "text_pair")}
    document: Dict[str, Any] = {key: value.decode() for key, value in named.items() if value is not None}
    if raw.message_count:
        document["messages"] = [{"role": message.role.decode(), "content": message.content.decode()}
                                for message in raw.messages[:raw.message_count]]
    if raw.label_name is not None or raw.label >= 0:
        document["label"] = raw.label_name.decode() if raw.label_name is not None else raw.label
    document["line"] = raw.line
    return document
