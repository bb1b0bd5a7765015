#!/usr/bin/env python3
"""The files that pages and examples speak of, small: materials.py VOLTAC FOLDER

Texts, pictures, arrays, record files; and models of them, each trained for a few steps by voltac. The same files every time.
"""

import gzip
import os
import shutil
import struct
import subprocess
import sys
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SMALL = ["--layers", "1", "--dim", "32", "--heads", "2", "--context", "64", "--batch", "2", "--steps", "2", "--warmup", "1"]


def sentences(first, count):
    words = "the quick brown fox jumps over a lazy dog In beginning was word Chapter and light".split()
    lines, state = [], first
    for i in range(count):
        line = []
        for _ in range(8):
            state = (state * 1103515245 + 12345) % 2**31
            line.append(words[(state >> 16) % len(words)])
        lines.append(" ".join(line).capitalize() + f", {i % 10} times.\n")
    return "In the beginning was the word, and the quick brown fox.\n" + "".join(lines)


def png(path, side, channels, pixel):
    """A picture of 8 bits a channel; pixel(row, column) gives a tuple."""
    rows = b"".join(b"\0" + bytes(value for column in range(side) for value in pixel(row, column)[:channels]) for row in range(side))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, {1: 0, 3: 2}[channels], 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


PATTERNS = {"checks": lambda r, c, k: (r // 4 + c // 4 + k) % 2, "columns": lambda r, c, k: (c + k) // 3 % 2,
            "rows": lambda r, c, k: (r + k) // 3 % 2}


def pictures(folder):
    for part, count in (("train", 16), ("test", 4)):
        for name, pattern in PATTERNS.items():
            os.makedirs(os.path.join(folder, part, name))
            for k in range(count):
                noise = [((i * 7919 + k * 104729) >> 3) % 60 for i in range(1024)]
                png(os.path.join(folder, part, name, f"{k:02}.png"), 32, 3,
                    lambda r, c, k=k, pattern=pattern, noise=noise: (150 * pattern(r, c, k) + noise[r * 32 + c],) * 3)


def npy(path, kind, shape, data):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    head += " " * (117 - len(head)) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def cifar(folder):
    os.makedirs(folder)
    for name, count in (("data_batch_1.bin", 64), ("test_batch.bin", 16)):
        with open(os.path.join(folder, name), "wb") as file:
            for i in range(count):
                file.write(bytes([i % 10]) + bytes((i % 10 * 20 + j * 31 % 50) % 256 for j in range(3072)))
    with open(os.path.join(folder, "batches.meta.txt"), "w", encoding="utf-8") as file:
        file.write("airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n")


def main():
    voltac, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    os.makedirs(folder)

    def path(*names):
        return os.path.join(folder, *names)

    def write(name, text):
        os.makedirs(os.path.dirname(path(name)), exist_ok=True)
        with open(path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def run(*arguments):
        done = subprocess.run([voltac, *arguments], cwd=folder, capture_output=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"voltac {' '.join(arguments)}: {done.stderr.decode()}")

    write("book.txt", sentences(1, 200))
    write("other.txt", sentences(2, 60))
    shutil.copy(path("book.txt"), path("text.txt"))
    write("lines.txt", "".join(line.rstrip(".\n")[:24] + "\n" for line in sentences(3, 4).splitlines()))
    with open(path("books.gz"), "wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
        packed.write(sentences(4, 200).encode())
    for seed, part in enumerate(("train", "valid", "test")):
        write(f"wikitext-2/wiki.{part}.tokens", sentences(seed + 5, 200 if part == "train" else 60))
    pictures(path("pictures"))
    shutil.copy(os.path.join(ROOT, "tests", "data", "files", "rgb_420.jpg"), path("cat.jpg"))
    cifar(path("cifar"))
    npy(path("x.npy"), "<f4", (2, 3, 32, 32), struct.pack("<6144f", *(i % 17 / 8 - 1 for i in range(6144))))
    npy(path("t.npy"), "<i4", (2, 8), struct.pack("<16i", *(i % 11 for i in range(16))))
    npy(path("m.npy"), "<i4", (2, 8), struct.pack("<16i", *(int(i < 12) for i in range(16))))
    write("data.csv", "".join(f"{a / 10:.2f},{b / 10:.2f},{(a * b) / 100 - b / 20:.4f}\n" for a in range(-12, 13) for b in range(-12, 13)))

    run("train", "--text", "book.txt", "--out", "book.volta", *SMALL)
    run("train", "--text", "book.txt", "--tokenizer", "byte", "--out", "bytes.volta", *SMALL)
    run("train", "--text", "book.txt", "--out", "bert.volta", "--architecture", "bert", "--tokenizer", "bpe:300", *SMALL)
    run("train", "--model", "resnet20", "--dataset", "cifar10", "--data", "cifar", "--limit", "8", "--batch", "4", "--steps", "1",
        "--augment", "none", "--out", "r20.volta")


if __name__ == "__main__":
    main()
