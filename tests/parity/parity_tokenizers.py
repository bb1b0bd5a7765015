#!/usr/bin/env python3
"""Tokenizers against Hugging Face's tokenizers: the same files, the same ids, the same texts.

    tests/parity/parity_tokenizers.py [--library build/libvolta.so] [--only NAME] [--texts 1000]

Trains small tokenizers of every shape that published models have, writes each as tokenizer.json, and compares on texts
of tests/parity and of VOLTA_TEST_DATA, on drawn ones, and on every code point of Unicode, alone and between letters: ids with and
without the pieces around a text, and the text of the ids.

Exit status: 0 equal, 1 different, 2 a package is missing.
"""

import argparse
import ctypes as c
import io
import json
import os
import random
import sys
import tempfile
import unicodedata

from volta_ctypes import ContextOptions, Library, native, sized

try:
    import tokenizers
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError:
    tokenizers = None

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MARK = "\u2581"

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
GPT4O = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
DEEPSEEK3 = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
             r"|\s*[\r\n]+|\s+(?!\S)|\s+")
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")
KIMI = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[[\p{L}\p{M}]&&[^\p{Han}]]+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+"


def byte_level(prefix=False, regex=True):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)


def split(expression, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(expression), behavior, invert)


def words(*steps):
    return pre_tokenizers.Sequence(list(steps))


def train(model, cutter, trainer, normalizer=None):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = cutter
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def bytes_bpe(cutter, normalizer=None, vocabulary=700, **model):
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  special_tokens=["<|endoftext|>"])
    tokenizer = train(models.BPE(), cutter, trainer, normalizer)
    tokenizer.decoder = decoders.ByteLevel()
    return changed(tokenizer, model=model) if model else tokenizer


def changed(tokenizer, model):
    """With other settings of its model."""
    data = json.loads(tokenizer.to_str())
    data["model"].update(model)
    return Tokenizer.from_str(json.dumps(data))


def with_pieces(tokenizer):
    """Pieces that are found whole, in every way that there is, and a template."""
    tokenizer.add_special_tokens(["<s>", "</s>", AddedToken("<mask>", lstrip=True, special=True),
                                  AddedToken("<right>", rstrip=True, special=True)])
    tokenizer.add_tokens([AddedToken("whole", single_word=True), AddedToken("Caf\u00e9", normalized=True),
                          AddedToken("  ", normalized=False), AddedToken("<tool>", lstrip=True, rstrip=True, normalized=False)])
    first, last = tokenizer.token_to_id("<s>"), tokenizer.token_to_id("</s>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", first), ("</s>", last)])
    return tokenizer


def character_bpe(cutter, normalizer, decoder, vocabulary=900):
    special = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % byte for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, show_progress=False, special_tokens=special, limit_alphabet=120)
    tokenizer = train(models.BPE(unk_token="<unk>", fuse_unk=True), cutter, trainer, normalizer)
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = [t for t in data["added_tokens"] if t["id"] < 3]
    data["model"]["byte_fallback"] = True
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.decoder = decoder
    return tokenizer


LLAMA2_DECODER = lambda: decoders.Sequence(
    [decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])


def llama2():
    tokenizer = character_bpe(pre_tokenizers.Split(MARK, "merged_with_next"),
                              normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)]), LLAMA2_DECODER())
    data = json.loads(tokenizer.to_str())
    data["pre_tokenizer"] = None  # as the files have it: it was there for the training's speed
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return tokenizer


def gemma():
    return character_bpe(pre_tokenizers.Split(" ", "merged_with_previous"), normalizers.Replace(" ", MARK),
                         decoders.Sequence([decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse()]))


def unigram(byte_fallback=False, scheme="always", normalizer=None):
    special = ["<pad>", "</s>", "<unk>"] + (["<0x%02X>" % byte for byte in range(256)] if byte_fallback else [])
    trainer = trainers.UnigramTrainer(vocab_size=700 + len(special), show_progress=False, special_tokens=special, unk_token="<unk>")
    tokenizer = train(models.Unigram(), pre_tokenizers.Metaspace(prepend_scheme=scheme), trainer, normalizer)
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = [t for t in data["added_tokens"] if t["id"] < 3]
    data["model"]["byte_fallback"] = byte_fallback
    tokenizer = Tokenizer.from_str(json.dumps(data))
    inner = decoders.Metaspace(prepend_scheme=scheme)
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), inner]) if byte_fallback else inner
    return tokenizer


