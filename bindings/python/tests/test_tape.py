"""Tensors on tapes: the values of NumPy, the gradients of PyTorch, the bits of the trainer; lives, errors and reports."""

import gc
import os
import threading
import unittest
import warnings

import volta
from volta import nn, optim

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None

MODES = ("eager", "lazy")
STEPS = 100


def values(*shape, low=-2.0, high=2.0, seed=0):
    return numpy.random.default_rng([seed, *shape]).uniform(low, high, shape).astype("f4")


class TapeTest(unittest.TestCase):
    def setUp(self):
        if numpy is None:
            self.skipTest("NumPy is not installed")
        volta.current_tape().reset()

    def near(self, result, expected, tolerance=1e-5):
        expected = numpy.asarray(expected)
        self.assertEqual(result.shape, expected.shape)
        numpy.testing.assert_allclose(result.numpy(), expected, rtol=tolerance, atol=tolerance)


class ValuesTest(TapeTest):
    def test_made(self):
        self.assertEqual(volta.Tensor([[1, 2], [3, 4]]).dtype, "i32")
        self.assertEqual(volta.Tensor([[1, 2.5]]).tolist(), [[1.0, 2.5]])
        self.assertEqual(volta.Tensor(2.5).item(), 2.5)
        self.assertEqual(volta.Tensor(numpy.arange(3)).tolist(), [0, 1, 2])
        self.assertEqual(volta.Tensor(numpy.ones((2, 2))).dtype, "f32")
        self.assertEqual(volta.Tensor.ones((2,)).tolist(), [1.0, 1.0])
        self.assertEqual(volta.Tensor.full((2,), 7, "i32").tolist(), [7, 7])
        self.assertEqual(volta.Tensor([]).shape, (0,))
        self.assertEqual(repr(volta.Tensor([[1.0, 2.0]])), "Tensor([[1., 2.]])")
        with self.assertRaisesRegex(ValueError, "different lengths"):
            volta.Tensor([[1.0], [1.0, 2.0]])
        with self.assertRaisesRegex(OverflowError, "int32"):
            volta.Tensor(numpy.array([2**31]))
        with self.assertRaisesRegex(TypeError, "complex"):
            volta.Tensor(numpy.array([1j]))

    def test_not_copied(self):
        array = values(4, 16)
        tensor = volta.Tensor(array)
        array[0, 0] = 42
        self.assertEqual(tensor.tolist()[0][0], 42)
        tensor.numpy()[0, 1] = 43
        self.assertEqual(array[0, 1], 43)
        room = numpy.zeros(80, "f4")
        begin = -room.ctypes.data % 64 // 4
        aligned, other = room[begin:begin + 16], room[begin + 1:begin + 17]
        for part, shared in ((aligned, True), (other, False)):  # an optimizer's tensors are aligned
            tensor = volta.Tensor(part, requires_grad=True)
            tensor.numpy()[0] = 5
            self.assertEqual(part[0] == 5, shared)
            part[:] = 0

    def test_operators(self):
        a, b, row, positive = values(3, 4), values(3, 4, seed=1), values(4, seed=2), values(3, 4, low=0.1)
        x, y, r, p = (volta.Tensor(array) for array in (a, b, row, positive))
        erf = numpy.vectorize(__import__("math").erf)
        gelu = a * 0.5 * (1 + erf(a / 2**0.5))
        soft = numpy.exp(a) / numpy.exp(a).sum(-1, keepdims=True)
        square = values(4, 3)
        for mode in MODES:
            with self.subTest(mode=mode), volta.tape(mode):
                for result, expected in (
                        (x + y, a + b), (x - y, a - b), (x * y, a * b), (x / y, a / b), (x + r, a + row), (r - x, row - a), (x + 2, a + 2),
                        (2 - x, 2 - a), (3 * x, 3 * a), (1 / x, 1 / a), (a + x, a + a), (x + b, a + b), (-x, -a), (abs(x), abs(a)),
                        (x @ volta.Tensor(square), a @ square), (x**2, a**2), (x**3, a**3), (p**0.5, positive**0.5), (x < y, a < b),
                        (x <= y, a <= b), (x > y, a > b), (x >= y, a >= b), (x == x, a == a), (x != y, a != b), (x > 0, a > 0),
                        (x.exp(), numpy.exp(a)), (p.log(), numpy.log(positive)), (p.sqrt(), numpy.sqrt(positive)),
                        (p.rsqrt(), 1 / numpy.sqrt(positive)), (x.sin(), numpy.sin(a)), (x.cos(), numpy.cos(a)),
                        (x.tanh(), numpy.tanh(a)), (x.erf(), erf(a)), (x.sigmoid(), 1 / (1 + numpy.exp(-a))), (x.relu(), a * (a > 0)),
                        (x.silu(), a / (1 + numpy.exp(-a))), (x.softplus(), numpy.log1p(numpy.exp(a))), (x.gelu(), gelu),
                        (x.abs(), abs(a)), (x.floor(), numpy.floor(a)), (x.ceil(), numpy.ceil(a)), (x.round(), numpy.round(a)),
                        (x.pow(2), a**2), (x.clamp(-1, 0.5), a.clip(-1, 0.5)), (x.softmax(), soft), (x.log_softmax(), numpy.log(soft)),
                        (x.sum(), a.sum()), (x.sum(0), a.sum(0)), (x.mean(axis=1, keepdims=True), a.mean(1, keepdims=True)),
                        (x.mean((0, 1)), a.mean()), (x.max(-1), a.max(-1)), (x.min(0), a.min(0)), (x.argmax(), a.argmax(-1)),
                        (x.reshape(2, 6), a.reshape(2, 6)), (x.reshape((4, -1)), a.reshape(4, -1)), (x.T, a.T),
                        (x.reshape(3, 2, 2).permute(1, -1, 0), a.reshape(3, 2, 2).transpose(1, 2, 0)), (x.transpose(1, 0), a.T),
                        (r.broadcast_to(3, 4), numpy.broadcast_to(row, (3, 4))), (x.gather([2, 0]), a[[2, 0]]),
                        (volta.where(x > y, x, 0), numpy.where(a > b, a, 0)), (volta.concat([x, y], axis=1), numpy.concatenate([a, b], 1)),
                        (volta.maximum(x, y), numpy.maximum(a, b)), (volta.minimum(x, 0), numpy.minimum(a, 0)),
                        (x.cross_entropy([1, 0, 3]), -numpy.log(soft[range(3), [1, 0, 3]])),
                        (volta.apply("layer_norm", x, volta.Tensor.ones((4,)), volta.Tensor.zeros((4,)), epsilon=0),
                         (a - a.mean(1, keepdims=True)) / a.std(1, keepdims=True))):
                    self.near(result, expected)
        outputs = volta.apply("layer_norm", x, volta.Tensor.ones((4,)), volta.Tensor.zeros((4,)), outputs=3)
        self.near(outputs[1], a.mean(1))

    def test_indices(self):
        a = values(4, 5, 6)
        x = volta.Tensor(a)
        for index in (0, -1, slice(1, 3), (slice(None), 2), (1, 2, 3), (..., 0), (slice(0, -1), ..., slice(-2, None)), (None, 1), ...,
                      (slice(None), None, 4), numpy.int64(2), (0, ..., 1, slice(2, 4))):
            with self.subTest(index=index):
                self.near(x[index], a[index])
        self.assertEqual([float(part.sum()) > 0 for part in x], [part.sum() > 0 for part in a])
        for index, kind, sentence in ((4, IndexError, "index 4 is outside of axis 0, which has 4 elements"),
                                      (slice(0, 4, 2), IndexError, "axis 0 has step 2"), (slice(2, 2), IndexError, "2:2 of axis 0 is empty"),
                                      ((0, 0, 0, 0), IndexError, "4 indices for a tensor of 3 axes"), (1.5, TypeError, "not float")):
            with self.assertRaisesRegex(kind, sentence):
                x[index]

    def test_other_libraries(self):
        array = volta.Tensor([1.0, 2.0]) * 2
        self.assertEqual(numpy.asarray(array).tolist(), [2.0, 4.0])
        self.assertEqual(numpy.from_dlpack(array).tolist(), [2.0, 4.0])
        self.assertEqual(float((array * array).sum()), 20.0)
        self.assertTrue(array.sum() > 5)
        self.assertFalse(array == None or array == 'text')  # noqa: E711

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_pytorch_without_copies(self):
        theirs = torch.ones(16)
        tensor = volta.from_dlpack(theirs)
        theirs[0] = 3
        self.assertEqual((tensor * 2).tolist()[0], 6.0)
        back = torch.from_dlpack(tensor * 2)
        volta.current_tape().reset()
        gc.collect()
        self.assertEqual(back[0], 6.0)


