#!/bin/sh
# voltac as a person meets it: wrong calls get one line that names what was wrong and exit status 2, failures one line
# and 1; the life cycle works over processes; a full disk, an interrupt and a bad file lose nothing.
#     test_voltac.sh PATH_OF_VOLTAC
set -u
voltac=$1
golden=$(cd "$(dirname "$0")/../golden/models" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export HOME="$work/home" # what `voltac tune` keeps is kept here
mkdir "$HOME"
passed=0
failed=0

ok() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "FAILED: $*"
}

# refused STATUS TEXT ARGUMENTS...: exit status, exactly one line on standard error that says who speaks and holds TEXT,
# nothing on output.
refused() {
    status=$1
    text=$2
    shift 2
    "$voltac" "$@" >out 2>err
    got=$?
    lines=$(wc -l <err)
    if [ "$got" -eq "$status" ] && [ "$lines" -eq 1 ] && [ ! -s out ] && grep -qE '^(usage: )?voltac' err &&
        grep -qF -- "$text" err; then
        ok
    else
        bad "voltac $*: status $got (expected $status), $lines lines: $(cat err)"
    fi
}

# expect NAME EXPECTED ACTUAL
expect() { if [ "$2" = "$3" ]; then ok; else bad "$1: expected '$2', got '$3'"; fi; }

i=0
while [ $i -lt 400 ]; do
    echo "line $i: the quick brown fox jumps over the lazy dog; $((i * i % 97)) times"
    i=$((i + 1))
done >text.txt
: >empty.txt
printf 'short' >short.txt
printf 'caf\351 latin-1 is not UTF-8, and this text is long enough to hold a window of sixteen or more tokens' >latin1.txt
small="--layers 1 --dim 16 --heads 2 --context 16 --batch 2"

echo "== wrong calls"
refused 2 "usage: voltac"
refused 2 "there is no command 'trian'" trian
refused 2 "it needs --text, --jsonl, or --dataset with --data" train
refused 2 "--out is required" train --text text.txt
refused 2 "--bogus" train --bogus 3
refused 2 "'huge'" train --text text.txt --out m.volta --preset huge
refused 2 "--steps is -5" train --text text.txt --out m.volta --steps -5
refused 2 "'abc'" train --text text.txt --out m.volta --steps abc
refused 2 "--lr is nan" train --text text.txt --out m.volta --lr nan
refused 2 "--lr is inf" train --text text.txt --out m.volta --lr inf
refused 2 "--dim 100 is not a multiple of --heads 3" train --text text.txt --out m.volta --dim 100 --heads 3
refused 2 "'sse9'" train --text text.txt --out m.volta --isa sse9
refused 2 "--threads is 0" train --text text.txt --out m.volta --threads 0
refused 2 "bpe:N needs an N from 256" train --text text.txt --out m.volta --tokenizer bpe:12
refused 2 "--warmup 50 is more than --steps 10" train --text text.txt --out m.volta --warmup 50 --steps 10
refused 2 "--architecture is 't5'" train --text text.txt --out m.volta --architecture t5
refused 2 "a bert has no --kv-heads" train --text text.txt --out m.volta --architecture bert --kv-heads 2
refused 2 "a gpt has no --kv-heads" train --text text.txt --out m.volta --kv-heads 2
refused 2 "a llama has no --dropout" train --text text.txt --out m.volta --preset llama-tiny --dropout 0.1
refused 1 "heads 6 is not a multiple of kv_heads 4" train --text text.txt --out m.volta --preset llama-tiny --kv-heads 4
refused 2 "model is required" hash
export VOLTA_NUM_THREADS=many
refused 2 "voltac hash: VOLTA_NUM_THREADS is 'many', it must be in 1 .. 256" hash m.volta
unset VOLTA_NUM_THREADS
refused 2 "voltac hash: model is empty" hash ''
refused 2 "voltac train: --text is empty" train --text '' --out m.volta
refused 2 "voltac train: --resume is empty" train --text text.txt --out m.volta --resume=
for option in out tokenizer resume profile config device; do
    refused 2 "voltac train: --$option is empty" train --text text.txt --out m.volta --$option ''
