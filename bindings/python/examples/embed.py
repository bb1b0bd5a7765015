"""Embeddings: a line of text in, a line of numbers out. Of any language model: the mean of its tokens' states, of length 1, so that
the product of two vectors says how alike their texts are.

    python embed.py MODEL.volta          reads standard input, writes standard output
"""

import array
import math
import sys

import volta

MOST_TOKENS = 512


class Embedder:
    def __init__(self, path):
        model = volta.Model.open(path)
        self._tokenizer, self._states = model.tokenizer, model.hidden_states()
        self._sessions = {}  # one for each length, made when a text first has it

    def __call__(self, text):
        tokens = memoryview(self._tokenizer.encode(text))[:MOST_TOKENS]  # the beginning of a long text
        count = len(tokens)
        if count not in self._sessions:
            self._sessions[count] = volta.Session(self._states, (1, count))
        hidden = self._sessions[count].run(tokens.cast("B").cast("i", (1, count)))
        sums = [sum(float(hidden[0, i, j]) for i in range(count)) for j in range(hidden.shape[2])]
        vector = [single(one / count) for one in sums]
        length = math.sqrt(sum(one * one for one in vector))
        return [single(one / length) for one in vector]


def single(number):
    """Rounded to what a float of C holds."""
    return array.array("f", [number])[0]


def main(path):
    embed = Embedder(path)
    for line in sys.stdin.buffer:
        text = line.rstrip(b"\n")
        try:
            print("error: an empty line" if not text else " ".join(f"{one:.6g}" for one in embed(text)), flush=True)
        except volta.Error as error:  # an answer, not the end
            print(f"error: {error}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: embed.py MODEL.volta")
    main(sys.argv[1])
