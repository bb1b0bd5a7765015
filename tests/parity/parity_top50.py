#!/usr/bin/env python3
"""The operators of PyTorch that ResNet and BERT use most, said in Volta: values and gradients against PyTorch, and their page.

    tests/parity/parity_top50.py            compare with PyTorch
    tests/parity/parity_top50.py --page     docs/top50.md is what the table below and the list of count_aten.py say; no PyTorch needed
    tests/parity/parity_top50.py --write    write it

Every row is code: the page shows what was run. Gradients are those of the sum of the result times fixed numbers. Where the operator makes
a gradient (`gelu_backward`), Volta's is the gradient of a tape, and PyTorch's that operator itself.

Exit status: 0 equal, 1 different, 77 no PyTorch or no NumPy.
"""

import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIST, PAGE = os.path.join(HERE, "top50.json"), os.path.join(ROOT, "docs", "top50.md")
MOST = 50
OPERATOR, COMPOSED, HOST = "operator", "composition", "host"
EXACT, NEAR, SUMS = 0.0, 3e-6, 2e-5  # by bits; of functions; of sums and products


class Row:
    """How an operator is said. `inputs`: by name, a shape of normal numbers, ids(), mask(), or numbers. `gradients`: names of inputs
    whose gradients are compared. `is_gradient`: `torch` makes these, one or as many, of dy and the inputs, and no value is compared."""

    def __init__(self, kind, volta, torch, inputs, gradients="", within=EXACT, gradients_within=None, note="", is_gradient=False):
        self.kind, self.volta, self.torch, self.inputs, self.note, self.is_gradient = kind, volta, torch, inputs, note, is_gradient
        self.gradients = gradients.split()
        self.within, self.gradients_within = within, within if gradients_within is None else gradients_within


def ids(below, *shape):
    return ("ids", shape, below)


def mask(*shape):
    return ("mask", shape)


X, Y = (5, 6), (6, 7)
PICTURES = {"x": (2, 4, 6, 6)}
CONV = dict(PICTURES, w=(8, 4, 3, 3))
POOL = 'volta.apply("max_pool", x, kernel=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])'
CONVOLUTION = 'volta.apply("conv", x, w, strides=[2, 2], pads=[1, 1, 1, 1])'
NORM = dict(PICTURES, g=(4,), b=(4,), m=[0.0] * 4, v=[1.0] * 4)  # m and v: running ones
BATCH_NORM = 'volta.apply("batch_norm_train", x, g, b, m, v)'
LAYER_NORM = 'volta.apply("layer_norm", x, g, b)'
NUMBER = "a number is an operand as it is"
MADE = "tensors are made of zeros; the library knows none with undefined elements"
FLAT = "rows are what can be gathered: numbers by several ids are rows of the flat tensor, whose ids the host computes"

