#!/usr/bin/env python3
"""Plants small faults and reports which tests notice them.

    tools/mutants.py --list             the faults, and the folders they are in
    tools/mutants.py --check            only whether each fault still finds its place; builds nothing
    tools/mutants.py                    a sixth of the faults, another one every day
    tools/mutants.py --all              every fault; what it finds is written to tests/mutants/last_run.txt
    tools/mutants.py --only 17,30-34    these

The faults are listed in tests/mutants/*.txt, whose head says how to add one. All of them are compiled into one build
(build-mutants/build, of a copy of the tree in build-mutants/src), where

    if (a < b)    becomes    if ((volta_mutant(17) ? (a <= b) : (a < b)))

and the environment says which one is on: VOLTA_MUTANT=17. With VOLTA_MUTANT_TRACE=FILE a process notes which places it
came to, so that a fault is tried by the tests that reach it alone: tests of its own folder first, quick ones first,
until one fails. A crash is a failure, so is a test that takes three times as long as without the fault.
"""
import argparse
import collections
import concurrent.futures
import datetime
import hashlib
import json
import os
import pathlib
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
LISTS = ROOT / "tests" / "mutants"
LAST_RUN = LISTS / "last_run.txt"
PAGE = ROOT / "docs" / "testing.md"
HEADER = LISTS / "volta_mutant.h"
LEAST = 150  # faults, however much of the tree is rewritten
PARTS = 6

# Which tier a test is of, by its ctest labels (docs/testing.md): the first row with one of them, else the first tier.
TIERS = ("check", "test", "nightly")
TIER_OF_LABEL = {"nightly": "nightly", "slow": "test"}

# Tests that say nothing about a fault: they read the tree, which is changed here, or compile kernels and don't run them.
LEFT_OUT = re.compile(r"architecture_(?!tables$)|bench_|cuda_(ptx|nvrtc|operators)")

# Folders of tests whose name is not the last word of the folder they test.
TESTS_OF = {"engine/base": "numerics", "engine/backend/lower": "backend", "engine/backend/cpu": "kernels",
            "engine/backend/cpu/gemm": "kernels", "engine/backend/cpu/tuning": "kernels",
            "engine/backend/cpu/attention": "kernels", "engine/backend/cpu/actions": "runtime",
            "jitgen/x86": "jitgen", "jitgen/x86/gemm": "kernels",
            "engine/backend/tuning": "kernels", "engine/backend": "runtime", "engine/backend/cuda": "cuda",
            "jitgen/cuda": "cuda"}

KINDS = ("comparison", "operands", "constant", "last", "check", "negation", "index", "fence", "call", "branch")

Mutant = collections.namedtuple("Mutant", "id kind path before old new after reason list")
Test = collections.namedtuple("Test", "name tier folder command properties")


class Failure(Exception):
    """Something that the user can mend; printed without a trace."""


# ---- The list ------------------------------------------------------------------------------------------

def read_lists(folder):
    mutants = {}
    for file in sorted(folder.glob("*.txt")):
        if file == LAST_RUN:
            continue
        path = None
        for number, line in enumerate(file.read_text().splitlines(), 1):
            where = f"{file.relative_to(ROOT)}:{number}"
            if not line.strip() or line.startswith("#"):
                continue
            if not line[0].isspace():
                path = line.strip()
                continue
            words = line.split(None, 2)
            if words[0] == "reason:":
                last = next(reversed(mutants))
                mutants[last] = mutants[last]._replace(reason=line.strip()[len("reason:"):].strip())
                continue
            parts = re.fullmatch(r"(.*?)\{\{(.*) ==> (.*?)\s*\}\}(.*)", words[2] if len(words) == 3 else "")
            if path is None or not words[0].isdigit() or words[1] not in KINDS or not parts:
                raise Failure(f"{where}: expected '<id> <kind> code {{{{old ==> new}}}} code', kinds: {', '.join(KINDS)}")
            before, old, new, after = (part.strip() for part in parts.groups())
            mutant = Mutant(int(words[0]), words[1], path, before, old, new, after, "", where)
            if mutant.id in mutants:
                raise Failure(f"{where}: mutant {mutant.id} is also at {mutants[mutant.id].list}")
            mutants[mutant.id] = mutant
    return mutants


