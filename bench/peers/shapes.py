"""The products that Volta and its peers are timed on: C[m, n] = A[m, k] B[k, n] in three forms.

nn is X W; nt is dY W^T, with W stored [n, k]; tn is X^T dY, with X stored [k, m]. The transposed forms are those of
the training shapes: a linear layer (tokens, out, in) needs dX = (tokens, in, out) nt and dW = (in, out, tokens) tn.
"""

import argparse
from collections import namedtuple

Product = namedtuple("Product", "form m n k group")

SQUARES = [(s, s, s) for s in (64, 128, 256, 512, 1024, 2048, 4096)]
# (tokens, out, in) of the GPT presets: fused QKV, MLP up, MLP down, projection, head.
LAYERS = [(64, 384, 384),
          (256, 1152, 384), (256, 1536, 384), (256, 384, 1536),
          (1024, 1152, 384), (1024, 1536, 384), (1024, 384, 1536), (1024, 65, 384),
          (1024, 768, 768), (1024, 3072, 768), (1024, 768, 3072), (256, 50257, 768)]
# Extents of weight gradients, with the operands stored plainly.
GRADIENTS = [(384, 1152, 1024), (384, 1536, 1024), (768, 3072, 1024)]
BATCHES = [(4, 3072, 768), (8, 3072, 768), (16, 3072, 768)]
DECODE = [(1, 1152, 384), (1, 1536, 384), (1, 2304, 768), (1, 3072, 768), (1, 768, 3072), (1, 50257, 768)]
ODD = [(100, 100, 100), (127, 127, 127), (255, 257, 253), (1000, 1000, 1000), (1023, 1023, 1023), (13, 777, 333)]

PLAIN = [Product("nn", *shape, group)
         for group, shapes in (("square", SQUARES), ("training", LAYERS + GRADIENTS), ("batch", BATCHES),
                               ("decode", DECODE), ("odd", ODD))
         for shape in shapes]
TRANSPOSED = ([Product("nt", m, k, n, "training") for m, n, k in LAYERS] +
              [Product("tn", k, n, m, "training") for m, n, k in LAYERS])
ALL = PLAIN + TRANSPOSED

# Products of few columns (docs/decisions/0014-few-columns.md), which no model of the list has: the last layer of a
# regression, its weight's gradient, and around the widths of vectors.
FEW_COLUMNS = [Product(form, m, n, k, "few columns")
               for form, m, n, k in (("nn", 1024, 1, 384), ("nn", 1024, 2, 384), ("nn", 1024, 4, 384),
                                     ("nn", 1024, 8, 384), ("nn", 1024, 16, 384), ("nn", 1024, 17, 384),
                                     ("nn", 64, 1, 512), ("nt", 1024, 1, 384), ("nt", 1024, 4, 384),
                                     ("tn", 384, 1, 1024), ("tn", 512, 1, 64), ("tn", 384, 8, 1024),
                                     ("tn", 384, 17, 1024))]

# A few minutes less: one or two of every kind. Also what `make perf-check` watches.
_QUICK = {("nn", 64, 64, 64), ("nn", 256, 256, 256), ("nn", 1024, 1024, 1024), ("nn", 256, 1152, 384),
          ("nn", 1024, 65, 384), ("nn", 1024, 384, 1536), ("nn", 1024, 3072, 768), ("nn", 8, 3072, 768),
          ("nn", 1, 1152, 384), ("nn", 1, 768, 3072), ("nn", 127, 127, 127), ("nn", 13, 777, 333),
          ("nt", 1024, 384, 1152), ("nt", 1024, 768, 3072), ("tn", 384, 1152, 1024), ("tn", 768, 3072, 1024)}
QUICK = [product for product in ALL if product[:4] in _QUICK]


def name(product):
    """"nn 256,1152,384": how a product is called in tables, files and on the command line."""
    return f"{product.form} {product.m},{product.n},{product.k}"


def parse(text):
    """The products of "256x1152x384,nt:1024x384x1152"; the form nn may be left out. An argparse type."""
    found = []
    for word in text.split(","):
        form, _, extents = word.rpartition(":")
        parts = extents.split("x")
        if form not in ("", "nn", "nt", "tn") or len(parts) != 3 or not all(p.isdigit() and int(p) for p in parts):
            raise argparse.ArgumentTypeError(f"'{word}' is no product: write MxNxK, nt:MxNxK or tn:MxNxK")
        found.append(Product(form or "nn", *map(int, parts), "asked for"))
    return found
