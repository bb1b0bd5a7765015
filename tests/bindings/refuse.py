"""Programs of every language whose library is refused memory: refuse.py ROOT BUILD MODULE [POINTS]

train_gpt of examples/c and of each binding runs with MODULE (refuse.c) before it: once whole, then with one of the library's
allocations refused, and with that and all after it. Each must end by itself, either with the whole run's hash or with a status
other than 0 and the sentence of the refusal; no signal, no hang. POINTS: about so many refusals of each language, 1,000 without it.
"""

import os
import subprocess
import sys
import tempfile

SECONDS = 120


def programs(root, build):
    yield "c", [f"{build}/examples/c/train_gpt"]
    yield "cpp", [f"{build}/tests/bindings/train_gpt_cpp"]
    yield "python", [sys.executable, "-B", f"{root}/bindings/python/examples/train_gpt.py"]
    for name, program in (("rust", f"{build}/cargo/debug/examples/train_gpt"), ("go", f"{build}/go/train_gpt")):
        if os.path.exists(program):
            yield name, [program]
        else:
            print(f"{name}: its program is not built, skipped (the test bindings_same_hash builds it)")


class Language:
    def __init__(self, name, command, module, folder):
        self.name, self.command, self.module, self.folder = name, command, module, folder

    def run(self, at, and_all_after):
        environment = dict(os.environ, LD_PRELOAD=self.module, VOLTA_REFUSE_AT=str(at),
                           VOLTA_REFUSE_COUNT=f"{self.folder}/count")
        if and_all_after:
            environment["VOLTA_REFUSE_ALL"] = "1"
        return subprocess.run([*self.command, f"{self.folder}/text", f"{self.folder}/{self.name}.volta", "2"],
                              env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)

    def refuse(self, points):
        whole = self.run(0, False)
        if whole.returncode != 0:
            print(f"{self.name} without a refusal: {whole.stderr.decode()}")
            return False
        with open(f"{self.folder}/count", encoding="ascii") as file:
            count = int(file.read())
        if count == 0:
            print(f"{self.name}: the library asked for no memory that {self.module} saw")
            return False
        good, tried, told = True, 0, 0
        for at in range(1, count + 1, max(1, 2 * count // points)):
            for and_all_after in (False, True):
                tried += 1
                try:
                    result = self.run(at, and_all_after)
                except subprocess.TimeoutExpired:
                    print(f"{self.name}, allocation {at} of {count}: still running after {SECONDS} s")
                    good = False
                    continue
                said = b"the host allocator returned NULL for " in result.stderr
                refused = result.returncode > 0 and said
                told += refused
                if not refused and not (result.returncode == 0 and result.stdout == whole.stdout):
                    print(f"{self.name}, allocation {at} of {count}{' and all after it' if and_all_after else ''}: "
                          f"status {result.returncode}, {result.stderr.decode(errors='replace')[-600:]}")
                    good = False
        print(f"{self.name}: {tried} refusals among {count} allocations, {told} told, the others without effect")
        return good and told > 0


def main():
    root, build, module = sys.argv[1:4]
    points = int(sys.argv[4]) if len(sys.argv) > 4 else 1000
    os.environ.update(VOLTA_LIBRARIES=build, PYTHONPATH=f"{root}/bindings/python")
    good = True
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{root}/docs/numerics.md", "rb") as text, open(f"{folder}/text", "wb") as out:
            out.write(text.read(2000))
        for name, command in programs(root, build):
            good = Language(name, command, module, folder).refuse(points) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
