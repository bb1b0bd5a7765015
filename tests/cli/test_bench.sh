#!/bin/sh
# voltac bench: the form of its results (names and order of JSON keys, columns of CSV, heads of tables) and its wrong
# calls. How fast anything is, is no test's business: only that figures are finite and positive.
# Most of the time goes into the machine's peaks, which commands measure before and after what they time: quick tiers
# (VOLTA_TEST_EVERY, tests/CMakeLists.txt) show each command in each form once, on one model, and leave out `if whole`.
#     test_bench.sh PATH_OF_VOLTAC
set -u
voltac=$1
model=$(cd "$(dirname "$0")/../golden/models" && pwd)/gpt_v1.0.volta
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0
failed=0

whole() { [ "${VOLTA_TEST_EVERY:-1}" -le 1 ]; }
ok() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "FAILED: $*"
}
expect() { if [ "$2" = "$3" ]; then ok; else bad "$1: expected '$2', got '$3'"; fi; }

# refused TEXT ARGUMENTS...: status 2, one line on standard error that says who speaks and holds TEXT, nothing on
# standard output.
refused() {
    text=$1
    shift
    "$voltac" bench "$@" >out 2>err
    got=$?
    lines=$(wc -l <err)
    if [ "$got" -eq 2 ] && [ "$lines" -eq 1 ] && [ ! -s out ] && grep -q '^voltac bench' err &&
        grep -qF -- "$text" err; then
        ok
    else
        bad "voltac bench $*: status $got (expected 2), $lines lines: $(cat err)"
    fi
}

# shown NAME ARGUMENTS...: status 0, something in `out`, nothing on standard error, no figure that is not finite.
shown() {
    name=$1
    shift
    if ! "$voltac" bench "$@" >out 2>err || [ ! -s out ] || [ -s err ]; then
        bad "$name: $(cat err)"
    elif grep -qiwE -- '-?(nan|inf)' out; then
        bad "$name: $(cat out)"
    else
        ok
    fi
}

# keys_are NAME KEYS: every line of `out` is a JSON object with these keys in this order.
keys_are() {
    expect "keys of $1" "$2" "$(sed -E 's/:("[^"]*"|[^,}]*)//g; s/[{}"]//g' out | sort -u)"
    if command -v python3 >/dev/null; then
        python3 -c 'import json, sys; [json.loads(line) for line in open("out")]' && ok || bad "$1 is no JSON"
    fi
}

# without_operators: the array of operators leaves `out`; its first row stays in `operator`.
without_operators() {
    sed -E 's/.*"operators":\[(\{[^}]*\}).*/\1/' out >operator
    sed -E 's/,"operators":\[[^]]*\]//' out >rest
    mv rest out
}

# positive KEY: in every line of `out` the figure is above zero.
positive() {
    expect "$1 above zero" 0 "$(sed -E "s/.*\"$1\":([^,}]*).*/\\1/" out | awk '!($1 > 0)' | wc -l | tr -d ' ')"
}

fast="--runs 2 --warmup 1 --threads 1"

