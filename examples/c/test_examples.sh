#!/bin/sh
# Every example runs and prints what it promises: test_examples.sh FOLDER_OF_PROGRAMS VOLTAC MATERIALS.PY
# Those that train_gpt and train_mlp make files for run on these; docs/cookbook.md shows the same calls.
set -u
programs=$(cd "$1" && pwd) voltac=$(cd "$(dirname "$2")" && pwd)/voltac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -B "$3" "$voltac" "$work/m" || exit 1
cd "$work/m" || exit 1
export HOME="$work"
failed=0
bad() {
    failed=1
    echo "FAILED: $*"
}
# prints PATTERN PROGRAM ARGUMENTS...: it ends with 0 and a line of its output is PATTERN. The output stays in `out`.
prints() {
    pattern=$1
    name=$2
    shift 2
    "$programs/$name" "$@" >out 2>err </dev/null || bad "$name $*: $?: $(cat err)"
    grep -qxE -- "$pattern" out || bad "$name: no line '$pattern' in: $(cat out)"
}

prints "the bill says ([0-9]+) bytes, the allocator gave \1" host_allocator
grep -q '^a second trainer: VOLTA_OUT_OF_MEMORY: .*bytes' out || bad "host_allocator: $(cat out)"
grep -qx '0 bytes held at the end' out || bad "host_allocator holds memory: $(cat out)"

prints '[0-9]+ tokens, ended by: (a stop text|max_tokens|the context is full)' stream_text book.volta "In the beginning"
grep -q '^In the beginning' out || bad "stream_text: $(cat out)"
prints '625 rows of 2 features; .*' custom_data data.csv table.volta

"$voltac" convert bytes.volta --out gpt2.safetensors --names huggingface --config-out config.json >/dev/null || bad "no weights"
prints 'loss on the last tenth: .* imported, .* fine-tuned, .* in int8' fine_tune gpt2.safetensors book.txt tuned 60
for file in tuned.volta tuned.int8.volta tuned.safetensors tuned.json; do
    [ -s "$file" ] || bad "fine_tune wrote no $file"
done
hash=$(sed -n 's/^hash //p' out)
mkdir again && cp tuned.safetensors again/model.safetensors && cp tuned.json again/config.json
[ "$("$voltac" convert again/model.safetensors --out again.volta)" = "$hash" ] || bad "what fine_tune exports is another model"

i=0
while [ $i -lt 12 ]; do
    echo "{\"prompt\": \"$i is\", \"completion\": \" the light\"}"
    i=$((i + 1))
done >pairs.jsonl
prints '12 documents, 40 steps: from [0-9.]+ to [0-9.]+' fine_tune_documents book.volta pairs.jsonl pairs.volta 40
awk '{ exit !($6 + 0 > $8 + 0) }' out || bad "fine_tune_documents has not learnt: $(cat out)"
"$voltac" generate pairs.volta --prompt "3 is" --tokens 4 >/dev/null || bad "fine_tune_documents wrote no model"
echo '{"prompt": "a"}' >>pairs.jsonl
"$programs/fine_tune_documents" book.volta pairs.jsonl x.volta >out 2>err && bad "a line that is no document is taken"
grep -q 'pairs.jsonl:13: there is no "completion"' err || bad "fine_tune_documents: $(cat err)"

# A line for a line, and of what is no text of the model's a sentence; the same from a socket.
head -2 lines.txt >asked && printf 'In \xe2\x82\xac\n' >>asked
"$programs/embed_server" book.volta <asked >out 2>err || bad "embed_server: $(cat err)"
[ "$(wc -l <out)" = 3 ] && [ "$(head -1 out | wc -w)" = 32 ] && tail -1 out | grep -q '^error: ' || bad "embed_server: $(cat out)"
"$programs/embed_server" book.volta "$work/socket" 2>err &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -S "$work/socket" ] || sleep 0.2; done
python3 - "$work/socket" <<'PY' >from_socket || bad "no answer from the socket"
import socket, sys
with socket.socket(socket.AF_UNIX) as client:
    client.connect(sys.argv[1])
    client.sendall(open("asked", "rb").read())
    client.shutdown(socket.SHUT_WR)
    print(client.makefile().read(), end="")
PY
kill "$server"
wait "$server" 2>/dev/null
cmp -s out from_socket || bad "a socket gives other vectors"

prints '[0-9]+ bytes of model, 0 bytes of tensors copied' open_memory book.volta
prints 'int8 +[0-9]+ bytes  loss [0-9.]+' quantize book.volta other.txt book8.volta int8
[ "$(wc -l <out)" = 6 ] && [ "$(wc -c <book8.volta)" -lt "$(wc -c <book.volta)" ] || bad "quantize: $(cat out)"

"$programs/train_mlp" mlp.volta >/dev/null && "$voltac" convert mlp.volta --out mlp.onnx >/dev/null || bad "no ONNX file"
prints '[0-9]+ of 256 points right before, [0-9]+ after' fine_tune_onnx mlp.onnx tuned.onnx
"$voltac" info tuned.onnx | grep -q 'it can be converted' || bad "fine_tune_onnx wrote no ONNX file"

# Half and half is the whole.
for call in "half.volta 20" "half.volta 20" "whole.volta 20 20"; do
    # shellcheck disable=SC2086
    "$programs/resume" book.txt $call || bad "resume $call"
done >steps
grep -q '^step 10 ' steps && [ "$(grep '^step 20 ' steps | sort -u | wc -l)" = 1 ] && [ "$(wc -l <steps)" = 3 ] ||
    bad "resume ends otherwise: $(cat steps)"
cmp -s half.volta whole.volta || bad "resume writes another file"

prints 'alone the first text has the same tokens' many_texts book.volta "In the beginning" "the quick" "a lazy dog"
prints '11 of 12 test pictures right|12 of 12 test pictures right' classify_pictures pictures pictures/test/rows/00.png pictures.volta
grep -q '^pictures/test/rows/00.png: rows$' out || bad "classify_pictures: $(cat out)"

# Called wrongly each says how it is called.
for name in stream_text custom_data fine_tune embed_server open_memory quantize fine_tune_onnx resume many_texts classify_pictures sandbox; do
    "$programs/$name" >out 2>err
    [ $? = 2 ] && grep -q "^usage: $name " err || bad "$name without arguments: $(cat err)"
done
[ $failed = 0 ] && echo "the examples do what they say"
