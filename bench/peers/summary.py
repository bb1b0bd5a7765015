"""From times to ratios. No clock, no processes: what the driver, the report and `make perf-check` agree on.

A row is one product; row["ns"] maps a contender ("volta", "onednn packed", ...) to its times of one call in ns, one
list per repeat of the whole suite. Volta's plain times meet plain peers, its packed times packed peers.
"""

import math
import statistics

VOLTA = "volta"


def row_name(row):
    """"nn 256,1152,384": as shapes.name writes it."""
    return f"{row['form']} {row['m']},{row['n']},{row['k']}"


def is_packed(contender):
    return contender.endswith(" packed")


def rival_of(contender):
    """Volta in the mode of this peer."""
    return VOLTA + " packed" if is_packed(contender) else VOLTA


def time_ns(row, contender):
    """Median over the repeats of each repeat's median."""
    return statistics.median(statistics.median(repeat) for repeat in row["ns"][contender])


def gflops(row, contender):
    return 2.0 * row["m"] * row["n"] * row["k"] / time_ns(row, contender)


def spread(row, contender):
    """Interquartile range over the median, of all times."""
    times = [t for repeat in row["ns"][contender] for t in repeat]
    if len(times) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    return (high - low) / middle


def peers_of(row):
    return [c for c in row["ns"] if c not in (VOLTA, VOLTA + " packed")]


def ratio(row, peer, rival=None):
    """Speed of Volta over speed of the peer: the median over the repeats. None where Volta has no such mode."""
    rival = rival or rival_of(peer)
    if rival not in row["ns"]:
        return None
    pairs = zip(row["ns"][peer], row["ns"][rival])
    return statistics.median(statistics.median(theirs) / statistics.median(ours) for theirs, ours in pairs)


def best_peer(row, plain_only):
    """(name, ratio) of the fastest peer: among those called plainly, against Volta plain; among all, against Volta
    packed, or plain where the product has no weight to pack. None without peers."""
    rivals = [p for p in peers_of(row) if not (plain_only and is_packed(p))]
    if not rivals:
        return None
    fastest = min(rivals, key=lambda p: time_ns(row, p))
    packed = VOLTA + " packed"
    rival = packed if not plain_only and packed in row["ns"] else VOLTA
    return fastest, ratio(row, fastest, rival)


def row_ratios(row):
    """Every ratio of a row that is worth keeping: one per peer, and the two against the fastest."""
    ratios = {peer: ratio(row, peer) for peer in peers_of(row)}
    for key, plain_only in (("best plain", True), ("best of all", False)):
        best = best_peer(row, plain_only)
        if best:
            ratios[key] = best[1]
    return {peer: r for peer, r in ratios.items() if r is not None}


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def means(rows):
    """{peer: geometric mean of its ratios over the rows that it took part in}."""
    collected = {}
    for row in rows:
        for peer, value in row_ratios(row).items():
            collected.setdefault(peer, []).append(value)
    return {peer: geometric_mean(values) for peer, values in collected.items()}


def losses(rows, limit, plain_only=False):
    """[(row, fastest peer, ratio)] where Volta is below `limit` of the fastest, worst first."""
    found = []
    for row in rows:
        best = best_peer(row, plain_only)
        if best and best[1] < limit:
            found.append((row, *best))
    return sorted(found, key=lambda item: item[2])
