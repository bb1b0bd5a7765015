#!/usr/bin/env python3
"""Decoders as transformers writes them, against transformers: small random models of every family that
engine/import/decoder_families.cpp has, in several configurations each, loaded from their folders.

    tests/parity/parity_decoders.py [--only NAME] [--prompts 200]

Of each model: the largest difference of the logits of random prompts, relative to the largest logit, at most
1e-5; the same prompts token by token through a generator, bit for bit the logits of the whole prompt.

    tests/parity/parity_decoders.py --golden tests/golden/decoders.txt

writes what tests/api/test_import_decoders.cpp compares with everywhere: of every configuration its config.json, the
names and shapes of its tensors, whose numbers follow from their names, and the logits that transformers gives.

Exit status: 0 equal, 1 different, 77 no transformers, or no NumPy.
"""

import argparse
import json
import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bindings", "python"))

try:
    import numpy as np
    import torch
    import transformers
    from safetensors import safe_open
    from safetensors.torch import save_file
except ImportError as error:
    print(f"not compared: {error}", file=sys.stderr)
    sys.exit(77)
import volta

VOCABULARY, CONTEXT = 97, 64
SMALL = dict(vocab_size=VOCABULARY, hidden_size=48, intermediate_size=80, num_hidden_layers=3,
             num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=CONTEXT, pad_token_id=0,
             bos_token_id=1, eos_token_id=2)
GPT2 = dict(vocab_size=VOCABULARY, n_embd=48, n_layer=3, n_head=4, n_positions=CONTEXT, bos_token_id=1, eos_token_id=2)
LLAMA3 = {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 16}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 16}
LONG = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0, 1.1, 1.3, 1.7, 2.0, 3.0],
        "long_factor": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "original_max_position_embeddings": 32}


def small(**changes):
    return {key: value for key, value in dict(SMALL, **changes).items() if value is not None}


