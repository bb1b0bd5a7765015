"""Tables, sections and charts from planted results."""

import json
import os
import shutil
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "peers")]

import make_bench  # noqa: E402
import plot  # noqa: E402
import report  # noqa: E402

MACHINE = {"class": "AuthenticAMD/25/17", "cpu": "EPYC <4>", "cores": 2, "isa": ["avx512", "avx2"], "memory_gib": 4,
           "system": "Debian", "kernel": "6.1", "compiler": "g++ 12", "load": 0.1, "date": "2000-01-01"}


def products():
    rows = [{"form": "nn", "m": 10, "n": 10, "k": 10, "group": "odd",
             "ns": {"volta": [[20.0]], "onednn": [[10.0]], "volta packed": [[10.0]], "onednn packed": [[30.0]]}},
            {"form": "tn", "m": 10, "n": 10, "k": 10, "group": "odd",
             "ns": {"volta": [[10.0]], "onednn": [[100.0]]}}]
    runs = [{"threads": t, "isa": "avx512", "peers": {"onednn": {"version": "2.6", "detail": "AVX2"}},
             "skipped": {"blis": "not built"}, "rows": rows} for t in (1, 2)]
    settings = {"rounds": 3, "samples": 2, "batch_ms": 20.0, "repeats": 1, "wait": "passive"}
    return {"suite": "products", "machine": MACHINE, "settings": settings, "runs": runs}


def rows_result(**row):
    return {"machine": MACHINE, "rows": [dict(row, threads=t) for t in (1, 2)]}


RESULTS = {
    "products": products(),
    "matmul": rows_result(m=1, n=2, k=3, isa="avx2", mode="plain", median_gflops=12.5, fraction_of_peak=0.5),
    "train": rows_result(model="tiny", optimizer="adamw", median_ms=480.5, bound_ms=400, ratio_to_bound=1.2),
    "train_peers": rows_result(model="tiny", optimizer="adamw", volta_ms=1.0, torch_ms=2.0, ratio=2.0),
    "infer_peers": rows_result(model="tiny", task="decode", side="PyTorch", ms=4.5, ratio_to_bound=3.1),
    "ops": rows_result(op="add", shape="4x4", median_us=1.5, fraction_of_peak=0.9),
    "ops_peers": rows_result(op="add", shape="4x4", peer="onednn", ratio=1.5),
    "conv_peers": rows_result(network="resnet18", layer="64x56x64x3x1x1", batch=1, **{"pass": "forward"}, volta_us=9.5,
                              torch_us=11.0, ratio=1.16, peers="PyTorch 2.13.0"),
    "network_peers": rows_result(network="resnet50", task="infer", batch=1, side=224, volta_ms=21.7, torch_ms=30.0,
                                 onnxruntime_ms=25.0, ratio=1.15, peers="PyTorch 2.13.0"),
    "onnx_peers": rows_result(model="mnist-8", task="run", volta_ms=0.5, peer_ms=1.0, ratio=2.0, difference=2e-6,
                              peers="ONNX Runtime 1.32"),
    "overhead_peers": rows_result(language="Go", c_ns=220.5, own_ns=390.0, cost_ns=169.5, least_ns=160.0, limit_ns=1000, within=True),
    "memory": rows_result(preset="tiny", resident_mib=300.5),
}


class SectionTest(unittest.TestCase):
    def test_replace_keeps_the_rest(self):
        page = "a\n<!-- bench:x:begin -->\nold\n<!-- bench:x:end -->\nb\n"
        self.assertEqual(report.replace_section(page, "x", "new"),
                         "a\n<!-- bench:x:begin -->\nnew\n<!-- bench:x:end -->\nb\n")
        for broken in ("none", "<!-- bench:x:begin -->"):
            with self.assertRaisesRegex(ValueError, "no section x"):
                report.replace_section(broken, "x", "new")

    def test_products(self):
        text = report.products_section(products())
        self.assertIn("| nn 10,10,10 | 100 | 200 | 200 | 66.7 | **0.50** | 1.00 | onednn |", text)
        self.assertIn("| tn 10,10,10 | 200 | 20.0 | - | - | 10.00 | 10.00 | onednn |", text)
        self.assertIn("on 0 of 2 products", text)
        self.assertIn("blis left out: not built.", text)
        self.assertIn("| onednn packed | 3.00 | 3.00 |", text)

    def test_numbers(self):
        for value, text in ((None, "-"), (True, "yes"), (0.954, "0.95"), (12.345, "12.3"), (165.4, "165"),
                            (1464.2, "1,464"), (124439808, "124,439,808"), ("tiny", "tiny"), (0.0, "0.00")):
            self.assertEqual(report.number(value), text)

    def test_columns_without_a_value_are_left_out(self):
        text = report.rows_section(rows_result(op="add", volta_us=1.5, torch_us=None), report.OPS_PEERS)
        self.assertIn("| operator | threads | Volta us |", text)
        self.assertIn("| add | 1 | 1.50 |", text)

    def test_every_runner_has_a_section_and_the_page_a_place(self):
        self.assertEqual(set(report.SUITES), set(make_bench.RUNNERS))
        with open(make_bench.PAGE, encoding="utf-8") as file:
            page = file.read()
        for suite in report.SUITES:
            report.replace_section(page, suite, "")


