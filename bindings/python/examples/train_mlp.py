"""A two-layer classifier defined operator by operator: two interleaved spirals, trained with Adam, saved, loaded, and run in a
session. On arrays of the standard library; NumPy's are taken the same way.

    python train_mlp.py OUT.volta
"""

import array
import math
import sys

import volta

POINTS, HIDDEN, STEPS = 256, 32, 400


def spirals():
    """Point i of class i % 2 on a spiral arm of one and a half turns."""
    points, classes = array.array("f"), array.array("i")
    for i in range(POINTS):
        t = (i // 2) / (POINTS // 2)
        angle = 9.42 * t + 3.14159265 * (i % 2)
        points.extend((t * math.cos(angle), t * math.sin(angle)))
        classes.append(i % 2)
    return memoryview(points).cast("B").cast("f", (POINTS, 2)), classes


def define():
    graph = volta.Graph()
    x = graph.input("points", (-1, 2))  # any number of points
    h = graph.tanh(graph.linear("hidden1", x, HIDDEN))
    h = graph.relu(graph.linear("hidden2", h, HIDDEN))
    graph.output("logits", graph.linear("head", h, 2))
    return volta.Model.of(graph, seed=1)


def main(path):
    points, classes = spirals()
    trainer = volta.Trainer(define(), (POINTS, 2), loss="cross_entropy", optimizer="adam", learning_rate=0.01)
    for step in range(STEPS):
        report = trainer.step(points, classes)
        if step % 100 == 0:
            print(f"step {step + 1} loss {report['loss']:.6f}")
    print(f"step {STEPS} loss {report['loss']:.6f}")
    trainer.save(path)
    print("hash", trainer.hash)

    logits = volta.Session(volta.Model.open(path), (POINTS, 2)).run(points)
    right = sum((logits[i, 1] > logits[i, 0]) == classes[i] for i in range(POINTS))
    print(f"{right} of {POINTS} points right")
    return 0 if right > POINTS * 9 // 10 else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: train_mlp.py OUT.volta")
    sys.exit(main(sys.argv[1]))