@unittest.skipUnless(torch, "PyTorch is not installed")
class GradientsTest(TapeTest):
    def test_expressions(self):
        arrays = [values(5, 4), values(4, 3, seed=1), values(3, seed=2), values(5, 3, low=0.2, high=1.5, seed=3)]
        targets = numpy.array([0, 2, 1, 1, 0], "i4")
        F = torch.nn.functional
        expressions = (
            (lambda x, w, b, y: (x @ w + b).relu().sum(), None),
            (lambda x, w, b, y: ((x @ w + b - y) ** 2).mean(), None),
            (lambda x, w, b, y: (x @ w + b).cross_entropy(targets).mean(),
             lambda x, w, b, y: F.cross_entropy(x @ w + b, torch.from_numpy(targets).long())),
            (lambda x, w, b, y: ((x @ w).softmax() * y).sum(), lambda x, w, b, y: ((x @ w).softmax(-1) * y).sum()),
            (lambda x, w, b, y: ((x @ w).log_softmax() * y).mean(), lambda x, w, b, y: ((x @ w).log_softmax(-1) * y).mean()),
            (lambda x, w, b, y: (x @ w).tanh().exp().mean(), None),
            (lambda x, w, b, y: (y.log() * (x @ w).sigmoid()).sum(), None),
            (lambda x, w, b, y: ((x @ w) / y - b).abs().mean(), None),
            (lambda x, w, b, y: (y.sqrt() + y.rsqrt() - 1 / y).sum(), None),
            (lambda x, w, b, y: (x @ w).gelu().mean(), lambda x, w, b, y: F.gelu(x @ w).mean()),
            (lambda x, w, b, y: (x @ w).gelu("tanh").mean(), lambda x, w, b, y: F.gelu(x @ w, approximate="tanh").mean()),
            (lambda x, w, b, y: (x @ w).silu().sum(), lambda x, w, b, y: F.silu(x @ w).sum()),
            (lambda x, w, b, y: (x[1:4, 2] * w[2, 0] + x[0, 0]).sum(), None),
            (lambda x, w, b, y: (x.T.reshape(2, 10)[1] ** 3).mean() + w.sin().cos().sum(), None),
            (lambda x, w, b, y: (x @ w + b).max(0).sum() if hasattr(x, "keep") else (x @ w + b).amax(0).sum(), None),
            (lambda x, w, b, y: volta.where(x @ w > y, x @ w, y * b).sum(), lambda x, w, b, y: torch.where(x @ w > y, x @ w, y * b).sum()),
            (lambda x, w, b, y: volta.maximum(x @ w, y).sum() + volta.concat([x, y], axis=1).clamp(-1, 1).mean(),
             lambda x, w, b, y: torch.maximum(x @ w, y).sum() + torch.cat([x, y], 1).clamp(-1, 1).mean()),
        )
        for mode in MODES:
            for number, (ours, theirs) in enumerate(expressions):
                with self.subTest(mode=mode, number=number), volta.tape(mode):
                    tensors = [volta.Tensor(array, requires_grad=True) for array in arrays]
                    others = [torch.from_numpy(array.copy()).requires_grad_() for array in arrays]
                    loss, expected = ours(*tensors), (theirs or ours)(*others)
                    loss.backward()
                    expected.backward()
                    self.near(loss, expected.detach())
                    for tensor, other in zip(tensors, others):
                        self.assertEqual(tensor.grad is None, other.grad is None)
                        if other.grad is not None:
                            self.near(tensor.grad, other.grad)

    def test_modules(self):
        """Values and gradients of modules with PyTorch's weights."""
        def transposed(name, value):
            return value.T if value.ndim == 2 and "weight" in name else value

        picture, rows = values(2, 4, 7, 7), values(6, 8, seed=1)
        for ours, theirs, x in (
                (nn.Linear(8, 5), torch.nn.Linear(8, 5), rows), (nn.LayerNorm(8), torch.nn.LayerNorm(8), rows),
                (nn.RMSNorm(8), torch.nn.RMSNorm(8, eps=1e-5), rows), (nn.GroupNorm(2, 4), torch.nn.GroupNorm(2, 4), picture),
                (nn.Conv2d(4, 6, 3, padding=1), torch.nn.Conv2d(4, 6, 3, padding=1), picture),
                (nn.Conv2d(4, 6, (3, 1), stride=2, groups=2, bias=False),
                 torch.nn.Conv2d(4, 6, (3, 1), stride=2, groups=2, bias=False), picture)):
            with self.subTest(module=type(ours).__name__):
                theirs.load_state_dict({name: torch.from_numpy(transposed(name, array).copy()) for name, array in ours.state_dict().items()})
                result, expected = ours(volta.Tensor(x)), theirs(torch.from_numpy(x))
                self.near(result, expected.detach())
                (result * result).mean().backward()
                (expected * expected).mean().backward()
                for name, parameter in ours.named_parameters():
                    self.near(parameter.grad, transposed(name, theirs.get_parameter(name).grad))

    def test_attention(self):
        module = nn.MultiHeadAttention(16, 4)
        state = module.state_dict()
        x = values(2, 5, 16)
        qkv = torch.from_numpy(x) @ torch.from_numpy(state["qkv.weight"]) + torch.from_numpy(state["qkv.bias"])
        q, k, v = (part.reshape(2, 5, 4, 4).transpose(1, 2) for part in qkv.chunk(3, -1))
        o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 5, 16)
        self.near(module(x), o @ torch.from_numpy(state["out.weight"]) + torch.from_numpy(state["out.bias"]))