def dense(text):
    """Without white space, and where each character stood: how lines are broken is no matter."""
    places = [i for i, c in enumerate(text) if not c.isspace()]
    return "".join(text[i] for i in places), places


def find_place(mutant, text):
    """The half-open range of `old` in text, or a sentence that says why there is none."""
    packed, places = dense(text)
    before, old, after = (dense(part)[0] for part in (mutant.before, mutant.old, mutant.after))
    count = packed.count(before + old + after)
    if count == 0:
        return f"mutant {mutant.id} ({mutant.list}): its line is gone from {mutant.path}: {mutant.before} {mutant.old} {mutant.after}"
    if count > 1:
        return f"mutant {mutant.id} ({mutant.list}): its line stands {count} times in {mutant.path}; give it more of the code around it"
    start = packed.index(before + old + after) + len(before)
    return places[start], places[start + len(old) - 1] + 1


def planted(mutant):
    if mutant.old.endswith(";"):
        return f"{{ if (volta_mutant({mutant.id})) {{ {mutant.new} }} else {{ {mutant.old} }} }}"
    return f"(volta_mutant({mutant.id}) ? ({mutant.new}) : ({mutant.old}))"


def place_all(mutants):
    """Changed files by path, and what is wrong with the list."""
    by_path = collections.defaultdict(list)
    for mutant in mutants.values():
        by_path[mutant.path].append(mutant)
    texts, complaints = {}, []
    for path, own in by_path.items():
        try:
            text = (ROOT / path).read_text()
        except FileNotFoundError:
            complaints += [f"mutant {m.id} ({m.list}): its file {path} is gone" for m in own]
            continue
        places = []
        for mutant in own:
            found = find_place(mutant, text)
            if isinstance(found, str):
                complaints.append(found)
            else:
                places.append((*found, mutant))
        places.sort(reverse=True, key=lambda place: place[0])
        behind = len(text)
        for start, end, mutant in places:
            if end > behind:
                complaints.append(f"mutant {mutant.id} ({mutant.list}): its place overlaps another one's")
                continue
            behind = start
            # The expression as it stands, comments and all.
            text = text[:start] + planted(mutant._replace(old=text[start:end])) + text[end:]
        texts[path] = '#include "volta_mutant.h"\n#line 1\n' + text
    return texts, complaints


# ---- The build -----------------------------------------------------------------------------------------

def write_if_other(path, data):
    """Files that stay as they are keep their time, so that little is compiled again."""
    if path.is_file() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def copy_tree(source, texts):
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           check=True, capture_output=True, text=True).stdout.split("\0")
    wanted = {name for name in names if name and (ROOT / name).is_file()}
    for name in wanted:
        data = texts[name].encode() if name in texts else (ROOT / name).read_bytes()
        if name == "tests/support/simt_emulation.h":  # in front of kernels whose text has faults
            data = data.replace(b"#pragma once\n", b'#pragma once\n#include "volta_mutant.h"\n', 1)
        write_if_other(source / name, data)
        shutil.copymode(ROOT / name, source / name)
    write_if_other(source / "volta_mutant.h", HEADER.read_bytes())
    for folder, _, files in os.walk(source):
        for file in files:
            path = pathlib.Path(folder, file)
            name = str(path.relative_to(source))
            if name not in wanted and name != "volta_mutant.h" and not name.startswith("tests/mutants/"):
                if "__pycache__" not in name:
                    path.unlink()


