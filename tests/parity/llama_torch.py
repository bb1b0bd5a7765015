"""The Llama of volta_model_create_llama, written again in PyTorch, with Volta's parameter names and layouts.

Weights are [in, out] without biases, q, k and v lie side by side in one weight, head by head, as do gate and up.
Rotary pairs are (i, i + h/2), or neighbours when interleaved; RMS norms have no mean; the head is the token
embedding transposed, or a weight of its own.
"""

import torch
import torch.nn.functional as F

from gpt_torch import Gpt


class Llama(Gpt):
    def __init__(self, vocabulary, layers=6, dim=384, heads=6, kv_heads=0, hidden=0, context=256, rope_base=1e4,
                 epsilon=1e-5, untied=0, interleaved=0, fast=True):
        self.kv_heads = kv_heads or heads
        self.hidden = hidden or -(-(-(-8 * dim // 3)) // 32) * 32
        self.rope_base, self.epsilon, self.untied, self.interleaved = rope_base, epsilon, untied, interleaved
        super().__init__(vocabulary, layers, dim, heads, context, fast)

    def _shapes(self, vocabulary, context):
        dim, width = self.dim, self.dim // self.heads
        shapes = {"token_embedding": (vocabulary, dim)}
        for i in range(self.layers):
            block = f"block.{i}."
            shapes |= {
                block + "norm1.weight": (dim,),
                block + "qkv.weight": (dim, (self.heads + 2 * self.kv_heads) * width),
                block + "proj.weight": (dim, dim),
                block + "norm2.weight": (dim,),
                block + "gate_up.weight": (dim, 2 * self.hidden),
                block + "down.weight": (self.hidden, dim),
            }
        shapes["norm_final.weight"] = (dim,)
        if self.untied:
            shapes["head.weight"] = (vocabulary, dim)
        return shapes

    def _norm(self, name, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * self.get(name + ".weight")

    def _rotary(self, x):
        """x [batch, heads, time, width]"""
        time, width = x.shape[-2:]
        frequencies = self.rope_base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        angles = torch.arange(time, dtype=torch.float64)[:, None] * frequencies
        cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        if self.interleaved:
            a, b = x[..., 0::2], x[..., 1::2]
            return torch.stack((a * cosine - b * sine, a * sine + b * cosine), -1).flatten(-2)
        a, b = x.chunk(2, -1)
        return torch.cat((a * cosine - b * sine, a * sine + b * cosine), -1)

    def forward(self, tokens, targets=None):
        batch, time = tokens.shape
        width, group = self.dim // self.heads, self.heads // self.kv_heads
        sizes = [self.dim, self.kv_heads * width, self.kv_heads * width]
        x = F.embedding(tokens, self.get("token_embedding"))
        for i in range(self.layers):
            block = f"block.{i}."
            qkv = self._norm(block + "norm1", x) @ self.get(block + "qkv.weight")
            q, k, v = (part.view(batch, time, -1, width).transpose(1, 2) for part in qkv.split(sizes, 2))
            q, k = self._rotary(q), self._rotary(k)
            k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
            mixed = self._attention(q, k, v).transpose(1, 2).reshape(batch, time, self.dim)
            x = x + mixed @ self.get(block + "proj.weight")
            gate, up = (self._norm(block + "norm2", x) @ self.get(block + "gate_up.weight")).chunk(2, -1)
            x = x + (F.silu(gate) * up) @ self.get(block + "down.weight")
        head = self.get("head.weight" if self.untied else "token_embedding")
        logits = self._norm("norm_final", x) @ head.t()
        if targets is None:
            return logits
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))
