"""docs/benchmarks.md from results: one generated section and one chart per suite. No clock, no processes.

A result is {"suite", "machine", "rows" or "runs", ...}. A section stands between the comments bench:NAME:begin and
bench:NAME:end of the page; sections of suites that did not run stay as they are.
"""

import math
import statistics

import plot
import summary


def replace_section(page, name, body):
    """The page with `body` between the comments of section `name`."""
    begin, end = f"<!-- bench:{name}:begin -->", f"<!-- bench:{name}:end -->"
    head, found, rest = page.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the page has no section {name}")
    return f"{head}{begin}\n{body.strip()}\n{end}{tail}"


def table(titles, rows):
    """A Markdown table; every column but the first is right-aligned."""
    lines = ["| " + " | ".join(titles) + " |", "|---|" + "---:|" * (len(titles) - 1)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def number(value):
    """"-" without a value; else three significant digits or the whole part, never an exponent."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)):
        return str(value)
    decimals = 0 if isinstance(value, int) or abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{decimals}f}"


def threads_text(count):
    return f"{count} thread" + ("s" if count != 1 else "")


def machine_line(result):
    m = result["machine"]
    return (f"{m['cpu']} (class {m['class']}), {m['cores']} cores, {m['memory_gib']} GiB, {m['system']}, Linux "
            f"{m['kernel']}, {m['compiler']}; {m['date']}, load before the run {m['load']}.")


# ---- Products ------------------------------------------------------------------------------------------

def run_title(run):
    return f"{threads_text(run['threads'])}, {run['isa'].replace('avx', 'AVX-' if '512' in run['isa'] else 'AVX')}"


def contenders(run):
    """Those of any row, Volta first, in the order of their first appearance; packed after plain."""
    seen = dict.fromkeys(c for row in run["rows"] for c in row["ns"])
    return sorted(seen, key=lambda c: (summary.is_packed(c), c.split()[0] != summary.VOLTA))


def products_means(result):
    peers = dict.fromkeys(p for run in result["runs"] for p in summary.means(run["rows"]))
    rows = []
    for peer in sorted(peers, key=lambda p: (p.startswith("best"), summary.is_packed(p))):
        values = [summary.means(run["rows"]).get(peer) for run in result["runs"]]
        rows.append([peer] + [number(v) for v in values])
    return table(["Volta / peer"] + [run_title(run) for run in result["runs"]], rows)


def marked(best):
    if best is None:
        return "-"
    return f"**{best[1]:.2f}**" if best[1] < 1 else f"{best[1]:.2f}"


def products_table(run):
    names = contenders(run)
    rows = []
    for row in run["rows"]:
        best, plain = summary.best_peer(row, False), summary.best_peer(row, True)
        speeds = [number(summary.gflops(row, c)) if c in row["ns"] else "-" for c in names]
        rows.append([summary.row_name(row)] + speeds + [marked(plain), marked(best), best[0] if best else "-"])
    return table(["form m,n,k"] + names + ["/ best plain", "/ best of all", "fastest peer"], rows)


def products_section(result):
    s = result["settings"]
    parts = [machine_line(result),
             f"{s['repeats']} pass{'es' if s['repeats'] > 1 else ''} of {s['rounds']} rounds of {s['samples']} "
             f"batches of {s['batch_ms']:g} ms; peers wait {s['wait']}ly.".replace("defaultly", "as they like"),
             "", "Geometric mean of the ratios over the list; above 1 Volta is faster:", "", products_means(result)]
    for run in result["runs"]:
        peers = "; ".join(f"{name} {about['version']} ({about['detail']})" for name, about in run["peers"].items())
        skipped = "".join(f" {name} left out: {reason}." for name, reason in run["skipped"].items())
        below = len(summary.losses(run["rows"], 1.0))
        parts += ["", f"### {run_title(run)}", "", f"{peers}.{skipped}", "",
                  f"GFLOP/s; below the fastest peer (bold) on {below} of {len(run['rows'])} products.", "",
                  "<details><summary>Every product</summary>", "", products_table(run), "", "</details>"]
    return "\n".join(parts)


def products_chart(result):
    series = [threads_text(t) for t in dict.fromkeys(run["threads"] for run in result["runs"])]
    panels = []
    for isa in dict.fromkeys(run["isa"] for run in result["runs"]):
        rows = {}
        for run in result["runs"]:
            if run["isa"] != isa:
                continue
            for row in run["rows"]:
                best = summary.best_peer(row, False)
                rows.setdefault(summary.row_name(row), {})[threads_text(run["threads"])] = best and best[1]
        panels.append((isa.upper(), list(rows.items())))
    return plot.chart("Products: speed of Volta / speed of the fastest peer, weights packed on both sides", panels,
                      series, "Volta / fastest peer", reference=1.0, logarithmic=True, limits=(0.5, 2.0),
                      style="dots", note="right of the line: Volta is faster; hollow: beyond the edge")


# ---- Suites that are a list of rows ----------------------------------------------------------------------

def rows_section(result, fields):
    """Rows as a table of those fields [(key, title)] that have a value somewhere."""
    rows = result["rows"]
    shown = [(key, title) for key, title in fields if any(row.get(key) is not None for row in rows)]
    body = [[number(row.get(key)) for key, _ in shown] for row in rows]
    return machine_line(result) + "\n\n" + table([title for _, title in shown], body)


MATMUL = [("form", "form"), ("m", "m"), ("n", "n"), ("k", "k"), ("mode", "mode"), ("cold", "cold"),
          ("threads", "threads"), ("isa", "isa"), ("median_gflops", "GFLOP/s"), ("spread", "spread"),
          ("fraction_of_peak", "of the peak")]
TRAIN = [("model", "model"), ("optimizer", "optimizer"), ("batch", "batch"), ("seq", "seq"), ("vocab", "vocab"),
         ("parameters", "parameters"), ("threads", "threads"), ("isa", "isa"), ("median_ms", "ms"),
         ("spread", "spread"), ("per_second", "per s"), ("bound_ms", "bound ms"), ("ratio_to_bound", "/ bound"),
         ("peak_gflops", "peak GFLOP/s"), ("stream_gb_s", "stream GB/s"), ("bill_mib", "bill MiB"),
         ("resident_mib", "resident MiB")]
TRAIN_PEERS = [("model", "model"), ("task", "task"), ("optimizer", "optimizer"), ("batch", "batch"),
               ("threads", "threads"), ("isa", "isa"), ("volta_ms", "Volta ms"), ("torch_ms", "PyTorch ms"),
               ("ratio", "ratio"), ("ratio_of_bests", "of the bests"), ("bound_ms", "bound ms"),
               ("ratio_to_bound", "/ bound"), ("torch", "PyTorch")]
INFER_PEERS = [("model", "model"), ("task", "task"), ("threads", "threads"), ("isa", "isa"), ("side", "side"), ("ms", "ms"),
               ("spread", "spread"), ("to_volta_f32", "/ Volta f32"), ("bound_ms", "bound ms"),
               ("ratio_to_bound", "/ bound"), ("version", "version")]
OPS = [("op", "operator"), ("shape", "shape"), ("threads", "threads"), ("isa", "isa"), ("median_us", "us"),
       ("spread", "spread"), ("rate", "rate"), ("unit", "unit"), ("fraction_of_peak", "of the peak")]
OPS_PEERS = [("op", "operator"), ("shape", "shape"), ("threads", "threads"), ("isa", "isa"), ("volta_us", "Volta us"),
             ("torch_us", "PyTorch us"), ("ratio", "ratio"), ("rate", "rate"), ("unit", "unit"),
             ("fraction_of_peak", "of the peak"), ("torch", "PyTorch")]
CONV_PEERS = [("network", "network"), ("layer", "layer"), ("batch", "batch"), ("pass", "pass"), ("threads", "threads"),
              ("isa", "isa"), ("volta_us", "Volta us"), ("torch_us", "PyTorch us"), ("onnxruntime_us", "ONNX Runtime us"),
              ("onednn_us", "oneDNN us"), ("ratio", "/ best"), ("fraction_of_bound", "of the bound")]
NETWORK_PEERS = [("network", "network"), ("task", "task"), ("batch", "batch"), ("side", "side"), ("threads", "threads"),
                 ("isa", "isa"), ("volta_ms", "Volta ms"), ("volta_spread", "spread"), ("torch_ms", "PyTorch ms"),
                 ("onnxruntime_ms", "ONNX Runtime ms"), ("ratio", "ratio"), ("peers", "peers")]
ONNX_PEERS = [("model", "model"), ("task", "task"), ("threads", "threads"), ("volta_ms", "Volta ms"), ("peer_ms", "peer ms"),
              ("ratio", "ratio"), ("spread", "spread"), ("difference_ppm", "difference, millionths"), ("peers", "peer")]
OVERHEAD_PEERS = [("language", "binding"), ("c_ns", "C ns"), ("own_ns", "binding ns"), ("cost_ns", "cost ns"), ("least_ns", "least"),
                  ("limit_ns", "limit ns"), ("within", "within")]
MEMORY = [("preset", "preset"), ("batch", "batch"), ("seq", "seq"), ("vocab", "vocab"), ("threads", "threads"),
          ("bill_mib", "bill MiB"), ("resident_mib", "resident MiB")]


def label(row, keys):
    words = [str(row[key]) for key in keys if row.get(key) not in (None, "", False)]
    return " ".join(words)


def rows_chart(result, title, keys, value, unit, reference=None, mode=None):
    """Bars: one row per label, one series per thread count (and mode, where rows have one)."""
    series, rows = {}, {}
    for row in result["rows"]:
        name = " ".join([threads_text(row["threads"])] if "threads" in row else ["all threads"])
        if mode and mode in row:
            name += f", {row[mode]}"
        series[name] = True
        if row.get(value) is not None:
            rows.setdefault(label(row, keys), {})[name] = row[value]
    return plot.chart(title, [("", list(rows.items()))], list(series), unit, reference=reference)


def _shape_of(result):
    """matmul's rows with their extents as one label."""
    rows = [dict(row, shape=f"{row.get('form', 'nn')} {row['m']},{row['n']},{row['k']}") for row in result["rows"]]
    return dict(result, rows=rows)


# ---- Convolutions ----------------------------------------------------------------------------------------

def conv_kind(row):
    return "depthwise" if not row["layer"].endswith("x1") else "dense"


def conv_means(rows):
    """(title, geometric mean, least, count) of the ratios by kind, pass, batch and threads."""
    groups = {}
    for row in rows:
        if row.get("ratio"):
            key = (conv_kind(row), row["pass"], row["batch"], row["threads"])
            groups.setdefault(key, []).append(row["ratio"])
    return [[*map(str, key), number(math.exp(statistics.fmean(map(math.log, ratios)))), number(min(ratios)),
             number(len(ratios))] for key, ratios in groups.items()]


def conv_section(result):
    rows = result["rows"]
    peers = "; ".join(dict.fromkeys(row["peers"] for row in rows if row.get("peers")))
    return "\n".join([machine_line(result), "", f"{peers}.", "",
                      "Geometric mean and least of the best peer's time over Volta's; above 1 Volta is faster:", "",
                      table(["kind", "pass", "batch", "threads", "mean", "least", "layers"], conv_means(rows)), "",
                      "<details><summary>Every convolution</summary>", "",
                      table([title for _, title in CONV_PEERS],
                            [[number(row.get(key)) for key, _ in CONV_PEERS] for row in rows]), "", "</details>"])


def conv_chart(result):
    """A panel per pass: a row per kind, batch and thread count of Volta's speed over the best peer's."""
    rows = [dict(row, kind=conv_kind(row)) for row in result["rows"] if row.get("ratio")]
    panels = []
    for which in dict.fromkeys(row["pass"] for row in rows):
        lines = {}
        for row in rows:
            if row["pass"] == which:
                name = f"{row['layer']} n {row['batch']}"
                lines.setdefault(name, {})[threads_text(row["threads"])] = row["ratio"]
        panels.append((which, list(lines.items())))
    series = [threads_text(t) for t in dict.fromkeys(row["threads"] for row in rows)]
    return plot.chart("Convolutions: speed of Volta / speed of the fastest peer", panels, series,
                      "Volta / fastest peer", reference=1.0, logarithmic=True, limits=(0.25, 4.0), style="dots",
                      note="right of the line: Volta is faster; hollow: beyond the edge")


def onnx_section(result):
    """The table, and of the runs the mean by threads."""
    rows = [dict(row, difference_ppm=None if row.get("difference") is None else 1e6 * row["difference"])
            for row in result["rows"]]
    ratios = {}
    for row in rows:
        if row["task"] == "run" and row.get("ratio"):
            ratios.setdefault(row["threads"], []).append(row["ratio"])
    means = [[str(threads), number(math.exp(statistics.fmean(map(math.log, of)))), number(min(of)), number(len(of))]
             for threads, of in ratios.items()]
    return "\n".join(["Geometric mean and least of ONNX Runtime's time over Volta's, of the runs; above 1 Volta is faster:", "",
                      table(["threads", "mean", "least", "models"], means), "",
                      rows_section(dict(result, rows=rows), ONNX_PEERS)])


# suite -> (section, chart): functions of the result.
SUITES = {
    "products": (products_section, products_chart),
    "matmul": (lambda r: rows_section(r, MATMUL),
               lambda r: rows_chart(_shape_of(r), "Products: fraction of the machine's measured peak", ["shape"],
                                    "fraction_of_peak", "fraction of the multiply-add peak", 1.0, "mode")),
    "train": (lambda r: rows_section(r, TRAIN),
              lambda r: rows_chart(r, "Training step: time over the roofline bound", ["model", "optimizer", "batch"],
                                   "ratio_to_bound", "time / bound", 1.0)),
    "train_peers": (lambda r: rows_section(r, TRAIN_PEERS),
                    lambda r: rows_chart(r, "Training and inference steps: speed of Volta / speed of PyTorch",
                                         ["model", "task", "optimizer", "batch"], "ratio", "Volta / PyTorch", 1.0)),
    "infer_peers": (lambda r: rows_section(r, INFER_PEERS),
                    lambda r: rows_chart(r, "A token and a prompt of 256: time over the roofline bound", ["model", "task", "side"],
                                         "ratio_to_bound", "time / bound", 1.0)),
    "ops": (lambda r: rows_section(r, OPS),
            lambda r: rows_chart(r, "Operators: fraction of the machine's measured peak", ["op", "shape"],
                                 "fraction_of_peak", "fraction of the peak", 1.0)),
    "ops_peers": (lambda r: rows_section(r, OPS_PEERS),
                  lambda r: rows_chart(r, "Operators: speed of Volta / speed of PyTorch", ["op", "shape"], "ratio",
                                       "Volta / PyTorch", 1.0)),
    "conv_peers": (conv_section, conv_chart),
    "network_peers": (lambda r: rows_section(r, NETWORK_PEERS),
                      lambda r: rows_chart(r, "Networks of pictures: speed of Volta / speed of the fastest peer",
                                           ["network", "task", "batch"], "ratio", "Volta / fastest peer", 1.0)),
    "onnx_peers": (onnx_section,
                   lambda r: rows_chart(dict(r, rows=[row for row in r["rows"] if row["task"] == "run"]),
                                        "ONNX files: speed of Volta / speed of ONNX Runtime", ["model"], "ratio",
                                        "Volta / ONNX Runtime", 1.0)),
    "overhead_peers": (lambda r: rows_section(r, OVERHEAD_PEERS),
                       lambda r: rows_chart(r, "What a run costs over C", ["language"], "cost_ns", "ns")),
    "memory": (lambda r: rows_section(r, MEMORY),
               lambda r: rows_chart(r, "Memory of a training step", ["preset"], "resident_mib", "resident MiB")),
}