def build(folder, jobs):
    environment = dict(os.environ, CCACHE_BASEDIR=str(folder / "src"), CCACHE_NOHASHDIR="1")
    if shutil.which("ccache"):
        environment.setdefault("CMAKE_C_COMPILER_LAUNCHER", "ccache")
        environment.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")
    # As releases are, but for -O1: what is compiled is run for minutes, and changes at many places.
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DVOLTA_TESTS=ON"]
    options += [f"-DCMAKE_{language}_FLAGS_RELEASE=-O1 -DNDEBUG" for language in ("C", "CXX")]
    if shutil.which("ninja") and not (folder / "build" / "Makefile").exists():
        options += ["-G", "Ninja"]
    log = folder / "build.log"
    with log.open("w") as out:
        for command in (["cmake", "-S", folder / "src", "-B", folder / "build", *options],
                        ["cmake", "--build", folder / "build", "-j", str(jobs)]):
            if subprocess.run(command, env=environment, stdout=out, stderr=subprocess.STDOUT).returncode != 0:
                out.flush()
                raise Failure("".join(log.read_text().splitlines(keepends=True)[-40:]) + f"the build failed: {log}")


def list_tests(folder):
    told = subprocess.run(["ctest", "--test-dir", folder / "build", "--show-only=json-v1"], check=True,
                          capture_output=True, text=True)
    data = json.loads(told.stdout)
    graph = data["backtraceGraph"]

    def folder_of(node):
        while node is not None:
            entry = graph["nodes"][node]
            found = re.search(r"/tests/(\w+)/CMakeLists.txt$", graph["files"][entry["file"]])
            if found:
                return found[1]
            node = entry.get("parent")
        return ""

    tests = []
    for test in data["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        tiers = [TIER_OF_LABEL[label] for label in TIER_OF_LABEL if label in properties.get("LABELS", [])]
        if LEFT_OUT.match(test["name"]) or not shutil.which((test.get("command") or [""])[0]):
            continue
        tests.append(Test(test["name"], tiers[0] if tiers else TIERS[0], folder_of(test.get("backtrace")),
                          test["command"], properties))
    return tests


# ---- Running -------------------------------------------------------------------------------------------

def make_killable():
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):  # ignored where this runs in the background
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open("/proc/self/oom_score_adj", "w") as file:  # if memory ends, end this and not its neighbours
        file.write("1000")


def run_test(folder, test, variables, limit):
    """(seconds, how it ended: 'ok', 'skipped', or why it failed, the end of its output)."""
    environment = dict(os.environ)
    if (ROOT.parent / "shared" / "data").is_dir():
        environment.setdefault("VOLTA_TEST_DATA", str(ROOT.parent / "shared" / "data"))
    for assignment in test.properties.get("ENVIRONMENT", []):
        name, value = assignment.split("=", 1)
        environment[name] = value
    environment.update(variables)
    scratch = tempfile.mkdtemp(dir=folder)
    environment["TMPDIR"] = scratch
    start = time.monotonic()
    process = subprocess.Popen(test.command, cwd=test.properties.get("WORKING_DIRECTORY", folder / "build"),
                               env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=make_killable)
    output, verdict = b"", None
    try:
        while verdict is None:
            left = start + limit - time.monotonic()
            if left <= 0:
                verdict = "timeout"
                break
            if not select.select([process.stdout], [], [], min(left, 1.0))[0]:
                if process.poll() is not None:  # a grandchild still holds the pipe
                    break
                continue
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                break
            output = (output + chunk)[-20000:]
            if b"[  FAILED  ]" in output:  # CMocka goes on with the next case; this one decides
                verdict = "failed"
        if verdict is None:
            try:
                code = process.wait(max(0.1, start + limit - time.monotonic()))
                if code == test.properties.get("SKIP_RETURN_CODE"):
                    verdict = "skipped"
                else:
                    verdict = "ok" if code == 0 else f"signal {-code}" if code < 0 else "failed"
            except subprocess.TimeoutExpired:
                verdict = "timeout"
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        process.stdout.close()
        shutil.rmtree(scratch, ignore_errors=True)
    return time.monotonic() - start, verdict, output.decode(errors="replace")