ROWS = {
    "view": Row(OPERATOR, "x.reshape(3, -1)", "x.view(3, -1)", {"x": X}, "x"),
    "t": Row(OPERATOR, "x.T", "x.t()", {"x": X}, "x", note="a product reads a transposed operand in place"),
    "detach": Row(OPERATOR, "x.detach() * x", "x.detach() * x", {"x": X}, "x"),
    "transpose": Row(OPERATOR, "x.permute(0, 2, 1)", "x.transpose(1, 2)", {"x": (2, 3, 4)}, "x"),
    "addmm": Row(COMPOSED, "x @ w + b", "torch.addmm(b, x, w)", {"x": X, "w": Y, "b": (7,)}, "x w b", SUMS, note="one step of a plan"),
    "mm": Row(OPERATOR, "x @ w", "torch.mm(x, w)", {"x": X, "w": Y}, "x w", SUMS),
    "add": Row(OPERATOR, "x + y", "torch.add(x, y)", {"x": X, "y": (6,)}, "x y", EXACT, NEAR),
    "_unsafe_view": Row(OPERATOR, "x.reshape(10, 3)", "torch.ops.aten._unsafe_view(x, (10, 3))", {"x": X}, "x"),
    "clone": Row(OPERATOR, "x.permute(1, 0).reshape(5, 6)", "x.t().clone(memory_format=torch.contiguous_format).view(5, 6)", {"x": X}, "x",
                 note="every tensor is dense, and no operator changes one: a copy is never needed"),
    "mul": Row(OPERATOR, "x * y", "torch.mul(x, y)", {"x": X, "y": (6,)}, "x y", EXACT, NEAR),
    "bmm": Row(OPERATOR, "x @ w", "torch.bmm(x, w)", {"x": (3, 4, 5), "w": (3, 5, 2)}, "x w", SUMS),
    "expand": Row(OPERATOR, "x.broadcast_to(4, 5, 6)", "x.expand(4, 5, 6)", {"x": (5, 1)}, "x", EXACT, NEAR,
                  note="elementwise operators broadcast by themselves"),
    "sum": Row(OPERATOR, "x.sum(axis=(0, 2), keepdims=True)", "x.sum((0, 2), keepdim=True)", {"x": (3, 4, 5)}, "x", NEAR, EXACT),
    "native_layer_norm": Row(OPERATOR, LAYER_NORM, "torch.native_layer_norm(x, (6,), g, b, 1e-5)[0]", {"x": X, "g": (6,), "b": (6,)},
                             "x g b", NEAR, SUMS),
    "bernoulli_": Row(OPERATOR, "x.dropout(0.25)", "DROPPED", {"x": (100, 100)}, "x", NEAR,
                      note="drawn by the tape's seed and the step; with the division by 1 - p. Compared: what is kept, and how much"),
    "div_": Row(OPERATOR, "x / y", "x.clone().div_(y)", {"x": X, "y": (6,)}, "x y", EXACT, NEAR, note="no operator changes a tensor"),
    "empty_like": Row(HOST, "volta.Tensor.zeros(x.shape).fill(2.0)", "torch.empty_like(x).fill_(2.0)", {"x": X}, note=MADE),
    "convolution": Row(OPERATOR, CONVOLUTION, "torch.convolution(x, w, None, (2, 2), (1, 1), (1, 1), False, (0, 0), 1)", CONV, "x w", SUMS),
    "empty": Row(HOST, "volta.Tensor.zeros((3, 4)).fill(2.0)", "torch.empty(3, 4).fill_(2.0)", {}, note=MADE),
    "native_batch_norm": Row(OPERATOR, BATCH_NORM, "torch.native_batch_norm(x, g, b, None, None, True, 0.1, 1e-5)[0]", NORM, "x g b", NEAR,
                             SUMS, note="m and v follow in the optimizer's step; in inference `batch_norm`, by them"),
    "relu": Row(OPERATOR, "x.relu()", "torch.relu(x)", {"x": X}, "x"),
    "native_layer_norm_backward": Row(
        OPERATOR, LAYER_NORM, "torch.ops.aten.native_layer_norm_backward(dy, x, [6], *torch.native_layer_norm(x, (6,), g, b, 1e-5)[1:], "
        "g, b, [True] * 3)", {"x": X, "g": (6,), "b": (6,)}, "x g b", SUMS, is_gradient=True),
    "gelu": Row(OPERATOR, "x.gelu()", "torch.nn.functional.gelu(x)", {"x": X}, "x", NEAR),
    "scalar_tensor": Row(HOST, "volta.Tensor(2.5)", "torch.scalar_tensor(2.5)", {}, note=NUMBER),
    "unsqueeze": Row(OPERATOR, "x[:, None]", "x.unsqueeze(1)", {"x": X}, "x"),
    "add_": Row(OPERATOR, "x + y", "x.clone().add_(y)", {"x": X, "y": X}, "x y",
                note="no operator changes a tensor; parameters change in the optimizer's step"),
    "convolution_backward": Row(OPERATOR, CONVOLUTION, "torch.ops.aten.convolution_backward(dy, x, w, None, (2, 2), (1, 1), (1, 1), False, "
                                "(0, 0), 1, [True, True, False])", CONV, "x w", SUMS, is_gradient=True),
    "native_batch_norm_backward": Row(
        OPERATOR, BATCH_NORM, "torch.ops.aten.native_batch_norm_backward(dy, x, g, None, None, *torch.native_batch_norm(x, g, b, None, None, "
        "True, 0.1, 1e-5)[1:], True, 1e-5, [True] * 3)", NORM, "x g b", SUMS, is_gradient=True),
    "threshold_backward": Row(OPERATOR, "x.relu()", "torch.ops.aten.threshold_backward(dy, x, 0)", {"x": X}, "x", is_gradient=True),
    "where": Row(OPERATOR, "volta.where(m, x, y)", "torch.where(m != 0, x, y)", {"m": mask(5, 6), "x": X, "y": (6,)}, "x y", EXACT, NEAR,
                 note="masks are i32, 0 is false"),
    "gelu_backward": Row(OPERATOR, "x.gelu()", "torch.ops.aten.gelu_backward(dy, x)", {"x": X}, "x", NEAR, is_gradient=True),
    "_softmax": Row(OPERATOR, "x.softmax()", "torch.softmax(x, -1)", {"x": X}, "x", NEAR, note="of the last axis; of others by `permute`"),
    "_softmax_backward_data": Row(OPERATOR, "x.softmax()", "torch._softmax_backward_data(dy, torch.softmax(x, -1), -1, x.dtype)",
                                  {"x": X}, "x", NEAR, is_gradient=True),
    "arange": Row(HOST, 'volta.Tensor.zeros((7,), "i32").arange(2, 3)', "torch.arange(2, 23, 3)", {},
                  note="of positions on a tape: `position_ids`"),
    "_safe_softmax": Row(COMPOSED, "volta.where(s, volta.where(s, x, 0.0).softmax(), 0.0)", "torch.ops.aten._safe_softmax(x, -1)",
                         {"x": [[0.5, -1.0, 2.0], [float("-inf")] * 3, [float("-inf"), 1.0, 3.0]], "s": [[1], [0], [1]]}, "", NEAR,
                         note="s: 0 for rows without any key, which the host knows by its mask"),
    "_scaled_dot_product_flash_attention_for_cpu": Row(
        OPERATOR, 'volta.apply("attention", q, k, v, heads=2, causal=0)',
        "torch.nn.functional.scaled_dot_product_attention(*(t.view(3, 5, 2, 4).transpose(1, 2) for t in (q, k, v))).transpose(1, 2)"
        ".reshape(3, 5, 8)", {"q": (3, 5, 8), "k": (3, 5, 8), "v": (3, 5, 8)}, "q k v", NEAR, SUMS,
        note="causal, of a window or of documents by attributes; by another mask: `volta.where(m, scores, -1e30).softmax() @ v`"),
    "embedding": Row(OPERATOR, "w.gather(i)", "torch.nn.functional.embedding(i, w)", {"w": (9, 4), "i": ids(9, 2, 5)}, "w", EXACT, NEAR),
    "bitwise_and": Row(COMPOSED, "volta.where(m, volta.where(n, 1.0, 0.0), 0.0) == 1.0", "(m != 0) & (n != 0)",
                       {"m": mask(5, 6), "n": mask(5, 6)}),
    "_log_softmax": Row(OPERATOR, "x.log_softmax()", "torch.log_softmax(x, -1)", {"x": X}, "x", NEAR, note="of the last axis"),
    "embedding_dense_backward": Row(OPERATOR, "w.gather(i)", "torch.ops.aten.embedding_dense_backward(dy, i, 9, -1, False)",
                                    {"w": (9, 4), "i": ids(9, 2, 5)}, "w", NEAR, is_gradient=True),
    "nll_loss_forward": Row(COMPOSED, "-x.reshape(-1, 1).gather(i).mean()",
                            "torch.nn.functional.nll_loss(x, i - torch.arange(5) * 6)", {"x": X, "i": [0, 8, 13, 20, 29]}, "x", NEAR,
                            note="i counts in the flat tensor; with the softmax before it: `x.cross_entropy(t).mean()`"),
    "_local_scalar_dense": Row(HOST, "volta.Tensor(x.sum().item())", "torch.tensor(x.sum().item())", {"x": X}, "", NEAR,
                               note="on a lazy tape it computes what is recorded (VG001)"),
    "_to_copy": Row(COMPOSED, "volta.where(m, 1.0, 0.0)", "m.to(torch.float32)", {"m": mask(5, 6)},
                    note="of masks; of ids below n: `volta.Tensor.zeros((n, 1)).arange().gather(i)`"),
    "all": Row(COMPOSED, "volta.where(m, 1.0, 0.0).min() == 1.0", "(m != 0).all()", {"m": mask(5, 6)}),
    "gather": Row(COMPOSED, "x.reshape(-1, 1).gather(i)[:, :, 0]", "torch.gather(x, 1, i - torch.arange(5)[:, None] * 6)",
                  {"x": X, "i": [[0, 3], [6, 6], [12, 17], [23, 18], [29, 25]]}, "x", EXACT, NEAR, note=FLAT),
    "ge": Row(OPERATOR, "x >= y", "torch.ge(x, y)", {"x": X, "y": (6,)}, note="of f32; of integers after `_to_copy`"),
    "index": Row(COMPOSED, "x.reshape(-1, 1).gather(i)[:, 0]", "x[torch.tensor([0, 2, 4]), torch.tensor([1, 1, 5])]",
                 {"x": X, "i": [1, 13, 29]}, "x", EXACT, NEAR, note=FLAT),
    "new_ones": Row(HOST, "volta.Tensor.ones((3, 4))", "x.new_ones(3, 4)", {"x": X}),
    "slice": Row(OPERATOR, "x[:, 1:4]", "x[:, 1:4]", {"x": X}, "x", note="of step 1"),
    "_log_softmax_backward_data": Row(OPERATOR, "x.log_softmax()",
                                      "torch._log_softmax_backward_data(dy, torch.log_softmax(x, -1), -1, x.dtype)", {"x": X}, "x", NEAR,
                                      is_gradient=True),
    "nll_loss_backward": Row(OPERATOR, "x.cross_entropy(i)",
                             "torch._log_softmax_backward_data(torch.zeros(5, 6).scatter(1, i.long()[:, None], -dy[:, None]), "
                             "torch.log_softmax(x, -1), -1, x.dtype)", {"x": X, "i": ids(6, 5)}, "x", NEAR, is_gradient=True,
                             note="with that of `log_softmax` in it"),
    "ones_like": Row(HOST, "volta.Tensor.ones(x.shape)", "torch.ones_like(x)", {"x": X}),
    "max_pool2d_with_indices": Row(OPERATOR, POOL, "torch.nn.functional.max_pool2d(x, 3, 2, 1)", PICTURES, "x", EXACT, NEAR),
    "mean": Row(OPERATOR, "x.mean(axis=(2, 3))", "x.mean((2, 3))", PICTURES, "x", NEAR),
    "select": Row(OPERATOR, "x[:, 0]", "x.select(1, 0)", {"x": X}, "x"),
    "tanh": Row(OPERATOR, "x.tanh()", "torch.tanh(x)", {"x": X}, "x", NEAR),
    "zeros": Row(HOST, "volta.Tensor.zeros((3, 4))", "torch.zeros(3, 4)", {}),
    "div": Row(OPERATOR, "x / y", "torch.div(x, y)", {"x": X, "y": (6,)}, "x y", EXACT, NEAR),
    "max_pool2d_with_indices_backward": Row(
        OPERATOR, POOL, "torch.ops.aten.max_pool2d_with_indices_backward(dy, x, (3, 3), (2, 2), (1, 1), (1, 1), False, "
        "torch.nn.functional.max_pool2d(x, 3, 2, 1, return_indices=True)[1])", PICTURES, "x", NEAR, is_gradient=True),
    "select_backward": Row(OPERATOR, "x[:, 0]", "torch.ops.aten.select_backward(dy, (5, 6), 1, 0)", {"x": X}, "x", is_gradient=True),
    "tanh_backward": Row(OPERATOR, "x.tanh()", "torch.ops.aten.tanh_backward(dy, torch.tanh(x))", {"x": X}, "x", NEAR, is_gradient=True),
}


