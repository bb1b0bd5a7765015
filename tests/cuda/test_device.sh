#!/bin/sh
# voltac on another device: what is trained, resumed, evaluated and written there has the bits of the processor.
#     test_device.sh PATH_OF_VOLTAC [DEVICE]    default: cuda
set -u
voltac=$1
device=${2:-cuda}
. "$(dirname "$0")/../cli/checks.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export HOME="$work"
i=0
while [ $i -lt 12 ]; do
    echo "line $i: the quick brown fox jumps over the lazy dog; $((i * i % 97)) times"
    i=$((i + 1))
done >text.txt

# train NAME DEVICE OPTIONS...: NAME.volta, and its hash.
train() {
    name=$1 where=$2
    shift 2
    "$voltac" train --text text.txt --out "$name.volta" --seed 1 --device "$where" "$@" >"$name.log" 2>&1 ||
        bad "train $* on $where: $(tail -1 "$name.log")"
    "$voltac" hash "$name.volta"
}
same() { # WHAT EXPECTED GOT
    [ -n "$2" ] && [ "$2" = "$3" ] || bad "$1: $2 on the processor, $3 on $device"
}

gpt="--layers 2 --dim 32 --heads 2 --context 16 --batch 2 --dropout 0.1 --accumulate 2"
same "training" "$(train cpu cpu $gpt --steps 4)" "$(train device "$device" $gpt --steps 4)"
cmp -s cpu.volta device.volta || bad "the checkpoints are not the same bytes"
grep -v "tokens/s" cpu.log >cpu.lines
grep -v "tokens/s" device.log >device.lines
cmp -s cpu.lines device.lines || bad "the losses differ"

# Half here, half there.
whole=$(train whole cpu $gpt --steps 4)
train half "$device" $gpt --steps 4 --stop-at 2 >/dev/null
same "from $device to the processor" "$whole" "$(train on cpu $gpt --steps 4 --resume half.volta)"
train half cpu $gpt --steps 4 --stop-at 2 >/dev/null
same "from the processor to $device" "$whole" "$(train on "$device" $gpt --steps 4 --resume half.volta)"

llama="--architecture llama --layers 2 --dim 32 --heads 4 --kv-heads 2 --context 16 --batch 2"
same "llama" "$(train llama cpu $llama --steps 3)" "$(train other "$device" $llama --steps 3)"

# equal ARGUMENTS: the same lines.
equal() {
    "$voltac" "$@" --device cpu >expected 2>&1 || bad "$*: $(cat expected)"
    "$voltac" "$@" --device "$device" >got 2>&1 || bad "$* on $device: $(cat got)"
    cmp -s expected got || bad "$*: not what the processor gives"
}
for type in bf16 f16 int8 int4 f32_panels; do
    "$voltac" quantize whole.volta --to $type --out $type.volta >/dev/null || bad "quantize $type"
    equal generate $type.volta --prompt line --tokens 11 --seed 3
done
for model in whole llama; do
    equal generate $model.volta --prompt line --tokens 11 --seed 3
    equal eval $model.volta --text text.txt --json
done
# A cache that grows is copied within the device.
train longer cpu --layers 2 --dim 16 --heads 2 --context 24 --batch 1 --steps 1 >/dev/null
equal generate longer.volta --prompt line --tokens 17 --cache-tokens 3

"$voltac" doctor >doctor.txt || bad "doctor: $(cat doctor.txt)"
grep -q "^cuda:0  *same bits" doctor.txt || bad "doctor says: $(cat doctor.txt)"
refused 1 "device 99 does not exist, there is 1" train --text text.txt --out x.volta $gpt --steps 1 --device cuda:99
[ ! -e x.volta ] || bad "a refused call left a file"

# products M N K ARGUMENTS...: one row of mode device, without transfers, whose figures are positive. On a busy machine
# the difference of two times may drown: the command says so, and is called again.
products() {
    shape="$1 $2 $3"
    for attempt in 1 2 3 4 5 6 7 8; do
        "$voltac" bench matmul --device "$device" --shapes "$1x$2x$3" --runs 5 --warmup 1 --json >row 2>err $4 && break
        grep -q "too short to be told from noise" err || break
    done
    [ ! -s err ] || bad "bench matmul $*: $(cat err)"
    expect "the row of bench matmul $*" "$shape device" "$(sed -E \
        's/.*"m":([0-9]*),"n":([0-9]*),"k":([0-9]*),.*"mode":"([a-z]*)".*/\1 \2 \3 \4/' row)"
    for key in median_gflops fraction_of_peak; do
        expect "$key above zero in $*" 1 "$(sed -E "s/.*\"$key\":([^,}]*).*/\1/" row | awk '$1 > 0' | wc -l | tr -d ' ')"
    done
}
# What is tuned is kept by device, and read by the next command, whose bits it leaves alone.
"$voltac" tune matmul --device "$device" --shapes 5x70x600,33x40x520:tn --runs 1 --seconds 0.1 --json >tuned 2>err ||
    bad "tune: $(cat err)"
expect "the products that were tuned" "5 33" "$(sed -E 's/.*"m":([0-9]*),.*/\1/' tuned | tr '\n' ' ' | sed 's/ $//')"
grep -q '"device":"cuda:0"' tuned || bad "tune --json: $(cat tuned)"
[ -n "$(find "$HOME/.volta/matmul_tuning" -name '*-sm_*.json')" ] || bad "tune has kept nothing"
"$voltac" tune matmul --device "$device" --model whole.volta --runs 1 --seconds 0.1 >tuned 2>err || bad "tune --model: $(cat err)"
[ "$(wc -l <tuned)" -gt 8 ] || bad "tune --model: $(cat tuned)"
same "training after tuning" "$whole" "$(train tuned "$device" $gpt --steps 4)"
refused 1 "are cuBLASLt's at level repeatable" tune matmul --device "$device" --shapes 33x40x520 --level repeatable

products 17 33 150 "--form nn --mode plain"
products 33 17 150 "--form tn --level repeatable --precision bf16"
exit $failed
