#!/usr/bin/env python3
"""Every block of code in the documentation compiles and runs.

    run_blocks.py --build BUILD [--long] [--list] [PAGE...]      (default: all pages)

A page is a session: its blocks run in the page's order, in one folder that has the files which pages speak of
(materials.py), with voltac and an installed library on the paths. A fence says what it is:

    ```sh, c, cpp, python, rust, go, cmake, json, toml    runs; json and toml are read; cmake builds program.c
    ```sh long                                             runs with --long alone (more than 10 seconds)
    ```sh no-run: REASON                                   does not run; not_run.txt lists all of these
    ```text                                                is no code
    ```text output                                         is what the block before it prints; "..." stands for anything

A block whose first line is a comment that begins with a file's name is kept as that file. C, C++, Rust and Go that have no main are put into one; setup/PAGE.EXTENSION stands before them and says what the page's
words mean (which text, how many tokens). Of shell, setup/PAGE.sh runs first. `voltac` is the real one, given small sizes
where the page gives none (SMALL), so that a run takes a second. Status 77: nothing could run.
"""

import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))
ROOT = TREE  # whose pages are looked at
SECONDS = 120
EXTENSION = {"sh": "sh", "c": "c", "cpp": "cpp", "python": "py", "rust": "rs", "go": "go", "cmake": "cmake", "json": "json",
             "toml": "toml"}
NAMED = re.compile(r"(?:/\*|//|#) (\w+\.\w+)\b")  # "/* first.c": the block is that file
FENCE = re.compile(r"^(\s*)```\s*([A-Za-z0-9_+-]*)\s*(.*)$")


class Wrong(Exception):
    """What is wrong with a page; the first line says where."""


class Block:
    def __init__(self, page, line, language, words):
        self.page, self.line, self.language, self.lines = page, line, language, []
        reason = re.fullmatch(r"no-run: (.+)", words)
        self.reason = reason.group(1).strip() if reason else None
        self.words = "" if reason else words.strip()
        self.place = f"{page}:{line}"

    def text(self):
        return "\n".join(self.lines) + "\n"


def pages():
    """README files and docs/, but for docs/reference, which is printed from the headers and has no code."""
    found = [name for name in os.listdir(ROOT) if fnmatch.fnmatch(name, "*.md")]
    for top in ("docs", "bindings", "schemas", "engine", "recipes", "examples", "fuzz", "bench"):
        for folder, folders, names in os.walk(os.path.join(ROOT, top)):
            folders[:] = [name for name in folders if name not in ("reference", "build", "target", "node_modules")]
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name.endswith(".md")]
    return sorted(found)


def blocks_of(page):
    blocks, block, before, in_list = [], None, "", False
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            found = FENCE.match(line)
            if block is not None:
                if found and not found.group(2):
                    blocks.append(block)
                    block = None
                else:
                    block.lines.append(line[indent:] if not line[:indent].strip() else line)
            elif found:
                indent = len(found.group(1))
                language, words = found.group(2), found.group(3)
                block = Block(page, number, language, words)
                if language != "text" and language not in EXTENSION:
                    raise Wrong(f"{page}:{number}: a block of {language or 'no language'}: name one of " + ", ".join(EXTENSION) + " or text")
                if block.words not in ("", "long") and not (language == "text" and block.words == "output"):
                    raise Wrong(f"{page}:{number}: '{block.words}' is neither long nor no-run: REASON")
            else:
                if line.strip():
                    in_list = bool(re.match(r"\s*([-*]|\d+\.) ", line)) or in_list and line.startswith(" ")
                if line.startswith("    ") and not before.strip() and not in_list:
                    raise Wrong(f"{page}:{number}: code by indentation: use a fence, which says its language")
                before = line
    if block is not None:
        raise Wrong(f"{block.place}: the block has no end")
    for one in blocks:
        if one.language == "text" and re.search(r"^(voltac|make|pip|cargo|gcc|cc|python3?) [a-z-]", one.text(), re.M):
            raise Wrong(f"{one.place}: a command in a block of text: it is sh")
    return blocks


# ---- Small sizes ------------------------------------------------------------------------------------------------

# What is added to a call that gives no sizes: (command, words that must be there, words that must not, added words). And the
# largest count that an option keeps.
SMALL = (
    ("train", ["--text"], ["--layers", "--preset", "--from", "--resume", "--config"],
     ["--layers", "1", "--dim", "32", "--heads", "2", "--context", "64", "--batch", "2"]),
    ("train", ["--text"], ["--steps", "--resume"], ["--steps", "20"]),
    ("train", ["--from"], ["--batch"], ["--batch", "2"]),
    ("train", ["--dataset"], ["--batch", "--from", "--config"], ["--batch", "4"]),
    ("train", ["--config"], ["--batch", "--epochs"], ["--batch", "4", "--epochs", "1"]),
    ("tune", [], ["--seconds"], ["--seconds", "0.5"]),
    ("embed", [], ["--cut"], ["--cut"]),
    ("bench", ["infer"], ["--tokens"], ["--tokens", "4", "--prompt-tokens", "8", "--no-speedup"]),
    ("bench", ["train"], ["--batch"], ["--batch", "1", "--seq", "32"]),
)
MOST = {("train", "--steps"): 20, ("train", "--epochs"): 1, ("generate", "--tokens"): 20}

