"""From times to ratios, on planted times; the list of products; no clock."""

import argparse
import math
import os
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "peers")]

import machine  # noqa: E402
import shapes  # noqa: E402
import summary  # noqa: E402


def row(**ns):
    """A row of 100^3 with one repeat of constant times; underscores are spaces."""
    times = {name.replace("_", " "): [value] if isinstance(value[0], list) else [[v] for v in value]
             for name, value in ((n, v if isinstance(v, list) else [v]) for n, v in ns.items())}
    return {"form": "nn", "m": 100, "n": 100, "k": 100, "ns": times}


class SummaryTest(unittest.TestCase):
    def test_speed_and_ratio(self):
        one = row(volta=1000, openblas=2000)
        self.assertEqual(summary.gflops(one, "volta"), 2000)
        self.assertEqual(summary.ratio(one, "openblas"), 2.0)

    def test_packed_meets_packed(self):
        one = row(volta=4000, volta_packed=1000, onednn=2000, onednn_packed=2000)
        self.assertEqual(summary.row_ratios(one), {"onednn": 0.5, "onednn packed": 2.0, "best plain": 0.5,
                                                   "best of all": 2.0})

    def test_best_of_all_may_be_a_plain_peer(self):
        one = row(volta=1000, volta_packed=1000, eigen=500, onednn_packed=800)
        self.assertEqual(summary.best_peer(one, False), ("eigen", 0.5))

    def test_a_product_without_weights_compares_plain(self):
        one = row(volta=1000, onednn=900, libxsmm=2000)
        self.assertEqual(summary.best_peer(one, False), ("onednn", 0.9))

    def test_packed_peer_without_packed_volta_has_no_ratio(self):
        self.assertIsNone(summary.ratio(row(volta=1, onednn_packed=1), "onednn packed"))

    def test_no_peers(self):
        self.assertIsNone(summary.best_peer(row(volta=1), False))
        self.assertEqual(summary.means([row(volta=1)]), {})

    def test_ratio_is_the_median_of_the_repeats(self):
        # One repeat disturbed, on either side, changes nothing.
        self.assertEqual(summary.ratio(row(volta=[100, 100, 900], onednn=[110, 110, 110]), "onednn"), 1.1)
        self.assertEqual(summary.ratio(row(volta=[100, 100, 100], onednn=[110, 900, 110]), "onednn"), 1.1)

    def test_drift_between_repeats_cancels(self):
        self.assertEqual(summary.ratio(row(volta=[100, 200, 400], onednn=[150, 300, 600]), "onednn"), 1.5)

    def test_geometric_mean(self):
        self.assertAlmostEqual(summary.geometric_mean([0.5, 2.0]), 1.0)
        self.assertAlmostEqual(summary.means([row(volta=1, eigen=2), row(volta=1, eigen=8)])["eigen"], 4.0)
        self.assertIsNone(summary.geometric_mean([]))

    def test_losses_are_sorted(self):
        rows = [row(volta=100, eigen=ns) for ns in (90, 120, 50)]
        self.assertEqual([round(r, 2) for _, _, r in summary.losses(rows, 0.95)], [0.5, 0.9])

    def test_spread_of_equal_times_is_zero(self):
        self.assertEqual(summary.spread(row(volta=[5, 5, 5]), "volta"), 0)
        self.assertTrue(math.isfinite(summary.spread(row(volta=5), "volta")))


class ShapesTest(unittest.TestCase):
    def test_list_is_complete_and_has_no_doubles(self):
        self.assertEqual(len(shapes.PLAIN), 37)
        self.assertEqual(len({shapes.name(p) for p in shapes.ALL}), len(shapes.ALL))
        self.assertEqual(len(shapes.TRANSPOSED), 24)

    def test_transposed_forms_cost_the_same(self):
        layers = [m * n * k for m, n, k in shapes.LAYERS]
        self.assertEqual([p.m * p.n * p.k for p in shapes.TRANSPOSED], layers * 2)

    def test_quick_list_is_part_of_it(self):
        self.assertEqual(len(shapes.QUICK), len(shapes._QUICK))
        self.assertEqual({p.form for p in shapes.QUICK}, {"nn", "nt", "tn"})

    def test_few_columns_are_on_no_other_list(self):
        names = [shapes.name(p) for p in shapes.FEW_COLUMNS + shapes.ALL]
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual({p.form for p in shapes.FEW_COLUMNS}, {"nn", "nt", "tn"})

    def test_parse(self):
        self.assertEqual([p[:4] for p in shapes.parse("1x2x3,nt:4x5x6")], [("nn", 1, 2, 3), ("nt", 4, 5, 6)])
        for wrong in ("1x2", "xx:1x2x3", "1x2x0", "axbxc", ""):
            with self.assertRaisesRegex(argparse.ArgumentTypeError, "is no product: write MxNxK", msg=wrong):
                shapes.parse(wrong)


class MachineTest(unittest.TestCase):
    ZEN4 = {"vendor_id": "AuthenticAMD", "cpu family": "25", "model": "17",
            "flags": "fma avx2 avx512f avx512dq avx512bw avx512vl avx512_bf16"}
    SKYLAKE = dict(ZEN4, vendor_id="GenuineIntel", flags="fma avx2 avx512f avx512dq avx512bw avx512vl")

    def test_key(self):
        self.assertEqual(machine.class_key(self.ZEN4), "AuthenticAMD/25/17")
        self.assertEqual(machine.class_key({"x": ""}), "unknown/unknown/unknown")

    def test_core_follows_the_feature_bits(self):
        self.assertEqual(machine.openblas_core("avx512", self.ZEN4), "Cooperlake")
        self.assertEqual(machine.openblas_core("avx512", self.SKYLAKE), "SkylakeX")
        self.assertEqual(machine.openblas_core("avx2", self.ZEN4), "Zen")
        self.assertEqual(machine.openblas_core("avx2", self.SKYLAKE), "Haswell")

    def test_instruction_sets(self):
        self.assertEqual(machine.instruction_sets(self.ZEN4), ["avx512", "avx2"])
        self.assertEqual(machine.instruction_sets({"flags": "avx2 fma avx512f"}), ["avx2"])
        self.assertEqual(machine.instruction_sets({"flags": "sse2"}), [])


if __name__ == "__main__":
    unittest.main()
