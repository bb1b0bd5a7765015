#!/bin/sh
# voltac train --jsonl: completions, answers and texts are learnt, lines that are none of them are named, and a run can be
# stopped, gone on with and made longer.
#     test_documents.sh PATH_OF_VOLTAC
set -u
voltac=$1
. "$(dirname "$0")/checks.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export HOME="$work"
i=0
while [ $i -lt 60 ]; do
    echo "line $i: the quick brown fox jumps over the lazy dog; $((i * i % 97)) times {}[]\":,"
    i=$((i + 1))
done >text.txt
"$voltac" train --text text.txt --out base.volta --tokenizer bpe:280 --layers 1 --dim 32 --heads 2 --context 64 --batch 4 \
    --steps 10 >/dev/null 2>&1 || bad "train"
i=0
while [ $i -lt 24 ]; do
    echo "{\"prompt\": \"say $((i % 4)):\", \"completion\": \" fox $((i % 4)) fox\"}"
    i=$((i + 1))
done >pairs.jsonl
run="--jsonl pairs.jsonl --from base.volta --batch 4 --seed 3"

# --- it learns, and every thread count and instruction set gives the same bits
"$voltac" train $run --epochs 20 --lr 3e-3 --out m.volta --json >told 2>err || bad "train --jsonl: $(cat err)"
expect "steps" 110 "$(grep -c '"event":"step"' told)"
sed -n 's/.*"event":"step".*"loss":\([0-9.e-]*\).*/\1/p' told >losses
[ "$(awk 'NR == 1 { a = $1 } END { print ($1 < a / 4) }' losses)" = 1 ] || bad "it has not learnt: $(sed -n '1p;$p' losses)"
"$voltac" train $run --epochs 300 --lr 3e-3 --out said.volta >/dev/null 2>&1 || bad "train for long"
expect "what it says, and that it ends" "say 2: fox 2 fox" "$("$voltac" generate said.volta --prompt 'say 2:' --tokens 10 --temperature 0 | head -c 16)"
hash=$("$voltac" hash m.volta)
for machine in "--threads 1" "--threads 3" "--isa scalar"; do
    "$voltac" train $run --epochs 20 --lr 3e-3 --out other.volta $machine >/dev/null 2>&1 || bad "$machine"
    expect "$machine" "$hash" "$("$voltac" hash other.volta)"
done
# --- stopped and gone on with
"$voltac" train $run --epochs 20 --lr 3e-3 --out half.volta --stop-at 50 >/dev/null 2>&1 || bad "--stop-at"
"$voltac" train --jsonl pairs.jsonl --resume half.volta --out whole.volta >/dev/null 2>&1 || bad "--resume"
expect "a resumed run" "$hash" "$("$voltac" hash whole.volta)"
sed 's/fox 3/fix 3/' pairs.jsonl >others.jsonl
refused 1 "others.jsonl: the documents are not those that the checkpoint was trained on" train --jsonl others.jsonl --resume half.volta --out x.volta
# --- and made longer
"$voltac" train --jsonl pairs.jsonl --resume m.volta --extend 10 --out longer.volta --json >told 2>/dev/null || bad "--extend"
expect "steps more" "10 120" "$(grep -c '"event":"step"' told) $(sed -n 's/.*"event":"end","step":\([0-9]*\).*/\1/p' told)"
"$voltac" train --text text.txt --resume base.volta --extend 5 --out longer.volta --json >told 2>/dev/null || bad "--extend of a text"
expect "steps more of a text" 5 "$(grep -c '"event":"step"' told)"
refused 2 "--extend needs --resume" train $run --extend 5 --out x.volta

