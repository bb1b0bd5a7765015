"""The whole life cycle of a small GPT: define, train, save, load in a fresh context, generate.

    python train_gpt.py TEXT OUT.volta [STEPS]
"""

import sys

import volta


def train(text, path, steps):
    tokenizer = volta.Tokenizer.characters(text)
    model = volta.Model.gpt(vocabulary=len(tokenizer), layers=2, dim=64, heads=4, context=32, seed=1)
    model.tokenizer = tokenizer
    with volta.Trainer(model, [(8, 32)], steps=steps, schedule="cosine", learning_rate=3e-3, weight_decay=0.1,
                       clip_norm=1.0, seed=1) as trainer:
        trainer.set_tokens(tokenizer.encode(text))
        trainer.run(steps, progress=show)
        trainer.save(path)  # the model and everything to go on from here
        print("hash", trainer.hash)


def show(report):
    if report["step"] % 50 == 1:
        print(f"step {report['step']} loss {report['loss']:.4f}", file=sys.stderr)


def generate(path, prompt):
    with volta.Context() as context, volta.Model.open(path, ctx=context) as model:
        generator = volta.Generator(model, temperature=0.8, seed=1)
        print(prompt, end="")
        for piece in generator.stream(prompt):
            print(piece, end="", flush=True)
        print()


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: train_gpt.py TEXT OUT.volta [STEPS]")
    with open(sys.argv[1], encoding="utf-8") as file:
        whole = file.read()
    train(whole, sys.argv[2], int(sys.argv[3]) if len(sys.argv) == 4 else 200)
    generate(sys.argv[2], whole[:4])