def bert(lowercase=True, **normalizer):
    trainer = trainers.WordPieceTrainer(vocab_size=700, show_progress=False,
                                        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer = train(models.WordPiece(unk_token="[UNK]"), pre_tokenizers.BertPreTokenizer(), trainer,
                      normalizers.BertNormalizer(lowercase=lowercase, **normalizer))
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def wordlevel(cutter, normalizer=None):
    trainer = trainers.WordLevelTrainer(vocab_size=2000, show_progress=False, special_tokens=["<unk>", "<s>"])
    return train(models.WordLevel(unk_token="<unk>"), cutter, trainer, normalizer)


def normalized(normalizer):
    return lambda: wordlevel(split(r"[\s\S]"), normalizer)


def precompiled(rules="nmt_nfkc"):
    """The normalizer of a file of SentencePiece's, as programs convert it."""
    import sentencepiece
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(line.strip() for line in corpus() if line.strip()), model_writer=model,
                                             vocab_size=400, minloglevel=2, hard_vocab_limit=False, normalization_rule_name=rules)
    return normalizers.Precompiled(map_of(map_of(model.getvalue(), 3), 2))


def map_of(message, wanted):
    """A field of bytes in a message of protocol buffers; the last of several."""
    at, found = 0, b""

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = number()
        if tag & 7 == 2:
            size = number()
            if tag >> 3 == wanted:
                found = message[at:at + size]
            at += size
        elif tag & 7 == 0:
            number()
        else:
            at += {1: 8, 5: 4}[tag & 7]
    return found


CASES = {
    "gpt2": lambda: bytes_bpe(byte_level()),
    "roberta": lambda: with_pieces(bytes_bpe(byte_level(prefix=True))),
    "gpt_neox": lambda: with_pieces(bytes_bpe(byte_level(), normalizers.NFC())),
    "gpt2_expression": lambda: bytes_bpe(words(split(GPT2), byte_level(regex=False))),
    "llama3": lambda: with_pieces(bytes_bpe(words(split(LLAMA3), byte_level(regex=False)), ignore_merges=True)),
    "qwen2": lambda: with_pieces(bytes_bpe(words(split(QWEN2), byte_level(regex=False)), normalizers.NFC())),
    "gpt4o": lambda: bytes_bpe(words(split(GPT4O, "removed", True), byte_level(regex=False))),
    "cl100k": lambda: bytes_bpe(words(split(CL100K), byte_level(regex=False))),
    "kimi": lambda: bytes_bpe(words(split(KIMI), byte_level(regex=False))),
    "deepseek_coder": lambda: bytes_bpe(words(
        split(r"[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split("[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"),
        pre_tokenizers.Digits(True), byte_level(regex=False))),
    "deepseek_v3": lambda: bytes_bpe(words(
        split(r"\p{N}{1,3}"), split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"), split(DEEPSEEK3), byte_level(regex=False))),
    "starcoder": lambda: with_pieces(bytes_bpe(words(pre_tokenizers.Digits(True), byte_level()))),
    "falcon": lambda: bytes_bpe(words(pre_tokenizers.Punctuation("contiguous"), byte_level(), pre_tokenizers.Digits(False),
                                      split("[0-9][0-9][0-9]"))),
    "bloom": lambda: bytes_bpe(words(split(" ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"),
                                     byte_level(regex=False))),
    "merged": lambda: bytes_bpe(words(split(r"\s", "merged_with_previous"), split(r"[aeiou]", "merged_with_next"),
                                      split(r"l+", "contiguous"), byte_level(regex=False))),
    "byte_normalizer": lambda: bytes_bpe(split("\u0120", "merged_with_next"), normalizers.ByteLevel()),
    "llama2": llama2,
    "llama2_pieces": lambda: with_pieces(llama2()),
    "gemma": gemma,
    "mistral": lambda: character_bpe(pre_tokenizers.Metaspace(prepend_scheme="first", split=False), None, LLAMA2_DECODER()),
    "t5": unigram,
    "xlm": lambda: with_pieces(unigram(normalizer=normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "),
                                                                        normalizers.Strip()]))),
    "unigram_bytes": lambda: unigram(True, "first"),
    "unigram_never": lambda: unigram(False, "never"),
    "bert": bert,
    "bert_cased": lambda: bert(lowercase=False),
    "bert_open": lambda: bert(clean_text=False, handle_chinese_chars=False, strip_accents=True),
    "bert_pieces": lambda: with_pieces(bert()),
    "wordlevel": lambda: wordlevel(pre_tokenizers.Whitespace()),
    "wordlevel_spaces": lambda: wordlevel(pre_tokenizers.WhitespaceSplit(), normalizers.Lowercase()),
    "wordlevel_signs": lambda: wordlevel(words(pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("isolated"),
                                               pre_tokenizers.CharDelimiterSplit("e"))),
    "nmt": normalized(normalizers.Nmt()),
    "precompiled": lambda: normalized(precompiled())(),
    "precompiled_small": lambda: normalized(precompiled("nfkc_cf"))(),
    "xlm_precompiled": lambda: with_pieces(unigram(normalizer=normalizers.Sequence([precompiled(), normalizers.Replace(Regex(" {2,}"), " ")]))),
    "nfd": normalized(normalizers.NFD()),
    "nfkd": normalized(normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents()])),
    "nfkc": normalized(normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])),
}


