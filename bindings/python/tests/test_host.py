"""In somebody's process: Ctrl-C, other threads, progress, other libraries' arrays, an allocator, old interpreters."""

import ast
import ctypes
import gc
import glob
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import volta
from volta import native

from test_volta import TEXT, needs_numpy, numpy, small_gpt, trained

try:
    import torch
except ImportError:
    torch = None
needs_torch = unittest.skipUnless(torch, "PyTorch is not installed")
PACKAGE = os.path.dirname(volta.__file__)


def interrupt_after(seconds):
    """Ctrl-C, some time from now, as the terminal sends it: to the process."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


class InterruptTest(unittest.TestCase):
    def test_training_ends_between_two_steps(self):
        trainer = trained(1)
        timer, last = interrupt_after(0.1), []
        with self.assertRaises(KeyboardInterrupt):
            trainer.run(10**7, progress=lambda report: last.append(report["step"]))
        timer.join()
        self.assertGreater(len(last), 1)
        steps = trainer.current_step
        self.assertIn(steps, (last[-1], last[-1] + 1))
        self.assertEqual(trainer.hash, trained(steps).hash)  # as if that had been asked for

    def writes(self, **options):
        model, _ = small_gpt()
        generator = volta.Generator(model, temperature=0.9)
        sequence = generator.sequence("It was")
        timer = interrupt_after(0.1)
        with self.assertRaises(KeyboardInterrupt):
            while True:
                generator.write(sequence=sequence, **options)
                sequence.rewind(2)
        timer.join()
        sequence.rewind(1)
        self.assertEqual(generator.write(sequence=sequence, max_tokens=1)["token_count"], 1)  # and goes on
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_writing_ends_between_two_tokens(self):
        self.writes(on_text=lambda text, token: time.sleep(0.001))
        self.writes()

    def test_a_handler_of_the_host_is_called(self):
        came = []
        before = signal.signal(signal.SIGINT, lambda *_: came.append(1))
        try:
            model, _ = small_gpt()
            generator = volta.Generator(model)
            generator.start("It was")
            result = generator.write(lambda text, token: os.kill(os.getpid(), signal.SIGINT))
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual((came, result["reason"]), ([1], "cancelled"))


class StoppingTest(unittest.TestCase):
    def test_long_calls_end(self):
        context = volta.Context()
        model, tokenizer = small_gpt(context)
        ids = tokenizer.encode(TEXT * 300)
        with self.assertRaises(volta.Cancelled):
            with context.stopping(max_seconds=0.02):
                model.evaluate_tokens(ids)
        cancel = volta.Cancel()
        cancel.request()
        with self.assertRaises(volta.Cancelled):
            with context.stopping(cancel):
                model.evaluate_tokens(ids)
        timer = interrupt_after(0.05)
        with self.assertRaises(KeyboardInterrupt):
            with context.stopping():
                while True:
                    model.evaluate_tokens(ids)
        timer.join()
        self.assertGreater(model.evaluate_tokens(memoryview(ids)[:100]), 0)  # nothing asks it any more

    def test_threads_of_the_program(self):
        calls = []

        def backwards(count, part):
            calls.append(count)
            for index in reversed(range(count)):
                part(index)

        context = volta.Context(threads=3, parallel_for=backwards)
        self.assertEqual(trained(3, context).hash, trained(3).hash)
        self.assertGreater(max(calls), 1)


class ThreadsTest(unittest.TestCase):
    def test_long_calls_let_others_run(self):
        model, tokenizer = small_gpt(volta.Context(threads=1))
        ids = tokenizer.encode(TEXT * 200)
        turns, over = [0], threading.Event()

        def turn():
            while not over.is_set():
                turns[0] += 1
                time.sleep(0)

        other = threading.Thread(target=turn)
        other.start()
        try:
            before, begin = turns[0], time.monotonic()
            model.evaluate_tokens(ids)  # one call of the library
            seconds, during = time.monotonic() - begin, turns[0] - before
        finally:
            over.set()
            other.join()
        self.assertGreater(seconds, 0.02)
        self.assertGreater(during, 20)

    def test_contexts_of_their_own_run_in_parallel(self):
        hashes = []
        workers = [threading.Thread(target=lambda: hashes.append(trained(5, volta.Context(threads=1)).hash)) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(set(hashes), {trained(5).hash})
        self.assertEqual(len(hashes), 4)


class Bar:
    """What tqdm has."""

    def __init__(self):
        self.n, self.losses = 0, []

    def update(self, count):
        self.n += count
        return True

    def set_postfix(self, refresh=True, **values):
        self.losses.append(values["loss"])


class ProgressTest(unittest.TestCase):
    def test_a_bar(self):
        bar, trainer = Bar(), trained(1)
        trainer.run(4, progress=bar)
        self.assertEqual((bar.n, len(bar.losses)), (4, 4))

    def test_steps_are_made_as_they_are_asked_for(self):
        trainer = trained(1)
        steps = trainer.steps(10)
        self.assertEqual((len(steps), trainer.current_step), (10, 1))
        for report in steps:
            if report["step"] == 3:
                break
        self.assertEqual(trainer.current_step, 3)
        self.assertIsNotNone(trainer.run(5, progress=lambda report: report["step"] < 5))
        self.assertEqual(trainer.current_step, 5)


class DlpackTest(unittest.TestCase):
    @needs_numpy
    def test_numpy_out_and_in(self):
        tensor = volta.Tensor.zeros((2, 3))
        array = numpy.from_dlpack(tensor)
        tensor.array()[1, 2] = 7
        self.assertEqual(array[1, 2], 7)
        del tensor
        gc.collect()
        self.assertEqual(array[1, 2], 7)  # it keeps the tensor
        back = volta.from_dlpack(volta.Tensor.wrap(array))
        back.array()[0, 0] = 3
        self.assertEqual(array[0, 0], 3)

    def test_what_nobody_took_is_given_back(self):
        context = volta.Context()
        capsule = volta.Tensor.zeros((1000,), ctx=context).__dlpack__()
        gc.collect()
        self.assertEqual(context.info["tensor_bytes"], 4000)
        del capsule
        gc.collect()
        self.assertEqual(context.info["tensor_bytes"], 0)
        taken = volta.from_dlpack(_Lender(volta.Tensor.zeros((1000,), ctx=context)), ctx=context)
        gc.collect()
        self.assertEqual(taken.shape, (1000,))
        self.assertEqual(context.info["tensor_bytes"], 4000)
        del taken
        gc.collect()
        self.assertEqual(context.info["tensor_bytes"], 0)

    def test_what_is_refused(self):
        tensor = volta.Tensor.zeros((2,))
        with self.assertRaises(BufferError):
            tensor.__dlpack__(dl_device=(2, 0))
        copied = volta.from_dlpack(_Lender(tensor, copy=True))
        copied.array()[0] = 5
        self.assertEqual(tensor.array()[0], 0)

    @needs_torch
    def test_pytorch_out_and_in(self):
        tensor = volta.Tensor.zeros((2, 3), "i32")
        there = torch.from_dlpack(tensor)
        there[1, 1] = 9
        self.assertEqual(tensor.array()[1, 1], 9)
        del tensor
        gc.collect()
        self.assertEqual(int(there.sum()), 9)
        graph = volta.Graph()
        graph.output("y", graph.relu(graph.input("x", (2, 3))))
        session = volta.Session(volta.Model.of(graph))
        x, y = torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]), torch.zeros(2, 3)
        session.run(x, out=y)  # read and written where they lie
        self.assertTrue(torch.equal(y, torch.relu(x)))
        self.assertTrue(torch.equal(torch.as_tensor(session.run(x)), y))
        with self.assertRaisesRegex(ValueError, "x is not contiguous"):
            session.run(torch.zeros(3, 2).t())
        with self.assertRaisesRegex(TypeError, "x has elements of DLPack's type 2 of 64 bits"):
            session.run(torch.zeros(2, 3, dtype=torch.float64))


class _Lender:
    """An array that has nothing but DLPack."""

    def __init__(self, tensor, **request):
        self._tensor, self._request = tensor, request

    def __dlpack__(self):
        return self._tensor.__dlpack__(**self._request)

    def __dlpack_device__(self):
        return (1, 0)


class SessionTest(unittest.TestCase):
    @needs_numpy
    def test_what_is_read_only_is_not_written(self):
        graph = volta.Graph()
        graph.output("y", graph.relu(graph.input("x", (2, 3))))
        session = volta.Session(volta.Model.of(graph))
        x, out = numpy.ones((2, 3), numpy.float32), numpy.zeros((2, 3), numpy.float32)
        out.setflags(write=False)
        with self.assertRaisesRegex(ValueError, "out is read-only"):
            session.run(x, out=out)
        x.setflags(write=False)
        first, second = session.run(x), session.run(x * 2)
        self.assertEqual((first[0, 0], second[0, 0]), (1, 2))  # results are the caller's

    @needs_numpy
    def test_large_arrays_have_the_same_bits(self):
        """What is copied and what is not."""
        graph = volta.Graph()
        graph.output("y", graph.linear("fc", graph.input("x", (-1, 64)), 64))
        model = volta.Model.of(graph, seed=1)
        x = numpy.random.default_rng(1).standard_normal((512, 64)).astype(numpy.float32)
        large, small = volta.Session(model, (512, 64)), volta.Session(model, (8, 64))
        self.assertEqual((large._small is None, small._small is None), (True, False))
        whole = large.run(x)
        for row in range(0, 512, 8):
            numpy.testing.assert_array_equal(small.run(x[row:row + 8]), whole[row:row + 8])


class TuningTest(unittest.TestCase):
    def test_tuning_and_profile(self):
        context = volta.Context(threads=1)
        graph = volta.Graph(context)
        graph.output("y", graph.linear("fc", graph.input("x", (8, 64)), 64))
        session, reports = volta.Session(volta.Model.of(graph)), []
        context.tune(session=session, products=[(8, 32, 64)], seconds=0.05, runs=1, progress=reports.append)
        self.assertEqual({(report["shape"]["n"], report["done"]) for report in reports if report["done"]}, {(64, 1), (32, 1)})
        with self.assertRaises(ZeroDivisionError):
            context.tune(session=session, progress=lambda report: 1 // 0)
        with self.assertRaises(volta.Cancelled):
            context.tune(session=session, progress=lambda report: False)
        self.assertIn("schedule", context.explain_matmul((8, 64, 64)))
        x = memoryview(bytearray(8 * 64 * 4)).cast("f", (8, 64))
        with context.profile() as profile:
            session.run(x)
        self.assertIn("matmul", [row["name"] for row in profile.operators])
        self.assertEqual(len(profile.events), profile.info["event_count"])
        with tempfile.TemporaryDirectory() as folder:
            profile.write_trace(os.path.join(folder, "trace.json"))
            self.assertTrue(os.path.getsize(os.path.join(folder, "trace.json")))

    def test_names(self):
        self.assertEqual(volta.status_name(native.VOLTA_CANCELLED), "VOLTA_CANCELLED")
        self.assertEqual(volta.data_version(), volta.__version__)
        self.assertEqual(volta.Tokenizer.bytes().piece(97), b"a")


class AllocatorTest(unittest.TestCase):
    def test_every_byte_is_asked_for(self):
        libc = ctypes.CDLL(None)
        libc.aligned_alloc.restype, libc.aligned_alloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
        libc.free.argtypes = [ctypes.c_void_p]
        held, kinds = {}, {name: kind for name, kind in native.volta_allocator._fields_}

        def allocate(_, size, alignment, kind):
            pointer = libc.aligned_alloc(alignment, -(-max(size, 1) // alignment) * alignment)
            held[pointer] = size
            return pointer

        def release(_, pointer, size, alignment, kind):
            if pointer:
                self.assertEqual(held.pop(pointer), size)
                libc.free(pointer)

        allocator = native.volta_allocator(allocate=kinds["allocate"](allocate), release=kinds["release"](release))
        context = volta.Context(threads=1, allocator=allocator)
        del allocator
        gc.collect()
        trainer = trained(2, context)
        self.assertEqual(trainer.hash, trained(2).hash)
        self.assertGreater(len(held), 10)
        del trainer, context
        gc.collect()
        self.assertEqual(held, {})


class DataTest(unittest.TestCase):
    def test_pictures(self):
        files = os.path.join(PACKAGE, "..", "..", "..", "tests", "data", "files")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("grey8.png", "rgb.png", "rgb_444.jpg"):  # a class each
                os.mkdir(os.path.join(folder, name))
                os.symlink(os.path.abspath(os.path.join(files, name)), os.path.join(folder, name, name))
            dataset = volta.Dataset("folder", folder)
            self.assertEqual(dataset.classes, ["grey8.png", "rgb.png", "rgb_444.jpg"])
            self.assertEqual((len(dataset), dataset[1].label), (3, 1))
            self.assertTrue(dataset.name(2).endswith("rgb_444.jpg"))
            picture = dataset[1]
            self.assertEqual(tuple(picture.array().shape), picture.shape)
            self.assertEqual(picture.resize(4, 5, "box").shape[1:], (4, 5))
            how = {"channels": 3, "height": 8, "width": 8, "resize": "exact", "mean": (0.5, 0.5, 0.5)}
            loader = volta.Loader(dataset, batch=2, batches="all", transform=how)
            batches = [(len(batch), [float(batch.pixels[0, 0, 0, 0]) if numpy else 0], list(batch.samples)) for batch in loader]
            self.assertEqual([(length, samples) for length, _, samples in batches], [(2, [0, 1]), (1, [2])])
            self.assertEqual(loader.position, (1, 0))
            loader.seek(0, 1)
            again = loader.next()
            self.assertEqual((again.batch, again.labels[0]), (1, 2))
            if numpy:
                numpy.testing.assert_array_equal(again.pixels[0], dataset[2].transform(**how))
            with self.assertRaisesRegex(volta.IoError, "/nowhere.png"):
                volta.Picture.open("/nowhere.png")
            with self.assertRaises(IndexError):
                dataset[3]

    def test_texts(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "test.txt"), "wb") as file:
                file.write(b"a\0b")
            self.assertEqual(volta.text_parts(folder), ["test"])
            self.assertEqual(volta.read_texts(folder, split="test"), b"a\0b")


class PackageTest(unittest.TestCase):
    def test_documents_and_conversations(self):
        lines = '{"prompt": "a", "completion": "é"}\n{"messages": [{"role": "user", "content": "b"}]}\n{"text": "t", "label": "cat"}'
        documents = volta.parse_documents("a.jsonl", lines)
        self.assertEqual(documents[0], {"prompt": "a", "completion": "é", "line": 1})
        self.assertEqual(documents[1], {"messages": [{"role": "user", "content": "b"}], "line": 2})
        self.assertEqual(documents[2], {"text": "t", "label": "cat", "line": 3})
        with self.assertRaisesRegex(volta.CorruptModel, 'a.jsonl:1: there is no "completion"'):
            volta.parse_documents("a.jsonl", '{"prompt": "a"}')
        self.assertEqual(volta.pack_documents([5, 4, 3, 6, 1], 10), [[(0, 0), (1, 5), (4, 9)], [(2, 0), (3, 3)]])
        self.assertEqual(volta.pack_documents([], 10), [])
        with self.assertRaisesRegex(volta.InvalidArgument, "document 0 has 11 tokens, a row takes 1 to 10"):
            volta.pack_documents([11], 10)
        self.assertIn("chatml", volta.chat_format_names())
        model = volta.Model.gpt(vocabulary=256, layers=1, dim=8, heads=2, context=8)
        model.tokenizer = volta.Tokenizer.bytes()
        with self.assertRaisesRegex(volta.Unsupported, "the model has no chat format"):
            model.encode_chat(documents[1]["messages"])
        with self.assertRaisesRegex(volta.Unsupported, "needs <|im_start|>, which the tokenizer does not have".replace("|", "[|]")):
            model.set_chat_format("chatml")

    def test_python_3_9_reads_it(self):
        for path in glob.glob(os.path.join(PACKAGE, "*.py")):
            with open(path, encoding="utf-8") as file:
                ast.parse(file.read(), path, feature_version=(3, 9))

    def test_everything_public_says_what_it_is(self):
        for name in volta.__all__:
            one = getattr(volta, name)
            if isinstance(one, type):
                self.assertTrue(one.__doc__, name)

    def test_it_ends_quietly(self):
        """Whatever is left when the interpreter ends is ended in any order."""
        program = ("import volta\nt = volta.Tensor.zeros((3,))\nc = t.__dlpack__()\n"
                   "m = volta.Model.gpt(vocabulary=9, layers=1, dim=8, heads=1, context=4)\ng = volta.Generator(m)\n"
                   "s = g.sequence([1])\nimport sys\nsys.modules['x'] = (g, s, c)\n")
        done = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