class TrainingTest(TapeTest):
    SETTINGS = dict(clip_norm=0.7, schedule="cosine", steps=STEPS, warmup_steps=5, weight_decay=0.1)

    def model(self):
        graph = volta.Graph()
        hidden = graph.gelu_erf(graph.linear("first", graph.input("x", (-1, 24)), 40))
        graph.output("y", graph.linear("second", hidden, 10))
        return volta.Model.of(graph, seed=7)

    @staticmethod
    def batch(step):
        i = numpy.arange(16 * 24, dtype="i4")
        return (((i * 37 + step * 11) % 23).astype("f4") / 8 - 1.25).reshape(16, 24), (i[:16] * 3 + step) % 10

    def module(self):
        module, model = nn.Sequential(nn.Linear(24, 40), nn.GELU(), nn.Linear(40, 10)), self.model()
        names = {"layers.0": "first", "layers.2": "second"}
        module.load_state_dict({name: model[names[name[:8]] + name[8:]] for name in module.state_dict()})
        return module

    def test_bits_of_the_trainer(self):
        trainer = volta.Trainer(self.model(), [(16, 24)], learning_rate=0.01, optimizer="adamw", **self.SETTINGS)
        losses = [trainer.step(*self.batch(step))["loss"] for step in range(STEPS)]
        self.assertLess(losses[-1], losses[0])
        expected = [trainer.parameter(f"{layer}.{part}") for layer in ("first", "second") for part in ("weight", "bias")]

        def trained(module, run):
            adam = optim.AdamW(module.parameters(), lr=0.01, **self.SETTINGS)
            found = []
            for step in range(STEPS):
                found.append(run(module, adam, *self.batch(step))["loss"])
            self.assertEqual(found, losses)
            for parameter, bits in zip(module.parameters(), expected):
                self.assertEqual(parameter.numpy().tobytes(), bits.tobytes())

        def step(module, adam, x, targets):
            adam.zero_grad()
            nn.cross_entropy(module(x), targets).backward()
            return adam.step()

        for mode in MODES:
            with self.subTest(mode=mode), volta.tape(mode) as tape:
                trained(self.module(), step)
                self.assertEqual(tape.info["traces"], 1)
                if mode == "lazy":
                    self.assertEqual((tape.info["segments"], tape.info["plans_made"]), (STEPS, 1))
        compiled = volta.compile(step, fullgraph=True)
        trained(self.module(), compiled)
        self.assertEqual(compiled.report(json=True)["plans_made"], 1)
        trained(self.module(), step)  # on the tape that is there anyway

    def pictures(self):
        """Convolutions with batch norms, and the step of a trainer on batches of their own."""
        class Net(nn.Module):
            def __init__(self):
                self.first, self.norm = nn.Conv2d(2, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6)
                self.second, self.other = nn.Conv2d(6, 6, 3, bias=False), nn.BatchNorm2d(6, eps=1e-3, momentum=0.25)
                self.head = nn.Linear(6 * 6 * 6, 5)

            def forward(self, x):
                x = self.norm(self.first(x)).relu()
                x = self.other(self.second(x)).relu()
                return self.head(x.reshape(x.shape[0], 6 * 6 * 6))

        nn.manual_seed(3)
        return Net(), [(values(4, 2, 8, 8, seed=step), (numpy.arange(4, dtype="i4") + step) % 5) for step in range(25)]

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_batch_norm(self):
        """PyTorch's values with tolerances, the trainer's to the bit."""
        _, batches = self.pictures()
        theirs = torch.nn.Sequential(
            torch.nn.Conv2d(2, 6, 3, padding=1, bias=False), torch.nn.BatchNorm2d(6), torch.nn.ReLU(),
            torch.nn.Conv2d(6, 6, 3, bias=False), torch.nn.BatchNorm2d(6, eps=1e-3, momentum=0.25), torch.nn.ReLU(),
            torch.nn.Flatten(), torch.nn.Linear(6 * 6 * 6, 5))
        names = {"first": "0", "norm": "1", "second": "3", "other": "4", "head": "7"}
        start = self.pictures()[0].state_dict()
        for name, array in start.items():
            layer, part = name.split(".")
            theirs.state_dict()[f"{names[layer]}.{part}"].copy_(torch.from_numpy(array.T.copy() if name == "head.weight" else array))
        sgd = torch.optim.SGD(theirs.parameters(), lr=0.01)
        for x, targets in batches:
            sgd.zero_grad()
            torch.nn.functional.cross_entropy(theirs(torch.from_numpy(x)), torch.from_numpy(targets).long()).backward()
            sgd.step()

        x, _ = batches[0]
        with volta.tape("lazy") as tape:  # captured, it is a model that trains in the same way
            net = self.pictures()[0]
            with tape.capture(net(volta.Tensor(x))) as model:
                trainer = volta.Trainer(model, [x.shape], learning_rate=0.01, optimizer="sgd")
                trained = {name: trainer.parameter(name) for name in ("p0", "p3", "p4")}
                self.assertTrue((trained["p3"] == 0).all() and (trained["p4"] == 1).all())
                for pictures, targets in batches:
                    trainer.step(pictures, targets)
                expected = [trainer.parameter(f"p{i}") for i in range(12)]
        states = []
        for mode in MODES:
            with self.subTest(mode=mode), volta.tape(mode):
                net = self.pictures()[0]
                optimizer = optim.SGD(net.parameters(), lr=0.01)
                for pictures, targets in batches:
                    optimizer.zero_grad()
                    nn.cross_entropy(net(pictures), targets).backward()
                    optimizer.step()
                states.append(net.state_dict())
                order = [f"{layer}.{part}" for conv, norm in (("first", "norm"), ("second", "other"))
                         for layer, part in ((conv, "weight"), (norm, "weight"), (norm, "bias"), (norm, "running_mean"),
                                             (norm, "running_var"))] + ["head.weight", "head.bias"]
                for name, bits in zip(order, expected):
                    self.assertEqual(states[-1][name].tobytes(), bits.tobytes(), name)
                net.eval()
                theirs.eval()
                with volta.no_grad():
                    self.near(net(volta.Tensor(x)), theirs(torch.from_numpy(x)).detach(), 1e-3)
                    before = net.norm.running_mean.numpy().copy()
                    numpy.testing.assert_array_equal(net.norm.running_mean.numpy(), before)
        for name, array in states[0].items():
            layer, part = name.split(".")
            other = theirs.state_dict()[f"{names[layer]}.{part}"].numpy()
            numpy.testing.assert_allclose(array, other.T if name == "head.weight" else other, rtol=2e-3, atol=2e-4)

    def test_batch_norm_is_refused(self):
        norm = nn.BatchNorm2d(3)
        with volta.tape("lazy"):
            with self.assertRaisesRegex(volta.ShapeMismatch, "a channel needs at least 2 values"):
                norm(values(1, 3, 1, 1))
            norm.running_mean = norm.weight
            with self.assertRaisesRegex(volta.InvalidArgument, "its running mean requires a gradient"):
                norm(values(2, 3, 4, 4))
            norm.running_mean = volta.Tensor(values(3)) + 1
            with self.assertRaisesRegex(volta.InvalidArgument, "its running mean is a result"):
                norm(values(2, 3, 4, 4))

    def test_optimizers(self):
        for kind in (optim.SGD, optim.Adam, optim.AdamW, optim.Adagrad):
            weight = volta.Tensor([[3.0, -2.0]], requires_grad=True)
            optimizer = kind([weight], lr=0.1)
            losses = []
            with volta.tape("lazy"):
                for _ in range(30):
                    loss = (weight * weight).sum()
                    optimizer.zero_grad()
                    loss.backward()
                    report = optimizer.step()
                    losses.append(loss)
                self.assertEqual(report["loss"], losses[-1].item())
            self.assertEqual(report["step"], 30)
            self.assertLess(losses[-1].item(), losses[0].item())
        with self.assertRaisesRegex(volta.InvalidState, "no tensor of the optimizer has a gradient"):
            optim.SGD([volta.Tensor([1.0], requires_grad=True)], lr=1).step()
        with self.assertRaisesRegex(TypeError, "has no momentun"):
            optim.Adam([], momentun=1)

    def test_not_finite(self):
        weight = volta.Tensor([0.0], requires_grad=True)
        optimizer = optim.SGD([weight], lr=1)
        weight.log().sum().backward()
        with self.assertRaisesRegex(volta.NotFinite, "nothing was updated"):
            optimizer.step()
        self.assertEqual(weight.tolist(), [0.0])

    def test_dropout(self):
        x, module = volta.Tensor.ones((1000,)), nn.Dropout(0.25)
        with volta.tape("lazy", seed=5) as tape:
            first, second = (module(x).keep() for _ in range(2))
            tape.reset()
            third = module(x).tolist()
        self.assertNotEqual(first.tolist(), second.tolist())
        self.assertNotEqual(first.tolist(), third)
        self.assertAlmostEqual(first.tolist().count(0.0) / 1000, 0.25, delta=0.08)
        with volta.tape("eager", seed=5):
            self.assertEqual(module(x).tolist(), first.tolist())
        self.assertIs(module.eval()(x), x)

    def test_state(self):
        nn.manual_seed(3)
        module = self.module()
        self.assertEqual([name for name, _ in module.named_parameters()],
                         ["layers.0.weight", "layers.0.bias", "layers.2.weight", "layers.2.bias"])
        state = module.state_dict()
        other = nn.Sequential(nn.Linear(24, 40), nn.GELU(), nn.Linear(40, 10))
        before = other.state_dict()
        self.assertFalse(numpy.array_equal(before["layers.0.weight"], state["layers.0.weight"]))
        with self.assertRaisesRegex(KeyError, "layers.0.weight"):
            other.load_state_dict({name: array for name, array in state.items() if name != "layers.0.weight"})
        with self.assertRaisesRegex(ValueError, "layers.2.bias is f32.10., the state has f32.9."):
            other.load_state_dict({**state, "layers.2.bias": values(9)})
        self.assertTrue(all(numpy.array_equal(array, before[name]) for name, array in other.state_dict().items()))
        other.load_state_dict(state)
        self.assertTrue(all(numpy.array_equal(array, state[name]) for name, array in other.state_dict().items()))
        nn.manual_seed(3)
        first = nn.Embedding(5, 3)
        nn.manual_seed(3)
        self.assertEqual(nn.Embedding(5, 3).weight.tolist(), first.weight.tolist())
        self.assertEqual(first([[1, 2]]).shape, (1, 2, 3))
        self.assertFalse(module.eval().layers[0].training)


