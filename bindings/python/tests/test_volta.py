"""The life cycle in Python: the same bits as from C, arrays without copies, exceptions with the library's sentence."""

import array
import ctypes
import gc
import itertools
import os
import pickle
import tempfile
import threading
import unittest

import volta

try:
    import numpy
except ImportError:
    numpy = None

TEXT = "It was the best of times, it was the worst of times, it was the age of wisdom, " * 8
needs_numpy = unittest.skipUnless(numpy, "NumPy is not installed")


def small_gpt(ctx=None, text=TEXT):
    tokenizer = volta.Tokenizer.characters(text, ctx=ctx)
    model = volta.Model.gpt(seed=1, ctx=ctx, vocabulary=len(tokenizer), layers=1, dim=16, heads=2, context=16)
    model.tokenizer = tokenizer
    return model, tokenizer


def trained(steps=5, ctx=None, **options):
    model, tokenizer = small_gpt(ctx)
    trainer = volta.Trainer(model, [(4, 16)], steps=20, learning_rate=1e-2, seed=3, **options)
    trainer.set_tokens(tokenizer.encode(TEXT))
    trainer.run(steps)
    return trainer


class Meeting:
    """Two ranks of one program that meet in its memory."""

    def __init__(self):
        self.sent, self.barrier, self.calls = [b"", b""], threading.Barrier(2), 0

    def exchange(self, peer, send, receive):
        self.sent[1 - peer] = bytes(send)
        self.barrier.wait(20)
        receive[:] = self.sent[peer]
        self.calls += 1
        self.barrier.wait(20)