def key_of(mutant):
    code = "\0".join((mutant.path, mutant.before, mutant.old, mutant.new, mutant.after))
    return f"{mutant.id}:{hashlib.sha256(code.encode()).hexdigest()[:12]}"


class Reach:
    """What each test comes to without any fault, and how long it takes. Kept in the build folder."""

    def __init__(self, folder, keys):
        self.folder, self.keys = folder, keys
        self.file = folder / "reach.json"
        self.known = json.loads(self.file.read_text()) if self.file.is_file() else {}
        self.lock = threading.Lock()

    def trace(self, test, wanted):
        entry = self.known.get(test.name)
        if entry and wanted <= set(entry["keys"]):
            return
        size = 1 + max(int(key.split(":")[0]) for key in self.keys)
        with tempfile.NamedTemporaryFile(dir=self.folder) as file:
            file.truncate(max(size, 4096))
            limit = 4 * test.properties.get("TIMEOUT", 300)
            seconds, verdict, output = run_test(self.folder, test, {"VOLTA_MUTANT_TRACE": file.name}, limit)
            marks = file.read()
        if verdict not in ("ok", "skipped"):
            print(f"left out: {test.name} fails without any fault ({verdict})\n{output[-1500:]}", flush=True)
        with self.lock:
            self.known[test.name] = {"seconds": seconds, "usable": verdict == "ok", "keys": sorted(self.keys),
                                     "reached": [i for i, mark in enumerate(marks) if mark]}
            self.file.write_text(json.dumps(self.known, indent=0))

    def trace_all(self, tests, mutants, jobs):
        wanted = {key_of(mutant) for mutant in mutants}
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            list(pool.map(lambda test: self.trace(test, wanted), tests))

    def tests_of(self, mutant, tests, last_catcher):
        """The tests of some tiers that reach it, in the order in which they are tried."""
        own = TESTS_OF.get(str(pathlib.PurePath(mutant.path).parent), pathlib.PurePath(mutant.path).parent.name)

        def order(test):
            seconds = self.known[test.name]["seconds"]
            return (TIERS.index(test.tier), test.name != last_catcher, seconds / (4 if test.folder == own else 1))

        reaching = [t for t in tests if self.known[t.name]["usable"] and mutant.id in self.known[t.name]["reached"]]
        return sorted(reaching, key=order)


def try_mutant(folder, reach, mutant, tests, last_catcher, verbose):
    """(tier, test) that noticed it, ('none', how many tests came there) otherwise."""
    reaching = reach.tests_of(mutant, tests, last_catcher)
    for test in reaching:
        limit = 3 * reach.known[test.name]["seconds"] + 10
        _, verdict, output = run_test(folder, test, {"VOLTA_MUTANT": str(mutant.id)}, limit)
        if verdict not in ("ok", "skipped"):
            if verbose:
                print(f"---- mutant {mutant.id}: {test.name}: {verdict}\n{output[-1500:]}", flush=True)
            return test.tier, test.name, verdict
    return "none", str(len(reaching)), ""


# ---- The report ----------------------------------------------------------------------------------------

def read_last_run():
    """{id: (tier, test)}, and the line that says when that was."""
    found, head = {}, "never"
    if LAST_RUN.is_file():
        for line in LAST_RUN.read_text().splitlines():
            if line.startswith("# run:"):
                head = line[len("# run:"):].strip()
            elif line and not line.startswith("#"):
                number, tier, test = line.split()
                found[int(number)] = (tier, test)
    return found, head


def folder_of(mutant):
    return str(pathlib.PurePath(mutant.path).parent)