done
for option in profile stop config device; do
    refused 2 "voltac generate: --$option is empty" generate m.volta --$option ''
done
for option in tokenizer model-config keys config-out; do
    refused 2 "voltac convert: --$option is empty" convert model.safetensors --out m.volta --$option ''
done
refused 2 "voltac quantize: --to is empty" quantize m.volta --to '' --out small.volta
printf '{"resume": "", "steps": 3}' >empty.json
refused 2 "voltac train: --resume is empty" train --text text.txt --out m.volta --config empty.json
printf '{"config": "empty.json"}' >nested.json
refused 2 "names another configuration file" train --text text.txt --out m.volta --config nested.json
refused 2 "it needs --text, --jsonl, or --dataset with --data" eval m.volta

echo "== failures"
refused 1 "empty.txt: the file is empty" train --text empty.txt --out m.volta
refused 1 "too few" train --text short.txt --out m.volta
mkdir empty
refused 1 "the folder 'empty' has no file train.txt" train --text empty --out m.volta
refused 1 "No such file" train --text missing.txt --out m.volta
refused 1 "one window of 256 needs 257" train --text latin1.txt --tokenizer byte --out m.volta
refused 1 "No such file" train --text text.txt --tokenizer missing.gguf --out m.volta
refused 1 "no tokenizer of llama2.c" train --text text.txt --tokenizer text.txt --out m.volta
refused 1 "UTF-8" train --text latin1.txt --out m.volta
refused 1 "No such file" train --text text.txt --out missing/m.volta
refused 1 "is a directory" train --text text.txt --out .
refused 1 "No such file" hash missing.volta
refused 1 "text.txt" info text.txt
[ ! -e m.volta ] && ok || bad "a refused call wrote a file"

echo "== the life cycle"
$voltac train --text text.txt --out whole.volta $small --steps 12 >whole.out 2>/dev/null || bad "train"
$voltac train --text text.txt --out half.volta $small --steps 12 --stop-at 5 --threads 2 >/dev/null 2>&1 || bad "train --stop-at"
$voltac train --text text.txt --resume half.volta --threads 1 >resumed.out 2>/dev/null || bad "train --resume"
expect "resume" "$($voltac hash whole.volta)" "$($voltac hash half.volta)"
cmp -s whole.volta half.volta && ok || bad "the resumed file differs from the whole one"
expect "hash of the report" "$(sed -n 's/^hash *//p' whole.out)" "$($voltac hash whole.volta)"
refused 2 "--lr is 0.5, the checkpoint has 0.001" train --text text.txt --resume whole.volta --lr 0.5
refused 2 "--steps is 13, the checkpoint has 12" train --text text.txt --resume whole.volta --steps 13
refused 2 "--dim is 32, the checkpoint has 16" train --text text.txt --resume whole.volta --dim 32
head -n 300 text.txt >other.txt
refused 1 "the text is not the one" train --text other.txt --resume half.volta
expect "generate twice" "$($voltac generate whole.volta --prompt fox --tokens 10 --seed 3)" "$($voltac generate whole.volta --prompt fox --tokens 10 --seed 3 --threads 3)"
expect "generate length" 14 "$($voltac generate whole.volta --prompt fox --tokens 10 --temperature 0 | wc -c | tr -d ' ')"
refused 1 "'é' (U+00E9)" generate whole.volta --prompt é
from_newline=$($voltac generate whole.volta --tokens 10 --seed 3)
expect "an empty prompt" "$from_newline" "$($voltac generate whole.volta --prompt '' --tokens 10 --seed 3)"
expect "an empty prompt behind =" "$from_newline" "$($voltac generate whole.volta --prompt= --tokens 10 --seed 3)"
printf '{"prompt": "", "tokens": 10, "seed": 3}' >prompt.json
expect "an empty prompt of a configuration" "$from_newline" "$($voltac generate whole.volta --config prompt.json)"
$voltac train --text text.txt --out bpe.volta $small --steps 3 --tokenizer bpe:300 >/dev/null 2>&1 || bad "train --tokenizer bpe:300"
"$voltac" info bpe.volta | grep -q '^tokenizer *bpe' && ok || bad "info of a learnt vocabulary"
expect "generate by pieces" "fox" "$($voltac generate bpe.volta --prompt fox --tokens 2 --temperature 0 | cut -c1-3 | head -n 1)"
refused 2 "--tokenizer is char, the checkpoint has bpe" train --text text.txt --resume bpe.volta --tokenizer char
refused 2 "--tokenizer tok.json is given with --resume, but the checkpoint carries its own tokenizer (bpe): leave it out" \
    train --text text.txt --resume bpe.volta --tokenizer tok.json
