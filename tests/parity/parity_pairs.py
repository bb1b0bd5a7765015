#!/usr/bin/env python3
"""Two texts that a classifier compares, against transformers: ids, segments, truncation, logits and the loss of a file.

    tests/parity/parity_pairs.py [--voltac build/voltac] [--pairs 200]

A BERT, a RoBERTa and a DistilBERT, random, with tokenizers that are trained here, as transformers saves them. Of random pairs, whole
and cut to several lengths: the same ids (and segments, of a BERT), logits within 1e-5 of the largest one. And of a file of such
pairs with labels what `voltac eval --jsonl` says: the loss within 1e-5, and how many are right.

Exit status: 0 equal, 1 different, 77 no transformers, or no NumPy.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

from parity_decoders import ROOT, np, torch, transformers, volta

try:
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError as error:
    print(f"not compared: {error}", file=sys.stderr)
    sys.exit(77)

WORDS = "the quick brown fox jumps over a lazy dog is it true that nobody knows café Köln 42 times, or not?".split()
SMALL = dict(hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=66, num_labels=3)
DISTIL = dict(dim=48, hidden_dim=80, n_layers=2, n_heads=4, max_position_embeddings=66, num_labels=3)
LENGTHS = (0, 64, 24, 9, 5)  # 0: whole


def text(draws, most=14):
    return " ".join(draws.choice(WORDS) for _ in range(1 + draws.randrange(most)))


def wordpiece():
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.train_from_iterator(WORDS * 3, trainers.WordPieceTrainer(
        vocab_size=90, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]",
                                                unk_token="[UNK]", mask_token="[MASK]")


def byte_level():
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    made.train_from_iterator(WORDS * 3, trainers.BpeTrainer(
        vocab_size=320, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, cls_token="<s>", sep_token="</s>", bos_token="<s>",
                                                eos_token="</s>", pad_token="<pad>", unk_token="<unk>", mask_token="<mask>")


KINDS = {
    "Bert": (wordpiece, SMALL),
    "Roberta": (byte_level, dict(SMALL, type_vocab_size=1, pad_token_id=1, max_position_embeddings=68)),
    "DistilBert": (wordpiece, DISTIL),
}


def write_folder(kind, folder):
    make_tokenizer, settings = KINDS[kind]
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    torch.manual_seed(3)
    config = getattr(transformers, kind + "Config")(vocab_size=len(tokenizer), **settings)
    model = getattr(transformers, kind + "ForSequenceClassification")(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.3 if parameter.dim() > 1 else 0.1)
    model.save_pretrained(folder)
    return tokenizer, model


def logits_of(model, tokenizer, pair, most):
    given = tokenizer(*pair, truncation=most > 0, max_length=most or None, return_tensors="pt", return_token_type_ids=True)
    if not isinstance(model, transformers.BertForSequenceClassification):
        given.pop("token_type_ids")
    with torch.no_grad():
        return model(**given).logits[0]


def compare(kind, voltac, count):
    draws, different, largest = random.Random(5), 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        tokenizer, model = write_folder(kind, folder)
        path = os.path.join(folder, "model.volta")
        segments = ["--segments"] if kind == "Bert" else []
        subprocess.run([voltac, "convert", folder, "--out", path, "--head", "classes", "--mask", *segments], check=True,
                       stdout=subprocess.DEVNULL)
        ours = volta.Model.open(path)
        for number in range(count):
            pair, most = (text(draws), text(draws)), LENGTHS[number % len(LENGTHS)]
            theirs = tokenizer(*pair, truncation=most > 0, max_length=most or None, return_token_type_ids=True)
            ids, of_ids = ours.tokenizer.encode_pair(*pair, max_tokens=most)
            if list(ids) != theirs["input_ids"] or (kind != "Roberta" and list(of_ids) != theirs["token_type_ids"]):
                different += 1
                print(f"{kind}, at most {most}: {pair}\n  expected {theirs}\n  got      {list(ids)} {list(of_ids)}")
                continue
            row = np.array([ids], dtype=np.int32)
            inputs = [row, np.array([of_ids], dtype=np.int32), np.ones_like(row)] if segments else [row, np.ones_like(row)]
            got = volta.Session(ours, [each.shape for each in inputs]).run(*inputs).reshape(-1)
            expected = logits_of(model, tokenizer, pair, most).numpy()
            largest = max(largest, float(np.abs(got - expected).max() / np.abs(expected).max()))
        lines = [{"text": text(draws, 60), "text_pair": text(draws, 60), "label": i % 3} for i in range(40)]
        with open(os.path.join(folder, "pairs.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        said = json.loads(subprocess.run([voltac, "eval", path, "--jsonl", os.path.join(folder, "pairs.jsonl"), "--json"], check=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
        logits = torch.stack([logits_of(model, tokenizer, (line["text"], line["text_pair"]), 66) for line in lines])
        labels = torch.tensor([line["label"] for line in lines])
        loss = float(torch.nn.functional.cross_entropy(logits, labels))
        right = int((logits.argmax(-1) == labels).sum())
        if abs(said["loss"] - loss) > 1e-5 * loss or said["correct"] != right:
            different += 1
            print(f"{kind}: the loss of a file is {said}, expected {loss} and {right}")
    print(f"{kind:12} {count} pairs, {different} different, logits within {largest:.1e}; a file's loss {loss:.6f}, {right} of 40")
    return different + (largest > 1e-5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voltac", default=os.path.join(ROOT, "build", "voltac"))
    parser.add_argument("--pairs", type=int, default=200)
    arguments = parser.parse_args()
    transformers.logging.set_verbosity_error()
    sys.exit(1 if sum(compare(kind, os.path.abspath(arguments.voltac), arguments.pairs) for kind in KINDS) else 0)


if __name__ == "__main__":
    main()