# --- packed: side by side in rows, of which a step learns what it learns of documents apart
"$voltac" train $run --pack --epochs 80 --lr 3e-3 --out p.volta --json >told 2>err || bad "--pack: $(cat err)"
rows=$(sed -n 's/.*pairs.jsonl: 22 documents in \([0-9]*\) rows of 64 tokens, of which they fill [0-9]* %$/\1/p' err)
[ "${rows:-0}" -ge 3 ] && [ "$rows" -le 11 ] || bad "how full the rows are is not told: $(cat err)"
expect "steps of packed rows" $(((80 * rows + 3) / 4)) "$(grep -c '"event":"step"' told)"
sed -n 's/.*"event":"step".*"loss":\([0-9.e-]*\).*/\1/p' told >losses
[ "$(awk 'NR == 1 { a = $1 } END { print ($1 < a / 4) }' losses)" = 1 ] || bad "packed, it has not learnt: $(sed -n '1p;$p' losses)"
packed=$("$voltac" hash p.volta)
for machine in "--threads 1" "--threads 3" "--isa scalar"; do
    "$voltac" train $run --pack --epochs 80 --lr 3e-3 --out other.volta $machine >/dev/null 2>&1 || bad "--pack $machine"
    expect "--pack $machine" "$packed" "$("$voltac" hash other.volta)"
done
"$voltac" train $run --pack --epochs 80 --lr 3e-3 --out p-half.volta --stop-at 7 >/dev/null 2>&1 || bad "--pack --stop-at"
"$voltac" train --jsonl pairs.jsonl --resume p-half.volta --out p-whole.volta >/dev/null 2>&1 || bad "--resume of packed rows"
expect "a resumed run of packed rows" "$packed" "$("$voltac" hash p-whole.volta)"
first_loss() {
    "$voltac" train --jsonl pairs.jsonl --from base.volta --steps 1 --out first.volta --json "$@" 2>/dev/null | sed -n 's/.*"event":"step".*"loss":\([0-9.]*\).*/\1/p'
}
side=$(first_loss --pack --batch "$rows") apart=$(first_loss --batch 22)
[ "$(echo "$side $apart" | awk '{ d = $1 - $2; print ($1 > 0 && d * d < 1e-10 * $1 * $1) }')" = 1 ] || bad "packed, the loss is $side, apart $apart"
still_loss() { # of a validation, when nothing has been learnt
    "$voltac" train --jsonl pairs.jsonl --from base.volta --steps 1 --lr 1e-30 --final-lr 0 --weight-decay 0 --batch 2 --out first.volta --json "$@" 2>/dev/null |
        sed -n 's/.*"event":"end".*"validation_loss":\([0-9.]*\).*/\1/p'
}
still=$(still_loss)
expect "the validation of packed rows" "${still:-a loss}" "$(still_loss --pack)"
"$voltac" train $run --pack --lora r=4 --epochs 4 --out a.adapter.volta >/dev/null 2>err || bad "--pack --lora: $(cat err)"
"$voltac" train $run --pack --lora r=4 --epochs 4 --stop-at 2 --out b.adapter.volta >/dev/null 2>&1 || bad "--pack --lora --stop-at"
"$voltac" train --jsonl pairs.jsonl --from base.volta --resume b.adapter.volta --out b.adapter.volta >/dev/null 2>err || bad "--resume of packed adapters: $(cat err)"
cmp -s a.adapter.volta b.adapter.volta || bad "a resumed run of packed adapters differs"
refused 2 "--pack is of the documents of --jsonl" train --text text.txt --pack --out x.volta
refused 2 "--pack is given, the checkpoint's documents have a row each" train --jsonl pairs.jsonl --resume half.volta --pack --out x.volta

# --- only completions count: what is asked for in the prompt may be anything
sed 's/"say/"tell me/' pairs.jsonl >told.jsonl
"$voltac" train $run --steps 1 --lr 1e-3 --out a.volta --json 2>/dev/null | grep -q '"event":"step"' || bad "one step"
printf '%s\n' '{"text": "fox 1 fox"}' '{"text": "fox 2 fox"}' >texts.jsonl
"$voltac" train --jsonl texts.jsonl --from base.volta --batch 2 --steps 2 --out t.volta >/dev/null 2>&1 || bad "texts"