# ---- The page ------------------------------------------------------------------------------------------------------


def ranked():
    """The list, the most called first, and how often each network calls them."""
    with open(LIST, encoding="utf-8") as file:
        listed = json.load(file)
    calls = listed["calls"]
    return listed, sorted(calls, key=lambda name: (-sum(calls[name]), name))


def tolerance(value):
    return "equal" if value == EXACT else f"{value:g}"


def page():
    listed, names = ranked()
    calls = listed["calls"]
    resnets = [i for i, network in enumerate(listed["networks"]) if network.startswith("resnet")]

    def line(rank, name):
        row, of = ROWS[name], calls[name]
        said = f"the gradient of `{row.volta}`" if row.is_gradient else f"`{row.volta}`"
        gradients = tolerance(row.gradients_within) if row.gradients else "-"
        values = "-" if row.is_gradient else tolerance(row.within)
        return (f"| {rank} | `{name}` | {sum(of[i] for i in resnets)} | {sum(of) - sum(of[i] for i in resnets)} | {said} | {row.kind} | "
                f"{values} | {gradients} | {row.note} |")

    head = ("| | aten | ResNet | BERT | in Volta | by | values | gradients | |\n|---:|---|---:|---:|---|---|---:|---:|---|")
    counts = {kind: sum(ROWS[name].kind == kind for name in names[:MOST]) for kind in (OPERATOR, COMPOSED, HOST)}
    return "\n".join([
        "# The 50 operators that ResNet and BERT use most",
        "",
        "Written by `tests/parity/parity_top50.py`, which runs every row against PyTorch; `tests/parity/count_aten.py` counted. Calls are those",
        f"that arrive at the kernels of PyTorch {listed['torch']} in a training step, forward and backward, and an inference: of ResNet-18 and",
        f"ResNet-50, and of BERT-base as transformers {listed['transformers']} has it, with two heads and two ways of attention.",
        "",
        f"Of the {MOST}, {counts[OPERATOR]} are an operator of [docs/operators.md](operators.md) or its gradient, {counts[COMPOSED]} a few of them together, and "
        f"{counts[HOST]} make or read",
        "a tensor and compute nothing. `x`, `y`, `w` ... are `volta.Tensor`s, `m` and `n` masks, `i` ids; all runs on a tape, with gradients",
        "([docs/autograd.md](autograd.md)). *Values* and *gradients*: `equal` by bits, else within that much, absolute and relative.",
        "",
        head,
        *(line(rank, name) for rank, name in enumerate(names[:MOST], 1)),
        "",
        "The rest of what they call:",
        "",
        head,
        *(line(rank, name) for rank, name in enumerate(names[MOST:], MOST + 1)),
        "",
        "## What is not there",
        "",
        "- **Arithmetic on integers.** i32 tensors are ids, positions, targets and masks: they are moved, not computed with. The host computes",
        "  ids; f32 holds integers up to 2^24 exactly.",
        "- **Indexing by tensors** other than rows of a table (`gather`), and along other axes: rows of the flat tensor, as above.",
        "- **In-place operators.** What is recorded is not changed; parameters change in the optimizer's step.",
        "- **Views.** `reshape`, `permute` and slices are tensors of their own; plans drop what need not be moved.",
        "",
    ])