refused 1 "larger than the model's context of 16" generate whole.volta --prompt fox --tokens 14
expect "generate without --tokens: what the context leaves" "$($voltac generate whole.volta --prompt fox --tokens 13)" \
    "$($voltac generate whole.volta --prompt fox)"
refused 1 "a prompt of 16 tokens and 1 more are 17, larger than the model's context of 16" \
    generate whole.volta --prompt "line 1: the quic"
expect "a prompt as long as the context" "line 1: the quic" "$($voltac generate whole.volta --prompt "line 1: the quic" --tokens 0)"
"$voltac" eval whole.volta --text text.txt | grep -q '^bits per byte' && ok || bad "eval"
"$voltac" info whole.volta --verify | grep -q '^checkpoint *step 12 of 12, seed 1' && ok || bad "info"
"$voltac" info whole.volta --json | grep -q '^{.*"architecture":"gpt".*}$' && ok || bad "info --json"
expect "info --verify says so" 1 "$($voltac info whole.volta --verify | grep -c '^checksums  *verified$')"
expect "info alone does not" 0 "$($voltac info whole.volta | grep -c verified)"
expect "info --verify --json says so" 1 "$($voltac info whole.volta --verify --json | grep -c '"verified":true')"
expect "info --json alone does not" 0 "$($voltac info whole.volta --json | grep -c verified)"
{
    head -c $(($(wc -c <whole.volta) - 1)) whole.volta
    printf U
} >damaged.volta # within a tensor, of which a mapped open reads nothing
"$voltac" hash damaged.volta >/dev/null 2>err && ok || bad "hash of a file with a damaged tensor: $(cat err)"
for load in map copy; do
    expect "generate --load $load" "$($voltac generate whole.volta --prompt fox --tokens 10 --seed 3)" \
        "$($voltac generate whole.volta --prompt fox --tokens 10 --seed 3 --load $load)"
    expect "eval --load $load" "$($voltac eval whole.volta --text text.txt)" "$($voltac eval whole.volta --text text.txt --load $load)"
done
"$voltac" generate damaged.volta --prompt fox --tokens 2 --load map >/dev/null 2>err && ok || bad "--load map reads every byte: $(cat err)"
refused 1 "checksum of tensor" generate damaged.volta --prompt fox --tokens 2 --load copy
refused 1 "checksum of tensor" info damaged.volta --verify --json
refused 1 "checksum of tensor" eval damaged.volta --text text.txt --load copy
refused 2 "voltac generate: --load is 'burn', it must be one of map|copy" generate whole.volta --load burn
refused 2 "voltac eval: --load is 'burn', it must be one of map|copy" eval whole.volta --text text.txt --load burn
printf '{"layers": 1, "dim": 16, "heads": 2, "context": 16, "batch": 2, "steps": 12, "json": true}' >c.json
"$voltac" train --text text.txt --out config.volta --config c.json >config.out 2>err || bad "train --config"
expect "train --config" "$($voltac hash whole.volta)" "$($voltac hash config.volta)"
[ ! -s err ] && ok || bad "train --json wrote to standard error: $(cat err)"
expect "JSON lines" 0 "$(grep -cv '^{.*}$' config.out)"

