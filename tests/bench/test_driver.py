"""The driver over fake peers that answer fixed times: who is counted, who is left out and why. No clock."""

import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench", "peers")]

import machine  # noqa: E402
import perf_check  # noqa: E402
import processes  # noqa: E402
import run  # noqa: E402
import summary  # noqa: E402

LIST = "4x4x4,tn:4x4x4"


class DriverTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        for stack in (mock.patch.object(machine, "instruction_sets", lambda *_: ["avx512", "avx2"]),
                      contextlib.redirect_stdout(io.StringIO())):
            stack.__enter__()
            self.addCleanup(stack.__exit__, None, None, None)
        for name in ("volta", "openblas", "eigen_avx2"):
            shutil.copy(os.path.join(HERE, "fake_peer.py"), os.path.join(self.folder, f"peer_{name}"))

    def drive(self, *arguments, isa="avx2", **behaviours):
        """(status, messages, result)"""
        path = os.path.join(self.folder, "result.json")
        messages = io.StringIO()
        fakes = {f"FAKE_{name.upper()}": value for name, value in behaviours.items()}
        with mock.patch.dict(os.environ, fakes), contextlib.redirect_stderr(messages):
            status = run.main(["--programs", self.folder, "--shapes", LIST, "--threads", "1", "--isa", isa,
                               "--json", path, *arguments])
        result = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                result = json.load(file)
        return status, messages.getvalue(), result

    def test_busy_neighbours_compute_and_end_with_the_run(self):
        with processes.busy_neighbours(2) as neighbours:
            self.assertEqual(len(neighbours), 2)
            for pid in neighbours:
                with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                    self.assertNotIn(file.read().rpartition(")")[2].split()[0], "ZX")
        for pid in neighbours:
            self.assertFalse(os.path.exists(f"/proc/{pid}"))
        status, _, result = self.drive("--busy", "1", volta="1000", openblas="3000")
        self.assertEqual((status, result["settings"]["busy"]), (0, 1))

    def test_ratios(self):
        status, messages, result = self.drive("--rounds", "2", "--samples", "3", volta="1000", openblas="3000",
                                              eigen="500")
        self.assertEqual(status, 0)
        plain, transposed = result["runs"][0]["rows"]
        self.assertEqual(summary.row_ratios(plain)["openblas"], 3.0)
        self.assertEqual(summary.row_ratios(transposed), {"openblas": 3.0, "eigen": 0.5, "best plain": 0.5,
                                                          "best of all": 0.5})
        self.assertEqual([len(r) for r in plain["ns"]["openblas"]], [6])
        for absent in ("blis", "onednn", "libxsmm"):
            self.assertRegex(messages, f"{absent}: left out, not built: there is no .*, make build-bench-programs makes it "
                                       "where its library can be had")

    def test_repeats_are_kept_apart(self):
        result = self.drive("--repeats", "3", "--rounds", "1", "--samples", "1")[2]
        self.assertEqual(result["runs"][0]["rows"][0]["ns"]["volta"], [[1000.0]] * 3)

    def test_wrong_results_do_not_count(self):
        status, messages, result = self.drive(openblas="wrong")
        self.assertEqual(status, 0)
        self.assertIn("openblas plain, nn 4,4,4: not counted, element (0, 0) is 2", messages)
        self.assertNotIn("openblas", result["runs"][0]["rows"][0]["ns"])

    def test_wrong_volta_fails(self):
        status, messages, result = self.drive(volta="wrong")
        self.assertEqual((status, result), (1, None))
        self.assertIn("volta, nn 4,4,4: element (0, 0) is 2", messages)

    def test_peer_that_does_not_start_is_left_out(self):
        status, messages, result = self.drive(openblas="refuse")
        self.assertEqual((status, result["runs"][0]["skipped"]["openblas"]), (0, "no such processor"))

    def test_peer_that_dies_is_left_out_of_every_row(self):
        status, _, result = self.drive(openblas="die")
        self.assertEqual((status, result["runs"][0]["skipped"]["openblas"]), (0, "ended with status 3"))
        self.assertEqual([sorted(row["ns"]) for row in result["runs"][0]["rows"]],
                         [["eigen", "eigen packed", "volta", "volta packed"], ["eigen", "volta"]])

    def test_peer_that_spins_is_left_out(self):
        with mock.patch.object(processes.Peer._settle, "__defaults__", (0.2,)):
            status, _, result = self.drive(openblas="spin")
        self.assertEqual(status, 0)
        self.assertIn("do not sleep", result["runs"][0]["skipped"]["openblas"])

    def test_without_volta_it_fails(self):
        os.remove(os.path.join(self.folder, "peer_volta"))
        status, messages, _ = self.drive()
        self.assertEqual(status, 1)
        self.assertRegex(messages, "no Volta to compare with: not built: there is no .*/peer_volta, make "
                                   "build-bench-programs makes it\n")

    def test_peers_are_held_to_the_instruction_set(self):
        limited = processes.environment("avx2", 2, "Zen", "passive")
        self.assertEqual([limited[n] for n in ("ONEDNN_MAX_CPU_ISA", "LIBXSMM_TARGET", "OPENBLAS_CORETYPE",
                                               "OMP_NUM_THREADS", "OMP_WAIT_POLICY")],
                         ["AVX2", "hsw", "Zen", "2", "passive"])
        with mock.patch.dict(os.environ, {"OMP_WAIT_POLICY": "active"}):
            free = processes.environment("avx512", 1, "SkylakeX", "default")
        self.assertNotIn("ONEDNN_MAX_CPU_ISA", free)
        self.assertNotIn("OMP_WAIT_POLICY", free)

    def check(self, *arguments, **behaviours):
        path = os.path.join(self.folder, "baseline.json")
        fakes = {f"FAKE_{name.upper()}": value for name, value in behaviours.items()}
        with mock.patch.dict(os.environ, fakes), contextlib.redirect_stderr(io.StringIO()):
            return perf_check.main([*arguments, "--baseline", path, "--programs", self.folder, "--shapes", LIST,
                                    "--threads", "1", "--isa", "avx2", "--rounds", "1"])

    def test_perf_check_from_end_to_end(self):
        self.assertEqual(self.check(openblas="1100"), 0)                # no baseline: passes
        self.assertEqual(self.check("--update", openblas="1100"), 0)
        self.assertEqual(self.check(openblas="1100"), 0)
        self.assertEqual(self.check(volta="1050", openblas="1100"), 0)  # 5 %: within the tolerance
        self.assertEqual(self.check(volta="1200", openblas="1100"), 1)
        self.assertEqual(self.check(volta="refuse"), 1)


if __name__ == "__main__":
    unittest.main()