# --- and are what eval measures
"$voltac" eval said.volta --jsonl pairs.jsonl >told 2>err || bad "eval --jsonl: $(cat err)"
expect "what is right" "accuracy           1.0000 (192 of 192 tokens) documents          24" "$(sed -n '3,4p' told | tr '\n' ' ' | sed 's/ $//')"
"$voltac" eval base.volta --jsonl - --json <pairs.jsonl >told || bad "eval --jsonl -"
grep -q '^{"loss":[0-9.]*,"accuracy":[0-9.]*,"correct":[0-9]*,"asked":[0-9]*,"documents":24,"asks_for":"tokens"}$' told || bad "eval --jsonl --json: $(cat told)"
expect "the loss of a validation" "$(tail -n 2 pairs.jsonl | "$voltac" eval base.volta --jsonl - --json | sed 's/.*"loss":\([0-9]*\.[0-9]\{6\}\).*/\1/')" \
    "$(still_loss | sed 's/\(\.[0-9]\{6\}\).*/\1/')"
refused 2 "it needs --text, --jsonl, or --dataset with --data" eval base.volta --jsonl pairs.jsonl --text text.txt
echo "[]" >bad.jsonl
refused 1 "bad.jsonl:1: it is no object of JSON" eval base.volta --jsonl bad.jsonl

# --- early: a rate that makes it worse ends the run, and the best is kept
"$voltac" train $run --steps 60 --lr 3e-3 --eval-every 2 --patience 3 --out p.volta --json >told 2>err || bad "--patience: $(cat err)"
[ -e p.best.volta ] || bad "the best is not kept"
best=$(sed -n 's/.*"best_validation_loss":\([0-9.e-]*\).*/\1/p' told)
least=$(sed -n 's/.*"event":"validation".*"validation_loss":\([0-9.e-]*\).*/\1/p' told | sort -g | head -n 1)
expect "the best" "$least" "$best"
refused 2 "--patience counts the validations of --eval-every" train $run --patience 3 --out x.volta
"$voltac" train $run --steps 40 --warmup 0 --lr 0.5 --clip 0 --eval-every 1 --patience 2 --out w.volta --json >told 2>/dev/null
[ "$(grep -c '"event":"step"' told)" -lt 40 ] || bad "a run that gets worse does not end"
# --- a step that is not finite leaves what was learnt before it
"$voltac" train $run --steps 40 --warmup 0 --lr 1e6 --clip 0 --out nan.volta >out 2>err
expect "its status" 1 $?
grep -q "what was learnt before is in nan.volta" err || bad "not said: $(cat err)"
"$voltac" hash nan.volta >/dev/null || bad "a run that is not finite leaves no model"
# --- SIGHUP and SIGTERM leave a checkpoint
for signal in HUP:129 TERM:143 INT:130; do
    rm -f s.volta told
    "$voltac" train $run --steps 1000000 --out s.volta --json >told 2>/dev/null &
    while ! grep -qs '"step":2,' told; do sleep 0.1; done
    kill -"${signal%:*}" $!
    wait $!
    expect "status after $signal" "${signal#*:}" $?
    "$voltac" hash s.volta >/dev/null || bad "$signal leaves no checkpoint"
done