echo "== doctor"
"$voltac" doctor >doctor.out 2>err && ok || bad "doctor: $(cat doctor.out err)"
[ ! -s err ] && ok || bad "doctor wrote to standard error: $(cat err)"
expect "instruction sets that doctor tried" 3 "$(grep -cE '^(scalar|avx2|avx512) +(same bits|not on this processor)$' doctor.out)"
grep -qE '^scalar +same bits$' doctor.out && ok || bad "doctor: $(cat doctor.out)"

echo "== levels and precisions"
refused 2 "voltac train: --level is 'exact', it must be one of strict|repeatable|fast" train --text text.txt --out m.volta --level exact
refused 2 "--precision is 'fp16', it must be one of fp32|tf32|bf16" generate whole.volta --precision fp16
refused 2 "voltac train: --precision bf16: level strict computes in fp32: precision bf16 needs level repeatable or fast" \
    train --text text.txt --out m.volta --precision bf16
refused 2 "--precision bf16: precision bf16 at level fast is offered on CUDA alone; the device is cpu" \
    eval whole.volta --text text.txt --device cpu --level fast --precision bf16
refused 2 "voltac tune matmul: --precision tf32: precision tf32 at level repeatable is offered on CUDA alone; the device is cpu" \
    tune matmul --dim 16 --device cpu --level repeatable --precision tf32
refused 2 "--level is 'Strict'" bench infer --level Strict
[ ! -e m.volta ] && ok || bad "a refused precision left a file"
for command in train generate eval "tune matmul" "bench train" "bench infer"; do
    $voltac $command --help | tr -s ' \n' ' ' | grep -q -e '--level strict|repeatable|fast.*--precision fp32|tf32|bf16' && ok ||
        bad "$command --help names no levels"
done
cpu="--device cpu --threads 1"
$voltac train --text text.txt --out level.volta $small --steps 12 --stop-at 5 --level repeatable $cpu --json >level.out 2>err ||
    bad "train --level: $(cat err)"
[ ! -s err ] && ok || bad "train --level wrote to standard error: $(cat err)"
grep -q '"event":"end".*"level":"repeatable","precision":"fp32"}$' level.out && ok || bad "the end of train --level: $(tail -n 1 level.out)"
grep -q '"level"' config.out && bad "train --json names the default level" || ok
"$voltac" info level.volta >level.info 2>err || bad "info of a level"
[ ! -s err ] && ok || bad "info of a level wrote to standard error: $(cat err)"
grep -q '^level *repeatable$' level.info && grep -q '^precision *fp32$' level.info && ok || bad "info: $(cat level.info)"
"$voltac" info level.volta --json | grep -q '"level":"repeatable","precision":"fp32"' && ok || bad "info --json of a level"
"$voltac" info whole.volta --json | grep -q '"level":"strict","precision":"fp32"' && ok || bad "info --json of strict"
$voltac train --text text.txt --resume level.volta --out level12.volta --level fast $cpu >level.out 2>err || bad "resume at fast"
warned="voltac: warning: the checkpoint was trained at level repeatable in precision fp32, and goes on at level fast in precision fp32"
expect "warnings of a resume at another level" 1 "$(grep -cxF "$warned" err)"
grep -q '^level  *fast, fp32$' level.out && ok || bad "train --level fast: $(cat level.out)"
expect "the processor is strict at every level" "$($voltac hash whole.volta)" "$($voltac hash level12.volta)"
$voltac train --text text.txt --resume level.volta --out level12.volta --level repeatable $cpu >/dev/null 2>err || bad "resume at repeatable"
grep -q warning err && bad "a resume at the same level warns: $(cat err)" || ok
expect "generate at a level" "$($voltac generate whole.volta --prompt fox --tokens 10 --seed 3)" \
    "$($voltac generate whole.volta --prompt fox --tokens 10 --seed 3 --level repeatable $cpu)"
expect "eval at a level" "$($voltac eval whole.volta --text text.txt)" "$($voltac eval whole.volta --text text.txt --level fast $cpu)"

