#!/usr/bin/env python3
"""Host tensors against NumPy: how they print, and their files, both ways.

    tests/parity/parity_tensors.py --library build/libvolta.so [--count N]

Printed: some hundred arrays of each type, of rank 0 to 8, with magnitudes from subnormal to the largest and with values that are no
numbers. The text must be str() of the array, by NumPy 2.3 or newer: older ones turn to scientific notation later.

Files: what volta_tensors_save writes numpy.load reads, with the same bits and names; what numpy.save, savez and savez_compressed
write, in Fortran's order, big-endian and of every type, volta_tensors_open reads, or refuses where NumPy's own cast is not exact.

Exit status: 0 equal, 1 different, 77 no NumPy, or one that is too old.
"""

import argparse
import ctypes as c
import os
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed: skipped")
    sys.exit(77)

from volta_ctypes import F32, I32, Library, native

TYPES = ("<f4", "<i4", "<f8", "<f2", "<i8", "<i2", "|i1", "|u1", "<u2", "<u4", "<u8", "|b1", ">f4", ">i4", ">f8", ">f2", ">i8", ">u2")


class World:
    def __init__(self, path):
        self.library = Library(path)
        so = self.library.so
        so.volta_tensors_count.restype = c.c_size_t
        so.volta_tensors_name.restype = c.c_char_p
        for name in ("volta_tensors_tensor", "volta_tensor_data"):
            getattr(so, name).restype = c.c_void_p
        so.volta_tensor_extent.restype = c.c_int64
        self.so, self.context, self.failures = so, c.c_void_p(), 0
        self.library.call("volta_context_create", None, c.byref(self.context))

    def tensor(self, array):
        made = c.c_void_p()
        shape = (c.c_int64 * array.ndim)(*array.shape)
        self.library.call("volta_tensor_create", self.context, F32 if array.dtype == np.float32 else I32, shape, array.ndim, c.byref(made))
        if array.size:
            c.memmove(self.so.volta_tensor_data(made), array.ctypes.data, array.nbytes)
        return made

    def array(self, tensor):
        tensor = c.c_void_p(tensor)
        shape = [self.so.volta_tensor_extent(tensor, axis) for axis in range(self.so.volta_tensor_rank(tensor))]
        made = np.empty(shape, np.float32 if self.so.volta_tensor_dtype(tensor) == F32 else np.int32)
        if made.size:
            c.memmove(made.ctypes.data, self.so.volta_tensor_data(tensor), made.nbytes)
        return made

    def opened(self, path):
        tensors = c.c_void_p()
        self.library.call("volta_tensors_open", self.context, path.encode(), c.byref(tensors))
        names = [self.so.volta_tensors_name(tensors, c.c_size_t(i)).decode() for i in range(self.so.volta_tensors_count(tensors))]
        read = {name: self.array(self.so.volta_tensors_tensor(tensors, c.c_size_t(i))) for i, name in enumerate(names)}
        self.so.volta_tensors_release(tensors)
        return read

    def check(self, fine, what, *shown):
        if not fine:
            self.failures += 1
            if self.failures <= 5:
                print(f"different: {what}", *shown, sep="\n")


def random_shape(generator):
    rank = int(generator.integers(0, 9))
    most = {0: 1, 1: 2500, 2: 60, 3: 14, 4: 8}.get(rank, 4 if rank < 7 else 3)
    return tuple(int(n) for n in generator.integers(0 if generator.random() < 0.05 else 1, most + 1, rank))


def random_reals(generator, shape):
    kind = generator.integers(0, 9)
    if kind == 0:
        values = generator.integers(0, 2**32, shape, dtype=np.uint32).view(np.float32)
    elif kind == 1:
        values = generator.normal(size=shape) * 10.0 ** generator.integers(-44, 38)
    elif kind == 2:
        values = 2.0 ** generator.integers(-149, 128, shape)  # whose lower neighbours are the closer ones
    elif kind == 3:
        values = generator.integers(-2000, 2000, shape) / 8
    elif kind == 4:
        values = generator.normal(size=shape).round(int(generator.integers(0, 8)))
    elif kind == 5:
        values = 10.0 ** generator.uniform(-4.5, 6.5, shape)
    elif kind == 6:
        values = generator.uniform(1e-4, 0.09, shape)
    elif kind == 7:
        values = 10.0 ** generator.integers(-45, 39, shape)
    else:
        values = np.where(generator.random(shape) < 0.5, 0.0, -0.0)
    with np.errstate(over="ignore"):
        array = np.array(values, dtype=np.float32)
    for special in (np.nan, np.inf, -np.inf, -0.0, 0.0):
        if generator.random() < 0.2:
            array[generator.random(shape) < generator.choice([0.05, 1.0], p=[0.9, 0.1])] = special
    return array