def check_page(path, is_writing):
    _, names = ranked()
    missing = [name for name in names if name not in ROWS]
    if missing:
        print(f"tests/parity/parity_top50.py says nothing about {', '.join(missing)}")
        return 1
    text = page()
    if is_writing:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    with open(path, encoding="utf-8") as file:
        if file.read() == text:
            return 0
    print(f"{os.path.relpath(path, ROOT)} is not what its list and rows say: run tests/parity/parity_top50.py --write")
    return 1


# ---- The comparison ------------------------------------------------------------------------------------------------


def made(spec, random, np):
    if isinstance(spec, list):
        array = np.array(spec)
        return array.astype(np.float32 if array.dtype.kind == "f" else np.int32)
    if spec and spec[0] == "ids":
        return random.integers(0, spec[2], spec[1]).astype(np.int32)
    if spec and spec[0] == "mask":
        return random.integers(0, 2, spec[1]).astype(np.int32)
    return random.standard_normal(spec).astype(np.float32)


def near(what, mine, theirs, within, np):
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    if mine.dtype.kind == "i":
        theirs = theirs.astype(np.int32)
    if mine.shape != theirs.shape:
        return f"{what} is {list(mine.shape)}, PyTorch's {list(theirs.shape)}"
    if np.allclose(mine, theirs, rtol=within, atol=within, equal_nan=True):
        return None
    return f"{what} differs by {np.abs(mine - theirs).max():g}, more than {within:g}"