echo "== what ends a text"
said=$($voltac generate whole.volta --prompt fox --tokens 10 --seed 3)
expect "a text that has both stops" "5lg:" "$(echo "$said" | grep -o 5lg:)"
written() { "$voltac" generate whole.volta --prompt fox --tokens 10 --seed 3 "$@"; }
expect "--stop" "${said%%5l*}" "$(written --stop 5l)"
expect "the first --stop of several" "${said%%5l*}" "$(written --stop nowhere --stop g: --stop 5l)"
expect "a --stop that never comes" "$said" "$(written --stop "$said$said")"
expect "--stop-token" "${said%%:*}" "$(written --stop-token 0 --stop-token 12)" # ids: newline, space, digits, colon
printf '{"stop": ["nowhere", "g:"], "stop-token": [0, 5]}' >stops.json
expect "stops of a configuration" "${said%%g:*}" "$(written --config stops.json)"
expect "--tokens 0" fox "$(written --tokens 0)"
refused 2 "--stop is empty" generate whole.volta --stop ''
refused 2 "--stop-token is 'x'" generate whole.volta --stop-token 1 --stop-token x
refused 2 "--max-seconds is -1" generate whole.volta --max-seconds -1
printf '{"stop": [["x"]]}' >stops.json
refused 2 "stop is neither a number" generate whole.volta --config stops.json
size=$("$voltac" info whole.volta | sed -n 's/^vocabulary *//p')
refused 2 "voltac generate: --stop-token is $size, the model's vocabulary is 0 .. $((size - 1))" \
    generate whole.volta --prompt fox --tokens 3 --stop-token 0 --stop-token "$size"
"$voltac" generate whole.volta --prompt fox --tokens 3 --stop-token $((size - 1)) >/dev/null 2>err && ok || bad "the last id as a stop: $(cat err)"
refused 1 "stop text 0 is not UTF-8" generate whole.volta --prompt fox --tokens 3 --stop "$(printf 'caf\351')"
"$voltac" generate whole.volta --prompt fox --tokens 3 >/dev/full 2>err
expect "status when the text cannot be written" 1 $?
grep -q 'standard output' err && ok || bad "a text that cannot be written: $(cat err)"
# A model that takes seconds for all that it may write.
slow="--layers 2 --dim 256 --heads 2 --context 4000 --batch 1"
$voltac train --text text.txt --out slow.volta $slow --steps 1 >/dev/null 2>&1 || bad "train a slow model"
$voltac generate slow.volta --prompt fox --tokens 3900 --isa scalar --max-seconds 0.05 >out || bad "--max-seconds"
expect "generate without --tokens: 200" 204 "$($voltac generate slow.volta --prompt fox --temperature 0 | wc -c | tr -d ' ')"
expect "a cache that grows" "$($voltac generate slow.volta --prompt fox --tokens 60)" \
    "$($voltac generate slow.volta --prompt fox --tokens 60 --cache-tokens 1)"
refused 2 "--cache-tokens is -1" generate slow.volta --cache-tokens -1
[ "$(wc -c <out)" -lt 3900 ] && ok || bad "--max-seconds let $(wc -c <out) bytes through"
: >out # what stands there is of the calls before until the shell's child has opened it
: >err
"$voltac" generate slow.volta --prompt fox --tokens 3900 --isa scalar >out 2>err &
pid=$!
while [ "$(wc -c <out)" -lt 5 ] && kill -0 $pid 2>/dev/null; do sleep 0.1; done # it streams
kill -INT $pid
wait $pid
expect "status of an interrupted text" 130 $?
[ "$(wc -c <out)" -lt 3900 ] && [ -z "$(tail -c 1 out | tr -d '\n')" ] && ok || bad "an interrupted text: $(tail -c 80 out)"
[ ! -s err ] && ok || bad "an interrupted text said: $(cat err)"

echo "== saving on the way"
$voltac train --text text.txt --out every.volta $small --steps 100000000 --save-every 20 >/dev/null 2>&1 &
pid=$!
i=0
while [ ! -e every.volta ] && [ $i -lt 600 ]; do
    sleep 0.1
    i=$((i + 1))