# --- lines that are no documents, by file and line
bad_line() { # TEXT SENTENCE
    { head -n 2 pairs.jsonl && printf '%s\n' "$1"; } >bad.jsonl
    refused 1 "$2" train --jsonl bad.jsonl --from base.volta --out x.volta
    grep -q "bad.jsonl" err || bad "the file is not named: $(cat err)"
}
bad_line '{"prompt": "a"}' 'bad.jsonl:3: there is no "completion"'
bad_line '{"prompt": 3, "completion": "b"}' 'bad.jsonl:3: "prompt" is no text'
bad_line '{"prompt": "a", "completion": "b", "extra": 1}' 'bad.jsonl:3: "extra" does not go with "prompt"'
bad_line '[1, 2]' 'bad.jsonl:3: it is no object of JSON'
bad_line '{"prompt": "a", "completion": "b"' 'bad.jsonl:3: it is no valid JSON'
bad_line '{}' 'bad.jsonl:3: it has none of "prompt" with "completion", "messages", "text"'
bad_line "$(printf '%02000d' 0 | sed 's/0/[/g')" 'bad.jsonl:3: it is nested too deep'
bad_line '{"messages": []}' 'bad.jsonl:3: "messages" is no list of messages'
bad_line '{"messages": [{"role": "user"}]}' 'bad.jsonl:3: message 1: there is no "content"'
bad_line '{"messages": [{"role": "user", "content": "a"}]}' 'bad.jsonl:3: the model has no chat format'
bad_line '{"prompt": "a\u0000", "completion": "b"}' 'bad.jsonl:3: "prompt" has a zero byte'
bad_line '{"text": "a", "label": -1}' 'bad.jsonl:3: "label" is no number of a class'
bad_line '{"text": "a", "label": 99999999999999999999}' 'bad.jsonl:3: "label" is neither a whole number nor a name'
bad_line '{"text": "a", "label": 0}' '1 of 3 documents have a label'
bad_line '{"text": "a", "label": "cat"}' "bad.jsonl:3: the model has no class 'cat'"
printf '\n\n' >empty.jsonl
refused 1 "empty.jsonl: there is no document in it" train --jsonl empty.jsonl --from base.volta --out x.volta
echo '{"text": "a", "label": 0}' >labels.jsonl
refused 1 "the documents have labels, but the model does not classify" train --jsonl labels.jsonl --from base.volta --out x.volta
refused 2 "--jsonl needs --from" train --jsonl pairs.jsonl --out x.volta
refused 2 "it needs --text, --jsonl, or --dataset" train --jsonl pairs.jsonl --text text.txt --from base.volta --out x.volta
refused 2 "--chat-format is of the messages of --jsonl" train --text text.txt --chat-format chatml --out x.volta
refused 2 "--epochs and --steps both say how long it runs" train $run --epochs 2 --steps 3 --out x.volta
refused 1 "the chat format chatml needs <|im_start|>" train $run --chat-format chatml --out x.volta
[ ! -e x.volta ] || bad "a refused run left a file"

# --- labels: a BERT with a head of two classes, which no text makes
if command -v python3 >/dev/null; then
    "$voltac" train --text text.txt --out bert.volta --architecture bert --tokenizer bpe:280 --layers 1 --dim 32 --heads 2 \
        --context 32 --batch 2 --steps 2 >/dev/null 2>&1 || bad "a bert"
    mkdir bert
    "$voltac" convert bert.volta --out bert/model.safetensors --names huggingface --config-out config.json >/dev/null || bad "its weights"
    sed -i 's/BertForMaskedLM/BertForSequenceClassification/' config.json
    python3 - <<'PYTHON'
import json, struct
data = open("bert/model.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
parts = {name: (entry["shape"], data[8 + size:][slice(*entry["data_offsets"])]) for name, entry in json.loads(data[8:8 + size]).items()
         if name.startswith("bert.")}
header, body = {}, b""
for name, (shape, values) in parts.items():
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(values)]}
    body += values