SHIM = """#!{python}
import os, sys
before, arguments = [], sys.argv[1:]
if arguments[:1] == ["launch"] and "--" in arguments:
    at = arguments.index("--") + 1
    before, arguments = arguments[:at], arguments[at:]
for i, word in enumerate(arguments[:-1]):
    most = {most}.get((arguments[0], word))
    if most is not None and arguments[i + 1].isdigit():
        arguments[i + 1] = str(min(most, int(arguments[i + 1])))
for command, needed, excluded, added in {small}:
    if arguments[:1] == [command] and all(w in arguments for w in needed) and not any(w in arguments for w in excluded):
        arguments += added
os.execv({voltac!r}, [{voltac!r}] + before + arguments)
"""


# ---- Running ----------------------------------------------------------------------------------------------------

class Session:
    """The folder and the environment of one page."""

    def __init__(self, build, page, shared):
        self.build, self.page, self.shared = build, page, shared
        self.folder = tempfile.mkdtemp(prefix="blocks.")
        materials = os.path.join(shared, "materials")
        for name in os.listdir(materials):
            source, target = os.path.join(materials, name), os.path.join(self.folder, name)
            shutil.copytree(source, target) if os.path.isdir(source) else shutil.copy2(source, target)
        prefix = os.path.join(shared, "installed")
        self.environment = dict(
            os.environ, HOME=self.folder, LC_ALL="C.UTF-8",
            PATH=os.path.join(shared, "bin") + os.pathsep + os.environ["PATH"],
            PKG_CONFIG_PATH=os.path.join(prefix, "lib", "pkgconfig"), LD_LIBRARY_PATH=os.path.join(prefix, "lib"),
            CMAKE_PREFIX_PATH=prefix, VOLTA_LIBRARIES=build, VOLTA_DIR=prefix, VOLTA_ROOT=TREE,
            PYTHONPATH=os.path.join(TREE, "bindings", "python"), PYTHONDONTWRITEBYTECODE="1", CCACHE_DISABLE="1")
        self.count, self.printed = 0, ""

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def setup(self, extension):
        path = os.path.join(HERE, "setup", re.sub(r"[/.]", "_", self.page[:-len(".md")]) + "." + extension)
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read()

    def call(self, block, command, **more):
        done = subprocess.run(command, cwd=self.folder, env={**self.environment, **more}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS * (10 if block.words else 1), check=False)
        out, error = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        if done.returncode != 0:
            raise Wrong(f"{block.place}: {os.path.basename(command[0])} ends with {done.returncode}\n" + out[-1500:] + error[-3000:])
        return out

    def keep(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run(self, block):
        self.count += 1
        named = NAMED.match(block.text())
        if named:
            self.keep(named.group(1), block.text())
        self.printed = getattr(self, "run_" + block.language)(block, f"block{self.count}.{EXTENSION[block.language]}")

    # A block of a language: what it prints.

    def run_sh(self, block, name):
        return self.call(block, ["sh", "-eux", self.keep(name, block.text())])

    def flags(self, *packages):
        return subprocess.run(["pkg-config", "--cflags", "--libs", *packages], env=self.environment, check=True, capture_output=True,
                              text=True).stdout.split()

    def compiled(self, block, name, compiler, standard):
        text, setup = block.text(), self.setup(EXTENSION[block.language])
        if not re.search(r"\bmain\s*\(", text):
            includes = [line for line in text.splitlines() if line.startswith("#include")]
            body = "\n".join("" if line.startswith("#include") else line for line in text.splitlines())
            setup, _, inside = setup.partition("/* in main */\n")
            text = "\n".join(includes) + f"\n{setup}\nint main(void) {{\n{inside}\n#line {block.line + 1} \"{block.page}\"\n{body}\nreturn 0;\n}}\n"
        program = os.path.join(self.folder, f"program{self.count}")
        named = NAMED.match(block.text())
        self.call(block, [compiler, standard, "-Wall", "-Wextra", "-Wno-unused-variable", "-Wno-unused-but-set-variable", "-Wno-comment", "-Werror",
                          self.keep(name, text), "-o", program,
                          *self.flags("volta", "volta_data"), "-lm"])
        return "" if named else self.call(block, [program])  # a file: the page's shell runs it

    def run_c(self, block, name):
        return self.compiled(block, name, "cc", "-std=gnu99")

    def run_cpp(self, block, name):
        return self.compiled(block, name, "c++", "-std=c++17")

    def run_python(self, block, name):
        return self.call(block, [sys.executable, self.keep(name, self.setup("py") + block.text())])

    def run_rust(self, block, name):
        text = block.text()
        if not re.search(r"\bfn main\b", text):
            text = ("#![allow(unused)]\n" + "fn main() -> Result<(), Box<dyn std::error::Error>> {\n" + self.setup("rs") + text + "Ok(())\n}\n")
        target, binding = os.path.join(self.build, "cargo"), os.path.join(TREE, "bindings", "rust")
        self.call(block, ["cargo", "build", "--quiet", "--offline", "--locked", "--manifest-path", os.path.join(binding, "Cargo.toml")],
                  CARGO_TARGET_DIR=target, VOLTA_DIR=self.build, HOME=os.environ.get("HOME", "/"))
        program = os.path.join(self.folder, f"program{self.count}")
        debug = os.path.join(target, "debug")
        self.call(block, ["rustc", "--edition", "2021", self.keep(name, text), "-o", program, "-L", f"dependency={debug}/deps",
                          "--extern", f"volta={debug}/libvolta.rlib", "-L", self.build], HOME=os.environ.get("HOME", "/"))
        return self.call(block, [program])

    def run_go(self, block, name):
        module = os.path.join(self.folder, f"go{self.count}")
        os.makedirs(module)
        binding = os.path.join(TREE, "bindings", "go")
        with open(os.path.join(binding, "go.mod"), encoding="utf-8") as file:
            path = re.search(r"^module (\S+)", file.read(), re.M).group(1)
        text = block.text()
        if not re.search(r"\bfunc main\b", text):
            head, _, inside = self.setup("go").partition("// in main\n")
            inside, _, after = inside.partition("// behind it\n")
            imports = re.match(r"(?:import \((?:.|\n)*?\)\n|import .*\n)*", text).group(0)
            text = f"package main\n{imports}{head}\nfunc main() {{\n{inside}{text[len(imports):]}\n{after}}}\n"
        self.keep(f"go{self.count}/main.go", text)
        self.keep(f"go{self.count}/go.mod", f"module example\n\ngo 1.19\n\nrequire {path} v0.0.0\n\nreplace {path} => {binding}\n")
        program = os.path.join(self.folder, f"program{self.count}")
        # Go keeps what it has compiled, with the -L of that time: this one is the same every time.
        go = {"HOME": os.environ.get("HOME", "/"), "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOTOOLCHAIN": "local",
              "CGO_LDFLAGS": "-L" + self.build}
        self.call(block, ["sh", "-c", f"cd go{self.count} && go build -o {program} ."], **go)
        return self.call(block, [program])

    def run_cmake(self, block, name):
        text = block.text()
        if "project(" not in text:
            text = "cmake_minimum_required(VERSION 3.22)\nproject(example C CXX)\nadd_executable(program program.c)\n" + text
        self.keep("CMakeLists.txt", text)
        return self.call(block, ["sh", "-euc", "cmake -S . -B cmake && cmake --build cmake && ./cmake/program"])

    def run_json(self, block, name):
        text = block.text().strip()
        try:
            json.loads(text)
        except ValueError:
            try:
                for line in text.splitlines():
                    json.loads(line.rstrip().rstrip(","))
            except ValueError as error:
                raise Wrong(f"{block.place}: {error}") from None
        return ""

    def run_toml(self, block, name):
        try:
            import tomllib
        except ImportError:
            return ""
        try:
            tomllib.loads(block.text())
        except ValueError as error:
            raise Wrong(f"{block.place}: {error}") from None
        return ""

    def compare(self, block):
        """A block of output: its lines stand in what was printed, in this order; "..." in a line is anything."""
        rest = self.printed.splitlines()
        for line in block.lines:
            if line.strip() in ("", "..."):
                continue
            pattern = ".*".join(re.escape(part) for part in line.rstrip().split("..."))
            while rest and not re.fullmatch(pattern, rest[0].rstrip()):
                rest.pop(0)
            if not rest:
                raise Wrong(f"{block.place}: not printed: {line}\n" + self.printed[-3000:])
            rest.pop(0)


NEEDED = {"rust": ("cargo", "rustc"), "go": ("go",), "c": ("cc", "pkg-config"), "cpp": ("c++", "pkg-config"), "cmake": ("cmake",)}


def missing(block):
    """A program that the block needs and this machine lacks, or None."""
    named = re.findall(r"^(go|cargo|cmake|cc|c\+\+|pip|gguf-dump) |\$\((pkg-config) ", block.text(), re.M) if block.language == "sh" else []
    named = [one for pair in named for one in pair if one]
    return next((tool for tool in (*NEEDED.get(block.language, ()), *named) if not shutil.which(tool)), None)


def run_page(build, page, shared, long):
    """(blocks that ran, lines about those that could not)."""
    ran, skipped, session = 0, [], None
    last_ran = False
    try:
        for block in blocks_of(page):
            if block.language == "text":
                if block.words == "output" and last_ran:
                    session.compare(block)
                continue
            last_ran = False
            if block.reason or block.words == "long" and not long:
                continue
            if missing(block):
                skipped.append(f"{block.place}: {missing(block)} is missing")
                continue
            if session is None:
                session = Session(build, page, shared)
                before = session.setup("sh")
                if before:
                    session.call(block, ["sh", "-eu", session.keep("setup.sh", before)])
            begin = time.monotonic()
            session.run(block)
            ran, last_ran = ran + 1, True
            seconds = time.monotonic() - begin
            print(f"{block.place}: {block.language}, {seconds:.1f} s", flush=True)
    finally:
        if session is not None:
            session.close()
    return ran, skipped


def prepare(build, shared):
    """What all pages share: an installed library, voltac with small sizes, and the files that pages speak of."""
    subprocess.run(["cmake", "--install", build, "--prefix", os.path.join(shared, "installed")], check=True, stdout=subprocess.DEVNULL)
    os.makedirs(os.path.join(shared, "bin"))
    shim = os.path.join(shared, "bin", "voltac")
    with open(shim, "w", encoding="utf-8") as file:
        file.write(SHIM.format(python=sys.executable, most=repr(MOST), small=repr(SMALL), voltac=os.path.join(build, "voltac")))
    os.chmod(shim, 0o755)
    subprocess.run([sys.executable, "-B", os.path.join(HERE, "materials.py"), os.path.join(build, "voltac"),
                    os.path.join(shared, "materials")], check=True)


def check_not_run(found):
    """not_run.txt has exactly the blocks that do not run, each with its reason."""
    with open(os.path.join(ROOT, "tests", "docs", "not_run.txt"), encoding="utf-8") as file:
        listed = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#")]
    here = [f"{block.page} | {block.language} | {block.reason}" for block in found]
    wrong = [f"not in tests/docs/not_run.txt: {line}" for line in sorted(set(here) - set(listed))]
    wrong += [f"tests/docs/not_run.txt lists what no page has: {line}" for line in sorted(set(listed) - set(here))]
    if not wrong and sorted(here) != sorted(listed):
        wrong = ["tests/docs/not_run.txt: a line for each block, please: " + line for line in sorted(set(here)) if here.count(line) != listed.count(line)]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", metavar="FOLDER", help="where voltac and the libraries are; without it nothing runs")
    parser.add_argument("--root", default=TREE, metavar="FOLDER", help="whose pages (default: this tree)")
    parser.add_argument("--long", action="store_true", help="run the long ones too")
    parser.add_argument("--list", action="store_true", help="list the blocks")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="patterns of pages (default: all)")
    arguments = parser.parse_args()
    global ROOT
    ROOT = arguments.root
    wanted = [page for page in pages() if not arguments.pages or any(fnmatch.fnmatch(page, p) for p in arguments.pages)]
    wrong, blocks = [], []
    for page in pages():
        try:
            blocks += blocks_of(page)
        except Wrong as error:
            wrong.append(str(error))
    wrong += check_not_run([block for block in blocks if block.reason])
    if arguments.list:
        for block in blocks:
            print(block.place, block.language, block.words, f"no-run: {block.reason}" if block.reason else "")
    if not wanted:
        wrong.append("no page has such a name")
    ran, skipped = 0, []
    if arguments.build and not wrong:
        shared = tempfile.mkdtemp(prefix="docs.")
        try:
            prepare(os.path.abspath(arguments.build), shared)
            for page in wanted:
                try:
                    count, without = run_page(os.path.abspath(arguments.build), page, shared, arguments.long)
                    ran, skipped = ran + count, skipped + without
                except Wrong as error:
                    wrong.append(str(error))
                except subprocess.TimeoutExpired as error:
                    wrong.append(f"{page}: {error}")
        finally:
            shutil.rmtree(shared, ignore_errors=True)
    for line in skipped:
        print(line)
    for line in wrong:
        print(line, file=sys.stderr)
    code = [block for block in blocks if block.language != "text"]
    print(f"{len(code)} blocks of code on all pages; {ran} ran, {sum(1 for b in code if b.reason)} say why they do not")
    return 1 if wrong else 77 if arguments.build and skipped and not ran else 0


if __name__ == "__main__":
    sys.exit(main())
