"""The rules of `make perf-check` on planted measurements; no clock."""

import copy
import json
import os
import random
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "peers")]

import compare  # noqa: E402
import perf_check  # noqa: E402

KEY = "AuthenticAMD/25/17 avx512 2"
PRODUCTS = ["nn 64,64,64", "nn 256,1152,384", "nn 1,768,3072", "tn 384,1152,1024"]
PEERS = ["openblas", "onednn", "eigen", "onednn packed", "best plain", "best of all"]


def measured():
    return {"peers": {"openblas": "0.3.21", "onednn": "2.6.3", "eigen": "3.4.0"},
            "ratios": {product: {peer: 1.0 + 0.1 * i for i, peer in enumerate(PEERS)} for product in PRODUCTS}}


def scaled(measurement, factor, product=None, peer=None):
    """A copy with the ratios of one product and peer (None: all) multiplied."""
    changed = copy.deepcopy(measurement)
    for name, ratios in changed["ratios"].items():
        for other in ratios:
            if product in (None, name) and peer in (None, other):
                ratios[other] *= factor
    return changed


class CompareTest(unittest.TestCase):
    def setUp(self):
        self.baseline = measured()

    def compare(self, *passes):
        return compare.compare(self.baseline, list(passes))

    def test_same_figures_pass(self):
        verdict = self.compare(measured(), measured())
        self.assertEqual(verdict.compared, len(PRODUCTS) * len(PEERS))
        self.assertEqual((verdict.failures, verdict.warnings, verdict.gains, verdict.notes), ([], [], [], []))

    def test_planted_regression_fails_and_is_named(self):
        slow = scaled(measured(), 0.85, PRODUCTS[1])
        verdict = self.compare(slow, slow)
        self.assertEqual({m.product for m in verdict.failures}, {PRODUCTS[1]})
        self.assertEqual(len(verdict.failures), len(PEERS))
        text = "\n".join(compare.explain(verdict))
        self.assertIn("nn 256,1152,384: slower in every pass", text)
        self.assertIn("1.00 -> 0.85, 0.85 (-15%)", text)
        self.assertIn("against 4 peers alike: Volta became slower", text)
        self.assertNotIn("64,64,64", text)

    def test_one_pass_only_is_a_warning(self):
        slow = scaled(measured(), 0.5, PRODUCTS[0])
        for passes in ((slow, measured()), (measured(), slow)):
            verdict = self.compare(*passes)
            self.assertEqual(verdict.failures, [])
            self.assertEqual({m.product for m in verdict.warnings}, {PRODUCTS[0]})
            self.assertIn("slower in one pass only", "\n".join(compare.explain(verdict)))

    def test_different_products_slow_in_each_pass_pass(self):
        verdict = self.compare(scaled(measured(), 0.5, PRODUCTS[0]), scaled(measured(), 0.5, PRODUCTS[2]))
        self.assertEqual(verdict.failures, [])

    def test_tolerance_is_ten_percent(self):
        for factor, failing in ((0.901, False), (0.899, True)):
            changed = scaled(measured(), factor)
            self.assertEqual(bool(self.compare(changed, changed).failures), failing, factor)

    def test_far_ahead_is_far_ahead(self):
        # A peer that stumbled when the baseline was taken: only below twice its speed is a loss.
        self.baseline["ratios"][PRODUCTS[0]]["openblas"] = 8.4
        for now, failing in ((3.2, False), (1.81, False), (1.79, True), (0.5, True)):
            changed = scaled(measured(), 0.94, PRODUCTS[0])  # no witness of Volta's speed
            changed["ratios"][PRODUCTS[0]]["openblas"] = now
            verdict = self.compare(changed, changed)
            self.assertEqual(len(verdict.failures), failing, now)
            self.assertEqual(verdict.warnings + verdict.gains + verdict.peers, [])

    def test_noise_within_the_tolerance_passes(self):
        rng = random.Random(1)
        for _ in range(200):
            noisy = [scaled(measured(), 1.0) for _ in range(2)]
            for one in noisy:
                for ratios in one["ratios"].values():
                    for peer in ratios:
                        ratios[peer] *= rng.uniform(0.91, 1.2)
            self.assertEqual(self.compare(*noisy).failures, [])

    def test_a_peer_that_became_faster_fails_nothing(self):
        for peers in (["openblas"], ["openblas", "best plain", "best of all"]):
            faster = measured()
            for peer in peers:
                faster = scaled(faster, 0.8, PRODUCTS[1], peer)
            verdict = self.compare(faster, faster)
            self.assertEqual(verdict.failures, [])
            self.assertEqual({m.peer for m in verdict.peers}, set(peers))
            text = "\n".join(compare.explain(verdict))
            self.assertIn("nn 256,1152,384: a peer became faster, Volta did not become slower", text)
            self.assertNotIn("slower in every pass", text)

    def test_others_that_fell_less_do_not_excuse(self):
        for others, failing in ((0.96, False), (0.94, True)):
            slow = scaled(scaled(measured(), others, PRODUCTS[1]), 0.8, PRODUCTS[1], "openblas")
            self.assertEqual(bool(self.compare(slow, slow).failures), failing, others)

    def test_others_that_are_far_ahead_say_nothing(self):
        for product in self.baseline["ratios"].values():
            product["onednn"] = product["eigen"] = 3.0
        slow = scaled(self.baseline, 0.8)  # still beyond MOST beside both
        self.assertEqual({m.peer for m in self.compare(slow, slow).failures},
                         set(PEERS) - {"onednn", "eigen"})

    def test_others_called_in_another_way_say_nothing(self):
        slow = scaled(measured(), 0.8, PRODUCTS[1], "onednn packed")
        verdict = self.compare(slow, slow)
        self.assertEqual([m.peer for m in verdict.failures], ["onednn packed"])
        self.assertIn("only against onednn packed, with too few others", "\n".join(compare.explain(verdict)))

    def test_one_witness_is_too_few(self):
        for product in self.baseline["ratios"].values():
            del product["eigen"]
        slow = scaled(self.baseline, 0.8, PRODUCTS[1], "openblas")
        self.assertEqual([m.peer for m in self.compare(slow, slow).failures], ["openblas"])

    def test_packed_peers_point_at_packed_weights(self):
        self.baseline["ratios"][PRODUCTS[0]]["libxsmm packed"] = 1.0
        slow = scaled(scaled(self.baseline, 0.8, PRODUCTS[0], "onednn packed"), 0.8, PRODUCTS[0], "libxsmm packed")
        self.assertIn("Volta with packed weights became slower", "\n".join(compare.explain(self.compare(slow, slow))))

    def test_faster_is_told_and_passes(self):
        fast = scaled(measured(), 1.3, PRODUCTS[3])
        verdict = self.compare(fast, fast)
        self.assertEqual(verdict.failures, [])
        self.assertEqual({m.product for m in verdict.gains}, {PRODUCTS[3]})

    def test_missing_product_is_told(self):
        lacking = measured()
        del lacking["ratios"][PRODUCTS[0]]
        verdict = self.compare(measured(), lacking)
        self.assertEqual(verdict.failures, [])
        self.assertEqual(verdict.notes, ["nn 64,64,64: in the baseline, not measured"])
        self.assertEqual(verdict.compared, (len(PRODUCTS) - 1) * len(PEERS))

    def test_new_product_is_told(self):
        more = measured()
        more["ratios"]["nn 8,8,8"] = {"openblas": 1.0}
        self.assertEqual(self.compare(more, more).notes, ["nn 8,8,8: not in the baseline"])

    def test_another_version_of_a_peer_is_not_compared(self):
        other = scaled(measured(), 0.5, peer="openblas")
        other["peers"]["openblas"] = "0.3.26"
        verdict = self.compare(other, other)
        self.assertEqual(verdict.failures, [])
        self.assertIn("openblas: the baseline was measured with 0.3.21, found 0.3.26", verdict.notes[0])
        # Nor are the ratios to the fastest, which may be that peer; the others are.
        self.assertEqual(verdict.compared, len(PRODUCTS) * 3)

    def test_missing_peer_is_not_compared(self):
        other = measured()
        del other["peers"]["onednn"]
        for ratios in other["ratios"].values():
            del ratios["onednn"], ratios["onednn packed"]
        verdict = self.compare(other, other)
        self.assertEqual((verdict.failures, len(verdict.notes)), ([], 1))
        self.assertIn("found none", verdict.notes[0])

    def test_not_a_number_fails(self):
        # Whatever the others say.
        broken = scaled(measured(), float("nan"), PRODUCTS[0], "openblas")
        self.assertEqual(len(self.compare(broken, broken).failures), 1)

    def test_merge_takes_the_lower_quartile(self):
        for factors in ((0.4, 1.0, 1.2, 3.0), (3.0, 1.2, 0.4, 1.0), (1.0, 1.3), (1.3, 1.0), (1.0,)):
            self.assertEqual(compare.merge([scaled(measured(), f) for f in factors]), measured(), factors)

    def test_what_the_baseline_was_made_of_passes_against_it(self):
        # Two states of the cores, in any order of passes.
        near, far = scaled(measured(), 1.0), scaled(measured(), 0.8, PRODUCTS[2])
        for passes in ((near, far, far, near), (far, far, near, near), (far, near, far, near)):
            self.baseline = compare.merge(passes)
            for pair in ((near, near), (near, far), (far, far)):
                self.assertEqual(self.compare(*pair).failures, [])


