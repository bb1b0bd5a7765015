#!/usr/bin/env python3
"""ONNX files imported into Volta beside ONNX Runtime, on this machine and the same threads.

    bench/onnx_peers.py [--library build/libvolta.so] [--data ../shared/data/onnx] [--threads 1 2] [--only MODEL...]
                        [--rounds 5] [--quick] [--json]

Batch 1. Sides live in processes of their own and take turns; a figure is the median of the turns' medians. Volta keeps
its weights packed, as ONNX Runtime does. Both must give the same numbers: the difference is a column, of the largest
output, and above 1e-4 a failure. ONNX Runtime has all its optimisations, and its threads wait asleep between turns.

For the model that has 100 MB of weights there are also `convert`, the import and the file that is saved, beside reading
the file with the package onnx and checking it, and `open`, the converted file until its session is made or not.
Models whose packages or files are absent are left out with a message.
"""

import argparse
import ctypes as c
import json
import math
import os
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import onnx_models  # noqa: E402
import turns  # noqa: E402
from arguments import at_least, require_numpy  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.path.join(os.environ.get("VOLTA_TEST_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data")), "onnx")
LARGE, TOLERANCE = "resnet50", 1e-4
TASKS = ("run", "convert", "open")


# ---- Sides ----------------------------------------------------------------------------------------------------


def arrays(shapes):
    """Inputs by name: pictures and the like of random numbers, integers below 100 or, of a second input, ones."""
    import numpy as np

    random = np.random.default_rng(2)
    made = {}
    for i, (name, kind, shape) in enumerate(shapes):
        if kind == "int64":
            made[name] = random.integers(0, 100, shape) if i == 0 else np.ones(shape, np.int64)
        else:
            made[name] = random.standard_normal(shape, np.float32)
    return made


def volta_worker(arguments):
    import numpy as np

    import volta_models as m
    import volta_ctypes as v

    bench = m.Bench(arguments.library, arguments.threads[0], "auto")
    so, model = bench.library.so, c.c_void_p()
    bench.call("volta_model_import", bench.context, arguments.model.encode(), None, c.byref(model))
    so.volta_model_input_count.restype = so.volta_model_output_count.restype = c.c_size_t
    infos = []
    for count, describe in ((so.volta_model_input_count, "volta_model_input_info"),
                            (so.volta_model_output_count, "volta_model_output_info")):
        rows = []
        for i in range(count(model)):
            info = v.TensorInfo()
            bench.call(describe, model, c.c_size_t(i), c.byref(info))
            rows.append((info.name.decode(), info.dtype, [max(1, info.shape[k]) for k in range(info.rank)]))
        infos.append(rows)
    kinds = {name: kind for name, kind, _ in json.loads(arguments.ports)}
    given = arrays([(name, kinds[name], shape) for name, _, shape in infos[0]])
    extents = [extent for _, _, shape in infos[0] for extent in shape]
    options = v.sized(v.SessionOptions, input_shapes=(c.c_int64 * len(extents))(*extents), input_extent_count=len(extents),
                      flags=v.native.VOLTA_SESSION_PACK_WEIGHTS)
    bench.call("volta_session_create", model, c.byref(options), c.byref(bench.made))
    results = [np.zeros(shape, np.int32 if dtype == v.I32 else np.float32) for _, dtype, shape in infos[1]]
    taken = [bench.tensor(given[name].astype(np.int32 if dtype == v.I32 else np.float32)) for name, dtype, _ in infos[0]]
    ins = (c.c_void_p * len(taken))(*taken)
    outs = (c.c_void_p * len(results))(*map(bench.tensor, results))
    session_run = so.volta_session_run
    session_run.argtypes = [c.c_void_p, c.c_void_p, c.c_size_t, c.c_void_p, c.c_size_t]

    def run():
        if session_run(bench.made, ins, len(taken), outs, len(results)) != 0:
            raise RuntimeError(so.volta_last_error().decode())
        return results

    def files(task):
        path = arguments.model + ".volta"
        begin = time.perf_counter()
        made = c.c_void_p()
        if task == "convert":
            bench.call("volta_model_import", bench.context, arguments.model.encode(), None, c.byref(made))
            bench.call("volta_model_save", made, path.encode())
        else:
            bench.call("volta_model_open", bench.context, path.encode(), None, c.byref(made))
        seconds = time.perf_counter() - begin
        so.volta_model_release(made)
        return seconds

    return {"version": "Volta " + bench.library.version()}, run, files


def onnxruntime_worker(arguments):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = arguments.threads[0], 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0" if arguments.waiting == "passive" else "1")
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(arguments.model, options, providers=["CPUExecutionProvider"])
    given = arrays(ports_of(session))

    def files(_):
        import onnx

        begin = time.perf_counter()
        onnx.checker.check_model(onnx.load(arguments.model), full_check=True)
        return time.perf_counter() - begin

    return {"version": f"ONNX Runtime {onnxruntime.__version__}"}, lambda: session.run(None, given), files


def ports_of(session):
    return [(port.name, "int64" if "int64" in port.type else "float",
             [extent if isinstance(extent, int) else 1 for extent in port.shape]) for port in session.get_inputs()]


