#!/bin/sh
# voltac chat, tokenize and --prompt-file: a folder with a chat template becomes a model that is talked to.
#     test_chat.sh PATH_OF_VOLTAC
set -u
voltac=$1
. "$(dirname "$0")/checks.sh"
command -v python3 >/dev/null || {
    echo "no python3: not tried"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export HOME="$work"
i=0
while [ $i -lt 100 ]; do
    echo "line $i: the quick brown fox jumps over the lazy dog; $((i * i % 97)) times"
    i=$((i + 1))
done >text.txt
"$voltac" train --text text.txt --out plain.volta --tokenizer bpe:258 --layers 1 --dim 16 --heads 2 --context 128 --batch 2 \
    --steps 2 >/dev/null 2>&1 || bad "train"
mkdir folder
"$voltac" convert plain.volta --out folder/model.safetensors >/dev/null || bad "a folder"
python3 - <<'PYTHON'
import json
# GPT-2's letters for bytes: those that print stand for themselves, the others follow from 256 on.
plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
letters, next_letter = {}, 256
for byte in range(256):
    letters[byte] = byte if byte in plain else next_letter
    next_letter += byte not in plain
vocabulary = {chr(letters[byte]): byte for byte in range(256)}
special = ["<|im_start|>", "<|im_end|>"]
added = [{"id": 256 + i, "content": piece, "special": True, "single_word": False, "lstrip": False, "rstrip": False,
          "normalized": False} for i, piece in enumerate(special)]
byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
json.dump({"version": "1.0", "added_tokens": added, "normalizer": None, "pre_tokenizer": byte_level, "post_processor": None,
           "decoder": byte_level, "model": {"type": "BPE", "vocab": vocabulary, "merges": []}},
          open("folder/tokenizer.json", "w"))
template = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
            "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
json.dump({"chat_template": template}, open("folder/tokenizer_config.json", "w"))
PYTHON
"$voltac" convert folder --out m.volta >/dev/null 2>err || bad "convert: $(cat err)"
expect "nothing to tell" "" "$(cat err)"
"$voltac" info m.volta | grep -q "^chat_format *chatml" || bad "info does not name the chat format"
"$voltac" info plain.volta | grep -q "^chat_format" && bad "info names a chat format of a model without one"

# --- tokenize
expect "tokenize" '    104  "h"
    105  "i"' "$("$voltac" tokenize m.volta hi)"
expect "special pieces are text" "60 124 105 109 95 101 110 100 124 62" "$("$voltac" tokenize m.volta --ids '<|im_end|>')"
expect "unless they are asked for" "257" "$("$voltac" tokenize m.volta --ids --special '<|im_end|>')"
for name in text.txt -; do
    "$voltac" tokenize m.volta --ids --file $name <text.txt >ids || bad "tokenize --file $name"
    "$voltac" tokenize m.volta --decode --file ids >back || bad "tokenize --decode"
    echo >>back.txt
    [ "$(cat back)" = "$(cat text.txt)" ] || bad "tokenize --file $name: the ids are not the text"
done
expect "decode" "hi" "$("$voltac" tokenize m.volta --decode '104 105')"
refused 1 "'x5' is no id of a token" tokenize m.volta --decode '104 x5'
refused 1 "'99999999999' is no id of a token" tokenize m.volta --decode 99999999999
refused 1 "token id 300000 is outside the vocabulary" tokenize m.volta --decode 300000
refused 2 "it needs a TEXT or --file FILE" tokenize m.volta
refused 2 "it needs a TEXT or --file FILE" tokenize m.volta text --file text.txt
refused 2 "--decode goes with none of --ids, --special and --ends" tokenize m.volta --decode 1 --ids

# --- a prompt from a file
printf 'line 1: the' >prompt.txt
expect "--prompt-file" "$("$voltac" generate m.volta --prompt 'line 1: the' --tokens 8)" \
    "$("$voltac" generate m.volta --prompt-file prompt.txt --tokens 8)"
expect "--prompt-file -" "$("$voltac" generate m.volta --prompt 'line 1: the' --tokens 8)" \
    "$("$voltac" generate m.volta --prompt-file - --tokens 8 <prompt.txt)"
refused 2 "--prompt and --prompt-file both say what to go on from" generate m.volta --prompt a --prompt-file prompt.txt

# --- special pieces of a prompt are their ids where that is asked for, and then a prompt is what chat makes of a message
turn=$(printf '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n.')
"$voltac" generate m.volta --special --prompt "${turn%.}" --stop-token 257 --tokens 6 --temperature 0 >written || bad "--special"
echo hi | "$voltac" chat m.volta --tokens 6 --temperature 0 >answer || bad "chat of one message"
{ printf '%s' "${turn%.}" && cat answer; } | cmp -s - written || bad "--special is not what chat says: $(cat written answer)"
many=$(printf '<|im_start|>%.0s' 1 2 3 4 5 6 7 8 9 10 11 12)
"$voltac" generate m.volta --special --prompt "$many" --tokens 1 >/dev/null || bad "--special takes more than a token for a piece"
refused 1 "a prompt of 144 tokens and 1 more are 145, larger than the model's context of 128" generate m.volta --prompt "$many" --tokens 1

# --- chat
printf 'hello\r\n\nagain' >said.txt
"$voltac" chat m.volta --tokens 4 --temperature 0 <said.txt >told 2>err || bad "chat: $(cat err)"
"$voltac" chat m.volta --tokens 4 --temperature 0 --threads 1 <said.txt >again || bad "chat again"
cmp -s told again || bad "threads change a conversation"
# The first answer is what the model writes behind the conversation's tokens.
one=$(printf hello | "$voltac" chat m.volta --tokens 4 --temperature 0)
[ "$(head -c ${#one} told)" = "$one" ] || bad "the first answer depends on the second message"
"$voltac" chat m.volta --tokens 4 --temperature 0 --system 'be kind' <said.txt >kind || bad "chat --system"
refused 1 "the conversation has" chat m.volta --context 8 <said.txt
refused 1 "the model has no chat format; there are chatml, llama2" chat plain.volta </dev/null
refused 1 "the chat format llama3 needs <|start_header_id|>, which the tokenizer does not have" chat m.volta --format llama3 </dev/null
refused 2 "--format is 'none', it must be one of chatml|llama2" chat m.volta --format none </dev/null

# --- a template that is not known: told, and refused only when it is needed
echo '{"chat_template": "{{ messages | tojson }}"}' >folder/tokenizer_config.json
"$voltac" convert folder --out unknown.volta >/dev/null 2>err || bad "convert an unknown template"
grep -q "^voltac: the chat template is not known, so voltac chat needs --format: it is none of chatml" err || bad "not told: $(cat err)"
refused 1 "the chat template that came with the model is not known: it is none of chatml" chat unknown.volta </dev/null
expect "with a format it talks" "$(cat told)" "$("$voltac" chat unknown.volta --format chatml --tokens 4 --temperature 0 <said.txt)"
"$voltac" convert folder --chat-format chatml --out named.volta >/dev/null 2>err || bad "convert --chat-format"
expect "told nothing" "" "$(cat err)"
expect "with its format" "$(cat told)" "$("$voltac" chat named.volta --tokens 4 --temperature 0 <said.txt)"
printf '{"chat_template": ' >folder/tokenizer_config.json
refused 1 "is no valid JSON" convert folder --out x.volta

[ "$failed" -eq 0 ] || exit 1
echo "conversations are what their formats say"