class JudgeTest(unittest.TestCase):
    def judge(self, classes, passes):
        lines = []
        return perf_check.judge(classes, passes, lines.append), "\n".join(lines)

    def test_unknown_machine_passes_with_a_message(self):
        good, text = self.judge({"GenuineIntel/6/207 avx512 2": measured()}, [{KEY: measured()}] * 2)
        self.assertTrue(good)
        self.assertIn("no baseline for this class of machine", text)

    def test_regression_on_a_known_machine_fails(self):
        slow = {KEY: scaled(measured(), 0.5)}
        good, text = self.judge({KEY: measured()}, [slow, slow])
        self.assertFalse(good)
        self.assertIn("24 failed", text)

    def test_one_bad_class_of_two_fails(self):
        other = KEY.replace(" 2", " 1")
        slow = {KEY: measured(), other: scaled(measured(), 0.5)}
        for order in (slow, dict(reversed(slow.items()))):
            self.assertFalse(self.judge({KEY: measured(), other: measured()}, [order, order])[0])

    def test_baseline_survives_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "baseline.json")
            self.assertEqual(perf_check.read_baseline(path), {})
            perf_check.write_baseline(path, {KEY: measured()})
            self.assertEqual(perf_check.read_baseline(path), {KEY: measured()})
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"format": 2}, file)
            with self.assertRaisesRegex(ValueError, "format 2"):
                perf_check.read_baseline(path)

    def test_the_baseline_of_the_project_is_readable(self):
        path = os.path.join(ROOT, "bench", "baseline.json")
        for key, one in perf_check.read_baseline(path).items():
            self.assertEqual(len(key.split()), 3, key)
            self.assertEqual(compare.compare(one, [one, one]).failures, [])


if __name__ == "__main__":
    unittest.main()
