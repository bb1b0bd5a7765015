"""What the Python binding costs over C per run of a tiny model: overhead.py LOOP_LIBRARY ROUNDS RUNS. Two lines of JSON."""

import ctypes as c
import json
import sys
import time

import numpy

import volta


def main():
    path, rounds, runs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    loop = c.CDLL(path).volta_overhead
    loop.restype, loop.argtypes = c.c_double, [c.c_void_p, c.c_void_p, c.c_void_p, c.c_int64]
    context = volta.Context(threads=1)
    graph = volta.Graph(context)
    graph.output("y", graph.linear("fc", graph.input("x", (1, 4)), 4))
    session = volta.Session(volta.Model.of(graph, seed=1))
    x, y = volta.Tensor.zeros((1, 4), ctx=context), volta.Tensor.zeros((1, 4), ctx=context)
    array, out = numpy.ones((1, 4), numpy.float32), numpy.zeros((1, 4), numpy.float32)

    def new():
        for _ in range(runs):
            session.run(array)

    def given():
        for _ in range(runs):
            session.run(array, out=out)

    measured = {"Python, session.run(x)": (new, [], []), "Python, session.run(x, out=y)": (given, [], [])}
    for _ in range(rounds):
        for own, c_times, own_times in measured.values():
            c_times.append(loop(session, x, y, runs))
            begin = time.perf_counter_ns()
            own()
            own_times.append((time.perf_counter_ns() - begin) / runs)
    for name, (_, c_times, own_times) in measured.items():
        print(json.dumps({"language": name, "c": c_times, "own": own_times}))


if __name__ == "__main__":
    main()