class LifeTest(TapeTest):
    def test_results_of_ended_records(self):
        x = volta.Tensor([1.0, 2.0])
        with volta.tape("eager") as tape:
            y = x * 3
            tape.reset()
            self.assertEqual((y + 1).tolist(), [4.0, 7.0])
        self.assertEqual(y.tolist(), [3.0, 6.0])
        with volta.tape("lazy") as tape:
            kept, lost = (x * 3).keep(), x * 4
            tape.reset()
            for use in (lost.tolist, lambda: lost + 1, lambda: lost.shape, lost.item, lost.keep, lost.backward, lambda: lost.grad):
                with self.assertRaisesRegex(volta.InvalidState, "record that has ended: mark it with keep()"):
                    use()
            self.assertIn("record that has ended", repr(lost))
        self.assertEqual(kept.tolist(), [3.0, 6.0])

    def test_arrays_of_results(self):
        for mode in MODES:
            with volta.tape(mode) as tape:
                array = (volta.Tensor(values(1000)) * 2).numpy()
                tape.reset()
                (volta.Tensor(values(1000, seed=1)) * 3).numpy()
                gc.collect()
            self.assertTrue(numpy.array_equal(array, values(1000) * 2))

    def test_operands_stay(self):
        """Memory of an array that nobody else holds, until the record has ended."""
        with volta.tape("lazy"):
            y = volta.Tensor(values(100000)) + values(100000, seed=1)
            gc.collect()
            noise = [values(100000, seed=2) for _ in range(8)]
            self.assertTrue(numpy.array_equal(y.numpy(), values(100000) + values(100000, seed=1)))
            del noise

    def test_without_resets(self):
        """An eager tape ends its records where no gradient can be asked of it."""
        tape, x = volta.current_tape(), volta.Tensor([0.0])
        before = tape.info["records"]
        for _ in range(3000):
            x = x + 1
        self.assertEqual(x.item(), 3000)
        self.assertGreaterEqual(tape.info["records"] - before, 2)

    def test_gradients(self):
        for mode in MODES:
            with volta.tape(mode) as tape:
                w = volta.Tensor([1.0, 2.0], requires_grad=True)
                self.assertIsNone(w.grad)
                self.assertTrue((w * 2).requires_grad)
                (w * w).sum().backward()
                gradient = w.grad
                elements = gradient.numpy()
                self.assertEqual(elements.tolist(), [2.0, 4.0])
                (w * w).sum().backward()
                self.assertEqual(gradient.tolist(), [4.0, 8.0])
                self.assertEqual(elements.tolist(), [2.0, 4.0])
                w.zero_grad()
                self.assertIsNone(w.grad)
                with self.assertRaisesRegex(volta.InvalidState, "has been zeroed"):
                    gradient.tolist()
                with volta.no_grad():
                    self.assertFalse((w * 2).requires_grad)
                self.assertFalse(w.detach().requires_grad)
                (w.detach() * w).sum().backward()
                self.assertEqual(w.grad.tolist(), [1.0, 2.0])
                tape.reset()
                self.assertEqual(w.grad.tolist(), [1.0, 2.0])
                with self.assertRaisesRegex(volta.InvalidState, "no result of a tape's record"):
                    w.backward()
                with self.assertRaisesRegex(volta.ShapeMismatch, "not one f32 element"):
                    (w * 2).backward()
        with self.assertRaisesRegex(volta.InvalidArgument, "must be f32"):
            volta.Tensor([1], requires_grad=True)

    def test_threads(self):
        found = {}

        def work(number):
            x = volta.Tensor([float(number)])
            for _ in range(100):
                x = x + number
            found[number] = x.item()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, {number: 101.0 * number for number in range(4)})

    def test_shared(self):
        """Records of two tapes read one tensor; a step waits until its record alone does."""
        weight = volta.Tensor([1.0, 2.0], requires_grad=True)
        sgd = optim.SGD([weight], lr=0.5)
        with volta.tape("lazy") as outer:
            waiting = (weight * 3).sum()
            with volta.tape("lazy"):
                loss = (weight * weight).sum()
                loss.backward()
                with self.assertRaisesRegex(volta.InvalidState, "would change that the record of another tape reads"):
                    sgd.step()
                self.assertEqual(loss.item(), 5.0)
            self.assertEqual(waiting.item(), 9.0)
            outer.reset()
            (weight * weight).sum().backward()  # the gradient of both
            self.assertEqual(weight.grad.tolist(), [4.0, 8.0])

    def test_nested(self):
        x = volta.Tensor([1.0], requires_grad=True)
        outside = x * 2
        with volta.tape("lazy"):
            with self.assertRaisesRegex(volta.InvalidArgument, "result of another tape"):
                outside + 1
        del outside
        with volta.tape("lazy"):
            self.assertEqual((x * 3).tolist(), [3.0])