done
kill -9 $pid
wait $pid 2>/dev/null
step=$("$voltac" info every.volta --json | sed 's/.*"step":\([0-9]*\).*/\1/')
[ "$step" -gt 0 ] && [ $((step % 20)) -eq 0 ] && ok || bad "a training that was killed left step '$step'"

echo "== hidden tokens"
bert="$small --architecture bert --hidden 24 --lr 1e-2"
$voltac train --text text.txt --out bert.volta $bert --steps 200 --batch 8 --json >bert.json 2>/dev/null || bad "train a bert"
# Of 20 steps at the start and 20 at the end: more than chance would do.
awk -F'"loss":' '/"event":"step"/ { split($2, part, ","); ++n; loss[n] = part[1] }
    END { for (i = 1; i <= 20; ++i) { first += loss[i]; last += loss[n - 20 + i] } exit !(n == 200 && last < 0.92 * first) }' bert.json &&
    ok || bad "the loss of a bert does not fall"
grep -q '"validation_loss":[0-9]' bert.json && ok || bad "a bert is not validated"
$voltac train --text text.txt --out whole_bert.volta $bert --steps 12 --accumulate 2 >/dev/null 2>&1 || bad "train a bert"
$voltac train --text text.txt --out half_bert.volta $bert --steps 12 --accumulate 2 --stop-at 5 >/dev/null 2>&1 || bad "stop a bert"
$voltac train --text text.txt --resume half_bert.volta --hidden 24 --threads 1 >/dev/null 2>&1 || bad "resume a bert"
cmp -s whole_bert.volta half_bert.volta && ok || bad "a resumed bert differs from the whole one"
# Which tokens are hidden, and behind what, decides every bit of it.
expect "hash of a bert" f39cdc0676c16827f68c1b8e72a73063 "$("$voltac" hash whole_bert.volta)"
refused 1 "the text is not the one" train --text other.txt --resume half_bert.volta
refused 1 "fewer than a window of 4096" train --text other.txt --out x.volta $bert --context 4096
"$voltac" info bert.volta | grep -q '^  hidden *24$' && ok || bad "info of a bert"
refused 1 "causal attention" eval bert.volta --text text.txt

echo "== another architecture"
llama="$small --architecture llama --kv-heads 1 --hidden 24"
$voltac train --text text.txt --out llama.volta $llama --steps 12 >llama.out 2>/dev/null || bad "train a llama"
$voltac train --text text.txt --out half_llama.volta $llama --steps 12 --stop-at 5 >/dev/null 2>&1 || bad "stop a llama"
$voltac train --text text.txt --resume half_llama.volta --kv-heads 1 --threads 1 >/dev/null 2>&1 || bad "resume a llama"
expect "resume a llama" "$($voltac hash llama.volta)" "$($voltac hash half_llama.volta)"
refused 2 "--hidden is 32, the checkpoint has 24" train --text text.txt --resume llama.volta --hidden 32
refused 2 "the architecture is gpt, the checkpoint has llama" train --text text.txt --resume llama.volta --architecture gpt
refused 2 "the architecture is llama, the checkpoint has gpt" train --text text.txt --resume whole.volta --preset llama-tiny
expect "generate from a llama" 14 "$($voltac generate llama.volta --prompt fox --tokens 10 --temperature 0 | wc -c | tr -d ' ')"
refused 1 "larger than the model's context of 16" generate llama.volta --prompt fox --tokens 14
"$voltac" eval llama.volta --text text.txt | grep -q '^bits per byte' && ok || bad "eval of a llama"
"$voltac" info llama.volta | grep -q '^  kv_heads *1$' && ok || bad "info of a llama"
"$voltac" info llama.volta --json | grep -q '"llama":{.*"rope_base":"10000"' && ok || bad "info --json of a llama"
"$voltac" tune matmul --model llama.volta --seconds 0.1 --runs 1 --no-tuning >/dev/null 2>err || bad "tune a llama: $(cat err)"