echo "== wrong calls"
refused "name a benchmark: matmul|train|infer|ops|conv|memory"
refused "there is no benchmark 'matmull'" matmull
refused "--shapes has '8x8', which is no MxNxK" matmul --shapes 8x8
refused "--shapes has '8x8x0', which is no MxNxK" matmul --shapes 4x4x4,8x8x0
refused "--shapes has '8x8x8x8', which is no MxNxK" matmul --shapes 8x8x8x8
refused "--shapes has '8xax8', which is no MxNxK" matmul --shapes 8xax8
refused "--shapes has '8x8x8:tt', which is no MxNxK of 1 .. 4194304 with :nn, :nt, :tn" matmul --shapes 8x8x8:tt
refused "--shapes has '8x8x8:nt:nt', which is no MxNxK" matmul --shapes 8x8x8:nt:nt
refused "--shapes has '', which is no MxNxK" matmul --shapes 8x8x8,
refused "--explain has '8x8', which is no MxNxK" matmul --explain 8x8
refused "voltac bench matmul: --shapes is empty" matmul --shapes ''
refused "voltac bench train: --model is empty" train --model ''
refused "voltac bench train: --profile is empty" train --profile ''
refused "voltac bench infer: --model is empty" infer --model ''
refused "--form is 'tt'" matmul --form tt
refused "--mode is 'fast'" matmul --mode fast
refused "--runs is 0" matmul --runs 0
refused "--json and --csv exclude each other" matmul --json --csv
refused "--preset is 'huge'" train --preset huge
refused "--model is 'cnn:3', it must be mlp:A-B-...-Z" train --model cnn:3
refused "--model is 'mlp:8'" train --model mlp:8
refused "--model is 'mlp:8--1'" train --model mlp:8--1
refused "--model is 'linear:1048577-1', it must be mlp:A-B-...-Z, linear:A-B or linear, each width in 1 .. 1048576" \
    train --model linear:1048577-1
refused "--model is 'linear:8-8-8'" train --model linear:8-8-8
refused "--model and --preset exclude each other" train --model linear --preset tiny
refused "--model and --seq exclude each other" train --model linear --seq 3
refused "a resnet20 has no --seq" train --preset resnet20 --seq 8
refused "--seq is 65, the preset's context is 64" train --preset small --seq 65
refused "--momentum is sgd's, the optimizer is adamw" train --momentum 0.5
refused "--optimizer is 'lion'" train --optimizer lion
refused "--json and --csv exclude each other" infer --json --csv
refused "a model file and --preset exclude each other" infer --model x.volta --preset tiny
refused "a model file and --preset exclude each other" infer x.volta --preset tiny
refused "--weights is for presets" infer x.volta --weights int8
refused "MODEL and --model exclude each other" infer x.volta --model x.volta
refused "not expected: y.volta" infer x.volta y.volta
refused "--tokens is 1" infer --tokens 1
refused "--load is 'burn'" infer --load burn
refused "--only is 'conv'" ops --only conv
refused "--preset is 'huge'" memory --preset huge

echo "== products"
product=m,n,k,threads,isa,mode,median_gflops,spread,fraction_of_peak,form,cold
shown "matmul --json" matmul --shapes 5x7x3,1x33x17 $fast --json
keys_are "matmul --json" $product
expect "rows: two shapes, two modes" 4 "$(wc -l <out | tr -d ' ')"
positive median_gflops
positive fraction_of_peak
for form in nn nt tn; do
    shown "matmul --form $form --csv" matmul --shapes 5x7x3 --form $form --mode packed $fast --csv
    expect "CSV's head" $product "$(head -n 1 out)"
    expect "CSV's row of form $form" "5,7,3,1,packed,$form,0" "$(tail -n 1 out | cut -d , -f 1-4,6,10-11)"
done
shown "matmul, forms by shape" matmul --shapes 5x7x3:tn,5x7x3,5x7x3:nn --form nt --mode plain $fast --csv
expect "forms by shape" "tn nt nn" "$(tail -n 3 out | cut -d , -f 10 | xargs)"
shown "matmul, forms as text" matmul --shapes 5x7x3:tn,5x7x3 --mode plain $fast
expect "forms in the table" "tn nn" "$(tail -n 2 out | awk '{ print $4 }' | xargs)"
shown "matmul --cold" matmul --shapes 1x512x512 --mode plain --cold $fast
grep -q '^ *M  *N  *K' out && ok || bad "the table has no head"
shown "matmul --explain" matmul --explain 64x1009x512 --threads 1
grep -q '^rejected  some-rows-in-place: rows of B conflict in L1.s sets$' out && ok || bad "--explain names no reason"
grep -q '^schedule  blocked tile=f32_gemm_' out && ok || bad "--explain has no schedule"
shown "matmul --explain --mode packed --cold" matmul --explain 1x1024x1024:nn --mode packed --cold --threads 1
grep -q '^applied   prepacked-row' out && ok || bad "a cold row of a packed product is not prepacked"

