#!/usr/bin/env python3
"""GGUF files that Volta writes, read by others: transformers, and llama.cpp where the package llama_cpp is installed.

    tests/parity/parity_gguf_models.py [--voltac build/voltac] [--prompts 50]

Small random models of each type that is written, with a byte-level tokenizer and a chat template, as transformers saves them; Volta
imports their folder and writes F32. transformers, which reads the file by itself, must give the logits of the model that it saved,
within 1e-5 of the largest, and the same ids of texts; llama.cpp the same greedy text as `voltac generate`, and the same ids.

Exit status: 0 equal, 1 different, 77 no transformers, no gguf, or no NumPy.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile

from parity_decoders import ROOT, np, torch, transformers

try:
    import gguf  # noqa: F401  transformers reads by it
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, trainers
except ImportError as error:
    print(f"not compared: {error}", file=sys.stderr)
    sys.exit(77)
try:
    import llama_cpp
except ImportError:
    llama_cpp = None

CONTEXT = 64  # transformers takes a GPT-2 of a GGUF file for one of 1024 positions
SMALL = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=CONTEXT, rms_norm_eps=1e-6)
KINDS = {
    "Llama": dict(SMALL, tie_word_embeddings=False),
    "Llama-3.1": dict(SMALL, tie_word_embeddings=True, rope_parameters={
        "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16}),
    "Qwen2": dict(SMALL, tie_word_embeddings=False, use_sliding_window=False),
    "Qwen2-tied": dict(SMALL, tie_word_embeddings=True, rope_theta=1e6),
    "GPT2": dict(n_embd=64, n_layer=2, n_head=4, n_positions=1024),
}
TEXTS = ("Hello, world!", "It's 42 o'clock.\n\n  Köln?", "你好", "a  b\tc", "The quick brown fox")
TEMPLATE = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
            "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


def write_folder(kind, folder):
    bpe = tokenizers.Tokenizer(models.BPE())
    bpe.pre_tokenizer, bpe.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    bpe.train_from_iterator(TEXTS * 3, trainers.BpeTrainer(vocab_size=300, special_tokens=["<|im_start|>", "<|im_end|>"], show_progress=False,
                                                           initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<|im_end|>", eos_token="<|im_end|>",
                                                     chat_template=TEMPLATE)
    tokenizer.save_pretrained(folder)
    name = kind.split("-")[0]
    config = getattr(transformers, name + "Config")(vocab_size=len(tokenizer), bos_token_id=1, eos_token_id=1, **KINDS[kind])
    torch.manual_seed(3)
    model = getattr(transformers, name + ("LMHeadModel" if name == "GPT2" else "ForCausalLM"))(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2) if parameter.dim() == 1 else parameter.mul_(6)
    model.save_pretrained(folder)
    return tokenizer, model


def by_transformers(model, tokenizer, folder, prompts):
    """The largest difference of logits, and how many texts have other ids."""
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, gguf_file="m.gguf", dtype=torch.float32).eval()
    draws, largest = np.random.default_rng(1), 0.0
    for _ in range(prompts):
        tokens = torch.from_numpy(draws.integers(2, len(tokenizer), (1, int(draws.integers(1, 40)))))
        with torch.no_grad():
            expected, got = model(tokens).logits, theirs(tokens).logits
        largest = max(largest, float((got - expected).abs().max() / expected.abs().max()))
    read = transformers.AutoTokenizer.from_pretrained(folder, gguf_file="m.gguf")
    return largest, sum(read(text, add_special_tokens=False)["input_ids"] != tokenizer(text, add_special_tokens=False)["input_ids"]
                        for text in TEXTS)


def by_llama(voltac, tokenizer, path, gguf_path, count):
    """How many greedy texts and ids are others."""
    model = llama_cpp.Llama(gguf_path, n_ctx=CONTEXT, n_threads=1, verbose=False)
    draws, different = random.Random(3), 0
    for _ in range(count):
        text = " ".join(draws.choice(TEXTS) for _ in range(1 + draws.randrange(2)))
        ids = model.tokenize(text.encode(), add_bos=False, special=False)
        different += ids != tokenizer(text, add_special_tokens=False)["input_ids"]
        greedy = []
        model.reset()
        for token in model.generate(ids, temp=0.0, repeat_penalty=1.0, reset=True):
            greedy.append(token)
            if len(greedy) == 12 or token == 1:
                break
        said = subprocess.run([voltac, "generate", path, "--prompt", text, "--tokens", "12", "--temperature", "0"], check=True,
                              stdout=subprocess.PIPE).stdout
        if tokenizer.decode(greedy, skip_special_tokens=True).encode().split(b"\xef\xbf\xbd")[0] not in said[len(text.encode()):]:
            different += 1
            print(f"{text!r}: llama.cpp goes on with {greedy}, Volta says {said!r}")
    return different


def compare(kind, voltac, prompts):
    with tempfile.TemporaryDirectory() as folder:
        tokenizer, model = write_folder(kind, folder)
        alone = os.path.join(folder, "alone")  # with nothing beside the file
        os.mkdir(alone)
        path, gguf_path = os.path.join(folder, "m.volta"), os.path.join(alone, "m.gguf")
        for source, target in ((folder, path), (path, gguf_path)):
            subprocess.run([voltac, "convert", source, "--out", target], check=True, stdout=subprocess.DEVNULL)
        largest, ids = by_transformers(model, tokenizer, alone, prompts)
        said = f"{kind:12} transformers: logits within {largest:.1e}, {ids} of {len(TEXTS)} texts of other ids"
        if kind == "Llama-3.1":  # transformers leaves rope_freqs.weight out, llama.cpp does not
            largest = 0
        greedy = by_llama(voltac, tokenizer, path, gguf_path, prompts // 2) if llama_cpp else 0
        print(said + (f"; llama.cpp: {greedy} of {prompts // 2} greedy texts differ" if llama_cpp else "; no llama.cpp"))
    return ids + greedy + (largest > 1e-5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voltac", default=os.path.join(ROOT, "build", "voltac"))
    parser.add_argument("--prompts", type=int, default=50)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    sys.exit(1 if sum(compare(kind, os.path.abspath(arguments.voltac), arguments.prompts) for kind in KINDS) else 0)


if __name__ == "__main__":
    main()
