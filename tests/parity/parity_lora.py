#!/usr/bin/env python3
"""LoRA against PyTorch and PEFT: small random models written by transformers, adapters by Volta, 100 steps each.

    tests/parity/parity_lora.py [--steps 100] [--only NAME]

Adapters made by Volta are written as PEFT's folder, loaded there, and both train on the same batches with AdamW: the losses differ by
at most 1e-4 relatively, at every step. What PEFT has trained is read back: the logits of both are within 1e-4 of the largest one. The
parts of GPT-2's fused c_attn, which have adapters of their own in Volta alone, are compared with a module of this file.

Exit status: 0 equal, 1 different, 77 no transformers, no peft, or no NumPy.
"""

import argparse
import os
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bindings", "python"))

try:
    import numpy as np
    import peft
    import torch
    import transformers
except ImportError as error:
    print(f"not compared: {error}", file=sys.stderr)
    sys.exit(77)
import volta

VOCABULARY, CONTEXT, BATCH, TIME = 97, 64, 4, 32
RATE, DECAY = 3e-3, 0.01
SMALL = dict(vocab_size=VOCABULARY, hidden_size=48, intermediate_size=80, num_hidden_layers=3, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=CONTEXT, pad_token_id=0, bos_token_id=1, eos_token_id=2)
GPT2 = dict(vocab_size=VOCABULARY, n_embd=48, n_layer=3, n_head=4, n_positions=CONTEXT, bos_token_id=1, eos_token_id=2,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
# name: (class, settings, targets, rank, alpha)
CASES = {
    "gpt2": ("GPT2", GPT2, "o+fc+fc_proj", 8, 16),
    "gpt2-parts": ("GPT2", GPT2, "q+v", 8, 16),
    "llama": ("Llama", SMALL, "q+v", 8, 16),
    "llama-all": ("Llama", SMALL, "q+k+v+o+gate+up+down", 4, 6),
    "qwen2": ("Qwen2", SMALL, "q+v+down", 4, 4),
}


class Parts(torch.nn.Module):
    """A fused Conv1D with a pair of its own for q and for v."""

    def __init__(self, base, pairs, scale):
        super().__init__()
        self.base, self.scale = base, scale
        self.pairs = torch.nn.ParameterDict({f"{part}{half}": torch.nn.Parameter(torch.tensor(array))
                                             for part, two in pairs.items() for half, array in zip("ab", two)})

    def forward(self, x):
        width = self.base.weight.shape[1] // 3
        q = (x @ self.pairs["qa"] * self.scale) @ self.pairs["qb"]
        v = (x @ self.pairs["va"] * self.scale) @ self.pairs["vb"]
        return self.base(x) + torch.cat([q, torch.zeros(*x.shape[:-1], width), v], -1)


def with_parts(model, adapted, rank, alpha):
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for layer, block in enumerate(model.transformer.h):
        pairs = {part: [np.array(adapted[f"block.{layer}.qkv.lora.{part}.{half}"]) for half in "ab"] for part in "qv"}
        block.attn.c_attn = Parts(block.attn.c_attn, pairs, alpha / rank)
    return model


def batches(count):
    random = np.random.default_rng(3)
    for _ in range(count):
        rows = random.integers(0, VOCABULARY, (BATCH, TIME + 1), dtype=np.int32)
        rows[:, 1::2] = (rows[:, :-1:2] * 5 + 1) % VOCABULARY  # half of it can be learnt
        yield rows[:, :-1].copy(), rows[:, 1:].copy()


def train_torch(model, steps):
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE, betas=(0.9, 0.999), eps=1e-8, weight_decay=DECAY)
    losses = []
    for x, y in batches(steps):
        logits = model(torch.tensor(x, dtype=torch.long)).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.tensor(y, dtype=torch.long).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def train_volta(adapted, steps):
    with volta.Trainer(adapted, [(BATCH, TIME)], learning_rate=RATE, weight_decay=DECAY) as trainer:
        losses = [trainer.step(x, y)["loss"] for x, y in batches(steps)]
        trainer.update_model()
    return losses


def logits_of(adapted, x):
    with volta.Session(adapted, [x.shape]) as session:
        return np.array(session.run(x))


def compare(name, steps):
    kind, settings, targets, rank, alpha = CASES[name]
    torch.manual_seed(1)
    config = getattr(transformers, kind + "Config")(**settings)
    config._attn_implementation = "eager"
    model = getattr(transformers, kind + ("LMHeadModel" if kind == "GPT2" else "ForCausalLM"))(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.02)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        base = volta.Model.load(os.path.join(folder, "model.safetensors"))
        adapted = base.add_lora(rank=rank, alpha=alpha, targets=targets, seed=4)
        there = os.path.join(folder, "there")
        os.mkdir(there)
        if name == "gpt2-parts":
            theirs = with_parts(model, adapted, rank, alpha)
        else:
            adapted.export_peft(there)
            theirs = peft.PeftModel.from_pretrained(model, there, is_trainable=True).eval()
        expected, found = train_torch(theirs, steps), train_volta(adapted, steps)
        worst = max(abs(a - b) / abs(a) for a, b in zip(expected, found))
        text = f"{name:12} {steps} steps, loss {found[0]:.4f} to {found[-1]:.4f}, largest difference {worst:.1e}"
        failed = not worst <= 1e-4
        x = next(iter(batches(1)))[0]
        if name == "gpt2-parts":  # as one module with the ranks of both, which PEFT only runs
            adapted.export_peft(there)
            plain = getattr(transformers, kind + "LMHeadModel").from_pretrained(folder).eval()
            back = adapted
            theirs = peft.PeftModel.from_pretrained(plain, there).eval()
        else:
            back_folder = os.path.join(folder, "back")
            theirs.save_pretrained(back_folder)
            back = base.import_peft(back_folder)
        with torch.no_grad():
            wanted = theirs(torch.tensor(x, dtype=torch.long)).logits.numpy()
        apart = np.abs(logits_of(back, x) - wanted).max() / np.abs(wanted).max()
        print(f"{text}; logits of what was handed over differ by {apart:.1e}", flush=True)
        return failed or not apart <= 1e-4


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--only")
    options = parser.parse_args()
    return int(any([compare(name, options.steps) for name in CASES if options.only in (None, name)]))


if __name__ == "__main__":
    sys.exit(main())
