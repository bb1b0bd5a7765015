#!/usr/bin/env python3
"""What Volta writes as ONNX, by other readers: every file passes onnx.checker's full check and gives in ONNX Runtime
what Volta gives, within 1e-5 of each output's largest element.

    verify_exports.py PATH_OF_ONNX_EXPORTS

Ends with 77 where the packages onnx and onnxruntime are not there."""

import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

LIMIT = 1e-5


def read_manifest(folder):
    models = []
    for line in (folder / "manifest.txt").read_text().splitlines():
        what, *words = line.split(" ")
        if what == "model":
            models.append({"name": words[0], "input": [], "output": []})
            continue
        name, dtype, extents, file = words
        shape = [] if extents == "scalar" else [int(extent) for extent in extents.split("x")]
        data = np.fromfile(folder / file, np.float32 if dtype == "f32" else np.int32).reshape(shape)
        models[-1][what].append((name, data))
    return models


def difference(expected, actual):
    """Relative to the largest element; infinite where shapes, NaNs or integers differ."""
    if expected.shape != actual.shape:
        return float("inf")
    if expected.dtype == np.int32:
        return 0.0 if np.array_equal(expected, actual.astype(np.int64)) else float("inf")
    if actual.dtype != np.float32 or not np.array_equal(np.isnan(expected), np.isnan(actual)):
        return float("inf")
    same = (expected == actual) | np.isnan(expected)
    finite = np.where(same, 0, expected)
    apart = np.abs(finite.astype(np.float64) - np.where(same, 0, actual).astype(np.float64))
    most = np.max(np.abs(np.where(np.isfinite(expected), expected, 0)), initial=1e-3)
    return float(np.max(apart, initial=0.0) / most)


def check(folder, model):
    path = str(folder / f"{model['name']}.onnx")
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = {}
    for name, data in model["input"]:
        feeds[name] = data if data.dtype == np.float32 else data.astype(np.int64)
    results = dict(zip([output.name for output in session.get_outputs()], session.run(None, feeds)))
    return max((difference(data, results[name]) for name, data in model["output"]), default=0.0)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.argv[1], str(folder)], check=True)
        models = read_manifest(folder)
        worst, bad = 0.0, 0
        for model in models:
            try:
                apart = check(folder, model)
            except Exception as error:  # a reader's refusal, whatever it is
                print(f"{model['name']}: {str(error).splitlines()[0]}")
                bad += 1
                continue
            worst = max(worst, apart if apart <= LIMIT else worst)
            if not apart <= LIMIT:
                print(f"{model['name']}: a difference of {apart:.2g}")
                bad += 1
    print(f"{len(models) - bad} of {len(models)} exported files are checked and give the same in ONNX Runtime "
          f"{onnxruntime.__version__}; largest difference {worst:.2g}")
    return 1 if bad or not models else 0


if __name__ == "__main__":
    sys.exit(main())
