#!/usr/bin/env python3
"""Tokenizers against SentencePiece: the same tokenizer.model, the same ids, the same texts.

    tests/parity/parity_sentencepiece.py [--library build/libvolta.so] [--only NAME] [--texts 1000]

Trains small models of every setting that changes an id, and compares on texts of tests/parity and of VOLTA_TEST_DATA, on drawn ones,
and on every code point of Unicode, alone and between letters; and the text of the ids.

Exit status: 0 equal, 1 different, 2 a package is missing.
"""

import argparse
import ctypes as c
import io
import os
import sys
import tempfile

import parity_tokenizers as shared
from volta_ctypes import ContextOptions, Library, sized

try:
    import sentencepiece
except ImportError:
    sentencepiece = None


def train(**settings):
    model = io.BytesIO()
    given = dict(vocab_size=900, model_type="bpe", minloglevel=2, hard_vocab_limit=False, character_coverage=0.9995)
    given.update(settings)
    sentences = [line.rstrip("\n") for line in shared.corpus() if line.strip()]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences), model_writer=model, **given)
    return model.getvalue()


OWN = ["<sep>", "\u2581\u2581", "\u2581\u2581\u2581", "<tool>", "Caf\u00e9", "the"]
CASES = {
    "llama": dict(byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False),
    "bpe": dict(),
    "bpe_bytes": dict(byte_fallback=True),
    "bpe_plain": dict(normalization_rule_name="identity", remove_extra_whitespaces=False),
    "gemma": dict(byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=False,
                  user_defined_symbols=OWN),
    "bpe_own": dict(user_defined_symbols=OWN, normalization_rule_name="nmt_nfkc_cf"),
    "bpe_suffix": dict(treat_whitespace_as_suffix=True),
    "unigram": dict(model_type="unigram"),
    "unigram_bytes": dict(model_type="unigram", byte_fallback=True, normalization_rule_name="nfkc"),
    "unigram_plain": dict(model_type="unigram", normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=False),
    "unigram_own": dict(model_type="unigram", user_defined_symbols=OWN, normalization_rule_name="nfkc_cf"),
    "unigram_suffix": dict(model_type="unigram", treat_whitespace_as_suffix=True),
    "t5": dict(model_type="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1, control_symbols=["<extra>"]),
}


def compare(report, processor, volta, texts):
    def encode(text):
        return processor.encode(text, out_type=int)

    for text in texts:
        plain = encode(text)
        # Of several spaces that begin the ids of a text, written as U+2581 in it, the package drops all.
        if report.check("ids", text, plain, volta.encode(text, 0)) and shared.MARK not in text:
            report.check("text", text, processor.decode(plain), volta.decode(plain))
    shared.compare_points(report, encode, volta, set())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", default=os.path.join(shared.ROOT, "build", "libvolta.so"))
    parser.add_argument("--only")
    parser.add_argument("--texts", type=int, default=1000)
    arguments = parser.parse_args()
    if sentencepiece is None:
        print("skipped: the package sentencepiece is missing")
        return 2
    library, context, failed = Library(arguments.library), c.c_void_p(), 0
    options = sized(ContextOptions, thread_count=1)
    options.struct_size = c.sizeof(options)
    library.call("volta_context_create", c.byref(options), c.byref(context))
    texts = shared.texts_of(arguments.texts)
    with tempfile.TemporaryDirectory() as folder:
        for name, settings in CASES.items():
            if arguments.only and arguments.only not in name:
                continue
            path = os.path.join(folder, name + ".model")
            with open(path, "wb") as file:
                file.write(train(**settings))
            report = shared.Report(name)
            volta = shared.Volta(library, context, path)
            volta.options.special = 0
            compare(report, sentencepiece.SentencePieceProcessor(model_file=path), volta, texts)
            volta.release()
            report.show()
            failed += len(report.failures) > 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
