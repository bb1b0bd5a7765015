# shellcheck shell=sh
# A GPT-2 whose tokens are bytes, with a tokenizer.json that says so.
python3 - <<'PY'
import json
shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
hidden = [byte for byte in range(256) if byte not in shown]
vocabulary = {chr(byte if byte in shown else 256 + hidden.index(byte)): byte for byte in range(256)}
json.dump({"model": {"type": "BPE", "vocab": vocabulary, "merges": []}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
           "decoder": {"type": "ByteLevel"}, "added_tokens": []}, open("tokenizer.json", "w", encoding="utf-8"))
PY
voltac train --text book.txt --tokenizer tokenizer.json --out bytes.volta --steps 20 --layers 1 --dim 32 --heads 2 --context 32 --batch 2 --warmup 1
voltac convert bytes.volta --out gpt2.safetensors --names huggingface --config-out config.json
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    echo "{\"prompt\": \"$i + $i =\", \"completion\": \" $((i + i))\"}"
done >pairs.jsonl
