#!/usr/bin/env python3
"""Which operators of PyTorch ResNet and BERT use most: the list behind docs/top50.md.

    tests/parity/count_aten.py [--write]

Counts the calls of aten that arrive at its kernels in one training step, forward and backward, and one inference: of ResNet-18 and
ResNet-50 for ImageNet (tests/parity/networks_torch.py), and of transformers' BERT-base, with a head for masked words and with one for
classes, its attention as one operator and written out. What makes gradients (`convolution_backward`) counts for itself. --write: to
tests/parity/top50.json. It needs PyTorch and transformers; nothing is downloaded, since weights do not change what is called.

Exit status: 0 counted, 77 no PyTorch or no transformers.
"""

import argparse
import collections
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "top50.json")

try:
    import torch
    import transformers
    from torch.utils._python_dispatch import TorchDispatchMode
except ImportError as error:
    print(f"PyTorch or transformers is not installed ({error}): skipped")
    sys.exit(77)

from networks_torch import Resnet  # noqa: E402


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = collections.Counter()

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        self.calls[function.overloadpacket.__name__] += 1
        return function(*arguments, **(named or {}))


def counted(model, loss):
    """Calls of a training step, and of an inference."""
    counting = Counting()
    with counting:
        model.train()
        loss(model).backward()
        model.eval()
        with torch.no_grad():
            loss(model)
    return counting.calls


def resnet(depth):
    pictures, classes = torch.randn(2, 3, 64, 64), torch.tensor([1, 2])
    return counted(Resnet(depth, 1000, True), lambda model: torch.nn.functional.cross_entropy(model(pictures), classes))


def bert(head, attention):
    config = transformers.BertConfig(attn_implementation=attention)
    words = torch.randint(0, config.vocab_size, (2, 32))
    mask = torch.ones(2, 32, dtype=torch.long)
    mask[1, 20:] = 0
    labels = words if head is transformers.BertForMaskedLM else torch.tensor([0, 1])
    return counted(head(config), lambda model: model(input_ids=words, attention_mask=mask, labels=labels).loss)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(1)
    found = {"resnet18": resnet(18), "resnet50": resnet(50)}
    for head in (transformers.BertForMaskedLM, transformers.BertForSequenceClassification):
        for attention in ("sdpa", "eager"):
            found[f"{head.__name__}, {attention}"] = bert(head, attention)
    total = sum(found.values(), collections.Counter())
    ranked = sorted(total, key=lambda name: (-total[name], name))
    for name in ranked:
        print(f"{total[name]:6d} {name:48} " + " ".join(f"{calls[name]:5d}" for calls in found.values()))
    if arguments.write:
        lines = ",\n".join(f"  {json.dumps(name)}: {[calls[name] for calls in found.values()]}" for name in ranked)
        head = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__, "networks": list(found)}
        with open(LIST, "w", encoding="utf-8") as file:
            file.write(json.dumps(head)[:-1] + ',\n "calls": {\n' + lines + "\n}}\n")


if __name__ == "__main__":
    main()