def dropped(y, x, dy, dx, np):
    """Of dropout by 0.25: scaled where it is kept, and kept as often as it should be."""
    kept = y != 0
    share, deviation = kept.mean(), (0.25 * 0.75 / y.size) ** 0.5
    if abs(share - 0.75) > 5 * deviation:
        return f"a share of {share:g} is kept, not 0.75"
    return (near("y", y, np.where(kept, x / 0.75, 0).astype("f4"), NEAR, np)
            or near("the gradient of x", dx, np.where(kept, dy / 0.75, 0).astype("f4"), NEAR, np))


def difference(name, row, mode, volta, torch, np):
    """What is wrong, a sentence, or None."""
    random = np.random.default_rng([3, *name.encode()])
    arrays = {key: made(spec, random, np) for key, spec in row.inputs.items()}
    with volta.tape(mode):
        tensors = {key: volta.Tensor(array, requires_grad=key in row.gradients) for key, array in arrays.items()}
        y = eval(row.volta, {"volta": volta, **tensors})
        values = np.array(y.numpy())
        dy = random.standard_normal(values.shape).astype(np.float32)
        if row.gradients:
            (y * dy).sum().backward()
        gradients = {key: np.array(tensors[key].grad.numpy()) for key in row.gradients}
    if row.torch == "DROPPED":
        return dropped(values, arrays["x"], dy, gradients["x"], np)
    theirs = {key: torch.from_numpy(array).requires_grad_(key in row.gradients and not row.is_gradient) for key, array in arrays.items()}
    expected = eval(row.torch, {"torch": torch, "dy": torch.from_numpy(dy)}, dict(theirs))
    if row.is_gradient:
        expected = (expected,) if isinstance(expected, torch.Tensor) else expected
        wrong = [near(f"the gradient of {key}", gradients[key], value, row.gradients_within, np)
                 for key, value in zip(row.gradients, expected)]
    else:
        wrong = [near("y", values, expected.detach().numpy(), row.within, np)]
        if row.gradients:
            expected.backward(torch.from_numpy(dy))
        wrong += [near(f"the gradient of {key}", gradients[key], theirs[key].grad.numpy(), row.gradients_within, np)
                  for key in row.gradients]
    return next((sentence for sentence in wrong if sentence), None)


def compare():
    try:
        import numpy as np
        import torch
    except ImportError as error:
        print(f"PyTorch or NumPy is not installed ({error}): skipped")
        return 77
    sys.path.insert(0, os.path.join(ROOT, "bindings", "python"))
    import volta

    torch.manual_seed(1)
    failures = 0
    for name, row in ROWS.items():
        for mode in ("eager", "lazy"):
            wrong = difference(name, row, mode, volta, torch, np)
            if wrong:
                failures += 1
                print(f"{name}, {mode}: {row.volta}: {wrong}")
    print(f"{len(ROWS)} operators, {failures} differences, PyTorch {torch.__version__}")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", nargs="?", const=PAGE, metavar="FILE", help="check docs/top50.md, or this in its place; compare nothing")
    parser.add_argument("--write", action="store_true", help="write docs/top50.md")
    arguments = parser.parse_args()
    return check_page(arguments.page or PAGE, arguments.write) if arguments.page or arguments.write else compare()


if __name__ == "__main__":
    sys.exit(main())