def table(mutants, results):
    """Markdown: per folder and in all, how many faults are noticed at the latest by each tier."""
    rows = collections.defaultdict(list)
    for number, (tier, _) in sorted(results.items()):
        if number in mutants:
            rows[folder_of(mutants[number])].append(tier)
    lines = ["| folder | faults | check | test | nightly |", "|---|---:|---:|---:|---:|"]

    def row(name, found):
        sums, caught = [], 0
        for tier in TIERS:
            caught += found.count(tier)
            sums.append(caught)
        return f"| {name} | {len(found)} | " + " | ".join(map(str, sums)) + " |", sums

    for folder in sorted(rows):
        lines.append(row(f"`{folder}`", rows[folder])[0])
    everything = [tier for found in rows.values() for tier in found]
    text, sums = row("all", everything)
    lines.append(text)
    if everything:
        lines.append("| | | " + " | ".join(f"{100 * s / len(everything):.1f} %" for s in sums) + " |")
    return "\n".join(lines)


def write_last_run(mutants, results, commit):
    day = datetime.date.today().isoformat()
    lines = ["# What noticed each fault of tests/mutants: id, tier, test. Written by tools/mutants.py --all.",
             f"# run: {day}, on {commit}"]
    lines += [f"{number} {results[number][0]} {results[number][1]}" for number in sorted(results)]
    LAST_RUN.write_text("\n".join(lines) + "\n")
    write_page(mutants)


def page_text(mutants):
    results, head = read_last_run()
    return f"The last whole run: {head}.\n\n{table(mutants, results)}"


def write_page(mutants):
    text = PAGE.read_text()
    begin, end = "<!-- mutants:begin -->\n", "<!-- mutants:end -->"
    if begin in text and end in text:
        head, rest = text.split(begin, 1)
        PAGE.write_text(head + begin + page_text(mutants) + "\n" + end + rest.split(end, 1)[1])


def parse_ids(text):
    ids = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        ids.update(range(int(first), int(last or first) + 1))
    return ids