echo "== to Hugging Face's names and back"
for name in llama whole; do
    mkdir "hf_$name"
    "$voltac" convert $name.volta --out hf_$name/model.safetensors --names huggingface --config-out hf_$name/config.json \
        >/dev/null || bad "convert $name"
    expect "$name there and back" "$($voltac hash $name.volta)" "$($voltac convert hf_$name/model.safetensors --out back.volta)"
done
refused 2 "voltac convert: --names huggingface needs an --out that ends in .safetensors" convert llama.volta --out x.volta --names huggingface
refused 2 "voltac convert: --config-out needs --names huggingface" convert llama.volta --out x.safetensors --config-out config.json
refused 2 "--head is for a BERT of another program; llama.volta is a model file" convert llama.volta --out x.volta --head hidden
refused 2 "--segments and --mask need --head" convert hf_llama/model.safetensors --out x.volta --mask
refused 1 "but it is no BERT" convert hf_llama/model.safetensors --out x.volta --head hidden

echo "== a full disk, an interrupt, a broken file"
before=$($voltac hash half.volta)
(ulimit -f 8; "$voltac" train --text text.txt --out half.volta $small --steps 3 >out 2>err)
expect "status on a full disk" 1 $?
expect "the old checkpoint after a full disk" "$before" "$($voltac hash half.volta)"
[ "$(find . -name 'half.volta?*' | wc -l)" -eq 0 ] && ok || bad "a full disk left $(find . -name 'half.volta?*')"
"$voltac" train --text text.txt --out stopped.volta $small --steps 100000000 >out 2>err &
pid=$!
sleep 2
kill -INT $pid
wait $pid
expect "status after an interrupt" 130 $?
grep -q "^interrupted at step" err && ok || bad "an interrupt said: $(cat err)"
"$voltac" info stopped.volta | grep -q '^checkpoint' && ok || bad "an interrupt left no checkpoint"
head -c 1000 whole.volta >cut.volta
refused 1 "cut.volta" hash cut.volta

