"""Training that is interrupted: half of the steps, a checkpoint, and the rest in another process give the bits of all steps in one. Run
it twice: the first call ends half-way, the second goes on.

    python resume.py TEXT CHECKPOINT.volta STEPS [END]    END: the step to end at now
"""

import os
import sys

import volta


def main(text, path, steps, end=None):
    with open(text, "rb") as file:
        tokens = volta.Tokenizer.bytes().encode(file.read())
    if os.path.exists(path):  # a checkpoint has all of it: moments, seed, step, place in the data, options
        trainer = volta.Trainer.resume(volta.Model.open(path))
        end = end or steps
    else:
        model = volta.Model.gpt(vocabulary=256, layers=2, dim=32, heads=2, context=32, dropout=0.1, seed=1)
        trainer = volta.Trainer(model, (4, 32), steps=steps, schedule="cosine", seed=7)
        end = end or steps // 2
    trainer.set_tokens(tokens)
    trainer.run(end - trainer.current_step)
    trainer.save(path)
    print(f"step {trainer.current_step} hash {trainer.hash}")


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5) or int(sys.argv[3]) < 2:
        sys.exit("usage: resume.py TEXT CHECKPOINT.volta STEPS [END]")
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
