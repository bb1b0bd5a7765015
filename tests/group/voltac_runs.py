"""What the tests of several ranks share: two small models, calls of voltac that train them, and what is left of those."""

import os
import re
import shutil
import subprocess
import tempfile

SKIPPED = 77
SHARDS = 8  # ranks are at most as many
LONGEST = 120  # seconds: ends what hangs, judges nothing


class Failed(Exception):
    """What a test found, for its reader."""


class Subject:
    """A model to train, as options of voltac train, and where a run of it is divided in two."""

    def __init__(self, name, steps, half, options):
        self.name, self.steps, self.half = name, steps, half
        self.options = options.split()

    def train(self, out, steps=None):
        return ["train", *self.options, "--batch", str(SHARDS), "--shards", str(SHARDS), "--steps", str(steps or self.steps), "--out", out]


GPT = Subject("a GPT with dropout", 5, 2, "--text text --layers 2 --dim 32 --heads 2 --context 16 --warmup 2 --dropout 0.1")
RESNET = Subject("a ResNet with batch norm", 3, 1, "--dataset idx --data pictures --model resnet20")


def write_data(folder):
    """The text and the pictures of the subjects: 200 lines; 16 pictures of 8 x 8, in MNIST's files."""
    with open(os.path.join(folder, "text"), "w", encoding="ascii") as file:
        file.writelines(f"line {i} of a text in which line {i * 7 % 200} is named\n" for i in range(200))
    pictures = os.path.join(folder, "pictures")
    os.mkdir(pictures)
    with open(os.path.join(pictures, "train-images-idx3-ubyte"), "wb") as file:
        file.write(bytes([0, 0, 8, 3, 0, 0, 0, 16, 0, 0, 0, 8, 0, 0, 0, 8]))
        file.write(bytes((i * 37 + i // 91) % 251 for i in range(16 * 64)))
    with open(os.path.join(pictures, "train-labels-idx1-ubyte"), "wb") as file:
        file.write(bytes([0, 0, 8, 1, 0, 0, 0, 16]) + bytes(i % 8 for i in range(16)))


class Workshop:
    """A new folder with the data, which is the working folder of every call; gone at the end."""

    def __init__(self, voltac):
        self.voltac = os.path.abspath(voltac)
        self.folder = tempfile.mkdtemp(prefix="volta-ranks-")
        write_data(self.folder)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("VOLTA_", "OMPI_", "PMI_", "SLURM_"))}
        self.environment.update(HOME=self.folder, TMPDIR=self.folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def remove(self, name):
        """A file or a folder, if it is there."""
        path = self.path(name)
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.remove(path)

    def start(self, command, said, **variables):
        """A process whose output and errors go to the file `said` of the folder."""
        with open(self.path(said), "wb") as file:
            return subprocess.Popen(command, cwd=self.folder, env={**self.environment, **variables}, stdin=subprocess.DEVNULL,
                                    stdout=file, stderr=subprocess.STDOUT, start_new_session=True)

    def said(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def call(self, command, status=0, **variables):
        """What `command` says, which ends with `status` (None: with another one than 0)."""
        process = self.start(command, "said", **variables)
        try:
            code = process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Failed(f"no end within {LONGEST} s: {' '.join(command)}\n{self.said('said')}") from None
        text = self.said("said")
        if code != status if status is not None else code == 0:
            raise Failed(f"exit status {code}: {' '.join(command)}\n{text}")
        return text

    def hash_of(self, name):
        """Of a checkpoint that is whole: a file, or a folder of parts."""
        self.call([self.voltac, "checkpoint", "verify", name] if os.path.isdir(self.path(name)) else [self.voltac, "info", "--verify", name])
        return self.call([self.voltac, "hash", name]).strip()

    def least_activations(self, subject):
        """Bytes below which --activation-memory is refused, which the refusal says."""
        text = self.call([self.voltac, *subject.train("refused.volta"), "--activation-memory", "1KiB"], status=None)
        least = re.search(r"activations need (\d+)", text)
        if least is None:
            raise Failed(f"no smallest budget is named: {text}")
        return int(least.group(1))


def instruction_sets():
    """Those that --isa can name here."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        flags = re.search(r"^flags\s*:(.*)$", file.read(), re.MULTILINE)
    has = flags.group(1).split() if flags else []
    return ["scalar"] + ["avx2"] * ("avx2" in has and "fma" in has) + ["avx512"] * ("avx512vl" in has)