for name, shape in (("bert.pooler.dense.weight", (32, 32)), ("bert.pooler.dense.bias", (32,)), ("classifier.weight", (2, 32)),
                    ("classifier.bias", (2,))):
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    values = struct.pack(f"<{count}f", *((i * 37 % 101 - 50) / 500 for i in range(count)))
    header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(body), len(body) + len(values)]}
    body += values
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open("classifier.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + body)
PYTHON
    printf '%s\n' '[UNK]' '[CLS]' '[SEP]' '[PAD]' the fox lazy dog good bad >vocab.txt
    import="convert classifier.safetensors --tokenizer vocab.txt --head classes"
    "$voltac" $import --mask --segments --out c.volta >/dev/null || bad "a classifier"
    i=0
    while [ $i -lt 40 ]; do
        word=good
        [ $((i % 2)) -eq 0 ] || word=bad
        echo "{\"text\": \"the $word fox\", \"text_pair\": \"lazy dog\", \"label\": $((i % 2))}"
        i=$((i + 1))
    done >labels.jsonl
    for threads in 1 3; do
        "$voltac" train --jsonl labels.jsonl --from c.volta --out l.volta --epochs 10 --lr 1e-3 --threads $threads >told$threads 2>err ||
            bad "labels: $(cat err)"
    done
    cmp -s told1 told3 || bad "threads change what a classifier learns"
    expect "what it has right" "4 of 4" "$(sed -n 's/^correct *//p' told1)"
    expect "eval of labels" "accuracy           1.0000 (40 of 40 labels)" "$("$voltac" eval l.volta --jsonl labels.jsonl | sed -n 2p)"
    # Of a text and its pair the longer one is cut, and both keep their ends: the loss is that of the texts that are left.
    echo '{"text": "the good", "text_pair": "lazy dog the fox lazy dog the fox", "label": 1}' >long.jsonl
    echo '{"text": "the good", "text_pair": "lazy dog the", "label": 1}' >fits.jsonl
    for name in long fits; do
        "$voltac" train --jsonl $name.jsonl --from c.volta --context 8 --batch 1 --steps 1 --out $name.volta --json 2>$name.err |
            sed -n 's/.*"event":"step".*"loss":\([0-9.]*\).*/\1/p' >$name.loss
    done
    grep -q "long.jsonl: 1 of 1 documents are longer than the 8 tokens of a row, and cut" long.err || bad "a cut pair is not told: $(cat long.err)"
    [ -s fits.loss ] && cmp -s long.loss fits.loss || bad "a cut pair is another: $(cat long.loss fits.loss)"
    "$voltac" $import --mask --out m1.volta >/dev/null && "$voltac" $import --out m0.volta >/dev/null || bad "fewer inputs"
    refused 1 "labels.jsonl: the documents have labels, and each of them needs a row: --pack is of others" train --jsonl labels.jsonl --from c.volta --pack --out x.volta
    refused 1 'labels.jsonl:1: there is a "text_pair", but the model has no input of segments' train --jsonl labels.jsonl --from m1.volta --out x.volta
    refused 1 "the model has no input that says which tokens are there" train --jsonl labels.jsonl --from m0.volta --out x.volta
    echo '{"text": "the fox", "label": 2}' >two.jsonl
    refused 1 "two.jsonl:1: the label 2 is none of the model's 2 classes" train --jsonl two.jsonl --from c.volta --out x.volta
    refused 1 "the documents ask for tokens, and the model does not say which token comes next" train --jsonl pairs.jsonl --from bert.volta --out x.volta
else
    echo "no python3: labels are not tried"
fi

# --- cut where a row ends, and told
{ printf '{"prompt": "a", "completion": "' && printf '%0200d' 7 && printf '"}\n{"prompt": "%0200d", "completion": "b"}\n' 7; cat pairs.jsonl; } >long.jsonl
"$voltac" train --jsonl long.jsonl --from base.volta --context 32 --batch 2 --steps 1 --out long.volta >/dev/null 2>err || bad "long: $(cat err)"
grep -q "long.jsonl: 2 of 26 documents are longer than the 32 tokens of a row, and cut" err || bad "a cut is not told: $(cat err)"
grep -q "long.jsonl: 1 of 26 documents ask for nothing, and are left out" err || bad "a document that is left out is not told: $(cat err)"

[ "$failed" -eq 0 ] || exit 1
echo "documents are learnt as they say"
