#!/usr/bin/env python3
"""A peer of tests/bench/test_driver.py: speaks the protocol of bench/peers/peer.h and answers fixed times.

What it does is in FAKE_<NAME>, the name being that of the program: "2000" answers that many ns; "wrong" computes
something else; "refuse" does not start; "die" ends at the second product; "spin" never sleeps.
"""

import json
import os
import sys
import threading


def main():
    behaviour = os.environ.get("FAKE_" + os.path.basename(sys.argv[0])[len("peer_"):].split("_")[0].upper(), "1000")
    if behaviour == "refuse":
        print(json.dumps({"error": "no such processor"}))
        return 1
    print(json.dumps({"version": "1.0", "detail": "fake " + " ".join(sys.argv[1:])}), flush=True)
    loaded = 0
    for line in sys.stdin:
        words = line.split()
        if words[0] == "load":
            loaded += 1
            if behaviour == "die" and loaded == 2:
                os._exit(3)
            if behaviour == "spin":
                threading.Thread(target=spin, daemon=True).start()
            check = {"error": 1e-7, "wrong": "element (0, 0) is 2, should be 1"} if behaviour == "wrong" else \
                    {"error": 1e-7}
            modes = ["plain"] if words[4] == "tn" else ["plain", "packed"]
            answer = {"modes": {mode: check for mode in modes}}
        else:
            ns = float(behaviour) if behaviour.isdigit() else 1000.0
            answer = {"calls": 1, "ns": [ns] * int(words[2])}
        print(json.dumps(answer), flush=True)
    return 0


def spin():
    while True:
        pass


if __name__ == "__main__":
    sys.exit(main())