def choose(mutants, options):
    if options.only:
        wanted = parse_ids(options.only)
        missing = wanted - set(mutants)
        if missing and not options.only.count("-"):
            raise Failure(f"no mutant {min(missing)} in tests/mutants")
        return [mutants[i] for i in sorted(wanted & set(mutants))]
    if options.all:
        return list(mutants.values())
    part = options.sixth if options.sixth is not None else datetime.date.today().toordinal() % PARTS
    return [mutant for mutant in mutants.values() if mutant.id % PARTS == part % PARTS]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0], allow_abbrev=False)
    parser.add_argument("--all", action="store_true", help="every fault, and write tests/mutants/last_run.txt")
    parser.add_argument("--sixth", type=int, metavar="N", help="the faults of this sixth, 0 .. 5; default: today's")
    parser.add_argument("--only", metavar="IDS", help="these faults: 17,30-34")
    parser.add_argument("--list", action="store_true", help="print the faults and end")
    parser.add_argument("--check", action="store_true", help="only look whether each fault finds its place")
    parser.add_argument("--write", action="store_true", help="write the changed tree and end")
    parser.add_argument("--page", action="store_true", help="write the table into docs/testing.md and end")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="tests at once")
    parser.add_argument("--tests", metavar="REGEX", help="only tests of these names")
    parser.add_argument("--tier", choices=TIERS, default=TIERS[-1], help="tests up to this tier")
    parser.add_argument("--resume", action="store_true", help="keep what an interrupted run has found")
    parser.add_argument("--no-build", action="store_true", help="the build folder is up to date")
    parser.add_argument("--verbose", action="store_true", help="print what failing tests say")
    parser.add_argument("--lists", type=pathlib.Path, default=LISTS, help="the folder of the lists")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build-mutants", help="where to build")
    options = parser.parse_args()

    mutants = read_lists(options.lists.resolve())
    texts, complaints = place_all(mutants)
    lost = {int(re.match(r"mutant (\d+)", line)[1]) for line in complaints}
    for line in complaints:
        print(line, file=sys.stderr)
    mutants = {i: m for i, m in mutants.items() if i not in lost}
    if options.list:
        for mutant in mutants.values():
            print(f"{mutant.id:4} {mutant.kind:10} {mutant.path}: {mutant.old} ==> {mutant.new}")
    if options.list or options.check:
        print(f"{len(mutants)} faults in {len({folder_of(m) for m in mutants.values()})} folders, {len(lost)} without a place")
        if len(mutants) < LEAST:
            raise Failure(f"{len(mutants)} faults, expected {LEAST} or more")
        return
    if options.page:
        write_page(mutants)
        return

    folder = options.folder.resolve()
    folder.mkdir(exist_ok=True)
    if not options.no_build:
        copy_tree(folder / "src", texts)
        if options.write:
            return
        build(folder, options.jobs)
    tests = [test for test in list_tests(folder) if not options.tests or re.search(options.tests, test.name)]
    tests = [test for test in tests if TIERS.index(test.tier) <= TIERS.index(options.tier)]
    chosen = choose(mutants, options)
    reach = Reach(folder, [key_of(mutant) for mutant in mutants.values()])
    last, _ = read_last_run()
    found_file = folder / "results.json"
    results = {}
    if options.resume and found_file.is_file():
        kept = json.loads(found_file.read_text())
        first = {test.name for test in tests if test.tier == TIERS[0]}  # no quicker tier has to be tried
        results = {m.id: (TIERS[0], kept[key_of(m)][1]) for m in chosen
                   if key_of(m) in kept and kept[key_of(m)][1] in first}
    noted = json.loads(found_file.read_text()) if found_file.is_file() else {}
    lock = threading.Lock()
    start = time.monotonic()

    def one(mutant, tests):
        began = time.monotonic()
        tier, test, verdict = try_mutant(folder, reach, mutant, tests, last.get(mutant.id, ("", ""))[1], options.verbose)
        with lock:
            results[mutant.id] = (tier, test)
            noted.update({key_of(m): results[m.id] for m in chosen if m.id in results})
            found_file.write_text(json.dumps(noted))
            how = f"{tier}: {test} ({verdict})" if tier != "none" else f"SURVIVES {test} tests"
            print(f"{len(results)}/{len(chosen)} {mutant.id:4} {mutant.path}: {mutant.old} ==> {mutant.new}: {how}, "
                  f"{time.monotonic() - began:.0f} s", flush=True)

    # The slow tier is run only for what the others let pass.
    for tiers in (TIERS[:-1], TIERS[-1:]):
        left = [m for m in chosen if results.get(m.id, ("none",))[0] == "none"]
        of_tiers = [test for test in tests if test.tier in tiers]
        if not left or not of_tiers:
            continue
        reach.trace_all(of_tiers, left, options.jobs)
        print(f"{len(of_tiers)} tests traced after {time.monotonic() - start:.0f} s, {len(left)} faults", flush=True)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(lambda mutant: one(mutant, of_tiers), left))

    print(table(mutants, results))
    survivors = [m for m in chosen if results[m.id][0] == "none"]
    for mutant in survivors:
        told = f": {mutant.reason}" if mutant.reason else ""
        print(f"survives: mutant {mutant.id} ({mutant.list}), reached by {results[mutant.id][1]} tests{told}")
    print(f"{time.monotonic() - start:.0f} s")
    if options.all and not options.tests and options.tier == TIERS[-1]:
        commit = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h"], check=True, capture_output=True,
                                text=True).stdout.strip()
        write_last_run(mutants, results, commit)
    elif not options.only:
        print("\n" + page_text(mutants))
    if any(not mutant.reason for mutant in survivors):
        raise Failure(f"{len(survivors)} faults that no test notices")


try:
    main()
except Failure as failure:
    sys.exit(f"mutants.py: {failure}")
