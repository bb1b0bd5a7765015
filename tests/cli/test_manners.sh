#!/bin/sh
# What all commands do alike: names that are no UTF-8, files that cannot be written, names of other formats, "-",
# words with a slip of the pen, numbers at the end of their range, help, a reader that has gone, signals.
#     test_manners.sh PATH_OF_VOLTAC
set -u
# What the parent ignores a shell cannot take back, and a voltac that ignores a signal is not ended by it: everything
# here runs with the defaults.
if [ "${VOLTA_TEST_SIGNALS:-}" != default ] && env --default-signal=HUP true 2>/dev/null; then
    VOLTA_TEST_SIGNALS=default exec env --default-signal=HUP,INT,PIPE,TERM sh "$0" "$@"
fi
voltac=$1
. "$(dirname "$0")/checks.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work" || exit 1
export HOME="$work"
i=0
while [ $i -lt 200 ]; do
    echo "line $i: the quick brown fox"
    i=$((i + 1))
done >text.txt
small="--layers 1 --dim 16 --heads 2 --context 16 --batch 2 --threads 1"
"$voltac" train --text text.txt --out m.volta $small --steps 2 >/dev/null 2>&1 || bad "train"
hash=$("$voltac" hash m.volta)

# --- names that are no UTF-8, and names that speak to a terminal
odd=$(printf 'm\377\033[31m\302\233.volta')
cp m.volta "$odd"
"$voltac" info "$odd" --json >out 2>err || bad "info --json of an odd name: $(cat err)"
"$voltac" info "$odd" >>out 2>err || bad "info of an odd name: $(cat err)"
"$voltac" bench infer "$odd" --json --tokens 2 --prompt-tokens 2 --runs 1 --warmup 0 --no-speedup --threads 1 >>out 2>err ||
    bad "bench infer --json of an odd name: $(cat err)"
"$voltac" bench infer "$odd" --csv --tokens 2 --prompt-tokens 2 --runs 1 --warmup 0 --no-speedup --threads 1 >csv 2>err ||
    bad "bench infer --csv of an odd name: $(cat err)"
"$voltac" train --text text.txt --out "$odd" $small --steps 1 --json >>out 2>>err || bad "train --json of an odd name: $(cat err)"
"$voltac" train --text text.txt --out "$odd" $small --steps 1 >>out 2>>err || bad "train of an odd name: $(cat err)"
"$voltac" info "missing$odd" 2>>err
"$voltac" train --text "missing$odd" --out x.volta 2>>err
iconv -f UTF-8 -t UTF-8 out csv err >/dev/null 2>&1 || bad "output that is no UTF-8"
[ "$(grep -c '^{' out)" -ge 4 ] || bad "not one JSON object a line: $(cat out)"
grep -q "$(printf '\033')" out err && bad "a name spoke to the terminal"
if command -v python3 >/dev/null; then
    grep '^{' out | python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' || bad "no JSON: $(cat out)"