echo "== training"
step=model,parameters,batch,seq,vocab,optimizer,threads,isa,median_ms,spread,per_second,bound_ms,ratio_to_bound
step=$step,peak_gflops,stream_gb_s,bill_mib,resident_mib
for optimizer in $(whole && echo sgd adam adagrad) adamw; do
    shown "train --optimizer $optimizer" train --model mlp:8-16-1 --batch 4 --optimizer $optimizer $fast --json
    keys_are "train --json" $step
    positive ratio_to_bound
done
expect "parameters of mlp:8-16-1" 161 "$(sed -E 's/.*"parameters":([0-9]*).*/\1/' out)"
if whole; then
    shown "train --preset resnet20" train --preset resnet20 --batch 2 --threads 2 --runs 2 --json
    shown "train --preset mobilenet_v2" train --preset mobilenet_v2 --batch 1 --threads 2 --runs 2 --json
    keys_are "train --preset mobilenet_v2" $step
fi
refused "a mobilenet_v2 has no --vocab" train --preset mobilenet_v2 --vocab 8
shown "train --preset small" train --preset small --batch 2 --seq 8 --vocab 11 --threads 2 --runs 2 --json
keys_are "train --preset" $step
positive bill_mib
positive resident_mib
"$voltac" bench train --help | tr -s ' \n' ' ' | grep -q 'linear:A-B or linear, which is linear:512-512; widths in 1 .. 1048576' && ok ||
    bad "the help of train does not say what linear is"
if whole; then
    shown "train --model linear" train --model linear --batch 1 $fast --json
    expect "parameters of linear" 262656 "$(sed -E 's/.*"parameters":([0-9]*).*/\1/' out)"
fi
shown "train, as text" train --model linear:8-3 --momentum 0.9 --clip 1 $fast
grep -q '^step / bound' out && ok || bad "the report of a step has no ratio"
head -n 1 out | grep -q level && bad "the default level is named: $(head -n 1 out)" || ok
if whole; then
    shown "train --level, as text" train --model linear:8-3 --device cpu --level fast $fast
    head -n 1 out | grep -q ', 1 thread, level fast, precision fp32: ' && ok || bad "no level: $(head -n 1 out)"
fi
shown "train --level --json" train --model linear:8-3 --device cpu --level repeatable $fast --json
keys_are "train --level --json" $step,level,precision
refused "--precision bf16: precision bf16 at level fast is offered on CUDA alone" train --device cpu --level fast --precision bf16

echo "== generation"
infer=model,parameters,threads,isa,load,open_ms,prompt_tokens,tokens,batch,temperature,prefill_tokens_per_s,prefill_spread
infer=$infer,decode_ms_p50,decode_ms_p95,decode_spread,tokens_per_s,bytes_per_token,read_gb_per_s,fraction_of_bandwidth
infer=$infer,fraction_of_peak,kv_speedup,cache_mib,resident_mib
shown "infer --json" infer --preset small --prompt-tokens 9 --tokens 6 $fast --json
without_operators
expect "keys of an operator" name,calls,total_ms,share,gflops,gb_per_s \
    "$(sed -E 's/:("[^"]*"|[^,}]*)//g; s/[{}"]//g' operator)"
keys_are "infer --json" $infer
for key in prefill_tokens_per_s decode_ms_p50 decode_ms_p95 bytes_per_token read_gb_per_s kv_speedup cache_mib; do
    positive $key
done
if whole; then
    shown "infer --temperature" infer --preset small --tokens 4 --no-speedup --temperature 0.8 --top-k 5 --top-p 0.9 --min-p 0.1 $fast --json
    grep -q '"temperature":0.8,' out && ok || bad "no temperature: $(cat out)"