def on_two_ranks(work):
    """What work(group) gives on each; what it raises is raised."""
    meeting, found = Meeting(), [None, None]

    def of_rank(rank):
        try:
            with volta.Group(volta.Context(threads=1), exchange=meeting.exchange, rank=rank, size=2) as group:
                found[rank] = work(group)
        except BaseException as error:
            found[rank] = error
            meeting.barrier.abort()

    threads = [threading.Thread(target=of_rank, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in found:
        if isinstance(error, BaseException):
            raise error
    assert meeting.calls > 0
    return found


class LifeTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_one_result(self):
        hashes = {trained(ctx=volta.Context(threads=threads, isa=isa)).hash
                  for threads in (1, 2, 3) for isa in ("auto", "scalar")}
        self.assertEqual(len(hashes), 1)

    def test_resume_is_exact(self):
        whole = trained(steps=12)
        half = trained(steps=5)
        half.save(self.path("half.volta"))
        resumed = volta.Trainer.resume(volta.Model.open(self.path("half.volta")))
        self.assertEqual(resumed.current_step, 5)
        tokens = resumed.model.tokenizer.encode(TEXT)
        resumed.set_tokens(tokens)
        resumed.run(7)
        self.assertEqual(resumed.hash, whole.hash)

    def test_two_ranks_train_as_one(self):
        whole = trained(3, shards=2)
        self.assertEqual(whole.options["shards"], 2)
        alone = volta.Group(exchange=lambda *_: self.fail("there is nobody"))
        self.assertEqual((alone.rank, alone.size), (0, 1))
        self.assertEqual(trained(3, shards=2, group=alone).hash, whole.hash)

        def train(group):
            self.assertEqual(group.size, 2)
            trainer = trained(3, ctx=group.context, shards=2, group=group)
            group.close()  # the trainer has what it needs of it
            return trainer.run(2)["loss"], trainer.hash

        expected = (whole.run(2)["loss"], whole.hash)
        self.assertEqual(on_two_ranks(train), [expected, expected])

    def test_groups_say_what_is_wrong(self):
        with self.assertRaisesRegex(volta.InvalidArgument, 'transport is "pigeons"'):
            volta.Group(transport="pigeons")
        with self.assertRaisesRegex(volta.InvalidArgument, "size is 3, it must be a power of two"):
            volta.Group(exchange=print, size=3)
        with self.assertRaisesRegex(TypeError, "volta_group_options has no ranks"):
            volta.Group(exchange=print, ranks=3)

        def gone(peer, send, receive):
            raise ConnectionError(f"rank {peer} is gone")

        group = volta.Group(exchange=gone, rank=1, size=2)
        with self.assertRaisesRegex(ConnectionError, "^rank 0 is gone$"):
            trained(1, shards=2, group=group)
        with self.assertRaisesRegex(volta.IoError, "ConnectionError: rank 0 is gone"):  # it has ended
            trained(1, shards=2, group=group)
        kept = []
        group = volta.Group(exchange=lambda peer, send, receive: kept.append(pickle.PickleBuffer(receive)), size=2)
        with self.assertRaises(BufferError):  # what is lent is not kept
            trained(1, shards=2, group=group)
        group.close()
        with self.assertRaisesRegex(ValueError, "the group was closed"):
            trained(1, shards=2, group=group)

    def test_saved_and_opened(self):
        trainer = trained()
        trainer.update_model()
        trainer.model.metadata["title"] = "A tale"
        trainer.model.save(self.path("m.volta"))
        with volta.Model.open(self.path("m.volta"), verify=True) as model:
            self.assertEqual(model.hash, trainer.hash)
            self.assertEqual(model.metadata["title"], "A tale")
            self.assertIsNone(model.metadata["none"])
        with open(self.path("m.volta"), "rb") as file:
            self.assertEqual(volta.Model.open_bytes(file.read()).hash, trainer.hash)
        trainer.model.save_sharded(3, self.path("parts"))
        trainer.save_sharded(self.path("checkpoint"))
        for folder, files in (("parts", 4), ("checkpoint", 2)):
            self.assertEqual(len(os.listdir(self.path(folder))), files)
            self.assertEqual(volta.Model.open(self.path(folder)).hash, trainer.hash)
        with self.assertRaisesRegex(volta.InvalidArgument, "parts is 0"):
            trainer.model.save_sharded(0, self.path("parts"))

    def test_onnx_out_and_in(self):
        model = trained().model
        model.metadata["title"] = "A tale"
        model.export_onnx(self.path("m.onnx"), opset=17)
        back = volta.Model.load(self.path("m.onnx"))
        self.assertEqual(back.hash, model.hash)
        self.assertEqual(back.metadata["title"], "A tale")
        with self.assertRaisesRegex(volta.InvalidArgument, "opset is 14; 13, 17, 20 and 21 are written"):
            model.export_onnx(self.path("m.onnx"), opset=14)

    def test_gguf_out_and_in(self):
        model = trained().model
        model.export_gguf(self.path("m.gguf"), no_tokenizer=True)
        self.assertEqual(volta.Model.load(self.path("m.gguf")).hash, model.hash)
        with self.assertRaisesRegex(volta.InvalidArgument, "weights is 2"):
            model.export_gguf(self.path("m.gguf"), weights=2)

    def test_onnx_and_back(self):
        trainer = trained()
        trainer.update_model()
        trainer.model.export_onnx(self.path("m.onnx"), opset=17)
        self.assertEqual(volta.Model.load(self.path("m.onnx")).hash, trainer.hash)
        self.assertEqual(volta.survey(self.path("m.onnx"))["refused"], "")
        with self.assertRaisesRegex(volta.InvalidArgument, "14"):
            trainer.model.export_onnx(self.path("m.onnx"), opset=14)

    def test_writing(self):
        trainer = trained(steps=10)
        trainer.update_model()
        generator = volta.Generator(trainer.model, temperature=0.5, seed=2)
        whole = generator.generate("It w")
        self.assertEqual("".join(generator.stream("It w")), "".join(volta.Generator(
            trainer.model, temperature=0.5, seed=2, flags=volta.native.VOLTA_GENERATOR_NO_CACHE).stream("It w")))
        self.assertTrue(whole)
        generator.start("It w")
        self.assertEqual(generator.write(max_tokens=3)["reason"], "max_tokens")
        generator.start("It w")
        self.assertEqual(generator.write(lambda text, token: True)["reason"], "callback")
        with self.assertRaisesRegex(KeyError, "mine"):
            generator.start("It w")
            generator.write(lambda text, token: {}["mine"])

    def test_leaving_a_stream_ends_it(self):
        generator = volta.Generator(small_gpt()[0], temperature=1.0)
        before = threading.active_count()
        for _ in generator.stream("It"):
            break
        gc.collect()
        self.assertEqual(threading.active_count(), before)

    def test_sequences(self):
        generator = volta.Generator(small_gpt()[0], sequences=3)
        first, second = generator.sequence("It was"), generator.sequence("the ")
        tokens = [generator.step([first, second]) for _ in range(3)]
        self.assertEqual(first.tokens[-3:], [pair[0] for pair in tokens])
        fork = first.fork()
        self.assertEqual(fork.tokens, first.tokens)
        fork.rewind(2)
        self.assertEqual(len(fork.tokens), 2)

    def test_tokenizers(self):
        tokenizer = volta.Tokenizer.train_bpe(TEXT, 300)
        ids = tokenizer.encode("the worst of times")
        self.assertEqual(tokenizer.decode(ids), "the worst of times")
        self.assertEqual(tokenizer.kind, "bpe")
        self.assertEqual(list(volta.Tokenizer.bytes().encode("ab")), [97, 98])
        self.assertEqual(list(volta.Tokenizer.bytes().encode("abc", max_tokens=2)), [97, 98])
        ids, segments = volta.Tokenizer.bytes().encode_pair("ab", "cde", max_tokens=4)
        self.assertEqual((list(ids), list(segments)), ([97, 98, 99, 100], [0, 0, 1, 1]))
        self.assertEqual([list(row) for row in volta.Tokenizer.bytes().encode_pair("a", "")], [[97], [0]])

    def test_a_folder_comes_with_its_tokenizer(self):
        folder = self.path("folder")
        os.mkdir(folder)
        model = volta.Model.gpt(vocabulary=256, layers=1, dim=16, heads=2, context=16)
        model.export_safetensors(os.path.join(folder, "model.safetensors"), names="hugging_face",
                                 config_path=os.path.join(folder, "config.json"))
        with open(os.path.join(folder, "vocab.txt"), "w") as file:
            file.write("[UNK]\n[CLS]\n[SEP]\nthe\n")
        loaded = volta.Model.from_pretrained(folder)
        self.assertEqual(loaded.hash, model.hash)
        self.assertEqual(list(loaded.tokenizer.encode("the", ends=True)), [1, 3, 2])
        with self.assertRaises(NotADirectoryError):
            volta.Model.from_pretrained(os.path.join(folder, "config.json"))


class ArraysTest(unittest.TestCase):
    def perceptron(self, ctx=None):
        graph = volta.Graph(ctx)
        x = graph.input("x", (2, 3))
        graph.output("y", graph.relu(graph.linear("fc", x, 4)) * 2 + 1)
        return volta.Model.of(graph, seed=7)

    @needs_numpy
    def test_session_on_numpy(self):
        model = self.perceptron()
        session = volta.Session(model)
        x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
        y = session.run(x)
        expected = numpy.maximum(x @ model["fc.weight"] + model["fc.bias"], 0) * 2 + 1
        numpy.testing.assert_allclose(y, expected, rtol=1e-6)
        out = numpy.zeros((2, 4), numpy.float32)
        self.assertIs(session.run(x, out=out), out)
        numpy.testing.assert_array_equal(out, y)
        x[:] = 1  # the same memory with other values
        numpy.testing.assert_array_equal(session.run(x), session.run(x.copy()))

    @needs_numpy
    def test_training_on_numpy(self):
        model = self.perceptron()
        trainer = volta.Trainer(model, loss="mse", optimizer="sgd", learning_rate=0.01)
        x = numpy.ones((2, 3), numpy.float32)
        losses = [trainer.step(x, numpy.full((2, 4), 3, numpy.float32))["loss"] for _ in range(20)]
        self.assertLess(losses[-1], losses[0])
        self.assertEqual(trainer.parameter("fc.weight").shape, (3, 4))
        self.assertFalse(trainer.gradient("fc.bias").flags.writeable)

    def test_training_in_less_memory(self):
        model = volta.Model.gpt(vocabulary=16, layers=2, dim=32, heads=2, context=8, seed=3)
        shapes, options = [(2, 8)], dict(learning_rate=0.01, seed=5)
        found = volta.Trainer.estimate(model, shapes, **options)
        self.assertEqual(found["repeated_operations"], 0)
        self.assertEqual(found["bill"], volta.Trainer(model, shapes, **options).bill)
        steps = volta.Trainer.estimate_steps(model, shapes, **options)
        self.assertEqual(max(step.alive for step in steps), found["bill"]["activations"])
        self.assertEqual([part for part, _ in itertools.groupby(step.part for step in steps)], ["forward", "backward", "update"])
        self.assertIn(("attention", "forward"), {(step.operation, step.part) for step in steps})
        with self.assertRaises(volta.OutOfMemory):
            volta.Trainer.estimate_steps(model, shapes, activation_budget=1)
        hashes = set()
        with tempfile.TemporaryDirectory() as folder:
            for more in ({}, {"activation_budget": found["smallest_activations"]}, {"update_in_backward": 1, "state_folder": folder}):
                trainer = volta.Trainer(model, shapes, **options, **more)
                trainer.set_tokens(array.array("i", [i % 16 for i in range(200)]))
                trainer.run(3)
                hashes.add(trainer.hash)
        self.assertEqual(len(hashes), 1)
        with self.assertRaisesRegex(volta.OutOfMemory, "activations need"):
            volta.Trainer(model, shapes, activation_budget=1)

    def test_rows_that_others_compute_may_hold_anything(self):
        nothing = float("nan")
        whole, half = array.array("f", range(12)), array.array("f", [nothing] * 6 + list(range(6, 12)))
        targets, half_targets = array.array("f", range(16)), array.array("f", [nothing] * 8 + list(range(8, 16)))

        def shaped(values, columns):
            return memoryview(values).cast("B").cast("f", (4, columns))

        def step(group, x, y):
            trainer = volta.Trainer(self.perceptron(group and group.context), loss="mse", learning_rate=0.01, shards=2, group=group)
            return trainer.rows(), trainer.step(shaped(x, 3), shaped(y, 4))["loss"], trainer.hash

        alone = step(None, whole, targets)
        self.assertEqual(alone[0], (0, 4))
        found = on_two_ranks(lambda group: step(group, half, half_targets) if group.rank else step(group, whole, targets))
        self.assertEqual([rows for rows, _, _ in found], [(0, 2), (2, 2)])
        self.assertEqual([rest for _, *rest in found], [list(alone[1:])] * 2)

    @needs_numpy
    def test_packed_documents_on_numpy(self):
        model = volta.Model.gpt(vocabulary=16, layers=1, dim=8, heads=2, context=6, seed=3)
        trainer = volta.Trainer(model, [[1, 6]], packed_documents=1, learning_rate=0.01)
        tokens, targets = numpy.arange(6, dtype=numpy.int32)[None], numpy.array([[1, 2, -1, 4, 5, -1]], numpy.int32)
        starts = numpy.array([[0, 0, 0, 3, 3, 3]], numpy.int32)
        losses = [trainer.step(tokens, starts, targets)["loss"] for _ in range(20)]
        self.assertLess(losses[-1], losses[0])
        with self.assertRaisesRegex(TypeError, "step takes 2 inputs and the targets, not 2 arrays"):
            trainer.step(tokens, targets)
        with self.assertRaisesRegex(volta.InvalidArgument, "document starts: row 0 has 5 at place 0"):
            trainer.step(tokens, starts + 5, targets)

    @needs_numpy
    def test_nothing_is_copied(self):
        x = numpy.zeros((2, 2), numpy.float32)
        tensor = volta.Tensor.wrap(x)
        numpy.asarray(tensor)[0, 1] = 5
        self.assertEqual(x[0, 1], 5)
        self.assertEqual(numpy.from_dlpack(tensor)[0, 1], 5)

    def test_plain_arrays(self):
        session = volta.Session(self.perceptron())
        y = session.run(memoryview(array.array("f", [1, 2, 3, 4, 5, 6])).cast("B").cast("f", (2, 3)))
        self.assertEqual(tuple(y.shape), (2, 4))

    def test_host_tensors(self):
        x, y = volta.Tensor.zeros((2, 3)).arange(1, 0.5), volta.Tensor.zeros((2, 3)).fill(2)
        self.assertEqual(str(x), "[[1.  1.5 2. ]\n [2.5 3.  3.5]]")
        report = x.compare(y)
        self.assertEqual((report["is_equal"], report["differing"], report["largest_absolute"]), (0, 5, 1.5))
        y.random("uniform", 0, 1, seed=7)
        with tempfile.TemporaryDirectory() as folder:
            for ending in ("npz", "safetensors"):
                path = os.path.join(folder, "t." + ending)
                volta.save_tensors(path, {"y": y, "x": x})
                read = volta.open_tensors(path)
                self.assertEqual(list(read), ["x", "y"])
                self.assertEqual(x.compare(read["x"])["is_equal"] + y.compare(read["y"])["is_equal"], 2)
            with self.assertRaises(volta.IoError):
                volta.open_tensors(os.path.join(folder, "none.npy"))
        kept = read["x"].array()
        del read
        gc.collect()
        self.assertEqual(kept[1][2] if numpy is not None else kept[1, 2], 3.5)

    def test_tensors_outlive_what_made_them(self):
        view = volta.Tensor.zeros((3,)).array()
        gc.collect()
        view[0] = 1.5
        self.assertEqual(view[0], 1.5)


class ErrorsTest(unittest.TestCase):
    def test_sentences(self):
        with self.assertRaisesRegex(volta.IoError, "/nowhere/x.volta"):
            volta.Model.open("/nowhere/x.volta")
        with self.assertRaisesRegex(OSError, "/nowhere/x.volta"):
            volta.Model.open("/nowhere/x.volta")
        with self.assertRaises(volta.InvalidArgument) as caught:
            volta.Model.gpt(vocabulary=10, layers=1, dim=15, heads=2, context=4)
        self.assertEqual(caught.exception.status, volta.native.VOLTA_INVALID_ARGUMENT)
        with self.assertRaisesRegex(volta.ShapeMismatch, "inner extents"):
            graph = volta.Graph()
            graph.matmul(graph.input("a", (2, 3)), graph.input("b", (4, 5)))

    def test_wrong_words(self):
        with self.assertRaisesRegex(TypeError, "volta_gpt_options has no hed; it has .*heads"):
            volta.Model.gpt(hed=3)
        with self.assertRaisesRegex(ValueError, "'avx3' is none of auto, scalar, avx2, avx512"):
            volta.Context(isa="avx3")

    @needs_numpy
    def test_wrong_arrays(self):
        model = ArraysTest().perceptron()
        session = volta.Session(model)
        with self.assertRaisesRegex(TypeError, "x is <f8, it must be float32 or int32"):
            session.run(numpy.zeros((2, 3)))
        with self.assertRaisesRegex(ValueError, "x is not contiguous"):
            session.run(numpy.zeros((3, 2), numpy.float32).T)
        with self.assertRaisesRegex(TypeError, "1 inputs .x., not 2"):
            session.run(1, 2)
        with self.assertRaises(volta.ShapeMismatch):
            session.run(numpy.zeros((2, 4), numpy.float32))

    def test_closed_twice(self):
        model = small_gpt()[0]
        model.close()
        model.close()
        self.assertTrue(model.closed)
        with self.assertRaises(volta.InvalidArgument):
            model.hash

    def test_log(self):
        lines = []
        context = volta.Context(level="fast", log=lambda level, line: lines.append(line))
        self.assertTrue(context.info["thread_count"])
        self.assertIsInstance(lines, list)
        self.assertEqual(context.device["name"], "cpu")


if __name__ == "__main__":
    ctypes.CDLL(None)
    unittest.main()
