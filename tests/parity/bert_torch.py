"""The BERT of volta_model_create_bert, written again in PyTorch, with Volta's parameter names and layouts.

Weights are [in, out], QKV is one weight [dim, 3 dim], post-norm, GELU is the erf form. Heads: 0 logits of every token
(the decoder is the token embedding), 1 logits of a sequence's classes, 2 the pooled first token, 3 the hidden states.
"""

import math

import torch
import torch.nn.functional as F

from gpt_torch import Gpt

MASKED, CLASSES, POOLED, HIDDEN = range(4)


class Bert(Gpt):
    def __init__(self, vocabulary, layers=4, dim=512, heads=8, hidden=0, context=512, segments=2, classes=0, head=0,
                 epsilon=1e-12, segment_input=0, mask_input=0, fast=True):
        self.hidden, self.segments, self.classes, self.head = hidden or 4 * dim, segments, classes, head
        self.epsilon, self.segment_input, self.mask_input = epsilon, segment_input, mask_input
        super().__init__(vocabulary, layers, dim, heads, context, fast)

    def _shapes(self, vocabulary, context):
        dim = self.dim
        shapes = {
            "token_embedding": (vocabulary, dim),
            "segment_embedding": (self.segments, dim),
            "position_embedding": (context, dim),
        }

        def linear(name, inputs, outputs):
            shapes.update({name + ".weight": (inputs, outputs), name + ".bias": (outputs,)})

        def norm(name):
            shapes.update({name + ".weight": (dim,), name + ".bias": (dim,)})

        norm("norm_embedding")
        for i in range(self.layers):
            block = f"block.{i}."
            linear(block + "qkv", dim, 3 * dim)
            linear(block + "proj", dim, dim)
            norm(block + "norm1")
            linear(block + "fc", dim, self.hidden)
            linear(block + "fc_proj", self.hidden, dim)
            norm(block + "norm2")
        if self.head == MASKED:
            linear("transform", dim, dim)
            norm("norm_transform")
            shapes["head.bias"] = (vocabulary,)
        if self.head in (CLASSES, POOLED):
            linear("pooler", dim, dim)
        if self.head == CLASSES:
            linear("classifier", dim, self.classes)
        return shapes

    def _norm(self, name, x):
        return F.layer_norm(x, (self.dim,), self.get(name + ".weight"), self.get(name + ".bias"), self.epsilon)

    def _attention(self, q, k, v, mask=None):
        """mask [batch, time]: 1 where there is a token"""
        seen = None if mask is None else mask[:, None, None, :] != 0
        if self.fast:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(q.shape[-1]))
        if seen is not None:
            scores = scores.masked_fill(~seen, -math.inf)
        return scores.softmax(-1) @ v

    def forward(self, inputs, targets=None):
        """inputs [1 to 3, batch, time]: tokens, and what the options ask for of segments and mask"""
        tokens, rest = inputs[0], list(inputs[1:])
        segments = rest.pop(0) if self.segment_input else torch.zeros_like(tokens)
        mask = rest.pop(0) if self.mask_input else None
        batch, time = tokens.shape
        x = F.embedding(tokens, self.get("token_embedding")) + F.embedding(segments, self.get("segment_embedding"))
        x = self._norm("norm_embedding", x + self.get("position_embedding")[:time])
        for i in range(self.layers):
            block = f"block.{i}."
            q, k, v = (part.view(batch, time, self.heads, -1).transpose(1, 2)
                       for part in self._linear(block + "qkv", x).split(self.dim, 2))
            mixed = self._attention(q, k, v, mask).transpose(1, 2).reshape(batch, time, self.dim)
            x = self._norm(block + "norm1", x + self._linear(block + "proj", mixed))
            hidden = F.gelu(self._linear(block + "fc", x))
            x = self._norm(block + "norm2", x + self._linear(block + "fc_proj", hidden))
        result = self._finish(x)
        if targets is None:
            return result
        return F.cross_entropy(result.reshape(-1, result.shape[-1]), targets.reshape(-1), ignore_index=-1)

    def _finish(self, x):
        if self.head == HIDDEN:
            return x
        if self.head == MASKED:
            turned = self._norm("norm_transform", F.gelu(self._linear("transform", x)))
            return turned @ self.get("token_embedding").t() + self.get("head.bias")
        pooled = torch.tanh(self._linear("pooler", x[:, 0].contiguous()))
        return pooled if self.head == POOLED else self._linear("classifier", pooled)