fi
refused "voltac bench infer: --top-p is 2, it must be in 0 .. 1" infer --preset small --top-p 2
shown "infer --level" infer --preset small --prompt-tokens 9 --tokens 6 --no-speedup --device cpu --level fast $fast --json
without_operators
keys_are "infer --level --json" $infer,level,precision
shown "infer --csv" infer --preset small --batch 3 --tokens 4 --no-speedup $fast --csv
expect "CSV's head" $infer "$(head -n 1 out)"
if whole && command -v python3 >/dev/null; then
    odd='one, "two"
three.volta'
    cp "$model" "$odd"
    shown "infer --csv of an odd name" infer "$odd" --prompt-tokens 2 --tokens 2 --no-speedup $fast --csv
    python3 -c '
import csv, sys
head, row = csv.reader(open("out", newline=""))
sys.exit(len(head) != len(row) or row[0] != sys.argv[1])' "$odd" && ok || bad "CSV of an odd name: $(cat out)"
fi
shown "infer, as text" infer --preset llama-tiny --prompt-tokens 3 --tokens 3 --runs 1 --warmup 0 --threads 2
grep -q '^  matmul  *[0-9]* .* % .* GFLOP/s, .* GB/s$' out && ok || bad "the report of generating has no matmul: $(cat out)"
grep -q '^cache .* times as fast' out && ok || bad "the report of generating has no comparison with no cache"
for load in $(whole && echo copy) map; do
    shown "infer --model, $load" infer --model "$model" --load $load --prompt-tokens 2 --tokens 2 $fast --json
    without_operators
    positive open_ms
done
if whole; then
    shown "infer MODEL" infer "$model" --prompt-tokens 2 --tokens 2 $fast --json
    grep -qF "{\"model\":\"$model\"," out && ok || bad "infer MODEL measured another one: $(cat out)"
    shown "infer --model, as text" infer --model "$model" --prompt-tokens 2 --tokens 2 $fast
    grep -q '^opened  *in [0-9.]* ms' out && ok || bad "the report does not say how long opening took: $(cat out)"
    shown "infer --kv-position" infer --preset small --tokens 2 --kv-position 40 --kv-position 63 $fast --json
    expect "keys of a row of the cache" prompt_tokens,tokens,prompt_is_read,cached_ms,whole_ms,kv_speedup \
        "$(sed -E 's/.*"kv_rows":\[\{([^}]*)\}.*/\1/; s/:("[^"]*"|[^,}]*)//g; s/"//g' out)"
    expect "rows of the cache" "40 63" "$(grep -o '"prompt_tokens":[0-9]*,"tokens":1,' out | grep -o '[0-9]*,"t' | tr -d ',"t' | xargs)"
fi
shown "infer --kv-sweep" infer --preset small --tokens 2 --kv-sweep --runs 1 --warmup 0
grep -q '^    32 + 32  *[0-9.]* ms with a cache, [0-9.]* ms without: [0-9.]* times as fast$' out &&
    grep -q '^    63 + 1 ' out && grep -q '^least ' out && ok || bad "the sweep: $(cat out)"
