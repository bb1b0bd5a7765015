#!/usr/bin/env python3
"""Makes files/ and golden.txt again: what Pillow and the rules of docs/data.md give.

    pip install pillow numpy        (in an environment of its own; Pillow 13 or later)
    python3 tests/data/make_golden.py
    pip install pillow==12.1.1      (the last lines: what Pillow gave before 13)
    python3 tests/data/make_golden.py --old

Lines of golden.txt: "picture FILE HEIGHT WIDTH HASH", the pixels of convert("RGB"); "resize FILE HEIGHT WIDTH FILTER HASH", these
resized; "noise HEIGHT WIDTH HEIGHT WIDTH FILTER HASH", arithmetic bytes of one channel resized, "old" the same of Pillow 12.1; "batch NAME EPOCH BATCH
SAMPLES PIXELS WEIGHTS", hashes of what a loader gives. Pixels are hashed as planes, floats and numbers as little-endian
bytes, by FNV-1a of 64 bits. The loader's rules are written here a second time, from the page alone.
"""
import os
import struct
import sys
import zlib

import numpy as np
from PIL import Image, __version__

HERE = os.path.dirname(os.path.abspath(__file__))
FILES = os.path.join(HERE, "files")
FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC, "box": Image.Resampling.BOX}
F32 = np.float32


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return "%016x" % value


def noise(count, seed):
    """Bytes of a linear congruential generator; tests/data/data_test.h has the same."""
    state, out = seed, bytearray(count)
    for i in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        out[i] = state >> 56
    return bytes(out)


