#!/bin/sh
# voltac quantize: every type evaluates, generates and keeps its hash; and one line for every wrong call.
#     test_quantize.sh PATH_OF_VOLTAC
set -u
voltac=$1
. "$(dirname "$0")/checks.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export HOME="$work"
i=0
while [ $i -lt 200 ]; do
    echo "line $i: the quick brown fox jumps over the lazy dog; $((i * i % 97)) times"
    i=$((i + 1))
done >text.txt
"$voltac" train --text text.txt --out m.volta --layers 2 --dim 64 --heads 4 --context 32 --batch 4 --steps 60 \
    >/dev/null 2>&1 || bad "train"
loss() { "$voltac" eval "$1" --text text.txt --json | sed -E 's/.*"loss":([0-9.]+).*/\1/'; }
before=$(loss m.volta)

# type, the most that the loss may move: far more than it does, far less than wrong weights would move it
for row in bf16:0.01 f16:0.001 int8:0.02 int4:0.3 f32_panels:0.0000001; do
    type=${row%%:*}
    hash=$("$voltac" quantize m.volta --to "$type" --out "$type.volta") || bad "quantize --to $type"
    [ "$hash" = "$("$voltac" hash "$type.volta")" ] || bad "$type: the printed hash is not the file's"
    after=$(loss "$type.volta")
    awk -v a="$before" -v b="$after" -v most="${row#*:}" 'BEGIN { d = a - b; exit !(d < most && d > -most) }' ||
        bad "$type: the loss went from $before to $after"
    "$voltac" generate "$type.volta" --prompt "line" --tokens 20 --temperature 0 >one || bad "generate $type"
    "$voltac" generate "$type.volta" --prompt "line" --tokens 20 --temperature 0 --isa scalar >other
    cmp -s one other || bad "$type: scalar code writes another text"
    "$voltac" info "$type.volta" | grep -q "block.0.qkv.weight *$type\[192, 64\]" || bad "$type: info"
done
[ "$(wc -c <int4.volta)" -lt "$(wc -c <int8.volta)" ] && [ "$(wc -c <int8.volta)" -lt "$(wc -c <f16.volta)" ] ||
    bad "fewer bits are not fewer bytes"

# Another order of the same f32: the same numbers, the same text.
"$voltac" generate m.volta --prompt "line" --tokens 20 --temperature 0 >one
"$voltac" generate f32_panels.volta --prompt "line" --tokens 20 --temperature 0 >other
cmp -s one other || bad "f32_panels: another text than f32"
"$voltac" eval m.volta --text text.txt --json >one
"$voltac" eval f32_panels.volta --text text.txt --json >other
cmp -s one other || bad "f32_panels: another loss than f32: $(cat one other)"

refused 2 "--to is 'int7', it must be one of bf16|f16|int8|int4|f32_panels" quantize m.volta --to int7 --out x.volta
refused 2 "--to is required" quantize m.volta --out x.volta
refused 1 "is stored as int8 already: begin with the f32 model" quantize int8.volta --to int4 --out x.volta
refused 1 "is stored as int4: export the f32 model" convert int4.volta --out x.safetensors
refused 1 "nowhere.volta" quantize nowhere.volta --to int8 --out x.volta
refused 1 "/nowhere/x.volta" quantize m.volta --to int8 --out /nowhere/x.volta
[ ! -e x.volta ] || bad "a refused call left a file"
exit $failed