refused "--csv has one" infer --kv-sweep --csv
refused "--kv-position is 1" infer --kv-position 1
shown "infer of a network" infer --preset resnet20 --batch 2 $fast
grep -q '^batch 1 .* pictures per second' out && grep -q '^batch 2 ' out && ok || bad "infer --preset resnet20 shows: $(cat out)"
if whole; then
    shown "infer of a network, --json" infer --preset resnet20 --batch 2 $fast --json
    expect "rows of a network" 2 "$(wc -l <out | tr -d ' ')"
    grep -q '^{"model":"resnet20","parameters":[0-9]*,"threads":[0-9]*,"isa":"[a-z0-9]*","batch":2,"ms":' out && ok || bad "infer --preset resnet20 --json shows: $(cat out)"
    # What one picture asks for, as the networks' authors and torchvision count it: two operations a multiply-add.
    for row in resnet20:0.0811 resnet18:1.1108 resnet50:8.1784 mobilenet_v2:0.6015; do
        shown "infer --preset ${row%:*}" infer --preset ${row%:*} --batch 1 --runs 1 --warmup 0 --threads 2 --json
        expect "GFLOP of ${row%:*}" "${row#*:}" "$(sed -E 's/.*"gflop":([0-9.]*).*/\1/' out | awk '{ printf "%.4f", $1 }')"
    done
    shown "infer of a network, --csv" infer --preset resnet20 --batch 1 $fast --csv
    expect "rows of CSV" 2 "$(wc -l <out | tr -d ' ')"
fi
refused "--tokens is of language models, resnet20 of pictures" infer --preset resnet20 --tokens 4
refused "--prompt-tokens is of language models, mobilenet_v2 of pictures" infer --preset mobilenet_v2 --prompt-tokens 4
refused "--weights is of language models, resnet18 of pictures" infer --preset resnet18 --weights int8
refused "--kv-position is 256, tiny has positions 0 to 255" infer --preset tiny --kv-position 256

echo "== operators and memory"
shown "ops" ops --only launch $fast --json
keys_are "ops --json" op,shape,threads,isa,median_us,spread,unit,rate,fraction_of_peak
for op in $(whole && echo add sum_rows sum_columns softmax) layer_norm_gelu; do
    shown "ops --only $op" ops --only $op --runs 1 --warmup 0 --threads 2
done
shown "conv" conv --layers 6x9x8x3x2x1,8x7x8x3x1x8 --batch 2 $fast --json
keys_are "conv --json" network,layer,batch,pass,threads,isa,median_us,spread,median_gflops,fraction_of_bound,packed_mib,workspace_mib
expect "rows: two layers, three passes" 6 "$(wc -l <out | tr -d ' ')"
positive median_gflops
# A weight that changes is packed into the workspace, whole (128 x 128 x 9 floats); one that stays, beside it.
figure() { sed -E "s/.*\"$1\":([^,}]*).*/\\1/" out; }
shown "conv --weight-changes" conv --layers 128x7x128x3x1x1 --pass forward --weight-changes --runs 1 --warmup 0 --threads 1 --json
expect "packed beside the workspace" 0 "$(figure packed_mib | awk '{ print $1 + 0 }')"
changes=$(figure workspace_mib)
shown "conv, a weight that stays" conv --layers 128x7x128x3x1x1 --pass forward --runs 1 --warmup 0 --threads 1 --json
expect "packed beside the workspace" 0.5625 "$(figure packed_mib)"
expect "the packed weight in the workspace" 0.5625 "$(echo "$changes $(figure workspace_mib)" | awk '{ print $1 - $2 }')"
if whole; then
    shown "conv, one pass, as text" conv --layers 6x9x8x3x2x1 --pass data --runs 1 --warmup 0 --threads 2
fi
shown "conv --list" conv --network resnet18 --list
expect "layers of ResNet-18" 11 "$(wc -l <out | tr -d ' ')"
shown "memory" memory --preset small --threads 1 --json
grep -q '"bill_is_exact":true' out && ok || bad "the bill is not what the allocator counted: $(cat out)"
positive resident_mib
if whole; then
    shown "memory, as text" memory --preset small --threads 2
fi

shown "help" --help
grep -qF 'voltac bench infer [MODEL | --preset NAME]' out && ok || bad "the help of bench does not name MODEL"
"$voltac" bench memory --help | tr -s ' \n' ' ' | grep -q 'no --runs' && ok || bad "the help of memory does not say why it has no --runs"
for name in matmul train infer ops conv memory; do
    shown "help of $name" $name --help
    grep -q -- --threads out && ok || bad "the help of $name does not name --threads"
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