class ChartTest(unittest.TestCase):
    def test_every_suite_gives_a_chart_within_its_frame(self):
        for suite, (_, chart) in report.SUITES.items():
            root = xml.fromstring(chart(RESULTS[suite]))
            width, height = float(root.get("width")), float(root.get("height"))
            marks = 0
            for element in root.iter():
                tag = element.tag.rpartition("}")[2]
                x = float(element.get("cx") or element.get("x") or 0)
                y = float(element.get("cy") or element.get("y") or 0)
                self.assertTrue(0 <= x <= width and 0 <= y <= height, (suite, tag, x, y))
                marks += tag in ("circle", "rect")
            self.assertGreaterEqual(marks, 4, suite)  # background, legend, marks

    def test_same_figures_same_file(self):
        self.assertEqual(report.products_chart(products()), report.products_chart(products()))

    def test_values_beyond_the_edge_are_hollow(self):
        text = plot.chart("t", [("", [("a", {"s": 9.0}), ("b", {"s": 1.0})])], ["s"], "x", limits=(0.5, 2),
                          logarithmic=True, style="dots")
        dots = [e for e in xml.fromstring(text).iter() if e.get("r") == "3.6"]
        self.assertEqual([d.get("fill") == plot.PAPER for d in dots], [True, False])
        self.assertEqual(float(dots[0].get("cx")), plot.LABEL + 10 + plot.PANEL)

    def test_without_peers_there_is_still_a_chart(self):
        for suite, result in (("train_peers", rows_result(model="tiny", volta_ms=1.0, ratio=None)),):
            self.assertIn("<svg", report.SUITES[suite][1](result))

    def test_missing_values_have_no_mark(self):
        text = plot.chart("t", [("", [("a", {"s": None, "r": 1.0})])], ["s", "r"], "x", style="dots")
        self.assertEqual(text.count("r='3.6'"), 1)

    def test_ticks(self):
        self.assertEqual([plot.nice_step(s) for s in (0.13, 0.2, 3, 70)], [0.2, 0.2, 5, 100])
        self.assertEqual(plot.Scale(0, 1, 0, 100, False).ticks()[-1], 1.0)
        self.assertIn(1.0, plot.Scale(0.5, 2, 0, 100, True).ticks())

    def test_text_is_escaped(self):
        self.assertIn("a &lt; b &amp; c", plot.chart("a < b & c", [("", [("x", {"s": 1})])], ["s"], "u"))


class WriteTest(unittest.TestCase):
    def test_page_and_chart_are_written(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        page = os.path.join(folder, "benchmarks.md")
        shutil.copy(make_bench.PAGE, page)
        for suite, result in RESULTS.items():
            make_bench.write_report(suite, json.loads(json.dumps(result)), page)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("EPYC <4>", text)
        for suite in RESULTS:
            self.assertIn(f"(bench_{suite}.svg)", text)
            self.assertTrue(os.path.getsize(os.path.join(folder, f"bench_{suite}.svg")) > 500)
        before = text
        make_bench.write_report("ops", RESULTS["ops"], page)
        with open(page, encoding="utf-8") as file:
            self.assertEqual(file.read(), before)

    def test_another_class_of_machine_has_a_page_of_its_own(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        page = os.path.join(folder, "benchmarks_other.md")
        with open(page, "w", encoding="utf-8") as file:
            file.write("# Other\n\n<!-- bench:ops:begin -->\n<!-- bench:ops:end -->\n")
        make_bench.write_report("ops", RESULTS["ops"], page)
        with self.assertRaises(ValueError):  # the page does not show it
            make_bench.write_report("memory", RESULTS["memory"], page)
        with open(page, encoding="utf-8") as file:
            self.assertIn("(bench_other_ops.svg)", file.read())
        self.assertEqual(sorted(os.listdir(folder)), ["bench_other_ops.svg", "benchmarks_other.md"])


if __name__ == "__main__":
    unittest.main()