def worker(arguments):
    import numpy as np

    hello, run, files = (volta_worker if arguments.worker == "volta" else onnxruntime_worker)(arguments)

    def reply(question):
        if "outputs" in question:
            np.savez(question["outputs"], *run())
            return {}
        if question["task"] != "run":
            return {"ms": 1e3 * files(question["task"])}
        run()
        samples, end = [], time.perf_counter() + question["seconds"]
        while len(samples) < 3 or (time.perf_counter() < end and len(samples) < 10000):
            begin = time.perf_counter()
            run()
            samples.append(time.perf_counter() - begin)
        return {"ms": 1e3 * statistics.median(samples)}

    return turns.answer(hello, reply)


# ---- Driver ---------------------------------------------------------------------------------------------------


def difference(sides, folder):
    """Largest difference of any output, of the largest output of its tensor."""
    import numpy as np

    files = []
    for kind, side in sides.items():
        files.append(os.path.join(folder, f"{kind}.npz"))
        side.ask({"outputs": files[-1]})
    with np.load(files[0]) as ours, np.load(files[1]) as theirs:
        return max(float(np.abs(ours[key] - theirs[key]).max() / max(1e-30, np.abs(theirs[key]).max())) for key in theirs)


def compare(name, threads, path, folder, arguments):
    import onnxruntime

    onnxruntime.set_default_logger_severity(3)
    ports = json.dumps(ports_of(onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])))
    sides = {}
    for kind in ("volta", "onnxruntime"):
        command = [os.path.abspath(__file__), "--worker", kind, "--model", path, "--threads", str(threads), "--ports", ports,
                   "--library", arguments.library, "--waiting", arguments.waiting]
        sides[kind] = turns.Side(command, turns.environment(threads, arguments.waiting))
        if not sides[kind].hello:
            raise RuntimeError(f"{kind}: {sides[kind].reason}")
    apart = difference(sides, folder)
    tasks = ["run"] + (["convert", "open"] if name == LARGE and threads == arguments.threads[0] else [])
    for task in tasks:
        times = {kind: [] for kind in sides}
        for _ in range(arguments.rounds):
            for kind, side in sides.items():
                if task == "open" and kind != "volta":
                    continue
                time.sleep(arguments.pause)
                times[kind].append(side.ask({"task": task, "seconds": arguments.seconds})["ms"])
        ours = statistics.median(times["volta"])
        theirs = statistics.median(times["onnxruntime"]) if times["onnxruntime"] else None
        yield dict(model=name, task=task, threads=threads, volta_ms=ours, peer_ms=theirs,
                   ratio=theirs / ours if theirs else None, spread=turns.spread(times["volta"]),
                   difference=apart if task == "run" else None,
                   peers=sides["onnxruntime"].hello["version"] if task != "convert" else "onnx, read and checked")
    for side in sides.values():
        side.close()


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "libvolta.so"))
    parser.add_argument("--data", default=DATA, help="a folder with mnist-8 and ultraface-slim-320")
    parser.add_argument("--threads", type=at_least(1), nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+", choices=onnx_models.NAMES, default=list(onnx_models.NAMES), metavar="MODEL",
                        help=" ".join(onnx_models.NAMES))
    parser.add_argument("--rounds", type=at_least(1), default=5, help="turns of each side")
    parser.add_argument("--seconds", type=float, default=0.5, help="of a turn")
    parser.add_argument("--pause", type=float, default=0.1, help="seconds before a turn")
    parser.add_argument("--waiting", choices=["passive", "default"], default="passive",
                        help="how the peer's threads wait: asleep, or as its users have it")
    parser.add_argument("--quick", action="store_true", help="one short turn")
    parser.add_argument("--json", action="store_true", help="one object per line")
    parser.add_argument("--worker", choices=["volta", "onnxruntime"], help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    parser.add_argument("--ports", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.worker:
        return worker(arguments)
    require_numpy("onnx_peers.py")
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        sys.exit("onnx_peers.py: ONNX Runtime is not installed")
    if arguments.quick:
        arguments.rounds, arguments.seconds = 1, 0.1
    arguments.library = os.path.abspath(arguments.library)
    if not arguments.json:
        print(f"load {os.getloadavg()[0]:.1f}; ms; above 1 Volta is faster\n{'model':<13} {'task':<8} {'thr':>3} {'Volta':>9} "
              f"{'peer':>9} {'ratio':>6} {'spread':>8} {'difference':>10}")
    rows, failed = [], 0
    for name in arguments.only:
        with tempfile.TemporaryDirectory() as folder:
            try:
                path = onnx_models.write(name, folder, arguments.data)
                for threads in arguments.threads:
                    for row in compare(name, threads, path, folder, arguments):
                        rows.append(row)
                        failed += row["difference"] is not None and not row["difference"] <= TOLERANCE
                        if arguments.json:
                            print(json.dumps(row), flush=True)
                            continue
                        peer = f"{row['peer_ms']:9.3f} {row['ratio']:6.2f}" if row["peer_ms"] else " " * 16
                        apart = f"{row['difference']:10.1e}" if row["difference"] is not None else ""
                        print(f"{name:<13} {row['task']:<8} {threads:>3} {row['volta_ms']:9.3f} {peer} "
                              f"{100 * row['spread']:6.1f} % {apart}", flush=True)
            except (ImportError, FileNotFoundError, RuntimeError) as reason:
                print(f"{name} is left out: {reason}", file=sys.stderr)
    ratios = [row["ratio"] for row in rows if row["task"] == "run"]
    if ratios and not arguments.json:
        print(f"geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.2f}, least {min(ratios):.2f}")
    if failed:
        sys.exit(f"{failed} of {len(rows)} rows differ by more than {TOLERANCE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