# name: (class of the config, class of the model, settings)
CASES = {
    "gpt2": ("GPT2", GPT2),
    "gpt2-relu": ("GPT2", dict(GPT2, activation_function="relu", n_inner=100)),
    "gpt2-gelu-untied": ("GPT2", dict(GPT2, activation_function="gelu", tie_word_embeddings=False,
                                      layer_norm_epsilon=1e-6)),
    "llama": ("Llama", SMALL),
    "llama-head": ("Llama", small(head_dim=16, attention_bias=True, mlp_bias=True)),
    "llama3": ("Llama", small(rope_parameters=LLAMA3, tie_word_embeddings=True)),
    "llama-linear": ("Llama", small(rope_parameters={"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0})),
    "llama-dynamic": ("Llama", small(rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0})),
    "llama-yarn": ("Llama", small(rope_parameters=YARN)),
    "llama-yarn-scaled": ("Llama", small(rope_parameters=dict(YARN, mscale=1.2, mscale_all_dim=0.8, beta_fast=16.0))),
    "mistral": ("Mistral", dict(SMALL, sliding_window=None)),
    "mistral-window": ("Mistral", small(sliding_window=9)),
    "mistral-head": ("Mistral", small(sliding_window=64, head_dim=32)),
    "qwen2": ("Qwen2", SMALL),
    "qwen2-tied": ("Qwen2", small(tie_word_embeddings=True, rope_parameters=YARN)),
    "qwen2-window": ("Qwen2", small(use_sliding_window=True, sliding_window=7, max_window_layers=1)),
    "qwen3": ("Qwen3", small(head_dim=16)),
    "qwen3-bias": ("Qwen3", small(head_dim=12, attention_bias=True)),
    "qwen3-tied": ("Qwen3", small(head_dim=8, tie_word_embeddings=True)),
    "gemma": ("Gemma", small(head_dim=16)),
    "gemma-one": ("Gemma", small(head_dim=24, num_key_value_heads=1)),
    "gemma-gelu": ("Gemma", small(head_dim=16, hidden_act="gelu")),
    "gemma2": ("Gemma2", small(head_dim=16, sliding_window=8, query_pre_attn_scalar=20)),
    "gemma2-cap": ("Gemma2", small(head_dim=16, attn_logit_softcapping=0.5, final_logit_softcapping=1.0)),
    "gemma2-plain": ("Gemma2", dict(SMALL, head_dim=16, attn_logit_softcapping=None,
                                     final_logit_softcapping=None)),
    "gemma3": ("Gemma3Text", small(head_dim=16, sliding_window=8, num_hidden_layers=7)),
    "gemma3-linear": ("Gemma3Text", small(head_dim=16, sliding_window=8, num_hidden_layers=4, rope_parameters={
        "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}},
        layer_types=["sliding_attention", "full_attention"] * 2)),
    "gemma3-full": ("Gemma3Text", small(head_dim=8, num_hidden_layers=6, query_pre_attn_scalar=8)),
    "phi3": ("Phi3", SMALL),
    "phi3-window": ("Phi3", small(sliding_window=10)),
    "phi3-long": ("Phi3", small(rope_parameters=LONG, original_max_position_embeddings=32)),
    "phi3-part": ("Phi3", small(hidden_size=64, rope_parameters={"rope_type": "default", "rope_theta": 1e4,
                                                                 "partial_rotary_factor": 0.75})),
    "smollm3": ("SmolLM3", small(num_hidden_layers=5)),
    "smollm3-two": ("SmolLM3", small(no_rope_layer_interval=2, attention_bias=True)),
    "smollm3-all": ("SmolLM3", small(no_rope_layers=[1, 1, 1])),
    "olmo": ("Olmo", SMALL),
    "olmo-clip": ("Olmo", small(clip_qkv=0.05)),
    "olmo-tied": ("Olmo", small(tie_word_embeddings=True, num_key_value_heads=4)),
    "olmo2": ("Olmo2", SMALL),
    "olmo2-all": ("Olmo2", small(num_key_value_heads=4, rms_norm_eps=1e-6)),
    "olmo2-bias": ("Olmo2", small(attention_bias=True)),
    "granite": ("Granite", small(embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22,
                                 attention_multiplier=0.015625)),
    "granite-plain": ("Granite", SMALL),
    "granite-bias": ("Granite", small(attention_bias=True, mlp_bias=True, tie_word_embeddings=True)),
    "stablelm": ("StableLm", small(hidden_size=64)),
    "stablelm-bias": ("StableLm", small(hidden_size=64, use_qkv_bias=True, tie_word_embeddings=True)),
    "stablelm-parallel": ("StableLm", small(hidden_size=64, use_parallel_residual=True, rope_parameters={
        "rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5})),
    "gpt_neox": ("GPTNeoX", small(hidden_size=64, num_key_value_heads=None)),
    "gpt_neox-serial": ("GPTNeoX", small(hidden_size=64, num_key_value_heads=None, use_parallel_residual=False, attention_bias=False)),
    "gpt_neox-tied": ("GPTNeoX", small(hidden_size=64, num_key_value_heads=None, tie_word_embeddings=True, hidden_act="gelu_fast",
                                       rope_parameters={"rope_type": "default", "rope_theta": 1e4,
                                                        "partial_rotary_factor": 1.0})),
}
MODELS = {"GPT2": "GPT2LMHeadModel", "Gemma3Text": "Gemma3ForCausalLM"}


def write_model(kind, settings, folder, dtype, sharded):
    torch.manual_seed(sum(map(ord, kind)) + len(settings))
    config = getattr(transformers, kind + "Config")(**settings)
    program = getattr(transformers, MODELS.get(kind, kind + "ForCausalLM"))
    model = program(config)
    with torch.no_grad():  # norms and biases that are not ones and zeros
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.2)
            else:
                parameter.mul_(6)
    model.to(dtype).save_pretrained(folder, max_shard_size="30KB" if sharded else "1GB")
    return program.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def compare(name, prompts, report):
    kind, settings = CASES[name]
    worst = 0.0
    for dtype, sharded in ((torch.float32, False), (torch.bfloat16, True)):
        with tempfile.TemporaryDirectory() as folder:
            torch_model = write_model(kind, settings, folder, dtype, sharded)
            with volta.Model.from_pretrained(folder) as model:
                random = np.random.default_rng(1)
                generator = volta.Generator(model)
                for i in range(prompts):
                    length = int(random.integers(1, 31))
                    tokens = random.integers(0, VOCABULARY, (1, length)).astype(np.int32)
                    ours = volta.Session(model, [tokens.shape]).run(tokens)
                    with torch.no_grad():
                        theirs = torch_model(torch.from_numpy(tokens).long()).logits.numpy()
                    worst = max(worst, float(np.abs(ours - theirs).max() / np.abs(theirs).max()))
                    if i < 3:
                        with generator.sequence(tokens[0, :1]) as sequence:
                            for t in range(length):
                                generator.step([sequence])
                                if not np.array_equal(sequence.logits, ours[0, t]):
                                    report.append(f"{name}: token {t} alone differs from the whole prompt")
                                    break
                                sequence.rewind(t + 1)  # without what was drawn
                                if t + 1 < length:
                                    sequence.append(tokens[0, t + 1:t + 2])
    print(f"{name:20} {worst:.1e}")
    if not worst <= 1e-5:
        report.append(f"{name}: {worst:.2e}")


def words_of(name, count):
    """Random words of a tensor: splitmix64, seeded by the FNV-1a hash of its name."""
    seed = 0xcbf29ce484222325
    for byte in name.encode():
        seed = (seed ^ byte) * 0x100000001b3 % 2**64
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9e3779b97f4a7c15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        return z ^ (z >> np.uint64(31))


def rewritten(name, model, folder, file, offset):
    """The model of a folder with numbers that follow from the names of its tensors; the file says what it is."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as text:
        written = json.load(text)
    with safe_open(os.path.join(folder, "model.safetensors"), "pt") as weights:
        kept = {key: list(weights.get_slice(key).get_shape()) for key in weights.keys()}
    file.write(f"case {name}\nconfig {json.dumps(written)}\n")
    values = {}
    for key, shape in kept.items():
        words = words_of(key, int(np.prod(shape)))
        unit = (words >> np.uint64(40)).astype(np.float32) / np.float32(2**24) - np.float32(0.5)
        base = 1 if len(shape) == 1 and key.endswith("weight") and not offset else 0
        values[key] = torch.from_numpy((unit * np.float32(0.5) + np.float32(base)).reshape(shape))
        file.write(f"tensor {key} {base} {' '.join(map(str, shape))}\n")
    save_file(values, os.path.join(folder, "model.safetensors"), {"format": "pt"})
    return type(model).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


def write_golden(path):
    tokens = np.array([[3, 14, 15, 92, 65, 35, 89, 79, 32, 38, 46, 26, 43, 38, 32, 79]])
    with open(path, "w", encoding="utf-8") as file:
        file.write("tokens " + " ".join(map(str, tokens[0])) + "\n")
        for name, (kind, settings) in CASES.items():
            config = getattr(transformers, kind + "Config")(**settings)
            config.architectures = [MODELS.get(kind, kind + "ForCausalLM")]
            with tempfile.TemporaryDirectory() as folder:
                config._attn_implementation = "eager"
                model = getattr(transformers, config.architectures[0])(config).eval()
                model.save_pretrained(folder)
                model = rewritten(name, model, folder, file, offset=kind.startswith("Gemma"))
            with torch.no_grad():
                logits = model(torch.from_numpy(tokens)).logits[0, -1].numpy()
            file.write("logits " + " ".join(f"{x:.9g}" for x in logits[:16]) + f" {np.abs(logits).max():.9g}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="names that contain this")
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--golden", help="write this file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if arguments.golden:
        write_golden(arguments.golden)
        return 0
    report = []
    for name in CASES:
        if arguments.only is None or arguments.only in name:
            try:
                compare(name, arguments.prompts, report)
            except volta.Error as error:
                report.append(f"{name}: {error}")
    print(f"transformers {transformers.__version__}: {len(report)} of {len(CASES)} differ")
    for line in report:
        print(line, file=sys.stderr)
    return 1 if report else 0


if __name__ == "__main__":
    sys.exit(main())
