"""Fine-tuning: weights of another program are imported, evaluated, trained further on a text, quantized and given back.

    python fine_tune.py WEIGHTS.safetensors TEXT OUT [STEPS]

writes OUT.volta, OUT.int8.volta and OUT.safetensors with OUT.json, which Hugging Face's GPT-2 reads. A config.json lies beside the
weights, and a tokenizer.json too, unless tokens are bytes.
"""

import sys

import volta


def main(weights, path, out, steps=100):
    # Import: architecture and sizes are what config.json says; weights become f32, exactly.
    model = volta.Model.load(weights)
    if model.tokenizer is None:
        model.tokenizer = volta.Tokenizer.bytes()

    # Data: nine tenths are trained on, one is kept to say whether that helped.
    with open(path, "rb") as file:
        tokens = model.tokenizer.encode(file.read())
    train = len(tokens) * 9 // 10
    kept = memoryview(tokens)[train:]
    before = model.evaluate_tokens(kept)

    # Train: what the tables of tokens and positions hold stays; the rest moves slowly.
    trainer = volta.Trainer(model, (8, 32), steps=steps, schedule="cosine", warmup_steps=steps // 10, learning_rate=1e-3, clip_norm=1,
                            frozen=["*embedding*"])
    trainer.set_tokens(memoryview(tokens)[:train])
    trainer.run(steps)
    trainer.update_model()
    after = model.evaluate_tokens(kept)
    model.save(f"{out}.volta")

    # Quantize: a model of its own, a quarter of the size.
    small = model.quantize("int8")
    quantized = small.evaluate_tokens(kept)
    small.save(f"{out}.int8.volta")
    print(f"loss on the last tenth: {before:.4f} imported, {after:.4f} fine-tuned, {quantized:.4f} in int8")

    # Export, under the names that the weights came with.
    model.export_safetensors(f"{out}.safetensors", names="hugging_face", config_path=f"{out}.json")
    print("hash", model.hash)
    return 0 if after < before and quantized < before else 1


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit("usage: fine_tune.py WEIGHTS.safetensors TEXT OUT [STEPS]")
    sys.exit(main(*sys.argv[1:4], *map(int, sys.argv[4:])))