class CaptureTest(TapeTest):
    def test_capture(self):
        weight = volta.Tensor(values(4, 3), requires_grad=True)
        x = volta.Tensor(values(5, 4))
        with volta.tape("lazy") as tape:
            y = (x @ weight).tanh()
            with tape.capture(y, names={"pixels": x, "weight": weight}, output_names=["signs"], open_batch=True) as model:
                expected = numpy.array(y.numpy())
                numpy.testing.assert_array_equal(numpy.asarray(model["weight"]), weight.numpy())
                with volta.Session(model, [(2, 4)]) as session:
                    numpy.testing.assert_array_equal(session.run(x.numpy()[:2].copy()), expected[:2])
            with self.assertRaises(volta.InvalidState) as caught:
                tape.capture(x)
            self.assertEqual(str(caught.exception), "output 0 is no result of the record")


class ErrorsTest(TapeTest):
    def place(self, offset):
        import sys
        return f"{os.path.basename(__file__)}:{sys._getframe(1).f_lineno + offset})"

    def test_file_and_line(self):
        for mode in MODES:
            with volta.tape(mode):
                a, b = volta.Tensor(values(2, 3)), volta.Tensor(values(4, 5))
                for call in (lambda: a @ b, lambda: nn.Linear(7, 2)(a), lambda: a + b):
                    with self.assertRaises(volta.ShapeMismatch) as caught:
                        call()
                    self.assertIn(f"({__file__[:80]}"[:60], str(caught.exception))
                with self.assertRaises(volta.ShapeMismatch) as caught:
                    a @ b
                if len(__file__) < 80:
                    self.assertIn(self.place(-2), str(caught.exception))
                    self.assertIn("matmul: inner extents differ: [2, 3] x [4, 5]", str(caught.exception))
                self.assertEqual((a + 1).shape, (2, 3))  # the tape goes on
        with self.assertRaisesRegex(volta.InvalidArgument, "no operator nonsense"):
            volta.apply("nonsense", 1)
        with self.assertRaisesRegex(TypeError, "not .object"):
            volta.Tensor([1.0]) + object()

    def test_report(self):
        with volta.tape("lazy") as tape:
            for rows in (16, 16, 3):
                (volta.Tensor(values(rows, 4)) @ volta.Tensor(values(4, 2))).numpy()
                tape.reset()
            text, report = tape.report(), tape.report(json=True)
        self.assertIn("VG002 result read", text)
        self.assertIn("shape of input 0 of matmul was [16, 4], now [3, 4]", text)
        self.assertEqual((report["records"], report["plans_known"], report["plans_made"]), (3, 1, 2))
        self.assertEqual([flush["code"] for flush in report["flushes"]], ["VG002"] * 3)

    def test_places(self):
        """Of whatever computes, not of calls alone."""
        weight = volta.Tensor([1.0, 2.0], requires_grad=True)
        sgd = optim.SGD([weight], lr=0.1)
        with volta.tape("lazy") as tape:
            places = []
            loss = (weight * weight).sum()
            loss.item(); places.append(self.place(0))
            (loss * 2).numpy(); places.append(self.place(0))
            loss.backward()
            sgd.step(reset=False); places.append(self.place(0))
            held = weight * 3
            tape.flush(); places.append(self.place(0))
            found = [flush["place"] for flush in tape.report(json=True)["flushes"]]
            self.assertEqual([place.rpartition("/")[2] for place in found], [place[:-1] for place in places])
            del held
            tape.reset()
            plain = volta.Tensor([1.0]).exp()
            with self.assertRaises(volta.InvalidState) as caught:
                plain.sum().backward()
            self.assertTrue(str(caught.exception).endswith(self.place(-1)), str(caught.exception))

    def test_kept_plans(self):
        with volta.tape("lazy", most_plans=4) as tape:
            for rows in range(1, 11):
                self.assertEqual(volta.Tensor.ones((rows,)).sum().item(), rows)
                tape.reset()
            self.assertEqual([tape.info[name] for name in ("plans_made", "plans_held", "plans_released")], [10, 4, 6])

    def test_compile(self):
        calls = []

        @volta.compile
        def both(x, scale=2.0):
            """What it does."""
            calls.append(1)
            return {"sum": (x * scale).sum(), "parts": [x + 1, "text"]}

        for _ in range(2):
            given = both(volta.Tensor([1.0, 2.0]), scale=3.0)
            self.assertEqual((given["sum"].item(), given["parts"][0].tolist(), given["parts"][1]), (9.0, [2.0, 3.0], "text"))
        self.assertEqual((both.__doc__, len(calls)), ("What it does.", 2))
        report = both.report(json=True)
        self.assertEqual((report["segments"], report["plans_made"]), (2, 1))
        self.assertEqual(report["flushes"][0]["code"], "VG004")
        self.assertIn("VG004", both.report())

        @volta.compile(fullgraph=True)
        def branch(x):
            return x * 2 if x.sum().item() > 0 else x * 3

        with self.assertRaisesRegex(volta.InvalidState, "one segment"):
            branch(volta.Tensor([1.0]))
        outer = volta.compile(lambda x: both(x)["sum"] * 2)  # one within another is a part of it
        self.assertEqual(outer(volta.Tensor([1.0])).item(), 4.0)

        class Holder:
            @volta.compile
            def method(self, x):
                return x + 1

        self.assertEqual(Holder().method(volta.Tensor([1.0])).tolist(), [2.0])

        @volta.compile
        def fails(x):
            raise KeyError("of the host")

        with self.assertRaises(KeyError):
            fails(volta.Tensor([1.0]))


if __name__ == "__main__":
    warnings.simplefilter("error")
    unittest.main()
