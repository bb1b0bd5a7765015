#!/usr/bin/env python3
"""Figures that pages quote stand in the tables of docs/benchmarks.md and docs/benchmarks_avx2.md."""

import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIDES = {"llama2.c, f32": "llama2.c", "PyTorch 2.13, f32": "PyTorch"}


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as page:
        return page.read()


def rows(text):
    """The rows of the first table of `text`, as dicts by the words of its head."""
    lines = re.search(r"^\|.*\n(?:\|.*\n)+", text, re.M).group().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(cells[0], row)) for row in cells[2:]]


def suite(page, name):
    return rows(re.search(rf"bench:{name}:begin.*?bench:{name}:end", read("docs", page), re.S).group())


def tokens(page):
    """Milliseconds of one token of 124m: by side, those of 1 thread and of 2."""
    found = {}
    for row in suite(page, "infer_peers"):
        if row["model"] == "124m" and row["task"] == "decode":
            found.setdefault(row["side"], []).append(float(row["ms"]))
    return found


class PagesTest(unittest.TestCase):
    def test_quantization_quotes_the_tables(self):
        quoted = rows(read("docs", "quantization.md").split("milliseconds per token", 1)[1])
        for row, page in zip(quoted, ("benchmarks.md", "benchmarks_avx2.md")):
            measured = tokens(page)
            for head, cell in list(row.items())[1:]:
                figures = [float(figure) for figure in cell.split("/")]
                for figure, ms in zip(figures, measured[SIDES.get(head, f"Volta {head}")]):
                    self.assertAlmostEqual(figure, ms, delta=0.06, msg=f"{page}: {head}")

    def test_readme_quotes_the_ratios(self):
        least, most = map(float, re.search(r"take ([0-9.]+) to ([0-9.]+) of PyTorch", read("README.md")).groups())
        ratios = [float(row["ratio"]) for row in suite("benchmarks.md", "train_peers") if row["ratio"] != "-"]
        self.assertAlmostEqual(least, 1 / max(ratios), delta=0.006)
        self.assertAlmostEqual(most, 1 / min(ratios), delta=0.006)


if __name__ == "__main__":
    unittest.main()
