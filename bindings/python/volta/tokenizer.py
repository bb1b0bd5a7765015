"""Text to ids and back."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Optional

from . import native
from ._library import Handle, check, constant, fields_of, lib, made, path_of
from .aliases import Path, Text, Info
from .context import default_context

if TYPE_CHECKING:
    from .context import Context


def bytes_of(text: Text) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)


class Tokenizer(Handle):
    """Tokenizer.bytes(), Tokenizer.characters(text), Tokenizer.train_bpe(text, 4096), Tokenizer.open("tokenizer.json")."""

    _release: Any = lib.volta_tokenizer_release

    @classmethod
    def bytes(cls, ctx: Optional[Context] = None) -> Tokenizer:
        """256 tokens, one per byte."""
        context = ctx or default_context()
        return cls(made(lib.volta_tokenizer_create_byte, context), context)

    @classmethod
    def characters(cls, text: Text, ctx: Optional[Context] = None) -> Tokenizer:
        """The distinct characters of a text."""
        context, text = ctx or default_context(), bytes_of(text)
        return cls(made(lib.volta_tokenizer_create_char, context, text, len(text)), context)

    @classmethod
    def train_bpe(cls, text: Text, vocabulary: int, ctx: Optional[Context] = None) -> Tokenizer:
        """Learns byte-level BPE of so many ids."""
        context, text = ctx or default_context(), bytes_of(text)
        return cls(made(lib.volta_tokenizer_train_bpe, context, text, len(text), vocabulary), context)

    @classmethod
    def open(cls, path: Path, format: str = "auto", ctx: Optional[Context] = None) -> Tokenizer:
        """One of another program: GGUF, llama2.c, GPT-2's, BERT's, tokenizer.json."""
        context = ctx or default_context()
        return cls(made(lib.volta_tokenizer_open, context, path_of(path), constant("TOKENIZER", format)), context)

    @property
    def kind(self) -> str:
        return str(lib.volta_tokenizer_kind(self).decode())

    def __len__(self) -> int:
        return int(lib.volta_tokenizer_size(self))

    @property
    def special(self) -> Info:
        """Ids that stand for no text, -1 where there is none: bos, eos, unk, pad, adds_bos, adds_eos."""
        ids = native.volta_special_ids()
        check(lib.volta_tokenizer_special(self, ctypes.byref(ids)))
        return fields_of(ids)

    def encode(self, text: Text, ends: bool = False, special: bool = False, max_tokens: int = 0) -> Any:
        """Ids of a text, an array of c_int32: memory that NumPy takes without a copy. max_tokens: at most so many."""
        return self._encoded(text, native.volta_encode_options(ends=int(ends), special=int(special), max_tokens=max_tokens))

    def encode_pair(self, text: Text, pair: Text, ends: bool = True, special: bool = False, max_tokens: int = 0) -> Any:
        """(ids, segments) of a text and one behind it: 0 for ids of the first and what ends it, 1 behind."""
        pair = bytes_of(pair)
        options = native.volta_encode_options(ends=int(ends), special=int(special), max_tokens=max_tokens, pair_bytes=len(pair))
        options.pair = pair
        segments: Any = None

        def room(count: int) -> None:
            nonlocal segments
            segments = (ctypes.c_int32 * count)()
            options.segments = ctypes.addressof(segments)

        return self._encoded(text, options, room), segments

    def _encoded(self, text: Text, options: Any, room: Any = None) -> Any:
        text, count = bytes_of(text), ctypes.c_size_t()

        def encode(ids: Any, capacity: int) -> Any:
            check(lib.volta_tokenizer_encode_with(self, ctypes.byref(options), text, len(text), ids, capacity,
                                                  ctypes.byref(count)))

        encode(None, 0)
        ids = (ctypes.c_int32 * count.value)()
        if room is not None:
            room(count.value)
        encode(ids, count.value)
        return ids

    def piece(self, token: int) -> Any:
        """The bytes of one id by itself."""
        text, length = ctypes.c_char_p(), ctypes.c_size_t()
        check(lib.volta_tokenizer_decode(self, token, ctypes.byref(text), ctypes.byref(length)))
        return ctypes.string_at(text, length.value) if length.value else b""

    def decode(self, ids: Any, errors: str = "replace") -> str:
        """The text of ids."""
        piece, length, pieces, previous = ctypes.c_char_p(), ctypes.c_size_t(), [], -1
        for token in ids:
            check(lib.volta_tokenizer_decode_after(self, previous, token, ctypes.byref(piece), ctypes.byref(length)))
            pieces.append(ctypes.string_at(piece, length.value) if length.value else b"")
            previous = token
        return b"".join(pieces).decode(errors=errors)