def corpus_text():
    folder = os.environ.get("VOLTA_TEST_DATA", os.path.join(ROOT, "shared", "data"))
    path = os.path.join(folder, "text", "tinyshakespeare.txt")
    text = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
    for name in ("README.md", "docs/tokenizers.md", "docs/numerics.md"):
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            text += file.read()[:20000]
    return text + FOREIGN * 20


FOREIGN = ("Zażółć gęślą jaźń. Съешь ещё этих мягких французских булок, да выпей чаю. 我能吞下玻璃而不伤身体。 私はガラスを食べられます。"
           " 나는 유리를 먹을 수 있어요. मैं काँच खा सकता हूँ। أنا قادر على أكل الزجاج. Voix ambiguë d’un cœur. 12345 67,89 ½ ² ١٢٣ 😀👩‍👩‍👧 "
           "e\u0301 \ufb01 \uac01 \u1100\u1161\u11a8 İstanbul DŽ ŉ ß\n\tdef f(x):\n        return x  # ok\r\n")
PARTS = [" ", "  ", "   ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "a", "B", "don't", "I'LL", "'S", "the", "whole", "wholes", "Caf\u00e9",
         "Cafe\u0301", "<s>", "</s>", "<mask>", "<right>", "<tool>", "[MASK]", "[CLS]", "<|endoftext|>", "1", "23", "4567", "\u00bd", "\u00b2", ".", "...", "!?", ",", "-", "_",
         "(", "[x]", "\u2026", "\u3002", "中文", "日本", "한국", "é", "e\u0301", "\u0301", "ſ", "\u212a", "İ", "ǅ", "\u200d", "\u180e", "\u0085",
         "😀", "🇩🇪", "\ufb01", "\u2581", "\u2581\u2581", "Ġ", "<0x41>", "\x00", "\x1f", "\ufffd", "\u0964", "##ing", "x" * 120]


def corpus():
    return corpus_text().splitlines(keepends=True)


def texts_of(count, seed=1):
    dice, text = random.Random(seed), corpus_text()
    made = ["", " ", "\n", FOREIGN]
    while len(made) < count:
        if dice.random() < 0.4:
            start = dice.randrange(len(text) - 200)
            made.append(text[start:start + dice.randrange(1, 200)])
        else:
            made.append("".join(dice.choice(PARTS) for _ in range(dice.randrange(1, 16))))
    return made


POINTS = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]


class Volta:
    """A tokenizer of the library."""

    def __init__(self, library, context, path):
        self.library, self.handle = library, c.c_void_p()
        library.call("volta_tokenizer_open", context, path.encode(), c.c_int32(0), c.byref(self.handle))
        self.options = sized(native.volta_encode_options, special=1)
        self.options.struct_size = c.sizeof(self.options)

    def encode(self, text, ends):
        data = text.encode()
        room, count = len(data) * 3 + 16, c.c_size_t()
        ids = (c.c_int32 * room)()
        self.options.ends = ends
        self.library.call("volta_tokenizer_encode_with", self.handle, c.byref(self.options), data, c.c_size_t(len(data)), ids,
                          c.c_size_t(room), c.byref(count))
        return ids[:count.value]

    def decode(self, ids):
        out, previous, text, size = b"", -1, c.c_void_p(), c.c_size_t()
        for token in ids:
            self.library.call("volta_tokenizer_decode_after", self.handle, c.c_int32(previous), c.c_int32(token), c.byref(text),
                              c.byref(size))
            out += c.string_at(text.value, size.value) if size.value else b""
            previous = token
        return out.decode("utf-8", "replace")

    def release(self):
        self.library.so.volta_tokenizer_release(self.handle)


