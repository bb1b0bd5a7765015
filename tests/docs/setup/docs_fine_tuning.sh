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
# A folder as Hugging Face has it: the same with the pieces of a chat format, and its template.
mkdir base
python3 - <<'PY'
import json
tokenizer = json.load(open("tokenizer.json", encoding="utf-8"))
tokenizer["added_tokens"] = [{"id": 256 + i, "content": piece, "special": True, "single_word": False, "lstrip": False, "rstrip": False,
                              "normalized": False} for i, piece in enumerate(("<|im_start|>", "<|im_end|>"))]
json.dump(tokenizer, open("base/tokenizer.json", "w", encoding="utf-8"))
template = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
            "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
json.dump({"eos_token": "<|im_end|>", "chat_template": template}, open("base/tokenizer_config.json", "w"))
with open("answers.jsonl", "w") as file:
    for i in range(20):
        turns = [{"role": "user", "content": f"{i} + {i}?"}, {"role": "assistant", "content": f"{2 * i}."}]
        file.write(json.dumps({"messages": turns}) + "\n")
PY
voltac train --text book.txt --tokenizer base/tokenizer.json --out made.volta --steps 20 --layers 1 --dim 32 --heads 2 --context 128 --batch 2 --warmup 1
voltac convert made.volta --out base/model.safetensors --names huggingface --config-out base/config.json
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    echo "{\"prompt\": \"$i + $i =\", \"completion\": \" $((i + i))\"}"
done >pairs.jsonl
