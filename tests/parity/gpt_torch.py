"""The GPT of volta_model_create_gpt, written again in PyTorch, with Volta's parameter names and layouts.

Weights are [in, out] (y = x @ W + b), QKV is one weight [dim, 3 dim], the head is the token embedding
transposed, layer norms have epsilon 1e-5, GELU is the tanh form, positions are learned. `fast` picks what a
PyTorch user would write for speed; the plain form is the same arithmetic spelt out.
"""

import math

import torch
import torch.nn.functional as F


class Gpt(torch.nn.Module):
    def __init__(self, vocabulary, layers=6, dim=384, heads=6, context=256, fast=True):
        super().__init__()
        self.layers, self.dim, self.heads, self.fast = layers, dim, heads, fast
        self.shapes = self._shapes(vocabulary, context)
        # PyTorch forbids dots in the names of parameters.
        for name, shape in self.shapes.items():
            self.register_parameter(name.replace(".", "/"), torch.nn.Parameter(torch.zeros(shape)))
        self.reset()

    def _shapes(self, vocabulary, context):
        dim = self.dim
        shapes = {"token_embedding": (vocabulary, dim), "position_embedding": (context, dim)}
        for i in range(self.layers):
            block = f"block.{i}."
            shapes |= {
                block + "norm1.weight": (dim,),
                block + "norm1.bias": (dim,),
                block + "qkv.weight": (dim, 3 * dim),
                block + "qkv.bias": (3 * dim,),
                block + "proj.weight": (dim, dim),
                block + "proj.bias": (dim,),
                block + "norm2.weight": (dim,),
                block + "norm2.bias": (dim,),
                block + "fc.weight": (dim, 4 * dim),
                block + "fc.bias": (4 * dim,),
                block + "fc_proj.weight": (4 * dim, dim),
                block + "fc_proj.bias": (dim,),
            }
        shapes |= {"norm_final.weight": (dim,), "norm_final.bias": (dim,)}
        return shapes

    def get(self, name):
        return self._parameters[name.replace(".", "/")]

    def named(self):
        return {name: self.get(name) for name in self.shapes}

    @torch.no_grad()
    def reset(self):
        """N(0, 0.02); residual projections divided by sqrt(2 layers); norms 1, biases 0."""
        for name, parameter in self.named().items():
            if "norm" in name:
                parameter.fill_(1.0 if name.endswith("weight") else 0.0)
            elif name.endswith("bias"):
                parameter.zero_()
            else:
                residual = name.endswith("proj.weight")
                parameter.normal_(0.0, 0.02 / math.sqrt(2 * self.layers) if residual else 0.02)

    @torch.no_grad()
    def load(self, arrays):
        missing = set(self.shapes) ^ set(arrays)
        assert not missing, f"parameters that only one side has: {sorted(missing)}"
        for name, parameter in self.named().items():
            assert tuple(arrays[name].shape) == tuple(parameter.shape), (name, arrays[name].shape, parameter.shape)
            parameter.copy_(torch.from_numpy(arrays[name]))

    def _linear(self, name, x):
        weight, bias = self.get(name + ".weight"), self.get(name + ".bias")
        return torch.addmm(bias, x.view(-1, x.shape[-1]), weight).view(*x.shape[:-1], -1)

    def _norm(self, name, x):
        return F.layer_norm(x, (self.dim,), self.get(name + ".weight"), self.get(name + ".bias"), 1e-5)

    def _attention(self, q, k, v):
        if self.fast:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        time = q.shape[-2]
        future = torch.ones(time, time, dtype=torch.bool).triu(1)
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(q.shape[-1]))
        return scores.masked_fill(future, -math.inf).softmax(-1) @ v

    def _block(self, i, x):
        batch, time = x.shape[:2]
        block = f"block.{i}."
        qkv = self._linear(block + "qkv", self._norm(block + "norm1", x))
        q, k, v = (part.view(batch, time, self.heads, -1).transpose(1, 2) for part in qkv.split(self.dim, 2))
        mixed = self._attention(q, k, v).transpose(1, 2).reshape(batch, time, self.dim)
        x = x + self._linear(block + "proj", mixed)
        hidden = F.gelu(self._linear(block + "fc", self._norm(block + "norm2", x)), approximate="tanh")
        return x + self._linear(block + "fc_proj", hidden)

    def forward(self, tokens, targets=None):
        time = tokens.shape[1]
        x = F.embedding(tokens, self.get("token_embedding")) + self.get("position_embedding")[:time]
        for i in range(self.layers):
            x = self._block(i, x)
        logits = self._norm("norm_final", x) @ self.get("token_embedding").t()
        if targets is None:
            return logits
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))

    def optimizer(self, learning_rate, beta1, beta2, decay, fused=False):
        """AdamW with decay on parameters of rank 2 only, as Volta's default."""
        matrices = [p for p in self.parameters() if p.dim() >= 2]
        vectors = [p for p in self.parameters() if p.dim() < 2]
        groups = [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=learning_rate, betas=(beta1, beta2), eps=1e-8, fused=fused)


def learning_rate(step, steps, warmup, high, low):
    """Linear warm-up from high/warmup, then a cosine to low: the factor of step 0, 1, ..."""
    if step < warmup:
        return high * (step + 1) / warmup
    fraction = (step - warmup) / (steps - warmup)
    return low + 0.5 * (high - low) * (1 + math.cos(math.pi * fraction))


def clip(parameters, largest):
    """g * (norm > largest ? largest / norm : 1), without the 1e-6 of torch.nn.utils; returns the norm."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in gradients]))
    if norm > largest:
        for gradient in gradients:
            gradient.mul_(largest / norm)
    return float(norm)