fi
if grep -nE '(\.|->)dump\(' "$root"/cli/*.cpp "$root"/cli/*.h | grep -v '/text.cpp:'; then
    bad "JSON leaves by json_text of cli/text.h alone: dump() throws at bytes that are no UTF-8"
fi
long=$(printf 'very_long_%.0s' $(seq 120))
"$voltac" info "$long" 2>err
expect "lines about a long name" 1 "$(wc -l <err | tr -d ' ')"

# --- files that cannot be written: found out before any work, by every option that names one
mkfifo pipe
mkdir folder closed
ln -s loop loop
cp m.volta kept.volta && chmod 444 kept.volta
chmod 555 closed
too_long=$(printf 'x%.0s' $(seq 250))
unwritable="/dev/null /dev/full pipe folder folder/ . missing/x.volta text.txt/x.volta /dev/stdout /proc/x.volta $too_long"
[ "$(id -u)" -ne 0 ] && unwritable="$unwritable closed/x.volta kept.volta"
for out in $unwritable; do
    refused 1 "--out: cannot write '$out'" train --text text.txt --out "$out" $small --steps 40
    refused 1 "--out: cannot write '$out'" quantize m.volta --to bf16 --out "$out"
    [ "$out" = folder/ ] || refused 1 "--out: cannot write '$out'" convert m.volta --out "$out"
done
refused 2 "--out folder/ is a folder, as adapters are written for PEFT; the model has none" convert m.volta --out folder/
for report in missing/p.json text.txt/p.html /proc/p.json; do
    refused 1 "--profile: cannot write '$report'" train --text text.txt --out x.volta $small --steps 40 --profile $report
    refused 1 "--profile: cannot write '$report'" generate m.volta --profile $report
    refused 1 "--profile: cannot write '$report'" bench train --preset small --profile $report
    refused 1 "--profile: cannot write '$report'" bench infer --preset small --profile $report
done
refused 1 "--config-out: cannot write 'missing/c.json'" convert m.volta --out x.safetensors --names huggingface --config-out missing/c.json
mkfifo pipe.json
refused 1 "it is a pipe" convert m.volta --out x.safetensors --names huggingface --config-out pipe.json
cp m.volta resumed.volta && chmod 444 resumed.volta
[ "$(id -u)" -eq 0 ] || refused 1 "--out: cannot write 'resumed.volta'" train --text text.txt --resume resumed.volta
"$voltac" quantize m.volta --to bf16 --out same.volta >same.volta 2>err
expect "status of an --out that standard output goes to" 1 $?
grep -q "standard output goes there" err || bad "an --out that standard output goes to: $(cat err)"
rm -f same.volta
expect "what refused calls left" "" "$(find . -name 'x.*' -o -name '*.tmp-*')"
ln -s m.volta link.volta
"$voltac" quantize m.volta --to bf16 --out link.volta >/dev/null 2>err || bad "an --out that is a link: $(cat err)"
[ -L link.volta ] && [ "$("$voltac" hash m.volta)" != "$hash" ] || bad "a link was replaced, not what it names"
"$voltac" train --text text.txt --out m.volta $small --steps 2 >/dev/null 2>&1 || bad "train again"
expect "the same model again" "$hash" "$("$voltac" hash m.volta)"
cp text.txt text
echo '{}' >c.json
refused 2 "voltac train: --out and --text are the same file, 'text'" train --text ./text --out text $small
refused 2 "voltac train: --profile and --config are the same file, 'c.json'" train --text text.txt --out x.volta --config c.json --profile c.json

# A report takes the place of the one before, behind a link, and what a killed process left goes; nothing else does.
sh -c 'echo $$' >pid
gone=$(cat pid)
others="r.html.tmp-$$-0 r.html.tmp-1-0 r.html.tmp-$gone r.html.tmp-$gone- r.html.tmp-$gone-0x r.html.tmp-x-0 r.html.tmp-99999999999999999999-0"
touch "r.html.tmp-$gone-0" r.html $others
ln -s r.html "r.html.tmp-$gone-2"
mkdir "r.html.tmp-$gone-3"
if command -v flock >/dev/null; then # held by a process of another machine
    touch "r.html.tmp-$gone-4"
    exec 9<"r.html.tmp-$gone-4"
    flock 9
    others="$others r.html.tmp-$gone-4"
fi
ln -s r.html link.html
"$voltac" generate m.volta --prompt line --tokens 2 --profile link.html >/dev/null 2>err || bad "a report: $(cat err)"
[ -L link.html ] && grep -q '<h1>' r.html || bad "a report took the place of a link"
expect "what is left beside a report" "$(printf '%s\n' $others "r.html.tmp-$gone-2" "r.html.tmp-$gone-3" | sort)" \
    "$(ls | grep 'r.html.tmp' | sort)"
exec 9<&-
rm -r r.html.tmp-*

# --- names of other formats
for name in m.bin m.pt m.pth m.ckpt m.json m.npz m.h5 m.tflite m.pkl m.txt m.tar.gz; do
    refused 2 "--out is '$name', it must end with .volta (a model file), .safetensors (safetensors), .onnx (ONNX), .gguf (GGUF) or .adapter (LoRA adapters)" convert m.volta --out $name
    refused 2 "what can be written is a model file (.volta)" quantize m.volta --to int8 --out $name
    refused 2 "'$name', a name of" train --text text.txt --out $name $small
done
refused 2 "a name of GGUF, which is not written" quantize m.volta --to int8 --out m.gguf
refused 2 "a name of GGUF, which is not written" train --text text.txt --out m.GGUF $small
refused 2 "a name of ONNX, which is not written" quantize m.volta --to int8 --out m.onnx
refused 2 "a name of ONNX, which is not written" train --text text.txt --out m.onnx $small
refused 2 "a name of safetensors, which is not written" quantize m.volta --to int8 --out m.safetensors
refused 2 "a name of safetensors, which is not written" train --text text.txt --out m.SafeTensors
refused 2 "--config-out is 'c.volta', it must end with .json" convert m.volta --out x.safetensors --names huggingface --config-out c.volta
"$voltac" convert m.volta --out m.SAFETENSORS >/dev/null 2>err || bad "capital letters: $(cat err)"
expect "what capital letters gave" "$hash" "$("$voltac" convert m.SAFETENSORS --out back)"
expect "a name without an ending" "$hash" "$("$voltac" convert m.volta --out plain)"
for name in m.v2 m.volta.bak; do
    refused 2 "--out is '$name', it must end with .volta" convert m.volta --out $name
    "$voltac" quantize m.volta --to bf16 --out $name >/dev/null || bad "a name of no format"
done

# --- "-"
"$voltac" train --text - --out dash.volta $small --steps 2 <text.txt >/dev/null 2>err || bad "train --text -: $(cat err)"
expect "what --text - learnt" "$hash" "$("$voltac" hash dash.volta)"
expect "eval --text -" "$("$voltac" eval m.volta --text text.txt)" "$(cat text.txt | "$voltac" eval m.volta --text -)"
expect "--config -" "$("$voltac" eval m.volta --text text.txt --json)" "$(echo '{"json": true}' | "$voltac" eval m.volta --text text.txt --config -)"
echo '{"text": "-"}' >dash.json
expect "a text of a configuration" "$("$voltac" eval m.volta --text text.txt)" "$("$voltac" eval m.volta --config dash.json <text.txt)"
refused 1 "standard input: is empty" eval m.volta --text - </dev/null
refused 1 "standard input" eval m.volta --text - <&-
echo '{"threads": 1}' >empty.json
refused 2 "cannot both be standard input" eval m.volta --text - --config - <empty.json
for call in "hash -" "info -" "generate -" "eval - --text text.txt" "quantize - --to int8 --out x.volta" "convert - --out x.volta" \
    "bench infer -" "bench infer --model -" "tune matmul --model -" "train --text text.txt --resume -" "train --text text.txt --out x.volta --tokenizer -" \
    "convert m.safetensors --out x.volta --keys -" "convert m.safetensors --out x.volta --tokenizer -" \
    "convert m.safetensors --out x.volta --model-config -"; do
    refused 2 "is not read from standard input; a file of that name is ./-" $call
done
for call in "train --text text.txt --out -" "quantize m.volta --to int8 --out -" "convert m.volta --out -" \
    "convert m.volta --out x.safetensors --names huggingface --config-out -" "generate m.volta --profile -" \
    "bench train --profile -" "bench infer --profile -"; do
    refused 2 "is not written to standard output; a file of that name is ./-" $call
done
[ ! -e ./- ] || bad "a file called -"
expect "./- is a file" "$hash" "$("$voltac" convert m.volta --out ./-)"
expect "and is read as one" "$hash" "$("$voltac" hash ./-)"
expect "after --" "$hash" "$("$voltac" hash -- m.volta)"

# --- slips of the pen
refused 2 "voltac train: unknown options --stpes (did you mean --steps?), --txet (did you mean --text?), --zzz (see voltac train --help)" \
    train --stpes 3 --txet text.txt --zzz
refused 2 "voltac train: unknown option -steps (did you mean --steps?)" train --text text.txt -steps 3
refused 2 "voltac eval: unknown option --txt (did you mean --text?)" eval m.volta --txt=text.txt
refused 2 "did you mean --text?" eval m.volta text text.txt
refused 2 "voltac train: --steps needs a value" train --text text.txt --out x.volta --steps
refused 2 "voltac train: --steps needs a value" train --text text.txt --out x.volta --steps --json
refused 2 "voltac eval: --text is empty" eval m.volta --text= --json
refused 2 "voltac eval: --config is empty" eval m.volta --text text.txt --config=
refused 2 "voltac generate: --seed is '--text=', which is not a whole number" generate m.volta --seed --text=
refused 2 "voltac hash: not expected: -x --y" hash -- m.volta -x --y
refused 2 "--json takes no value but true or false" eval m.volta --text text.txt --json=5
echo '{"stpes": 3}' >slip.json
refused 2 "--config slip.json: there is no option 'stpes'; did you mean --steps?" train --config slip.json
refused 2 "there is no command 'trian'; did you mean train?" trian
refused 2 "there is no command 'Info'; did you mean info?" Info m.volta
refused 2 "there is no benchmark 'matmull', it must be one of matmul|train|infer|ops|conv|memory; did you mean matmul?" bench matmull
refused 2 "did you mean tiny?" train --text text.txt --out x.volta --preset tny
refused 2 "did you mean int8?" quantize m.volta --to int7 --out x.volta
refused 2 "did you mean llama?" train --text text.txt --out x.volta --architecture lama
refused 2 "did you mean strict?" eval m.volta --text text.txt --level Strikt
refused 2 "--device is 'cida', it must be cpu, cuda, cuda:N or auto; did you mean cuda?" eval m.volta --text text.txt --device cida
refused 2 "did you mean avx512?" eval m.volta --text text.txt --isa avx51
refused 2 "did you mean layer_norm?" bench ops --only layernorm
refused 2 "--layers has '64x56x64', which is no CHANNELSxSIDExFILTERSxKERNELxSTRIDExGROUPS" bench conv --layers 64x56x64
refused 2 "whose groups divide channels and filters" bench conv --layers 64x56x64x3x1x5
refused 2 "--layers and --network exclude each other" bench conv --layers 4x8x4x3x1x1 --network resnet18
refused 1 "did you mean char?" train --text text.txt --out x.volta --tokenizer chars
"$voltac" zzzzzz 2>err
grep -q 'did you mean' err && bad "a suggestion that is far off: $(cat err)"

# --- numbers at the end of their range
refused 2 "voltac train: --beta1 is 1, it must be at least 0 and below 1" train --text text.txt --out x.volta --beta1 1
refused 2 "--beta2 is -0.1, it must be at least 0 and below 1" train --text text.txt --out x.volta --beta2 -0.1
refused 2 "--dropout is 1, it must be at least 0 and below 1" train --text text.txt --out x.volta --dropout 1
refused 2 "--lr is 0, it must be above 0 and at most 1000000" train --text text.txt --out x.volta --lr 0
refused 2 "--top-p is 1.1, it must be in 0 .. 1" generate m.volta --top-p 1.1
"$voltac" train --text text.txt --out x.volta $small --steps 1 --beta1 0.99999999 --dropout 0.995 >/dev/null 2>err || bad "just below: $(cat err)"
rm -f x.volta
"$voltac" train --text text.txt --out nan.volta $small --steps 60 --lr 1e6 --clip 0 --warmup 0 >out 2>err
expect "status of a training that diverges" 1 $?
grep -qE 'a smaller --lr or --clip may keep it finite; what was learnt before is in nan.volta$' err || bad "a training that diverges: $(cat err)"
grep -qwE -- '-nan' out err && bad "a NaN has a sign"

# --- help
for page in "" train generate eval convert quantize info hash bench "bench matmul" "bench train" "bench infer" "bench ops" \
    "bench conv" "bench memory" tune "tune matmul" doctor version; do
    "$voltac" $page --help >one 2>err && [ -s one ] && [ ! -s err ] || bad "$page --help: $(cat err)"
    "$voltac" help $page >other 2>err || bad "help $page: $(cat err)"
    cmp -s one other || bad "voltac help $page is not voltac $page --help"
    awk '{ gsub(/[\200-\277]/, "") } length > 80 { print; wide = 1 } END { exit wide }' one || bad "$page --help is wider than 80 columns"
done
refused 2 "there is no command 'nonsense'" help nonsense
refused 2 "did you mean train?" help trian
refused 2 "there is no benchmark 'nonsense'" help bench nonsense
"$voltac" help train | grep -q -- '^  --steps N ' || bad "help train does not list --steps"

# --- a reader that has gone
ended_quietly() { # NAME: what `status` and `err` say
    case $(cat status) in 0 | 141) ;; *) bad "$1: status $(cat status)" ;; esac
    [ ! -s err ] || bad "$1: $(cat err)"
}
for call in "--help" "train --help" "info m.volta" "info m.volta --json" "version" "hash m.volta" "eval m.volta --text text.txt" \
    "generate m.volta --prompt line --tokens 9" "bench ops --only launch --runs 1 --warmup 0 --threads 1" "convert m.volta --out back"; do
    { "$voltac" $call 2>err; echo $? >status; } | true
    ended_quietly "$call | true"
done
{ "$voltac" train --text text.txt --out gone.volta $small --steps 100000000 --json 2>err; echo $? >status; } | head -n 2 >out
expect "status of a training whose reader has gone" 141 "$(cat status)"
[ ! -s err ] || bad "a training whose reader has gone: $(cat err)"
"$voltac" info gone.volta | grep -q '^checkpoint' || bad "a training whose reader has gone saved nothing"
"$voltac" version >/dev/full 2>err
expect "a full disk is a failure" "1 voltac: standard output: No space left on device" "$? $(cat err)"

# --- signals
for row in INT:130 TERM:143 HUP:129; do
    rm -f stopped.volta
    : >steps
    "$voltac" train --text text.txt --out stopped.volta $small --steps 100000000 --json >steps 2>err &
    pid=$!
    while [ "$(grep -c '"step"' steps)" -lt 2 ] && kill -0 $pid 2>/dev/null; do sleep 0.05; done
    kill -"${row%:*}" $pid
    wait $pid
    expect "status of a training ended by ${row%:*}" "${row#*:}" $?
    grep -q '"event":"end".*"interrupted":true' steps || bad "a training ended by ${row%:*}: $(tail -n 1 steps)"
    "$voltac" info stopped.volta | grep -q '^checkpoint' || bad "a training ended by ${row%:*} saved nothing"
done

[ "$failed" -eq 0 ] || exit 1
echo "commands have the same manners"