class Report:
    def __init__(self, name):
        self.name, self.failures, self.compared, self.young = name, [], 0, set()

    def check(self, what, text, expected, actual):
        self.compared += 1
        if expected != actual:
            self.failures.append((what, text, expected, actual))
        return expected == actual

    def show(self):
        print("%-18s %7d compared, %d different; %d code points that its tables do not know yet" % (
            self.name, self.compared, len(self.failures), len(self.young)), flush=True)
        for what, text, expected, actual in self.failures[:6]:
            print("   %s of %r:\n      expected %r\n      actual   %r" % (what, text[:80], expected[:24], actual[:24]))


def young_points():
    """Code points that Hugging Face's own tables lag behind in: its normal forms are of Unicode 13, its signs and accents of
    Unicode 8; or that Python does not know to say so."""
    accents = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
    clean = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    young = {"\U0001171e"}  # an accent up to Unicode 14
    for point in POINTS:
        if ord(point) < 0x80:
            continue
        category, form = unicodedata.category(point), unicodedata.normalize("NFD", point)
        sign = len(pre_tokenizers.Punctuation().pre_tokenize_str("a" + point)) == 2
        bare = "".join(c for c in form if unicodedata.category(c) != "Mn")
        marks = "".join(c for c in point if unicodedata.category(c)[0] != "M")
        if (category == "Cn" or sign != (category[0] == "P") or accents.normalize_str(point) != bare
                or normalizers.StripAccents().normalize_str(point) != marks
                or (clean.normalize_str(point) == "") != (category in ("Cc", "Cf", "Co") or point == "\ufffd")
                or normalizers.NFKD().normalize_str(point) != unicodedata.normalize("NFKD", point)
                or normalizers.NFD().normalize_str(point) != form):
            young.add(point)
    return young


def compare_points(report, encode, volta, young):
    """Many at a time; where they differ, one at a time."""
    for form in ("%s", "a%sb"):
        for start in range(0, len(POINTS), 64):
            some = [form % point for point in POINTS[start:start + 64]]
            text = "\n".join(some)
            if encode(text) == volta.encode(text, 0):
                report.compared += len(some)
                continue
            for text in some:
                compare_point(report, text, text[len(text) // 2], encode, volta, young)
    for point in POINTS[:0x3400]:
        compare_point(report, point, point, encode, volta, young)


def compare_point(report, text, point, encode, volta, young):
    expected, actual = encode(text), volta.encode(text, 0)
    if expected != actual and point in young:
        report.young.add(point)
    else:
        report.check("code point U+%04X, ids" % ord(point), text, expected, actual)


# Decoding begins a text anew behind a control piece; Hugging Face's does not.
def shows_specials(ids, specials):
    return any(token in specials for token in ids)


def compare_json(report, tokenizer, volta, texts, young):
    specials = {i for i, t in tokenizer.get_added_tokens_decoder().items() if t.special}
    for text in texts:
        plain = tokenizer.encode(text, add_special_tokens=False).ids
        if not report.check("ids", text, plain, volta.encode(text, 0)):
            continue
        report.check("ids with ends", text, tokenizer.encode(text).ids, volta.encode(text, 1))
        if not shows_specials(plain, specials):
            report.check("text", text, tokenizer.decode(plain, skip_special_tokens=True), volta.decode(plain))
    tokenizer.encode_special_tokens = True
    compare_points(report, lambda text: tokenizer.encode(text, add_special_tokens=False).ids, volta, young)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "libvolta.so"))
    parser.add_argument("--only")
    parser.add_argument("--texts", type=int, default=1000)
    arguments = parser.parse_args()
    if tokenizers is None:
        print("skipped: the package tokenizers is missing")
        return 2
    library, context, failed = Library(arguments.library), c.c_void_p(), 0
    options = sized(ContextOptions, thread_count=1)
    options.struct_size = c.sizeof(options)
    library.call("volta_context_create", c.byref(options), c.byref(context))
    texts, young = texts_of(arguments.texts), young_points()
    with tempfile.TemporaryDirectory() as folder:
        for name, make in CASES.items():
            if arguments.only and arguments.only not in name:
                continue
            path = os.path.join(folder, name + ".json")
            tokenizer = make()
            tokenizer.save(path)
            report = Report(name)
            volta = Volta(library, context, path)
            compare_json(report, tokenizer, volta, texts, young)
            volta.release()
            report.show()
            failed += len(report.failures) > 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
