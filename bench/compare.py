"""The rules of `make perf-check`: which ratios fell, by how much, and what that says. No clock, no processes.

A measurement is {"peers": {peer: version}, "ratios": {product: {peer: Volta / peer}}} for one machine class, thread
count and instruction set. Ratios are compared, never times: they hold from one day and one neighbour to the next.
A ratio fails when it is more than TOLERANCE below the baseline in every pass; one beyond MOST counts as MOST.

Volta's time is in the ratios to all peers: if it grows, all of them fall. A ratio that falls while those to the other
peers stand, in the same pass and called in the same way, says that its peer has become faster here: its threads may
wait in another way than when the baseline was taken. That is told, and fails nothing.
"""

import math
import statistics
from collections import namedtuple

TOLERANCE = 0.10
# How far beyond it a ratio lies says how the peer's threads wait for each other here and now, which can change by
# five times from one pass to the next, and not how fast Volta is.
MOST = 2.0

# How many other peers it takes to say that Volta has not become slower.
WITNESSES = 2

# change: now / baseline - 1, of the better pass. failed: below the tolerance in every pass.
Moved = namedtuple("Moved", "product peer baseline passes change failed")

# failures, warnings, peers (that became faster) and gains: one Moved each. notes: what could not be compared.
Verdict = namedtuple("Verdict", "failures warnings peers gains notes compared")


def class_key(machine_class, isa, threads):
    """"AuthenticAMD/25/17 avx512 2": one set of ratios of the baseline."""
    return f"{machine_class} {isa} {threads}"


def measurement(run, row_ratios, name):
    """A driver's run as a measurement; row_ratios and name turn a row into its ratios and its name."""
    return {"peers": {peer: about["version"] for peer, about in run["peers"].items() if peer != "volta"},
            "ratios": {name(row): {peer: round(value, 4) for peer, value in row_ratios(row).items()}
                       for row in run["rows"]}}


def merge(measurements):
    """The baseline that several passes give: the lower quartile of each product's ratio to each peer.

    The same code gives other ratios to the same peer from pass to pass, most of all where cores share a cache at one
    time and not at another. What the better of two passes is held to must be within what this code gave when it was
    as fast as it is: of four passes the second lowest, so that one bad spell does not lower the bar.
    """
    collected = {}
    for one in measurements:
        for product, ratios in one["ratios"].items():
            for peer, value in ratios.items():
                collected.setdefault(product, {}).setdefault(peer, []).append(value)
    ratios = {product: {peer: round(_lower_quartile(values), 4) for peer, values in peers.items()}
              for product, peers in collected.items()}
    return {"peers": dict(measurements[0]["peers"]), "ratios": ratios}


def _lower_quartile(values):
    return sorted(values)[len(values) // 4]


def compare(baseline, passes, tolerance=TOLERANCE):
    """Verdict on the passes (at least one) against the baseline's measurement."""
    notes, skipped = _version_notes(baseline, passes)
    failures, warnings, peers, gains, compared = [], [], [], [], 0
    for product, ratios in sorted(baseline["ratios"].items()):
        if any(product not in one["ratios"] for one in passes):
            notes.append(f"{product}: in the baseline, not measured")
            continue
        fell = []
        for peer, before in sorted(ratios.items()):
            if peer.split()[0] in skipped or (skipped and peer.startswith("best ")):
                continue
            now = [one["ratios"][product].get(peer) for one in passes]
            if None in now:
                notes.append(f"{product}: no ratio to {peer}")
                continue
            compared += 1
            before = min(before, MOST)
            moved = _moved(product, peer, before, [min(value, MOST) for value in now], tolerance)
            if moved.failed:
                fell.append(moved)
            elif min(moved.passes) < before * (1 - tolerance):
                warnings.append(moved)
            elif min(moved.passes) > before * (1 + tolerance):
                gains.append(moved)
        for moved in fell:
            others = _others(moved.peer, ratios, skipped)
            (peers if _peer_alone(moved, others, ratios, passes, tolerance) else failures).append(moved)
    for product in sorted(set().union(*(one["ratios"] for one in passes)) - set(baseline["ratios"])):
        notes.append(f"{product}: not in the baseline")
    return Verdict(failures, warnings, peers, gains, notes, compared)


def _mode(peer):
    return "packed" if peer.endswith(" packed") else "plain"


def _others(peer, ratios, skipped):
    """The peers that ran what `peer` ran; for the ratio to the fastest all of those among whom it is."""
    everyone = [p for p in ratios if not p.startswith("best ") and p.split()[0] not in skipped and p != peer]
    return everyone if peer == "best of all" else [p for p in everyone if _mode(p) == _mode(peer)]


def _peer_alone(moved, others, before, passes, tolerance):
    """True if in one of the passes most of the other peers stand where they stood beside Volta."""
    if not all(math.isfinite(value) for value in moved.passes):
        return False
    for one in passes:
        # One beyond MOST says nothing: it may have fallen from anywhere.
        now = {p: one["ratios"][moved.product].get(p, math.nan) for p in others}
        changes = [now[p] / min(before[p], MOST) - 1 for p in others if now[p] < MOST]
        if len(changes) >= WITNESSES and statistics.median(changes) >= -tolerance / 2:
            return True
    return False


def _moved(product, peer, before, now, tolerance):
    # NaN is below nothing: a ratio that is no number must not pass for that.
    failed = all(not value >= before * (1 - tolerance) for value in now)
    finite = [value for value in now if math.isfinite(value)]
    return Moved(product, peer, before, tuple(now), max(finite, default=0.0) / before - 1, failed)


def _version_notes(baseline, passes):
    """Peers whose ratios mean something else than they did: another version, or not there."""
    notes, skipped = [], set()
    for peer, version in sorted(baseline["peers"].items()):
        versions = {one["peers"].get(peer) for one in passes}
        if versions != {version}:
            skipped.add(peer)
            found = ", ".join(sorted(v or "none" for v in versions))
            notes.append(f"{peer}: the baseline was measured with {version}, found {found}; not compared")
    return notes, skipped


def explain(verdict):
    """Lines for a person: one per product that moved, with what the pattern over its peers says."""
    lines = list(verdict.notes)
    for title, moved in (("slower in every pass", verdict.failures), ("slower in one pass only: noise",
                         verdict.warnings), ("a peer became faster, Volta did not become slower", verdict.peers),
                         ("faster in every pass", verdict.gains)):
        for product in dict.fromkeys(m.product for m in moved):
            mine = [m for m in moved if m.product == product]
            lines.append(f"{product}: {title}")
            lines += [f"    Volta / {m.peer}: {m.baseline:.2f} -> "
                      f"{', '.join(f'{p:.2f}' for p in m.passes)} ({m.change:+.0%})" for m in mine]
            if title == "slower in every pass":
                lines.append("    " + _diagnosis(mine))
    return lines


def _diagnosis(moved):
    peers = [m.peer for m in moved if not m.peer.startswith("best ")]
    if not peers:
        return "only against the fastest peer, which is another one than before"
    if len(peers) == 1:
        return f"only against {peers[0]}, with too few others beside it to say whether it became faster"
    modes = {peer.endswith(" packed") for peer in peers}
    mode = "" if len(modes) == 2 else (" with packed weights" if True in modes else " called plainly")
    return f"against {len(peers)} peers alike: Volta{mode} became slower on this product"