def scene(height, width, channels, seed):
    """Something a JPEG keeps: slopes, edges and a little noise."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    planes = []
    for c in range(channels):
        plane = 128 + 90 * np.sin(x / (5.0 + c) + seed) * np.cos(y / (7.0 - c))
        plane[(x + y + 13 * c) % 23 < 5] += 60
        plane += np.frombuffer(noise(height * width, seed * 7 + c), np.uint8).reshape(height, width) / 12.0
        planes.append(np.clip(plane, 0, 255).astype(np.uint8))
    return np.stack(planes, -1) if channels > 1 else planes[0]


def planes_of(image):
    return np.asarray(image.convert("RGB")).transpose(2, 0, 1).tobytes()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, bits, colour, rows, extra=b"", interlace=0):
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlace)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def adam7(width, height, bytes_per_pixel, pixels):
    """Rows of the seven passes, each with filter 0."""
    out = b""
    for y0, x0, dy, dx in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)):
        for y in range(y0, height, dy):
            if x0 >= width:
                continue
            row = b"".join(pixels[(y * width + x) * bytes_per_pixel:][:bytes_per_pixel] for x in range(x0, width, dx))
            out += b"\0" + row
    return out


def write(name, data):
    with open(os.path.join(FILES, name), "wb") as file:
        file.write(data)


def make_files():
    os.makedirs(FILES, exist_ok=True)
    save = lambda name, image, **options: image.save(os.path.join(FILES, name), **options)
    rgb = Image.fromarray(scene(37, 45, 3, 1))
    for name, subsampling in (("444", 0), ("422", 1), ("420", 2)):
        save("rgb_%s.jpg" % name, rgb, quality=85, subsampling=subsampling)
    save("progressive.jpg", Image.fromarray(scene(24, 33, 3, 2)), quality=60, progressive=True)
    save("grey.jpg", Image.fromarray(scene(19, 27, 1, 3)), quality=75)
    save("cmyk.jpg", Image.fromarray(scene(8, 8, 4, 4), "CMYK"), quality=50)
    save("rgb.png", Image.fromarray(scene(21, 30, 3, 5)))
    save("rgba.png", Image.fromarray(scene(12, 17, 4, 6), "RGBA"))
    save("grey_alpha.png", Image.fromarray(scene(12, 17, 2, 7), "LA"))
    save("grey8.png", Image.fromarray(scene(16, 16, 1, 8)))
    save("palette8.png", rgb.quantize(200))
    save("palette4.png", rgb.quantize(11), bits=4)
    save("palette2.png", rgb.quantize(3), bits=2)
    rows = lambda bits, width, height, seed: b"".join(
        b"\0" + noise((width * bits + 7) // 8, seed + y) for y in range(height))
    for bits in (1, 2, 4):
        write("grey%d.png" % bits, png(29, 11, bits, 0, rows(bits, 29, 11, bits)))
    write("transparent.png", png(29, 11, 2, 3, rows(2, 29, 11, 9), chunk(b"PLTE", noise(12, 3)) + chunk(b"tRNS", b"\0\x80")))
    write("interlaced.png", png(13, 11, 8, 2, adam7(13, 11, 3, noise(13 * 11 * 3, 12)), interlace=1))
    write("grey16.png", png(5, 4, 16, 0, rows(16, 5, 4, 20)))
    write("rgb16.png", png(5, 4, 16, 2, rows(48, 5, 4, 21)))
    write("beyond_palette.png", png(29, 11, 4, 3, rows(4, 29, 11, 9), chunk(b"PLTE", noise(45, 3))))
    write("huge.png", png(100000, 100000, 8, 2, b"\0"))
    write("huge_grey1.png", png(0x7FFFFFFF, 0x7FFFFFFF, 1, 0, b"\0"))


PICTURES = ["rgb_444.jpg", "rgb_422.jpg", "rgb_420.jpg", "progressive.jpg", "grey.jpg", "rgb.png", "rgba.png", "grey_alpha.png",
            "grey8.png", "palette8.png", "palette4.png", "palette2.png", "grey1.png", "grey2.png", "grey4.png", "transparent.png",
            "interlaced.png"]


# ---- The loader's rules ----

def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


class Draws:
    def __init__(self, seed, epoch, sample):
        self.seed, self.epoch, self.sample = seed, epoch, sample

    def block(self, kind, c0):
        return philox((c0, self.sample, self.epoch, 3 << 24 | kind), (self.seed & 0xFFFFFFFF, self.seed >> 32))


def below(low, high, n):
    return (low | high << 32) * n >> 64


def unit(word):
    return (word >> 8) * 2.0 ** -24


def order_of(seed, epoch, count):
    order = list(range(count))
    for i in range(count - 1, 0, -1):
        words = Draws(seed, epoch, 0).block(0, i)
        j = below(words[0], words[1], i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def grey_of(image):
    r, g, b = (image[c].astype(np.int64) for c in range(3))
    return 19595 * r + 38470 * g + 7471 * b + 32768 >> 16


def blend(grey, image, factor):
    return np.clip((grey * 65536 + (image.astype(np.int64) - grey) * factor + 32768) >> 16, 0, 255).astype(np.uint8)


def jitter(image, draws, amounts):
    words = draws.block(4, 0)
    for i, amount in enumerate(amounts):
        if amount == 0:
            continue
        amount = float(F32(amount))
        low = int(np.floor(max(0.0, 1 - amount) * 65536 + 0.5))
        high = int(np.floor((1 + amount) * 65536 + 0.5))
        factor = low + ((high - low + 1) * words[i] >> 32)
        grey = grey_of(image)
        if i == 0:
            grey = 0
        elif i == 1:
            grey = (2 * int(grey.sum()) + grey.size) // (2 * grey.size)
        image = blend(grey, image, factor)
    return image


def pillow_resize(planes, height, width):
    out = [np.asarray(Image.fromarray(plane).resize((width, height), FILTERS["bilinear"])) for plane in planes]
    return np.stack(out)


def augment(image, draws, o):
    height, width = image.shape[1:]
    if o.get("area"):  # random resized crop of ratio 1
        for t in range(10):
            words = draws.block(3, 2 * t)
            least, most = (float(F32(a)) for a in o["area"])
            area = height * width * (least + (most - least) * unit(words[0]))
            side_w = int(np.floor(np.sqrt(area * 1.0) + 0.5))
            side_h = int(np.floor(np.sqrt(area / 1.0) + 0.5))
            if 1 <= side_w <= width and 1 <= side_h <= height:
                words = draws.block(3, 2 * t + 1)
                top = below(words[0], words[1], height - side_h + 1)
                left = below(words[2], words[3], width - side_w + 1)
                image = image[:, top:top + side_h, left:left + side_w]
                break
        image = pillow_resize(image, o["height"], o["width"])
    else:
        p = o["padding"]
        image = np.pad(image, ((0, 0), (p, p), (p, p)))
        words = draws.block(1, 0)
        top = below(words[0], words[1], height + 2 * p - o["height"] + 1)
        left = below(words[2], words[3], width + 2 * p - o["width"] + 1)
        image = image[:, top:top + o["height"], left:left + o["width"]]
    if draws.block(2, 0)[0] < int(np.floor(float(F32(o["flip"])) * 2.0 ** 32)):
        image = image[:, :, ::-1]
    image = jitter(image, draws, o["jitter"])
    x = image.astype(F32) / F32(255)
    x = (x - np.array(o["mean"], F32)[:, None, None]) / np.array(o["deviation"], F32)[:, None, None]
    if o["cutout"]:
        words = draws.block(5, 0)
        size = o["cutout"]
        cy, cx = below(words[0], words[1], o["height"]), below(words[2], words[3], o["width"])
        top, left = cy - size // 2, cx - size // 2
        x[:, max(top, 0):max(top + size, 0), max(left, 0):max(left + size, 0)] = 0
    return x


def batch_of(images, labels, classes, seed, epoch, number, size, o):
    order = order_of(seed, epoch, len(images))[number * size:(number + 1) * size]
    x = np.stack([augment(images[s], Draws(seed, epoch, s), o) for s in order])
    weights = b""
    if o["mixup"]:
        share = np.array([F32(unit(Draws(seed, epoch, s).block(6, 0)[0])) for s in order], F32)
        rows = np.zeros((len(order), classes), F32)
        for r, s in enumerate(order):
            rows[r, labels[s]] += share[r]
            rows[r, labels[order[(r + 1) % len(order)]]] += F32(1) - share[r]
        weights = rows.tobytes()
        other = (F32(1) - share)[:, None, None, None] * np.roll(x, -1, axis=0)
        x = share[:, None, None, None] * x + other
    return order, x.astype(F32).tobytes(), weights


LOADERS = {  # tests/data/test_loader.cpp has the same
    "crop": dict(height=32, width=32, padding=4, flip=0.5, jitter=(0.4, 0.3, 0.5), cutout=9, mixup=0,
                 mean=(0.4914, 0.4822, 0.4465), deviation=(0.2470, 0.2435, 0.2616)),
    "mixup": dict(height=28, width=30, padding=2, flip=0.25, jitter=(0, 0, 0), cutout=0, mixup=1, mean=(0, 0.5, 1),
                  deviation=(1, 2, 3)),
    "resized": dict(height=20, width=24, area=(0.2, 1), flip=0.5, jitter=(1, 1, 1), cutout=6, mixup=0, mean=(0, 0, 0),
                    deviation=(1, 1, 1)),
}


def resized_noise(kind):
    sizes = ((1, 1, 1, 1), (1, 1, 5, 7), (2, 3, 1, 1), (32, 32, 224, 224), (97, 61, 32, 32), (61, 97, 60, 98), (200, 3, 7, 3),
             (3, 300, 3, 7), (5, 1000, 9, 3), (17, 17, 17, 17), (33, 31, 66, 62), (64, 64, 16, 16), (255, 257, 256, 256),
             (50, 40, 40, 35), (51, 40, 40, 35), (1000, 5, 3, 9))
    lines = []
    for h, w, height, width in sizes:
        image = Image.frombytes("L", (w, h), noise(h * w, h * 1000 + w))
        for name, value in FILTERS.items():
            lines.append("%s %d %d %d %d %s %s" % (kind, h, w, height, width, name, fnv(image.resize((width, height), value).tobytes())))
    return lines


def main():
    path = os.path.join(HERE, "golden.txt")
    if "--old" in sys.argv:
        with open(path) as file:
            lines = [line for line in file.read().splitlines() if not line.startswith("old ")]
        lines += resized_noise("old")
        with open(path, "w") as file:
            file.write("\n".join(lines) + "\n")
        return
    make_files()
    lines = ["# make_golden.py with Pillow %s" % __version__]
    for name in PICTURES:
        image = Image.open(os.path.join(FILES, name)).convert("RGB")
        lines.append("picture %s %d %d %s" % (name, image.height, image.width, fnv(planes_of(image))))
    for name in ("rgb_420.jpg", "rgb.png"):
        image = Image.open(os.path.join(FILES, name)).convert("RGB")
        for height, width in ((16, 16), (50, 13), (7, 90), (image.height, 9), (64, image.width)):
            for kind, value in FILTERS.items():
                lines.append("resize %s %d %d %s %s" % (name, height, width, kind,
                                                        fnv(planes_of(image.resize((width, height), value)))))
    lines += resized_noise("noise")
    count = 50
    images = np.frombuffer(noise(count * 3072, 5), np.uint8).reshape(count, 3, 32, 32)
    labels = [i * 7 % 10 for i in range(count)]
    for name, options in LOADERS.items():
        for epoch, number in ((0, 0), (0, 2), (3, 1)):
            order, pixels, weights = batch_of(images, labels, 10, 0x123456789ABCDEF, epoch, number, 16, options)
            samples = b"".join(struct.pack("<Q", s) for s in order)
            lines.append("batch %s %d %d %s %s %s" % (name, epoch, number, fnv(samples), fnv(pixels), fnv(weights)))
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