echo "== tuning"
refused 2 "say what: voltac tune matmul" tune
refused 2 "'conv' cannot be tuned" tune conv
refused 2 "'8x8' is no shape" tune matmul --shapes 8x8
refused 2 "'8x8x8x8' is no shape" tune matmul --shapes 8x8x8x8
refused 2 "'0x8x8' is no shape" tune matmul --shapes 8x8x8,0x8x8
refused 2 "'8x8x8:xx' is no shape" tune matmul --shapes 8x8x8:xx
refused 2 "'' is no shape" tune matmul --shapes 8x8x8,
refused 2 "voltac tune matmul: --shapes is empty" tune matmul --shapes ''
refused 2 "voltac tune matmul: --model is empty" tune matmul --model ''
refused 2 "exclude each other" tune matmul --shapes 8x8x8 --dim 8
refused 2 "--batch belongs to --model" tune matmul --batch 2
refused 2 "--runs is 0" tune matmul --runs 0
refused 2 "--dim is 0" tune matmul --dim 0
refused 2 "'sse9'" tune matmul --isa sse9
refused 1 "No such file" tune matmul --model missing.volta
refused 1 "text.txt" tune matmul --model text.txt
"$voltac" tune matmul --shapes 24x40x56,40x24x56:nt,56x40x24:tn --seconds 0.3 --runs 2 >tune.out 2>err || bad "tune: $(cat err)"
expect "tune's table" 4 "$(wc -l <tune.out | tr -d ' ')"
grep -q '^product  *classic ms  *default ms  *tuned ms  *GFLOP/s  *gain  *classic  *choice$' tune.out && ok || bad "tune's heading: $(head -n 1 tune.out)"
grep -q '^40 x 24 x 56 B^T ' tune.out && ok || bad "tune's rows: $(cat tune.out)"
[ ! -s err ] && ok || bad "tune wrote to standard error: $(cat err)"
"$voltac" tune matmul --dim 16 --seconds 0.3 --runs 2 --threads 1 --json >tune.json 2>/dev/null || bad "tune --dim --json"
expect "tune's JSON lines" 12 "$(grep -c '^{.*"gain":.*"choice":.*}$' tune.json)"
"$voltac" tune matmul --model whole.volta --seconds 0.5 --runs 1 --json >tune.json 2>/dev/null || bad "tune --model"
[ "$(wc -l <tune.json)" -ge 8 ] && ok || bad "tune --model: $(cat tune.json)"
expect "one file per processor" 1 "$(find "$HOME/.volta/matmul_tuning" -name '*.json' | wc -l | tr -d ' ')"
"$voltac" train --text text.txt --out tuned.volta $small --steps 12 >/dev/null 2>&1 || bad "train after tune"
expect "training after tuning" "$("$voltac" hash whole.volta)" "$("$voltac" hash tuned.volta)"
tuning_file=$(find "$HOME/.volta/matmul_tuning" -name '*.json')
echo damaged >"$tuning_file"
"$voltac" hash whole.volta >/dev/null 2>err || bad "hash with a damaged tuning file"
expect "lines about a damaged tuning file" 1 "$(grep -c 'warning: the tuning file .* is ignored: it is damaged' err)"
"$voltac" hash whole.volta --no-tuning >/dev/null 2>err || bad "hash --no-tuning"
[ ! -s err ] && ok || bad "--no-tuning read the tuning file: $(cat err)"
echo damaged >"$tuning_file"
"$voltac" tune matmul --shapes 8x8x8 --seconds 0.02 >/dev/null 2>err || bad "tune with a damaged tuning file"
expect "lines of tune about a damaged tuning file" 1 "$(wc -l <err | tr -d ' ')"
"$voltac" tune matmul --shapes 8x8x8,16777216x16777216x1 --seconds 0.02 --runs 1 >tune.out 2>err
expect "the status of tune without memory" 1 $?
grep -q '^voltac: product 2 of 2, 16777216 x 16777216 x 1: ' err && ok || bad "tune without memory: $(cat err)"
grep -q '"m":8,"n":8,"k":8,' "$tuning_file" && ok || bad "tune without memory kept nothing"
"$voltac" tune matmul --model "$golden/bf16_v1.2.volta" >tune.out 2>err || bad "tune a model of bf16: $(cat err)"
expect "nothing to tune" "voltac: there is nothing to tune: $golden/bf16_v1.2.volta has no f32 products" "$(cat err tune.out)"
rm -r "$HOME/.volta"
"$voltac" tune matmul --shapes 8x8x8 --seconds 0.02 --no-tuning >/dev/null 2>err || bad "tune --no-tuning"
expect "tune --no-tuning" "voltac: results are not kept: --no-tuning was given" "$(cat err)"
for keeps in "" --no-tuning; do
    rm tune.out
    "$voltac" tune matmul --dim 256 $keeps --seconds 60 >tune.out 2>err &
    pid=$!
    while [ ! -s tune.out ] && kill -0 $pid 2>/dev/null; do sleep 0.1; done
    kill -INT $pid
    wait $pid
    expect "the status of an interrupted tune" 130 $?
    grep -q 'tuning was cancelled after' err && ok || bad "an interrupted tune $keeps: $(cat err)"
    grep -q 'what was done is kept' err && kept="" || kept=--no-tuning
    expect "what an interrupted tune says of its results" "$keeps" "$kept"
done
rm -rf "$HOME/.volta"
[ ! -e "$HOME/.volta" ] && ok || bad "--no-tuning wrote a tuning file"
(unset HOME; "$voltac" tune matmul --shapes 8x8x8 --seconds 0.02 >/dev/null 2>err) && ok || bad "tune without HOME"
expect "tune without HOME" "voltac: results are not kept: HOME is not set" "$(cat err)"
HOME="" "$voltac" tune matmul --shapes 8x8x8 --seconds 0.02 >/dev/null 2>err || bad "tune with an empty HOME"
expect "tune with an empty HOME" "voltac: results are not kept: HOME is not set" "$(cat err)"
echo file >"$HOME/.volta"
refused 1 "cannot make the folder" tune matmul --shapes 8x8x8
rm "$HOME/.volta"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
