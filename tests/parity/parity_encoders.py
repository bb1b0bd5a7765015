#!/usr/bin/env python3
"""Encoders as transformers writes them, with every head, against transformers: small random models, loaded from
their folders in f32 and in shards of bf16.

    tests/parity/parity_encoders.py [--only NAME] [--prompts 200]

    tests/parity/parity_encoders.py --golden tests/golden/encoders.txt

writes what tests/api/test_import_encoders.cpp compares with everywhere, as parity_decoders.py does.

Of each: the largest difference of the outputs of random texts, relative to the largest output, at most 1e-5.

Exit status: 0 equal, 1 different, 77 no transformers, or no NumPy.
"""

import argparse
import sys
import tempfile

from parity_decoders import np, rewritten, torch, transformers, volta

VOCABULARY = 97
SMALL = dict(vocab_size=VOCABULARY, hidden_size=48, intermediate_size=80, num_hidden_layers=3, num_attention_heads=4,
             max_position_embeddings=64, num_labels=5)
ROBERTA = dict(SMALL, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5)
DISTIL = dict(vocab_size=VOCABULARY, dim=48, hidden_dim=80, n_layers=3, n_heads=4, max_position_embeddings=64,
              num_labels=5)
KINDS = {"Bert": SMALL, "Roberta": ROBERTA, "XLMRoberta": ROBERTA, "DistilBert": DISTIL}
HEADS = ("MaskedLM", "SequenceClassification", "TokenClassification", "QuestionAnswering", None)


def outputs_of(model, tokens, head):
    with torch.no_grad():
        result = model(torch.from_numpy(tokens).long())
    if head == "QuestionAnswering":
        return torch.stack((result.start_logits, result.end_logits), -1).numpy()
    if head is None:
        pooled = getattr(result, "pooler_output", None)
        return (result.last_hidden_state if pooled is None else pooled).numpy()
    return result.logits.numpy()


def compare(kind, head, prompts, report):
    program = getattr(transformers, kind + (f"For{head}" if head else "Model"))
    settings = dict(KINDS[kind], **({"num_labels": 2} if head == "QuestionAnswering" else {}))
    worst = 0.0
    for dtype, size in ((torch.float32, "1GB"), (torch.bfloat16, "30KB")):
        torch.manual_seed(len(kind) + len(head or ""))
        model = program(getattr(transformers, kind + "Config")(**settings))
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.2) if parameter.dim() == 1 else parameter.mul_(6)
        with tempfile.TemporaryDirectory() as folder:
            model.to(dtype).save_pretrained(folder, max_shard_size=size)
            model = program.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
            with volta.Model.from_pretrained(folder) as ours:
                random = np.random.default_rng(1)
                for _ in range(prompts):
                    tokens = random.integers(2, VOCABULARY, (2, int(random.integers(1, 31)))).astype(np.int32)
                    theirs = outputs_of(model, tokens, head)
                    got = volta.Session(ours, [tokens.shape]).run(tokens)
                    worst = max(worst, float(np.abs(got - theirs).max() / np.abs(theirs).max()))
    print(f"{program.__name__:40} {worst:.1e}")
    if not worst <= 1e-5:
        report.append(f"{program.__name__}: {worst:.2e}")


def write_golden(path):
    tokens = np.array([[3, 14, 15, 92, 65, 35, 89, 79, 32, 38, 46, 26, 43, 38, 32, 79]])
    with open(path, "w", encoding="utf-8") as file:
        file.write("tokens " + " ".join(map(str, tokens[0])) + "\n")
        for kind in KINDS:
            for head in HEADS:
                program = getattr(transformers, kind + (f"For{head}" if head else "Model"))
                settings = dict(KINDS[kind], num_hidden_layers=2, n_layers=2, **({"num_labels": 2} if head == "QuestionAnswering" else {}))
                settings.pop("num_hidden_layers" if kind == "DistilBert" else "n_layers")
                with tempfile.TemporaryDirectory() as folder:
                    model = program(getattr(transformers, kind + "Config")(**settings))
                    model.save_pretrained(folder)
                    model = rewritten(program.__name__, model, folder, file, offset=False)
                outputs = outputs_of(model, tokens, head)
                file.write("shape " + " ".join(map(str, outputs.shape)) + "\n")
                values = list(outputs.reshape(-1)[-16:]) + [np.abs(outputs).max()]
                file.write("outputs " + " ".join(f"{x:.9g}" for x in values) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="names that contain this")
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--golden", help="write this file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if arguments.golden:
        write_golden(arguments.golden)
        return 0
    report = []
    for kind in KINDS:
        for head in HEADS:
            if arguments.only is None or arguments.only in f"{kind}{head}":
                try:
                    compare(kind, head, arguments.prompts, report)
                except volta.Error as error:
                    report.append(f"{kind} {head}: {error}")
    for line in report:
        print(line, file=sys.stderr)
    return 1 if report else 0


if __name__ == "__main__":
    sys.exit(main())