def check_texts(world, generator, count):
    for i in range(2 * count):
        shape = random_shape(generator)
        if i % 2 == 0:
            array = random_reals(generator, shape)
        else:
            most = int(10 ** generator.uniform(0, 9.3))
            array = generator.integers(-most if generator.random() < 0.5 else 0, most, shape).astype(np.int32)
        array = np.asarray(array)
        tensor, text = world.tensor(array), c.c_char_p()
        world.library.call("volta_tensor_print", tensor, c.byref(text))
        world.check(text.value.decode() == str(array), f"text of {array.dtype} {shape}", text.value.decode(), str(array))
        world.so.volta_tensor_release(tensor)


def check_written(world, generator, folder):
    arrays = {name: random_reals(generator, random_shape(generator)) for name in ("w", "a/b", "naïve")}
    arrays["ids"] = generator.integers(-5, 5, (3, 4)).astype(np.int32)
    tensors = [world.tensor(array) for array in arrays.values()]
    names = (c.c_char_p * len(arrays))(*(name.encode() for name in arrays))
    path = os.path.join(folder, "written.npz")
    world.library.call("volta_tensors_save", world.context, path.encode(), names, (c.c_void_p * len(arrays))(*tensors), c.c_size_t(len(arrays)))
    read = dict(np.load(path))
    world.check(list(read) == list(arrays), "names of what is written", list(read))
    for name, array in arrays.items():
        same = read[name].dtype == array.dtype and read[name].shape == array.shape and read[name].tobytes() == array.tobytes()
        world.check(same, f"{name} of what is written")
        one = os.path.join(folder, "written.npy")
        tensor = world.tensor(array)
        world.library.call("volta_tensors_save", world.context, one.encode(), None, (c.c_void_p * 1)(tensor), c.c_size_t(1))
        alone = np.load(one)
        world.check(alone.dtype == array.dtype and alone.shape == array.shape and alone.tobytes() == array.tobytes(), f"{name} alone")
        with open(one, "rb") as file:
            written = file.read()
        np.save(one, array)
        with open(one, "rb") as file:
            world.check(written == file.read(), f"{name} alone, byte by byte")
        world.so.volta_tensor_release(tensor)
    for tensor in tensors:
        world.so.volta_tensor_release(tensor)


def check_read(world, generator, folder):
    arrays = {}
    for code in TYPES:
        dtype = np.dtype(code)
        shape = random_shape(generator)
        least, most = {"b": (0, 2), "u": (0, 256)}.get(dtype.kind, (-128, 128))
        values = generator.integers(least, most, shape)
        array = np.asarray(values).astype(dtype)
        if dtype.kind == "f":
            array = np.asarray(np.asarray(generator.normal(size=shape)).astype(np.float16)).astype(dtype)
        arrays["t" + code[1:] + str(len(arrays))] = np.asfortranarray(array) if generator.random() < 0.5 else array
    path = os.path.join(folder, "read.npz")
    np.savez(path, **arrays)
    read = world.opened(path)
    world.check(list(read) == sorted(arrays), "names of what is read", list(read))
    for name, array in arrays.items():
        wanted = np.asarray(array).astype(np.float32 if array.dtype.kind == "f" else np.int32)
        same = read[name].dtype == wanted.dtype and read[name].shape == wanted.shape and np.array_equal(read[name], wanted)
        world.check(same, f"{name} {array.dtype} {array.shape} as it is read")
        one = os.path.join(folder, "read.npy")
        np.save(one, array)
        world.check(np.array_equal(world.opened(one)["arr_0"], wanted), f"{name} alone as it is read")
    np.savez_compressed(path, x=np.arange(3))
    refusals = [(path, "numpy.savez_compressed")]
    for i, array in enumerate((np.array([0.1]), np.array([2**31]), np.array([1j]), np.array(["a"]), np.zeros((1,) * 9))):
        refusals.append((os.path.join(folder, f"refused{i}.npy"), ""))
        np.save(refusals[-1][0], array)
    for refused, words in refusals:
        try:
            world.opened(refused)
            world.check(False, f"{refused} is read")
        except RuntimeError as error:
            world.check("VOLTA_UNSUPPORTED" in str(error) and words in str(error), f"{refused}: {error}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--count", type=int, default=300)
    arguments = parser.parse_args()
    if tuple(int(n) for n in np.__version__.split(".")[:2]) < (2, 3):
        print(f"NumPy {np.__version__} is older than 2.3: skipped")
        return 77
    world = World(arguments.library)
    generator = np.random.default_rng(49)
    check_texts(world, generator, arguments.count)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(10):
            check_written(world, generator, folder)
            check_read(world, generator, folder)
    world.so.volta_context_release(world.context)
    print(f"NumPy {np.__version__}: {2 * arguments.count} texts, 10 times the files: {world.failures} different")
    return 1 if world.failures else 0


if __name__ == "__main__":
    sys.exit(main())
